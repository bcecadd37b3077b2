/* hosts_bandwidth.c - "werkbank hosts bandwidth": measures the network; see hosts_command.h */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/cores.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/workspace/paths.h"
#include "train/common/linkfile.h"
#include "train/launch/hosts/hosts_command.h"
#include "train/launch/preflight/preflight.h"
#include "train/launch/remote/launcher.h"
#include "train/launch/remote/rank_launch.h"
#include "train/launch/remote/remote.h"

#define START_S	  120.0 /* limit for mpirun and the all-reduces */
#define PAIR_S	  5.0	/* limit for one pair of ranks */
#define ALL_PAIRS 8	/* with more ranks, only n pairs are measured */

struct link_test {
	const struct hosts_task *task;
	struct hosts hosts;	  /* one slot each, to measure links and not memory */
	struct host *copy;	  /* owned: array of hosts */
	char *launcher, *trainer; /* owned */
	char hostfile[64];
	char network[64];
	struct command_line line;
	struct json *measured; /* owned: output of the ranks */
	struct buf document;   /* network.json */
	bool is_local;	       /* all ranks on this host */
};

/* ---- preparation -------------------------------------------------------------- */

static int copy_test_hosts(struct link_test *t, struct err *e)
{
	const struct hosts *h = t->task->hosts;

	t->copy = mem_alloc(h->n, sizeof(*t->copy), e);
	if (!t->copy)
		return e->code;
	memcpy(t->copy, h->all, h->n * sizeof(*h->all));
	for (size_t i = 0; h->n > 1 && i < h->n; i++)
		t->copy[i].slots = 1;
	t->hosts = (struct hosts){ .all = t->copy, .n = h->n };
	t->is_local = hosts_are_local(&t->hosts);
	if (hosts_total_slots(&t->hosts) < 2)
		return err_set(e, ERR_USAGE,
			       "bandwidth needs two hosts, or one host with two "
			       "slots: %s alone has one slot",
			       h->all[0].name);
	return 0;
}

/* Find the network. *status is not 0 if a host has an error with which mpirun would hang. */
static int preflight_link_test(struct link_test *t, int *status, struct err *e)
{
	const struct preflight_options how = { .ssh = t->task->conf->ssh,
					       .srun = launcher_is_slurm(t->task->conf),
					       .network = t->task->conf->network,
					       .deadline_s = t->task->conf->deadline };
	struct preflight_check p;
	bool any = false;
	int rc;

	if (t->is_local)
		return 0;
	rc = preflight_run(&p, &t->hosts, &how, e);
	if (rc)
		return rc;
	for (size_t i = 0; i < p.n; i++) {
		any = any || p.hosts[i].alive;
		for (size_t k = 0; k < p.hosts[i].n_findings; k++)
			if (p.hosts[i].findings[k].level == FINDING_ERROR)
				fprintf(stderr, "werkbank hosts: %s\n",
					p.hosts[i].findings[k].text);
	}
	snprintf(t->network, sizeof(t->network), "%s", p.network);
	*status = !any ? err_exit_status(ERR_NOHOST) : p.worst == FINDING_ERROR;
	preflight_free(&p);
	return 0;
}

static int create_test_hostfile(struct link_test *t, struct err *e)
{
	int fd;

	snprintf(t->hostfile, sizeof(t->hostfile), "/tmp/werkbank-hosts-XXXXXX");
	fd = mkstemp(t->hostfile);
	if (fd < 0) {
		t->hostfile[0] = 0;
		return err_set_errno(e, ERR_CANTCREAT, "cannot create a file in /tmp");
	}
	close(fd);
	return 0;
}

static int build_bandwidth_command(struct link_test *t, struct err *e)
{
	const struct mpirun_options how = {
		.hosts = &t->hosts,
		.hostfile = t->hostfile,
		.network = t->network,
		.ssh = t->task->conf->ssh,
		.starter = t->task->conf->launcher,
		.launcher = t->launcher,
		.oversubscribed = t->is_local && hosts_total_slots(&t->hosts) > cores_count()
	};
	int rc = rank_launch_write_hostfile(&how, e);

	if (!rc)
		rc = rank_launch_append_words(&t->line, &how, e);
	COMMAND_LINE_ADD(&t->line, t->trainer, "_bandwidth");
	return rc ? rc : command_line_check(&t->line, e);
}

/* ---- measurement ------------------------------------------------------------------ */

