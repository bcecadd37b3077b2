/* run_plots.c - plots of the run view; see run_panes.h. */
#include "tui/views/run_panes.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/number_format.h"
#include "share/base/util.h"
#include "tui/plot/plot.h"
#include "tui/run/time_split.h"
#include "tui/term/draw.h"
#include "tui/views/csv_export.h"
#include "tui/views/svg_export.h"

#define MOST_SAVES 8 /* marks of checkpoints, the newest: more would hide the axis */

#define NARROW_COLS    48 /* narrower panes have no room for units */
#define OPS_PANE_ROWS  16 /* rows of the zoomed step pane that leave room for its operations */
#define HEADLINE_ROWS  10 /* rows of a pane that leave room for its headline */
#define SPLIT_BAR_ROWS 7  /* rows of a pane of the step that leave room for its bar */

static const char *const pane_titles[PANE_COUNT] = {
	[PANE_LOSS] = "NLL",	   [PANE_BLEU] = "BLEU, dev",	  [PANE_RATE] = "learning rate",
	[PANE_SPEED] = "tokens/s", [PANE_GRAD] = "gradient norm", [PANE_SPLIT] = "step",
};

/* ---- contents of a pane ---- */

struct pane_plot {
	struct plot_line lines[RUN_LINES];
	const char *tags[RUN_LINES];
	size_t n;
	bool from_zero;
	int decimals; /* decimals of values; -1: format_value() decides */
};

static void add_pane_line(struct pane_plot *p, const struct series *s, enum plot_pen pen,
			  const char *name, const char *tag)
{
	assert(p->n < RUN_LINES);
	p->lines[p->n] = (struct plot_line){
		.series = s, .pen = pen, .style = (enum style)(STYLE_FIRST + p->n), .name = name
	};
	p->tags[p->n++] = tag;
}

/* The series of a pane; a narrow pane has short labels. */
static struct pane_plot make_pane_plot(const struct run_history *h, enum run_pane pane, bool narrow)
{
	struct pane_plot p = { .from_zero = true, .decimals = -1 };
	bool is_nll = history_train_nll(h) == &h->nll;

	switch (pane) {
	case PANE_LOSS:
		add_pane_line(&p, history_train_nll(h), PLOT_LINE, "train",
			      is_nll ? "train/nll" : "train/loss");
		add_pane_line(&p, &h->dev_nll, PLOT_MARKED, "dev", "dev/nll");
		p.lines[1].best = -1;
		if (h->sample_nll.n && !narrow)
			add_pane_line(&p, &h->sample_nll, PLOT_EXACT_DOTTED, "no dropout",
				      "dev/train_sample_nll");
		p.from_zero = false;
		p.decimals = narrow ? 2 : 3;
		break;
	case PANE_BLEU:
		add_pane_line(&p, &h->bleu, PLOT_MARKED, "", "dev/bleu");
		p.lines[0].best = 1;
		p.decimals = 2;
		break;
	case PANE_SPEED:
		add_pane_line(&p, &h->target_tps, PLOT_LINE, narrow ? "tgt" : "target",
			      "speed/target_tokens_per_second");
		add_pane_line(&p, &h->source_tps, PLOT_DOTTED, narrow ? "src" : "source",
			      "speed/source_tokens_per_second");
		break;
	case PANE_GRAD:
		add_pane_line(&p, &h->grad_norm, PLOT_LINE, "", "train/gradient_norm");
		break;
	case PANE_SPLIT:
		add_pane_line(&p, &h->compute_s, PLOT_EXACT, "compute", "step/compute_seconds");
		add_pane_line(&p, &h->update_s, PLOT_EXACT, "update", "step/update_seconds");
		add_pane_line(&p, &h->wait_s, PLOT_EXACT, "slowest", "step/wait_seconds");
		add_pane_line(&p, &h->transfer_s, PLOT_EXACT, "network", "step/transfer_seconds");
		add_pane_line(&p, &h->input_s, PLOT_EXACT, "input", "step/input_seconds");
		add_pane_line(&p, &h->step_s, PLOT_EXACT_DOTTED, "whole step",
			      "speed/step_seconds");
		break;
	default:
		add_pane_line(&p, &h->rate, PLOT_EXACT, "", "train/learning_rate");
	}
	return p;
}

