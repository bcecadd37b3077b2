/* weight_map.c - recognises naming schemes and finds tensors and sizes; see weight_map.h */
#include "eval/weights/weight_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/weights/ct2.h"
#include "eval/weights/weight_rules.h"
#include "share/base/mem.h"
#include "share/base/text.h"

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

struct import_tensor *weight_foreign_tensor(const struct weight_map *t, const char *pattern,
					    int32_t layer, char name[256])
{
	const size_t n = (size_t)snprintf(name, 256, "%s", t->prefix);

	struct import_tensor *x;

	weight_layer_name(name + n, 256 - n, pattern, layer + (t->scheme == NAMING_marian));
	x = import_find_tensor(t->f, name);
	return x || !n ? x
		       : import_find_tensor(t->f, name + n); /* the output's bias has no prefix */
}

bool weight_is_positions(const struct import_tensor *x)
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
	return x->n_dims == 2 && !weight_is_positions(x) && !is_of_layers(t, x->name);
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

	for (*n = 0; *n <= MODEL_MAX_LAYERS && weight_foreign_tensor(t, pattern, *n, name); ++*n)
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
		t->table = weight_foreign_tensor(t, size_tensors[t->scheme].table, 0, name);
	for (size_t i = 0; !size_tensors[t->scheme].table && !t->table && i < t->f->n; i++)
		if (is_table(t, &t->f->all[i]))
			t->table = &t->f->all[i];
	if (!t->table || t->table->n_dims != 2)
		return err_set(e, ERR_DATA,
			       "%s has no embedding table, a tensor of vocabulary x d_model",
			       t->f->path);
	ffn = weight_foreign_tensor(t, size_tensors[t->scheme].ffn, 0, name);
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

/* Of two tensors of one name, readers disagree about the one that is meant. */
static int check_unique_names(const struct import_reader *f, struct err *e)
{
	const char **names = mem_alloc(f->n, sizeof(*names), e), *repeated;
	int rc = 0;

	if (!names)
		return e->code;
	for (size_t i = 0; i < f->n; i++)
		names[i] = f->all[i].name;
	repeated = safetensors_find_repeat(names, f->n);
	if (repeated)
		rc = err_set(e, ERR_DATA,
			     "%s has two tensors \"%.200s\": the file is damaged; save the model "
			     "again",
			     f->path, repeated);
	free(names);
	return rc;
}

int weight_map_open(struct weight_map *t, struct import_reader *f, struct err *e)
{
	*t = (struct weight_map){ .f = f };
	if (check_unique_names(f, e) || recognise_naming(t, e) || find_sizes(t, e))
		return e->code;
	return t->scheme == NAMING_ctranslate2 ? ct2_read_shape(t, e) : 0;
}

/* Sets the prefix of the names of layers: what stands before the name of the first layer's tensor. */
static void find_prefix(struct weight_map *t, const char *mark)
{
	for (size_t i = 0; i < t->f->n; i++) {
		const char *name = t->f->all[i].name;
		const size_t n = strlen(name), n_mark = strlen(mark);

		if (text_ends_with(name, mark) && n - n_mark < sizeof(t->prefix)) {
			snprintf(t->prefix, sizeof(t->prefix), "%.*s", (int)(n - n_mark), name);
			return;
		}
	}
}

int weight_map_begin(struct weight_map *t, struct import_reader *f, enum tensor_naming scheme,
		     const char *const *tables, struct err *e)
{
	const char *first = tables ? tables[0] : "";
	const struct weight_table_rule *r;
	char name[256];

	*t = (struct weight_map){ .f = f, .scheme = scheme };
	if (check_unique_names(f, e))
		return e->code;
	if (scheme == NAMING_layers)
		find_prefix(t, "encoder.layers.0.fc1.weight");
	for (size_t i = 0; tables && tables[i] && !t->table; i++)
		t->table = weight_foreign_tensor(t, tables[i], 0, name);
	for (size_t i = 0; !tables && !t->table && (r = weight_table_at(i)) != NULL; i++)
		if (r->scheme == scheme && !strcmp(r->own_name, "embed"))
			t->table = weight_foreign_tensor(t, first = r->foreign_name, 0, name);
	if (!t->table || t->table->n_dims != 2)
		return err_set(e, ERR_DATA, "%s has no embedding table \"%s\"", f->path, first);
	return 0;
}
