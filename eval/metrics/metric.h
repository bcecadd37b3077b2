/*
 * metric.h - one interface to BLEU, chrF and TER.
 *
 *	struct metric m;
 *	metric_open(&m, &options, e);
 *	metric_add(&m, &hypothesis, references, n, e);	each segment
 *	metric_score(&m);
 *	metric_close(&m);
 *
 * A score is computed from sums over segments. The contribution of each segment is stored as a row.
 * So the score of any selection of segments is the score of the sum of their rows (resample.h).
 */
#ifndef WERKBANK_EVAL_METRICS_METRIC_H
#define WERKBANK_EVAL_METRICS_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eval/metrics/bleu.h"
#include "eval/metrics/chrf.h"
#include "eval/metrics/ter.h"
#include "share/conf/conf.h"

#define METRIC_MAX_SUMS CHRF_MAX_SUMS

enum metric_kind { METRIC_BLEU, METRIC_CHRF, METRIC_TER }; /* as in options.def */

struct metric_options {
	enum metric_kind kind;
	struct bleu_options bleu; /* only the options of the kind are used */
	struct chrf_options chrf;
	struct ter_options ter;
};

struct metric {
	enum metric_kind kind;
	struct bleu *bleu; /* owned; NULL unless kind is METRIC_BLEU */
	struct chrf *chrf; /* owned; NULL unless kind is METRIC_CHRF */
	struct ter *ter;   /* owned; NULL unless kind is METRIC_TER */
	int64_t *rows;	   /* (n, width) owned: the contribution of each segment */
	size_t n, width, cap;
};

/* The options of the command line: tokenizer, smoothing, word_order ... */
struct metric_options metric_options_from_conf(enum metric_kind kind, const struct conf *c);

/* Call metric_close() after a failure too. */
int metric_open(struct metric *m, const struct metric_options *o, struct err *e);
int metric_add(struct metric *m, const struct score_text *hypothesis,
	       const struct score_text *references, size_t n, struct err *e);

double metric_score(const struct metric *m);
/* The sum of all rows: width numbers. */
void metric_sums(const struct metric *m, int64_t *sums);
/* Computes the score from a sum of rows. */
double metric_of_sums(const struct metric *m, const int64_t *sums);
bool metric_less_is_better(const struct metric *m);

void metric_name(const struct metric *m, struct buf *out); /* "BLEU", "chrF2++" */
void metric_signature(const struct metric *m, struct buf *out);
void metric_sacrebleu_signature(const struct metric *m, const struct signature_trials *trials,
				struct buf *out);
void metric_close(struct metric *m);

#endif
