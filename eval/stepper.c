/* stepper.c - see stepper.h */
#include "eval/stepper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/pick.h"
#include "kernels/panels.h"
#include "share/base/mem.h"

/*
 * Working memory of one step on the backend's side: AREA(name, 4-byte elements
 * a row). All areas are carved from one block.
 */
#define AREAS(AREA) \
	AREA(x,            s->shape->d_model)		/* the residual stream */ \
	AREA(h,            s->shape->d_model)		/* its norm */ \
	AREA(context,      s->shape->d_model) \
	AREA(branch,       s->shape->d_model) \
	AREA(qkv,          3 * s->shape->d_model) \
	AREA(inner,        s->shape->d_ff) \
	AREA(logits,       logits_of(s)) \
	AREA(mask,         masked_of(s))	/* 0: a word of the row's, else UNLIKELY */ \
	AREA(mean,         1) \
	AREA(rstd,         1) \
	AREA(values,       STEPPER_MAX_K) \
	AREA(ids,          STEPPER_MAX_K) \
	AREA(tokens,       1) \
	AREA(positions,    1) \
	AREA(slots,        1)				/* cache rows that this step fills */ \
	AREA(length,       1) \
	AREA(cross_length, 1) \
	AREA(index,        s->stride) \
	AREA(cross_index,  s->cross_stride) \
	AREA(weights,      s->cross_stride)

struct areas {
#define AREA(name, per_row) void *name;
	AREAS(AREA)
#undef AREA
};

struct stepper {
	struct model *model;			/* borrowed */
	const struct ops *ops;
	struct dev *dev;
	const struct model_shape *shape;
	const struct model_weights *weights;
	const struct batch *batch;		/* borrowed */
	struct tensor memory;		/* (n_source, 2 * D * L), the model's; see source_kv() */

	void   *block;				/* owned, backend */
	size_t  block_bytes;
	struct areas a;
	void *cache; /* (cache_rows, 2 * D * L) owned, backend: K and V of each layer */
	enum dtype cache_dtype;
	int64_t cache_rows, cache_used;

	int32_t *host;				/* owned: one block for the arrays below */
	size_t   host_bytes;
	int32_t *index, *index_next; /* (max_rows, stride): cache rows of each row's ancestors */
	int32_t *row_ints;			/* (max_rows) scratch */
	int32_t *cross_index;			/* (max_rows, cross_stride) */
	float   *row_weights;			/* (max_rows, cross_stride) */
	int32_t *shown; /* (max_rows) sentences whose cross_index the backend has */
	int32_t  n_shown;

	int32_t max_rows;
	int64_t stride, cross_stride;
	int32_t step;
	bool    all;				/* log-probabilities of all tokens are wanted */

	const struct allowed *words;		/* borrowed; NULL: all */
	struct tensor chosen;			/* the output weights of words */
	void   *chosen_block;			/* owned, backend */
	size_t  chosen_bytes;
	float  *own;	/* (cap_own) owned: one sentence's logits; of a GPU all rows' or the mask */
	size_t  cap_own;
};

static const struct dropout no_dropout;

#define UNLIKELY (-1e30f)	/* added to a logit: the word is out */

struct stepper *stepper_new(struct model *m, struct err *e)
{
	struct stepper *s = mem_alloc(1, sizeof(*s), e);

	if (!s)
		return NULL;
	s->model = m;
	s->ops = model_get_ops(m);
	s->dev = model_get_dev(m);
	s->shape = model_get_shape(m);
	s->weights = model_get_weights(m);
	/* Weights of less precision come with a cache of less: it is what attention waits for. */
	s->cache_dtype = s->weights->output.dtype == DTYPE_PACKED_BF16 ||
					 s->weights->output.dtype == DTYPE_PACKED_INT8
				 ? DTYPE_BF16
				 : DTYPE_F32;
	return s;
}

void stepper_free(struct stepper *s)
{
	if (!s)
		return;
	if (s->block)
		s->ops->release(s->dev, s->block);
	if (s->cache)
		s->ops->release(s->dev, s->cache);
	if (s->chosen_block)
		s->ops->release(s->dev, s->chosen_block);
	free(s->own);
	free(s->host);
	free(s);
}

