/* view_palette.c - the command palette: a box over the tab; see palette.h. */
#include <stdio.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/context/jobs.h"
#include "tui/overlay/overlays.h"
#include "tui/overlay/palette.h"
#include "tui/term/draw.h"
#include "tui/term/fuzzy.h"
#include "tui/term/list_widget.h"

#define BOX_COLS  100
#define BOX_ROWS  24
#define NAME_COLS 30 /* columns of sign, group and name */

struct palette_view {
	struct palette palette;
	struct list_widget list;
	bool moved; /* in a command line: the user chose a row, so Enter inserts it */
	char trouble[160];
	struct rect box; /* as drawn last, for the mouse */
};

static int palette_view_open(void *state, struct app_context *w, struct err *e)
{
	struct palette_view *v = state;

	if (!palette_open(&v->palette, w, e))
		return 0;
	palette_close(&v->palette);
	return e->code;
}

static void palette_view_close(void *state)
{
	struct palette_view *v = state;

	palette_close(&v->palette);
}

/* ---- keys ---- */

static void search_again(struct palette_view *v, struct app_context *w)
{
	struct err ignored;

	palette_update(&v->palette, w, &ignored);
	v->list = (struct list_widget){ .page = v->list.page };
	v->moved = false;
	*v->trouble = 0;
}

static bool can_insert(const struct palette_row *row)
{
	return row->kind == PALETTE_WORD || row->kind == PALETTE_COMMAND ||
	       row->kind == PALETTE_LINE;
}

/* Insert the chosen row into the line, or the best row below it that has words for a line. */
static unsigned insert_row(struct palette_view *v, struct app_context *w)
{
	struct palette *p = &v->palette;
	size_t at = v->list.at;
	struct err ignored;

	while (at < p->n_rows && !can_insert(&p->rows[at]))
		at++;
	if (at >= p->n_rows)
		return REACT_NOTHING;
	palette_complete(p, &p->rows[at], &ignored);
	search_again(v, w);
	return REACT_REDRAW;
}

static unsigned run_line(struct palette_view *v, struct app_context *w, const char *line)
{
	struct palette_row row = { .kind = PALETTE_LINE };
	struct err e = { 0 };
	char **words = palette_words(line, &e);

	if (!words) {
		snprintf(v->trouble, sizeof(v->trouble), "%.159s", e.text);
		return REACT_REDRAW;
	}
	snprintf(row.name, sizeof(row.name), "%.*s", PALETTE_NAME - 1, line + strspn(line, " "));
	for (size_t n = strlen(row.name); n && row.name[n - 1] == ' ';)
		row.name[--n] = 0;
	if (strlen(line) < PALETTE_NAME)
		palette_remember(w, &row);
	context_run_line(w, row.name, (const char *const *)words);
	jobs_free_words(words);
	return REACT_REDRAW | REACT_BACK;
}

static unsigned show_palette_run(struct app_context *w, const char *name)
{
	struct err e = { 0 };

	if (context_choose_run(w, name, &e))
		context_notify(w, STYLE_BAD, "%s", e.text);
	else
		context_go_to_tab(w, TAB_RUN);
	return REACT_REDRAW | REACT_BACK;
}

static unsigned accept_row(struct palette_view *v, struct app_context *w)
{
	struct palette *p = &v->palette;
	const struct palette_row *row = v->list.at < p->n_rows ? &p->rows[v->list.at] : NULL;

	if (p->command.name && !v->moved)
		return run_line(v, w, edit_text(&p->line));
	if (!row)
		return REACT_NOTHING;
	switch (row->kind) {
	case PALETTE_ACTION:
		context_act(w, row->action);
		break;
	case PALETTE_LINE:
		return run_line(v, w, row->name);
	case PALETTE_RUN:
		palette_remember(w, row);
		return show_palette_run(w, row->name);
	case PALETTE_STEP:
		context_show_step(w, palette_row_step(row));
		return REACT_REDRAW | REACT_BACK;
	case PALETTE_CORPUS:
		snprintf(w->corpus, sizeof(w->corpus), "%.100s", row->name);
		context_go_to_tab(w, TAB_DATA);
		break;
	case PALETTE_COMMAND:
	case PALETTE_WORD:
		return insert_row(v, w);
	}
	palette_remember(w, row);
	return REACT_REDRAW | REACT_BACK;
}

