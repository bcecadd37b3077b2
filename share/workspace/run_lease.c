/* run_lease.c - see run_lease.h */
#include "share/workspace/run_lease.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/text.h"

#define LEASE_BYTES 512 /* of the file: one length, so that a renewal never shortens it */
#define LEASE_FORM                                                                                 \
	"werkbank lease 1\nid %s\nhost %s\nboot %s\npid %lld\nattempt %lld\nterm %.3f\n"           \
	"started %.3f\nrenewed %.3f\nrenewals %lld\njob %s\n"
#define POLL_US	 200000
#define SETTLE_S 1.0 /* after a take-over: of two hosts that did it at once, the last one has it */
#define TRIES	 5   /* the lease may change while it is being taken */

/* ---- the file ---- */

static char *lease_path(const char *folder, struct err *e)
{
	return file_path(e, "%s/lease", folder);
}

static void lease_write_text(const struct run_lease *l, char text[LEASE_BYTES])
{
	int n = snprintf(text, LEASE_BYTES, LEASE_FORM, l->id, l->host, l->boot, (long long)l->pid,
			 (long long)l->attempt, l->term_s, l->started, l->renewed,
			 (long long)l->renewals, l->job[0] ? l->job : "-");

	memset(text + n, ' ', LEASE_BYTES - (size_t)n);
	text[LEASE_BYTES - 1] = '\n';
}

static bool lease_read_text(const char *text, struct run_lease *l)
{
	long long pid, attempt, renewals;

	snprintf(l->job, sizeof(l->job), "-"); /* as of older releases */
	if (sscanf(text,
		   "werkbank lease 1 id %19s host %64s boot %39s pid %lld attempt %lld term %lf "
		   "started %lf renewed %lf renewals %lld job %39s",
		   l->id, l->host, l->boot, &pid, &attempt, &l->term_s, &l->started, &l->renewed,
		   &renewals, l->job) < 9 ||
	    !(l->term_s > 0 && l->term_s <= LEASE_MOST_S)) {
		*l = (struct run_lease){ .id = "" };
		return false;
	}
	l->pid = pid;
	l->attempt = attempt;
	l->renewals = renewals;
	return true;
}

/* *is_damaged: there is a file, but no lease in it. */
static int lease_load(const char *folder, struct run_lease *l, bool *is_damaged, struct err *e)
{
	char *path = lease_path(folder, e), text[LEASE_BYTES + 1] = "";
	size_t n = 0;
	int rc = path ? 0 : e->code;

	*l = (struct run_lease){ .id = "" };
	if (!rc && file_exists(path))
		rc = file_read_head(path, text, LEASE_BYTES, &n, e);
	if (rc && path && !file_exists(path))
		rc = n = 0; /* released meanwhile */
	text[n] = 0;
	*is_damaged = !rc && n && !lease_read_text(text, l);
	free(path);
	return rc;
}

int run_lease_read(const char *folder, struct run_lease *l, struct err *e)
{
	bool is_damaged;

	return lease_load(folder, l, &is_damaged, e);
}

static double lease_term_s(void)
{
	const char *given = getenv("WERKBANK_LEASE");
	double s;

	return given && text_to_real(given, &s) && s > 0 && s <= LEASE_MOST_S ? s : LEASE_TERM_S;
}

double run_lease_interval_s(const struct run_lease *l)
{
	return l->term_s / LEASE_PARTS;
}

static int lease_is_lost(const char *folder, const struct run_lease *now, struct err *e)
{
	return now->id[0]
		       ? err_set(e, ERR_TEMPFAIL,
				 "%s: this training lost the lease of its run to process %lld on "
				 "host %s; it ends, and writes nothing there",
				 folder, (long long)now->pid, now->host)
		       : err_set(e, ERR_TEMPFAIL,
				 "%s: the lease of this training is gone, as after the end of its "
				 "supervisor; it ends, and writes nothing there",
				 folder);
}

