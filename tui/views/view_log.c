/* view_log.c - the tab "log": filter, search, read, copy and export the log of a run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/text/text_filter.h"
#include "share/base/number_format.h"
#include "share/base/util.h"
#include "tui/run/log_lines.h"
#include "tui/term/draw.h"
#include "tui/term/list_widget.h"
#include "tui/views/csv_export.h"
#include "tui/views/views.h"

#define LEFT_STRIDE 8

/* The filters that the key cycles through. */
#define BIT(kind) (1u << (kind))
static const struct {
	const char *name;
	unsigned kinds;
} filters[] = {
	{ "everything", ~0u },
	{ "warnings and errors", BIT(LINE_WARNING) | BIT(LINE_ERROR) | BIT(LINE_CONSOLE) },
	{ "evaluations", BIT(LINE_EVAL) | BIT(LINE_BEST) },
	{ "checkpoints", BIT(LINE_SAVE) },
	{ "starts and stops", BIT(LINE_START) | BIT(LINE_STOP) },
	{ "events", BIT(LINE_INFO) | BIT(LINE_WARNING) | BIT(LINE_ERROR) },
};

struct log_view {
	unsigned filter; /* index into filters[] */
	struct text_filter find, only;
	bool clock;		     /* UTC clock instead of time since the start */
	bool follow;		     /* the last line stays chosen when lines arrive */
	int chosen, top, left, page; /* chosen and top are indices of matching lines */
	int first_row;		     /* screen row of the first line, for the mouse */
};

static void log_close(void *state)
{
	struct log_view *v = state;

	text_filter_clear(&v->find);
	text_filter_clear(&v->only);
}

static void log_begin(void *state)
{
	log_close(state);
	*(struct log_view *)state = (struct log_view){ .follow = true, .page = 10 };
}

/* ---- matching lines ---- */

/* Whether the text of a line or its kind matches. */
static bool log_line_matches(const struct text_filter *f, const struct history_line *l)
{
	return text_filter_matches(f, l->text) || text_filter_matches(f, log_kind_name(l->kind));
}

static bool log_filter_matches(const struct log_view *v, const struct history_line *l)
{
	if (!(filters[v->filter].kinds & BIT(l->kind)))
		return false;
	return log_line_matches(&v->only, l);
}

static int count_log_lines(const struct log_view *v, const struct run_history *h)
{
	int n = 0;

	for (size_t i = 0; i < h->n_lines; i++)
		n += log_filter_matches(v, history_line(h, i));
	return n;
}

/* Matching line number at; NULL: fewer match. */
static const struct history_line *filtered_log_line(const struct log_view *v,
						    const struct run_history *h, int at)
{
	for (size_t i = 0; i < h->n_lines; i++) {
		const struct history_line *l = history_line(h, i);

		if (log_filter_matches(v, l) && at-- == 0)
			return l;
	}
	return NULL;
}

/* Choose the next line, forwards or backwards, that contains the search text; wraps around. */
static void find_next(struct log_view *v, struct app_context *w, int way)
{
	const struct run_history *h = w->history;
	int all = count_log_lines(v, h);

	if (!*v->find.text || !all)
		return;
	for (int i = 1; i <= all; i++) {
		int at = ((v->chosen + way * i) % all + all) % all;
		const struct history_line *l = filtered_log_line(v, h, at);

		if (log_line_matches(&v->find, l)) {
			v->chosen = at;
			v->follow = at == all - 1;
			return;
		}
	}
	context_notify(w, STYLE_WARN, "no line contains \"%s\"", v->find.text);
}

/* ---- keys ---- */

static void move_log_line(struct log_view *v, const struct run_history *h, int lines)
{
	int all = count_log_lines(v, h);

	v->chosen = MAX(MIN(v->chosen + lines, all - 1), 0);
	v->follow = v->chosen == all - 1;
}

/* Append a line as text: time, step, kind, text. */
static void append_log_line(struct buf *out, const struct history_line *l, char between)
{
	char clock[NUMBER_TEXT_BYTES];

	buf_printf(out, "%s%c", log_date(clock, l->t), between);
	if (l->step >= 0)
		buf_printf(out, "%lld", (long long)l->step);
	buf_printf(out, "%c%s%c", between, log_kind_name(l->kind), between);
}

