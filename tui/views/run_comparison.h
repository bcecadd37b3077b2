/*
 * run_comparison.h - several runs as curves over the same axis.
 *
 *	compare_list(&b, w, e)			which runs there are; those chosen before stay chosen
 *	comparison_update(&b, w, e)		histories of the chosen ones, and curves where needed
 *	… b.runs[i].curve, of b.metric over b.axis …
 *	comparison_free(&b)
 *
 * The history of the workbench's own run is the world's; of the others each has one here.
 */
#ifndef WERKBANK_TUI_VIEWS_RUN_COMPARISON_H
#define WERKBANK_TUI_VIEWS_RUN_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/run/option_diff.h"
#include "tui/run/run_history.h"
#include "tui/plot/series.h"
#include "tui/app/view.h"

enum compare_metric {
	COMPARE_LOSS,
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
	struct run_history *own; /* owned; NULL: the world's, or not chosen */
	bool changed;		 /* the curve is older than the history */
	struct series curve;	 /* of the metric over the axis; points owned */
	double end;		 /* of its axis; NaN: unknown */
};

struct run_comparison {
	struct compared_run *runs; /* owned; by name */
	size_t n, n_chosen;
	enum compare_metric metric;
	enum compare_axis axis;
	struct option_diff differ; /* of the chosen ones, in their order */
	bool stale;		   /* others were chosen, or another metric or axis */
	double listed_at;	   /* private: when; 0: never */
};

extern const char *const compare_metric_names[COMPARE_METRICS];
extern const char *const compare_axis_names[COMPARE_AXES]; /* with their unit */

unsigned comparison_update(struct run_comparison *b, struct app_context *w, struct err *e);
/* Choose or no longer choose run i; false: there are OPTION_DIFF_MAX_RUNS already. */
bool comparison_toggle(struct run_comparison *b, size_t i);
void comparison_free(struct run_comparison *b);

/* Borrowed until the next update; NULL: not chosen. */
struct run_history *comparison_history(const struct compared_run *r, const struct app_context *w);
/* Value of the curve at x (NaN: its latest); NaN: none. */
double comparison_value(const struct compared_run *r, double x);

/*
 * A point of the clock (seconds, tokens) at step x: between the samples it has on both sides. For
 * tests.
 */
double comparison_clock_at(const struct series *clock, double x);

#endif
