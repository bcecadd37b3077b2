/*
 * attempts.c - the supervisor's loop over the attempts of a run; see attempts.h
 *
 * State of the run (member "state" of state.json) and its changes:
 *
 *	           first record "start"          stop request, end of walltime
 *	starting ----------------------> running ----------------------------> stopping
 *	   ^ |                              |                                     |
 *	   | +------------------------------+-----------------+-------------------+
 *	   |                                                  | the job ends: outcome_classify()
 *	   |                                                  v
 *	   |   OUTCOME_FINISHED --> finished    OUTCOME_STOPPED, OUTCOME_KILLED --> stopped
 *	   |   OUTCOME_DIVERGED --> stopped
 *	   |   OUTCOME_LEAVING: with --elastic restarting without the host, else stopped
 *	   |   OUTCOME_STOPPED to take a lost host back: restarting with it
 *	   |   OUTCOME_FAILED ----> failed      OUTCOME_RESTART --> count_restart():
 *	   |                                      too many without a new checkpoint --> failed
 *	   |     pause, then all hosts answer         |
 *	   +------------------------------------- restarting ---- stop request ---> stopped (75)
 *
 * Who notices which failure:
 *
 *	a rank crashes			mpirun ends the other ranks, the job ends; before, a
 *					living rank saves (rescue.c)
 *	mpirun or a daemon of it dies	its ranks: they save together and end (stop_requests.h)
 *	a rank hangs			the watchdogs of the ranks end the job with status 75 and
 *					no record "stop"
 *	a host vanishes			TCP keep-alive of mpirun's daemons, or the watchdogs;
 *					a living rank saves before (rescue.c)
 *	mpirun never starts the ranks	broken_job_check_begun(), after BEGIN_S
 *	mpirun hangs after "stop"	broken_job_is_lingering(), after broken_job_linger_s()
 *	a lost host answers again	look_for_lost_hosts() here, with --elastic
 *	the supervisor dies		the kernel sends SIGUSR1 to the job, which saves and stops;
 *					nobody restarts it
 */
#include "train/launch/run/attempts_internal.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/text.h"
#include "share/workspace/journal.h"
#include "train/common/control.h"
#include "train/launch/remote/launcher.h"
#include "train/launch/remote/rank_launch.h"
#include "train/launch/run/end_cause.h"
#include "train/launch/run/run_handle.h"

#define BACKOFF_S     5.0
#define BACKOFF_MAX_S 300.0

/* Parts of the margin before the end of the walltime. */
#define SAVE_MARGIN_S 30.0
#define MARGIN_SAVES  3.0 /* times the slowest checkpoint */
#define MARGIN_STEPS  5.0 /* times the slowest step */

/* ---- the command line ---- */

int64_t attempts_rank_count(const struct attempts *a, const struct hosts *hosts)
{
	const struct mpirun_options how = { .hosts = hosts, .ranks = a->ranks };
	int64_t slots = hosts ? hosts_total_slots(hosts) : 0;

	/* a missing host has no ranks */
	if (a->ranks && a->hosts && hosts && hosts->n < a->hosts->n)
		return MIN(a->ranks, slots);
	return mpirun_rank_count(&how);
}

static struct mpirun_options mpirun_options_of(const struct attempts *a, const struct hosts *hosts,
					       const char *hostfile)
{
	return (struct mpirun_options){
		.hosts = hosts,
		.hostfile = hostfile,
		.ranks = attempts_rank_count(a, hosts),
		.network = a->network,
		.ssh = a->conf->ssh,
		.starter = a->conf->launcher,
		.launcher = a->launcher,
		.oversubscribed = a->oversubscribed,
	};
}

