/*
 * incremental.c - one step of incremental decoding; see incremental.h
 *
 * A step has three parts:
 *
 *  1. Upload. upload_step_inputs() copies (N_STEP_INPUTS, rows) int32 to the device, nothing else.
 *     The encoded sources and the list of their cache rows stay on the device while their sentence
 *     is decoded; masks and candidate weights until the next incremental_begin().
 *  2. Computation. compute_step() runs the decoder's sublayers (incremental_sublayers.c) on one new
 *     token of each row, then the output layer. extend_index() makes the list of cache rows of each
 *     row: its parent's list and its own new cache row. Attention reads keys and values through
 *     these lists, so the cache itself is never reordered.
 *  3. Download. fetch_step_results() copies the k best values, ids and source positions in one
 *     copy and waits once. With "all", fetch_all_log_probs() copies the logits instead.
 *
 * CUDA graphs. If the backend records graphs (graph_begin() is not NULL), part 2 is recorded once
 * per key and replayed later. A replay repeats pointers and sizes exactly. So every pointer and
 * size of part 2 must be in step_graph_key(), and all that differs from step to step must be data
 * of part 1. Therefore the number of rows is padded to a few sizes, lists grow on the device, and
 * areas stay where they are until they must grow. Other backends use exact sizes.
 *
 * Padding rows (rows->n ... s->rows - 1) read <pad> as the first token of the first row's sentence
 * and attend to themselves alone. Their cache rows are free ones, which stay free: a later step
 * overwrites them.
 */
#include "eval/decode/incremental_internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/decode/sampling.h"

static const struct dropout no_dropout;

static void set_dtypes(struct incremental_decoder *s)
{
	const enum dtype weights = s->weights->output.dtype;

	/* With weights of low precision the cache is bf16: reading the cache bounds attention. */
	s->cache_dtype =
		weights == DTYPE_F32 || weights == DTYPE_PACKED_F32 ? DTYPE_F32 : DTYPE_BF16;
	/* Products with plain bf16 weights round their inputs: norms and attention do it for them. */
	s->input_dtype = weights == DTYPE_BF16 ? DTYPE_BF16 : DTYPE_F32;
}

struct incremental_decoder *incremental_new(struct model *m, struct err *e)
{
	struct incremental_decoder *s = mem_alloc(1, sizeof(*s), e);

	if (!s)
		return NULL;
	s->model = m;
	s->ops = model_get_ops(m);
	s->dev = model_get_dev(m);
	s->shape = model_get_shape(m);
	s->weights = model_get_weights(m);
	s->is_padded = s->ops->graph_begin != NULL;
	set_dtypes(s);
	return s;
}

void incremental_free(struct incremental_decoder *s)
{
	if (!s)
		return;
	if (s->block)
		s->ops->release(s->dev, s->block);
	if (s->cache)
		s->ops->release(s->dev, s->cache);
	if (s->candidate_block)
		s->ops->release(s->dev, s->candidate_block);
	free(s->sentence_logits);
	free(s->next_row);
	free(s->slots);
	free(s->host);
	free(s);
}

/* ---- sentences ------------------------------------------------------------ */

int incremental_begin(struct incremental_decoder *s, const struct incremental_options *how,
		      struct err *e)
{
	const int64_t padding = incremental_padded_size(s, how->max_rows) - how->max_rows;

	s->all = how->all;
	s->candidates = how->candidates;
	if (incremental_pack_candidates(s, e) || incremental_reserve(s, how, e))
		return e->code;
	incremental_release_all(s);
	return incremental_reserve_cache(s, how->cache_rows + padding, e);
}

