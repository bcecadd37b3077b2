/*
 * preflight_ports.c - the port test: hosts connect to each other, as ranks do.
 *
 * All hosts of a group run "_probe" at the same time. One host logs in faster than another, so each
 * listens for a time that follows from the logins measured in the first round. A connection that
 * failed counts only if caller and callee listened at the same time: otherwise the cause is a slow
 * login and not the network.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "train/launch/preflight/preflight_internal.h"
#include "train/launch/remote/hosts_query.h"

#define LOGIN_FACTOR	  2.0 /* the second login may take this many times as long as the first */
#define LISTEN_S	  5.0 /* beyond the logins */
#define LISTEN_MIN_S	  1.0
#define DEADLINE_SHARE	  0.95 /* of the deadline, for login and listening */
#define LATENCY_WARNING_S 5e-3 /* more than in any one building */
#define TOGETHER_S	  1.5  /* both listened for so long: the connection must succeed */

/* ---- who connects to whom --------------------------------------------------------- */

/*
 * Large lists are tested in groups, so that the number of processes has a limit. A group has every
 * n_groups-th host, because neighbours in a list often share a switch.
 */
static size_t port_group_count(size_t n)
{
	return (n + PREFLIGHT_TOGETHER - 1) / PREFLIGHT_TOGETHER;
}

static bool takes_part(const struct preflight_check *p, size_t i)
{
	return p->hosts[i].alive && p->hosts[i].address[0];
}

size_t preflight_connect_peers(const struct preflight_check *p, size_t i, size_t *to, size_t max)
{
	const size_t step = port_group_count(p->n);
	size_t n = 0;

	assert(i < p->n);
	for (size_t j = i + step; n < max; j += step) {
		if (j >= p->n)
			j = i % step;
		if (j == i)
			break;
		if (takes_part(p, j))
			to[n++] = j;
	}
	return n;
}

