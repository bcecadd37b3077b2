/* compare_plot.c - see compare_plot.h. */
#include "tui/views/compare_plot.h"

#include <math.h>
#include <stdio.h>

#include "share/base/number_format.h"
#include "share/base/util.h"
#include "tui/plot/series_band.h"
#include "tui/term/draw.h"
#include "tui/views/svg_export.h"

#define BAND_WHOLE 0.99 /* share of the longest run that a band reaches to count as whole */

static const struct compare_look looks[] = {
	{ STYLE_FIRST, PLOT_LINE, "---" },    { STYLE_SECOND, PLOT_DOTTED, ". ." },
	{ STYLE_THIRD, PLOT_BULLETS, "-o-" }, { STYLE_FOURTH, PLOT_LINE, "---" },
	{ STYLE_FIFTH, PLOT_DOTTED, ". ." },  { STYLE_SIXTH, PLOT_BULLETS, "-o-" },
	{ STYLE_FIRST, PLOT_DOTTED, ". ." },  { STYLE_SECOND, PLOT_LINE, "---" },
};

/* The index of that look. */
static size_t look_of_chosen(const struct run_comparison *b, size_t k)
{
	size_t look = 0;

	for (size_t i = 0; i < b->group[k]; i++)
		look += b->group[i] == i;
	return look;
}

const struct compare_look *compare_look_of(const struct run_comparison *b, size_t k)
{
	return &looks[look_of_chosen(b, k)];
}

static bool is_metric_exact(enum compare_metric metric)
{
	/* evaluations are few, and each is a mean; the learning rate has no noise */
	return metric == COMPARE_DEV_NLL || metric == COMPARE_BLEU || metric == COMPARE_RATE;
}

double compare_smoothing(const struct run_comparison *b, const struct plot_viewport *v,
			 const struct compared_run *r)
{
	struct plot_line own = { .series = &r->curve, .pen = PLOT_LINE };

	return is_metric_exact(b->metric) ? 0 : plot_line_smoothing(&own, viewport_smoothing(v));
}

bool compare_is_smoothed(const struct run_comparison *b, const struct plot_viewport *v)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->runs[i].chosen && compare_smoothing(b, v, &b->runs[i]) > 0)
			return true;
	return false;
}

/* The plot of the chosen runs, its title and the names of its lines. */
struct compare_plot {
	struct plot_line lines[2 * OPTION_DIFF_MAX_RUNS]; /* after the first n: their tails */
	size_t n;
	size_t seeds[OPTION_DIFF_MAX_RUNS]; /* runs of a line */
	double ends[OPTION_DIFF_MAX_RUNS];  /* where the longest of them ends */
	char labels[OPTION_DIFF_MAX_RUNS][160];
	struct plot plot;
	char title[120];
	enum compare_axis axis;
};

/* Add the line of chosen run k; a run that is drawn with an earlier one has none. */
static void add_compare_line(struct compare_plot *to, const struct run_comparison *b,
			     const struct compared_run *r, size_t k)
{
	size_t at = to->plot.n, seeds = comparison_group_size(b, k), look = look_of_chosen(b, k);

	if (b->group[k] != k)
		return;
	to->lines[at] = (struct plot_line){ .series = seeds > 1 ? &b->bands[k] : &r->curve,
					    .pen = looks[look].pen,
					    .style = looks[look].style,
					    .has_band = seeds > 1,
					    .name = to->labels[at] };
	to->seeds[at] = seeds;
	if (seeds > 1)
		snprintf(to->labels[at], sizeof(to->labels[at]), "%s, mean of %zu seeds", r->name,
			 seeds);
	else
		snprintf(to->labels[at], sizeof(to->labels[at]), "%s", r->name);
	to->n++;
	to->plot.n++;
}

/* Add what the longest run of each band has beyond it, dotted and without a label. */
static void add_compare_tails(struct compare_plot *to, const struct run_comparison *b)
{
	for (size_t k = 0; k < b->n_chosen; k++) {
		size_t at = to->plot.n;

		if (b->group[k] != k || comparison_group_size(b, k) < 2 || !b->tails[k].n)
			continue;
		to->lines[at] = (struct plot_line){ .series = &b->tails[k],
						    .pen = PLOT_EXACT_DOTTED,
						    .style = compare_look_of(b, k)->style };
		to->plot.n++;
	}
}

/* Where the longest run of each line ends; returns the end of the longest of all, 0: unknown. */
static double find_line_ends(struct compare_plot *to, const struct run_comparison *b)
{
	double longest = 0;
	size_t k = 0;

	for (size_t i = 0; i < b->n && k < OPTION_DIFF_MAX_RUNS; i++) {
		size_t line = 0;

		if (!b->runs[i].chosen)
			continue;
		line = look_of_chosen(b, k);
		to->ends[line] = b->group[k] == k ? 0 : to->ends[line];
		k++;
		if (!isfinite(b->runs[i].end))
			continue;
		to->ends[line] = MAX(to->ends[line], b->runs[i].end);
		longest = MAX(longest, b->runs[i].end);
	}
	return longest;
}