/* Takes cache rows for the sources of b, and notes them in the lists of their sentences. */
static void list_source_rows(struct incremental_decoder *s, const struct batch *b,
			     const int32_t *slots)
{
	for (int32_t i = 0; i < b->n; i++) {
		struct incremental_slot *slot = &s->slots[slots[i]];
		int32_t *list = s->host_sources + slots[i] * s->cross_stride,
			*rows = s->host_source_rows + b->source_start[i];

		assert(slots[i] >= 0 && slots[i] < s->cap_rows && !slot->n_source);
		slot->n_source = b->source_start[i + 1] - b->source_start[i];
		assert(slot->n_source <= s->cross_stride);
		for (int32_t j = 0; j < slot->n_source; j++)
			list[j] = rows[j] = incremental_take_row(s, slot);
		for (int64_t j = slot->n_source; j < s->cross_stride; j++)
			list[j] = list[slot->n_source - 1];
	}
}

/* Uploads the lists of these sentences: one copy from the first slot to the last one. */
static void upload_source_rows(struct incremental_decoder *s, const int32_t *slots, int32_t n)
{
	int32_t first = slots[0], last = slots[0];

	for (int32_t i = 1; i < n; i++) {
		first = MIN(first, slots[i]);
		last = MAX(last, slots[i]);
	}
	s->ops->to_device(s->dev, (int32_t *)s->a.sources + first * s->cross_stride,
			  s->host_sources + first * s->cross_stride,
			  (size_t)((last - first + 1) * s->cross_stride) *
				  sizeof(*s->host_sources));
}

int incremental_add(struct incremental_decoder *s, const struct batch *b, const int32_t *slots,
		    struct err *e)
{
	struct tensor memory;
	/* the area cross_index is free between steps and has room for the rows of all sources */
	int32_t *source_rows = s->a.cross_index;

	if (incremental_reserve_cache(s, b->n_source, e) || incremental_upload_masks(s, b->n, e))
		return e->code;
	list_source_rows(s, b, slots);
	upload_source_rows(s, slots, b->n);
	s->ops->to_device(s->dev, source_rows, s->host_source_rows,
			  (size_t)b->n_source * sizeof(*s->host_source_rows));
	if (model_encode(s->model, b, &memory, e))
		return e->code;
	s->ops->scatter_rows(s->dev, incremental_cache(s), memory, source_rows);
	return 0;
}

/* ---- upload -------------------------------------------------------------- */

/* Part 1 of a step; padding rows are explained at the head of this file. */
static void upload_step_inputs(struct incremental_decoder *s, const struct incremental_rows *rows)
{
	const int32_t start = model_start_token(s->shape),
		      last = model_longest_sentence(s->shape) - 1;
	int32_t spare = -1, *written = s->host_new_rows;

	assert(s->rows <= s->cap_rows && s->rows <= s->n_free_rows);
	for (int32_t r = 0; r < s->rows; r++) {
		const bool real = r < rows->n;
		const int32_t sentence = rows->sentence[real ? r : 0];
		struct incremental_slot *slot = &s->slots[sentence];
		const int32_t step = real ? slot->step : 0;

		if (!real)
			spare = r == rows->n ? s->free_row : s->next_row[spare];
		const int32_t of_row[N_STEP_INPUTS] = {
			[STEP_INPUT_TOKEN] = !real  ? TOKEN_PAD
					     : step ? rows->token[r]
						    : start,
			[STEP_INPUT_POSITION] = MIN(step, last), /* no read beyond a table */
			[STEP_INPUT_CACHE_ROW] = real ? incremental_take_row(s, slot) : spare,
			[STEP_INPUT_LENGTH] = step + 1,
			[STEP_INPUT_PARENT] = step > 0 ? rows->parent[r] : 0,
			[STEP_INPUT_PARENT_ROW] =
				step > 0 ? s->host_last_rows[rows->parent[r]] : -1,
			[STEP_INPUT_INDEX_AT] = (int32_t)(r * s->stride) + step,
			[STEP_INPUT_SENTENCE] = sentence,
			[STEP_INPUT_CROSS_LENGTH] = slot->n_source,
		};

		assert(sentence >= 0 && sentence < s->cap_rows && slot->n_source);
		assert(step < s->stride);
		s->host_new_rows[r] = of_row[STEP_INPUT_CACHE_ROW];
		for (int kind = 0; kind < N_STEP_INPUTS; kind++)
			s->host_inputs[kind * s->rows + r] = of_row[kind];
	}
	s->host_new_rows = s->host_last_rows;
	s->host_last_rows = written;
	s->ops->to_device(s->dev, s->a.step_inputs, s->host_inputs,
			  (size_t)N_STEP_INPUTS * (size_t)s->rows * sizeof(*s->host_inputs));
}

