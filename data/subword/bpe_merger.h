/*
 * bpe_merger.h - the engine under both dialects of learning BPE.
 *
 * It holds words as rows of symbols with a count, knows how often each pair of
 * neighbours occurs in them and where, finds the best pair and merges it
 * everywhere. What differs between subword-nmt (bpe_learn.c) and SentencePiece
 * (sp_learn.c) is a const struct bpe_dialect and who writes down the merges:
 *
 *	struct bpe_merger m = { .dialect = &dialect, .context = mine };
 *	for each distinct word
 *		bpe_merger_symbol(&m, text, n, &symbol, e)	for each of its characters
 *		bpe_merger_add_word(&m, symbols, n, count, 0, e)
 *	bpe_merger_start(&m, e)				counts all pairs
 *	while (… && (got = bpe_merger_best(&m, &pair, e)) > 0) {
 *		q = &m.pairs.all[pair];			q->left, q->right, q->count: write it down
 *		bpe_merger_merge(&m, pair, &merged, e)	or bpe_merger_drop(&m, pair): never again
 *	}
 *	bpe_merger_free(&m)
 *
 * Symbols are their strings: bpe_merger_merge() gives the joined string's
 * number, an old one where that string has been there before. The dialect may
 * keep facts of symbols (their characters, their script) in arrays of its own
 * by number: numbers go up from 0 and are never given back.
 *
 * In a row of equal pairs (a a a) each place counts (2 of "a a"), and merging
 * goes from left to right (aa a). Without is_as_subword_nmt counts are always
 * those of the words as they stand.
 *
 * Memory: for each distinct word 12 bytes and 4 for each character, up to 12 for
 * each character of places, and 65 to 80 for each distinct pair.
 */
#ifndef WERKBANK_DATA_SUBWORD_BPE_MERGER_H
#define WERKBANK_DATA_SUBWORD_BPE_MERGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/subword/bpe_pairs.h"
#include "data/words/intern.h"
#include "share/base/buf.h"
#include "share/base/err.h"

struct bpe_merger;

struct bpe_dialect {
	/* Of two pairs that occur equally often, is a the better one? A strict order. */
	bool (*is_before)(const struct bpe_merger *m, const struct bpe_pair *a,
			  const struct bpe_pair *b);
	/*
	 * May left and right ever be merged? Asked once for each pair, when it first occurs;
	 * the answer must not change. NULL: all may.
	 */
	bool (*may_merge)(const struct bpe_merger *m, int32_t left, int32_t right);
	/* Counts drift and are pruned as bpe_pairs.h tells; else they are exact. */
	bool is_as_subword_nmt;
};

struct bpe_merger {
	const struct bpe_dialect *dialect; /* set by the caller */
	void *context;			   /* the dialect's own */
	struct intern symbols;
	struct bpe_pairs pairs;	      /* left, right and count of pairs.all[i] are for reading */
	struct bpe_merger_work *work; /* private; owned */
};

/* The number of a symbol, new or known. */
int bpe_merger_symbol(struct bpe_merger *m, const char *text, size_t n, int32_t *symbol,
		      struct err *e);

enum bpe_word_flags {
	/* as subword-nmt only: holds a character that Python calls white space */
	BPE_WORD_HAS_SPACE = 1,
};

/* A word of n symbols that occurs count times (> 0). The same word may be added twice. */
int bpe_merger_add_word(struct bpe_merger *m, const int32_t *symbols, size_t n, int64_t count,
			unsigned flags, struct err *e);

/* All words are there: count their pairs. m->pairs.n == 0 then: no word has two symbols. */
int bpe_merger_start(struct bpe_merger *m, struct err *e);

/*
 * 1: *pair is the most frequent pair, of several the one before the others;
 * 0: none is left (exact counts: none that occurs at all); < 0: failure.
 */
int bpe_merger_best(struct bpe_merger *m, uint32_t *pair, struct err *e);

/* Join the two symbols of a pair wherever they are neighbours; their joined string through *merged. */
int bpe_merger_merge(struct bpe_merger *m, uint32_t pair, int32_t *merged, struct err *e);

/* Exact counts only: this pair is not to be found again, its neighbours stay as they are. */
void bpe_merger_drop(struct bpe_merger *m, uint32_t pair);

void bpe_merger_free(struct bpe_merger *m);

#endif
