/* run_comparison.c - runs, curves and differing options of a comparison; see run_comparison.h. */
#include "tui/views/run_comparison.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "tui/plot/plot.h"
#include "tui/plot/plot_viewport.h"
#include "tui/plot/series_band.h"

#define LIST_EVERY_S 3.0
#define BUDGET_S     0.02
#define FIRST_CHOSEN 3 /* runs chosen when the view opens */

const char *const compare_metric_names[COMPARE_METRICS] = { "training NLL",  "dev NLL",
							    "dev BLEU",	     "learning rate",
							    "gradient norm", "target tokens/s" };
const char *const compare_axis_names[COMPARE_AXES] = { "steps", "minutes of training",
						       "million target tokens" };

static const size_t offsets[COMPARE_METRICS] = {
	offsetof(struct run_history, nll),	 offsetof(struct run_history, dev_nll),
	offsetof(struct run_history, bleu),	 offsetof(struct run_history, rate),
	offsetof(struct run_history, grad_norm), offsetof(struct run_history, target_tps)
};

static void free_compared_run(struct compared_run *r)
{
	history_free(r->own);
	free(r->curve.points);
}

void comparison_free(struct run_comparison *b)
{
	for (size_t i = 0; i < b->n; i++)
		free_compared_run(&b->runs[i]);
	free(b->runs);
	for (size_t k = 0; k < OPTION_DIFF_MAX_RUNS; k++) {
		free(b->bands[k].points);
		free(b->tails[k].points);
	}
	option_diff_free(&b->differ);
	*b = (struct run_comparison){ 0 };
}

struct run_history *comparison_history(const struct compared_run *r, const struct app_context *w)
{
	if (!r->chosen)
		return NULL;
	return w->run && w->history && !strcmp(w->run, r->name) ? w->history : r->own;
}

bool comparison_toggle(struct run_comparison *b, size_t i)
{
	struct compared_run *r = &b->runs[i];

	assert(i < b->n && b->n_chosen <= OPTION_DIFF_MAX_RUNS);
	if (!r->chosen && b->n_chosen == OPTION_DIFF_MAX_RUNS)
		return false;
	r->chosen = !r->chosen;
	b->n_chosen += r->chosen ? 1 : (size_t)-1;
	b->stale = true;
	for (size_t k = 0; k < OPTION_DIFF_MAX_RUNS; k++)
		b->same_recipe[k] = b->group[k] =
			k; /* until comparison_update() has read the recipes */
	if (!r->chosen) {
		history_free(r->own);
		r->own = NULL;
		r->curve.n = 0;
	}
	return true;
}

/* ---- list of runs ---- */

static bool reuse_compared_run(struct run_comparison *b, const char *name, struct compared_run *to)
{
	for (size_t i = 0; i < b->n; i++)
		if (!strcmp(b->runs[i].name, name)) {
			*to = b->runs[i];
			b->runs[i] = (struct compared_run){ 0 };
			return true;
		}
	return false;
}

static int list_compared_runs(struct run_comparison *b, const struct app_context *w, struct err *e)
{
	size_t n = 0, chosen = 0;
	char **names = context_run_names(w, &n, e);
	struct compared_run *runs = names ? mem_alloc(n, sizeof(*runs), e) : NULL;

	for (size_t i = 0; runs && i < n; i++) {
		if (!reuse_compared_run(b, names[i], &runs[i]))
			snprintf(runs[i].name, sizeof(runs[i].name), "%s", names[i]);
		chosen += runs[i].chosen;
	}
	for (size_t i = 0; names && i < n; i++)
		free(names[i]);
	free(names);
	if (!runs)
		return e->code;
	b->stale |= chosen != b->n_chosen;
	for (size_t i = 0; i < b->n; i++)
		free_compared_run(&b->runs[i]);
	free(b->runs);
	b->runs = runs;
	b->n = n;
	b->n_chosen = chosen;
	return 0;
}

