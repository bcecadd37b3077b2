/*
 * frame.h - what stands around the views: the tab bar above, the foot below.
 */
#ifndef WERKBANK_TUI_APP_FRAME_H
#define WERKBANK_TUI_APP_FRAME_H

#include "tui/app/view.h"

/* Where things are on a screen of rows x cols; on a tiny one the view has everything. */
struct frame {
	struct rect tabs, body, foot;
};

void frame_layout(int rows, int cols, struct frame *out);

/* The tabs, and the chosen run with its state. */
void frame_draw_tabs(struct grid *g, struct rect r, const struct app_context *w, int front);

/* Which tab stands at a column of the bar; -1: none. */
int frame_tab_at(const struct grid *g, struct rect r, const struct app_context *w, int front,
		 int col);

/*
 * The most useful keys of a view; jobs at work. While the view types, only keys that are no
 * part of a text.
 */
void frame_draw_foot(struct grid *g, struct rect r, const struct app_context *w,
		     const struct view *v, bool typing);

#endif
