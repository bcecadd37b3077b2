/* run_history_internal.h - shared by run_history.c (files) and run_history_records.c (records). */
#ifndef WERKBANK_TUI_RUN_RUN_HISTORY_INTERNAL_H
#define WERKBANK_TUI_RUN_RUN_HISTORY_INTERNAL_H

#include "tui/run/record_fields.h"
#include "tui/run/run_history.h"

/* Append an empty line to the log, for the caller to fill. Never NULL after history_open(). */
struct history_line *history_add_line(struct run_history *h, enum history_kind kind, double t,
				      int64_t step);

/* Add one record of samples.jsonl. */
int history_add_sample(struct run_history *h, const struct json *record, struct err *e);

#endif
