/* grid.c - cells, glyph replacement, clipping; see grid.h. */
#include "tui/term/grid.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/guard/terminal_text.h"
#include "tui/term/picture.h"

/* The glyphs of the workbench, and their replacements in the two smaller charsets. */
static const struct glyph {
	uint32_t full, plain;
	char ascii;
} glyphs[] = {
	/* clang-format off */
	{0x256D, 0x250C, '+'}, {0x256E, 0x2510, '+'}, {0x2570, 0x2514, '+'}, {0x256F, 0x2518, '+'},
	{0x2500, 0x2500, '-'}, {0x2502, 0x2502, '|'}, {0x2524, 0x2524, '+'}, {0x2534, 0x2534, '+'},
	{0x250C, 0x250C, '+'}, {0x2510, 0x2510, '+'}, {0x2514, 0x2514, '+'}, {0x2518, 0x2518, '+'},
	{0x2501, 0x2588, '#'}, /* heavy line: done part of a bar */
	{0x254D, 0x2591, '.'}, /* heavy dashes: waiting part of a bar */
	{0x2504, 0x2500, ':'}, /* dotted line: legend of a dotted plot */
	{0x2026, '.', '.'},    /* ellipsis */
	{0x2022, 0x2022, 'o'}, /* bullet: mark on a plot */
	{0x25CF, 0x25A0, '*'}, /* circle: running */
	{0x2713, 0x221A, '+'}, /* check mark: finished */
	{0x25A0, 0x25A0, '#'}, /* square: stopped */
	{0x2717, 'x', 'x'},    /* cross: failed */
	{0x2605, '*', '*'},    /* star: best */
	{0x25B8, '>', '>'},    /* triangle: focus */
	{0x2191, 0x2191, '^'}, {0x2193, 0x2193, 'v'}, {0x00B7, 0x00B7, '.'}, /* middle dot */
	{0x00D7, 'x', 'x'},						     /* times */
	{0x2013, '-', '-'},    {0x2014, '-', '-'},    {0x2018, '\'', '\''},  {0x2019, '\'', '\''},
	{0x201C, '"', '"'},    {0x201D, '"', '"'},    {0x201E, '"', '"'},    {0x2580, 0x2580, '\''},
	{0x2584, 0x2584, '.'}, {0x2588, 0x2588, ':'}, {0x2591, 0x2591, '.'}, {0x2592, 0x2592, '+'},
	{0x2593, 0x2593, '#'}, {0x25B2, 0x25B2, '^'}, {0x25BC, 0x25BC, 'v'},
	/* levels of a sparkline; 0x2584 and 0x2588 are above */
	{0x2581, '_', '_'},    {0x2582, '_', '_'},    {0x2583, 0x2584, '.'}, {0x2585, 0x2584, '-'},
	{0x2586, 0x2588, '-'}, {0x2587, 0x2588, '^'},
	/* clang-format on */
};

int grid_resize(struct grid *g, int rows, int cols, struct err *e)
{
	struct cell *cells;
	size_t n;

	rows = MAX(rows, 1);
	cols = MAX(cols, 1);
	if (!mem_mul((size_t)rows, (size_t)cols, &n))
		return err_set(e, ERR_NOMEM, "a screen of %d rows and %d columns is too large",
			       rows, cols);
	if (!(cells = mem_alloc(n, sizeof(*cells), e)))
		return e->code;
	free(g->cells);
	g->cells = cells;
	g->rows = rows;
	g->cols = cols;
	grid_clear(g);
	return 0;
}

void grid_clear(struct grid *g)
{
	size_t n = (size_t)g->rows * (size_t)g->cols;

	for (size_t i = 0; i < n; i++)
		g->cells[i] = (struct cell){ .ch = ' ', .style = STYLE_NORMAL, .width = 1 };
	g->focus.rows = 0;
	picture_list_clear(g->pictures);
}

void grid_free(struct grid *g)
{
	free(g->cells);
	g->cells = NULL;
	g->rows = g->cols = 0;
}

struct cell *grid_at(const struct grid *g, int row, int col)
{
	if (row < 0 || col < 0 || row >= g->rows || col >= g->cols)
		return NULL;
	return &g->cells[(size_t)row * (size_t)g->cols + (size_t)col];
}

/* Replace a character that this charset lacks. */
static uint32_t in_charset(enum grid_charset charset, uint32_t c)
{
	if (c < 0x80 || charset == GRID_FULL)
		return c;
	for (size_t i = 0; i < ARRAY_LEN(glyphs); i++)
		if (glyphs[i].full == c)
			return charset == GRID_PLAIN ? glyphs[i].plain : (uint32_t)glyphs[i].ascii;
	return charset == GRID_PLAIN ? c : '?';
}

/*
 * The character that is shown for c, and its columns (0: a combining mark; -1: nothing is shown).
 */
static uint32_t displayed_codepoint(enum grid_charset charset, uint32_t c, int *width)
{
	*width = 1;
	if (c >= 0x20 && c < 0x7F)
		return c;
	if (c == 0xAD)
		return '-';
	switch (terminal_class_of(c)) {
	case TERMINAL_BREAK:
		return ' ';
	case TERMINAL_DIRECTION: /* terminals disagree about their width */
	case TERMINAL_INVISIBLE:
		*width = -1;
		return 0;
	case TERMINAL_CONTROL:
		c = TERMINAL_REPLACEMENT;
		break;
	case TERMINAL_PLAIN:
		c = c > 0x10FFFF ? TERMINAL_REPLACEMENT : c;
	}
	c = in_charset(charset, c);
	if (c < 0x80 || c == TERMINAL_REPLACEMENT)
		return c;
	*width = wcwidth((wchar_t)c);
	if (*width >= 0 && *width <= 2)
		return c;
	*width = 1;
	return TERMINAL_REPLACEMENT;
}

