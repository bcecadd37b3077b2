/*
 * option_diff.h - in which options runs differ.
 *
 *	struct contrast c = { 0 };
 *	option_diff_make(&c, workspace, names, n, e);
 *	c.rows[i].option, c.rows[i].values[k] for run k
 *	option_diff_free(&c);
 *
 * From recipe.ini of each run; options whose values are all the same are left out, and so is
 * "run" itself. A run without a recipe has NULL values.
 */
#ifndef WERKBANK_TUI_RUN_OPTION_DIFF_H
#define WERKBANK_TUI_RUN_OPTION_DIFF_H

#include <stddef.h>

#include "share/base/err.h"

#define OPTION_DIFF_MAX_RUNS 8

struct option_diff_row {
	const char *option, *section;	    /* borrowed: as in options.def */
	char *values[OPTION_DIFF_MAX_RUNS]; /* owned */
};

struct option_diff {
	struct option_diff_row *rows; /* owned */
	size_t n, cap;
};

/* n at most OPTION_DIFF_MAX_RUNS; what was in c is forgotten first. */
int option_diff_make(struct option_diff *c, const char *workspace, const char *const *names,
		     size_t n, struct err *e);
void option_diff_free(struct option_diff *c);

#endif
