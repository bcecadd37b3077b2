/*
 * picture.h - pictures that lie over cells of a grid, for terminals that can show them.
 *
 *	struct picture *p = picture_add(g->pictures, g, area);	NULL: none can be shown
 *	picture_stroke(p, x0, y0, x1, y1, 2);
 *	picture_paint(p, rgb, 1);
 *
 * The cells below a picture hold the same thing in characters. They are shown instead if the terminal
 * cannot show the picture, or if something else was drawn over a part of them later. Coordinates are
 * pixels, with x and y to the right and down from the upper left corner; pixel i reaches from i to i + 1.
 */
#ifndef WERKBANK_TUI_TERM_PICTURE_H
#define WERKBANK_TUI_TERM_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/term/layout.h"
#include "tui/term/theme.h"

#define PICTURE_MOST	   16		  /* pictures of a screen */
#define PICTURE_MAX_PIXELS (2000L * 1000) /* larger ones are not made */

struct picture {
	struct rect cells;
	int width, height; /* pixels */
	uint8_t *rgba;	   /* (height x width x 4) owned; alpha is not multiplied in */
	uint8_t *mask;	   /* (height x width) owned: what picture_paint() paints */
	uint64_t below;	   /* sum over the cells when it was added */
	uint64_t sum;	   /* sum over the pixels, set when it is shown */
	bool stands;	   /* it is on the screen, or is being sent */
};

struct picture_list {
	int cell_width, cell_height; /* pixels of a cell; 0: no picture can be shown */
	int rgb[STYLE_COUNT];	     /* colours of the theme, 0xRRGGBB */
	struct picture items[PICTURE_MOST];
	size_t n;
};

struct grid;

/*
 * A transparent picture over these cells of g, which are drawn already. NULL: list is NULL, the
 * terminal shows no pictures, or there is no room or memory. Borrowed until picture_list_clear().
 */
struct picture *picture_add(struct picture_list *list, const struct grid *g, struct rect cells);
/* Whether the cells are still those that picture_add() saw. */
bool picture_is_free(const struct picture *p, const struct grid *g);
void picture_list_clear(struct picture_list *list); /* NULL is fine */

/* Add to the mask: a line of this width with round ends, a disc, a part of pixel column x. */
void picture_stroke(struct picture *p, double x0, double y0, double x1, double y1, double width);
void picture_disc(struct picture *p, double x, double y, double radius);
void picture_column(struct picture *p, int x, double top, double bottom);
/* Paint the mask in this colour over what is there, and clear it. alpha: 0 to 1. */
void picture_paint(struct picture *p, int rgb, double alpha);

/* A sum (FNV-1a) over bytes, to tell pictures apart. */
uint64_t picture_sum(const void *data, size_t n);

#endif
