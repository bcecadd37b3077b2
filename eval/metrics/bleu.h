/*
 * bleu.h - BLEU (Papineni et al. 2002) with the digits of sacreBLEU 2.x.
 *
 *	struct bleu *b = bleu_new(&options, e);
 *	bleu_add(b, &hypothesis, references, n, e);	each segment
 *	bleu_score(b, &score);				at any time
 *	bleu_free(b);
 *
 * Up to 4-grams; counts of the whole corpus are summed before precisions are
 * taken. Clipping takes the reference that has an n-gram most often; the
 * reference length is the closest one of each segment, the shorter of two.
 * Smoothing as in Chen and Cherry 2014: exp is NIST's, for corpus BLEU without
 * zero counts all are the same.
 */
#ifndef WERKBANK_EVAL_METRICS_BLEU_H
#define WERKBANK_EVAL_METRICS_BLEU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eval/metrics/score_tokenize.h"
#include "share/base/buf.h"
#include "share/base/err.h"

#define BLEU_ORDER 4
#define BLEU_SUMS  (2 + 2 * BLEU_ORDER) /* lengths of both sides, counts, totals */

enum bleu_smoothing { BLEU_EXP, BLEU_NONE, BLEU_FLOOR, BLEU_ADD_K }; /* as in options.def */

struct bleu_options {
	enum score_tokenizer tokenizer;
	enum bleu_smoothing smoothing;
	double smooth_value; /* of floor (0.1) and add-k (1); negative: that default */
	bool lowercase;
	bool effective_order; /* leave out orders too long for a sentence scored alone */
	bool split_compounds; /* "a-b" is three tokens, as in older papers */
};

/* The usual ones: 13a, exp, cased. */
extern const struct bleu_options bleu_defaults;

struct score_text {
	const char *text; /* borrowed; well-formed UTF-8 */
	size_t n;
};

struct bleu_score {
	double score;				     /* 0..100 */
	int64_t counts[BLEU_ORDER];		     /* matched n-grams, before smoothing */
	int64_t totals[BLEU_ORDER];		     /* n-grams of the hypotheses */
	double precisions[BLEU_ORDER];		     /* 0..100, smoothed */
	double bp;				     /* brevity penalty */
	int64_t hypothesis_length, reference_length; /* tokens */
	int64_t segments;
};

struct bleu;

struct bleu *bleu_new(const struct bleu_options *o, struct err *e); /* NULL: failure */

/*
 * Add a segment with its n references; every segment must have the same number of them,
 * at least one.
 */
int bleu_add(struct bleu *b, const struct score_text *hypothesis,
	     const struct score_text *references, size_t n, struct err *e);

void bleu_score(const struct bleu *b, struct bleu_score *score);

/* All that a score depends on; it adds up over segments. */
void bleu_sums(const struct bleu *b, int64_t sums[BLEU_SUMS]);
/* The score that such sums come to, under b's options. */
void bleu_of_sums(const struct bleu *b, const int64_t sums[BLEU_SUMS], struct bleu_score *score);

/* Append "werkbank|bleu|refs:1|case:mixed|tok:13a|smooth:exp|v:0.1". */
void bleu_signature(const struct bleu *b, struct buf *out);

void bleu_free(struct bleu *b);

/* All at once for lists in memory: n hypotheses, each with the one reference of the same number. */
int bleu_lists(const struct bleu_options *o, const char *const *hypotheses,
	       const char *const *references, size_t n, struct bleu_score *score, struct err *e);

#endif
