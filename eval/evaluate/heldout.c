/* heldout.c - reads a held-out set, translates it and measures likelihoods; see heldout.h */
#include "eval/evaluate/heldout.h"

#include <assert.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/line_tags.h"
#include "data/shard/shard.h"
#include "data/source/corpus.h"
#include "eval/metrics/chrf.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/lines.h"
#include "share/base/mem.h"
#include "share/base/rng.h"
#include "share/base/text.h"
#include "share/conf/text_facts.h"
#include "share/guard/terminal_text.h"
#include "share/workspace/paths.h"

#define CHUNK 512 /* sentences per progress message */

static void free_lines(char **lines, int64_t n)
{
	for (int64_t i = 0; lines && i < n; i++)
		free(lines[i]);
	free(lines);
}

void heldout_close(struct heldout *h)
{
	free_lines(h->sources, h->n);
	free_lines(h->references, h->n);
	free_lines(h->hypotheses, h->n);
	free(h->folder);
	free(h->tags);
	free(h->set_tags);
	buf_free(&h->signature);
	buf_free(&h->sacrebleu_signature);
	memset(h, 0, sizeof(*h));
}

static int read_set_lines(const char *path, char ***lines, int64_t *n, struct err *e)
{
	struct lines in;
	size_t cap = 0;
	int got;

	*n = 0;
	if (lines_open_file(&in, path, e))
		return e->code;
	while ((got = lines_next(&in, e)) > 0) {
		if (mem_grow(lines, &cap, (size_t)*n + 1, sizeof(**lines), e) ||
		    !((*lines)[*n] = mem_strdup(in.text, e))) {
			got = e->code;
			break;
		}
		++*n;
	}
	lines_close(&in);
	return MIN(got, 0);
}

/* ERR_NOINPUT: the corpus has no such set; its sets are the files SET.LANGUAGE. */
static void unknown_set(const struct heldout *h, const char *language, struct err *e)
{
	struct dirent **found = NULL;
	const int n = scandir(h->folder, &found, NULL, alphasort);
	char ending[CONF_NAME_MAX];
	struct buf names = { 0 };

	snprintf(ending, sizeof(ending), ".%s", language);
	for (int i = 0; i < n; i++) {
		const char *name = found[i]->d_name;

		if (*name != '.' && text_ends_with(name, ending))
			buf_printf(&names, "%s%.*s", names.len ? ", " : "",
				   (int)(strlen(name) - strlen(ending)), name);
		free(found[i]);
	}
	free(found);
	err_set(e, ERR_NOINPUT, "%s: the corpus has no held-out set %s for %s; it has: %s",
		h->folder, h->set, language, names.len ? buf_text(&names) : "none");
	buf_free(&names);
}

static int read_set_language(struct heldout *h, const char *language, char ***lines, int64_t *n,
			     struct err *e)
{
	char *path = file_path(e, "%s/%s.%s", h->folder, h->set, language);
	int rc;

	if (!path)
		return e->code;
	rc = read_set_lines(path, lines, n, e);
	if (rc == ERR_NOINPUT)
		unknown_set(h, language, e);
	free(path);
	return rc;
}

/* Fill set_tags, and keep at most limit lines (0: all). */
static int choose_lines(struct heldout *h, int64_t limit, struct err *e)
{
	bool *chosen = mem_alloc((size_t)h->n, sizeof(*chosen), e);
	int64_t n = 0;

	h->n_set = h->n;
	h->set_tags = chosen ? mem_alloc((size_t)h->n, sizeof(*h->set_tags), e) : NULL;
	for (int64_t i = 0; h->set_tags && i < h->n; i++) {
		size_t bytes;

		h->set_tags[i] = line_tag_find(h->engine->conf, h->sources[i],
					       strlen(h->sources[i]), &bytes);
	}
	if (!h->set_tags ||
	    heldout_choose_lines(h->set_tags, h->n, limit ? limit : h->n, chosen, e)) {
		free(chosen);
		return e->code;
	}
	for (int64_t i = 0; i < h->n; i++)
		if (chosen[i]) {
			h->sources[n] = h->sources[i];
			h->references[n++] = h->references[i];
		} else {
			free(h->sources[i]);
			free(h->references[i]);
		}
	h->n = n;
	free(chosen);
	return 0;
}

