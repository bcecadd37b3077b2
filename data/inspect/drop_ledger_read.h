/*
 * drop_ledger_read.h - reader of ledger.tsv (the dropped pairs): rows by index, rule, or text
 *
 *	struct drop_rows *l = drop_rows_open(path, e);
 *	drop_rows_filter(l, CLEAN_RATIO, &filter);	CLEAN_KEEP and NULL: all rows
 *	while (drop_rows_scan(l, bytes, e) > 0)		in steps: the file may be huge
 *		...
 *	drop_rows_get(l, i, &row), i < drop_rows_n(l)
 *	drop_rows_free(l);
 *
 * The file is mapped; the index takes 9 bytes a row. The next preparation replaces the file, which
 * this reader does not notice: open it again then.
 */
#ifndef WERKBANK_DATA_INSPECT_DROP_LEDGER_READ_H
#define WERKBANK_DATA_INSPECT_DROP_LEDGER_READ_H

#include <stddef.h>
#include <stdint.h>

#include "data/text/clean.h"
#include "data/text/text_filter.h"

struct drop_rows;

/* A field of a row: not NUL-terminated, untrusted bytes, borrowed from the mapped file. */
struct drop_row_field {
	const char *text;
	size_t n;
};

struct drop_row {
	struct drop_row_field file, line, source, target;
	enum clean_rule rule; /* CLEAN_KEEP: a rule unknown to this version */
};

struct drop_rows *drop_rows_open(const char *path, struct err *e); /* NULL: failure */
void drop_rows_free(struct drop_rows *l);

/*
 * Select rows by rule (CLEAN_KEEP: any) and by their text (NULL: any; borrowed until the next call).
 * Restarts the filter; the index of rows is kept.
 */
void drop_rows_filter(struct drop_rows *l, enum clean_rule rule, const struct text_filter *filter);

/* Scan about `bytes` more: 1: there is more to scan; 0: the scan is complete; < 0: failure. */
int drop_rows_scan(struct drop_rows *l, size_t bytes, struct err *e);

size_t drop_rows_n(const struct drop_rows *l); /* selected rows found so far */
/* Rows of a rule found so far, whatever the filter; CLEAN_KEEP: of all rules. */
int64_t drop_rows_of_rule(const struct drop_rows *l, enum clean_rule rule);
double drop_rows_scanned(const struct drop_rows *l); /* scanned share of the file, 0..1 */
/* The i-th selected row, i < drop_rows_n(). */
void drop_rows_get(const struct drop_rows *l, size_t i, struct drop_row *row);

#endif
