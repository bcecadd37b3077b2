/*
 * trainer_step.c - one optimizer step; see trainer_internal.h
 *
 * trainer_step() runs the micro-batches of this rank, sums up gradients over ranks and updates the
 * weights. There are three ways, according to where gradients are reduced:
 *
 *	by hosts	several ranks, without NCCL: reduce_step() waits for the losses and for the
 *			reduction; update_by_host() clips by the norm and updates
 *	on GPUs		several ranks with NCCL: update_by_backend() enqueues the rest of the
 *			reduction, the update and the all-gather of weights; the host waits once
 *	nowhere		one rank, or local steps: update_by_backend() without a reduction
 *
 * Times of a step: input waits for batches, compute is forward and backward, exposed is the part
 * of the reduction that the backward pass does not hide, wait is the part of exposed until the
 * slowest rank has finished its backward pass, update is clipping and Adam.
 */
#include "train/trainer/trainer_internal.h"

#include <assert.h>
#include <math.h>

#include "share/base/clock.h"

#define BAD_STEPS                                                                                  \
	20 /* after this many steps in a row without a finite gradient, training has diverged */

/* Does every step sum up gradients over ranks? False: one rank, or local steps. */
static bool reduces_gradients(const struct trainer *t)
{
	return t->exchange.reduce && !t->local_steps;
}

/* Do the GPUs themselves sum up gradients and losses, by NCCL? */
static bool reduces_on_gpus(const struct trainer *t)
{
	return reduces_gradients(t) && t->exchange.options.dev;
}

/* ---- gradients --------------------------------------------------------- */

static void on_gradients_ready(void *arg, int64_t from)
{
	reduce_ready(arg, (size_t)from);
}

/*
 * Run one micro-batch, without a wait: read_step_losses() gets its loss. is_last: of this rank in
 * this step; the reduction overlaps with its backward pass.
 */
static int run_micro_batch(struct trainer *t, struct model_pass_options *how, bool is_last,
			   double sums[N_SUMS], struct err *e)
{
	double begun = clock_mono_s(), loaded;

	trainer_at_phase(t, PHASE_INPUT);
	if (!t->is_batch_loaded && loader_next(t->loader, &t->batch, e))
		return e->code;
	t->is_batch_loaded = false;
	loaded = clock_mono_s();
	trainer_at_phase(t, PHASE_COMPUTE);
	if (is_last && reduces_gradients(t) && t->conf->overlap_reduce &&
	    exchange_gradients(&t->exchange) == model_grad_arena(t->model)) {
		how->ready = on_gradients_ready;
		how->ready_arg = t->exchange.reduce;
	}
	if (model_forward_backward(t->model, &t->batch, how, NULL, e))
		return e->code;
	t->last_step.times.input += loaded - begun;
	t->last_step.times.compute += clock_mono_s() - loaded;
	sums[SUM_TARGET] += t->batch.n_target;
	sums[SUM_SOURCE] += t->batch.n_source;
	return 0;
}

/* Wait for the backend, once in a step: all of the step is enqueued by then. */
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
 * Run this rank's share of the step's micro-batches, which are first .. first + micro_batches - 1 of
 * the sequence. If batch is loaded ahead, the loader is one batch of this rank further.
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
		.r_drop = (float)c->r_drop,
		.layer_drop = (float)c->layer_drop,
		.grad_scale = 1,
		.seed = t->state.seed,
		.step = (uint32_t)t->state.step,
	};
	int64_t done = 0;
	uint64_t at;

	while ((at = loader_position(t->loader) - (t->is_batch_loaded ? ranks : 0)) < end) {
		how.micro = (uint32_t)(at - first);
		assert(at >= first);
		if (stop_requests_cut_step(&t->stopping, t->state.step, done++,
					   &t->last_step.is_cut, e))
			return e->code;
		if (t->last_step.is_cut)
			return 0;
		if (run_micro_batch(t, &how, at + ranks >= end, sums, e))
			return e->code;
	}
	return 0;
}

/*
 * Enqueue the rest of the reduction; then sum up losses, tokens and squares of the gradient over
 * ranks. Each rank squares the pieces that it owns, so the sharded optimizer and the plain one get
 * the same norm. No wait.
 */
