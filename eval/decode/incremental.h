/*
 * incremental.h - incremental decoding: the model's decoder reads one token per row and step.
 *
 *	s = incremental_new(model, e);
 *	incremental_begin(s, &options, e);		sets limits; no sentence is there
 *	incremental_add(s, &batch, slots, e);		encodes sources; before any step
 *	incremental_step(s, &rows, k, &found, e);	one token for each live hypothesis
 *	incremental_remove(s, slot);			a sentence has ended; before any step
 *	incremental_free(s);
 *
 * A slot is the number of a sentence until it is removed. Sentences may start at different steps:
 * each has its own position. A row is a live hypothesis. Each row and step writes its keys and
 * values to a free row of one cache, which also holds the keys and values of the sources. A
 * hypothesis is the list of the cache rows of its tokens. So reordering hypotheses copies lists,
 * never keys or values.
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
	int32_t *sentence; /* (n) slot of the row's sentence */
	int32_t *parent;   /* (n) row of the preceding step; ignored in a sentence's first step */
	int32_t *token;	   /* (n) the token that the decoder reads */
};

/* Attention of a decoder layer to the source while the next token is predicted. */
struct incremental_attention {
	int32_t layer;	/* from 0 */
	int32_t head;	/* from 0; -1: the mean of all heads */
	float *weights; /* (n, stride) of the caller: a row's source tokens, </s> included */
	int64_t stride;
};

/* Arrays of the caller. With all, values and ids are not written. */
struct incremental_output {
	float *values;	  /* (n, k) log-probabilities, falling */
	int32_t *ids;	  /* (n, k) */
	float *all;	  /* (n, vocabulary) log-probabilities; NULL: not wanted */
	int32_t *aligned; /* (n) source token with the greatest attention; NULL: not wanted */
	/* NULL: not wanted; otherwise nothing else is, and no next token is predicted */
	const struct incremental_attention *attention;
};

/* Borrows the model. Free with incremental_free(). NULL: out of memory. */
struct incremental_decoder *incremental_new(struct model *m, struct err *e);

struct incremental_options {
	int32_t max_rows;   /* rows of a step; slots are 0 ... max_rows - 1 */
	int32_t max_steps;  /* of one sentence */
	int32_t max_source; /* tokens of one source, </s> included */
	int64_t cache_rows; /* to reserve at first, sources included; more are allocated later */
	bool all;	    /* steps may ask for the log-probabilities of all tokens */
	/*
	 * A shortlist: probabilities are among each sentence's candidates, all other tokens have
	 * -infinity. Sentence i of the list is the one in slot i, so incremental_add() may be called
	 * once. Borrowed until the last step; NULL: all tokens. Needs packed weights, or a GPU.
	 */
	const struct shortlist_candidates *candidates;
};

/* Removes all sentences and allocates memory for others. */
int incremental_begin(struct incremental_decoder *s, const struct incremental_options *how,
		      struct err *e);

/*
 * Encodes the sources of b; source i is the sentence in slots[i], which must be free. b is not used
 * after the return.
 */
int incremental_add(struct incremental_decoder *s, const struct batch *b, const int32_t *slots,
		    struct err *e);

/* Frees the slot and the cache rows of a sentence. */
void incremental_remove(struct incremental_decoder *s, int32_t slot);

/*
 * Every row reads its token; *found gets the k most probable next tokens of each row. k is at most
 * INCREMENTAL_MAX_K and the real vocabulary. A sentence with fewer than k candidates gets <pad>
 * with log-probability -infinity at the end. Rows of one sentence must be adjacent. With attention,
 * k must be 0.
 */
int incremental_step(struct incremental_decoder *s, const struct incremental_rows *rows, int32_t k,
		     struct incremental_output *found, struct err *e);

void incremental_free(struct incremental_decoder *s);

#endif
