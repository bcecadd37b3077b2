/*
 * service_metrics.h - what a server of this machine does now, from its page /metrics.
 *
 * Nothing waits: each update connects to loopback, or reads what has arrived. A server with keys answers nothing here.
 */
#ifndef WERKBANK_TUI_RUN_SERVICE_METRICS_H
#define WERKBANK_TUI_RUN_SERVICE_METRICS_H

#include <stdbool.h>

#include "share/base/buf.h"

struct service_metrics {
	bool is_known; /* an answer has been read; the values below are of its time */
	double connections, requests, queue_characters, refused;
	double request_s; /* mean seconds of a translation request since the start; NaN: none yet */
	double tokens_s; /* target tokens a second since the answer before; NaN: the first answer */
	/* private */
	bool is_asking, is_sent;
	int fd;
	double asked, answered, tokens;
	struct buf text;
};

/* address: the line with which the server says where it listens. true: a new answer was read. */
bool service_metrics_update(struct service_metrics *m, const char *address, double now);

/* Append "3 clients, 2 requests, queue 120 characters, 45 ms each, 320 tokens/s, 1 refused". */
void service_metrics_text(const struct service_metrics *m, struct buf *out);

void service_metrics_close(struct service_metrics *m);

#endif