/* Of a row. Packed weights of all tokens give the best ones without a matrix of logits. */
static int64_t logits_of(const struct stepper *s)
{
	if (s->words)
		return s->words->n;
	return s->all || !tensor_is_packed(s->weights->output) ? s->shape->vocabulary : 0;
}

/* Where memory is not the host's, the words of other sentences are made unlikely there. */
static int64_t masked_of(const struct stepper *s)
{
	return s->words && s->ops->own_memory ? s->words->n : 0;
}

/* Bytes of an area of rows * per_row elements, rounded up to 64; false when it does not fit. */
static bool area_bytes(int64_t rows, int64_t per_row, size_t *bytes)
{
	size_t n;

	if (!mem_mul((size_t)rows, (size_t)per_row, &n) || !mem_mul(n, 4, &n) || n > SIZE_MAX - 63)
		return false;
	*bytes = (n + 63) / 64 * 64;
	return true;
}

/* Carve the areas for max_rows rows from the block, making it larger when needed. */
static int reserve_areas(struct stepper *s, struct err *e)
{
	size_t total = 0, bytes, at = 0;

#define AREA(name, per_row)                                                                        \
	if (!area_bytes(s->max_rows, per_row, &bytes) || total > SIZE_MAX - bytes)                 \
		return err_set(e, ERR_NOMEM, "%d rows are too many to decode at once",             \
			       s->max_rows);                                                       \
	total += bytes;
	AREAS(AREA)
#undef AREA
	if (total > s->block_bytes) {
		if (s->block)
			s->ops->release(s->dev, s->block);
		s->block_bytes = 0;
		s->block = s->ops->alloc(s->dev, total, e);
		if (!s->block)
			return e->code;
		s->block_bytes = total;
	}
#define AREA(name, per_row) \
	s->a.name = (char *)s->block + at; \
	area_bytes(s->max_rows, per_row, &bytes); \
	at += bytes;
	AREAS(AREA)
#undef AREA
	return 0;
}

static int reserve_host(struct stepper *s, struct err *e)
{
	size_t rows = (size_t)s->max_rows, own, cross, total;

	if (!mem_mul(rows, (size_t)s->stride, &own) ||
	    !mem_mul(rows, (size_t)s->cross_stride, &cross))
		return err_set(e, ERR_NOMEM, "%d rows are too many to decode at once", s->max_rows);
	total = 2 * own + 2 * cross + 2 * rows;
	if (total * 4 > s->host_bytes) {
		free(s->host);
		s->host_bytes = 0;
		s->host = mem_alloc_aligned(total, 4, e);
		if (!s->host)
			return e->code;
		s->host_bytes = total * 4;
	}
	s->index = s->host;
	s->index_next = s->index + own;
	s->cross_index = s->index_next + own;
	s->row_weights = (float *)(s->cross_index + cross);
	s->row_ints = s->cross_index + 2 * cross;
	s->shown = s->row_ints + rows;
	return 0;
}

/* Elements from one cache row to the next; a power of 2 would put all into the same cache sets. */
static int64_t cache_stride(const struct stepper *s)
{
	return 2 * (int64_t)s->shape->d_model * s->shape->decoder_layers + 32;
}

/* The first rows of a cache. */
static struct tensor cache_tensor(const struct stepper *s, void *cache, int64_t rows)
{
	int64_t cols = 2 * (int64_t)s->shape->d_model * s->shape->decoder_layers;

	return (struct tensor){ cache, rows, cols, cache_stride(s), s->cache_dtype };
}

static void upload(struct stepper *s, void *area, const void *from, int64_t elements)
{
	s->ops->to_device(s->dev, area, from, (size_t)elements * 4);
}

/* Copy from to the first rows of to, as many at a time as there are slots. */
static void copy_rows(struct stepper *s, struct tensor to, struct tensor from)
{
	for (int64_t first = 0, n; first < from.rows; first += n) {
		n = MIN(s->max_rows, from.rows - first);
		for (int64_t r = 0; r < n; r++)
			s->row_ints[r] = (int32_t)(first + r);
		upload(s, s->a.slots, s->row_ints, n);
		s->ops->scatter_rows(s->dev, to, tensor_rows(from, first, n), s->a.slots);
	}
}

