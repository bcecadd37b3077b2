/*
 * stepper.h - the model's decoder, one token a row and step.
 *
 *	stepper_begin(s, &batch, rows, steps, e);	encodes the sources
 *	stepper_step(s, &rows, k, &found, e);		again and again
 *
 * A row is a hypothesis. Keys and values of every step go to new rows of one
 * cache; a hypothesis is a list of the cache rows of its ancestors, so that
 * reordering hypotheses copies these lists and never the cache.
 */
#ifndef WERKBANK_EVAL_STEPPER_H
#define WERKBANK_EVAL_STEPPER_H

#include <stdbool.h>
#include <stdint.h>

#include "data/batch.h"
#include "share/base/err.h"
#include "train/model.h"

#define STEPPER_MAX_K (2 * 64 + 3)

struct stepper;

struct stepper_rows {
	int32_t  n;
	int32_t *sentence;	/* (n) number of the row's sentence in the batch */
	int32_t *parent;	/* (n) the row of the step before that it continues */
	int32_t *token;		/* (n) the token that the decoder reads */
};

struct stepper_found {
	/* all given by the caller; when all is wanted, values and ids are left alone */
	float   *values;	/* (n, k) log-probabilities, falling */
	int32_t *ids;		/* (n, k) */
	float   *all;		/* (n, vocabulary) log-probabilities; NULL: not wanted */
	int32_t *aligned;	/* (n) source token with the greatest attention; NULL: not wanted */
};

/* Borrows the model. NULL: failure. */
struct stepper *stepper_new(struct model *m, struct err *e);

/*
 * Encode the sources of b (borrowed until the last step), with room for max_rows rows
 * and max_steps steps. all: steps may be asked for the log-probabilities of all tokens.
 */
int stepper_begin(struct stepper *s, const struct batch *b, int32_t max_rows, int32_t max_steps,
		  bool all, struct err *e);

/*
 * Let every row read its token; give the k most probable next ones. k at most
 * STEPPER_MAX_K and the real vocabulary.
 */
int stepper_step(struct stepper *s, const struct stepper_rows *rows, int32_t k,
		 struct stepper_found *found, struct err *e);

void stepper_free(struct stepper *s);

#endif
