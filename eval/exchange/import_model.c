/* import_model.c - see import_model.h */
#include "eval/exchange/import_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "data/subword/pipeline.h"
#include "eval/exchange/model_export.h"
#include "eval/exchange/import_vocabulary.h"
#include "eval/exchange/weight_map.h"
#include "share/base/json.h"
#include "share/base/mem.h"
#include "share/base/paths.h"
#include "share/base/text.h"
#include "train/ckpt/ckpt.h"

struct model_import {
	struct conf *c;	  /* borrowed */
	const char *file; /* borrowed */
	char *folder;	  /* owned: of the weights */
	char *pieces;	  /* owned: where vocab.tsv, bpe.codes are looked for */
	char *to;	  /* owned: what is made, a run's folder or a model's */
	char *temporary;  /* owned: where it is made */
	char *model;	  /* owned: the model's folder in there */
	char *staging;	  /* owned: what goes into the model besides weights */
	struct import_reader f;
	struct weight_map t;
	struct special_token_names special; /* point into config */
	struct json *config;		    /* owned: config.json of CTranslate2; NULL: none */
	int32_t *rows;			    /* owned; NULL: as in vocab.tsv */
	struct ckpt_state state;
};

static bool import_option_given(const struct conf *c, const char *option)
{
	return strcmp(conf_origin(c, option), "default") != 0;
}

/* ---- where things are -------------------------------------------------- */

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
	if (m->to)
		m->temporary = c->run ? file_path(e, "%s/import.%ld.tmp", workspace, (long)getpid())
				      : file_path(e, "%s.%ld.tmp", m->to, (long)getpid());
	if (m->temporary)
		m->model = c->run ? file_path(e, "%s/checkpoints/0", m->temporary)
				  : mem_strdup(m->temporary, e);
	if (m->model)
		m->staging = file_path(e, "%s.pieces", m->temporary);
	if (m->staging && c->corpus && import_option_given(c, "corpus"))
		m->pieces = file_path(e, "%s/corpora/%s", workspace, c->corpus);
	else if (m->staging)
		m->pieces = mem_strdup(m->folder, e);
	free(workspace);
	if (!m->pieces)
		return e->code;
	if (c->run && file_exists(m->to))
		return err_set(e, ERR_CANTCREAT,
			       "there is a run called %s already: give another --run", c->run);
	return 0;
}

static int check_options(const struct conf *c, struct err *e)
{
	if (!c->run == !c->output)
		return err_set(e, ERR_USAGE,
			       "import the weights as what? give either --run NAME, "
			       "or --output FOLDER for a model folder");
	if (c->run && paths_check_name("run", c->run, e))
		return e->code;
	return c->corpus ? paths_check_name("corpus", c->corpus, e) : 0;
}

/* A file of the folder with the vocabulary; *path is owned, NULL when it is not there. */
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
	int code = find_piece(m, "recipe.ini", &path, e);

	if (!code && path)
		code = conf_load_recipe(m->c, path, e);
	free(path);
	return code;
}

/* ---- what the tensors do not say --------------------------------------- */

/* config.json beside model.bin. */
static int read_config(struct model_import *m, struct err *e)
{
	char *path = file_path(e, "%s/config.json", m->folder);
	struct buf text = { 0 };
	const char *start;
	double epsilon; /* NORM_EPSILON, not rounded to a float */
	int code = path ? 0 : e->code;

	m->special = (struct special_token_names){ "</s>", "<s>", "<unk>" };
	if (!code && file_exists(path)) {
		code = file_read_all(path, 1 << 20, &text, e);
		m->config = code ? NULL : json_parse(buf_text(&text), text.len, e);
		if (!code && !m->config)
			code = err_prefix(e, "%s", path);
	}
	m->special.end = json_text(json_get(m->config, "eos_token"), m->special.end);
	m->special.start = json_text(json_get(m->config, "bos_token"), m->special.start);
	m->special.unknown = json_text(json_get(m->config, "unk_token"), m->special.unknown);
	start = json_text(json_get(m->config, "decoder_start_token"), m->special.start);
	epsilon = json_number(json_get(m->config, "layer_norm_epsilon"), 1e-6);
	if (!code && strcmp(start, m->special.start) != 0)
		code = err_set(e, ERR_DATA,
			       "%s: the decoder starts from \"%.60s\", Werkbank's "
			       "from \"%.60s\": this is another model",
			       path, start, m->special.start);
	if (!code && json_boolean(json_get(m->config, "add_source_bos"), false))
		code = err_set(e, ERR_DATA,
			       "%s: add_source_bos: the encoder reads <s> first, "
			       "Werkbank's does not: this is another model",
			       path);
	if (!code && fabs(epsilon - (double)NORM_EPSILON) > 1e-8)
		code = err_set(e, ERR_DATA,
			       "%s: layer_norm_epsilon is %g, Werkbank's norms have "
			       "%g: this is another model",
			       path, epsilon, (double)NORM_EPSILON);
	buf_free(&text);
	free(path);
	return code;
}

