/*
 * machine_signs.h - what the records of a run say about its machines: the slowest rank, the busiest
 * network interface, waiting for processors, and the time that steps spend on waiting for batches and
 * checkpoints.
 *
 * Only numbers: the thresholds are in answers_machine.c. A number that the journal lacks is NAN.
 */
#ifndef WERKBANK_EVAL_REPORT_MACHINE_SIGNS_H
#define WERKBANK_EVAL_REPORT_MACHINE_SIGNS_H

#include "eval/report/evidence.h"

#define SIGNS_SLOW_RATIO 1.2 /* a slow rank works longer than this multiple of the usual work */

/*
 * The rank that loses most time. The work of a rank in a step is waiting for batches, forward and
 * backward; the work of the others is their median.
 */
struct straggler_signs {
	size_t records;	     /* in which several ranks report the same step */
	double rank;	     /* NAN without records */
	char host[64];	     /* of this rank; "": unknown */
	double ratio;	     /* its work divided by the usual work, over all records */
	double slow_share;   /* of the records in which its ratio is above SIGNS_SLOW_RATIO */
	double lost_s;	     /* seconds a step by which its work is longer, mean */
	double lost_least_s; /* the same, less two standard errors */
	double lost_share;   /* of a step, at most 1 */
};

/* ERR_NOMEM is the only failure. */
int find_straggler_signs(struct straggler_signs *s, const struct evidence *v, struct err *e);

/* The host that sends most, over the later half of the host records. */
struct traffic_signs {
	double sent_bytes; /* in a step: mean */
	double link_bytes_s, retransmits_s;
};

/* step_s: of records without the bytes of a step, which have only a rate. ERR_NOMEM. */
int find_traffic_signs(struct traffic_signs *s, const struct evidence *v, double step_s,
		       struct err *e);

/* The host whose tasks wait most for a processor, over the later half of the host records. */
struct cpu_signs {
	size_t records; /* of this host that say how long tasks waited */
	char host[64];
	double waits;	   /* share of the time in which some task waited: mean */
	double busy;	   /* use of all processors: mean */
	double slow_share; /* of its records in which the share is above SIGNS_CPU_WAITS */
};
#define SIGNS_CPU_WAITS 0.5

/* ERR_NOMEM is the only failure. */
int find_cpu_signs(struct cpu_signs *s, const struct evidence *v, struct err *e);

struct input_signs {
	size_t records;	   /* that say how long steps waited for batches */
	double input_s;	   /* mean of the later half of the records, seconds a step */
	double share;	   /* of a step, at most 1 */
	double slow_share; /* of these records in which the share is above a tenth */
};

void find_input_signs(struct input_signs *s, const struct evidence *v);

struct save_signs {
	size_t saves;
	double seconds, bytes; /* of one checkpoint: means */
	double step_seconds;   /* of all steps */
	double share; /* of the time of all steps and checkpoints that went into checkpoints */
};

void find_save_signs(struct save_signs *s, const struct evidence *v);

#endif