static int reduce_on_gpus(struct trainer *t, const double sums[N_SUMS], struct err *e)
{
	const double tokens[] = { sums[SUM_TARGET], sums[SUM_SOURCE] };
	struct model_tally *tally = model_tally(t->model);
	bool done = false;

	reduce_ready(t->exchange.reduce, 0);
	if (reduce_poll(t->exchange.reduce, &done, e))
		return e->code;
	assert(done);
	(void)done;
	adam_measure(&t->adam, t->exchange.own_pieces, t->exchange.options.buckets.count);
	model_get_ops(t->model)->to_device(model_get_dev(t->model), &tally->target, tokens,
					   sizeof(tokens));
	return reduce_numbers(t->exchange.reduce, &tally->loss, sizeof(*tally) / sizeof(double), e);
}

/* Returns the seconds in which a GPU waited for the reduction. */
static double add_transfer_times(struct trainer *t)
{
	const struct reduce_counts counts = reduce_collect(t->exchange.reduce);

	t->last_step.times.transfer += counts.busy_s;
	t->last_step.times.sent_bytes += counts.sent_bytes;
	return counts.exposed_s;
}

/*
 * Wait for the part of the reduction that the backward pass has not hidden. A second collective
 * adds up the sums: it begins when the backward pass of this rank has ended, and finishes when
 * those of all ranks have. Until then this rank waits for the slowest rank, not for the network.
 */
static int reduce_gradients(struct trainer *t, double sums[N_SUMS], struct err *e)
{
	const double begun = clock_mono_s();
	struct comm_request *all_ranks = NULL;
	bool all_arrived = false, done = false;

	trainer_at_phase(t, PHASE_REDUCE);
	if (t->comm->begin_sum(t->comm, sums, N_SUMS, &all_ranks, e))
		return e->code;
	exchange_copy_to_host(&t->exchange);
	reduce_ready(t->exchange.reduce, 0);
	for (;;) {
		if (!all_arrived && t->comm->test(t->comm, all_ranks, &all_arrived, e))
			return e->code;
		if (!done && reduce_poll(t->exchange.reduce, &done, e))
			return e->code;
		t->last_step.times.exposed = clock_mono_s() - begun;
		if (!all_arrived)
			t->last_step.times.wait = t->last_step.times.exposed;
		if (all_arrived && done)
			break;
		comm_pause(t->last_step.times.exposed);
	}
	exchange_copy_to_device(&t->exchange);
	add_transfer_times(t);
	return 0;
}

/* ---- update ------------------------------------------------------------ */

/* Does this rank compute the squares of the pieces of this other rank? */
static bool measures_piece_of(const struct trainer *t, int rank)
{
	return !t->exchange.options.shards || rank == t->comm->rank;
}

/*
 * The norm of the reduced gradient. Squares are added up piece by piece in the order of their
 * owners, so the sharded optimizer and the plain one get the same bits.
 */
static int compute_grad_norm(struct trainer *t, double *norm, struct err *e)
{
	const struct buckets *b = &t->exchange.options.buckets;
	const size_t ranks = (size_t)t->comm->size;
	double sum = 0, *squares;

	if (adam_squares_begin(&t->adam, ranks, e))
		return e->code;
	for (int rank = 0; rank < t->comm->size; rank++)
		for (size_t i = 0; i < b->count && measures_piece_of(t, rank); i++)
			adam_square(&t->adam, (size_t)rank, buckets_piece(b, i, rank));
	squares = adam_read_squares(&t->adam, ranks);
	if (t->exchange.options.shards && t->comm->sum_doubles(t->comm, squares, ranks, e))
		return e->code;
	for (size_t rank = 0; rank < ranks; rank++)
		sum += squares[rank];
	*norm = sqrt(sum);
	return 0;
}

/* Sharded optimizer: each rank sends the weights that it has updated to all others. */
static int all_gather_weights(struct trainer *t, struct err *e)
{
	const double begun = clock_mono_s();

	if (exchange_all_gather(&t->exchange, model_param_arena(t->model), e))
		return e->code;
	t->last_step.times.exposed += clock_mono_s() - begun;
	t->last_step.times.update -= clock_mono_s() - begun;
	add_transfer_times(t);
	return 0;
}

/* A step with a gradient or loss that is not finite has not changed the weights: fail after many. */
static int check_step_is_finite(struct trainer *t, const double sums[N_SUMS], struct err *e)
{
	t->last_step.is_finite = isfinite(t->last_step.grad_norm) && isfinite(sums[SUM_LOSS]);
	if (t->last_step.is_finite) {
		t->progress.bad_steps = 0;
		return 0;
	}
	if (++t->progress.bad_steps >= BAD_STEPS)
		return err_set(e, ERR_DATA,
			       "training has diverged: no finite gradient in %d steps, the last "
			       "was step %lld; lower %s, lengthen warmup or set clip, "
			       "and train from an earlier checkpoint",
			       BAD_STEPS, (long long)t->state.step + 1,
			       schedule_rate_option(t->rate_schedule.kind));
	return 0; /* run_watch_step() warns */
}

