/*
 * metric_sinks.h - metrics of a live run for other programs.
 *
 * Each record that the first rank writes to journal.jsonl or samples.jsonl also goes to
 *
 *	runs/NAME/tensorboard/	event files, one for each attempt (option tensorboard)
 *	a .prom file		the latest values for Prometheus (option prometheus): rewritten at
 *				most once a second, and when an attempt starts, evaluates, saves
 *				or stops
 *
 * A full disk or a removed folder never ends a training. metric_sinks_failure() returns the first
 * failure of each sink; the next record is written again.
 */
#ifndef WERKBANK_TRAIN_RECORD_METRIC_SINKS_H
#define WERKBANK_TRAIN_RECORD_METRIC_SINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "share/workspace/journal.h"

struct metric_sinks;

/*
 * Listen to the journals (each may be NULL) of the run in this folder. first_step: step of the next
 * records. The journals must outlive the sinks. NULL: ERR_NOMEM; for other failures see
 * metric_sinks_failure().
 */
struct metric_sinks *metric_sinks_open(const struct conf *c, const char *folder, int64_t first_step,
				       struct journal *journal, struct journal *samples,
				       struct err *e);

/*
 * Has a sink failed for the first time since the last call? Then *e is the failure. Call it until
 * it returns false: there are two sinks. o may be NULL.
 */
bool metric_sinks_failure(struct metric_sinks *o, struct err *e);

/* Write the last page for Prometheus and close. o may be NULL. */
void metric_sinks_close(struct metric_sinks *o);

#endif
