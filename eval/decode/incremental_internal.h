/*
 * incremental_internal.h - what the files of the stepper share.
 *
 *	incremental.c		a step: what it brings, what is computed, what comes back
 *	incremental_memory.c	sizes, areas, the cache
 *	incremental_words.c		where sentences have words of their own (shortlist_candidates.h)
 *
 * Where the backend keeps what comes again as graphs (struct graph_key), nothing that an op is
 * called with may follow from the step: rows are padded to a few sizes, lists of ancestors grow on
 * the backend's side, all areas stay where they are from batch to batch until one needs more.
 * Elsewhere sizes are exact.
 */
#ifndef WERKBANK_EVAL_DECODE_INCREMENTAL_INTERNAL_H
#define WERKBANK_EVAL_DECODE_INCREMENTAL_INTERNAL_H

#include "eval/decode/incremental.h"
#include "share/base/mem.h"

/*
 * Working memory of one step on the backend's side: AREA(name, 4-byte elements
 * a row). All areas are carved from one block.
 */
#define STEP_AREAS(STEP_AREA)                                                                      \
	STEP_AREA(x, s->shape->d_model) /* the residual stream */                                  \
	STEP_AREA(h, s->shape->d_model) /* its norm */                                             \
	STEP_AREA(context, s->shape->d_model)                                                      \
	STEP_AREA(branch, s->shape->d_model)                                                       \
	STEP_AREA(qkv, 3 * s->shape->d_model)                                                      \
	STEP_AREA(inner, s->shape->d_ff)                                                           \
	STEP_AREA(logits, incremental_logits_width(s))                                             \
	STEP_AREA(masks, incremental_mask_width(s)) /* of sentences: 0 for words they have */      \
	STEP_AREA(mask, incremental_mask_width(s))  /* of rows */                                  \
	STEP_AREA(mean, 1)                                                                         \
	STEP_AREA(rstd, 1)                                                                         \
	STEP_AREA(step_inputs, N_STEP_INPUTS)                                                      \
	STEP_AREA(results, 2 * INCREMENTAL_MAX_K + 2) /* values, ids, places of the source */      \
	STEP_AREA(index, s->stride)		      /* cache rows of each row's ancestors */     \
	STEP_AREA(index_before, s->stride)	      /* those of the parents */                   \
	STEP_AREA(sources, s->cross_stride)	      /* of sentences: encoder's rows */           \
	STEP_AREA(cross_index, s->cross_stride)	      /* of rows */                                \
	STEP_AREA(weights, s->cross_stride)                                                        \
	STEP_AREA(top_weights, 2)

struct step_areas {
#define STEP_AREA(name, per_row) void *name;
	STEP_AREAS(STEP_AREA)
#undef STEP_AREA
};

/* What a step brings: so many numbers a row, one kind after the other, in one copy. */
enum step_input {
	STEP_INPUT_TOKEN,
	STEP_INPUT_POSITION,
	STEP_INPUT_CACHE_ROW, /* the cache row that it fills */
	STEP_INPUT_LENGTH,    /* of its list of ancestors, itself counted */
	STEP_INPUT_PARENT,
	STEP_INPUT_INDEX_AT, /* where its slot is put in the index */
	STEP_INPUT_SENTENCE,
	STEP_INPUT_CROSS_LENGTH,
	N_STEP_INPUTS
};

struct incremental_decoder {
	struct model *model; /* borrowed */
	const struct ops *ops;
	struct dev *dev;
	const struct model_shape *shape;
	const struct model_weights *weights;
	const struct batch *batch; /* borrowed */
	struct tensor memory;	   /* (n_source, 2 * D * L), the model's; see source_kv() */
	bool is_padded;		   /* there may be graphs: see above */

	void *block; /* owned, backend */
	size_t block_bytes;
	struct step_areas a;
	void *cache; /* (cache_rows, 2 * D * L) owned, backend: K and V of each layer */
	enum dtype cache_dtype;
	int64_t cache_rows, cache_used;

