/* prompt.c - keys, mouse and drawing of a question; see prompt.h. */
#include "tui/context/prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "tui/context/path_completion.h"
#include "tui/term/draw.h"
#include "tui/term/layout.h"

#define BOX_COLS  76
#define BOX_ROWS  22
#define LINE_COLS 12 /* the least of a filter that is typed */

void prompt_close(struct prompt *p)
{
	for (size_t i = 0; i < p->n_choices; i++)
		free(p->choices[i]);
	free(p->choices);
	free(p->title);
	free(p->text);
	free(p->answer);
	edit_close(&p->line);
	text_filter_clear(&p->filter);
	*p = (struct prompt){ 0 };
}

/* Whether the answer is the typed line. */
static bool is_line(const struct prompt *p)
{
	return p->kind == QUESTION_LINE || p->kind == QUESTION_SEARCH || p->kind == QUESTION_FILTER;
}

/* Whether the line stands in the last row, so that a list can be seen while it is filtered. */
static bool is_bar(const struct prompt *p)
{
	return p->kind == QUESTION_SEARCH || p->kind == QUESTION_FILTER;
}

int prompt_ask(struct prompt *p, const struct question *q, struct err *e)
{
	prompt_close(p);
	p->kind = q->kind;
	p->id = q->id;
	p->title = mem_strdup(q->title ? q->title : "", e);
	p->text = mem_strdup(q->text ? q->text : "", e);
	p->choices = mem_alloc(q->n_choices + 1, sizeof(*p->choices), e);
	if (!p->title || !p->text || !p->choices)
		goto fail;
	for (size_t i = 0; i < q->n_choices; i++, p->n_choices++) {
		if (!(p->choices[i] = mem_strdup(q->choices[i], e)))
			goto fail;
		if (q->chosen && !strcmp(q->choices[i], q->chosen))
			p->list.at = i;
	}
	p->previews_themes = q->previews_themes;
	p->completes_paths = q->completes_paths;
	snprintf(p->typed, sizeof(p->typed), "%s", p->text);
	if (is_line(p) && edit_set(&p->line, p->text, e))
		goto fail;
	p->open = true;
	return 0;
fail:
	prompt_close(p);
	return e->code;
}

/* ---- choices ---- */

/* Choice k of those that match the filter; NULL: fewer match. */
static char *filtered_choice(const struct prompt *p, size_t k)
{
	for (size_t i = 0; i < p->n_choices; i++)
		if (text_filter_matches(&p->filter, p->choices[i]) && !k--)
			return p->choices[i];
	return NULL;
}

static size_t count_filtered(const struct prompt *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_choices; i++)
		n += text_filter_matches(&p->filter, p->choices[i]);
	return n;
}

const char *prompt_choice(const struct prompt *p)
{
	return p->kind == QUESTION_CHOICE ? filtered_choice(p, p->list.at) : NULL;
}

/* The typed text has changed: filter by it, or remember why that is impossible. */
static void update_filter(struct prompt *p)
{
	struct err e = { 0 };

	*p->trouble = 0;
	p->list.at = 0;
	if ((p->kind == QUESTION_CHOICE || is_bar(p)) &&
	    text_filter_set(&p->filter, edit_text(&p->line), &e))
		snprintf(p->trouble, sizeof(p->trouble), "%.119s", e.text);
}

/* ---- keys ---- */

static enum prompt_state answer_prompt(struct prompt *p, const char *text)
{
	struct err ignored;

	p->answer = text ? mem_strdup(text, &ignored) : NULL;
	return PROMPT_ANSWERED;
}

static enum prompt_state key_yes_no(struct prompt *p, int key)
{
	if (key == 'y' || key == 'Y')
		return answer_prompt(p, "yes");
	if (key == 'n' || key == 'N' || key == 'q')
		return answer_prompt(p, NULL);
	return key == 'C' || key == 'c' ? PROMPT_COPY : PROMPT_OPEN;
}

static enum prompt_state key_text(struct prompt *p, int key)
{
	const enum action move = key == 'j'   ? ACTION_DOWN
				 : key == 'k' ? ACTION_UP
				 : key == ' ' ? ACTION_PAGE_DOWN
					      : list_field_action(key);

