/*
 * fleet.h - the hosts, graphics processors and ranks of a run, as its journal tells them.
 *
 * Part of a history (run_history.h), which fills it from the records "host", "rank"
 * and "verdict". Memory is bounded: FLEET_HOSTS hosts of FLEET_GPUS processors,
 * FLEET_RANKS ranks; what is beyond is counted in left_out. What is not known is
 * NaN, -1 or "", never 0.
 *
 * A processor that waits for others is busy to every monitor: the kernel that
 * waits spins. Ranks tell how long they compute and how long they wait, so
 * "working" is here the utilisation times the share of the step in which the
 * rank of that processor did work of its own.
 */
#ifndef WERKBANK_TUI_RUN_FLEET_H
#define WERKBANK_TUI_RUN_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "tui/plot/series.h"

#define FLEET_HOSTS 1024
#define FLEET_GPUS  32 /* of a host */
#define FLEET_RANKS 8192
#define FLEET_TRAIL 128 /* columns of a trail, even */
#define FLEET_NAME  64
#define FLEET_LATE  1.2 /* times the median compute time: late (as train/watch/telemetry.h) */

#define FLEET_UNKNOWN 255

/*
 * A share (0..1) over the whole run in FLEET_TRAIL bytes, 0..250 for 0..1 and FLEET_UNKNOWN: when
 * they are full, neighbours are joined two by two. Columns are those of the host: fleet_host.columns.
 */
struct fleet_trail {
	uint8_t share[FLEET_TRAIL];
};

struct fleet_gpu {
	int index;
	bool lost, mig;
	char name[40], throttle[48];
	double util;			  /* 0..1, as the driver says */
	double memory_used, memory_total; /* bytes */
	double power_w, power_limit_w;
	double temperature_c;
	double sm_mhz, sm_max_mhz;
	double pcie_tx_bytes_s, pcie_rx_bytes_s, nvlink_tx_bytes_s, nvlink_rx_bytes_s;
	struct fleet_trail working, power;
};

struct fleet_rank {
	bool known;
	int host; /* which of fleet.hosts; -1: not known */
	int next; /* the next rank of that host; -1: none */
	double t; /* unix seconds of the record */
	double step_s, input_s, compute_s, exposed_s, wait_s, update_s, sent_bytes;
};

struct fleet_host {
	char name[FLEET_NAME], interface[24], link_from[12];
	bool present;	/* heard of since the last start */
	double t;	/* unix seconds of the last record */
	int64_t step;	/* of it */
	int64_t ranks;	/* how many are there */
	int first_rank; /* the least that is known there; -1: none */
	double cpu, load, waits_cpu, waits_io, waits_memory;
	double memory_used, memory_total, disk_free, disk_read_bytes_s, disk_write_bytes_s;
	double rx_bytes_s, tx_bytes_s, rx_peak_bytes_s, tx_peak_bytes_s, link_bytes_s;
	double retransmits_s;
	struct fleet_gpu *gpus; /* owned, in the order of the record */
	size_t n_gpus, cap_gpus;
	/* over steps: bit/s, shares of all processors, of work and of what the driver calls busy
	 * (GPUs, else processors), W, 1/s */
	struct series rx, tx, processors, working, busy, power, retransmits;
	uint32_t columns, rounds_a_column, rounds_in_last; /* of the trails */
};

struct fleet_verdict {
	double t; /* NaN: there was none */
	int64_t step;
	char network[16], text[240];
	double exposed_share, predicted_bytes, observed_bytes, busbw_bytes_s, link_bytes_s;
	int64_t late_rank;
	char late_host[FLEET_NAME];
};

struct fleet {
	struct fleet_host *hosts; /* owned, sorted by name as people count: n2 before n10 */
	size_t n_hosts, cap_hosts;
	struct fleet_rank *ranks; /* owned, by number */
	size_t n_ranks, cap_ranks;
	struct fleet_verdict verdict;
	int64_t left_out;      /* records of what there was no room for */
	double median_compute; /* of the known ranks, by fleet_update_derived(); NaN: not known */
	size_t recent;	       /* private: the host that was asked for last */
	double *order;	       /* private: owned, room to sort as many as cap_ranks */
};

void fleet_init(struct fleet *f);
void fleet_free(struct fleet *f); /* it is then empty, and may be filled again */

/* Take in a record of each kind, from outside: any JSON object will do. */
struct json;
int fleet_add_host_record(struct fleet *f, const struct json *record, double t, int64_t step,
			  struct err *e);
int fleet_add_rank_record(struct fleet *f, const struct json *record, double t, struct err *e);
void fleet_set_verdict(struct fleet *f, const struct json *record, double t, int64_t step);

/* After records were taken in, before anybody asks: what depends on all of them. */
void fleet_update_derived(struct fleet *f);

/* A new attempt: ranks may be elsewhere now, hosts may be gone. */
void fleet_begin_attempt(struct fleet *f);

/* Steps from here on are done again. */
void fleet_truncate(struct fleet *f, double step);

/* ---- what follows from it ---- */

/* Where the time of a step goes; shares of step_s that sum to 1 at most. NaN: not known. */
struct fleet_time_split {
	double compute, update; /* work */
	double late, transfer;	/* waiting for the slowest rank, for the network */
	double input;		/* waiting for a batch */
};
struct fleet_time_split fleet_rank_time_split(const struct fleet_rank *r);

/* Mean over the known ranks of a host (-1: of all). */
struct fleet_time_split fleet_host_time_split(const struct fleet *f, int host);

/*
 * Shares of the step in which the ranks of a host's processors work: the i-th rank's for the i-th
 * when the host has as many known ranks as processors, else the mean of the host for all. NaN: not
 * known.
 */
void fleet_gpu_work(const struct fleet *f, int host, double work[FLEET_GPUS]);

/* Compute time of a rank, or of the slowest of a host, in medians of all ranks; NaN: not known. */
double fleet_rank_slowdown(const struct fleet *f, size_t rank);
double fleet_host_slowdown(const struct fleet *f, int host, int64_t *slowest);

/* Sums and means over the processors of a host: NaN where nobody knows. */
double fleet_host_power(const struct fleet_host *h);
double fleet_host_power_limit(const struct fleet_host *h);
double fleet_host_util(const struct fleet_host *h);

/* Share of the link that the busier direction takes; NaN: not known. */
double fleet_link_share(const struct fleet_host *h);

#endif
