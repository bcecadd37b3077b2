/*
 * ngrams.h - n-grams that a hypothesis shares with references.
 *
 *	ngrams_hypothesis(g, symbols, n, e);		count those of a hypothesis
 *	ngrams_reference(g, symbols, n);		compare with a reference; again for others
 *	… g->matches[order - 1] …
 *
 * Symbols are words as numbers (struct words) or code points. Only n-grams of
 * the hypothesis are stored: others cannot match. Counting is exact; no two
 * n-grams are taken for one another.
 */
#ifndef WERKBANK_EVAL_METRICS_NGRAMS_H
#define WERKBANK_EVAL_METRICS_NGRAMS_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/hash_index.h"

#define NGRAMS_MAX_ORDER 24

struct ngrams {
	/* N-grams of 1 .. order symbols; set by the caller, at most NGRAMS_MAX_ORDER. */
	int order;
	/*
	 * Clipped: each n-gram of the hypothesis matches at most as often as it occurs in
	 * one reference, the one that has it most often.
	 */
	int64_t matches[NGRAMS_MAX_ORDER];
	/* private */
	struct ngrams_slot *slots; /* owned */
	size_t n_slots;		   /* a power of two */
	size_t n_used;		   /* slots that this segment uses; a power of two */
	uint32_t epoch, reference;
};

/* Start a new segment with this hypothesis: matches are 0. */
int ngrams_hypothesis(struct ngrams *g, const uint32_t *symbols, size_t n, struct err *e);

/* Add what the reference matches beyond the references before it. */
void ngrams_reference(struct ngrams *g, const uint32_t *symbols, size_t n);

/* Forget the references of this segment: matches are 0 again. */
void ngrams_forget(struct ngrams *g);

void ngrams_free(struct ngrams *g);

/* N-grams of one order in n symbols. */
static inline int64_t ngrams_total(size_t n, int order)
{
	return n < (size_t)order ? 0 : (int64_t)(n - (size_t)order + 1);
}

/* ---- words as numbers ---- */

struct word_numbers {
	struct buf text;		    /* all words, one behind the other */
	struct hash_index index;	    /* finds a word's number */
	struct word_numbers_entry *entries; /* (cap) owned */
	size_t cap;
	uint32_t n; /* words so far */
};

/* The number of a word, the same for the same bytes. */
int word_numbers_get(struct word_numbers *w, const char *word, size_t n, uint32_t *number,
		     struct err *e);

/*
 * Append the numbers of the words of a text (separated by white space) to *symbols,
 * grown with mem_grow().
 */
int word_numbers_split(struct word_numbers *w, const char *text, size_t n, uint32_t **symbols,
		       size_t *n_symbols, size_t *cap, struct err *e);

void word_numbers_free(struct word_numbers *w);

#endif
