/*
 * hosts_sync.c - "werkbank hosts sync": copies programs and corpus to hosts without a shared file
 * system; see hosts_command.h
 *
 *	1. Create a marker file in the workspace. A host that sees it shares the workspace.
 *	2. Ask hosts with a shared workspace for checksums; if all agree, nothing is copied.
 *	3. Copy to the other hosts by rsync over ssh, which resumes an interrupted copy.
 *	4. Copy manifest.json last, so that an incomplete corpus does not look prepared.
 *	5. Compare the SHA-256 of each file on each host.
 */
#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/workspace/model_files.h"
#include "share/workspace/paths.h"
#include "train/launch/hosts/hosts_command.h"
#include "train/launch/remote/hosts_query.h"
#include "train/launch/remote/launcher.h"

#define COPY_S	  (24 * 3600.0) /* rsync has a --timeout of its own for a stalled copy */
#define VERIFY_S  600.0
#define AT_ONCE	  4 /* copies at the same time: the link of this host is the limit */
#define MAX_FILES 64
#define NOT_FOUND 127		     /* exit status: no such program */
#define SHIPPED	  "recipes/demo.ini" /* finds the folder of the shipped files */

struct sync_file {
	char *path;		   /* owned */
	char sum[HASH_SHA256_HEX]; /* on this host */
};

struct sync_host {
	bool alive, is_local;
	bool shares;	    /* the workspace is on a shared file system */
	bool done;	    /* no failure so far */
	bool is_up_to_date; /* all files were there before */
	double seconds;	    /* of rsync */
	int64_t sent;	    /* bytes, from rsync's statistics */
	char trouble[400];
};

struct syncing {
	const struct hosts_task *task;
	struct sync_host *by_host; /* owned: (n) */
	struct sync_file files[MAX_FILES];
	size_t n_files;
	/* owned paths; NULL: none */
	char *share;	/* folder of the shipped files */
	char *corpus;	/* folder of the corpus, with --corpus */
	char *manifest; /* manifest.json of the corpus */
	char *bin;	/* folder of the programs */
	char *marker;	/* marker file in the workspace */
};

/* ---- files to copy ------------------------------------------------------------ */

/* Takes path, also on failure. */
static int add_sync_file(struct syncing *s, char *path, struct err *e)
{
	if (!path)
		return e->code;
	if (s->n_files == MAX_FILES) {
		free(path);
		return err_set(e, ERR_INTERNAL, "more than %d files to copy", MAX_FILES);
	}
	s->files[s->n_files].path = path;
	return hash_file(path, s->files[s->n_files++].sum, e);
}

static int add_sync_programs(struct syncing *s, struct err *e)
{
	static const char *const names[] = { "werkbank", "werkbank-data", "werkbank-launch",
					     "werkbank-train", "werkbank-eval" };
	struct err none = { 0 };
	char *shipped;
	int rc = 0;

	for (size_t i = 0; !rc && i < ARRAY_LEN(names); i++)
		rc = add_sync_file(s, paths_program(names[i], e), e);
	if (!rc && !(s->bin = mem_strdup(s->files[0].path, e)))
		rc = e->code;
	if (!rc)
		*strrchr(s->bin, '/') = 0;
	shipped = paths_shipped(SHIPPED, &none);
	if (shipped) {
		shipped[strlen(shipped) - strlen("/" SHIPPED)] = 0;
		/* an installed program finds bin/../share, and rsync rejects ".." in a path */
		s->share = realpath(shipped, NULL);
		if (!s->share && !rc)
			rc = err_set_errno(e, ERR_IO, "%s: cannot be resolved", shipped);
		free(shipped);
	}
	return rc;
}

/* Files that a rank reads for its part of an evaluation: dev.shard, dev.en, dev.de. */
static int add_sync_held_out(struct syncing *s, struct err *e)
{
	DIR *folder = opendir(s->corpus);
	struct dirent *entry;
	int rc = 0;

	while (folder && !rc && (entry = readdir(folder)) != NULL)
		if (text_starts_with(entry->d_name, "dev."))
			rc = add_sync_file(s, file_path(e, "%s/%s", s->corpus, entry->d_name), e);
	if (folder)
		closedir(folder);
	return rc;
}