size_t run_series(const struct run_history *h, enum run_pane pane,
		  struct csv_series items[RUN_LINES])
{
	struct pane_plot p;

	if (pane >= PANE_SAMPLES)
		return 0;
	p = make_pane_plot(h, pane, false);
	for (size_t i = 0; i < p.n; i++)
		items[i] = (struct csv_series){ p.lines[i].series, p.tags[i] };
	return p.n;
}

/* ---- marks ---- */

void run_collect_marks(const struct run_history *h, struct run_view_state *s)
{
	static const struct {
		enum style style;
		uint32_t sign;
	} looks[] = {
		[LINE_START] = { STYLE_MARK, 0x25B2 }, [LINE_STOP] = { STYLE_DIM, 0x25A0 },
		[LINE_WARNING] = { STYLE_WARN, '!' },  [LINE_ERROR] = { STYLE_BAD, 0x2717 },
		[LINE_INFO] = { STYLE_MARK, 'i' },     [LINE_CONSOLE] = { STYLE_DIM, 'i' },
		[LINE_SAVE] = { STYLE_DIM, 0x25BC },
	};
	size_t saves = 0;

	for (size_t i = 0; i < h->n_marks; i++)
		saves += h->marks[i].kind == LINE_SAVE;
	s->n_marks = 0;
	s->n_saves = MIN(saves, (size_t)MOST_SAVES);
	/* checkpoints first: of two marks in one place, a plot draws the later one of the array */
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < h->n_marks; i++) {
			enum history_kind kind = h->marks[i].kind;
			bool is_save = kind == LINE_SAVE;

			if (is_save != !pass || (is_save && saves-- > MOST_SAVES))
				continue;
			/* The end of the curves already shows the end of the run. */
			if (kind == LINE_STOP && h->marks[i].x >= (double)h->step)
				continue;
			s->marks[s->n_marks++] =
				(struct plot_mark){ h->marks[i].x, looks[kind].sign,
						    looks[kind].style };
		}
}

/* ---- drawing ---- */

/* Legend entry of a step, NaN: none; returns 0 or 1 entries. */
static int step_piece(double step, struct legend *piece, char text[NUMBER_TEXT_BYTES])
{
	if (!isfinite(step))
		return 0;
	*piece = (struct legend){ 0, STYLE_BRIGHT, "step", format_count(text, (int64_t)step) };
	return 1;
}

/* The step of the values in the legend: the cursor's, or that of the nearest evaluation. NaN: no cursor. */
static double legend_step(const struct pane_plot *p, double cursor)
{
	const struct series_point *at = isfinite(cursor) && p->lines[0].pen == PLOT_MARKED
						? viewport_point_at(p->lines[0].series, cursor)
						: NULL;

	return at ? at->first : cursor;
}

/* Title of a pane, with a note about unusual axes. A narrow pane has no room for units. */
static void name_pane(const struct plot_viewport *s, enum run_pane pane, int cols,
		      const struct run_history *h, char *out, size_t size)
{
	const bool narrow = cols < NARROW_COLS;
	const char *title = pane_titles[pane];

	if (pane == PANE_LOSS && history_train_nll(h) == &h->loss)
		title = narrow ? "loss" : "loss, label-smoothed";
	else if (pane == PANE_LOSS && !narrow)
		title = "NLL (nats a token)";
	else if (pane == PANE_SPLIT && cols >= 100)
		title = "step; below: not compute";
	snprintf(out, size, "%s%s%s", title,
		 pane != PANE_SPLIT && s->log_y >> pane & 1 ? ", log" : "",
		 isfinite(s->from) ? ", part" : "");
}

static const char *format_pane_value(char out[NUMBER_TEXT_BYTES], const struct pane_plot *p,
				     double v)
{
	return p->decimals < 0 ? format_value(out, v) : format_fixed(out, v, p->decimals);
}

/* The line whose value is the headline of a pane: of evaluations, if there is one. */
static const struct plot_line *main_line(const struct pane_plot *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->lines[i].best && p->lines[i].series->n)
			return &p->lines[i];
	return &p->lines[0];
}

/*
 * The change of a line since the evaluation before the cursor, or before its latest value. NaN: none,
 * or merged points no longer hold the two values and no smoothing asks for their means.
 */