/* Clip and update after a reduction by hosts. */
static int update_by_host(struct trainer *t, struct adam_update how, const double sums[N_SUMS],
			  struct err *e)
{
	int rc = compute_grad_norm(t, &t->last_step.grad_norm, e);

	if (rc)
		return rc;
	t->last_step.grad_norm *= how.scale;
	rc = check_step_is_finite(t, sums, e);
	if (rc || !t->last_step.is_finite)
		return rc;
	if (t->conf->clip > 0 && t->last_step.grad_norm > t->conf->clip)
		how.scale *= t->conf->clip / t->last_step.grad_norm;
	adam_apply(&t->adam, how.step, how.rate, how.scale);
	return t->exchange.options.shards ? all_gather_weights(t, e) : 0;
}

/* Load the first batch of the next step while a GPU still computes this one. */
static int load_ahead(struct trainer *t, struct err *e)
{
	const double begun = clock_mono_s();

	if (t->is_batch_loaded || t->state.step + 1 >= t->conf->steps)
		return 0;
	if (loader_next(t->loader, &t->batch, e))
		return e->code;
	t->is_batch_loaded = true;
	t->last_step.times.input += clock_mono_s() - begun;
	return 0;
}

/* Enqueue reduction, clipping, update and all-gather of weights, without a host synchronisation. */
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
	return t->exchange.options.shards
		       ? exchange_all_gather(&t->exchange, model_param_arena(t->model), e)
		       : 0;
}

/*
 * Wait until the backward pass has ended on this rank, and then on all ranks. The GPU does not
 * wait for this; its work is enqueued. It serves two purposes: the watchdog learns which rank holds
 * up the others, and waiting for the slowest rank is measured apart from the network.
 */
static int wait_for_slowest_rank(struct trainer *t, struct err *e)
{
	const double begun = clock_mono_s();
	struct comm_request *all_ranks = NULL;
	double nothing = 0;

	trainer_at_phase(t, PHASE_COMPUTE);
	while (!reduce_backward_is_done(t->exchange.reduce)) {
		if (t->comm->check(t->comm, e))
			return e->code;
		comm_pause(clock_mono_s() - begun);
	}
	trainer_at_phase(t, PHASE_REDUCE);
	if (t->comm->begin_sum(t->comm, &nothing, 1, &all_ranks, e))
		return e->code;
	t->last_step.times.compute += clock_mono_s() - begun;
	t->last_step.times.wait -= clock_mono_s();
	if (comm_wait(t->comm, all_ranks, e))
		return e->code;
	t->last_step.times.wait += clock_mono_s();
	return 0;
}

/* Times of the GPU since the end of its backward pass; seconds: of the host's wait for it. */
static int add_gpu_times(struct trainer *t, double seconds, struct err *e)
{
	t->last_step.times.exposed =
		fmin(fmax(add_transfer_times(t), t->last_step.times.wait), seconds);
	t->last_step.times.update += seconds - t->last_step.times.exposed;
	return t->comm->check(t->comm, e); /* after a failed rank the sums are invalid */
}

/* The backend clips and updates by itself; wait after all of the step is enqueued. */
static int update_by_backend(struct trainer *t, const struct adam_update *how, double sums[N_SUMS],
			     struct err *e)
{
	double begun = clock_mono_s(), squares = 0;

	if (enqueue_update(t, *how, sums, e))
		return e->code;
	t->last_step.times.update += clock_mono_s() - begun;
	if (load_ahead(t, e) || (reduces_on_gpus(t) && wait_for_slowest_rank(t, e)))
		return e->code;
	begun = clock_mono_s() - t->last_step.times.wait;
	if (read_step_losses(t, sums, &squares, e))
		return e->code;
	if (!reduces_on_gpus(t))
		t->last_step.times.compute += clock_mono_s() - begun;
	else if (add_gpu_times(t, clock_mono_s() - begun, e))
		return e->code;
	t->last_step.grad_norm = sqrt(squares) * (1 / sums[SUM_TARGET]);
	return check_step_is_finite(t, sums, e);
}

