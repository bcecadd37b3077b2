/* engine.c - opens the models and vocabulary of a run and translates lines; see engine.h */
#include "eval/translate/engine.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/line_tags.h"
#include "eval/translate/unknown_words.h"
#include "share/base/file.h"
#include "share/base/flow.h"
#include "share/base/hash.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/conf/text_facts.h"
#include "share/workspace/model_files.h"
#include "share/workspace/paths.h"

#define MIN_CAPACITY 1024 /* tokens; longer sentences are truncated, see struct decode_result */

/* Does the value come from the command line or the environment, not from a recipe? */
static bool engine_option_given(const struct conf *c, const char *option)
{
	const char *origin = conf_origin(c, option);

	return !strcmp(origin, "command line") || text_starts_with(origin, "WERKBANK_");
}

/*
 * Runs of older releases repeated the facts of their text, perhaps wrongly. The corpus knows them, if it
 * still has the vocabulary of the model.
 */
static int engine_adopt_corpus(const struct engine *g, struct conf *c, struct err *e)
{
	char *workspace = paths_workspace(c->workspace, e), *recipe = NULL, *vocab = NULL;
	char hex[HASH_SHA256_HEX];
	int rc = 0;

	if (workspace)
		recipe = file_path(e, "%s/corpora/%s/recipe.ini", workspace, c->corpus);
	if (recipe)
		vocab = file_path(e, "%s/corpora/%s/" VOCABULARY_FILE, workspace, c->corpus);
	if (!vocab)
		rc = e->code;
	else if (file_exists(recipe) && file_exists(vocab) &&
		 file_size(vocab) <= HASH_PIECES_LIMIT && /* a larger file is not a vocabulary */
		 !(rc = hash_file(vocab, hex, e)) && !strcmp(hex, g->state.vocabulary_sha256))
		rc = text_facts_adopt(c, c->corpus, recipe, e);
	free(vocab);
	free(recipe);
	free(workspace);
	return rc;
}

/*
 * Loads the recipe of the model folder. Options that describe the training machine (threads,
 * backend ...) keep this machine's values unless as_trained.
 */
static int engine_load_recipe(struct engine *g, struct conf *c, bool as_trained, struct err *e)
{
	char *path = file_path(e, "%s/recipe.ini", g->models[0].folder);
	int64_t threads = c->threads, workers = c->workers, gpu = c->gpu;
	int backend = c->backend, precision = c->precision, rc;
	bool graphs = c->cuda_graphs;

	if (!path)
		return e->code;
	rc = conf_load_recipe(c, path, e);
	free(path);
	if (rc)
		return rc;
	if (!as_trained && !engine_option_given(c, "threads"))
		c->threads = threads;
	if (!as_trained && !engine_option_given(c, "workers"))
		c->workers = workers;
	if (!as_trained && !engine_option_given(c, "backend"))
		c->backend = backend;
	if (!as_trained && !engine_option_given(c, "gpu"))
		c->gpu = gpu;
	if (!as_trained && !engine_option_given(c, "cuda_graphs"))
		c->cuda_graphs = graphs;
	if (!as_trained && !engine_option_given(c, "precision"))
		c->precision = precision;
	conf_apply_size(c);
	if (text_facts_are_adopted(c) || paths_check_name("corpus", c->corpus, &(struct err){ 0 }))
		return 0;
	return engine_adopt_corpus(g, c, e);
}

/* Compare the file of a side with the size and the SHA-256 (64 digits at sha256) in the state of the model. */
static int check_vocabulary_file(const struct engine *g, enum pipeline_side side, int32_t entries,
				 const char *sha256, struct err *e)
{
	const struct vocab *v = pipeline_vocab(g->pipeline, side);
	const char *folder = g->models[0].folder, *name = text_vocabulary_file(g->conf, (int)side);

	if (vocab_size(v) != entries)
		return err_set(e, ERR_DATA,
			       "%s/%s has %d entries, but the model was trained with %d: the "
			       "file belongs to another corpus",
			       folder, name, vocab_size(v), entries);
	if (strncmp(vocab_sha256(v), sha256, HASH_SHA256_HEX - 1))
		return err_set(e, ERR_DATA,
			       "%s/%s is not the vocabulary that the model was trained with "
			       "(sha256 %.12s, expected %.12s)",
			       folder, name, vocab_sha256(v), sha256);
	return 0;
}