static bool has_sync_file(const struct syncing *s, const char *name)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/%s", s->corpus, name);
	const bool has = path && file_exists(path);

	free(path);
	return has;
}

/* The manifest comes last in files[]: its presence marks a complete corpus. */
static int add_sync_corpus(struct syncing *s, struct err *e)
{
	static const char *const names[] = { "train.shard", MODEL_FILE_NAMES };
	const char *corpus = s->task->conf->corpus, *needed = VOCABULARY_FILE;
	int rc;

	if (!corpus)
		return 0;
	rc = paths_check_name("corpus", corpus, e);
	if (!rc && !(s->corpus = file_path(e, "%s/corpora/%s", s->task->workspace, corpus)))
		rc = e->code;
	if (!rc && has_sync_file(s, TARGET_VOCABULARY_FILE))
		needed = TARGET_VOCABULARY_FILE;
	for (size_t i = 0; !rc && i < ARRAY_LEN(names); i++) {
		char *path = file_path(e, "%s/%s", s->corpus, names[i]);
		const bool is_needed = i == 0 || !strcmp(names[i], needed);

		if (path && !is_needed && !file_exists(path))
			free(path);
		else
			rc = add_sync_file(s, path, e);
	}
	if (!rc)
		rc = add_sync_held_out(s, e);
	if (!rc)
		rc = add_sync_file(s, file_path(e, "%s/manifest.json", s->corpus), e);
	if (!rc && !(s->manifest = mem_strdup(s->files[s->n_files - 1].path, e)))
		rc = e->code;
	return rc;
}

/* ---- state of the hosts ---------------------------------------------------------- */

static int make_sync_marker(struct syncing *s, struct err *e)
{
	char host[256] = "?";

	if (file_make_folders(s->task->workspace, e))
		return e->code;
	gethostname(host, sizeof(host) - 1);
	s->marker = file_path(e, "%s/.seen-from-%s-%ld", s->task->workspace, host, (long)getpid());
	return s->marker ? file_write_all(s->marker, "", 0, e) : e->code;
}

/*
 * Look for the marker and make the folders with a shell script, as Werkbank may be missing there.
 */
static int inspect_sync_hosts(struct syncing *s, struct err *e)
{
	static const char script[] = "[ -e \"$1\" ] && echo shared; shift; mkdir -p \"$@\" && "
				     "command -v rsync >/dev/null || echo 'rsync: not found' >&2";
	const char *const argv[] = { "sh",
				     "-c",
				     script,
				     "sh",
				     s->marker,
				     s->task->workspace,
				     s->bin,
				     s->share ? s->share : s->bin,
				     s->corpus ? s->corpus : s->bin,
				     NULL };
	const struct remote_options how =
		launcher_remote_options(s->task->conf, s->task->conf->deadline);
	size_t n = s->task->hosts->n;
	struct remote_job *jobs = mem_alloc(n, sizeof(*jobs), e);
	int rc = jobs ? 0 : e->code;

	for (size_t i = 0; !rc && i < n; i++)
		jobs[i] = (struct remote_job){ .host = &s->task->hosts->all[i], .argv = argv };
	if (!rc)
		rc = remote_run(jobs, n, &how, e);
	for (size_t i = 0; !rc && i < n; i++) {
		struct sync_host *h = &s->by_host[i];
		const char *words = buf_text(&jobs[i].err);

		h->is_local = host_is_local(jobs[i].host);
		h->alive = !jobs[i].trouble[0] && jobs[i].status == 0;
		h->shares = strstr(buf_text(&jobs[i].out), "shared") != NULL;
		if (jobs[i].trouble[0])
			snprintf(h->trouble, sizeof(h->trouble), "%s", jobs[i].trouble);
		else if (!h->alive)
			snprintf(h->trouble, sizeof(h->trouble),
				 "cannot create the folders on "
				 "%s: %.*s",
				 jobs[i].host->name, (int)MIN(strcspn(words, "\n"), 200), words);
		else if (strstr(words, "rsync: not found")) {
			snprintf(h->trouble, sizeof(h->trouble),
				 "%s has no rsync: install it "
				 "there",
				 jobs[i].host->name);
			h->alive = h->shares || h->is_local;
		}
	}
	if (jobs)
		remote_free(jobs, n);
	free(jobs);
	return rc;
}

