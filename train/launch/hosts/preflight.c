/* preflight.c - the questions to all hosts and their answers; see preflight.h */
#include "train/launch/hosts/preflight.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/paths.h"
#include "share/base/util.h"
#include "train/launch/hosts/hosts_query.h"
#include "train/launch/hosts/preflight_internal.h"
#include "train/launch/hosts/probe.h"
#include "train/launch/hosts/remote.h"

#define MAX_PEERS     128 /* names that each host resolves */
#define CONNECT_MAX_S 5.0 /* duration of the port test, at most */

/* ---- findings --------------------------------------------------------------- */

void preflight_add_finding(struct preflight_host *h, enum finding_level level, const char *what,
			   const char *fmt, ...)
{
	struct err lost;
	size_t cap = h->n_findings;
	struct finding *f;
	va_list ap;

	if (mem_grow(&h->findings, &cap, h->n_findings + 1, sizeof(*h->findings), &lost))
		return;
	f = &h->findings[h->n_findings++];
	*f = (struct finding){ .level = level };
	snprintf(f->what, sizeof(f->what), "%s", what);
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

/* ---- asking ------------------------------------------------------------------- */

struct preflight_query {
	const struct hosts *hosts;
	const struct preflight_options *how;
	char *launcher;		  /* owned: path of werkbank-launch, the same on all hosts */
	struct remote_job *jobs;  /* owned: (n) */
	struct json **facts;	  /* owned: (n) */
	struct json *local_facts; /* owned */
	const char *argv[3];
};

/* The request for facts; peers are the names that each host resolves and looks up routes to. */
static int write_facts_request(const struct preflight_query *q, struct buf *out, struct err *e)
{
	struct json_writer w = { .out = out };

	json_open(&w, '{');
	json_put_str(&w, "ask", "facts");
	if (q->how->workspace)
		json_put_str(&w, "workspace", q->how->workspace);
	if (q->how->workspace && q->how->corpus)
		json_put_str(&w, "corpus", q->how->corpus);
	json_key(&w, "peers");
	json_open(&w, '[');
	for (size_t i = 0; i < q->hosts->n && i < MAX_PEERS; i++)
		json_str(&w, q->hosts->all[i].name);
	json_close(&w, ']');
	json_close(&w, '}');
	return buf_check(out, e);
}

static int query_local_facts(struct preflight_query *q, const struct buf *request, struct err *e)
{
	struct json *r = json_parse(request->data, request->len, e);
	struct buf answer = { 0 };
	int rc = r ? probe_answer_request(r, &answer, e) : e->code;

	if (!rc && !(q->local_facts = json_parse(answer.data, answer.len, e)))
		rc = e->code;
	json_free(r);
	buf_free(&answer);
	return rc;
}

static void report_silent_host(struct preflight_host *h, const struct remote_job *job, bool is_srun)
{
	const char *words = job->err.len ? buf_text(&job->err) : buf_text(&job->out);

	if (job->trouble[0])
		preflight_add_finding(h, FINDING_ERROR,
				      job->status == 127 ? "build"
				      : is_srun		 ? "slurm"
							 : "ssh",
				      "%s", job->trouble);
	else if (strstr(words, "account is")) /* the words of nologin */
		preflight_add_finding(
			h, FINDING_ERROR, "ssh",
			"%s lets this account log in but not run programs (\"%.*s\"): "
			"its shell there is nologin; the administrator of the host "
			"can set another one",
			h->host->name, (int)MIN(strcspn(words, "\n"), 120), words);
	else
		preflight_add_finding(h, FINDING_ERROR, "build",
				      "%s on %s gives no answer (status %d: "
				      "%.*s): if its version differs, type: werkbank hosts sync",
				      job->argv[0], h->host->name, job->status,
				      (int)MIN(strcspn(words, "\n"), 120), words);
}

/*
 * A host writes its time at the end of its answer, just before its last byte arrives here. The
 * difference contains the network latency, which is small compared with CLOCK_WARNING.
 */
static void store_host_facts(struct preflight_check *p, struct preflight_query *q)
{
	for (size_t i = 0; i < p->n; i++) {
		struct preflight_host *h = &p->hosts[i];
		const struct remote_job *job = &q->jobs[i];
		bool noisy = false;

		h->seconds = job->seconds;
		if (job->status == 0)
			q->facts[i] = hosts_find_answer(job, &noisy);
		h->alive = q->facts[i] != NULL;
		if (!h->alive) {
			report_silent_host(h, job, q->how->srun);
			continue;
		}
		h->clock_skew_s = json_number(json_get(q->facts[i], "time"), job->last_byte_time) -
				  job->last_byte_time;
		if (noisy)
			preflight_add_finding(
				h, FINDING_WARNING, "shell",
				"the start-up files of the shell on %s print text even "
				"without a terminal, which breaks rsync: print only in "
				"interactive shells",
				h->host->name);
	}
}

static int query_host_facts(struct preflight_check *p, struct preflight_query *q, struct err *e)
{
	const struct remote_options how = { .ssh = q->how->ssh,
					    .srun = q->how->srun,
					    .deadline_s = q->how->deadline_s };
	struct buf request = { 0 };
	int rc = write_facts_request(q, &request, e);

	if (!rc)
		rc = query_local_facts(q, &request, e);
	for (size_t i = 0; i < p->n; i++)
		q->jobs[i] = (struct remote_job){ .host = p->hosts[i].host,
						  .argv = q->argv,
						  .input = request.data,
						  .input_bytes = request.len };
	if (!rc)
		rc = remote_run(q->jobs, p->n, &how, e);
	if (!rc)
		store_host_facts(p, q);
	remote_free(q->jobs, p->n);
	buf_free(&request);
	return rc;
}

/* ---- ports ---------------------------------------------------------------------- */

size_t preflight_connect_peers(const struct preflight_check *p, size_t i, size_t *to, size_t max)
{
	size_t n = 0;

	assert(i < p->n);
	for (size_t k = 1; k < p->n && n < max; k++) {
		size_t j = (i + k) % p->n;

		if (p->hosts[j].alive && p->hosts[j].address[0])
			to[n++] = j;
	}
	return n;
}

static int write_connect_request(const struct preflight_check *p, struct json *const *facts,
				 size_t i, double seconds, struct buf *out, struct err *e)
{
	struct json_writer w = { .out = out };
	size_t callees[PREFLIGHT_MAX_PEERS],
		n = preflight_connect_peers(p, i, callees, PREFLIGHT_MAX_PEERS);

	json_open(&w, '{');
	json_put_str(&w, "ask", "meet");
	json_put_int(&w, "self", (int64_t)i);
	json_put_int(&w, "port", json_integer(json_get(facts[i], "free_port"), 0));
	json_put_real(&w, "seconds", seconds);
	json_put_int(&w, "expect", (int64_t)n); /* as many hosts connect to it */
	json_key(&w, "peers");
	json_open(&w, '[');
	for (size_t k = 0; k < n; k++) {
		const struct json *peer = facts[callees[k]];

		json_open(&w, '{');
		json_put_int(&w, "index", (int64_t)callees[k]);
		json_put_str(&w, "address", p->hosts[callees[k]].address);
		json_put_int(&w, "port", json_integer(json_get(peer, "free_port"), 0));
		json_close(&w, '}');
	}
	json_close(&w, ']');
	json_close(&w, '}');
	return buf_check(out, e);
}

static void check_connections(struct preflight_check *p, size_t i, const struct json *answer,
			      struct json *const *facts)
{
	const struct json *connections = json_get(answer, "met");
	struct preflight_host *h = &p->hosts[i];

	for (size_t k = 0; k < json_len(connections); k++) {
		const struct json *o = json_at(connections, k);
		int64_t j = json_integer(json_get(o, "index"), -1);
		int64_t who = json_integer(json_get(o, "answered"), -1);
		const char *trouble = json_text(json_get(o, "trouble"), NULL);
		const struct preflight_host *to;

		if (j < 0 || j >= (int64_t)p->n)
			continue;
		to = &p->hosts[j];
		if (trouble)
			preflight_add_finding(
				h, FINDING_ERROR, "ports",
				"%s cannot connect to %s at %s, TCP port %lld (%s): open all "
				"TCP ports between the hosts, in their firewalls and in the "
				"cloud's security group",
				h->host->name, to->host->name, to->address,
				(long long)json_integer(json_get(facts[j], "free_port"), 0),
				trouble);
		else if (who != j && who >= 0 && who < (int64_t)p->n)
			preflight_add_finding(
				h, FINDING_ERROR, "ports",
				"%s, the address of %s, leads to %s when %s connects to it: two "
				"hosts have the same address, or --network names the wrong "
				"network",
				to->address, to->host->name, p->hosts[who].host->name,
				h->host->name);
	}
}

static int test_connections(struct preflight_check *p, struct preflight_query *q, struct err *e)
{
	const struct remote_options how = { .ssh = q->how->ssh,
					    .srun = q->how->srun,
					    .deadline_s = q->how->deadline_s,
					    .max_parallel = (int)MIN(p->n, INT_MAX) };
	double seconds = MIN(CONNECT_MAX_S, q->how->deadline_s / 2);
	struct buf *requests = mem_alloc(p->n, sizeof(*requests), e);
	size_t n = 0, *who = mem_alloc(p->n, sizeof(*who), e), first_peer[1];
	int rc = requests && who ? 0 : e->code;

	for (size_t i = 0; !rc && i < p->n; i++) {
		if (!p->hosts[i].alive || !p->hosts[i].address[0] ||
		    !preflight_connect_peers(p, i, first_peer, 1))
			continue;
		rc = write_connect_request(p, q->facts, i, seconds, &requests[n], e);
		q->jobs[n] = (struct remote_job){ .host = p->hosts[i].host,
						  .argv = q->argv,
						  .input = requests[n].data,
						  .input_bytes = requests[n].len };
		who[n++] = i;
	}
	assert(n <= p->n);
	if (!rc && n > 1)
		rc = remote_run(q->jobs, n, &how, e);
	for (size_t k = 0; !rc && n > 1 && k < n; k++) {
		bool noisy;
		struct json *answer = NULL;

		if (q->jobs[k].status == 0)
			answer = hosts_find_answer(&q->jobs[k], &noisy);
		if (answer)
			check_connections(p, who[k], answer, q->facts);
		else
			preflight_add_finding(&p->hosts[who[k]], FINDING_WARNING, "ports",
					      "the port test failed on %s: %s",
					      p->hosts[who[k]].host->name,
					      q->jobs[k].trouble[0] ? q->jobs[k].trouble
								    : buf_text(&q->jobs[k].err));
		json_free(answer);
	}
	remote_free(q->jobs, n);
	for (size_t k = 0; requests && k < n; k++)
		buf_free(&requests[k]);
	free(requests);
	free(who);
	return rc;
}

/* ---- the whole check ---------------------------------------------------------------- */

static void find_worst_level(struct preflight_check *p)
{
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->hosts[i].n_findings; k++)
			p->worst = MAX(p->worst, p->hosts[i].findings[k].level);
}

