/* preflight_internal.h - the parts of preflight.c, apart so that tests can feed them answers. */
#ifndef WERKBANK_TRAIN_LAUNCH_HOSTS_PREFLIGHT_INTERNAL_H
#define WERKBANK_TRAIN_LAUNCH_HOSTS_PREFLIGHT_INTERNAL_H

#include "share/base/json.h"
#include "train/launch/hosts/preflight.h"

/* What is known while hosts are compared; all borrowed. */
struct preflight_facts {
	const struct preflight_options *how;
	const struct json *local_facts;	   /* facts of this machine */
	const struct json *const *by_host; /* (n) of each host; NULL: it did not answer */
};

/* Note something about a host; text that does not fit is cut. No memory: it is lost. */
void preflight_add_finding(struct preflight_host *h, enum finding_level level, const char *what,
			   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* preflight_compare.c: build, MPI, GPUs, disk, corpus… of all hosts that answered. */
void preflight_compare_hosts(struct preflight_check *p, const struct preflight_facts *f);

/* preflight_find_network.c: sets network, interface and address; what is odd about names and routes. */
void preflight_find_network(struct preflight_check *p, const struct preflight_facts *f);

/*
 * The hosts that host i calls when ports are tried: its next ones in the order of the list. At
 * most max indices into to; returns how many. Only hosts with an address take part.
 */
size_t preflight_connect_peers(const struct preflight_check *p, size_t i, size_t *to, size_t max);

#define PREFLIGHT_MAX_PEERS 16 /* each host calls at most so many others */

#endif
