/*
 * roll_call.h - finds the hosts that answer before the next attempt.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_ROLL_CALL_H
#define WERKBANK_TRAIN_LAUNCH_RUN_ROLL_CALL_H

#include <stdbool.h>

#include "share/base/err.h"
#include "train/launch/remote/hosts.h"
#include "train/launch/run/attempts.h"

struct roll_call {
	const struct attempts *a; /* borrowed */
	struct hosts hosts;	  /* owned: of the next attempt; n is 0: only this host */
	bool *left_out;		  /* owned: (hosts of a) count as missing in the next query */
	double login_s;		  /* the slowest login measured so far; 0: none */
	char trouble[400];	  /* of the first host that did not answer the last query, or "" */
	/* Ends a query early, as WAIT without news; NULL: never. Set them after roll_call_open(). */
	bool (*is_cancelled)(void *context);
	void *context;
};

enum roll_call_answer { ROLL_CALL_READY, ROLL_CALL_WAIT };

/* Begin with all hosts. Call roll_call_close() in any case. */
int roll_call_open(struct roll_call *r, const struct attempts *a, struct err *e);
void roll_call_close(struct roll_call *r);

/* The host of this name counts as missing in the next query. */
void roll_call_leave_out(struct roll_call *r, const char *host);

/*
 * Seconds that a host has to answer: --deadline, or less if logins are known to be fast, because a
 * host that is cut off would use up all of it.
 */
double roll_call_limit_s(const struct roll_call *r);

/*
 * Run "true" on all hosts. READY: hosts holds the hosts that answered: all of them, or with
 * --elastic at least one. WAIT: hosts is unchanged. news: a sentence
 * for the user, "" if nothing changed.
 */
enum roll_call_answer roll_call_query(struct roll_call *r, char news[300]);

#endif