int run_lease_check(const char *folder, const char *id, int64_t attempt, struct err *e)
{
	struct run_lease now;

	if (run_lease_read(folder, &now, e))
		return e->code;
	if (strcmp(now.id, id) != 0)
		return lease_is_lost(folder, &now, e);
	return !id[0] || now.attempt == attempt
		       ? 0
		       : err_set(e, ERR_TEMPFAIL,
				 "%s: attempt %lld of this training has begun; attempt %lld "
				 "writes nothing any more",
				 folder, (long long)now.attempt, (long long)attempt);
}

/* All bytes that the file has of the first LEASE_BYTES; -1: errno. */
static ssize_t lease_read_fd(int fd, char *text)
{
	size_t at = 0;

	while (at < LEASE_BYTES) {
		const ssize_t n = pread(fd, text + at, LEASE_BYTES - at, (off_t)at);

		if (n < 0 && errno != EINTR)
			return -1;
		if (n == 0)
			break;
		at += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)at;
}

/* 0, or -1: errno. */
static int lease_write_fd(int fd, const char *text)
{
	size_t at = 0;

	while (at < LEASE_BYTES) {
		const ssize_t n = pwrite(fd, text + at, LEASE_BYTES - at, (off_t)at);

		if (n < 0 && errno != EINTR)
			return -1;
		at += n > 0 ? (size_t)n : 0;
	}
	return fsync(fd);
}