/* Has the corpus changed since the training began? Other languages are an error, the rest a remark. */
static int check_corpus_of_run(const struct heldout *h, struct err *e)
{
	const struct conf *c = h->engine->conf;
	char *recipe = file_path(e, "%s/recipe.ini", h->folder);
	struct buf note = { 0 };
	int rc = recipe ? text_facts_check_run(c, recipe, &note, e) : e->code;

	/* evaluations of a training would repeat it */
	if (!rc && note.len && !c->quiet && c->command && c->command[0] != '_')
		fprintf(stderr, "note: %s\n", buf_text(&note));
	buf_free(&note);
	free(recipe);
	return rc;
}

int heldout_open(struct heldout *h, struct engine *g, const char *set, int64_t limit, struct err *e)
{
	int64_t n_references = 0;
	int rc;

	memset(h, 0, sizeof(*h));
	h->engine = g;
	h->set = set;
	h->folder = corpus_folder(g->conf, e);
	if (!h->folder || paths_check_name("held-out set", set, e) || check_corpus_of_run(h, e))
		return e->code;
	rc = read_set_language(h, g->conf->source_language, &h->sources, &h->n, e);
	if (!rc)
		rc = read_set_language(h, g->conf->target_language, &h->references, &n_references,
				       e);
	if (!rc && h->n != n_references)
		rc = err_set(e, ERR_DATA, "%s/%s.%s has %lld line%s, but %s.%s has %lld", h->folder,
			     set, g->conf->source_language, (long long)h->n, text_plural(h->n), set,
			     g->conf->target_language, (long long)n_references);
	if (!rc && h->n == 0)
		rc = err_set(e, ERR_DATA, "%s/%s.%s is empty: there is nothing to translate",
			     h->folder, set, g->conf->source_language);
	if (!rc)
		n_references = 0; /* from now on there are as many as sources */
	if (!rc && !choose_lines(h, limit, e))
		h->hypotheses = mem_alloc((size_t)h->n, sizeof(*h->hypotheses), e);
	if (!rc && !h->hypotheses)
		return e->code;
	if (rc) {
		free_lines(h->references, n_references); /* n_references may differ from h->n */
		h->references = NULL;
	}
	return rc;
}

/*
 * Stores and owns text. Invalid UTF-8 is repaired, because slices of other ranks pass through
 * JSON, which repairs it too: results must not depend on the slices.
 */
static int store_hypothesis(struct heldout *h, int64_t at, char *text, struct err *e)
{
	struct buf repaired = { 0 };

	h->hypotheses[at] = text;
	if (utf8_valid(text, strlen(text)))
		return 0;
	utf8_repair(&repaired, text, strlen(text));
	free(text);
	h->hypotheses[at] = buf_detach(&repaired, e);
	return h->hypotheses[at] ? 0 : e->code;
}

/* Translates the n sentences with these numbers. */
static int decode_chunk(struct heldout *h, const struct decode_options *o, const int64_t *numbers,
			size_t n, struct err *e)
{
	struct engine_translation translations[CHUNK];
	struct engine_line lines[CHUNK] = { { .text = NULL } };
	int rc = 0;

	assert(n <= CHUNK);

	for (size_t i = 0; i < n; i++)
		lines[i] = (struct engine_line){ .text = h->sources[numbers[i]],
						 .n = strlen(h->sources[numbers[i]]),
						 .number = (uint64_t)numbers[i] };
	if (engine_translate(h->engine, o, lines, n, translations, e))
		return e->code;
	for (size_t i = 0; i < n && !rc; i++) {
		const struct decode_hypothesis *best = &translations[i].result.hypotheses[0];

		h->tokens += best->n + best->finished;
		h->n_cut += translations[i].result.truncated;
		rc = store_hypothesis(h, numbers[i], translations[i].texts[0], e);
		translations[i].texts[0] = NULL;
	}
	engine_translations_free(translations, n);
	return rc;
}

