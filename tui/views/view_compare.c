/*
 * view_compare.c - the tab "compare": curves of several runs, and the options in which they differ.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/text/text_filter.h"
#include "share/base/number_format.h"
#include "share/base/util.h"
#include "share/conf/conf.h"
#include "tui/plot/plot_viewport.h"
#include "tui/term/draw.h"
#include "tui/term/list_widget.h"
#include "tui/views/compare_plot.h"
#include "tui/views/csv_export.h"
#include "tui/views/run_comparison.h"
#include "tui/views/views.h"

#define LIST_NUMBER 10 /* columns of a number in the list of runs */
#define LIST_NARROW                                                                                \
	40 /* columns of the list that have room for smoothed values while one reads ... */
#define LIST_WIDE 60 /* ... and always */

enum compare_pane { COMPARE_LIST, COMPARE_DIFFER, COMPARE_PANES };

struct compare_view {
	struct run_comparison comparison;
	struct plot_viewport viewport;
	enum compare_axis cursor_axis; /* whose unit the cursor has */
	struct list_widget lists[COMPARE_PANES];
	enum compare_pane focus;
	int left;		   /* columns of runs scrolled out at the left */
	struct text_filter wanted; /* the last search */
};

static int compare_open(void *state, struct app_context *w, struct err *e)
{
	struct compare_view *c = state;

	(void)w;
	(void)e;
	viewport_init(&c->viewport);
	return 0;
}

static void compare_close(void *state)
{
	struct compare_view *c = state;

	comparison_free(&c->comparison);
	text_filter_clear(&c->wanted);
}

static unsigned compare_look(void *state, struct app_context *w)
{
	struct compare_view *c = state;
	struct err e = { 0 };

	c->comparison.news |= w->news;
	return w->front ? comparison_update(&c->comparison, w, &e) : REACT_NOTHING;
}

/* ---- keys ---- */

static const struct compared_run *first_chosen(const struct run_comparison *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->runs[i].chosen)
			return &b->runs[i];
	return NULL;
}

/* Write the table as CSV: results of the runs, then the differing options. */
static void export_table(const struct compare_view *c, struct app_context *w)
{
	const struct run_comparison *b = &c->comparison;
	struct buf out = { 0 };
	size_t k = 0;

	csv_put_field(&out, "option", b->n_chosen ? ',' : '\n');
	for (size_t i = 0; i < b->n; i++)
		if (b->runs[i].chosen)
			csv_put_field(&out, b->runs[i].name, ++k == b->n_chosen ? '\n' : ',');
	csv_put_field(&out, compare_metric_names[b->metric], b->n_chosen ? ',' : '\n');
	k = 0;
	for (size_t i = 0; i < b->n; i++)
		if (b->runs[i].chosen)
			csv_put_number(&out, comparison_value(&b->runs[i], c->viewport.cursor),
				       ++k == b->n_chosen ? '\n' : ',');
	for (size_t row = 0; row < b->differ.n; row++) {
		csv_put_field(&out, b->differ.rows[row].option, ',');
		for (k = 0; k < b->n_chosen; k++)
			csv_put_field(&out,
				      b->differ.rows[row].values[k] ? b->differ.rows[row].values[k]
								    : "",
				      k + 1 == b->n_chosen ? '\n' : ',');
	}
	context_write_file(w, "compare.csv", buf_text(&out));
	buf_free(&out);
}

static unsigned toggle_chosen_run(struct compare_view *c, struct app_context *w)
{
	size_t at = c->lists[COMPARE_LIST].at;

	if (at < c->comparison.n && !comparison_toggle(&c->comparison, at))
		context_notify(w, STYLE_WARN, "at most %d runs at once", OPTION_DIFF_MAX_RUNS);
	return REACT_REDRAW | REACT_AGAIN;
}

/* Over steps, the cursor is that of all plots of the workbench. */
static void take_shared_cursor(struct compare_view *c, const struct app_context *w)
{
	if (c->comparison.axis == COMPARE_STEP)
		c->viewport.cursor = w->plot_step;
}

static void share_cursor(const struct compare_view *c, struct app_context *w)
{
	if (c->comparison.axis == COMPARE_STEP)
		w->plot_step = c->viewport.cursor;
}

static void compare_again(void *state, struct app_context *w)
{
	struct compare_view *c = state;

	(void)w;
	c->comparison.stale = true;
}