/* Clear a cell, and the other half if the character is wide. */
static void clear_wide_cell(struct grid *g, int row, int col)
{
	struct cell *c = grid_at(g, row, col), *other;

	assert(c);
	if (c->width == 2)
		other = grid_at(g, row, col + 1);
	else
		other = c->width == 0 ? grid_at(g, row, col - 1) : NULL;
	if (other)
		*other = (struct cell){ .ch = ' ', .style = other->style, .width = 1 };
	*c = (struct cell){ .ch = ' ', .style = c->style, .width = 1 };
}

/* The cell at row, col; NULL outside the grid or the clip rectangle. */
static struct cell *writable_cell(const struct grid *g, int row, int col)
{
	if (g->clip.rows && (row < g->clip.row || row >= g->clip.row + g->clip.rows ||
			     col < g->clip.col || col >= g->clip.col + g->clip.cols))
		return NULL;
	return grid_at(g, row, col);
}

static void add_combining_mark(struct grid *g, int row, int col, uint32_t mark)
{
	struct cell *c = writable_cell(g, row, col);

	if (c && c->width == 0)
		c = writable_cell(g, row, col - 1);
	if (!c)
		return;
	for (int i = 0; i < GRID_MARKS; i++)
		if (!c->marks[i]) {
			c->marks[i] = mark;
			return;
		}
}

int grid_put(struct grid *g, int row, int col, enum style style, uint32_t codepoint)
{
	int width;
	uint32_t c = displayed_codepoint(g->charset, codepoint, &width);

	if (width < 0)
		return 0;
	if (width == 0) {
		add_combining_mark(g, row, col - 1, c);
		return 0;
	}
	assert(width == 1 || width == 2);
	if (writable_cell(g, row, col)) {
		clear_wide_cell(g, row, col);
		if (width == 2 && !writable_cell(g, row, col + 1)) {
			c = ' ';
			width = 1;
		}
		*writable_cell(g, row, col) =
			(struct cell){ .ch = c, .style = (uint8_t)style, .width = (uint8_t)width };
	}
	if (width == 2 && writable_cell(g, row, col + 1)) {
		bool whole = writable_cell(g, row, col) != NULL;

		clear_wide_cell(g, row, col + 1);
		*writable_cell(g, row, col + 1) = (struct cell){
			.ch = whole ? 0 : ' ',
			.style = (uint8_t)style,
			.width = !whole,
		};
	}
	return width;
}

/* Decode the next character of any bytes; an invalid byte is one replacement character. */
static size_t next_codepoint(const char *text, size_t n, uint32_t *c)
{
	if (!utf8_valid_prefix(text, MIN(n, (size_t)4))) {
		*c = TERMINAL_REPLACEMENT;
		return 1;
	}
	return utf8_decode(text, n, c);
}

int grid_text_part(struct grid *g, struct span at, const char *text, size_t n, int skip)
{
	size_t i = 0;
	int columns = 0;

	while (i < n) {
		uint32_t c;
		int w;

		i += next_codepoint(text + i, n - i, &c);
		displayed_codepoint(g->charset, c, &w);
		if (skip > 0) {
			skip -= MAX(w, 0);
			continue;
		}
		if (w < 0 || (w == 0 && columns == 0))
			continue;
		if (columns + w > at.width)
			break;
		grid_put(g, at.row, at.col + columns, at.style, c);
		columns += w;
	}
	return columns;
}

int grid_text(struct grid *g, int row, int col, int width, enum style style, const char *text)
{
	return grid_text_part(g, (struct span){ row, col, width, style }, text, strlen(text), 0);
}

size_t grid_part_fit(const struct grid *g, const char *text, size_t n, int width, int *columns)
{
	size_t i = 0;
	int at = 0;

	while (i < n) {
		uint32_t c;
		int w;
		size_t used = next_codepoint(text + i, n - i, &c);

		displayed_codepoint(g->charset, c, &w);
		if (at + MAX(w, 0) > width)
			break;
		at += MAX(w, 0);
		i += used;
	}
	assert(i <= n && at <= MAX(width, 0));
	if (columns)
		*columns = at;
	return i;
}

size_t grid_text_fit(const struct grid *g, const char *text, int width, int *columns)
{
	return grid_part_fit(g, text, strlen(text), width, columns);
}

int grid_part_width(const struct grid *g, const char *text, size_t n)
{
	int columns;

	grid_part_fit(g, text, n, 1 << 30, &columns);
	return columns;
}

int grid_text_width(const struct grid *g, const char *text)
{
	return grid_part_width(g, text, strlen(text));
}

static void dump_row(const struct grid *g, int row, struct buf *out)
{
	int end = g->cols;

	while (end > 0 && grid_at(g, row, end - 1)->ch == ' ' &&
	       !grid_at(g, row, end - 1)->marks[0])
		end--;
	for (int col = 0; col < end; col++) {
		const struct cell *c = grid_at(g, row, col);
		char bytes[4];

		if (c->width == 0)
			continue;
		buf_add(out, bytes, utf8_encode(c->ch, bytes));
		for (int i = 0; i < GRID_MARKS && c->marks[i]; i++)
			buf_add(out, bytes, utf8_encode(c->marks[i], bytes));
	}
	buf_add_char(out, '\n');
}

void grid_dump(const struct grid *g, struct buf *out)
{
	for (int row = 0; row < g->rows; row++)
		dump_row(g, row, out);
}