static int engine_check_vocabulary(const struct engine *g, struct err *e)
{
	const struct model_shape *shape = &g->state.shape;
	const char *id = g->state.vocabulary_sha256;
	const bool is_separate = vocabs_are_separate(pipeline_vocabs(g->pipeline));

	if (is_separate != (shape->source_vocabulary != 0))
		return err_set(e, ERR_DATA,
			       "%s: the recipe says that the sides %s, but the model was trained "
			       "with %s: restore recipe.ini",
			       g->models[0].folder,
			       is_separate ? "have a vocabulary each" : "share a vocabulary",
			       is_separate ? "one for both" : "one for each");
	if (is_separate) {
		if (check_vocabulary_file(g, SIDE_SOURCE, shape->source_vocabulary, id, e))
			return e->code;
		id += MIN(strlen(id), HASH_SHA256_HEX - 1);
	}
	return check_vocabulary_file(g, SIDE_TARGET, shape->vocabulary, id, e);
}

/* How models are opened. */
struct model_opening {
	const struct ops *ops;
	struct dev_options dev;
	enum dtype packed;
	enum engine_use use;
	int32_t capacity;
	bool unaveraged;
};

static int load_model(const struct model_opening *o, struct engine_model *m,
		      const struct model_shape *shape, struct err *e)
{
	const struct ckpt_source from = { m->folder, o->unaveraged };

	m->model = ckpt_open_model(&from, shape, o->ops, &o->dev, &m->weights, e);
	if (!m->model || (o->ops->pack && model_pack(m->model, o->packed, e)))
		return e->code;
	return o->use == ENGINE_TRANSLATE
		       ? model_reserve_encoding(m->model, o->capacity, o->capacity / 2, e)
		       : model_reserve_forward(m->model, o->capacity, o->capacity / 2, e);
}

/* Loads a further model of an ensemble. */
static int load_member(struct engine *g, const struct model_opening *o, struct engine_model *m,
		       struct err *e)
{
	const struct ckpt_source from = { m->folder, o->unaveraged };
	const char *first = g->models[0].folder;
	struct ckpt_state state;

	if (!(m->check = ckpt_check_start(&from, e)) ||
	    ckpt_read_state(m->folder, false, &state, e))
		return e->code;
	if (strcmp(state.vocabulary_sha256, g->state.vocabulary_sha256) != 0)
		return err_set(e, ERR_DATA,
			       "%s and %s have different vocabularies: the models of an ensemble "
			       "must share one",
			       m->folder, first);
	if (state.shape.source_end != g->state.shape.source_end)
		return err_set(
			e, ERR_DATA,
			"only one of %s and %s reads </s> after the source (source_end): the "
			"models of an ensemble must read the same tokens",
			m->folder, first);
	if (text_facts_check_models(m->folder, first, e))
		return e->code;
	return load_model(o, m, &state.shape, e);
}

const char *engine_precision(const struct conf *c)
{
	static const char *const names[] = { [PRECISION_FP32] = "fp32",
					     [PRECISION_BF16] = "bf16",
					     [PRECISION_INT8] = "int8",
					     [PRECISION_AUTO] = "auto" };

	return names[c->precision];
}

static const char *const engine_backends[] = { "auto", "cpu", "ref", "cuda" };

bool engine_uses_gpu(const struct conf *c)
{
	struct err ignored = { 0 };
	const struct ops *ops = c->backend == BACKEND_AUTO || c->backend == BACKEND_CUDA
					? ops_find(engine_backends[c->backend], &ignored)
					: NULL;

	return ops && ops->has_device_memory;
}

