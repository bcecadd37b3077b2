/*
 * chrf.h - chrF (Popović 2015) and chrF++ (Popović 2017), equal to sacreBLEU 2.x in every digit.
 *
 * N-grams are those of the characters without white space and, if word_order > 0 (2: chrF++), of
 * words. Precision and recall of the corpus are averaged over the orders that both hypothesis and
 * reference have. F weighs recall beta times as much as precision. Of several references, each
 * segment uses the one with the best score.
 */
#ifndef WERKBANK_EVAL_METRICS_CHRF_H
#define WERKBANK_EVAL_METRICS_CHRF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eval/metrics/bleu.h"

#define CHRF_MAX_CHAR_ORDER 20
#define CHRF_MAX_WORD_ORDER 4
#define CHRF_MAX_ORDERS	    (CHRF_MAX_CHAR_ORDER + CHRF_MAX_WORD_ORDER)
#define CHRF_MAX_SUMS	    (3 * CHRF_MAX_ORDERS)

struct chrf_options {
	int char_order, word_order;
	double beta;
	bool lowercase;
};

/* chrF2: character order 6, no words, beta 2, cased. */
extern const struct chrf_options chrf_defaults;

/* Numbers of n-grams of each order: character orders first, then word orders. */
struct chrf_counts {
	int64_t hypothesis[CHRF_MAX_ORDERS], reference[CHRF_MAX_ORDERS], matches[CHRF_MAX_ORDERS];
};

struct chrf_score {
	double score; /* 0..100 */
	int orders;
	struct chrf_counts counts;
};

struct chrf;

/* Orders up to CHRF_MAX_... NULL: out of memory. */
struct chrf *chrf_new(const struct chrf_options *o, struct err *e);
/* Like bleu_add(). */
int chrf_add(struct chrf *c, const struct score_text *hypothesis,
	     const struct score_text *references, size_t n, struct err *e);
/* scores[r] = the score of the sentence against reference r alone; the sums of c stay as they are. */
int chrf_each(struct chrf *c, const struct score_text *hypothesis,
	      const struct score_text *references, size_t n, double *scores, struct err *e);
void chrf_score(const struct chrf *c, struct chrf_score *score);

/* Like bleu_sums(). Returns the number of sums: three per order. */
size_t chrf_sums(const struct chrf *c, int64_t sums[CHRF_MAX_SUMS]);
double chrf_of_sums(const struct chrf *c, const int64_t *sums);

/* Appends "werkbank|chrf|refs:1|case:mixed|nc:6|nw:0|beta:2|space:no|v:0.1". */
void chrf_signature(const struct chrf *c, struct buf *out);
/* Like bleu_sacrebleu_signature(); beta is in chrf_name(). */
void chrf_sacrebleu_signature(const struct chrf *c, const struct signature_trials *trials,
			      struct buf *out);
void chrf_name(const struct chrf *c, struct buf *out); /* "chrF2++" */
void chrf_free(struct chrf *c);

#endif
