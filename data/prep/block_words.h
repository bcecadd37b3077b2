/*
 * block_words.h - the lines of a block as words: all the work on a text that needs no other block.
 *
 *	block_reader_words(reader, &block, text, &words, e);	on any thread, one reader each
 *	block_words_number(&words, &table, e);			in the order of the blocks
 *
 * A line is checked (UTF-8; repaired where the recipe says so), normalised and tokenised like
 * any text of a pipeline, squeezed as clean.h does, and split at its blanks. A reader
 * remembers the numbers of frequent words (word_cache.h); the others are left to whoever
 * has the table of all words, each only once or a few times for a block. So words are numbered
 * in the order of their first appearance in the blocks, however many readers there are.
 */
#ifndef WERKBANK_DATA_PREP_BLOCK_WORDS_H
#define WERKBANK_DATA_PREP_BLOCK_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/prep/blocks.h"
#include "data/words/intern.h"
#include "data/text/scripts.h"
#include "data/prep/token_column.h"
#include "share/base/buf.h"
#include "share/conf/conf.h"
#include "share/base/err.h"

struct block_word {
	size_t start; /* in block_words.bytes */
	uint32_t len;
	int32_t number; /* in the table of all words: see block_words_number() */
};

struct block_words {
	struct token_column_line *lines; /* owned: words NULL; those of all lines are in numbers */
	size_t n, cap;
	int32_t *numbers; /* owned: line behind line. < 0: ~ of a place in unknown */
	size_t n_numbers, cap_numbers;
	/* private */
	struct block_word *unknown; /* owned: by first appearance */
	size_t n_unknown, cap_unknown;
	struct buf bytes;    /* of them */
	struct intern longs; /* those that are too long for the cache, … */
	int32_t *of_long;    /* owned: … and their places in unknown */
	size_t cap_longs;
	bool is_numbered;
};

/* What a worker needs: tools of both languages. */
struct block_reader;

/* Borrows s, which may serve several. NULL: failure. */
struct block_reader *block_reader_new(const struct conf *c, const struct scripts *s, struct err *e);

/*
 * The lines of a block of training text, into out, whose memory is kept from call to call. What
 * out has become in the meantime, the numbers of its unknown words, is learnt before.
 */
int block_reader_words(struct block_reader *r, const struct block *b, const struct source_text *t,
		       struct block_words *out, struct err *e);

/* Only checked or repaired: each line with an LF, into out (cleared first). */
int block_reader_lines(struct block_reader *r, const struct block *b, const struct source_text *t,
		       struct buf *out, struct err *e);

void block_reader_free(struct block_reader *r);

/* Put unknown words into the table: then all numbers are numbers of it. */
int block_words_number(struct block_words *w, struct intern *table, struct err *e);

void block_words_free(struct block_words *w);

#endif
