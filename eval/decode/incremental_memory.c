/*
 * incremental_memory.c - sizes, areas and the key-value cache; see incremental_internal.h
 *
 * The cache is one matrix (cache_rows, 2DL): a row has the keys and values of one token in all layers.
 * next_row links the free rows to a list, and so the rows of each sentence; removing a sentence joins
 * its list to the free one. When no row is free, the cache grows by half, and its rows are copied.
 */
#include "eval/decode/incremental_internal.h"

#include <assert.h>
#include <stdlib.h>

int64_t incremental_padded_size(const struct incremental_decoder *s, int64_t n)
{
	int64_t size = 1, step = 16;

	if (!s->is_padded)
		return n;
	while (size < n && size < 16)
		size *= 2;
	if (n <= size)
		return size;
	while (step * 8 <= n)
		step *= 2;
	return CEIL_DIV(n, step) * step;
}

bool incremental_streams_logits(const struct incremental_decoder *s)
{
	return tensor_is_packed(s->weights->output) || s->ops->has_device_memory;
}

int64_t incremental_logits_width(const struct incremental_decoder *s)
{
	if (s->candidates)
		return s->n_candidates;
	return s->all || !incremental_streams_logits(s) ? s->shape->vocabulary : 0;
}

/* On a GPU, a mask makes the candidates of other sentences unlikely. */
int64_t incremental_mask_width(const struct incremental_decoder *s)
{
	return s->candidates && s->ops->has_device_memory ? s->n_candidates : 0;
}

/* ---- areas --------------------------------------------------------------- */

/* Bytes of rows * per_row elements of 4 bytes, rounded up to 64; false if size_t overflows. */
static bool area_bytes(int64_t rows, int64_t per_row, size_t *bytes)
{
	size_t n;

	if (!mem_mul((size_t)rows, (size_t)per_row, &n) || !mem_mul(n, 4, &n) || n > SIZE_MAX - 63)
		return false;
	*bytes = (n + 63) / 64 * 64;
	return true;
}

static int set_too_many_rows(int64_t rows, struct err *e)
{
	return err_set(e, ERR_NOMEM,
		       "cannot decode %lld hypotheses at once: the memory size overflows; lower "
		       "--decode-tokens",
		       (long long)rows);
}

/* Divides the block into the areas; allocates a larger block if needed. */
static int reserve_areas(struct incremental_decoder *s, struct err *e)
{
	size_t total = 0, bytes, at = 0;

#define STEP_AREA(name, per_row)                                                                   \
	if (!area_bytes(s->cap_rows, per_row, &bytes) || total > SIZE_MAX - bytes)                 \
		return set_too_many_rows(s->cap_rows, e);                                          \
	total += bytes;
	STEP_AREAS(STEP_AREA)
#undef STEP_AREA
	if (total > s->block_bytes) {
		if (s->block)
			s->ops->release(s->dev, s->block);
		s->block_bytes = 0;
		s->block = s->ops->alloc(s->dev, total, e);
		if (!s->block)
			return e->code;
		s->block_bytes = total;
	}
#define STEP_AREA(name, per_row)                                                                   \
	s->a.name = (char *)s->block + at;                                                         \
	area_bytes(s->cap_rows, per_row, &bytes);                                                  \
	at += bytes;
	STEP_AREAS(STEP_AREA)
#undef STEP_AREA
	assert(at == total && total <= s->block_bytes);
	return 0;
}

static int reserve_host(struct incremental_decoder *s, struct err *e)
{
	const size_t rows = (size_t)s->cap_rows, host_results = 2 * INCREMENTAL_MAX_K + 2;
	size_t total;

	if (!mem_mul(rows, N_STEP_INPUTS + 2 + host_results + 2 * (size_t)s->cross_stride, &total))
		return set_too_many_rows(s->cap_rows, e);
	if (mem_grow(&s->slots, &s->cap_slots, rows, sizeof(*s->slots), e))
		return e->code;
	if (total > s->host_bytes / sizeof(*s->host)) {
		free(s->host);
		s->host_bytes = 0;
		s->host = mem_alloc_aligned(total, sizeof(*s->host), e);
		if (!s->host)
			return e->code;
		s->host_bytes = total * sizeof(*s->host);
	}
	s->host_inputs = s->host;
	s->host_results = s->host_inputs + N_STEP_INPUTS * rows;
	s->host_sources = s->host_results + host_results * rows;
	s->host_source_rows = s->host_sources + (size_t)s->cross_stride * rows;
	s->host_last_rows = s->host_source_rows + (size_t)s->cross_stride * rows;
	s->host_new_rows = s->host_last_rows + rows;
	return 0;
}

