/*
 * roll_call.h - which hosts are there for the next attempt.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_ROLL_CALL_H
#define WERKBANK_TRAIN_LAUNCH_RUN_ROLL_CALL_H

#include "share/base/err.h"
#include "train/launch/run/attempts.h"
#include "train/launch/hosts/hosts.h"

struct muster {
	const struct attempts *a;	/* borrowed */
	struct hosts hosts;		/* owned: of the next attempt; none: this host alone */
};

enum muster_answer { MUSTER_READY, MUSTER_WAIT };

/* All hosts to begin with. muster_close() in any case. */
int  muster_open(struct muster *m, const struct attempts *a, struct err *e);
void muster_close(struct muster *m);

/*
 * Ask all hosts whether they are there. READY: hosts holds those that are, which are all of
 * them unless --elastic was given. said: what is worth telling, "" for nothing.
 */
enum muster_answer muster_call(struct muster *m, char said[300]);

#endif
