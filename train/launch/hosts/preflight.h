/*
 * preflight.h - may a training start on these hosts? Asks all of them at once.
 *
 * On each host "werkbank-launch _probe" of the same path tells facts as JSON; here they are
 * compared: reachable without a prompt, the same build, the same Open MPI, CUDA
 * and NCCL, GPUs there for its slots, the network between them found from the routes,
 * the same corpus, room on the disk, clocks that agree, ports.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_HOSTS_PREFLIGHT_H
#define WERKBANK_TRAIN_LAUNCH_HOSTS_PREFLIGHT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "share/base/err.h"
#include "train/launch/hosts/hosts.h"

struct preflight_options {
	const char *ssh;       /* borrowed */
	const char *workspace; /* borrowed; NULL: not looked at */
	const char *corpus;    /* borrowed: must be the same everywhere; NULL: none */
	const char *network;   /* borrowed: CIDR or interface; NULL: found */
	double deadline_s;
};

enum finding_level { FINDING_OK, FINDING_WARNING, FINDING_ERROR };

/* One line about one host: what is wrong and its cure. */
struct finding {
	enum finding_level level;
	char what[24]; /* ssh, build, mpi, gpu, network, corpus… */
	char text[400];
};

struct preflight_host {
	const struct host *host;		/* borrowed from the list */
	bool alive;				/* it answered */
	char interface[32], address[64];	/* on the network between the hosts */
	int64_t cores, memory, disk_free, gpus; /* -1: unknown */
	double clock_skew_s, seconds;		/* against this host; to answer */
	struct finding *findings;		/* owned */
	size_t n_findings;
};

struct preflight_check {
	struct preflight_host *hosts; /* owned: in the order of the list */
	size_t n;
	char network[64]; /* CIDR of all addresses; "": none found */
	enum finding_level worst;
};

/* The hosts must outlive the result. A broken host is a finding, not an error. preflight_free(). */
int preflight_run(struct preflight_check *p, const struct hosts *h,
		  const struct preflight_options *how, struct err *e);
void preflight_free(struct preflight_check *p);

/* The table and the verdict; or one JSON document. */
void preflight_print(const struct preflight_check *p, FILE *out);
int preflight_print_json(const struct preflight_check *p, FILE *out, struct err *e);

#endif