static int run_preflight_checks(struct preflight_check *p, struct preflight_query *q, struct err *e)
{
	struct preflight_facts f = { .how = q->how };
	int rc;

	q->jobs = mem_alloc(p->n, sizeof(*q->jobs), e);
	q->facts = q->jobs ? mem_alloc(p->n, sizeof(*q->facts), e) : NULL;
	q->launcher = q->facts ? paths_program("werkbank-launch", e) : NULL;
	if (!q->launcher)
		return e->code;
	q->argv[0] = q->launcher;
	q->argv[1] = "_probe";
	rc = query_host_facts(p, q, e);
	if (rc)
		return rc;
	f.local_facts = q->local_facts;
	f.by_host = (const struct json *const *)q->facts;
	preflight_compare_hosts(p, &f);
	preflight_find_network(p, &f);
	rc = test_connections(p, q, e);
	find_worst_level(p);
	return rc;
}

int preflight_run(struct preflight_check *p, const struct hosts *h,
		  const struct preflight_options *how, struct err *e)
{
	struct preflight_query q = { .hosts = h, .how = how };
	int rc;

	*p = (struct preflight_check){ .n = h->n };
	p->hosts = mem_alloc(h->n, sizeof(*p->hosts), e);
	if (!p->hosts)
		return e->code;
	for (size_t i = 0; i < h->n; i++)
		p->hosts[i] = (struct preflight_host){
			.host = &h->all[i], .cores = -1, .memory = -1, .disk_free = -1, .gpus = -1
		};
	rc = run_preflight_checks(p, &q, e);
	for (size_t i = 0; q.facts && i < h->n; i++)
		json_free(q.facts[i]);
	free(q.facts);
	free(q.jobs);
	free(q.launcher);
	json_free(q.local_facts);
	if (rc)
		preflight_free(p);
	return rc;
}

void preflight_free(struct preflight_check *p)
{
	for (size_t i = 0; i < p->n && p->hosts; i++)
		free(p->hosts[i].findings);
	free(p->hosts);
	*p = (struct preflight_check){ 0 };
}
