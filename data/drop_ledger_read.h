/*
 * drop_ledger_read.h - ledger.tsv for looking at: rows by number, by rule, by a word in them.
 *
 *	struct drop_rows *l = drop_rows_open(path, e);
 *	drop_rows_filter(l, CLEAN_RATIO, "Europa");	CLEAN_KEEP and "": all of them
 *	while (drop_rows_scan(l, bytes, e) > 0)	a part at a time: the file may be huge
 *		…
 *	drop_rows_get(l, i, &row), i < drop_rows_n(l)
 *	drop_rows_free(l);
 *
 * The file is mapped, of each row 9 bytes are kept. It is replaced as a whole by the next
 * preparation, which this does not see: open it again then.
 */
#ifndef WERKBANK_DATA_DROP_LEDGER_READ_H
#define WERKBANK_DATA_DROP_LEDGER_READ_H

#include <stddef.h>
#include <stdint.h>

#include "data/text/clean.h"

struct drop_rows;

/* Fields of a row: not terminated, and as untrusted as any file. Borrowed from the ledger. */
struct drop_row_field {
	const char *text;
	size_t n;
};

struct drop_row {
	struct drop_row_field file, line, source, target;
	enum clean_rule rule; /* CLEAN_KEEP: one that this version does not know */
};

struct drop_rows *drop_rows_open(const char *path, struct err *e); /* NULL: failure */
void drop_rows_free(struct drop_rows *l);

/* What is wanted from now on. word: bytes that stand in the row as they are; at most 100. */
void drop_rows_filter(struct drop_rows *l, enum clean_rule rule, const char *word);

/* Look at about so many bytes more: 1 there is more to look at, 0 all is known, < 0 failure. */
int drop_rows_scan(struct drop_rows *l, size_t bytes, struct err *e);

size_t drop_rows_n(const struct drop_rows *l); /* wanted rows found so far */
int64_t drop_rows_of_rule(const struct drop_rows *l, enum clean_rule rule); /* CLEAN_KEEP: all */
double drop_rows_scanned(const struct drop_rows *l); /* share of the file, 0..1 */
void drop_rows_get(const struct drop_rows *l, size_t i, struct drop_row *row);

#endif