int attempts_command_line(const struct attempts *a, const struct hosts *hosts, const char *hostfile,
			  double save_s, struct command_line *c, struct err *e)
{
	struct mpirun_options how = mpirun_options_of(a, hosts, hostfile);
	int rc = 0;

	how.kill_after_s = broken_job_kill_s(save_s);
	if (how.kill_after_s < 2)
		how.kill_after_s = 0; /* Open MPI's own */
	if (how.ranks > 1 || !hosts_are_local(hosts))
		rc = rank_launch_append_words(c, &how, e);
	COMMAND_LINE_ADD(c, a->trainer, "_rank", "-C", a->workspace, "--run", a->run);
	if (a->conf->quiet)
		command_line_add(c, "--quiet");
	return rc ? rc : command_line_check(c, e);
}

/* ---- state and events ---- */

static void write_run_state(struct attempt_loop *l, const char *name, int status)
{
	const struct hosts *hosts = l->roll_call.hosts.n ? &l->roll_call.hosts : NULL;
	const struct run_state s = {
		.name = name,
		.ranks = attempts_rank_count(l->a, hosts),
		.hosts = hosts,
		.network = l->a->network,
		.status = status,
		.restarts = l->restarts,
		.event = l->event[0] ? l->event : NULL,
		.asked_by = l->asked_by,
		.detached = l->a->detached,
	};
	struct err trouble;

	l->last_state = name;
	if (rundir_write_state(l->a->dir, &s, &trouble)) /* the training goes on without it */
		supervise_log(&l->sup, "state.json is not updated: %s", trouble.text);
}

void attempts_record_event(struct attempt_loop *l, const char *level, const char *fmt, ...)
{
	struct err ignored; /* the event is in console.log in any case */
	struct journal *j;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->event, sizeof(l->event), fmt, ap);
	va_end(ap);
	supervise_log(&l->sup, "%s", l->event);
	j = !rundir_check(l->a->dir, &ignored) && file_exists(l->journal)
		    ? journal_open(l->journal, &ignored)
		    : NULL;
	if (j)
		journal_write_event(j, level, l->job_outcome.step, l->event, &ignored);
	journal_free(j);
}

/* ---- while it runs ---- */

/* Seconds before the end of the walltime at which the ranks are asked to save. */
static double save_margin_s(const struct attempt_loop *l)
{
	double all = l->a->conf->walltime * 60;

	return MIN(SAVE_MARGIN_S + MARGIN_SAVES * l->job_outcome.save_s +
			   MARGIN_STEPS * l->job_outcome.step_s,
		   all / 2);
}

static bool is_time_over(const struct attempt_loop *l)
{
	double all = l->a->conf->walltime * 60;

	return all > 0 && clock_mono_s() - l->began >= all - save_margin_s(l);
}

static void update_run_state(struct attempt_loop *l)
{
	const struct supervisor *s = &l->sup;
	const char *name = l->waiting	 ? "restarting"
			   : s->is_asked ? "stopping"
			   : l->job_outcome.has_begun || (s->has_output && !s->mpirun) ? "running"
										       : "starting";

	if (!l->last_state || strcmp(l->last_state, name))
		write_run_state(l, name, -1);
}

/* With --elastic: ask the ranks to save and stop when a lost host may be taken back. */
static void look_for_lost_hosts(struct attempt_loop *l)
{
	char news[200];

	if (l->waiting || l->sup.is_asked || l->is_taking_back || !l->job_outcome.has_begun ||
	    l->job_outcome.reason[0])
		return;
	l->is_taking_back =
		host_return_look(&l->host_return, l->job_outcome.saves, clock_mono_s(), news);
	if (l->is_taking_back) {
		supervise_log(&l->sup, "asked the training to save and stop, to continue with the "
				       "hosts that answer again");
		supervise_interrupt_job(&l->sup);
	} else if (news[0]) {
		supervise_log(&l->sup, "%s", news);
		snprintf(l->event, sizeof(l->event), "%s", news);
		write_run_state(l, l->last_state, -1);
	}
}

static void end_host_looks(void *context)
{
	struct attempt_loop *l = context;

	host_return_end_job(&l->host_return);
}

/* The ranks catch signals from the record "start" on. */
static bool ranks_have_begun(void *context)
{
	struct attempt_loop *l = context;

	outcome_update(&l->job_outcome);
	return l->job_outcome.has_begun;
}

