/*
 * hosts_clean.c - "werkbank hosts clean": ends processes that runs left behind; see hosts_command.h
 *
 * Every host lists its records (leftover.h) with the state of their processes. A process is ended
 * only if its launcher is gone:
 *
 *	process not alive			FATE_STALE	remove the record
 *	launcher itself, or launcher alive	FATE_IN_USE	leave it
 *	parent gone, launcher's record stale,
 *	or --now				FATE_END	SIGTERM, then SIGKILL
 *	no launcher in the tag			FATE_IN_USE	somebody started it by hand
 *	launcher on another host		ask that host for the pid: FATE_IN_USE or FATE_END;
 *						FATE_UNKNOWN if that host does not answer
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "train/common/leftover.h"
#include "train/launch/hosts/hosts_command.h"
#include "train/launch/remote/hosts_query.h"
#include "train/launch/remote/launcher.h"

#define GRACE_S 3.0

/* What to do with a recorded process; up to FATE_END the host gets an "end" request. */
enum leftover_fate { FATE_STALE, FATE_END, FATE_IN_USE, FATE_UNKNOWN };

struct found_leftover {
	size_t host; /* index in the list */
	struct leftover l;
	enum leftover_fate fate;
};

struct cleaning {
	const struct hosts_task *task;
	struct hosts queried;	      /* the listed hosts, then this host */
	struct host *all;	      /* owned: array of queried; the names are borrowed */
	struct found_leftover *found; /* owned */
	size_t n_found, cap;
	struct hosts_answers first; /* records of all hosts */
	bool failed;		    /* a process could not be ended */
	/* cache of is_pid_running(), because many ranks have the same launcher */
	char asked_tag[256];
	int asked_running;
};

/* ---- asking ------------------------------------------------------------------ */

static int add_this_host(struct cleaning *c, struct err *e)
{
	static char name[] = "localhost";
	const struct hosts *h = c->task->hosts;

	c->all = mem_alloc(h->n + 1, sizeof(*c->all), e);
	if (!c->all)
		return e->code;
	c->queried = (struct hosts){ .all = c->all, .n = h->n + 1 };
	memcpy(c->all, h->all, h->n * sizeof(*c->all));
	/*
	 * Launchers usually run here. Processes of this host are ended only if it is listed, too.
	 */
	c->all[h->n] = (struct host){ .name = name, .slots = 1 };
	return 0;
}

static struct remote_options cleaning_remote_options(const struct cleaning *c, double more_s)
{
	return launcher_remote_options(c->task->conf, c->task->conf->deadline + more_s);
}

static void write_leftovers_request(const void *context, size_t i, struct buf *out)
{
	(void)context, (void)i;
	buf_add_str(out, "{\"ask\":\"leftovers\"}");
}

/* Collect the records of all hosts; those of this host come last. */
static int store_leftovers(struct cleaning *c, struct err *e)
{
	for (size_t i = 0; i < c->queried.n; i++) {
		const struct json *records = json_get(c->first.by_host[i], "records");

		for (size_t k = 0; k < json_len(records); k++) {
			if (mem_grow(&c->found, &c->cap, c->n_found + 1, sizeof(*c->found), e))
				return e->code;
			c->found[c->n_found] = (struct found_leftover){ .host = i };
			if (leftover_parse(&c->found[c->n_found].l, json_at(records, k)))
				c->n_found++;
		}
	}
	return 0;
}

/* ---- decision ------------------------------------------------------------------ */

/* Split HOST:PID:RANDOM; false: not a launcher tag. */
static bool split_launcher_tag(const char *tag, char *host, size_t size, int64_t *pid)
{
	const char *last = strrchr(tag, ':'), *mid = last;
	char *end;

	while (mid && mid > tag && *(mid - 1) != ':')
		mid--;
	if (!mid || mid == tag || (size_t)(mid - 1 - tag) >= size)
		return false;
	snprintf(host, size, "%.*s", (int)(mid - 1 - tag), tag);
	*pid = strtoll(mid, &end, 10);
	return *host && end == last && *pid > 1;
}

static const struct found_leftover *find_launcher(const struct cleaning *c, const char *tag)
{
	for (size_t i = 0; i < c->n_found; i++)
		if (c->found[i].l.rank == LEFTOVER_LAUNCHER && !strcmp(c->found[i].l.tag, tag))
			return &c->found[i];
	return NULL;
}

