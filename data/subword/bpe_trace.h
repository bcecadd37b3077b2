/*
 * bpe_trace.h - the merges of one word, step by step, for display.
 *
 *	struct bpe_trace t = { 0 };
 *	bpe_trace_word(&codes, BPE_TRACE_SUBWORD_NMT, word, n, &t, e);
 *	t.steps[0] is the word in characters, t.steps[t.n - 1] its pieces
 *	bpe_trace_free(&t);
 *
 * Simple and slow: each step looks at all pairs. A test checks that the last step agrees with
 * bpe_apply.c and sp_apply.c.
 */
#ifndef WERKBANK_DATA_SUBWORD_BPE_TRACE_H
#define WERKBANK_DATA_SUBWORD_BPE_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "data/subword/bpe_codes.h"
#include "share/base/buf.h"
#include "share/base/err.h"

#define BPE_TRACE_MAX_BYTES 400 /* of a word; a longer one is ERR_DATA */

enum bpe_trace_kind {
	BPE_TRACE_SUBWORD_NMT,	/* the last character carries "</w>"; all pairs of a rank at once */
	BPE_TRACE_SENTENCEPIECE /* characters as they are; one pair at a time, leftmost first */
};

struct bpe_step {
	int32_t rank; /* of the merge of this step, from 0; -1: the characters at the start */
	const char *left, *right; /* the merged symbols; borrowed from the trace; NULL: start */
	const char *symbols; /* after the merge, separated by blanks; borrowed from the trace */
};

struct bpe_trace {
	struct bpe_step *steps; /* owned */
	size_t n, cap;
	struct buf *texts; /* owned: (n) left, right and symbols of each step, separated by NUL */
	size_t cap_texts;
};

/* Trace a word of n bytes; the trace forgets earlier steps. */
int bpe_trace_word(const struct bpe_codes *c, enum bpe_trace_kind kind, const char *word, size_t n,
		   struct bpe_trace *t, struct err *e);
/* A word with a protected symbol has one step: its pieces, n bytes, separated by blanks. */
int bpe_trace_pieces(const char *pieces, size_t n, struct bpe_trace *t, struct err *e);
void bpe_trace_clear(struct bpe_trace *t); /* forget the steps */
void bpe_trace_free(struct bpe_trace *t);

#endif
