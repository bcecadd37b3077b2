/* alternatives.c - decoder_alternatives() of decode.h: words that can follow a beginning */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "eval/decode/beam_internal.h"
#include "eval/decode/decode_internal.h"
#include "eval/decode/sampling.h"
#include "share/base/mem.h"

#define MAX_COMPLETION 32 /* further tokens of a word, at most */

struct alternative_search {
	struct decode_worker *w; /* borrowed */
	const struct decode_options *o;
	struct decode_alternative *list;
	int32_t n;
};

void decode_alternatives_free(struct decode_alternative *list, int32_t n)
{
	for (int32_t i = 0; i < n; i++) {
		free(list[i].tokens);
		list[i] = (struct decode_alternative){ 0 };
	}
}

/* Lets n rows read their tokens; w->all gets the log-probabilities of the next tokens. */
static int step_alternatives(struct decode_worker *w, int32_t n, struct err *e)
{
	struct incremental_output found = { 0 };

	w->rows.n = n;
	for (int32_t r = 0; r < n; r++)
		w->rows.sentence[r] = 0;
	return decode_ensemble_step(w, &found, e);
}

/* Reads the start, the first token (TOKEN_PAD: there is none), and the beginning. */
static int decode_beginning(struct decode_worker *w, int32_t first_token, const int32_t *beginning,
			    int32_t n, struct err *e)
{
	const int32_t n_first = first_token != TOKEN_PAD;

	for (int32_t i = 0; i <= n + n_first; i++) {
		w->rows.parent[0] = 0;
		w->rows.token[0] = !i		  ? TOKEN_START
				   : i <= n_first ? first_token
						  : beginning[i - 1 - n_first];
		if (step_alternatives(w, 1, e))
			return e->code;
	}
	return 0;
}

/* The k most probable tokens of a row, without <pad>, <s> and <unk>. Returns their number. */
static int32_t best_of(const struct decode_worker *w, int32_t row, int32_t k, float *values,
		       int32_t *ids)
{
	const struct model_shape *shape = model_get_shape(w->model);
	const int32_t wanted = MIN(k + N_SPECIAL_TOKENS, shape->real_vocabulary);
	float all_values[DECODE_MAX_ALTERNATIVES + N_SPECIAL_TOKENS];
	int32_t all_ids[DECODE_MAX_ALTERNATIVES + N_SPECIAL_TOKENS], n = 0;

	sampling_top_k(w->all + (int64_t)row * shape->vocabulary, shape->real_vocabulary, wanted,
		       all_values, all_ids);
	for (int32_t i = 0; i < wanted && n < k; i++) {
		if (beam_is_excluded(all_ids[i]))
			continue;
		values[n] = all_values[i];
		ids[n++] = all_ids[i];
	}
	return n;
}

static void add_token(struct decode_alternative *a, int32_t token)
{
	assert(a->n <= MAX_COMPLETION);
	a->tokens[a->n++] = token;
}

static int start_alternatives(struct alternative_search *s, struct err *e)
{
	float values[DECODE_MAX_ALTERNATIVES];
	int32_t ids[DECODE_MAX_ALTERNATIVES], n = best_of(s->w, 0, s->n, values, ids);

	for (s->n = 0; s->n < n; s->n++) {
		struct decode_alternative *a = &s->list[s->n];

		*a = (struct decode_alternative){ .log_prob = (double)values[s->n] };
		a->tokens = mem_alloc(MAX_COMPLETION + 1, sizeof(*a->tokens), e);
		if (!a->tokens)
			return e->code;
		add_token(a, ids[s->n]);
	}
	return 0;
}

/* Can the word continue after this token? */
static bool is_open(const struct decode_options *o, int32_t token)
{
	return token != TOKEN_END && (o->starts_word || (o->joins_next && o->joins_next[token]));
}

/* Extends each word by its most probable tokens until the word ends. */
static int complete_words(struct alternative_search *s, struct err *e)
{
	int32_t of_row[DECODE_MAX_ALTERNATIVES], rows = 0; /* row r continues list[of_row[r]] */

	for (int32_t i = 0; i < s->n; i++)
		if (is_open(s->o, s->list[i].tokens[0])) {
			s->w->rows.parent[rows] = 0;
			of_row[rows++] = i;
		}
	for (int32_t step = 0; rows > 0 && step < MAX_COMPLETION; step++) {
		int32_t left = 0;

		for (int32_t r = 0; r < rows; r++) {
			const struct decode_alternative *a = &s->list[of_row[r]];

			s->w->rows.token[r] = a->tokens[a->n - 1];
		}
		if (step_alternatives(s->w, rows, e))
			return e->code;
		for (int32_t r = 0; r < rows; r++) {
			float value;
			int32_t id;

			if (best_of(s->w, r, 1, &value, &id) == 0 || id == TOKEN_END ||
			    (s->o->starts_word && s->o->starts_word[id]))
				continue;
			add_token(&s->list[of_row[r]], id);
			if (!is_open(s->o, id))
				continue;
			s->w->rows.parent[left] = r;
			of_row[left++] = of_row[r];
		}
		rows = left;
	}
	return 0;
}

int decoder_alternatives(struct decoder *d, const struct decode_options *o,
			 const struct decode_source *source, const int32_t *beginning,
			 int32_t n_beginning, struct decode_alternative *list, int32_t *n,
			 struct err *e)
{
	struct decode_worker *w = &d->main_worker;
	struct alternative_search s = { w, o, list, MIN(*n, DECODE_MAX_ALTERNATIVES) };
	const int32_t n_source = MIN(source->n, d->capacity - 1);
	const int32_t max_steps = n_beginning + 2 + MAX_COMPLETION, slot = 0;
	const struct incremental_options how = {
		.max_rows = DECODE_MAX_ALTERNATIVES,
		.max_steps = max_steps,
		.max_source = n_source + 1,
		/* one row for each token of the beginning, then some for each alternative */
		.cache_rows = n_source + 1 + n_beginning + 2 + 4 * DECODE_MAX_ALTERNATIVES,
		.all = true,
	};
	int rc = 0;

	*n = 0;
	if (n_source == 0)
		return 0;
	batch_clear(&w->batch);
	if (!batch_add(&w->batch, 0, source->ids, n_source, NULL, 0))
		return err_set(e, ERR_INTERNAL, "a sentence of %d tokens does not fit", n_source);
	if (decode_reserve(w, 1, DECODE_MAX_ALTERNATIVES, e))
		return e->code;
	for (int32_t i = 0; i < w->n_models && !rc; i++)
		rc = incremental_begin(w->decoders[i], &how, e)
			     ? e->code
			     : incremental_add(w->decoders[i], &w->batch, &slot, e);
	if (!rc)
		rc = decode_beginning(w, d->first_token, beginning, n_beginning, e);
	if (!rc)
		rc = start_alternatives(&s, e);
	else
		s.n = 0;
	if (!rc)
		rc = complete_words(&s, e);
	if (rc)
		decode_alternatives_free(list, s.n);
	else
		*n = s.n;
	return rc;
}