int engine_choose_format(struct conf *c, const struct ckpt_state *s, bool as_trained, struct err *e)
{
	const struct ops *ops;
	bool bf16;

	if (c->precision != PRECISION_AUTO)
		return 0;
	ops = ops_find(engine_backends[c->backend], e);
	if (!ops)
		return e->code;
	bf16 = as_trained && *s->precision
		       ? !strcmp(s->precision, "bf16")
		       : ops->multiplies_bf16 && ops->multiplies_bf16((int)c->gpu);
	c->precision = bf16 ? PRECISION_BF16 : PRECISION_FP32;
	return 0;
}

static int open_models(struct engine *g, const struct conf *c, enum engine_use use, struct err *e)
{
	static const enum dtype packed[] = { [PRECISION_FP32] = DTYPE_PACKED_F32,
					     [PRECISION_BF16] = DTYPE_PACKED_BF16,
					     [PRECISION_INT8] = DTYPE_PACKED_INT8 };
	const struct model_opening o = {
		.ops = ops_find(engine_backends[c->backend], e),
		.dev = { .threads = (int)c->threads,
			 .is_decoding = use == ENGINE_TRANSLATE,
			 .device = (int)c->gpu,
			 .graphs = c->cuda_graphs,
			 .bf16 = c->precision == PRECISION_BF16 },
		.packed = packed[c->precision],
		.use = use,
		.capacity = g->capacity,
		.unaveraged = c->unaveraged,
	};
	struct model *models[DECODE_MAX_MODELS];
	int32_t workers;

	if (!o.ops)
		return e->code;
	if (!o.ops->pack && c->precision == PRECISION_INT8)
		return err_set(
			e, ERR_UNAVAILABLE,
			"backend %s does not support --precision int8: give --precision bf16, "
			"or --backend cpu",
			o.ops->name);
	for (int32_t i = 0; i < g->n_models; i++) {
		struct engine_model *m = &g->models[i];

		if (i ? load_member(g, &o, m, e) : load_model(&o, m, &g->state.shape, e))
			return e->code;
		models[i] = m->model;
	}
	workers = !o.ops->pack || o.ops->has_device_memory ? 1
		  : c->workers				   ? (int32_t)c->workers
							   : flow_threads((int)c->threads);
	g->decoder = decoder_new_ensemble(models, g->n_models, g->capacity, workers, e);
	if (!g->decoder)
		return e->code;
	decoder_set_first_token(g->decoder, pipeline_first_token(g->pipeline, SIDE_TARGET));
	g->capacity = decoder_capacity(g->decoder);
	return 0;
}

/* SentencePiece marks the blank before a word (U+2581). Punctuation begins a word without it. */
static bool begins_word(const char *piece)
{
	return text_starts_with(piece, "\xe2\x96\x81") ||
	       (*piece > ' ' && *piece <= '~' && !isalnum((unsigned char)*piece));
}

/* Fills joins_next (BPE) or starts_word (SentencePiece) of a side. */
static int find_word_boundaries(struct engine *g, enum pipeline_side side, struct err *e)
{
	const struct vocab *v = pipeline_vocab(g->pipeline, side);
	const bool marks_begin = pipeline_is_sentencepiece(g->pipeline, side);
	struct word_marks *marks = &g->words[side];
	const int32_t n = vocab_real_size(v);
	bool *flags = mem_alloc((size_t)n, sizeof(*flags), e);

	if (!flags)
		return e->code;
	if (marks_begin)
		marks->starts_word = flags;
	else
		marks->joins_next = flags;
	for (int32_t i = 0; i < n; i++)
		flags[i] = marks_begin ? begins_word(vocab_piece(v, i))
				       : text_ends_with(vocab_piece(v, i), "@@");
	return 0;
}

