/* attempts.c - see attempts.h */
#include "train/launch/run/attempts.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/journal.h"
#include "share/base/text.h"
#include "train/common/control.h"
#include "train/launch/run/roll_call.h"
#include "train/launch/run/outcome.h"
#include "train/launch/run/supervise.h"

#define BACKOFF_S     5.0
#define BACKOFF_MAX_S 300.0
#define LINGER_S      30.0	/* from the ranks' last word to the end of their job */
#define REMARK_S      60.0	/* without a first word of theirs: said */
#define BEGIN_S       600.0	/* and taken for a hang; $WERKBANK_BEGIN: another number */
#define BEGIN_HOST_S  1.0	/* more for each host */

/* Parts of the margin before the end of the time a batch system gives. */
#define MARGIN_S      30.0
#define MARGIN_SAVES  3.0	/* times the slowest checkpoint */
#define MARGIN_STEPS  5.0	/* times the slowest step */

struct life {
	const struct attempts *a;
	struct supervisor sup;
	struct outcome seen;
	struct muster muster;
	char  *journal, *hostfile, *now;	/* owned: paths; now: the request to end at once */
	char   event[300];
	const char *asked_by;		/* NULL: nobody */
	const char *said;		/* the state that was written last; NULL: none */
	double began, started, stopped_at;	/* monotonic seconds; 0: not yet */
	bool   remarked, stuck;		/* this job has not begun: it was said, it was ended */
	bool   waiting;			/* between two attempts */
	int64_t restarts, in_a_row, checkpoint;
};

/* ---- the line ---- */

int64_t attempts_ranks(const struct attempts *a, const struct hosts *hosts)
{
	const struct mpirun_how how = { .hosts = hosts, .ranks = a->ranks };
	int64_t slots = hosts ? hosts_slots(hosts) : 0;

	/* where hosts are missing, their ranks are */
	if (a->ranks && a->hosts && hosts && hosts->n < a->hosts->n)
		return MIN(a->ranks, slots);
	return mpirun_ranks(&how);
}

int attempts_line(const struct attempts *a, const struct hosts *hosts, const char *hostfile,
		  struct command_line *c, struct err *e)
{
	const struct mpirun_how how = {
		.hosts = hosts, .hostfile = hostfile, .ranks = attempts_ranks(a, hosts),
		.network = a->network, .ssh = a->conf->ssh, .launcher = a->launcher,
		.crowded = a->crowded,
	};
	const char *words[] = { a->trainer, "_rank", "-C", a->workspace, "--run", a->run,
				a->conf->quiet ? "--quiet" : NULL };
	int code = 0;

	if (how.ranks > 1 || !mpirun_is_here(hosts))
		code = mpirun_add(c, &how, e);
	for (size_t i = 0; !code && i < ARRAY_LEN(words) && words[i]; i++)
		code = command_line_add(c, words[i], e);
	return code;
}

/* ---- what is told ---- */

static void write_state(struct life *l, const char *name, int status)
{
	const struct hosts *hosts = l->muster.hosts.n ? &l->muster.hosts : NULL;
	const struct run_state s = {
		.name = name, .ranks = attempts_ranks(l->a, hosts), .hosts = hosts,
		.network = l->a->network, .status = status, .restarts = l->restarts,
		.event = l->event[0] ? l->event : NULL, .asked_by = l->asked_by,
		.detached = l->a->detached,
	};
	struct err trouble;

	l->said = name;
	if (rundir_write_state(l->a->dir, &s, &trouble))	/* the training matters more */
		supervise_say(&l->sup, "%s", trouble.text);
}

/* An event for the journal, the state and the console. Only while no rank writes is it in order. */
static void tell(struct life *l, const char *level, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void tell(struct life *l, const char *level, const char *fmt, ...)
{
	struct err ignored;	/* what cannot be noted is said at least */
	struct json_writer *w;
	struct journal *j;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->event, sizeof(l->event), fmt, ap);
	va_end(ap);
	supervise_say(&l->sup, "%s", l->event);
	j = file_exists(l->journal) ? journal_open(l->journal, &ignored) : NULL;
	if (!j)
		return;
	w = journal_begin(j, "event", l->seen.step);
	json_put_str(w, "level", level);
	json_put_str(w, "text", l->event);
	journal_end(j, &ignored);
	journal_free(j);
}

/* ---- while it runs ---- */

/* Seconds before the end of our time at which ranks are asked to save: more for slow checkpoints. */
static double margin(const struct life *l)
{
	double all = l->a->conf->walltime * 60;

	return MIN(MARGIN_S + MARGIN_SAVES * l->seen.save_s + MARGIN_STEPS * l->seen.step_s,
		   all / 2);
}

