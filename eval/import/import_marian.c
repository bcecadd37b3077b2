/*
 * import_marian.c - models of Marian: .npz with the options of the model in special:model.yml
 *
 * Options that the file lacks have the defaults of marian's command line. An option that would change translations
 * and that Werkbank's models lack is refused by name. Vocabularies: a YAML mapping of pieces to numbers, one piece a
 * line, or a SentencePiece model.
 *
 * Pre-norm means different functions in Marian before 1.11 (only the query is normalised), so it is accepted only
 * with a version of at least 1.11. Sources: transformer.h, embedding.h, npz of marian-dev.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/sentencepiece/sp.h"
#include "eval/import/import_format.h"
#include "eval/weights/yaml_subset.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/conf/text_sides.h"
#include "share/workspace/model_files.h"

#define MAX_VOCABULARY ((size_t)1 << 28) /* bytes */

static bool recognise_marian(const struct import_source *s)
{
	return zip_recognise(s->bytes, s->n) && memmem(s->bytes, s->n, NPZ_CONFIG_MEMBER, 17);
}

/* ---- architecture ------------------------------------------------------ */

static int refuse_option(const struct import_job *m, const char *key, const char *value,
			 const char *reason, struct err *e)
{
	return err_set(e, ERR_DATA,
		       "%s: the model has the option %s = \"%.60s\" of Marian, which Werkbank's "
		       "models cannot follow: %s",
		       m->file, key, value, reason);
}

/* Options that must have one of few values. */
static const struct {
	const char *key, *usual, *also, *reason;
} fixed_options[] = {
	{ "type", "transformer", "transformer", "another kind of network" },
	{ "transformer-ffn-depth", "2", "2", "a feed-forward sublayer has two products" },
	{ "transformer-decoder-ffn-depth", "0", "2", "a feed-forward sublayer has two products" },
	{ "transformer-no-projection", "false", "no", "attention has an output product" },
	{ "transformer-tied-layers", "", "", "layers have weights of their own" },
	{ "transformer-rnn-projection", "false", "no", "the recurrent unit has no output product" },
	{ "transformer-train-position-embeddings", "false", "no", "learned positions" },
	{ "transformer-train-positions", "false", "no", "learned positions" },
	{ "transformer-pool", "false", "no", "attention with pooling" },
	{ "transformer-no-bias", "false", "no", "products without biases" },
	{ "transformer-no-affine", "false", "no", "norms without weights" },
	{ "layer-normalization", "false", "no", "norms inside the recurrent unit" },
	{ "right-left", "false", "no", "the target is reversed" },
	{ "ulr", "false", "no", "universal encoder representations" },
	{ "lemma-dim-emb", "0", "", "factored vocabularies" },
	{ "lemma-dependency", "", "", "factored vocabularies" },
	{ "factors-combine", "sum", "", "factored vocabularies" },
	{ "input-types", "", "", "inputs with classes or weights" },
	{ "bert-train-type-embeddings", "false", "true", "" },
};

static int check_fixed_options(const struct import_job *m, const struct yaml *y, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(fixed_options); i++) {
		const char *v = yaml_get(y, fixed_options[i].key, fixed_options[i].usual);

		if (strcmp(v, fixed_options[i].usual) != 0 && strcmp(v, fixed_options[i].also) != 0)
			return refuse_option(m, fixed_options[i].key, v, fixed_options[i].reason,
					     e);
	}
	return 0;
}

static bool is_on(const struct yaml *y, const char *key)
{
	const char *v = yaml_get(y, key, "false");

	return !strcmp(v, "true") || !strcmp(v, "yes");
}

/* The version as major * 1000 + minor, of "v1.11.0 f00a0621 ..."; 0: unknown. */
static int marian_version(const struct yaml *y)
{
	int major = 0, minor = 0;

	return sscanf(yaml_get(y, "version", ""), "v%d.%d", &major, &minor) == 2 && major >= 0 &&
			       major < 100 && minor >= 0 && minor < 1000
		       ? major * 1000 + minor
		       : 0;
}

/* The letters of an option of norms, without d for dropout, which matters in training only. */
static void letters_of(const struct yaml *y, const char *key, const char *usual, char out[8])
{
	const char *v = yaml_get(y, key, usual);
	size_t n = 0;

	for (; *v && n < 7; v++)
		if (*v != 'd')
			out[n++] = *v;
	out[n] = 0;
}