static double change_since_evaluation(const struct plot_line *l, const struct run_history *h,
				      const struct plot_viewport *s)
{
	const struct series *evaluations = h->dev_nll.n ? &h->dev_nll : &h->bleu;
	const struct series_point *at = viewport_point_at(l->series, s->cursor), *was = NULL;
	const double weight = viewport_smoothing(s);
	double before = NAN;

	if (l->best)
		evaluations = l->series;
	for (size_t i = 0; at && i < evaluations->n; i++)
		if (evaluations->points[i].n && evaluations->points[i].last < at->first)
			before = evaluations->points[i].first;
	if (isfinite(before))
		was = viewport_point_at(l->series, before);
	if (!was || was == at ||
	    (!(plot_line_smoothing(l, weight) > 0) && (at->n != 1 || was->n != 1)))
		return NAN;
	return plot_line_value(l, weight, s->cursor) - plot_line_value(l, weight, before);
}

/* The trend of a pane's headline: a direction, and how much. Returns 0 or 1 entries. */
static int trend_piece(const struct pane_plot *p, const struct plot_line *l,
		       const struct run_history *h, const struct plot_viewport *s,
		       struct legend *piece, char text[NUMBER_TEXT_BYTES + 2])
{
	const double change = change_since_evaluation(l, h, s);
	const bool is_smooth = plot_line_smoothing(l, viewport_smoothing(s)) > 0;

	if (!isfinite(change) || change == 0)
		return 0;
	*text = is_smooth ? '~' : 0;
	format_pane_value(text + is_smooth, p, fabs(change));
	if (!strpbrk(text, "123456789")) { /* less than a unit of the last decimal */
		*text = '<';
		format_pane_value(text + 1, p, pow(10, -p->decimals));
	}
	*piece = (struct legend){ change > 0 ? 0x25B2 : 0x25BC,
				  !l->best		 ? STYLE_DIM
				  : change * l->best > 0 ? STYLE_GOOD
							 : STYLE_WARN,
				  "", text };
	return 1;
}

#define HEADLINE_PIECES (RUN_LINES + 6)
struct headline {
	char values[RUN_LINES][NUMBER_TEXT_BYTES + 1], raw[NUMBER_TEXT_BYTES];
	char step[NUMBER_TEXT_BYTES], trend[NUMBER_TEXT_BYTES + 2], best[NUMBER_TEXT_BYTES];
	char best_step[NUMBER_TEXT_BYTES + 8];
	struct legend pieces[HEADLINE_PIECES];
	int n;
};

/* Add the value of a line, ~ before that of a smoothed one, which is the curve in full colour. */
static void add_line_value(struct headline *to, const struct pane_plot *p, size_t i,
			   const struct plot_viewport *s, enum style style)
{
	const struct plot_line *l = &p->lines[i];
	const bool is_smooth = plot_line_smoothing(l, viewport_smoothing(s)) > 0;

	*to->values[i] = is_smooth ? '~' : 0;
	format_pane_value(to->values[i] + is_smooth, p,
			  plot_line_value(l, viewport_smoothing(s), s->cursor));
	to->pieces[to->n++] = (struct legend){ 0, style, l->name, to->values[i] };
}

/* One number with its trend, then the values of other lines, the best, and the raw value. */
static void make_headline(struct headline *to, const struct run_history *h,
			  const struct pane_plot *p, const struct plot_viewport *s)
{
	const struct plot_line *first = main_line(p);

	to->n = step_piece(legend_step(p, s->cursor), to->pieces, to->step);
	add_line_value(to, p, (size_t)(first - p->lines), s, STYLE_BRIGHT);
	to->n += trend_piece(p, first, h, s, &to->pieces[to->n], to->trend);
	for (size_t i = 0; i < p->n; i++)
		if (&p->lines[i] != first && p->lines[i].series->n)
			add_line_value(to, p, i, s, p->lines[i].style);
	if (first->series == &h->bleu && h->best_step >= 0 && !isfinite(s->cursor)) {
		snprintf(to->best_step, sizeof(to->best_step), "at %s",
			 format_count(to->step, h->best_step));
		to->pieces[to->n++] = (struct legend){ 0x2605, STYLE_GOOD, "best",
						       format_fixed(to->best, h->best_bleu, 2) };
		to->pieces[to->n++] = (struct legend){ 0, STYLE_DIM, to->best_step, "" };
	}
	if (plot_line_smoothing(first, viewport_smoothing(s)) > 0)
		to->pieces[to->n++] = (struct legend){
			0, STYLE_FIRST_RAW, "raw",
			format_pane_value(to->raw, p, viewport_value_at(first->series, s->cursor))
		};
	assert(to->n <= HEADLINE_PIECES);
}