static unsigned move_palette_row(struct palette_view *v, enum action action)
{
	bool first = v->palette.command.name && !v->moved;

	/* the first step in a command line chooses the first row */
	if (!first || action != ACTION_DOWN)
		list_widget_act(&v->list, action, v->palette.n_rows);
	v->moved = true;
	return REACT_REDRAW;
}

static bool palette_typing(void *state)
{
	(void)state;
	return true;
}

static unsigned palette_key(void *state, struct app_context *w, int key)
{
	struct palette_view *v = state;

	switch (key) {
	case 0x1B:
	case 'C' & 0x1F:
	case 'G' & 0x1F:
		return REACT_REDRAW | REACT_BACK;
	case '\r':
		return accept_row(v, w);
	case '\t':
		return insert_row(v, w);
	default:
		if (list_field_action(key))
			return move_palette_row(v, list_field_action(key));
	}
	switch (edit_key(&v->palette.line, key)) {
	case EDIT_CHANGED:
		search_again(v, w);
		return REACT_REDRAW;
	case EDIT_MOVED:
		return REACT_REDRAW;
	default:
		return REACT_UNKNOWN;
	}
}

static unsigned palette_paste(void *state, struct app_context *w, const char *text)
{
	struct palette_view *v = state;

	if (edit_paste(&v->palette.line, text) == EDIT_CHANGED)
		search_again(v, w);
	return REACT_REDRAW;
}

/* A click chooses a row, a click on the chosen row accepts it, a click beside the box leaves. */
static unsigned palette_mouse(void *state, struct app_context *w, const struct mouse *m)
{
	struct palette_view *v = state;
	size_t row = v->list.top + (size_t)(m->row - v->list.drawn.row);

	if (mouse_wheel_action(m))
		return move_palette_row(v, mouse_wheel_action(m));
	if (m->kind != MOUSE_PRESS || m->button != 1)
		return REACT_NOTHING;
	if (!layout_has_cell(v->box, m->row, m->col))
		return REACT_REDRAW | REACT_BACK;
	if (!layout_has_cell(v->list.drawn, m->row, m->col) || row >= v->palette.n_rows)
		return REACT_NOTHING;
	if (row == v->list.at && (v->moved || !v->palette.command.name))
		return accept_row(v, w);
	v->list.at = row;
	v->moved = true;
	return REACT_REDRAW;
}

/* ---- drawing ---- */

static const char *palette_hints(const struct palette_view *v)
{
	if (!v->palette.command.name)
		return "Enter do it   Tab complete   Up Down choose   Esc back";
	return v->moved ? "Enter insert   Esc back" : "Enter run   Tab complete   Esc back";
}

/* Draw a name with the matched letters marked; returns its columns. */
static int draw_marked(struct grid *g, struct span at, const struct palette_row *row)
{
	int used = draw_text(g, at.row, at.col, at.width, at.style, row->name);

	/* names of items are ASCII, so bytes are columns */
	for (int i = 0; i < MIN(used, FUZZY_BYTES) && row->name[i]; i++)
		if (row->marks >> i & 1 && (unsigned char)row->name[i] < 0x80)
			grid_put(g, at.row, at.col + i, STYLE_MARK, (uint32_t)row->name[i]);
	return used;
}