static int run_bandwidth_ranks(struct link_test *t, struct err *e)
{
	double n = (double)hosts_total_slots(&t->hosts), pairs = n <= ALL_PAIRS ? n * (n - 1) : n;
	struct remote_job job = { .argv = t->line.all };
	const char *at;
	int rc = remote_run_here(&job, 1, START_S + pairs * PAIR_S, e);

	at = strstr(buf_text(&job.out), "{\"hosts\":");
	if (!rc && (job.status != 0 || !at))
		rc = err_set(e, ERR_NOHOST, "mpirun returned no measurement (%s): %.300s",
			     job.timed_out ? "timeout" : "it failed",
			     job.err.len ? buf_text(&job.err) : job.trouble);
	if (!rc && !(t->measured = json_parse(at, strcspn(at, "\n"), e)))
		rc = e->code;
	remote_free(&job, 1);
	return rc;
}

/* ---- report ------------------------------------------------------------------------ */

static const char *link_host_name(const struct link_test *t, const struct json *pair,
				  const char *end)
{
	size_t i = (size_t)json_integer(json_get(pair, end), 0);

	assert(!strcmp(end, "from") || !strcmp(end, "to"));
	/* with one rank for each host, use the names that the user gave */
	return t->hosts.n > 1 && i < t->hosts.n
		       ? t->hosts.all[i].name
		       : json_text(json_at(json_get(t->measured, "hosts"), i), "?");
}

/* Smallest speed and largest latency over all pairs. */
static void slowest_link(const struct link_test *t, double *bytes_s, double *latency_s)
{
	const struct json *pairs = json_get(t->measured, "pairs");

	*bytes_s = INFINITY;
	*latency_s = 0;
	for (size_t i = 0; i < json_len(pairs); i++) {
		const struct json *p = json_at(pairs, i);

		*bytes_s = MIN(*bytes_s, json_number(json_get(p, "bytes_s"), INFINITY));
		*latency_s = MAX(*latency_s, json_number(json_get(p, "latency_s"), 0));
	}
}

/* The members `keys` (NULL ends them) of a measured object. */
static void put_numbers(struct json_writer *w, const struct json *o, const char *const *keys)
{
	for (; *keys; keys++)
		json_put_real(w, *keys, json_number(json_get(o, *keys), NAN));
}

