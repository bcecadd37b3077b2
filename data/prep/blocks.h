/*
 * blocks.h - all texts of a corpus, one behind the other, in blocks of whole lines.
 *
 *	struct blocks *b = blocks_open(&texts, repair, e);
 *	struct block k = { 0 };
 *	while ((got = blocks_next(b, &k, e)) > 0)
 *		use k.bytes, k.n, k.text, k.first, k.is_last;
 *	block_free(&k);
 *	blocks_close(b);
 *
 * Each archive is passed once, its members come in its order; each plain file is passed
 * once for each time that it stands in the texts. Lines are as in lines.h; those
 * of an .sgm are its segments, in which invalid UTF-8 has already been replaced or refused.
 */
#ifndef WERKBANK_DATA_PREP_BLOCKS_H
#define WERKBANK_DATA_PREP_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/source/texts.h"
#include "share/base/err.h"

#define TEXT_BLOCK_BYTES                                                                           \
	((size_t)1 << 20) /* about: up to the line's end before this, or behind it */

struct block {
	size_t text;	  /* twice the number of its pair, + 1: the target */
	int64_t first;	  /* number of its first line, from 1 */
	int64_t lines;	  /* in it; a text without any is one empty block */
	bool is_last;	  /* of its text */
	int64_t position; /* of blocks_total(): bytes of files and archives read so far */
	char *bytes;	  /* owned: kept from call to call */
	size_t n, cap;
};

struct blocks;

/* The texts are borrowed. repair: invalid UTF-8 in an .sgm becomes U+FFFD. */
struct blocks *blocks_open(const struct texts *t, bool repair, struct err *e);

/* 1: a block; 0: the end; < 0: failure. Members of sets besides train, dev and test may be missing. */
int blocks_next(struct blocks *b, struct block *to, struct err *e);

/* Bytes of all files that will be read, archives as they are. */
int64_t blocks_total(const struct blocks *b);

/* Both sides of text number k / 2. */
const struct source_text *blocks_text(const struct texts *t, size_t k);

void blocks_close(struct blocks *b);
void block_free(struct block *k);

#endif
