/* weight_store.c - lists a model's weights by the rules of another program; see weight_store.h */
#include "eval/weights/weight_store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/weights/weight_rules.h"
#include "share/base/mem.h"
#include "share/base/text.h"

/* Appends an item; valid until the next call. NULL: out of memory. */
static struct weight_item *add_weight_item(struct weight_store *s, const char *pattern,
					   int32_t layer, struct err *e)
{
	struct weight_item *x;

	if (mem_grow(&s->items, &s->cap, s->n + 1, sizeof(*s->items), e))
		return NULL;
	x = &s->items[s->n++];
	*x = (struct weight_item){ .n_dims = 2 };
	weight_layer_name(x->name, sizeof(x->name), pattern, layer + (s->scheme == NAMING_marian));
	return x;
}

static const struct model_param *find_stored_param(const struct weight_store *s,
						   const char *own_name, int32_t layer)
{
	return weight_own_param(s->params, s->n_params, own_name, layer);
}

/* The product whose bias the model lacks; NULL: the model lacks the product, too. */
static const struct model_param *find_product_of_bias(const struct weight_store *s,
						      const struct weight_rule *r, int32_t layer)
{
	char name[64];
	const size_t n = strlen(r->own_name) - strlen(".bias");

	assert(r->kind == RULE_bias && n < sizeof(name));
	memcpy(name, r->own_name, n);
	name[n] = 0;
	return find_stored_param(s, name, layer);
}

/* A matrix is seen as (outputs, inputs), a vector as outputs with one input, as in weight_load.c. */
static int add_rule_item(struct weight_store *s, const struct weight_rule *r, int32_t layer,
			 struct err *e)
{
	const int64_t d = s->shape->d_model;
	const struct model_param *p = find_stored_param(s, r->own_name, layer), *product = NULL;
	struct weight_item *x;
	int64_t outputs, inputs, n, from;
	bool is_vector;

	if (!p && r->kind == RULE_bias)
		product = find_product_of_bias(s, r, layer);
	if (!p && !product)
		return 0;
	is_vector = product || p->rows == 1;
	outputs = product ? product->rows : is_vector ? p->cols : p->rows;
	inputs = is_vector ? 1 : p->cols;
	n = r->rows ? r->rows * d : outputs;
	from = r->to * d + (weight_rule_is_memory(r) ? 2 * d * layer : 0);
	if (r->half && s->shape->gated_ffn) {
		n = outputs / 2;
		from = r->half == 2 ? n : 0;
	}
	assert(from + n <= outputs);
	x = add_weight_item(s, r->foreign_name, layer, e);
	if (!x)
		return e->code;
	x->is_transposed = !is_vector && s->scheme == NAMING_marian;
	x->n_dims = is_vector && s->scheme != NAMING_marian ? 1 : 2;
	x->rows = is_vector ? 1 : x->is_transposed ? inputs : n;
	x->cols = is_vector || x->is_transposed ? n : inputs;
	x->stride = is_vector ? n : inputs;
	if (product)
		return 0;
	x->from = safetensors_get(s->weights, p->name, p->rows, p->cols, e);
	if (!x->from)
		return e->code;
	x->from += (size_t)(from * inputs) * sizeof(float);
	return 0;
}

static bool has_silent_token(const struct token_rows *rows)
{
	for (int32_t i = 0; i < rows->n_target; i++)
		if (rows->target[i].is_silent)
			return true;
	return false;
}

/* A table, or the bias of the logits, which a model without one needs for silent tokens. */
static int add_table_item(struct weight_store *s, const struct weight_table_rule *r,
			  const struct token_rows *rows, struct err *e)
{
	const bool is_source = !strcmp(r->own_name, "encoder.embed") && rows->n_source;
	const struct model_param *p = find_stored_param(s, r->own_name, 0);
	const bool is_bias = !strcmp(r->own_name, "output.bias");
	struct weight_item *x;

	if ((!p && !(is_bias && has_silent_token(rows))) || !weight_table_applies(r, s->shape))
		return 0;
	x = add_weight_item(s, r->foreign_name, 0, e);
	if (!x)
		return e->code;
	x->is_bias = is_bias;
	x->tokens = is_source ? rows->source : rows->target;
	x->rows = is_source ? rows->n_source : rows->n_target;
	x->cols = x->stride = s->shape->d_model;
	if (is_bias) {
		x->cols = x->rows;
		x->rows = 1;
		x->n_dims = s->scheme == NAMING_ctranslate2 ? 1 : 2;
	}
	if (!p)
		return 0;
	x->from = safetensors_get(s->weights, p->name, p->rows, p->cols, e);
	return x->from ? 0 : e->code;
}

