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

static const struct layer_list encoder_layer = { 2, { SUBLAYER_self, SUBLAYER_ffn } };
static const struct layer_list decoder_layers[] = {
	[DECODER_ATTENTION] = { 3, { SUBLAYER_self, SUBLAYER_cross, SUBLAYER_ffn } },
	[DECODER_SSRU] = { 3, { SUBLAYER_ssru, SUBLAYER_cross, SUBLAYER_ffn } },
};

static const char *const stack_names[N_STACKS] = { "encoder", "decoder" };

const struct layer_list *model_layer_list(const struct model_shape *s, enum model_stack stack)
{
	return stack == STACK_ENCODER ? &encoder_layer : &decoder_layers[s->decoder_self];
}

int32_t model_count_layers(const struct model_shape *shape, enum model_stack stack)
{
	return stack == STACK_ENCODER ? shape->encoder_layers : shape->decoder_layers;
}

int32_t model_heads(const struct model_shape *s, enum model_stack stack)
{
	return stack == STACK_DECODER && s->decoder_heads ? s->decoder_heads : s->heads;
}

int32_t model_ffn_width(const struct model_shape *s, enum model_stack stack)
{
	return stack == STACK_DECODER && s->decoder_ff ? s->decoder_ff : s->d_ff;
}

int32_t model_start_token(const struct model_shape *s)
{
	static const int32_t tokens[] = { TOKEN_START, TOKEN_END, -1 };

	return tokens[s->decoder_start];
}

int32_t model_longest_sentence(const struct model_shape *s)
{
	switch (s->positions) {
	case POSITIONS_SINUSOID:
	case POSITIONS_NONE:
		if (!s->position_offset)
			return INT32_MAX;
		break;
	case POSITIONS_LEARNED:
		return s->max_positions;
	}
	return ARCH_MAX_POSITIONS;
}

static bool has_tied_output(const struct model_shape *s)
{
	return s->tied_embeddings == TIED_ALL || s->tied_embeddings == TIED_OUTPUT;
}

/* Does the source have a table of its own? */
static bool has_source_table(const struct model_shape *s)
{
	return s->tied_embeddings == TIED_OUTPUT || s->tied_embeddings == TIED_NONE;
}

/* Does a norm have a shift? */
static bool has_shifts(const struct model_shape *s)
{
	return s->norm == NORM_LAYER;
}

static bool has_final_norm(const struct model_shape *s)
{
	return s->norm_place == NORM_PRE && s->final_norm == ARCH_YES;
}

/* ---- shapes ------------------------------------------------------------ */

/* The shape of a stranger's checkpoint: with these limits no product of its sizes overflows. */
#define MAX_WIDTH      (1 << 20) /* of d_model and d_ff */
#define MAX_VOCABULARY (1 << 26)

