/* plot_names.c - names at the ends of lines; see plot_internal.h. */
#include "tui/plot/plot_internal.h"

#include <assert.h>

#include "share/base/util.h"
#include "tui/term/draw.h"

#define NAME_SHARE 3  /* names take at most 1/3 of the area's columns */
#define LONG_NAME  16 /* columns; a longer name is cut */

void plot_names_reserve(struct canvas *c, const struct plot *p)
{
	int cols = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->lines[i].name && p->lines[i].series->n)
			cols = MAX(cols, grid_text_width(c->g, p->lines[i].name));
	cols = MIN(cols, LONG_NAME);
	if (!cols || (cols + 1) * NAME_SHARE > c->area.cols)
		return;
	c->name_cols = cols;
	c->area.cols -= cols + 1;
	c->dots_x = c->area.cols * c->per_x;
}

static bool is_name_above(const struct plot_name *a, const struct plot_name *b)
{
	return a->row != b->row ? a->row < b->row : a->value > b->value;
}

static void sort_names(struct plot_name *names, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && is_name_above(&names[k], &names[k - 1]); k--) {
			struct plot_name swap = names[k];

			names[k] = names[k - 1];
			names[k - 1] = swap;
		}
}

static bool is_free(const struct canvas *c, int row, int col, int width)
{
	for (int i = 0; i < width; i++) {
		const struct cell *cell = grid_at(c->g, row, col + i);

		if (!cell || (cell->ch != ' ' && cell->style < STYLE_TONE_0))
			return false;
	}
	return true;
}

void plot_names_draw(const struct canvas *c, struct plot_name *names, size_t n)
{
	const int top = c->area.row, bottom = c->area.row + c->area.rows - 1;
	const int gutter = c->area.col + c->area.cols + 1;
	int rows[PLOT_NAMES];

	assert(n <= PLOT_NAMES);
	if (!c->name_cols)
		return;
	sort_names(names, n);
	/* a row for each name: downwards, then back up from the lower edge */
	for (size_t i = 0; i < n; i++)
		rows[i] = i ? MAX(names[i].row, rows[i - 1] + 1) : names[i].row;
	for (size_t i = n; i-- > 0;)
		rows[i] = MIN(rows[i], i + 1 < n ? rows[i + 1] - 1 : bottom);
	for (size_t i = 0; i < n; i++) {
		const int width = MIN(grid_text_width(c->g, names[i].text), c->name_cols);
		const bool is_near = rows[i] == names[i].row && !c->g->pictures &&
				     is_free(c, rows[i], names[i].col + 1, width + 2);

		if (rows[i] >= top)
			draw_text(c->g, rows[i], is_near ? names[i].col + 2 : gutter, c->name_cols,
				  names[i].style, names[i].text);
	}
}
