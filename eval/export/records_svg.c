/* records_svg.c - see records_svg.h. */
#include "eval/export/records_svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/format/svg_plot.h"
#include "share/workspace/journal.h"
#include "train/record/scalars.h"

#define PLOT_WIDTH  560.0
#define PLOT_HEIGHT 300.0
#define MOST_POINTS 2000 /* of a line; beyond, neighbours are merged into their mean and range */
#define MOST_MARKS  200

/* The lines of the page; those with the same plot number share a plot. */
static const struct line_kind {
	int plot;
	const char *tag, *label;
	enum svg_pen pen;
} kinds[] = {
	{ 0, "train/nll", "training", SVG_LINE },
	{ 0, "dev/nll", "development", SVG_MARKED },
	{ 0, "dev/train_sample_nll", "training, no dropout", SVG_DASHED },
	{ 1, "train/loss", "training", SVG_LINE },
	{ 1, "dev/loss", "development", SVG_MARKED },
	{ 2, "dev/bleu", "BLEU", SVG_MARKED },
	{ 2, "dev/pseudo_bleu", "BLEU of pieces", SVG_MARKED },
	{ 3, "train/learning_rate", "", SVG_LINE },
	{ 4, "train/gradient_norm", "", SVG_LINE },
	{ 5, "speed/target_tokens_per_second", "target", SVG_LINE },
	{ 5, "speed/source_tokens_per_second", "source", SVG_DASHED },
	{ 6, "speed/step_seconds", "whole", SVG_LINE },
	{ 6, "step/compute_seconds", "compute", SVG_LINE },
	{ 6, "step/update_seconds", "update", SVG_DASHED },
	{ 6, "step/exposed_seconds", "exposed reduction", SVG_LINE },
	{ 6, "step/input_seconds", "input", SVG_DASHED },
};

static const struct {
	const char *title, *unit;
	bool from_zero;
} plots[] = {
	{ "NLL", "nats a token", false },
	{ "loss, label-smoothed", "nats a token", false },
	{ "BLEU of the development set", "", true },
	{ "learning rate", "", true },
	{ "gradient norm", "", true },
	{ "speed", "tokens/s", true },
	{ "time of a step", "s", true },
};

struct curve {
	struct svg_point *points; /* owned */
	size_t n, cap;
};

struct page {
	struct curve curves[ARRAY_LEN(kinds)];
	struct svg_mark marks[MOST_MARKS]; /* texts owned */
	size_t n_marks;
	double step; /* of the last record that has a step */
};

/* ---- reading ---- */

static int add_curve_point(void *arg, const char *tag, double value, struct err *e)
{
	struct page *p = arg;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct curve *c = &p->curves[i];

		if (strcmp(kinds[i].tag, tag))
			continue;
		if (mem_grow(&c->points, &c->cap, c->n + 1, sizeof(*c->points), e))
			return e->code;
		c->points[c->n++] = (struct svg_point){ p->step, value, NAN, NAN };
	}
	return 0;
}

/* An attempt starts at this step and repeats the steps after it. */
static void rewind_curves(struct page *p)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		while (p->curves[i].n && p->curves[i].points[p->curves[i].n - 1].x > p->step)
			p->curves[i].n--;
}

static void add_svg_mark(struct page *p, const char *kind, const char *text)
{
	char words[300];
	struct err ignored;

	if (p->n_marks == MOST_MARKS)
		return;
	snprintf(words, sizeof(words), "%s at step %.0f%s%.200s", kind, p->step, *text ? ": " : "",
		 text);
	p->marks[p->n_marks].x = p->step;
	if ((p->marks[p->n_marks].text = mem_strdup(words, &ignored)))
		p->n_marks++;
}

static int add_svg_record(struct page *p, const struct json *record, struct err *e)
{
	const char *kind = json_text(json_get(record, "kind"), "");

	p->step = (double)json_integer(json_get(record, "step"), (int64_t)p->step);
	if (!strcmp(kind, "start")) {
		rewind_curves(p);
		if (p->step > 0)
			add_svg_mark(p, "restart", "");
	} else if (!strcmp(kind, "event")) {
		const char *level = json_text(json_get(record, "level"), "info");

		if (strcmp(level, "info"))
			add_svg_mark(p, level, json_text(json_get(record, "text"), ""));
	}
	return scalars_each(record, add_curve_point, p, e);
}

