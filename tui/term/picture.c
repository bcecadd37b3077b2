/* picture.c - see picture.h. */
#include "tui/term/picture.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "tui/term/grid.h"

/* ---- pictures and cells ---- */

uint64_t picture_sum(const void *data, size_t n)
{
	const unsigned char *bytes = data;
	uint64_t sum = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3u;
	return sum;
}

static uint64_t sum_of_cells(const struct grid *g, struct rect r)
{
	uint64_t sum = 0;

	for (int row = r.row; row < r.row + r.rows; row++)
		for (int col = r.col; col < r.col + r.cols; col++) {
			const struct cell *c = grid_at(g, row, col);
			uint32_t is[2] = { c ? c->ch : 0, c ? c->style : 0 };

			sum = sum * 31 + picture_sum(is, sizeof(is));
		}
	return sum;
}

static void free_picture(struct picture *p)
{
	free(p->rgba);
	free(p->mask);
	*p = (struct picture){ 0 };
}

struct picture *picture_add(struct picture_list *list, const struct grid *g, struct rect cells)
{
	struct err ignored; /* without memory the cells are shown */
	struct picture *p;
	long pixels;

	if (!list || list->cell_width <= 0 || list->cell_height <= 0 || list->n == PICTURE_MOST ||
	    cells.rows < 1 || cells.cols < 1)
		return NULL;
	pixels = (long)cells.cols * list->cell_width * cells.rows * list->cell_height;
	if (pixels > PICTURE_MAX_PIXELS)
		return NULL;
	p = &list->items[list->n];
	*p = (struct picture){ .cells = cells,
			       .width = cells.cols * list->cell_width,
			       .height = cells.rows * list->cell_height,
			       .below = sum_of_cells(g, cells) };
	p->rgba = mem_alloc((size_t)pixels, 4, &ignored);
	p->mask = mem_alloc((size_t)pixels, 1, &ignored);
	if (!p->rgba || !p->mask) {
		free_picture(p);
		return NULL;
	}
	list->n++;
	return p;
}

bool picture_is_free(const struct picture *p, const struct grid *g)
{
	return p->below == sum_of_cells(g, p->cells);
}

void picture_list_clear(struct picture_list *list)
{
	while (list && list->n)
		free_picture(&list->items[--list->n]);
}

/* ---- drawing ---- */

/* Cover a pixel at least by this share. */
static void cover_pixel(struct picture *p, int x, int y, double share)
{
	uint8_t *to = &p->mask[(size_t)y * (size_t)p->width + (size_t)x];
	int value = (int)lround(255 * MIN(MAX(share, 0.0), 1.0));

	*to = (uint8_t)MAX(*to, value);
}

/* Distance from a point to the line between two others. */
static double line_distance(double x, double y, double x0, double y0, double dx, double dy)
{
	double length = dx * dx + dy * dy;
	double t = length > 0 ? ((x - x0) * dx + (y - y0) * dy) / length : 0;

	t = MIN(MAX(t, 0.0), 1.0);
	return hypot(x - x0 - t * dx, y - y0 - t * dy);
}

void picture_stroke(struct picture *p, double x0, double y0, double x1, double y1, double width)
{
	double reach = width / 2 + 1, dx = x1 - x0, dy = y1 - y0;
	int left = (int)floor(MAX(MIN(x0, x1) - reach, 0.0));
	int right = (int)ceil(MIN(MAX(x0, x1) + reach, (double)p->width));

	if (!isfinite(dx) || !isfinite(dy))
		return;
	for (int x = left; x < right; x++) {
		/* the part of the line near this column, so that a steep line costs no more */
		double a = fabs(dx) > 1e-9 ? (x + 0.5 - reach - x0) / dx : 0;
		double b = fabs(dx) > 1e-9 ? (x + 0.5 + reach - x0) / dx : 1;
		double ya = y0 + MIN(MAX(a, 0.0), 1.0) * dy, yb = y0 + MIN(MAX(b, 0.0), 1.0) * dy;
		int top = (int)floor(MAX(MIN(ya, yb) - reach, 0.0));
		int end = (int)ceil(MIN(MAX(ya, yb) + reach, (double)p->height));

		for (int y = top; y < end; y++)
			cover_pixel(p, x, y,
				    width / 2 + 0.5 -
					    line_distance(x + 0.5, y + 0.5, x0, y0, dx, dy));
	}
}

void picture_disc(struct picture *p, double x, double y, double radius)
{
	picture_stroke(p, x, y, x, y, 2 * radius);
}

void picture_column(struct picture *p, int x, double top, double bottom)
{
	top = MAX(top, 0.0);
	bottom = MIN(bottom, (double)p->height);
	if (x < 0 || x >= p->width || !(top < bottom))
		return;
	for (int y = (int)floor(top); y < (int)ceil(bottom); y++)
		cover_pixel(p, x, y, MIN(bottom, y + 1.0) - MAX(top, (double)y));
}

void picture_paint(struct picture *p, int rgb, double alpha)
{
	size_t n = (size_t)p->width * (size_t)p->height;

	for (size_t i = 0; i < n; i++) {
		uint8_t *to = p->rgba + 4 * i;
		double over, below;

		if (!p->mask[i])
			continue;
		over = alpha * p->mask[i] / 255;
		below = to[3] / 255.0 * (1 - over);
		p->mask[i] = 0;
		for (int c = 0; c < 3; c++) {
			int value = rgb >> (16 - 8 * c) & 255;

			to[c] = (uint8_t)((value * over + to[c] * below) / (over + below) + 0.5);
		}
		to[3] = (uint8_t)(255 * (over + below) + 0.5);
	}
}
