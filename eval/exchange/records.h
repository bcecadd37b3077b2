/*
 * records.h - what a run recorded, for other programs: werkbank export --run NAME --format …
 *
 *	tensorboard   a folder of event files, one for each attempt, as training writes them
 *	csv           a folder with a file for each scalar, as TensorBoard's download has it
 *	              ("Wall time,Step,Value"): train/loss.csv, dev/bleu.csv …; with an output that
 *	              ends in .csv, or none: one table, a row a step, a column a scalar
 *	jsonl         one object a line: run, t, step, tag, value
 *	prometheus    the newest figures, see train/record/prometheus.h
 *
 * Scalars and their names: train/record/scalars.h. Steps that were done again count once, the last time.
 */
#ifndef WERKBANK_EVAL_EXCHANGE_RECORDS_H
#define WERKBANK_EVAL_EXCHANGE_RECORDS_H

#include <stdbool.h>

#include "share/conf/conf.h"
#include "share/base/err.h"

bool records_knows(const char *format); /* one of the four */

/* Of c->run as c->format to c->output; NULL: to standard output, where that can be. */
int records_export(const struct conf *c, struct err *e);

#endif