/* Initial choice: the workbench's run and its neighbours. */
static void choose_first(struct run_comparison *b, const struct app_context *w)
{
	for (size_t i = 0; i < b->n; i++)
		if (w->run && !strcmp(w->run, b->runs[i].name))
			comparison_toggle(b, i);
	for (size_t i = 0; i < b->n && b->n_chosen < FIRST_CHOSEN; i++)
		if (!b->runs[i].chosen)
			comparison_toggle(b, i);
}

/* ---- curves ---- */

double comparison_clock_at(const struct series *clock, double x)
{
	size_t low = 0, high = clock->n;

	if (!clock->n)
		return NAN;
	while (low < high) { /* binary search: the first point that ends at x or later */
		size_t middle = low + (high - low) / 2;

		if (clock->points[middle].last >= x)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == clock->n)
		return (double)clock->points[low - 1].high;
	if (x >= clock->points[low].first) {
		const struct series_point *p = &clock->points[low];
		double share = p->last > p->first ? (x - p->first) / (p->last - p->first) : 1;

		return (double)p->low + share * ((double)p->high - (double)p->low);
	}
	if (!low)
		return (double)clock->points[0].low;
	{
		const struct series_point *p = &clock->points[low - 1], *q = &clock->points[low];
		double share = (x - p->last) / (q->first - p->last);

		return (double)p->high + share * ((double)q->low - (double)p->high);
	}
}

static int make_curve(const struct run_comparison *b, struct compared_run *r,
		      const struct run_history *h, struct err *e)
{
	const struct series *from = b->metric == COMPARE_TRAIN_NLL
					    ? history_train_nll(h)
					    : (const void *)((const char *)h + offsets[b->metric]);
	const struct series *clock = b->axis == COMPARE_TIME ? &h->elapsed : &h->tokens;
	double unit = b->axis == COMPARE_TIME ? 60 : 1e6;
	size_t n = 0;

	r->is_loss = from == &h->loss;
	if (!r->curve.points &&
	    !(r->curve.points = mem_alloc(SERIES_POINTS, sizeof(*r->curve.points), e)))
		return e->code;
	for (size_t i = 0; i < from->n && n < SERIES_POINTS; i++) {
		struct series_point p = from->points[i];

		if (b->axis != COMPARE_STEP) {
			p.first = comparison_clock_at(clock, p.first) / unit;
			p.last = comparison_clock_at(clock, p.last) / unit;
		}
		if (isfinite(p.first) && isfinite(p.last))
			r->curve.points[n++] = p;
	}
	r->curve.n = n;
	r->curve.samples_a_point = from->samples_a_point;
	r->curve.value = from->value;
	r->end = n ? r->curve.points[n - 1].last : NAN;
	r->changed = false;
	return 0;
}

static unsigned update_run(struct run_comparison *b, struct compared_run *r, struct app_context *w,
			   struct err *e)
{
	bool is_context_run = w->run && w->history && !strcmp(w->run, r->name);
	struct run_history *h;
	int got = HISTORY_SAME;

	if (is_context_run && r->own) {
		history_free(r->own);
		r->own = NULL;
	}
	if (!is_context_run && !r->own && !(r->own = history_open(w->workspace, r->name, e)))
		return REACT_NOTHING;
	if (!is_context_run)
		got = history_update(r->own, w->now, BUDGET_S, e);
	h = comparison_history(r, w);
	r->changed |= got > HISTORY_SAME || (is_context_run && b->news & (NEWS_HISTORY | NEWS_RUN));
	if (!r->changed && !b->stale && r->curve.points)
		return REACT_NOTHING;
	make_curve(b, r, h, e);
	return REACT_REDRAW | (got == HISTORY_MORE ? REACT_AGAIN : 0);
}

/* Join the runs with one recipe; a run without a curve would leave no place for a band. */
static void group_curves(struct run_comparison *b)
{
	const struct compared_run *chosen[OPTION_DIFF_MAX_RUNS];
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		if (b->runs[i].chosen)
			chosen[n++] = &b->runs[i];
	for (size_t k = 0; k < n; k++) {
		b->group[k] = k;
		for (size_t j = 0; j < k && !b->seeds_apart && chosen[k]->curve.n; j++)
			if (b->same_recipe[j] == b->same_recipe[k] && chosen[j]->curve.n) {
				b->group[k] = j;
				break;
			}
	}
}

