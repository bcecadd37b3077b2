/* hosts_query.c - see hosts_query.h */
#include "train/launch/remote/hosts_query.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/workspace/paths.h"

struct json *hosts_find_answer(const struct remote_job *job, bool *noisy)
{
	const char *text = buf_text(&job->out), *at = strstr(text, "{\"werkbank\":");
	struct err ignored;

	*noisy = at && at != text;
	return at ? json_parse(at, strcspn(at, "\n"), &ignored) : NULL;
}

static void store_host_answer(struct hosts_answers *a, size_t i, const struct remote_job *job)
{
	const char *words = job->err.len ? buf_text(&job->err) : buf_text(&job->out);
	bool noisy;

	if (job->status == 0)
		a->by_host[i] = hosts_find_answer(job, &noisy);
	if (a->by_host[i])
		return;
	if (job->trouble[0])
		snprintf(a->trouble[i], sizeof(a->trouble[i]), "%s", job->trouble);
	else
		snprintf(a->trouble[i], sizeof(a->trouble[i]),
			 "%.80s on %.80s gives no answer "
			 "(status %d: %.*s)",
			 job->argv[0], job->host->name, job->status,
			 (int)MIN(strcspn(words, "\n"), 150), words);
}

int hosts_query(struct hosts_answers *a, const struct hosts *h, hosts_request_fn *write_request,
		const void *context, const struct remote_options *how, struct err *e)
{
	char *launcher = paths_program("werkbank-launch", e);
	const char *const argv[] = { launcher, "_probe", NULL };
	size_t n = 0, *who = mem_alloc(h->n, sizeof(*who), e);
	struct buf *requests = mem_alloc(h->n, sizeof(*requests), e);
	int rc;

	*a = (struct hosts_answers){ .n = h->n };
	a->jobs = mem_alloc(h->n, sizeof(*a->jobs), e);
	a->by_host = mem_alloc(h->n, sizeof(*a->by_host), e);
	a->trouble = mem_alloc(h->n, sizeof(*a->trouble), e);
	rc = launcher && who && requests && a->jobs && a->by_host && a->trouble ? 0 : e->code;
	for (size_t i = 0; !rc && i < h->n; i++) {
		write_request(context, i, &requests[i]);
		rc = buf_check(&requests[i], e);
		if (!requests[i].len)
			continue;
		a->jobs[n] = (struct remote_job){ .host = &h->all[i],
						  .argv = argv,
						  .input = requests[i].data,
						  .input_bytes = requests[i].len };
		who[n++] = i;
	}
	if (!rc)
		rc = remote_run(a->jobs, n, how, e);
	assert(n <= h->n);
	for (size_t k = 0; !rc && k < n; k++)
		store_host_answer(a, who[k], &a->jobs[k]);
	for (size_t i = 0; requests && i < h->n; i++)
		buf_free(&requests[i]);
	free(requests);
	free(who);
	free(launcher);
	return rc;
}

void hosts_answers_free(struct hosts_answers *a)
{
	for (size_t i = 0; a->by_host && i < a->n; i++)
		json_free(a->by_host[i]);
	if (a->jobs)
		remote_free(a->jobs, a->n);
	free(a->jobs);
	free(a->by_host);
	free(a->trouble);
	*a = (struct hosts_answers){ 0 };
}