/* Draws the headline in the first row of *box and takes this row from it; a low pane has it in the border. */
static void draw_headline(struct grid *g, struct rect *box, const char *title,
			  const struct run_history *h, const struct pane_plot *p,
			  const struct plot_viewport *s)
{
	struct headline line;

	make_headline(&line, h, p, s);
	if (box->rows < HEADLINE_ROWS) {
		draw_legend(g, *box, title, line.pieces, line.n);
		return;
	}
	draw_pieces(g, box->row + 1, box->col + 2, box->cols - 4, line.pieces, line.n);
	box->row++;
	box->rows--;
}

static double axis_end(const struct run_history *h)
{
	bool done = h->state == RUN_FINISHED || h->state == RUN_STOPPED || h->state == RUN_FAILED;

	if (h->step <= 0)
		return 0;
	return done ? (double)h->step : plot_x_end((double)h->step, (double)h->plan.steps);
}

static double part_at(const struct series *part, const struct series *whole, double cursor)
{
	return part->n ? viewport_value_at(part, cursor) / viewport_value_at(whole, cursor) : NAN;
}

#define SHORT_POINTS 64	  /* newest points of the step's series that decide about its pane */
#define SHORT_SHARE  0.95 /* share of computing from which one line tells all */

bool run_step_is_short(const struct run_history *h)
{
	const struct series *parts[] = { &h->step_s, &h->compute_s };
	double sums[ARRAY_LEN(parts)] = { 0 };
	size_t n = MIN(h->step_s.n, (size_t)SHORT_POINTS);

	if (!h->step_s.n)
		return false;
	if (!h->compute_s.n)
		return true;
	for (size_t p = 0; p < ARRAY_LEN(parts); p++)
		for (size_t i = parts[p]->n - MIN(n, parts[p]->n); i < parts[p]->n; i++)
			sums[p] += parts[p]->points[i].sum;
	return sums[1] >= SHORT_SHARE * sums[0];
}

/* The length of a step and its parts, at the cursor. */
struct step_legend {
	struct fleet_time_split split;
	char text[TIME_SPLIT_PARTS][NUMBER_TEXT_BYTES], step[NUMBER_TEXT_BYTES];
	char seconds[NUMBER_TEXT_BYTES + 4];
	struct legend pieces[TIME_SPLIT_PARTS + 2];
	int n, n_facts; /* entries; those before the parts */
};

static void make_step_legend(struct step_legend *to, const struct grid *g,
			     const struct run_history *h, double at, bool narrow, const char *label)
{
	to->split = (struct fleet_time_split){
		.compute = part_at(&h->compute_s, &h->step_s, at),
		.update = part_at(&h->update_s, &h->step_s, at),
		.late = part_at(&h->wait_s, &h->step_s, at),
		.transfer = part_at(&h->transfer_s, &h->step_s, at),
		.input = part_at(&h->input_s, &h->step_s, at),
	};
	to->n = step_piece(at, to->pieces, to->step);
	to->n_facts = to->n;
	if (!h->step_s.n) /* there are no parts */
		return;
	snprintf(to->seconds, sizeof(to->seconds), "%.20s s",
		 VALUE_TEXT(viewport_value_at(&h->step_s, at)));
	to->pieces[to->n++] = (struct legend){ 0, STYLE_BRIGHT, label, to->seconds };
	to->n_facts = to->n;
	to->n += time_split_legend(g, &to->split, narrow, &to->pieces[to->n], to->text);
}

