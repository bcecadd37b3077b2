/*
 * bpe_words.h - words in memory, and words with tallies: shared by bpe_merger.c and bpe_tally.c.
 *
 * subword-nmt keeps a tally for each pair and word: how often the pair was counted there. It
 * merges a pair in a word when that tally is positive. In nearly all words the tally equals the
 * number of occurrences, so the engine does not store it. The tally differs from the occurrences
 *	- in words with white space such as U+00A0, which subword-nmt rewrites as text,
 *	- where the merged string was a symbol of the word before: subword-nmt counts its pairs
 *	  again,
 *	- in a run such as "a a a": subword-nmt subtracts the pair of equal symbols after it set its
 *	  tally to zero.
 * From then on the engine stores the tallies of that word (WORD_HAS_TALLIES) in a hash table.
 */
#ifndef WERKBANK_DATA_SUBWORD_BPE_WORDS_H
#define WERKBANK_DATA_SUBWORD_BPE_WORDS_H

#include "data/subword/bpe_merger.h"

/* A place is the index in cells where a word begins: a head, a count (two cells), the symbols. */
#define WORD_HEAD	 3
#define WORD_SYMBOLS	 0x0FFFFFFFu /* bits of the head: number of symbols */
#define WORD_HAS_TALLIES 0x10000000u
#define WORD_SPACE	 0x20000000u

struct bpe_merge {
	int32_t left, right, merged; /* symbols */
	uint32_t pair;
	bool is_known; /* merged was a symbol before this merge */
};

struct bpe_tally { /* how often subword-nmt counts a pair in one word */
	uint32_t place, pair;
	int32_t tally;
};

/* The neighbours of all occurrences of the merged pair, on one side, summed by symbol. */
struct bpe_neighbours {
	struct bpe_neighbour {
		int64_t count;
		uint32_t n;
		uint32_t *places;
	} * by_symbol; /* owned: (cap) by symbol; all zero between merges */
	size_t cap;
	int32_t *seen; /* owned: symbols whose entry in by_symbol[] is not zero */
	size_t n_seen, cap_seen;
	struct bpe_event {
		int32_t symbol;
		uint32_t place;
	} * events; /* owned: each occurrence */
	size_t n_events, cap_events;
};

struct bpe_merger_work {
	uint32_t *cells; /* owned: all words */
	size_t n_cells, cap_cells;
	int64_t occurrences; /* of all pairs in all words: no sum of counts is larger */
	uint32_t longest;    /* symbols of the longest word at the start */
	int64_t step;	     /* merges so far */
	struct bpe_neighbours before, after; /* of the merged pair */
	uint32_t *deferred;		     /* owned: words to rewrite after the simple ones */
	size_t n_deferred, cap_deferred;
	int32_t *old;		   /* owned: (longest) */
	struct bpe_tally *tallies; /* owned: (n_tallies) */
	size_t n_tallies, cap_tallies;
	struct hash_index tally_index; /* finds the tally of a pair in a word */
	struct buf scratch;
};

static inline int32_t *word_symbols(const struct bpe_merger_work *k, uint32_t place)
{
	return (int32_t *)(k->cells + place + WORD_HEAD);
}

static inline uint32_t word_n(const struct bpe_merger_work *k, uint32_t place)
{
	return k->cells[place] & WORD_SYMBOLS;
}

static inline void word_set_n(struct bpe_merger_work *k, uint32_t place, uint32_t n)
{
	k->cells[place] = (k->cells[place] & ~WORD_SYMBOLS) | n;
}

static inline int64_t word_count(const struct bpe_merger_work *k, uint32_t place)
{
	return (int64_t)(k->cells[place + 1] | (uint64_t)k->cells[place + 2] << 32);
}

/* The symbol whose string is the strings of two symbols, joined; new or known. */
int bpe_join_symbols(struct bpe_merger *m, int32_t left, int32_t right, int32_t *joined,
		     struct err *e);

/* Copy n symbols from old to s and merge the pair from left to right. Returns the new number. */
uint32_t bpe_replace_pair(const struct bpe_merge *g, const int32_t *old, uint32_t n, int32_t *s);

/* ---- bpe_tally.c, for subword-nmt only ---- */

/*
 * Store the tallies of a word from now on: its pairs as they occur. The pair of g, which is being
 * merged, gets none. NULL: all pairs get one.
 */
int bpe_start_tallies(struct bpe_merger *m, uint32_t place, const struct bpe_merge *g,
		      struct err *e);

/* Returns the tally of a pair in a word with tallies, and sets it to zero. */
int32_t bpe_reset_tally(struct bpe_merger_work *k, uint32_t pair, uint32_t place);

/* Merge a pair in a word with tallies, where its tally was positive, and count the new pairs. */
int bpe_merge_tallied(struct bpe_merger *m, const struct bpe_merge *g, uint32_t place,
		      struct err *e);

#endif
