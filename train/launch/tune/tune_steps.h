/*
 * tune_steps.h - other commands of Werkbank as steps of a tuning
 *
 * Each is a process of its own. Ctrl-C reaches it, and this process waits for its end.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_TUNE_TUNE_STEPS_H
#define WERKBANK_TRAIN_LAUNCH_TUNE_TUNE_STEPS_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"

#define TUNE_MAX_WORDS 48

/* A command line: words are borrowed. */
struct tune_step {
	const char *words[TUNE_MAX_WORDS];
	size_t n;
};

void tune_step_add(struct tune_step *s, const char *word);

/*
 * Run PROGRAM ("werkbank-data") with these words. output: takes standard output; NULL: the terminal. *status: the
 * exit status, printed by the command; returns < 0 only if the program cannot be run.
 */
int tune_step_run(const char *program, const struct tune_step *s, struct buf *output, int *status,
		  struct err *e);

#endif
