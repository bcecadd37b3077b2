/*
 * signs.h - the signs of train/record/learning.h, found in the evidence of a run.
 */
#ifndef WERKBANK_EVAL_REPORT_SIGNS_H
#define WERKBANK_EVAL_REPORT_SIGNS_H

#include "eval/report/evidence.h"
#include "train/record/learning.h"

/* Fills *s, with the trend. */
void find_learning_signs(struct learning_signs *s, const struct evidence *v);

#endif