/* --shortlist: a path, or "model" for the file in the model folder. */
static int open_shortlist(struct engine *g, const struct conf *c, struct err *e)
{
	const struct vocab *v = pipeline_vocab(g->pipeline, SIDE_TARGET);
	char *path;

	if (!c->shortlist)
		return 0;
	path = strcmp(c->shortlist, "model")
		       ? mem_strdup(c->shortlist, e)
		       : file_path(e, "%s/" SHORTLIST_FILE, g->models[0].folder);
	if (!path)
		return e->code;
	if (!strcmp(c->shortlist, "model") && !file_exists(path))
		err_set(e, ERR_NOINPUT,
			"the model %s has no shortlist: make %s with \"werkbank shortlist "
			"CORPUS -o FILE\", or give another file",
			g->models[0].folder, path);
	else
		g->shortlist =
			shortlist_open(path, vocab_size(v), pipeline_vocabs(g->pipeline)->id, e);
	free(path);
	return g->shortlist ? 0 : e->code;
}

/* ---- which models ------------------------------------------------------ */

/* Adds a model. Takes ownership of folder. */
static int add_model_folder(struct engine *g, char *folder, struct err *e)
{
	if (!folder)
		return e->code;
	if (!file_exists(folder)) {
		err_set(e, ERR_NOINPUT,
			"the model folder %s does not exist: give the folder of a model, or --run "
			"NAME",
			folder);
		free(folder);
		return e->code;
	}
	if (!file_is_folder(folder)) {
		err_set(e, ERR_NOINPUT,
			"%s is a file; a model is a folder: give the folder of a model, or --run "
			"NAME",
			folder);
		free(folder);
		return e->code;
	}
	if (g->n_models == DECODE_MAX_MODELS) {
		free(folder);
		return err_set(e, ERR_USAGE, "an ensemble has at most %d models",
			       DECODE_MAX_MODELS);
	}
	g->models[g->n_models++].folder = folder;
	return 0;
}

/* Adds the checkpoints of --checkpoint, separated by commas, as an ensemble. */
static int add_checkpoints(struct engine *g, const struct conf *c, struct err *e)
{
	const char *at = c->checkpoint;

	while (at) {
		const char *comma = strchr(at, ',');
		const size_t n = comma ? (size_t)(comma - at) : strlen(at);
		char *name = file_path(e, "%.*s", (int)n, at);
		int rc = name ? add_model_folder(g, ckpt_resolve_named(c, name, e), e) : e->code;

		free(name);
		if (rc)
			return rc;
		at = comma ? comma + 1 : NULL;
	}
	return 0;
}

static int find_folders(struct engine *g, const struct conf *c, struct err *e)
{
	bool has_several = c->run && !c->model && strchr(c->checkpoint, ',');
	int rc =
		has_several ? add_checkpoints(g, c, e) : add_model_folder(g, ckpt_resolve(c, e), e);

	for (size_t i = 0; i < c->ensemble.n && !rc; i++)
		rc = add_model_folder(g, mem_strdup(c->ensemble.items[i], e), e);
	return rc;
}

/* ---- opening and closing ----------------------------------------------- */

int engine_check(struct engine *g, struct err *e)
{
	struct err fault = { 0 };

	for (int32_t i = g->n_models - 1; i >= 0; i--) { /* the fault of the first one counts */
		if (ckpt_check_finish(g->models[i].check, &fault))
			g->fault = fault;
		g->models[i].check = NULL;
	}
	if (g->fault.code)
		*e = g->fault;
	return g->fault.code;
}

/* Opening failed: a damaged file is the better explanation, so its error replaces e. */
static int report_damage_first(struct engine *g, struct err *e)
{
	if (e->code == ERR_DATA || e->code == ERR_NOINPUT)
		engine_check(g, e);
	return e->code;
}

