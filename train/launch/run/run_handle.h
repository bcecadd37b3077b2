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

struct run_handle {
	char *workspace, *folder; /* owned; folder: WORKSPACE/runs/NAME */
	char name[101];
	/* from state.json; run_handle_refresh() reads it again */
	char state[16], event[300];
	bool alive;    /* somebody holds the lock */
	bool is_local; /* its supervisor is a process of this host */
	pid_t pid;     /* of the supervisor */
	int exit;      /* -1: none yet */
};

/*
 * The named run (argument or --run), or without a name the one that is being trained: of
 * several the one begun last; of none, the one begun last of all where must_live is
 * false. run_handle_close() in any case.
 */
int run_handle_find(struct run_handle *l, const struct conf *c, bool must_live, struct err *e);
void run_handle_close(struct run_handle *l);

void run_handle_refresh(struct run_handle *l);

/* What the run ended with, as our exit status: 0, 75 (saved), another (failed); ERR_… < 0: lost. */
int run_handle_exit_status(const struct run_handle *l, struct err *e);

/* Ask the ranks: "save", "evaluate", "stop" (see control.h). */
int run_handle_request(const struct run_handle *l, const char *word, struct err *e);

/* Ask the supervisor to save and stop, or to end it at once, wherever it runs. */
int run_handle_stop(const struct run_handle *l, bool now, struct err *e);

#endif
