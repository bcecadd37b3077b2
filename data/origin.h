/*
 * origin.h - which line of which text a training pair comes from, and what became of a line.
 *
 *	line of a text  <-- stats.json: the texts in order, how many pairs each has;
 *	                    ledger.tsv: the dropped lines, in the same order
 *	kept pair       <-- shuffle.h, by the seed of the corpus
 *	position in train.shard
 *
 * Nothing is kept per pair: the way is computed. Memory: 8 bytes a dropped pair.
 */
#ifndef WERKBANK_DATA_ORIGIN_H
#define WERKBANK_DATA_ORIGIN_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"

struct origin_text {
	char *name; /* owned */
	int64_t pairs, kept;
	int64_t first;	  /* kept pairs of the texts before it */
	int64_t *dropped; /* owned: lines, rising; (pairs - kept) */
	size_t cap;
};

struct origins {
	struct origin_text *texts; /* owned */
	size_t n;
	int64_t kept; /* pairs in the shard */
	int64_t seed;
};

struct origin {
	size_t text;  /* number in struct origins.texts */
	int64_t line; /* from 1 */
};

/* From stats.json, manifest.json and ledger.tsv in the folder. Files that do not fit: ERR_DATA. */
int origins_load(struct origins *o, const char *folder, struct err *e);
void origins_free(struct origins *o);

/* Of the pair at a position of train.shard, 0 <= position < kept. */
struct origin origin_at_position(const struct origins *o, int64_t position);

/* The position of a line that is there (1 … pairs of its text), -1: it was dropped. */
int64_t origin_find_position(const struct origins *o, struct origin from);

/*
 * "FILE:LINE" as a user writes it: FILE may be any ending of the name of one text
 * only, and be missing when there is one text. ERR_USAGE says what there is.
 */
int origin_parse(const struct origins *o, const char *text, struct origin *from, struct err *e);

/* The row of the ledger for a dropped line: rule, source and target as they stand there. */
struct origin_row {
	struct buf rule, source, target;
};

int origin_read_row(const struct origins *o, const char *folder, struct origin from,
		    struct origin_row *row, struct err *e);
void origin_row_free(struct origin_row *row);

#endif
