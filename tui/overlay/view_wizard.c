/* view_wizard.c - the overlay that shows a form (wizard.h). */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/text/text_filter.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/help/help.h"
#include "tui/context/form_forecast.h"
#include "tui/context/jobs.h"
#include "tui/context/view_requests.h"
#include "tui/context/wizard.h"
#include "tui/overlay/overlays.h"
#include "tui/term/draw.h"
#include "tui/term/list_widget.h"

#define LABEL_COLS 24
#define VALUE_COLS 14 /* least width of values, so that their origins begin in one column */

enum { ASK_VALUE, ASK_NUMBER };

struct form {
	struct wizard *z; /* owned */
	size_t *lines;	  /* owned: of the list: a row of z, or SIZE_MAX - row for its section */
	size_t n_lines;
	struct list_widget list; /* of lines */
	struct text_filter filter;
	struct form_forecast forecast; /* of z with its present values */
};

/* ---- rows ---- */

static bool form_filter_matches(const struct form *f, size_t i)
{
	const struct wizard_row *r = &f->z->rows[i];

	return text_filter_matches(&f->filter, r->label) ||
	       (r->option.help && text_filter_matches(&f->filter, r->option.help));
}

/* Write the lines of the list: matching rows, with a heading before each new section. */
static void list_form_lines(struct form *f)
{
	const char *section = "";

	f->n_lines = 0;
	for (size_t i = 0; i < f->z->n; i++) {
		const char *own = i < f->z->n_first ? "" : f->z->rows[i].option.section;

		if (!form_filter_matches(f, i))
			continue;
		if (strcmp(own, section))
			f->lines[f->n_lines++] = SIZE_MAX - i;
		section = own;
		f->lines[f->n_lines++] = i;
	}
	assert(f->n_lines <= 2 * f->z->n); /* the room of lines */
}

static bool is_form_row(const void *state, size_t line)
{
	const struct form *f = state;

	return f->lines[line] < f->z->n;
}

/* Choose the first row whose name matches, else the first one whose help does. */
static void use_form_filter(void *state, struct app_context *w)
{
	struct form *f = state;
	size_t *at = &f->list.at;

	(void)w;
	list_form_lines(f);
	f->list.top = 0;
	for (*at = 0; *at < f->n_lines; ++*at)
		if (is_form_row(f, *at) &&
		    text_filter_matches(&f->filter, f->z->rows[f->lines[*at]].label))
			return;
	*at = f->n_lines && !is_form_row(f, 0);
}

/* The chosen row of the form; the first one while the filter hides all. */
static size_t chosen_row(const struct form *f)
{
	return f->n_lines ? f->lines[MIN(f->list.at, f->n_lines - 1)] : 0;
}

/* No row can be changed while the filter hides all. */
static bool hides_all_rows(const struct form *f, struct app_context *w)
{
	if (f->n_lines)
		return false;
	context_notify(w, STYLE_WARN, "no option matches: / changes what is searched for");
	return true;
}

/* ---- the form ---- */

static int form_open(void *state, struct app_context *w, struct err *e)
{
	struct form *f = state;

	f->z = w->requests->wizard;
	w->requests->wizard = NULL;
	if (!f->z)
		return err_set(e, ERR_INTERNAL, "there is no form to show");
	if ((f->lines = mem_alloc(2 * f->z->n + 1, sizeof(*f->lines), e))) {
		use_form_filter(f, w);
		form_forecast_start(&f->forecast, f->z, w);
		return 0;
	}
	wizard_free(f->z);
	return e->code;
}

static void form_close(void *state)
{
	struct form *f = state;

	form_forecast_close(&f->forecast);
	wizard_free(f->z);
	free(f->lines);
}

static unsigned form_update(void *state, struct app_context *w)
{
	struct form *f = state;

	return form_forecast_update(&f->forecast, f->z, w);
}

/* ---- changing ---- */

static void ask_choice(struct form *f, struct app_context *w, const char *title)
{
	const struct conf_row *o = &f->z->rows[chosen_row(f)].option;
	const char *names[40];
	char texts[40][48];
	size_t n = 0, length;

	for (const char *c; n < ARRAY_LEN(names) && (c = conf_choice(o->detail, (int)n, &length));
	     n++) {
		snprintf(texts[n], sizeof(texts[n]), "%.*s", (int)length, c);
		names[n] = texts[n];
	}
	context_ask_choice(w, ASK_VALUE, title, names, n);
}

static int set_form_value(struct form *f, const struct app_context *w, const char *value,
			  struct err *e)
{
	int rc = wizard_set(f->z, chosen_row(f), value, e);

	if (!rc)
		form_forecast_start(&f->forecast, f->z, w);
	return rc;
}

