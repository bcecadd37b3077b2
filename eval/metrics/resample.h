/*
 * resample.h - how far a score can be trusted, and whether two systems really differ.
 *
 * Bootstrap (Koehn 2004): the score of as many segments drawn with replacement, many times over.
 * Paired bootstrap: both systems are scored on the same draws. Paired approximate randomisation
 * (Riezler and Maxwell 2005): segments change systems by the toss of a coin.
 *
 * Draws are those of NumPy's default_rng(seed), so the same seed gives sacreBLEU's numbers, which
 * sums in single precision: means and intervals agree to about 1e-5, p-values but for ties.
 */
#ifndef WERKBANK_EVAL_METRICS_RESAMPLE_H
#define WERKBANK_EVAL_METRICS_RESAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "eval/metrics/metric.h"
#include "share/base/err.h"

#define RESAMPLE_SEED	  12345
#define RESAMPLE_DRAWS	  1000	/* of the bootstrap, where the caller has no wish */
#define RESAMPLE_SHUFFLES 10000 /* of the randomisation */

/* ---- random numbers of NumPy ---- */

/* PCG64 (XSL-RR 128/64, O'Neill 2014), seeded by NumPy's SeedSequence. */
struct pcg64 {
	unsigned __int128 state, increment;
	uint32_t upper_half;	 /* the upper half of the last number … */
	bool has_upper_half;	 /* … unless it was given out */
	uint32_t coins, n_coins; /* bits not given out yet */
};

void pcg64_seed(struct pcg64 *r, uint64_t seed);
uint64_t pcg64_u64(struct pcg64 *r);
uint32_t pcg64_u32(struct pcg64 *r);		   /* half a number: the lower one first */
uint32_t pcg64_below(struct pcg64 *r, uint32_t n); /* n > 0; unbiased (Lemire 2019) */
uint32_t pcg64_coins(struct pcg64 *r, int n);	   /* n <= 32 bits, the first the lowest */

/* ---- what they are for; rows of the metrics are read ---- */

struct score_confidence {
	double mean;
	double interval; /* half the width that holds 95 % of the scores */
};

int resample_confidence(const struct metric *m, uint64_t seed, int64_t draws,
			struct score_confidence *c, struct err *e);

/* How likely chance alone would make the two differ so much. */
int resample_bootstrap(const struct metric *a, const struct metric *b, uint64_t seed, int64_t draws,
		       double *p, struct err *e);
int resample_randomisation(const struct metric *a, const struct metric *b, uint64_t seed,
			   int64_t shuffles, double *p, struct err *e);

#endif
