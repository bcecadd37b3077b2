/*
 * import_eole.c - folders of eole, the successor of OpenNMT-py
 *
 *	config.json			"model": the architecture, of which stacks may have their own values
 *	model.00.safetensors		the weights
 *	vocab.json			lists of tokens, the special tokens and the decoder's first one
 *	files that split words		as for OpenNMT-py; those of transforms_configs by their names without folders
 *
 * Pre-norm, epsilon 1e-5. Learned and rotary positions leave embeddings as they are, sinusoids come after the root of
 * d_model. Source: eole/config/models.py, eole/modules, eole/models/model_saver.py.
 */
#include <stdlib.h>
#include <string.h>

#include "eval/import/import_opennmt.h"
#include "share/base/mem.h"
#include "share/base/text.h"

#define MAX_JSON ((size_t)1 << 28) /* bytes */

static bool recognise_eole(const struct import_source *s)
{
	const struct json *model = json_get(s->config, "model");

	return import_is_safetensors(s->bytes, s->n) && json_is_object(model) &&
	       (json_get(model, "architecture") || json_get(model, "transformer_ff") ||
		json_get(model, "eole_version"));
}

/* ---- architecture ------------------------------------------------------ */

static const struct json *eole_model(const struct import_job *m)
{
	return json_get(m->config, "model");
}

/* A value of a stack ("encoder", "decoder", "embeddings"), else that of the model; NULL: the default. */
static const struct json *eole_value(const struct import_job *m, const char *stack, const char *key)
{
	const struct json *x = json_get(json_get(eole_model(m), stack), key);

	return x ? x : json_get(eole_model(m), key);
}

/* A value that must be the same in both stacks. */
static int eole_number(const struct import_job *m, const char *key, double usual, double *v,
		       struct err *e)
{
	const double a = json_number(eole_value(m, "encoder", key), usual),
		     b = json_number(eole_value(m, "decoder", key), usual);

	*v = a;
	return a == b ? 0 : opennmt_refuse(m, key, "", "both stacks must have the same", e);
}

static int eole_text(const struct import_job *m, const char *key, const char *usual, const char **v,
		     struct err *e)
{
	const char *b = json_text(eole_value(m, "decoder", key), usual);

	*v = json_text(eole_value(m, "encoder", key), usual);
	return !strcmp(*v, b) ? 0 : opennmt_refuse(m, key, b, "both stacks must have the same", e);
}

static int check_eole_texts(const struct import_job *m, struct err *e)
{
	static const char *const texts[][4] = {
		{ "encoder", "encoder_type", "transformer", "only a Transformer" },
		{ "decoder", "decoder_type", "transformer", "only a Transformer" },
		{ "encoder", "encoder_layer_style", "standard", "only pre-norm" },
		{ "embeddings", "embedding_type", "standard", "only embeddings of tokens" },
		{ "model", "generator_function", "softmax", "only softmax" },
	};
	const char *architecture = json_text(json_get(eole_model(m), "architecture"), "custom");

	if (strcmp(architecture, "transformer") != 0 && strcmp(architecture, "custom") != 0)
		return opennmt_refuse(m, "architecture", architecture,
				      "only transformer, with encoder and decoder", e);
	if (!json_is_object(json_get(eole_model(m), "encoder")) ||
	    !json_is_object(json_get(eole_model(m), "decoder")))
		return opennmt_refuse(m, "architecture", architecture,
				      "\"encoder\" and \"decoder\" must be objects", e);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const char *x = json_text(eole_value(m, texts[i][0], texts[i][1]), texts[i][2]);

		if (strcmp(x, texts[i][2]) != 0)
			return opennmt_refuse(m, texts[i][1], x, texts[i][3], e);
	}
	return 0;
}

/* Is a value neither false, 0, null, empty nor missing? */
static bool is_set(const struct json *x)
{
	return json_boolean(x, false) || json_number(x, 0) != 0 || *json_text(x, "") ||
	       json_len(x) > 0;
}

