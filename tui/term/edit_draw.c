/* edit_draw.c - draws the line editor in one or several rows; see edit.h. */
#include <assert.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/term/edit_internal.h"

/* Columns of the text from start to end. */
static int width_of(const struct edit *d, const struct grid *g, size_t start, size_t end)
{
	return grid_part_width(g, d->text.data + start, end - start);
}

static void draw_part(const struct edit *d, struct grid *g, struct span at, size_t start,
		      size_t end)
{
	if (end > start)
		grid_text_part(g, at, d->text.data + start, end - start, 0);
}

/* ---- several rows ---- */

struct line {
	size_t start, end;
}; /* byte offsets; end excludes the blanks at the break */

/*
 * The row that begins at start: as many graphemes as fit, broken after the last blank among them.
 * Returns the start of the next row.
 */
static size_t next_wrapped_line(const struct edit *d, const struct grid *g, int width,
				struct line *l)
{
	size_t at = l->start, blank = 0;
	int columns = 0;

	while (at < d->text.len) {
		size_t after = edit_after(d, at);
		int w = width_of(d, g, at, after);

		if (columns + w > width && d->text.data[at] != ' ' && at > l->start)
			break;
		/* Blanks at the break may exceed the row, by at most one more row. */
		if (columns + w > width && d->text.data[at] == ' ')
			blank = after;
		columns += w;
		at = after;
		if (d->text.data[at - 1] == ' ')
			blank = at;
		if (columns > 2 * width)
			break;
	}
	l->end = at;
	if (at < d->text.len && blank > l->start)
		l->end = blank;
	return l->end;
}

/* Row and column of byte at. Behind a full row the cursor is on the next row. */
static void find_byte_position(const struct edit *d, const struct grid *g, int width, size_t at,
			       int *row, int *col)
{
	struct line l = { 0 };

	assert(width >= 1 && at <= d->text.len);
	*row = 0;
	for (;;) {
		size_t next = next_wrapped_line(d, g, width, &l);

		if (at < next || next >= d->text.len)
			break;
		l.start = next;
		++*row;
	}
	*col = width_of(d, g, l.start, at);
	if (*col >= width && at == d->text.len) {
		*col = 0;
		++*row;
	}
	*col = MIN(*col, width - 1);
}

int edit_rows(const struct edit *d, const struct grid *g, int width)
{
	int row, col;

	if (width < 1)
		return 1;
	find_byte_position(d, g, width, d->text.len, &row, &col);
	return row + 1;
}

/* room: columns from col to the end of the rectangle. A wider character has a blank as its cursor. */
static void draw_cursor(const struct edit *d, struct grid *g, int row, int col, int room)
{
	size_t end = edit_after(d, d->at);
	int w = d->at < d->text.len ? width_of(d, g, d->at, end) : 0;

	if (w > 0 && w <= room)
		draw_part(d, g, (struct span){ row, col, w, STYLE_CURSOR }, d->at, end);
	else
		grid_put(g, row, col, STYLE_CURSOR, ' ');
}

static void draw_edit_rows(struct edit *d, struct grid *g, struct rect r, enum style style,
			   bool active)
{
	struct line l = { 0 };
	int row, col;

	find_byte_position(d, g, r.cols, d->at, &row, &col);
	if (row < d->top)
		d->top = row;
	if (row >= d->top + r.rows)
		d->top = row - r.rows + 1;
	d->top = MAX(MIN(d->top, edit_rows(d, g, r.cols) - r.rows), 0);
	for (int i = 0; i < d->top + r.rows && l.start < d->text.len; i++) {
		size_t next = next_wrapped_line(d, g, r.cols, &l);

		if (i >= d->top)
			draw_part(d, g, (struct span){ r.row + i - d->top, r.col, r.cols, style },
				  l.start, l.end);
		l.start = next;
	}
	if (active && row - d->top < r.rows)
		draw_cursor(d, g, r.row + row - d->top, r.col + col, r.cols - col);
}

/* ---- one row ---- */

/* Scroll the cursor into the visible columns, with some context around it if possible. */
static void scroll_to_cursor(struct edit *d, const struct grid *g, int width)
{
	int margin = MIN(width / 4, 8), used;

	d->first = MIN(d->first, d->at);
	/* the text may have changed since the last time: begin with a whole character */
	while (d->first && ((unsigned char)d->text.data[d->first] & 0xC0) == 0x80)
		d->first--;
	if (d->first && width_of(d, g, d->first, d->at) < margin)
		for (int i = 0; i < margin && d->first; i++)
			d->first = edit_before(d, d->first);
	used = width_of(d, g, d->first, d->at);
	while (used > width - 2 && d->first < d->at) {
		size_t after = edit_after(d, d->first);

		used -= width_of(d, g, d->first, after);
		d->first = after;
	}
	/* Scroll back as far as everything fits. */
	while (d->first > 0) {
		size_t before = edit_before(d, d->first);

		if (width_of(d, g, before, d->text.len) > width - 1)
			break;
		d->first = before;
	}
}

static void draw_edit_row(struct edit *d, struct grid *g, struct rect r, enum style style,
			  bool active)
{
	scroll_to_cursor(d, g, r.cols);
	draw_part(d, g, (struct span){ r.row, r.col, r.cols, style }, d->first, d->text.len);
	if (active) {
		int col = width_of(d, g, d->first, d->at);

		draw_cursor(d, g, r.row, r.col + col, r.cols - col);
	}
	/* Signs for text scrolled out; the cursor is never below a sign. */
	if (d->first && d->first < d->at)
		grid_put(g, r.row, r.col, STYLE_DIM, '<');
	if (r.cols > 2 && width_of(d, g, d->first, d->text.len) > r.cols)
		grid_put(g, r.row, r.col + r.cols - 1, STYLE_DIM, '>');
}

void edit_draw(struct edit *d, struct grid *g, struct rect r, enum style style, bool active)
{
	if (r.rows < 1 || r.cols < 1)
		return;
	if (r.rows == 1)
		draw_edit_row(d, g, r, style, active);
	else
		draw_edit_rows(d, g, r, style, active);
}

void edit_point(struct edit *d, const struct grid *g, struct rect r, int row, int col)
{
	struct line l = { 0 };
	int columns = 0;

	if (r.cols < 1)
		return;
	if (r.rows == 1) {
		scroll_to_cursor(d, g, r.cols); /* the text may have changed since it was drawn */
		l.start = d->first;
	}
	if (r.rows > 1)
		for (int i = 0; i < d->top + row - r.row; i++) {
			size_t next = next_wrapped_line(d, g, r.cols, &l);

			if (next >= d->text.len)
				break;
			l.start = next;
		}
	d->at = l.start;
	while (d->at < d->text.len) {
		size_t after = edit_after(d, d->at);

		columns += width_of(d, g, d->at, after);
		if (columns > col - r.col)
			break;
		d->at = after;
	}
	d->killing = d->typing = false;
}
