/* engine.c - see engine.h */
#include "eval/engine.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/flow.h"
#include "share/base/mem.h"
#include "share/base/text.h"

#define MIN_CAPACITY 1024	/* tokens: a longer sentence is cut, see decode_result.truncated */

/* Was the option given by whoever started this program, rather than by a recipe? */
static bool is_given(const struct conf *c, const char *option)
{
	const char *origin = conf_origin(c, option);

	return !strcmp(origin, "command line") || text_starts_with(origin, "WERKBANK_");
}

/*
 * Load the recipe of the model folder; what belongs to the machine it was trained on
 * stays behind.
 */
static int load_recipe(struct engine *g, struct conf *c, bool as_trained, struct err *e)
{
	char *path = file_path(e, "%s/recipe.ini", g->folder);
	int64_t threads = c->threads, workers = c->workers;
	int backend = c->backend, precision = c->precision, code;

	if (!path)
		return e->code;
	code = conf_load_recipe(c, path, e);
	free(path);
	if (code)
		return code;
	if (!as_trained && !is_given(c, "threads"))
		c->threads = threads;
	if (!as_trained && !is_given(c, "workers"))
		c->workers = workers;
	if (!as_trained && !is_given(c, "backend"))
		c->backend = backend;
	if (!as_trained && !is_given(c, "precision"))
		c->precision = precision;
	conf_apply_size(c);
	return 0;
}

static int check_vocabulary(const struct engine *g, struct err *e)
{
	const struct vocab *v = pipeline_vocab(g->pipeline);

	if (vocab_size(v) != g->state.shape.vocabulary)
		return err_set(e, ERR_DATA,
			       "%s/vocab.tsv has %d entries, but the model was trained with %d: it "
			       "is the vocabulary of another corpus",
			       g->folder, vocab_size(v), g->state.shape.vocabulary);
	if (strcmp(vocab_sha256(v), g->state.vocabulary_sha256))
		return err_set(e, ERR_DATA,
			       "%s/vocab.tsv is not the vocabulary that the model was trained with "
			       "(sha256 %.12s, expected %.12s)",
			       g->folder, vocab_sha256(v), g->state.vocabulary_sha256);
	return 0;
}

static int open_model(struct engine *g, const struct conf *c, enum engine_use use, struct err *e)
{
	static const char *const backends[] = { "auto", "cpu", "ref", "cuda" };
	static const enum dtype packed[] = { [PRECISION_FP32] = DTYPE_PACKED_F32,
					     [PRECISION_BF16] = DTYPE_PACKED_BF16,
					     [PRECISION_INT8] = DTYPE_PACKED_INT8 };
	struct dev_options dev = { .threads = (int)c->threads,
				   .decoding = use == ENGINE_TRANSLATE,
				   .bf16 = c->precision == PRECISION_BF16 };
	const struct ops *ops = ops_find(backends[c->backend], e);
	int32_t workers;

	if (!ops)
		return e->code;
	if (!ops->pack && c->precision == PRECISION_INT8)
		return err_set(e, ERR_UNAVAILABLE,
			       "backend %s does not translate with int8: try --precision bf16, or "
			       "--backend cpu",
			       ops->name);
	g->model = ckpt_open_model(g->folder, &g->state.shape, ops, &dev, &g->weights, e);
	if (!g->model || (ops->pack && model_pack(g->model, packed[c->precision], e)))
		return e->code;
	if (use == ENGINE_TRANSLATE ?
		    model_reserve_encoding(g->model, g->capacity, g->capacity / 2, e) :
		    model_reserve_forward(g->model, g->capacity, g->capacity / 2, e))
		return e->code;
	workers = !ops->pack ? 1 : c->workers ? (int32_t)c->workers : flow_threads((int)c->threads);
	g->decoder = decoder_new(g->model, g->capacity, workers, e);
	return g->decoder ? 0 : e->code;
}

int engine_check(struct engine *g, struct err *e)
{
	if (g->check && !ckpt_check_finish(g->check, &g->fault))
		g->fault.code = 0;
	g->check = NULL;
	if (g->fault.code)
		*e = g->fault;
	return g->fault.code;
}

/* Opening failed: if that is because a file is damaged or missing, say so instead. */
static int prefer_damage(struct engine *g, struct err *e)
{
	if (e->code == ERR_DATA || e->code == ERR_NOINPUT)
		engine_check(g, e);
	return e->code;
}