static int check_eole_switches(const struct import_job *m, struct err *e)
{
	static const char *const switches[][2] = {
		{ "parallel_residual", "sublayers are computed side by side" },
		{ "shared_layer_norm", "sublayers have a norm in common" },
		{ "ffn_layernorm", "feed-forward layers have two norms" },
		{ "query_norm", "queries are normalised" },
		{ "key_norm", "keys are normalised" },
		{ "value_norm", "values are normalised" },
		{ "q_gating", "attention has a gate" },
		{ "sliding_window", "attention to the nearest tokens only" },
		{ "num_experts", "feed-forward layers are mixtures of experts" },
		{ "relative_positions_buckets", "positions are relative" },
		{ "attn_scaling", "attention has a scale of its own" },
		{ "layer_types", "layers of several kinds" },
		{ "add_estimator", "the model estimates quality" },
		{ "position_shift", "positions are shifted" },
	};
	static const char *const stacks[] = { "encoder", "decoder", "embeddings" };

	for (size_t i = 0; i < ARRAY_LEN(switches); i++)
		for (size_t k = 0; k < ARRAY_LEN(stacks); k++)
			if (is_set(eole_value(m, stacks[k], switches[i][0])))
				return opennmt_refuse(m, switches[i][0], "set", switches[i][1], e);
	if (!json_boolean(eole_value(m, "encoder", "final_encoder_layer_norm"), true))
		return opennmt_refuse(m, "final_encoder_layer_norm", "false",
				      "both stacks end with a norm", e);
	return 0;
}

/* LoRA and quantisation are options of the training; a tensor of weights would be missing or packed. */
static int check_eole_training(const struct import_job *m, struct err *e)
{
	static const char *const empty[][2] = {
		{ "lora_layers", "weights are those of LoRA alone" },
		{ "lora_embedding", "weights are those of LoRA alone" },
		{ "quant_layers", "weights are quantised" }
	};
	const struct json *training = json_get(m->config, "training"),
			  *transforms = json_get(m->config, "transforms");

	for (size_t i = 0; i < ARRAY_LEN(empty); i++)
		if (is_set(json_get(training, empty[i][0])))
			return opennmt_refuse(m, empty[i][0], "set", empty[i][1], e);
	for (const struct json *x = json_first(transforms); x; x = json_next(transforms, x))
		if (opennmt_check_transform(m, json_text(x, ""), e))
			return e->code;
	return 0;
}

static int check_eole_widths(const struct import_job *m, double heads, struct err *e)
{
	const double d = (double)m->t.table->cols,
		     width = json_number(eole_value(m, "decoder", "head_dim"), 0),
		     keys = json_number(eole_value(m, "decoder", "heads_kv"), 0);

	if (width != 0 && width * heads != d)
		return opennmt_refuse(m, "head_dim", "", "the heads must divide the width", e);
	if (keys != 0 && keys != heads)
		return opennmt_refuse(m, "heads_kv", "", "several heads have keys in common", e);
	return 0;
}

static int read_eole_rotary(const struct import_job *m, struct opennmt_facts *x, struct err *e)
{
	static const char *const stacks[] = { "encoder", "decoder" };
	const struct json *first = eole_value(m, stacks[0], "rope_config");

	x->is_paired = json_boolean(json_get(first, "rotary_interleave"), true);
	for (size_t i = 0; i < ARRAY_LEN(stacks); i++) {
		const struct json *r = eole_value(m, stacks[i], "rope_config");
		const double columns = json_number(json_get(r, "rotary_dim"), 0);

		if (json_number(json_get(r, "rotary_theta"), 10000) != 10000)
			return opennmt_refuse(m, "rotary_theta", "", "only 10000", e);
		if (columns != 0 && columns * (double)x->heads != (double)m->t.table->cols)
			return opennmt_refuse(m, "rotary_dim", "",
					      "all columns of a head must turn", e);
		if (is_set(json_get(r, "scaling_type")) ||
		    is_set(json_get(r, "partial_rotary_factor")) ||
		    is_set(json_get(r, "tmax_index")))
			return opennmt_refuse(m, "scaling_type", "set",
					      "rotary positions without scaling", e);
		if (json_boolean(json_get(r, "rotary_interleave"), true) != x->is_paired)
			return opennmt_refuse(m, "rotary_interleave", "",
					      "both stacks must have the same", e);
	}
	return 0;
}