static void change_form_value(struct form *f, struct app_context *w)
{
	struct wizard_row *r = &f->z->rows[chosen_row(f)];
	struct buf now = { 0 };
	struct err e = { 0 };

	if (r->value)
		buf_add_str(&now, r->value);
	else
		wizard_value(f->z, chosen_row(f), &now);
	if (r->option.name && r->option.kind == CONF_BOOL) {
		set_form_value(f, w, strcmp(buf_text(&now), "yes") ? "yes" : "no", &e);
	} else if (r->option.name && r->option.kind == CONF_ENUM) {
		ask_choice(f, w, r->label);
	} else if (!r->option.name && f->z->n_choices) {
		context_ask_choice(w, ASK_VALUE, r->label, (const char *const *)f->z->choices,
				   f->z->n_choices);
	} else {
		context_ask_text(w, QUESTION_LINE, ASK_VALUE, r->label, buf_text(&now));
	}
	buf_free(&now);
}

/* On the row of a number, a digit begins a new one; after it, the next row is chosen. */
static unsigned form_key(void *state, struct app_context *w, int key)
{
	struct form *f = state;
	const struct wizard_row *r = &f->z->rows[chosen_row(f)];
	const char text[] = { (char)key, 0 };

	if (!r->option.name || (r->option.kind != CONF_INT && r->option.kind != CONF_REAL) ||
	    !((key >= '0' && key <= '9') || key == '.') || hides_all_rows(f, w))
		return REACT_UNKNOWN;
	context_ask_text(w, QUESTION_LINE, ASK_NUMBER, r->label, text);
	return REACT_REDRAW;
}

static unsigned form_answer(void *state, struct app_context *w, int question, const char *text)
{
	struct form *f = state;
	struct err e = { 0 };

	if (text && set_form_value(f, w, text, &e))
		context_notify(w, STYLE_BAD, "%s", e.text);
	else if (question == ASK_NUMBER && text)
		view_act(&view_wizard, f, w, ACTION_DOWN);
	return REACT_REDRAW;
}

static void command_line(const struct form *f, struct buf *out)
{
	struct err e = { 0 };
	char **argv = wizard_argv(f->z, &e);

	if (argv)
		jobs_command_text((const char *const *)argv, out);
	else
		buf_add_str(out, e.text);
	jobs_free_words(argv);
}

static unsigned run_form_command(struct form *f, struct app_context *w)
{
	struct err e = { 0 };
	char **argv;
	int id = 0;

	if (w->readonly) {
		context_notify(w, STYLE_WARN, "%s: nothing is started; C copies the command",
			       *w->addresses ? "watched over ssh" : "--readonly");
		return REACT_REDRAW;
	}
	argv = wizard_argv(f->z, &e);
	if (argv)
		id = jobs_start(w->jobs, f->z->title, (const char *const *)argv, w->now, &e);
	jobs_free_words(argv);
	if (!argv || id < 0) {
		context_notify(w, STYLE_BAD, "%s", e.text);
		return REACT_REDRAW;
	}
	context_notify(w, STYLE_GOOD, "started: %s", f->z->title);
	if (f->z->show_tab >= 0)
		context_go_to_tab(w, f->z->show_tab);
	return REACT_BACK;
}

static unsigned form_act(void *state, struct app_context *w, enum action action)
{
	struct form *f = state;
	struct buf line = { 0 };
	struct err e = { 0 };

	switch (action) {
	case ACTION_FORM_CHANGE:
		if (!hides_all_rows(f, w))
			change_form_value(f, w);
		break;
	case ACTION_FORM_RESET:
		if (!hides_all_rows(f, w))
			set_form_value(f, w, NULL, &e);
		break;
	case ACTION_FORM_RUN:
		return run_form_command(f, w);
	case ACTION_COPY:
		command_line(f, &line);
		context_copy_text(w, buf_text(&line));
		buf_free(&line);
		break;
	case ACTION_BACK:
	case ACTION_QUIT:
		return REACT_BACK;
	default:
		return REACT_UNKNOWN;
	}
	return REACT_REDRAW;
}

/* ---- drawing ---- */