double preflight_listen_time(double login_s, double slowest_s, double deadline_s)
{
	double wanted = LOGIN_FACTOR * slowest_s + LISTEN_S;
	double possible = DEADLINE_SHARE * deadline_s - LOGIN_FACTOR * login_s;

	return MAX(MIN(LISTEN_MIN_S, deadline_s / 2), MIN(wanted, possible));
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
	json_put_open(&w, "peers", '[');
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

/* ---- judging --------------------------------------------------------------------- */

/* Seconds that two hosts listened at the same time; NAN: unknown. */
static double common_listen_time(const struct preflight_port_test *a,
				 const struct preflight_port_test *b)
{
	double unknown = a->begin_s + a->end_s + b->begin_s + b->end_s;

	return isnan(unknown) ? NAN : MIN(a->end_s, b->end_s) - MAX(a->begin_s, b->begin_s);
}

/* What a failed connection looked like, for the parentheses of the message. */
static void describe_connect_fault(const struct json *o, const char *to, double together_s,
				   char *text, size_t size)
{
	const char *fault = json_text(json_get(o, "fault"), "");
	const char *trouble = json_text(json_get(o, "trouble"), "");

	if (!strcmp(fault, "refused"))
		snprintf(text, size,
			 "%.40s: %.60s listens there, so a firewall rejects the connection, or "
			 "another machine has the address",
			 trouble, to);
	else if (!strcmp(fault, "dropped") && together_s > 0)
		snprintf(text, size, "no answer in %.1f s: the packets are dropped", together_s);
	else if (!strcmp(fault, "silent"))
		snprintf(text, size,
			 "connected, but no answer comes: a middlebox takes the "
			 "connection");
	else
		snprintf(text, size, "%.100s", trouble);
}

static void report_failed_connection(struct preflight_check *p, size_t i, size_t j,
				     const struct json *o, double together_s,
				     struct json *const *facts)
{
	const struct preflight_host *to = &p->hosts[j];
	char why[220];

	describe_connect_fault(o, to->host->name, together_s, why, sizeof(why));
	add_error(&p->hosts[i], "ports",
		  "%.80s cannot connect to %.80s at %s, TCP port %lld (%s): open all TCP ports "
		  "between the hosts, in their firewalls and in the cloud's security group",
		  p->hosts[i].host->name, to->host->name, to->address,
		  (long long)json_integer(json_get(facts[j], "free_port"), 0), why);
}

static void warn_untested_connection(struct preflight_check *p, size_t i, size_t j)
{
	size_t slow = p->hosts[i].login_s > p->hosts[j].login_s ? i : j;

	add_warning(&p->hosts[i], "login",
		    "the connection from %.80s to %.80s was not tested, because the logins took "
		    "too different times (%.80s: %.1f s in the first round): look at the start-up "
		    "files of its shell and at its name server, or set a longer --deadline",
		    p->hosts[i].host->name, p->hosts[j].host->name, p->hosts[slow].host->name,
		    p->hosts[slow].login_s);
}

/* The result of one connection from host i; returns true if it could not be tested. */
static bool judge_connection(struct preflight_check *p, size_t i, const struct json *o,
			     const struct preflight_port_test *tests, struct json *const *facts)
{
	int64_t j = json_integer(json_get(o, "index"), -1);
	int64_t who = json_integer(json_get(o, "answered"), -1);
	double together_s;

	if (j < 0 || j >= (int64_t)p->n || (size_t)j == i)
		return false;
	if (json_get(o, "trouble")) {
		if (!tests[j].answer) /* it has a finding of its own */
			return false;
		together_s = common_listen_time(&tests[i], &tests[j]);
		if (together_s < TOGETHER_S)
			return true;
		report_failed_connection(p, i, (size_t)j, o, together_s, facts);
	} else if (who != j && who >= 0 && who < (int64_t)p->n) {
		add_error(&p->hosts[i], "ports",
			  "%s, the address of %s, leads to %s when %s connects to it: two hosts "
			  "have the same address, or --network names the wrong network",
			  p->hosts[j].address, p->hosts[j].host->name, p->hosts[who].host->name,
			  p->hosts[i].host->name);
	}
	return false;
}

void preflight_judge_ports(struct preflight_check *p, size_t i,
			   const struct preflight_port_test *tests, struct json *const *facts)
{
	const struct json *connections = json_get(tests[i].answer, "met");
	bool warned = false;

	for (size_t k = 0; k < json_len(connections); k++) {
		const struct json *o = json_at(connections, k);

		p->latency_s = MAX(p->latency_s, json_number(json_get(o, "rtt_s"), 0) / 2);
		if (judge_connection(p, i, o, tests, facts) && !warned) {
			warn_untested_connection(p, i,
						 (size_t)json_integer(json_get(o, "index"), 0));
			warned = true; /* one line for each host is enough */
		}
	}
}

/* ---- the test of one group ------------------------------------------------------ */

struct port_round {
	struct preflight_check *p;
	struct preflight_query *q;
	struct preflight_port_test *tests; /* (n), of all hosts */
	struct buf requests[PREFLIGHT_TOGETHER];
	size_t who[PREFLIGHT_TOGETHER]; /* index of the host of each job */
	size_t n;			/* jobs */
};

static int prepare_group(struct port_round *r, size_t group, struct err *e)
{
	const struct preflight_check *p = r->p;
	const size_t step = port_group_count(p->n);
	double slowest = 0;
	size_t peer[1];
	int rc = 0;

	r->n = 0;
	for (size_t i = group; i < p->n; i += step)
		if (takes_part(p, i))
			slowest = MAX(slowest, p->hosts[i].login_s);
	for (size_t i = group; !rc && i < p->n; i += step) {
		double seconds =
			preflight_listen_time(p->hosts[i].login_s, slowest, r->q->how->deadline_s);
		struct buf *request = &r->requests[r->n];

		if (!takes_part(p, i) || !preflight_connect_peers(p, i, peer, 1))
			continue;
		assert(r->n < PREFLIGHT_TOGETHER);
		buf_clear(request);
		rc = write_connect_request(p, r->q->facts, i, seconds, request, e);
		r->q->jobs[r->n] = (struct remote_job){ .host = p->hosts[i].host,
							.argv = r->q->argv,
							.input = request->data,
							.input_bytes = request->len };
		r->who[r->n++] = i;
	}
	return rc;
}

static void store_port_answer(struct port_round *r, size_t k)
{
	const struct remote_job *job = &r->q->jobs[k];
	struct preflight_port_test *test = &r->tests[r->who[k]];
	struct preflight_host *h = &r->p->hosts[r->who[k]];
	bool noisy;

	test->answer = job->status == 0 ? hosts_find_answer(job, &noisy) : NULL;
	test->end_s = job->end_s;
	test->begin_s = job->end_s - json_number(json_get(test->answer, "listened_s"), NAN);
	if (!test->answer)
		add_warning(h, job->timed_out ? "login" : "ports", "the port test failed on %s: %s",
			    h->host->name, job->trouble[0] ? job->trouble : buf_text(&job->err));
}

static int test_group(struct port_round *r, size_t group, struct err *e)
{
	const struct remote_options how = { .ssh = r->q->how->ssh,
					    .srun = r->q->how->srun,
					    .deadline_s = r->q->how->deadline_s,
					    .max_parallel = PREFLIGHT_TOGETHER };
	int rc = prepare_group(r, group, e);

	if (!rc && r->n > 1)
		rc = remote_run(r->q->jobs, r->n, &how, e);
	for (size_t k = 0; !rc && r->n > 1 && k < r->n; k++)
		store_port_answer(r, k);
	for (size_t k = 0; !rc && r->n > 1 && k < r->n; k++)
		preflight_judge_ports(r->p, r->who[k], r->tests, r->q->facts);
	remote_free(r->q->jobs, r->n);
	for (size_t k = 0; k < r->n; k++) {
		json_free(r->tests[r->who[k]].answer);
		r->tests[r->who[k]].answer = NULL;
	}
	return rc;
}

/* One warning for all hosts, at the first one that takes part. */
static void warn_latency(struct preflight_check *p)
{
	for (size_t i = 0; i < p->n && p->latency_s >= LATENCY_WARNING_S; i++)
		if (takes_part(p, i)) {
			add_warning(
				&p->hosts[i], "latency",
				"a message takes up to %.1f ms from host to host, and several in a "
				"step wait for each other: see werkbank plan --latency-us %.0f",
				1e3 * p->latency_s, 1e6 * p->latency_s);
			return;
		}
}

int preflight_test_ports(struct preflight_check *p, struct preflight_query *q, struct err *e)
{
	struct port_round *r = mem_alloc(1, sizeof(*r), e);
	const size_t groups = port_group_count(p->n);
	int rc = r ? 0 : e->code;

	if (!r)
		return rc;
	*r = (struct port_round){ .p = p, .q = q };
	r->tests = mem_alloc(p->n, sizeof(*r->tests), e);
	if (!r->tests)
		rc = e->code;
	for (size_t group = 0; !rc && group < groups; group++) {
		if (groups > 1 && !q->how->quiet)
			fprintf(stderr, "hosts: testing connections, group %zu of %zu\n", group + 1,
				groups);
		rc = test_group(r, group, e);
	}
	if (!rc)
		warn_latency(p);
	for (size_t k = 0; k < PREFLIGHT_TOGETHER; k++)
		buf_free(&r->requests[k]);
	free(r->tests);
	free(r);
	return rc;
}