/* ---- copying ---------------------------------------------------------------------- */

/* The value of rsync's option -e: a command that rsync splits at blanks, with quotes. */
static int write_rsync_shell(const struct syncing *s, const struct host *h, struct buf *out,
			     struct err *e)
{
	struct command_line c = { 0 };
	int rc = command_line_split(&c, s->task->conf->ssh, e);

	command_line_quote(c.all, out);
	buf_printf(out, " -x -o BatchMode=yes -o ConnectTimeout=10");
	if (h->port)
		buf_printf(out, " -p %d", h->port);
	if (!rc)
		rc = command_line_check(&c, e) ? e->code : buf_check(out, e);
	command_line_free(&c);
	return rc;
}

/*
 * One rsync command for host i; last: only the manifest, else all other files. -R keeps the whole
 * paths. A partial file has another name until it is complete.
 */
static int build_rsync_command(const struct syncing *s, size_t i, bool last, struct command_line *c,
			       struct err *e)
{
	const struct host *h = &s->task->hosts->all[i];
	const bool is_ipv6 = strchr(h->name, ':') != NULL;
	struct buf shell = { 0 };
	int rc = write_rsync_shell(s, h, &shell, e);

	COMMAND_LINE_ADD(c, "rsync", "-aLR", "--no-implied-dirs", "--partial-dir=.werkbank-partial",
			 "--timeout=120", "--stats", "-e", buf_text(&shell));
	for (size_t k = 0; k < s->n_files; k++) {
		bool is_manifest = s->manifest && !strcmp(s->files[k].path, s->manifest);

		if (is_manifest == last &&
		    !(s->by_host[i].shares && s->corpus &&
		      !strncmp(s->files[k].path, s->corpus, strlen(s->corpus))))
			command_line_add(c, s->files[k].path);
	}
	if (s->share && !last)
		command_line_add(c, s->share);
	command_line_printf(c, "%s%s%s:/", is_ipv6 ? "[" : "", h->name, is_ipv6 ? "]" : "");
	buf_free(&shell);
	return rc ? rc : command_line_check(c, e);
}

/* "Total bytes sent: 1,234,567" of --stats; -1: not found. */
static int64_t parse_rsync_bytes(const struct buf *stats)
{
	static const char words[] = "Total bytes sent: ";
	const char *at = strstr(buf_text(stats), words);
	int64_t n = 0;

	if (!at)
		return -1;
	for (at += strlen(words); *at && *at != '\n'; at++)
		if (*at >= '0' && *at <= '9') /* skip the commas */
			n = n * 10 + *at - '0';
	return n;
}

static void store_rsync_result(struct sync_host *h, const struct remote_job *job)
{
	const char *words = buf_text(&job->err), *name = job->host->name;

	h->seconds += job->seconds;
	if (job->status == 0) {
		h->sent += parse_rsync_bytes(&job->out);
		return;
	}
	h->done = false;
	if (job->trouble[0] && job->status != NOT_FOUND)
		snprintf(h->trouble, sizeof(h->trouble), "%s", job->trouble);
	else
		snprintf(h->trouble, sizeof(h->trouble),
			 "copying to %s failed (rsync status %d): "
			 "%.*s; the next hosts sync resumes the copy",
			 name, job->status, (int)MIN(strcspn(words, "\n"), 200), words);
}

/* rsync does not work over srun: its two streams stall. */
static void refuse_sync_by_srun(struct sync_host *h, const char *name)
{
	h->done = false;
	snprintf(h->trouble, sizeof(h->trouble),
		 "%s lacks files of the workspace or the program, and srun cannot copy them: use a "
		 "folder that all nodes share, or --launcher ssh",
		 name);
}

