/*
 * import_hugging_face.c - folders of transformers: what they have in common, and MarianMTModel, the form of OPUS-MT's models
 *
 *	config.json, generation_config.json	the architecture; the decoder's first token
 *	model.safetensors or pytorch_model.bin	the weights
 *	vocab.json, target_vocab.json		numbers of the pieces; the second with separate vocabularies
 *	source.spm, target.spm			SentencePiece models that split text into pieces
 *	tokenizer_config.json			languages
 *
 * Post-norm, biases, sinusoids with 10000^(-2k/d), epsilon 1e-5. The numbers of pieces come from vocab.json, not from
 * the SentencePiece models. The decoder starts from <pad>, whose row Marian's converter sets to zero; after tuning
 * with transformers it need not be zero, and then it becomes the row of <s>. Source: modeling_marian.py,
 * tokenization_marian.py, convert_marian_to_pytorch.py.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/import/import_hugging_face.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/workspace/model_files.h"

#define MAX_JSON ((size_t)1 << 28) /* bytes; tokenizer.json has all pieces */

/* Models of transformers that are near to MarianMT, and why they cannot be imported. */
static const struct {
	const char *type, *reason;
} other_models[] = {
	{ "nllb-moe", "its feed-forward layers are mixtures of experts" },
	{ "t5", "its positions are relative biases of attention" },
	{ "fsmt", "import the checkpoint of fairseq from which FSMT was converted" },
	{ "pegasus", "it is no translation model" },
	{ "bart", "it is no translation model" },
};

static const char *model_type(const struct json *config)
{
	return json_text(json_get(config, "model_type"), "");
}

bool hf_recognise(const struct import_source *s, const char *type)
{
	return *model_type(s->config) && (!type || !strcmp(model_type(s->config), type)) &&
	       (import_is_safetensors(s->bytes, s->n) || import_is_torch(s->bytes, s->n));
}

static bool recognise_hugging_face(const struct import_source *s)
{
	return hf_recognise(s, NULL);
}

int hf_read_json(const struct import_job *m, const char *name, struct json **root, struct err *e)
{
	char *path = file_path(e, "%s/%s", m->folder, name);
	int rc = path ? json_read_optional(root, path, MAX_JSON, e) : e->code;

	free(path);
	return rc;
}

int hf_open(struct import_job *m, struct err *e)
{
	int rc = text_ends_with(m->file, ".safetensors")
			 ? import_open_safetensors(&m->f, m->file, e)
			 : import_open_torch(&m->f, m->file, e);

	return rc ? rc : weight_map_begin(&m->t, &m->f, NAMING_layers, NULL, e);
}

/* ---- architecture ------------------------------------------------------ */

static int check_model_type(const struct import_job *m, struct err *e)
{
	const char *type = model_type(m->config), *reason = "its architecture is not known";

	if (!strcmp(type, "marian"))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(other_models); i++)
		if (!strcmp(type, other_models[i].type))
			reason = other_models[i].reason;
	return err_set(
		e, ERR_DATA,
		"%s: a model of the type \"%.60s\" cannot be imported: %s. Of Hugging Face's "
		"folders only those of MarianMT (OPUS-MT), M2M100, NLLB and mBART can",
		m->file, type, reason);
}

