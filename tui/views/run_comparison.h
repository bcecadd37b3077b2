/*
 * run_comparison.h - several runs as curves over a common axis.
 *
 *	comparison_update(&b, w, e)	list the runs, update their histories and curves
 *	… b.runs[i].curve, of b.metric over b.axis …
 *	comparison_free(&b)
 *
 * The workbench's own run uses the history of the context; every other chosen run has a
 * history of its own here.
 */
#ifndef WERKBANK_TUI_VIEWS_RUN_COMPARISON_H
#define WERKBANK_TUI_VIEWS_RUN_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/context/view.h"
#include "tui/plot/series.h"
#include "tui/run/option_diff.h"
#include "tui/run/run_history.h"

enum compare_metric {
	COMPARE_TRAIN_NLL,
	COMPARE_DEV_NLL,
	COMPARE_BLEU,
	COMPARE_RATE,
	COMPARE_GRAD,
	COMPARE_SPEED,
	COMPARE_METRICS
};
enum compare_axis { COMPARE_STEP, COMPARE_TIME, COMPARE_TOKENS, COMPARE_AXES };

struct compared_run {
	char name[101];
	bool chosen;
	struct run_history *own; /* owned; NULL: uses the context's, or not chosen */
	bool changed;		 /* the history has newer data than the curve */
	struct series curve;	 /* the metric over the axis; points owned */
	bool is_loss;		 /* the curve is the loss: the run has no training NLL */
	double end;		 /* end of its axis; NaN: unknown */
};

struct run_comparison {
	struct compared_run *runs; /* owned; sorted by name */
	size_t n, n_chosen;
	enum compare_metric metric;
	enum compare_axis axis;
	struct option_diff differ; /* options of the chosen runs, in their order */
	bool seeds_apart;	   /* runs that differ in their seed alone are not joined */
	/* of the chosen runs, in their order: the first run that differs in its seed alone ... */
	size_t same_recipe[OPTION_DIFF_MAX_RUNS];
	/* ... and the first run of the group that is drawn as one; without a curve: the run itself */
	size_t group[OPTION_DIFF_MAX_RUNS];
	struct series bands[OPTION_DIFF_MAX_RUNS]; /* owned, see comparison_make_bands() */
	struct series tails[OPTION_DIFF_MAX_RUNS]; /* owned, the longest run beyond its band */
	double band_weight; /* private: smoothing of bands; NaN: they are out of date */
	bool stale;	    /* selection, metric or axis changed */
	unsigned news;	    /* enum context_news that no update has seen yet */
	double listed_at;   /* private: when runs were listed; 0: never */
};

extern const char *const compare_metric_names[COMPARE_METRICS];
extern const char *const compare_axis_names[COMPARE_AXES]; /* with units */

/* Update the list, the histories of chosen runs and their curves; returns reaction bits. */
unsigned comparison_update(struct run_comparison *b, struct app_context *w, struct err *e);
/* Select or deselect run i; false: OPTION_DIFF_MAX_RUNS are selected already. */
bool comparison_toggle(struct run_comparison *b, size_t i);
void comparison_free(struct run_comparison *b);

/* The number of runs in the group of chosen run k; 1: it is drawn as itself. */
size_t comparison_group_size(const struct run_comparison *b, size_t k);
/*
 * Make bands[k] for each group of several runs, of which k is the first: mean and spread of their
 * curves, each smoothed as a line of its own would be by this weight. Cheap if nothing has changed.
 */
int comparison_make_bands(struct run_comparison *b, double weight, struct err *e);

/* Borrowed until the next update; NULL: not chosen. */
struct run_history *comparison_history(const struct compared_run *r, const struct app_context *w);
/*
 * The point of a curve nearest to x; x NaN: its last point with a value. Borrowed; NULL: the curve has
 * no points, or x is outside it.
 */
const struct series_point *comparison_point(const struct series *curve, double x);
/* Value of the curve at x (NaN: latest); NaN: none. The same of the curve smoothed by weight. */
double comparison_value(const struct compared_run *r, double x);
double comparison_smoothed_value(const struct compared_run *r, double weight, double x);

/* The clock (seconds, tokens) at step x, interpolated between its samples. For tests. */
double comparison_clock_at(const struct series *clock, double x);

#endif
