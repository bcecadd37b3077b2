/*
 * view_log.c - everything that happened in a run: filter, search, read, copy, export.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/term/draw.h"
#include "tui/views/csv_export.h"
#include "tui/term/number_format.h"
#include "tui/run/log_lines.h"
#include "tui/app/view.h"

#define LEFT_STRIDE 8
#define MAX_FIND    120

enum { ASK_SEARCH = 1, ASK_ONLY };

/* What the key for kinds goes through. */
#define BIT(kind) (1u << (kind))
static const struct { const char *name; unsigned kinds; } filters[] = {
	{ "everything", ~0u },
	{ "warnings and errors", BIT(LINE_WARNING) | BIT(LINE_ERROR) | BIT(LINE_CONSOLE) },
	{ "evaluations", BIT(LINE_EVAL) | BIT(LINE_BEST) },
	{ "checkpoints", BIT(LINE_SAVE) },
	{ "starts and stops", BIT(LINE_START) | BIT(LINE_STOP) },
	{ "events", BIT(LINE_INFO) | BIT(LINE_WARNING) | BIT(LINE_ERROR) },
};

struct log_view {
	size_t filter;			/* of filters[] */
	char   find[MAX_FIND], only[MAX_FIND];	/* "": nothing */
	bool   clock;			/* times of the clock, not since the start */
	bool   follow;			/* the last line is chosen, whatever comes */
	int    chosen, top, left, page;	/* chosen and top count lines that pass */
	int    first_row;		/* of the screen, when drawn; for the mouse */
};

static void begin(struct log_view *v)
{
	*v = (struct log_view){ .follow = true, .page = 10 };
}

static int log_open(void *state, struct world *w, struct err *e)
{
	(void)w;
	(void)e;
	begin(state);
	return 0;
}

static unsigned log_update(void *state, struct world *w)
{
	if (w->news & NEWS_RUN)
		begin(state);
	return REACT_NOTHING;
}

/* ---- lines that pass ---- */

static bool passes(const struct log_view *v, const struct history_line *l)
{
	if (!(filters[v->filter].kinds & BIT(l->kind)))
		return false;
	return !*v->only || log_find(l->text, v->only) || log_find(log_word(l->kind), v->only);
}

static int count(const struct log_view *v, const struct history *h)
{
	int n = 0;

	for (size_t i = 0; i < h->n_lines; i++)
		n += passes(v, history_line(h, i));
	return n;
}

/* The line number at of those that pass; NULL: there are fewer. */
static const struct history_line *nth(const struct log_view *v, const struct history *h, int at)
{
	for (size_t i = 0; i < h->n_lines; i++) {
		const struct history_line *l = history_line(h, i);

		if (passes(v, l) && at-- == 0)
			return l;
	}
	return NULL;
}

/* The next line from chosen on, forwards or back, that holds what is looked for; wraps around. */
static void find_next(struct log_view *v, struct world *w, int way)
{
	const struct history *h = w->history;
	int all = count(v, h);

	if (!*v->find || !all)
		return;
	for (int i = 1; i <= all; i++) {
		int at = ((v->chosen + way * i) % all + all) % all;
		const struct history_line *l = nth(v, h, at);

		if (log_find(l->text, v->find) || log_find(log_word(l->kind), v->find)) {
			v->chosen = at;
			v->follow = at == all - 1;
			return;
		}
	}
	world_say(w, STYLE_WARN, "no line holds \"%s\"", v->find);
}

/* ---- keys ---- */

static void move(struct log_view *v, const struct history *h, int lines)
{
	int all = count(v, h);

	v->chosen = MAX(MIN(v->chosen + lines, all - 1), 0);
	v->follow = v->chosen == all - 1;
}

static void ask(struct world *w, int id, const char *title, const char *text)
{
	struct question q = { .kind = QUESTION_LINE, .id = id, .title = title, .text = text };

	world_ask(w, &q);
}

