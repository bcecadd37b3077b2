/*
 * ct2_shape.c - the architecture that the numbers and tensors of CTranslate2's TransformerSpec describe; see ct2.h
 *
 * Sources: transformer_spec.py and layers/transformer.cc of CTranslate2 4.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/weights/ct2.h"
#include "share/base/mem.h"
#include "share/base/text.h"

static const int32_t activations[] = { ACTIVATION_relu, ACTIVATION_gelu_tanh, ACTIVATION_silu,
				       ACTIVATION_gelu, ACTIVATION_gelu_sigmoid };

int ct2_activation(int32_t activation)
{
	int i = 0;

	while (activations[i] != activation)
		i++;
	return i;
}

/* The number "STACK/NAME"; NAN: the file does not have it. */
static double stack_number(struct weight_map *t, const char *stack, const char *name)
{
	char full[80];
	struct import_tensor *x;

	snprintf(full, sizeof(full), "%s/%s", stack, name);
	x = import_find_tensor(t->f, full);
	if (!x)
		return (double)NAN;
	x->is_used = true;
	return import_tensor_number(x);
}

static int refuse_number(const struct weight_map *t, const char *stack, const char *name,
			 double value, const char *what, struct err *e)
{
	return err_set(e, ERR_DATA, "%s: %s/%s is %g: %s", t->f->path, stack, name, value, what);
}

/* Numbers that must be 0 if the file has them. */
static int check_zero_numbers(struct weight_map *t, const char *stack, struct err *e)
{
	static const char *const zeros[][2] = {
		{ "alibi", "it has ALiBi instead of position embeddings" },
		{ "alibi_use_positive_positions", "it has ALiBi instead of position embeddings" },
		{ "scale_alibi", "it has ALiBi instead of position embeddings" },
		{ "multi_query_attention", "its heads share their keys and values" },
		{ "embeddings_merge", "its source has several embeddings" },
	};

	for (size_t i = 0; i < ARRAY_LEN(zeros); i++) {
		const double v = stack_number(t, stack, zeros[i][0]);

		if (!isnan(v) && v != 0)
			return refuse_number(t, stack, zeros[i][0], v, zeros[i][1], e);
	}
	stack_number(t, stack, "alignment_heads"); /* they do not change translations */
	stack_number(t, stack, "alignment_layer");
	return 0;
}

/* embedding_scale: a switch, or the factor itself. */
static int read_scale(struct weight_map *t, const char *stack, int32_t *scale, struct err *e)
{
	const double v = stack_number(t, stack, "scale_embeddings"), d = t->shape.d_model;
	char name[80];
	const struct import_tensor *x;

	snprintf(name, sizeof(name), "%s/scale_embeddings", stack);
	x = import_find_tensor(t->f, name);
	if (!x || (x->type == IMPORT_I8 && v == 1) || fabs(v - sqrt(d)) < 1e-4 * sqrt(d))
		*scale = SCALE_SQRT;
	else if ((x->type == IMPORT_I8 && v == 0) || v == 1)
		*scale = SCALE_ONE;
	else
		return refuse_number(t, stack, "scale_embeddings", v,
				     "embeddings are multiplied by another factor than 1 and the "
				     "root of d_model",
				     e);
	return 0;
}

/* What the numbers of one stack say. */
struct stack_facts {
	int32_t heads, activation, norm_place, scale;
};

static int read_stack(struct weight_map *t, const char *stack, struct stack_facts *s, struct err *e)
{
	const double heads = stack_number(t, stack, "num_heads"),
		     pre = stack_number(t, stack, "pre_norm"),
		     act = stack_number(t, stack, "activation");

	if (!(heads >= 1 && heads <= 128))
		return err_set(
			e, ERR_DATA,
			"%s: \"%s/num_heads\", the number of attention heads, is missing or not in "
			"1 to 128",
			t->f->path, stack);
	s->heads = (int32_t)heads;
	if (isnan(pre)) /* without the number CTranslate2 takes pre-norm */
		s->norm_place = NORM_PRE;
	else
		s->norm_place = pre != 0 ? NORM_PRE : NORM_POST;
	if (!isnan(act) && !(act >= 0 && act < (double)ARRAY_LEN(activations)))
		return refuse_number(t, stack, "activation", act,
				     "Werkbank does not have this activation", e);
	s->activation = isnan(act) ? ACTIVATION_relu : activations[(int)act];
	return check_zero_numbers(t, stack, e) || read_scale(t, stack, &s->scale, e) ? e->code : 0;
}

static bool has_tensor(const struct weight_map *t, const char *name)
{
	return import_find_tensor(t->f, name) != NULL;
}

/* Do two tensors hold the same bytes? Converters write an alias for most of such tensors. */
static bool are_same_tables(const struct import_tensor *a, const struct import_tensor *b)
{
	return a->rows == b->rows && a->cols == b->cols && a->type == b->type &&
	       (a->data == b->data ||
		!memcmp(a->data, b->data,
			(size_t)(a->rows * a->cols) * import_type_bytes(a->type)));
}