/* ---- a step ------------------------------------------------------------ */

/* The first step is not counted: it touches all memory for the first time. */
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
	m->seconds += t->last_step.times.step;
	m->steps++;
	m->times.input += t->last_step.times.input;
	m->times.compute += t->last_step.times.compute;
	m->times.exposed += t->last_step.times.exposed;
	m->times.wait += t->last_step.times.wait;
	m->times.update += t->last_step.times.update;
	m->times.sent_bytes += t->last_step.times.sent_bytes;
	if (t->telemetry)
		telemetry_step(t->telemetry, &t->last_step.times);
}

/* Reduce (unless done), clip, update. */
static int update_weights(struct trainer *t, double sums[N_SUMS], struct err *e)
{
	const struct adam_update how = { .step = t->state.step,
					 .rate = t->last_step.rate =
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
	t->last_step.times.update += clock_mono_s() - begun;
	return rc;
}

/* Reduction by hosts. Wait for the losses first: the ranks add them up together with gradients. */
static int reduce_step(struct trainer *t, double sums[N_SUMS], struct err *e)
{
	const double begun = clock_mono_s();
	double squares = 0;

	if (!reduces_gradients(t) || reduces_on_gpus(t))
		return 0;
	if (read_step_losses(t, sums, &squares, e))
		return e->code;
	t->last_step.times.compute += clock_mono_s() - begun;
	return reduce_gradients(t, sums, e);
}

static int end_local_step(struct trainer *t, double sums[N_SUMS], struct err *e)
{
	t->in_sync = local_steps_is_due(t->local_steps, t->state.step);
	if (t->in_sync)
		trainer_at_phase(t, PHASE_REDUCE);
	return local_steps_end_step(t->local_steps, t->state.step, sums, &t->last_step.times, e);
}

/* Bytes that reductions send for a byte of fp32. */
static double find_wire_ratio(const struct trainer *t, bool is_exact)
{
	const struct reduce_options *how = &t->exchange.options;
	const struct reduce_options moments = local_steps_moment_options(how);
	const double ratio = is_exact ? 1 : compress_ratio(how->wire);

	if (t->local_steps)
		return ratio + 2 * compress_ratio(moments.wire);
	return how->shards ? (ratio + 1) / 2 : ratio; /* the all-gather sends weights as fp32 */
}

/* Choose the number format of this step, and begin to reduce unless it is a local step. */
static void begin_exchange(struct trainer *t)
{
	const bool is_exact = t->state.step < exchange_exact_steps(t->conf);

	if (!t->exchange.reduce)
		return;
	reduce_set_exact(t->exchange.reduce, is_exact);
	t->last_step.times.wire_ratio = find_wire_ratio(t, is_exact);
	if (reduces_gradients(t))
		reduce_begin(t->exchange.reduce, exchange_gradients(&t->exchange));
}

int trainer_step(struct trainer *t, struct err *e)
{
	const struct ops *o = model_get_ops(t->model);
	float *grads = model_grad_arena(t->model);
	double begun = clock_mono_s(), sums[N_SUMS] = { 0 };

	t->last_step.times = (struct step_times){ 0 };
	if (t->telemetry)
		telemetry_begin(t->telemetry);
	if (t->profile)
		profile_pause(t->profile, false);
	o->zero(model_get_dev(t->model), grads, (size_t)model_floats(t->model) * sizeof(float));
	begin_exchange(t);
	t->last_step.is_cut = false;
	rescue_allow(t->rescue, true, t->stopping.step_ms);
	if (run_micro_batches(t, t->state.loader_position, sums, e) ||
	    (!t->last_step.is_cut && reduce_step(t, sums, e)))
		return e->code;
	rescue_allow(t->rescue, false, t->stopping.step_ms);
	if (t->last_step.is_cut)
		return 0;
	t->last_step.epoch = loader_epoch(t->loader); /* before the next step's batch is loaded */
	if (update_weights(t, sums, e))
		return e->code;
	t->state.step++;
	t->state.held_steps = t->adam.held_steps;
	t->state.loader_position += (uint64_t)t->conf->micro_batches;
	if (t->local_steps && end_local_step(t, sums, e))
		return e->code;
	weight_average_step(&t->average, t->state.step, t->in_sync);
	t->last_step.times.step = clock_mono_s() - begun;
	add_to_meter(t, sums);
	profile_step(t, t->last_step.times.step);
	return 0;
}
