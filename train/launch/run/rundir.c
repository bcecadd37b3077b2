/* rundir.c - see rundir.h */
#include "train/launch/run/rundir.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/text.h"
#include "share/conf/text_facts.h"
#include "share/format/format_version.h"
#include "share/format/json.h"
#include "share/workspace/journal.h"
#include "share/workspace/lock_file.h"
#include "train/common/control.h"
#include "train/common/leftover.h"
#include "train/common/run_versions.h"
#include "train/launch/run/run_handle.h"

#define STATE_MAX_BYTES	 65536
#define RECIPE_MAX_BYTES ((size_t)1 << 20)
#define LOCK_TRIES	 10 /* "werkbank status" tests the lock by locking it briefly */
#define LOCK_PAUSE_US	 50000

char *rundir_file_path(const struct rundir *r, const char *name, struct err *e)
{
	return file_path(e, "%s/%s", r->path, name);
}

/* ---- the lock ---- */

/* The lock is held, but not by a process of this host. */
static int set_foreign_error(const struct rundir *r, int64_t pid, struct err *e)
{
	char host[256] = "";
	struct run_lease l;

	gethostname(host, sizeof(host) - 1);
	if (!run_lease_read(r->path, &l, e) && l.id[0] && l.pid == pid &&
	    strncmp(l.host, host, sizeof(l.host) - 1) != 0)
		return err_set(
			e, ERR_TEMPFAIL,
			"%s: this run is being trained already, by process %lld on host %s, "
			"which renewed its lease %.0f s ago: stop it with werkbank stop; or, if "
			"that process has ended but left ranks behind, with werkbank hosts "
			"clean %s",
			r->path, (long long)pid, l.host, MAX(clock_wall_s() - l.renewed, 0.0),
			l.host);
	return err_set(e, ERR_TEMPFAIL,
		       "%s: this run is being trained already, by process %lld on another "
		       "host; or that process has ended but left ranks behind on this one: see "
		       "werkbank hosts clean",
		       r->path, (long long)pid);
}

static int set_locked_error(const struct rundir *r, struct err *e)
{
	char text[32] = "";
	ssize_t n = pread(r->lock, text, sizeof(text) - 1, 0);
	int64_t pid;

	if (n > 0)
		text[n] = 0;
	if (!text_to_int(text_trim(text), &pid))
		return err_set(e, ERR_TEMPFAIL, "%s: this run is being trained already", r->path);
	if (kill((pid_t)pid, 0) && errno == ESRCH)
		return set_foreign_error(r, pid, e);
	return err_set(e, ERR_TEMPFAIL, "%s: this run is being trained already, by process %lld",
		       r->path, (long long)pid);
}

int rundir_write_lock_pid(struct rundir *r, struct err *e)
{
	char pid[32];
	int n = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());

	assert(r->lock >= 0);
	if (ftruncate(r->lock, 0) || lseek(r->lock, 0, SEEK_SET) ||
	    file_write_fd(r->lock, pid, (size_t)n))
		return err_set_errno(e, ERR_IO, "%s/lock: cannot write to this file", r->path);
	r->lease.pid = getpid();
	return r->lease.id[0] ? rundir_renew_lease(r, true, e) : 0;
}

static void tell_lease_wait(const char *text)
{
	fprintf(stderr, "werkbank: %s\n", text);
}

static int take_lease(struct rundir *r, struct err *e)
{
	r->lease.pid = getpid();
	r->lease.attempt = r->attempt;
	process_boot_id(r->lease.boot);
	run_lease_name_job(&r->lease);
	if (run_lease_take(r->path, &r->lease, &r->former, tell_lease_wait, e)) {
		r->lease.id[0] = 0;
		return e->code;
	}
	r->renewed = clock_mono_s();
	return 0;
}

