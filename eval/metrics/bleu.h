/*
 * bleu.h - BLEU (Papineni et al. 2002), equal to sacreBLEU 2.x in every digit.
 *
 *	struct bleu *b = bleu_new(&options, e);
 *	bleu_add(b, &hypothesis, references, n, e);	each segment
 *	bleu_score(b, &score);				at any time
 *	bleu_free(b);
 *
 * N-grams have up to 4 tokens. Counts are summed over the corpus before precisions are computed.
 * An n-gram matches at most as often as it occurs in the reference that has it most often. The
 * reference length of a segment is the one closest to the hypothesis; of two equally close ones,
 * the shorter. Smoothing follows Chen and Cherry 2014 (exp is NIST's); without zero counts it does
 * not change corpus BLEU.
 */
#ifndef WERKBANK_EVAL_METRICS_BLEU_H
#define WERKBANK_EVAL_METRICS_BLEU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eval/metrics/score_tokenize.h"
#include "eval/metrics/signature.h"
#include "share/base/buf.h"
#include "share/base/err.h"

#define BLEU_ORDER 4
#define BLEU_SUMS  (2 + 2 * BLEU_ORDER) /* hypothesis and reference length, counts, totals */

enum bleu_smoothing { BLEU_EXP, BLEU_NONE, BLEU_FLOOR, BLEU_ADD_K }; /* as in options.def */

struct bleu_options {
	enum score_tokenizer tokenizer;
	enum bleu_smoothing smoothing;
	double smooth_value; /* of floor and add-k; negative: the default, 0.1 and 1 */
	bool lowercase;
	bool effective_order; /* omit orders for which a single sentence has no n-grams */
	bool split_compounds; /* "a-b" is three tokens, as in older papers */
};

/* sacreBLEU's defaults: 13a, exp, cased. */
extern const struct bleu_options bleu_defaults;

struct score_text {
	const char *text; /* borrowed; well-formed UTF-8 */
	size_t n;
};

struct bleu_score {
	double score;				     /* 0..100 */
	int64_t counts[BLEU_ORDER];		     /* matches, before smoothing */
	int64_t totals[BLEU_ORDER];		     /* n-grams of the hypotheses */
	double precisions[BLEU_ORDER];		     /* 0..100, smoothed */
	double bp;				     /* brevity penalty */
	int64_t hypothesis_length, reference_length; /* tokens */
};

struct bleu;

struct bleu *bleu_new(const struct bleu_options *o, struct err *e); /* NULL: out of memory */

/*
 * Adds a segment with its n references. ERR_DATA: n is 0 or differs from the preceding segments,
 * or the segment is too long.
 */
int bleu_add(struct bleu *b, const struct score_text *hypothesis,
	     const struct score_text *references, size_t n, struct err *e);

void bleu_score(const struct bleu *b, struct bleu_score *score);

/* The numbers that the score is computed from: sums over the segments so far. */
void bleu_sums(const struct bleu *b, int64_t sums[BLEU_SUMS]);
/* Computes the score from sums of statistics, with the options of b. */
void bleu_of_sums(const struct bleu *b, const int64_t sums[BLEU_SUMS], struct bleu_score *score);

/* Appends "werkbank|bleu|refs:1|case:mixed|tok:13a|smooth:exp|v:0.1". */
void bleu_signature(const struct bleu *b, struct buf *out);
/*
 * Appends the signature in sacreBLEU's form (signature.h). Appends nothing if sacreBLEU has no such
 * score: with tokenizer multi-bleu or split compounds.
 */
void bleu_sacrebleu_signature(const struct bleu *b, const struct signature_trials *trials,
			      struct buf *out);

void bleu_free(struct bleu *b);

#endif
