/*
 * average.h - the command average: one model from several checkpoints.
 *
 *	werkbank average --run NAME [--last N] -o DIR	the newest N checkpoints of a run (5)
 *	werkbank average --run NAME STEP... -o DIR	these of them
 *	werkbank average FOLDER... -o DIR		model folders of the same shape and vocabulary
 */
#ifndef WERKBANK_EVAL_EVALUATE_AVERAGE_H
#define WERKBANK_EVAL_EVALUATE_AVERAGE_H

#include "share/conf/conf.h"
#include "share/base/err.h"

int average_run(const struct conf *c, struct err *e);

#endif