/* What must hold between the facts that are choices. */
static int check_architecture(const struct model_shape *s, struct err *e)
{
	if (s->positions == POSITIONS_LEARNED && s->max_positions < 8)
		return err_set(e, ERR_CONFIG,
			       "positions are learned and max_positions is %d: max_positions must "
			       "be at least 8",
			       s->max_positions);
	if (s->positions == POSITIONS_ROTARY &&
	    (s->d_model / s->heads % 2 || s->d_model / model_heads(s, STACK_DECODER) % 2))
		return err_set(e, ERR_CONFIG,
			       "positions are rotary and a head has d_model / heads = %d columns: "
			       "rotary positions need an even number",
			       s->d_model / s->heads);
	if (s->position_offset && s->positions > POSITIONS_SINUSOID_PAIRS)
		return err_set(e, ERR_CONFIG,
			       "position_offset is %d, but positions are not sinusoids: set "
			       "position_offset to 0",
			       s->position_offset);
	if (s->final_norm == ARCH_NO && s->norm_place == NORM_POST)
		return err_set(e, ERR_CONFIG,
			       "final_norm is no and norm_place is post: post-norm has no final "
			       "norm; leave final_norm out");
	if (s->source_vocabulary && !has_source_table(s))
		return err_set(e, ERR_CONFIG,
			       "source and target have vocabularies of their own, so they cannot "
			       "share a table: set tied_embeddings to output or none");
	if (s->source_vocabulary % 8 || s->real_source_vocabulary > s->source_vocabulary)
		return err_set(e, ERR_CONFIG,
			       "the source's embedding table has %d rows for %d entries: a "
			       "multiple of 8 that is no less is needed",
			       s->source_vocabulary, s->real_source_vocabulary);
	return 0;
}

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
	if (s->decoder_heads < 0 || s->d_model % model_heads(s, STACK_DECODER))
		return err_set(e, ERR_CONFIG,
			       "d_model %d cannot be divided into %d heads of the decoder: choose "
			       "decoder_heads that divide d_model",
			       s->d_model, s->decoder_heads);
	if (s->d_ff < 1 || s->decoder_ff < 0)
		return err_set(e, ERR_CONFIG, "d_ff is %d: d_ff must be at least 1",
			       s->d_ff < 1 ? s->d_ff : s->decoder_ff);
	if (s->encoder_layers < 1 || s->decoder_layers < 1 ||
	    s->encoder_layers > MODEL_MAX_LAYERS || s->decoder_layers > MODEL_MAX_LAYERS)
		return err_set(e, ERR_CONFIG,
			       "encoder_layers is %d and decoder_layers is %d: both must be 1..%d",
			       s->encoder_layers, s->decoder_layers, MODEL_MAX_LAYERS);
	if (s->d_model > MAX_WIDTH || s->d_ff > MAX_WIDTH || s->decoder_ff > MAX_WIDTH ||
	    s->vocabulary > MAX_VOCABULARY || s->source_vocabulary > MAX_VOCABULARY)
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
	return check_architecture(s, e);
}

int model_shape_from_conf(struct model_shape *shape, const struct conf *c, struct err *e)
{
	*shape = (struct model_shape){ .vocabulary = shape->vocabulary,
				       .real_vocabulary = shape->real_vocabulary,
				       .source_vocabulary = shape->source_vocabulary,
				       .real_source_vocabulary = shape->real_source_vocabulary };
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
	bool exists;
};

enum {
#define PARAM(...)	 +1
#define PARAM_MODEL(...) +1
	N_ROWS = 0
#include "train/model/params.def"
};

/* The rows with the sizes of a stack. */
static void fill_rows(const struct model_shape *s, enum model_stack stack,
		      struct param_row rows[N_ROWS])
{
	const int64_t D = s->d_model, F = model_ffn_width(s, stack), G = s->gated_ffn ? 2 * F : F,
		      V = s->vocabulary, W = s->source_vocabulary ? s->source_vocabulary : V,
		      L = s->decoder_layers, P = s->max_positions;
	size_t n = 0;

#define ROW(group, owner, field_, name, rows_, cols_, init_, when)                                 \
	rows[n++] = (struct param_row){ group,                                                     \
					name,                                                      \
					{ .rows = rows_,                                           \
					  .cols = cols_,                                           \
					  .init = INIT_##init_,                                    \
					  .field = offsetof(struct owner, field_) },               \
					when };
#define PARAM(kind, field, ...)	       ROW(PARAMS_##kind, sublayer_weights, field, __VA_ARGS__)
#define PARAM_MODEL(stack, field, ...) ROW(PARAMS_before_##stack, model_weights, field, __VA_ARGS__)
#include "train/model/params.def"
}

struct param_list {
	const struct model_shape *shape;
	struct param_row rows[N_ROWS]; /* of the current stack */
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