int engine_open(struct engine *g, struct conf *c, enum engine_use use, struct err *e)
{
	struct ckpt_source first;

	memset(g, 0, sizeof(*g));
	g->conf = c;
	if (find_folders(g, c, e))
		return e->code;
	first = (struct ckpt_source){ g->models[0].folder, c->unaveraged };
	if (!(g->models[0].check = ckpt_check_start(&first, e)) ||
	    ckpt_read_state(first.folder, false, &g->state, e) ||
	    engine_load_recipe(g, c, use == ENGINE_AS_TRAINED, e) ||
	    engine_choose_format(c, &g->state, use == ENGINE_AS_TRAINED, e))
		return report_damage_first(g, e);
	g->capacity =
		(int32_t)MAX(c->decode_tokens / (use == ENGINE_SCORE ? 1 : c->beam), MIN_CAPACITY);
	assert(g->capacity >= MIN_CAPACITY);
	g->pipeline = pipeline_open(g->models[0].folder, c, e);
	if (!g->pipeline || engine_check_vocabulary(g, e) ||
	    find_word_boundaries(g, SIDE_SOURCE, e) || find_word_boundaries(g, SIDE_TARGET, e) ||
	    open_shortlist(g, c, e) || open_models(g, c, use, e))
		return report_damage_first(g, e);
	return 0;
}

void engine_close(struct engine *g)
{
	decoder_free(g->decoder);
	for (int32_t i = 0; i < g->n_models; i++) {
		struct engine_model *m = &g->models[i];

		model_free(m->model);
		safetensors_close(m->weights);
		ckpt_check_finish(m->check, &(struct err){ 0 });
		free(m->folder);
	}
	shortlist_close(g->shortlist);
	for (int side = 0; side < N_SIDES; side++) {
		free(g->words[side].joins_next);
		free(g->words[side].starts_word);
	}
	pipeline_close(g->pipeline);
	memset(g, 0, sizeof(*g));
}

void engine_translations_free(struct engine_translation *translations, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct engine_translation *t = &translations[i];

		for (int32_t h = 0; t->texts && h < t->result.n; h++)
			free(t->texts[h]);
		free(t->texts);
		free(t->source);
		free(t->is_added_tag);
		decode_results_free(&t->result, 1);
		memset(t, 0, sizeof(*t));
	}
}

/* Encode tag and line. The tag is encoded alone first, to count its tokens. */
static int encode_tagged_line(struct engine *g, const struct engine_line *line,
			      struct engine_translation *t, size_t *n, size_t *cap, struct err *e)
{
	struct buf tagged = { 0 };
	int rc = pipeline_encode(g->pipeline, SIDE_SOURCE, line->tag, line->n_tag, &t->source, n,
				 cap, e);

	t->n_tag = (int32_t)*n;
	*n = 0;
	buf_add(&tagged, line->tag, line->n_tag);
	buf_add_char(&tagged, ' ');
	buf_add(&tagged, line->text, line->n);
	if (!rc)
		rc = buf_check(&tagged, e);
	if (!rc)
		rc = pipeline_encode(g->pipeline, SIDE_SOURCE, tagged.data, tagged.len, &t->source,
				     n, cap, e);
	buf_free(&tagged);
	return rc;
}

/* Is there anything but a tag and blanks? A tag alone counts as an empty line. */
bool engine_has_text(const struct engine *g, const char *text, size_t n)
{
	size_t i;

	line_tag_find(g->conf, text, n, &i);
	while (i < n && isspace((unsigned char)text[i]))
		i++;
	return i < n;
}

int engine_encode_line(struct engine *g, const struct engine_line *line,
		       struct engine_translation *t, struct err *e)
{
	size_t n = 0, cap = 0;

	if (line->n_tag ? encode_tagged_line(g, line, t, &n, &cap, e)
			: pipeline_encode(g->pipeline, SIDE_SOURCE, line->text, line->n, &t->source,
					  &n, &cap, e))
		return e->code;
	if (n > INT32_MAX)
		return err_set(e, ERR_DATA, "a line of %zu tokens is too long", n);
	if (!line->n_tag)
		t->n_tag = pipeline_first_token(g->pipeline, SIDE_SOURCE) != TOKEN_PAD;
	t->n_source = engine_has_text(g, line->text, line->n) ? (int32_t)n : 0;
	return 0;
}

