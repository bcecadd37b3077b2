/*
 * model_head.c - the output layer and its loss; see model_internal.h
 *
 * Logits of a whole batch would need more memory than all other activations together. So
 * model_head() works on chunks of MODEL_HEAD_ROWS tokens: logits, loss, gradient of the logits,
 * and both products with this gradient. If the backend has ops->loss_rows, logits are computed in
 * parts of loss_rows rows, which stay in its cache; the products still read whole chunks.
 * With ops->loss_in_place the gradient overwrites these logits. With two copies of the batch (R-Drop), a
 * chunk holds the same tokens of both copies.
 */
#include "train/model/model_internal.h"

#include <assert.h>

static struct tensor decoder_output(const struct model_acts *a)
{
	const struct stack_act *decoder = &a->stack[STACK_DECODER];

	return decoder->sub[decoder->n].x.out;
}

/*
 * A chunk: n target tokens from token first on, of each copy of the batch. dlogits (copies * n, V) has the
 * rows of the first copy, then those of the second.
 */
struct head_chunk {
	int64_t first, n;
	struct tensor dlogits;
};

/* Row number of token `first` of a copy. */
static int64_t row_of_copy(const struct model_pass *p, int32_t copy, int64_t first)
{
	return copy * (p->extent.target / p->copies) + first;
}

/* Losses of n tokens from token first on, and the gradients of their logits, for each copy. */
static void compute_losses(const struct model_pass *p, int64_t first, const struct tensor *logits,
			   const struct tensor *dlogits, float grad_scale)
{
	const struct model *m = p->m;
	const int32_t *targets = m->acts.ids.target_out + first;
	float *loss = vector_of(m->acts.losses) + first, *nll = loss + m->acts.losses.stride;

	if (p->copies == 2)
		m->ops->cross_entropy_pairs(m->dev, dlogits[0], dlogits[1], loss, nll, logits[0],
					    logits[1], targets, m->shape.real_vocabulary,
					    p->smoothing, p->how->r_drop, grad_scale);
	else
		m->ops->cross_entropy(m->dev, dlogits[0], loss, nll, logits[0], targets,
				      m->shape.real_vocabulary, p->smoothing, grad_scale);
}

static void head_chunk_losses(const struct model_pass *p, const struct head_chunk *c,
			      float grad_scale)
{
	const struct model *m = p->m;
	const struct model_acts *a = &m->acts;
	const struct tensor states = decoder_output(a);
	const bool in_place = a->logits.data == a->dlogits.data;

	assert(a->logits.rows >= p->copies && c->first + c->n <= p->extent.target / p->copies);
	for (int64_t at = 0, n; at < c->n; at += n) {
		struct tensor logits[2], dlogits[2];

		n = MIN(a->logits.rows / p->copies, c->n - at);
		for (int32_t copy = 0; copy < p->copies; copy++) {
			dlogits[copy] = tensor_rows(c->dlogits, copy * c->n + at, n);
			logits[copy] =
				in_place ? dlogits[copy] : tensor_rows(a->logits, copy * n, n);
			model_linear(m, logits[copy],
				     tensor_rows(states, row_of_copy(p, copy, c->first + at), n),
				     m->weights.output, m->weights.output_bias, false);
		}
		if (p->predict) /* the embedding has read these ids already */
			m->ops->top_k(m->dev, vector_of(a->losses) + c->first + at,
				      a->ids.target_in + c->first + at, logits[0],
				      m->shape.real_vocabulary, 1);
		compute_losses(p, c->first + at, logits, dlogits, grad_scale);
	}
}

/* The gradients of the output layer's weights, and of the states that it has read. */
static void head_chunk_backward(const struct model_pass *p, const struct head_chunk *c,
				int32_t copy)
{
	const struct model *m = p->m;
	const struct model_acts *a = &m->acts;
	const int64_t first = row_of_copy(p, copy, c->first);
	const struct tensor dlogits = tensor_rows(c->dlogits, copy * c->n, c->n);

	m->ops->matmul(m->dev, tensor_rows(a->dout, first, c->n), dlogits, m->weights.output,
		       (struct matmul_how){ 0 });
	if (m->grads.output_bias.data)
		m->ops->column_sums(m->dev, vector_of(m->grads.output_bias), dlogits);
	m->ops->matmul(m->dev, m->grads.output, dlogits,
		       tensor_rows(decoder_output(a), first, c->n),
		       (struct matmul_how){ .a_transposed = true, .accumulate = true });
}

void model_head(const struct model_pass *p, bool gradients)
{
	const struct model_acts *a = &p->m->acts;
	const int64_t tokens = p->extent.target / p->copies;
	struct head_chunk c = { 0 };

	for (; c.first < tokens; c.first += c.n) {
		c.n = MIN(a->dlogits.rows / p->copies, tokens - c.first);
		c.dlogits = with_rows(a->dlogits, p->copies * c.n);
		head_chunk_losses(p, &c, gradients ? p->how->grad_scale : 0);
		for (int32_t copy = 0; gradients && copy < p->copies; copy++)
			head_chunk_backward(p, &c, copy);
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
