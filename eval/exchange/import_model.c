/* import_model.c - collects weights, vocabulary and word splitting; see import_model.h */
#include "eval/exchange/import_model.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "data/subword/pipeline.h"
#include "eval/exchange/import_vocabulary.h"
#include "eval/exchange/model_export.h"
#include "eval/exchange/weight_map.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/conf/text_facts.h"
#include "share/format/json.h"
#include "share/workspace/model_files.h"
#include "share/workspace/paths.h"
#include "train/ckpt/ckpt.h"

struct model_import {
	struct conf *c;	  /* borrowed */
	const char *file; /* borrowed */
	char *folder;	  /* owned: folder of the weights */
	char *pieces;	  /* owned: folder that is searched for vocab.tsv, bpe.codes ... */
	char *to;	  /* owned: the result, a run folder or a model folder */
	char *beside;	  /* owned: temporary folders are made beside this path */
	struct outfolder result;
	char *model;		  /* owned: the model folder in the result's temporary */
	struct outfolder staging; /* files of the model besides weights; never committed */
	struct import_reader f;
	struct weight_map t;
	struct special_token_names special; /* point into config */
	struct json *config;		    /* owned: config.json of CTranslate2; NULL: none */
	int32_t *rows;			    /* owned: row of each token id; NULL: row = id */
	struct ckpt_state state;
};

static bool import_option_given(const struct conf *c, const char *option)
{
	return strcmp(conf_origin(c, option), "default") != 0;
}

/* ---- paths and options ------------------------------------------------- */

static int find_output(struct model_import *m, struct err *e)
{
	const struct conf *c = m->c;
	char *workspace = paths_workspace(c->workspace, e);
	size_t n = c->output ? strlen(c->output) : 0;

	if (!workspace)
		return e->code;
	while (n > 1 && c->output[n - 1] == '/')
		n--;
	if (c->run)
		m->to = file_path(e, "%s/runs/%s", workspace, c->run);
	else
		m->to = file_path(e, "%.*s", (int)n, c->output);
	if (m->to) /* every entry of runs/ is a run, so the temporary is not there */
		m->beside = c->run ? file_path(e, "%s/import", workspace) : mem_strdup(m->to, e);
	if (m->beside && conf_is_given(c, "corpus"))
		m->pieces = file_path(e, "%s/corpora/%s", workspace, c->corpus);
	else if (m->beside)
		m->pieces = mem_strdup(m->folder, e);
	free(workspace);
	if (!m->pieces)
		return e->code;
	if (c->run && file_exists(m->to))
		return err_set(e, ERR_CANTCREAT,
			       "a run called %s already exists: give another --run", c->run);
	return 0;
}

static int check_options(const struct conf *c, struct err *e)
{
	if (!c->run == !c->output)
		return err_set(e, ERR_USAGE,
			       "give either --run NAME to import the weights as a run, or --output "
			       "FOLDER to make a model folder");
	if (c->run && paths_check_name("run", c->run, e))
		return e->code;
	return c->corpus ? paths_check_name("corpus", c->corpus, e) : 0;
}

/* *path: a file of m->pieces, freed by the caller; NULL if it does not exist. */
static int find_piece(const struct model_import *m, const char *name, char **path, struct err *e)
{
	*path = file_path(e, "%s/%s", m->pieces, name);
	if (!*path)
		return e->code;
	if (!file_exists(*path)) {
		free(*path);
		*path = NULL;
	}
	return 0;
}

static int import_load_recipe(struct model_import *m, struct err *e)
{
	char *path;
	int rc = find_piece(m, "recipe.ini", &path, e);

	if (!rc && path && conf_is_given(m->c, "corpus")) /* the folder is that of the corpus */
		rc = text_facts_adopt(m->c, m->c->corpus, path, e);
	else if (!rc && path)
		rc = conf_load_recipe(m->c, path, e);
	free(path);
	return rc;
}

/* ---- facts that the tensors lack --------------------------------------- */

