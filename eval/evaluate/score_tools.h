/* score_tools.h - the commands "bleu", "chrf" and "ter": scores of files. */
#ifndef WERKBANK_EVAL_EVALUATE_SCORE_TOOLS_H
#define WERKBANK_EVAL_EVALUATE_SCORE_TOOLS_H

#include <stdio.h>

#include "eval/metrics/bleu.h"
#include "eval/metrics/resample.h"
#include "share/base/err.h"
#include "share/conf/conf.h"
#include "share/format/json.h"

/*
 * Scores c->arguments[0] (none or "-": standard input; or --input) against the references of c;
 * prints to standard output.
 */
int score_tools_run(struct conf *c, struct err *e);

/*
 * Writes the members "counts", "totals", "precisions", "bp", "ratio", "hypothesis_length" and
 * "reference_length" into an open object.
 */
void score_tools_bleu_json(struct json_writer *w, const struct bleu_score *s);

/* Writes the member "confidence":{"mean":...,"interval":...} into an open object. */
void score_tools_confidence_json(struct json_writer *w, const struct score_confidence *c);

/* Appends "22.67 56.2/28.7/16.9/10.3 (BP 0.985, ratio 0.985, hypothesis 60395, reference 61287)" */
void score_tools_bleu_text(struct buf *out, const struct bleu_score *s, int width);

#endif
