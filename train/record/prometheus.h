/*
 * prometheus.h - the newest figures of a run in Prometheus' text format 0.0.4.
 *
 * Records of the journal go in, a page of metrics comes out, for example
 *
 *	# HELP werkbank_train_loss_nats Training loss in nats per target token, as it is minimised.
 *	# TYPE werkbank_train_loss_nats gauge
 *	werkbank_train_loss_nats{run="wmt"} 3.25
 *
 * in base units (seconds, bytes, hertz, ratios of 0 to 1); counters end in _total; texts in labels
 * are escaped. No times: the page is for the textfile collector of node_exporter, which
 * refuses them. What a record has not told yet is absent. The list of metrics: families[] in
 * prometheus.c.
 */
#ifndef WERKBANK_TRAIN_RECORD_PROMETHEUS_H
#define WERKBANK_TRAIN_RECORD_PROMETHEUS_H

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/json.h"

struct prometheus;

struct prometheus *prometheus_new(const char *run, struct err *e); /* NULL: ERR_NOMEM */
int prometheus_record(struct prometheus *p, const struct json *record, struct err *e);

/* All that a journal holds so far; one that is not there is empty. */
int prometheus_journal(struct prometheus *p, const char *path, struct err *e);

/* Append the page. */
void prometheus_page(const struct prometheus *p, struct buf *page);

/*
 * Replace a file by the page: written beside it, renamed, not synced (it is made anew before long).
 * Readers see the old one or the new one.
 */
int prometheus_write(const struct prometheus *p, const char *path, struct err *e);
void prometheus_free(struct prometheus *p); /* may be NULL */

#endif