/* Has an earlier row of the scheme written the own tensor? */
static bool is_table_stored(const struct weight_store *s, size_t i)
{
	const struct weight_table_rule *r = weight_table_at(i), *before;

	for (size_t k = 0; k < i; k++) {
		before = weight_table_at(k);
		if (before->scheme == s->scheme && !strcmp(before->own_name, r->own_name) &&
		    weight_table_applies(before, s->shape))
			return true;
	}
	return false;
}

int weight_store_open(struct weight_store *s, enum tensor_naming scheme,
		      const struct model_shape *shape, const struct safetensors *weights,
		      const struct token_rows *rows, struct err *e)
{
	const struct weight_rule *r;
	const struct weight_table_rule *t;
	int64_t floats;

	*s = (struct weight_store){ .scheme = scheme, .shape = shape, .weights = weights };
	if (model_params(shape, &s->params, &s->n_params, &floats, e))
		return e->code;
	for (size_t i = 0; (r = weight_rule_at(i)) != NULL; i++)
		for (int32_t layer = 0; r->scheme == scheme && weight_rule_applies(r, shape) &&
					layer < weight_rule_layers(r, shape);
		     layer++)
			if (add_rule_item(s, r, layer, e))
				return e->code;
	for (size_t i = 0; (t = weight_table_at(i)) != NULL; i++)
		if (t->scheme == scheme && !is_table_stored(s, i) && add_table_item(s, t, rows, e))
			return e->code;
	return 0;
}

int weight_store_add_positions(struct weight_store *s, const char *name, int64_t rows,
			       struct err *e)
{
	struct weight_item *x = add_weight_item(s, name, 0, e);

	if (!x)
		return e->code;
	x->rows = rows;
	x->cols = s->shape->d_model;
	x->is_positions = true;
	return 0;
}

int weight_store_add_copy(struct weight_store *s, const char *name, const char *of, struct err *e)
{
	const struct weight_item *from = weight_store_find(s, of);
	const size_t i = from ? (size_t)(from - s->items) : 0; /* items may move */
	struct weight_item *x = from ? add_weight_item(s, name, 0, e) : NULL;

	if (!x)
		return from ? e->code : 0;
	*x = s->items[i];
	snprintf(x->name, sizeof(x->name), "%s", name);
	return 0;
}

/* The logit's bias of a token. */
static float token_bias(const struct weight_item *x, const struct token_row *t)
{
	float bias = 0;

	if (t->is_silent)
		return WEIGHT_NO_TOKEN_BIAS;
	if (t->id >= 0 && x->from)
		memcpy(&bias, x->from + (size_t)t->id * sizeof(bias), sizeof(bias));
	return bias;
}

void weight_store_row(const struct weight_store *s, const struct weight_item *x, int64_t r,
		      float *out)
{
	assert(r >= 0 && r < x->rows);
	if (x->is_positions) {
		model_sinusoid_row(out, s->shape, r);
	} else if (x->is_bias) {
		for (int64_t i = 0; i < x->cols; i++)
			out[i] = token_bias(x, &x->tokens[i]);
	} else if (!x->from || (x->tokens && x->tokens[r].id < 0)) {
		memset(out, 0, (size_t)x->cols * sizeof(*out));
	} else if (x->is_transposed) {
		for (int64_t i = 0; i < x->cols; i++)
			memcpy(&out[i], x->from + (size_t)(i * x->stride + r) * sizeof(*out),
			       sizeof(*out));
	} else {
		const int64_t at = x->tokens ? x->tokens[r].id : r;

		memcpy(out, x->from + (size_t)(at * x->stride) * sizeof(*out),
		       (size_t)x->cols * sizeof(*out));
	}
}

const struct weight_item *weight_store_find(const struct weight_store *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->items[i].name, name))
			return &s->items[i];
	return NULL;
}

int64_t weight_store_widest(const struct weight_store *s)
{
	int64_t widest = 1;

	for (size_t i = 0; i < s->n; i++)
		widest = MAX(widest, s->items[i].cols);
	return widest;
}

void weight_store_close(struct weight_store *s)
{
	free(s->items);
	free(s->params);
	*s = (struct weight_store){ .n = 0 };
}