/* Room for rows more cache rows; what is in the cache is kept. */
static int reserve_cache(struct stepper *s, int64_t rows, struct err *e)
{
	int64_t want = s->cache_used + rows;
	size_t bytes;
	void *larger;

	if (want <= s->cache_rows)
		return 0;
	want = MAX(want, s->cache_rows + s->cache_rows / 2);
	if (want > INT32_MAX || !area_bytes(want, cache_stride(s), &bytes))
		return err_set(e, ERR_NOMEM, "too many hypotheses at once: lower decode-tokens");
	larger = s->ops->alloc(s->dev, bytes / 4 * dtype_bytes(s->cache_dtype), e);
	if (!larger)
		return e->code;
	if (s->cache_used)
		copy_rows(s, cache_tensor(s, larger, want),
			  cache_tensor(s, s->cache, s->cache_used));
	if (s->ops->sync(s->dev, e)) {
		s->ops->release(s->dev, larger);
		return e->code;
	}
	if (s->cache)
		s->ops->release(s->dev, s->cache);
	s->cache = larger;
	s->cache_rows = want;
	return 0;
}

/* Keys and values of the sources: rounded ones are the first rows of the cache. */
static struct tensor source_kv(const struct stepper *s)
{
	return s->cache_dtype == DTYPE_F32 ? s->memory
					   : cache_tensor(s, s->cache, s->memory.rows);
}

/* Where the host cannot gather packed rows: rows of the table, packed anew. memory: room for both. */
static void pack_words(struct stepper *s, char *memory, size_t packed_bytes)
{
	struct tensor rows = tensor_f32((float *)(void *)(memory + packed_bytes), s->chosen.rows,
					s->chosen.cols);
	int32_t *ids = (int32_t *)(void *)((float *)rows.data + rows.rows * rows.cols);

	s->ops->to_device(s->dev, ids, s->words->ids, (size_t)rows.rows * sizeof(*ids));
	s->ops->gather_rows(s->dev, rows, s->weights->embed, ids);
	s->ops->pack(s->dev, s->chosen, rows);
}