/* mpirun may lose the signal, and a suspended rank cannot act on it. */
static void repeat_stop_request(void *context)
{
	struct attempt_loop *l = context;

	if (!l->job_outcome.reason[0])
		run_handle_repeat_stop(l->a->dir->path);
}

static void read_job_line(void *context, const char *text)
{
	struct attempt_loop *l = context;

	if (l->sup.mpirun)
		mpirun_read_line(&l->job_outcome.failure, text);
}

/* A lease that cannot be renewed is still its own, but other hosts see it expire. */
static void note_stale_lease(struct attempt_loop *l, const struct err *why)
{
	const bool is_stale = why->code != 0;

	if (is_stale == l->is_lease_stale)
		return;
	l->is_lease_stale = is_stale;
	if (is_stale)
		supervise_log(&l->sup,
			      "%s; the training goes on and tries again; after %.0f s, train on "
			      "another host may take the run over: make the folder writable",
			      why->text, l->a->dir->lease.term_s);
	else
		supervise_log(&l->sup, "the lease of this run is renewed again");
}

/* Renew the lease of the run. true: another host has taken it, and this one may not write any more. */
static bool has_lost_lease(struct attempt_loop *l)
{
	struct err why = { 0 };

	if (rundir_renew_lease(l->a->dir, false, &why) != ERR_TEMPFAIL) {
		note_stale_lease(l, &why); /* such a failure may pass */
		return false;
	}
	if (!l->is_lease_lost)
		supervise_log(&l->sup, "%s", why.text);
	l->is_lease_lost = true;
	return true;
}

static enum supervise_request supervisor_tick(void *context)
{
	struct attempt_loop *l = context;
	enum supervise_request request = SUPERVISE_CONTINUE;

	outcome_update(&l->job_outcome);
	if (!l->asked_by && l->sup.is_asked)
		l->asked_by = l->sup.asked_by == SIGUSR1 || l->sup.asked_by == SIGXCPU ? "walltime"
										       : "user";
	if (file_exists(l->kill_request)) {
		unlink(l->kill_request);
		l->asked_by = "user";
		request = SUPERVISE_KILL;
	} else if (l->waiting && control_read_requests(l->a->dir->path).stop) {
		l->asked_by = "user";
		request = SUPERVISE_STOP;
	} else if (!l->asked_by && is_time_over(l)) {
		l->asked_by = "walltime";
		snprintf(l->event, sizeof(l->event),
			 "the walltime of %g minute%s ends in %.0f s, the time reserved for saving",
			 l->a->conf->walltime, text_plural(l->a->conf->walltime), save_margin_s(l));
		supervise_log(&l->sup, "%s", l->event);
		request = SUPERVISE_STOP;
	} else if (has_lost_lease(l)) {
		request = SUPERVISE_KILL;
	} else if (broken_job_is_lingering(l)) {
		supervise_log(&l->sup, "the ranks ended %.0f s ago, but mpirun did not: ending it",
			      broken_job_linger_s(l));
		l->stopped_at = clock_mono_s();
		supervise_end_job(&l->sup);
	}
	broken_job_end_step(l);
	broken_job_check_begun(l);
	update_run_state(l);
	look_for_lost_hosts(l);
	return request;
}

/* ---- one attempt ---- */