int engine_open(struct engine *g, struct conf *c, enum engine_use use, struct err *e)
{
	memset(g, 0, sizeof(*g));
	g->conf = c;
	g->folder = ckpt_resolve(c, e);
	if (!g->folder || !(g->check = ckpt_check_start(g->folder, e)) ||
	    ckpt_read_state(g->folder, false, &g->state, e) ||
	    load_recipe(g, c, use == ENGINE_AS_TRAINED, e))
		return prefer_damage(g, e);
	g->capacity = (int32_t)MAX(c->decode_tokens / c->beam, MIN_CAPACITY);
	g->pipeline = pipeline_open(g->folder, c, e);
	if (!g->pipeline || check_vocabulary(g, e) || open_model(g, c, use, e))
		return prefer_damage(g, e);
	return 0;
}

void engine_close(struct engine *g)
{
	decoder_free(g->decoder);
	model_free(g->model);
	safetensors_close(g->weights);
	ckpt_check_finish(g->check, &(struct err){ 0 });
	pipeline_close(g->pipeline);
	free(g->folder);
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
		decode_results_free(&t->result, 1);
		memset(t, 0, sizeof(*t));
	}
}

static int encode(struct engine *g, const struct engine_line *line, struct engine_translation *t,
		  struct err *e)
{
	size_t n = 0, cap = 0;

	if (pipeline_encode(g->pipeline, SIDE_SOURCE, line->text, line->n, &t->source, &n, &cap, e))
		return e->code;
	if (n > INT32_MAX)
		return err_set(e, ERR_DATA, "a line of %zu tokens is too long", n);
	t->n_source = (int32_t)n;
	return 0;
}

/* The hypotheses as raw text. */
static int write_texts(struct engine *g, struct engine_translation *t, struct err *e)
{
	t->texts = mem_alloc((size_t)t->result.n, sizeof(*t->texts), e);
	if (!t->texts)
		return e->code;
	for (int32_t h = 0; h < t->result.n; h++) {
		const struct decode_hypothesis *y = &t->result.hypotheses[h];
		struct buf text = { 0 };

		if (pipeline_decode(g->pipeline, SIDE_TARGET, y->tokens, (size_t)y->n, &text, e)) {
			buf_free(&text);
			return e->code;
		}
		buf_add(&text, "", 0);		/* an empty translation is a string too */
		t->texts[h] = buf_take(&text, e);
		if (!t->texts[h])
			return e->code;
	}
	return 0;
}

int engine_translate(struct engine *g, const struct decode_options *o,
		     const struct engine_line *lines, size_t n,
		     struct engine_translation *translations, struct err *e)
{
	struct decode_source *sources = mem_alloc(n, sizeof(*sources), e);
	struct decode_result *results = mem_alloc(n, sizeof(*results), e);
	int code = sources && results ? engine_check(g, e) : e->code;

	memset(translations, 0, n * sizeof(*translations));
	for (size_t i = 0; i < n && !code; i++) {
		code = encode(g, &lines[i], &translations[i], e);
		if (!code)
			sources[i] = (struct decode_source){ translations[i].source,
							     translations[i].n_source };
	}
	if (!code)
		code = decoder_run(g->decoder, o, sources, n, results, e);
	for (size_t i = 0; i < n && !code; i++)
		translations[i].result = results[i];
	for (size_t i = 0; i < n && !code; i++)
		code = write_texts(g, &translations[i], e);
	if (code)
		engine_translations_free(translations, n);
	free(sources);
	free(results);
	return code;
}

/* Does this piece end its word? */
static bool ends_word(const struct engine *g, int32_t id)
{
	return !text_ends_with(vocab_piece(pipeline_vocab(g->pipeline), id), "@@");
}

/* The number of the word that source token n belongs to. */
static int32_t source_word(const struct engine *g, const struct engine_translation *t, int32_t n)
{
	int32_t word = 0;

	for (int32_t i = 0; i < n && i < t->n_source; i++)
		word += ends_word(g, t->source[i]);
	return word;
}

void engine_word_alignment(const struct engine *g, const struct engine_translation *t,
			   int32_t hypothesis, struct buf *out)
{
	const struct decode_hypothesis *h = &t->result.hypotheses[hypothesis];
	int32_t target = 0, begin = 0;
	size_t start = out->len;

	for (int32_t i = 0; i < h->n && h->aligned; i++) {
		int32_t word = source_word(g, t, h->aligned[i]);
		bool said = false;

		for (int32_t j = begin; j < i; j++)
			said |= source_word(g, t, h->aligned[j]) == word;
		if (!said)
			buf_printf(out, "%s%d-%d", out->len > start ? " " : "", word, target);
		if (ends_word(g, h->tokens[i])) {
			target++;
			begin = i + 1;
		}
	}
}
