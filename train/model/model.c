/*
 * model.c - allocation of a model, and the memory of a run; see model.h
 *
 * A model owns up to five blocks in the backend's memory: the parameters; their gradients, in the same
 * order; one arena of all activations; on a GPU with bf16 a rounded copy of the parameters, which
 * products read; for decoding the packed weights. All are allocated before the first batch, so a run
 * that lacks memory says so at its start.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "train/model/sublayer.h"

/* Does a backend with these options record and replay CUDA graphs? */
static bool backend_uses_graphs(const struct ops *ops, const struct dev_options *o)
{
	return o->graphs && ops->graph_begin;
}

/*
 * Does training with this backend pad batches? A GPU adds up the same bits with and without graphs
 * only if the matrices have the same sizes: its library chooses algorithms by size.
 */
static bool backend_pads_batches(const struct ops *ops)
{
	return ops->graph_begin != NULL;
}

/* A model without parameters. */
static struct model *new_model(const struct model_shape *shape, const struct ops *ops,
			       const struct dev_options *o, struct err *e)
{
	struct model *m = mem_alloc(1, sizeof(*m), e);

	if (!m)
		return NULL;
	m->shape = *shape;
	m->epsilon = (float)arch_norm_epsilon(shape);
	m->ops = ops;
	m->options = *o;
	m->options.graphs = backend_uses_graphs(ops, o);
	if (model_params(shape, &m->params, &m->n_params, &m->floats, e) ||
	    model_alloc_views(&m->weights, shape, e) || model_alloc_views(&m->grads, shape, e) ||
	    model_acts_alloc(&m->acts, shape, e) || !(m->dev = ops->open(o, e)) ||
	    model_tables_alloc(m, e)) {
		model_free(m);
		return NULL;
	}
	return m;
}

/* Point the view of a weight to its bf16 copy. */
static bool view_rounded(void *context, struct tensor *view)
{
	struct model *m = context;

	assert((float *)view->data >= m->param && (float *)view->data < m->param + m->floats);
	view->data = m->rounded + ((float *)view->data - m->param);
	view->dtype = DTYPE_BF16;
	return true;
}

static int alloc_rounded(struct model *m, struct err *e)
{
	m->rounded = m->ops->alloc(m->dev, (size_t)m->floats * sizeof(*m->rounded), e);
	if (!m->rounded)
		return e->code;
	m->rounded_is_stale = true;
	model_each_weight(m, view_rounded, m);
	return 0;
}

struct model *model_new(const struct model_shape *shape, const struct ops *ops,
			const struct dev_options *o, struct err *e)
{
	struct model *m = new_model(shape, ops, o, e);
	size_t bytes;

	if (!m)
		return NULL;
	if (!mem_mul((size_t)m->floats, sizeof(float), &bytes)) {
		err_set(e, ERR_NOMEM, "a model of %lld parameters does not fit into memory",
			(long long)m->floats);
		goto fail;
	}
	m->param = ops->alloc(m->dev, bytes, e);
	if (!m->param)
		goto fail;
	model_set_views(&m->weights, m->params, m->n_params, m->param, NULL);
	if (ops->prefers_bf16_weights && o->bf16 && alloc_rounded(m, e))
		goto fail;
	return m;
fail:
	model_free(m);
	return NULL;
}

struct model *model_new_mapped(const struct model_shape *shape, const struct ops *ops,
			       const struct dev_options *o, const float *const *tensors,
			       struct err *e)
{
	struct model *m = new_model(shape, ops, o, e);

	if (!m)
		return NULL;
	m->is_mapped = true;
	model_set_views(&m->weights, m->params, m->n_params, NULL, tensors);
	return m;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	if (m->is_shared) {
		m->param = m->packed = NULL;
		m->tables = NULL;
		memset(&m->weights, 0, sizeof(m->weights));
	}
	if (m->dev) {
		m->ops->release(m->dev, m->param);
		m->ops->release(m->dev, m->grad);
		m->ops->release(m->dev, m->arena);
		m->ops->release(m->dev, m->packed);
		m->ops->release(m->dev, m->rounded);
		m->ops->release(m->dev, m->tables);
		m->ops->close(m->dev);
	}
	model_acts_free(&m->acts);
	free(m->staging);
	for (enum model_stack k = 0; k < N_STACKS; k++) {
		free(m->weights.stack[k].sub);
		free(m->grads.stack[k].sub);
	}
	free(m->params);
	free(m);
}

/* ---- memory of a run --------------------------------------------------- */

#define USUAL_SENTENCE 1024 /* tokens; for longer sentences ops enlarge their workspaces later */

/* Only training stores activations in bf16; evaluation and decoding don't round them. */
static enum dtype dtype_of_acts(enum model_use use, bool bf16)
{
	return use == MODEL_USE_TRAIN && bf16 ? DTYPE_BF16 : DTYPE_F32;
}

