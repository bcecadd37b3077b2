/*
 * export.h - what is on the screen, as CSV for other programs.
 *
 * Series come as TensorBoard gives them: "Wall time,Step,Value", one file a
 * series. Long series were joined in memory (series.h): each row is then the
 * mean of several samples, at the step of the last of them; "werkbank export
 * RUN --format csv" has every sample.
 */
#ifndef WERKBANK_TUI_VIEWS_CSV_EXPORT_H
#define WERKBANK_TUI_VIEWS_CSV_EXPORT_H

#include <stddef.h>

#include "share/base/buf.h"
#include "tui/run/run_history.h"
#include "tui/app/app_context.h"

/* Append the rows of a series, its header first. Gaps are "nan". */
void csv_put_series(const struct run_history *h, const struct series *s, struct buf *out);

/* Append text as a field of CSV, quoted where it must be, and the comma or line end behind it. */
void csv_put_field(struct buf *out, const char *text, char end);
/* A number, shortest text that reads back the same; empty when it is not known. */
void csv_put_number(struct buf *out, double value, char end);

struct csv_series {
	const struct series *series;
	const char *tag;
};

/* Write each to a file RUN-TAG.csv (context_write_file()), and say what was written. */
void csv_export_series(struct app_context *w, const struct csv_series *items, size_t n);

/* The hosts, the graphics processors and the log, a file each. */
void csv_export_hosts(struct app_context *w);

#endif
