/* trainer.c - the training loop; see trainer.h */
#include "train/trainer/trainer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "train/trainer/tag_shares.h"
#include "train/trainer/trainer_internal.h"

/* ---- the loop ---------------------------------------------------------- */

/* The first N_STOP_ASKS are those of stop_requests_ask(). */
enum {
	ASK_TIME = N_STOP_ASKS, /* those of time_limit_ask() */
	ASK_SAVE = ASK_TIME + N_TIME_ASKS,
	ASK_EVALUATE,
	ASK_DIVERGED,
	ASK_TELEMETRY,
	ASK_STEP_MS,
	ASK_LEASE_LOST, /* another host trains this run now */
	N_ASKS
};

/* Has training diverged, and stop_on asks to stop then? */
static bool must_stop_diverged(const struct trainer *t)
{
	return t->conf->stop_on == STOP_ON_DIVERGED && learning_watch_is_diverged(&t->watch.signs);
}

/* First rank: by time. */
static bool is_save_due(const struct trainer *t, double now)
{
	const struct trainer_progress *p = &t->progress;
	const double every_s = t->conf->save_minutes * 60;

	return p->retry_save_at > 0 ? now > p->retry_save_at
				    : every_s > 0 && p->has_stepped && now - p->saved_at >= every_s;
}

/*
 * First rank, as often as its supervisor renews the lease: a supervisor that is suspended cannot end its
 * ranks when another host has taken the run. A failure to read it may pass.
 */
static bool has_run_lost_lease(struct trainer *t, double now)
{
	struct err why;

	if (!t->lease.id[0] || now - t->progress.lease_checked_at < run_lease_interval_s(&t->lease))
		return false;
	t->progress.lease_checked_at = now;
	return run_lease_check(t->folder, t->lease.id, t->lease.attempt, &why) == ERR_TEMPFAIL;
}

/* All ranks end, and write nothing. */
static int stop_without_lease(struct trainer *t, struct err *e)
{
	struct err why = { 0 };

	if (trainer_is_first(t))
		(void)run_lease_check(t->folder, t->lease.id, t->lease.attempt, &why);
	return err_set(e, ERR_TEMPFAIL, "%s",
		       why.code ? why.text : "this training has lost the lease of its run");
}

/* Requests to the run: signals, the control file, time limits. All ranks get the same answer. */
static int gather_requests(struct trainer *t, int64_t asks[N_ASKS], struct err *e)
{
	int rc;

	memset(asks, 0, N_ASKS * sizeof(*asks));
	stop_requests_ask(&t->stopping, asks);
	asks[ASK_STEP_MS] = (int64_t)(t->last_step.times.step * 1000);
	if (trainer_is_first(t)) {
		struct control *c = &t->stopping.requests;

		asks[ASK_SAVE] = c->save || is_save_due(t, clock_mono_s());
		asks[ASK_EVALUATE] = c->evaluate;
		c->save = c->evaluate = false;
		time_limit_ask(&t->time, time_limit_seconds(&t->time), asks + ASK_TIME);
		asks[ASK_DIVERGED] = must_stop_diverged(t);
		asks[ASK_TELEMETRY] = telemetry_due(t->telemetry);
		asks[ASK_LEASE_LOST] = has_run_lost_lease(t, clock_mono_s());
	}
	rescue_allow(t->rescue, true, t->stopping.step_ms);
	rc = t->comm->max_ints(t->comm, asks, N_ASKS, e);
	if (rc)
		return rc;
	rescue_allow(t->rescue, false, t->stopping.step_ms);
	t->stopping.step_ms = asks[ASK_STEP_MS];
	return 0;
}

/* Telemetry of ranks and hosts. A failure to write the records is ignored; one of the comm is not. */
static int record_telemetry(struct trainer *t, struct err *e)
{
	return telemetry_report(t->telemetry, t->state.step, t->records.journal, e) == ERR_NOHOST
		       ? e->code
		       : 0;
}

/* At the end of a run, so that a short run has telemetry, too. */
static int record_last_telemetry(struct trainer *t, struct err *e)
{
	return t->conf->telemetry_every > 0 && t->progress.has_stepped ? record_telemetry(t, e) : 0;
}

