/*
 * weight_load.c - fills the parameters of a model by the rules of weight_map.def and ct2.def; see weight_map.h
 *
 * A matrix is seen as (outputs, inputs), a vector as outputs with one input. Files that store matrices as
 * (inputs, outputs) are read row by row and written column by column.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/weights/ct2.h"
#include "eval/weights/weight_map.h"
#include "eval/weights/weight_rules.h"
#include "share/base/mem.h"
#include "share/base/text.h"

struct weight_loader {
	struct weight_map *t;
	const struct model_shape *shape;
	struct model_param *params; /* owned */
	size_t n_params;
	int64_t *filled; /* (n_params) owned: values so far */
	float *arena;
	float *row, *other; /* owned: scratch for the widest row of the file */
};

/* ---- one tensor -------------------------------------------------------- */

static int wrong_shape(const struct weight_loader *k, const struct import_tensor *x, int64_t rows,
		       int64_t cols, struct err *e)
{
	return err_set(e, ERR_DATA, "%s: \"%s\" is %lld x %lld, but %lld x %lld was expected",
		       k->t->f->path, x->name, (long long)x->rows, (long long)x->cols,
		       (long long)rows, (long long)cols);
}

/* n elements of a bias that the model does not have must be zero. */
static int check_zero(struct weight_loader *k, const struct import_tensor *x, int64_t from,
		      int64_t n, struct err *e)
{
	if (x->rows != 1 || from + n > x->cols)
		return wrong_shape(k, x, 1, from + n, e);
	if (import_read_floats(k->t->f, x, 0, from, n, k->row, e))
		return e->code;
	for (int64_t i = 0; i < n; i++)
		if (k->row[i] != 0)
			return err_set(e, ERR_DATA,
				       "%s: \"%s\" is not zero, but the model has no such bias by "
				       "its other tensors",
				       k->t->f->path, x->name);
	return 0;
}

/* The part of a foreign tensor that a rule copies, in outputs. */
struct tensor_part {
	int64_t outputs, inputs; /* of the foreign tensor */
	int64_t from, n, to;	 /* to: of the own tensor */
};

static int copy_tensor_part(struct weight_loader *k, const struct import_tensor *x,
			    const struct model_param *p, const struct tensor_part *a,
			    bool is_transposed, struct err *e)
{
	float *to = k->arena + p->offset + a->to * a->inputs;
	const struct import_reader *f = k->t->f;

	if (a->inputs == 1)
		return import_read_floats(f, x, 0, a->from, a->n, to, e);
	for (int64_t i = 0; !is_transposed && i < a->n; i++)
		if (import_read_floats(f, x, a->from + i, 0, a->inputs, to + i * a->inputs, e))
			return e->code;
	for (int64_t i = 0; is_transposed && i < a->inputs; i++) {
		if (import_read_floats(f, x, i, a->from, a->n, k->row, e))
			return e->code;
		for (int64_t j = 0; j < a->n; j++)
			to[j * a->inputs + i] = k->row[j];
	}
	return 0;
}

static int load_tensor_part(struct weight_loader *k, const struct weight_rule *r,
			    const struct import_tensor *x, const struct model_param *p,
			    int32_t layer, struct err *e)
{
	const int64_t d = k->shape->d_model, outputs = p->rows == 1 ? p->cols : p->rows;
	const bool is_vector = p->rows == 1, is_transposed = k->t->scheme == NAMING_marian ||
							     k->t->scheme == NAMING_openseq2seq;
	struct tensor_part a = { .inputs = is_vector ? 1 : p->cols,
				 .outputs = r->rows ? r->of * d : outputs,
				 .from = r->from * d,
				 .n = r->rows ? r->rows * d : outputs,
				 .to = r->to * d };
	int64_t rows, cols;

	if (weight_rule_is_memory(r))
		a.to += 2 * d * layer;
	if (r->half && k->shape->gated_ffn) {
		a.outputs = a.n = outputs / 2;
		a.to = r->half == 2 ? a.n : 0;
	}
	rows = is_vector || is_transposed ? a.inputs : a.outputs;
	cols = is_vector || is_transposed ? a.outputs : a.inputs;
	if (x->rows != rows || x->cols != cols || a.to + a.n > outputs)
		return wrong_shape(k, x, rows, cols, e);
	assert(a.from + a.n <= a.outputs);
	k->filled[p - k->params] += a.n * a.inputs;
	return copy_tensor_part(k, x, p, &a, is_transposed, e);
}