static void copy_line(const struct log_view *v, struct app_context *w)
{
	const struct history_line *l = filtered_log_line(v, w->history, v->chosen);
	struct buf out = { 0 };

	if (!l)
		return;
	append_log_line(&out, l, '\t');
	buf_add_str(&out, l->text);
	context_copy_text(w, buf_text(&out));
	buf_free(&out);
}

static void show_log_line(const struct log_view *v, struct app_context *w)
{
	const struct history_line *l = filtered_log_line(v, w->history, v->chosen);
	char title[100], clock[NUMBER_TEXT_BYTES], step[NUMBER_TEXT_BYTES];

	if (!l)
		return;
	snprintf(title, sizeof(title), "%s, %s UTC, step %s", log_kind_name(l->kind),
		 log_clock(clock, l->t), format_count(step, l->step));
	context_ask_text(w, QUESTION_TEXT, 0, title, l->text);
}

static void export_log(const struct log_view *v, struct app_context *w)
{
	struct buf out = { 0 };
	char name[200];

	buf_add_str(&out, "Time (UTC),Step,Kind,Text\n");
	for (size_t i = 0; i < w->history->n_lines; i++) {
		const struct history_line *l = history_line(w->history, i);

		if (!log_filter_matches(v, l))
			continue;
		append_log_line(&out, l, ',');
		csv_put_field(&out, l->text, '\n');
	}
	snprintf(name, sizeof(name), "%.100s-log.csv", w->history->name);
	context_write_file(w, name, buf_text(&out));
	buf_free(&out);
}

static void show_log_step(const struct log_view *v, struct app_context *w)
{
	const struct history_line *l = filtered_log_line(v, w->history, v->chosen);

	if (l && l->step >= 0)
		context_show_step(w, l->step);
	else
		context_notify(w, STYLE_WARN, "this line belongs to no step");
}

static unsigned log_act(void *state, struct app_context *w, enum action action)
{
	struct log_view *v = state;
	int by;

	if (list_move_of(action, v->page, &by)) {
		move_log_line(v, w->history, by);
		return REACT_REDRAW;
	}
	switch (action) {
	case ACTION_LEFT:
		v->left = MAX(v->left - LEFT_STRIDE, 0);
		break;
	case ACTION_RIGHT:
		v->left = MIN(v->left + LEFT_STRIDE, HISTORY_TEXT);
		break;
	case ACTION_LOG_NEXT:
		find_next(v, w, 1);
		break;
	case ACTION_LOG_PREVIOUS:
		find_next(v, w, -1);
		break;
	case ACTION_LOG_STEP:
		show_log_step(v, w);
		break;
	case ACTION_LOG_OPEN:
		show_log_line(v, w);
		break;
	case ACTION_COPY:
		copy_line(v, w);
		break;
	case ACTION_EXPORT:
		export_log(v, w);
		break;
	case ACTION_BACK:
		if (!*v->find.text && !*v->only.text && !v->filter)
			return REACT_UNKNOWN;
		log_close(v);
		v->filter = 0;
		break;
	default:
		return REACT_UNKNOWN;
	}
	return REACT_REDRAW;
}

static void find_latest(void *state, struct app_context *w)
{
	find_next(state, w, -1);
}

static unsigned log_mouse(void *state, struct app_context *w, const struct mouse *m)
{
	struct log_view *v = state;

	if (mouse_wheel_action(m))
		move_log_line(v, w->history, m->kind == MOUSE_WHEEL_UP ? -3 : 3);
	else if (m->kind == MOUSE_PRESS && m->row >= v->first_row)
		move_log_line(v, w->history, v->top + m->row - v->first_row - v->chosen);
	else
		return REACT_UNKNOWN;
	return REACT_REDRAW;
}

/* ---- drawing ---- */