int rundir_renew_lease(struct rundir *r, bool now, struct err *e)
{
	if (!r->lease.id[0] ||
	    (!now && clock_mono_s() - r->renewed < run_lease_interval_s(&r->lease)))
		return 0;
	r->lease.attempt = r->attempt;
	if (run_lease_renew(r->path, &r->lease, e))
		return e->code;
	r->renewed = clock_mono_s();
	return 0;
}

void rundir_pass_lease(struct rundir *r)
{
	if (r->lock >= 0)
		close(r->lock);
	r->lock = -1;
	r->lease.id[0] = 0;
}

static int lock_rundir(struct rundir *r, struct err *e)
{
	char *path = rundir_file_path(r, "lock", e);
	int rc = 0;

	if (!path)
		return e->code;
	rc = lock_file_open(&r->lock, path, e);
	if (!rc && fcntl(r->lock, F_SETFD, 0)) /* the ranks inherit the lock */
		rc = err_set_errno(e, ERR_INTERNAL, "%s: cannot be inherited", path);
	for (int i = 0; !rc && flock(r->lock, LOCK_EX | LOCK_NB); i++) {
		if (errno != EWOULDBLOCK)
			rc = err_set_errno(e, ERR_UNAVAILABLE, "%s: cannot lock this file", path);
		else if (i == LOCK_TRIES)
			rc = set_locked_error(r, e);
		else
			usleep(LOCK_PAUSE_US);
	}
	free(path);
	if (!rc)
		control_read_requests(r->path); /* drop requests to a supervisor that has died */
	return rc ? rc : rundir_write_lock_pid(r, e);
}

int rundir_check(const struct rundir *r, struct err *e)
{
	char *path = rundir_file_path(r, "lock", e);
	struct lock_identity is;
	struct stat held;

	if (!path)
		return e->code;
	is = lock_file_identity(path);
	free(path);
	if (r->lock < 0 || fstat(r->lock, &held) ||
	    (is.inode == held.st_ino && is.device == held.st_dev))
		return r->lease.id[0] ? run_lease_check(r->path, r->lease.id, r->lease.attempt, e)
				      : 0;
	return err_set(
		e, ERR_TEMPFAIL,
		"%s is not the folder any more in which this training began: it was removed, "
		"moved or replaced",
		r->path);
}

/* Set the number of this attempt. Without a state, or with a damaged one, attempts count from 1. */
static int count_attempt(struct rundir *r, struct err *e)
{
	char *path = rundir_file_path(r, "state.json", e);
	struct json *root = NULL;
	int rc = path ? json_read_optional(&root, path, STATE_MAX_BYTES, e) : e->code;

	r->attempt = json_integer(json_get(root, "attempt"), 0) + 1;
	json_free(root);
	free(path);
	return rc;
}

static int hold_rundir(struct rundir *r, struct err *e)
{
	int rc = lock_rundir(r, e);

	if (!rc)
		rc = run_check_versions(r->path, e);
	if (!rc)
		rc = count_attempt(r, e);
	return rc ? rc : take_lease(r, e);
}

/*
 * Slurm queues a job again when it loses a node, but the node may be cut off from Slurm alone and go on
 * training. Ask that training to save and stop, and wait until it has, or has lost its lease.
 */
static int end_earlier_job(struct rundir *r, const struct run_lease *earlier, struct err *e)
{
	fprintf(stderr,
		"werkbank: process %lld on host %s trains this run in the same Slurm job, before "
		"it was "
		"queued again; asking it to save and stop, and waiting for that, or for the end of "
		"its "
		"lease\n",
		(long long)earlier->pid, earlier->host);
	if (r->lock >= 0)
		close(r->lock);
	r->lock = -1;
	run_handle_repeat_stop(r->path);
	return run_lease_wait(r->path, earlier, e);
}

