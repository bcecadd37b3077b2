/*
 * sampling.h - choosing among all tokens of the vocabulary: distributions of a row.
 *
 * A row is n log-probabilities (natural). Used where the k best that the backend finds are not
 * enough: ensembles, sampling, translations that must contain something.
 */
#ifndef WERKBANK_EVAL_DECODE_SAMPLING_H
#define WERKBANK_EVAL_DECODE_SAMPLING_H

#include <stddef.h>
#include <stdint.h>

#include "eval/decode/decode.h"
#include "share/base/err.h"
#include "share/base/rng.h"

/* Logits to log-probabilities, in place. */
void sampling_log_softmax(float *x, int32_t n);

/* sum = log(exp(sum) + exp(x)) */
void sampling_log_add(float *sum, const float *x, int32_t n);

/* x += shift: the mean of m distributions is their sum, shifted by -log m. */
void sampling_shift(float *x, int32_t n, double shift);

/* The k greatest, falling; of equal ones the lower id comes first. k <= n. */
void sampling_top_k(const float *x, int32_t n, int32_t k, float *values, int32_t *ids);

/*
 * Draw a token from softmax(x / temperature) of the words and </s>, cut to the top_k most probable
 * ones (0: all) and of these to the fewest whose probabilities sum up to top_p (1: all). The
 * random number is the one at that position of the stream: nothing else decides. -1: memory ran
 * out.
 */
int32_t sampling_draw_token(const float *x, int32_t n, const struct decode_options *o,
			    struct rng_key key, uint64_t position, struct err *e);

#endif
