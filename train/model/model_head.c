/*
 * model_head.c - the output layer and its loss; see model_internal.h
 *
 * Logits of a whole batch would need more memory than all other activations together. So
 * model_head() works on chunks of MODEL_HEAD_ROWS tokens: logits, loss, gradient of the logits,
 * and both products with this gradient. If the backend has ops->loss_rows, logits are computed in
 * parts of loss_rows rows, which stay in its cache; the products still read whole chunks.
 * With ops->loss_in_place the gradient overwrites these logits.
 */
#include "train/model/model_internal.h"

#include <assert.h>

static struct tensor decoder_output(const struct model_acts *a)
{
	const struct stack_act *decoder = &a->stack[STACK_DECODER];

	return decoder->sub[decoder->n].x.out;
}

/* Losses of dlogits.rows target tokens from token first on, and the gradient of their logits. */
static void head_chunk_losses(const struct model_pass *p, int64_t first, struct tensor dlogits,
			      float grad_scale)
{
	const struct model *m = p->m;
	const struct model_acts *a = &m->acts;
	const struct tensor states = decoder_output(a);
	float *loss = vector_of(a->losses) + first, *nll = loss + a->losses.stride;
	const bool in_place = a->logits.data == a->dlogits.data;

	assert(a->logits.rows > 0 && first + dlogits.rows <= p->extent.target);
	for (int64_t at = 0, n; at < dlogits.rows; at += n) {
		struct tensor logits;

		n = MIN(a->logits.rows, dlogits.rows - at);
		logits = in_place ? tensor_rows(dlogits, at, n) : with_rows(a->logits, n);
		model_linear(m, logits, tensor_rows(states, first + at, n), m->weights.output,
			     m->weights.output_bias, false);
		if (p->predict) /* the embedding has read these ids already */
			m->ops->top_k(m->dev, loss + at, a->ids.target_in + first + at, logits,
				      m->shape.real_vocabulary, 1);
		m->ops->cross_entropy(m->dev, tensor_rows(dlogits, at, n), loss + at, nll + at,
				      logits, a->ids.target_out + first + at,
				      m->shape.real_vocabulary, p->smoothing, grad_scale);
	}
}

void model_head(const struct model_pass *p, bool gradients)
{
	const struct model *m = p->m;
	const struct ops *o = m->ops;
	const struct model_acts *a = &m->acts;
	const struct tensor states = decoder_output(a);

	for (int64_t first = 0, n; first < p->extent.target; first += n) {
		struct tensor dlogits;

		n = MIN(a->dlogits.rows, p->extent.target - first);
		dlogits = with_rows(a->dlogits, n);
		head_chunk_losses(p, first, dlogits, gradients ? p->how->grad_scale : 0);
		if (!gradients)
			continue;
		o->matmul(m->dev, tensor_rows(a->dout, first, n), dlogits, m->weights.output,
			  (struct matmul_how){ 0 });
		if (m->grads.output_bias.data)
			o->column_sums(m->dev, vector_of(m->grads.output_bias), dlogits);
		o->matmul(m->dev, m->grads.output, dlogits, tensor_rows(states, first, n),
			  (struct matmul_how){ .a_transposed = true, .accumulate = true });
	}
}

void model_head_sums(const struct model_pass *p)
{
	const struct model *m = p->m;

	m->ops->row_sums(m->dev, &m->acts.tally->loss, m->acts.losses);
}

void model_discard_sums(struct model *m)
{
	/* loss and nll; the fields from squares on belong to the optimizer and the trainer */
	m->ops->zero(m->dev, m->acts.tally, offsetof(struct model_tally, squares));
	m->tokens = 0;
}

int model_collect_sums(struct model *m, struct model_sums *sums, struct err *e)
{
	struct model_tally tally;

	m->ops->to_host(m->dev, &tally, m->acts.tally, sizeof(tally));
	*sums = (struct model_sums){
		.loss = tally.loss,
		.nll = tally.nll,
		.tokens = m->tokens,
		.squares = tally.squares,
		.target = tally.target,
		.source = tally.source,
	};
	model_discard_sums(m);
	return m->ops->sync(m->dev, e);
}