int rundir_open(struct rundir *r, const char *workspace, const char *name, struct err *e)
{
	char *runs = file_path(e, "%s/runs", workspace);
	struct run_lease held, own = { .id = "" };
	struct err ignored;
	bool is_new;
	int rc;

	*r = (struct rundir){ .lock = -1, .started = clock_wall_s() };
	r->path = runs ? file_path(e, "%s/%s", runs, name) : NULL;
	if (!r->path) {
		free(runs);
		return e->code;
	}
	is_new = !file_exists(r->path);
	rc = file_make_folders(r->path, e);
	if (!rc && is_new) { /* the names of the new folders survive a power failure */
		file_sync_folder(runs);
		file_sync_folder(workspace);
	}
	free(runs);
	run_lease_name_job(&own);
	if (!rc)
		rc = hold_rundir(r, e);
	while (rc == ERR_TEMPFAIL && !run_lease_read(r->path, &held, &ignored) &&
	       run_lease_is_earlier(&held, &own)) {
		rc = end_earlier_job(r, &held, e);
		if (!rc)
			rc = hold_rundir(r, e);
	}
	if (!rc)
		file_remove_leftovers(r->path);
	return rc;
}

void rundir_close(struct rundir *r)
{
	if (r->path)
		run_lease_release(r->path, &r->lease);
	if (r->lock >= 0)
		close(r->lock);
	free(r->path);
	free(r->former_recipe);
	*r = (struct rundir){ .lock = -1 };
}

/* ---- the recipe ---- */

/*
 * Must this option stay the same in a resumed run? It changes the model, the data or their order.
 */
static bool is_fixed_option(const char *section, const char *name)
{
	static const char *const order[] = { "seed", "batch_tokens", "micro_batches",
					     "pair_temperature", "start_from" };

	if (!strcmp(section, "data") || !strcmp(section, "model"))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		if (!strcmp(name, order[i]))
			return true;
	return false;
}

static bool was_given_by_hand(const struct conf *c, const char *name)
{
	const char *origin = conf_origin(c, name);

	return !strcmp(origin, "command line") || text_starts_with(origin, "WERKBANK_");
}

/*
 * The corpus decides its facts of text; the vocabulary of the checkpoint holds the run and the corpus
 * together. Runs of older releases repeated the facts, perhaps wrongly.
 */
static int merge_text_fact(const struct rundir *r, const struct conf *c, const struct conf *old,
			   const char *name, struct err *e)
{
	struct buf before = { 0 }, now = { 0 };
	int rc = 0;

	if (!text_facts_are_adopted(old) || text_fact_find(name)->use == TEXT_FACT_SOURCE)
		return 0; /* texts may move */
	conf_value(old, name, &before);
	conf_value(c, name, &now);
	rc = buf_check(&before, e) ? e->code : buf_check(&now, e);
	if (!rc && strcmp(buf_text(&before), buf_text(&now)) && old->corpus &&
	    strcmp(old->corpus, text_facts_corpus(c)))
		rc = err_set(e, ERR_CONFIG,
			     "%s: this run is trained on the corpus %s and cannot continue with "
			     "the corpus %s: give another --run NAME",
			     r->path, old->corpus, text_facts_corpus(c));
	else if (!rc && strcmp(buf_text(&before), buf_text(&now)))
		rc = err_set(
			e, ERR_CONFIG,
			"%s: this run began when the corpus %s had %s '%s'; the corpus was "
			"prepared again with '%s': prepare it as it was, or give another --run "
			"NAME",
			r->path, c->corpus, name, buf_text(&before), buf_text(&now));
	buf_free(&before);
	buf_free(&now);
	return rc;
}

/*
 * One option of a resumed run: keep a value given by hand before, reject a change of a fixed one.
 */