static int read_eole_positions(const struct import_job *m, struct opennmt_facts *x, struct err *e)
{
	const bool is_normalised = json_boolean(eole_value(m, "embeddings", "normalize"), false);
	const struct json *type = eole_value(m, "embeddings", "position_encoding_type");

	x->positions =
		type && !json_text(type, NULL) ? "none" : json_text(type, "SinusoidalInterleaved");
	x->is_scaled = text_starts_with(x->positions, "Sinusoidal") || is_normalised;
	if (is_normalised && !strcmp(x->positions, "Learned"))
		return opennmt_refuse(m, "normalize", "true",
				      "the factor would hold for positions, too", e);
	return strcmp(x->positions, "Rotary") != 0 ? 0 : read_eole_rotary(m, x, e);
}

static int read_eole_facts(const struct import_job *m, const struct json *vocabulary,
			   struct opennmt_facts *x, struct err *e)
{
	double heads, d_ff;

	*x = (struct opennmt_facts){
		.has_one_table = json_boolean(json_get(eole_model(m), "share_embeddings"), false),
		.has_tied_output =
			json_boolean(json_get(eole_model(m), "share_decoder_embeddings"), false),
		.encoder_layers = json_integer(eole_value(m, "encoder", "layers"), 2),
		.decoder_layers = json_integer(eole_value(m, "decoder", "layers"), 2),
		.start = json_text(json_get(vocabulary, "decoder_start_token"), "<s>"),
		.alpha = 1,
	};
	if (eole_number(m, "heads", 8, &heads, e) ||
	    eole_number(m, "transformer_ff", 2048, &d_ff, e) ||
	    eole_number(m, "norm_eps", 1e-5, &x->epsilon, e) ||
	    eole_text(m, "mlp_activation_fn", "relu", &x->activation, e) ||
	    eole_text(m, "layer_norm", "standard", &x->norm, e) || check_eole_widths(m, heads, e))
		return e->code;
	x->heads = heads >= 1 && heads <= 65536 ? (int64_t)heads : 0;
	x->d_ff = d_ff >= 1 && d_ff <= 65536 ? (int64_t)d_ff : 0;
	return read_eole_positions(m, x, e);
}

/* Layers of the decoder have a factor, which is 1 in such models. */
static int drop_layer_scalars(struct import_job *m, struct err *e)
{
	struct import_reader *f = &m->f;
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		float x = 1;

		if (!text_ends_with(f->all[i].name, ".layer_scalar")) {
			f->all[n++] = f->all[i];
			continue;
		}
		if (import_read_floats(f, &f->all[i], 0, 0, 1, &x, e))
			return e->code;
		if (x != 1 || f->all[i].rows != 1 || f->all[i].cols != 1)
			return opennmt_refuse(m, f->all[i].name, "",
					      "the factor of a layer must be 1", e);
	}
	f->n = n;
	return 0;
}

/* The special tokens of vocab.json, which may have other names. */
static int check_eole_specials(struct import_job *m, const struct json *vocabulary, struct err *e)
{
	static const char *const names[][2] = { { "bos_token", "<s>" },
						{ "eos_token", "</s>" },
						{ "unk_token", "<unk>" } };
	const struct json *specials = json_get(vocabulary, "specials");

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *x = json_text(json_get(specials, names[i][0]), names[i][1]);

		if (strcmp(x, names[i][1]) != 0)
			return opennmt_refuse(m, names[i][0], x, "special tokens with other names",
					      e);
	}
	m->special = (struct special_token_names){ "</s>", "<s>", "<unk>", .may_lack_end = true };
	return 0;
}

static int read_eole_json(const struct import_job *m, const char *name, struct json **root,
			  struct err *e)
{
	char *path = file_path(e, "%s/%s", m->folder, name);
	int rc = path ? json_read_optional(root, path, MAX_JSON, e) : e->code;

