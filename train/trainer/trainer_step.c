/* trainer_step.c - one optimizer step; see trainer_internal.h */
#include "train/trainer/trainer_internal.h"

#include <math.h>

#include "share/base/clock.h"

#define BAD_STEPS 20 /* in a row without a finite gradient: the run has diverged */

/* Gradients are summed at each step, rather than weights after several. */
static bool reduces_gradients(const struct trainer *t)
{
	return t->reduce && !t->average;
}

/* … and losses, by GPUs that reach each other. */
static bool reduces_on_gpus(const struct trainer *t)
{
	return reduces_gradients(t) && t->reduce_options.dev;
}

/* ---- gradients --------------------------------------------------------- */

static void on_gradients_ready(void *arg, int64_t from)
{
	reduce_ready(arg, (size_t)from);
}

/* One micro-batch; last: of this rank in this step. Its loss is still unknown: read_step_losses(). */
static int micro_batch(struct trainer *t, struct model_pass_options *how, bool last,
		       double sums[N_SUMS], struct err *e)
{
	double begun = clock_mono_s(), loaded;

	trainer_at_phase(t, PHASE_INPUT);
	if (!t->loaded && loader_next(t->loader, &t->batch, e))
		return e->code;
	t->loaded = false;
	loaded = clock_mono_s();
	trainer_at_phase(t, PHASE_COMPUTE);
	if (last && reduces_gradients(t) && t->conf->overlap_reduce &&
	    staging_gradients(t) == model_grad_arena(t->model)) {
		how->ready = on_gradients_ready;
		how->ready_arg = t->reduce;
	}
	if (model_forward_backward(t->model, &t->batch, how, NULL, e))
		return e->code;
	t->times.input += loaded - begun;
	t->times.compute += clock_mono_s() - loaded;
	sums[SUM_TARGET] += t->batch.n_target;
	sums[SUM_SOURCE] += t->batch.n_source;
	return 0;
}

/* Wait for the backend, the only time in a step: a GPU has got all of it by then. */
static int read_step_losses(struct trainer *t, double sums[N_SUMS], double *squares, struct err *e)
{
	struct model_sums all;

	if (model_collect_sums(t->model, &all, e))
		return e->code;
	sums[SUM_LOSS] = all.loss;
	sums[SUM_NLL] = all.nll;
	*squares = all.squares;
	if (!reduces_on_gpus(t))
		return 0;
	sums[SUM_TARGET] = all.target;
	sums[SUM_SOURCE] = all.source;
	return 0;
}

/*
 * Gradients of this rank's share of the step's micro-batches, first .. first + micro_batches - 1 of
 * the sequence.
 */
static int run_micro_batches(struct trainer *t, uint64_t first, double sums[N_SUMS], struct err *e)
{
	const struct conf *c = t->conf;
	const uint64_t end = first + (uint64_t)c->micro_batches, ranks = (uint64_t)t->comm->size;
	struct model_pass_options how = {
		.dropout = (float)c->dropout,
		.attention_dropout = (float)c->attention_dropout,
		.relu_dropout = (float)c->relu_dropout,
		.smoothing = (float)c->label_smoothing,
		.grad_scale = 1,
		.seed = t->state.seed,
		.step = (uint32_t)t->state.step,
	};
	uint64_t at;

	while ((at = loader_position(t->loader) - (t->loaded ? ranks : 0)) < end) {
		how.micro = (uint32_t)(at - first);
		if (micro_batch(t, &how, at + ranks >= end, sums, e))
			return e->code;
	}
	return 0;
}

/*
 * GPUs sum up what is left of the gradient, then losses, tokens and the squares of the pieces that each owns, so
 * that the sharded optimizer and the plain one find the same length. Nothing here waits.
 */
