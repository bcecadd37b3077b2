/* trainer_save.c - checkpoints and evaluations of a run; see trainer_internal.h */
#include "train/trainer/trainer_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "train/trainer/evaluate.h"

#define AGAIN_S	     60 /* next try after a failed save, unless a checkpoint is due earlier */
#define FAILED_SAVES 2	/* so many in a row end the run */

double trainer_seconds(const struct trainer *t)
{
	return t->progress.seconds_before + (clock_mono_s() - t->progress.started_at);
}

/* ---- arrays that are distributed over ranks ----------------------------- */

/* Progress of a collection: the first rank receives the arrays 0 .. n - 1 in this order. */
struct collection {
	struct trainer *t;
	int next, n;
};

/* Copy a rank's parts of a moment to their places in the whole array. */
static void place_parts(const struct trainer *t, int rank, float *arena, const float *parts)
{
	const struct buckets *b = &t->ranks.reduce_options.buckets;

	for (size_t i = 0; i < b->count; i++) {
		const struct range p = buckets_piece(b, i, rank);

		memcpy(arena + p.at, parts, p.n * sizeof(*parts));
		parts += p.n;
	}
}

/* First rank: collect the parts of a moment in the staging buffer, which is free now. */
static int collect_parts(struct trainer *t, const float *own, struct err *e)
{
	float *arena = t->ranks.staging;
	const size_t most = buckets_owned(&t->ranks.reduce_options.buckets, 0);
	float *parts = mem_alloc(MAX(most, (size_t)1), sizeof(*parts), e);
	int rc = parts ? 0 : e->code;

	if (!rc)
		place_parts(t, 0, arena, arena_view_const(t->model, own, parts, most));
	for (int rank = 1; !rc && rank < t->comm->size; rank++) {
		const size_t n = buckets_owned(&t->ranks.reduce_options.buckets, rank);

		rc = comm_receive(t->comm, parts, n * sizeof(*parts), rank, e);
		if (!rc)
			place_parts(t, rank, arena, parts);
	}
	free(parts);
	return rc;
}

static int get_ckpt_arena(void *arg, int which, struct ckpt_arena *found, struct err *e)
{
	struct collection *c = arg;
	struct trainer *t = c->t;

	const float *moments = which == CKPT_FIRST ? t->adam.first : t->adam.second;
	const int rank = which - CKPT_FEEDBACK;

	assert(which == c->next && which < c->n);
	c->next = which + 1;
	*found = (struct ckpt_arena){ .x = t->ranks.staging, .on_host = true };
	if (which < CKPT_FEEDBACK && t->ranks.reduce_options.shards)
		return collect_parts(t, moments, e);
	if (which < CKPT_FEEDBACK)
		*found = (struct ckpt_arena){ .x = moments };
	else if (rank == 0)
		found->x = staging_error_feedback(t);
	else
		return comm_receive(t->comm, t->ranks.staging,
				    (size_t)model_floats(t->model) * sizeof(float), rank, e);
	return 0;
}

static int send_parts(struct trainer *t, const float *own, struct err *e)
{
	const size_t n = t->adam.floats;

	return comm_send(t->comm, arena_view_const(t->model, own, t->ranks.staging, n),
			 n * sizeof(*own), 0, e);
}

/* The other ranks: send the arrays that the first rank collects; n: as in struct collection. */
static int send_ckpt_arenas(struct trainer *t, int n, struct err *e)
{
	if (t->ranks.reduce_options.shards &&
	    (send_parts(t, t->adam.first, e) || send_parts(t, t->adam.second, e)))
		return e->code;
	if (n > CKPT_FEEDBACK)
		return comm_send(t->comm, staging_error_feedback(t),
				 (size_t)model_floats(t->model) * sizeof(float), 0, e);
	return 0;
}

/* ---- saving ------------------------------------------------------------ */

/* First rank: save. *failed: the failure to save; the return value: a failure of the comm. */
int trainer_check_folder(const struct trainer *t, struct err *e)
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
	return rc;
}

static int save_here(struct trainer *t, int n, const float *average, struct err *failed,
		     struct err *e)
{
	const double begun = clock_mono_s();
	struct collection c = { t, 0, n };
	const struct ckpt_arenas from = { get_ckpt_arena, &c, n, average };
	int64_t bytes;

	failed->code = 0;
	t->state.seconds = trainer_seconds(t);
	if (!trainer_check_folder(t, failed))
		ckpt_save_arenas(t->folder, &t->state, t->model, &from, (int)t->conf->keep, &bytes,
				 failed);
	while (c.next < n) /* after a failure receive the rest: the other ranks send all arrays */
		if (get_ckpt_arena(&c, c.next, &(struct ckpt_arena){ 0 }, e))
			return e->code;
	t->time.save_s = clock_mono_s() - begun;
	if (!failed->code)
		report_save(t, bytes, t->time.save_s, false);
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
	return report_event(t, "warning",
			    "cannot save the checkpoint of step %lld (%s); next try in %d s, or "
			    "when the next checkpoint is due: %.300s",
			    (long long)t->state.step, newest, AGAIN_S, why->text);
}

int trainer_save(struct trainer *t, bool must, struct err *e)
{
	const int n =
		CKPT_FEEDBACK +
		(t->ranks.reduce && reduce_error_feedback(t->ranks.reduce) ? t->comm->size : 0);
	struct err failed = { 0 };
	const float *average;

	if (t->ranks.telemetry)
		telemetry_pause(t->ranks.telemetry);
	if (t->progress.saved_step == t->state.step)
		return 0;
	trainer_at_phase(t, PHASE_SAVE);
	trainer_save_products(t);
	if (trainer_ema_gather(t, &average, e) ||
	    (trainer_is_first(t) ? save_here(t, n, average, &failed, e)
				 : send_ckpt_arenas(t, n, e)) ||
	    t->comm->broadcast(t->comm, &failed, sizeof(failed), 0, e))
		return e->code;
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
		return report_event(t, "warning", "the evaluation of step %lld failed: %s",
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
	watch_evaluation(t, v->bleu, v->nll, v->train_nll);
	return evaluations_write(t->folder, &t->progress.evaluations, e);
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
		.unable = &t->ranks.eval_share_failed,
	};

	const double begun = clock_mono_s();

	if (trainer_save(t, false, e))
		return e->code;
	if (t->progress.saved_step != t->state.step)
		return report_event(t, "warning",
				    "step %lld is not evaluated: its checkpoint could not be saved",
				    (long long)t->state.step);
	if (t->progress.lacks_dev_set) {
		t->progress.evaluated_step = t->state.step;
		return 0;
	}
	v.step = t->state.step;
	trainer_at_phase(t, PHASE_EVALUATE);
	report_end_line(t);
	report_evaluating(t);
	if (trainer_ema_gather(t, &v.weights, e) || evaluate_checkpoint(&v, e) ||
	    (trainer_is_first(t) && evaluated_here(t, &v, e)) || changes_report(t, e))
		return e->code;
	if (!v.trouble.code)
		trainer_time_evaluated(t, clock_mono_s() - begun);
	return t->comm->broadcast(t->comm, &t->progress.evaluated_step,
				  sizeof(t->progress.evaluated_step), 0, e) ||
			       t->comm->broadcast(t->comm, &t->progress.evals_since_best,
						  sizeof(t->progress.evals_since_best), 0, e)
		       ? e->code
		       : 0;
}
