/* frame.h - the rows around the views: the tab bar at the top, the key hints at the bottom. */
#ifndef WERKBANK_TUI_APP_FRAME_H
#define WERKBANK_TUI_APP_FRAME_H

#include "tui/context/view.h"

extern const struct view *const view_tabs[TAB_COUNT];

/* The parts of a screen of rows x cols; on a very small one the view gets everything. */
struct frame {
	struct rect tabs, body, foot;
};

/* Compute the parts of a screen. */
void frame_layout(int rows, int cols, struct frame *out);

/* Draw the tabs, and the chosen run with its state. */
void frame_draw_tabs(struct grid *g, struct rect r, const struct app_context *w, int front);

/* The tab at a column of the bar; -1: none. */
int frame_tab_at(struct rect r, int front, int col);

/*
 * Write the name of an action's first key, or of its first key that is not text; "": it has no
 * such key.
 */
void frame_key_text(const struct keymap *map, enum action action, bool no_text, char *out,
		    size_t size);

/*
 * Draw the first actions of the pane with the keys into the border of the focused box, where a side
 * of the border has room; returns how many. pane NULL: none.
 */
size_t frame_draw_border_hints(struct grid *g, const struct app_context *w,
			       const struct view_pane *pane, bool typing);

/*
 * Draw key hints of the view, but for the first n_shown of its pane, and the number of running jobs. While the view reads text, say so and
 * show only keys that are not text.
 */
void frame_draw_foot(struct grid *g, struct rect r, const struct app_context *w,
		     const struct view *v, const struct view_pane *pane, size_t n_shown,
		     bool typing);

#endif