static bool text_equals_word(const char *text, const char *word)
{
	return text && !strcasecmp(text, word);
}

/* An nn.Transformer has the same names whether norms come before or after. */
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
			       "%s: \"heads\" is \"%.20s\", not a number of attention "
			       "heads (1 to 128)",
			       m->file, heads);
	if (n)
		m->t.shape.heads = (int32_t)n;
	if (m->t.scheme != NAMING_pytorch)
		return 0;
	if (text_equals_word(first, "false"))
		return err_set(e, ERR_DATA,
			       "%s: norm_first is false: the model is post-norm, each "
			       "norm comes after its residual sum, and Werkbank's Transformer is "
			       "pre-norm",
			       m->file);
	if (!text_equals_word(first, "true") && !m->c->pre_norm)
		return err_set(e, ERR_USAGE,
			       "%s: nothing in an nn.Transformer's tensors says "
			       "whether it is pre-norm, and PyTorch's default is post-norm, which "
			       "Werkbank's is not; if it was made with norm_first=True, say so by "
			       "--pre-norm",
			       m->file);
	if (activation && !text_equals_word(activation, "relu"))
		return err_set(e, ERR_DATA, "%s: the activation is %.40s, Werkbank's is ReLU",
			       m->file, activation);
	return 0;
}

/* --heads or --size, else the recipe where it is one of this model's width. */
static int find_heads(struct model_import *m, struct err *e)
{
	const struct conf *c = m->c;
	const struct model_shape *s = &m->t.shape;
	const bool told = import_option_given(c, "heads") || import_option_given(c, "size");

	conf_apply_size(m->c);
	if (!m->t.shape.heads && told &&
	    (import_option_given(c, "heads") || c->d_model == s->d_model))
		m->t.shape.heads = (int32_t)c->heads;
	if (!m->t.shape.heads)
		return err_set(e, ERR_USAGE,
			       "%s: how many attention heads has it? Its tensors do "
			       "not say: give --heads N",
			       m->file);
	if (s->d_model % s->heads || s->d_model / s->heads % 2 || s->d_model < 4)
		return err_set(e, ERR_DATA,
			       "%s: %d heads do not divide a d_model of %d into even "
			       "parts",
			       m->file, s->heads, s->d_model);
	return 0;
}

static int set_size_option(struct conf *c, const char *name, int64_t value, struct err *e)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	return conf_set(c, name, text, "imported weights", e);
}

/* The recipe is of these weights from now on. */
static int set_size_options(struct model_import *m, struct err *e)
{
	const struct model_shape *s = &m->t.shape;
	struct conf *c = m->c;
	int code = set_size_option(c, "d_model", s->d_model, e);

	if (!code)
		code = set_size_option(c, "d_ff", s->d_ff, e);
	if (!code)
		code = set_size_option(c, "heads", s->heads, e);
	if (!code)
		code = set_size_option(c, "encoder_layers", s->encoder_layers, e);
	return code ? code : set_size_option(c, "decoder_layers", s->decoder_layers, e);
}

/* ---- vocabulary and pieces --------------------------------------------- */

/* Copy into the model what is there; given: the file that an option names, NULL: none. */
static int stage_model_file(const struct model_import *m, const char *given, const char *name,
			    bool *there, struct err *e)
{
	char *from = NULL, *to = file_path(e, "%s/%s", m->staging, name);
	int code = to ? 0 : e->code;

	if (!code)
		code = given ? 0 : find_piece(m, name, &from, e);
	*there = given || from;
	if (!code && *there)
		code = file_copy(given ? given : from, to, e);
	free(from);
	free(to);
	return code;
}

