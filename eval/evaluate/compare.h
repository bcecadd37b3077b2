/* compare.h - the command compare: do systems really differ from a baseline? */
#ifndef WERKBANK_EVAL_EVALUATE_COMPARE_H
#define WERKBANK_EVAL_EVALUATE_COMPARE_H

#include <stdio.h>

#include "share/conf/conf.h"
#include "share/base/err.h"

/*
 * With c->run: compare_runs.h. Else: compare the files c->arguments[1…] with the first one against the files of c->reference, by
 * c->metric and c->test of resample.h; print to standard output.
 */
int compare_run(const struct conf *c, struct err *e);

#endif