static void draw_form_row(const struct list_row *row, const struct form *f, size_t i)
{
	const struct wizard_row *o = &f->z->rows[i];
	const char *origin = wizard_origin(f->z, i);
	bool by_default = !strcmp(origin, "default");
	enum style look = o->value ? STYLE_BRIGHT : by_default ? STYLE_DIM : STYLE_NORMAL;
	int cols = MIN(LABEL_COLS, row->cols / 2), used, at;
	struct buf value = { 0 };

	if (o->value)
		buf_add_str(&value, o->value);
	else
		wizard_value(f->z, i, &value);
	row_text(row, 2, cols - 2, STYLE_NORMAL, o->label);
	/* a sign marks changed values, not only colour */
	if (o->value && o->option.name)
		row_sign(row, cols, look, '=');
	used = row_text(row, cols + 2, 0, look, value.len ? buf_text(&value) : "-");
	buf_clear(&value);
	if (!by_default)
		wizard_default(f->z, i, &value);
	at = cols + 2 + MAX(used + 2, VALUE_COLS);
	at += row_text(row, at, 0, STYLE_DIM, origin);
	if (value.len)
		at += row_text(row, at, 0, STYLE_DIM, "; default ");
	row_text(row, at, 0, STYLE_DIM, buf_text(&value));
	buf_free(&value);
}

/* Draw the list into r; the row below r is free for the number of hidden rows. */
static void draw_list(struct form *f, struct grid *g, struct rect r)
{
	const size_t above = MIN(f->list.at, (size_t)1);
	struct list_row row;

	/* the heading above the first row of a section stays visible */
	f->list.top = MIN(f->list.top, f->list.at - above);
	row = list_rows(g, r, &f->list, f->n_lines, false);
	if (!f->n_lines)
		draw_text(g, r.row, r.col + 2, r.cols - 2, STYLE_DIM, "no option matches");
	while (list_row_next(&row)) {
		const size_t i = f->lines[row.i];

		if (row.is_at)
			row_choose(&row);
		if (i < f->z->n)
			draw_form_row(&row, f, i);
		else
			row_text(&row, 0, 0, STYLE_TITLE, f->z->rows[SIZE_MAX - i].option.section);
	}
	list_widget_draw_hidden(g, (struct rect){ r.row - 1, r.col, r.rows + 2, r.cols }, &f->list);
}

static void form_draw(void *state, struct grid *g, struct rect body, const struct app_context *w)
{
	struct form *f = state;
	struct rect r = layout_inside(body);
	struct buf line = { 0 }, help = { 0 }, forecast = { 0 };
	struct span at;
	int rows;

	(void)w;
	draw_box(g, body, f->z->title, true);
	r.col++;
	r.cols -= 2;
	if (r.rows < 1 || r.cols < 8)
		return;
	buf_add_str(&line, "$ ");
	command_line(f, &line);
	at = (struct span){ r.row, r.col, r.cols, STYLE_BRIGHT };
	rows = MIN(draw_text_wrapped(g, at, 0, 0, buf_text(&line)), MAX(r.rows / 3, 1));
	at.row = r.row + r.rows - rows;
	draw_text_wrapped(g, at, rows, 0, buf_text(&line));
	r.rows -= rows;
	form_forecast_text(&f->forecast, f->z, &forecast);
	if (forecast.len && r.rows > 3) {
		r.rows--;
		draw_text(g, r.row + r.rows, r.col, r.cols, STYLE_FIRST, buf_text(&forecast));
	}
	buf_free(&forecast);
	if (f->z->rows[chosen_row(f)].option.name)
		conf_explain(f->z->rows[chosen_row(f)].option.name, &help);
	if (r.rows >= 6) {
		at = (struct span){ r.row + r.rows - 3, r.col, r.cols, STYLE_DIM };
		draw_text_wrapped(g, at, 2, 0, buf_text(&help));
		r.rows -= 4;
	} else if (r.rows > 1) {
		r.rows--; /* the number of hidden rows stands below the list */
	}
	draw_list(f, g, r);
	buf_free(&line);
	buf_free(&help);
}

static const struct view_pane form_pane = VIEW_PANE("form", ACTION_FORM_CHANGE, ACTION_FORM_RESET,
						    ACTION_FIND, ACTION_COPY, ACTION_FORM_RUN);

static const struct view_toggle form_filter =
	VIEW_FILTER(struct form, filter, ACTION_FIND, 0, "options that contain", use_form_filter);

const struct view view_wizard = {
	.name = "form",
	.title = "form",
	.state_size = sizeof(struct form),
	.open = form_open,
	.update = form_update,
	.act = form_act,
	.key = form_key,
	.draw = form_draw,
	.close = form_close,
	.answer = form_answer,
	.panes = &form_pane,
	.n_panes = 1,
	.lists = offsetof(struct form, list),
	.n_lists = 1,
	.list_can_choose = is_form_row,
	.list_open = ACTION_FORM_CHANGE,
	.toggles = &form_filter,
	.n_toggles = 1,
	.hints = VIEW_ACTIONS(ACTION_FORM_CHANGE, ACTION_FORM_RUN, ACTION_COPY, ACTION_FORM_RESET,
			      ACTION_FIND, ACTION_BACK),
};
