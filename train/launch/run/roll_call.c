/* roll_call.c - see roll_call.h */
#include "train/launch/run/roll_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "train/launch/hosts/remote.h"

static int copy_selected_hosts(struct hosts *to, const struct hosts *from, const bool *wanted,
			       struct err *e)
{
	int code = 0;

	hosts_free(to);
	*to = (struct hosts){ 0 };
	for (size_t i = 0; !code && from && i < from->n; i++)
		if (!wanted || wanted[i])
			code = hosts_add(to, from->all[i].name, from->all[i].slots,
					 from->all[i].port, e);
	return code;
}

int roll_call_open(struct roll_call *m, const struct attempts *a, struct err *e)
{
	*m = (struct roll_call){ .a = a };
	return copy_selected_hosts(&m->hosts, a->hosts, NULL, e);
}

void roll_call_close(struct roll_call *m)
{
	hosts_free(&m->hosts);
}

/* "b, c and 3 more" of the hosts that are not there. */
static void list_missing_hosts(const struct hosts *h, const bool *there, char *out, size_t size)
{
	size_t missing = 0, named = 0, used = 0;

	for (size_t i = 0; i < h->n; i++)
		missing += !there[i];
	for (size_t i = 0; i < h->n && named < 3; i++)
		if (!there[i]) {
			used += (size_t)snprintf(out + used, size - used, "%s%.40s",
						 named ? ", " : "", h->all[i].name);
			named++;
		}
	if (missing > named)
		snprintf(out + used, size - used, " and %zu more", missing - named);
}

/* Fill there[] by asking each host for nothing but an answer. */
static int query_hosts_alive(const struct roll_call *m, bool *there, struct err *e)
{
	static const char *const nothing[] = { "true", NULL };
	const struct hosts *all = m->a->hosts;
	const struct remote_options how = { .ssh = m->a->conf->ssh,
					    .deadline_s = m->a->conf->deadline };
	struct remote_job *jobs = mem_alloc(all->n, sizeof(*jobs), e);
	int code = jobs ? 0 : e->code;

	for (size_t i = 0; !code && i < all->n; i++) {
		jobs[i].host = &all->all[i];
		jobs[i].argv = nothing;
	}
	if (!code)
		code = remote_run(jobs, all->n, &how, e);
	for (size_t i = 0; !code && i < all->n; i++)
		there[i] = jobs[i].status == 0;
	if (jobs)
		remote_free(jobs, all->n);
	free(jobs);
	return code;
}

enum roll_call_answer roll_call_query(struct roll_call *m, char said[300])
{
	const struct hosts *all = m->a->hosts;
	char missing[200] = "";
	size_t n = 0, before = m->hosts.n;
	bool *there;
	struct err e = { 0 };
	int code;

	said[0] = 0;
	if (!all || !all->n)
		return ROLL_CALL_READY;
	there = mem_alloc(all->n, sizeof(*there), &e);
	code = there ? query_hosts_alive(m, there, &e) : e.code;
	for (size_t i = 0; !code && i < all->n; i++)
		n += there[i];
	if (!code && n < all->n)
		list_missing_hosts(all, there, missing, sizeof(missing));
	if (code)
		snprintf(said, 300, "hosts cannot be asked: %.200s", e.text);
	else if (n < all->n && (!m->a->conf->elastic || !n))
		snprintf(said, 300, "waiting for %s to answer again%s", missing,
			 m->a->conf->elastic ? "" : " (--elastic would go on without)");
	else if (n < all->n)
		snprintf(said, 300, "going on without %s: %zu of %zu hosts", missing, n, all->n);
	else if (n > before)
		snprintf(said, 300, "all %zu hosts are there again", n);
	if (!code && (n == all->n || (m->a->conf->elastic && n)))
		code = copy_selected_hosts(&m->hosts, all, there, &e);
	else
		code = ERR_TEMPFAIL;
	free(there);
	return code ? ROLL_CALL_WAIT : ROLL_CALL_READY;
}
