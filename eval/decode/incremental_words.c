/*
 * incremental_words.c - incremental decoding with a shortlist; see incremental_internal.h
 *
 * Logits are computed for the candidates of all sentences together (n_candidates columns), with
 * output weights that were packed for these sentences. Each sentence then uses its own candidates alone:
 * a CPU backend gathers their logits per sentence, a GPU adds a mask of UNLIKELY to the others.
 * "Position" is an index into candidates->ids.
 */
#include "eval/decode/incremental_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "eval/decode/sampling.h"
#include "kernels/ops/panels.h"

#define UNLIKELY (-1e30f) /* added to a logit: the token is no candidate of the sentence */

/* ---- weights and masks of a batch ---------------------------------------- */

/*
 * With device memory, panel_gather() cannot read the packed weights. Gather the rows of the
 * embedding table instead and pack them on the device; plain weights need no packing.
 * memory: ids, then the weights; packed weights and then their fp32 rows.
 */
static void gather_candidate_rows(struct incremental_decoder *s, char *memory, size_t id_bytes,
				  size_t packed_bytes)
{
	const struct tensor all = s->weights->output;
	struct tensor *weights = &s->candidate_weights;
	int32_t *ids = (int32_t *)(void *)memory;

	/* columns after the last candidate are <pad>: never used, as masks exclude them */
	s->ops->zero(s->dev, ids, (size_t)weights->rows * sizeof(*ids));
	s->ops->to_device(s->dev, ids, s->candidates->ids, (size_t)s->candidates->n * sizeof(*ids));
	weights->data = memory + id_bytes;
	if (tensor_is_packed(all)) {
		struct tensor rows = tensor_f32((float *)(void *)(memory + id_bytes + packed_bytes),
						weights->rows, weights->cols);

		s->ops->gather_rows(s->dev, rows, model_output_rows(s->model), ids);
		s->ops->pack(s->dev, *weights, rows);
	} else {
		s->ops->gather_rows(s->dev, *weights, all, ids);
	}
}

/* Bytes of the packed candidates, 0 if they are not packed, and of the whole block. */
static int count_candidate_bytes(const struct incremental_decoder *s, size_t *packed, size_t *ids,
				 size_t *total, struct err *e)
{
	const struct tensor w = s->candidate_weights;
	size_t rows = 0, bias = 0;
	bool good = mem_mul((size_t)w.rows, sizeof(int32_t), ids) && *ids <= SIZE_MAX - 63;

	*packed = *total = 0;
	*ids = s->ops->has_device_memory ? (*ids + 63) / 64 * 64 : 0;
	if (tensor_is_packed(w))
		good = good && panel_bytes(w, packed);
	if (s->ops->has_device_memory)
		good = good && mem_mul((size_t)w.rows, (size_t)w.cols, &rows) &&
		       mem_mul(rows, sizeof(float), &rows);
	if (s->weights->output_bias.data)
		bias = (size_t)w.rows * sizeof(float);
	if (!good || __builtin_add_overflow(*packed, rows, total) ||
	    __builtin_add_overflow(*total, *ids, total) || *total > SIZE_MAX - bias - 63)
		return err_set(
			e, ERR_NOMEM,
			"cannot store the weights of %d shortlist tokens: the size overflows",
			s->candidates->n);
	*total = (*total + 63) / 64 * 64 + bias;
	return 0;
}

/* The biases of the candidates, at the end of the block. bytes: of the block. */
static void gather_candidate_bias(struct incremental_decoder *s, size_t bytes)
{
	const struct tensor all = s->weights->output_bias;
	const size_t own = (size_t)s->n_candidates * sizeof(float);
	float *bias = (float *)(void *)((char *)s->candidate_block + bytes - own);

	s->candidate_bias = (struct tensor){ .data = NULL };
	if (!all.data)
		return;
	s->candidate_bias = tensor_f32(bias, 1, s->n_candidates);
	if (s->ops->has_device_memory) { /* the block begins with the ids */
		s->ops->gather_rows(s->dev, tensor_f32(bias, s->n_candidates, 1),
				    tensor_f32(all.data, all.cols, 1), s->candidate_block);
		return;
	}
	for (int32_t i = 0; i < s->n_candidates; i++)
		bias[i] =
			i < s->candidates->n ? ((const float *)all.data)[s->candidates->ids[i]] : 0;
}