static void draw_split(struct grid *g, struct rect box, const struct run_history *h,
		       struct run_view_state *s, const char *title)
{
	/* compute is the rest up to the whole */
	const struct plot_part parts[] = {
		{ &h->update_s, time_split_looks[TIME_SPLIT_UPDATE].style },
		{ &h->wait_s, time_split_looks[TIME_SPLIT_LATE].style },
		{ &h->transfer_s, time_split_looks[TIME_SPLIT_TRANSFER].style },
		{ &h->input_s, time_split_looks[TIME_SPLIT_INPUT].style },
	};
	struct plot_stack stack = { .parts = parts,
				    .n = ARRAY_LEN(parts),
				    .first_fill = TIME_SPLIT_UPDATE,
				    .whole = &h->step_s };
	struct rect below = box;
	struct step_legend legend;

	make_step_legend(&legend, g, h, s->plots.cursor, box.cols < 70, "");
	stack.axes.marks = s->marks + s->n_saves;
	stack.axes.n_marks = s->n_marks - s->n_saves;
	viewport_apply(&s->plots, PANE_SPLIT, axis_end(h), &stack.axes);
	if (!draw_bar_legend(g, box, title, legend.pieces, legend.n, legend.n_facts) &&
	    legend.n > legend.n_facts && box.rows > SPLIT_BAR_ROWS)
		draw_bar_pieces(g, ++below.row, box.col + 2, box.cols - 4,
				legend.pieces + legend.n_facts, legend.n - legend.n_facts);
	if (box.rows >= SPLIT_BAR_ROWS && h->step_s.n)
		time_split_draw_bar(g, ++below.row, box.col + 1, box.cols - 2, &legend.split);
	below.rows -= below.row - box.row;
	plot_stack_draw(g, below, &stack);
}

/* The step pane in one row. */
static void draw_step_row(struct grid *g, struct rect row, const struct run_history *h,
			  const struct run_view_state *s)
{
	struct step_legend legend;

	make_step_legend(&legend, g, h, s->plots.cursor, false, "time of a step");
	draw_pieces(g, row.row, row.col + 1, row.cols - 2, legend.pieces, legend.n);
}

/* A plot of a pane as it was drawn last; its area is not touched. */
static struct plot pane_plot_as_drawn(const struct run_history *h, enum run_pane pane,
				      const struct pane_plot *p, struct run_view_state *s)
{
	struct plot plot = {
		.lines = p->lines, .n = p->n, .from_zero = p->from_zero, .fill = true
	};

	viewport_apply(&s->plots, pane, axis_end(h), &plot);
	return plot;
}

bool run_export_picture(struct app_context *w, enum run_pane pane, struct run_view_state *s)
{
	static const char *const units[PANE_COUNT] = {
		[PANE_LOSS] = "nats a token", [PANE_SPEED] = "tokens/s", [PANE_SPLIT] = "s"
	};
	const struct run_history *h = w->history;
	struct pane_plot p;
	struct plot plot;
	char name[160], title[200];

	if (pane >= PANE_SAMPLES)
		return false;
	p = make_pane_plot(h, pane, false);
	plot = pane_plot_as_drawn(h, pane, &p, s);
	snprintf(name, sizeof(name), "%.100s-%s", h->name, pane_titles[pane]);
	snprintf(title, sizeof(title), "%s of run %.100s", pane_titles[pane], h->name);
	svg_export_plot(w, &(struct svg_request){ name, title, "step",
						  units[pane] ? units[pane] : "", &plot });
	return true;
}

void run_draw_plot(struct grid *g, struct rect box, enum run_pane pane, const struct run_history *h,
		   struct run_view_state *s)
{
	const bool narrow = box.cols < NARROW_COLS;
	struct rect all = box, inner;
	struct pane_plot p = make_pane_plot(h, pane, narrow);
	struct plot plot = pane_plot_as_drawn(h, pane, &p, s);
	char title[60];

	if (pane == PANE_SPLIT && box.rows == 1) {
		draw_step_row(g, box, h, s);
		return;
	}
	if (pane == PANE_SPLIT && s->zoomed && h->n_ops && box.rows >= OPS_PANE_ROWS) {
		/* the operations below the history, where all of them fit if the history has half */
		all.rows = MAX(box.rows / 2, box.rows - (int)h->n_ops - 4);
		run_draw_ops(
			g,
			(struct rect){ box.row + all.rows, box.col, box.rows - all.rows, box.cols },
			h);
		box = all;
	}
	inner = box;
	name_pane(&s->plots, pane, box.cols, h, title, sizeof(title));
	draw_box(g, box, title, s->focus == pane);
	if (pane == PANE_SPLIT) {
		draw_split(g, box, h, s, title);
	} else {
		/* a narrow axis has no room for checkpoints */
		plot.marks = s->marks + (narrow ? s->n_saves : 0);
		plot.n_marks = s->n_marks - (narrow ? s->n_saves : 0);
		draw_headline(g, &inner, title, h, &p, &s->plots);
		plot_draw(g, inner, &plot);
	}
}