/* One line as text: time, step, kind, words. */
static void put_line(struct buf *out, const struct history_line *l, char between)
{
	char clock[FIGURE_BYTES];

	buf_printf(out, "%s%c", log_clock(clock, l->t), between);
	if (l->step >= 0)
		buf_printf(out, "%lld", (long long)l->step);
	buf_printf(out, "%c%s%c", between, log_word(l->kind), between);
}

static void copy_line(const struct log_view *v, struct world *w)
{
	const struct history_line *l = nth(v, w->history, v->chosen);
	struct buf out = { 0 };

	if (!l)
		return;
	put_line(&out, l, '\t');
	buf_add_str(&out, l->text);
	world_copy(w, buf_text(&out));
	buf_free(&out);
}

static void open_line(const struct log_view *v, struct world *w)
{
	const struct history_line *l = nth(v, w->history, v->chosen);
	char title[100], clock[FIGURE_BYTES], step[FIGURE_BYTES];
	struct question q = { .kind = QUESTION_TEXT, .title = title };

	if (!l)
		return;
	snprintf(title, sizeof(title), "%s, %s UTC, step %s", log_word(l->kind),
		 log_clock(clock, l->t), figure_count(step, l->step));
	q.text = l->text;
	world_ask(w, &q);
}

static void export_log(const struct log_view *v, struct world *w)
{
	struct buf out = { 0 };
	char name[200];

	buf_add_str(&out, "Time (UTC),Step,Kind,Text\n");
	for (size_t i = 0; i < w->history->n_lines; i++) {
		const struct history_line *l = history_line(w->history, i);

		if (!passes(v, l))
			continue;
		put_line(&out, l, ',');
		export_field(&out, l->text, '\n');
	}
	snprintf(name, sizeof(name), "%.100s-log.csv", w->history->name);
	world_export(w, name, buf_text(&out));
	buf_free(&out);
}

static unsigned log_act(void *state, struct world *w, enum action action)
{
	struct log_view *v = state;

	if (!w->history)
		return REACT_UNKNOWN;
	switch (action) {
	case ACTION_DOWN:      move(v, w->history, 1); break;
	case ACTION_UP:	       move(v, w->history, -1); break;
	case ACTION_PAGE_DOWN: move(v, w->history, v->page); break;
	case ACTION_PAGE_UP:   move(v, w->history, -v->page); break;
	case ACTION_HOME:      move(v, w->history, -HISTORY_LINES); break;
	case ACTION_END:       move(v, w->history, HISTORY_LINES); break;
	case ACTION_LEFT:      v->left = MAX(v->left - LEFT_STRIDE, 0); break;
	case ACTION_RIGHT:     v->left = MIN(v->left + LEFT_STRIDE, HISTORY_TEXT); break;
	case ACTION_LOG_KINDS: v->filter = (v->filter + 1) % ARRAY_LEN(filters); break;
	case ACTION_LOG_CLOCK: v->clock = !v->clock; break;
	case ACTION_LOG_SEARCH: ask(w, ASK_SEARCH, "Search for", v->find); break;
	case ACTION_LOG_ONLY:  ask(w, ASK_ONLY, "Only lines that hold", v->only); break;
	case ACTION_LOG_NEXT:  find_next(v, w, 1); break;
	case ACTION_LOG_PREVIOUS: find_next(v, w, -1); break;
	case ACTION_LOG_OPEN:  open_line(v, w); break;
	case ACTION_COPY:      copy_line(v, w); break;
	case ACTION_EXPORT:    export_log(v, w); break;
	case ACTION_BACK:
		if (!*v->find && !*v->only && !v->filter)
			return REACT_UNKNOWN;
		*v->find = *v->only = 0;
		v->filter = 0;
		break;
	default:
		return REACT_UNKNOWN;
	}
	return REACT_REDRAW;
}