static int set_norms(struct import_job *m, const struct yaml *y, struct err *e)
{
	const char *set[] = { "norm_place",	"pre", "norm", "layer", "final_norm", "yes",
			      "embedding_norm", "no",  NULL };
	char pre[8], post[8], top[8], emb[8], kind;
	bool is_post;

	letters_of(y, "transformer-preprocess", "", pre);
	letters_of(y, "transformer-postprocess", "dan", post);
	letters_of(y, "transformer-postprocess-top", "", top);
	letters_of(y, "transformer-postprocess-emb", "d", emb);
	is_post = !pre[0] && post[0] == 'a' && post[1] && !post[2];
	kind = is_post ? post[1] : pre[0];
	if (!(is_post || (pre[0] && !pre[1] && !strcmp(post, "a"))) || (kind != 'n' && kind != 'r'))
		return refuse_option(
			m, "transformer-preprocess, -postprocess",
			yaml_get(y, "transformer-postprocess", "dan"),
			"the order of norm and sum must be \"n\" and \"da\", or \"\" and "
			"\"dan\" (r instead of n: RMS)",
			e);
	if ((emb[0] && (emb[0] != kind || emb[1])) ||
	    (top[0] && (is_post || top[0] != kind || top[1])))
		return refuse_option(m, "transformer-postprocess-top, -emb", top[0] ? top : emb,
				     "one kind of norms, and with post-norm none at the top", e);
	if (!is_post && marian_version(y) < 1011)
		return refuse_option(m, "transformer-preprocess", pre,
				     "Marian before 1.11 normalises only the query of attention "
				     "(version of the file: see its option version)",
				     e);
	set[1] = is_post ? "post" : "pre";
	set[3] = kind == 'r' ? "rms" : "layer";
	set[5] = top[0] || is_post ? "yes" : "no";
	set[7] = emb[0] ? "yes" : "no";
	return import_set_options(m, set, e);
}

static int set_marian_sizes(struct import_job *m, const struct yaml *y, struct err *e)
{
	static const struct {
		const char *option, *key, *usual;
	} sizes[] = {
		{ "d_model", "dim-emb", "512" },
		{ "d_ff", "transformer-dim-ffn", "2048" },
		{ "decoder_ff", "transformer-decoder-dim-ffn", "0" },
		{ "heads", "transformer-heads", "8" },
		{ "encoder_layers", "enc-depth", "1" },
		{ "decoder_layers", "dec-depth", "1" },
	};

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		const char *v = yaml_get(y, sizes[i].key, sizes[i].usual);
		const char *const set[] = { sizes[i].option, v, NULL };
		int64_t n;

		if (!text_to_int(v, &n) || n < 0 || n > 65536 || (!n && i != 2))
			return refuse_option(m, sizes[i].key, v, "a number up to 65536 is expected",
					     e);
		if (import_set_options(m, set, e))
			return e->code;
	}
	return 0;
}

static int set_decoder(struct import_job *m, const struct yaml *y, struct err *e)
{
	const char *reg = yaml_get(y, "transformer-decoder-autoreg", "self-attention"),
		   *cell = yaml_get(y, "dec-cell", "gru"),
		   *act = yaml_get(y, "transformer-ffn-activation", "swish");
	const char *set[] = { "decoder_self", "attention", "activation", "silu", NULL };

	if (!strcmp(reg, "rnn") && !strcmp(cell, "ssru"))
		set[1] = "ssru";
	else if (strcmp(reg, "self-attention") != 0)
		return refuse_option(m, "transformer-decoder-autoreg", reg,
				     "only self-attention, and rnn with dec-cell ssru", e);
	if (!strcmp(act, "relu"))
		set[3] = "relu";
	else if (!strcmp(act, "gelu")) /* exact since 1.12 */
		set[3] = marian_version(y) >= 1012 ? "gelu" : "gelu-sigmoid";
	else if (strcmp(act, "swish") != 0)
		return refuse_option(m, "transformer-ffn-activation", act,
				     "only swish, relu and gelu", e);
	return import_set_options(m, set, e);
}

static int set_marian_tables(struct import_job *m, const struct yaml *y, struct err *e)
{
	const bool is_all = is_on(y, "tied-embeddings-all");
	const bool has_source = is_all || is_on(y, "tied-embeddings-src"),
		   has_output = is_all || is_on(y, "tied-embeddings");
	const char *const set[] = { "tied_embeddings",
				    has_source	 ? has_output ? "all" : "source"
				    : has_output ? "output"
						 : "none",
				    "output_bias", is_on(y, "output-omit-bias") ? "no" : "yes",
				    NULL };

	return import_set_options(m, set, e);
}

