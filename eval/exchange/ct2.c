/* ct2.c - writes model.bin of CTranslate2; see ct2.h */
#include "eval/exchange/ct2.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/exchange/weight_map.h"
#include "kernels/ops/ops.h"
#include "share/base/mem.h"

enum type { FLOAT, INT8, INT16 };
enum group { GROUP_model, GROUP_encoder, GROUP_decoder };
enum kind { KIND_matrix, KIND_vector, KIND_slice };

static const uint32_t type_bytes[] = { [FLOAT] = 4, [INT8] = 1, [INT16] = 2 };

/* A variable of the file: weights, the scales of their rows, positions, or one number. */
struct ct2_variable {
	char name[96];
	enum type type;
	int n_dims; /* 0: a number */
	int64_t rows, cols;
	const unsigned char *data; /* (rows, cols) floats of any alignment, borrowed */
	bool scales;		   /* the variable is the scales of data's rows */
	bool positions;		   /* the variable is the sinusoids */
	int number;
};

struct alias {
	const char *name, *same_as;
};

static const struct alias aliases[] = {
#define CT2_ALIAS(foreign_name, same) { foreign_name, same },
#include "eval/exchange/ct2.def"
};

static const struct ct2_tensor_row {
	enum group group;
	enum kind kind;
	const char *foreign_name, *own_name;
} rows[] = {
#define CT2_TENSOR(group, kind, foreign_name, own_name)                                            \
	{ GROUP_##group, KIND_##kind, foreign_name, own_name },
#include "eval/exchange/ct2.def"
};

/* ---- the list of variables ---------------------------------------------------------------- */

struct ct2_variable_list {
	const struct safetensors *weights; /* borrowed */
	const struct model_shape *shape;   /* borrowed */
	struct model_param *params;	   /* owned: names and shapes of Werkbank's tensors */
	size_t n_params;
	struct ct2_variable *items; /* owned */
	size_t n, cap;
	bool int8;
};

/* Appends a variable; valid until the next call. NULL: out of memory. */
static struct ct2_variable *add_ct2_variable(struct ct2_variable_list *l, const char *pattern,
					     int32_t layer, struct err *e)
{
	struct ct2_variable *v;

	if (mem_grow(&l->items, &l->cap, l->n + 1, sizeof(*l->items), e))
		return NULL;
	v = &l->items[l->n++];
	*v = (struct ct2_variable){ .type = FLOAT };
	weight_layer_name(v->name, sizeof(v->name), pattern, layer);
	return v;
}

/* Appends NAME_scale for the last variable. */
static int add_scales(struct ct2_variable_list *l, struct err *e)
{
	const struct ct2_variable of = l->items[l->n - 1]; /* a copy: items may move */
	struct ct2_variable *v = add_ct2_variable(l, of.name, 0, e);

	if (!v)
		return e->code;
	*v = of;
	strncat(v->name, "_scale", sizeof(v->name) - strlen(v->name) - 1);
	v->type = FLOAT;
	v->n_dims = 1;
	v->scales = true;
	return 0;
}

static int add_tensor(struct ct2_variable_list *l, const struct ct2_tensor_row *row, int32_t layer,
		      struct err *e)
{
	const int64_t d = l->shape->d_model;
	const struct model_param *p =
		weight_own_param(l->params, l->n_params, row->own_name, layer);
	struct ct2_variable *v;

	if (!p)
		return err_set(e, ERR_INTERNAL, "the model has no tensor \"%s\"", row->own_name);
	v = add_ct2_variable(l, row->foreign_name, layer, e);
	if (!v)
		return e->code;
	v->data = safetensors_get(l->weights, p->name, p->rows, p->cols, e);
	if (!v->data)
		return e->code;
	v->n_dims = row->kind == KIND_vector ? 1 : 2;
	v->rows = p->rows;
	v->cols = p->cols;
	if (row->kind == KIND_slice) {
		assert(2 * d * (layer + 1) <= p->rows && p->cols == d);
		v->rows = 2 * d;
		v->data += (size_t)(2 * d * layer * d) * sizeof(float);
	} else if (row->group == GROUP_model && row->kind == KIND_matrix) {
		v->rows = l->shape->real_vocabulary;
	}
	if (row->kind == KIND_vector || !l->int8)
		return 0;
	v->type = INT8;
	return add_scales(l, e);
}

static int add_tensors(struct ct2_variable_list *l, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int32_t layers = rows[i].group == GROUP_encoder	  ? l->shape->encoder_layers
				 : rows[i].group == GROUP_decoder ? l->shape->decoder_layers
								  : 1;

		for (int32_t layer = 0; layer < layers; layer++)
			if (add_tensor(l, &rows[i], layer, e))
				return e->code;
	}
	return 0;
}

static int add_number(struct ct2_variable_list *l, const char *name, enum type type, int value,
		      struct err *e)
{
	struct ct2_variable *v = add_ct2_variable(l, name, 0, e);

	if (!v)
		return e->code;
	v->type = type;
	v->number = value;
	return 0;
}

static int add_positions(struct ct2_variable_list *l, const char *name, struct err *e)
{
	struct ct2_variable *v = add_ct2_variable(l, name, 0, e);

	if (!v)
		return e->code;
	v->n_dims = 2;
	v->rows = CT2_POSITIONS_ROWS;
	v->cols = l->shape->d_model;
	v->positions = true;
	return 0;
}