/* Reads config.json of CTranslate2 and refuses other architectures. */
static int read_config(struct model_import *m, struct err *e)
{
	char *path = file_path(e, "%s/config.json", m->folder);
	struct buf text = { 0 };
	const char *start;
	double epsilon;
	int rc = path ? 0 : e->code;

	m->special = (struct special_token_names){ "</s>", "<s>", "<unk>" };
	if (!rc && file_exists(path)) {
		rc = file_read_all(path, 1 << 20, &text, e);
		m->config = rc ? NULL : json_parse(buf_text(&text), text.len, e);
		if (!rc && !m->config)
			rc = err_prefix(e, "%s", path);
	}
	m->special.end = json_text(json_get(m->config, "eos_token"), m->special.end);
	m->special.start = json_text(json_get(m->config, "bos_token"), m->special.start);
	m->special.unknown = json_text(json_get(m->config, "unk_token"), m->special.unknown);
	start = json_text(json_get(m->config, "decoder_start_token"), m->special.start);
	epsilon = json_number(json_get(m->config, "layer_norm_epsilon"), 1e-6); /* 1e-6 */
	if (!rc && strcmp(start, m->special.start) != 0)
		rc = err_set(e, ERR_DATA,
			     "%s: the decoder starts from \"%.60s\", but Werkbank's decoder starts "
			     "from \"%.60s\"",
			     path, start, m->special.start);
	if (!rc && json_boolean(json_get(m->config, "add_source_bos"), false))
		rc = err_set(e, ERR_DATA,
			     "%s: with add_source_bos the encoder reads <s> first, but Werkbank's "
			     "encoder does not",
			     path);
	if (!rc && fabs(epsilon - 1e-6) > 1e-8)
		rc = err_set(e, ERR_DATA,
			     "%s: layer_norm_epsilon is %g, but Werkbank's norms have %g", path,
			     epsilon, 1e-6);
	buf_free(&text);
	free(path);
	return rc;
}

static bool text_equals_word(const char *text, const char *word)
{
	return text && !strcasecmp(text, word);
}

/*
 * Reads the metadata of a safetensors file. The tensor names of nn.Transformer are the same for
 * pre-norm and post-norm, so the metadata or --pre-norm must decide.
 */
static int read_metadata(struct model_import *m, struct err *e)
{
	const char *first = safetensors_metadata(m->f.file, "norm_first"),
		   *activation = safetensors_metadata(m->f.file, "activation"),
		   *heads = safetensors_metadata(m->f.file, "nhead");
	int64_t n = 0;

	if (!heads)
		heads = safetensors_metadata(m->f.file, "heads");
	if (heads && (!text_to_int(heads, &n) || n < 1 || n > 128))
		return err_set(e, ERR_DATA,
			       "%s: the metadata \"heads\" is \"%.20s\": expected a number of "
			       "attention heads from 1 to 128",
			       m->file, heads);
	if (n)
		m->t.shape.heads = (int32_t)n;
	if (m->t.scheme != NAMING_pytorch)
		return 0;
	if (text_equals_word(first, "false"))
		return err_set(e, ERR_DATA,
			       "%s: norm_first is false, so the model is post-norm (each norm "
			       "follows its residual sum), but Werkbank's Transformer is pre-norm",
			       m->file);
	if (!text_equals_word(first, "true") && !m->c->pre_norm)
		return err_set(e, ERR_USAGE,
			       "%s: the tensors of nn.Transformer do not show whether the model is "
			       "pre-norm, as Werkbank's is; PyTorch's default is post-norm. If it "
			       "was made with norm_first=True, give --pre-norm",
			       m->file);
	if (activation && !text_equals_word(activation, "relu"))
		return err_set(e, ERR_DATA, "%s: the activation is %.40s, but Werkbank's is ReLU",
			       m->file, activation);
	return 0;
}

/* The number of heads: from the file, else --heads, else --size if its d_model fits. */
static int find_heads(struct model_import *m, struct err *e)
{
	const struct conf *c = m->c;
	const struct model_shape *s = &m->t.shape;
	const bool is_given = import_option_given(c, "heads") || import_option_given(c, "size");

	conf_apply_size(m->c);
	if (!m->t.shape.heads && is_given &&
	    (import_option_given(c, "heads") || c->d_model == s->d_model))
		m->t.shape.heads = (int32_t)c->heads;
	if (!m->t.shape.heads)
		return err_set(e, ERR_USAGE,
			       "%s: the tensors do not show the number of attention heads: give "
			       "--heads N",
			       m->file);
	if (s->d_model % s->heads || s->d_model / s->heads % 2 || s->d_model < 4)
		return err_set(e, ERR_DATA,
			       "%s: %d heads do not divide a d_model of %d into parts of even size",
			       m->file, s->heads, s->d_model);
	return 0;
}

