/* trainer_step.c - one optimizer step; see trainer_internal.h */
#include "train/trainer_internal.h"

#include <math.h>

#include "share/base/clock.h"

#define BAD_STEPS 20	/* in a row without a finite gradient: the run has diverged */

/* Gradients are summed at each step, rather than weights after several. */
static bool reduces_gradients(const struct trainer *t)
{
	return t->reduce && !t->average;
}

/* ---- gradients --------------------------------------------------------- */

static void on_ready(void *arg, int64_t from)
{
	reduce_ready(arg, (size_t)from);
}

/* One micro-batch; last: of this rank in this step. Its loss is still unknown: take_losses(). */
static int micro_batch(struct trainer *t, struct model_how *how, bool last, double sums[N_SUMS],
		       struct err *e)
{
	double begun = clock_mono_s(), loaded;

	at_phase(t, PULSE_INPUT);
	if (!t->loaded && loader_next(t->loader, &t->batch, e))
		return e->code;
	t->loaded = false;
	loaded = clock_mono_s();
	at_phase(t, PULSE_COMPUTE);
	if (last && reduces_gradients(t) && t->conf->overlap_reduce &&
	    mirror_of_gradients(t) == model_grad_arena(t->model)) {
		how->ready = on_ready;
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

/*
 * Wait for the backend, the only time in a step: a GPU has got all of it by then. What it still
 * had to do was computing.
 */
static int take_losses(struct trainer *t, double sums[N_SUMS], double *squares, struct err *e)
{
	const double begun = clock_mono_s();
	struct model_sums all;

	if (model_take_sums(t->model, &all, e))
		return e->code;
	t->times.compute += clock_mono_s() - begun;
	sums[SUM_LOSS] += all.loss;
	sums[SUM_NLL] += all.nll;
	*squares = all.squares;
	return 0;
}

/*
 * Gradients of this rank's share of the step's micro-batches, first .. first + accumulate - 1 of
 * the sequence.
 */
static int accumulate(struct trainer *t, uint64_t first, double sums[N_SUMS], struct err *e)
{
	const struct conf *c = t->conf;
	const uint64_t end = first + (uint64_t)c->accumulate, ranks = (uint64_t)t->comm->size;
	struct model_how how = {
		.dropout = (float)c->dropout, .attention_dropout = (float)c->attention_dropout,
		.relu_dropout = (float)c->relu_dropout, .smoothing = (float)c->label_smoothing,
		.grad_scale = 1, .seed = t->state.seed, .step = (uint32_t)t->state.step,
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
 * Wait for what backward has not hidden. The sums are begun when backward has ended here and are there when
 * it has ended everywhere: so long the slowest rank is waited for, not the network.
 */
static int reduce_gradients(struct trainer *t, double sums[N_SUMS], struct err *e)
{
	const double begun = clock_mono_s();
	struct comm_request *everybody;
	bool here = false, done = false;

	at_phase(t, PULSE_REDUCE);
	if (t->comm->begin_sum(t->comm, sums, N_SUMS, &everybody, e))
		return e->code;
	mirror_take_gradients(t);
	reduce_ready(t->reduce, 0);
	for (;;) {
		if (!here && t->comm->test(t->comm, everybody, &here, e))
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
	mirror_put_gradients(t);
	t->times.transfer += reduce_take_busy(t->reduce);
	t->times.sent_bytes += reduce_take_sent(t->reduce);
	return 0;
}

/* ---- update ------------------------------------------------------------ */

/* Is this rank to measure a piece of that rank? */
static bool measures(const struct trainer *t, int rank)
{
	return !t->reduce_how.shards || rank == t->comm->rank;
}

/*
 * By the owners of pieces, so that the sharded optimizer and the plain one find the same number to
 * the last bit.
 */
static int grad_norm(struct trainer *t, double *norm, struct err *e)
{
	const struct buckets *b = &t->reduce_how.buckets;
	const int ranks = t->comm->size;
	const double *squares;
	double sum = 0;
	size_t n = 0;

	if (adam_squares_room(&t->adam, b->count * (size_t)ranks, e))
		return e->code;
	for (int rank = 0; rank < ranks; rank++)
		for (size_t i = 0; i < b->count && measures(t, rank); i++)
			adam_square(&t->adam, n++, buckets_piece(b, i, rank));
	squares = adam_read_squares(&t->adam, n);
	for (int rank = 0; rank < ranks; rank++) {
		t->norms[rank] = 0;
		for (size_t i = 0; i < b->count && measures(t, rank); i++)
			t->norms[rank] += *squares++;
	}
	if (t->reduce_how.shards && t->comm->sum_doubles(t->comm, t->norms, (size_t)ranks, e))
		return e->code;
	for (int rank = 0; rank < ranks; rank++)
		sum += t->norms[rank];
	*norm = sqrt(sum);
	return 0;
}

/* The owners of parts tell the others what they have made of them. */
static int spread(struct trainer *t, struct err *e)
{
	const double begun = clock_mono_s();

	if (mirror_spread(t, model_param_arena(t->model), e))
		return e->code;
	t->times.exposed += clock_mono_s() - begun;
	t->times.update -= clock_mono_s() - begun;
	t->times.transfer += reduce_take_busy(t->reduce);
	t->times.sent_bytes += reduce_take_sent(t->reduce);
	return 0;
}

/* Is the step good? If not its weights are those of the one before. */
static int judge(struct trainer *t, const double sums[N_SUMS], struct err *e)
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
			       "was step %lld; lower learning_rate, lengthen warmup or set "
			       "clip, and train from an "
			       "earlier checkpoint",
			       BAD_STEPS, (long long)t->state.step + 1);
	return report_event(t, "warning", "step %lld was left out: its %s is not finite",
			    (long long)t->state.step + 1,
			    isfinite(sums[SUM_LOSS]) ? "gradient" : "loss");
}

/* With the gradient of all ranks, whose length the host has to know. */
static int update_together(struct trainer *t, struct adam_update how, const double sums[N_SUMS],
			   struct err *e)
{
	int rc = grad_norm(t, &t->grad_norm, e);

	if (rc)
		return rc;
	t->grad_norm *= how.scale;
	rc = judge(t, sums, e);
	if (rc || !t->finite)
		return rc;
	if (t->conf->clip > 0 && t->grad_norm > t->conf->clip)
		how.scale *= t->conf->clip / t->grad_norm;
	adam_apply(&t->adam, how.step, how.rate, how.scale);
	return t->reduce_how.shards ? spread(t, e) : 0;
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

/* The backend clips and judges by itself, and is waited for when it has been told everything. */
static int update_alone(struct trainer *t, const struct adam_update *how, double sums[N_SUMS],
			struct err *e)
{
	const double begun = clock_mono_s();
	double squares;

	adam_measure_and_update(&t->adam, how);
	t->times.update += clock_mono_s() - begun;
	if (load_ahead(t, e) || take_losses(t, sums, &squares, e))
		return e->code;
	t->grad_norm = sqrt(squares) * how->scale;
	return judge(t, sums, e);
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
	struct meter *m = &t->meter;

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
static int optimize(struct trainer *t, double sums[N_SUMS], struct err *e)
{
	const struct adam_update how = { .step = t->state.step,
					 .rate = t->rate = sched_rate(&t->sched, t->state.step),
					 .scale = 1 / sums[SUM_TARGET],
					 .clip = t->conf->clip };
	const double begun = clock_mono_s();
	int rc;

	at_phase(t, PULSE_UPDATE);
	if (!reduces_gradients(t))
		return update_alone(t, &how, sums, e);
	rc = update_together(t, how, sums, e);
	if (!rc)
		rc = model_get_ops(t->model)->sync(model_get_dev(t->model), e);
	if (!rc)
		rc = t->comm->check(t->comm, e);	/* sums of a lost rank are none */
	t->times.update += clock_mono_s() - begun;
	t->times.exposed += reduce_take_exposed(t->reduce);
	return rc;
}

/* The sums of all ranks, with which the reduction ends, need the losses. */
static int reduce_step(struct trainer *t, double sums[N_SUMS], struct err *e)
{
	double squares;

	if (!reduces_gradients(t))
		return 0;
	return take_losses(t, sums, &squares, e) ? e->code : reduce_gradients(t, sums, e);
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
		reduce_begin(t->reduce, mirror_of_gradients(t));
	if (accumulate(t, t->state.loader_position, sums, e) || reduce_step(t, sums, e) ||
	    optimize(t, sums, e))
		return e->code;
	t->state.step++;
	t->state.loader_position += (uint64_t)t->conf->accumulate;
	if (t->average && average_step(t, sums, e))
		return e->code;
	averaging_step(t);
	t->times.step = clock_mono_s() - begun;
	add_to_meter(t, sums);
	profile_step(t, t->times.step);
	return 0;
}
