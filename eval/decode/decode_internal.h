/* decode_internal.h - what decode.c and alternatives.c share. */
#ifndef WERKBANK_EVAL_DECODE_DECODE_INTERNAL_H
#define WERKBANK_EVAL_DECODE_DECODE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "data/shard/token_batch.h"
#include "eval/decode/beam.h"
#include "eval/decode/decode.h"
#include "eval/decode/incremental.h"
#include "eval/decode/shortlist_candidates.h"

/* Decodes one batch at a time. */
struct decode_worker {
	int32_t n_models;
	struct model *model;					 /* borrowed: the first one */
	struct incremental_decoder *decoders[DECODE_MAX_MODELS]; /* owned */
	struct batch batch;

	/* of the batch that is being decoded */
	struct beam **beams; /* (cap_sentences) owned; NULL: done */
	size_t cap_sentences;
	struct incremental_rows rows, next; /* (cap_rows) */
	struct incremental_output found;    /* (cap_rows, INCREMENTAL_MAX_K) */
	int32_t *ints;			    /* owned: memory of rows, next and found */
	int32_t cap_rows;
	struct shortlist_candidates candidates;
	const struct decode_constraint *
		*constraints; /* (cap_constraints) owned: of the batch's sentences */
	size_t cap_constraints;
	float *all, *next_model_all; /* (cap_all) owned: log-probabilities of all tokens */
	size_t cap_all, cap_next_model_all;
};

struct decoder {
	struct model *base_models[DECODE_MAX_MODELS]; /* (n_models) borrowed */
	int32_t n_models;
	int32_t capacity;
	struct decode_worker main_worker; /* with the model's threads */
	int32_t n_workers;
	struct decode_worker *workers; /* (n_workers) owned; made when first needed, else NULL */
	struct model **models;	       /* (n_workers, n_models) owned: theirs */
};

/* Room for so many sentences and rows. */
int decode_reserve(struct decode_worker *d, int32_t sentences, int32_t rows, struct err *e);

/* Run the models on d->rows and give each row in d->all the mean of what they say. */
int decode_ensemble_step(struct decode_worker *d, struct incremental_output *found, struct err *e);

#endif
