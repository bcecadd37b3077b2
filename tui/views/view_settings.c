/*
 * view_settings.c - the tab "settings": settings of the workbench, and all options of the chosen
 * run with value and origin.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/text/text_filter.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "share/conf/conf.h"
#include "share/help/help.h"
#include "tui/term/draw.h"
#include "tui/term/list_widget.h"
#include "tui/views/views.h"

#define NAME_COLS   22
#define MAX_OPTIONS 400
#define MAX_THEMES  8

enum { ASK_THEME };

/* Kinds of lines in the list. */
enum line_kind {
	LINE_BLANK,
	LINE_HEADING,
	LINE_THEME,
	LINE_MOUSE,
	LINE_PICTURES,
	LINE_SENTENCES,
	LINE_FACT,
	LINE_OPTION
};

struct line {
	enum line_kind kind;
	const char *name; /* name of the heading, fact or option; borrowed from the tables */
};

struct settings {
	struct conf run;   /* options of the run's recipe.ini; the defaults without a run */
	bool loaded;	   /* run is initialised */
	bool has_run;	   /* run has the options of a run, not the defaults */
	char trouble[300]; /* why the recipe could not be read */
	struct conf defaults;
	bool only_set; /* show only options that differ from the default */
	struct text_filter filter;
	struct line lines[MAX_OPTIONS + 40];
	int n;
	struct list_widget list; /* of lines */
};

static void settings_close(void *state)
{
	struct settings *s = state;

	conf_free(&s->run);
	conf_free(&s->defaults);
}

static int settings_open(void *state, struct app_context *w, struct err *e)
{
	struct settings *s = state;

	s->only_set = context_get_saved(w, "settings.only-set") != NULL;
	if (!conf_init(&s->defaults, e))
		return 0;
	settings_close(s);
	return e->code;
}

/* ---- the list ---- */

static bool same_value(const struct settings *s, const char *name)
{
	struct buf a = { 0 }, b = { 0 };
	bool same;

	conf_value(&s->run, name, &a);
	conf_value(&s->defaults, name, &b);
	same = !strcmp(buf_text(&a), buf_text(&b));
	buf_free(&a);
	buf_free(&b);
	return same;
}

static bool settings_filter_matches(const struct settings *s, const char *name)
{
	char dashed[CONF_NAME_MAX];
	struct conf_row row;

	if (!conf_find_row(name, &row) || (s->only_set && same_value(s, name)))
		return false;
	return text_filter_matches(&s->filter, name) ||
	       text_filter_matches(&s->filter, conf_dashed(name, dashed)) ||
	       text_filter_matches(&s->filter, row.help);
}

static void add_settings_line(struct settings *s, enum line_kind kind, const char *name)
{
	if (s->n < (int)ARRAY_LEN(s->lines))
		s->lines[s->n++] = (struct line){ kind, name };
}

static bool can_be_chosen(const void *state, size_t row)
{
	const enum line_kind kind = ((const struct settings *)state)->lines[row].kind;

	return kind != LINE_BLANK && kind != LINE_HEADING && kind != LINE_FACT;
}

/* The lines of the workbench itself. */
static const struct line own_lines[] = {
	{ LINE_THEME, "theme" },	 { LINE_MOUSE, "mouse" },    { LINE_PICTURES, "pictures" },
	{ LINE_SENTENCES, "sentences" }, { LINE_FACT, "terminal" },  { LINE_FACT, "glyphs" },
	{ LINE_FACT, "workspace" },	 { LINE_FACT, "read only" }, { LINE_FACT, "your files" },
};