	if (key == 'C' || key == 'c')
		return PROMPT_COPY;
	if (key == 'q' || key == '\r')
		return answer_prompt(p, NULL);
	list_widget_act(&p->list, move, p->list.n);
	return PROMPT_OPEN;
}

static enum prompt_state key_choice(struct prompt *p, int key)
{
	const enum action move = key == '\t' ? ACTION_DOWN : list_field_action(key);

	if (key == '\r')
		return prompt_choice(p) ? answer_prompt(p, prompt_choice(p)) : PROMPT_OPEN;
	if (move)
		list_widget_act(&p->list, move, count_filtered(p));
	else if (edit_key(&p->line, key) == EDIT_CHANGED)
		update_filter(p);
	return PROMPT_OPEN;
}

/* Extends the typed path. A path that is too long for the line stays. */
static void complete_line(struct prompt *p)
{
	struct buf path = { 0 };
	struct err ignored = { 0 };

	path_complete(edit_text(&p->line), &path);
	if (!path.failed)
		edit_set(&p->line, buf_text(&path), &ignored);
	buf_free(&path);
}

enum prompt_state prompt_key(struct prompt *p, int key)
{
	if (key == 0x1B || key == ('C' & 0x1F) || key == ('G' & 0x1F))
		return answer_prompt(p, NULL);
	switch (p->kind) {
	case QUESTION_YES_NO:
		return key_yes_no(p, key);
	case QUESTION_TEXT:
		return key_text(p, key);
	case QUESTION_CHOICE:
		return key_choice(p, key);
	case QUESTION_LINE:
	case QUESTION_SEARCH:
	case QUESTION_FILTER:
		break;
	}
	if (key == '\r')
		return *p->trouble ? PROMPT_OPEN : answer_prompt(p, edit_text(&p->line));
	if (key == '\t' && p->completes_paths)
		complete_line(p);
	else if (edit_key(&p->line, key) == EDIT_CHANGED)
		update_filter(p);
	return PROMPT_OPEN;
}

enum prompt_state prompt_paste(struct prompt *p, const char *text)
{
	/* Ignore pastes in yes/no questions: a pasted "y" must not confirm anything. */
	if ((is_line(p) || p->kind == QUESTION_CHOICE) &&
	    edit_paste(&p->line, text) == EDIT_CHANGED)
		update_filter(p);
	return PROMPT_OPEN;
}

/* ---- drawing ---- */

/* Draw text line by line; returns its rows. rows 0 only counts. */
static int draw_prompt_text(struct grid *g, struct rect r, int skip, const char *text)
{
	int line = 0;

	while (*text) {
		size_t n = strcspn(text, "\n");
		char part[1024];
		struct span at = { r.row + MAX(line - skip, 0), r.col, r.cols, STYLE_NORMAL };
		int lines;

		memcpy(part, text, MIN(n, sizeof(part) - 1));
		part[MIN(n, sizeof(part) - 1)] = 0;
		lines = draw_text_wrapped(g, at, MAX(r.rows - MAX(line - skip, 0), 0),
					  MAX(skip - line, 0), part);
		line += MAX(lines, 1);
		text += n + (text[n] == '\n');
	}
	return line;
}

static const char *foot_of(const struct prompt *p)
{
	switch (p->kind) {
	case QUESTION_YES_NO:
		if (p->clicked)
			return "press the key y for yes   n no";
		return *p->text ? "y yes   n no   C copy" : "y yes   n no";
	case QUESTION_TEXT:
		return "Esc back   C copy";
	case QUESTION_CHOICE:
		return "Enter choose   Up Down   type to filter   Esc back";
	case QUESTION_SEARCH:
	case QUESTION_FILTER:
		return "Enter done   Esc back   ~ begins a regular expression";
	case QUESTION_LINE:
		break;
	}
	return p->completes_paths ? "Enter done   Tab completes   Esc back"
				  : "Enter done   Esc back";
}

/* ---- layout ---- */

struct prompt_layout {
	bool small;	       /* no room for a box: use the last row */
	struct rect box, body; /* body: between the border and the key hints */
	struct span foot;
	const char *hints; /* keys, in foot */
	struct span line;  /* line of typed text; width 0: none */
	struct rect list;  /* choices; rows 0: none */
};

