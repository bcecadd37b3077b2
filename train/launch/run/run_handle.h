/*
 * run_handle.h - a run as others see it who did not start it: which one, is it alive, what does it say, and
 * requests to it.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_RUN_HANDLE_H
#define WERKBANK_TRAIN_LAUNCH_RUN_RUN_HANDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "share/conf/conf.h"
#include "share/base/err.h"

struct live {
	char *workspace, *folder;	/* owned; folder: WORKSPACE/runs/NAME */
	char  name[101];
	/* from state.json; live_read() reads it again */
	char  state[16], event[300];
	bool  alive;			/* somebody holds the lock */
	bool  here;			/* its supervisor is a process of this host */
	pid_t pid;			/* of the supervisor */
	int   exit;			/* -1: none yet */
};

/*
 * The named run (argument or --run), or without a name the one that is being trained: of
 * several the one begun last; of none, the one begun last of all where must_live is
 * false. live_close() in any case.
 */
int  live_find(struct live *l, const struct conf *c, bool must_live, struct err *e);
void live_close(struct live *l);

void live_read(struct live *l);

/* What the run ended with, as our exit status: 0, 75 (saved), another (failed); ERR_… < 0: lost. */
int live_status(const struct live *l, struct err *e);

/* Ask the ranks: "save", "evaluate", "stop" (see control.h). */
int live_ask(const struct live *l, const char *word, struct err *e);

/* Ask the supervisor to save and stop, or to end it at once, wherever it runs. */
int live_stop(const struct live *l, bool now, struct err *e);

#endif
