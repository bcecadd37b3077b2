/*
 * ter.h - translation edit rate (Snover et al. 2006), equal to sacreBLEU 2.x in every digit.
 *
 * TER is the number of edits that turn the hypothesis into a reference, divided by the mean length
 * of the references. An edit inserts, deletes or substitutes a word, or shifts up to ten words.
 * Shifts are found greedily, and edit distances in a band around the diagonal, with the limits of
 * Tercom and sacreBLEU. Of several references, the one with the fewest edits counts.
 */
#ifndef WERKBANK_EVAL_METRICS_TER_H
#define WERKBANK_EVAL_METRICS_TER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eval/metrics/bleu.h"
#include "eval/metrics/signature.h"
#include "eval/metrics/ter_tokenize.h"

#define TER_SUMS 2 /* edits, words of all references */

struct ter_score {
	double score; /* 0: equal to a reference; 100: as many edits as reference words */
	int64_t edits;
	double reference_length; /* words: sum over segments of the mean over references */
};

struct ter;

struct ter *ter_new(const struct ter_options *o, struct err *e); /* NULL: out of memory */
/* Like bleu_add(). */
int ter_add(struct ter *t, const struct score_text *hypothesis, const struct score_text *references,
	    size_t n, struct err *e);
void ter_score(const struct ter *t, struct ter_score *score);

/* Like bleu_sums() and bleu_of_sums(). */
void ter_sums(const struct ter *t, int64_t sums[TER_SUMS]);
double ter_of_sums(const struct ter *t, const int64_t sums[TER_SUMS]);

/* Appends "werkbank|ter|refs:1|case:lc|tok:tercom|norm:no|punct:yes|v:0.1"; asian:yes if so. */
void ter_signature(const struct ter *t, struct buf *out);
/* Like bleu_sacrebleu_signature(). */
void ter_sacrebleu_signature(const struct ter *t, const struct signature_trials *trials,
			     struct buf *out);
void ter_free(struct ter *t);

#endif
