/* log_lines.h - lines of a run's log as text: shared by the log view and the run view's pane. */
#ifndef WERKBANK_TUI_RUN_LOG_LINES_H
#define WERKBANK_TUI_RUN_LOG_LINES_H

#include <stdbool.h>

#include "tui/term/draw.h"
#include "tui/term/number_format.h"
#include "tui/run/run_history.h"

#define LOG_LEFT_COLS 31 /* time, step, kind */

/* "warning" and how it looks. */
const char *log_kind_name(enum history_kind kind);
enum style log_style(enum history_kind kind);

/* What a row shows. */
struct log_row {
	const struct history_line *line;
	double first_t;	  /* of the run; NaN: show the clock (UTC) instead */
	int left;	  /* columns of the text that are left out */
	const char *find; /* marked where it stands in the text; NULL or "": nothing */
	bool selected;
};
void log_draw_row(struct grid *g, struct rect r, const struct log_row *row);

/* "12:03:05" of a day (UTC) with the day before it; "-" when it is not known. */
const char *log_clock(char out[NUMBER_TEXT_BYTES], double t);

/*
 * Where find stands in text: letters of either case unless find has a capital. NULL: nowhere, or
 * find is empty.
 */
const char *log_find(const char *text, const char *find);

#endif
