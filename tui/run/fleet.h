/*
 * fleet.h - hosts, GPUs and ranks of a run, as reported in its journal.
 *
 * Part of struct run_history, which fills it from the records "host", "rank" and "verdict".
 * Memory grows with the hosts (2,000 hosts of 8 GPUs: 58 MB) up to FLEET_HOSTS hosts of FLEET_GPUS
 * GPUs and FLEET_RANKS ranks, which no real run reaches: a journal can come from anywhere. Records
 * beyond are counted in left_out, which the view shows. Unknown values are NaN, -1 or "", never 0.
 *
 * Drivers report a GPU as busy while its kernels spin in a collective operation. So
 * "working" is computed: the driver's utilisation times the share of the step in which the
 * rank of that GPU computed.
 */
#ifndef WERKBANK_TUI_RUN_FLEET_H
#define WERKBANK_TUI_RUN_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "tui/plot/series.h"

#define FLEET_HOSTS 16384
#define FLEET_GPUS  32 /* GPUs per host */
#define FLEET_RANKS 131072
#define FLEET_TRAIL 128 /* columns of a trail, even */
#define FLEET_NAME  64
#define FLEET_LATE  1.2 /* late: compute time above this many medians; as train/watch/telemetry.h */

#define FLEET_UNKNOWN 255

/*
 * A share (0..1) over the whole run in FLEET_TRAIL bytes: 0..250 for 0..1, or FLEET_UNKNOWN. When
 * the bytes are full, neighbours are merged pairwise. All trails of a host have fleet_host.columns
 * columns.
 */
struct fleet_trail {
	uint8_t share[FLEET_TRAIL];
};

struct fleet_gpu {
	int index;
	bool lost, mig;
	char name[40], throttle[48];
	double util;			  /* 0..1, from the driver */
	double memory_used, memory_total; /* bytes */
	double power_w, power_limit_w;
	double temperature_c;
	double sm_mhz, sm_max_mhz;
	double pcie_tx_bytes_s, pcie_rx_bytes_s, nvlink_tx_bytes_s, nvlink_rx_bytes_s;
	double ecc_corrected, ecc_uncorrected; /* memory errors since the driver was loaded */
	/* private to fleet_events.c: at the last record; corrected also since when, and last event */
	double last_uncorrected, last_corrected, base_corrected, told_corrected;
	struct fleet_trail working, power;
};

struct fleet_rank {
	bool known;
	int host; /* index into fleet.hosts; -1: unknown */
	int next; /* next rank of the same host; -1: none */
	double t; /* unix seconds of the record */
	double step_s, input_s, compute_s, exposed_s, wait_s, update_s, sent_bytes;
	int64_t round; /* fleet.rounds when the record came */
};

/* What hosts are compared by; see fleet_health.h. */
enum fleet_trait {
	TRAIT_PACE,	   /* compute time of the slowest rank, in medians of all ranks */
	TRAIT_CLOCK,	   /* MHz of the slowest busy GPU */
	TRAIT_TEMPERATURE, /* degrees Celsius of the hottest GPU */
	TRAIT_LINK,	   /* bytes per second of the link, from its driver or measured */
	TRAIT_RESENT,	   /* retransmissions per second */
	FLEET_TRAITS
};

#define FLEET_WINDOW 8 /* latest rounds that are compared */

/* How a host differs from the others, the gravest last. */
enum fleet_oddity { HOST_LIKE_OTHERS, HOST_ODD, HOST_LATE, HOST_BROKEN };

struct fleet_finding {
	enum fleet_oddity oddity;
	double score;	/* larger: further from the others */
	char text[200]; /* why, in words; "" for HOST_LIKE_OTHERS */
};

struct fleet_host {
	char name[FLEET_NAME], interface[24], link_from[12];
	bool present;	/* reported since the last start */
	double t;	/* unix seconds of the last record */
	int64_t step;	/* step of the last record */
	int64_t ranks;	/* number of ranks on the host */
	int first_rank; /* lowest known rank; -1: none */
	double cpu, load, waits_cpu, waits_io, waits_memory;
	double memory_used, memory_total, disk_free, disk_read_bytes_s, disk_write_bytes_s;
	double rx_bytes_s, tx_bytes_s, rx_peak_bytes_s, tx_peak_bytes_s, link_bytes_s;
	double retransmits_s;
	struct fleet_gpu *gpus; /* owned, in the order of the record */
	size_t n_gpus, cap_gpus;
	/*
	 * over steps: bit/s, shares of all CPUs, computed work and driver utilisation (of GPUs,
	 * else of CPUs), W, retransmissions per second
	 */
	struct series rx, tx, processors, working, busy, power, retransmits;
	uint32_t columns, rounds_a_column, rounds_in_last; /* of the trails */
	/* private to fleet_health.c: the latest rounds of this attempt, a ring; NaN: unknown */
	float recent[FLEET_TRAITS][FLEET_WINDOW];
	int rounds;		      /* rounds of this attempt */
	struct fleet_finding finding; /* by fleet_update_derived() */
	/* private to fleet_events.c: what was so at the last record */
	bool is_throttled, is_late, is_gone, was_present, had_interface;
	int cool_rounds, lost_gpus;
	double last_link;
	bool is_link_lost;
};

