/*
 * host_watch.h - all that is watched of a host, from look to look, and means between reports.
 *
 *	struct host_watch *w = host_watch_open(&roots, network, workspace, e);
 *	host_watch_sample(w, clock_mono_s());		about once a second, by one thread
 *	n = host_watch_collect(w, &report, gpus, HOST_GPUS_MAX);	by any other, at any time
 *	host_watch_free(w);				when both have ended
 */
#ifndef WERKBANK_TRAIN_WATCH_HOST_WATCH_H
#define WERKBANK_TRAIN_WATCH_HOST_WATCH_H

#include "share/base/err.h"
#include "train/common/host_file.h"
#include "train/common/host_gpu.h"
#include "train/common/host_net.h"

enum host_link_from {
	HOST_LINK_UNKNOWN,
	HOST_LINK_DRIVER,   /* what the kernel says */
	HOST_LINK_MEASURED, /* by werkbank hosts bandwidth */
	HOST_LINK_SEEN,	    /* at least: the highest rate seen in one second */
};

/*
 * Means since the last report, latest values of what is no rate; NAN: unknown. Plain
 * data: it travels between ranks.
 */
struct host_report {
	double cpu, load;			  /* cpu: 0..1 of all processors */
	double waits_cpu, waits_io, waits_memory; /* share of time: some task waited */
	double memory_used, memory_total;
	double disk_free, disk_read_bytes_s, disk_write_bytes_s;
	double rx_bytes_s, tx_bytes_s;
	double rx_peak_bytes_s, tx_peak_bytes_s; /* of one look */
	double retransmits_s;
	double tx_step_bytes, retransmits_step; /* in a step alone: telemetry_begin() */
	double link_bytes_s;
	int32_t link_from; /* enum host_link_from */
	int32_t n_gpus;
	char interface[HOST_INTERFACE_MAX];
	char trouble[200]; /* of GPUs that should be seen and are not; "" */
};

struct host_watch;

/*
 * network, workspace: as in telemetry.h. NULL: failure, for lack of memory. That no interface
 * is in network leaves the network unknown and is told by host_watch_trouble().
 */
struct host_watch *host_watch_open(const struct host_roots *roots, const char *network,
				   const char *workspace, struct err *e);
void host_watch_sample(struct host_watch *w, double at);

/* How many GPUs were written; each with means of its rates and all reasons of low clocks seen. */
int host_watch_collect(struct host_watch *w, struct host_report *report, struct host_gpu *gpus,
		       int room);
/* The counters of its interface now; by any thread. */
void host_watch_sent(const struct host_watch *w, struct host_net_sent *now);
const char *host_watch_trouble(const struct host_watch *w); /* "": none */
void host_watch_free(struct host_watch *w);		    /* may be NULL */

/* All unknown. */
void host_report_clear(struct host_report *r);

#endif