int heldout_score(struct heldout *h, struct err *e)
{
	struct bleu_options o = bleu_defaults;
	struct bleu *bleu;
	struct chrf *chrf = chrf_new(&chrf_defaults, e);
	struct chrf_score chrf_result;
	const struct signature_trials none = { 0 };
	int rc;

	o.tokenizer = score_tokenizer_of(h->engine->conf);
	bleu = chrf ? bleu_new(&o, e) : NULL;
	rc = bleu ? 0 : e->code;

	for (int64_t i = 0; i < h->n && !rc; i++) {
		struct score_text hypothesis = { h->hypotheses[i], strlen(h->hypotheses[i]) };
		struct score_text reference = { h->references[i], strlen(h->references[i]) };

		rc = bleu_add(bleu, &hypothesis, &reference, 1, e);
		if (!rc)
			rc = chrf_add(chrf, &hypothesis, &reference, 1, e);
	}
	if (!rc) {
		bleu_score(bleu, &h->bleu);
		bleu_signature(bleu, &h->signature);
		bleu_sacrebleu_signature(bleu, &none, &h->sacrebleu_signature);
		chrf_score(chrf, &chrf_result);
		h->chrf = chrf_result.score;
		rc = buf_check(&h->signature, e) ? e->code : buf_check(&h->sacrebleu_signature, e);
	}
	bleu_free(bleu);
	chrf_free(chrf);
	return rc ? rc : heldout_score_tags(h, e);
}

int heldout_translate(struct heldout *h, struct heldout_slice slice, bool progress, struct err *e)
{
	struct decode_options o;
	double start = clock_mono_s();
	int64_t numbers[CHUNK];
	size_t n = 0;

	assert(slice.count > 0 && slice.index >= 0 && slice.index < slice.count);
	if (decode_options_from_conf(&o, h->engine->conf, e))
		return e->code;
	o.n_best = 1;
	o.alignments = false;
	for (int64_t i = slice.index; i < h->n; i += slice.count) {
		if (!h->hypotheses[i])
			numbers[n++] = i;
		if (n < CHUNK && i + slice.count < h->n)
			continue;
		if (n && decode_chunk(h, &o, numbers, n, e))
			return e->code;
		n = 0;
		if (progress) {
			terminal_send_control("\r");
			fprintf(stderr, "%lld of %lld sentences", (long long)i + 1,
				(long long)h->n);
		}
	}
	h->seconds += clock_mono_s() - start;
	if (progress)
		terminal_send_control("\r\033[K");
	return 0;
}

int heldout_decode(struct heldout *h, bool progress, struct err *e)
{
	if (heldout_translate(h, (struct heldout_slice){ 0, 1 }, progress, e))
		return e->code;
	return heldout_score(h, e);
}