/* Sets the sizes of the weights in the recipe. */
static int set_size_options(struct model_import *m, struct err *e)
{
	const struct arch_row *row;
	char text[ARCH_TEXT_MAX];
	int rc = 0;

	for (size_t i = 0; !rc && (row = arch_at(i)) != NULL; i++)
		if (row->is_option && arch_is_written(&m->t.shape, row))
			rc = conf_set(m->c, row->name, arch_text(&m->t.shape, row, text),
				      "imported weights", e);
	return rc;
}

/* ---- vocabulary and pieces --------------------------------------------- */

/*
 * Copies a file to the staging folder: given (the file that an option names), or if NULL the file
 * of this name in m->pieces. *is_found: there was a file.
 */
static int stage_model_file(const struct model_import *m, const char *given, const char *name,
			    bool *is_found, struct err *e)
{
	char *from = NULL, *to = file_path(e, "%s/%s", m->staging.temporary, name);
	int rc = to ? 0 : e->code;

	if (!rc)
		rc = given ? 0 : find_piece(m, name, &from, e);
	*is_found = given || from;
	if (!rc && *is_found)
		rc = file_copy(given ? given : from, to, e);
	free(from);
	free(to);
	return rc;
}

/* The tokens that came with the weights must be equal to those of vocab.tsv. */
static int check_words(const struct token_list *w, const struct vocab *v, const char *path,
		       struct err *e)
{
	for (size_t i = 0; i < w->n && i < (size_t)vocab_real_size(v); i++)
		if (strcmp(w->items[i], vocab_piece(v, (int32_t)i)) != 0)
			return err_set(
				e, ERR_DATA,
				"%s: token %zu is \"%.60s\", but vocab.tsv has \"%.60s\": the "
				"files are different vocabularies",
				path, i, w->items[i], vocab_piece(v, (int32_t)i));
	return 0;
}

/* Makes vocab.tsv in the staging folder from a list of tokens, or compares the list with it. */
static int use_words(struct model_import *m, const char *path, bool compare, struct err *e)
{
	struct token_list w;
	struct vocab *v = NULL;
	char *to = file_path(e, "%s/" VOCABULARY_FILE, m->staging.temporary);
	int32_t n;
	int rc = token_list_open(&w, path, e);

	if (!to)
		rc = e->code;
	else if (!rc && compare) {
		v = vocab_open(to, e);
		rc = v ? check_words(&w, v, path, e) : e->code;
	} else if (!rc) {
		rc = token_list_write(&w, &m->special, to, &m->rows, &n, e);
		if (rc)
			rc = err_prefix(e, "%s", path);
		else if (n != m->t.shape.vocabulary)
			rc = err_set(e, ERR_DATA,
				     "%s has %d tokens, but the embedding table \"%s\" has %d rows",
				     path, n, m->t.table->name, m->t.shape.vocabulary);
	}
	vocab_close(v);
	token_list_close(&w);
	free(to);
	return rc;
}

/* Does the file begin like a vocab.tsv of Werkbank? */
static int check_vocab_tsv(const char *path, bool *is_own, struct err *e)
{
	static const char head[] = "<pad>\t";
	char first[sizeof(head)] = "";
	size_t n;
	int rc = file_read_head(path, first, sizeof(head) - 1, &n, e);

	*is_own = !rc && !strcmp(first, head);
	return rc;
}

