/*
 * block_words.h - the lines of a block as word numbers: the parallel part of reading a corpus
 *
 *	block_reader_words(reader, &block, text, &words, e);	on any thread, one reader each
 *	block_words_number(&words, &table, e);			one thread, in block order
 *
 * Each line is checked (UTF-8; repaired if the recipe says so), normalised and tokenised by the
 * pipeline, squeezed as in clean.h, and split at its blanks. A reader caches the numbers of
 * frequent words (word_cache.h). Words that it does not know become "unknown" words of the block,
 * each listed once; block_words_number() looks them up in the global table. Therefore words are
 * numbered by first appearance in the corpus, for any number of readers.
 */
#ifndef WERKBANK_DATA_PREP_BLOCK_WORDS_H
#define WERKBANK_DATA_PREP_BLOCK_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/prep/blocks.h"
#include "data/prep/token_column.h"
#include "data/text/scripts.h"
#include "data/words/intern.h"
#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

struct block_word {
	size_t start; /* offset in block_words.bytes */
	uint32_t len;
	int32_t number; /* in the global table, set by block_words_number() */
};

struct block_words {
	struct token_column_line *lines; /* owned: field words is NULL; see numbers */
	size_t n, cap;
	/* owned: words of all lines, concatenated: number in the global table, or ~i: unknown[i] */
	int32_t *numbers;
	size_t n_numbers, cap_numbers;
	/* private */
	struct block_word *unknown; /* owned: by first appearance */
	size_t n_unknown, cap_unknown;
	struct buf bytes;    /* text of the unknown words */
	struct intern longs; /* unknown words that do not fit into the cache */
	int32_t *of_long;    /* owned: index in unknown of each word of longs */
	size_t cap_longs;
	bool is_numbered; /* block_words_number() was called */
};

/* Tools (pipeline, cache) of one worker thread. */
struct block_reader;

/* Borrows c and s, which several readers may share. NULL: failure. */
struct block_reader *block_reader_new(const struct conf *c, const struct scripts *s, struct err *e);

/*
 * Tokenise a block of training text into out, without the tag of the text. out is reused from call to call: if its former
 * contents have been numbered, the reader first adds those numbers to its cache.
 */
int block_reader_words(struct block_reader *r, const struct block *b, const struct source_text *t,
		       struct block_words *out, struct err *e);

/* Held-out text: check or repair the lines only. out (cleared first): each line with its tag and an LF. */
int block_reader_lines(struct block_reader *r, const struct block *b, const struct source_text *t,
		       struct buf *out, struct err *e);

void block_reader_free(struct block_reader *r);

/* Look up or add the unknown words in the global table; then all numbers are >= 0. */
int block_words_number(struct block_words *w, struct intern *table, struct err *e);

void block_words_free(struct block_words *w);

#endif