static bool is_time_over(const struct life *l)
{
	double all = l->a->conf->walltime * 60;

	return all > 0 && clock_mono_s() - l->began >= all - margin(l);
}

static void note_state(struct life *l)
{
	const struct supervisor *s = &l->sup;
	const char *name = l->waiting ? "restarting"
			   : s->asked ? "stopping"
			   : l->seen.began || (s->spoke && !s->mpirun) ? "running" : "starting";

	if (!l->said || strcmp(l->said, name))
		write_state(l, name, -1);
}

/* mpirun may wait for ever for the daemon of a host that is gone. */
static bool lingers(struct life *l)
{
	if (!l->seen.began || !l->seen.reason[0])
		l->stopped_at = 0;
	else if (!(l->stopped_at > 0))
		l->stopped_at = clock_mono_s();
	return l->stopped_at > 0 && clock_mono_s() - l->stopped_at > LINGER_S;
}

/* A number of seconds from the environment (for tests and odd clusters). */
static double seconds_of(const char *variable, double otherwise)
{
	const char *given = getenv(variable);
	double s;

	return given && text_to_real(given, &s) && s >= 0 ? s : otherwise;
}

/* mpirun may wait for ever for a daemon, too, that never comes up: no rank is there to notice. */
static void look_whether_begun(struct life *l)
{
	double waited = clock_mono_s() - l->started;
	double most = seconds_of("WERKBANK_BEGIN", BEGIN_S) +
		      BEGIN_HOST_S * (double)l->muster.hosts.n;

	if (l->waiting || l->seen.began || !l->sup.mpirun || l->sup.asked)
		return;
	if (waited > most && !l->stuck) {
		l->stuck = true;
		supervise_say(&l->sup, "the ranks have not begun after %.0f s: ending mpirun",
			      waited);
		supervise_end(&l->sup);
	} else if (waited > REMARK_S && !l->remarked) {
		l->remarked = true;
		supervise_say(&l->sup, "waiting for the ranks to begin for %.0f s: mpirun is "
			      "reaching hosts, or they load the corpus and a checkpoint", waited);
	}
}

static enum supervise_wish tick(void *context)
{
	struct life *l = context;
	enum supervise_wish wish = SUPERVISE_GO_ON;

	outcome_update(&l->seen);
	if (!l->asked_by && l->sup.asked)
		l->asked_by = "user";
	if (file_exists(l->now)) {
		unlink(l->now);
		l->asked_by = "user";
		wish = SUPERVISE_END_NOW;
	} else if (l->waiting && control_take(l->a->dir->path).stop) {
		l->asked_by = "user";
		wish = SUPERVISE_STOP;
	} else if (!l->asked_by && is_time_over(l)) {
		l->asked_by = "walltime";
		snprintf(l->event, sizeof(l->event),
			 "the time of %g minutes is over but for the %.0f s that saving may take",
			 l->a->conf->walltime, margin(l));
		supervise_say(&l->sup, "%s", l->event);
		wish = SUPERVISE_STOP;
	} else if (lingers(l)) {
		supervise_say(&l->sup, "the ranks have ended %.0f s ago, mpirun has not: ending it",
			      LINGER_S);
		l->stopped_at = clock_mono_s();
		supervise_end(&l->sup);
	}
	look_whether_begun(l);
	note_state(l);
	return wish;
}

/* ---- one attempt ---- */

static int start(struct life *l, int *status, struct err *e)
{
	const struct hosts *hosts = l->muster.hosts.n ? &l->muster.hosts : NULL;
	struct command_line c = { 0 };
	int code = hosts ? mpirun_hostfile(hosts, l->hostfile, e) : 0;

	if (!code)
		code = attempts_line(l->a, hosts, l->hostfile, &c, e);
	if (code)
		goto out;
	outcome_begin(&l->seen);
	unlink(l->now);
	l->sup.mpirun = strcmp(c.all[0], l->a->trainer) != 0;
	l->waiting = false;
	l->remarked = l->stuck = false;
	l->stopped_at = 0;
	l->started = clock_mono_s();
	note_state(l);
	code = supervise_run(&l->sup, (const char *const *)c.all, status, e);
	outcome_update(&l->seen);
	if (code == ERR_UNAVAILABLE && l->sup.mpirun)
		err_prefix(e, "several ranks need Open MPI");
out:
	command_line_free(&c);
	return code;
}

/* ---- again ---- */

static double pause_s(const struct life *l)
{
	return MIN(seconds_of("WERKBANK_BACKOFF", BACKOFF_S) * pow(2, (double)(l->in_a_row - 1)),
		   BACKOFF_MAX_S);
}

