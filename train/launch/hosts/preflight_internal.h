/*
 * preflight_internal.h - parts of the preflight check, declared here so that tests can call them.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_HOSTS_PREFLIGHT_INTERNAL_H
#define WERKBANK_TRAIN_LAUNCH_HOSTS_PREFLIGHT_INTERNAL_H

#include "share/base/json.h"
#include "train/launch/hosts/preflight.h"

/* Input of the comparison; all borrowed. */
struct preflight_facts {
	const struct preflight_options *how;
	const struct json *local_facts;	   /* of this machine */
	const struct json *const *by_host; /* (n) of each host; NULL: no answer */
};

/* Append a finding; a long text is cut. Without memory the finding is lost. */
void preflight_add_finding(struct preflight_host *h, enum finding_level level, const char *what,
			   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* preflight_compare.c: compare build, MPI, GPUs, disk, corpus… of all hosts that answered. */
void preflight_compare_hosts(struct preflight_check *p, const struct preflight_facts *f);

/*
 * preflight_network.c: set the network and each host's interface and address; add findings about
 * host names and routes.
 */
void preflight_find_network(struct preflight_check *p, const struct preflight_facts *f);

/*
 * The hosts that host i connects to in the port test: those after it in the list, cyclically. Only
 * hosts with an address take part. Writes at most max indices to `to` and returns their number.
 */
size_t preflight_connect_peers(const struct preflight_check *p, size_t i, size_t *to, size_t max);

#define PREFLIGHT_MAX_PEERS 16 /* connections from each host in the port test */

#endif