static void build_list(struct settings *s)
{
	const char *name, *section, *last = "";

	s->n = 0;
	for (size_t i = 0; i < ARRAY_LEN(own_lines); i++)
		if (text_filter_matches(&s->filter, own_lines[i].name)) {
			if (!s->n)
				add_settings_line(s, LINE_HEADING, "workbench");
			add_settings_line(s, own_lines[i].kind, own_lines[i].name);
		}
	for (size_t i = 0; s->loaded && (name = conf_option_at(i, &section)); i++) {
		if (!strcmp(section, "tool") || !settings_filter_matches(s, name))
			continue;
		if (strcmp(section, last)) {
			if (s->n)
				add_settings_line(s, LINE_BLANK, NULL);
			add_settings_line(s, LINE_HEADING, section);
		}
		last = section;
		add_settings_line(s, LINE_OPTION, name);
	}
	if (!s->n)
		add_settings_line(s, LINE_HEADING, "no option matches");
	s->list.at = MIN(s->list.at, (size_t)s->n - 1);
	while (s->list.at > 0 && !can_be_chosen(s, s->list.at))
		s->list.at--;
	while (s->list.at + 1 < (size_t)s->n && !can_be_chosen(s, s->list.at))
		s->list.at++;
}

/* Load the options of the chosen run, else the defaults. */
static void load_shown_options(struct settings *s, const struct app_context *w)
{
	struct err e = { 0 };
	char *path = w->run ? file_path(&e, "%s/runs/%s/recipe.ini", w->workspace, w->run) : NULL;

	conf_free(&s->run);
	s->has_run = path && file_exists(path);
	*s->trouble = 0;
	s->loaded = !conf_init(&s->run, &e);
	if (s->loaded && s->has_run && conf_load_recipe(&s->run, path, &e)) {
		snprintf(s->trouble, sizeof(s->trouble), "%.290s", e.text);
		s->has_run = false;
		conf_free(&s->run);
		s->loaded = !conf_init(&s->run, &e);
	}
	free(path);
	build_list(s);
}

static unsigned settings_update(void *state, struct app_context *w)
{
	struct settings *s = state;

	/* A new run writes its recipe shortly after it appears. */
	if (w->news & NEWS_RUN || (w->news & NEWS_HISTORY && !s->has_run && !*s->trouble)) {
		load_shown_options(s, w);
		return REACT_REDRAW;
	}
	return REACT_NOTHING;
}

/* ---- keys ---- */

static void ask_theme(struct app_context *w)
{
	const char *names[MAX_THEMES], *name;
	size_t n = 0;

	while (n < MAX_THEMES && (name = theme_name((int)n, NULL)))
		names[n++] = name;
	context_ask(w, &(struct question){ .kind = QUESTION_CHOICE,
					   .id = ASK_THEME,
					   .title = "theme",
					   .choices = names,
					   .n_choices = n,
					   .chosen = w->theme,
					   .previews_themes = true });
}

static void explain_option(const struct settings *s, struct app_context *w, const char *name)
{
	struct buf text = { 0 };

	buf_printf(&text, "%s = ", name);
	conf_value(&s->run, name, &text);
	buf_printf(&text, "\n\nfrom: %s\n\n", conf_origin(&s->run, name));
	conf_explain(name, &text);
	context_ask_text(w, QUESTION_TEXT, 0, name, buf_text(&text));
	buf_free(&text);
}

static void change_settings_line(struct settings *s, struct app_context *w)
{
	const struct line *l = &s->lines[s->list.at];

	if (l->kind == LINE_THEME)
		ask_theme(w);
	else if (l->kind == LINE_MOUSE)
		context_set_look(w, NULL, !w->mouse);
	else if (l->kind == LINE_PICTURES)
		context_set_pictures(w, !w->wants_pictures);
	else if (l->kind == LINE_SENTENCES)
		context_save_sentences(w, !w->saves_sentences);
	else if (l->kind == LINE_OPTION)
		explain_option(s, w, l->name);
}

static unsigned settings_answer(void *state, struct app_context *w, int question, const char *text)
{
	(void)state;
	if (question == ASK_THEME && text)
		context_set_look(w, text, -1);
	return REACT_REDRAW;
}

