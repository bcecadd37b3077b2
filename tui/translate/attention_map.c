/*
 * attention_map.c - draws the map of attention; see attention_map.h.
 *
 * Cells of a source token are as wide as the room allows, from 2 columns. If they are wide enough for
 * a part of the token, the tokens stand above the cells, else their numbers, which the pane of words
 * has too. A map that is too wide or too long scrolls to the row of the cursor and to its greatest
 * weight.
 */
#include "tui/translate/attention_map.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/buf.h"
#include "share/base/util.h"
#include "tui/term/draw.h"

#define LEAST_CELL  2
#define WIDEST_CELL 9
#define NAMED_CELL  5 /* columns from which the tokens stand above the cells */
#define LABEL_COLS  14
#define FOOT_ROWS   2 /* a blank line, and the greatest weights of the chosen row */
#define N_GREATEST  3

/* A map and its place on the screen. */
struct map_view {
	const struct service_answer *a;
	const struct service_translation *t;
	struct rect cells; /* of the heat; the labels are at its left and above */
	int n_cols;	   /* source tokens and their end */
	int cell;	   /* columns of a cell */
	int top, left;	   /* first row and column that can be seen */
	int row;	   /* of the cursor; -1: none */
};

static double weight_of(const struct map_view *m, int row, int col)
{
	return m->t->attention[(size_t)row * (size_t)m->n_cols + (size_t)col];
}

static const char *source_label(const struct map_view *m, int col)
{
	return col + 1 < m->n_cols ? m->a->source[col] : "</s>";
}

/* The column with the greatest weight of a row that is not yet in `list`; -1: none. */
static int greatest_column(const struct map_view *m, int row, const int *before, int n)
{
	int best = -1;

	for (int j = 0; j < m->n_cols; j++) {
		bool is_known = isnan(weight_of(m, row, j));

		for (int i = 0; i < n; i++)
			is_known |= before[i] == j;
		if (!is_known && (best < 0 || weight_of(m, row, j) > weight_of(m, row, best)))
			best = j;
	}
	return best;
}

static int map_label_cols(int cols)
{
	return MIN(LABEL_COLS, MAX(cols / 4, 3));
}

static void place_map(struct map_view *m, struct rect in)
{
	int label = map_label_cols(in.cols), visible, most;

	m->cells = (struct rect){ in.row + 1, in.col + label + 1, MAX(in.rows - 1 - FOOT_ROWS, 0),
				  MAX(in.cols - label - 1, 0) };
	m->cell = MAX(MIN(m->cells.cols / m->n_cols, WIDEST_CELL), LEAST_CELL);
	visible = m->cells.cols / m->cell;
	m->top = MAX(MIN(m->row - m->cells.rows / 2, (int)m->t->n - m->cells.rows), 0);
	m->left = 0;
	if (m->n_cols > visible && m->row >= 0) {
		most = greatest_column(m, m->row, NULL, 0);
		m->left = MAX(MIN(most - visible / 2, m->n_cols - visible), 0);
	}
}

/* Tokens or numbers of the source, above the cells. */
static void draw_map_head(const struct map_view *m, struct grid *g)
{
	int marked = m->row >= 0 ? greatest_column(m, m->row, NULL, 0) : -1;

	for (int j = m->left, col = m->cells.col;
	     j < m->n_cols && col + m->cell <= m->cells.col + m->cells.cols; j++, col += m->cell) {
		enum style style = j == marked ? STYLE_BRIGHT : STYLE_DIM;
		char number[16];

		snprintf(number, sizeof(number), "%d", (j + 1) % (m->cell > 2 ? 1000 : 100));
		if (m->cell >= NAMED_CELL)
			draw_text(g, m->cells.row - 1, col, m->cell - 1, style, source_label(m, j));
		else
			draw_text(g, m->cells.row - 1, col, m->cell, style,
				  j + 1 < m->n_cols ? number : ".");
	}
}

static void draw_map_row(const struct map_view *m, struct grid *g, struct rect in, int i)
{
	int row = m->cells.row + i - m->top, label = map_label_cols(in.cols);
	bool at = i == m->row;

	if (at)
		grid_put(g, row, in.col, STYLE_FOCUS, 0x25B8);
	draw_text_right(g, row, in.col + label - 1, label - 1, at ? STYLE_BRIGHT : STYLE_NORMAL,
			m->t->tokens[i]);
	for (int j = m->left, col = m->cells.col;
	     j < m->n_cols && col + m->cell <= m->cells.col + m->cells.cols; j++, col += m->cell)
		draw_heat(g, row, col, MAX(m->cell - 1, LEAST_CELL), weight_of(m, i, j), false);
}