static int merge_recipe_option(const struct rundir *r, struct conf *c, const struct conf *old,
			       const char *section, const char *name, struct err *e)
{
	struct buf before = { 0 }, now = { 0 };
	char dashed[64];
	int rc = 0;

	if (text_facts_are_adopted(c) && text_fact_find(name) &&
	    text_fact_find(name)->use != TEXT_FACT_INPUT)
		return merge_text_fact(r, c, old, name, e);
	conf_value(old, name, &before);
	if (!was_given_by_hand(c, name) && was_given_by_hand(old, name))
		rc = conf_set(c, name, buf_text(&before), conf_origin(old, name), e);
	conf_value(c, name, &now);
	if (!rc)
		rc = buf_check(&before, e) ? e->code : buf_check(&now, e);
	if (!rc && is_fixed_option(section, name) && strcmp(buf_text(&before), buf_text(&now))) {
		snprintf(dashed, sizeof(dashed), "%s", name);
		for (char *p = dashed; *p; p++)
			if (*p == '_')
				*p = '-';
		rc = err_set(e, ERR_CONFIG,
			     "%s: this run began with --%s '%s' and cannot continue with "
			     "'%s' (%s): give another --run NAME, or %s",
			     r->path, dashed, buf_text(&before), buf_text(&now),
			     conf_origin(c, name),
			     was_given_by_hand(c, name)
				     ? "leave the option out"
				     : "train with the recipe.ini in the folder of the run");
	}
	buf_free(&before);
	buf_free(&now);
	return rc;
}

static int merge_old_recipe(const struct rundir *r, struct conf *c, const char *path, struct err *e)
{
	struct conf old;
	const char *section, *name;
	int rc = conf_init(&old, e);

	if (!rc)
		rc = conf_load_recipe(&old, path, e);
	for (size_t i = 0; !rc && (name = conf_option_at(i, &section)) != NULL; i++)
		if (strcmp(section, "tool"))
			rc = merge_recipe_option(r, c, &old, section, name, e);
	conf_free(&old);
	return rc;
}

/* With fewer steps than are made nothing is left to train, and the records of a finished run must stay. */
static int check_planned_steps(const struct rundir *r, const struct conf *c, struct err *e)
{
	const long long last = (long long)rundir_last_checkpoint(r);

	if (last <= c->steps)
		return 0;
	return err_set(e, ERR_CONFIG,
		       "%s: this run has made %lld steps already, more than --steps %lld: nothing "
		       "was changed; to train on, give --steps %lld or more; to train anew, give "
		       "another --run NAME",
		       r->path, last, (long long)c->steps, last + 1);
}

/* Has the run made a step? A run that failed before its first one has nothing to continue. */
static bool is_run_trained(const struct rundir *r, struct err *e)
{
	char *path = rundir_file_path(r, "journal.jsonl", e);
	struct journal_reader *journal = path ? journal_reader_open(path, e) : NULL;
	const struct json *record;
	bool found = rundir_last_checkpoint(r) >= 0;
	int got = 0;

	while (journal && !found && (got = journal_next(journal, &record, e)) > 0)
		found = !strcmp(json_text(json_get(record, "kind"), ""), "train");
	journal_reader_free(journal);
	free(path);
	return found || !journal || got < 0; /* unreadable: nothing may be lost */
}

static int keep_former_recipe(struct rundir *r, const char *path, struct err *e)
{
	struct buf text = { 0 };
	int rc = file_read_all(path, RECIPE_MAX_BYTES, &text, e);

	free(r->former_recipe); /* rundir_merge_recipe() may be called again */
	r->former_recipe = NULL;
	if (!rc && !(r->former_recipe = buf_detach(&text, e)))
		rc = e->code;
	buf_free(&text);
	return rc;
}

int rundir_merge_recipe(struct rundir *r, struct conf *c, struct err *e)
{
	char *path = rundir_file_path(r, "recipe.ini", e);
	struct buf text = { 0 };
	int rc = 0;

	if (!path)
		return e->code;
	r->resumed = file_exists(path) && is_run_trained(r, &(struct err){ 0 });
	r->resumed_from = rundir_last_checkpoint(r);
	if (r->resumed)
		rc = keep_former_recipe(r, path, e);
	if (!rc && r->resumed)
		rc = merge_old_recipe(r, c, path, e);
	if (!rc && r->resumed)
		rc = check_planned_steps(r, c, e);
	if (!rc) {
		conf_write_recipe(c, &text);
		rc = buf_check(&text, e);
	}
	if (!rc)
		rc = file_write_all(path, text.data, text.len, e);
	buf_free(&text);
	free(path);
	return rc;
}