static int load_one_tensor(struct weight_loader *k, const struct weight_rule *r, int32_t layer,
			   struct err *e)
{
	const int64_t d = k->shape->d_model;
	const struct model_param *p =
		r->own_name ? weight_own_param(k->params, k->n_params, r->own_name, layer) : NULL;
	char name[256];
	struct import_tensor *x = weight_foreign_tensor(k->t, r->foreign_name, layer, name);

	/* check_unused_tensor() refuses the tensor, if the file has it */
	if ((r->kind >= RULE_ln_post || r->half) && !weight_rule_applies(r, k->shape))
		return 0;
	if (!x && p && r->kind != RULE_optional)
		return err_set(e, ERR_DATA, "%s has no tensor \"%s\": the architecture differs",
			       k->t->f->path, name);
	if (!x && p && r->kind == RULE_optional) /* the parameter stays zero */
		k->filled[p - k->params] +=
			r->rows ? r->rows * d * (p->rows == 1 ? 1 : p->cols) : p->rows * p->cols;
	if (!x || x == k->t->table)
		return 0;
	if (p && r->kind != RULE_zero && r->kind != RULE_drop) {
		x->is_used = true;
		return load_tensor_part(k, r, x, p, layer, e);
	}
	if (r->own_name && x->rows != 1) /* a matrix that the model does not have */
		return 0;
	x->is_used = true;
	if (r->of && (x->rows != 1 || x->cols != r->of * d))
		return wrong_shape(k, x, 1, r->of * d, e);
	return r->kind == RULE_drop
		       ? 0
		       : check_zero(k, x, r->from * d, r->rows ? r->rows * d : x->cols, e);
}

static int load_all_rules(struct weight_loader *k, struct err *e)
{
	const struct model_shape *s = k->shape;
	const struct weight_rule *r;

	for (size_t i = 0; (r = weight_rule_at(i)) != NULL; i++)
		for (int32_t layer = 0;
		     r->scheme == k->t->scheme && layer < weight_rule_layers(r, s); layer++)
			if (load_one_tensor(k, r, layer, e))
				return e->code;
	for (size_t i = 0; k->t->scheme == NAMING_own && i < k->n_params; i++) {
		const struct weight_rule same = { .scheme = NAMING_own,
						  .foreign_name = k->params[i].name,
						  .own_name = k->params[i].name };

		if (load_one_tensor(k, &same, 0, e))
			return e->code;
	}
	return 0;
}

/* ---- tables: a row for each token -------------------------------------- */

/* A table, or the output's bias. rows NULL: row = id. */
static int load_table(struct weight_loader *k, struct import_tensor *x, const char *own_name,
		      const int32_t *rows, struct err *e)
{
	const bool is_source = !strcmp(own_name, "encoder.embed") && k->shape->source_vocabulary;
	const struct model_param *p = weight_own_param(k->params, k->n_params, own_name, 0);
	const bool is_bias = p->rows == 1;
	const int64_t tokens = is_bias ? x->cols : x->rows, cols = is_bias ? 1 : p->cols;
	int32_t n = is_source ? k->shape->real_source_vocabulary : k->shape->real_vocabulary;

	if (!rows && tokens == (is_bias ? p->cols : p->rows))
		n = (int32_t)tokens;
	if (is_bias ? x->rows != 1 : x->cols != cols)
		return wrong_shape(k, x, is_bias ? 1 : tokens, is_bias ? tokens : cols, e);
	if (tokens != n && !rows)
		return err_set(
			e, ERR_DATA,
			"%s: \"%s\" has %lld rows, but the vocabulary has %d entries: give the "
			"vocabulary of this model",
			k->t->f->path, x->name, (long long)tokens, n);
	for (int32_t i = 0; i < n; i++) {
		const int64_t r = rows ? rows[i] : i;

		if (r >= tokens)
			return err_set(e, ERR_DATA,
				       "%s: \"%s\" has %lld rows, but a token of the vocabulary "
				       "has number %lld",
				       k->t->f->path, x->name, (long long)tokens, (long long)r);
		if (r >= 0 && import_read_floats(k->t->f, x, is_bias ? 0 : r, is_bias ? r : 0, cols,
						 k->arena + p->offset + i * cols, e))
			return e->code;
	}
	k->filled[p - k->params] = p->rows * p->cols; /* further rows belong to no token */
	x->is_used = true;
	return 0;
}

