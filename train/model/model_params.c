/*
 * model_params.c - the shape of a model, the list of its tensors and what follows from it; see model.h
 *
 * model_params() turns params.def, sublayers.def and a shape into a list: one entry for each tensor,
 * with its name, its place in the flat array, and its view. Views, initial weights, the weights that
 * are packed and the operations of a token are all loops over this list.
 */
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "train/model/model_internal.h"

static const struct layer_list layer_lists[N_STACKS] = {
	[STACK_ENCODER] = { 2, { SUBLAYER_self, SUBLAYER_ffn } },
	[STACK_DECODER] = { 3, { SUBLAYER_self, SUBLAYER_cross, SUBLAYER_ffn } },
};

static const char *const stack_names[N_STACKS] = { "encoder", "decoder" };

const struct layer_list *model_layer_list(enum model_stack stack)
{
	return &layer_lists[stack];
}

int32_t model_count_layers(const struct model_shape *shape, enum model_stack stack)
{
	return stack == STACK_ENCODER ? shape->encoder_layers : shape->decoder_layers;
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

/* ---- the list of tensors ------------------------------------------------ */

/* The rows of params.def that stand together in the flat array. */
enum param_group {
#define SUBLAYER(name) PARAMS_##name,
#include "train/model/sublayers.def"
	PARAMS_end,
	PARAMS_before_encoder,
	PARAMS_before_decoder
};

/* A row of params.def with the sizes of one shape. */
struct param_row {
	enum param_group group;
	const char *name;
	struct model_param param; /* what is the same in all layers */
};

enum {
#define PARAM(...)	 +1
#define PARAM_MODEL(...) +1
	N_ROWS = 0
#include "train/model/params.def"
};

static void fill_rows(const struct model_shape *s, struct param_row rows[N_ROWS])
{
	const int64_t D = s->d_model, F = s->d_ff, V = s->vocabulary, L = s->decoder_layers;
	size_t n = 0;

#define ROW(group, owner, field_, name, rows_, cols_, init_)                                       \
	rows[n++] = (struct param_row){ group,                                                     \
					name,                                                      \
					{ .rows = rows_,                                           \
					  .cols = cols_,                                           \
					  .init = INIT_##init_,                                    \
					  .field = offsetof(struct owner, field_) } };
#define PARAM(kind, field, ...)	       ROW(PARAMS_##kind, sublayer_weights, field, __VA_ARGS__)
#define PARAM_MODEL(stack, field, ...) ROW(PARAMS_before_##stack, model_weights, field, __VA_ARGS__)
#include "train/model/params.def"
}

struct param_list {
	const struct param_row *rows; /* (N_ROWS) */
	struct model_param *all;
	size_t n;
	int64_t floats;
};

/* Append the tensors of a group. */
static void add_params(struct param_list *l, enum param_group group, const char *prefix,
		       enum model_stack stack, int32_t sublayer)
{
	for (size_t i = 0; i < N_ROWS; i++) {
		const struct param_row *row = &l->rows[i];
		struct model_param *p = &l->all[l->n];

		if (row->group != group)
			continue;
		*p = row->param;
		snprintf(p->name, sizeof(p->name), "%s%s", prefix, row->name);
		p->offset = l->floats;
		p->stack = stack;
		p->sublayer = sublayer;
		assert(p->rows > 0 && p->cols > 0);
		l->floats += p->rows * p->cols; /* below 2^51: see check_shape() */
		l->n++;
	}
}

static void add_stack_params(struct param_list *l, enum model_stack stack, int32_t layers)
{
	const struct layer_list *list = &layer_lists[stack];
	const int32_t n = layers * list->n;
	char prefix[32];

	for (int32_t i = 0; i < n; i++) {
		snprintf(prefix, sizeof(prefix), "%s.%d.", stack_names[stack], i / list->n);
		add_params(l, (enum param_group)list->at[i % list->n], prefix, stack, i);
	}
	snprintf(prefix, sizeof(prefix), "%s.", stack_names[stack]);
	add_params(l, PARAMS_end, prefix, stack, n);
}

int model_params(const struct model_shape *shape, struct model_param **params, size_t *n_params,
		 int64_t *n_floats, struct err *e)
{
	struct param_row rows[N_ROWS];
	struct param_list l = { .rows = rows };

	if (check_shape(shape, e))
		return e->code;
	fill_rows(shape, rows);
	/* no row occurs twice in a layer */
	l.all = mem_alloc(N_ROWS * (size_t)(shape->encoder_layers + shape->decoder_layers),
			  sizeof(*l.all), e);
	if (!l.all)
		return e->code;
	add_params(&l, PARAMS_before_encoder, "", STACK_ENCODER, -1);
	add_stack_params(&l, STACK_ENCODER, shape->encoder_layers);
	add_params(&l, PARAMS_before_decoder, "", STACK_DECODER, -1);
	add_stack_params(&l, STACK_DECODER, shape->decoder_layers);
	*params = l.all;
	*n_params = l.n;
	*n_floats = l.floats;
	return 0;
}

int64_t model_inner_width(const struct model_shape *s, enum model_sublayer kind)
{
	struct param_row rows[N_ROWS];

	fill_rows(s, rows);
	for (size_t i = 0; i < N_ROWS; i++)
		if (rows[i].group == (enum param_group)kind &&
		    rows[i].param.field == offsetof(struct sublayer_weights, in))
			return rows[i].param.rows;
	return 0;
}

static bool is_product_weight(const struct model_param *p)
{
	return p->init != INIT_one && p->init != INIT_zero;
}

void model_product_weights(const struct model_shape *shape, double *source, double *target)
{
	struct model_param *params = NULL;
	size_t n;
	int64_t floats;
	struct err ignored;

	*source = *target = 0;
	if (model_params(shape, &params, &n, &floats, &ignored))
		*source = *target = NAN;
	for (size_t i = 0; params && i < n; i++) {
		const struct model_param *p = &params[i];
		/* the decoder projects keys and values of the source: a cost of each source token */
		const bool is_cross =
			p->sublayer < 0 && p->field == offsetof(struct model_weights, cross_kv);
		const bool of_source = is_cross || (p->sublayer >= 0 && p->stack == STACK_ENCODER);

		if (is_product_weight(p))
			*(of_source ? source : target) += (double)p->rows * (double)p->cols;
	}
	free(params);
}

int64_t model_widest(const struct model_param *params, size_t n, int64_t *largest)
{
	int64_t widest = 0;

	*largest = 0;
	for (size_t i = 0; i < n; i++) {
		if (is_product_weight(&params[i]) && params[i].init != INIT_table)
			widest = MAX(widest, params[i].rows);
		*largest = MAX(*largest, params[i].rows * params[i].cols);
	}
	return widest;
}

/* ---- views --------------------------------------------------------------- */

int model_alloc_views(struct model_weights *w, const struct model_shape *s, struct err *e)
{
	for (enum model_stack k = 0; k < N_STACKS; k++) {
		struct stack_weights *stack = &w->stack[k];

		stack->n = model_count_layers(s, k) * layer_lists[k].n;
		stack->sub = mem_alloc((size_t)stack->n + 1, sizeof(*stack->sub), e);
		if (!stack->sub)
			return e->code;
	}
	return 0;
}

static struct tensor *view_of(struct model_weights *w, const struct model_param *p)
{
	char *owner = p->sublayer < 0 ? (char *)w : (char *)&w->stack[p->stack].sub[p->sublayer];

	return (struct tensor *)(void *)(owner + p->field);
}

void model_set_views(struct model_weights *w, const struct model_param *params, size_t n,
		     float *flat, const float *const *tensors)
{
	for (size_t i = 0; i < n; i++) {
		const struct model_param *p = &params[i];
		/* drops the const: nothing writes to weights that are not trained */
		union {
			const float *from;
			float *to;
		} data = { .from = flat ? flat + p->offset : tensors[i] };

		*view_of(w, p) = tensor_f32(data.to, p->rows, p->cols);
	}
	w->output = w->embed;
}

/* Embeddings are read as rows of floats; the output layer is a view of its own. */
bool model_each_weight(struct model *m, model_visit *visit, void *context)
{
	for (size_t i = 0; i < m->n_params; i++) {
		const struct model_param *p = &m->params[i];
		struct tensor *view =
			p->init == INIT_table ? &m->weights.output : view_of(&m->weights, p);

		if (is_product_weight(p) && !visit(context, view))
			return false;
	}
	return true;
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

static void init_tensor(float *x, const struct model_param *p, const struct model_shape *s,
			struct rng_key key)
{
	const float deviation = 1 / sqrtf((float)s->d_model);
	const float fan_sum = p->init == INIT_glorot_ffn ? (float)s->d_model + (float)s->d_ff
							 : 2 * (float)s->d_model;
	const float limit = sqrtf(6 / fan_sum);
	const uint64_t n = (uint64_t)(p->rows * p->cols);

	for (uint64_t i = 0; i < n; i++) {
		switch (p->init) {
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
	float *room = NULL; /* with a GPU, one tensor in host memory */
	int64_t largest;

	model_widest(m->params, m->n_params, &largest);
	if (m->ops->has_device_memory && !(room = mem_alloc((size_t)largest, sizeof(*room), e)))
		return e->code;
	for (size_t i = 0; i < m->n_params; i++) {
		const struct model_param *p = &m->params[i];
		float *param = m->param + p->offset;

		init_tensor(room ? room : param, p, &m->shape,
			    rng_key_make(seed, RNG_INIT | (uint32_t)i << 8, 0, 0));
		if (room)
			m->ops->to_device(m->dev, param, room,
					  (size_t)(p->rows * p->cols) * sizeof(*room));
	}
	free(room);
	return m->ops->sync(m->dev, e);
}
