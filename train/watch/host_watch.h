/*
 * host_watch.h - samples processors, memory, disk, network and GPUs of a host; means for reports.
 *
 *	struct host_watch *w = host_watch_open(&roots, network, workspace, e);
 *	host_watch_sample(w, clock_mono_s());		about once a second, from one thread
 *	n = host_watch_collect(w, &report, gpus, HOST_GPUS_MAX);	from any other thread
 *	host_watch_free(w);				after the last call of both
 */
#ifndef WERKBANK_TRAIN_WATCH_HOST_WATCH_H
#define WERKBANK_TRAIN_WATCH_HOST_WATCH_H

#include "share/base/err.h"
#include "train/host/host_file.h"
#include "train/host/host_gpu.h"
#include "train/host/host_net.h"

enum host_link_from {
	HOST_LINK_UNKNOWN,
	HOST_LINK_DRIVER,   /* reported by the kernel */
	HOST_LINK_MEASURED, /* by werkbank hosts bandwidth */
	HOST_LINK_SEEN,	    /* a lower bound: the highest rate of a sample so far */
};

/*
 * Means of rates since the last report, latest values of the others; NAN: unknown. Plain data, which
 * ranks send to each other.
 */
struct host_report {
	double cpu, load;			  /* cpu: 0..1 of all processors */
	double waits_cpu, waits_io, waits_memory; /* share of time in which some task waited */
	double memory_used, memory_total;
	double disk_free, disk_read_bytes_s, disk_write_bytes_s;
	double rx_bytes_s, tx_bytes_s;
	double rx_peak_bytes_s, tx_peak_bytes_s; /* highest sample */
	double retransmits_s;
	double tx_step_bytes, retransmits_step; /* per step, during steps only: telemetry_begin() */
	double link_bytes_s;
	int32_t link_from; /* enum host_link_from */
	int32_t n_gpus;
	char interface[HOST_INTERFACE_MAX];
	char trouble[200]; /* why GPUs of this host cannot be sampled; "": they can */
};

struct host_watch;

/*
 * network, workspace: as in telemetry.h. NULL: ERR_NOMEM. If no interface is in network, the
 * network stays unknown, and host_watch_trouble() says so.
 */
struct host_watch *host_watch_open(const struct host_roots *roots, const char *network,
				   const char *workspace, struct err *e);
void host_watch_sample(struct host_watch *w, double at);

/*
 * *report = means since the last call, and gpus[] = those of up to room GPUs, with all reasons for
 * low clocks since then. Returns the number of GPUs.
 */
int host_watch_collect(struct host_watch *w, struct host_report *report, struct host_gpu *gpus,
		       int room);
/* *now = the counters of the interface. From any thread. */
void host_watch_sent(const struct host_watch *w, struct host_net_sent *now);
/* Why the network is unknown; "": it is known. Borrowed. */
const char *host_watch_trouble(const struct host_watch *w);
void host_watch_free(struct host_watch *w); /* may be NULL */

/* Set all values to unknown. */
void host_report_clear(struct host_report *r);

#endif