/* Copy all files but the manifest; or with last only the manifest. */
static int copy_sync_files(struct syncing *s, bool last, struct err *e)
{
	const struct remote_options how = { .deadline_s = COPY_S, .max_parallel = AT_ONCE };
	size_t n = s->task->hosts->n, n_jobs = 0;
	struct remote_job *jobs = mem_alloc(n, sizeof(*jobs), e);
	struct command_line *lines = mem_alloc(n, sizeof(*lines), e);
	size_t *who = mem_alloc(n, sizeof(*who), e);
	int rc = jobs && lines && who ? 0 : e->code;

	for (size_t i = 0; !rc && i < n; i++) {
		if (!s->by_host[i].done || s->by_host[i].is_up_to_date ||
		    (last && s->by_host[i].shares))
			continue;
		if (launcher_is_slurm(s->task->conf)) {
			refuse_sync_by_srun(&s->by_host[i], s->task->hosts->all[i].name);
			continue;
		}
		rc = build_rsync_command(s, i, last, &lines[n_jobs], e);
		jobs[n_jobs] = (struct remote_job){ .host = &s->task->hosts->all[i],
						    .argv = lines[n_jobs].all };
		who[n_jobs++] = i;
	}
	if (!rc)
		rc = remote_run_local(jobs, n_jobs, &how, e);
	assert(n_jobs <= n);
	for (size_t k = 0; !rc && k < n_jobs; k++)
		store_rsync_result(&s->by_host[who[k]], &jobs[k]);
	for (size_t k = 0; lines && k < n_jobs; k++)
		command_line_free(&lines[k]);
	if (jobs)
		remote_free(jobs, n_jobs);
	free(jobs);
	free(lines);
	free(who);
	return rc;
}

/* ---- verification ------------------------------------------------------------------ */

/* Checksums before the copy: only on hosts that share the workspace; after it: on all that got files. */
struct sums_query {
	const struct syncing *s;
	bool before;
};

static bool has_sums_to_compare(const struct sums_query *q, size_t i)
{
	const struct sync_host *h = &q->s->by_host[i];

	return h->done && (!q->before || h->shares) && !h->is_up_to_date;
}

static void write_sums_request(const void *query, size_t i, struct buf *out)
{
	const struct sums_query *q = query;
	struct json_writer w = { .out = out };

	if (!has_sums_to_compare(q, i))
		return;
	json_open(&w, '{');
	json_put_str(&w, "ask", "sums");
	json_put_open(&w, "files", '[');
	for (size_t k = 0; k < q->s->n_files; k++)
		json_str(&w, q->s->files[k].path);
	json_close(&w, ']');
	json_close(&w, '}');
}

static void compare_sync_sums(const struct syncing *s, size_t i, const struct json *answer,
			      struct sync_host *h)
{
	const struct json *sums = json_get(answer, "sums");

	assert(h == &s->by_host[i]);
	for (size_t k = 0; k < s->n_files; k++)
		if (strcmp(json_text(json_get(json_at(sums, k), "sha256"), ""), s->files[k].sum)) {
			h->done = false;
			snprintf(h->trouble, sizeof(h->trouble),
				 "%.200s on %.80s differs from this host "
				 "after the copy: is the disk full or damaged?",
				 s->files[k].path, s->task->hosts->all[i].name);
			return;
		}
}

/* Compare checksums; before: to skip the copy where all files agree. */
static int verify_sync_files(struct syncing *s, bool before, struct err *e)
{
	const struct remote_options how =
		launcher_remote_options(s->task->conf, s->task->conf->deadline + VERIFY_S);
	const struct sums_query query = { s, before };
	struct hosts_answers a = { 0 };
	int rc = hosts_query(&a, s->task->hosts, write_sums_request, &query, &how, e);

	for (size_t i = 0; !rc && i < s->task->hosts->n; i++) {
		struct sync_host *h = &s->by_host[i];

		if (!has_sums_to_compare(&query, i))
			continue;
		if (a.by_host[i]) {
			compare_sync_sums(s, i, a.by_host[i], h);
		} else {
			h->done = false;
			snprintf(h->trouble, sizeof(h->trouble), "%s", a.trouble[i]);
		}
		h->is_up_to_date = before && h->done;
		h->done = before || h->done;
	}
	hosts_answers_free(&a);
	return rc;
}

