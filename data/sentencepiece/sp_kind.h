/*
 * sp_kind.h - how a SentencePiece model splits normalised text: by BPE merges or by unigram scores.
 *
 * sp_apply.c normalises text, caches words and writes pieces, for both kinds of model.
 */
#ifndef WERKBANK_DATA_SENTENCEPIECE_SP_KIND_H
#define WERKBANK_DATA_SENTENCEPIECE_SP_KIND_H

#include <stddef.h>
#include <stdint.h>

#include "data/sentencepiece/sp_model.h"
#include "share/base/err.h"

struct sp_part {
	size_t start, n; /* bytes of the normalised text */
	int32_t id;	 /* -1: no piece, the unknown token */
	double score;	 /* that the part adds to the score of the text; BPE: 0 */
};

/* The parts of one text, in order. Owned; freed with sp_split_free(). */
struct sp_split {
	struct sp_part *parts; /* (n) */
	size_t n, cap;
	/*
	 * Unigram scores are sums of floats, so their rounding depends on the text before. In:
	 * the score before the text. Out: the greatest absolute score before the text with
	 * which this split is surely the same; negative: none.
	 */
	float before, limit;
};

struct sp_kind {
	void *(*open)(const struct sp_model *m, struct err *e); /* borrows m. NULL: failure */
	/* Replace the parts of *to by those of a normalised text (n >= 1). */
	int (*split)(void *state, const char *text, size_t n, struct sp_split *to, struct err *e);
	void (*close)(void *state); /* NULL is fine */
};

extern const struct sp_kind sp_bpe_kind, sp_unigram_kind;

int sp_split_add(struct sp_split *s, const struct sp_part *part, struct err *e);
void sp_split_reverse(struct sp_split *s);
void sp_split_free(struct sp_split *s);

#endif
