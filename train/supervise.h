/*
 * supervise.h - start the ranks of a run, pass on what they say, stop them when asked.
 *
 * What the ranks write to standard error goes to ours and to console.log.
 * SIGINT and SIGTERM ask them to save and end (they then exit with 75); a
 * second one ends them at once. A hang-up does not end anything.
 */
#ifndef WERKBANK_TRAIN_SUPERVISE_H
#define WERKBANK_TRAIN_SUPERVISE_H

#include "share/base/err.h"

struct supervise {
	const char *const *argv;	/* borrowed: the program of the ranks, or mpirun with it */
	const char *console;		/* borrowed: path of console.log, appended to */
	int  stop_signal;		/* what asks them to save and end */
};

/* Call before anything is started: from here on SIGINT, SIGTERM and SIGCHLD wait to be read. */
int supervise_prepare(struct err *e);

/* Run to the end; *status is 0..255, 128 + signal for a death by signal. */
int supervise_run(const struct supervise *s, int *status, struct err *e);

#endif