static int rows_wanted(const struct prompt *p, struct grid *g, int cols)
{
	int words = draw_prompt_text(g, (struct rect){ 0, 0, 0, cols }, 0, p->text);

	if (is_line(p))
		return 3;
	if (p->kind == QUESTION_CHOICE)
		return 3 + (int)MIN(p->n_choices, (size_t)BOX_ROWS);
	return words + 1 + (words > 0);
}

/*
 * Place the line after the title, which gets half of the row at most. Behind the line of a filter are as
 * many key hints as leave room for some words.
 */
static void place_small(const struct prompt *p, struct grid *g, struct prompt_layout *at)
{
	const int col = MIN(grid_text_width(g, p->title) + 2, g->cols / 2), room = g->cols - col;
	int hints = grid_text_width(g, at->hints) + 2;

	at->small = true;
	at->box = (struct rect){ g->rows - 1, 0, 1, g->cols };
	if (is_bar(p)) {
		if (*p->trouble) {
			hints = MIN(grid_text_width(g, p->trouble) + 2, MAX(room - LINE_COLS, 0));
		} else if (hints > room - LINE_COLS) {
			at->hints = "Enter done   Esc back";
			hints = grid_text_width(g, at->hints) + 2;
		}
		if (hints > room - LINE_COLS)
			hints = 0;
		at->line = (struct span){ g->rows - 1, col, room - hints, STYLE_FOCUS };
		at->foot = (struct span){ g->rows - 1, g->cols - hints + 1, MAX(hints - 1, 0),
					  STYLE_DIM };
	} else if (is_line(p))
		at->line = (struct span){ g->rows - 1, col, room, STYLE_FOCUS };
	else if (p->kind == QUESTION_CHOICE)
		at->list = (struct rect){ g->rows - 1, col, 1, room };
	else
		at->foot = (struct span){ g->rows - 1, col, room, STYLE_DIM };
}

static void place_prompt(const struct prompt *p, struct grid *g, struct prompt_layout *at)
{
	int cols = MIN(g->cols - 2, BOX_COLS), rows;
	struct rect r;

	*at = (struct prompt_layout){ .hints = foot_of(p) };
	if (is_bar(p) || g->rows < 6 || g->cols < 24) {
		place_small(p, g, at);
		return;
	}
	rows = MIN(MIN(rows_wanted(p, g, cols - 4) + 2, BOX_ROWS), g->rows);
	at->box = (struct rect){ (g->rows - rows) / 2, (g->cols - cols) / 2, rows, cols };
	r = layout_inside(at->box);
	r.col++;
	r.cols -= 2;
	at->foot = (struct span){ r.row + r.rows - 1, r.col, r.cols, STYLE_DIM };
	at->body = (struct rect){ r.row, r.col, r.rows - 1, r.cols };
	if (is_line(p) || p->kind == QUESTION_CHOICE)
		at->line = (struct span){ r.row, r.col, r.cols, STYLE_BRIGHT };
	if (p->kind == QUESTION_CHOICE)
		at->list = (struct rect){ r.row + 1, r.col, r.rows - 2, r.cols };
}

/* ---- drawing the question ---- */

static void draw_prompt_line(struct prompt *p, struct grid *g, struct span at)
{
	edit_draw(&p->line, g, (struct rect){ at.row, at.col, 1, at.width }, at.style, true);
}

static void draw_choices(struct prompt *p, struct grid *g, struct rect box, struct rect r)
{
	const size_t n = count_filtered(p);
	struct list_row row = list_rows(g, r, &p->list, n, false);

	if (!n)
		draw_text(g, r.row, r.col, r.cols, STYLE_DIM, "no match");
	while (list_row_next(&row)) {
		if (row.is_at)
			row_choose(&row);
		row_text(&row, 2, 0, STYLE_NORMAL, filtered_choice(p, row.i));
	}
	list_widget_draw_hidden(g, box, &p->list);
}

/* Keys, or why the typed text is no filter. */
static void draw_prompt_foot(const struct prompt *p, struct grid *g, const struct prompt_layout *at)
{
	draw_text(g, at->foot.row, at->foot.col, at->foot.width,
		  *p->trouble ? STYLE_BAD : STYLE_DIM, *p->trouble ? p->trouble : at->hints);
}

