/*
 * metric_sinks.h - what other programs read of a run while it trains.
 *
 * Each record that the first rank writes to the journal or the samples also goes to
 *
 *	runs/NAME/tensorboard/	event files, one for each attempt (option tensorboard)
 *	a .prom file		the newest figures for Prometheus (option prometheus): rewritten at
 *				most once a second, and when an attempt begins, evaluates, ends
 *
 * A full disk or a folder that went away never ends a training: what could not be written is
 * asked for by metric_sinks_failure(), once, and the next record is tried again.
 */
#ifndef WERKBANK_TRAIN_RECORD_METRIC_SINKS_H
#define WERKBANK_TRAIN_RECORD_METRIC_SINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "share/conf/conf.h"
#include "share/base/err.h"
#include "share/base/journal.h"

struct metric_sinks;

/*
 * Listen to the journals (either may be NULL) of the run in this folder, whose records from
 * first_step on are to come. NULL: ERR_NOMEM; all else is trouble. The journals must not write any
 * more when the outlets are closed.
 */
struct metric_sinks *metric_sinks_open(const struct conf *c, const char *folder, int64_t first_step,
				       struct journal *journal, struct journal *samples,
				       struct err *e);

/* Whether an outlet failed for the first time: then e says how. Until false: there are two of them. */
bool metric_sinks_failure(struct metric_sinks *o, struct err *e);

void metric_sinks_close(struct metric_sinks *o); /* may be NULL; a last page for Prometheus */

#endif