int incremental_pack_candidates(struct incremental_decoder *s, struct err *e)
{
	const struct tensor all = s->weights->output;
	size_t packed, ids, bytes;

	s->candidate_weights = (struct tensor){ NULL, 0, 0, 0, DTYPE_F32 };
	s->n_candidates = s->candidates ? (int32_t)incremental_padded_size(s, s->candidates->n) : 0;
	if (!s->candidates)
		return 0;
	if (!tensor_is_packed(all) && !s->ops->has_device_memory)
		return err_set(
			e, ERR_UNAVAILABLE,
			"backend %s cannot use a lexical shortlist: omit --shortlist, or give "
			"--backend cpu",
			s->ops->name);
	s->candidate_weights =
		(struct tensor){ NULL, s->n_candidates, all.cols, all.cols, all.dtype };
	if (count_candidate_bytes(s, &packed, &ids, &bytes, e))
		return e->code;
	if (bytes > s->candidate_bytes) {
		if (s->candidate_block)
			s->ops->release(s->dev, s->candidate_block);
		s->candidate_bytes = 0;
		s->candidate_block = s->ops->alloc(s->dev, bytes, e);
		if (!s->candidate_block)
			return e->code;
		s->candidate_bytes = bytes;
	}
	s->candidate_weights.data = s->candidate_block;
	if (s->ops->has_device_memory)
		gather_candidate_rows(s, s->candidate_block, ids, packed);
	else
		panel_gather(s->candidate_weights, all, s->candidates->ids);
	gather_candidate_bias(s, bytes);
	return 0;
}

int incremental_upload_masks(struct incremental_decoder *s, int32_t sentences, struct err *e)
{
	const struct shortlist_candidates *w = s->candidates;
	const int64_t n = incremental_mask_width(s);

	if (!w)
		return 0;
	if (mem_grow(&s->sentence_logits, &s->cap_sentence_logits,
		     (size_t)(w->max_per_sentence + n) * (size_t)s->cap_rows,
		     sizeof(*s->sentence_logits), e))
		return e->code;
	for (int32_t sentence = 0; sentence < sentences && n; sentence++) {
		float *mask = s->sentence_logits + sentence * n;

		for (int64_t i = 0; i < n; i++)
			mask[i] = UNLIKELY;
		for (int32_t i = w->start[sentence]; i < w->start[sentence + 1]; i++)
			mask[w->positions[i]] = 0;
	}
	s->ops->to_device(s->dev, s->a.masks, s->sentence_logits,
			  (size_t)(sentences * n) * sizeof(*s->sentence_logits));
	return 0;
}

/* ---- the best candidates ------------------------------------------------- */

/*
 * Copies the logits of a sentence's candidates to s->sentence_logits, (end - first, n) for the
 * rows first ... end - 1, which belong to one sentence. Returns n.
 */
static int32_t gather_sentence_logits(struct incremental_decoder *s, const float *all,
				      const struct incremental_rows *rows, int32_t first,
				      int32_t end)
{
	const struct shortlist_candidates *w = s->candidates;
	const int32_t sentence = rows->sentence[first];
	const int32_t *position = w->positions + w->start[sentence];
	const int32_t n = w->start[sentence + 1] - w->start[sentence];

	assert(n <= w->max_per_sentence && rows->sentence[end - 1] == sentence);
	for (int32_t r = first; r < end; r++) {
		const float *logits = all + (int64_t)r * s->n_candidates;
		float *sentence_logits = s->sentence_logits + (int64_t)(r - first) * n;

		for (int32_t i = 0; i < n; i++)
			sentence_logits[i] = logits[position[i]];
	}
	return n;
}