int run_lease_renew(const char *folder, struct run_lease *mine, struct err *e)
{
	char *path = lease_path(folder, e), text[LEASE_BYTES + 1] = "";
	struct run_lease now = { .id = "" };
	ssize_t n = 0;
	int fd = -1, rc;

	if (!path)
		return e->code;
	/* the opened file is compared and written: after a take-over it has another name */
	rc = file_exists(path) ? file_open_in_place(&fd, path, O_RDWR, e) : 0;
	if (!rc && fd >= 0)
		n = lease_read_fd(fd, text);
	if (n < 0)
		rc = err_set_errno(e, ERR_IO, "%s: cannot be read", path);
	text[n > 0 ? n : 0] = 0;
	if (!rc && (!lease_read_text(text, &now) || strcmp(now.id, mine->id) != 0))
		rc = lease_is_lost(folder, &now, e);
	if (!rc) {
		mine->renewed = clock_wall_s();
		mine->renewals++;
		lease_write_text(mine, text);
		if (lease_write_fd(fd, text))
			rc = err_set_errno(e, ERR_IO, "%s: cannot be renewed", path);
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return rc;
}

/* Create the lease; *is_first: there was none. Where files cannot have two names, the last one wins. */
static int lease_create(const char *folder, const struct run_lease *mine, bool *is_first,
			struct err *e)
{
	char *path = lease_path(folder, e), *own = file_path(e, "%s/lease.%s", folder, mine->id);
	char text[LEASE_BYTES];
	int rc = path && own ? 0 : e->code;

	*is_first = false;
	lease_write_text(mine, text);
	if (!rc)
		rc = file_write_all(own, text, sizeof(text), e);
	if (!rc && !link(own, path))
		*is_first = true;
	else if (!rc && errno != EEXIST)
		*is_first = !file_exists(path) && !rename(own, path);
	if (own)
		unlink(own);
	free(own);
	free(path);
	return rc;
}

void run_lease_release(const char *folder, const struct run_lease *mine)
{
	struct err ignored;
	char *path;

	if (!mine->id[0] || run_lease_check(folder, mine->id, mine->attempt, &ignored))
		return;
	path = lease_path(folder, &ignored);
	if (path)
		unlink(path);
	free(path);
}

/* ---- taking it ---- */

/* May it be taken without a wait? Two hosts may have the same name; then their boot ids differ. */
static bool lease_is_free(const struct run_lease *l, const struct run_lease *mine)
{
	return !strcmp(l->host, mine->host) && !strcmp(l->boot, mine->boot);
}

static double lease_watch_s(const struct run_lease *l)
{
	return clock_wall_s() - l->renewed > l->term_s + LEASE_CLOCKS_S ? l->term_s * LEASE_GLANCE
									: l->term_s;
}

static int lease_is_held(const char *folder, const struct run_lease *l, struct err *e)
{
	const char *name = strrchr(folder, '/');

	name = name ? name + 1 : folder;
	return err_set(
		e, ERR_TEMPFAIL,
		"%s: this run is being trained already, by process %lld on host %s, which "
		"has just renewed its lease; to train it here, type werkbank stop %s first; "
		"if %s loses its power or its network, train takes the run over %.0f s later",
		folder, (long long)l->pid, l->host, name, l->host, l->term_s);
}

static void tell_wait(const struct run_lease *l, void (*tell)(const char *text))
{
	char text[400];

	snprintf(text, sizeof(text),
		 "process %lld on host %s has the lease of this run, renewed %.0f s ago by its "
		 "clock; waiting up to %.0f s to see whether it renews it again",
		 (long long)l->pid, l->host, fmax(clock_wall_s() - l->renewed, 0),
		 lease_watch_s(l));
	if (tell)
		tell(text);
}

void run_lease_name_job(struct run_lease *mine)
{
	const char *job = getenv("SLURM_JOB_ID"), *count = getenv("SLURM_RESTART_COUNT");
	int64_t number, times;

	snprintf(mine->job, sizeof(mine->job), "-");
	if (job && text_to_int(job, &number) && text_to_int(count ? count : "0", &times))
		snprintf(mine->job, sizeof(mine->job), "%lld.%lld", (long long)number,
			 (long long)times);
}

bool run_lease_is_earlier(const struct run_lease *l, const struct run_lease *mine)
{
	long long job, times, own_job, own_times;

	return l->id[0] && sscanf(l->job, "%lld.%lld", &job, &times) == 2 &&
	       sscanf(mine->job, "%lld.%lld", &own_job, &own_times) == 2 && job == own_job &&
	       times < own_times;
}

static bool lease_has_changed(const struct run_lease *now, const struct run_lease *was)
{
	return strcmp(now->id, was->id) != 0 || now->renewals != was->renewals;
}

/* Poll until the lease is renewed, released or taken, at most `seconds`; *now = what its file says then. */
static int lease_watch(const char *folder, const struct run_lease *was, double seconds,
		       struct run_lease *now, struct err *e)
{
	const double end = clock_mono_s() + seconds;

	*now = *was;
	while (!lease_has_changed(now, was) && clock_mono_s() < end) {
		usleep(POLL_US);
		if (run_lease_read(folder, now, e))
			return e->code;
	}
	return 0;
}

int run_lease_wait(const char *folder, const struct run_lease *l, struct err *e)
{
	struct run_lease was, now = *l;

	do {
		was = now;
		if (lease_watch(folder, &was, l->term_s, &now, e))
			return e->code;
	} while (!strcmp(now.id, l->id) && now.renewals != was.renewals);
	return 0;
}

/* A lease of another user, say. The lock of this host does not tell what happens on other hosts. */
static int lease_is_closed(struct err *e)
{
	const struct err why = *e;

	return err_set(e, why.code,
		       "%s: this file says whether another host trains the run; make it readable "
		       "for this user, or remove it if no host does",
		       why.text);
}

/* Watch a lease of another host. 0: it was not renewed, or it was released. */
static int lease_check_holder(const char *folder, const struct run_lease *was, struct err *e)
{
	struct run_lease now;

	if (lease_watch(folder, was, lease_watch_s(was), &now, e))
		return e->code;
	return now.id[0] && lease_has_changed(&now, was) ? lease_is_held(folder, &now, e) : 0;
}

/* Give the file of an expired lease another name, then remove it. */
static int lease_remove_expired(const char *folder, const struct run_lease *mine, struct err *e)
{
	char *path = lease_path(folder, e),
	     *away = file_path(e, "%s/lease.%s.old", folder, mine->id);
	int rc = path && away ? 0 : e->code;

	if (!rc && rename(path, away) && errno != ENOENT)
		rc = err_set_errno(e, ERR_IO, "%s: cannot be replaced", path);
	if (away)
		unlink(away);
	free(away);
	free(path);
	return rc;
}

static int lease_prepare(struct run_lease *mine, struct err *e)
{
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return err_set_errno(e, ERR_INTERNAL, "cannot get a random number");
	snprintf(mine->id, sizeof(mine->id), "%016llx", (unsigned long long)random);
	if (!mine->boot[0])
		snprintf(mine->boot, sizeof(mine->boot), "-");
	if (gethostname(mine->host, sizeof(mine->host) - 1) || !mine->host[0])
		snprintf(mine->host, sizeof(mine->host), "?");
	mine->started = mine->renewed = clock_wall_s();
	mine->renewals = 0;
	mine->term_s = lease_term_s();
	return 0;
}

/* After a take-over: did another host do the same at the same time? */
static int lease_settle(const char *folder, const struct run_lease *mine, struct err *e)
{
	struct run_lease now;

	usleep((useconds_t)(fmin(SETTLE_S, run_lease_interval_s(mine)) * 1e6));
	if (run_lease_read(folder, &now, e))
		return e->code;
	return strcmp(now.id, mine->id) != 0 ? lease_is_held(folder, &now, e) : 0;
}

int run_lease_take(const char *folder, struct run_lease *mine, struct run_lease *former,
		   void (*tell)(const char *text), struct err *e)
{
	struct run_lease now;
	bool is_first = false, is_taken_over = false, is_damaged;

	if (lease_prepare(mine, e))
		return e->code;
	for (int i = 0; i < TRIES; i++) {
		if (lease_load(folder, &now, &is_damaged, e))
			return lease_is_closed(e);
		if (former && now.id[0])
			*former = now;
		if (now.id[0] && !lease_is_free(&now, mine)) {
			tell_wait(&now, tell);
			if (lease_check_holder(folder, &now, e))
				return e->code;
			is_taken_over = true;
		}
		/* also a damaged file, which names no holder */
		if (((now.id[0] || is_damaged) && lease_remove_expired(folder, mine, e)) ||
		    lease_create(folder, mine, &is_first, e))
			return e->code;
		if (is_first)
			return is_taken_over ? lease_settle(folder, mine, e) : 0;
	}
	return err_set(e, ERR_TEMPFAIL,
		       "%s: other hosts take the lease of this run at the same time; try again",
		       folder);
}

enum lock_state run_lease_state(const char *folder)
{
	struct err ignored;
	struct run_lease l;
	char *path = file_path(&ignored, "%s/lock", folder), here[256] = "";
	enum lock_state lock = path ? lock_file_state(path) : LOCK_UNKNOWN;

	free(path);
	if (lock != LOCK_FREE || run_lease_read(folder, &l, &ignored) || !l.id[0])
		return lock;
	gethostname(here, sizeof(here) - 1);
	return !strncmp(l.host, here, sizeof(l.host) - 1) ||
			       fabs(clock_wall_s() - l.renewed) > l.term_s
		       ? LOCK_FREE
		       : LOCK_HELD;
}

enum lock_state run_lease_watch_state(const char *folder)
{
	const enum lock_state at_once = run_lease_state(folder);
	struct err ignored;
	struct run_lease first, now;

	if (at_once != LOCK_FREE || run_lease_read(folder, &first, &ignored) || !first.id[0])
		return at_once;
	return !lease_watch(folder, &first, 2 * run_lease_interval_s(&first), &now, &ignored) &&
			       now.id[0] && lease_has_changed(&now, &first)
		       ? LOCK_HELD
		       : LOCK_FREE;
}