/* Whether hosts could be compared. */
enum fleet_comparison { FLEET_COMPARED, FLEET_ONE_HOST, FLEET_TOO_FEW_ROUNDS };

/* What happened to a host; see fleet_events.h. */
enum fleet_event_kind {
	EVENT_THROTTLED,
	EVENT_UNTHROTTLED,
	EVENT_LATE,
	EVENT_IN_TIME,
	EVENT_GPU_LOST,
	EVENT_ECC,
	EVENT_ECC_CORRECTED,
	EVENT_LINK,
	EVENT_LINK_FASTER,
	EVENT_GONE,
	EVENT_BACK,
	EVENT_RESTART,
	EVENT_WARNING,
	FLEET_EVENT_KINDS
};

#define FLEET_EVENTS 256

struct fleet_event {
	double t; /* unix seconds */
	int host; /* index into fleet.hosts; -1: all hosts */
	enum fleet_event_kind kind;
	char text[120];
};

struct fleet_verdict {
	double t; /* unix seconds; NaN: no verdict yet */
	int64_t step;
	char network[16], text[240];
	double exposed_share, predicted_bytes, observed_bytes, busbw_bytes_s, link_bytes_s;
	int64_t late_rank;
	char late_host[FLEET_NAME];
};

struct fleet {
	struct fleet_host *hosts; /* owned, in natural order: n2 before n10 */
	size_t n_hosts, cap_hosts;
	struct fleet_rank *ranks; /* owned, indexed by rank */
	size_t n_ranks, cap_ranks;
	struct fleet_verdict verdict;
	int64_t left_out;      /* records dropped for lack of room */
	double median_compute; /* of the known ranks, by fleet_update_derived(); NaN: unknown */
	/* a ring, see fleet_event_at(); the first and the latest report, unix seconds */
	struct fleet_event events[FLEET_EVENTS];
	size_t first_event, n_events;
	double first_t, last_t;
	int64_t rounds; /* of reports: each ends with a verdict */
	/* by fleet_update_derived(): owned (n_hosts) indices of hosts, odd ones first */
	int *odd_first;
	size_t cap_odd_first;
	size_t n_odd;
	size_t n_uncompared; /* hosts whose kind of GPU is one too many to compare */
	enum fleet_comparison comparison;
	size_t recent;	  /* private: index of the last host found */
	double *order;	  /* private: owned, scratch (cap_order) for sorting */
	size_t cap_order; /* private: never below n_ranks */
};

/* An empty fleet; everything is unknown. */
void fleet_init(struct fleet *f);
void fleet_free(struct fleet *f); /* leaves an empty, usable fleet */

/* Add one record of each kind. Any JSON object is safe: unknown members are ignored. ERR_NOMEM. */
struct json;
int fleet_add_host_record(struct fleet *f, const struct json *record, double t, int64_t step,
			  struct err *e);
int fleet_add_rank_record(struct fleet *f, const struct json *record, double t, struct err *e);
void fleet_set_verdict(struct fleet *f, const struct json *record, double t, int64_t step);

/* Compute the values that depend on all records; call it after adding records. */
void fleet_update_derived(struct fleet *f);

/* A new attempt starts at t: forget which ranks and hosts are present. */
void fleet_begin_attempt(struct fleet *f, double t);

/* Remove samples from step on: they will be repeated. */
void fleet_truncate(struct fleet *f, double step);

/* ---- derived values ---- */

/* Shares of the time of a step; their sum is at most 1. NaN: unknown. */
struct fleet_time_split {
	double compute, update; /* computing and updating */
	double late, transfer;	/* waiting for the slowest rank, for the network */
	double input;		/* waiting for a batch */
};
struct fleet_time_split fleet_rank_time_split(const struct fleet_rank *r);

/* Mean over the known ranks of a host (-1: of all hosts). */
struct fleet_time_split fleet_host_time_split(const struct fleet *f, int host);

/*
 * For each GPU of a host, the share of the step in which its rank computes. GPU i takes the i-th
 * rank if the host has as many known ranks as GPUs, else the mean of the host. NaN: unknown.
 */
void fleet_gpu_work(const struct fleet *f, int host, double work[FLEET_GPUS]);

/*
 * Compute time of a rank, or of the slowest rank of a host, divided by the median of all ranks;
 * NaN: unknown, or the rank has not reported in the last round. (Of very many ranks only the first
 * of each host and the late ones report.)
 */
double fleet_rank_slowdown(const struct fleet *f, size_t rank);
double fleet_host_slowdown(const struct fleet *f, int host, int64_t *slowest);

/* Sums over the GPUs of a host; NaN if unknown. */
double fleet_host_power(const struct fleet_host *h);
double fleet_host_util(const struct fleet_host *h);

/* Share of the link's bandwidth used by the busier direction; NaN: unknown. */
double fleet_link_share(const struct fleet_host *h);

#endif
