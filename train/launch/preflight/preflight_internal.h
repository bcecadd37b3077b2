/*
 * preflight_internal.h - parts of the preflight check, declared here so that tests can call them.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_PREFLIGHT_PREFLIGHT_INTERNAL_H
#define WERKBANK_TRAIN_LAUNCH_PREFLIGHT_PREFLIGHT_INTERNAL_H

#include "share/format/json.h"
#include "train/launch/preflight/preflight.h"
#include "train/launch/remote/remote.h"

/* Input of the comparison; all borrowed. */
struct preflight_facts {
	const struct preflight_options *how;
	const struct json *local_facts;	   /* of this machine */
	const struct json *const *by_host; /* (n) of each host; NULL: no answer */
};

/* Append a finding; a long text is cut. Without memory the finding is lost. */
void preflight_add_finding(struct preflight_host *h, enum finding_level level, const char *what,
			   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* what: the topic; then a text of printf(), one sentence. */
#define add_error(h, what, ...)	  preflight_add_finding(h, FINDING_ERROR, what, __VA_ARGS__)
#define add_warning(h, what, ...) preflight_add_finding(h, FINDING_WARNING, what, __VA_ARGS__)

/* preflight_compare.c: compare build, MPI, GPUs, disk, corpus… of all hosts that answered. */
void preflight_compare_hosts(struct preflight_check *p, const struct preflight_facts *f);

/*
 * preflight_network.c: set the network and each host's interface and address; add findings about
 * host names and routes.
 */
void preflight_find_network(struct preflight_check *p, const struct preflight_facts *f);

#define PREFLIGHT_TOGETHER  128 /* hosts that are asked at the same time */
#define PREFLIGHT_MAX_PEERS 16	/* connections from each host in the port test */

/* The two rounds of questions: facts, then the port test. */
struct preflight_query {
	const struct hosts *hosts;	     /* borrowed */
	const struct preflight_options *how; /* borrowed */
	char *launcher;		  /* owned: path of werkbank-launch, the same on all hosts */
	struct remote_job *jobs;  /* owned: (n) */
	struct json **facts;	  /* owned: (n) */
	struct json *local_facts; /* owned */
	const char *argv[3];
};

/* preflight_ports.c: hosts connect to each other, all of a group at the same time. */
int preflight_test_ports(struct preflight_check *p, struct preflight_query *q, struct err *e);

/*
 * The hosts that host i connects to in the port test: those after it in its group, cyclically. Only
 * hosts with an address take part. Writes at most max indices to `to` and returns their number.
 */
size_t preflight_connect_peers(const struct preflight_check *p, size_t i, size_t *to, size_t max);

/*
 * Seconds that host i listens: long enough that the slowest login of the group does not end it
 * early, short enough to end before the deadline. slowest_s: the slowest login of the group.
 */
double preflight_listen_time(double login_s, double slowest_s, double deadline_s);

/* One host's part of the port test. */
struct preflight_port_test {
	struct json *answer;   /* owned; NULL: none */
	double begin_s, end_s; /* it listened, by the clock of this host; NAN: unknown */
};

/* Add the findings about the connections of host i; tests: (n), of all hosts. */
void preflight_judge_ports(struct preflight_check *p, size_t i,
			   const struct preflight_port_test *tests, struct json *const *facts);

#endif
