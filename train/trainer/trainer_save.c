/* trainer_save.c - checkpoints and evaluations of a run; see trainer_internal.h */
#include "train/trainer/trainer_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "train/model/arena.h"
#include "train/trainer/evaluate.h"

#define AGAIN_S	     60 /* next try after a failed save, unless a checkpoint is due earlier */
#define FAILED_SAVES 2	/* this many in a row end the run */

/* ---- saving ------------------------------------------------------------ */

/*
 * ERR_TEMPFAIL: the folder of the run was exchanged, for example for that of a new run of this name, or
 * another host has its lease. Checked before anything is written by its path.
 */
static int check_folder(const struct trainer *t, struct err *e)
{
	char *lock = file_path(e, "%s/lock", t->folder);
	int rc = lock ? 0 : e->code;

	if (!rc && !lock_file_is_same(&t->run_lock, lock))
		rc = err_set(
			e, ERR_TEMPFAIL,
			"%s is not the folder any more in which this training began: it was "
			"removed, moved or replaced; the training ends, and writes nothing there",
			t->folder);
	free(lock);
	return rc ? rc : run_lease_check(t->folder, t->lease.id, t->lease.attempt, e);
}

/* First rank: save. *failed: the failure to save; the return value: a failure of the comm. */
static int save_here(struct trainer *t, struct rank_arrays *arrays, const float *average,
		     struct err *failed, struct err *e)
{
	const double begun = clock_mono_s();
	const struct ckpt_arenas from = { rank_arrays_get, arrays, arrays->n, average };
	int64_t bytes;

	failed->code = 0;
	t->state.seconds = time_limit_seconds(&t->time);
	if (!check_folder(t, failed))
		ckpt_save_arenas(t->folder, &t->state, t->model, &from, (int)t->conf->keep, &bytes,
				 failed);
	if (rank_arrays_drain(arrays, e))
		return e->code;
	t->time.save_s = clock_mono_s() - begun;
	if (!failed->code)
		run_records_checkpoint(&t->records, bytes, t->time.save_s, false);
	return 0;
}

/* All ranks, after a failed save. */
static int handle_failed_save(struct trainer *t, const struct err *why, bool must, struct err *e)
{
	char newest[60] = "there is no older one";

	t->progress.failed_saves++;
	if (t->progress.saved_step >= 0)
		snprintf(newest, sizeof(newest), "the newest is of step %lld",
			 (long long)t->progress.saved_step);
	if (must || t->progress.failed_saves >= FAILED_SAVES)
		return err_set(e, ERR_IO,
			       "cannot save the checkpoint of step %lld%s (%s): %.300s; remove "
			       "the cause and train again",
			       (long long)t->state.step, must ? "" : ", nor the one before", newest,
			       why->text);
	t->progress.retry_save_at = clock_mono_s() + AGAIN_S;
	return run_records_event(
		&t->records, "warning",
		"cannot save the checkpoint of step %lld (%s); next try in %d s, or "
		"when the next checkpoint is due: %.300s",
		(long long)t->state.step, newest, AGAIN_S, why->text);
}

int trainer_save(struct trainer *t, bool must, struct err *e)
{
	struct rank_arrays arrays = rank_arrays_begin(&t->exchange, &t->adam);
	struct err failed = { 0 };
	const float *average;
	const double begun = clock_mono_s();

	if (t->telemetry)
		telemetry_pause(t->telemetry);
	if (t->progress.saved_step == t->state.step)
		return 0;
	trainer_at_phase(t, PHASE_SAVE);
	product_choices_save(&t->products);
	rescue_allow_save(t->rescue);
	if (weight_average_gather(&t->average, &t->exchange, &average, e) ||
	    (trainer_is_first(t) ? save_here(t, &arrays, average, &failed, e)
				 : rank_arrays_send(&arrays, e)) ||
	    t->comm->broadcast(t->comm, &failed, sizeof(failed), 0, e))
		return e->code;
	rescue_allow(t->rescue, false, t->stopping.step_ms);
	t->progress.saved_at = clock_mono_s();
	t->progress.save_s = t->progress.saved_at - begun;
	if (failed.code ==
	    ERR_TEMPFAIL) { /* the folder is another one now: nothing is tried again */
		*e = failed;
		return e->code;
	}
	if (failed.code)
		return handle_failed_save(t, &failed, must, e);
	t->progress.saved_step = t->state.step;
	t->progress.failed_saves = 0;
	t->progress.retry_save_at = 0;
	return 0;
}

/* ---- evaluating -------------------------------------------------------- */