static void draw_palette_row(const struct list_row *to, const struct palette_row *row)
{
	int at = 2, right = to->cols;
	const char *end = row->is_recent ? "recent" : row->keys;

	if (*row->group)
		at += row_text(to, at, 12, STYLE_DIM, row->group) + 1;
	at += draw_marked(to->g,
			  (struct span){ to->row, to->col + at, right - at,
					 to->chosen ? STYLE_SELECTED : STYLE_NORMAL },
			  row) +
	      2;
	at = MAX(at, MIN(NAME_COLS, to->cols / 2));
	if (row->is_recent && *row->keys)
		right -= row_text_right(to, right - 1, 12, STYLE_BRIGHT, row->keys) + 2;
	right -= row_text_right(to, right - 1, 12, row->is_recent ? STYLE_DIM : STYLE_BRIGHT, end);
	if (right - at > 2)
		row_text(to, at, right - at - 2, STYLE_DIM, row->help);
}

static void palette_title(const struct palette *p, char *out, size_t size)
{
	if (p->command.name)
		snprintf(out, size, "%s%s%s", p->command.name, *p->command.arguments ? " " : "",
			 p->command.arguments);
	else
		snprintf(out, size, "commands");
}

static void draw_palette_rows(struct palette_view *v, struct grid *g, struct rect r)
{
	const struct palette *p = &v->palette;
	struct list_row row = list_rows(g, r, &v->list, p->n_rows, false);

	if (!p->n_rows)
		draw_text(g, r.row, r.col + 2, r.cols - 2, STYLE_DIM,
			  p->command.name ? p->command.help : "nothing fits");
	while (list_row_next(&row)) {
		if (row.is_at && (v->moved || !p->command.name))
			row_choose(&row);
		draw_palette_row(&row, &p->rows[row.i]);
	}
	list_widget_draw_hidden(g, v->box, &v->list);
}

/* Without room for a box: the line, and the rows below it. */
static void draw_small_palette(struct palette_view *v, struct grid *g, struct rect body)
{
	draw_blank(g, body, STYLE_NORMAL);
	v->box = body;
	grid_put(g, body.row, body.col, STYLE_DIM, ':');
	edit_draw(&v->palette.line, g, (struct rect){ body.row, body.col + 1, 1, body.cols - 1 },
		  STYLE_BRIGHT, true);
	v->list.drawn = (struct rect){ 0 };
	if (body.rows > 1)
		draw_palette_rows(
			v, g, (struct rect){ body.row + 1, body.col, body.rows - 1, body.cols });
}

static void palette_draw(void *state, struct grid *g, struct rect body, const struct app_context *w)
{
	struct palette_view *v = state;
	int wanted = (int)MIN(v->palette.n_rows, (size_t)BOX_ROWS) + 4; /* border, line, hints */
	int cols = MIN(body.cols, BOX_COLS), rows = MIN(body.rows, MIN(MAX(wanted, 5), BOX_ROWS));
	char title[240];
	struct rect in;

	(void)w;
	v->box = (struct rect){ body.row, body.col + (body.cols - cols) / 2, rows, cols };
	draw_blank(g, v->box, STYLE_NORMAL);
	in = layout_inside(v->box);
	if (in.rows < 3 || in.cols < 12) {
		draw_small_palette(v, g, body);
		return;
	}
	palette_title(&v->palette, title, sizeof(title));
	draw_box(g, v->box, title, true);
	grid_put(g, in.row, in.col + 1, STYLE_DIM, ':');
	edit_draw(&v->palette.line, g, (struct rect){ in.row, in.col + 2, 1, in.cols - 3 },
		  STYLE_BRIGHT, true);
	draw_text(g, in.row + in.rows - 1, in.col + 1, in.cols - 2,
		  *v->trouble ? STYLE_BAD : STYLE_DIM, *v->trouble ? v->trouble : palette_hints(v));
	draw_palette_rows(v, g, (struct rect){ in.row + 1, in.col + 1, in.rows - 2, in.cols - 2 });
}

const struct view view_palette = {
	.name = "palette",
	.title = "commands",
	.state_size = sizeof(struct palette_view),
	.is_box = true,
	.open = palette_view_open,
	.draw = palette_draw,
	.close = palette_view_close,
	.typing = palette_typing,
	.key = palette_key,
	.paste = palette_paste,
	.mouse = palette_mouse,
};