/* The output weights of the words alone. */
static int choose_words(struct stepper *s, struct err *e)
{
	const struct tensor all = s->weights->output;
	const size_t n = (size_t)s->words->n;
	size_t packed, gathered = 0, bytes;

	if (!tensor_is_packed(all))
		return err_set(e, ERR_UNAVAILABLE,
			       "backend %s cannot translate with a lexical shortlist: leave it "
			       "out, or try --backend cpu",
			       s->ops->name);
	s->chosen = (struct tensor){ NULL, s->words->n, all.cols, 0, all.dtype };
	if (!panel_bytes(s->chosen, &packed) ||
	    (s->ops->own_memory && (!mem_mul(n, (size_t)all.cols + 1, &gathered) ||
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
	return mem_grow(&s->own, &s->cap_own,
			((size_t)s->words->most + (s->ops->own_memory ? n : 0)) *
				(size_t)s->max_rows,
			sizeof(*s->own), e);
}

int stepper_begin(struct stepper *s, const struct batch *b, const struct stepper_how *how,
		  struct err *e)
{
	const int32_t max_rows = how->max_rows, max_steps = how->max_steps;

	s->batch = b;
	s->all = how->all;
	s->words = how->words;
	s->max_rows = max_rows;
	s->stride = max_steps;
	s->cross_stride = b->max_source;
	s->step = 0;
	s->cache_used = 0;
	s->n_shown = -1;
	if ((s->words && choose_words(s, e)) || reserve_areas(s, e) || reserve_host(s, e))
		return e->code;
	/* Most translations are about as long as their source; more is added when it is needed. */
	if (reserve_cache(s, b->n_source + (int64_t)max_rows * MIN(max_steps, b->max_source + 8),
			  e) ||
	    model_encode(s->model, b, &s->memory, e))
		return e->code;
	if (s->cache_dtype != DTYPE_F32) {
		copy_rows(s, cache_tensor(s, s->cache, b->n_source), s->memory);
		s->cache_used = b->n_source;
	}
	return 0;
}

static void upload_constant(struct stepper *s, void *area, int32_t value, int32_t n)
{
	for (int32_t r = 0; r < n; r++)
		s->row_ints[r] = value;
	upload(s, area, s->row_ints, n);
}

/* Each row's list of ancestors is its parent's with the new cache row behind it. */
static void extend_index(struct stepper *s, const struct stepper_rows *rows)
{
	int32_t *swap;

	for (int32_t r = 0; r < rows->n; r++) {
		int32_t *to = s->index_next + r * s->stride;

		if (s->step > 0)
			memcpy(to, s->index + rows->parent[r] * s->stride,
			       (size_t)s->step * sizeof(*to));
		to[s->step] = (int32_t)s->cache_used + r;
		s->row_ints[r] = to[s->step];
	}
	upload(s, s->a.slots, s->row_ints, rows->n);
	swap = s->index;
	s->index = s->index_next;
	s->index_next = swap;
	upload(s, s->a.index, s->index, rows->n * s->stride);
	upload_constant(s, s->a.length, s->step + 1, rows->n);
	s->cache_used += rows->n;
}

/* Each row has the words of its sentence. */
static void show_words(struct stepper *s, const struct stepper_rows *rows)
{
	const struct allowed *w = s->words;

	for (int32_t r = 0; r < rows->n; r++) {
		const int32_t sentence = rows->sentence[r];
		float *mask = s->own + (int64_t)r * w->n;

		for (int32_t i = 0; i < w->n; i++)
			mask[i] = UNLIKELY;
		for (int32_t i = w->start[sentence]; i < w->start[sentence + 1]; i++)
			mask[w->places[i]] = 0;
	}
	upload(s, s->a.mask, s->own, (int64_t)rows->n * w->n);
}

/*
 * Which rows of the encoder's output each row sees; sent only when rows have changed
 * their sentence.
 */
static void show_sources(struct stepper *s, const struct stepper_rows *rows)
{
	const int32_t *start = s->batch->source_start;

	if (s->n_shown == rows->n &&
	    !memcmp(s->shown, rows->sentence, (size_t)rows->n * sizeof(*s->shown)))
		return;
	for (int32_t r = 0; r < rows->n; r++) {
		int32_t first = start[rows->sentence[r]];

		s->row_ints[r] = start[rows->sentence[r] + 1] - first;
		for (int32_t j = 0; j < s->row_ints[r]; j++)
			s->cross_index[r * s->cross_stride + j] = first + j;
	}
	upload(s, s->a.cross_length, s->row_ints, rows->n);
	upload(s, s->a.cross_index, s->cross_index, rows->n * s->cross_stride);
	memcpy(s->shown, rows->sentence, (size_t)rows->n * sizeof(*s->shown));
	s->n_shown = rows->n;
	if (masked_of(s))
		show_words(s, rows);
}

static struct tensor area(float *data, int64_t rows, int64_t cols)
{
	return tensor_f32(data, rows, cols);
}

static void product(struct stepper *s, struct tensor out, struct tensor in, struct tensor weight)
{
	model_linear(s->model, out, in, weight, NULL, false);
}

/* x += branch + bias; h = norm(x). */
static void add_norm(struct stepper *s, int32_t n, const struct tensor *bias, struct tensor scale,
		     struct tensor shift)
{
	int64_t d = s->shape->d_model;
	struct tensor x = area(s->a.x, n, d);

	s->ops->add_norm(s->dev, x, area(s->a.h, n, d), s->a.mean, s->a.rstd, x,
			 area(s->a.branch, n, d), bias ? bias->data : NULL, scale.data, shift.data,
			 no_dropout);
}

static void self_attention(struct stepper *s, int32_t layer, int32_t n)
{
	const struct model_decoder_layer *w = &s->weights->decoder[layer];
	int64_t d = s->shape->d_model;
	struct tensor h = area(s->a.h, n, d), qkv = area(s->a.qkv, n, 3 * d),
		      context = area(s->a.context, n, d);
	struct tensor cache = tensor_columns(cache_tensor(s, s->cache, s->cache_used),
					     2 * d * layer, 2 * d);

	product(s, qkv, h, w->self_qkv);
	s->ops->scatter_rows(s->dev, cache, tensor_columns(qkv, d, 2 * d), s->a.slots);
	s->ops->attention_step(s->dev, context, NULL, tensor_columns(qkv, 0, d),
			       tensor_columns(cache, 0, d), tensor_columns(cache, d, d), s->a.index,
			       s->a.length, s->stride, s->shape->heads);
	product(s, area(s->a.branch, n, d), context, w->self_out);
	add_norm(s, n, NULL, w->cross_norm_scale, w->cross_norm_shift);
}

static void cross_attention(struct stepper *s, int32_t layer, int32_t n, float *weights)
{
	const struct model_decoder_layer *w = &s->weights->decoder[layer];
	int64_t d = s->shape->d_model;
	struct tensor q = area(s->a.qkv, n, d), context = area(s->a.context, n, d);
	struct tensor kv = tensor_columns(source_kv(s), 2 * d * layer, 2 * d);

	product(s, q, area(s->a.h, n, d), w->cross_q);
	s->ops->attention_step(s->dev, context, weights, q, tensor_columns(kv, 0, d),
			       tensor_columns(kv, d, d), s->a.cross_index, s->a.cross_length,
			       s->cross_stride, s->shape->heads);
	product(s, area(s->a.branch, n, d), context, w->cross_out);
	add_norm(s, n, NULL, w->ffn_norm_scale, w->ffn_norm_shift);
}

static void feed_forward(struct stepper *s, int32_t layer, int32_t n)
{
	const struct model_decoder_layer *w = &s->weights->decoder[layer];
	struct tensor inner = area(s->a.inner, n, s->shape->d_ff);

	model_linear(s->model, inner, area(s->a.h, n, s->shape->d_model), w->ffn_in,
		     &w->ffn_in_bias, true);
	product(s, area(s->a.branch, n, s->shape->d_model), inner, w->ffn_out);
	if (layer + 1 < s->shape->decoder_layers)
		add_norm(s, n, &w->ffn_out_bias, w[1].self_norm_scale, w[1].self_norm_shift);
	else
		add_norm(s, n, &w->ffn_out_bias, s->weights->decoder_norm_scale,
			 s->weights->decoder_norm_shift);
}

/* ---- with the words of each sentence alone ----------------------------- */

/* What the words of the rows first .. end, which are of one sentence, have: into s->own. */
static int32_t gather_own(struct stepper *s, const float *all, const struct stepper_rows *rows,
			  int32_t first, int32_t end)
{
	const struct allowed *w = s->words;
	const int32_t sentence = rows->sentence[first];
	const int32_t *place = w->places + w->start[sentence];
	const int32_t n = w->start[sentence + 1] - w->start[sentence];

	for (int32_t r = first; r < end; r++) {
		const float *logits = all + (int64_t)r * w->n;
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

static void find_best_words(struct stepper *s, const struct stepper_rows *rows, struct tensor h,
			    int32_t k)
{
	const struct allowed *w = s->words;

	product(s, area(s->a.logits, h.rows, w->n), h, s->chosen);
	for (int32_t r = 0, end; r < rows->n; r = end) {
		float *values = (float *)s->a.values + (int64_t)r * k;
		int32_t *ids = (int32_t *)s->a.ids + (int64_t)r * k;
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

/* The same on a GPU: places among all words until words_of_places(). */
static void find_best_masked(struct stepper *s, struct tensor h, int32_t k)
{
	const struct tensor logits = area(s->a.logits, h.rows, s->words->n);

	product(s, logits, h, s->chosen);
	s->ops->add(s->dev, logits, area(s->a.mask, h.rows, s->words->n));
	s->ops->top_k(s->dev, s->a.values, s->a.ids, logits, s->words->n, MIN(k, s->words->n));
}

static void words_of_places(const struct stepper *s, struct stepper_found *found, int32_t k,
			    int32_t rows)
{
	const int32_t have = MIN(k, s->words->n);

	for (int32_t i = 0; i < rows * have; i++) {
		const bool is_out = found->values[i] < UNLIKELY / 2;

		found->ids[i] = is_out ? TOKEN_PAD : s->words->ids[found->ids[i]];
		if (is_out)
			found->values[i] = -INFINITY;
	}
	spread_best(found->values, found->ids, have, k, rows);
}

static void find_all_words(struct stepper *s, const struct stepper_rows *rows, struct tensor h,
			   float *all)
{
	const struct allowed *w = s->words;
	const int64_t vocabulary = s->shape->vocabulary;
	const float *logits = s->a.logits;

	product(s, area(s->a.logits, h.rows, w->n), h, s->chosen);
	if (s->ops->own_memory) {
		float *copy = s->own + (int64_t)w->most * s->max_rows;

		s->ops->to_host(s->dev, copy, logits, (size_t)(h.rows * w->n) * sizeof(*copy));
		logits = copy;
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
}

/* ---- with all words ---------------------------------------------------- */

/* The k most probable next tokens of each row whose state is h. */
static void find_best(struct stepper *s, struct tensor h, int32_t k)
{
	struct tensor output = s->weights->output, logits;
	int32_t n_real = s->shape->real_vocabulary;

	if (tensor_is_packed(output)) {
		s->ops->linear_top_k(s->dev, s->a.values, s->a.ids, h, output, n_real, k);
		return;
	}
	logits = area(s->a.logits, h.rows, s->shape->vocabulary);
	product(s, logits, h, output);
	s->ops->top_k(s->dev, s->a.values, s->a.ids, logits, n_real, k);
}

/* Log-probabilities of all next tokens of each row whose state is h. */
static int find_all(struct stepper *s, struct tensor h, float *all, struct err *e)
{
	struct tensor logits = area(s->a.logits, h.rows, s->shape->vocabulary);

	product(s, logits, h, s->weights->output);
	s->ops->to_host(s->dev, all, s->a.logits,
			(size_t)(h.rows * s->shape->vocabulary) * sizeof(float));
	if (s->ops->sync(s->dev, e))
		return e->code;
	for (int64_t r = 0; r < h.rows; r++)
		pick_log_softmax(all + r * s->shape->vocabulary, s->shape->real_vocabulary);
	return 0;
}

/* The source token (</s> left out) that each row looks at most. */
static void find_aligned(struct stepper *s, const struct stepper_rows *rows, int32_t *aligned)
{
	const int32_t *start = s->batch->source_start;

	s->ops->to_host(s->dev, s->row_weights, s->a.weights,
			(size_t)(rows->n * s->cross_stride) * sizeof(float));
	for (int32_t r = 0; r < rows->n; r++) {
		const float *w = s->row_weights + r * s->cross_stride;
		int32_t n = start[rows->sentence[r] + 1] - start[rows->sentence[r]] - 1, best = 0;

		for (int32_t j = 1; j < n; j++)
			if (w[j] > w[best])
				best = j;
		aligned[r] = best;
	}
}

int stepper_step(struct stepper *s, const struct stepper_rows *rows, int32_t k,
		 struct stepper_found *found, struct err *e)
{
	/*
	 * Alignments come from the layer before the last, where they are sharpest (Garg et al.
	 * 2019, section 4).
	 */
	int32_t layers = s->shape->decoder_layers, n = rows->n, aligning = MAX(layers - 2, 0);
	int64_t d = s->shape->d_model;
	struct tensor x = area(s->a.x, n, d), h = area(s->a.h, n, d);

	if (reserve_cache(s, n, e))
		return e->code;
	extend_index(s, rows);
	show_sources(s, rows);
	upload(s, s->a.tokens, rows->token, n);
	upload_constant(s, s->a.positions, s->step, n);

	s->ops->embed(s->dev, x, s->weights->embed, s->a.tokens, s->a.positions, sqrtf((float)d),
		      no_dropout);
	if (layers > 0)
		s->ops->norm(s->dev, h, s->a.mean, s->a.rstd, x,
			     s->weights->decoder[0].self_norm_scale.data,
			     s->weights->decoder[0].self_norm_shift.data);
	else
		s->ops->norm(s->dev, h, s->a.mean, s->a.rstd, x,
			     s->weights->decoder_norm_scale.data,
			     s->weights->decoder_norm_shift.data);
	for (int32_t i = 0; i < layers; i++) {
		self_attention(s, i, n);
		cross_attention(s, i, n, found->aligned && i == aligning ? s->a.weights : NULL);
		feed_forward(s, i, n);
	}
	if (found->all && s->words) {
		find_all_words(s, rows, h, found->all);
	} else if (found->all) {
		if (find_all(s, h, found->all, e))
			return e->code;
	} else {
		if (masked_of(s))
			find_best_masked(s, h, k);
		else if (s->words)
			find_best_words(s, rows, h, k);
		else
			find_best(s, h, k);
		s->ops->to_host(s->dev, found->values, s->a.values,
				(size_t)n * (size_t)k * sizeof(float));
		s->ops->to_host(s->dev, found->ids, s->a.ids,
				(size_t)n * (size_t)k * sizeof(int32_t));
		if (masked_of(s))
			words_of_places(s, found, k, n);
	}
	if (found->aligned)
		find_aligned(s, rows, found->aligned);
	s->step++;
	return s->ops->sync(s->dev, e);
}