void trainer_update_best(struct trainer *t)
{
	const struct evaluations *v = &t->progress.evaluations;
	const struct evaluated *best = evaluations_best(v, (enum best_metric)t->conf->best_metric);

	t->progress.evals_since_best =
		evaluations_waited(v, (enum best_metric)t->conf->stop_metric);
	if (v->n > 0)
		t->progress.evaluated_step = v->all[v->n - 1].step;
	if (best) {
		t->state.best_bleu = best->bleu;
		t->state.best_step = best->step;
	}
}

/* First rank: record an evaluation in the list; a failed one is a warning. */
static int evaluated_here(struct trainer *t, const struct evaluation *v, struct err *e)
{
	const bool is_usual = !strcmp(v->tok, "13a");

	t->progress.evaluation_trouble = v->trouble;
	if (v->trouble.code == ERR_TEMPFAIL)
		return 0; /* the loop sees the request to stop; resuming repeats the evaluation */
	if (v->trouble.code)
		return run_records_event(&t->records, "warning",
					 "the evaluation of step %lld failed: %s",
					 (long long)v->step, v->trouble.text);
	if (evaluations_note(&t->progress.evaluations, evaluate_result(v), e))
		return e->code;
	trainer_update_best(t);
	if (t->state.best_step == v->step && ckpt_set_best(t->folder, v->step, e))
		return e->code;
	if (!t->conf->quiet)
		fprintf(stderr, "step %lld: dev BLEU %.2f (%s%s%s), best %.2f at step %lld\n",
			(long long)v->step, v->bleu, v->precision,
			is_usual ? "" : ", tok:", is_usual ? "" : v->tok, t->state.best_bleu,
			(long long)t->state.best_step);
	run_watch_evaluation(&t->watch, &(struct learning_evaluation){ (double)v->step,
								       v->bleu < 0 ? NAN : v->bleu,
								       v->nll, v->train_nll });
	return evaluations_write(t->folder, &t->progress.evaluations, e);
}

/* All ranks get what the first rank knows: the best step also because any rank may save (rescue.h). */
static int share_evaluation(struct trainer *t, struct err *e)
{
	struct {
		int64_t evaluated_step, evals_since_best, best_step;
		double best_bleu, evaluation_s;
	} of = { t->progress.evaluated_step, t->progress.evals_since_best, t->state.best_step,
		 t->state.best_bleu, t->state.evaluation_s };

	if (t->comm->broadcast(t->comm, &of, sizeof(of), 0, e))
		return e->code;
	t->progress.evaluated_step = of.evaluated_step;
	t->progress.evals_since_best = of.evals_since_best;
	t->state.best_step = of.best_step;
	t->state.best_bleu = of.best_bleu;
	t->state.evaluation_s = of.evaluation_s;
	return 0;
}

int trainer_evaluate(struct trainer *t, struct err *e)
{
	struct evaluation v = {
		.workspace = t->workspace,
		.run = t->conf->run,
		.journal = t->records.journal,
		.samples = t->records.samples,
		.stop = &t->signals->stop,
		.before = &t->progress.evaluations,
		.best_metric = (enum best_metric)t->conf->best_metric,
		.comm = t->comm,
		.conf = t->conf,
		.folder = t->folder,
		.corpus = t->corpus,
		.state = &t->state,
		.model = t->model,
		.threads = trainer_threads(t),
		.gpu = arena_is_host(t->model) ? -1 : t->gpu,
		.unable = &t->eval_share_failed,
	};

	const double begun = clock_mono_s();

	if (trainer_save(t, false, e))
		return e->code;
	if (t->progress.saved_step != t->state.step)
		return run_records_event(
			&t->records, "warning",
			"step %lld is not evaluated: its checkpoint could not be saved",
			(long long)t->state.step);
	if (t->time.lacks_evaluation) {
		t->progress.evaluated_step = t->state.step;
		return 0;
	}
	v.step = t->state.step;
	trainer_at_phase(t, PHASE_EVALUATE);
	run_records_end_line(&t->records);
	run_records_evaluating(&t->records, t->state.evaluation_s);
	if (weight_average_gather(&t->average, &t->exchange, &v.weights, e) ||
	    evaluate_checkpoint(&v, e) || (trainer_is_first(t) && evaluated_here(t, &v, e)) ||
	    weight_changes_report(t->weight_changes, e))
		return e->code;
	if (!v.trouble.code)
		time_limit_evaluated(&t->time, clock_mono_s() - begun);
	return share_evaluation(t, e);
}
