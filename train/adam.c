/* adam.c - see adam.h */
#include "train/adam.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/mem.h"

static int get_moments(struct adam *a, struct err *e)
{
	const struct ops *o = model_get_ops(a->model);
	struct dev *d = model_get_dev(a->model);
	/* at least one, so that a rank without a part has something to own */
	const size_t bytes = MAX(a->floats, (size_t)1) * sizeof(float);

	a->first = o->alloc(d, bytes, e);
	a->second = a->first ? o->alloc(d, bytes, e) : NULL;
	if (a->second)
		return 0;
	adam_close(a);
	return e->code;
}

int adam_open(struct adam *a, struct model *m, double beta1, double beta2, double epsilon,
	      struct err *e)
{
	*a = (struct adam){ .model = m, .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon };
	a->floats = (size_t)model_floats(m);	/* their bytes were checked by model_new() */
	a->n_parts = 1;
	a->parts = mem_alloc(1, sizeof(*a->parts), e);
	a->sum = a->parts ? model_get_ops(m)->alloc(model_get_dev(m), sizeof(*a->sum), e) : NULL;
	if (!a->sum) {
		adam_close(a);
		return e->code;
	}
	a->parts[0] = (struct range){ 0, a->floats };
	return get_moments(a, e);
}

int adam_set_parts(struct adam *a, const struct range *parts, size_t n, struct err *e)
{
	const struct ops *o = model_get_ops(a->model);
	struct range *own = mem_alloc(n, sizeof(*own), e);

	if (!own) {
		adam_close(a);
		return e->code;
	}
	o->release(model_get_dev(a->model), a->first);
	o->release(model_get_dev(a->model), a->second);
	a->first = a->second = NULL;
	free(a->parts);
	a->parts = own;
	a->n_parts = n;
	a->floats = 0;
	for (size_t i = 0; i < n; i++) {
		own[i] = parts[i];
		a->floats += parts[i].n;
	}
	return get_moments(a, e);
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
	o->release(d, a->sum);
	free(a->parts);
	*a = (struct adam){ 0 };
}

double adam_sum_squares(struct adam *a, struct range r)
{
	const struct ops *o = model_get_ops(a->model);
	struct dev *d = model_get_dev(a->model);
	double sum = 0;

	if (!r.n)
		return 0;
	o->sum_squares(d, a->sum, model_grad_arena(a->model) + r.at, (int64_t)r.n);
	o->to_host(d, &sum, a->sum, sizeof(sum));
	return sum;
}

double adam_grad_norm(struct adam *a)
{
	return sqrt(adam_sum_squares(a, (struct range){ 0, (size_t)model_floats(a->model) }));
}

void adam_apply(struct adam *a, int64_t step, double rate, double scale)
{
	struct adam_step how = {
		.rate = (float)rate,
		.beta1 = (float)a->beta1,
		.beta2 = (float)a->beta2,
		.epsilon = (float)a->epsilon,
		.correction1 = (float)-expm1((double)(step + 1) * log(a->beta1)),
		.correction2 = (float)-expm1((double)(step + 1) * log(a->beta2)),
		.grad_scale = (float)scale,
	};

	float *first = a->first, *second = a->second;

	for (size_t i = 0; i < a->n_parts; i++) {
		const struct range p = a->parts[i];

		if (p.n)
			model_get_ops(a->model)
				->adam(model_get_dev(a->model), model_param_arena(a->model) + p.at,
				       first, second, model_grad_arena(a->model) + p.at,
				       (int64_t)p.n, how);
		first += p.n;
		second += p.n;
	}
}