static void draw_log_head(struct grid *g, struct rect box, const struct log_view *v,
			  const struct run_history *h, int all)
{
	char lines[NUMBER_TEXT_BYTES], bad[NUMBER_TEXT_BYTES];
	struct legend pieces[6];
	int n = 0;

	pieces[n++] = (struct legend){ 0, STYLE_BRIGHT, "lines", format_count(lines, all) };
	if (v->clock)
		pieces[n++] = (struct legend){ 0, STYLE_BRIGHT, "time", "UTC" };
	if (v->filter)
		pieces[n++] = (struct legend){ 0, STYLE_MARK, "filter", filters[v->filter].name };
	if (*v->only.text)
		pieces[n++] = (struct legend){ 0, STYLE_MARK, "only", v->only.text };
	if (*v->find.text)
		pieces[n++] = (struct legend){ 0, STYLE_MARK, "search", v->find.text };
	if (h->bad_lines)
		pieces[n++] = (struct legend){ 0, STYLE_WARN, "unreadable records",
					       format_count(bad, h->bad_lines) };
	draw_legend(g, box, "log", pieces, n);
}

static void log_draw(void *state, struct grid *g, struct rect body, const struct app_context *w)
{
	struct log_view *v = state;
	const struct run_history *h = w->history;
	struct rect r = layout_inside(body);
	size_t i = 0;
	int all, at = 0;

	if (!h) {
		draw_centred(g, body, STYLE_TITLE, "There is no run yet.");
		return;
	}
	all = count_log_lines(v, h);
	v->page = MAX(r.rows, 1);
	v->chosen = v->follow ? MAX(all - 1, 0) : MAX(MIN(v->chosen, all - 1), 0);
	v->top = MAX(MIN(MIN(v->top, v->chosen), all - r.rows), 0);
	v->top = MAX(v->top, v->chosen - r.rows + 1);
	v->first_row = r.row;
	draw_box(g, body, "log", true);
	draw_log_head(g, body, v, h, all);
	if (!all)
		draw_centred(g, r, STYLE_DIM, "no line matches the filter; Esc shows all lines");
	for (; i < h->n_lines && at < v->top + r.rows; i++) {
		struct log_row row = { .line = history_line(h, i),
				       .first_t = v->clock ? NAN : h->first_t,
				       .left = v->left,
				       .find = &v->find };

		if (!log_filter_matches(v, row.line) || at++ < v->top)
			continue;
		row.selected = at - 1 == v->chosen;
		log_draw_row(g, (struct rect){ r.row + at - 1 - v->top, r.col, 1, r.cols }, &row);
	}
	draw_hidden_rows(g, body, v->top, all - r.rows - v->top);
}

static const struct view_pane log_pane =
	VIEW_PANE("log: lines", ACTION_FIND, ACTION_LOG_KINDS, ACTION_LOG_ONLY, ACTION_LOG_STEP,
		  ACTION_LOG_CLOCK, ACTION_EXPORT);

static const struct view_toggle log_toggles[] = {
	VIEW_KEY(struct log_view, filter, ACTION_LOG_KINDS, ARRAY_LEN(filters), NULL),
	VIEW_KEY(struct log_view, clock, ACTION_LOG_CLOCK, 2, NULL),
	VIEW_FILTER(struct log_view, find, ACTION_FIND, 0, "Search for", find_latest),
	VIEW_FILTER(struct log_view, only, ACTION_LOG_ONLY, 0, "Only lines that contain", NULL),
};

const struct view view_log = {
	.name = "log",
	.title = "log",
	.state_size = sizeof(struct log_view),
	.begin = log_begin,
	.act = log_act,
	.draw = log_draw,
	.close = log_close,
	.mouse = log_mouse,
	.needs_run = true,
	.panes = &log_pane,
	.n_panes = 1,
	.hints = VIEW_ACTIONS(ACTION_FIND, ACTION_LOG_KINDS, ACTION_LOG_ONLY, ACTION_LOG_CLOCK,
			      ACTION_LOG_OPEN, ACTION_EXPORT),
	.toggles = log_toggles,
	.n_toggles = ARRAY_LEN(log_toggles),
};