static int by_variable_name(const void *a, const void *b)
{
	const struct ct2_variable *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int fill_list(struct ct2_variable_list *l, struct err *e)
{
	const int heads = l->shape->heads;
	int64_t floats;

	if (model_params(l->shape, &l->params, &l->n_params, &floats, e) || add_tensors(l, e))
		return e->code;
#define CT2_NUMBER(foreign_name, type, value)                                                      \
	if (add_number(l, foreign_name, type, value, e))                                           \
		return e->code;
#define CT2_POSITIONS(foreign_name)                                                                \
	if (add_positions(l, foreign_name, e))                                                     \
		return e->code;
#include "eval/exchange/ct2.def"
	qsort(l->items, l->n, sizeof(*l->items), by_variable_name);
	return 0;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* The stream remembers failures: ct2_write() checks ferror() at the end. */
static void put_ct2_bytes(FILE *out, const void *bytes, size_t n)
{
	(void)!fwrite(bytes, 1, n, out);
}

static void put_ct2_number(FILE *out, uint32_t value, size_t bytes)
{
	unsigned char b[4];

	for (size_t i = 0; i < bytes; i++)
		b[i] = (unsigned char)(value >> 8 * i);
	put_ct2_bytes(out, b, bytes);
}

static void put_ct2_text(FILE *out, const char *text)
{
	size_t n = strlen(text) + 1;

	put_ct2_number(out, (uint32_t)n, 2);
	put_ct2_bytes(out, text, n);
}

/* The factor that maps a row to -127 ... 127; 1 for a row of zeros. */
static float row_scale(const float *x, int64_t n)
{
	float amax = 0;

	for (int64_t i = 0; i < n; i++)
		amax = fmaxf(amax, fabsf(x[i]));
	return 127 / (amax > 0 ? amax : 127);
}

static void put_ct2_row(FILE *out, const struct ct2_variable *v, const float *x, int8_t *integers)
{
	float scale;

	if (v->type != INT8 && !v->scales) {
		put_ct2_bytes(out, x, (size_t)v->cols * sizeof(*x));
		return;
	}
	scale = row_scale(x, v->cols);
	if (v->scales) {
		put_ct2_bytes(out, &scale, sizeof(scale));
		return;
	}
	for (int64_t i = 0; i < v->cols; i++)
		integers[i] = (int8_t)rintf(x[i] * scale);
	put_ct2_bytes(out, integers, (size_t)v->cols);
}

void ct2_position_row(float *x, int64_t d, int64_t r)
{
	static const struct dropout none;
	const int32_t no_token = -1, position = (int32_t)r;

	ops_ref()->embed(NULL, tensor_f32(x, 1, d), tensor_f32(x, 1, d), &no_token, &position,
			 (struct embed_how){ .scale = 1 }, none);
}

static void put_variable(FILE *out, const struct ct2_variable *v, float *x, int8_t *integers)
{
	int64_t dims[] = { v->rows, v->cols };
	int64_t elements = 1, row_elements = v->scales ? 1 : v->cols;

	if (v->n_dims == 1)
		dims[0] = v->scales ? v->rows : v->cols;
	put_ct2_text(out, v->name);
	put_ct2_number(out, (uint32_t)v->n_dims, 1);
	for (int i = 0; i < v->n_dims; i++) {
		put_ct2_number(out, (uint32_t)dims[i], 4);
		elements *= dims[i];
	}
	put_ct2_number(out, v->type, 1);
	put_ct2_number(out, (uint32_t)elements * type_bytes[v->type], 4);
	if (v->n_dims == 0) {
		put_ct2_number(out, (uint32_t)v->number, type_bytes[v->type]);
		return;
	}
	for (int64_t r = 0; r < elements / row_elements; r++) {
		if (v->positions)
			ct2_position_row(x, v->cols, r);
		else
			memcpy(x, v->data + (size_t)(r * v->cols) * sizeof(*x),
			       (size_t)v->cols * sizeof(*x));
		put_ct2_row(out, v, x, integers);
	}
}

static int check_ct2_sizes(const struct ct2_variable_list *l, struct err *e)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->items[i].rows * l->items[i].cols > UINT32_MAX / 4)
			return err_set(e, ERR_DATA,
				       "%s is larger than 4 GiB, the limit of a tensor in "
				       "CTranslate2's format",
				       l->items[i].name);
	return 0;
}

int ct2_write(FILE *out, const struct safetensors *weights, const struct model_shape *shape,
	      bool int8, struct err *e)
{
	struct ct2_variable_list l = { .weights = weights, .shape = shape, .int8 = int8 };
	size_t longest = (size_t)MAX(shape->d_model, shape->d_ff);
	float *x = mem_alloc(longest, sizeof(*x), e);
	int8_t *integers = mem_alloc(longest, sizeof(*integers), e);
	int rc = x && integers ? fill_list(&l, e) : e->code;

	if (!rc)
		rc = check_ct2_sizes(&l, e);
	if (!rc) {
		put_ct2_number(out, CT2_FILE_VERSION, 4);
		put_ct2_text(out, "TransformerSpec");
		put_ct2_number(out, CT2_SPEC_REVISION, 4);
		put_ct2_number(out, (uint32_t)l.n, 4);
		for (size_t i = 0; i < l.n; i++)
			put_variable(out, &l.items[i], x, integers);
		put_ct2_number(out, ARRAY_LEN(aliases), 4);
		for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
			put_ct2_text(out, aliases[i].name);
			put_ct2_text(out, aliases[i].same_as);
		}
		if (ferror(out))
			rc = err_set_errno(e, ERR_IO, "cannot write the weights");
	}
	free(l.items);
	free(l.params);
	free(integers);
	free(x);
	return rc;
}
