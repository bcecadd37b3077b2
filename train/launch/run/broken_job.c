/*
 * broken_job.c - what the supervisor does about a job that lost ranks, mpirun or srun, or never began.
 * A living rank has saved before (train/trainer/rescue.h).
 */
#include "train/launch/run/attempts_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/clock.h"
#include "share/base/util.h"
#include "train/common/control.h"
#include "train/launch/run/rescued.h"
#include "train/launch/run/run_handle.h"

#define MPIRUN_LINGER_S 30.0 /* limit from the record "stop" to the end of the job */
#define ORPHAN_S	40.0 /* for ranks without srun to save, and two steps and checkpoints */
#define ORPHAN_LOOK_S	0.2
#define MPIRUN_KILL_S	8.0   /* the same after a failure, without the time to kill ranks */
#define BEGIN_NOTICE_S	60.0  /* without a record "start": print a notice */
#define BEGIN_S		600.0 /* without it: a hang; $WERKBANK_BEGIN: another number */
#define BEGIN_HOST_S	1.0   /* added to BEGIN_S for each host */

/*
 * Time for a rank to save when others are lost (rescue.c): that of a checkpoint and
 * RESCUE_S. mpirun always waits for so long.
 */
#define RESCUE_S     1.5
#define RESCUE_MAX_S 30.0
#define UNKNOWN_S    4.0 /* assumed for a checkpoint of a run that has made none */

int broken_job_kill_s(double save_s)
{
	return (int)MIN(ceil(((save_s > 0 ? save_s : UNKNOWN_S) + RESCUE_S) / 2), RESCUE_MAX_S);
}

/* After a failure, mpirun only has to kill the ranks. */
double broken_job_linger_s(const struct attempt_loop *l)
{
	return strcmp(l->job_outcome.reason, "failed") != 0
		       ? MPIRUN_LINGER_S
		       : MPIRUN_KILL_S + 2 * broken_job_kill_s(l->job_outcome.save_s);
}

bool broken_job_is_lingering(struct attempt_loop *l)
{
	if (!l->job_outcome.has_begun || !l->job_outcome.reason[0])
		l->stopped_at = 0;
	else if (!(l->stopped_at > 0))
		l->stopped_at = clock_mono_s();
	return l->stopped_at > 0 && clock_mono_s() - l->stopped_at > broken_job_linger_s(l);
}

/*
 * After a failed rank, srun asks the others to end and kills them KillWait (30 s) later, but what is
 * left of the step can only save. End it when a rank has saved, or the time for that is over, which
 * is the time that mpirun gives.
 */
void broken_job_end_step(struct attempt_loop *l)
{
	const double most = 2 * broken_job_kill_s(l->job_outcome.save_s), now = clock_mono_s();
	bool is_saved;

	if (!l->job_outcome.is_rescued)
		l->rescued_at = 0;
	else if (!(l->rescued_at > 0))
		l->rescued_at = now;
	if (!l->sup.is_srun || l->waiting || !l->job_outcome.failure.is_known)
		return;
	if (!(l->broken_at > 0))
		l->broken_at = now;
	/* an earlier one, after heartbeats that came late, has not the steps since then */
	is_saved = l->rescued_at > 0 && l->rescued_at > l->broken_at - RESCUE_S;
	if (l->is_step_ended || (!is_saved && now - l->broken_at < most))
		return;
	l->is_step_ended = true;
	supervise_log(&l->sup, "a rank failed%s: ending the other ranks",
		      is_saved ? ", and another one has saved" : "");
	supervise_end_job(&l->sup);
}

void broken_job_check_begun(struct attempt_loop *l)
{
	double waited = clock_mono_s() - l->started;
	double most = run_env_seconds("WERKBANK_BEGIN", BEGIN_S) +
		      BEGIN_HOST_S * (double)l->roll_call.hosts.n;

	if (l->waiting || l->job_outcome.has_begun || !l->sup.mpirun || l->sup.is_asked)
		return;
	if (waited > most && !l->begin_timed_out) {
		l->begin_timed_out = true;
		supervise_log(&l->sup, "the ranks did not begin within %.0f s: ending mpirun",
			      waited);
		supervise_end_job(&l->sup);
	} else if (waited > BEGIN_NOTICE_S && !l->delay_noted) {
		l->delay_noted = true;
		supervise_log(&l->sup,
			      "waiting for the ranks to begin for %.0f s: mpirun connects to "
			      "hosts, or the ranks load the corpus and a checkpoint",
			      waited);
	}
}

/*
 * srun was killed, but its ranks live on, as children of Slurm's daemons: ask them to save and stop,
 * and wait for it. A request that they have not read must not stop the next attempt.
 */
void broken_job_save_orphans(struct attempt_loop *l, int status)
{
	struct outcome *o = &l->job_outcome;
	const double end = clock_mono_s() + ORPHAN_S + 2 * (o->step_s + o->save_s);

	if (!l->sup.is_srun || status <= 128 || l->sup.is_asked || o->failure.is_known ||
	    !o->has_begun || o->reason[0])
		return;
	supervise_log(&l->sup, "srun has died: asking its ranks to save");
	o->is_orphaned = true;
	run_handle_repeat_stop(l->a->dir->path);
	while (!o->reason[0] && clock_mono_s() < end && supervise_pause(&l->sup, ORPHAN_LOOK_S))
		outcome_update(o);
	if (!l->sup.is_asked)
		control_read_requests(l->a->dir->path);
}

/* After a loss, or after another supervisor: checkpoints of hosts that do not see this folder. */
void broken_job_collect_rescued(struct attempt_loop *l)
{
	const struct hosts *hosts = &l->roll_call.hosts;
	struct err why = { 0 };
	char news[400];

	if (hosts_are_local(hosts->n ? hosts : NULL) || !(l->restarts || l->a->dir->former.id[0]))
		return;
	if (rescued_collect(l->a->dir, l->a->conf, hosts, roll_call_limit_s(&l->roll_call), news,
			    &why))
		snprintf(news, sizeof(news), "cannot ask the hosts for checkpoints: %.200s",
			 why.text);
	if (news[0])
		attempts_record_event(l, "info", "%s", news);
}