/* May it be started again? Counts, and says so. */
static bool may_restart(struct life *l, const char *why)
{
	int64_t checkpoint = rundir_last_checkpoint(l->a->dir);
	char from[64] = "its beginning";
	double wait;

	if (checkpoint > l->checkpoint)
		l->in_a_row = 0;
	l->checkpoint = checkpoint;
	if (l->in_a_row >= l->a->conf->restarts) {
		if (l->a->conf->restarts)
			tell(l, "error", "the training %s; it was started again %lld times without "
			     "a new checkpoint and is given up", why, (long long)l->in_a_row);
		return false;
	}
	l->in_a_row++;
	l->restarts++;
	wait = pause_s(l);
	if (checkpoint >= 0)
		snprintf(from, sizeof(from), "its checkpoint of step %lld", (long long)checkpoint);
	tell(l, "warning", "the training %s; going on from %s in %g s (%lld of %lld times)", why,
	     from, wait, (long long)l->in_a_row, (long long)l->a->conf->restarts);
	return true;
}

/* Until it may go on. false: somebody asked to stop meanwhile. */
static bool wait_for_next(struct life *l)
{
	double wait = pause_s(l);

	l->waiting = true;
	note_state(l);
	for (;;) {
		char said[300] = "";
		enum muster_answer answer;

		if (!supervise_pause(&l->sup, wait))
			return false;
		answer = muster_call(&l->muster, said);
		if (said[0] && (answer != MUSTER_WAIT || strcmp(said, l->event)))
			tell(l, "warning", "%s", said);
		write_state(l, "restarting", -1);
		if (answer == MUSTER_READY)
			break;
		wait = MIN(MAX(wait, 1) * 2, BACKOFF_MAX_S);
	}
	l->a->dir->attempt++;
	return true;
}

static int live(struct life *l, int *status, struct err *e)
{
	static const char *const names[] = { "finished", "stopped", "stopped", "failed", "failed" };
	enum outcome_verdict v;
	char why[160];

	for (;;) {
		int code = start(l, status, e);

		if (code)
			return code;
		v = outcome_judge(&l->seen, *status, l->sup.asked > 0, l->sup.ended_now, status,
				  why);
		if (l->stuck && v == OUTCOME_FAILED) {
			v = OUTCOME_AGAIN;
			snprintf(why, sizeof(why), "did not begin");
		}
		if (v == OUTCOME_ENDED)
			tell(l, "warning", "the training %s", why);
		if (v == OUTCOME_FAILED && l->seen.began && !l->seen.reason[0])
			tell(l, "error", "the training %s", why);
		if (v != OUTCOME_AGAIN || !may_restart(l, why))
			break;
		if (!wait_for_next(l)) {	/* all that there was to save is saved */
			v = OUTCOME_STOPPED;
			*status = err_exit_status(ERR_TEMPFAIL);
			break;
		}
	}
	write_state(l, names[v], *status);
	return 0;
}

static int open_life(struct life *l, struct err *e)
{
	const struct attempts *a = l->a;
	char *console = rundir_file(a->dir, "console.log", e);
	char *progress = rundir_file(a->dir, "progress", e);
	int code = console && progress ? supervise_open(&l->sup, console, progress, e) : e->code;

	l->journal = rundir_file(a->dir, "journal.jsonl", e);
	l->hostfile = rundir_file(a->dir, "hosts", e);
	l->now = rundir_file(a->dir, "control.now", e);
	if (!code && (!l->journal || !l->hostfile || !l->now))
		code = e->code;
	if (!code)
		code = outcome_open(&l->seen, l->journal, e);
	if (!code)
		code = muster_open(&l->muster, a, e);
	l->checkpoint = rundir_last_checkpoint(a->dir);
	free(console);
	free(progress);
	return code;
}

int attempts_run(const struct attempts *a, int *status, struct err *e)
{
	struct life l = {
		.a = a, .began = clock_mono_s(),
		.sup = { .echo = a->echo, .tick = tick, .context = &l, .signals = -1,
			 .console = -1, .progress = -1, .proc = { -1, -1, -1, -1 } },
	};
	int code = open_life(&l, e);

	if (!code)
		code = live(&l, status, e);
	if (code) {
		snprintf(l.event, sizeof(l.event), "%.299s", e->text);
		write_state(&l, "failed", err_exit_status(code));
	}
	supervise_close(&l.sup);
	outcome_close(&l.seen);
	muster_close(&l.muster);
	free(l.journal);
	free(l.hostfile);
	free(l.now);
	return code;
}