static void make_compare_plot(struct compare_plot *to, struct run_comparison *b,
			      struct plot_viewport *v)
{
	bool has_loss = false;
	struct plot *p = &to->plot;
	struct err ignored; /* without memory there is no band */
	double weight = is_metric_exact(b->metric) ? 0 : viewport_smoothing(v), end;
	size_t k = 0;

	to->n = 0;
	*p = (struct plot){ .lines = to->lines, .cursor = NAN };
	to->axis = b->axis;
	comparison_make_bands(b, weight, &ignored);
	for (size_t i = 0; i < b->n && k < OPTION_DIFF_MAX_RUNS; i++) {
		if (!b->runs[i].chosen)
			continue;
		add_compare_line(to, b, &b->runs[i], k++);
		has_loss |= b->runs[i].is_loss;
	}
	add_compare_tails(to, b);
	snprintf(to->title, sizeof(to->title), "%s by %s%s%s", compare_metric_names[b->metric],
		 compare_axis_names[b->axis], compare_is_smoothed(b, v) ? ", smoothed" : "",
		 has_loss ? ", of imported runs the loss" : "");
	p->from_zero = b->metric == COMPARE_BLEU || b->metric == COMPARE_SPEED;
	end = MAX(find_line_ends(to, b), 1e-3);
	viewport_apply(v, 0, b->axis == COMPARE_STEP ? plot_x_end(end, 0) : end, p);
	p->smooth = weight;
}

void compare_export_picture(struct app_context *w, struct run_comparison *b,
			    struct plot_viewport *v)
{
	struct compare_plot p;

	make_compare_plot(&p, b, v);
	svg_export_plot(w, &(struct svg_request){ "compare", p.title, compare_axis_names[b->axis],
						  compare_metric_names[b->metric], &p.plot });
}

/* The entries of a line with a band: what the band is, the mean, and the range at the cursor. */
struct band_legend {
	char band[40], mean_name[NUMBER_TEXT_BYTES + 16];
	char mean[NUMBER_TEXT_BYTES], range[2 * NUMBER_TEXT_BYTES + 8];
};

static void fill_band_legend(struct band_legend *to, const struct compare_plot *p, size_t i,
			     bool only)
{
	const struct series *s = p->lines[i].series;
	const struct series_point *at = comparison_point(s, p->plot.cursor);
	bool known = at && at->n;

	snprintf(to->band, sizeof(to->band), "%s of %zu%s",
		 p->seeds[i] < SERIES_BAND_MANY ? "min, max" : "mean ± 1 sd", p->seeds[i],
		 only ? " seeds" : "");
	snprintf(to->mean_name, sizeof(to->mean_name), "mean");
	/* one of the runs ends earlier than others: the band ends there */
	if (known && !isfinite(p->plot.cursor) && at->last < p->ends[i] * BAND_WHOLE)
		snprintf(to->mean_name, sizeof(to->mean_name), "mean at %s",
			 p->axis == COMPARE_STEP ? COUNT_TEXT((int64_t)at->last)
						 : VALUE_TEXT(at->last));
	format_value(to->mean, at ? series_mean(at) : NAN);
	snprintf(to->range, sizeof(to->range), "%s to %s",
		 VALUE_TEXT(known ? (double)at->low : NAN),
		 VALUE_TEXT(known ? (double)at->high : NAN));
}

static void draw_band_legend(struct grid *g, struct rect box, const struct compare_plot *p)
{
	struct band_legend texts[OPTION_DIFF_MAX_RUNS];
	struct legend pieces[3 * OPTION_DIFF_MAX_RUNS];
	int bands = 0, n = 0;

	for (size_t i = 0; i < p->n; i++)
		bands += p->lines[i].has_band;
	for (int part = 0; part < 3; part++)
		for (size_t i = 0; i < p->n; i++) {
			const struct plot_line *l = &p->lines[i];
			enum style raw = (enum style)(STYLE_FIRST_RAW + (l->style - STYLE_FIRST));

			if (!l->has_band)
				continue;
			if (!part)
				fill_band_legend(&texts[i], p, i, bands == 1);
			pieces[n++] = part == 0 ? (struct legend){ 0x2592, raw, texts[i].band, "" }
				      : part == 1
					      ? (struct legend){ plot_pen_sign(l->pen), l->style,
								 texts[i].mean_name, texts[i].mean }
					      : (struct legend){ 0, raw, "", texts[i].range };
		}
	draw_legend(g, box, p->title, pieces, n);
}

void compare_draw_plot(struct grid *g, struct rect box, struct run_comparison *b,
		       struct plot_viewport *v)
{
	struct compare_plot p;

	make_compare_plot(&p, b, v);
	draw_box(g, box, p.title, false);
	if (!p.plot.n) {
		draw_centred(g, layout_inside(box), STYLE_DIM,
			     b->n ? "no run selected; Space selects one" : "no run yet");
		return;
	}
	plot_draw(g, box, &p.plot);
	draw_band_legend(g, box, &p);
}