/* The tokens that came with the weights must be those of vocab.tsv, as far as both tell. */
static int check_words(const struct token_list *w, const struct vocab *v, const char *path,
		       struct err *e)
{
	for (size_t i = 0; i < w->n && i < (size_t)vocab_real_size(v); i++)
		if (strcmp(w->items[i], vocab_piece(v, (int32_t)i)) != 0)
			return err_set(e, ERR_DATA,
				       "%s: token %zu is \"%.60s\", but \"%.60s\" in "
				       "vocab.tsv: these are two vocabularies",
				       path, i, w->items[i], vocab_piece(v, (int32_t)i));
	return 0;
}

/* Make vocab.tsv in the staging folder from a list of tokens, or compare with the one there. */
static int use_words(struct model_import *m, const char *path, bool compare, struct err *e)
{
	struct token_list w;
	struct vocab *v = NULL;
	char *to = file_path(e, "%s/vocab.tsv", m->staging);
	int32_t n;
	int code = token_list_open(&w, path, e);

	if (!to)
		code = e->code;
	else if (!code && compare) {
		v = vocab_open(to, e);
		code = v ? check_words(&w, v, path, e) : e->code;
	} else if (!code) {
		code = token_list_write(&w, &m->special, to, &m->rows, &n, e);
		if (code)
			code = err_prefix(e, "%s", path);
		else if (n != m->t.shape.vocabulary)
			code = err_set(e, ERR_DATA, "%s: %d tokens, but \"%s\" has %d rows", path,
				       n, m->t.table->name, m->t.shape.vocabulary);
	}
	vocab_close(v);
	token_list_close(&w);
	free(to);
	return code;
}

/* Is it a vocab.tsv of ours? */
static bool is_vocab_tsv(const char *path)
{
	static const char head[] = "<pad>\t";
	char first[sizeof(head)] = "";
	FILE *f = fopen(path, "re");
	bool ours = f && fread(first, 1, sizeof(head) - 1, f) == sizeof(head) - 1 &&
		    !strcmp(first, head);

	if (f)
		fclose(f);
	return ours;
}

static int find_vocabulary(struct model_import *m, struct err *e)
{
	static const char *const lists[] = { "shared_vocabulary.json", "shared_vocabulary.txt" };
	const char *given = m->c->vocabulary;
	bool there = false;
	int code = 0;

	if (given && !is_vocab_tsv(given))
		return use_words(m, given, false, e);
	code = stage_model_file(m, given, "vocab.tsv", &there, e);
	for (size_t i = 0; i < ARRAY_LEN(lists) && !code && !m->rows; i++) {
		char *path = file_path(e, "%s/%s", m->folder, lists[i]);

		code = !path ? e->code : file_exists(path) ? use_words(m, path, there, e) : 0;
		there = there || m->rows;
		free(path);
	}
	if (!code && !there)
		code = err_set(
			e, ERR_NOINPUT,
			"%s: which token is which row? There is no "
			"vocab.tsv beside it%s: give --corpus NAME, or --vocabulary FILE "
			"with a token a line",
			m->file,
			m->t.scheme == NAMING_ctranslate2
				? " and no shared_vocabulary.json (one for source and target)"
				: "");
	return code;
}

static int stage_pieces(struct model_import *m, struct err *e)
{
	const bool sentencepiece = m->c->segmentation == SEGMENTATION_SENTENCEPIECE;
	bool there;
	int code = file_make_folders(m->staging, e);

	if (!code)
		code = find_vocabulary(m, e);
	if (!code)
		code = sentencepiece ? stage_model_file(m, NULL, "sentencepiece.model", &there, e)
				     : stage_model_file(m, m->c->codes, "bpe.codes", &there, e);
	if (!code && !there)
		code = err_set(e, ERR_NOINPUT,
			       "%s: how are words split into pieces? There is no "
			       "%s: %s",
			       m->pieces, sentencepiece ? "sentencepiece.model" : "bpe.codes",
			       sentencepiece ? "give --corpus NAME"
					     : "give --codes FILE or --corpus NAME");
	return code;
}

/* ---- making ------------------------------------------------------------ */