char *engine_text_of(const struct engine *g, const int32_t *tokens, int32_t n, struct err *e)
{
	struct buf text = { 0 };
	char *raw = NULL;

	if (!pipeline_decode(g->pipeline, SIDE_TARGET, tokens, (size_t)n, &text, e)) {
		buf_add(&text, "", 0); /* an empty text needs an allocated string too */
		raw = buf_detach(&text, e);
	}
	buf_free(&text);
	return raw;
}

/* The constraints of n lines. */
struct constraint_list {
	struct decode_constraint *all; /* (n) owned; NULL: no line has a constraint */
	int32_t **prefixes;	       /* (n) owned, and the tokens too */
	size_t n;
};

static void free_constraints(struct constraint_list *w)
{
	for (size_t i = 0; w->prefixes && i < w->n; i++)
		free(w->prefixes[i]);
	free(w->prefixes);
	free(w->all);
}

/* The target tools of this line decode what follows. */
static void follow_line(struct engine *g, const struct engine_line *line)
{
	pipeline_follow_line(g->pipeline, line->n_tag ? line->tag : line->text,
			     line->n_tag ? line->n_tag : line->n);
}

int engine_write_texts(struct engine *g, const struct engine_line *line,
		       struct engine_translation *t, struct err *e)
{
	follow_line(g, line);
	t->texts = mem_alloc((size_t)t->result.n, sizeof(*t->texts), e);
	if (!t->texts)
		return e->code;
	for (int32_t h = 0; h < t->result.n; h++) {
		t->texts[h] = unknown_words_text(g, line, t, h, e);
		if (!t->texts[h])
			return e->code;
	}
	return 0;
}

int engine_constrain_line(struct engine *g, const struct engine_line *line,
			  struct decode_constraint *constraint, int32_t **prefix, struct err *e)
{
	size_t n = 0, cap = 0;

	constraint->number = line->number;
	follow_line(g, line);
	if (line->n_prefix && pipeline_encode_part(g->pipeline, SIDE_TARGET, line->prefix,
						   line->n_prefix, prefix, &n, &cap, e))
		return e->code;
	if (line->is_whole && n >= (size_t)g->capacity) /* its end has no alignment */
		n = (size_t)g->capacity - 1;
	if (line->is_whole && mem_grow(prefix, &cap, n + 1, sizeof(**prefix), e))
		return e->code;
	if (line->is_whole)
		(*prefix)[n++] = TOKEN_END;
	if (n > (size_t)g->capacity)
		return err_set(e, ERR_DATA, "a prefix of %zu tokens is too long: at most %d", n,
			       g->capacity);
	constraint->prefix = *prefix;
	constraint->n_prefix = (int32_t)n;
	constraint->phrases = line->phrases;
	constraint->n_phrases = line->n_phrases;
	return 0;
}

/* Without any constraint w->all stays NULL: decoding is faster then. */
static int make_constraints(struct engine *g, const struct decode_options *o,
			    const struct engine_line *lines, size_t n, struct constraint_list *w,
			    struct err *e)
{
	bool is_needed = o->sample; /* sampling needs the numbers of the lines */

	for (size_t i = 0; i < n && !is_needed; i++)
		is_needed = lines[i].n_prefix > 0 || lines[i].is_whole || lines[i].n_phrases > 0;
	if (!is_needed)
		return 0;
	w->all = mem_alloc(n, sizeof(*w->all), e);
	w->prefixes = mem_alloc(n, sizeof(*w->prefixes), e);
	w->n = n;
	if (!w->all || !w->prefixes)
		return e->code;
	for (size_t i = 0; i < n; i++)
		if (engine_constrain_line(g, &lines[i], &w->all[i], &w->prefixes[i], e))
			return e->code;
	return 0;
}