static int read_tables(struct weight_map *t, struct err *e)
{
	const struct import_tensor *target = t->table,
				   *source =
					   import_find_tensor(t->f, "encoder/embeddings_0/weight"),
				   *output = import_find_tensor(t->f, "decoder/projection/weight");
	bool is_source_tied, is_output_tied;

	if (!source || !output)
		return err_set(e, ERR_DATA, "%s has no tensor \"%s\": the architecture differs",
			       t->f->path,
			       source ? "decoder/projection/weight"
				      : "encoder/embeddings_0/weight");
	is_source_tied = are_same_tables(source, target);
	is_output_tied = are_same_tables(output, target);
	t->shape.tied_embeddings = is_source_tied   ? is_output_tied ? TIED_ALL : TIED_SOURCE
				   : is_output_tied ? TIED_OUTPUT
						    : TIED_NONE;
	t->shape.output_bias = has_tensor(t, "decoder/projection/bias");
	return 0;
}

static int read_ct2_positions(struct weight_map *t, struct err *e)
{
	const struct import_tensor *x = import_find_tensor(t->f,
							   "decoder/position_encodings/encodings"),
				   *y = import_find_tensor(t->f,
							   "encoder/position_encodings/encodings");
	enum arch_positions kind, other;

	if (!x || !y)
		return err_set(e, ERR_DATA,
			       "%s has no \"%s/position_encodings/encodings\": without this tensor "
			       "CTranslate2 counts positions from 1, but Werkbank from 0",
			       t->f->path, x ? "encoder" : "decoder");
	if (x->n_dims != 2 || y->n_dims != 2 || x->cols != t->shape.d_model || y->cols != x->cols)
		return err_set(e, ERR_DATA,
			       "%s: the position encodings are not tables of positions x %d",
			       t->f->path, t->shape.d_model);
	if (weight_find_positions(t->f, x, 0, &kind, e))
		return e->code;
	if (kind ==
	    POSITIONS_LEARNED) { /* as fairseq's tables, whose converters cut two rows off */
		if (weight_find_positions(t->f, x, 2, &kind, e))
			return e->code;
		t->shape.position_offset = kind == POSITIONS_LEARNED ? 0 : 2;
	}
	if (weight_find_positions(t->f, y, t->shape.position_offset, &other, e))
		return e->code;
	t->shape.positions = (int32_t)kind;
	if (kind == POSITIONS_LEARNED)
		t->shape.max_positions = (int32_t)MIN(x->rows, INT32_MAX);
	if (other != kind ||
	    (kind == POSITIONS_LEARNED && (x->rows != y->rows || x->rows > ARCH_MAX_POSITIONS)))
		return err_set(e, ERR_DATA,
			       "%s: the position encodings of encoder and decoder differ in kind, "
			       "or are longer than %d",
			       t->f->path, ARCH_MAX_POSITIONS);
	return 0;
}

static int read_widths(struct weight_map *t, struct err *e)
{
	const struct import_tensor *x =
		import_find_tensor(t->f, "decoder/layer_0/ffn/linear_0/weight");

	if (!x || x->rows > 1 << 20)
		return err_set(
			e, ERR_DATA,
			"%s has no tensor \"decoder/layer_0/ffn/linear_0/weight\" of a width "
			"up to 2^20",
			t->f->path);
	t->shape.decoder_ff = x->rows == t->shape.d_ff ? 0 : (int32_t)x->rows;
	return 0;
}

int ct2_read_shape(struct weight_map *t, struct err *e)
{
	struct model_shape *s = &t->shape;
	struct stack_facts encoder = { 0 }, decoder = { 0 };
	double zero;

	if (read_stack(t, "encoder", &encoder, e) || read_stack(t, "decoder", &decoder, e))
		return e->code;
	if (encoder.activation != decoder.activation || encoder.norm_place != decoder.norm_place ||
	    encoder.scale != decoder.scale)
		return err_set(e, ERR_DATA,
			       "%s: encoder and decoder differ in pre_norm, activation or "
			       "scale_embeddings",
			       t->f->path);
	s->heads = encoder.heads;
	s->decoder_heads = decoder.heads == encoder.heads ? 0 : decoder.heads;
	s->activation = encoder.activation;
	s->norm_place = encoder.norm_place;
	s->embedding_scale = encoder.scale;
	zero = stack_number(t, "decoder", "start_from_zero_embedding");
	s->decoder_start = !isnan(zero) && zero != 0 ? DECODER_ZERO : DECODER_START;
	s->norm = !has_tensor(t, "encoder/layer_0/self_attention/layer_norm/beta");
	s->final_norm = s->norm_place == NORM_PRE && !has_tensor(t, "encoder/layer_norm/gamma")
				? ARCH_NO
				: ARCH_YES;
	s->embedding_norm = has_tensor(t, "encoder/layernorm_embedding/gamma");
	s->attention_bias = has_tensor(t, "encoder/layer_0/self_attention/linear_0/bias");
	s->ffn_bias = has_tensor(t, "encoder/layer_0/ffn/linear_0/bias") ? ARCH_YES : ARCH_NO;
	s->gated_ffn = has_tensor(t, "encoder/layer_0/ffn/linear_0_noact/weight");
	return read_widths(t, e) || read_tables(t, e) || read_ct2_positions(t, e) ? e->code : 0;
}