static int reduce_on_gpus(struct trainer *t, const double sums[N_SUMS], struct err *e)
{
	const double tokens[] = { sums[SUM_TARGET], sums[SUM_SOURCE] };
	struct model_tally *tally = model_tally(t->model);
	bool done;

	reduce_ready(t->reduce, 0);
	if (reduce_poll(t->reduce, &done, e))
		return e->code;
	adam_measure(&t->adam, t->own, t->reduce_options.buckets.count);
	model_get_ops(t->model)->to_device(model_get_dev(t->model), &tally->target, tokens,
					   sizeof(tokens));
	return reduce_numbers(t->reduce, &tally->loss, sizeof(*tally) / sizeof(double), e);
}

static void add_transfer_times(struct trainer *t)
{
	t->times.transfer += reduce_collect_busy(t->reduce);
	t->times.sent_bytes += reduce_collect_sent(t->reduce);
}

/*
 * Wait for what backward has not hidden. The sums are begun when backward has ended here and are there when
 * it has ended everywhere: so long the slowest rank is waited for, not the network.
 */
static int reduce_gradients(struct trainer *t, double sums[N_SUMS], struct err *e)
{
	const double begun = clock_mono_s();
	struct comm_request *all_ranks;
	bool here = false, done = false;

	trainer_at_phase(t, PHASE_REDUCE);
	if (t->comm->begin_sum(t->comm, sums, N_SUMS, &all_ranks, e))
		return e->code;
	staging_copy_to_host(t);
	reduce_ready(t->reduce, 0);
	for (;;) {
		if (!here && t->comm->test(t->comm, all_ranks, &here, e))
			return e->code;
		if (!done && reduce_poll(t->reduce, &done, e))
			return e->code;
		t->times.exposed = clock_mono_s() - begun;
		if (!here)
			t->times.wait = t->times.exposed;
		if (here && done)
			break;
		comm_pause(t->times.exposed);
	}
	staging_copy_to_device(t);
	add_transfer_times(t);
	return 0;
}

/* ---- update ------------------------------------------------------------ */

/* Is this rank to measure a piece of that rank? */
static bool measures_piece_of(const struct trainer *t, int rank)
{
	return !t->reduce_options.shards || rank == t->comm->rank;
}

/*
 * By the owners of pieces, so that the sharded optimizer and the plain one find the same number to
 * the last bit.
 */
static int grad_norm(struct trainer *t, double *norm, struct err *e)
{
	const struct buckets *b = &t->reduce_options.buckets;
	const size_t ranks = (size_t)t->comm->size;
	double sum = 0, *squares;

	if (adam_squares_begin(&t->adam, ranks, e))
		return e->code;
	for (int rank = 0; rank < t->comm->size; rank++)
		for (size_t i = 0; i < b->count && measures_piece_of(t, rank); i++)
			adam_square(&t->adam, (size_t)rank, buckets_piece(b, i, rank));
	squares = adam_read_squares(&t->adam, ranks);
	if (t->reduce_options.shards && t->comm->sum_doubles(t->comm, squares, ranks, e))
		return e->code;
	for (size_t rank = 0; rank < ranks; rank++)
		sum += squares[rank];
	*norm = sqrt(sum);
	return 0;
}

/* The owners of parts tell the others what they have made of them. */
static int all_gather_weights(struct trainer *t, struct err *e)
{
	const double begun = clock_mono_s();

	if (staging_all_gather(t, model_param_arena(t->model), e))
		return e->code;
	t->times.exposed += clock_mono_s() - begun;
	t->times.update -= clock_mono_s() - begun;
	add_transfer_times(t);
	return 0;
}

/* Is the step good? If not its weights are those of the one before. */
static int check_step_is_finite(struct trainer *t, const double sums[N_SUMS], struct err *e)
{
	t->finite = isfinite(t->grad_norm) && isfinite(sums[SUM_LOSS]);
	if (t->finite) {
		t->bad_steps = 0;
		return 0;
	}
	if (++t->bad_steps >= BAD_STEPS)
		return err_set(e, ERR_DATA,
			       "training has diverged: %d steps in a row without a finite "
			       "gradient, the last "
			       "was step %lld; lower noam_factor, lengthen warmup or set "
			       "clip, and train from an "
			       "earlier checkpoint",
			       BAD_STEPS, (long long)t->state.step + 1);
	return report_event(t, "warning", "step %lld was left out: its %s is not finite",
			    (long long)t->state.step + 1,
			    isfinite(sums[SUM_LOSS]) ? "gradient" : "loss");
}

