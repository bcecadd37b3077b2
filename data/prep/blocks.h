/*
 * blocks.h - reader of all texts of a corpus as blocks of whole lines
 *
 *	struct blocks *b = blocks_open(&texts, conf, e);
 *	struct block k = { 0 };
 *	while ((got = blocks_next(b, &k, e)) > 0)
 *		use k.bytes, k.n, k.text, k.first, k.is_last;
 *	block_free(&k);
 *	blocks_close(b);
 *
 * Order: first the archives, each read once, its members in the order of the archive; then the
 * plain files, each read as often as the texts name it. A bilingual file is read once: a block of its
 * source is followed by a block of its target with the same lines. Other blocks of different texts are
 * never interleaved. Lines are those of lines.h; of an .sgm, its segments, whose invalid UTF-8 is already
 * repaired or refused. Line n of a bilingual file is its unit n in training text, where units that are no
 * pair are empty lines; held-out texts have the pairs only, also those that hold_out takes from training text.
 */
#ifndef WERKBANK_DATA_PREP_BLOCKS_H
#define WERKBANK_DATA_PREP_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/source/texts.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

#define TEXT_BLOCK_BYTES ((size_t)1 << 20) /* approximate size: a block ends with a line */

struct block {
	size_t text;	  /* 2 * index of the text pair; + 1 for its target */
	int64_t first;	  /* number of its first line in the text, from 1 */
	int64_t lines;	  /* number of lines; an empty text is one block without lines */
	bool is_last;	  /* last block of its text */
	int64_t position; /* bytes read so far, of blocks_total() */
	char *bytes;	  /* owned: reused from call to call */
	size_t n, cap;
};

struct blocks;

/* Borrows both; c says encoding, repair (as in lines.h), languages and pair_columns. NULL: failure. */
struct blocks *blocks_open(const struct texts *t, const struct conf *c, struct err *e);

/* For each bilingual file read so far: a line that counts its units without a pair, by reason. Borrowed. */
const char *blocks_notes(const struct blocks *b);

/* Characters that became U+FFFD because their bytes do not exist in the encoding; *text: the last such text. */
int64_t blocks_replaced(const struct blocks *b, const char **text);

/* 1: a block; 0: the end; < 0: failure. A missing member of an extra set is no failure. */
int blocks_next(struct blocks *b, struct block *to, struct err *e);

/* Bytes of all files to read; archives count with their compressed size. */
int64_t blocks_total(const struct blocks *b);

/* The text of block.text == k: source of pair k / 2 if k is even, else its target. */
const struct source_text *blocks_text(const struct texts *t, size_t k);

void blocks_close(struct blocks *b);
void block_free(struct block *k);

#endif
