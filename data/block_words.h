/*
 * block_words.h - the lines of a block as words: all the work on a text that needs no other block.
 *
 * A line is checked (UTF-8; repaired where the recipe says so), normalised and tokenised like
 * any text of a pipeline, squeezed as clean.h does, and split at its blanks. Its words
 * are numbered within the block in the order of their first appearance, so that whoever
 * has the table of all words looks each distinct word of a block up once.
 */
#ifndef WERKBANK_DATA_BLOCK_WORDS_H
#define WERKBANK_DATA_BLOCK_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "data/blocks.h"
#include "data/intern.h"
#include "data/scripts.h"
#include "data/side.h"
#include "share/base/buf.h"
#include "share/base/conf.h"
#include "share/base/err.h"

struct block_words {
	struct side_line *lines;	/* owned: words NULL; those of all lines are in numbers */
	size_t   n, cap;
	int32_t *numbers;		/* owned: of words in the block, line behind line */
	size_t   n_numbers, cap_numbers;
	struct intern distinct;		/* owned: the words that they mean */
};

/* What a worker needs: tools of both languages. */
struct block_reader;

/* Borrows s, which may serve several. NULL: failure. */
struct block_reader *block_reader_new(const struct conf *c, const struct scripts *s, struct err *e);

/* The lines of a block of training text, into out, whose memory is kept from call to call. */
int block_reader_words(struct block_reader *r, const struct block *b, const struct text *t,
		       struct block_words *out, struct err *e);

/* Only checked or repaired: each line with an LF, into out (cleared first). */
int block_reader_lines(struct block_reader *r, const struct block *b, const struct text *t,
		       struct buf *out, struct err *e);

void block_reader_free(struct block_reader *r);
void block_words_free(struct block_words *w);

#endif
