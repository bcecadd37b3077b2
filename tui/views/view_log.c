/* view_log.c - the tab "log": filter, search, read, copy and export the log of a run. */
#include <math.h>
#include <stdio.h>

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
	bool clock;		 /* UTC clock instead of time since the start */
	struct list_widget list; /* of matching lines */
	int left;		 /* columns scrolled out at the left */
};

static void clear_log_filters(struct log_view *v)
{
	text_filter_clear(&v->find);
	text_filter_clear(&v->only);
}

static void log_begin(void *state)
{
	clear_log_filters(state);
	*(struct log_view *)state = (struct log_view){ .list.follows = true };
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

static size_t count_log_lines(const struct log_view *v, const struct run_history *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_lines; i++)
		n += log_filter_matches(v, history_line(h, i));
	return n;
}

/* Matching line number at; NULL: fewer match. */
static const struct history_line *filtered_log_line(const struct log_view *v,
						    const struct run_history *h, size_t at)
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
	const size_t all = count_log_lines(v, w->history);
	size_t at = MIN(v->list.at, MAX(all, 1) - 1);

	if (!*v->find.text)
		return;
	for (size_t i = 0; i < all; i++) {
		at = way > 0 ? (at + 1) % all : (at ? at : all) - 1;
		if (log_line_matches(&v->find, filtered_log_line(v, w->history, at))) {
			v->list.at = at;
			return;
		}
	}
	context_notify(w, STYLE_WARN, "no line contains \"%s\"", v->find.text);
}

/* ---- keys ---- */

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
	const struct history_line *l = filtered_log_line(v, w->history, v->list.at);
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
	const struct history_line *l = filtered_log_line(v, w->history, v->list.at);
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
	const struct history_line *l = filtered_log_line(v, w->history, v->list.at);

	if (l && l->step >= 0)
		context_show_step(w, l->step);
	else
		context_notify(w, STYLE_WARN, "this line belongs to no step");
}

static unsigned log_act(void *state, struct app_context *w, enum action action)
{
	struct log_view *v = state;

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
		clear_log_filters(v);
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

/* ---- drawing ---- */

static void draw_log_head(struct grid *g, struct rect box, const struct log_view *v,
			  const struct run_history *h, size_t all)
{
	char lines[NUMBER_TEXT_BYTES], bad[NUMBER_TEXT_BYTES];
	struct legend pieces[6];
	int n = 0;

	pieces[n++] =
		(struct legend){ 0, STYLE_BRIGHT, "lines", format_count(lines, (int64_t)all) };
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
	struct list_row at;
	size_t all, skip;

	if (!h) {
		draw_centred(g, body, STYLE_TITLE, "There is no run yet.");
		return;
	}
	all = count_log_lines(v, h);
	draw_box(g, body, "log", true);
	draw_log_head(g, body, v, h, all);
	if (!all)
		draw_centred(g, r, STYLE_DIM, "no line matches the filter; Esc shows all lines");
	at = list_rows(g, r, &v->list, all, false);
	skip = v->list.top;
	for (size_t i = 0; i < h->n_lines; i++) {
		struct log_row row = { .line = history_line(h, i),
				       .first_t = v->clock ? NAN : h->first_t,
				       .left = v->left,
				       .find = &v->find };

		if (!log_filter_matches(v, row.line) || (skip && skip--))
			continue;
		if (!list_row_next(&at))
			break;
		row.selected = at.is_at;
		log_draw_row(g, (struct rect){ at.row, r.col, 1, r.cols }, &row);
	}
	list_widget_draw_hidden(g, body, &v->list);
}

static const struct view_pane log_pane =
	VIEW_PANE("lines", ACTION_FIND, ACTION_LOG_KINDS, ACTION_LOG_ONLY, ACTION_LOG_STEP,
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
	.needs_run = true,
	.panes = &log_pane,
	.n_panes = 1,
	.lists = offsetof(struct log_view, list),
	.n_lists = 1,
	.list_open = ACTION_LOG_OPEN,
	.hints = VIEW_ACTIONS(ACTION_FIND, ACTION_LOG_KINDS, ACTION_LOG_ONLY, ACTION_LOG_CLOCK,
			      ACTION_LOG_OPEN, ACTION_EXPORT),
	.toggles = log_toggles,
	.n_toggles = ARRAY_LEN(log_toggles),
};