void engine_complete_options(const struct engine *g, struct decode_options *o)
{
	o->joins_next = g->words[SIDE_TARGET].joins_next;
	o->starts_word = g->words[SIDE_TARGET].starts_word;
	o->shortlist = g->shortlist;
}

int engine_translate(struct engine *g, const struct decode_options *options,
		     const struct engine_line *lines, size_t n,
		     struct engine_translation *translations, struct err *e)
{
	struct decode_source *sources = mem_alloc(n, sizeof(*sources), e);
	struct decode_result *results = mem_alloc(n, sizeof(*results), e);
	struct decode_options o = *options;
	struct constraint_list constraints = { 0 };
	int rc = sources && results ? engine_check(g, e) : e->code;

	memset(translations, 0, n * sizeof(*translations));
	for (size_t i = 0; i < n && !rc; i++) {
		rc = engine_encode_line(g, &lines[i], &translations[i], e);
		if (!rc)
			sources[i] = (struct decode_source){ translations[i].source,
							     translations[i].n_source };
	}
	if (!rc)
		rc = make_constraints(g, &o, lines, n, &constraints, e);
	o.constraints = constraints.all;
	engine_complete_options(g, &o);
	if (!rc)
		rc = decoder_run(g->decoder, &o, sources, n, results, e);
	for (size_t i = 0; i < n && !rc; i++)
		translations[i].result = results[i];
	for (size_t i = 0; i < n && !rc; i++)
		rc = engine_write_texts(g, &lines[i], &translations[i], e);
	if (rc)
		engine_translations_free(translations, n);
	free_constraints(&constraints);
	free(sources);
	free(results);
	return rc;
}

bool engine_word_continues(const struct engine *g, enum pipeline_side side, const int32_t *tokens,
			   int32_t n, int32_t i)
{
	const struct word_marks *marks = &g->words[side];

	assert(i >= 0 && i < n && (marks->joins_next || marks->starts_word));
	if (marks->joins_next)
		return marks->joins_next[tokens[i]];
	return i + 1 < n && !marks->starts_word[tokens[i + 1]];
}

bool engine_is_added(const struct engine *g, const struct engine_translation *t, int32_t i)
{
	return t->is_added_tag ? t->is_added_tag[i]
			       : !i && pipeline_first_token(g->pipeline, SIDE_SOURCE) != TOKEN_PAD;
}

/*
 * The number of the word of the line that source token n belongs to, from 0. A tag that was added to a sentence counts as
 * the tag of the line, its first word.
 */
static int32_t source_word(const struct engine *g, const struct engine_translation *t, int32_t n)
{
	int32_t word = 0;

	if (n < t->n_source && engine_is_added(g, t, n))
		return 0;
	for (int32_t i = 0; i < n && i < t->n_source; i++)
		word += !engine_is_added(g, t, i) &&
			!engine_word_continues(g, SIDE_SOURCE, t->source, t->n_source, i);
	return word;
}

void engine_word_alignment(const struct engine *g, const struct engine_translation *t,
			   int32_t hypothesis, struct buf *out)
{
	const struct decode_hypothesis *h = &t->result.hypotheses[hypothesis];
	int32_t target = 0, begin = 0; /* number and first token of the target word */
	size_t start = out->len;

	assert(hypothesis >= 0 && hypothesis < t->result.n);

	for (int32_t i = 0; i < h->n && h->aligned; i++) {
		int32_t word = source_word(g, t, h->aligned[i]);
		bool is_listed = false;

		for (int32_t j = begin; j < i; j++)
			is_listed |= source_word(g, t, h->aligned[j]) == word;
		if (!is_listed)
			buf_printf(out, "%s%d-%d", out->len > start ? " " : "", word, target);
		if (!engine_word_continues(g, SIDE_TARGET, h->tokens, h->n, i)) {
			target++;
			begin = i + 1;
		}
	}
}
