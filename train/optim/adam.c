/*
 * adam.c - the optimizer; see adam.h
 *
 * For each weight w with gradient g, after t updates (Kingma and Ba 2015, algorithm 1, with the two
 * corrections taken into the rate, as at the end of their section 2):
 *
 *	m = b1 m + (1 - b1) g		v = b2 v + (1 - b2) g^2
 *	w -= rate * sqrt(1 - b2^t) / (1 - b1^t) * m / (sqrt(v) + epsilon)
 *
 * m is a mean of gradients, v of their squares, so a step is about `rate` for any size of gradient.
 * Both begin with 0 and are too small at first: the corrections 1 - b^t make up for it. expm1()
 * computes them, because 1 - 0.999^t loses digits for small t.
 *
 * AdamW subtracts rate * weight_decay * w as well, for the ranges of tensors that decay.
 *
 * The work is done by the op adam of the backend (kernels/ref/ref_point.c), range by range. Scale,
 * tokens and clipping are one factor of g, which the backend reads from its own memory
 * (adam_factor.h): the host need not know the norm, and the step stays enqueued.
 */
#include "train/optim/adam.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/ops/adam_factor.h"
#include "share/base/mem.h"
#include "train/model/arena.h"
#include "train/model/frozen.h"

static int adam_alloc_moments(struct adam *a, struct err *e)
{
	const struct ops *o = model_get_ops(a->model);
	struct dev *d = model_get_dev(a->model);
	/* a rank may own no part: allocate one float then, because NULL means failure */
	const size_t bytes = MAX(a->floats, (size_t)1) * sizeof(float);

	if (!a->factored)
		a->first = o->alloc(d, bytes, e);
	if (a->first || a->factored)
		a->second = o->alloc(d, bytes, e);
	if (a->second)
		return 0;
	adam_close(a);
	return e->code;
}

int adam_open(struct adam *a, struct model *m, double beta1, double beta2, double epsilon,
	      struct err *e)
{
	*a = (struct adam){ .model = m, .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon };
	a->floats = (size_t)model_floats(m); /* model_new() has checked that their bytes fit */
	a->n_parts = 1;
	a->parts = mem_alloc(1, sizeof(*a->parts), e);
	if (!a->parts) {
		adam_close(a);
		return e->code;
	}
	a->parts[0] = (struct range){ 0, a->floats };
	a->ranges = mem_alloc(1, sizeof(*a->ranges), e);
	if (!a->ranges) {
		adam_close(a);
		return e->code;
	}
	a->ranges[0] = (struct update_range){ .end = a->floats };
	a->n_ranges = 1;
	return adam_alloc_moments(a, e);
}

static void adam_release_moments(struct adam *a)
{
	model_get_ops(a->model)->release(model_get_dev(a->model), a->first);
	model_get_ops(a->model)->release(model_get_dev(a->model), a->second);
	a->first = a->second = NULL;
}

/* Tensors that lie side by side and are updated alike are one range. */
static int adam_find_ranges(struct adam *a, struct err *e)
{
	struct model_param *params = NULL;
	struct update_range *ranges = NULL;
	size_t n_params, n = 0;
	int64_t floats;

	if (!model_params(model_get_shape(a->model), &params, &n_params, &floats, e))
		ranges = mem_alloc(n_params, sizeof(*ranges), e);
	for (size_t i = 0; ranges && i < n_params; i++) {
		const struct model_param *p = &params[i];
		const struct update_range r = { .decays =
							a->weight_decay > 0 && optimizer_decays(p),
						.is_frozen = frozen_has(a->frozen, p->name) };

		if (!n || ranges[n - 1].decays != r.decays ||
		    ranges[n - 1].is_frozen != r.is_frozen)
			ranges[n++] = r;
		ranges[n - 1].end = (size_t)(p->offset + p->rows * p->cols);
	}
	free(params);
	if (!ranges)
		return e->code;
	free(a->ranges);
	a->ranges = ranges;
	a->n_ranges = n;
	return 0;
}

static int adam_open_factored(struct adam *a, struct err *e)
{
	const struct model_shape *shape = model_get_shape(a->model);
	struct model_param *state = NULL;
	int64_t floats;
	size_t n;

	assert(arena_is_host(a->model));
	adam_release_moments(a);
	a->factored = adafactor_open(shape, e);
	if (!a->factored || adafactor_state_params(shape, &state, &n, &floats, e)) {
		adam_close(a);
		return e->code;
	}
	free(state);
	a->floats = (size_t)floats;
	return adam_alloc_moments(a, e);
}