/* Reset the window, which has the units of the axis before. */
static void use_axis(void *state, struct app_context *w)
{
	struct compare_view *c = state;

	compare_again(c, w);
	c->cursor_axis = c->comparison.axis;
	c->viewport.from = c->viewport.to = c->viewport.cursor = NAN;
}

static unsigned compare_act(void *state, struct app_context *w, enum action action)
{
	struct compare_view *c = state;
	const struct compared_run *first = first_chosen(&c->comparison);
	unsigned reaction;

	take_shared_cursor(c, w);
	switch (action) {
	case ACTION_COMPARE_TOGGLE:
		return toggle_chosen_run(c, w);
	case ACTION_BACK:
		if (!isfinite(c->viewport.cursor))
			return REACT_UNKNOWN;
		c->viewport.cursor = NAN;
		share_cursor(c, w);
		return REACT_REDRAW;
	case ACTION_FIND:
		context_ask_text(w, QUESTION_SEARCH, 1, "next run whose name contains",
				 c->wanted.text);
		return REACT_REDRAW;
	case ACTION_EXPORT:
		export_table(c, w);
		return REACT_REDRAW;
	case ACTION_PLOT_PICTURE:
		compare_export_picture(w, &c->comparison, &c->viewport);
		return REACT_REDRAW;
	case ACTION_LEFT:
	case ACTION_RIGHT:
		if (c->focus == COMPARE_DIFFER) {
			c->left = MAX(c->left + (action == ACTION_RIGHT ? 1 : -1), 0);
			return REACT_REDRAW;
		}
		break;
	default:
		break;
	}
	reaction = viewport_act(&c->viewport, action, 0, first ? &first->curve : NULL);
	share_cursor(c, w);
	return reaction;
}

/* Go to the next run whose name contains the text; wraps around. */
static unsigned compare_answer(void *state, struct app_context *w, int question, const char *text)
{
	struct compare_view *c = state;
	struct list_widget *l = &c->lists[COMPARE_LIST];
	struct err ignored;

	(void)question;
	if (!text || !*text)
		return REACT_REDRAW;
	text_filter_set(&c->wanted, text, &ignored);
	c->focus = COMPARE_LIST;
	for (size_t i = 1; i <= c->comparison.n; i++) {
		size_t at = (l->at + i) % c->comparison.n;

		if (text_filter_matches(&c->wanted, c->comparison.runs[at].name)) {
			l->at = at;
			return REACT_REDRAW;
		}
	}
	context_notify(w, STYLE_WARN, "no run has \"%.60s\" in its name", text);
	return REACT_REDRAW;
}

static unsigned compare_mouse(void *state, struct app_context *w, const struct mouse *m)
{
	struct compare_view *c = state;
	unsigned reaction;
	size_t plot;

	reaction = viewport_mouse(&c->viewport, m, &plot);
	share_cursor(c, w);
	return reaction;
}

/* ---- drawing ---- */

/* The columns of numbers in a list of `cols` columns: raw values, and with room smoothed ones. */
static int list_numbers(const struct compare_view *c, int cols)
{
	bool has_room = cols >= LIST_WIDE || (isfinite(c->viewport.cursor) && cols >= LIST_NARROW);

	return has_room && compare_is_smoothed(&c->comparison, &c->viewport) ? 2 : 1;
}

/* k: the number of the run among the selected ones */
static void draw_list_row(const struct list_row *row, const struct compare_view *c,
			  const struct app_context *w, size_t k)
{
	const struct compared_run *r = &c->comparison.runs[row->i];
	enum style style = r->chosen ? STYLE_NORMAL : STYLE_DIM;
	int numbers = list_numbers(c, row->cols), name = 10;
	const struct run_history *history = r->chosen ? comparison_history(r, w) : NULL;

	row_text(row, 2, 0, style, r->chosen ? "[x]" : "[ ]");
	if (r->chosen) {
		const struct compare_look *look = compare_look_of(&c->comparison, k);

		grid_text(row->g, row->row, row->col + 6, row->cols - 6, look->style, look->sample);
	}
	if (history && run_health_is_bad(&history->health)) {
		const struct run_look look = run_health_look(history->health.state);

		row_sign(row, name, look.style, look.sign);
		name += 2;
	}
	draw_text(row->g, row->row, row->col + name,
		  MAX(row->cols - name - numbers * LIST_NUMBER, 4),
		  row->chosen ? STYLE_SELECTED : style, r->name);
	if (!r->chosen)
		return;
	row_text_right(row, row->cols - 2, LIST_NUMBER - 1, style,
		       VALUE_TEXT(comparison_value(r, c->viewport.cursor)));
	if (numbers > 1 && compare_smoothing(&c->comparison, &c->viewport, r) > 0)
		row_text_right(row, row->cols - 2 - LIST_NUMBER, LIST_NUMBER - 1, style,
			       VALUE_TEXT(comparison_smoothed_value(
				       r, compare_smoothing(&c->comparison, &c->viewport, r),
				       c->viewport.cursor)));
}

