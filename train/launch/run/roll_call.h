/*
 * roll_call.h - which hosts are there for the next attempt.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_ROLL_CALL_H
#define WERKBANK_TRAIN_LAUNCH_RUN_ROLL_CALL_H

#include "share/base/err.h"
#include "train/launch/run/attempts.h"
#include "train/launch/hosts/hosts.h"

struct roll_call {
	const struct attempts *a; /* borrowed */
	struct hosts hosts;	  /* owned: of the next attempt; none: this host alone */
};

enum roll_call_answer { ROLL_CALL_READY, ROLL_CALL_WAIT };

/* All hosts to begin with. roll_call_close() in any case. */
int roll_call_open(struct roll_call *m, const struct attempts *a, struct err *e);
void roll_call_close(struct roll_call *m);

/*
 * Ask all hosts whether they are there. READY: hosts holds those that are, which are all of
 * them unless --elastic was given. said: what is worth telling, "" for nothing.
 */
enum roll_call_answer roll_call_query(struct roll_call *m, char said[300]);

#endif
