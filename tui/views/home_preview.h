/* home_preview.h - the chosen run below the table of runs: curves, samples, last events. */
#ifndef WERKBANK_TUI_VIEWS_HOME_PREVIEW_H
#define WERKBANK_TUI_VIEWS_HOME_PREVIEW_H

#include "tui/context/app_context.h"
#include "tui/views/run_panes.h"

/* All zero: nothing is shown. */
struct home_preview {
	char run[101];		     /* the run shown; "": none */
	struct run_history *history; /* owned; NULL: the context has it, or it cannot be read */
	bool is_shared;		     /* the history is that of the context */
	char trouble[200];	     /* why the run cannot be read; "": it can */
	struct run_view_state panes;
};

/*
 * Follow a run ("": none), reading for some milliseconds. Returns reaction bits: REACT_AGAIN while
 * there is more to read.
 */
unsigned home_preview_update(struct home_preview *p, const struct app_context *w, const char *run);
void home_preview_draw(struct home_preview *p, struct grid *g, struct rect r,
		       const struct app_context *w);
void home_preview_close(struct home_preview *p);

#endif
