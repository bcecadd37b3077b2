/*
 * resample.h - confidence intervals of scores, and significance tests of differences.
 *
 * Bootstrap (Koehn 2004): draw n of the n segments with replacement and score them, many times.
 * Paired bootstrap: both systems are scored on the same draws. Paired approximate randomisation
 * (Riezler and Maxwell 2005): a coin decides for each segment whether the systems swap outputs.
 *
 * Draws are those of NumPy's default_rng(seed), as in sacreBLEU. sacreBLEU sums in single
 * precision; means and intervals agree to about 1e-5, and p-values except for ties.
 */
#ifndef WERKBANK_EVAL_METRICS_RESAMPLE_H
#define WERKBANK_EVAL_METRICS_RESAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "eval/metrics/metric.h"
#include "share/base/err.h"

#define RESAMPLE_SEED	  12345
#define RESAMPLE_DRAWS	  1000	/* default of the bootstrap */
#define RESAMPLE_SHUFFLES 10000 /* default of the randomisation */

/* ---- NumPy's random numbers ---- */

/* PCG64 (XSL-RR 128/64, O'Neill 2014), seeded by NumPy's SeedSequence. */
struct pcg64 {
	unsigned __int128 state, increment;
	uint32_t upper_half;	 /* of the last number, ... */
	bool has_upper_half;	 /* ... if it is not used yet */
	uint32_t coins, n_coins; /* bits that are not used yet */
};

void pcg64_seed(struct pcg64 *r, uint64_t seed);
uint64_t pcg64_u64(struct pcg64 *r);
uint32_t pcg64_below(struct pcg64 *r, uint32_t n); /* n > 0; unbiased (Lemire 2019) */
uint32_t pcg64_coins(struct pcg64 *r, int n);	   /* n <= 32 bits, the first one lowest */

/* ---- intervals and tests; they read the rows of the metrics ---- */

struct score_confidence {
	double mean;
	double interval; /* half the width of the central 95 % of the scores */
};

/* ERR_DATA: no segments, or too many. */
int resample_confidence(const struct metric *m, uint64_t seed, int64_t draws,
			struct score_confidence *c, struct err *e);

/*
 * p: the probability that chance alone makes a difference as large as that of a and b. ERR_DATA: a
 * and b have different numbers of segments.
 */
int resample_bootstrap(const struct metric *a, const struct metric *b, uint64_t seed, int64_t draws,
		       double *p, struct err *e);
int resample_randomisation(const struct metric *a, const struct metric *b, uint64_t seed,
			   int64_t shuffles, double *p, struct err *e);

#endif
