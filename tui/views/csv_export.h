/*
 * csv_export.h - the data on the screen as CSV files.
 *
 * A series has TensorBoard's columns "Wall time,Step,Value", one file per series. Long series
 * are decimated in memory (series.h): a row is then the mean of several samples at the step of
 * the last one. "werkbank export RUN --format csv" has every sample.
 */
#ifndef WERKBANK_TUI_VIEWS_CSV_EXPORT_H
#define WERKBANK_TUI_VIEWS_CSV_EXPORT_H

#include <stddef.h>

#include "share/base/buf.h"
#include "tui/context/app_context.h"
#include "tui/run/run_history.h"

/* Append the header and the rows of a series. Gaps are "nan". */
void csv_put_series(const struct run_history *h, const struct series *s, struct buf *out);

/* Append text as a CSV field, quoted if necessary, and end (a comma or a line end). */
void csv_put_field(struct buf *out, const char *text, char end);
/* Append a number in its shortest exact form; empty if unknown. */
void csv_put_number(struct buf *out, double value, char end);

struct csv_series {
	const struct series *series;
	const char *tag;
};

/* Write each series to a file RUN-TAG.csv (context_write_file()) and report the names. */
void csv_export_series(struct app_context *w, const struct csv_series *items, size_t n);

/* Write hosts, GPUs and log, one file each. */
void csv_export_hosts(struct app_context *w);

#endif