/* What must be false, or must not be there. */
static int check_switches(const struct import_job *m, struct err *e)
{
	static const char *const names[] = { "normalize_before", "normalize_embedding",
					     "add_final_layer_norm", "add_cross_attention_norm" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (json_boolean(json_get(m->config, names[i]), false))
			return err_set(e, ERR_DATA,
				       "%s/config.json: \"%s\" is true, but MarianMT has no such "
				       "norm",
				       m->folder, names[i]);
	return 0;
}

/* Sets a size from a number of config.json. */
static int set_size(struct import_job *m, const char *option, const char *key, struct err *e)
{
	char text[24];
	const int64_t v = json_integer(json_get(m->config, key), -1);
	const char *const set[] = { option, text, NULL };

	if (v < 1 || v > 65536)
		return err_set(e, ERR_DATA,
			       "%s/config.json: \"%s\" must be a number from 1 to 65536", m->folder,
			       key);
	snprintf(text, sizeof(text), "%lld", (long long)v);
	return import_set_options(m, set, e);
}

static int set_sizes(struct import_job *m, struct err *e)
{
	static const char *const sizes[][2] = {
		{ "d_model", "d_model" },
		{ "d_ff", "encoder_ffn_dim" },
		{ "decoder_ff", "decoder_ffn_dim" },
		{ "heads", "encoder_attention_heads" },
		{ "decoder_heads", "decoder_attention_heads" },
		{ "encoder_layers", "encoder_layers" },
		{ "decoder_layers", "decoder_layers" },
	};

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		if (set_size(m, sizes[i][0], sizes[i][1], e))
			return e->code;
	return 0;
}

static int set_activation(struct import_job *m, const char *usual, struct err *e)
{
	static const char *const names[][2] = {
		{ "swish", "silu" },
		{ "silu", "silu" },
		{ "relu", "relu" },
		{ "gelu", "gelu" },
		{ "gelu_new", "gelu-tanh" },
		{ "gelu_pytorch_tanh", "gelu-tanh" },
		{ "quick_gelu", "gelu-sigmoid" },
	};
	const char *name = json_text(json_get(m->config, "activation_function"), usual);

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i][0], name)) {
			const char *const set[] = { "activation", names[i][1], NULL };

			return import_set_options(m, set, e);
		}
	return err_set(e, ERR_DATA, "%s/config.json: the activation \"%.40s\" is not known",
		       m->folder, name);
}

/* Which tables the model has: from the tensors, since files name only tables of their own. */
static int set_tables(struct import_job *m, struct err *e)
{
	char name[256];
	const bool is_shared =
		json_boolean(json_get(m->config, "share_encoder_decoder_embeddings"), true);
	const bool is_tied = json_boolean(json_get(m->config, "tie_word_embeddings"), true) ||
			     !weight_foreign_tensor(&m->t, "lm_head.weight", 0, name);
	const char *const set[] = {
		"tied_embeddings",
		is_shared ? is_tied ? "all" : "source"
		: is_tied ? "output"
			  : "none",
		"embedding_scale",
		json_boolean(json_get(m->config, "scale_embedding"), false) ? "sqrt" : "one", NULL
	};

	return import_set_options(m, set, e);
}

int hf_set_common(struct import_job *m, const char *activation, struct err *e)
{
	if (json_is_object(json_get(m->config, "quantization_config")))
		return err_set(
			e, ERR_DATA,
			"%s/config.json: the weights are quantised: import the model in fp32 "
			"or fp16",
			m->folder);
	return set_sizes(m, e) || set_activation(m, activation, e) || set_tables(m, e) ? e->code
										       : 0;
}

/* Positions are computed, unless the file has others. */
static int set_positions(struct import_job *m, struct err *e)
{
	static const char *const choices[] = { "sinusoid", "sinusoid-2k", "sinusoid-pairs",
					       "learned" };
	char name[256], rows[24];
	struct import_tensor *x =
		weight_foreign_tensor(&m->t, "encoder.embed_positions.weight", 0, name);
	enum arch_positions kind = POSITIONS_SINUSOID_2K;
	const char *const set[] = { "positions", "", "max_positions", rows, NULL };
	const char *with[ARRAY_LEN(set)];

	if (x && weight_find_positions(m->t.f, x, 0, &kind, e))
		return e->code;
	memcpy(with, set, sizeof(set));
	with[1] = choices[kind];
	if (kind != POSITIONS_LEARNED)
		with[2] = NULL;
	else if (x->rows > ARCH_MAX_POSITIONS)
		return err_set(e, ERR_DATA, "%s: \"%s\" has more than %d rows", m->file, name,
			       ARCH_MAX_POSITIONS);
	snprintf(rows, sizeof(rows), "%lld", x ? (long long)x->rows : 0LL);
	return import_set_options(m, with, e);
}

