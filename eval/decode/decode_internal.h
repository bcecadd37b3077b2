/* decode_internal.h - the decoder and its workers, for decode.c and alternatives.c. */
#ifndef WERKBANK_EVAL_DECODE_DECODE_INTERNAL_H
#define WERKBANK_EVAL_DECODE_DECODE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "data/shard/token_batch.h"
#include "eval/decode/beam.h"
#include "eval/decode/decode.h"
#include "eval/decode/incremental.h"
#include "eval/decode/shortlist_candidates.h"

/* Decodes one batch at a time, with one incremental decoder per model. */
struct decode_worker {
	int32_t n_models;
	struct model *model;					 /* borrowed: the first one */
	struct incremental_decoder *decoders[DECODE_MAX_MODELS]; /* owned */
	struct batch batch;

	/* state of the current batch */
	struct beam **beams; /* (cap_sentences) owned */
	size_t cap_sentences;
	struct incremental_rows rows, next; /* (cap_rows) of this step and of the next one */
	struct incremental_output found;    /* (cap_rows, INCREMENTAL_MAX_K) */
	int32_t *ints;			    /* owned: memory of rows, next and found */
	int32_t cap_rows;
	struct shortlist_candidates candidates;
	const struct decode_constraint *
		*constraints; /* (cap_constraints) owned: of the batch's sentences */
	size_t cap_constraints;
	/* (cap_all), (cap_next_model_all) owned: (rows, vocabulary) log-probabilities of all tokens */
	float *all, *next_model_all;
	size_t cap_all, cap_next_model_all;
};

struct decoder {
	struct model *base_models[DECODE_MAX_MODELS]; /* (n_models) borrowed */
	int32_t n_models;
	int32_t capacity;
	struct decode_worker main_worker; /* serial decoding, with the model's threads */
	int32_t n_workers;
	struct decode_worker *workers; /* (n_workers) owned; NULL until first needed */
	struct model **models;	       /* (n_workers, n_models) owned: the workers' models */
};

/* Makes room for so many sentences and rows. */
int decode_reserve(struct decode_worker *d, int32_t sentences, int32_t rows, struct err *e);

/* Runs all models on d->rows; d->all gets the log of the mean of their probabilities. */
int decode_ensemble_step(struct decode_worker *d, struct incremental_output *found, struct err *e);

#endif