static int start_attempt(struct attempt_loop *l, int *status, struct err *e)
{
	const struct hosts *hosts = l->roll_call.hosts.n ? &l->roll_call.hosts : NULL;
	const struct mpirun_options how = mpirun_options_of(l->a, hosts, l->hostfile);
	struct command_line c = { 0 };
	int64_t kills;
	int rc = rundir_check(l->a->dir, e);

	if (!rc) /* with the number of this attempt */
		rc = rundir_renew_lease(l->a->dir, true, e);
	if (!rc && hosts)
		rc = rank_launch_write_hostfile(&how, e);
	if (!rc)
		rc = attempts_command_line(l->a, hosts, l->hostfile, l->job_outcome.save_s, &c, e);
	if (rc)
		goto out;
	assert(c.n > 0 && !c.all[c.n]);
	outcome_begin_job(&l->job_outcome);
	unlink(l->kill_request);
	l->sup.mpirun = strcmp(c.all[0], l->a->trainer) != 0;
	l->sup.is_srun = !strcmp(c.all[0], "srun");
	l->waiting = l->is_taking_back = false;
	l->delay_noted = l->begin_timed_out = false;
	l->stopped_at = l->broken_at = l->rescued_at = 0;
	l->is_step_ended = false;
	l->started = clock_mono_s();
	host_return_begin_job(&l->host_return, &l->roll_call.hosts, l->started);
	update_run_state(l);
	kills = end_cause_memory_kills("");
	l->sup.rescue_s = l->sup.mpirun ? 2 * broken_job_kill_s(l->job_outcome.save_s) : 0;
	rc = supervise_run_job(&l->sup, c.all, status, e);
	outcome_update(&l->job_outcome);
	if (!rc)
		broken_job_save_orphans(l, *status);
	/* the cgroup of this process is that of the ranks that mpirun starts on this host */
	if (kills >= 0 && end_cause_memory_kills("") > kills)
		l->job_outcome.failure.is_out_of_memory = true;
	if (rc == ERR_UNAVAILABLE && l->sup.mpirun)
		err_prefix(e, "several ranks need Open MPI");
out:
	command_line_free(&c);
	return rc;
}

/* ---- restarts ---- */

static double restart_delay_s(const struct attempt_loop *l)
{
	assert(l->restarts_in_row >= 1);
	return MIN(run_env_seconds("WERKBANK_BACKOFF", BACKOFF_S) *
			   pow(2, (double)(l->restarts_in_row - 1)),
		   BACKOFF_MAX_S);
}

/* May the job be restarted? true: counts the restart and records it. */
static bool count_restart(struct attempt_loop *l, const char *why)
{
	int64_t checkpoint = rundir_last_checkpoint(l->a->dir);
	char from[64] = "its beginning";
	double wait;

	if (checkpoint > l->checkpoint)
		l->restarts_in_row = 0;
	l->checkpoint = checkpoint;
	if (l->restarts_in_row >= l->a->conf->restarts) {
		if (l->a->conf->restarts)
			attempts_record_event(
				l, "error",
				"the training %s; giving up after %lld restart%s without a "
				"new checkpoint",
				why, (long long)l->restarts_in_row,
				text_plural(l->restarts_in_row));
		else
			attempts_record_event(l, "error", "the training %s", why);
		return false;
	}
	l->restarts_in_row++;
	l->restarts++;
	wait = restart_delay_s(l);
	if (checkpoint >= 0)
		snprintf(from, sizeof(from), "its checkpoint of step %lld", (long long)checkpoint);
	attempts_record_event(l, "warning",
			      "the training %s; restart from %s in %g s (%lld of %lld)", why, from,
			      wait, (long long)l->restarts_in_row, (long long)l->a->conf->restarts);
	return true;
}

/* The host of a rank: mpirun fills the slots of the hosts in their order. NULL: only this host. */
static const char *host_of_rank(const struct hosts *h, int64_t rank)
{
	for (size_t i = 0; i < h->n; i++) {
		if (rank < h->all[i].slots)
			return h->all[i].name;
		rank -= h->all[i].slots;
	}
	return NULL;
}

/*
 * A rank got SIGTERM, but not this supervisor: its host may be shutting down. The ranks have saved.
 * true: go on without its host.
 */
static bool go_on_without_leaving_host(struct attempt_loop *l, char why[160])
{
	const int64_t rank = l->job_outcome.signalled;
	const char *host = host_of_rank(&l->roll_call.hosts, rank);

	snprintf(why, 160,
		 "saved and stopped: rank %lld%s%.60s got SIGTERM, as from a host that "
		 "shuts down",
		 (long long)rank, host ? " on " : "", host ? host : "");
	if (!host || !l->a->conf->elastic || l->roll_call.hosts.n < 2)
		return false;
	roll_call_leave_out(&l->roll_call, host);
	return true;
}

