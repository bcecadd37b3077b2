/* heldout.c - see heldout.h */
#include "eval/heldout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/corpus.h"
#include "data/shard.h"
#include "eval/chrf.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/lines.h"
#include "share/base/mem.h"
#include "share/base/paths.h"
#include "share/base/rng.h"

#define CHUNK 512		/* sentences translated between two words of progress */

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
	buf_free(&h->signature);
	memset(h, 0, sizeof(*h));
}

static int read_lines(const char *path, int64_t limit, char ***lines, int64_t *n, struct err *e)
{
	struct lines in;
	size_t cap = 0;
	int got;

	*n = 0;
	if (lines_open(&in, path, e))
		return e->code;
	while ((got = lines_next(&in, e)) > 0 && (limit == 0 || *n < limit)) {
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

static int read_side(struct heldout *h, const char *language, int64_t limit, char ***lines,
		     int64_t *n, struct err *e)
{
	char *path = file_path(e, "%s/%s.%s", h->folder, h->set, language);
	int code;

	if (!path)
		return e->code;
	code = read_lines(path, limit, lines, n, e);
	if (code == ERR_NOINPUT)
		err_prefix(e, "the corpus has no held-out set %s (--set says which)", h->set);
	free(path);
	return code;
}

int heldout_open(struct heldout *h, struct engine *g, const char *set, int64_t limit, struct err *e)
{
	int64_t n_references = 0;
	int code;

	memset(h, 0, sizeof(*h));
	h->engine = g;
	h->set = set;
	h->folder = corpus_folder(g->conf, e);
	if (!h->folder || paths_check_name("held-out set", set, e))
		return e->code;
	code = read_side(h, g->conf->source_language, limit, &h->sources, &h->n, e);
	if (!code)
		code = read_side(h, g->conf->target_language, limit, &h->references, &n_references,
				 e);
	if (!code && h->n != n_references)
		code = err_set(e, ERR_DATA, "%s/%s.%s has %lld lines, but %s.%s has %lld",
			       h->folder, set, g->conf->source_language, (long long)h->n, set,
			       g->conf->target_language, (long long)n_references);
	if (!code && h->n == 0)
		code = err_set(e, ERR_DATA, "%s/%s.%s is empty: there is nothing to translate",
			       h->folder, set, g->conf->source_language);
	if (code) {
		free_lines(h->references, n_references);	/* they may not be h->n */
		h->references = NULL;
	}
	return code;
}

/* Translate sentences [first, first + n) into hypotheses. */
static int decode_chunk(struct heldout *h, const struct decode_options *o, int64_t first, size_t n,
			struct err *e)
{
	struct engine_translation translations[CHUNK];
	struct engine_line lines[CHUNK];

	for (size_t i = 0; i < n; i++)
		lines[i] = (struct engine_line){ h->sources[first + (int64_t)i],
						 strlen(h->sources[first + (int64_t)i]) };
	if (engine_translate(h->engine, o, lines, n, translations, e))
		return e->code;
	for (size_t i = 0; i < n; i++) {
		const struct decode_hypothesis *best = &translations[i].result.hypotheses[0];

		h->tokens += best->n + best->finished;
		h->hypotheses[first + (int64_t)i] = translations[i].texts[0];
		translations[i].texts[0] = NULL;
	}
	engine_translations_free(translations, n);
	return 0;
}

static int score(struct heldout *h, struct err *e)
{
	struct bleu *bleu = bleu_new(&bleu_usual, e);
	struct chrf *chrf = chrf_new(&chrf_usual, e);
	struct chrf_score chrf_result;
	int code = bleu && chrf ? 0 : e->code;

	for (int64_t i = 0; i < h->n && !code; i++) {
		struct score_text hypothesis = { h->hypotheses[i], strlen(h->hypotheses[i]) };
		struct score_text reference = { h->references[i], strlen(h->references[i]) };

		code = bleu_add(bleu, &hypothesis, &reference, 1, e);
		if (!code)
			code = chrf_add(chrf, &hypothesis, &reference, 1, e);
	}
	if (!code) {
		bleu_score(bleu, &h->bleu);
		bleu_signature(bleu, &h->signature);
		chrf_score(chrf, &chrf_result);
		h->chrf = chrf_result.score;
		code = buf_check(&h->signature, e);
	}
	bleu_free(bleu);
	chrf_free(chrf);
	return code;
}

int heldout_decode(struct heldout *h, bool progress, struct err *e)
{
	struct decode_options o;
	double start = clock_mono_s();

	if (decode_options_from_conf(&o, h->engine->conf, e))
		return e->code;
	o.n_best = 1;
	o.alignments = false;
	h->hypotheses = mem_alloc((size_t)h->n, sizeof(*h->hypotheses), e);
	if (!h->hypotheses)
		return e->code;
	for (int64_t i = 0; i < h->n; i += CHUNK) {
		if (decode_chunk(h, &o, i, (size_t)MIN(CHUNK, h->n - i), e))
			return e->code;
		if (progress)
			fprintf(stderr, "\r%lld of %lld sentences", (long long)MIN(i + CHUNK, h->n),
				(long long)h->n);
	}
	h->seconds = clock_mono_s() - start;
	if (progress)
		fputs("\r\033[K", stderr);
	return score(h, e);
}

static int compare_pairs(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The numbers of the pairs to measure, rising, owned by the caller; *n of them. */
static int64_t *choose_pairs(int64_t pairs, int64_t sample, int64_t *n, struct err *e)
{
	/* A fixed seed of its own: runs of different seeds are measured on the same pairs. */
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

/* Evaluate what the batch holds and empty it. */
static int add_batch(struct model *m, struct batch *b, double *nll, int64_t *tokens, struct err *e)
{
	struct model_sums sums;

	if (b->n == 0)
		return 0;
	if (model_evaluate(m, b, 0, &sums, e))
		return e->code;
	*nll += sums.nll;
	*tokens += sums.tokens;
	batch_clear(b);
	return 0;
}

static int sum_nll(const struct engine *g, const struct shard *s, const int64_t *chosen, int64_t n,
		   double *nll, int64_t *tokens, struct err *e)
{
	struct batch b = { 0 };
	size_t room = (size_t)shard_longest(s);
	int32_t *source = mem_alloc(room, 2 * sizeof(*source), e);
	int32_t *target = source ? source + room : NULL;
	int code = source ? batch_alloc(&b, g->capacity / 2, g->capacity, e) : e->code;

	for (int64_t i = 0; i < n && !code; i++) {
		int32_t n_source, n_target;

		shard_lengths(s, chosen[i], &n_source, &n_target);
		shard_read(s, chosen[i], source, target);
		if (batch_add(&b, chosen[i], source, n_source, target, n_target))
			continue;
		code = add_batch(g->model, &b, nll, tokens, e);
		/* A pair longer than the capacity is left out. */
		if (!code)
			batch_add(&b, chosen[i], source, n_source, target, n_target);
	}
	if (!code)
		code = add_batch(g->model, &b, nll, tokens, e);
	batch_free(&b);
	free(source);
	return code;
}

int heldout_nll(const struct heldout *h, const char *shard, int64_t sample, double *nll,
		int64_t *tokens, struct err *e)
{
	char *path = file_path(e, "%s/%s", h->folder, shard);
	struct shard *s = path ? shard_open(path, e) : NULL;
	int64_t *chosen = NULL, n = 0;
	int code = s ? 0 : e->code;

	*nll = 0;
	*tokens = 0;
	if (!code && strcmp(shard_vocabulary_sha256(s), h->engine->state.vocabulary_sha256))
		code = err_set(e, ERR_DATA,
			       "%s was made with another vocabulary than the model: the corpus has "
			       "been prepared anew",
			       path);
	if (!code) {
		chosen = choose_pairs(shard_pairs(s), sample, &n, e);
		code = chosen ? sum_nll(h->engine, s, chosen, n, nll, tokens, e) : e->code;
	}
	if (!code && *tokens > 0)
		*nll /= (double)*tokens;
	else if (!code)
		*nll = NAN;
	free(chosen);
	shard_close(s);
	free(path);
	return code;
}
