/*
 * run_layouts.h - which panes the run view shows: four layouts for each size of the screen, saved.
 *
 * "run.layout.SIZE" is the number of the chosen layout, "run.layout.SIZE.NUMBER" the names of its
 * panes, in the saved state.
 */
#ifndef WERKBANK_TUI_VIEWS_RUN_LAYOUTS_H
#define WERKBANK_TUI_VIEWS_RUN_LAYOUTS_H

#include "tui/context/app_context.h"
#include "tui/term/grid.h"
#include "tui/term/layout.h"

#define RUN_LAYOUTS 4

struct run_layouts {
	unsigned shown[LAYOUT_SIZES][RUN_LAYOUTS]; /* bits 1 << enum run_pane; never 0 */
	int chosen[LAYOUT_SIZES];		   /* index of a layout */
};

/* The saved layouts, or those that come with the program. */
void run_layouts_read(struct run_layouts *l, const struct app_context *w);
void run_layouts_save(const struct run_layouts *l, struct app_context *w);

unsigned run_layouts_shown(const struct run_layouts *l, enum layout_size size);
/* Choose a layout by its number 1 to 4, or show or hide a pane by its letter; false: neither. */
bool run_layouts_key(struct run_layouts *l, enum layout_size size, int key);
/* A box with the numbers and letters, at the lower right of body. */
void run_layouts_draw_menu(const struct run_layouts *l, enum layout_size size, struct grid *g,
			   struct rect body);

#endif