int rundir_restore_recipe(const struct rundir *r, int status, struct err *e)
{
	static const enum err_code refusals[] = { ERR_USAGE, ERR_CONFIG, ERR_UNAVAILABLE };
	bool is_refused = false;
	char *path;
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(refusals); i++)
		is_refused |= status == err_exit_status(refusals[i]);
	if (!is_refused || !r->former_recipe || rundir_last_checkpoint(r) != r->resumed_from)
		return 0;
	path = rundir_file_path(r, "recipe.ini", e);
	rc = path ? file_write_all(path, r->former_recipe, strlen(r->former_recipe), e) : e->code;
	free(path);
	return rc;
}

/* ---- the state ---- */

static void put_str_or_null(struct json_writer *w, const char *key, const char *text)
{
	json_key(w, key);
	if (text)
		json_str(w, text);
	else
		json_null(w);
}

static void put_state_hosts(struct json_writer *w, const struct hosts *h)
{
	json_put_open(w, "hosts", '[');
	for (size_t i = 0; h && i < h->n; i++) {
		json_open(w, '{');
		put_str_or_null(w, "host", h->all[i].name);
		json_put_int(w, "slots", h->all[i].slots);
		json_close(w, '}');
	}
	json_close(w, ']');
}

/* The holder of the lock; start time and boot id detect a recycled process id. */
static void put_lock_holder(struct json_writer *w)
{
	char host[256] = "", boot[PROCESS_BOOT_ID];

	gethostname(host, sizeof(host) - 1);
	json_put_int(w, "pid", getpid());
	json_put_int(w, "pid_start", process_start_ticks(getpid()));
	put_str_or_null(w, "host", host);
	if (process_boot_id(boot)) /* an unknown one is absent */
		json_put_str(w, "boot_id", boot);
}

int rundir_write_state(const struct rundir *r, const struct run_state *s, struct err *e)
{
	char *path = rundir_check(r, e) ? NULL : rundir_file_path(r, "state.json", e);
	struct buf text = { 0 };
	struct json_writer w = { .out = &text };
	int rc;

	assert(s->name);
	if (!path)
		return e->code;
	json_open(&w, '{');
	format_put_version(&w, &run_state_format, NULL);
	put_str_or_null(&w, "state", s->name);
	put_lock_holder(&w);
	json_put_real(&w, "started", r->started);
	json_put_int(&w, "attempt", r->attempt);
	json_put_int(&w, "ranks", s->ranks);
	json_key(&w, "exit");
	if (s->status < 0)
		json_null(&w);
	else
		json_int(&w, s->status);
	json_put_int(&w, "restarts", s->restarts);
	put_state_hosts(&w, s->hosts);
	put_str_or_null(&w, "network", s->network);
	put_str_or_null(&w, "event", s->event);
	put_str_or_null(&w, "asked_by", s->asked_by);
	json_put_bool(&w, "detached", s->detached);
	json_close(&w, '}');
	buf_add_char(&text, '\n');
	rc = buf_check(&text, e);
	if (!rc)
		rc = file_write_all(path, text.data, text.len, e);
	buf_free(&text);
	free(path);
	return rc;
}

int64_t rundir_last_checkpoint(const struct rundir *r)
{
	struct err ignored;
	char *path = rundir_file_path(r, "checkpoints", &ignored);
	DIR *d = path ? opendir(path) : NULL;
	int64_t last = -1, step;

	for (struct dirent *f; d && (f = readdir(d)) != NULL;)
		if (text_to_int(f->d_name, &step))
			last = MAX(last, step);
	if (d)
		closedir(d);
	free(path);
	return last;
}
