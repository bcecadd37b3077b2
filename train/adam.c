/* adam.c - see adam.h */
#include "train/adam.h"

#include <math.h>

int adam_open(struct adam *a, struct model *m, double beta1, double beta2, double epsilon,
	      struct err *e)
{
	const struct ops *o = model_get_ops(m);
	struct dev *d = model_get_dev(m);
	const size_t bytes = (size_t)model_floats(m) * sizeof(float);	/* checked by model_new() */

	*a = (struct adam){ .model = m, .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon };
	a->first = o->alloc(d, bytes, e);
	a->second = a->first ? o->alloc(d, bytes, e) : NULL;
	a->sum = a->second ? o->alloc(d, sizeof(*a->sum), e) : NULL;
	if (a->sum)
		return 0;
	adam_close(a);
	return e->code;
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
	*a = (struct adam){ 0 };
}

double adam_grad_norm(struct adam *a)
{
	const struct ops *o = model_get_ops(a->model);
	struct dev *d = model_get_dev(a->model);
	double sum;

	o->sum_squares(d, a->sum, model_grad_arena(a->model), model_floats(a->model));
	o->to_host(d, &sum, a->sum, sizeof(sum));
	return sqrt(sum);
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

	model_get_ops(a->model)->adam(model_get_dev(a->model), model_param_arena(a->model),
				      a->first, a->second, model_grad_arena(a->model),
				      model_floats(a->model), how);
}
