/*
 * telemetry.h - measurements of ranks and hosts for the journal of a run.
 *
 * Every rank adds up the times of its steps. The first rank of each host also samples the host:
 * processors, memory, disk, network, GPUs. When a report is due, the first rank gathers all
 * measurements and writes the records "rank", "host" and "verdict" (share/workspace/journal.h).
 *
 *	struct telemetry *t = telemetry_open(&how, comm, e);	collective
 *	telemetry_begin(t); … telemetry_step(t, &times);	before and after each step, every rank
 *	telemetry_pause(t);					before saving or evaluating
 *	if (telemetry_due(t)) …					first rank, which tells the others
 *	telemetry_report(t, step, journal, e);			collective
 *	telemetry_free(t);
 */
#ifndef WERKBANK_TRAIN_WATCH_TELEMETRY_H
#define WERKBANK_TRAIN_WATCH_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/workspace/journal.h"
#include "train/comm/comm.h"
#include "train/watch/link_measure.h"

/* One optimizer step of one rank: seconds of the wall clock, and bytes. */
struct step_times {
	double input;	   /* waiting for batches */
	double compute;	   /* forward and backward pass */
	double exposed;	   /* waiting for reductions after the backward pass */
	double wait;	   /* part of exposed: until the slowest rank began its reduction */
	double update;	   /* norm, clipping, optimizer */
	double step;	   /* the whole step */
	double transfer;   /* reductions under way, hidden by the backward pass or not */
	double sent_bytes; /* payload sent to other ranks, after compression */
	double wire_ratio; /* sent bytes for a byte of fp32: 1, 0.5, 1/4, 1/16, 1/32 */
};

struct telemetry_options {
	double every_s;		  /* seconds between reports; 0: no telemetry */
	const char *network;	  /* borrowed: CIDR or interface between hosts; NULL: chosen */
	const char *workspace;	  /* borrowed: the free space of its file system is reported */
	double gradient_bytes;	  /* of one reduction, as fp32; predictions start from it */
	int64_t local_steps;	  /* steps between two reductions; 0, 1: each step reduces */
	double buckets;		  /* of one reduction; 0: unknown */
	struct link_measure link; /* the network between the hosts at the start */
};

struct telemetry;

/* Borrows comm. NULL: failure. */
struct telemetry *telemetry_open(const struct telemetry_options *how, struct comm *comm,
				 struct err *e);
/* A step begins: count the bytes of the network interface from now on. */
void telemetry_begin(struct telemetry *t);
/* Stop counting these bytes, until the next telemetry_begin(). */
void telemetry_pause(struct telemetry *t);
/* Add the times of a step. */
void telemetry_step(struct telemetry *t, const struct step_times *times);
/* First rank: is a report due? Other ranks: false. */
bool telemetry_due(struct telemetry *t);
/* Collective: gather and write the records. journal: of the first rank; NULL: don't write. */
int telemetry_report(struct telemetry *t, int64_t step, struct journal *journal, struct err *e);
void telemetry_free(struct telemetry *t); /* may be NULL */

#endif
