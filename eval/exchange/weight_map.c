/* weight_map.c - recognises naming schemes and loads weights by rules; see weight_map.h */
#include "eval/exchange/weight_map.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/exchange/ct2.h"
#include "share/base/mem.h"
#include "share/base/text.h"

enum group { GROUP_model, GROUP_encoder, GROUP_decoder };
enum kind { KIND_required, KIND_optional, KIND_zero, KIND_drop };

/* The member "of" of rules from ct2.def, by kind; a slice is the 2 * d_model rows of its layer. */
enum { OF_matrix = 0, OF_vector = 0, OF_slice = 2 };

static const struct rule {
	enum tensor_naming scheme;
	enum group group;
	enum kind kind;
	const char *foreign_name;
	int of, from, rows; /* in units of d_model; see weight_map.def */
	const char *own_name;
	int to;
} rules[] = {
#define WEIGHT_RULE(scheme, group, kind, foreign_name, of, from, rows, own_name, to)               \
	{ NAMING_##scheme, GROUP_##group, KIND_##kind, foreign_name, of, from, rows, own_name, to },
#include "eval/exchange/weight_map.def"
#undef WEIGHT_RULE
#define CT2_TENSOR(group, kind, foreign_name, own_name)                                            \
	{ NAMING_ctranslate2, GROUP_##group, KIND_required,                                        \
	  foreign_name,	      OF_##kind,     0,                                                    \
	  OF_##kind,	      own_name,	     0 },
#include "eval/exchange/ct2.def"
};

/* The tensors that show the sizes, by scheme. table NULL: the first table that no rule names. */
static const struct {
	const char *table, *ffn, *encoder, *decoder;
} size_tensors[] = {
	[NAMING_own] = { "embed", "encoder.0.ffn.in", "encoder.%d.self.qkv",
			 "decoder.%d.self.qkv" },
	[NAMING_ctranslate2] = { "decoder/embeddings/weight", "encoder/layer_0/ffn/linear_0/weight",
				 "encoder/layer_%d/self_attention/linear_0/weight",
				 "decoder/layer_%d/self_attention/linear_0/weight" },
	[NAMING_pytorch] = { NULL, "encoder.layers.0.linear1.weight",
			     "encoder.layers.%d.self_attn.in_proj_weight",
			     "decoder.layers.%d.self_attn.in_proj_weight" },
};

/* ---- finding ----------------------------------------------------------- */

void weight_layer_name(char *to, size_t size, const char *pattern, int32_t layer)
{
	const char *mark = strstr(pattern, "%d");

	if (mark)
		snprintf(to, size, "%.*s%d%s", (int)(mark - pattern), pattern, layer, mark + 2);
	else
		snprintf(to, size, "%s", pattern);
}

const struct model_param *weight_own_param(const struct model_param *params, size_t n,
					   const char *pattern, int32_t layer)
{
	char name[64];

	weight_layer_name(name, sizeof(name), pattern, layer);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(params[i].name, name))
			return &params[i];
	return NULL;
}

/* The file's tensor of a layer; its name is written to name. NULL: the file does not have it. */
static struct import_tensor *find_foreign_tensor(const struct weight_map *t, const char *pattern,
						 int32_t layer, char name[256])
{
	const size_t n = (size_t)snprintf(name, 256, "%s", t->prefix);

	weight_layer_name(name + n, 256 - n, pattern, layer);
	return import_find_tensor(t->f, name);
}

static bool is_positions(const struct import_tensor *x)
{
	return strstr(x->name, "pos") || !strcmp(x->name, "pe") || text_ends_with(x->name, ".pe");
}

/* Does the name belong to a layer or final norm of nn.Transformer? */
static bool is_of_layers(const struct weight_map *t, const char *name)
{
	static const char *const parts[] = { "encoder.layers.", "decoder.layers.", "encoder.norm.",
					     "decoder.norm." };

	if (!text_starts_with(name, t->prefix))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (text_starts_with(name + strlen(t->prefix), parts[i]))
			return true;
	return false;
}

static bool is_table(const struct weight_map *t, const struct import_tensor *x)
{
	return x->n_dims == 2 && !is_positions(x) && !is_of_layers(t, x->name);
}

static int recognise_naming(struct weight_map *t, struct err *e)
{
	static const char mark[] = "encoder.layers.0.self_attn.in_proj_weight";

	if (import_find_tensor(t->f, "decoder/layer_0/self_attention/linear_0/weight")) {
		t->scheme = NAMING_ctranslate2;
		return 0;
	}
	if (import_find_tensor(t->f, "embed") && import_find_tensor(t->f, "decoder.cross.kv")) {
		t->scheme = NAMING_own;
		return 0;
	}
	for (size_t i = 0; i < t->f->n; i++) {
		const char *name = t->f->all[i].name;

		if (text_ends_with(name, mark) && strlen(name) - strlen(mark) < sizeof(t->prefix)) {
			snprintf(t->prefix, sizeof(t->prefix), "%.*s",
				 (int)(strlen(name) - strlen(mark)), name);
			t->scheme = NAMING_pytorch;
			return 0;
		}
	}
	return err_set(e, ERR_DATA,
		       "%s: the names of its %zu tensors (\"%.60s\", ...) are not those of "
		       "Werkbank, CTranslate2 or PyTorch's nn.Transformer "
		       "(encoder.layers.0.self_attn.in_proj_weight, ...)",
		       t->f->path, t->f->n, t->f->n ? t->f->all[0].name : "");
}

/* ---- sizes ------------------------------------------------------------- */

static int count_layers(const struct weight_map *t, const char *pattern, int32_t *n, struct err *e)
{
	char name[256];

	for (*n = 0; *n <= MODEL_MAX_LAYERS && find_foreign_tensor(t, pattern, *n, name); ++*n)
		;
	if (*n < 1 || *n > MODEL_MAX_LAYERS)
		return err_set(e, ERR_DATA,
			       "%s: found %d layers (next name: \"%s\"): a stack must have 1 to %d "
			       "layers",
			       t->f->path, *n, name, MODEL_MAX_LAYERS);
	return 0;
}

static int find_sizes(struct weight_map *t, struct err *e)
{
	const struct import_tensor *ffn;
	struct model_shape *s = &t->shape;
	char name[256];

	if (size_tensors[t->scheme].table)
		t->table = find_foreign_tensor(t, size_tensors[t->scheme].table, 0, name);
	for (size_t i = 0; !size_tensors[t->scheme].table && !t->table && i < t->f->n; i++)
		if (is_table(t, &t->f->all[i]))
			t->table = &t->f->all[i];
	if (!t->table || t->table->n_dims != 2)
		return err_set(e, ERR_DATA,
			       "%s has no embedding table, a tensor of vocabulary x d_model",
			       t->f->path);
	ffn = find_foreign_tensor(t, size_tensors[t->scheme].ffn, 0, name);
	if (!ffn)
		return err_set(e, ERR_DATA, "%s has no tensor \"%s\"", t->f->path, name);
	if (t->table->rows > INT32_MAX / 8 || t->table->cols > 65536 || ffn->rows > 1 << 20)
		return err_set(
			e, ERR_DATA,
			"%s: an embedding table of %lld x %lld or feed-forward layers of %lld "
			"are too large",
			t->f->path, (long long)t->table->rows, (long long)t->table->cols,
			(long long)ffn->rows);
	s->d_model = (int32_t)t->table->cols;
	s->d_ff = (int32_t)ffn->rows;
	s->vocabulary = s->real_vocabulary = (int32_t)t->table->rows;
	if (count_layers(t, size_tensors[t->scheme].encoder, &s->encoder_layers, e))
		return e->code;
	return count_layers(t, size_tensors[t->scheme].decoder, &s->decoder_layers, e);
}

/* ---- architecture ------------------------------------------------------ */

/* The meaning of a number of CTranslate2 that differs from Werkbank's. */
static const char *explain_ct2_number(const char *name)
{
	static const struct {
		const char *end, *text;
	} known[] = {
		{ "/pre_norm", "the model is post-norm (each norm follows its residual sum), but "
			       "Werkbank's Transformer is pre-norm" },
		{ "/activation", "the activation of its feed-forward layers is not ReLU" },
		{ "/scale_embeddings", "its embeddings are not multiplied by the root of d_model" },
		{ "/alibi", "it has ALiBi instead of position embeddings" },
		{ "/multi_query_attention", "its heads share their keys and values" },
		{ "/start_from_zero_embedding", "its decoder starts from zeros, not from <s>" },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (text_ends_with(name, known[i].end))
			return known[i].text;
	return "the architecture differs";
}

/* A number of CTranslate2 must have this value. The alignment head and layer do not matter. */
static int check_number(struct weight_map *t, const char *name, double want, struct err *e)
{
	struct import_tensor *x = import_find_tensor(t->f, name);
	double have;

	if (!x && !text_ends_with(name, "_norm")) /* older revisions lack it; the default is 0 */
		return 0;
	have = x ? import_tensor_number(x) : (double)NAN;
	if (x)
		x->is_used = true;
	if (have == want || strstr(name, "/alignment_"))
		return 0;
	return err_set(e, ERR_DATA, "%s: %s is %g, not %g: %s", t->f->path, name, have, want,
		       explain_ct2_number(name));
}

static int check_numbers(struct weight_map *t, struct err *e)
{
	struct import_tensor *x = import_find_tensor(t->f, "encoder/num_heads");
	double heads = x ? import_tensor_number(x) : (double)NAN;

	if (!(heads >= 1 && heads <= 128))
		return err_set(
			e, ERR_DATA,
			"%s: \"encoder/num_heads\", the number of attention heads, is missing "
			"or not in 1 to 128",
			t->f->path);
	t->shape.heads = (int32_t)heads;
#define CT2_NUMBER(foreign_name, type, value)                                                      \
	if (check_number(t, foreign_name, value, e))                                               \
		return e->code;
#include "eval/exchange/ct2.def"
	if (!import_find_tensor(t->f, "decoder/position_encodings/encodings"))
		return err_set(e, ERR_DATA,
			       "%s has no \"decoder/position_encodings/encodings\": without this "
			       "tensor CTranslate2 counts positions from 1, but Werkbank from 0",
			       t->f->path);
	return 0;
}

int weight_map_open(struct weight_map *t, struct import_reader *f, struct err *e)
{
	*t = (struct weight_map){ .f = f };
	if (recognise_naming(t, e) || find_sizes(t, e))
		return e->code;
	return t->scheme == NAMING_ctranslate2 ? check_numbers(t, e) : 0;
}

/* ---- loading ----------------------------------------------------------- */

struct weight_loader {
	struct weight_map *t;
	const struct model_shape *shape;
	struct model_param *params; /* owned */
	size_t n_params;
	float *arena;
	float *row, *other; /* owned: scratch of d_model elements */
};

static int wrong_shape(const struct weight_loader *k, const struct import_tensor *x, int64_t rows,
		       int64_t cols, struct err *e)
{
	return err_set(e, ERR_DATA, "%s: \"%s\" is %lld x %lld, but %lld x %lld was expected",
		       k->t->f->path, x->name, (long long)x->rows, (long long)x->cols,
		       (long long)rows, (long long)cols);
}

/* n elements of a bias that Werkbank's Transformer does not have must be zero. */
static int check_zero(struct weight_loader *k, const struct import_tensor *x, int64_t from,
		      int64_t n, struct err *e)
{
	const int64_t d = k->shape->d_model;

	for (int64_t at = from; at < from + n; at += d) {
		int64_t some = MIN(d, from + n - at);

		if (import_read_floats(k->t->f, x, 0, at, some, k->row, e))
			return e->code;
		for (int64_t i = 0; i < some; i++)
			if (k->row[i] != 0)
				return err_set(
					e, ERR_DATA,
					"%s: \"%s\" is not zero: Werkbank's Transformer has no "
					"such bias (neither in attention nor in the output)",
					k->t->f->path, x->name);
	}
	return 0;
}

static int load_tensor_rows(struct weight_loader *k, const struct rule *r,
			    const struct import_tensor *x, int32_t layer, struct err *e)
{
	const int64_t d = k->shape->d_model;
	const struct model_param *p = weight_own_param(k->params, k->n_params, r->own_name, layer);
	int64_t rows, to;

	if (!p)
		return err_set(e, ERR_INTERNAL, "the model has no tensor \"%s\"", r->own_name);
	rows = r->rows ? r->rows * d : p->rows;
	to = r->to * d;
	if (!strcmp(r->own_name, "decoder.cross.kv"))
		to += 2 * d * layer;
	if (x->cols != p->cols || x->rows != (r->rows ? r->of * d : p->rows) || to + rows > p->rows)
		return wrong_shape(k, x, r->rows ? r->of * d : p->rows, p->cols, e);
	assert(r->rows ? r->from + r->rows <= r->of : r->from == 0);
	for (int64_t i = 0; i < rows; i++)
		if (import_read_floats(k->t->f, x, r->from * d + i, 0, p->cols,
				       k->arena + p->offset + (to + i) * p->cols, e))
			return e->code;
	return 0;
}

static int load_one_tensor(struct weight_loader *k, const struct rule *r, int32_t layer,
			   struct err *e)
{
	const int64_t d = k->shape->d_model;
	char name[256];
	struct import_tensor *x = find_foreign_tensor(k->t, r->foreign_name, layer, name);

	if (!x && r->kind == KIND_required)
		return err_set(e, ERR_DATA, "%s has no tensor \"%s\": the architecture differs",
			       k->t->f->path, name);
	if (!x || x == k->t->table)
		return 0;
	x->is_used = true;
	if (r->kind == KIND_required || r->kind == KIND_optional)
		return load_tensor_rows(k, r, x, layer, e);
	if (x->rows != 1 || x->cols != r->of * d)
		return wrong_shape(k, x, 1, r->of * d, e);
	return r->kind == KIND_drop ? 0 : check_zero(k, x, r->from * d, r->rows * d, e);
}

static int load_all_rules(struct weight_loader *k, struct err *e)
{
	const struct model_shape *s = k->shape;

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		int32_t layers = rules[i].group == GROUP_encoder   ? s->encoder_layers
				 : rules[i].group == GROUP_decoder ? s->decoder_layers
								   : 1;

		for (int32_t layer = 0; rules[i].scheme == k->t->scheme && layer < layers; layer++)
			if (load_one_tensor(k, &rules[i], layer, e))
				return e->code;
	}
	for (size_t i = 0; k->t->scheme == NAMING_own && i < k->n_params; i++) {
		const struct rule same = { .scheme = NAMING_own,
					   .foreign_name = k->params[i].name,
					   .own_name = k->params[i].name };

		if (load_one_tensor(k, &same, 0, e))
			return e->code;
	}
	return 0;
}

static int load_embedding_table(struct weight_loader *k, const int32_t *rows, struct err *e)
{
	const struct import_tensor *x = k->t->table;
	const struct model_param *p = weight_own_param(k->params, k->n_params, "embed", 0);
	int32_t n = k->shape->real_vocabulary;

	if (!rows && x->rows == k->shape->vocabulary)
		n = k->shape->vocabulary;
	if (x->rows != n && !rows)
		return err_set(
			e, ERR_DATA,
			"%s: \"%s\" has %lld rows, but the vocabulary has %d entries: give the "
			"vocabulary of this model",
			k->t->f->path, x->name, (long long)x->rows, n);
	for (int32_t i = 0; i < n; i++)
		if (import_read_floats(k->t->f, x, rows ? rows[i] : i, 0, p->cols,
				       k->arena + p->offset + i * p->cols, e))
			return e->code;
	k->t->table->is_used = true;
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
				       "%s: \"%s\" and \"%s\" differ, but Werkbank's "
				       "Transformer has one table for source, target and output",
				       k->t->f->path, table->name, x->name);
	}
	return 0;
}