/* What the list shows: at which place of the axis, and the heads of its numbers. */
static void draw_list_frame(struct grid *g, struct rect box, const struct compare_view *c)
{
	static const struct {
		const char *before, *after;
	} places[] = { [COMPARE_STEP] = { "step ", "" },
		       [COMPARE_TIME] = { "", " minutes" },
		       [COMPARE_TOKENS] = { "", " M tokens" } };
	int right = box.col + box.cols - 3, numbers = list_numbers(c, box.cols - 2);
	char title[60] = "runs", at[NUMBER_TEXT_BYTES];

	if (isfinite(c->viewport.cursor)) {
		if (c->comparison.axis == COMPARE_STEP)
			format_count(at, (int64_t)c->viewport.cursor);
		else
			format_value(at, c->viewport.cursor);
		snprintf(title, sizeof(title), "runs at %s%s%s", places[c->comparison.axis].before,
			 at, places[c->comparison.axis].after);
	}
	draw_box(g, box, title, c->focus == COMPARE_LIST);
	if (!compare_is_smoothed(&c->comparison, &c->viewport))
		return;
	draw_text_right(g, box.row, right, 5, STYLE_DIM, " raw ");
	if (numbers > 1)
		draw_text_right(g, box.row, right - LIST_NUMBER, 10, STYLE_DIM, " smoothed ");
}

static void draw_runs(struct grid *g, struct rect box, struct compare_view *c,
		      const struct app_context *w)
{
	struct list_widget *l = &c->lists[COMPARE_LIST];
	struct rect in = layout_inside(box);
	struct list_row row = list_rows(g, in, l, c->comparison.n, c->focus == COMPARE_LIST);
	size_t chosen = 0;

	draw_list_frame(g, box, c);
	for (size_t i = 0; i < l->top; i++)
		chosen += c->comparison.runs[i].chosen;
	for (; list_row_next(&row); chosen += c->comparison.runs[row.i].chosen)
		draw_list_row(&row, c, w, chosen);
	list_widget_draw_place(g, box, l);
	if (!c->comparison.n && in.rows > 0)
		draw_text(g, in.row, in.col + 1, in.cols - 1, STYLE_DIM, "no run yet");
}

static void draw_table_row(const struct list_row *row, const struct compare_view *c)
{
	const struct option_diff_row *r = &c->comparison.differ.rows[row->i];
	char dashed[CONF_NAME_MAX];
	int to = 23;

	row_text(row, 2, 20, STYLE_BRIGHT, conf_dashed(r->option, dashed));
	for (size_t k = (size_t)c->left; k < c->comparison.n_chosen && to + 4 <= row->cols;
	     k++, to += 17)
		row_text(row, to, 16, STYLE_NORMAL, r->values[k] ? r->values[k] : "-");
}

/* "options that differ: 3", and the first run whose options are unknown. */
static void table_title(const struct run_comparison *b, char *title, size_t size)
{
	const char *unknown = NULL;
	size_t k = 0;

	for (size_t i = 0; i < b->n && !unknown; i++)
		if (b->runs[i].chosen && !b->differ.has_recipe[k++])
			unknown = b->runs[i].name;
	snprintf(title, size, "options that differ: %s%s%.60s%s", COUNT_TEXT((int64_t)b->differ.n),
		 unknown ? " (" : "", unknown ? unknown : "", unknown ? " has no recipe)" : "");
}

