/* sublayer_table.c - all kinds of sublayers, and the sublayer at a place of a stack; see sublayer.h */
#include "train/model/sublayer.h"

#include "share/base/rng.h"

const struct sublayer_kind *const sublayer_kinds[N_SUBLAYER_KINDS] = {
#define SUBLAYER(name) &sublayer_##name,
#include "train/model/sublayers.def"
};

void model_skip_layers(struct model_pass *p)
{
	const struct model_pass_options *how = p->how;

	static_assert(MODEL_MAX_LAYERS <= 64, "a bit for each layer");
	for (enum model_stack k = 0; k < N_STACKS; k++) {
		const int32_t layers = model_count_layers(&p->m->shape, k);

		p->skipped[k] = 0;
		for (int32_t i = 0; how && how->layer_drop > 0 && i < layers; i++) {
			const struct rng_key key = rng_key_make(
				how->seed, RNG_LAYERS | (uint32_t)k << 8, how->step, how->micro);

			if (rng_unit(key, (uint64_t)i) < how->layer_drop)
				p->skipped[k] |= UINT64_C(1) << i;
		}
	}
}

bool model_is_skipped(const struct model_pass *p, enum model_stack stack, int32_t i)
{
	return p->skipped[stack] >> (i / model_layer_list(&p->m->shape, stack)->n) & 1;
}

int32_t model_next_point(const struct model_pass *p, enum model_stack stack, int32_t i)
{
	while (i < p->m->acts.stack[stack].n && model_is_skipped(p, stack, i))
		i++;
	return i;
}

struct sublayer model_sublayer(const struct model_pass *p, enum model_stack stack, int32_t i)
{
	const struct model *m = p->m;
	const struct layer_list *list = model_layer_list(&m->shape, stack);
	const struct sublayer_weights *grads = m->grads.stack[stack].sub;
	const enum model_sublayer number = list->at[i % list->n];
	const struct sublayer_act *acts = m->acts.stack[stack].sub;
	const int32_t next = model_next_point(p, stack, i + 1);

	return (struct sublayer){
		.number = number,
		.kind = sublayer_kinds[number],
		.stack = stack,
		.layer = i / list->n,
		.is_first = i % list->n == 0,
		.point = i,
		.next = next,
		.act = &acts[i],
		.to = &acts[next],
		.w = &m->weights.stack[stack].sub[i],
		.g = grads ? &grads[i] : NULL,
	};
}
