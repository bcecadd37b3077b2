/* hosts_query.h - run "werkbank-launch _probe" on many hosts and parse the answers. */
#ifndef WERKBANK_TRAIN_LAUNCH_REMOTE_HOSTS_QUERY_H
#define WERKBANK_TRAIN_LAUNCH_REMOTE_HOSTS_QUERY_H

#include <stdbool.h>

#include "share/format/json.h"
#include "train/launch/remote/hosts.h"
#include "train/launch/remote/remote.h"

/* The answers of hosts 0 … n-1. */
struct hosts_answers {
	size_t n;
	struct remote_job *jobs; /* owned: (n) */
	struct json **by_host;	 /* owned: (n); NULL: that host did not answer */
	char (*trouble)[400];	 /* owned: (n); why not, and what to do; "" if it was not asked */
};

/* Appends the request to host i (JSON, see probe.h). A host with an empty request is not asked. */
typedef void hosts_request_fn(const void *context, size_t i, struct buf *out);

/*
 * Send a request to each host. The answer of a host that is not asked is NULL and its trouble "".
 * Returns 0 also if no host answers. Call hosts_answers_free() in any case.
 */
int hosts_query(struct hosts_answers *a, const struct hosts *h, hosts_request_fn *write_request,
		const void *context, const struct remote_options *how, struct err *e);
void hosts_answers_free(struct hosts_answers *a);

/*
 * Parse the answer in a job's output; owned by the caller, NULL: none. *noisy: there is text before
 * the answer, because a login script prints something even without a terminal.
 */
struct json *hosts_find_answer(const struct remote_job *job, bool *noisy);

#endif