/* Is the row of <pad>, from which the decoder starts, zero? */
static int check_start(struct import_job *m, bool *is_zero, struct err *e)
{
	const struct import_tensor *x = m->t.table;
	const int64_t pad = json_integer(json_get(m->config, "pad_token_id"), -1),
		      start = json_integer(json_get(m->config, "decoder_start_token_id"), pad);
	float *row = mem_alloc((size_t)x->cols, sizeof(*row), e);
	int rc = row ? 0 : e->code;

	*is_zero = true;
	if (!rc && (start < 0 || start >= x->rows || start != pad))
		rc = err_set(e, ERR_DATA,
			     "%s/config.json: decoder_start_token_id is %lld and pad_token_id is "
			     "%lld: MarianMT's decoder starts from padding, a row of the table",
			     m->folder, (long long)start, (long long)pad);
	if (!rc)
		rc = import_read_floats(m->t.f, x, start, 0, x->cols, row, e);
	for (int64_t i = 0; !rc && i < x->cols; i++)
		*is_zero = *is_zero && row[i] == 0;
	free(row);
	return rc;
}

static int read_architecture(struct import_job *m, struct err *e)
{
	static const char *const facts[] = {
		"norm_place",	"post", "norm",		  "layer",
		"norm_epsilon", "1e-5", "attention_bias", "yes",
		"output_bias",	"yes",	"ffn_bias",	  "yes",
		NULL,
	};
	const char *start[] = { "decoder_start", "zero", NULL };
	bool is_zero;

	if (check_switches(m, e) || import_set_options(m, facts, e) ||
	    hf_set_common(m, "gelu", e) || set_positions(m, e) || check_start(m, &is_zero, e))
		return e->code;
	if (!is_zero)
		start[1] = "start";
	return import_set_options(m, start, e) ? e->code : import_shape_of_options(m, e);
}

/* Reads generation_config.json. *root NULL: it is missing. Damaged, generate() refuses it. */
static int read_generation(const struct import_job *m, struct json **root, struct err *e)
{
	char *path = file_path(e, "%s/generation_config.json", m->folder);
	int rc = path ? json_read_optional(root, path, MAX_JSON, e) : e->code;

	if (!rc && !json_is_object(*root) && file_exists(path)) {
		rc = err_set(e, ERR_DATA,
			     "%s: not an object of JSON: download it again, or remove it", path);
		json_free(*root);
		*root = NULL;
	}
	free(path);
	return rc;
}

int hf_generation_number(const struct import_job *m, const char *key, int64_t *number,
			 struct err *e)
{
	struct json *root = NULL;
	int rc = read_generation(m, &root, e);

	*number = json_integer(json_get(root, key), json_integer(json_get(m->config, key), -1));
	json_free(root);
	return rc;
}

/* A fact of the search: generation_config.json wins over m->config; null counts as missing. */
static const struct json *find_search_fact(const struct import_job *m, const struct json *root,
					   const char *key)
{
	const struct json *v = json_get(root, key);

	return json_is_null(v) ? json_get(m->config, key) : v;
}

/* Refuses what changes the output of generate() and has no option in [decode]. */
static int check_search(const struct import_job *m, const struct json *root, struct err *e)
{
	static const struct {
		const char *key;
		double without; /* the value that changes nothing */
	} facts[] = {
		{ "no_repeat_ngram_size", 0 }, { "encoder_no_repeat_ngram_size", 0 },
		{ "repetition_penalty", 1 },   { "min_length", 0 },
		{ "num_beam_groups", 1 },
	};
	const struct json *beam = find_search_fact(m, root, "num_beams");

	if (!json_is_null(beam) && json_integer(beam, 0) < 1)
		return err_set(e, ERR_DATA,
			       "%s: num_beams of generation_config.json or config.json is not a "
			       "whole number of at least 1: correct it, or remove it",
			       m->folder);
	for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
		const struct json *v = find_search_fact(m, root, facts[i].key);

		if (!json_is_null(v) && json_number(v, NAN) != facts[i].without)
			return err_set(e, ERR_DATA,
				       "%s: %s of generation_config.json or config.json changes "
				       "translations, and the search of an imported model has no "
				       "such option: set it to %g to import the model without it",
				       m->folder, facts[i].key, facts[i].without);
	}
	return 0;
}