/* Index in queried of the host with this host name; queried.n: no such host answered. */
static size_t find_answering_host(const struct cleaning *c, const char *name)
{
	size_t i = 0;

	while (i < c->queried.n &&
	       strcmp(json_text(json_get(c->first.by_host[i], "host"), ""), name) != 0)
		i++;
	return i;
}

static void write_pid_request(const void *pid, size_t i, struct buf *out)
{
	(void)i;
	buf_printf(out, "{\"ask\":\"leftovers\",\"pids\":[%lld]}",
		   (long long)*(const int64_t *)pid);
}

/* Does a process with this pid run on the host? 1 or 0; < 0: the host does not answer. */
static int is_pid_running(const struct cleaning *c, const char *host, int64_t pid)
{
	size_t at = find_answering_host(c, host);
	struct hosts one = { .all = &c->queried.all[at], .n = 1 };
	const struct remote_options to = cleaning_remote_options(c, 0);
	struct hosts_answers a = { 0 };
	struct err e = { 0 };
	int running = -1;

	if (at == c->queried.n)
		return -1;
	if (!hosts_query(&a, &one, write_pid_request, &pid, &to, &e) && a.by_host[0])
		running = json_len(json_get(a.by_host[0], "running")) > 0;
	hosts_answers_free(&a);
	return running;
}

static enum leftover_fate decide_leftover_fate(struct cleaning *c, const struct leftover *l)
{
	const struct found_leftover *launcher = l->tag[0] ? find_launcher(c, l->tag) : NULL;
	char host[256];
	int64_t pid;

	if (!l->alive)
		return FATE_STALE;
	if (l->rank == LEFTOVER_LAUNCHER || (launcher && launcher->l.alive))
		return FATE_IN_USE;
	if (l->orphan || launcher || c->task->conf->now)
		return FATE_END;
	if (!split_launcher_tag(l->tag, host, sizeof(host), &pid))
		return FATE_IN_USE; /* somebody started it by hand */
	if (strcmp(c->asked_tag, l->tag) != 0) {
		snprintf(c->asked_tag, sizeof(c->asked_tag), "%s", l->tag);
		c->asked_running = is_pid_running(c, host, pid);
	}
	return c->asked_running < 0 ? FATE_UNKNOWN : c->asked_running ? FATE_IN_USE : FATE_END;
}

/* One host may be listed under several names: count each process once. */
static bool is_repeated_leftover(const struct cleaning *c, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (c->found[k].l.pid == c->found[i].l.pid &&
		    c->found[k].l.started == c->found[i].l.started &&
		    !strcmp(c->found[k].l.boot, c->found[i].l.boot) &&
		    !strcmp(c->found[k].l.pid_space, c->found[i].l.pid_space))
			return true;
	return false;
}

/* Keep only processes on listed hosts, and with --run only those of that run. */
static void select_leftovers(struct cleaning *c)
{
	const char *run = c->task->conf->run;
	size_t n = 0;

	assert(c->queried.n == c->task->hosts->n + 1);
	for (size_t i = 0; i < c->n_found; i++)
		c->found[i].fate = decide_leftover_fate(c, &c->found[i].l);
	for (size_t i = 0; i < c->n_found; i++)
		if (c->found[i].host < c->task->hosts->n && !is_repeated_leftover(c, i) &&
		    (!run || !strcmp(run, c->found[i].l.run)))
			c->found[n++] = c->found[i];
	c->n_found = n;
}

/* ---- "end" requests ------------------------------------------------------------- */

/* Ask a host to end its processes whose fate is to end. */
static void write_end_request(const void *context, size_t host, struct buf *out)
{
	const struct cleaning *c = context;
	struct json_writer w = { .out = out };

	for (size_t i = 0; i < c->n_found; i++) {
		if (c->found[i].host != host || c->found[i].fate > FATE_END)
			continue;
		if (!out->len) {
			json_open(&w, '{');
			json_put_str(&w, "ask", "end");
			json_put_real(&w, "grace", GRACE_S);
			json_put_open(&w, "records", '[');
		}
		leftover_write(&c->found[i].l, &w);
	}
	if (out->len) {
		json_close(&w, ']');
		json_close(&w, '}');
	}
}

/* ---- report ------------------------------------------------------------------------ */

