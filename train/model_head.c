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
			    table = m->weights.embed;
	const float grad_scale = gradients ? p->how->grad_scale : 0;

	for (int32_t first = 0; first < p->b->n_target; first += MODEL_HEAD_ROWS) {
		const int64_t n = MIN(MODEL_HEAD_ROWS, p->b->n_target - first);
		struct tensor part = tensor_rows(states, first, n),
			      logits = with_rows(a->logits, n);

		model_linear(m, logits, part, m->weights.output, NULL, false);
		if (p->predict)		/* the embedding has been: its ids are free */
			o->top_k(m->dev, a->loss + first, a->ids.target_in + first, logits,
				 m->shape.real_vocabulary, 1);
		o->cross_entropy(m->dev, logits, a->loss + first, a->nll + first,
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

void model_head_sums(const struct pass *p, struct model_sums *sums)
{
	const struct model *m = p->m;
	const int32_t n = p->b->n_target;
	float *loss = m->host_losses, *nll = loss + m->cap_tokens;

	m->ops->to_host(m->dev, loss, m->acts.loss, (size_t)n * sizeof(float));
	m->ops->to_host(m->dev, nll, m->acts.nll, (size_t)n * sizeof(float));
	*sums = (struct model_sums){ .tokens = n };
	for (int32_t i = 0; i < n; i++) {
		sums->loss += loss[i];
		sums->nll += nll[i];
	}
}