static int read_svg_page(struct page *p, const char *journal, struct err *e)
{
	struct journal_reader *in = journal_reader_open(journal, e);
	const struct json *record;
	int got = in ? 0 : e->code;

	while (in && got >= 0 && (got = journal_next(in, &record, e)) > 0)
		if (add_svg_record(p, record, e))
			got = -1;
	journal_reader_free(in);
	return got < 0 ? e->code : got;
}

/* ---- writing ---- */

static void thin_out_curve(struct curve *c)
{
	size_t every = (c->n + MOST_POINTS - 1) / MOST_POINTS, n = 0;

	for (size_t i = 0; every > 1 && i < c->n; i += every) {
		struct svg_point q = c->points[i];
		size_t k = 1;

		q.low = q.high = q.y;
		for (; k < every && i + k < c->n; k++) {
			double y = c->points[i + k].y;

			q.y += y;
			q.low = MIN(q.low, y);
			q.high = MAX(q.high, y);
		}
		q.y /= (double)k;
		c->points[n++] = q;
	}
	if (every > 1)
		c->n = n;
}

/* The lines of plot number i; returns how many have values. */
static size_t collect_lines(const struct page *p, int i, struct svg_line lines[])
{
	size_t n = 0;

	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		if (kinds[k].plot == i && p->curves[k].n) {
			lines[n] = (struct svg_line){ kinds[k].label, p->curves[k].points,
						      p->curves[k].n, kinds[k].pen, n };
			n++;
		}
	return n;
}

static void write_plots(const struct page *p, const char *run, struct buf *out)
{
	struct svg_line lines[ARRAY_LEN(plots)][ARRAY_LEN(kinds)];
	size_t counts[ARRAY_LEN(plots)], shown = 0, at = 0;
	char title[120];

	for (size_t i = 0; i < ARRAY_LEN(plots); i++) {
		counts[i] = collect_lines(p, (int)i, lines[i]);
		/* beside the NLL, the loss says nothing more */
		counts[i] = i == 1 && counts[0] ? 0 : counts[i];
		shown += counts[i] > 0;
	}
	snprintf(title, sizeof(title), "run %.100s", run);
	svg_page_begin(out, title, 2 * PLOT_WIDTH,
		       30 + PLOT_HEIGHT * (double)MAX((shown + 1) / 2, (size_t)1));
	svg_text_add(out, 16, 22, title);
	for (size_t i = 0; i < ARRAY_LEN(plots); i++) {
		const struct svg_plot plot = { .title = plots[i].title,
					       .x_unit = "step",
					       .y_unit = plots[i].unit,
					       .lines = lines[i],
					       .n = counts[i],
					       .marks = p->marks,
					       .n_marks = p->n_marks,
					       .x_from = NAN,
					       .x_end = NAN,
					       .from_zero = plots[i].from_zero };

		if (!counts[i] && !(i == 0 && !shown))
			continue;
		svg_plot_add(out, &plot, PLOT_WIDTH * (double)(at % 2),
			     30 + PLOT_HEIGHT * (double)(at / 2), PLOT_WIDTH, PLOT_HEIGHT);
		at++;
	}
	svg_page_end(out);
}

int records_svg_page(const char *run, const char *journal, struct buf *out, struct err *e)
{
	struct page *p = mem_alloc(1, sizeof(*p), e);
	int rc = p ? read_svg_page(p, journal, e) : e->code;

	for (size_t i = 0; p && i < ARRAY_LEN(kinds); i++)
		thin_out_curve(&p->curves[i]);
	if (!rc)
		write_plots(p, run, out);
	for (size_t i = 0; p && i < ARRAY_LEN(kinds); i++)
		free(p->curves[i].points);
	for (size_t i = 0; p && i < p->n_marks; i++)
		free((char *)p->marks[i].text);
	free(p);
	return rc;
}
