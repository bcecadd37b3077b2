/* model.c - shapes, list of tensors, allocation and initial weights of the model; see model.h */
#include "train/model/model_internal.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"

enum group { GROUP_model, GROUP_encoder, GROUP_decoder };
enum init { INIT_table, INIT_glorot, INIT_glorot_ffn, INIT_one, INIT_zero };

/* A row of params.def with the sizes of one shape. */
struct param_row {
	enum group group;
	const char *name;
	int64_t rows, cols;
	enum init init;
	size_t field; /* offset of the view in its struct */
};

#define OWNER_model   model_weights
#define OWNER_encoder model_encoder_layer
#define OWNER_decoder model_decoder_layer

/* How many rows params.def has. */
#define PARAM(...) +1
enum {
	N_ROWS = 0
#include "train/model/params.def"
};
#undef PARAM

static void fill_rows(const struct model_shape *s, struct param_row rows[N_ROWS])
{
	const int64_t D = s->d_model, F = s->d_ff, V = s->vocabulary, L = s->decoder_layers;
	size_t n = 0;

#define PARAM(group, field, name, n_rows, n_cols, init)                                            \
	rows[n++] = (struct param_row){ GROUP_##group, name,                                       \
					n_rows,	       n_cols,                                     \
					INIT_##init,   offsetof(struct OWNER_##group, field) };
#include "train/model/params.def"
#undef PARAM
}

/* A walk over all tensors in the order of the flat array. */
struct walk {
	const struct model_shape *shape;
	struct param_row rows[N_ROWS];
	size_t first, last; /* the rows of the current group are first .. last - 1 */
	size_t at;	    /* the current row */
	int32_t layer;	    /* the current layer; 0 in the group model */
};

static int32_t group_layers(const struct walk *w)
{
	switch (w->rows[w->first].group) {
	case GROUP_encoder:
		return w->shape->encoder_layers;
	case GROUP_decoder:
		return w->shape->decoder_layers;
	default:
		return 1;
	}
}

static void walk_group(struct walk *w, size_t first)
{
	w->first = w->at = first;
	w->layer = 0;
	for (w->last = first; w->last < N_ROWS && w->rows[w->last].group == w->rows[first].group;
	     w->last++)
		;
}

static void walk_begin(struct walk *w, const struct model_shape *shape)
{
	w->shape = shape;
	fill_rows(shape, w->rows);
	walk_group(w, 0);
}

/* The current row; NULL after the last one. */
static const struct param_row *walk_row(const struct walk *w)
{
	return w->at < N_ROWS ? &w->rows[w->at] : NULL;
}

static void walk_next(struct walk *w)
{
	if (++w->at < w->last)
		return;
	w->at = w->first;
	if (++w->layer == group_layers(w)) {
		if (w->last < N_ROWS)
			walk_group(w, w->last);
		else
			w->at = N_ROWS;
	}
}

/* ---- shapes ------------------------------------------------------------ */

/* The shape of a stranger's checkpoint: with these limits no product of its sizes overflows. */
#define MAX_WIDTH      (1 << 20) /* of d_model and d_ff */
#define MAX_VOCABULARY (1 << 26)

static int check_shape(const struct model_shape *s, struct err *e)
{
	if (s->heads < 1 || s->d_model < 4 || s->d_model % 2)
		return err_set(e, ERR_CONFIG,
			       "d_model is %d and heads is %d: d_model must be even and at least "
			       "4, heads at least 1",
			       s->d_model, s->heads);
	if (s->d_model % s->heads)
		return err_set(e, ERR_CONFIG,
			       "d_model %d cannot be divided into %d heads: choose heads that "
			       "divide d_model",
			       s->d_model, s->heads);
	if (s->d_ff < 1)
		return err_set(e, ERR_CONFIG, "d_ff is %d: d_ff must be at least 1", s->d_ff);
	if (s->encoder_layers < 1 || s->decoder_layers < 1 ||
	    s->encoder_layers > MODEL_MAX_LAYERS || s->decoder_layers > MODEL_MAX_LAYERS)
		return err_set(e, ERR_CONFIG,
			       "encoder_layers is %d and decoder_layers is %d: both must be 1..%d",
			       s->encoder_layers, s->decoder_layers, MODEL_MAX_LAYERS);
	if (s->d_model > MAX_WIDTH || s->d_ff > MAX_WIDTH || s->vocabulary > MAX_VOCABULARY)
		return err_set(
			e, ERR_CONFIG,
			"the model is too large: d_model is %d, d_ff is %d and the embedding "
			"table has %d rows; at most %d, %d and %d are possible",
			s->d_model, s->d_ff, s->vocabulary, MAX_WIDTH, MAX_WIDTH, MAX_VOCABULARY);
	if (s->vocabulary < 8 || s->vocabulary % 8)
		return err_set(e, ERR_CONFIG,
			       "the embedding table has %d rows: a multiple of 8 is needed",
			       s->vocabulary);
	if (s->real_vocabulary < N_SPECIAL_TOKENS || s->real_vocabulary > s->vocabulary)
		return err_set(e, ERR_CONFIG,
			       "the vocabulary has %d entries and the embedding table %d rows: "
			       "the vocabulary needs %d..%d entries",
			       s->real_vocabulary, s->vocabulary, N_SPECIAL_TOKENS, s->vocabulary);
	return 0;
}

int model_shape_from_conf(struct model_shape *shape, const struct conf *c, int32_t vocabulary,
			  int32_t real_vocabulary, struct err *e)
{
	*shape = (struct model_shape){ .vocabulary = vocabulary,
				       .real_vocabulary = real_vocabulary };
	arch_set_options(shape, c);
	return check_shape(shape, e);
}

int model_params(const struct model_shape *shape, struct model_param **params, size_t *n_params,
		 int64_t *n_floats, struct err *e)
{
	struct walk w;
	const struct param_row *row;
	struct model_param *list;
	size_t n = 0;
	int64_t offset = 0;

	if (check_shape(shape, e))
		return e->code;
	list = mem_alloc(N_ROWS * (size_t)MAX(shape->encoder_layers, shape->decoder_layers),
			 sizeof(*list), e);
	if (!list)
		return e->code;
	for (walk_begin(&w, shape); (row = walk_row(&w)); walk_next(&w), n++) {
		struct model_param *p = &list[n];
		const char *mark = strstr(row->name, "%d");

		if (mark)
			snprintf(p->name, sizeof(p->name), "%.*s%d%s", (int)(mark - row->name),
				 row->name, w.layer, mark + 2);
		else
			snprintf(p->name, sizeof(p->name), "%s", row->name);
		p->rows = row->rows;
		p->cols = row->cols;
		p->offset = offset;
		assert(p->rows > 0 && p->cols > 0);
		offset += p->rows * p->cols; /* below 2^51: see check_shape() */
	}
	*params = list;
	*n_params = n;
	*n_floats = offset;
	return 0;
}

void model_product_weights(const struct model_shape *shape, double *source, double *target)
{
	struct walk w;
	const struct param_row *row;

	*source = *target = 0;
	for (walk_begin(&w, shape); (row = walk_row(&w)); walk_next(&w)) {
		const double weights = row->rows > 1 ? (double)row->rows * (double)row->cols : 0;
		/* the decoder projects keys and values of the source: a cost of each source token */
		const bool is_cross = row->field == offsetof(struct model_weights, cross_kv) &&
				      row->group == GROUP_model;

		*(row->group == GROUP_encoder || is_cross ? source : target) += weights;
	}
}

/* ---- allocation -------------------------------------------------------- */

static int alloc_views(struct model_weights *w, const struct model_shape *s, struct err *e)
{
	w->encoder = mem_alloc((size_t)s->encoder_layers, sizeof(*w->encoder), e);
	w->decoder = mem_alloc((size_t)s->decoder_layers, sizeof(*w->decoder), e);
	return w->encoder && w->decoder ? 0 : e->code;
}

/* The address of a tensor's view in w. */
static void *view_of(struct model_weights *w, const struct param_row *row, int32_t layer)
{
	char *owner = row->group == GROUP_encoder   ? (char *)&w->encoder[layer]
		      : row->group == GROUP_decoder ? (char *)&w->decoder[layer]
						    : (char *)w;

	return owner + row->field;
}

/* Point every view of w into the flat buffer. */
static void set_views(struct model_weights *w, const struct model_shape *s, float *flat)
{
	struct walk walk;
	const struct param_row *row;

	for (walk_begin(&walk, s); (row = walk_row(&walk)); walk_next(&walk)) {
		struct tensor view = tensor_f32(flat, row->rows, row->cols);

		memcpy(view_of(w, row, walk.layer), &view, sizeof(view));
		flat += row->rows * row->cols;
	}
	w->output = w->embed;
}

/* Point the views of w to tensors[], in the order of model_params(). */
static void set_scattered_views(struct model_weights *w, const struct model_shape *s,
				const float *const *tensors)
{
	struct walk walk;
	const struct param_row *row;

	for (walk_begin(&walk, s); (row = walk_row(&walk)); walk_next(&walk)) {
		/* drops the const: nothing writes to weights that are not trained */
		union {
			const float *from;
			float *to;
		} data = { .from = *tensors++ };
		struct tensor view = tensor_f32(data.to, row->rows, row->cols);

		memcpy(view_of(w, row, walk.layer), &view, sizeof(view));
	}
	w->output = w->embed;
}

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
	m->ops = ops;
	m->options = *o;
	m->options.graphs = backend_uses_graphs(ops, o);
	if (model_params(shape, &m->params, &m->n_params, &m->floats, e) ||
	    alloc_views(&m->weights, shape, e) || alloc_views(&m->grads, shape, e) ||
	    model_acts_alloc(&m->acts, shape, e) || !(m->dev = ops->open(o, e))) {
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

void model_refresh_rounded(struct model *m)
{
	if (m->rounded && m->rounded_is_stale)
		m->ops->copy(m->dev,
			     (struct tensor){ m->rounded, 1, m->floats, m->floats, DTYPE_BF16 },
			     tensor_f32(m->param, 1, m->floats));
	m->rounded_is_stale = false;
}

void model_discard_rounded(struct model *m)
{
	if (!m->rounded)
		return;
	m->ops->release(m->dev, m->rounded);
	m->rounded = NULL;
	set_views(&m->weights, &m->shape, m->param);
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
	set_views(&m->weights, shape, m->param);
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
	set_scattered_views(&m->weights, shape, tensors);
	return m;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	if (m->is_shared) {
		m->param = m->packed = NULL;
		m->weights.encoder = NULL;
		m->weights.decoder = NULL;
	}
	if (m->dev) {
		m->ops->release(m->dev, m->param);
		m->ops->release(m->dev, m->grad);
		m->ops->release(m->dev, m->arena);
		m->ops->release(m->dev, m->packed);
		m->ops->release(m->dev, m->rounded);
		m->ops->close(m->dev);
	}
	model_acts_free(&m->acts);
	free(m->staging);
	free(m->weights.encoder);
	free(m->weights.decoder);
	free(m->grads.encoder);
	free(m->grads.decoder);
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
	const struct batch_extent most = model_max_extent(tokens, sentences, pad);
	struct arena_plan count = { .dtype = dtype,
				    .loss_rows = m->ops->loss_rows,
				    .loss_in_place = m->ops->loss_in_place },
			  carve = count;

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
		set_views(&m->grads, &m->shape, m->grad);
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

/* Upper bounds of the sizes that the ops of a training get, for batches of this extent. */
/*
 * Kernels of a pass forward and backward, rounded up: those outside of layers, of an encoder's and of
 * a decoder's layer, and of each part of the output layer.
 */
#define KERNELS_OUTSIDE	     48
#define KERNELS_ENCODER	     32
#define KERNELS_DECODER	     52
#define KERNELS_OF_HEAD_PART 6

static int64_t count_step_kernels(const struct model_shape *s, int64_t tokens, int32_t loss_rows)
{
	const int64_t rows = loss_rows ? loss_rows : MODEL_HEAD_ROWS(DTYPE_F32);

	return KERNELS_OUTSIDE + KERNELS_ENCODER * s->encoder_layers +
	       KERNELS_DECODER * s->decoder_layers + KERNELS_OF_HEAD_PART * CEIL_DIV(tokens, rows);
}

static struct dev_limits limits_of(const struct model_shape *s, const struct batch_extent *most,
				   const struct ops *ops, const struct dev_options *options)
{
	const int64_t memory = 2 * (int64_t)s->d_model * s->decoder_layers;
	const struct gpu_ways ways = options->ways;

	return (struct dev_limits){
		.tokens = most->source,
		.width = MAX(MAX(s->d_ff, 3 * s->d_model), memory),
		.ways = ways,
		.head_rows = MIN(most->source, MODEL_HEAD_ROWS(DTYPE_F32)),
		.head_width = s->d_model / s->heads,
		.sentence = MIN(most->source, USUAL_SENTENCE),
		.d_model = s->d_model,
		.heads = s->heads,
		.upload_bytes = (int64_t)model_batch_bytes(most),
		.step_kernels =
			options->graphs ? count_step_kernels(s, most->source, ops->loss_rows) : 0,
		.sum_floats = s->d_model * MAX(MAX((int64_t)s->vocabulary, s->d_ff),
					       MAX(3 * s->d_model, memory)),
	};
}

int model_reserve_training(struct model *m, int32_t tokens, int32_t sentences, struct err *e)
{
	const struct batch_extent most =
		model_max_extent(tokens, sentences, backend_pads_batches(m->ops));
	const struct dev_limits limits = limits_of(&m->shape, &most, m->ops, &m->options);

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
			       .weights = m->weights };
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
	const struct batch_extent most =
		model_max_extent(s->tokens, s->sentences, backend_pads_batches(s->ops));
	struct model_acts acts = { 0 };
	struct arena_plan count = { .dtype = dtype_of_acts(MODEL_USE_TRAIN, bf16),
				    .loss_rows = s->ops->loss_rows,
				    .loss_in_place = s->ops->loss_in_place };
	struct dev_limits limits;
	struct model_param *params = NULL;
	size_t n_params, flat;
	int64_t floats;
	int rc = model_params(s->shape, &params, &n_params, &floats, e);

	free(params);
	if (rc)
		return rc;
	limits = limits_of(s->shape, &most, s->ops, s->options);
	*needs = s->ops->memory_needs ? s->ops->memory_needs(&limits) : (struct dev_memory){ 0 };
	rc = model_acts_alloc(&acts, s->shape, e);
	if (!rc && (!model_acts_plan(&acts, s->shape, &most, MODEL_USE_TRAIN, &count) ||
		    !mem_mul((size_t)floats, each, &flat) ||
		    __builtin_add_overflow(needs->device_bytes, flat, &needs->device_bytes) ||
		    __builtin_add_overflow(needs->device_bytes, count.used, &needs->device_bytes)))
		rc = err_set(e, ERR_NOMEM,
			     "training with %d tokens does not fit into memory: lower batch_tokens",
			     s->tokens);
	model_acts_free(&acts);
	return rc;
}

/* ---- initial weights --------------------------------------------------- */

/* Number i of a standard normal distribution, by the Box-Muller transform. */
static float random_normal(struct rng_key key, uint64_t i)
{
	struct rng_block b = rng_block_at(key, i >> 1);
	const uint32_t *word = &b.v[(i & 1) * 2];
	double u = ((double)word[0] + 1) / 4294967296.0, v = (double)word[1] / 4294967296.0;

	return (float)(sqrt(-2 * log(u)) * cos(2 * M_PI * v));
}

static void init_tensor(float *x, const struct param_row *row, const struct model_shape *s,
			struct rng_key key)
{
	const float deviation = 1 / sqrtf((float)s->d_model);
	const float fan_sum = row->init == INIT_glorot_ffn ? (float)s->d_model + (float)s->d_ff
							   : 2 * (float)s->d_model;
	const float limit = sqrtf(6 / fan_sum);
	const uint64_t n = (uint64_t)(row->rows * row->cols);

	for (uint64_t i = 0; i < n; i++) {
		switch (row->init) {
		case INIT_table:
			x[i] = deviation * random_normal(key, i);
			break;
		case INIT_glorot:
		case INIT_glorot_ffn:
			x[i] = limit * (2 * rng_unit(key, i) - 1);
			break;
		case INIT_one:
			x[i] = 1;
			break;
		case INIT_zero:
			x[i] = 0;
			break;
		}
	}
}

int model_init(struct model *m, uint64_t seed, struct err *e)
{
	struct walk w;
	const struct param_row *row;
	uint32_t number = 0;
	float *room = NULL, *param = m->param; /* room: with a GPU, one tensor in host memory */
	int64_t largest = 0;

	for (size_t i = 0; i < m->n_params; i++)
		largest = MAX(largest, m->params[i].rows * m->params[i].cols);
	if (m->ops->has_device_memory && !(room = mem_alloc((size_t)largest, sizeof(*room), e)))
		return e->code;
	for (walk_begin(&w, &m->shape); (row = walk_row(&w)); walk_next(&w)) {
		const int64_t n = row->rows * row->cols;

		init_tensor(room ? room : param, row, &m->shape,
			    rng_key_make(seed, RNG_INIT | number++ << 8, 0, 0));
		if (room)
			m->ops->to_device(m->dev, param, room, (size_t)n * sizeof(*room));
		param += n;
	}
	assert(param == m->param + m->floats);
	free(room);
	return m->ops->sync(m->dev, e);
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
