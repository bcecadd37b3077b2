/*
 * origin.h - map between lines of the source texts and positions in train.shard
 *
 *	FILE:LINE
 *	   |  ledger.tsv (dropped lines) and stats.json (pairs of each text, in order)
 *	index of the kept pair, in the order of the sources
 *	   |  shuffle.h with the seed of the corpus: a bijection
 *	position in train.shard
 *
 * Both directions are computed; only the dropped lines are stored (8 bytes each).
 */
#ifndef WERKBANK_DATA_INSPECT_ORIGIN_H
#define WERKBANK_DATA_INSPECT_ORIGIN_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"

struct origin_text {
	char *name; /* owned */
	int64_t pairs, kept;
	int64_t first;	  /* index of its first kept pair: sum of kept of the texts before */
	int64_t *dropped; /* owned: (pairs - kept) dropped lines, ascending */
	size_t cap;
};

struct origins {
	struct origin_text *texts; /* owned */
	size_t n;
	int64_t kept; /* pairs in the shard */
	int64_t seed;
};

struct origin {
	size_t text;  /* index in struct origins.texts */
	int64_t line; /* from 1 */
};

/* Read stats.json, manifest.json and ledger.tsv of a corpus. Files that disagree: ERR_DATA. */
int origins_load(struct origins *o, const char *folder, struct err *e);
void origins_free(struct origins *o);

/* Origin of the pair at a position of train.shard, 0 <= position < o->kept. */
struct origin origin_at_position(const struct origins *o, int64_t position);

/* Position of a line (1 ... pairs of its text) in train.shard; -1: the line was dropped. */
int64_t origin_find_position(const struct origins *o, struct origin from);

/*
 * Parse "FILE:LINE". FILE may be any ending of the name of exactly one text, and may be omitted if
 * there is only one text. ERR_USAGE names a valid example.
 */
int origin_parse(const struct origins *o, const char *text, struct origin *from, struct err *e);

/* The row of ledger.tsv for a dropped line: name of the rule, source and target text. */
struct origin_row {
	struct buf rule, source, target;
};

int origin_read_row(const struct origins *o, const char *folder, struct origin from,
		    struct origin_row *row, struct err *e);
void origin_row_free(struct origin_row *row);

#endif