/*
 * Makes each row's list of cache rows (its parent's list and its own cache row) and its list of
 * source rows (its sentence's). The int32 numbers pass through float ops that only move bits.
 */
static void extend_index(struct incremental_decoder *s)
{
	const int64_t n = s->rows, stride = s->stride, cross = s->cross_stride;
	const struct tensor index = area_tensor(s->a.index, s->cap_rows, stride),
			    before = area_tensor(s->a.index_before, n, stride);

	s->ops->gather_rows(s->dev, before, index, step_input_array(s, STEP_INPUT_PARENT));
	s->ops->copy(s->dev, tensor_rows(index, 0, n), before);
	s->ops->scatter_rows(s->dev, area_tensor(s->a.index, s->cap_rows * stride, 1),
			     area_tensor(step_input_array(s, STEP_INPUT_CACHE_ROW), n, 1),
			     step_input_array(s, STEP_INPUT_INDEX_AT));
	s->ops->gather_rows(s->dev, area_tensor(s->a.cross_index, n, cross),
			    area_tensor(s->a.sources, s->cap_rows, cross),
			    step_input_array(s, STEP_INPUT_SENTENCE));
}

/* ---- the decoder --------------------------------------------------------- */

static void step_embed(struct incremental_decoder *s)
{
	const struct model_weights *w = s->weights;
	const struct tensor x = area_tensor(s->a.x, s->rows, s->shape->d_model),
			    raw = s->shape->embedding_norm
					  ? area_tensor(s->a.branch, s->rows, x.cols)
					  : x;
	const struct model_norm first = model_norm_at(s->model, w, STACK_DECODER, 0);

	s->ops->embed(s->dev, raw, w->embed, step_input_array(s, STEP_INPUT_TOKEN),
		      step_input_array(s, STEP_INPUT_POSITION),
		      model_embed_how(s->model, STACK_DECODER), no_dropout);
	if (s->shape->embedding_norm)
		s->ops->norm(s->dev, x, s->a.mean, s->a.rstd, raw,
			     w->embedding_scale[STACK_DECODER].data,
			     w->embedding_shift[STACK_DECODER].data,
			     model_embedding_norm(s->model));
	s->ops->norm(s->dev, input_tensor(s, s->a.h), s->a.mean, s->a.rstd, x, first.scale,
		     first.shift, first.how);
}

/*
 * x += branch + bias of sublayer i; h = norm(x), which the next one reads. With post-norm the branch is
 * added to h.
 */
static void step_residual(struct incremental_decoder *s, int32_t i)
{
	const struct sublayer_weights *w = &s->weights->stack[STACK_DECODER].sub[i];
	const struct model_norm norm = model_norm_at(s->model, s->weights, STACK_DECODER, i + 1);
	const int64_t n = s->rows, d = s->shape->d_model;
	const struct tensor x = area_tensor(s->a.x, n, d), h = input_tensor(s, s->a.h);

	s->ops->add_norm(s->dev, x, h, s->a.mean, s->a.rstd,
			 s->shape->norm_place == NORM_POST ? h : x, area_tensor(s->a.branch, n, d),
			 w->out_bias.data, norm.scale, norm.shift, norm.how, no_dropout);
}