		if (row->group != group || !row->exists)
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

static void add_stack_params(struct param_list *l, enum model_stack stack)
{
	const struct layer_list *list = model_layer_list(l->shape, stack);
	const int32_t n = model_count_layers(l->shape, stack) * list->n;
	char prefix[32];

	fill_rows(l->shape, stack, l->rows);
	add_params(l, stack == STACK_ENCODER ? PARAMS_before_encoder : PARAMS_before_decoder, "",
		   stack, -1);

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
	struct param_list l = { .shape = shape };

	if (check_shape(shape, e))
		return e->code;
	/* no row occurs twice in a layer */
	l.all = mem_alloc(N_ROWS * (size_t)(shape->encoder_layers + shape->decoder_layers),
			  sizeof(*l.all), e);
	if (!l.all)
		return e->code;
	add_stack_params(&l, STACK_ENCODER);
	add_stack_params(&l, STACK_DECODER);
	*params = l.all;
	*n_params = l.n;
	*n_floats = l.floats;
	return 0;
}

int64_t model_inner_width(const struct model_shape *s, enum model_stack stack,
			  enum model_sublayer kind)
{
	struct param_row rows[N_ROWS];

	fill_rows(s, stack, rows);
	for (size_t i = 0; i < N_ROWS; i++)
		if (rows[i].group == (enum param_group)kind &&
		    rows[i].param.field == offsetof(struct sublayer_weights, in))
			return rows[i].param.rows;
	return 0;
}

static bool is_product_weight(const struct model_param *p)
{
	return p->init != INIT_one && p->init != INIT_zero && p->init != INIT_rows;
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

		stack->n = model_count_layers(s, k) * model_layer_list(s, k)->n;
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
	w->output = w->source_embed = (struct tensor){ .data = NULL };
	for (size_t i = 0; i < n; i++) {
		const struct model_param *p = &params[i];
		/* drops the const: nothing writes to weights that are not trained */
		union {
			const float *from;
			float *to;
		} data = { .from = flat ? flat + p->offset : tensors[i] };

		*view_of(w, p) = tensor_f32(data.to, p->rows, p->cols);
	}
	if (!w->output.data)
		w->output = w->embed;
	if (!w->source_embed.data)
		w->source_embed = w->embed;
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

/* depth: of the layer, from 1; 1 unless weights depend on it. */
static void init_tensor(float *x, const struct model_param *p, const struct model_shape *s,
			int32_t depth, struct rng_key key)
{
	const float deviation = 1 / sqrtf((float)s->d_model);
	const float fan_sum = p->init == INIT_glorot_ffn
				      ? (float)s->d_model + (float)model_ffn_width(s, p->stack)
				      : 2 * (float)s->d_model;
	const float limit = sqrtf(6 / (fan_sum * (float)depth));
	const uint64_t n = (uint64_t)(p->rows * p->cols);

	for (uint64_t i = 0; i < n; i++) {
		switch (p->init) {
		case INIT_table:
		case INIT_rows:
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

/* The depth that the initial weights of a tensor depend on. */
static int32_t depth_of(const struct model *m, const struct model_param *p, bool by_depth)
{
	return by_depth && p->sublayer >= 0
		       ? p->sublayer / model_layer_list(&m->shape, p->stack)->n + 1
		       : 1;
}

static int init_model(struct model *m, uint64_t seed, bool by_depth, struct err *e)
{
	float *room = NULL; /* with a GPU, one tensor in host memory */
	int64_t largest;

	model_widest(m->params, m->n_params, &largest);
	if (m->ops->has_device_memory && !(room = mem_alloc((size_t)largest, sizeof(*room), e)))
		return e->code;
	for (size_t i = 0; i < m->n_params; i++) {
		const struct model_param *p = &m->params[i];
		float *param = m->param + p->offset;

		init_tensor(room ? room : param, p, &m->shape, depth_of(m, p, by_depth),
			    rng_key_make(seed, RNG_INIT | (uint32_t)i << 8, 0, 0));
		if (room)
			m->ops->to_device(m->dev, param, room,
					  (size_t)(p->rows * p->cols) * sizeof(*room));
	}
	free(room);
	return m->ops->sync(m->dev, e);
}

int model_init(struct model *m, uint64_t seed, struct err *e)
{
	return init_model(m, seed, false, e);
}

int model_init_by_depth(struct model *m, uint64_t seed, struct err *e)
{
	return init_model(m, seed, true, e);
}