/* What happened to a process: "terminated", "killed", "gone", …, or an error message. */
static const char *leftover_outcome(struct cleaning *c, const struct hosts_answers *a,
				    const struct found_leftover *f)
{
	const struct json *ended = json_get(a->by_host[f->host], "ended");

	if (f->fate == FATE_IN_USE)
		return "in use";
	if (f->fate == FATE_UNKNOWN)
		return "left alone";
	for (size_t i = 0; i < json_len(ended); i++) {
		const struct json *o = json_at(ended, i);
		const char *trouble = json_text(json_get(o, "trouble"), NULL);

		if (json_integer(json_get(o, "pid"), -1) != f->l.pid)
			continue;
		c->failed = c->failed || trouble;
		return trouble		       ? trouble
		       : f->fate == FATE_STALE ? "only its record was left"
					       : json_text(json_get(o, "ended"), "?");
	}
	c->failed = true;
	return a->trouble[f->host][0] ? a->trouble[f->host] : "not ended";
}

static void write_found_leftovers(struct cleaning *c, const struct hosts_answers *a,
				  struct json_writer *w)
{
	for (size_t i = 0; i < c->n_found; i++) {
		const struct found_leftover *f = &c->found[i];

		json_open(w, '{');
		json_put_str(w, "host", c->task->hosts->all[f->host].name);
		json_put_str(w, "run", f->l.run);
		json_put_int(w, "rank", f->l.rank);
		json_put_int(w, "pid", f->l.pid);
		json_put_str(w, "folder", f->l.folder);
		json_put_str(w, "launcher", f->l.tag);
		json_put_str(w, "outcome", leftover_outcome(c, a, f));
		json_close(w, '}');
	}
}

static void print_found_leftovers(struct cleaning *c, const struct hosts_answers *a,
				  struct buf *out)
{
	for (size_t i = 0; i < c->n_found; i++) {
		const struct found_leftover *f = &c->found[i];
		char rank[24];

		snprintf(rank, sizeof(rank), "rank %d", f->l.rank);
		buf_printf(out, "%s: %s of run %s, process %lld: %s",
			   c->task->hosts->all[f->host].name, f->l.rank < 0 ? "launcher" : rank,
			   f->l.run, (long long)f->l.pid, leftover_outcome(c, a, f));
		if (f->fate == FATE_UNKNOWN)
			buf_printf(out,
				   ": its launcher (%s) is on a host that is not listed or "
				   "does not answer: list that host, or give --now",
				   f->l.tag);
		buf_add_char(out, '\n');
	}
	if (!c->n_found)
		buf_add_str(out, "no process of Werkbank is left there\n");
}

static int report_cleaning(struct cleaning *c, const struct hosts_answers *a, struct err *e)
{
	struct buf out = { 0 };
	struct json_writer w = { .out = &out };
	int rc;

	if (c->task->conf->json) {
		json_open(&w, '[');
		write_found_leftovers(c, a, &w);
		json_close(&w, ']');
		buf_add_char(&out, '\n');
	} else {
		print_found_leftovers(c, a, &out);
	}
	rc = file_put_stdout(&out, e);
	buf_free(&out);
	return rc;
}

int hosts_clean(const struct hosts_task *t, int *status, struct err *e)
{
	struct cleaning c = { .task = t };
	struct remote_options how = cleaning_remote_options(&c, 0);
	struct hosts_answers ended = { 0 };
	size_t silent = 0;
	int rc = add_this_host(&c, e);

	if (!rc)
		rc = hosts_query(&c.first, &c.queried, write_leftovers_request, NULL, &how, e);
	for (size_t i = 0; !rc && i < t->hosts->n; i++)
		if (!c.first.by_host[i]) {
			fprintf(stderr, "werkbank hosts: %s\n", c.first.trouble[i]);
			silent++;
		}
	if (!rc)
		rc = store_leftovers(&c, e);
	if (!rc) {
		select_leftovers(&c);
		how = cleaning_remote_options(&c, 2 * GRACE_S);
		rc = hosts_query(&ended, t->hosts, write_end_request, &c, &how, e);
	}
	if (!rc && silent < t->hosts->n)
		rc = report_cleaning(&c, &ended, e);
	*status = silent == t->hosts->n ? err_exit_status(ERR_NOHOST) : silent || c.failed;
	hosts_answers_free(&ended);
	hosts_answers_free(&c.first);
	free(c.found);
	free(c.all);
	return rc;
}