/*
 * A table of positions must be Werkbank's sinusoids. The tolerance allows for half precision, and
 * grows with the position because the angle's rounding error does.
 */
static int check_positions(struct weight_loader *k, const struct import_tensor *x, struct err *e)
{
	const int64_t d = k->shape->d_model;
	const float tolerance = x->type == IMPORT_BF16	? 0x1p-8f
				: x->type == IMPORT_F16 ? 0x1p-11f
							: 1e-5f;

	if (x->cols != d)
		return wrong_shape(k, x, x->rows, d, e);
	for (int64_t r = 0; r < MIN(x->rows, CT2_POSITIONS_ROWS); r++) {
		if (import_read_floats(k->t->f, x, r, 0, d, k->row, e))
			return e->code;
		ct2_position_row(k->other, d, r);
		for (int64_t i = 0; i < d; i++)
			if (!(fabsf(k->row[i] - k->other[i]) <= tolerance + (float)r * 1e-6f))
				return err_set(e, ERR_DATA,
					       "%s: \"%s\", position %lld: not the sinusoids of "
					       "Werkbank's Transformer (sines in the first half, "
					       "cosines in the second, first position 0)",
					       k->t->f->path, x->name, (long long)r);
	}
	return 0;
}

static int check_unused_tensor(struct weight_loader *k, const struct import_tensor *x,
			       struct err *e)
{
	if (is_positions(x))
		return check_positions(k, x, e);
	if (x->n_dims == 0 && import_tensor_number(x) == 0) /* a feature that is switched off */
		return 0;
	if (x->n_dims == 1 && x->cols == k->t->table->rows && text_ends_with(x->name, "bias"))
		return check_zero(k, x, 0, x->cols, e);
	if (x->n_dims == 2 && x->rows == k->t->table->rows && x->cols == k->t->table->cols)
		return check_equal_table(k, x, e);
	return err_set(e, ERR_DATA,
		       "%s: Werkbank's Transformer has no tensor like \"%s\": the architecture "
		       "differs",
		       k->t->f->path, x->name);
}

int weight_map_load(struct weight_map *t, const struct model_shape *shape, const int32_t *rows,
		    float *arena, struct err *e)
{
	struct weight_loader k = { .t = t, .shape = shape, .arena = arena };
	int64_t floats;
	int rc = model_params(shape, &k.params, &k.n_params, &floats, e);

	assert(shape->d_model == t->shape.d_model && shape->d_ff == t->shape.d_ff);

	k.row = rc ? NULL : mem_alloc((size_t)shape->d_model, sizeof(*k.row), e);
	k.other = k.row ? mem_alloc((size_t)shape->d_model, sizeof(*k.other), e) : NULL;
	if (!rc && !k.other)
		rc = e->code;
	if (!rc)
		rc = load_all_rules(&k, e);
	if (!rc)
		rc = load_embedding_table(&k, rows, e);
	for (size_t i = 0; !rc && i < t->f->n; i++)
		if (!t->f->all[i].is_used) /* reading has marked the scales as used */
			rc = check_unused_tensor(&k, &t->f->all[i], e);
	free(k.params);
	free(k.row);
	free(k.other);
	return rc;
}