/* With the gradient of all ranks, which were summed by hosts. */
static int update_by_host(struct trainer *t, struct adam_update how, const double sums[N_SUMS],
			  struct err *e)
{
	int rc = grad_norm(t, &t->grad_norm, e);

	if (rc)
		return rc;
	t->grad_norm *= how.scale;
	rc = check_step_is_finite(t, sums, e);
	if (rc || !t->finite)
		return rc;
	if (t->conf->clip > 0 && t->grad_norm > t->conf->clip)
		how.scale *= t->conf->clip / t->grad_norm;
	adam_apply(&t->adam, how.step, how.rate, how.scale);
	return t->reduce_options.shards ? all_gather_weights(t, e) : 0;
}

/* While a GPU is still busy with this step: it shall not wait for the next one. */
static int load_ahead(struct trainer *t, struct err *e)
{
	const double begun = clock_mono_s();

	if (t->loaded || t->state.step + 1 >= t->conf->steps)
		return 0;
	if (loader_next(t->loader, &t->batch, e))
		return e->code;
	t->loaded = true;
	t->times.input += clock_mono_s() - begun;
	return 0;
}

/* Gradients, losses and lengths of all ranks, an update, and weights for all: told, not waited for. */
static int enqueue_update(struct trainer *t, struct adam_update how, const double sums[N_SUMS],
			  struct err *e)
{
	if (!reduces_on_gpus(t)) {
		adam_measure_and_update(&t->adam, &how);
		return 0;
	}
	if (reduce_on_gpus(t, sums, e))
		return e->code;
	how.scale = 1;
	how.tokens = true;
	adam_update_measured(&t->adam, &how);
	return t->reduce_options.shards ? staging_all_gather(t, model_param_arena(t->model), e) : 0;
}

/*
 * Until backward has ended here, and then everywhere, as far as hosts can tell: so the watchdog knows
 * who holds up the others, and the slowest rank is told from the network. The GPU has been told everything
 * and does not wait for this.
 */
static int wait_for_slowest_rank(struct trainer *t, struct err *e)
{
	const double begun = clock_mono_s();
	struct comm_request *all_ranks;
	double nothing = 0;

	trainer_at_phase(t, PHASE_COMPUTE);
	while (!reduce_backward_is_done(t->reduce)) {
		if (t->comm->check(t->comm, e))
			return e->code;
		comm_pause(clock_mono_s() - begun);
	}
	trainer_at_phase(t, PHASE_REDUCE);
	if (t->comm->begin_sum(t->comm, &nothing, 1, &all_ranks, e))
		return e->code;
	t->times.compute += clock_mono_s() - begun;
	t->times.wait -= clock_mono_s();
	if (comm_wait(t->comm, all_ranks, e))
		return e->code;
	t->times.wait += clock_mono_s();
	return 0;
}

/* What the GPU has done since its backward ended, and whether the others have done their part. */
static int add_gpu_times(struct trainer *t, double seconds, struct err *e)
{
	t->times.exposed = fmin(fmax(reduce_collect_exposed(t->reduce), t->times.wait), seconds);
	t->times.update += seconds - t->times.exposed;
	add_transfer_times(t);
	return t->comm->check(t->comm, e); /* sums of a lost rank are none */
}

/* The backend clips and judges by itself, and is waited for when it has been told everything. */
static int update_by_backend(struct trainer *t, const struct adam_update *how, double sums[N_SUMS],
			     struct err *e)
{
	double begun = clock_mono_s(), squares;