/* The ranks saved and stopped because a lost host answers, and nobody else asked. */
static bool go_on_with_returned_host(struct attempt_loop *l, enum outcome_verdict v, bool was_asked)
{
	if (v != OUTCOME_STOPPED || !l->is_taking_back || was_asked || l->job_outcome.by_file)
		return false;
	attempts_record_event(l, "info",
			      "the training saved and stopped at step %lld to continue with "
			      "the hosts that answer again",
			      (long long)l->job_outcome.step);
	return true;
}

/* For roll_call.h: a query must not delay a stop. Before the first job, the ranks read control. */
static bool is_stop_requested(void *context)
{
	const struct attempt_loop *l = context;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/control", l->a->dir->path);
	return supervise_is_request_pending() || file_exists(l->kill_request) ||
	       (l->waiting && file_exists(path));
}

/*
 * If no preflight has asked the hosts, ask them before the first attempt: mpirun looks up the names
 * of all hosts one after the other, and names none that is missing. *go_on: nobody asked to stop.
 */
static int check_hosts_answer(struct attempt_loop *l, bool *go_on, struct err *e)
{
	char news[300];

	*go_on = true;
	if (!l->a->is_unchecked || !l->a->hosts || launcher_is_slurm(l->a->conf))
		return 0;
	if (roll_call_query(&l->roll_call, news) == ROLL_CALL_READY && !l->roll_call.trouble[0])
		return 0;
	*go_on = supervise_pause(&l->sup, 0);
	return *go_on ? err_set(e, ERR_NOHOST, "the training cannot begin: %s",
				l->roll_call.trouble[0] ? l->roll_call.trouble : news)
		      : 0;
}

/* Pause until all needed hosts answer. false: somebody asked to stop. */
static bool wait_for_next_attempt(struct attempt_loop *l)
{
	double wait = l->is_taking_back ? 0 : restart_delay_s(l);

	l->waiting = true;
	update_run_state(l);
	for (;;) {
		char news[300] = "";
		enum roll_call_answer answer;

		if (!supervise_pause(&l->sup, wait))
			return false;
		if (l->a->hosts)
			supervise_log(&l->sup, "asking %zu host%s to answer within %.0f s",
				      l->a->hosts->n, text_plural((double)l->a->hosts->n),
				      roll_call_limit_s(&l->roll_call));
		answer = roll_call_query(&l->roll_call, news);
		if (news[0] && (answer != ROLL_CALL_WAIT || strcmp(news, l->event)))
			attempts_record_event(l, "warning", "%s", news);
		write_run_state(l, "restarting", -1);
		if (answer == ROLL_CALL_READY)
			break;
		wait = MIN(MAX(wait, 1) * 2, BACKOFF_MAX_S);
	}
	l->a->dir->attempt++;
	return true;
}

/* Classify the end of an attempt. true: start another one. */
static bool judge_attempt(struct attempt_loop *l, enum outcome_verdict *v, int *status)
{
	const bool was_asked = l->sup.is_asked;
	char why[160];
	bool again;

	*v = outcome_classify(&l->job_outcome, *status, was_asked, l->sup.was_killed, status, why);
	if (l->is_lease_lost && *v == OUTCOME_KILLED)
		snprintf(why, sizeof(why), "was ended: another host trains its run now");
	if (l->begin_timed_out && *v == OUTCOME_FAILED) {
		*v = OUTCOME_RESTART;
		snprintf(why, sizeof(why), "did not begin");
	}
	if (go_on_with_returned_host(l, *v, was_asked))
		return true;
	l->is_taking_back = false;
	if (*v == OUTCOME_RESTART && !l->job_outcome.saves)
		host_return_suspects(&l->host_return, l->roll_call.left_out);
	again = *v == OUTCOME_RESTART ||
		(*v == OUTCOME_LEAVING && go_on_without_leaving_host(l, why));
	if (again && count_restart(l, why))
		return true;
	if ((*v == OUTCOME_KILLED || *v == OUTCOME_STOPPED || *v == OUTCOME_LEAVING) && why[0])
		attempts_record_event(l, "warning", "the training %s", why);
	if (*v == OUTCOME_FAILED && !l->job_outcome.reason[0] &&
	    (l->job_outcome.has_begun || l->job_outcome.unread.code))
		attempts_record_event(l, "error", "the training %s", why);
	return false;
}

