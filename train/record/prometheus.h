/*
 * prometheus.h - the latest metrics of a run in Prometheus' text format 0.0.4.
 *
 * It reads records of the journal and writes a page of metrics, for example
 *
 *	# HELP werkbank_train_loss_nats Training loss in nats per target token, as it is minimised.
 *	# TYPE werkbank_train_loss_nats gauge
 *	werkbank_train_loss_nats{run="wmt"} 3.25
 *
 * Units are base units: seconds, bytes, hertz, ratios of 0 to 1. Counters end in _total. Values
 * have no times, because the textfile collector of node_exporter rejects them. A metric is absent
 * until a record has its value. The list of metrics is families[] in prometheus.c.
 */
#ifndef WERKBANK_TRAIN_RECORD_PROMETHEUS_H
#define WERKBANK_TRAIN_RECORD_PROMETHEUS_H

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/format/json.h"

struct prometheus;

/* run: name of the run, for the label. NULL: ERR_NOMEM. */
struct prometheus *prometheus_new(const char *run, struct err *e);
/* Take the values of a record. */
int prometheus_record(struct prometheus *p, const struct json *record, struct err *e);

/* Take the values of all records of a journal; a missing file is an empty journal. */
int prometheus_journal(struct prometheus *p, const char *path, struct err *e);

/* Append the page to a buffer. */
void prometheus_page(const struct prometheus *p, struct buf *page);

/*
 * Replace a file by the page: write a temporary file and rename it, without a sync, because the
 * file will be replaced soon. Readers see the old page or the new one.
 */
int prometheus_write(const struct prometheus *p, const char *path, struct err *e);
void prometheus_free(struct prometheus *p); /* may be NULL */

#endif
