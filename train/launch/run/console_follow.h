/*
 * console_follow.h - copies the output of a run to standard error until the run ends.
 *
 * Whole lines come from console.log, the redrawn progress line from the file "progress". The run
 * does not depend on its followers.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_CONSOLE_FOLLOW_H
#define WERKBANK_TRAIN_LAUNCH_RUN_CONSOLE_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "train/launch/run/run_handle.h"

struct console_follow {
	struct run_handle *run; /* borrowed */
	int64_t from;		/* offset in console.log to begin at; -1: its end */
	bool owner;		/* signals stop the run; false: they end only the following */
	bool quiet;		/* show nothing */
};

/*
 * Follow until the run has ended, or a signal ends the following: then *left. *status is that of
 * run_handle_exit_status(), or 0 if *left.
 */
int console_follow_run(const struct console_follow *f, bool *left, int *status, struct err *e);

#endif
