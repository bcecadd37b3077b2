/*
 * ngrams.h - counts the n-grams that a hypothesis shares with its references.
 *
 *	ngrams_hypothesis(g, symbols, n, e);		counts the n-grams of a hypothesis
 *	ngrams_reference(g, symbols, n);		once for each reference
 *	use g->matches[order - 1]
 *
 * Symbols are numbers of words (struct word_numbers) or code points. Only the hypothesis' n-grams
 * are stored, as others cannot match. Counting is exact: different n-grams never share a slot.
 */
#ifndef WERKBANK_EVAL_METRICS_NGRAMS_H
#define WERKBANK_EVAL_METRICS_NGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/hash_index.h"

#define NGRAMS_MAX_ORDER 24

struct ngrams {
	/* the longest n-grams, set by the caller: 0 ... NGRAMS_MAX_ORDER */
	int order;
	/* clipped: an n-gram matches at most as often as in the reference that has it most often */
	int64_t matches[NGRAMS_MAX_ORDER];
	/* private */
	struct ngrams_slot *slots; /* owned */
	size_t n_slots;		   /* a power of two */
	size_t n_used;		   /* slots that this segment uses; a power of two */
	uint32_t epoch, reference;
};

/* Starts a new segment with this hypothesis; sets matches to 0. ERR_DATA: too many symbols. */
int ngrams_hypothesis(struct ngrams *g, const uint32_t *symbols, size_t n, struct err *e);

/* Raises matches by the n-grams that this reference matches beyond the preceding references. */
void ngrams_reference(struct ngrams *g, const uint32_t *symbols, size_t n);

/* Forgets the references of this segment; sets matches to 0. */
void ngrams_forget(struct ngrams *g);

void ngrams_free(struct ngrams *g);

/* N-grams of one order in n symbols. */
static inline int64_t ngrams_total(size_t n, int order)
{
	return n < (size_t)order ? 0 : (int64_t)(n - (size_t)order + 1);
}

/* ---- words as numbers ---- */

struct word_numbers {
	struct buf text;		    /* all words, without separators */
	struct hash_index index;	    /* finds a word's number */
	struct word_numbers_entry *entries; /* (cap) owned */
	size_t cap;
	uint32_t n; /* number of different words */
};

/* The number of a word: equal bytes have equal numbers. New words get the next number. */
int word_numbers_get(struct word_numbers *w, const char *word, size_t n, uint32_t *number,
		     struct err *e);

/*
 * Appends the numbers of a text's words to *symbols, with mem_grow(). Words are split at white space; ascii:
 * at that of ASCII only, like Perl's split() on bytes.
 */
int word_numbers_split(struct word_numbers *w, const char *text, size_t n, bool ascii,
		       uint32_t **symbols, size_t *n_symbols, size_t *cap, struct err *e);

void word_numbers_free(struct word_numbers *w);

#endif