int adam_choose(struct adam *a, enum optimizer_kind kind, double weight_decay, struct err *e)
{
	a->kind = kind;
	a->weight_decay = weight_decay;
	if (optimizer_is_factored(kind))
		return adam_open_factored(a, e);
	if (weight_decay > 0 && adam_find_ranges(a, e)) {
		adam_close(a);
		return e->code;
	}
	return 0;
}

int adam_freeze(struct adam *a, const struct conf_list *parts, struct err *e)
{
	if (!parts->n)
		return 0;
	a->frozen = parts;
	if (adam_find_ranges(a, e)) {
		adam_close(a);
		return e->code;
	}
	return 0;
}

/* So that the norm, by which gradients are clipped, is that of the trained tensors. */
static void adam_clear_frozen(struct adam *a)
{
	size_t at = 0;

	for (size_t i = 0; i < a->n_ranges; at = a->ranges[i++].end)
		if (a->ranges[i].is_frozen)
			model_get_ops(a->model)->zero(model_get_dev(a->model),
						      model_grad_arena(a->model) + at,
						      (a->ranges[i].end - at) * sizeof(float));
}

int adam_set_parts(struct adam *a, const struct range *parts, size_t n, struct err *e)
{
	struct range *own = mem_alloc(n, sizeof(*own), e);

	if (!own) {
		adam_close(a);
		return e->code;
	}
	assert(!a->factored);
	adam_release_moments(a);
	free(a->parts);
	a->parts = own;
	a->n_parts = n;
	a->floats = 0;
	for (size_t i = 0; i < n; i++) {
		assert(parts[i].at + parts[i].n <= (size_t)model_floats(a->model));
		own[i] = parts[i];
		a->floats += parts[i].n;
	}
	return adam_alloc_moments(a, e);
}

void adam_close(struct adam *a)
{
	const struct ops *o;
	struct dev *d;

	if (!a->model)
		return;
	o = model_get_ops(a->model);
	d = model_get_dev(a->model);
	o->release(d, a->first);
	o->release(d, a->second);
	o->release(d, a->squares);
	free(a->read);
	free(a->parts);
	free(a->ranges);
	adafactor_free(a->factored);
	*a = (struct adam){ 0 };
}

static int adam_reserve_squares(struct adam *a, size_t n, struct err *e)
{
	const struct ops *o = model_get_ops(a->model);
	struct dev *d = model_get_dev(a->model);

	if (n <= a->n_squares)
		return 0;
	o->release(d, a->squares);
	free(a->read);
	a->n_squares = 0;
	a->squares = NULL;
	a->read = mem_alloc(n, sizeof(*a->read), e);
	if (a->read)
		a->squares = o->alloc(d, n * sizeof(*a->squares), e);
	if (!a->squares)
		return e->code;
	a->n_squares = n;
	return 0;
}

int adam_squares_begin(struct adam *a, size_t n, struct err *e)
{
	if (adam_reserve_squares(a, n, e))
		return e->code;
	adam_clear_frozen(a);
	model_get_ops(a->model)->zero(model_get_dev(a->model), a->squares, n * sizeof(*a->squares));
	return 0;
}

void adam_square(struct adam *a, size_t number, struct range r)
{
	assert(number < a->n_squares && r.at + r.n <= (size_t)model_floats(a->model));
	model_get_ops(a->model)->sum_squares(model_get_dev(a->model), a->squares + number,
					     model_grad_arena(a->model) + r.at, (int64_t)r.n);
}

double *adam_read_squares(struct adam *a, size_t n)
{
	assert(n <= a->n_squares);
	if (n)
		model_get_ops(a->model)->to_host(model_get_dev(a->model), a->read, a->squares,
						 n * sizeof(*a->read));
	return a->read;
}

void adam_measure(struct adam *a, const struct range *ranges, size_t n)
{
	const struct ops *o = model_get_ops(a->model);
	double *squares = &model_tally(a->model)->squares;

	adam_clear_frozen(a);
	o->zero(model_get_dev(a->model), squares, sizeof(*squares));
	for (size_t i = 0; i < n; i++)
		if (ranges[i].n)
			o->sum_squares(model_get_dev(a->model), squares,
				       model_grad_arena(a->model) + ranges[i].at,
				       (int64_t)ranges[i].n);
}