static int model_reserve(struct model *m, int32_t tokens, int32_t sentences, enum model_use use,
			 struct err *e)
{
	const enum dtype dtype = dtype_of_acts(use, m->options.bf16);
	const bool pad = use == MODEL_USE_TRAIN && backend_pads_batches(m->ops);
	const struct batch_extent most =
		model_copies_extent(model_max_extent(tokens, sentences, pad), MAX(m->copies, 1));
	struct arena_plan count = { .dtype = dtype, .ops = m->ops }, carve = count;

	if (m->cap_tokens)
		return err_set(e, ERR_INTERNAL, "the model has reserved its activations already");
	if (tokens < 1 || sentences < 1)
		return err_set(e, ERR_INTERNAL,
			       "cannot reserve activations for %d tokens and %d sentences: both "
			       "must be at least 1",
			       tokens, sentences);
	if (!model_acts_plan(&m->acts, &m->shape, &most, use, &count))
		return err_set(
			e, ERR_NOMEM,
			"activations for %d tokens do not fit into memory: lower batch_tokens",
			tokens);
	m->arena = m->ops->alloc(m->dev, count.used, e);
	if (!m->arena)
		return err_prefix(e, "activations for %d tokens (lower batch_tokens)", tokens);
	if (use == MODEL_USE_TRAIN) {
		m->grad = m->ops->alloc(m->dev, (size_t)m->floats * sizeof(float), e);
		if (!m->grad)
			return err_prefix(e, "gradients");
		model_set_views(&m->grads, m->params, m->n_params, m->grad, NULL);
	}
	carve.base = m->arena;
	model_acts_plan(&m->acts, &m->shape, &most, use, &carve);
	assert(carve.used == count.used);
	m->staging = mem_alloc(model_batch_bytes(&most), 1, e);
	if (!m->staging)
		return e->code;
	m->pads_batches = pad;
	m->cap_tokens = tokens;
	m->cap_sentences = sentences;
	return 0;
}

int model_reserve_forward(struct model *m, int32_t tokens, int32_t sentences, struct err *e)
{
	return model_reserve(m, tokens, sentences, MODEL_USE_EVALUATE, e);
}

int model_reserve_encoding(struct model *m, int32_t tokens, int32_t sentences, struct err *e)
{
	return model_reserve(m, tokens, sentences, MODEL_USE_ENCODE, e);
}

/* Kernels of a pass forward and backward, rounded up, without those of sublayers. */
#define KERNELS_OUTSIDE	     48
#define KERNELS_OF_HEAD_PART 6

static int64_t count_step_kernels(const struct model_shape *s, int64_t tokens, int32_t loss_rows)
{
	const int64_t rows = loss_rows ? loss_rows : MODEL_HEAD_ROWS(DTYPE_F32);
	int64_t n = KERNELS_OUTSIDE + KERNELS_OF_HEAD_PART * CEIL_DIV(tokens, rows);

	for (enum model_stack k = 0; k < N_STACKS; k++) {
		const struct layer_list *list = model_layer_list(s, k);

		for (int32_t i = 0; i < list->n; i++)
			n += (int64_t)sublayer_kinds[list->at[i]]->kernels *
			     model_count_layers(s, k);
	}
	return n;
}

/* Upper bounds of the sizes that the ops of a training get, for batches of this extent. */
static struct dev_limits limits_of(const struct model_size *size, const struct model_param *params,
				   size_t n_params, const struct batch_extent *most)
{
	const struct model_shape *s = size->shape;
	int64_t largest;
	const int64_t widest = model_widest(params, n_params, &largest);

	return (struct dev_limits){
		.tokens = most->source,
		.width = widest,
		.ways = size->options->ways,
		.head_rows = MIN(most->source, MODEL_HEAD_ROWS(DTYPE_F32)),
		.head_width = s->d_model / MIN(s->heads, model_heads(s, STACK_DECODER)),
		.sentence = MIN(most->source, USUAL_SENTENCE),
		.d_model = s->d_model,
		.heads = MAX(s->heads, model_heads(s, STACK_DECODER)),
		.upload_bytes = (int64_t)model_batch_bytes(most),
		.step_kernels = size->options->graphs
					? count_step_kernels(s, most->source, size->ops->loss_rows)
					: 0,
		.sum_floats = largest,
	};
}

void model_set_copies(struct model *m, int32_t copies)
{
	assert(!m->cap_tokens && (copies == 1 || copies == 2));
	m->copies = copies;
}

static struct batch_extent training_extent(const struct model_size *s)
{
	return model_copies_extent(
		model_max_extent(s->tokens, s->sentences, backend_pads_batches(s->ops)),
		MAX(s->copies, 1));
}

