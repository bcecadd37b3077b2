/*
 * signs.h - the signs of train/record/learning.h, found in the evidence of a run.
 */
#ifndef WERKBANK_EVAL_REPORT_SIGNS_H
#define WERKBANK_EVAL_REPORT_SIGNS_H

#include "eval/report/evidence.h"
#include "train/record/learning.h"

struct signs_cache {
	bool is_found;
	struct learning_signs signs;
};

/* Fills *s, with the trend. They are found once if the evidence has a cache. */
void find_learning_signs(struct learning_signs *s, const struct evidence *v);

#endif
