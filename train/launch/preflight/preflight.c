/* preflight.c - the questions to all hosts and their answers; see preflight.h */
#include "train/launch/preflight/preflight.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/workspace/paths.h"
#include "train/launch/preflight/preflight_folder.h"
#include "train/launch/preflight/preflight_internal.h"
#include "train/launch/preflight/probe.h"
#include "train/launch/remote/hosts_query.h"
#include "train/launch/remote/launcher.h"
#include "train/launch/remote/mpirun.h"
#include "train/launch/remote/remote.h"

#define MAX_PEERS  128 /* names that each host resolves */
#define MANY_PEERS 16  /* the same if there are more than PREFLIGHT_TOGETHER hosts */

/* ---- asking ------------------------------------------------------------------- */

/* The request for facts; peers are the names that each host resolves and looks up routes to. */
static int write_facts_request(const struct preflight_query *q, const struct folder_marker *m,
			       struct buf *out, struct err *e)
{
	size_t most = q->hosts->n > PREFLIGHT_TOGETHER ? MANY_PEERS : MAX_PEERS;
	struct json_writer w = { .out = out };

	json_open(&w, '{');
	json_put_str(&w, "ask", "facts");
	if (q->how->workspace)
		json_put_str(&w, "workspace", q->how->workspace);
	if (q->how->workspace && q->how->corpus)
		json_put_str(&w, "corpus", q->how->corpus);
	if (m->path)
		json_put_str(&w, "marker", m->path);
	json_put_open(&w, "peers", '[');
	for (size_t i = 0; i < q->hosts->n && i < most; i++)
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
		add_error(h,
			  job->status == 127 ? "build"
			  : is_srun	     ? "slurm"
					     : "ssh",
			  "%s", job->trouble);
	else if (strstr(words, "account is")) /* the words of nologin */
		add_error(h, "ssh",
			  "%s lets this account log in but not run programs (\"%.*s\"): its shell "
			  "there is nologin; the administrator of the host can set another one",
			  h->host->name, (int)MIN(strcspn(words, "\n"), 120), words);
	else
		add_error(h, "build",
			  "%s on %s gives no answer (status %d: %.*s): if its version differs, "
			  "type: werkbank hosts sync",
			  job->argv[0], h->host->name, job->status,
			  (int)MIN(strcspn(words, "\n"), 120), words);
}

/* The hosts that remote_run() did not ask, in one finding of the first of them. */
static void report_unasked_hosts(struct preflight_check *p, const struct preflight_query *q)
{
	struct preflight_host *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (q->jobs[i].not_started) {
			first = first ? first : &p->hosts[i];
			n++;
		}
	if (first)
		add_error(first, "hosts",
			  "%zu of %zu hosts, from %s on, were not asked, because no host answered "
			  "for %.3g s: correct the list, or set a longer --deadline",
			  n, p->n, first->host->name, q->how->deadline_s / 2);
}

static void print_survey_progress(size_t all, size_t ended, size_t succeeded,
				  const struct remote_job *last)
{
	fprintf(stderr, "hosts: %zu of %zu asked, %zu answer%s%s\n", ended, all, succeeded,
		last && last->trouble[0] ? "; the last one: " : "",
		last && last->trouble[0] ? last->trouble : "");
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

		if (job->not_started)
			continue;
		h->seconds = job->seconds;
		if (job->status == 0)
			q->facts[i] = hosts_find_answer(job, &noisy);
		h->alive = q->facts[i] != NULL;
		if (!h->alive) {
			report_silent_host(h, job, q->how->srun);
			continue;
		}
		h->login_s =
			MAX(0, job->seconds - json_number(json_get(q->facts[i], "probe_s"), 0));
		h->clock_skew_s = json_number(json_get(q->facts[i], "time"), job->last_byte_time) -
				  job->last_byte_time;
		if (noisy)
			add_warning(
				h, "shell",
				"the start-up files of the shell on %s print text even without a "
				"terminal, which breaks rsync: print only in interactive shells",
				h->host->name);
	}
	report_unasked_hosts(p, q);
}

static int query_host_facts(struct preflight_check *p, struct preflight_query *q, struct err *e)
{
	const struct remote_options how = { .ssh = q->how->ssh,
					    .srun = q->how->srun,
					    .deadline_s = q->how->deadline_s,
					    .max_parallel = PREFLIGHT_TOGETHER,
					    .give_up = true,
					    .progress =
						    q->how->quiet ? NULL : print_survey_progress };
	struct folder_marker marker;
	struct buf request = { 0 };
	int rc;

	folder_marker_make(&marker, q->how->workspace);
	rc = write_facts_request(q, &marker, &request, e);

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
	for (size_t i = 0; !rc && marker.path && i < p->n; i++)
		preflight_compare_folder(&p->hosts[i], q->facts[i], q->how, marker.text);
	folder_marker_remove(&marker);
	remote_free(q->jobs, p->n);
	buf_free(&request);
	return rc;
}

/* ---- the whole check ---------------------------------------------------------------- */

static void find_worst_level(struct preflight_check *p)
{
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->hosts[i].n_findings; k++)
			p->worst = MAX(p->worst, p->hosts[i].findings[k].level);
}

/* Without IPv6, Open MPI would hang at its first message. */
static void check_mpi_family(struct preflight_check *p)
{
	if (!mpirun_is_ipv6_network(p->network) || launcher_has_ipv6())
		return;
	add_error(&p->hosts[0], "mpi",
		  "the network between the hosts, %s, is IPv6, but Open MPI on this host was built "
		  "without IPv6 (ompi_info): give the hosts IPv4 addresses, or install an Open MPI "
		  "that was configured with --enable-ipv6",
		  p->network);
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
	check_mpi_family(p);
	rc = preflight_test_ports(p, q, e);
	find_worst_level(p);
	return rc;
}

struct preflight_options preflight_options_of(const struct conf *c, const char *workspace)
{
	return (struct preflight_options){
		.ssh = c->ssh,
		.srun = launcher_is_slurm(c),
		.workspace = workspace,
		.corpus = c->corpus,
		.network = c->network,
		.deadline_s = c->deadline,
		.quiet = c->quiet,
	};
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