/* The k most probable next tokens of each row of h (rows, D); k = 0: only the logits. */
static void find_best_tokens(struct incremental_decoder *s, struct tensor h, int32_t k)
{
	const struct tensor output = s->weights->output,
			    logits = area_tensor(s->a.logits, s->rows, s->shape->vocabulary);
	const int32_t n_real = s->shape->real_vocabulary;

	if (k && incremental_streams_logits(s)) {
		s->ops->linear_top_k(s->dev, s->a.results, result_ids(s, k), h, output,
				     s->weights->output_bias.data, n_real, k);
		return;
	}
	step_linear(s, logits, h, output, s->weights->output_bias);
	if (k)
		s->ops->top_k(s->dev, s->a.results, result_ids(s, k), logits, n_real, k);
}

/* The two source positions with the greatest attention of each row: one of them may be </s>. */
static void find_aligned(struct incremental_decoder *s, int32_t k)
{
	s->ops->top_k(s->dev, s->a.top_weights, result_source_positions(s, k),
		      area_tensor(s->a.weights, s->rows, s->cross_stride), s->cross_stride, 2);
}

/* Part 2 of a step. rows is read by CPU backends only: a graph must not depend on its content. */
static void compute_step(struct incremental_decoder *s, const struct incremental_rows *rows,
			 int32_t k, bool aligned, const struct incremental_attention *attention)
{
	/*
	 * Alignments come from the last layer but one, whose attention matches alignments best
	 * (Garg et al. 2019, section 4).
	 */
	const int32_t aligning =
		attention ? attention->layer : MAX(s->shape->decoder_layers - 2, 0);
	const bool weighs = aligned || attention;
	const struct layer_list *list = model_layer_list(s->shape, STACK_DECODER);
	const struct stack_weights *decoder = &s->weights->stack[STACK_DECODER];
	const struct tensor h = input_tensor(s, s->a.h);

	extend_index(s);
	step_embed(s);
	for (int32_t i = 0; i < decoder->n; i++) {
		const int32_t layer = i / list->n;
		const struct step_sublayer at = {
			.w = &decoder->sub[i],
			.layer = layer,
			.weights = weighs && layer == aligning ? s->a.weights : NULL,
			.head = attention ? attention->head : -1,
		};

		incremental_steps[list->at[i % list->n]](s, &at);
		step_residual(s, i);
	}
	if (attention)
		return;
	if (s->candidates)
		incremental_find_candidates(s, rows, h, k);
	else
		find_best_tokens(s, h, k);
	if (aligned)
		find_aligned(s, k);
}

/* Contains every pointer and size that the ops of compute_step() get, besides the model's own. */
static struct graph_key step_graph_key(const struct incremental_decoder *s, int32_t k, bool aligned)
{
	const uint64_t kind = 0x53544550; /* "STEP": differs from the keys of other graphs */

	return (struct graph_key){ {
		kind,
		(uint64_t)s->rows,
		(uint64_t)k,
		aligned,
		(uintptr_t)s->cache,
		(uint64_t)s->cache_rows,
		(uintptr_t)s->block,
		(uint64_t)s->cap_rows,
		(uint64_t)s->stride,
		(uint64_t)s->cross_stride,
		(uint64_t)incremental_logits_width(s),
		(uint64_t)incremental_mask_width(s),
		(uintptr_t)s->candidate_weights.data,
		(uint64_t)s->n_candidates,
		(uintptr_t)s->weights->output.data,
	} };
}

static void compute_or_replay(struct incremental_decoder *s, const struct incremental_rows *rows,
			      int32_t k, bool aligned)
{
	const struct graph_key key = step_graph_key(s, k, aligned);
	const int pieces = s->is_padded ? s->ops->graph_begin(s->dev, &key) : 0;

	for (int i = 0; i < pieces; i++)
		s->ops->graph_replay(s->dev, i);
	if (pieces)
		return;
	compute_step(s, rows, k, aligned, NULL);
	if (s->is_padded)
		s->ops->graph_end(s->dev);
}

/* ---- download ------------------------------------------------------------ */

