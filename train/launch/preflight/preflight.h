/*
 * preflight.h - can a training start on these hosts? The check before a start.
 *
 * Every host runs "werkbank-launch _probe" (same path on all hosts) and answers with facts as JSON.
 * The check compares the facts: ssh without a prompt, same build, same Open MPI, GPUs and memory
 * for the slots, one network between the hosts, same corpus, disk space, clocks, open ports.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_PREFLIGHT_PREFLIGHT_H
#define WERKBANK_TRAIN_LAUNCH_PREFLIGHT_PREFLIGHT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/launch/remote/hosts.h"

struct preflight_options {
	const char *ssh;       /* borrowed */
	bool srun;	       /* ask with Slurm's srun instead of ssh */
	const char *workspace; /* borrowed; NULL: do not check disk space and corpus */
	const char *corpus;    /* borrowed: name, must be the same on all hosts; NULL: none */
	const char *network;   /* borrowed: CIDR or interface; NULL: find it */
	double deadline_s;     /* for each host, for each of the two rounds of questions */
	bool quiet;	       /* no progress on standard error */
};

enum finding_level { FINDING_OK, FINDING_WARNING, FINDING_ERROR };

/* One line about one host: what is wrong, and what to do. */
struct finding {
	enum finding_level level;
	char what[24]; /* topic: ssh, build, mpi, gpu, network, corpus… */
	char text[400];
};

struct preflight_host {
	const struct host *host;		/* borrowed from the list */
	bool alive;				/* it answered the first question */
	char interface[32], address[64];	/* on the network between the hosts; "" */
	int64_t cores, memory, disk_free, gpus; /* memory and disk in bytes; -1: unknown */
	double clock_skew_s;			/* its clock minus the clock of this host */
	double seconds;				/* until its answer was complete */
	double login_s;				/* part of them before the host began to answer */
	struct finding *findings;		/* owned */
	size_t n_findings;
};

struct preflight_check {
	struct preflight_host *hosts; /* owned: (n), in the order of the list */
	size_t n;
	char network[64]; /* CIDR that contains all addresses; "": not found */
	double latency_s; /* of a message, one way, the longest of all pairs; 0: unknown */
	enum finding_level worst;
};

/* The options that the command line c asks for; borrows its texts. workspace: absolute path. */
struct preflight_options preflight_options_of(const struct conf *c, const char *workspace);

/*
 * Check the hosts; the list must outlive the result. The fault of a host is a finding, not an
 * error. After success call preflight_free().
 */
int preflight_run(struct preflight_check *p, const struct hosts *h,
		  const struct preflight_options *how, struct err *e);
void preflight_free(struct preflight_check *p);

/* Print a table, the findings and a verdict to out; or one JSON document to standard output. */
void preflight_print(const struct preflight_check *p, FILE *out);
int preflight_print_json(const struct preflight_check *p, struct err *e);

#endif