/* mpirun or a daemon has ended, but the ranks live: nothing is lost. trainer_run() records the failure. */
static int stop_after_loss(struct trainer *t, struct err *e)
{
	const int lost = (int)t->stopping.lost_rank;
	char host[64] = "";

	if (t->comm->rank == lost && gethostname(host, sizeof(host) - 1))
		snprintf(host, sizeof(host), "an unknown host");
	if (trainer_save(t, true, e) || t->comm->broadcast(t->comm, host, sizeof(host), lost, e))
		return e->code;
	return err_set(
		e, ERR_NOHOST,
		"the process that started rank %d on %.60s has ended (mpirun, its daemon, or "
		"srun's); all ranks saved step %lld and end",
		lost, host, (long long)t->state.step);
}

static int stop_on_request(struct trainer *t, struct err *e)
{
	char by[40] = "on request";

	if (t->stopping.is_by_loss)
		return stop_after_loss(t, e);
	if (t->stopping.signalled_rank >= 0)
		snprintf(by, sizeof(by), "on SIGTERM to rank %lld",
			 (long long)t->stopping.signalled_rank);
	if (trainer_save(t, true, e) || record_last_telemetry(t, e) ||
	    report_stop(t, RUN_END_REQUEST, err_exit_status(ERR_TEMPFAIL), e))
		return e->code;
	return err_set(e, ERR_TEMPFAIL, "stopped the run \"%s\" %s; saved at step %lld",
		       t->conf->run, by, (long long)t->state.step);
}

/* stop_on: the checkpoint holds the diverged weights, to study them; older ones stay. */
static int stop_diverged(struct trainer *t, struct err *e)
{
	if (trainer_save(t, true, e) || record_last_telemetry(t, e) ||
	    report_stop(t, RUN_END_DIVERGED, err_exit_status(ERR_DIVERGED), e))
		return e->code;
	return err_set(e, ERR_DIVERGED,
		       "stopped the run \"%s\": training diverged; saved at step %lld: lower "
		       "%s or lengthen warmup, and start a new run from an earlier "
		       "checkpoint with start_from",
		       t->conf->run, (long long)t->state.step,
		       schedule_rate_option(t->rate_schedule.kind));
}

static int after_step(struct trainer *t, struct err *e)
{
	const int64_t step = t->state.step;

	t->progress.has_stepped = true;
	time_limit_step(&t->time, t->last_step.times.step, t->last_step.epoch);
	report_step(t);
	if (step == t->conf->steps)
		return 0; /* finish_training() saves and evaluates */
	if (step % t->conf->eval_every == 0 && !t->time.is_tight)
		return trainer_evaluate(t, e);
	return step % t->conf->save_every == 0 ? trainer_save(t, false, e) : 0;
}

/* Early stopping: has stop_metric not improved in the last `patience` evaluations? */
static bool is_out_of_patience(const struct trainer *t)
{
	return t->conf->patience > 0 && t->progress.evals_since_best >= t->conf->patience;
}

static enum run_end_why why_finished(const struct trainer *t)
{
	return t->state.step >= t->conf->steps ? RUN_END_STEPS
	       : is_out_of_patience(t)	       ? RUN_END_PATIENCE
					       : RUN_END_MINUTES;
}

/* All ranks: a run without the evaluation of its last step has not finished. */
static int fail_unevaluated(struct trainer *t, struct err *e)
{
	struct err why = t->progress.evaluation_trouble;

	if (t->comm->broadcast(t->comm, &why, sizeof(why), 0, e))
		return e->code;
	return err_set(
		e, why.code ? why.code : ERR_UNAVAILABLE,
		"trained the run \"%s\" and saved it at step %lld, but its last evaluation "
		"failed: %.200s. When the cause is gone (werkbank verify names damaged files "
		"of a corpus), train again: only the evaluation is repeated",
		t->conf->run, (long long)t->state.step, why.text);
}

static int finish_training(struct trainer *t, struct err *e)
{
	int64_t asks[N_ASKS];

	if (trainer_save(t, true, e) ||
	    (t->progress.evaluated_step != t->state.step && trainer_evaluate(t, e)) ||
	    gather_requests(t, asks, e))
		return e->code;
	if (stop_requests_decide(&t->stopping, asks) && t->progress.evaluated_step != t->state.step)
		return stop_on_request(t, e);
	if (asks[ASK_DIVERGED])
		return stop_diverged(t, e);
	if (record_last_telemetry(t, e))
		return e->code;
	return t->progress.evaluated_step == t->state.step ? report_stop(t, why_finished(t), 0, e)
							   : fail_unevaluated(t, e);
}