static int find_vocabulary(struct model_import *m, struct err *e)
{
	static const char *const lists[] = { "shared_vocabulary.json", "shared_vocabulary.txt" };
	const char *given = m->c->vocabulary;
	bool is_found = false, is_own;
	int rc = 0;

	if (given && check_vocab_tsv(given, &is_own, e))
		return e->code;
	if (given && !is_own)
		return use_words(m, given, false, e);
	rc = stage_model_file(m, given, VOCABULARY_FILE, &is_found, e);
	for (size_t i = 0; i < ARRAY_LEN(lists) && !rc && !m->rows; i++) {
		char *path = file_path(e, "%s/%s", m->folder, lists[i]);

		rc = !path ? e->code : file_exists(path) ? use_words(m, path, is_found, e) : 0;
		is_found = is_found || m->rows;
		free(path);
	}
	if (!rc && !is_found)
		rc = err_set(e, ERR_NOINPUT,
			     "%s: the token of each row is unknown: there is no vocab.tsv in its "
			     "folder%s. Give --corpus NAME, or --vocabulary FILE with one token "
			     "per line",
			     m->file,
			     m->t.scheme == NAMING_ctranslate2
				     ? " and no shared_vocabulary.json (of source and target)"
				     : "");
	return rc;
}

static int stage_pieces(struct model_import *m, struct err *e)
{
	const bool sentencepiece = m->c->segmentation == SEGMENTATION_SENTENCEPIECE;
	bool is_found;
	int rc = outfolder_open(&m->staging, m->beside, NULL, e);

	if (!rc)
		rc = find_vocabulary(m, e);
	if (!rc)
		rc = stage_model_file(m, sentencepiece ? NULL : m->c->codes,
				      pipeline_codes_file(m->c, SIDE_TARGET), &is_found, e);
	if (!rc && !is_found)
		rc = err_set(e, ERR_NOINPUT, "%s has no %s, which splits words into pieces: %s",
			     m->pieces, pipeline_codes_file(m->c, SIDE_TARGET),
			     sentencepiece ? "give --corpus NAME"
					   : "give --codes FILE or --corpus NAME");
	return rc;
}

/* ---- writing ----------------------------------------------------------- */

/* Takes the sizes of the vocabulary from the staged vocab.tsv. */
static int measure_vocabulary(struct model_import *m, struct err *e)
{
	char *path = file_path(e, "%s/" VOCABULARY_FILE, m->staging.temporary);
	struct vocab *v = path ? vocab_open(path, e) : NULL;

	free(path);
	if (!v)
		return e->code;
	m->state = (struct ckpt_state){ .best_bleu = -1, .best_step = -1, .shape = m->t.shape };
	m->state.shape.vocabulary = vocab_size(v);
	m->state.shape.real_vocabulary = vocab_real_size(v);
	snprintf(m->state.vocabulary_sha256, sizeof(m->state.vocabulary_sha256), "%s",
		 vocab_sha256(v));
	vocab_close(v);
	return 0;
}

static int write_model(struct model_import *m, struct err *e)
{
	const struct dev_options options = { .threads = 1 };
	const struct ckpt_folder of = { m->staging.temporary, m->c, &m->state };
	struct model *model = model_new(&m->state.shape, ops_ref(), &options, e);
	struct pipeline *p;
	float *arena = model ? model_param_arena(model) : NULL;
	int rc = model ? 0 : e->code;

	assert(m->state.shape.real_vocabulary <= m->state.shape.vocabulary);
	if (!rc) {
		memset(arena, 0, (size_t)model_floats(model) * sizeof(*arena));
		rc = weight_map_load(&m->t, &m->state.shape, m->rows, arena, e);
	}
	if (!rc)
		rc = ckpt_save_model(m->model, &of, model, NULL, e);
	model_free(model);
	if (rc)
		return rc;
	p = pipeline_open(m->model, m->c, e); /* verify that the foreign files are usable */
	pipeline_close(p);
	return p ? 0 : e->code;
}