static int run_attempts(struct attempt_loop *l, int *status, struct err *e)
{
	enum outcome_verdict v = OUTCOME_STOPPED;
	bool go_on;
	int rc = check_hosts_answer(l, &go_on, e);

	if (!go_on) /* before the first attempt */
		*status = err_exit_status(ERR_TEMPFAIL);
	while (!rc && go_on) {
		broken_job_collect_rescued(l);
		rc = start_attempt(l, status, e);
		if (rc || !judge_attempt(l, &v, status))
			break;
		go_on = wait_for_next_attempt(l);
		if (!go_on) { /* the last checkpoint is all there is to save */
			v = OUTCOME_STOPPED;
			*status = err_exit_status(ERR_TEMPFAIL);
		}
	}
	/* a person would have used "werkbank stop" or scancel, which is no preemption */
	if (l->sup.asked_by == SIGTERM && end_cause_is_preempted())
		l->asked_by = "preemption";
	if (!rc)
		write_run_state(l, outcome_state_name(v), *status);
	return rc;
}

static int open_attempt_loop(struct attempt_loop *l, struct err *e)
{
	const struct attempts *a = l->a;
	char *console = rundir_file_path(a->dir, "console.log", e);
	char *progress = rundir_file_path(a->dir, "progress", e);
	int rc = console && progress ? supervise_open(&l->sup, console, progress, e) : e->code;

	l->journal = rundir_file_path(a->dir, "journal.jsonl", e);
	l->hostfile = rundir_file_path(a->dir, "hosts", e);
	l->kill_request = rundir_file_path(a->dir, "control.now", e);
	if (!rc && (!l->journal || !l->hostfile || !l->kill_request))
		rc = e->code;
	if (!rc)
		rc = outcome_open(&l->job_outcome, l->journal, e);
	if (!rc)
		rc = roll_call_open(&l->roll_call, a, e);
	l->roll_call.is_cancelled = is_stop_requested;
	l->roll_call.context = l;
	if (!rc)
		rc = host_return_open(&l->host_return, a,
				      run_env_seconds("WERKBANK_RETURN", RETURN_WAIT_S), e);
	l->checkpoint = rundir_last_checkpoint(a->dir);
	free(console);
	free(progress);
	return rc;
}

int attempts_run(const struct attempts *a, int *status, struct err *e)
{
	struct attempt_loop l = {
		.a = a,
		.began = clock_mono_s(),
		.sup = { .echo = a->echo,
			 .tick = supervisor_tick,
			 .line_seen = read_job_line,
			 .has_begun = ranks_have_begun,
			 .ended = end_host_looks,
			 .ask_again = repeat_stop_request,
			 .context = &l,
			 .signals = -1,
			 .console = -1,
			 .progress = -1,
			 .proc = { -1, -1, -1, -1 } },
	};
	int rc = open_attempt_loop(&l, e);

	if (!rc)
		rc = run_attempts(&l, status, e);
	if (rc) {
		snprintf(l.event, sizeof(l.event), "%.299s", e->text);
		write_run_state(&l, "failed", err_exit_status(rc));
	}
	supervise_close(&l.sup);
	outcome_close(&l.job_outcome);
	roll_call_close(&l.roll_call);
	host_return_close(&l.host_return);
	free(l.journal);
	free(l.hostfile);
	free(l.kill_request);
	return rc;
}