static unsigned settings_act(void *state, struct app_context *w, enum action action)
{
	struct settings *s = state;

	switch (action) {
	case ACTION_SETTINGS_CHANGE:
		change_settings_line(s, w);
		break;
	case ACTION_BACK:
		if (!*s->filter.text)
			return REACT_UNKNOWN;
		text_filter_clear(&s->filter);
		build_list(s);
		break;
	default:
		return REACT_UNKNOWN;
	}
	return REACT_REDRAW;
}

/* ---- drawing ---- */

static const char *fact_of(const struct app_context *w, const char *name)
{
	static const char *const charsets[] = { "ASCII", "UTF-8, lines and blocks",
						"UTF-8, braille and signs" };

	if (!strcmp(name, "terminal"))
		return w->terminal && *w->terminal ? w->terminal : "none (--dump)";
	if (!strcmp(name, "glyphs"))
		return charsets[w->charset];
	if (!strcmp(name, "workspace"))
		return *w->addresses ? w->addresses : w->workspace;
	if (!strcmp(name, "read only"))
		return w->readonly ? "yes: nothing can be started, stopped or changed" : "no";
	return "keys, NAME.theme in $XDG_CONFIG_HOME/werkbank (else ~/.config/werkbank)";
}

/* Draw the value of an option, and its origin at the right end. */
static void draw_option(const struct list_row *row, const struct settings *s, const char *name)
{
	const char *origin = conf_origin(&s->run, name);
	bool same = same_value(s, name);
	enum style look = same ? STYLE_DIM : STYLE_BRIGHT;
	int at = MIN(NAME_COLS, row->cols / 2) + 2, end = row->cols - 1;
	struct buf value = { 0 };

	conf_value(&s->run, name, &value);
	if (!same)
		row_sign(row, at - 2, look, '=');
	at += row_text(row, at, end - at, look, value.len ? buf_text(&value) : "-");
	if (strcmp(origin, "default") && end - at > 6)
		row_text_right(row, end, end - at - 3, STYLE_DIM, origin);
	buf_free(&value);
}

/* The value of a line of the workbench itself. */
static const char *own_value(const struct app_context *w, const struct line *l)
{
	switch (l->kind) {
	case LINE_THEME:
		return w->theme ? w->theme : "auto";
	case LINE_MOUSE:
		return w->mouse ? "on" : "off";
	case LINE_PICTURES:
		return *w->pictures ? w->pictures : "off";
	case LINE_SENTENCES:
		return w->saves_sentences ? "saved" : "not saved";
	default:
		return fact_of(w, l->name);
	}
}

static void draw_settings_line(struct list_row *row, const struct settings *s,
			       const struct app_context *w)
{
	const struct line *l = &s->lines[row->i];
	int cols = MIN(NAME_COLS, row->cols / 2);
	char dashed[CONF_NAME_MAX];

	if (l->kind == LINE_BLANK)
		return;
	if (l->kind == LINE_HEADING) {
		row_text(row, 0, 0, STYLE_TITLE, l->name);
		return;
	}
	if (row->is_at)
		row_choose(row);
	row_text(row, 2, cols - 2, STYLE_NORMAL,
		 l->kind == LINE_OPTION ? conf_dashed(l->name, dashed) : l->name);
	if (l->kind == LINE_OPTION)
		draw_option(row, s, l->name);
	else
		row_text(row, cols + 2, row->cols - cols - 3,
			 l->kind == LINE_FACT ? STYLE_DIM : STYLE_NORMAL, own_value(w, l));
}

static void draw_title(const struct settings *s, struct grid *g, struct rect r,
		       const struct app_context *w)
{
	char text[400];

	if (*s->trouble) {
		draw_text(g, r.row, r.col + 1, r.cols - 2, STYLE_BAD, s->trouble);
		return;
	}
	snprintf(text, sizeof(text), "%s%.100s%s%.70s%s", s->has_run ? "options of " : "",
		 s->has_run ? w->run : "default values of all options",
		 *s->filter.text ? "   that contain: " : "", s->filter.text,
		 s->only_set ? "   only those that differ from the default" : "");
	draw_text(g, r.row, r.col + 1, r.cols - 2, STYLE_DIM, text);
}