/* Without a bias in the file all logits have the bias 0; a token without a row must not be predicted. */
static void fill_output_bias(struct weight_loader *k, const int32_t *rows)
{
	const struct model_param *p = weight_own_param(k->params, k->n_params, "output.bias", 0);

	if (!p)
		return;
	for (int32_t i = 0; rows && i < k->shape->real_vocabulary; i++)
		/* a start token that has the row of padding is no token of its own */
		if (rows[i] < 0 || (i == TOKEN_START && rows[i] == rows[TOKEN_PAD]))
			k->arena[p->offset + i] = WEIGHT_NO_TOKEN_BIAS;
	k->filled[p - k->params] = p->cols;
}

static int load_tables(struct weight_loader *k, const struct weight_rows *rows, struct err *e)
{
	const struct weight_table_rule *r;
	char name[256];

	if (load_table(k, k->t->table, "embed", rows->target, e))
		return e->code;
	for (size_t i = 0; (r = weight_table_at(i)) != NULL; i++) {
		const bool is_source = !strcmp(r->own_name, "encoder.embed");
		struct import_tensor *x =
			r->scheme == k->t->scheme && strcmp(r->own_name, "embed") != 0
				? weight_foreign_tensor(k->t, r->foreign_name, 0, name)
				: NULL;

		if (x && weight_own_param(k->params, k->n_params, r->own_name, 0) &&
		    load_table(k, x, r->own_name,
			       is_source && rows->source ? rows->source : rows->target, e))
			return e->code;
	}
	fill_output_bias(k, rows->target);
	return 0;
}

/* ---- tensors that no rule has read ------------------------------------- */

/* A further table must be equal to the embedding table. */
static int check_equal_table(struct weight_loader *k, const struct import_tensor *x, struct err *e)
{
	const struct import_tensor *table = k->t->table;
	const int64_t d = k->shape->d_model;

	if (x->rows != table->rows || x->cols != table->cols)
		return wrong_shape(k, x, table->rows, table->cols, e);
	for (int64_t r = 0; r < x->rows && x->data != table->data; r++) {
		if (import_read_floats(k->t->f, x, r, 0, d, k->row, e) ||
		    import_read_floats(k->t->f, table, r, 0, d, k->other, e))
			return e->code;
		if (memcmp(k->row, k->other, (size_t)d * sizeof(float)) != 0)
			return err_set(e, ERR_DATA,
				       "%s: \"%s\" and \"%s\" differ, but by its other files the "
				       "model has one table for both",
				       k->t->f->path, table->name, x->name);
	}
	return 0;
}

/* Is row r of a table of positions that of the sinusoids? */
static bool is_sinusoid_row(const float *row, int64_t d, double position, enum arch_positions kind,
			    double tolerance)
{
	const int64_t half = d / 2;
	const double divisor =
		kind == POSITIONS_SINUSOID ? (double)MAX(half - 1, 1) : (double)d / 2;
	const bool has_pairs = kind == POSITIONS_SINUSOID_PAIRS;

	for (int64_t i = 0; i < half; i++) {
		const double angle = position * exp(-log(10000.0) * (double)i / divisor);

		if (!(fabs((double)row[has_pairs ? 2 * i : i] - sin(angle)) <= tolerance) ||
		    !(fabs((double)row[has_pairs ? 2 * i + 1 : half + i] - cos(angle)) <=
		      tolerance))
			return false;
	}
	return true;
}

