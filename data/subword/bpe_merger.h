/*
 * bpe_merger.h - the engine that learns BPE merges, for both dialects.
 *
 * The engine holds each distinct word as a sequence of symbols with a count. For each pair of
 * neighbouring symbols it knows how often the pair occurs and in which words. It finds the most
 * frequent pair and merges it in all words. Each dialect, subword-nmt (bpe_learn.c) and
 * SentencePiece (sp_learn.c), supplies a const struct bpe_dialect and writes the merges down:
 *
 *	struct bpe_merger m = { .dialect = &dialect, .context = mine };
 *	for each distinct word
 *		bpe_merger_symbol(&m, text, n, &symbol, e)	for each of its characters
 *		bpe_merger_add_word(&m, symbols, n, count, 0, e)
 *	bpe_merger_start(&m, e)				counts all pairs
 *	while (… && (got = bpe_merger_best(&m, &pair, e)) > 0) {
 *		q = &m.pairs.all[pair];			write down q->left, q->right, q->count
 *		bpe_merger_merge(&m, pair, &merged, e)	or bpe_merger_drop(&m, pair): never again
 *	}
 *	bpe_merger_free(&m)
 *
 * A symbol is its string: when a merge builds a string that is a symbol already, bpe_merger_merge()
 * returns that symbol's number. Numbers count up from 0 and stay valid, so a dialect may keep facts
 * about symbols (their characters, their script) in arrays by number.
 *
 * In a run of equal symbols (a a a) overlapping pairs count (2 times "a a"), and merging goes
 * from left to right (aa a). Without is_as_subword_nmt all counts are exact: those of the words
 * as they are now.
 *
 * Memory: 12 bytes for each distinct word; for each of its characters 4 bytes and up to 12 bytes of
 * places; 65 to 80 bytes for each distinct pair. bpe_merger.c explains the algorithm.
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
	/* Is a better than b, where both occur equally often? A strict order. */
	bool (*is_before)(const struct bpe_merger *m, const struct bpe_pair *a,
			  const struct bpe_pair *b);
	/*
	 * May left and right ever be merged? The engine asks once for each pair, when it first
	 * occurs; the answer must not change. NULL: all pairs may be merged.
	 */
	bool (*may_merge)(const struct bpe_merger *m, int32_t left, int32_t right);
	/* Repeat the drift and the pruning of subword-nmt's counts (bpe_pairs.h); else: exact. */
	bool is_as_subword_nmt;
};

struct bpe_merger {
	const struct bpe_dialect *dialect; /* set by the caller */
	void *context;			   /* for the dialect; borrowed */
	struct intern symbols;
	struct bpe_pairs pairs;	      /* callers may read left, right, count of pairs.all[i] */
	struct bpe_merger_work *work; /* private; owned */
};

/* The number of the symbol with this string, new or known. */
int bpe_merger_symbol(struct bpe_merger *m, const char *text, size_t n, int32_t *symbol,
		      struct err *e);

enum bpe_word_flags {
	/* for subword-nmt: the word holds a character that Python's str.isspace() accepts */
	BPE_WORD_HAS_SPACE = 1,
};

/* A word of n symbols that occurs count times (> 0). The same word may be added twice. */
int bpe_merger_add_word(struct bpe_merger *m, const int32_t *symbols, size_t n, int64_t count,
			unsigned flags, struct err *e);

/* After the last word: count the pairs. m->pairs.n == 0 afterwards: no word has two symbols. */
int bpe_merger_start(struct bpe_merger *m, struct err *e);

/*
 * 1: *pair is the most frequent pair, among equals the best one by is_before(); 0: no pair is left
 * (with exact counts: no pair occurs); < 0: failure.
 */
int bpe_merger_best(struct bpe_merger *m, uint32_t *pair, struct err *e);

/* Merge the two symbols of a pair wherever they are neighbours. *merged: the joined symbol. */
int bpe_merger_merge(struct bpe_merger *m, uint32_t pair, int32_t *merged, struct err *e);

/*
 * Exact counts only: bpe_merger_best() never returns this pair again; the words stay as they are.
 */
void bpe_merger_drop(struct bpe_merger *m, uint32_t pair);

void bpe_merger_free(struct bpe_merger *m);

#endif