static int compare_pairs(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The *n numbers of the pairs to measure, rising; the caller frees them. NULL: out of memory. */
static int64_t *choose_pairs(int64_t pairs, int64_t sample, int64_t *n, struct err *e)
{
	/* a fixed seed: runs with different seeds are measured on the same pairs */
	struct rng_key key = rng_key_make(0, RNG_SAMPLE, 0, 0);
	int64_t count = sample > 0 && sample < pairs ? sample : pairs, kept = 0;
	int64_t *chosen = mem_alloc((size_t)count, sizeof(*chosen), e);

	if (!chosen)
		return NULL;
	for (int64_t i = 0; i < count; i++)
		chosen[i] = count == pairs ? i
					   : (int64_t)(((uint64_t)rng_u32(key, (uint64_t)i) *
							(uint64_t)pairs) >>
						       32);
	qsort(chosen, (size_t)count, sizeof(*chosen), compare_pairs);
	for (int64_t i = 0; i < count; i++)
		if (kept == 0 || chosen[kept - 1] != chosen[i])
			chosen[kept++] = chosen[i];
	*n = kept;
	return chosen;
}

/* ---- likelihoods ------------------------------------------------------- */

#define MAX_BATCHES (1 << 26) /* no shard has more */

bool heldout_set_batch(struct heldout_batches *b, int64_t at, double nll, int64_t tokens,
		       const char *tag)
{
	struct err ignored;

	if (at < 0 || at >= MAX_BATCHES ||
	    mem_grow(&b->nll, &b->cap_nll, (size_t)at + 1, sizeof(*b->nll), &ignored) ||
	    mem_grow(&b->tokens, &b->cap_tokens, (size_t)at + 1, sizeof(*b->tokens), &ignored) ||
	    mem_grow(&b->tags, &b->cap_tags, (size_t)at + 1, sizeof(*b->tags), &ignored))
		return false;
	for (; b->n <= at; b->n++) {
		b->tokens[b->n] = -1;
		b->tags[b->n] = "";
	}
	b->tags[at] = tag;
	b->nll[at] = nll;
	b->tokens[at] = tokens;
	return true;
}

double heldout_mean(const struct heldout_batches *b, int64_t *tokens)
{
	double nll = 0;

	*tokens = 0;
	for (int64_t i = 0; i < b->n; i++) {
		nll += b->nll[i];
		*tokens += b->tokens[i];
	}
	return *tokens > 0 ? nll / (double)*tokens : NAN;
}

void heldout_batches_free(struct heldout_batches *b)
{
	free(b->nll);
	free(b->tokens);
	free(b->tags);
	memset(b, 0, sizeof(*b));
}

/* State of measuring a shard batch by batch. */
struct batch_measurement {
	const struct engine *g;
	struct heldout_slice slice;
	struct heldout_batches *out;
	const char *const *tags; /* of the pairs of the shard; NULL: batches mix tags */
	const char *tag;	 /* of the batch that is being filled */
	int64_t at;		 /* number of that batch */
	struct metric *pseudo;	 /* NULL: no pseudo-BLEU */
	int32_t *best;		 /* (capacity) the most probable tokens, for pseudo */
};

/* Writes the ids up to the first </s> as words. */
static void write_token_ids(struct buf *out, const int32_t *ids, int32_t n)
{
	buf_clear(out);
	for (int32_t i = 0; i < n && ids[i] != TOKEN_END; i++)
		buf_printf(out, "%d ", ids[i]);
}

/* Adds the most probable tokens of each sentence to the pseudo-BLEU, against its target tokens. */
static int score_forced(struct batch_measurement *m, const struct batch *b, struct err *e)
{
	struct buf hypothesis = { 0 }, reference = { 0 };
	int rc = 0;

	for (int32_t i = 0; i < b->n && !rc; i++) {
		const int32_t first = b->target_start[i], n = b->target_start[i + 1] - first;
		struct score_text predicted, target;

		write_token_ids(&hypothesis, m->best + first, n);
		write_token_ids(&reference, b->target_out + first, n);
		rc = buf_check(&hypothesis, e) ? e->code : buf_check(&reference, e);
		predicted = (struct score_text){ buf_text(&hypothesis), hypothesis.len };
		target = (struct score_text){ buf_text(&reference), reference.len };
		if (!rc)
			rc = metric_add(m->pseudo, &predicted, &target, 1, e);
	}
	buf_free(&hypothesis);
	buf_free(&reference);
	return rc;
}

static int evaluate_batch(struct batch_measurement *m, const struct batch *b,
			  struct model_sums *sums, struct err *e)
{
	if (!m->pseudo)
		return model_evaluate(m->g->models[0].model, b, 0, sums, e);
	if (model_predict(m->g->models[0].model, b, m->best, sums, e))
		return e->code;
	return score_forced(m, b, e);
}

/* Measures the batch if it is part of the slice and not known yet, then clears it. */
static int add_batch(struct batch_measurement *m, struct batch *b, struct err *e)
{
	struct model_sums sums;
	int64_t at = m->at;
	bool is_known = at < m->out->n && m->out->tokens[at] >= 0;

	if (b->n == 0)
		return 0;
	m->at++;
	if (!is_known && at % m->slice.count == m->slice.index) {
		if (evaluate_batch(m, b, &sums, e))
			return e->code;
	} else {
		sums.nll = is_known ? m->out->nll[at] : 0;
		sums.tokens = is_known ? m->out->tokens[at] : -1;
	}
	batch_clear(b);
	if (!heldout_set_batch(m->out, at, sums.nll, sums.tokens, m->tag))
		return err_set(e, ERR_NOMEM, "cannot allocate memory for %lld batches",
			       (long long)at + 1);
	return 0;
}

static int measure_pair_batches(struct batch_measurement *m, const struct shard *s,
				const int64_t *chosen, int64_t n, struct err *e)
{
	const int32_t capacity = m->g->capacity;
	struct batch b = { 0 };
	size_t room = (size_t)shard_longest(s);
	int32_t *source = mem_alloc(room, 2 * sizeof(*source), e);
	int32_t *target = source ? source + room : NULL;
	int rc = source ? batch_alloc(&b, capacity / 2, capacity, e) : e->code;

	b.without_source_end = model_get_shape(m->g->models[0].model)->source_end == ARCH_NO;
	for (int64_t i = 0; i < n && !rc; i++) {
		int32_t n_source, n_target;

		const char *tag = m->tags ? m->tags[chosen[i]] : "";

		shard_lengths(s, chosen[i], &n_source, &n_target);
		shard_read(s, chosen[i], source, target);
		if (!strcmp(tag, m->tag) &&
		    batch_add(&b, chosen[i], source, n_source, target, n_target))
			continue;
		rc = add_batch(m, &b, e);
		m->tag = tag;
		/* the batch is empty now; a pair longer than the capacity is left out */
		if (!rc && !batch_add(&b, chosen[i], source, n_source, target, n_target))
			m->out->left_out++;
	}
	if (!rc)
		rc = add_batch(m, &b, e);
	batch_free(&b);
	free(source);
	return rc;
}

/* Is pair i of the shard line i of the set? */
static bool is_whole_set(const struct heldout *h, const struct shard *s, const char *shard)
{
	const size_t n = strlen(h->set);

	return !strncmp(shard, h->set, n) && !strcmp(shard + n, ".shard") &&
	       shard_pairs(s) == h->n_set;
}

static int measure_shard(const struct heldout *h, const char *shard, int64_t sample,
			 struct batch_measurement *m, struct err *e)
{
	char *path = file_path(e, "%s/%s", h->folder, shard);
	struct shard *s = path ? shard_open(path, e) : NULL;
	int64_t *chosen = NULL, n = 0;
	int rc = s ? 0 : e->code;

	if (!rc && strcmp(shard_vocabulary_id(s), h->engine->state.vocabulary_sha256))
		rc = err_set(e, ERR_DATA,
			     "%s has another vocabulary than the model: the corpus was prepared "
			     "again after the training",
			     path);
	m->tag = "";
	m->out->left_out = 0;
	if (!rc) {
		m->tags = is_whole_set(h, s, shard) ? h->set_tags : NULL;
		chosen = choose_pairs(shard_pairs(s), sample, &n, e);
		rc = chosen ? measure_pair_batches(m, s, chosen, n, e) : e->code;
	}
	/* lines of other slices may have claimed more batches; the last one may have found no memory */
	m->out->n = MIN(m->out->n, m->at);
	free(chosen);
	shard_close(s);
	free(path);
	return rc;
}

int heldout_measure(const struct heldout *h, const char *shard, int64_t sample,
		    struct heldout_slice slice, struct heldout_batches *b, struct err *e)
{
	struct batch_measurement m = { .g = h->engine, .slice = slice, .out = b };

	return measure_shard(h, shard, sample, &m, e);
}

int heldout_teacher_forced(const struct heldout *h, const char *shard, struct metric *pseudo,
			   struct heldout_batches *b, struct err *e)
{
	struct batch_measurement m = {
		.g = h->engine, .slice = { 0, 1 }, .out = b, .pseudo = pseudo
	};
	int rc;

	m.best = mem_alloc((size_t)h->engine->capacity, sizeof(*m.best), e);
	rc = m.best ? measure_shard(h, shard, 0, &m, e) : e->code;
	free(m.best);
	return rc;
}
