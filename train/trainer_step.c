/* trainer_step.c - one optimizer step; see trainer_internal.h */
#include "train/trainer_internal.h"

#include <math.h>

#include "share/base/clock.h"

#define BAD_STEPS 20	/* in a row without a finite gradient: the run has diverged */

enum { SUM_LOSS, SUM_NLL, SUM_TARGET, SUM_SOURCE, N_SUMS };

/*
 * Gradients of this rank's share of the step's micro-batches, first .. first + accumulate - 1 of
 * the sequence.
 */
static int accumulate(struct trainer *t, uint64_t first, double sums[N_SUMS], struct err *e)
{
	const struct conf *c = t->conf;
	struct model_how how = {
		.dropout = (float)c->dropout, .attention_dropout = (float)c->attention_dropout,
		.relu_dropout = (float)c->relu_dropout, .smoothing = (float)c->label_smoothing,
		.grad_scale = 1, .seed = t->state.seed, .step = (uint32_t)t->state.step,
	};
	struct model_sums batch;
	uint64_t at;

	while ((at = loader_position(t->loader)) < first + (uint64_t)c->accumulate) {
		how.micro = (uint32_t)(at - first);
		if (loader_next(t->loader, &t->batch, e) ||
		    model_forward_backward(t->model, &t->batch, &how, &batch, e))
			return e->code;
		sums[SUM_LOSS] += batch.loss;
		sums[SUM_NLL] += batch.nll;
		sums[SUM_TARGET] += (double)batch.tokens;
		sums[SUM_SOURCE] += t->batch.n_source;
	}
	return 0;
}

/* Clip and apply, or leave the weights alone when the gradient is not finite. */
static int update(struct trainer *t, const double sums[N_SUMS], struct err *e)
{
	double scale = 1 / sums[SUM_TARGET];

	t->grad_norm = adam_grad_norm(&t->adam) * scale;
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
	adam_apply(&t->adam, t->state.step, t->rate, scale);
	return 0;
}

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

int trainer_step(struct trainer *t, struct err *e)
{
	const struct ops *o = model_get_ops(t->model);
	const size_t floats = (size_t)model_floats(t->model);
	double begun = clock_mono_s(), sums[N_SUMS] = { 0 };

	if (t->profile)
		profile_pause(t->profile, false);
	o->zero(model_get_dev(t->model), model_grad_arena(t->model), floats * sizeof(float));
	if (accumulate(t, t->state.loader_position, sums, e))
		return e->code;
	if (t->comm->size > 1 &&
	    (t->comm->sum_floats(t->comm, model_grad_arena(t->model), floats, e) ||
	     t->comm->sum_doubles(t->comm, sums, N_SUMS, e)))
		return e->code;
	if (update(t, sums, e) || o->sync(model_get_dev(t->model), e))
		return e->code;
	t->state.step++;
	t->state.loader_position += (uint64_t)t->conf->accumulate;
	t->meter.loss += sums[SUM_LOSS];
	t->meter.nll += sums[SUM_NLL];
	t->meter.target_tokens += sums[SUM_TARGET];
	t->meter.source_tokens += sums[SUM_SOURCE];
	t->meter.seconds += clock_mono_s() - begun;
	t->meter.steps++;
	profile_step(t, clock_mono_s() - begun);
	return 0;
}
