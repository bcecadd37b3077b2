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
struct worker {
	int32_t n_models;
	struct model *model;		/* borrowed: the first one */
	struct stepper *steppers[DECODE_MAX_MODELS];	/* owned */
	struct batch batch;

	/* of the batch that is being decoded */
	struct beam **beams;		/* (cap_sentences) owned; NULL: done */
	size_t cap_sentences;
	struct stepper_rows rows, next;	/* (cap_rows) */
	struct stepper_found found;	/* (cap_rows, STEPPER_MAX_K) */
	int32_t *ints;			/* owned: memory of rows, next and found */
	int32_t cap_rows;
	struct allowed words;
	const struct decode_wish **wishes;	/* (cap_wishes) owned: of the batch's sentences */
	size_t cap_wishes;
	float *all, *other;		/* (cap_all) owned: log-probabilities of all tokens */
	size_t cap_all, cap_other;
};

struct decoder {
	struct model *made_of[DECODE_MAX_MODELS];	/* (n_models) borrowed */
	int32_t n_models;
	int32_t capacity;
	struct worker alone;		/* with the model's threads */
	int32_t n_workers;
	struct worker *workers;		/* (n_workers) owned; made when first needed, else NULL */
	struct model **models;		/* (n_workers, n_models) owned: theirs */
};

/* Room for so many sentences and rows. */
int decode_reserve(struct worker *d, int32_t sentences, int32_t rows, struct err *e);

/* Run the models on d->rows and give each row in d->all the mean of what they say. */
int decode_look(struct worker *d, struct stepper_found *found, struct err *e);

#endif
