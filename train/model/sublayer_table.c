/* sublayer_table.c - all kinds of sublayers, and the sublayer at a place of a stack; see sublayer.h */
#include "train/model/sublayer.h"

const struct sublayer_kind *const sublayer_kinds[N_SUBLAYER_KINDS] = {
#define SUBLAYER(name) &sublayer_##name,
#include "train/model/sublayers.def"
};

struct sublayer model_sublayer(const struct model *m, enum model_stack stack, int32_t i)
{
	const struct layer_list *list = model_layer_list(&m->shape, stack);
	const struct sublayer_weights *grads = m->grads.stack[stack].sub;
	const enum model_sublayer number = list->at[i % list->n];

	return (struct sublayer){
		.number = number,
		.kind = sublayer_kinds[number],
		.stack = stack,
		.layer = i / list->n,
		.is_first = i % list->n == 0,
		.act = &m->acts.stack[stack].sub[i],
		.w = &m->weights.stack[stack].sub[i],
		.g = grads ? &grads[i] : NULL,
	};
}
