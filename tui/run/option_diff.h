/*
 * option_diff.h - the options in which runs differ.
 *
 *	struct option_diff c = { 0 };
 *	option_diff_make(&c, workspace, names, n, e);
 *	c.rows[i].option, c.rows[i].values[k]	of run k
 *	option_diff_free(&c);
 *
 * The values come from recipe.ini of each run. Options with equal values, and "run", are left
 * out. A run without a recipe has NULL values.
 */
#ifndef WERKBANK_TUI_RUN_OPTION_DIFF_H
#define WERKBANK_TUI_RUN_OPTION_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

#define OPTION_DIFF_MAX_RUNS 8

struct option_diff_row {
	const char *option, *section;	    /* borrowed from options.def */
	char *values[OPTION_DIFF_MAX_RUNS]; /* owned */
};

struct option_diff {
	struct option_diff_row *rows; /* owned */
	size_t n, cap;
	bool has_recipe[OPTION_DIFF_MAX_RUNS];
	int64_t seeds[OPTION_DIFF_MAX_RUNS];
};

/* Compare n runs, at most OPTION_DIFF_MAX_RUNS; replaces the contents of c. ERR_NOMEM. */
int option_diff_make(struct option_diff *c, const char *workspace, const char *const *names,
		     size_t n, struct err *e);
void option_diff_free(struct option_diff *c);

/*
 * Group the n compared runs that differ in their seed and in no other option: group[k] becomes the
 * first run of run k's group, k itself for a run that is alone. A run without a recipe is alone,
 * and so is a run with the seed of an earlier run of the group.
 */
void option_diff_group_seeds(const struct option_diff *c, size_t n,
			     size_t group[OPTION_DIFF_MAX_RUNS]);

#endif