/* Adds the files of a run: two links, recipe, state, and a journal that names the origin. */
static int write_run(struct model_import *m, struct err *e)
{
	struct buf journal = { 0 }, state = { 0 }, recipe = { 0 };
	struct json_writer j = { .out = &journal }, s = { .out = &state };
	char *link = file_path(e, "%s/checkpoints/last", m->result.temporary);
	char origin[600];
	int rc = link ? ckpt_set_best(m->result.temporary, 0, e) : e->code;

	if (!rc)
		rc = file_make_link(link, "0", e);
	free(link);
	snprintf(origin, sizeof(origin), "weights imported from %.500s", m->file);
	json_open(&j, '{');
	json_put_int(&j, "v", 1);
	json_put_str(&j, "kind", "event");
	json_put_int(&j, "t", (int64_t)time(NULL));
	json_put_int(&j, "step", 0);
	json_put_str(&j, "level", "info");
	json_put_str(&j, "text", origin);
	json_close(&j, '}');
	buf_add_char(&journal, '\n');
	json_open(&s, '{');
	json_put_str(&s, "state", "finished");
	json_put_int(&s, "attempt", 1);
	json_put_str(&s, "event", origin);
	json_close(&s, '}');
	buf_add_char(&state, '\n');
	conf_write_recipe(m->c, &recipe);
	if (!rc)
		rc = file_write_into(m->result.temporary, "journal.jsonl", &journal, e);
	if (!rc)
		rc = file_write_into(m->result.temporary, "state.json", &state, e);
	if (!rc)
		rc = file_write_into(m->result.temporary, "recipe.ini", &recipe, e);
	buf_free(&journal);
	buf_free(&state);
	buf_free(&recipe);
	return rc;
}

static int open_result(struct model_import *m, struct err *e)
{
	if (outfolder_open(&m->result, m->to, m->beside, e))
		return e->code;
	m->model = m->c->run ? file_path(e, "%s/checkpoints/0", m->result.temporary)
			     : mem_strdup(m->result.temporary, e);
	return m->model ? 0 : e->code;
}

static int make_imported_model(struct model_import *m, struct err *e)
{
	int rc = stage_pieces(m, e);

	if (!rc)
		rc = measure_vocabulary(m, e);
	if (!rc)
		rc = set_size_options(m, e);
	if (!rc)
		rc = open_result(m, e);
	if (!rc)
		rc = write_model(m, e);
	if (!rc && m->c->run)
		rc = write_run(m, e);
	return rc ? rc : outfolder_commit(&m->result, e);
}

static void report_model_import(const struct model_import *m)
{
	static const char *const names[] = { "Werkbank's own names", "CTranslate2",
					     "PyTorch's nn.Transformer" };
	const struct model_shape *s = &m->state.shape;

	fprintf(stderr, "%s: %s: d_model %d, d_ff %d, %d heads, %d and %d layers, %d tokens\n",
		m->to, names[m->t.scheme], s->d_model, s->d_ff, s->heads, s->encoder_layers,
		s->decoder_layers, s->real_vocabulary);
	if (m->t.scheme == NAMING_pytorch)
		fprintf(stderr, "the import assumes layer_norm_eps 1e-6; if the model was trained "
				"with PyTorch's default 1e-5, translations can differ slightly\n");
}

static int open_weights(struct model_import *m, enum import_kind kind, struct err *e)
{
	int rc = kind == IMPORT_CTRANSLATE2 ? import_open_ct2(&m->f, m->file, e)
					    : import_open_safetensors(&m->f, m->file, e);

	if (!rc)
		rc = weight_map_open(&m->t, &m->f, e);
	if (!rc && kind == IMPORT_CTRANSLATE2)
		return read_config(m, e);
	m->special = (struct special_token_names){ "</s>", "<s>", "<unk>" };
	return rc ? rc : read_metadata(m, e);
}

int import_model(struct conf *c, enum import_kind kind, const char *file, struct err *e)
{
	struct model_import m = { .c = c, .file = file };
	const char *slash = strrchr(file, '/');
	int rc = check_options(c, e);

	if (!rc) {
		m.folder = slash ? file_path(e, "%.*s", (int)(slash - file), file)
				 : mem_strdup(".", e);
		rc = m.folder ? find_output(&m, e) : e->code;
	}
	if (!rc)
		rc = open_weights(&m, kind, e);
	if (!rc)
		rc = import_load_recipe(&m, e);
	if (!rc)
		rc = find_heads(&m, e);
	if (!rc)
		rc = make_imported_model(&m, e);
	outfolder_abandon(&m.result);
	outfolder_abandon(&m.staging);
	if (!rc && !c->quiet)
		report_model_import(&m);
	import_reader_close(&m.f);
	json_free(m.config);
	free(m.rows);
	free(m.folder);
	free(m.pieces);
	free(m.to);
	free(m.beside);
	free(m.model);
	return rc;
}