	if (!rc && !*root)
		rc = err_set(e, ERR_NOINPUT, "%s is missing or not JSON", path);
	free(path);
	return rc;
}

static int check_one_file(const struct import_job *m, struct err *e)
{
	char *path = file_path(e, "%s/model.01.safetensors", m->folder);
	int rc = path ? 0 : e->code;

	if (!rc && file_exists(path))
		rc = err_set(
			e, ERR_DATA,
			"%s: the weights are in several files: only a model in one file can be "
			"imported",
			path);
	free(path);
	return rc;
}

static int open_eole(struct import_job *m, struct err *e)
{
	struct json *vocabulary = NULL;
	struct opennmt_facts facts;
	int rc = read_eole_json(m, "config.json", &m->config, e);

	if (!rc)
		rc = read_eole_json(m, "vocab.json", &vocabulary, e);
	if (!rc &&
	    (check_eole_texts(m, e) || check_eole_switches(m, e) || check_eole_training(m, e) ||
	     check_eole_specials(m, vocabulary, e) || check_one_file(m, e) ||
	     import_open_safetensors(&m->f, m->file, e) || drop_layer_scalars(m, e) ||
	     weight_map_begin(&m->t, &m->f, NAMING_eole, NULL, e) ||
	     read_eole_facts(m, vocabulary, &facts, e)))
		rc = e->code;
	if (!rc)
		rc = opennmt_set_architecture(m, &facts, e);
	json_free(vocabulary);
	return rc;
}

/* ---- text -------------------------------------------------------------- */

/* vocabulary: the tree of vocab.json */
static int list_eole_tokens(const struct import_job *m, int side, void *vocabulary,
			    struct token_list *w, struct err *e)
{
	static const char *const names[] = { "src", "tgt" };
	static const char *const tables[] = { "src_emb.embeddings.weight",
					      "tgt_emb.embeddings.weight" };
	const struct json *x = json_get(vocabulary, names[side]);
	const struct import_tensor *rows = import_find_tensor(&m->f, tables[side]);
	const size_t n = json_len(x);

	if (!n || (rows && (size_t)rows->rows != n))
		return err_set(e, ERR_DATA,
			       "%s/vocab.json: \"%s\" has %zu tokens, but \"%s\" has %lld rows",
			       m->folder, names[side], n, tables[side],
			       rows ? (long long)rows->rows : 0);
	w->items = mem_alloc(n, sizeof(*w->items), e);
	if (!w->items)
		return e->code;
	w->cap = n;
	for (const struct json *t = json_first(x); t; t = json_next(x, t)) {
		w->items[w->n] = json_text(t, NULL);
		if (!w->items[w->n++])
			return err_set(e, ERR_DATA,
				       "%s/vocab.json: token %zu of \"%s\" is not a text",
				       m->folder, w->n - 1, names[side]);
	}
	return 0;
}

/* The file of a transform that splits words, without its folder. */
static const char *eole_pieces_file(const struct import_job *m, const char *key)
{
	static const char *const names[] = { "sentencepiece", "bpe" };
	const struct json *all = json_get(m->config, "transforms_configs");
	const char *path = "", *slash;

	for (size_t i = 0; i < ARRAY_LEN(names) && !*path; i++)
		path = json_text(json_get(json_get(all, names[i]), key), "");
	slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static int stage_eole(struct import_job *m, struct err *e)
{
	struct json *vocabulary = NULL;
	const char *names[2] = { eole_pieces_file(m, "src_subword_model"),
				 eole_pieces_file(m, "tgt_subword_model") };
	int rc = read_eole_json(m, "vocab.json", &vocabulary, e);

	if (!*names[1])
		names[1] = names[0];
	if (!rc)
		rc = import_stage_lists(m, list_eole_tokens, vocabulary, names, e);
	json_free(vocabulary);
	return rc;
}

const struct import_format import_eole = { "eole", recognise_eole, open_eole, stage_eole };