/* The tolerance allows for half precision, and grows with the position because the angle's rounding does. */
int weight_find_positions(const struct import_reader *f, const struct import_tensor *x,
			  int32_t offset, enum arch_positions *kind, struct err *e)
{
	const double tolerance = x->type == IMPORT_BF16	 ? 0x1p-8
				 : x->type == IMPORT_F16 ? 0x1p-11
							 : 1e-5;
	const int64_t rows = MIN(x->rows, CT2_POSITIONS_ROWS);
	float *row = mem_alloc((size_t)x->cols, sizeof(*row), e);
	bool is_kind[] = { true, true, true };
	int rc = row ? 0 : e->code;

	for (int64_t r = 0; !rc && r < rows; r++) {
		rc = import_read_floats(f, x, r, 0, x->cols, row, e);
		for (size_t i = 0; !rc && i < ARRAY_LEN(is_kind); i++)
			is_kind[i] =
				is_kind[i] && is_sinusoid_row(row, x->cols, (double)(r + offset),
							      (enum arch_positions)i,
							      tolerance + (double)r * 1e-6);
	}
	*kind = is_kind[0]   ? POSITIONS_SINUSOID
		: is_kind[1] ? POSITIONS_SINUSOID_2K
		: is_kind[2] ? POSITIONS_SINUSOID_PAIRS
			     : POSITIONS_LEARNED;
	free(row);
	return rc;
}

/* A table of positions must be that of the model. */
static int check_positions(struct weight_loader *k, const struct import_tensor *x, struct err *e)
{
	enum arch_positions kind;

	if (x->n_dims < 2 || x->cols != k->shape->d_model)
		return wrong_shape(k, x, x->rows, k->shape->d_model, e);
	if (weight_find_positions(k->t->f, x, k->shape->position_offset, &kind, e))
		return e->code;
	if ((int32_t)kind != k->shape->positions)
		return err_set(e, ERR_DATA,
			       "%s: the positions in \"%s\" are not the sinusoids of such a model",
			       k->t->f->path, x->name);
	return 0;
}

static int check_unused_tensor(struct weight_loader *k, const struct import_tensor *x,
			       struct err *e)
{
	if (weight_is_positions(x))
		return check_positions(k, x, e);
	if (x->n_dims == 0 && import_tensor_number(x) == 0) /* a feature that is switched off */
		return 0;
	if (x->rows == 1 && x->cols == k->t->table->rows && text_ends_with(x->name, "bias"))
		return check_zero(k, x, 0, x->cols, e);
	if (x->n_dims == 2 && x->rows == k->t->table->rows && x->cols == k->t->table->cols)
		return check_equal_table(k, x, e);
	return err_set(e, ERR_DATA,
		       "%s: Werkbank's Transformer has no tensor like \"%s\": the architecture "
		       "differs",
		       k->t->f->path, x->name);
}

/* ---- all --------------------------------------------------------------- */

static int alloc_loader(struct weight_loader *k, struct err *e)
{
	int64_t floats, widest = 1;
	int rc = model_params(k->shape, &k->params, &k->n_params, &floats, e);

	for (size_t i = 0; i < k->t->f->n; i++)
		widest = MAX(widest, k->t->f->all[i].cols);
	if (!rc && !(k->filled = mem_alloc(k->n_params, sizeof(*k->filled), e)))
		rc = e->code;
	k->row = rc ? NULL : mem_alloc((size_t)widest, sizeof(*k->row), e);
	k->other = k->row ? mem_alloc((size_t)widest, sizeof(*k->other), e) : NULL;
	return !rc && !k->other ? e->code : rc;
}

static int check_filled(const struct weight_loader *k, struct err *e)
{
	for (size_t i = 0; i < k->n_params; i++)
		if (k->filled[i] != k->params[i].rows * k->params[i].cols)
			return err_set(e, ERR_DATA,
				       "%s: no tensor of the file gives \"%s\" of Werkbank's "
				       "Transformer: the architecture differs",
				       k->t->f->path, k->params[i].name);
	return 0;
}

int weight_map_load(struct weight_map *t, const struct model_shape *shape,
		    const struct weight_rows *rows, float *arena, struct err *e)
{
	struct weight_loader k = { .t = t, .shape = shape, .arena = arena };
	int rc = alloc_loader(&k, e);

	assert(shape->d_model == t->shape.d_model && shape->d_ff == t->shape.d_ff);

	if (!rc)
		rc = load_all_rules(&k, e);
	if (!rc)
		rc = load_tables(&k, rows, e);
	for (size_t i = 0; !rc && i < t->f->n; i++)
		if (!t->f->all[i].is_used) /* reading has marked the scales as used */
			rc = check_unused_tensor(&k, &t->f->all[i], e);
	if (!rc)
		rc = check_filled(&k, e);
	free(k.params);
	free(k.filled);
	free(k.row);
	free(k.other);
	return rc;
}
