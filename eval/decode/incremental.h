/*
 * incremental.h - incremental decoding: the model's decoder reads one token per row and step.
 *
 *	s = incremental_new(model, e);
 *	incremental_begin(s, &batch, &options, e);	encodes the sources of a batch
 *	incremental_step(s, &rows, k, &found, e);	once for each target position
 *	incremental_free(s);
 *
 * A row is a live hypothesis. Each row and step writes its keys and values to a new row of one
 * cache. A hypothesis is the list of the cache rows of its tokens. So reordering hypotheses copies
 * lists, never keys or values.
 */
#ifndef WERKBANK_EVAL_DECODE_INCREMENTAL_H
#define WERKBANK_EVAL_DECODE_INCREMENTAL_H

#include <stdbool.h>
#include <stdint.h>

#include "data/shard/token_batch.h"
#include "eval/decode/shortlist_candidates.h"
#include "share/base/err.h"
#include "train/model/model.h"

#define INCREMENTAL_MAX_K (2 * 64 + 3) /* at least beam_width() of DECODE_MAX_BEAM */

struct incremental_decoder;

struct incremental_rows {
	int32_t n;
	int32_t *sentence; /* (n) number of the row's sentence in the batch */
	int32_t *parent; /* (n) the row of the preceding step that it continues; ignored at first */
	int32_t *token;	 /* (n) the token that the decoder reads */
};

/* Arrays of the caller. With all, values and ids are not written. */
struct incremental_output {
	float *values;	  /* (n, k) log-probabilities, falling */
	int32_t *ids;	  /* (n, k) */
	float *all;	  /* (n, vocabulary) log-probabilities; NULL: not wanted */
	int32_t *aligned; /* (n) source token with the greatest attention; NULL: not wanted */
};

/* Borrows the model. Free with incremental_free(). NULL: out of memory. */
struct incremental_decoder *incremental_new(struct model *m, struct err *e);

struct incremental_options {
	int32_t max_rows, max_steps; /* limits of the batch */
	bool all;		     /* steps may ask for the log-probabilities of all tokens */
	/*
	 * A shortlist: probabilities are among each sentence's candidates, all other tokens have
	 * -infinity. Borrowed until the last step; NULL: all tokens. Needs packed weights, or a GPU.
	 */
	const struct shortlist_candidates *candidates;
};

/* Starts a batch: encodes the sources of b, which is borrowed until the last step. */
int incremental_begin(struct incremental_decoder *s, const struct batch *b,
		      const struct incremental_options *how, struct err *e);

/*
 * Every row reads its token; *found gets the k most probable next tokens of each row. k is at most
 * INCREMENTAL_MAX_K and the real vocabulary. A sentence with fewer than k candidates gets <pad>
 * with log-probability -infinity at the end. Rows of one sentence must be adjacent.
 */
int incremental_step(struct incremental_decoder *s, const struct incremental_rows *rows, int32_t k,
		     struct incremental_output *found, struct err *e);

void incremental_free(struct incremental_decoder *s);

#endif
