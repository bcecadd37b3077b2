/*
 * model_head.c - the output layer and its loss; see model_internal.h
 *
 * Logits of a whole batch would be larger than all other activations
 * together, so they live for MODEL_HEAD_ROWS tokens at a time: product, loss,
 * and while they are still warm both products of their gradient.
 */
#include "train/model_internal.h"

void model_head(const struct pass *p, bool gradients)
{
	const struct model *m = p->m;
	const struct ops *o = m->ops;
	const struct model_acts *a = &m->acts;
	const struct tensor states = a->decoder.points[a->decoder.n_points - 1].out,
			    table = m->weights.output;
	float *loss = vector(a->losses), *nll = loss + a->losses.stride;
	const float grad_scale = gradients ? p->how->grad_scale : 0;

	for (int32_t first = 0; first < p->b->n_target; first += MODEL_HEAD_ROWS) {
		const int64_t n = MIN(MODEL_HEAD_ROWS, p->b->n_target - first);
		struct tensor part = tensor_rows(states, first, n),
			      logits = with_rows(a->logits, n);

		model_linear(m, logits, part, table, NULL, false);
		if (p->predict)		/* the embedding has been: its ids are free */
			o->top_k(m->dev, loss + first, a->ids.target_in + first, logits,
				 m->shape.real_vocabulary, 1);
		o->cross_entropy(m->dev, logits, loss + first, nll + first,
				 a->ids.target_out + first, m->shape.real_vocabulary, p->smoothing,
				 grad_scale);
		if (!gradients)
			continue;
		o->matmul(m->dev, tensor_rows(a->dout, first, n), logits, table,
			  (struct matmul_how){0});
		o->matmul(m->dev, m->grads.embed, logits, part,
			  (struct matmul_how){ .a_transposed = true, .accumulate = true });
	}
}

void model_head_sums(const struct pass *p)
{
	struct model *m = p->m;

	m->ops->row_sums(m->dev, &m->acts.tally->loss, m->acts.losses);
	m->tokens += p->b->n_target;
}

void model_drop_sums(struct model *m)
{
	m->ops->zero(m->dev, m->acts.tally, offsetof(struct model_tally, squares));
	m->tokens = 0;
}

int model_take_sums(struct model *m, struct model_sums *sums, struct err *e)
{
	struct model_tally tally;

	m->ops->to_host(m->dev, &tally, m->acts.tally, sizeof(tally));
	*sums = (struct model_sums){
		.loss = tally.loss, .nll = tally.nll, .tokens = m->tokens, .squares = tally.squares
	};
	model_drop_sums(m);
	return m->ops->sync(m->dev, e);
}