static int read_marian(struct import_job *m, const struct yaml *y, struct err *e)
{
	static const char *const facts[] = {
		"norm_epsilon", "1e-6",	    "attention_bias", "yes",  "ffn_bias",	 "yes",
		"positions",	"sinusoid", "decoder_start",  "zero", "embedding_scale", "sqrt",
		NULL,
	};

	if (check_fixed_options(m, y, e) || import_set_options(m, facts, e) || set_norms(m, y, e) ||
	    set_marian_sizes(m, y, e) || set_decoder(m, y, e) || set_marian_tables(m, y, e))
		return e->code;
	return import_shape_of_options(m, e);
}

static int open_marian(struct import_job *m, struct err *e)
{
	struct yaml config;
	int rc = import_open_npz(&m->f, m->file, &config, e);

	if (!rc)
		rc = weight_map_begin(&m->t, &m->f, NAMING_marian, NULL, e);
	if (!rc)
		rc = read_marian(m, &config, e);
	yaml_close(&config);
	return rc;
}

/* ---- vocabularies ------------------------------------------------------ */

/*
 * The files of the vocabularies of source and target, beside the weights: named in decoder.yml, or the only file
 * with such an end.
 */
struct vocabulary_files {
	char source[FILE_NAME_BYTES], target[FILE_NAME_BYTES];
};

static void base_name(const char *path, char out[FILE_NAME_BYTES])
{
	const char *slash = strrchr(path, '/');

	snprintf(out, FILE_NAME_BYTES, "%s", slash ? slash + 1 : path);
}

static int read_decoder_options(const struct import_job *m, struct vocabulary_files *v,
				struct err *e)
{
	char *path = file_path(e, "%s/decoder.yml", m->folder);
	struct buf text = { 0 };
	struct yaml y = { .n = 0 };
	char names[2 * FILE_NAME_BYTES] = "", *blank;
	int rc = path ? 0 : e->code;

	if (!rc && file_exists(path)) {
		rc = file_read_all(path, 1 << 20, &text, e);
		if (!rc)
			rc = yaml_read(&y, path, buf_text(&text), text.len, e);
		snprintf(names, sizeof(names), "%s", rc ? "" : yaml_get(&y, "vocabs", ""));
		blank = strchr(names, ' ');
		if (blank) {
			*blank = 0;
			base_name(names, v->source);
			base_name(blank + 1, v->target);
		}
	}
	yaml_close(&y);
	buf_free(&text);
	free(path);
	return rc;
}

static bool is_marian_vocabulary(const char *name)
{
	return text_ends_with(name, "vocab.yml") || text_ends_with(name, "vocab.json") ||
	       (text_starts_with(name, "vocab") &&
		(text_ends_with(name, ".spm") || text_ends_with(name, ".yml") ||
		 text_ends_with(name, ".txt")));
}

static int find_vocabulary_files(const struct import_job *m, struct vocabulary_files *v,
				 struct err *e)
{
	DIR *d;
	const struct dirent *f;
	int n = 0;

	*v = (struct vocabulary_files){ .source = "" };
	if (read_decoder_options(m, v, e) || *v->source)
		return e->code;
	d = opendir(m->folder);
	if (!d)
		return err_set_errno(e, ERR_NOINPUT, "cannot list the folder %s", m->folder);
	while ((f = readdir(d)) != NULL)
		if (is_marian_vocabulary(f->d_name)) {
			n++;
			base_name(f->d_name, v->source);
			base_name(f->d_name, v->target);
		}
	closedir(d);
	if (n != 1)
		return err_set(e, ERR_NOINPUT,
			       "%s has %d vocabularies (*vocab.yml, vocab*.spm): one is needed, or "
			       "decoder.yml with the option vocabs",
			       m->folder, n);
	return 0;
}

/* Tokens of a YAML mapping. Marian knows </s> and <unk> by name, and by the numbers 0 and 1 if the names differ. */
static int list_yaml_tokens(struct token_list *w, const struct yaml *y, const char *path,
			    struct err *e)
{
	w->cap = 2 * y->n + 1000;
	w->items = mem_alloc(w->cap, sizeof(*w->items), e);
	if (!w->items)
		return e->code;
	for (size_t i = 0; i < y->n; i++) {
		int64_t row;

		if (!text_to_int(yaml_value(y, i), &row) || row < 0 || (size_t)row >= w->cap ||
		    w->items[row])
			return err_set(e, ERR_DATA,
				       "%s: the token \"%.60s\" has the number \"%.20s\", which is "
				       "no row, or that of another token",
				       path, yaml_key(y, i), yaml_value(y, i));
		w->items[row] = yaml_key(y, i);
		w->n = MAX(w->n, (size_t)row + 1);
	}
	return 0;
}

