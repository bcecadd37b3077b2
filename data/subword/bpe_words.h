/*
 * bpe_words.h - inside of the merging engine (bpe_merger.h): words in memory, and the odd ones.
 *
 * As subword-nmt (bpe_learn.c), the engine knows for each pair how often it was
 * counted in each word; a pair is merged where that tally is positive. In
 * nearly all words the tally is simply how often the pair stands there, so it
 * is not kept. It drifts away from that
 *	- in words with white space such as U+00A0, which are rewritten as text,
 *	- where the merged string has been a symbol of the word before: its pairs
 *	  are counted once more,
 *	- in a row such as "a a a": the pair of equal symbols is taken back after
 *	  it was set to zero.
 * Such a word becomes odd: its tallies are kept in a table from then on.
 */
#ifndef WERKBANK_DATA_SUBWORD_BPE_WORDS_H
#define WERKBANK_DATA_SUBWORD_BPE_WORDS_H

#include "data/subword/bpe_merger.h"

/* A place is where a word begins in cells: its head, its count (two cells), its symbols. */
#define WORD_HEAD	 3
#define WORD_SYMBOLS	 0x0FFFFFFFu /* bits of the head: how many symbols the word has */
#define WORD_HAS_TALLIES 0x10000000u
#define WORD_SPACE	 0x20000000u

struct bpe_merge {
	int32_t left, right, merged; /* symbols */
	uint32_t pair;
	bool is_known; /* merged has been a symbol before */
};

struct bpe_tally { /* of an odd word */
	uint32_t place, pair;
	int32_t tally;
};

/* What the occurrences of the merged pair have on one side of them. */
struct bpe_neighbours {
	struct bpe_neighbour {
		int64_t count;
		uint32_t n;
		uint32_t *places;
	} * of; /* owned: by symbol; all zero between merges */
	size_t cap;
	int32_t *seen; /* owned: symbols with something in of */
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
	uint32_t longest;		     /* symbols of the longest word */
	int64_t step;			     /* merges so far */
	struct bpe_neighbours before, after; /* the merged pair */
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

/* The number of the string of two symbols. */
int bpe_join_symbols(struct bpe_merger *m, int32_t left, int32_t right, int32_t *joined,
		     struct err *e);

/* Rewrite these n symbols from old to s, left to right; how many symbols there are then. */
uint32_t bpe_replace_pair(const struct bpe_merge *g, const int32_t *old, uint32_t n, int32_t *s);

/* ---- bpe_tally.c, as subword-nmt only ---- */

/* From now on the word is odd. A pair that is being merged (or NULL) has no tally any more. */
int bpe_start_tallies(struct bpe_merger *m, uint32_t place, const struct bpe_merge *g,
		      struct err *e);

/* The tally of a pair in an odd word, which becomes zero. */
int32_t bpe_reset_tally(struct bpe_merger_work *k, uint32_t pair, uint32_t place);

/* Rewrite an odd word in which the pair had a positive tally, and count its pairs. */
int bpe_merge_tallied(struct bpe_merger *m, const struct bpe_merge *g, uint32_t place,
		      struct err *e);

#endif