static void draw_table(struct grid *g, struct rect box, struct compare_view *c)
{
	struct list_widget *l = &c->lists[COMPARE_DIFFER];
	const struct run_comparison *b = &c->comparison;
	struct rect in = layout_inside(box), below = in;
	struct list_row row;
	char title[160];
	size_t k = 0;

	c->left = MIN(c->left, (int)MAX(b->n_chosen, 1) - 1);
	table_title(b, title, sizeof(title));
	draw_box(g, box, title, c->focus == COMPARE_DIFFER);
	for (size_t i = 0; i < b->n && in.rows > 0; i++) {
		int to = in.col + 23 + ((int)k - c->left) * 17;

		if (!b->runs[i].chosen)
			continue;
		if (to >= in.col + 23 && to + 4 <= in.col + in.cols)
			draw_text(g, in.row, to, MIN(16, in.col + in.cols - to),
				  compare_look_of(b, k)->style, b->runs[i].name);
		k++;
	}
	below.row++;
	below.rows--;
	row = list_rows(g, below, l, b->differ.n, c->focus == COMPARE_DIFFER);
	while (list_row_next(&row))
		draw_table_row(&row, c);
	list_widget_draw_place(g, box, l);
}

static void compare_draw(void *state, struct grid *g, struct rect body, const struct app_context *w)
{
	struct compare_view *c = state;
	bool wide = body.cols >= 100;
	int n = (int)MAX(c->comparison.n, 1);
	const struct layout_part rows[] = {
		{ .min = 3, .max = wide ? 3 : MIN(n, 6) + 2, .rank = 1, .weight = 1 },
		{ .min = 4, .weight = 3, .rank = 0 },
		{ .min = 4,
		  .max = (int)MIN(c->comparison.differ.n, (size_t)20) + 3,
		  .weight = 2,
		  .rank = 2 }
	};
	const struct layout_part cols[] = { { .min = 34, .max = 44, .weight = 1 },
					    { .min = 40, .weight = 3 } };
	struct rect r[3] = { { 0 } }, upper[2];

	viewport_clear_areas(&c->viewport);
	take_shared_cursor(c, w);
	if (!wide) {
		layout_rows(body, rows, 3, r);
	} else {
		layout_rows(body, rows + 1, 2, r + 1);
		layout_cols(r[1], cols, 2, upper);
		r[0] = upper[0];
		r[1] = upper[1];
	}
	if (r[0].rows > 2 && r[0].cols > 2)
		draw_runs(g, r[0], c, w);
	if (r[1].rows > 2 && r[1].cols > 2)
		compare_draw_plot(g, r[1], &c->comparison, &c->viewport);
	if (r[2].rows > 2)
		draw_table(g, r[2], c);
}

static const struct view_pane compare_panes[COMPARE_PANES] = {
	[COMPARE_LIST] = VIEW_PANE("runs", ACTION_COMPARE_TOGGLE, ACTION_FIND, ACTION_EXPORT),
	[COMPARE_DIFFER] = VIEW_PANE("options", ACTION_RIGHT, ACTION_EXPORT),
};

static const struct view_toggle compare_toggles[] = {
	VIEW_KEY(struct compare_view, comparison.metric, ACTION_COMPARE_METRIC, COMPARE_METRICS,
		 compare_again),
	VIEW_KEY(struct compare_view, comparison.axis, ACTION_COMPARE_AXIS, COMPARE_AXES, use_axis),
	VIEW_KEY(struct compare_view, comparison.seeds_apart, ACTION_COMPARE_SEEDS, 2,
		 compare_again),
	VIEWPORT_TOGGLES(VIEW_TOGGLE, struct compare_view, viewport),
};

static void compare_restored(void *state, struct app_context *w)
{
	struct compare_view *c = state;

	compare_again(c, w);
	if (c->cursor_axis != c->comparison.axis)
		c->viewport.cursor = NAN;
	c->cursor_axis = c->comparison.axis;
}

const struct view view_compare = {
	.name = "compare",
	.title = "compare",
	.state_size = sizeof(struct compare_view),
	.open = compare_open,
	.update = compare_look,
	.act = compare_act,
	.draw = compare_draw,
	.close = compare_close,
	.mouse = compare_mouse,
	.answer = compare_answer,
	.panes = compare_panes,
	.n_panes = COMPARE_PANES,
	.focus = offsetof(struct compare_view, focus),
	.lists = offsetof(struct compare_view, lists),
	.n_lists = COMPARE_PANES,
	.list_open = ACTION_COMPARE_TOGGLE,
	.hints = VIEW_ACTIONS(ACTION_COMPARE_TOGGLE, ACTION_COMPARE_METRIC, ACTION_COMPARE_AXIS,
			      ACTION_PLOT_SMOOTHER, ACTION_RIGHT, ACTION_PLOT_IN, ACTION_NEXT_PANE,
			      ACTION_FIND, ACTION_EXPORT),
	.toggles = compare_toggles,
	.n_toggles = ARRAY_LEN(compare_toggles),
	.restored = compare_restored,
};
