/* roll_call.c - see roll_call.h */
#include "train/launch/run/roll_call.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "train/launch/remote/launcher.h"
#include "train/launch/remote/remote.h"

#define AT_ONCE	     128 /* hosts that are asked at the same time */
#define LOGIN_FACTOR 5.0 /* a host may be this many times as slow as the slowest login before */
#define LEAST_S	     5.0 /* but it always has so long */

static int copy_selected_hosts(struct hosts *to, const struct hosts *from, const bool *wanted,
			       struct err *e)
{
	int rc = 0;

	hosts_free(to);
	*to = (struct hosts){ 0 };
	for (size_t i = 0; !rc && from && i < from->n; i++)
		if (!wanted || wanted[i])
			rc = hosts_add(to, from->all[i].name, from->all[i].slots, from->all[i].port,
				       e);
	return rc;
}

int roll_call_open(struct roll_call *r, const struct attempts *a, struct err *e)
{
	*r = (struct roll_call){ .a = a, .login_s = a->login_s };
	if (a->hosts && a->hosts->n) {
		r->left_out = mem_alloc(a->hosts->n, sizeof(*r->left_out), e);
		if (!r->left_out)
			return e->code;
	}
	return copy_selected_hosts(&r->hosts, a->hosts, NULL, e);
}

void roll_call_close(struct roll_call *r)
{
	hosts_free(&r->hosts);
	free(r->left_out);
	r->left_out = NULL;
}

void roll_call_leave_out(struct roll_call *r, const char *host)
{
	const struct host *found = r->a->hosts ? hosts_find(r->a->hosts, host) : NULL;

	if (found)
		r->left_out[found - r->a->hosts->all] = true;
}

/* Write "b, c, d and 3 more" for the hosts that did not answer. */
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

double roll_call_limit_s(const struct roll_call *r)
{
	const double most = r->a->conf->deadline;

	return r->login_s > 0 ? MIN(MAX(LOGIN_FACTOR * r->login_s, LEAST_S), most) : most;
}

/* Keep what the answers tell: the slowest login, and why the first silent host is silent. */
static void note_roll_call_answers(struct roll_call *r, const struct remote_job *jobs, size_t n)
{
	r->trouble[0] = 0;
	for (size_t i = 0; i < n; i++) {
		const struct remote_job *job = &jobs[i];

		if (job->status == 0 && !host_is_local(job->host))
			r->login_s = MAX(r->login_s, job->seconds);
		else if (job->status != 0 && !r->trouble[0])
			snprintf(r->trouble, sizeof(r->trouble), "%s",
				 job->trouble[0] ? job->trouble
						 : "its shell does not run \"true\"");
	}
}

/* Set there[i]: does host i run "true"? */
static int query_hosts_alive(struct roll_call *r, bool *there, struct err *e)
{
	static const char *const command[] = { "true", NULL };
	const struct hosts *all = r->a->hosts;
	struct remote_options how = launcher_remote_options(r->a->conf, roll_call_limit_s(r));
	struct remote_job *jobs = mem_alloc(all->n, sizeof(*jobs), e);
	int rc = jobs ? 0 : e->code;

	how.max_parallel = AT_ONCE;
	how.give_up = !(r->login_s > 0); /* nobody has ever answered: not for hours */
	how.is_cancelled = r->is_cancelled;
	how.context = r->context;
	for (size_t i = 0; !rc && i < all->n; i++) {
		jobs[i].host = &all->all[i];
		jobs[i].argv = command;
	}
	if (!rc)
		rc = remote_run(jobs, all->n, &how, e);
	for (size_t i = 0; !rc && i < all->n; i++)
		there[i] = jobs[i].status == 0 && !r->left_out[i];
	if (!rc)
		note_roll_call_answers(r, jobs, all->n);
	if (jobs)
		remote_free(jobs, all->n);
	free(jobs);
	return rc;
}

enum roll_call_answer roll_call_query(struct roll_call *r, char news[300])
{
	const struct hosts *all = r->a->hosts;
	char missing[200] = "";
	size_t n = 0, before = r->hosts.n;
	bool *there;
	struct err e = { 0 };
	int rc;

	news[0] = 0;
	if (!all || !all->n)
		return ROLL_CALL_READY;
	there = mem_alloc(all->n, sizeof(*there), &e);
	rc = there ? query_hosts_alive(r, there, &e) : e.code;
	if (!rc && r->is_cancelled && r->is_cancelled(r->context)) {
		free(there);
		return ROLL_CALL_WAIT;
	}
	for (size_t i = 0; !rc && i < all->n; i++)
		n += there[i];
	assert(n <= all->n);
	if (!rc && n < all->n)
		list_missing_hosts(all, there, missing, sizeof(missing));
	if (rc)
		snprintf(news, 300, "cannot ask the hosts: %.200s", e.text);
	else if (n < all->n && (!r->a->conf->elastic || !n))
		snprintf(news, 300, "waiting for %s to answer%s", missing,
			 r->a->conf->elastic ? "" : " (--elastic goes on without)");
	else if (n < all->n)
		snprintf(news, 300, "going on without %s: %zu of %zu hosts", missing, n, all->n);
	else if (n > before)
		snprintf(news, 300, "all %zu hosts answer again", n);
	memset(r->left_out, 0, all->n * sizeof(*r->left_out)); /* for this query only */
	if (!rc && (n == all->n || (r->a->conf->elastic && n)))
		rc = copy_selected_hosts(&r->hosts, all, there, &e);
	else
		rc = ERR_TEMPFAIL;
	free(there);
	return rc ? ROLL_CALL_WAIT : ROLL_CALL_READY;
}
