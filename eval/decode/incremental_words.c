/* incremental_words.c - see incremental_internal.h: where sentences have words of their own. */
#include "eval/decode/incremental_internal.h"

#include <math.h>
#include <string.h>

#include "eval/decode/sampling.h"
#include "kernels/ops/panels.h"

#define UNLIKELY (-1e30f)	/* added to a logit: the word is out */

/* ---- which there are ----------------------------------------------------- */

/* Where the host cannot gather packed rows: rows of the table, packed anew, in memory for both. */
static void pack_words(struct stepper *s, char *memory, size_t packed_bytes)
{
	struct tensor rows = tensor_f32((float *)(void *)(memory + packed_bytes), s->chosen.rows,
					s->chosen.cols);
	int32_t *ids = (int32_t *)(void *)((float *)rows.data + rows.rows * rows.cols);

	/* behind the last one <pad> fills up, of which nothing is asked */
	s->ops->zero(s->dev, ids, (size_t)rows.rows * sizeof(*ids));
	s->ops->to_device(s->dev, ids, s->words->ids, (size_t)s->words->n * sizeof(*ids));
	s->ops->gather_rows(s->dev, rows, s->weights->embed, ids);
	s->ops->pack(s->dev, s->chosen, rows);
}

int stepper_choose_words(struct stepper *s, struct err *e)
{
	const struct tensor all = s->weights->output;
	size_t packed, gathered = 0, bytes;

	s->chosen = (struct tensor){ NULL, 0, 0, 0, DTYPE_F32 };
	s->n_words = s->words ? (int32_t)stepper_size(s, s->words->n) : 0;
	if (!s->words)
		return 0;
	if (!tensor_is_packed(all))
		return err_set(e, ERR_UNAVAILABLE,
			       "backend %s cannot translate with a lexical shortlist: leave it "
			       "out, or try --backend cpu",
			       s->ops->name);
	s->chosen = (struct tensor){ NULL, s->n_words, all.cols, 0, all.dtype };
	if (!panel_bytes(s->chosen, &packed) ||
	    (s->ops->own_memory &&
	     (!mem_mul((size_t)s->n_words, (size_t)all.cols + 1, &gathered) ||
	      !mem_mul(gathered, sizeof(float), &gathered))) ||
	    __builtin_add_overflow(packed, gathered, &bytes))
		return err_set(e, ERR_NOMEM, "%d words are too many", s->words->n);
	if (bytes > s->chosen_bytes) {
		if (s->chosen_block)
			s->ops->release(s->dev, s->chosen_block);
		s->chosen_bytes = 0;
		s->chosen_block = s->ops->alloc(s->dev, bytes, e);
		if (!s->chosen_block)
			return e->code;
		s->chosen_bytes = bytes;
	}
	s->chosen.data = s->chosen_block;
	if (s->ops->own_memory)
		pack_words(s, s->chosen_block, packed);
	else
		panel_gather(s->chosen, all, s->words->ids);
	return 0;
}

int stepper_show_words(struct stepper *s, struct err *e)
{
	const struct allowed *w = s->words;
	const int64_t n = stepper_masked_of(s);

	if (!w)
		return 0;
	if (mem_grow(&s->own, &s->cap_own, (size_t)(w->most + n) * (size_t)s->cap_rows,
		     sizeof(*s->own), e))
		return e->code;
	for (int32_t sentence = 0; sentence < s->batch->n && n; sentence++) {
		float *mask = s->own + sentence * n;

		for (int64_t i = 0; i < n; i++)
			mask[i] = UNLIKELY;
		for (int32_t i = w->start[sentence]; i < w->start[sentence + 1]; i++)
			mask[w->places[i]] = 0;
	}
	s->ops->to_device(s->dev, s->a.masks, s->own, (size_t)(s->batch->n * n) * sizeof(*s->own));
	return 0;
}

/* ---- the best of them ---------------------------------------------------- */

/* What the words of the rows first .. end, which are of one sentence, have: into s->own. */
static int32_t gather_own(struct stepper *s, const float *all, const struct stepper_rows *rows,
			  int32_t first, int32_t end)
{
	const struct allowed *w = s->words;
	const int32_t sentence = rows->sentence[first];
	const int32_t *place = w->places + w->start[sentence];
	const int32_t n = w->start[sentence + 1] - w->start[sentence];

	for (int32_t r = first; r < end; r++) {
		const float *logits = all + (int64_t)r * s->n_words;
		float *own = s->own + (int64_t)(r - first) * n;

		for (int32_t i = 0; i < n; i++)
			own[i] = logits[place[i]];
	}
	return n;
}

