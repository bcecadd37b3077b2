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

/* One micro-batch; last: of this rank in this step. */
static int micro_batch(struct trainer *t, struct model_how *how, bool last, double sums[N_SUMS],
		       struct err *e)
{
	struct model_sums batch;
	double begun = clock_mono_s(), loaded;

	at_phase(t, PULSE_INPUT);
	if (loader_next(t->loader, &t->batch, e))
		return e->code;
	loaded = clock_mono_s();
	at_phase(t, PULSE_COMPUTE);
	if (last && reduces_gradients(t) && t->conf->overlap_reduce) {
		how->ready = on_ready;
		how->ready_arg = t->reduce;
	}
	if (model_forward_backward(t->model, &t->batch, how, &batch, e))
		return e->code;
	t->times.input += loaded - begun;
	t->times.compute += clock_mono_s() - loaded;
	sums[SUM_LOSS] += batch.loss;
	sums[SUM_NLL] += batch.nll;
	sums[SUM_TARGET] += (double)batch.tokens;
	sums[SUM_SOURCE] += t->batch.n_source;
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

	while ((at = loader_position(t->loader)) < end) {
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
	t->times.transfer += reduce_take_busy(t->reduce);
	t->times.sent_bytes += reduce_take_sent(t->reduce);
	return 0;
}

/* ---- update ------------------------------------------------------------ */

/*
 * By the owners of pieces, so that the sharded optimizer and the plain one find the same number to
 * the last bit.
 */
static int grad_norm(struct trainer *t, double *norm, struct err *e)
{
	const struct buckets *b = &t->reduce_how.buckets;
	const bool shards = t->reduce_how.shards;
	double sum = 0;

	if (!reduces_gradients(t)) {
		*norm = adam_grad_norm(&t->adam);
		return 0;
	}
	for (int rank = 0; rank < t->comm->size; rank++) {
		t->norms[rank] = 0;
		for (size_t i = 0; i < b->count && (!shards || rank == t->comm->rank); i++)
			t->norms[rank] += adam_sum_squares(&t->adam, buckets_piece(b, i, rank));
	}
	if (shards && t->comm->sum_doubles(t->comm, t->norms, (size_t)t->comm->size, e))
		return e->code;
	for (int rank = 0; rank < t->comm->size; rank++)
		sum += t->norms[rank];
	*norm = sqrt(sum);
	return 0;
}

static int apply(struct trainer *t, double scale, struct err *e)
{
	double begun;

	adam_apply(&t->adam, t->state.step, t->rate, scale);
	if (!t->reduce || !t->reduce_how.shards)
		return 0;
	begun = clock_mono_s();
	if (reduce_spread(t->reduce, model_param_arena(t->model), e))
		return e->code;
	t->times.exposed += clock_mono_s() - begun;
	t->times.update -= clock_mono_s() - begun;
	t->times.transfer += reduce_take_busy(t->reduce);
	t->times.sent_bytes += reduce_take_sent(t->reduce);
	return 0;
}

/* Clip and apply, or leave the weights alone when the gradient is not finite. */
static int update(struct trainer *t, const double sums[N_SUMS], struct err *e)
{
	double scale = 1 / sums[SUM_TARGET];

	if (grad_norm(t, &t->grad_norm, e))
		return e->code;
	t->grad_norm *= scale;
	t->rate = sched_rate(&t->sched, t->state.step);
	t->finite = isfinite(t->grad_norm) && isfinite(sums[SUM_LOSS]);
	if (!t->finite) {
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
	t->bad_steps = 0;
	if (t->conf->clip > 0 && t->grad_norm > t->conf->clip)
		scale *= t->conf->clip / t->grad_norm;
	return apply(t, scale, e);
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
static int optimize(struct trainer *t, const double sums[N_SUMS], struct err *e)
{
	const double begun = clock_mono_s();

	at_phase(t, PULSE_UPDATE);
	if (update(t, sums, e) || model_get_ops(t->model)->sync(model_get_dev(t->model), e))
		return e->code;
	t->times.update += clock_mono_s() - begun;
	return 0;
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
		reduce_begin(t->reduce, grads);
	if (accumulate(t, t->state.loader_position, sums, e) ||
	    (reduces_gradients(t) && reduce_gradients(t, sums, e)) || optimize(t, sums, e))
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