unsigned comparison_update(struct run_comparison *b, struct app_context *w, struct err *e)
{
	const char *names[OPTION_DIFF_MAX_RUNS];
	unsigned reaction = REACT_NOTHING;
	size_t n = 0;
	bool first = !b->listed_at;

	if (first || fabs(w->now - b->listed_at) >= LIST_EVERY_S) {
		b->listed_at = w->now;
		if (list_compared_runs(b, w, e))
			return REACT_NOTHING;
		if (first || !b->n_chosen)
			choose_first(b, w);
	}
	for (size_t i = 0; i < b->n; i++)
		if (b->runs[i].chosen) {
			reaction |= update_run(b, &b->runs[i], w, e);
			names[n++] = b->runs[i].name;
		}
	assert(n == b->n_chosen);
	if (b->stale) {
		option_diff_make(&b->differ, w->workspace, names, n, e);
		option_diff_group_seeds(&b->differ, n, b->same_recipe);
		reaction |= REACT_REDRAW;
	}
	if (reaction & REACT_REDRAW) {
		group_curves(b);
		b->band_weight = NAN;
	}
	b->stale = false;
	b->news = 0;
	return reaction;
}

/* ---- several seeds ---- */

size_t comparison_group_size(const struct run_comparison *b, size_t k)
{
	size_t n = 0;

	assert(k < b->n_chosen);
	for (size_t i = 0; i < b->n_chosen; i++)
		n += b->group[i] == b->group[k];
	return n;
}

/* The curves of the group whose first run is k; returns their number. *weight: see plot_line_smoothing(). */
static size_t collect_group(const struct run_comparison *b, size_t k,
			    const struct series *curves[OPTION_DIFF_MAX_RUNS], double *weight)
{
	size_t n = 0, at = 0;

	for (size_t i = 0; i < b->n; i++) {
		struct plot_line line = { .series = &b->runs[i].curve, .pen = PLOT_LINE };

		if (!b->runs[i].chosen)
			continue;
		if (b->group[at++] != k)
			continue;
		curves[n++] = &b->runs[i].curve;
		*weight = plot_line_smoothing(&line, *weight);
	}
	return n;
}

int comparison_make_bands(struct run_comparison *b, double weight, struct err *e)
{
	int rc = 0;

	if (b->band_weight == weight)
		return 0;
	for (size_t k = 0; k < b->n_chosen && !rc; k++) {
		const struct series *curves[OPTION_DIFF_MAX_RUNS];
		double group_weight = weight;
		size_t n = collect_group(b, k, curves, &group_weight);

		if (n > 1 && !(rc = series_band_make(&b->bands[k], curves, n, group_weight, e)))
			rc = series_band_tail(&b->tails[k], curves, n, group_weight, e);
	}
	b->band_weight = weight;
	return rc;
}

/* ---- values ---- */

const struct series_point *comparison_point(const struct series *curve, double x)
{
	const struct series_point *first = curve->points, *last;
	double apart;

	if (!curve->n)
		return NULL;
	last = &curve->points[curve->n - 1];
	apart = (last->last - first->first) / (double)curve->n; /* between neighbours */
	if (x < first->first - apart || x > last->last + apart)
		return NULL;
	return viewport_point_at(curve, x);
}

double comparison_value(const struct compared_run *r, double x)
{
	const struct series_point *p = comparison_point(&r->curve, x);

	return !p ? NAN : isfinite(x) ? series_mean(p) : r->curve.value;
}

double comparison_smoothed_value(const struct compared_run *r, double weight, double x)
{
	struct plot_line line = { .series = &r->curve, .pen = PLOT_LINE };

	return comparison_point(&r->curve, x) ? plot_line_value(&line, weight, x) : NAN;
}
