/* sublayer_parts.c - what several kinds of sublayers need: dropout, gradients of products; see sublayer.h */
#include <assert.h>

#include "train/model/sublayer.h"

/*
 * The random numbers of each site. They must never change, or a resumed run would draw other masks.
 * So the first DROPOUT_STRIDE sites of a layer keep the numbers that they had when there were no
 * others, and further sites get numbers after all of these.
 */
#define DROPOUT_STRIDE 6  /* sites of a layer in release 0.1.0: those of the first three kinds */
#define DROPOUT_MORE   16 /* at most this many further sites */
#define DROPOUT_AFTER  (2 + 2 * MODEL_MAX_LAYERS * DROPOUT_STRIDE)

/* The numbers 0 and 1 belong to the embeddings of encoder and decoder. */
static uint32_t dropout_number(const struct sublayer *at, enum dropout_site site)
{
	const uint32_t of_layer = (uint32_t)at->stack * MODEL_MAX_LAYERS + (uint32_t)at->layer;
	const uint32_t of_site = 2 * (uint32_t)at->number + (uint32_t)site;

	static_assert(SUBLAYER_self == 0 && SUBLAYER_cross == 1 && SUBLAYER_ffn == 2,
		      "the kinds of 0.1.0 come first, in their order");
	static_assert(2 * N_SUBLAYER_KINDS <= DROPOUT_STRIDE + DROPOUT_MORE,
		      "more sites than numbers");
	if (of_site < DROPOUT_STRIDE)
		return 2 + of_layer * DROPOUT_STRIDE + of_site;
	return DROPOUT_AFTER + of_layer * DROPOUT_MORE + (of_site - DROPOUT_STRIDE);
}

/* rate: offset in struct model_pass_options */
static struct dropout dropout_at(const struct model_pass *p, size_t rate, uint32_t number)
{
	if (!p->how)
		return (struct dropout){ 0 };
	return (struct dropout){
		.rate = *(const float *)(const void *)((const char *)p->how + rate),
		.key = rng_key_make(p->how->seed, RNG_DROPOUT | number << 8, 0, 0),
		.rng_step = p->m->acts.ids.rng_step,
	};
}

struct dropout model_dropout(const struct model_pass *p, const struct sublayer *at,
			     enum dropout_site site)
{
	assert(at->layer >= 0 && at->layer < MODEL_MAX_LAYERS);
	return dropout_at(p,
			  site == DROPOUT_INNER ? at->kind->inner_rate
						: offsetof(struct model_pass_options, dropout),
			  dropout_number(at, site));
}

struct dropout model_embedding_dropout(const struct model_pass *p, enum model_stack stack)
{
	return dropout_at(p, offsetof(struct model_pass_options, dropout), (uint32_t)stack);
}

void model_product_grad(const struct model_pass *p, struct tensor din, struct tensor dweight,
			struct tensor dout, struct tensor in, struct tensor weight)
{
	const struct model *m = p->m;

	m->ops->matmul(m->dev, dweight, dout, in,
		       (struct matmul_how){ .a_transposed = true, .accumulate = true });
	m->ops->matmul(m->dev, din, dout, weight, (struct matmul_how){ 0 });
}

void model_bias_grad(const struct model_pass *p, struct tensor dbias, struct tensor dout)
{
	if (dbias.data)
		p->m->ops->column_sums(p->m->dev, vector_of(dbias), dout);
}

const int32_t *model_token_positions(const struct model_pass *p, enum model_stack stack)
{
	const struct device_batch *ids = &p->m->acts.ids;

	return stack == STACK_ENCODER ? ids->source_position : ids->target_position;
}

struct tensor model_inner_grad(const struct model_pass *p, struct tensor inner)
{
	struct tensor t = p->m->acts.wide_grad;

	assert(inner.cols <= t.cols);
	t.rows = inner.rows;
	t.cols = t.stride = inner.cols;
	return t;
}