int model_reserve_training(struct model *m, int32_t tokens, int32_t sentences, struct err *e)
{
	const struct model_size size = { &m->shape, m->ops,    &m->options,
					 tokens,    sentences, m->copies };
	const struct batch_extent most = training_extent(&size);
	const struct dev_limits limits = limits_of(&size, m->params, m->n_params, &most);

	if (model_reserve(m, tokens, sentences, MODEL_USE_TRAIN, e))
		return e->code;
	return m->ops->reserve ? m->ops->reserve(m->dev, &limits, e) : 0;
}

struct model *model_share(struct model *m, int32_t tokens, int32_t sentences, struct err *e)
{
	struct model *own = mem_alloc(1, sizeof(*own), e);

	assert(!m->grad && !m->ops->has_device_memory);
	if (!own)
		return NULL;
	*own = (struct model){ .shape = m->shape,
			       .ops = m->ops,
			       .options = m->options,
			       .is_shared = true,
			       .floats = m->floats,
			       .param = m->param,
			       .packed = m->packed,
			       .tables = m->tables,
			       .sinusoids = m->sinusoids,
			       .epsilon = m->epsilon,
			       .weights = m->weights };
	memcpy(own->waves, m->waves, sizeof(own->waves));
	own->options.threads = 1;
	own->dev = m->ops->open(&own->options, e);
	if (!own->dev || model_acts_alloc(&own->acts, &own->shape, e) ||
	    model_reserve(own, tokens, sentences, MODEL_USE_ENCODE, e)) {
		model_free(own);
		return NULL;
	}
	return own;
}

int model_memory_needs(const struct model_size *s, struct dev_memory *needs, struct err *e)
{
	const bool bf16 = s->options->bf16;
	const size_t each =
		4 * sizeof(float) + (bf16 && s->ops->prefers_bf16_weights ? sizeof(uint16_t) : 0);
	const struct batch_extent most = training_extent(s);
	struct model_acts acts = { 0 };
	struct arena_plan count = { .dtype = dtype_of_acts(MODEL_USE_TRAIN, bf16), .ops = s->ops };
	struct dev_limits limits;
	struct model_param *params = NULL;
	const size_t tables = (size_t)model_table_floats(s->shape) * sizeof(float);
	size_t n_params, flat;
	int64_t floats;
	int rc = model_params(s->shape, &params, &n_params, &floats, e);

	if (rc)
		return rc;
	limits = limits_of(s, params, n_params, &most);
	free(params);
	*needs = s->ops->memory_needs ? s->ops->memory_needs(&limits) : (struct dev_memory){ 0 };
	rc = model_acts_alloc(&acts, s->shape, e);
	if (!rc && (!model_acts_plan(&acts, s->shape, &most, MODEL_USE_TRAIN, &count) ||
		    !mem_mul((size_t)floats, each, &flat) ||
		    __builtin_add_overflow(needs->device_bytes, flat, &needs->device_bytes) ||
		    __builtin_add_overflow(needs->device_bytes, count.used, &needs->device_bytes) ||
		    __builtin_add_overflow(needs->device_bytes, tables, &needs->device_bytes)))
		rc = err_set(e, ERR_NOMEM,
			     "training with %d tokens does not fit into memory: lower batch_tokens",
			     s->tokens);
	model_acts_free(&acts);
	return rc;
}

/* ---- access to parts --------------------------------------------------- */

const struct model_shape *model_get_shape(const struct model *m)
{
	return &m->shape;
}
const struct model_weights *model_get_weights(const struct model *m)
{
	return &m->weights;
}
struct model_norm model_output_norm(const struct model *m)
{
	return model_norm_at(m, &m->weights, STACK_DECODER, m->weights.stack[STACK_DECODER].n);
}
struct tensor model_output_rows(const struct model *m)
{
	for (size_t i = 0; i < m->n_params; i++)
		if (m->params[i].init == INIT_table)
			return tensor_f32(m->param + m->params[i].offset, m->params[i].rows,
					  m->params[i].cols);
	assert(!"every model has an output layer");
	return m->weights.embed;
}

const struct ops *model_get_ops(const struct model *m)
{
	return m->ops;
}
int64_t model_count_slow_products(const struct model *m)
{
	return m->ops->count_slow_products ? m->ops->count_slow_products(m->dev) : 0;
}

struct dev *model_get_dev(const struct model *m)
{
	return m->dev;
}
float *model_grad_arena(struct model *m)
{
	return m->grad;
}
int64_t model_floats(const struct model *m)
{
	return m->floats;
}
struct model_tally *model_tally(struct model *m)
{
	return m->acts.tally;
}

float *model_param_arena(struct model *m)
{
	m->rounded_is_stale = true;
	return m->param;
}

const float *model_param_read(const struct model *m)
{
	return m->param;
}

float *model_update_arena(struct model *m, uint16_t **rounded)
{
	*rounded = m->rounded_is_stale ? NULL : m->rounded;
	return m->param;
}