static void adam_measure_all(struct adam *a)
{
	const struct range all = { 0, (size_t)model_floats(a->model) };

	adam_measure(a, &all, 1);
}

double adam_grad_norm(struct adam *a)
{
	double sum;

	adam_measure_all(a);
	model_get_ops(a->model)->to_host(model_get_dev(a->model), &sum,
					 &model_tally(a->model)->squares, sizeof(sum));
	return sqrt(sum);
}

static bool adam_holds_second(const struct adam *a, int64_t step)
{
	return !a->factored && a->held_after > 0 && step >= a->held_after;
}

static struct adam_step adam_make_step(const struct adam *a, const struct adam_update *how)
{
	const double t = (double)(how->step + 1);
	const bool is_held = adam_holds_second(a, how->step);

	assert(how->step >= 0);
	return (struct adam_step){
		.rate = (float)how->rate,
		.beta1 = (float)a->beta1,
		.beta2 = is_held ? 1 : (float)a->beta2,
		.epsilon = (float)a->epsilon,
		.correction1 = (float)-expm1(t * log(a->beta1)),
		.correction2 =
			(float)-expm1((t - (double)(a->held_steps + is_held)) * log(a->beta2)),
		.decay = (float)(how->rate * a->weight_decay),
		.grad_scale = how->scale,
		.tokens = how->tokens ? &model_tally(a->model)->target : NULL,
		.clip = how->clip,
	};
}

static void adam_apply_factored(struct adam *a, const struct adam_step *how, int64_t step,
				double rate)
{
	const struct adafactor_step now = { .step = step,
					    .rate = rate,
					    .decay = rate * a->weight_decay,
					    .factor = (double)adam_factor(how),
					    .frozen = a->frozen };

	if (!isnan(now.factor)) /* else skip the step, as the op adam does */
		adafactor_update(a->factored, model_param_arena(a->model), a->second,
				 model_grad_arena(a->model), &now);
}

/* The range of the float number `at`. */
static const struct update_range *adam_find_range(const struct adam *a, size_t at)
{
	const struct update_range *r = a->ranges;

	while (r->end <= at)
		r++;
	return r;
}

static void adam_apply_parts(struct adam *a, struct adam_step how)
{
	float *first = a->first, *second = a->second, *param;
	const float decay = how.decay;
	uint16_t *rounded;

	param = model_update_arena(a->model, &rounded);
	for (size_t i = 0; i < a->n_parts; i++) {
		const struct range p = a->parts[i];

		for (size_t at = p.at, n; at < p.at + p.n; at += n) {
			const struct update_range *r = adam_find_range(a, at);

			n = MIN(r->end, p.at + p.n) - at;
			how.decay = r->decays ? decay : 0;
			how.bf16_params = rounded ? rounded + at : NULL;
			if (!r->is_frozen)
				model_get_ops(a->model)->adam(
					model_get_dev(a->model), param + at, first, second,
					model_grad_arena(a->model) + at, (int64_t)n, how);
			first += n;
			second += n;
		}
	}
	assert(first == a->first + a->floats);
}

static void adam_apply_step(struct adam *a, const struct adam_step *how,
			    const struct adam_update *update)
{
	if (a->factored)
		adam_apply_factored(a, how, update->step, update->rate);
	else
		adam_apply_parts(a, *how);
	a->held_steps += adam_holds_second(a, update->step);
}

void adam_apply(struct adam *a, int64_t step, double rate, double scale)
{
	const struct adam_update how = { .step = step, .rate = rate, .scale = scale };

	const struct adam_step now = adam_make_step(a, &how);

	adam_apply_step(a, &now, &how);
}

void adam_update_measured(struct adam *a, const struct adam_update *update)
{
	struct adam_step how = adam_make_step(a, update);

	how.squares = &model_tally(a->model)->squares;
	how.loss = &model_tally(a->model)->loss;
	adam_apply_step(a, &how, update);
}

void adam_measure_and_update(struct adam *a, const struct adam_update *how)
{
	adam_measure_all(a);
	adam_update_measured(a, how);
}