static int32_t end_of_sentence(const struct stepper_rows *rows, int32_t first)
{
	int32_t end = first;

	while (end < rows->n && rows->sentence[end] == rows->sentence[first])
		end++;
	return end;
}

/* Fewer than k: <pad>, which cannot be, fills up. */
static void spread_best(float *values, int32_t *ids, int32_t have, int32_t k, int32_t rows)
{
	for (int32_t r = rows; r-- > 0 && have < k;) {
		memmove(values + (int64_t)r * k, values + (int64_t)r * have,
			(size_t)have * sizeof(*values));
		memmove(ids + (int64_t)r * k, ids + (int64_t)r * have, (size_t)have * sizeof(*ids));
		for (int32_t i = have; i < k; i++) {
			values[(int64_t)r * k + i] = -INFINITY;
			ids[(int64_t)r * k + i] = TOKEN_PAD;
		}
	}
}

static void find_on_host(struct stepper *s, const struct stepper_rows *rows, int32_t k)
{
	const struct allowed *w = s->words;

	for (int32_t r = 0, end; r < rows->n; r = end) {
		float *values = (float *)s->a.results + (int64_t)r * k;
		int32_t *ids = result_ids(s, k) + (int64_t)r * k;
		const int32_t *place = w->places + w->start[rows->sentence[r]];
		int32_t n, have;

		end = end_of_sentence(rows, r);
		n = gather_own(s, s->a.logits, rows, r, end);
		have = MIN(k, n);
		s->ops->top_k(s->dev, values, ids, tensor_f32(s->own, end - r, n), n, have);
		for (int32_t i = 0; i < (end - r) * have; i++)
			ids[i] = w->ids[place[ids[i]]];
		spread_best(values, ids, have, k, end - r);
	}
}

/* On a GPU: places among all words until stepper_name_words(). */
static void find_masked(struct stepper *s, struct tensor logits, int32_t k)
{
	const struct tensor mask = area(s->a.mask, s->rows, s->n_words);

	s->ops->gather_rows(s->dev, mask, area(s->a.masks, s->cap_rows, s->n_words),
			    brought(s, BROUGHT_SENTENCE));
	s->ops->add(s->dev, logits, mask);
	s->ops->top_k(s->dev, s->a.results, result_ids(s, k), logits, s->n_words,
		      MIN(k, s->n_words));
}

void stepper_find_words(struct stepper *s, const struct stepper_rows *rows, struct tensor h,
			int32_t k)
{
	const struct tensor logits = area(s->a.logits, h.rows, s->n_words);

	product(s, logits, h, s->chosen);
	if (k && s->ops->own_memory)
		find_masked(s, logits, k);
	else if (k)
		find_on_host(s, rows, k);
}

void stepper_name_words(const struct stepper *s, struct stepper_found *found, int32_t k,
			int32_t rows)
{
	const int32_t have = MIN(k, s->n_words);

	for (int32_t i = 0; i < rows * have; i++) {
		const bool is_out = !(found->values[i] >= UNLIKELY / 2);

		found->ids[i] = is_out ? TOKEN_PAD : s->words->ids[found->ids[i]];
		if (is_out)
			found->values[i] = -INFINITY;
	}
	spread_best(found->values, found->ids, have, k, rows);
}

int stepper_take_all_words(struct stepper *s, const struct stepper_rows *rows, float *all,
			   struct err *e)
{
	const struct allowed *w = s->words;
	const int64_t vocabulary = s->shape->vocabulary;
	const float *logits = s->a.logits;

	if (s->ops->own_memory) {
		float *copy = s->own + (int64_t)w->most * s->cap_rows;

		logits = copy;
		if (fetch(s, copy, s->a.logits,
			  (size_t)rows->n * (size_t)s->n_words * sizeof(*copy), e))
			return e->code;
	}
	for (int32_t r = 0; r < rows->n; r++, all += vocabulary) {
		const int32_t *place = w->places + w->start[rows->sentence[r]];
		const int32_t n = gather_own(s, logits, rows, r, r + 1);

		pick_log_softmax(s->own, n);
		for (int64_t i = 0; i < vocabulary; i++)
			all[i] = -INFINITY;
		for (int32_t i = 0; i < n; i++)
			all[w->ids[place[i]]] = s->own[i];
	}
	return 0;
}
