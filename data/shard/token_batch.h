/*
 * token_batch.h - a packed batch: the tokens of sentences without padding.
 *
 *	source      x1 … xn </s>          one row of n_source tokens; without_source_end: x1 … xn, and </s> if n is 0
 *	target_in   <s> y1 … ym           input of the decoder
 *	target_out  y1 … ym </s>          expected output; both n_target tokens
 *
 * Sentence s is [source_start[s], source_start[s+1]), targets likewise.
 */
#ifndef WERKBANK_DATA_SHARD_TOKEN_BATCH_H
#define WERKBANK_DATA_SHARD_TOKEN_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "data/words/vocab.h"
#include "share/base/err.h"

struct batch {
	int32_t n;					   /* sentences */
	int32_t n_source, n_target;			   /* tokens */
	int32_t max_source, max_target;			   /* longest sentence of each side */
	int32_t *source, *source_position;		   /* (n_source) */
	int32_t *target_in, *target_out, *target_position; /* (n_target) */
	int32_t *source_start, *target_start;		   /* (n + 1) */
	int64_t *pair;		   /* (n) numbers of the pairs in the shard */
	int32_t cap_n, cap_tokens; /* room: sentences, tokens a side */
	bool without_source_end;   /* set while the batch is empty; the model's source_end */
	void *memory;		   /* owned: one block for all of the above */
};

/* Allocate room for max_tokens tokens a side and max_sentences sentences; batch_free() it. */
int batch_alloc(struct batch *b, int32_t max_sentences, int32_t max_tokens, struct err *e);
/* Remove all sentences, keep the memory. */
void batch_clear(struct batch *b);

/*
 * Add a pair, given without special tokens. target NULL (translation): the pair has no target
 * tokens, not even <s>. false: no room, nothing is added.
 */
bool batch_add(struct batch *b, int64_t pair, const int32_t *source, int32_t n_source,
	       const int32_t *target, int32_t n_target);
/* The tokens that a source of n tokens has in the batch. */
int64_t batch_source_tokens(const struct batch *b, int32_t n);
void batch_free(struct batch *b);

#endif
