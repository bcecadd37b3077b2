/*
 * word_counter.h - counts the words of much text, on several threads.
 *
 *	struct word_counter *c = word_counter_new(e);
 *	word_counter_add(c, 0, text, n, 1, e);		for each line
 *	word_counter_drain(c, visit, context, e);
 *	word_counter_free(c);
 */
#ifndef WERKBANK_DATA_WORDS_WORD_COUNTER_H
#define WERKBANK_DATA_WORDS_WORD_COUNTER_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

struct word_counter;

struct word_counter *word_counter_new(struct err *e); /* for one thread; NULL: out of memory */
/* Make room for several threads, each of which is a worker 0 … threads - 1. */
int word_counter_reserve(struct word_counter *c, int threads, struct err *e);
/* Add count (> 0) to each word of a text; words are separated by blanks (U+0020). */
int word_counter_add(struct word_counter *c, int worker, const char *text, size_t n, int64_t count,
		     struct err *e);

/* Visit each distinct word, in no order, with its count, and empty the counter. */
typedef int counted_word_visitor(void *context, const char *word, size_t n, int64_t count,
				 struct err *e);
int word_counter_drain(struct word_counter *c, counted_word_visitor *take, void *context,
		       struct err *e);
void word_counter_free(struct word_counter *c);

#endif