static unsigned log_answer(void *state, struct world *w, int question, const char *text)
{
	struct log_view *v = state;

	if (!text || !w->history)
		return REACT_REDRAW;
	if (question == ASK_ONLY)
		snprintf(v->only, sizeof(v->only), "%s", text);
	if (question == ASK_SEARCH) {
		snprintf(v->find, sizeof(v->find), "%s", text);
		find_next(v, w, -1);	/* what happened last is what people look for */
	}
	return REACT_REDRAW;
}

static unsigned log_mouse(void *state, struct world *w, const struct mouse *m)
{
	struct log_view *v = state;

	if (!w->history)
		return REACT_UNKNOWN;
	if (m->kind == MOUSE_WHEEL_UP || m->kind == MOUSE_WHEEL_DOWN)
		move(v, w->history, m->kind == MOUSE_WHEEL_UP ? -3 : 3);
	else if (m->kind == MOUSE_PRESS && m->row >= v->first_row)
		move(v, w->history, v->top + m->row - v->first_row - v->chosen);
	else
		return REACT_UNKNOWN;
	return REACT_REDRAW;
}

/* ---- drawing ---- */

static void draw_head(struct grid *g, struct rect box, const struct log_view *v,
		      const struct history *h, int all)
{
	char lines[FIGURE_BYTES], bad[FIGURE_BYTES];
	struct legend pieces[5];
	int n = 0;

	pieces[n++] = (struct legend){ 0, STYLE_BRIGHT, "lines", figure_count(lines, all) };
	if (v->filter)
		pieces[n++] = (struct legend){ 0, STYLE_MARK, "filter", filters[v->filter].name };
	if (*v->only)
		pieces[n++] = (struct legend){ 0, STYLE_MARK, "only", v->only };
	if (*v->find)
		pieces[n++] = (struct legend){ 0, STYLE_MARK, "search", v->find };
	if (h->bad_lines)
		pieces[n++] = (struct legend){ 0, STYLE_WARN, "unreadable records",
					       figure_count(bad, h->bad_lines) };
	draw_legend(g, box, "log", pieces, n);
}

static void log_draw(void *state, struct grid *g, struct rect body, const struct world *w)
{
	static const char *const no_run[] = { "There is no run yet." };
	static const char *const nothing[] = { "no line passes; Esc shows everything again" };
	struct log_view *v = state;
	const struct history *h = w->history;
	struct rect r = layout_inside(body);
	size_t i = 0;
	int all, at = 0;

	if (!h) {
		draw_message(g, body, STYLE_TITLE, no_run, 1);
		return;
	}
	all = count(v, h);
	v->page = MAX(r.rows, 1);
	v->chosen = v->follow ? MAX(all - 1, 0) : MAX(MIN(v->chosen, all - 1), 0);
	v->top = MAX(MIN(MIN(v->top, v->chosen), all - r.rows), 0);
	v->top = MAX(v->top, v->chosen - r.rows + 1);
	v->first_row = r.row;
	draw_box(g, body, "log", true);
	draw_head(g, body, v, h, all);
	if (!all)
		draw_message(g, r, STYLE_DIM, nothing, 1);
	for (; i < h->n_lines && at < v->top + r.rows; i++) {
		struct log_row row = { .line = history_line(h, i),
				       .first_t = v->clock ? NAN : h->first_t,
				       .left = v->left, .find = v->find };

		if (!passes(v, row.line) || at++ < v->top)
			continue;
		row.selected = at - 1 == v->chosen;
		log_draw_row(g, (struct rect){ r.row + at - 1 - v->top, r.col, 1, r.cols }, &row);
	}
}

static const enum action log_hints[] = {
	ACTION_LOG_SEARCH, ACTION_LOG_KINDS, ACTION_LOG_ONLY, ACTION_LOG_CLOCK, ACTION_LOG_OPEN,
	ACTION_EXPORT, ACTION_NONE,
};

const struct view view_log = {
	.name = "log",
	.title = "log",
	.state_size = sizeof(struct log_view),
	.open = log_open,
	.update = log_update,
	.act = log_act,
	.draw = log_draw,
	.mouse = log_mouse,
	.answer = log_answer,
	.hints = log_hints,
};