static int32_t end_of_sentence(const struct incremental_rows *rows, int32_t first)
{
	int32_t end = first;

	while (end < rows->n && rows->sentence[end] == rows->sentence[first])
		end++;
	return end;
}

/* Widens rows of have entries to k entries in place; <pad> with -infinity fills up. */
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

static void find_on_host(struct incremental_decoder *s, const struct incremental_rows *rows,
			 int32_t k)
{
	const struct shortlist_candidates *w = s->candidates;

	for (int32_t r = 0, end; r < rows->n; r = end) {
		float *values = (float *)s->a.results + (int64_t)r * k;
		int32_t *ids = result_ids(s, k) + (int64_t)r * k;
		const int32_t *position = w->positions + w->start[rows->sentence[r]];
		int32_t n, have;

		end = end_of_sentence(rows, r);
		n = gather_sentence_logits(s, s->a.logits, rows, r, end);
		have = MIN(k, n);
		s->ops->top_k(s->dev, values, ids, tensor_f32(s->sentence_logits, end - r, n), n,
			      have);
		for (int32_t i = 0; i < (end - r) * have; i++)
			ids[i] = w->ids[position[ids[i]]];
		spread_best(values, ids, have, k, end - r);
	}
}

/* On a GPU. The ids are positions until incremental_candidate_ids(). */
static void find_masked(struct incremental_decoder *s, struct tensor logits, int32_t k)
{
	const struct tensor mask = area_tensor(s->a.mask, s->rows, s->n_candidates);

	s->ops->gather_rows(s->dev, mask, area_tensor(s->a.masks, s->cap_rows, s->n_candidates),
			    step_input_array(s, STEP_INPUT_SENTENCE));
	s->ops->add(s->dev, logits, mask);
	s->ops->top_k(s->dev, s->a.results, result_ids(s, k), logits, s->n_candidates,
		      MIN(k, s->n_candidates));
}

void incremental_find_candidates(struct incremental_decoder *s, const struct incremental_rows *rows,
				 struct tensor h, int32_t k)
{
	const struct tensor logits = area_tensor(s->a.logits, h.rows, s->n_candidates);

	step_linear(s, logits, h, s->candidate_weights, s->candidate_bias);
	if (k && s->ops->has_device_memory)
		find_masked(s, logits, k);
	else if (k)
		find_on_host(s, rows, k);
}

void incremental_candidate_ids(const struct incremental_decoder *s,
			       struct incremental_output *found, int32_t k, int32_t rows)
{
	const int32_t have = MIN(k, s->n_candidates);

	for (int32_t i = 0; i < rows * have; i++) {
		const bool is_out = !(found->values[i] >= UNLIKELY / 2);

		found->ids[i] = is_out ? TOKEN_PAD : s->candidates->ids[found->ids[i]];
		if (is_out)
			found->values[i] = -INFINITY;
	}
	spread_best(found->values, found->ids, have, k, rows);
}

int incremental_all_candidates(struct incremental_decoder *s, const struct incremental_rows *rows,
			       float *all, struct err *e)
{
	const struct shortlist_candidates *w = s->candidates;
	const int64_t vocabulary = s->shape->vocabulary;
	const float *logits = s->a.logits;

	if (s->ops->has_device_memory) {
		float *copy = s->sentence_logits + (int64_t)w->max_per_sentence * s->cap_rows;

		logits = copy;
		if (fetch_to_host(s, copy, s->a.logits,
				  (size_t)rows->n * (size_t)s->n_candidates * sizeof(*copy), e))
			return e->code;
	}
	for (int32_t r = 0; r < rows->n; r++, all += vocabulary) {
		const int32_t *position = w->positions + w->start[rows->sentence[r]];
		const int32_t n = gather_sentence_logits(s, logits, rows, r, r + 1);

		sampling_log_softmax(s->sentence_logits, n);
		for (int64_t i = 0; i < vocabulary; i++)
			all[i] = -INFINITY;
		for (int32_t i = 0; i < n; i++)
			all[w->ids[position[i]]] = s->sentence_logits[i];
	}
	return 0;
}
