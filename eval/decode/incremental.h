/*
 * incremental.h - the model's decoder, one token a row and step.
 *
 *	incremental_begin(s, &batch, rows, steps, e);	encodes the sources
 *	incremental_step(s, &rows, k, &found, e);		again and again
 *
 * A row is a hypothesis. Keys and values of every step go to new rows of one
 * cache; a hypothesis is a list of the cache rows of its ancestors, so that
 * reordering hypotheses copies these lists and never the cache.
 */
#ifndef WERKBANK_EVAL_DECODE_INCREMENTAL_H
#define WERKBANK_EVAL_DECODE_INCREMENTAL_H

#include <stdbool.h>
#include <stdint.h>

#include "data/shard/token_batch.h"
#include "eval/decode/shortlist_candidates.h"
#include "share/base/err.h"
#include "train/model/model.h"

#define INCREMENTAL_MAX_K (2 * 64 + 3)

struct incremental_decoder;

struct incremental_rows {
	int32_t n;
	int32_t *sentence; /* (n) number of the row's sentence in the batch */
	int32_t *parent;   /* (n) the row of the step before that it continues */
	int32_t *token;	   /* (n) the token that the decoder reads */
};

struct incremental_output {
	/* all given by the caller; when all is wanted, values and ids are left alone */
	float *values;	  /* (n, k) log-probabilities, falling */
	int32_t *ids;	  /* (n, k) */
	float *all;	  /* (n, vocabulary) log-probabilities; NULL: not wanted */
	int32_t *aligned; /* (n) source token with the greatest attention; NULL: not wanted */
};

/* Borrows the model. NULL: failure. */
struct incremental_decoder *incremental_new(struct model *m, struct err *e);

struct incremental_options {
	int32_t max_rows, max_steps; /* room for so many */
	bool all;		     /* steps may be asked for those of all tokens */
	/*
	 * Tokens of each sentence, of which alone there are probabilities; the others have none
	 * (-infinity). Borrowed; NULL: all. Takes packed weights in the host's memory.
	 */
	const struct shortlist_candidates *candidates;
};

/* Encode the sources of b (borrowed until the last step). */
int incremental_begin(struct incremental_decoder *s, const struct batch *b,
		      const struct incremental_options *how, struct err *e);

/*
 * Let every row read its token; give the k most probable next ones. k at most
 * INCREMENTAL_MAX_K and the real vocabulary. Where a sentence has fewer tokens, <pad> with a
 * probability of 0 fills up. Rows of one sentence follow each other.
 */
int incremental_step(struct incremental_decoder *s, const struct incremental_rows *rows, int32_t k,
		     struct incremental_output *found, struct err *e);

void incremental_free(struct incremental_decoder *s);

#endif
