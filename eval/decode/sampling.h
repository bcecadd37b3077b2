/*
 * sampling.h - distributions over all tokens of the vocabulary: normalising, mixing, drawing.
 *
 * A row has n log-probabilities in nats. Ensembles, sampling and constraints use these functions,
 * because they need more than the k best tokens that the backend finds.
 */
#ifndef WERKBANK_EVAL_DECODE_SAMPLING_H
#define WERKBANK_EVAL_DECODE_SAMPLING_H

#include <stddef.h>
#include <stdint.h>

#include "eval/decode/decode.h"
#include "share/base/err.h"
#include "share/base/rng.h"

/* Turns logits into log-probabilities, in place. */
void sampling_log_softmax(float *x, int32_t n);

/* sum = log(exp(sum) + exp(x)) */
void sampling_log_add(float *sum, const float *x, int32_t n);

/* x += shift. The mean of m distributions is their sum, shifted by -log m. */
void sampling_shift(float *x, int32_t n, double shift);

/* The k <= n greatest values, falling, and their indices; of equal values the lower index first. */
void sampling_top_k(const float *x, int32_t n, int32_t k, float *values, int32_t *ids);

/*
 * Draws a token from softmax(x / temperature), without <pad>, <s> and <unk>. Only the top_k most
 * probable tokens (0: all) take part, and of these the fewest whose probabilities reach top_p (1:
 * all; Holtzman et al. 2020). The token is a function of x, o, key and position alone. -1: out of
 * memory.
 */
int32_t sampling_draw_token(const float *x, int32_t n, const struct decode_options *o,
			    struct rng_key key, uint64_t position, struct err *e);

#endif