/* Requests that don't end the run. */
static int handle_requests(struct trainer *t, const int64_t asks[N_ASKS], struct err *e)
{
	if (asks[ASK_TELEMETRY] && record_telemetry(t, e))
		return e->code;
	if (asks[ASK_SAVE] && trainer_save(t, false, e))
		return e->code;
	return asks[ASK_EVALUATE] ? trainer_evaluate(t, e) : 0;
}

static int open_watch(struct trainer *t, struct err *e)
{
	struct recipe_facts facts = {
		.conf = t->conf,
		.parameters = (double)model_floats(t->model),
		.pairs = (double)shard_pairs(t->shard),
		.target_tokens = (double)(shard_target_tokens(t->shard) + shard_pairs(t->shard)),
	};
	const struct tag_mix *mix = loader_tag_mix(t->loader);
	bool *lacks = &t->time.lacks_evaluation;

	if (mix)
		facts.target_tokens = tag_shares_target_tokens(mix);
	t->watch.records = &t->records;
	if (trainer_is_first(t) &&
	    run_watch_open(&t->watch, t->folder, t->corpus, &t->state.shape, &facts, e))
		return e->code;
	*lacks = facts.dev_pairs == 0;
	if (t->comm->broadcast(t->comm, lacks, sizeof(*lacks), 0, e))
		return e->code;
	t->weight_changes = trainer_is_first(t) ? weight_changes_open(t->model, &t->records,
								      &t->conf->freeze, e)
						: NULL;
	return trainer_is_first(t) && !t->weight_changes ? e->code : 0;
}

/* After a start with the weights of another model: an event, and an evaluation of them. */
static int report_start_weights(struct trainer *t, struct err *e)
{
	bool has_started = t->start_text != NULL;

	if (t->comm->broadcast(t->comm, &has_started, sizeof(has_started), 0, e))
		return e->code;
	if (!has_started)
		return 0;
	if (trainer_is_first(t))
		run_records_event(&t->records, "info", "%s", t->start_text);
	return trainer_evaluate(t, e);
}

/* Before the first step of this attempt. */
static int begin_training(struct trainer *t, struct err *e)
{
	const int64_t step = t->state.step;

	if (report_start(t, e) || open_watch(t, e))
		return e->code;
	if (trainer_is_first(t) && !model_get_ops(t->model)->has_device_memory)
		(void)processor_level_record(&t->processor, &t->records);
	if (step > 0)
		run_records_event(&t->records, "info", "resumed from the checkpoint of step %lld",
				  (long long)step);
	if (report_start_weights(t, e))
		return e->code;
	/* the attempt before may have ended between saving and evaluating */
	if (step > 0 && step < t->conf->steps && step % t->conf->eval_every == 0 &&
	    t->progress.evaluated_step < step)
		return trainer_evaluate(t, e);
	return 0;
}

static int run_training_loop(struct trainer *t, struct err *e)
{
	int64_t asks[N_ASKS];

	if (begin_training(t, e))
		return e->code;
	while (t->state.step < t->conf->steps && !is_out_of_patience(t)) {
		memset(asks, 0, sizeof(asks));
		if (t->in_sync && gather_requests(t, asks, e))
			return e->code;
		if (asks[ASK_LEASE_LOST])
			return stop_without_lease(t, e);
		if (asks[ASK_TIME + TIME_IS_OVER])
			break;
		if (stop_requests_decide(&t->stopping, asks))
			return stop_on_request(t, e);
		if (asks[ASK_DIVERGED])
			return stop_diverged(t, e);
		if (t->in_sync)
			time_limit_obey(&t->time, asks + ASK_TIME);
		t->stopping.may_cut = t->in_sync;
		if (handle_requests(t, asks, e) || trainer_step(t, e))
			return e->code;
		if (t->last_step.is_cut)
			return stop_on_request(t, e);
		if (after_step(t, e))
			return e->code;
	}
	return finish_training(t, e);
}

int trainer_run(const struct conf *c, struct comm *comm, const struct trainer_signals *signals,
		struct err *e)
{
	struct trainer t = { .conf = c, .comm = comm, .signals = signals };
	int rc = trainer_open(&t, e);

	if (!rc)
		rc = run_training_loop(&t, e);
	rescue_after(t.rescue, rc);
	if (rc && rc != ERR_TEMPFAIL && rc != ERR_DIVERGED && t.records.journal) {
		struct err ignored;

		run_records_failure(&t.records, e->text);
		report_stop(&t, RUN_END_FAILED, err_exit_status(rc), &ignored);
	}
	trainer_close(&t);
	return rc;
}