/* Writes the vocabulary NAME of the folder as TO. */
static int stage_marian_vocabulary(struct import_job *m, const char *name, const char *to,
				   int32_t **rows, struct err *e)
{
	char *path = file_path(e, "%s/%s", m->folder, name);
	struct token_list w = { .n = 0 };
	struct yaml y = { .n = 0 };
	struct buf text = { 0 };
	struct sp *s = NULL;
	int rc = path ? 0 : e->code;

	if (!rc && text_ends_with(name, ".spm")) {
		s = sp_open(path, e);
		rc = s ? import_list_pieces(&w, s, e) : e->code;
	} else if (!rc && text_ends_with(name, ".txt")) {
		rc = token_list_open(&w, path, e);
	} else if (!rc) {
		rc = file_read_all(path, MAX_VOCABULARY, &text, e);
		if (!rc)
			rc = yaml_read(&y, path, buf_text(&text), text.len, e);
		if (!rc)
			rc = list_yaml_tokens(&w, &y, path, e);
	}
	if (!rc)
		rc = import_stage_vocabulary(m, &w, to, rows, e);
	token_list_close(&w);
	yaml_close(&y);
	buf_free(&text);
	sp_close(s);
	free(path);
	return rc;
}

/* The SentencePiece models that are the vocabularies themselves. */
static int stage_marian_pieces(struct import_job *m, const struct vocabulary_files *v,
			       bool is_joint, struct err *e)
{
	if (import_set_text_options(m, is_joint ? "joint" : "separate", e))
		return e->code;
	if (is_joint)
		return import_stage_file(m, v->target, SENTENCEPIECE_FILE, e);
	if (import_stage_file(m, v->source, SOURCE_SENTENCEPIECE_FILE, e))
		return e->code;
	return import_stage_file(m, v->target, TARGET_SENTENCEPIECE_FILE, e);
}

/* Has export written the folder of a model with BPE? recipe.ini says so. */
static bool has_bpe(const struct import_job *m)
{
	return import_option_given(m->c, "segmentation") &&
	       text_segmentation(m->c, 1) == SEGMENTATION_BPE;
}

/* The files that recipe.ini names, with BPE on one side or both; OPUS-MT's source.spm and target.spm. */
static int stage_bpe(struct import_job *m, struct err *e)
{
	static const char *const names[] = { "source.spm", "target.spm" };
	int rc = text_sides_check(m->c, e);

	for (int side = text_subword_models(m->c) > 1 ? 0 : 1; !rc && side < 2; side++) {
		const char *to = text_codes_file(m->c, side);

		rc = import_stage_file(
			m, text_segmentation(m->c, side) == SEGMENTATION_BPE ? to : names[side], to,
			e);
	}
	return rc;
}

static int stage_marian(struct import_job *m, struct err *e)
{
	struct vocabulary_files v;
	bool is_joint, is_bpe;
	int rc = find_vocabulary_files(m, &v, e);

	is_joint = !strcmp(v.source, v.target);
	is_bpe = has_bpe(m) || (import_option_given(m->c, "source_segmentation") &&
				text_segmentation(m->c, 0) == SEGMENTATION_BPE);
	m->special = (struct special_token_names){ "</s>", "<s>", "<unk>", .may_lack = true };
	if (!rc)
		rc = text_ends_with(v.target, ".spm") ? stage_marian_pieces(m, &v, is_joint, e)
		     : is_bpe			      ? stage_bpe(m, e)
						      : import_stage_pair(m, !is_joint, e);
	if (!rc && !is_joint)
		rc = stage_marian_vocabulary(m, v.source, SOURCE_VOCABULARY_FILE, &m->rows.source,
					     e);
	if (!rc)
		rc = stage_marian_vocabulary(m, v.target,
					     is_joint ? VOCABULARY_FILE : TARGET_VOCABULARY_FILE,
					     &m->rows.target, e);
	import_silence_missing(m);
	return rc || is_bpe ? rc : import_find_segmentations(m, e);
}

const struct import_format import_marian = { "Marian", recognise_marian, open_marian,
					     stage_marian };
