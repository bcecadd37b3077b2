/*
 * console_follow.h - show what a run says until it ends.
 *
 * Lines come from console.log, the one that is being redrawn from the file "progress"; both
 * go to standard error. The run does not know of it, so that it goes on when we go.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_CONSOLE_FOLLOW_H
#define WERKBANK_TRAIN_LAUNCH_RUN_CONSOLE_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "train/launch/run/run_handle.h"

struct console_follow {
	struct run_handle *run; /* borrowed */
	int64_t from;		/* byte of console.log to begin with; -1: its end */
	bool owner;		/* signals ask the run to stop; else they end only this */
	bool quiet;		/* show nothing */
};

/*
 * Until the run has ended or we are told to leave: *left. *status as by run_handle_exit_status(),
 * 0 when we left.
 */
int console_follow_run(const struct console_follow *f, bool *left, int *status, struct err *e);

#endif