/* The greatest weights of the cursor's row, as text. */
static void draw_map_foot(const struct map_view *m, struct grid *g, struct rect in)
{
	int found[N_GREATEST], col = in.col, right = in.col + in.cols - 1,
			       row = m->cells.row + MIN(m->cells.rows, (int)m->t->n) + 1;
	char text[16];

	if (m->row < 0)
		return;
	col += draw_text(g, row, col, in.cols / 2, STYLE_BRIGHT, m->t->tokens[m->row]) + 1;
	col += draw_text(g, row, col, right - col + 1, STYLE_DIM, "attends to") + 1;
	for (int i = 0; i < N_GREATEST && col < right; i++) {
		found[i] = greatest_column(m, m->row, found, i);
		if (found[i] < 0 || weight_of(m, m->row, found[i]) < 0.005)
			return;
		snprintf(text, sizeof(text), "%.0f %%", 100 * weight_of(m, m->row, found[i]));
		draw_fact(g, row, &col, right, source_label(m, found[i]), text);
	}
}

/* Which token each number above the cells means, if there are numbers and room below the map. */
static void draw_map_numbers(const struct map_view *m, struct grid *g, struct rect in)
{
	int row = m->cells.row + MIN(m->cells.rows, (int)m->t->n) + 3;
	struct buf text = { 0 };

	if (m->cell >= NAMED_CELL || row >= in.row + in.rows)
		return;
	for (int j = 0; j + 1 < m->n_cols; j++)
		buf_printf(&text, "%s%d\u00A0%s", j ? "  " : "", j + 1, source_label(m, j));
	draw_text_wrapped(g, (struct span){ row, in.col, in.cols, STYLE_DIM },
			  in.row + in.rows - row, 0, buf_text(&text));
	buf_free(&text);
}

/* Why no map is shown; NULL: it is. */
static const char *no_map_text(const struct console *c)
{
	const struct service *s = c->sides[c->side].service;
	const struct service_translation *t = console_shown_translation(c, c->side);

	if (!t)
		return "";
	if (t->attention)
		return NULL;
	if (s && !service_model(s)->decoder_layers)
		return "this translator gives no maps of attention";
	if (!c->asked_map || console_is_outdated(c, c->side))
		return "waiting for the translator";
	if (t->n_parts > 1)
		return "the translator gives no map over several sentences";
	return t->n ? "the sentence is too long for a map" : "";
}

static void name_map(const struct console *c, char *title, size_t size)
{
	const struct service *s = c->sides[c->side].service;
	int layers = s ? service_model(s)->decoder_layers : 0;
	char head[40] = "mean of heads";

	if (c->head)
		snprintf(head, sizeof(head), "head %d of %d", c->head, service_model(s)->heads);
	if (layers)
		snprintf(title, size, "attention, layer %d of %d, %s", c->layer ? c->layer : layers,
			 layers, head);
	else
		snprintf(title, size, "attention");
}

int attention_map_rows(const struct console *c)
{
	const struct service_translation *t = console_shown_translation(c, c->side);

	return (t ? (int)MIN(t->n, 1000) : 1) + 1 + FOOT_ROWS + 2;
}

void attention_map_draw(const struct console *c, struct grid *g, struct rect box)
{
	struct map_view m = { .a = console_answer(c, c->side),
			      .t = console_shown_translation(c, c->side) };
	const char *why = no_map_text(c);
	struct rect in = layout_inside(box);
	char title[120];

	if (box.rows < 3 || box.cols < 3)
		return;
	name_map(c, title, sizeof(title));
	draw_box(g, box, title, c->focus == CONSOLE_PANE_MAP);
	if (why) {
		draw_note(g, in, STYLE_DIM, why);
		return;
	}
	draw_heat_scale(g, box, title);
	m.n_cols = (int)m.a->n_source + 1;
	m.row = c->token < (int)m.t->n ? c->token : -1;
	place_map(&m, in);
	if (m.cells.rows < 1 || m.cells.cols < LEAST_CELL)
		return;
	draw_map_head(&m, g);
	for (int i = m.top; i < (int)m.t->n && i - m.top < m.cells.rows; i++)
		draw_map_row(&m, g, in, i);
	draw_map_foot(&m, g, in);
	draw_map_numbers(&m, g, in);
	draw_hidden_rows(g, box, m.top, (int)m.t->n - m.cells.rows - m.top);
}