/* ---- the table of values ---- */

#define VALUES_COLS   58
#define VALUES_NUMBER 11 /* columns of a number */

/* Draw a row of the table; right: the last column. */
static void draw_value_row(struct grid *g, int row, int left, int right, enum style style,
			   const char *name, const char *const numbers[3])
{
	int name_cols = right - 3 * VALUES_NUMBER - left;

	draw_text(g, row, left, name_cols, style == STYLE_DIM ? style : STYLE_NORMAL, name);
	for (int i = 0; i < 3; i++)
		draw_text_right(g, row, right - (2 - i) * VALUES_NUMBER, VALUES_NUMBER, style,
				numbers[i]);
}

/* The curves of a pane from row on; returns the next row. */
static int draw_pane_values(struct grid *g, struct rect in, int row, const struct run_history *h,
			    enum run_pane pane, const struct run_view_state *s)
{
	struct pane_plot p = make_pane_plot(h, pane, false);
	double weight = viewport_smoothing(&s->plots);

	for (size_t i = 0; i < p.n; i++, row++) {
		const struct plot_line *l = &p.lines[i];
		const struct series_point *at = viewport_point_at(l->series, s->plots.cursor);
		char smooth[NUMBER_TEXT_BYTES] = "", raw[NUMBER_TEXT_BYTES],
		     step[NUMBER_TEXT_BYTES], name[80];

		if (row >= in.row + in.rows)
			continue;
		if (plot_line_smoothing(l, weight) > 0)
			format_pane_value(smooth, &p, plot_line_value(l, weight, s->plots.cursor));
		format_pane_value(raw, &p, viewport_value_at(l->series, s->plots.cursor));
		snprintf(name, sizeof(name), "%s%s%s%s", pane_titles[pane], *l->name ? ", " : "",
			 l->name, pane == PANE_SPLIT ? ", s" : "");
		draw_value_row(
			g, row, in.col + 1, in.col + in.cols - 2, STYLE_BRIGHT, name,
			(const char *const[]){ smooth, raw,
					       at ? format_count(step, (int64_t)at->first) : "-" });
	}
	return row;
}

void run_draw_values(struct grid *g, struct rect body, const struct run_history *h,
		     const struct run_view_state *s)
{
	const struct plot_viewport *v = &s->plots;
	double from = isfinite(v->from) ? v->from : 0, to = isfinite(v->to) ? v->to : v->whole;
	bool is_right = isfinite(v->cursor) && v->cursor < (from + to) / 2;
	int rows = 3, row, cols = MIN(VALUES_COLS, body.cols);
	char title[60];
	struct csv_series ignored[RUN_LINES];
	struct rect box, in;

	for (enum run_pane pane = 0; pane < PANE_SAMPLES; pane++)
		rows += (int)run_series(h, pane, ignored);
	/* the side without the cursor */
	box = (struct rect){ body.row, is_right ? body.col + body.cols - cols : body.col,
			     MIN(rows, body.rows), cols };
	if (box.rows < 4 || cols < 4 * VALUES_NUMBER)
		return;
	draw_blank(g, box, STYLE_NORMAL);
	snprintf(title, sizeof(title), isfinite(v->cursor) ? "values at step %s" : "latest values",
		 COUNT_TEXT((int64_t)v->cursor));
	draw_box(g, box, title, false);
	in = layout_inside(box);
	draw_value_row(g, in.row, in.col + 1, in.col + in.cols - 2, STYLE_DIM, "curve",
		       (const char *const[]){ "smoothed", "raw", "of step" });
	row = in.row + 1;
	for (enum run_pane pane = 0; pane < PANE_SAMPLES; pane++)
		row = draw_pane_values(g, in, row, h, pane, s);
	draw_hidden_rows(g, box, 0, row - in.row - in.rows);
}
