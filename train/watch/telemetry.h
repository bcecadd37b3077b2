/*
 * telemetry.h - what the hosts and the ranks of a run do, told to its journal.
 *
 * Every rank notes how long the parts of its steps took. The first rank of each
 * host also watches the host: processors, memory, disk, network, GPUs. When
 * a record is due all of it is gathered by the first rank, which writes the
 * records "rank", "host" and "verdict" of share/base/journal.h.
 *
 *	struct telemetry *t = telemetry_open(&how, comm, e);	collective
 *	telemetry_begin(t); … telemetry_step(t, &times);	before and after each step, every rank
 *	telemetry_pause(t);					what comes now is no step
 *	if (telemetry_due(t)) …					first rank; tell the others
 *	telemetry_report(t, step, journal, e);			collective
 *	telemetry_free(t);
 */
#ifndef WERKBANK_TRAIN_WATCH_TELEMETRY_H
#define WERKBANK_TRAIN_WATCH_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/base/journal.h"
#include "train/comm/comm.h"

/* One optimizer step of one rank: seconds of the wall clock, and bytes. */
struct step_times {
	double input;	   /* waiting for batches */
	double compute;	   /* forward and backward */
	double exposed;	   /* waiting for reductions after backward had ended */
	double wait;	   /* of that, until the slowest rank had come */
	double update;	   /* norm, clipping, optimizer */
	double step;	   /* all of the step: the above and what is between */
	double transfer;   /* in which reductions were under way, hidden or not */
	double sent_bytes; /* payload sent to other ranks, as it travels (compressed) */
};

struct telemetry_options {
	double every_s;	       /* between records; 0: none, and telemetry_due() is never true */
	const char *network;   /* borrowed: CIDR or interface between the hosts; NULL: found */
	const char *workspace; /* borrowed: whose file system's space is told */
	double gradient_bytes; /* of one reduction, as fp32: what predictions are made from */
	int64_t local_steps;   /* of a rank between two reductions; 0, 1: each step has one */
	double wire_ratio;     /* bytes on the wire for one such byte: 1, 0.5, 1/16, 1/32 */
};

struct telemetry;

/* NULL: failure. comm is borrowed. */
struct telemetry *telemetry_open(const struct telemetry_options *how, struct comm *comm,
				 struct err *e);
void telemetry_begin(struct telemetry *t);
void telemetry_pause(struct telemetry *t);
void telemetry_step(struct telemetry *t, const struct step_times *times);
bool telemetry_due(struct telemetry *t);
int telemetry_report(struct telemetry *t, int64_t step, struct journal *journal, struct err *e);
void telemetry_free(struct telemetry *t);

#endif