/* positions: (rows, 2) source positions, the greater attention first. An encoder that reads </s> has it last: skip it. */
static void choose_aligned_tokens(const struct incremental_decoder *s,
				  const struct incremental_rows *rows, const int32_t *positions,
				  int32_t *aligned)
{
	for (int32_t r = 0; r < rows->n; r++) {
		const int32_t n = s->slots[rows->sentence[r]].n_source -
				  (s->shape->source_end == ARCH_YES),
			      best = positions[2 * r] == n ? positions[2 * r + 1]
							   : positions[2 * r];

		aligned[r] = best >= 0 && best < n ? best : 0;
	}
}

/* Log-probabilities of all next tokens of each row. */
static int fetch_all_log_probs(struct incremental_decoder *s, const struct incremental_rows *rows,
			       float *all, struct err *e)
{
	const size_t vocabulary = (size_t)s->shape->vocabulary;

	if (s->candidates)
		return incremental_all_candidates(s, rows, all, e);
	if (fetch_to_host(s, all, s->a.logits, (size_t)rows->n * vocabulary * sizeof(*all), e))
		return e->code;
	for (int32_t r = 0; r < rows->n; r++)
		sampling_log_softmax(all + (size_t)r * vocabulary, s->shape->real_vocabulary);
	return 0;
}

/* Part 3 of a step: values, ids and source positions are adjacent, so one copy fetches them all. */
static int fetch_step_results(struct incremental_decoder *s, const struct incremental_rows *rows,
			      int32_t k, struct incremental_output *found, struct err *e)
{
	const size_t best = (size_t)s->rows * (size_t)k, wanted = (size_t)rows->n * (size_t)k,
		     places = found->aligned ? 2 * (size_t)s->rows : 0;

	if (fetch_to_host(s, s->host_results, s->a.results,
			  (2 * best + places) * sizeof(*s->host_results), e))
		return e->code;
	if (k) {
		memcpy(found->values, s->host_results, wanted * sizeof(*found->values));
		memcpy(found->ids, s->host_results + best, wanted * sizeof(*found->ids));
	}
	if (incremental_mask_width(s) && k)
		incremental_candidate_ids(s, found, k, rows->n);
	if (found->aligned)
		choose_aligned_tokens(s, rows, s->host_results + 2 * best, found->aligned);
	return 0;
}

/* A step for its attention only; it is rare, so no graph is recorded. */
static int step_attention(struct incremental_decoder *s, const struct incremental_rows *rows,
			  const struct incremental_attention *a, struct err *e)
{
	assert(a->layer >= 0 && a->layer < s->shape->decoder_layers &&
	       a->head < model_heads(s->shape, STACK_DECODER));
	compute_step(s, rows, 0, false, a);
	for (int32_t r = 0; r < rows->n; r++) {
		const int64_t n = s->slots[rows->sentence[r]].n_source;

		assert(n <= a->stride);
		if (fetch_to_host(s, a->weights + r * a->stride,
				  (float *)s->a.weights + r * s->cross_stride,
				  (size_t)n * sizeof(float), e))
			return e->code;
	}
	return 0;
}

int incremental_step(struct incremental_decoder *s, const struct incremental_rows *rows, int32_t k,
		     struct incremental_output *found, struct err *e)
{
	assert(rows->n > 0 && k >= 0 && k <= INCREMENTAL_MAX_K && k <= s->shape->real_vocabulary);
	assert(!found->all || s->all);
	assert(!found->attention || (!k && !found->all && !found->aligned));
	if (found->all)
		k = 0;
	s->rows = (int32_t)incremental_padded_size(s, rows->n);
	if (incremental_reserve_cache(s, s->rows, e))
		return e->code;
	upload_step_inputs(s, rows);
	if (!found->attention)
		compute_or_replay(s, rows, k, found->aligned != NULL);
	else if (step_attention(s, rows, found->attention, e))
		return e->code;
	for (int32_t r = 0; r < rows->n; r++)
		if (r == 0 || rows->sentence[r] != rows->sentence[r - 1])
			s->slots[rows->sentence[r]].step++;
	if ((k || found->aligned) && fetch_step_results(s, rows, k, found, e))
		return e->code;
	return found->all ? fetch_all_log_probs(s, rows, found->all, e) : 0;
}
