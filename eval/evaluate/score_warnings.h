/*
 * score_warnings.h - what makes a score of files doubtful: tokenised text, files of different texts
 *
 *	struct score_warnings w = { 0 };
 *	score_warnings_add(&w, &hypothesis, &reference);	each line, with its first reference
 *	score_warnings_print(&w, &metric, c);			on standard error
 *	score_warnings_free(&w);
 */
#ifndef WERKBANK_EVAL_EVALUATE_SCORE_WARNINGS_H
#define WERKBANK_EVAL_EVALUATE_SCORE_WARNINGS_H

#include <stdint.h>

#include "eval/metrics/metric.h"
#include "share/base/buf.h"
#include "share/conf/conf.h"

struct score_warnings {
	/* private */
	int64_t lines, tokenized;
	int64_t own,
		before; /* words shared with the own reference, and with that of the line before */
	struct buf reference; /* of the line before */
};

void score_warnings_add(struct score_warnings *w, const struct score_text *hypothesis,
			const struct score_text *reference);
/* Only for BLEU; nothing with --force or --quiet. */
void score_warnings_print(const struct score_warnings *w, const struct metric *m,
			  const struct conf *c);
void score_warnings_free(struct score_warnings *w);

#endif
