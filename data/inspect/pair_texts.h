/*
 * pair_texts.h - the words of a few training pairs of a prepared corpus, by their places
 *
 *	struct pair_texts *t = pair_texts_open(folder, e);
 *	pair_texts_want(t, places, n, e)		forgets the pairs wanted before
 *	while (pair_texts_read(t, steps, e) > 0)	in steps: the corpus may be huge
 *		...
 *	text = pair_texts_get(t, place, side)
 *	pair_texts_free(t)
 */
#ifndef WERKBANK_DATA_INSPECT_PAIR_TEXTS_H
#define WERKBANK_DATA_INSPECT_PAIR_TEXTS_H

#include "data/inspect/pair_facts.h"

#define PAIR_TEXTS_MAX	 64		     /* pairs wanted at a time */
#define PAIR_WORDS_LIMIT ((int64_t)32 << 20) /* bytes of the word table; no texts beyond */

struct pair_texts;

struct pair_texts *pair_texts_open(const char *folder, struct err *e); /* NULL: failure */
void pair_texts_free(struct pair_texts *t);
int pair_texts_want(struct pair_texts *t, const struct pair_place *places, size_t n, struct err *e);
/* Read up to n words of the table or n pairs: 1: there is more to read; 0: all are there; < 0. */
int pair_texts_read(struct pair_texts *t, int64_t n, struct err *e);
/* Words joined by blanks, cut as in the ledger; untrusted; NULL: not read. Borrowed. */
const char *pair_texts_get(const struct pair_texts *t, struct pair_place place, int side);

#endif