/* Sets a size of the areas. With graphs a size never shrinks, so that the areas stay in place. */
static void grow_area_size(const struct incremental_decoder *s, int64_t *size, int64_t n)
{
	*size = s->is_padded ? MAX(*size, incremental_padded_size(s, n)) : n;
}

int incremental_reserve(struct incremental_decoder *s, const struct incremental_options *how,
			struct err *e)
{
	grow_area_size(s, &s->cap_rows, how->max_rows);
	grow_area_size(s, &s->stride, how->max_steps);
	grow_area_size(s, &s->cross_stride, how->max_source);
	if (s->cap_rows * s->stride > INT32_MAX)
		return set_too_many_rows(s->cap_rows, e);
	return reserve_areas(s, e) ? e->code : reserve_host(s, e);
}

/* ---- the cache ----------------------------------------------------------- */

/* Elements of a row; + 32, because with a power of 2 all rows share the same CPU cache sets. */
static int64_t cache_stride(const struct incremental_decoder *s)
{
	return 2 * (int64_t)s->shape->d_model * s->shape->decoder_layers + 32;
}

static struct tensor cache_tensor(const struct incremental_decoder *s, void *cache, int64_t rows)
{
	int64_t cols = 2 * (int64_t)s->shape->d_model * s->shape->decoder_layers;

	return (struct tensor){ cache, rows, cols, cache_stride(s), s->cache_dtype };
}

struct tensor incremental_cache(const struct incremental_decoder *s)
{
	return cache_tensor(s, s->cache, s->cache_rows);
}

/* Adds the rows first ... end - 1 to the free ones, so that the lowest number is taken first. */
static void free_cache_rows(struct incremental_decoder *s, int64_t first, int64_t end)
{
	for (int64_t row = end; row-- > first; s->n_free_rows++) {
		s->next_row[row] = s->free_row;
		s->free_row = (int32_t)row;
	}
}

int incremental_reserve_cache(struct incremental_decoder *s, int64_t rows, struct err *e)
{
	int64_t want = s->cache_rows - s->n_free_rows + rows;
	size_t bytes;
	void *larger;

	assert(s->n_free_rows <= s->cache_rows && rows >= 0);
	if (rows <= s->n_free_rows)
		return 0;
	want = MAX(want, s->cache_rows + s->cache_rows / 2);
	/* extend_index() moves row numbers through float ops: no number may look like a NaN */
	if (want > 0x7F000000 || !area_bytes(want, cache_stride(s), &bytes))
		return err_set(e, ERR_NOMEM,
			       "the key-value cache cannot hold %lld rows: lower --decode-tokens",
			       (long long)want);
	if (mem_grow(&s->next_row, &s->cap_next_row, (size_t)want, sizeof(*s->next_row), e))
		return e->code;
	larger = s->ops->alloc(s->dev, bytes / 4 * dtype_bytes(s->cache_dtype), e);
	if (!larger)
		return e->code;
	if (s->n_free_rows < s->cache_rows)
		s->ops->copy(s->dev, cache_tensor(s, larger, s->cache_rows), incremental_cache(s));
	if (s->ops->sync(s->dev, e)) {
		s->ops->release(s->dev, larger);
		return e->code;
	}
	if (s->cache)
		s->ops->release(s->dev, s->cache);
	s->cache = larger;
	free_cache_rows(s, s->cache_rows, want);
	s->cache_rows = want;
	return 0;
}

int32_t incremental_take_row(struct incremental_decoder *s, struct incremental_slot *slot)
{
	const int32_t row = s->free_row;

	assert(s->n_free_rows > 0 && row >= 0 && row < s->cache_rows);
	s->free_row = s->next_row[row];
	s->n_free_rows--;
	s->next_row[row] = slot->first_row;
	slot->first_row = row;
	if (!slot->n_rows++)
		slot->last_row = row;
	return row;
}

void incremental_remove(struct incremental_decoder *s, int32_t number)
{
	struct incremental_slot *slot = &s->slots[number];

	assert(number >= 0 && number < s->cap_rows && slot->n_rows > 0);
	s->next_row[slot->last_row] = s->free_row;
	s->free_row = slot->first_row;
	s->n_free_rows += slot->n_rows;
	*slot = (struct incremental_slot){ .first_row = -1 };
}

void incremental_release_all(struct incremental_decoder *s)
{
	for (int64_t i = 0; i < s->cap_rows; i++)
		s->slots[i] = (struct incremental_slot){ .first_row = -1 };
	s->free_row = -1;
	s->n_free_rows = 0;
	free_cache_rows(s, 0, s->cache_rows);
}
