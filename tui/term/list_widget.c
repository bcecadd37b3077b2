/* list_widget.c - moves and scrolls a list; see list_widget.h. */
#include "tui/term/list_widget.h"

#include <assert.h>
#include <stdio.h>

#include "share/base/number_format.h"
#include "share/base/util.h"
#include "tui/term/draw.h"

bool list_move_of(enum action action, int page, int *by)
{
	*by = action == ACTION_DOWN	   ? 1
	      : action == ACTION_UP	   ? -1
	      : action == ACTION_PAGE_DOWN ? MAX(page, 1)
	      : action == ACTION_PAGE_UP   ? -MAX(page, 1)
	      : action == ACTION_HOME	   ? -LIST_ALL
	      : action == ACTION_END	   ? LIST_ALL
					   : 0;
	return *by != 0;
}

enum action list_field_action(int key)
{
	switch (key) {
	case KEY_NAME_DOWN:
	case 'N' & 0x1F:
		return ACTION_DOWN;
	case KEY_NAME_UP:
	case KEY_NAME_BACKTAB:
	case 'P' & 0x1F:
		return ACTION_UP;
	case KEY_NAME_PAGE_DOWN:
		return ACTION_PAGE_DOWN;
	case KEY_NAME_PAGE_UP:
		return ACTION_PAGE_UP;
	default:
		return ACTION_NONE;
	}
}

bool list_widget_act(struct list_widget *l, enum action action, size_t n)
{
	const size_t seen = l->is_text ? (size_t)MAX(l->page, 1) : 1;
	size_t *to = l->is_text ? &l->top : &l->at;
	int by;

	if (!list_move_of(action, l->page, &by))
		return false;
	if (by < 0)
		*to -= by == -LIST_ALL ? *to : MIN((size_t)-by, *to);
	else
		*to = by == LIST_ALL ? n : *to + (size_t)by;
	*to = MIN(*to, n - MIN(n, seen));
	return true;
}

size_t list_widget_top(struct list_widget *l, size_t n, int rows)
{
	size_t seen = (size_t)MAX(rows, 1);

	l->page = rows;
	l->at = MIN(l->is_text ? l->top : l->at, n ? n - 1 : 0);
	if (l->at < l->top)
		l->top = l->at;
	if (l->at >= l->top + seen)
		l->top = l->at - seen + 1;
	assert(l->top <= l->at && l->at < l->top + seen);
	if (l->top + seen > n)
		l->top = n > seen ? n - seen : 0;
	return l->top;
}

struct list_row list_rows(struct grid *g, struct rect r, struct list_widget *l, size_t n,
			  bool focused)
{
	if (l->follows && (l->is_text ? l->top + (size_t)MAX(l->page, 0) : l->at + 1) >= l->n)
		l->at = l->top = n;
	l->drawn = r;
	l->n = n;
	return (struct list_row){ .g = g,
				  .row = r.row - 1,
				  .col = r.col,
				  .cols = r.cols,
				  .i = list_widget_top(l, n, r.rows) - 1,
				  .list = l,
				  .n = n,
				  .end = r.row + r.rows,
				  .focused = focused };
}

struct list_row list_box(struct grid *g, struct rect box, const char *title, struct list_widget *l,
			 size_t n, bool focused)
{
	struct list_row row = list_rows(g, layout_inside(box), l, n, focused);

	draw_box(g, box, title, focused);
	list_widget_draw_place(g, box, l);
	return row;
}

struct list_row list_text(struct grid *g, struct rect box, struct rect r, struct list_widget *l,
			  size_t n)
{
	struct list_row row;

	l->is_text = true;
	row = list_rows(g, r, l, n, false);
	list_widget_draw_hidden(g, box, l);
	return row;
}

bool list_row_next(struct list_row *r)
{
	if (r->row + 1 >= r->end || r->i + 1 >= r->n) /* before the first one, i + 1 wraps to 0 */
		return false;
	r->row++;
	r->i++;
	r->is_at = r->i == r->list->at;
	r->chosen = r->is_at && r->focused;
	if (r->chosen)
		list_widget_draw_chosen(r->g, (struct rect){ r->row, r->col, 1, r->cols }, r->row,
					true);
	return true;
}

void row_choose(struct list_row *r)
{
	r->chosen = true;
	draw_blank(r->g, (struct rect){ r->row, r->col, 1, r->cols }, STYLE_SELECTED);
	row_sign(r, 0, STYLE_SELECTED, 0x25B8);
}

struct list_row list_row_at(struct grid *g, struct rect r, int row)
{
	return (struct list_row){ .g = g, .row = row, .col = r.col, .cols = r.cols };
}

int row_text(const struct list_row *r, int col, int width, enum style style, const char *text)
{
	return draw_text(r->g, r->row, r->col + col,
			 width ? MIN(width, r->cols - col) : r->cols - col,
			 r->chosen ? STYLE_SELECTED : style, text);
}

int row_text_right(const struct list_row *r, int end, int width, enum style style, const char *text)
{
	return draw_text_right(r->g, r->row, r->col + end, width,
			       r->chosen ? STYLE_SELECTED : style, text);
}

void row_sign(const struct list_row *r, int col, enum style style, uint32_t sign)
{
	grid_put(r->g, r->row, r->col + col, r->chosen ? STYLE_SELECTED : style, sign);
}

void row_pair(const struct list_row *r, int col, enum style style, const char *source,
	      const char *target)
{
	const int half = (r->cols - col - 3) / 2;

	if (half < 4)
		return;
	row_text(r, col, half, style, source);
	row_text(r, col + half + 1, 1, STYLE_BORDER, "|");
	row_text(r, col + half + 3, half, style, target);
}

void list_widget_draw_chosen(struct grid *g, struct rect r, int row, bool focused)
{
	enum style style = focused ? STYLE_SELECTED : STYLE_NORMAL;

	if (focused)
		draw_blank(g, (struct rect){ row, r.col, 1, r.cols }, style);
	if (r.cols > 2)
		grid_put(g, row, r.col, style, focused ? '>' : 0x00B7);
}

void list_widget_draw_place(struct grid *g, struct rect box, const struct list_widget *l)
{
	char text[2 * NUMBER_TEXT_BYTES + 8];

	if (l->n <= (size_t)MAX(l->page, 0) || box.rows < 2)
		return;
	snprintf(text, sizeof(text), " %s of %s ", COUNT_TEXT((int64_t)l->at + 1),
		 COUNT_TEXT((int64_t)l->n));
	draw_text_right(g, box.row + box.rows - 1, box.col + box.cols - 3, box.cols - 6, STYLE_DIM,
			text);
}

int list_widget_draw_hidden(struct grid *g, struct rect box, const struct list_widget *l)
{
	return draw_hidden_rows(g, box, (int)l->top, (int)(l->n - l->top) - l->page);
}
