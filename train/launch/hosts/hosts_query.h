/* hosts_query.h - ask "werkbank-launch _probe" of many hosts, and read what they answer. */
#ifndef WERKBANK_TRAIN_LAUNCH_HOSTS_HOSTS_QUERY_H
#define WERKBANK_TRAIN_LAUNCH_HOSTS_HOSTS_QUERY_H

#include <stdbool.h>

#include "share/base/json.h"
#include "train/launch/hosts/hosts.h"
#include "train/launch/hosts/remote.h"

/* What came back from hosts 0 … n-1. */
struct hosts_answers {
	size_t n;
	struct remote_job *jobs; /* owned: (n) */
	struct json **by_host;	 /* owned: (n); NULL: that host did not answer … */
	char (*trouble)[400];	 /* owned: (n) … for this reason, with its cure */
};

/*
 * Ask host i what requests[i] says (JSON, see probe.h); one that is empty is not asked, and
 * its answer is NULL without trouble. 0 also when no host answers. hosts_answers_free() in any case.
 */
int hosts_query(struct hosts_answers *a, const struct hosts *h, const struct buf *requests,
		const struct remote_options *how, struct err *e);
void hosts_answers_free(struct hosts_answers *a);

/*
 * The answer in what a host wrote, owned by the caller; NULL: none. Login scripts of some people
 * print a greeting even without a terminal: then *noisy.
 */
struct json *hosts_find_answer(const struct remote_job *job, bool *noisy);

#endif
