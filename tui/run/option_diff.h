/*
 * option_diff.h - in which options runs differ.
 *
 *	struct contrast c = { 0 };
 *	contrast_make(&c, workspace, names, n, e);
 *	c.rows[i].option, c.rows[i].values[k] for run k
 *	contrast_free(&c);
 *
 * From recipe.ini of each run; options whose values are all the same are left out, and so is
 * "run" itself. A run without a recipe has NULL values.
 */
#ifndef WERKBANK_TUI_RUN_OPTION_DIFF_H
#define WERKBANK_TUI_RUN_OPTION_DIFF_H

#include <stddef.h>

#include "share/base/err.h"

#define CONTRAST_MAX_RUNS 8

struct contrast_row {
	const char *option, *section;	/* borrowed: as in options.def */
	char *values[CONTRAST_MAX_RUNS];	/* owned */
};

struct contrast {
	struct contrast_row *rows;	/* owned */
	size_t n, cap;
};

/* n at most CONTRAST_MAX_RUNS; what was in c is forgotten first. */
int  contrast_make(struct contrast *c, const char *workspace, const char *const *names, size_t n,
		   struct err *e);
void contrast_free(struct contrast *c);

#endif