/* ---- report ------------------------------------------------------------------------- */

static const char *sync_state_name(const struct sync_host *h)
{
	return h->is_local	  ? "this host"
	       : !h->done	  ? "failed"
	       : h->is_up_to_date ? "same file system"
				  : "copied";
}

static int report_sync(const struct syncing *s, struct err *e)
{
	struct buf out = { 0 };
	struct json_writer w = { .out = &out };
	bool json = s->task->conf->json;
	int rc;

	if (json)
		json_open(&w, '[');
	for (size_t i = 0; i < s->task->hosts->n; i++) {
		const struct sync_host *h = &s->by_host[i];
		const char *name = s->task->hosts->all[i].name;

		if (json) {
			json_open(&w, '{');
			json_put_str(&w, "host", name);
			json_put_str(&w, "state", sync_state_name(h));
			json_put_int(&w, "sent_bytes", h->sent);
			json_put_real(&w, "seconds", h->seconds);
			if (!h->is_local && !h->done)
				json_put_str(&w, "trouble", h->trouble);
			json_close(&w, '}');
		} else if (!h->is_local && !h->done) {
			buf_printf(&out, "%s: failed: %s\n", name, h->trouble);
		} else {
			buf_printf(&out, "%s: %s, %.1f MB sent in %.1f s, %zu file%s verified\n",
				   name, sync_state_name(h), (double)h->sent / 1e6, h->seconds,
				   h->is_local ? 0 : s->n_files,
				   text_plural(h->is_local ? 0 : s->n_files));
		}
	}
	if (json) {
		json_close(&w, ']');
		buf_add_char(&out, '\n');
	}
	rc = file_put_stdout(&out, e);
	buf_free(&out);
	return rc;
}

static int sync_all_hosts(struct syncing *s, int *status, struct err *e)
{
	size_t n = s->task->hosts->n, alive = 0, remaining = 0;
	int rc = make_sync_marker(s, e);

	if (!rc)
		rc = inspect_sync_hosts(s, e);
	for (size_t i = 0; !rc && i < n; i++) {
		s->by_host[i].done = s->by_host[i].alive && !s->by_host[i].is_local &&
				     (s->by_host[i].shares || !s->by_host[i].trouble[0]);
		alive += s->by_host[i].alive;
		remaining += s->by_host[i].done;
	}
	/* A shared workspace does not mean that the programs are shared, too. */
	if (!rc && remaining)
		rc = verify_sync_files(s, true, e);
	if (!rc && remaining)
		rc = copy_sync_files(s, false, e);
	if (!rc && remaining && s->manifest)
		rc = copy_sync_files(s, true, e);
	if (!rc && remaining)
		rc = verify_sync_files(s, false, e);
	if (!rc)
		rc = report_sync(s, e);
	for (size_t i = 0; !rc && i < n; i++)
		*status = *status || (!s->by_host[i].is_local && !s->by_host[i].done);
	if (!rc && !alive)
		*status = err_exit_status(ERR_NOHOST);
	return rc;
}

int hosts_sync(const struct hosts_task *t, int *status, struct err *e)
{
	struct syncing s = { .task = t };
	int rc;

	s.by_host = mem_alloc(t->hosts->n, sizeof(*s.by_host), e);
	rc = s.by_host ? add_sync_programs(&s, e) : e->code;
	if (!rc)
		rc = add_sync_corpus(&s, e);
	if (!rc)
		rc = sync_all_hosts(&s, status, e);
	if (s.marker)
		unlink(s.marker);
	for (size_t i = 0; i < s.n_files; i++)
		free(s.files[i].path);
	free(s.by_host);
	free(s.share);
	free(s.corpus);
	free(s.manifest);
	free(s.bin);
	free(s.marker);
	return rc;
}