int hf_set_search(struct import_job *m, struct err *e)
{
	struct json *root = NULL;
	int rc = read_generation(m, &root, e);
	bool is_early;

	if (!rc)
		rc = check_search(m, root, e);
	if (!rc) {
		is_early = json_boolean(find_search_fact(m, root, "early_stopping"), false);
		rc = import_set_search(m, is_early ? "fairseq" : "transformers",
				       json_integer(find_search_fact(m, root, "num_beams"), 0),
				       json_number(find_search_fact(m, root, "length_penalty"), 1),
				       e);
	}
	json_free(root);
	return rc;
}

/* The decoder starts from padding, and nothing forces its first token. */
static int check_generation(const struct import_job *m, struct err *e)
{
	const int64_t pad = json_integer(json_get(m->config, "pad_token_id"), -1);
	int64_t start, forced;

	if (hf_generation_number(m, "decoder_start_token_id", &start, e) ||
	    hf_generation_number(m, "forced_bos_token_id", &forced, e))
		return e->code;
	if (start >= 0 && start != pad)
		return err_set(e, ERR_DATA,
			       "%s/generation_config.json: decoder_start_token_id is %lld, but "
			       "MarianMT's decoder starts from padding, token %lld",
			       m->folder, (long long)start, (long long)pad);
	if (forced >= 0)
		return err_set(e, ERR_DATA,
			       "%s: forced_bos_token_id of generation_config.json or config.json "
			       "is %lld: a MarianMT model with a forced first token cannot be "
			       "imported",
			       m->folder, (long long)forced);
	return 0;
}

static int open_hugging_face(struct import_job *m, struct err *e)
{
	struct json *root = NULL;
	int rc = hf_read_json(m, "config.json", &m->config, e);

	if (!rc)
		rc = check_model_type(m, e);
	if (!rc)
		rc = hf_open(m, e);
	if (!rc)
		rc = read_architecture(m, e);
	if (!rc)
		rc = check_generation(m, e);
	if (!rc)
		rc = hf_set_search(m, e);
	if (!rc)
		rc = hf_read_json(m, "tokenizer_config.json", &root, e);
	if (!rc)
		rc = import_set_languages(m, root, "source_lang", "target_lang", e);
	json_free(root);
	return rc;
}

/* ---- text -------------------------------------------------------------- */

/* Writes the vocabulary NAME of the folder as TO, and the rows of its ids. */
static int stage_vocabulary(struct import_job *m, const char *name, const char *to, int32_t **rows,
			    struct err *e)
{
	char *path = file_path(e, "%s/%s", m->folder, name);
	struct token_list w = { .n = 0 };
	int rc = path ? token_list_open(&w, path, e) : e->code;

	if (!rc)
		rc = import_stage_vocabulary(m, &w, to, rows, e);
	if (!rc)
		rc = import_protect_tags(m, &w, e);
	token_list_close(&w);
	free(path);
	return rc;
}

static bool has_target_vocabulary(const struct import_job *m)
{
	struct err ignored = { 0 };
	char *path = file_path(&ignored, "%s/target_vocab.json", m->folder);
	const bool has = path && file_exists(path);

	free(path);
	return has;
}

static int stage_hugging_face(struct import_job *m, struct err *e)
{
	const bool is_separate = has_target_vocabulary(m);
	int rc;

	m->special = (struct special_token_names){ "</s>", "<s>", "<unk>", .may_lack = true };
	rc = import_stage_pair(m, is_separate, e);
	if (!rc && is_separate)
		rc = stage_vocabulary(m, "vocab.json", SOURCE_VOCABULARY_FILE, &m->rows.source, e);
	if (!rc && is_separate)
		rc = stage_vocabulary(m, "target_vocab.json", TARGET_VOCABULARY_FILE,
				      &m->rows.target, e);
	if (!rc && !is_separate)
		rc = stage_vocabulary(m, "vocab.json", VOCABULARY_FILE, &m->rows.target, e);
	if (!rc && m->t.shape.decoder_start == DECODER_START)
		m->rows.target[TOKEN_START] = m->rows.target[TOKEN_PAD];
	return rc ? rc : import_find_segmentations(m, e);
}

const struct import_format import_hugging_face = { "MarianMT of Hugging Face",
						   recognise_hugging_face, open_hugging_face,
						   stage_hugging_face };
