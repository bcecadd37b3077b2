/*
 * layout_borders.h - borders between panes, which the mouse moves
 *
 * layout_rows() and layout_cols() note each border that they place, and place it where the user has put it. A moved border
 * is known by its view, by the rectangle that is divided and by its place in the division. So it stays where it is
 * until the program ends, but another size of the terminal has borders of its own.
 */
#ifndef WERKBANK_TUI_TERM_LAYOUT_BORDERS_H
#define WERKBANK_TUI_TERM_LAYOUT_BORDERS_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/term/keys.h"
#include "tui/term/layout.h"

#define LAYOUT_BORDERS 24 /* on a screen; further ones stay where they are */
#define LAYOUT_MOVED   64 /* moved borders of all views; then the oldest one is forgotten */

struct layout_border {
	int view;
	struct rect r;	 /* what is divided */
	bool is_column;	 /* into columns */
	size_t n, part;	 /* into n parts; the border is after this part */
	int size;	 /* of the part, in rows or columns */
	int first, last; /* the cells of both boxes' edges */
};

/* Zeroed: no border was moved. */
struct layout_borders {
	int view;
	struct layout_border drawn[LAYOUT_BORDERS]; /* (n_drawn) since layout_follow_borders() */
	size_t n_drawn;
	struct layout_border moved[LAYOUT_MOVED]; /* (n_moved) the oldest first */
	size_t n_moved;
	struct layout_border held; /* under the pressed button */
	int grip;		   /* from the pressed cell to the end of the held part */
	bool is_held;
};

/*
 * From now on layout_rows() and layout_cols() note borders in b (borrowed) and use what was moved in this view. NULL: they
 * do not.
 */
void layout_follow_borders(struct layout_borders *b, int view);

/* Forget what was noted since layout_follow_borders(): the panes are placed anew. */
void layout_forget_drawn(void);

/* For layout.c: move the borders of a division into parts of these sizes, and note them. */
void layout_place_borders(struct rect r, bool is_column, const struct layout_part *parts, size_t n,
			  int *sizes);

/*
 * Press, drag or release the left button. True: a border moved, or it could not move further, and the event is
 * of no use to the view. A press holds a border, but is left to the view, too.
 */
bool layout_mouse_border(struct layout_borders *b, const struct mouse *m);

#endif
