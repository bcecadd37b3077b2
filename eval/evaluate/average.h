/*
 * average.h - the command "average": the mean of the weights of several checkpoints.
 *
 *	werkbank average --run NAME [--last N] -o DIR	the newest N checkpoints of a run (5)
 *	werkbank average --run NAME STEP... -o DIR	the checkpoints of these steps
 *	werkbank average FOLDER... -o DIR		model folders of equal shape and vocabulary
 */
#ifndef WERKBANK_EVAL_EVALUATE_AVERAGE_H
#define WERKBANK_EVAL_EVALUATE_AVERAGE_H

#include "share/base/err.h"
#include "share/conf/conf.h"

int average_run(struct conf *c, struct err *e);

#endif