	if (enqueue_update(t, *how, sums, e))
		return e->code;
	t->times.update += clock_mono_s() - begun;
	if (load_ahead(t, e) || (reduces_on_gpus(t) && wait_for_slowest_rank(t, e)))
		return e->code;
	begun = clock_mono_s() - t->times.wait;
	if (read_step_losses(t, sums, &squares, e))
		return e->code;
	if (!reduces_on_gpus(t))
		t->times.compute += clock_mono_s() - begun;
	else if (add_gpu_times(t, clock_mono_s() - begun, e))
		return e->code;
	t->grad_norm = sqrt(squares) * (1 / sums[SUM_TARGET]);
	return check_step_is_finite(t, sums, e);
}

/* ---- a step ------------------------------------------------------------ */

/* The first step is not like the others: memory is touched for the first time. */
static void profile_step(struct trainer *t, double seconds)
{
	if (!t->profile)
		return;
	if (t->profiled_steps < 0) {
		profile_clear(t->profile);
		t->profiled_steps = 0;
	} else {
		t->profiled_s += seconds;
		t->profiled_steps++;
	}
	profile_pause(t->profile, true);
}

static void add_to_meter(struct trainer *t, const double sums[N_SUMS])
{
	struct step_meter *m = &t->meter;

	m->loss += sums[SUM_LOSS];
	m->nll += sums[SUM_NLL];
	m->target_tokens += sums[SUM_TARGET];
	m->source_tokens += sums[SUM_SOURCE];
	m->seconds += t->times.step;
	m->steps++;
	m->times.input += t->times.input;
	m->times.compute += t->times.compute;
	m->times.exposed += t->times.exposed;
	m->times.wait += t->times.wait;
	m->times.update += t->times.update;
	m->times.sent_bytes += t->times.sent_bytes;
	if (t->telemetry)
		telemetry_step(t->telemetry, &t->times);
}

/* From gradients to new weights. */
static int update_weights(struct trainer *t, double sums[N_SUMS], struct err *e)
{
	const struct adam_update how = { .step = t->state.step,
					 .rate = t->rate =
						 schedule_rate(&t->rate_schedule, t->state.step),
					 .scale = 1 / sums[SUM_TARGET],
					 .clip = t->conf->clip };
	const double begun = clock_mono_s();
	int rc;

	trainer_at_phase(t, PHASE_UPDATE);
	if (!reduces_gradients(t) || reduces_on_gpus(t))
		return update_by_backend(t, &how, sums, e);
	rc = update_by_host(t, how, sums, e);
	if (!rc)
		rc = model_get_ops(t->model)->sync(model_get_dev(t->model), e);
	t->times.update += clock_mono_s() - begun;
	return rc;
}

/* The sums of all ranks, with which the reduction ends, need the losses. */
static int reduce_step(struct trainer *t, double sums[N_SUMS], struct err *e)
{
	const double begun = clock_mono_s();
	double squares;

	if (!reduces_gradients(t) || reduces_on_gpus(t))
		return 0;
	if (read_step_losses(t, sums, &squares, e))
		return e->code;
	t->times.compute += clock_mono_s() - begun;
	return reduce_gradients(t, sums, e);
}

int trainer_step(struct trainer *t, struct err *e)
{
	const struct ops *o = model_get_ops(t->model);
	float *grads = model_grad_arena(t->model);
	double begun = clock_mono_s(), sums[N_SUMS] = { 0 };

	t->times = (struct step_times){ 0 };
	if (t->telemetry)
		telemetry_begin(t->telemetry);
	if (t->profile)
		profile_pause(t->profile, false);
	o->zero(model_get_dev(t->model), grads, (size_t)model_floats(t->model) * sizeof(float));
	if (reduces_gradients(t))
		reduce_begin(t->reduce, staging_gradients(t));
	if (run_micro_batches(t, t->state.loader_position, sums, e) || reduce_step(t, sums, e) ||
	    update_weights(t, sums, e))
		return e->code;
	t->state.step++;
	t->state.loader_position += (uint64_t)t->conf->micro_batches;
	if (t->average && local_steps_end_step(t, sums, e))
		return e->code;
	trainer_ema_step(t);
	t->times.step = clock_mono_s() - begun;
	add_to_meter(t, sums);
	profile_step(t, t->times.step);
	return 0;
}
