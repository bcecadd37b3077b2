/*
 * decode.h - translation by beam search, many sentences at once.
 *
 *	struct decoder *d = decoder_new(model, capacity, workers, e);
 *	decoder_run(d, &options, sources, n, results, e);	results in the order of the sources
 *	… results[i].hypotheses[0] is the best …
 *	decode_results_free(results, n);
 *	decoder_free(d);
 *
 * Sentences are sorted by length and cut into batches of decode_tokens source
 * tokens times beam; a sentence that is done leaves its batch. Every step takes
 * the 2 * beam best continuations of a sentence's live hypotheses: those that
 * end are finished, of the others the beam best stay alive. A finished
 * hypothesis scores log_prob / ((5 + length) / 6)^alpha (Wu et al. 2016,
 * section 7), length counting </s>. A sentence is done when n_best are finished
 * and no live one can beat the worst of them even at the greatest length, or
 * when the greatest length is reached. beam = 1 is greedy search: it takes the
 * best continuation and ends with the first </s>.
 *
 * <pad>, <s> and <unk> are never chosen. The result does not depend on which
 * sentences are decoded together: not by a bit when the model's weights are packed,
 * else up to the rounding of the backend's products.
 */
#ifndef WERKBANK_EVAL_DECODE_H
#define WERKBANK_EVAL_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/conf.h"
#include "share/base/err.h"
#include "train/model.h"

#define DECODE_MAX_BEAM 64

struct decode_options {
	int32_t beam;			/* 1 .. DECODE_MAX_BEAM */
	int32_t n_best;			/* 1 .. beam: hypotheses wanted per sentence */
	double  alpha;			/* of the length penalty, >= 0 */
	double  max_length_factor;	/* decoded: at most factor * source tokens + extra */
	int32_t max_length_extra;
	int32_t decode_tokens;		/* source tokens times beam decoded at once */
	bool    alignments;		/* say which source token each target token attends to */
};

struct decode_source {
	const int32_t *ids;		/* borrowed; without special tokens */
	int32_t n;
};

struct decode_hypothesis {
	int32_t *tokens;		/* (n) owned; without special tokens */
	int32_t *aligned;		/* (n) owned: source tokens from 0; NULL unless asked for */
	int32_t  n;
	double   log_prob;		/* sum over the tokens and </s>, nats */
	double   score;			/* with the length penalty: what hypotheses are ranked by */
	bool     finished;		/* false: cut off at the greatest length, no </s> */
};

struct decode_result {
	struct decode_hypothesis *hypotheses;	/* (n) owned, best first; at least one */
	int32_t n;			/* may be less than n_best when the search found fewer */
	bool    truncated;		/* the source was too long; its end was not translated */
};

struct decoder;

/*
 * Borrows the model, for which model_reserve_forward(m, capacity, capacity / 2)
 * or more was called. capacity: source tokens of a batch, </s> counted. workers: batches decoded
 * side by side, each by one thread, when there are sentences enough; 1: one after the other, by
 * the model's threads. More than 1 needs a CPU backend. NULL: failure.
 */
struct decoder *decoder_new(struct model *m, int32_t capacity, int32_t workers, struct err *e);

/* The [decode] options, --n-best and --alignments of c. ERR_USAGE: n_best above beam. */
int decode_options_from_conf(struct decode_options *o, const struct conf *c, struct err *e);

/*
 * Translate n sources into results[0 .. n). An empty source gives one empty
 * hypothesis. On failure results hold nothing that must be freed.
 */
int decoder_run(struct decoder *d, const struct decode_options *o,
		const struct decode_source *sources, size_t n, struct decode_result *results,
		struct err *e);

void decode_results_free(struct decode_result *results, size_t n);
void decoder_free(struct decoder *d);

#endif