/* The sizes of the vocabulary, from the file that goes along. */
static int measure_vocabulary(struct model_import *m, struct err *e)
{
	char *path = file_path(e, "%s/vocab.tsv", m->staging);
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
	const struct ckpt_folder of = { m->staging, m->c, &m->state };
	struct model *model = model_new(&m->state.shape, ops_ref(), &options, e);
	struct pipeline *p;
	float *arena = model ? model_param_arena(model) : NULL;
	int code = model ? 0 : e->code;

	if (!code) {
		memset(arena, 0, (size_t)model_floats(model) * sizeof(*arena));
		code = weight_map_load(&m->t, &m->state.shape, m->rows, arena, e);
	}
	if (!code)
		code = ckpt_save_model(m->model, &of, model, NULL, e);
	model_free(model);
	if (code)
		return code;
	p = pipeline_open(m->model, m->c, e); /* what comes from outside can be used */
	pipeline_close(p);
	return p ? 0 : e->code;
}

static int write_imported_text(const struct model_import *m, const char *name, struct buf *text,
			       struct err *e)
{
	char *path = file_path(e, "%s/%s", m->temporary, name);
	int code = path ? file_write_buf(path, text, e) : e->code;

	free(path);
	buf_free(text);
	return code;
}

/* What makes the model a run: two links, a recipe, a state, and a journal that says whence. */
static int write_run(struct model_import *m, struct err *e)
{
	struct buf journal = { 0 }, state = { 0 }, recipe = { 0 };
	struct json_writer j = { .out = &journal }, s = { .out = &state };
	char *link = file_path(e, "%s/checkpoints/last", m->temporary);
	char origin[600];
	int code = link ? ckpt_set_best(m->temporary, 0, e) : e->code;

	if (!code && symlink("0", link))
		code = err_set_errno(e, ERR_CANTCREAT, "%s: cannot be made", link);
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
	if (!code)
		code = write_imported_text(m, "journal.jsonl", &journal, e);
	if (!code)
		code = write_imported_text(m, "state.json", &state, e);
	if (!code)
		code = write_imported_text(m, "recipe.ini", &recipe, e);
	buf_free(&journal);
	buf_free(&state);
	buf_free(&recipe);
	return code;
}

static int commit_imported_model(const struct model_import *m, struct err *e)
{
	char *slash = strrchr(m->to, '/');
	int code = 0;

	if (m->c->run && slash) {
		char *runs = file_path(e, "%.*s", (int)(slash - m->to), m->to);

		code = runs ? file_make_folders(runs, e) : e->code;
		free(runs);
	}
	return code ? code : model_export_commit(m->temporary, m->to, e);
}

static int make_imported_model(struct model_import *m, struct err *e)
{
	int code = stage_pieces(m, e);

	if (!code)
		code = measure_vocabulary(m, e);
	if (!code)
		code = set_size_options(m, e);
	if (!code)
		code = write_model(m, e);
	if (!code && m->c->run)
		code = write_run(m, e);
	return code ? code : commit_imported_model(m, e);
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
		fprintf(stderr, "its norms are taken to have layer_norm_eps 1e-6; PyTorch's "
				"default is 1e-5, with which translations can differ slightly\n");
}

static int open_weights(struct model_import *m, enum import_kind kind, struct err *e)
{
	int code = kind == IMPORT_CTRANSLATE2 ? import_open_ct2(&m->f, m->file, e)
					      : import_open_safetensors(&m->f, m->file, e);

	if (!code)
		code = weight_map_open(&m->t, &m->f, e);
	if (!code && kind == IMPORT_CTRANSLATE2)
		return read_config(m, e);
	m->special = (struct special_token_names){ "</s>", "<s>", "<unk>" };
	return code ? code : read_metadata(m, e);
}

int import_model(struct conf *c, enum import_kind kind, const char *file, struct err *e)
{
	struct model_import m = { .c = c, .file = file };
	const char *slash = strrchr(file, '/');
	int code = check_options(c, e);

	if (!code) {
		m.folder = slash ? file_path(e, "%.*s", (int)(slash - file), file)
				 : mem_strdup(".", e);
		code = m.folder ? find_output(&m, e) : e->code;
	}
	if (!code)
		code = open_weights(&m, kind, e);
	if (!code)
		code = import_load_recipe(&m, e);
	if (!code)
		code = find_heads(&m, e);
	if (!code) {
		code = make_imported_model(&m, e);
		if (code)
			file_remove_tree(m.temporary, &(struct err){ 0 });
		file_remove_tree(m.staging, &(struct err){ 0 });
	}
	if (!code && !c->quiet)
		report_model_import(&m);
	import_reader_close(&m.f);
	json_free(m.config);
	free(m.rows);
	free(m.folder);
	free(m.pieces);
	free(m.to);
	free(m.temporary);
	free(m.model);
	free(m.staging);
	return code;
}
