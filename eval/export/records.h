/*
 * records.h - exports the records of a run: werkbank export --run NAME --format FORMAT
 *
 *	tensorboard   a folder of event files, one per attempt, as training writes them
 *	csv           a folder with one file per scalar in the format of TensorBoard's download
 *	              ("Wall time,Step,Value"): train/loss.csv, dev/bleu.csv ...; if the output ends
 *	              in .csv or is missing, one table with a row per step, a column per scalar
 *	jsonl         one object per line: run, t, step, tag, value
 *	prometheus    the newest values, see train/record/prometheus.h
 *	svg           the curves as one picture, see records_svg.h
 *
 * The scalars are described in train/record/scalars.h. Of repeated steps, the last record counts.
 */
#ifndef WERKBANK_EVAL_EXPORT_RECORDS_H
#define WERKBANK_EVAL_EXPORT_RECORDS_H

#include <stdbool.h>

#include "share/base/err.h"
#include "share/conf/conf.h"

bool records_knows(const char *format); /* is it one of these formats? */

/*
 * Exports c->run in c->format to c->output (NULL: standard output; ERR_USAGE if the format makes a
 * folder). ERR_NOINPUT: the run has no journal.
 */
int records_export(const struct conf *c, struct err *e);

#endif