static void draw_small(struct prompt *p, struct grid *g, const struct prompt_layout *at)
{
	const bool has_foot = at->foot.width > 0;
	const int end = at->line.width	? at->line.col - 1
			: at->list.rows ? at->list.col - 1
					: g->cols;

	draw_blank(g, at->box, STYLE_FOCUS);
	draw_text(g, at->box.row, 0, end, STYLE_FOCUS,
		  *p->trouble && !has_foot ? p->trouble : p->title);
	if (at->line.width)
		draw_prompt_line(p, g, at->line);
	if (at->list.rows && filtered_choice(p, p->list.at))
		draw_text(g, at->list.row, at->list.col, at->list.cols, STYLE_SELECTED,
			  filtered_choice(p, p->list.at));
	if (has_foot)
		draw_prompt_foot(p, g, at);
}

static void draw_question_text(struct prompt *p, struct grid *g, const struct prompt_layout *at)
{
	int lines = draw_prompt_text(g, (struct rect){ 0, 0, 0, at->body.cols }, 0, p->text);

	list_text(g, at->box, at->body, &p->list, (size_t)lines);
	draw_prompt_text(g, at->body, (int)p->list.top, p->text);
}

void prompt_draw(struct prompt *p, struct grid *g)
{
	struct prompt_layout at;

	place_prompt(p, g, &at);
	if (at.small) {
		draw_small(p, g, &at);
		return;
	}
	draw_blank(g, at.box, STYLE_NORMAL);
	draw_box(g, at.box, p->title, true);
	draw_prompt_foot(p, g, &at);
	if (at.line.width)
		draw_prompt_line(p, g, at.line);
	else
		draw_question_text(p, g, &at);
	if (at.list.rows)
		draw_choices(p, g, at.box, at.list);
}

/* ---- the mouse ---- */

/* The key named in the key hints at a column; 0: none. Hints are three blanks apart. */
static int key_at(const char *foot, int col)
{
	const char *words = foot, *next;

	for (; (next = strstr(words, "   ")) && next + 3 - foot <= col; words = next + 3)
		;
	if (col < 0 || col >= (int)(next ? next - foot : (int)strlen(foot)))
		return 0;
	if (!strncmp(words, "Esc ", 4))
		return 0x1B;
	if (!strncmp(words, "Enter ", 6))
		return '\r';
	return words[1] == ' ' ? words[0] : 0;
}

static enum prompt_state press_prompt(struct prompt *p, const struct grid *g,
				      const struct prompt_layout *at, const struct mouse *m)
{
	size_t n = count_filtered(p), choice;
	int key;

	if (at->line.width && m->row == at->line.row && m->col < at->line.col + at->line.width) {
		edit_point(&p->line, g,
			   (struct rect){ at->line.row, at->line.col, 1, at->line.width }, m->row,
			   m->col);
		return PROMPT_OPEN;
	}
	if (layout_has_cell(at->list, m->row, m->col)) {
		choice = list_widget_top(&p->list, n, at->list.rows) +
			 (size_t)(m->row - at->list.row);
		if (choice >= n)
			return PROMPT_OPEN;
		return answer_prompt(p, filtered_choice(p, choice));
	}
	if (m->row != at->foot.row || !at->foot.width)
		return PROMPT_OPEN;
	key = key_at(at->hints, m->col - at->foot.col);
	if (p->kind == QUESTION_YES_NO && key == 'y') {
		p->clicked = true;
		return PROMPT_OPEN;
	}
	return key ? prompt_key(p, key) : PROMPT_OPEN;
}

enum prompt_state prompt_mouse(struct prompt *p, struct grid *g, const struct mouse *m)
{
	struct prompt_layout at;

	switch (m->kind) {
	case MOUSE_WHEEL_UP:
	case MOUSE_WHEEL_DOWN:
		if (p->kind == QUESTION_TEXT || p->kind == QUESTION_CHOICE)
			return prompt_key(p,
					  m->kind == MOUSE_WHEEL_UP ? KEY_NAME_UP : KEY_NAME_DOWN);
		return PROMPT_OPEN;
	case MOUSE_PRESS:
		place_prompt(p, g, &at);
		return m->button == 1 ? press_prompt(p, g, &at, m) : PROMPT_OPEN;
	default:
		return PROMPT_OPEN;
	}
}