/* Draw the help of the chosen line in the last two rows. */
static void draw_help(const struct settings *s, struct grid *g, struct rect r)
{
	const struct line *l = &s->lines[s->list.at];
	struct span at = { r.row, r.col + 1, r.cols - 2, STYLE_DIM };
	struct buf text = { 0 };
	const char *what = "";

	if (l->kind == LINE_OPTION)
		conf_explain(l->name, &text);
	for (int i = 0; l->kind == LINE_THEME && theme_name(i, &what); i++)
		buf_printf(&text, "%s%s: %s", i ? "; " : "", theme_name(i, NULL), what);
	if (l->kind == LINE_MOUSE)
		buf_add_str(&text, "off: the terminal itself handles the mouse (select, paste)");
	if (l->kind == LINE_PICTURES)
		buf_add_str(&text,
			    "plots as pictures, by the kitty graphics protocol or as sixels, if "
			    "the terminal answers that it can, over a line that is fast enough");
	if (l->kind == LINE_SENTENCES)
		buf_add_str(&text, "not saved: sentences of Translate are forgotten at the end; "
				   "those of $XDG_STATE_HOME/werkbank/sentences stay");
	draw_text_wrapped(g, at, r.rows, 0, buf_text(&text));
	buf_free(&text);
}

static void settings_draw(void *state, struct grid *g, struct rect body,
			  const struct app_context *w)
{
	struct settings *s = state;
	int help = body.rows >= 10 ? 2 : 0, rows = body.rows - 1 - help - (help > 0);
	struct list_row row;

	if (!s->n || body.rows < 2 || body.cols < 12) {
		draw_text(g, body.row, body.col, body.cols, STYLE_DIM, "settings");
		return;
	}
	draw_title(s, g, body, w);
	if (s->list.at <= 1)
		s->list.top = 0;
	row = list_rows(g, (struct rect){ body.row + 1, body.col + 1, rows, body.cols - 2 },
			&s->list, (size_t)s->n, false);
	while (list_row_next(&row))
		draw_settings_line(&row, s, w);
	/* the blank row between options and help stands for a lower border */
	if (help) {
		list_widget_draw_hidden(g, (struct rect){ body.row, body.col, rows + 2, body.cols },
					&s->list);
		draw_help(s, g, (struct rect){ body.row + body.rows - 2, body.col, 2, body.cols });
	}
}

static void settings_restored(void *state, struct app_context *w)
{
	struct settings *s = state;

	context_set_saved(w, "settings.only-set", s->only_set ? "yes" : NULL);
	build_list(s);
}

static const struct view_toggle settings_toggles[] = {
	VIEW_KEY(struct settings, only_set, ACTION_SETTINGS_ONLY, 2, settings_restored),
	VIEW_FILTER(struct settings, filter, ACTION_FIND, 0, "options that contain",
		    settings_restored),
};

const struct view view_settings = {
	.name = "settings",
	.title = "settings",
	.state_size = sizeof(struct settings),
	.open = settings_open,
	.update = settings_update,
	.act = settings_act,
	.draw = settings_draw,
	.close = settings_close,
	.answer = settings_answer,
	.lists = offsetof(struct settings, list),
	.n_lists = 1,
	.list_can_choose = can_be_chosen,
	.list_open = ACTION_SETTINGS_CHANGE,
	.hints = VIEW_ACTIONS(ACTION_SETTINGS_CHANGE, ACTION_SETTINGS_ONLY, ACTION_FIND),
	.toggles = settings_toggles,
	.n_toggles = ARRAY_LEN(settings_toggles),
	.restored = settings_restored,
};