static void write_bandwidth_lists(const struct link_test *t, struct json_writer *w)
{
	static const char *const reduce_keys[] = { "bytes", "seconds", "algbw_bytes_s",
						   "busbw_bytes_s", NULL };
	static const char *const beside_keys[] = { "bytes", "seconds", "lost_s", NULL };
	static const char *const pair_keys[] = { "latency_s", "bytes_s", NULL };
	const struct json *reduces = json_get(t->measured, "allreduce"),
			  *beside = json_get(t->measured, "beside"),
			  *pairs = json_get(t->measured, "pairs");

	json_put_open(w, "allreduce", '[');
	for (size_t i = 0; i < json_len(reduces); i++) {
		json_open(w, '{');
		put_numbers(w, json_at(reduces, i), reduce_keys);
		for (int wire = 1; wire < LINK_WIRES; wire++) /* fp32 has the key "seconds" */
			put_numbers(w, json_at(reduces, i),
				    (const char *[]){ LINK_KEYS[wire], NULL });
		json_close(w, '}');
	}
	json_close(w, ']');
	json_put_open(w, "beside", '[');
	for (size_t i = 0; i < json_len(beside); i++) {
		json_open(w, '{');
		json_put_str(w, "wire", json_text(json_get(json_at(beside, i), "wire"), "?"));
		put_numbers(w, json_at(beside, i), beside_keys);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_put_open(w, "pairs", '[');
	for (size_t i = 0; i < json_len(pairs); i++) {
		json_open(w, '{');
		json_put_str(w, "from", link_host_name(t, json_at(pairs, i), "from"));
		json_put_str(w, "to", link_host_name(t, json_at(pairs, i), "to"));
		put_numbers(w, json_at(pairs, i), pair_keys);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static int write_bandwidth_json(struct link_test *t, struct err *e)
{
	struct json_writer w = { .out = &t->document };
	double bytes_s, latency_s;

	slowest_link(t, &bytes_s, &latency_s);
	json_open(&w, '{');
	json_put_int(&w, "v", 1);
	json_put_real(&w, "t", clock_wall_s());
	json_put_str(&w, "network", t->network);
	json_put_open(&w, "hosts", '[');
	for (size_t i = 0; i < t->hosts.n; i++)
		json_str(&w, t->hosts.all[i].name);
	json_close(&w, ']');
	json_put_real(&w, "link_bytes_s", bytes_s);
	json_put_real(&w, "latency_s", latency_s);
	write_bandwidth_lists(t, &w);
	json_close(&w, '}');
	buf_add_char(&t->document, '\n');
	return buf_check(&t->document, e);
}

static void print_ms(const struct json *o, const char *key)
{
	double seconds = json_number(json_get(o, key), NAN);

	if (isfinite(seconds))
		printf("  %9.3f", seconds * 1e3);
	else
		printf("  %9s", "-");
}

static void print_allreduces(const struct link_test *t)
{
	const struct json *all = json_get(t->measured, "allreduce");
	const struct json *beside = json_get(t->measured, "beside");

	printf("all-reduce over %lld rank%s\n%12s  %9s  %10s  %10s",
	       (long long)hosts_total_slots(&t->hosts), text_plural(hosts_total_slots(&t->hosts)),
	       "bytes", "ms", "algbw MB/s", "busbw MB/s");
	for (int wire = 1; wire < LINK_WIRES; wire++)
		printf("  %6s ms", LINK_WIRE_NAMES[wire]);
	putchar('\n');
	for (size_t i = 0; i < json_len(all); i++) {
		const struct json *o = json_at(all, i);

		printf("%12lld", (long long)json_integer(json_get(o, "bytes"), 0));
		print_ms(o, "seconds");
		printf("  %10.1f  %10.1f", json_number(json_get(o, "algbw_bytes_s"), NAN) / 1e6,
		       json_number(json_get(o, "busbw_bytes_s"), NAN) / 1e6);
		for (int wire = 1; wire < LINK_WIRES; wire++)
			print_ms(o, LINK_KEYS[wire]);
		putchar('\n');
	}
	for (size_t i = 0; i < json_len(beside); i++) {
		const struct json *o = json_at(beside, i);
		const double lost_s = json_number(json_get(o, "lost_s"), NAN);

		printf("%s%lld bytes as %s while all cores compute: %.3f ms, which delays the "
		       "computation by %.3f ms\n",
		       i ? "" : "\n", (long long)json_integer(json_get(o, "bytes"), 0),
		       json_text(json_get(o, "wire"), "?"),
		       json_number(json_get(o, "seconds"), NAN) * 1e3,
		       lost_s < 0 ? 0 : lost_s * 1e3); /* noise can make it negative */
	}
}

static void print_link_pairs(const struct link_test *t)
{
	const struct json *all = json_get(t->measured, "pairs");
	double bytes_s, latency_s;

	printf("\n%-20s  %-20s  %12s  %12s\n", "from", "to", "latency us", "MB/s");
	for (size_t i = 0; i < json_len(all); i++) {
		const struct json *p = json_at(all, i);

		printf("%-20s  %-20s  %12.1f  %12.1f\n", link_host_name(t, p, "from"),
		       link_host_name(t, p, "to"), json_number(json_get(p, "latency_s"), NAN) * 1e6,
		       json_number(json_get(p, "bytes_s"), NAN) / 1e6);
	}
	slowest_link(t, &bytes_s, &latency_s);
	printf("\nslowest link: %.1f MB/s = %.0f Mbit/s of payload in one direction%s%s\n",
	       bytes_s / 1e6, bytes_s * 8 / 1e6, t->network[0] ? ", network " : "", t->network);
}

/* With all ranks on one host, the result is memory speed: print it, but do not store it. */
static int report_bandwidth(struct link_test *t, struct err *e)
{
	int rc = write_bandwidth_json(t, e);

	if (!rc && t->task->conf->json) {
		fwrite(t->document.data, 1, t->document.len, stdout);
	} else if (!rc) {
		print_allreduces(t);
		print_link_pairs(t);
	}
	if (!rc && !t->is_local)
		rc = file_make_folders(t->task->workspace, e);
	if (!rc && !t->is_local)
		rc = linkfile_write(t->task->workspace, &t->document, e);
	return rc;
}

int hosts_bandwidth(const struct hosts_task *task, int *status, struct err *e)
{
	struct link_test t = { .task = task };
	int rc = copy_test_hosts(&t, e);

	if (!rc && (!(t.launcher = paths_program("werkbank-launch", e)) ||
		    !(t.trainer = paths_program("werkbank-train", e))))
		rc = e->code;
	if (!rc)
		rc = preflight_link_test(&t, status, e);
	if (!rc && !*status) {
		rc = create_test_hostfile(&t, e);
		if (!rc)
			rc = build_bandwidth_command(&t, e);
		if (!rc)
			rc = run_bandwidth_ranks(&t, e);
		if (!rc)
			rc = report_bandwidth(&t, e);
	}
	if (t.hostfile[0])
		unlink(t.hostfile);
	json_free(t.measured);
	buf_free(&t.document);
	command_line_free(&t.line);
	free(t.launcher);
	free(t.trainer);
	free(t.copy);
	return rc;
}
