/* compare.h - the command "compare": are systems significantly different from a baseline? */
#ifndef WERKBANK_EVAL_EVALUATE_COMPARE_H
#define WERKBANK_EVAL_EVALUATE_COMPARE_H

#include <stdio.h>

#include "share/base/err.h"
#include "share/conf/conf.h"

/*
 * Compares the files c->arguments[1 ...] with the baseline c->arguments[0], by c->metric, c->test
 * (resample.h) and the references c->reference; prints to standard output. With c->run the systems
 * are runs, see compare_runs.h.
 */
int compare_run(struct conf *c, struct err *e);

#endif
