/* log_lines.h - a run's log as text lines, for the log view and the run view. */
#ifndef WERKBANK_TUI_RUN_LOG_LINES_H
#define WERKBANK_TUI_RUN_LOG_LINES_H

#include <stdbool.h>

#include "data/text/text_filter.h"
#include "share/base/number_format.h"
#include "tui/run/run_history.h"
#include "tui/term/draw.h"

#define LOG_LEFT_COLS 31 /* columns of time, step and kind */

/* Name ("warning") and style of a kind of line. */
const char *log_kind_name(enum history_kind kind);
enum style log_style(enum history_kind kind);

/* One row of the log. */
struct log_row {
	const struct history_line *line;
	double first_t; /* start of the run in unix seconds; NaN: show the UTC clock */
	int left;	/* columns of the text scrolled out at the left */
	const struct text_filter *find; /* matches to mark; NULL: none */
	bool selected;
};
void log_draw_row(struct grid *g, struct rect r, const struct log_row *row);

/* Date and time in UTC, "12-24 12:03:05"; "-" if unknown. */
const char *log_clock(char out[NUMBER_TEXT_BYTES], double t);
/* The same with the year, for other programs: "2026-11-23 14:52:56". */
const char *log_date(char out[NUMBER_TEXT_BYTES], double t);

#endif