	int32_t *host; /* owned: one block for the arrays below */
	size_t host_bytes;
	int32_t *host_inputs;  /* (N_STEP_INPUTS, rows) */
	int32_t *host_results; /* as the area results */
	int32_t *sources;      /* as the area of that name */

	int64_t cap_rows, stride, cross_stride; /* sizes of the areas */
	int32_t rows;				/* of this step, those that pad it counted */
	int32_t step;
	bool all; /* log-probabilities of all tokens are wanted */

	const struct shortlist_candidates *candidates; /* borrowed; NULL: all */
	int32_t n_candidates;			       /* words->n, those that pad it counted */
	struct tensor candidate_weights;	       /* the output weights of words */
	void *candidate_block;			       /* owned, backend */
	size_t candidate_bytes;
	float *sentence_logits; /* (cap_sentence_logits) owned: a sentence's logits; of a GPU all rows' or the masks */
	size_t cap_sentence_logits;
};

/* incremental_memory.c */

/* The next of a few sizes from n on: powers of two up to 16, then multiples of 16, ever coarser. */
int64_t incremental_padded_size(const struct incremental_decoder *s, int64_t n);
int incremental_reserve(struct incremental_decoder *s, const struct incremental_options *how,
			struct err *e);
/* Room for rows more cache rows; what is in the cache is kept. */
int incremental_reserve_cache(struct incremental_decoder *s, int64_t rows, struct err *e);
struct tensor incremental_cache(const struct incremental_decoder *s);
/* Elements of a row: logits that exist as a whole, and masks. */
int64_t incremental_logits_width(const struct incremental_decoder *s);
int64_t incremental_mask_width(const struct incremental_decoder *s);

/* incremental_words.c */

/* The output weights of the words alone; which sentence has which. */
int incremental_pack_candidates(struct incremental_decoder *s, struct err *e);
int incremental_upload_masks(struct incremental_decoder *s, struct err *e);
/* In the step: the best k of each row whose state is h; or all logits. */
void incremental_find_candidates(struct incremental_decoder *s, const struct incremental_rows *rows,
				 struct tensor h, int32_t k);
/* Behind it: what was found, as the caller knows it. */
void incremental_candidate_ids(const struct incremental_decoder *s,
			       struct incremental_output *found, int32_t k, int32_t rows);
int incremental_all_candidates(struct incremental_decoder *s, const struct incremental_rows *rows,
			       float *all, struct err *e);

/* ---- small things -------------------------------------------------------- */

static inline struct tensor area_tensor(void *data, int64_t rows, int64_t cols)
{
	return tensor_f32(data, rows, cols);
}

static inline void step_linear(struct incremental_decoder *s, struct tensor out, struct tensor in,
			       struct tensor weight)
{
	model_linear(s->model, out, in, weight, NULL, false);
}

/* On the backend's side, of this step's rows. */
static inline int32_t *step_inputs(const struct incremental_decoder *s, enum step_input what)
{
	return (int32_t *)s->a.step_inputs + (int64_t)what * s->rows;
}

/* The ids behind k values a row, and the places behind both. */
static inline int32_t *result_ids(const struct incremental_decoder *s, int32_t k)
{
	return (int32_t *)s->a.results + (int64_t)s->rows * k;
}

static inline int32_t *result_source_positions(const struct incremental_decoder *s, int32_t k)
{
	return (int32_t *)s->a.results + (int64_t)s->rows * 2 * k;
}

/* Copy to the host and wait, once. */
static inline int fetch_to_host(struct incremental_decoder *s, void *to, const void *from,
				size_t bytes, struct err *e)
{
	if (s->ops->to_host_and_sync)
		return s->ops->to_host_and_sync(s->dev, to, from, bytes, e);
	s->ops->to_host(s->dev, to, from, bytes);
	return s->ops->sync(s->dev, e);
}

#endif
