/*
 * incremental_internal.h - state and helpers of incremental decoding.
 *
 *	incremental.c		a step: upload, computation, download (explained at its head)
 *	incremental_sublayers.c	one step of each kind of sublayer
 *	incremental_memory.c	sizes, areas, the cache of keys and values
 *	incremental_words.c	shortlists: each sentence has its own candidates
 *
 * "Device" means the backend's side, which is the host's memory on a CPU backend.
 */
#ifndef WERKBANK_EVAL_DECODE_INCREMENTAL_INTERNAL_H
#define WERKBANK_EVAL_DECODE_INCREMENTAL_INTERNAL_H

#include "eval/decode/incremental.h"
#include "share/base/mem.h"

/*
 * Working memory of one step on the device: STEP_AREA(name, 4-byte elements per row). All areas
 * are parts of one block and have cap_rows rows.
 */
#define STEP_AREAS(STEP_AREA)                                                                      \
	STEP_AREA(x, s->shape->d_model) /* the residual stream */                                  \
	STEP_AREA(h, s->shape->d_model) /* its norm */                                             \
	STEP_AREA(context, s->shape->d_model)                                                      \
	STEP_AREA(branch, s->shape->d_model)                                                       \
	STEP_AREA(qkv, 3 * s->shape->d_model)                                                      \
	STEP_AREA(inner, (s->shape->gated_ffn ? 2 : 1) *                                           \
				 (int64_t)model_ffn_width(s->shape, STACK_DECODER))                \
	STEP_AREA(gated, s->shape->gated_ffn ? model_ffn_width(s->shape, STACK_DECODER) : 0)       \
	STEP_AREA(logits, incremental_logits_width(s))                                             \
	STEP_AREA(masks, incremental_mask_width(s)) /* per sentence: 0 for its candidates */       \
	STEP_AREA(mask, incremental_mask_width(s))  /* the same per row */                         \
	STEP_AREA(mean, 1)                                                                         \
	STEP_AREA(rstd, 1)                                                                         \
	STEP_AREA(step_inputs, N_STEP_INPUTS)                                                      \
	STEP_AREA(results, 2 * INCREMENTAL_MAX_K + 2) /* values, ids, source positions */          \
	STEP_AREA(index, s->stride)		      /* cache rows of each row's tokens */        \
	STEP_AREA(index_before, s->stride)	      /* the same of the row's parent */           \
	STEP_AREA(sources, s->cross_stride)	/* per sentence: rows of the encoder's K, V */     \
	STEP_AREA(cross_index, s->cross_stride) /* the same per row */                             \
	STEP_AREA(weights, s->cross_stride)                                                        \
	STEP_AREA(top_weights, 2)

struct step_areas {
#define STEP_AREA(name, per_row) void *name;
	STEP_AREAS(STEP_AREA)
#undef STEP_AREA
};

/* The inputs of a step, int32: (N_STEP_INPUTS, rows), uploaded in one copy. */
enum step_input {
	STEP_INPUT_TOKEN,
	STEP_INPUT_POSITION,
	STEP_INPUT_CACHE_ROW,	 /* cache row that gets the row's keys and values */
	STEP_INPUT_LENGTH,	 /* of the row's list of cache rows, including the new one */
	STEP_INPUT_PARENT,	 /* row of the preceding step */
	STEP_INPUT_PARENT_ROW,	 /* its cache row; -1: the sentence begins */
	STEP_INPUT_INDEX_AT,	 /* element of the area index that gets the new cache row */
	STEP_INPUT_SENTENCE,	 /* slot */
	STEP_INPUT_CROSS_LENGTH, /* source tokens of the sentence */
	N_STEP_INPUTS
};

/* A sentence that is decoded, and the list of its cache rows, linked by next_row. */
struct incremental_slot {
	int32_t n_source; /* tokens of its source, </s> included; 0: the slot is free */
	int32_t step;	  /* of its hypotheses, from 0 */
	int32_t first_row, last_row, n_rows;
};

struct incremental_decoder {
	struct model *model; /* borrowed */
	const struct ops *ops;
	struct dev *dev;
	const struct model_shape *shape;
	const struct model_weights *weights;
	bool is_padded; /* the backend may record graphs: sizes are padded */

	void *block; /* owned, device */
	size_t block_bytes;
	struct step_areas a;
	void *cache; /* (cache_rows, 2 * D * L) owned, device: K and V of each layer */
	enum dtype cache_dtype;
	enum dtype input_dtype; /* of the areas h and context, which products read */
	int64_t cache_rows;
	int32_t *next_row; /* (cache_rows) owned: the row after each row of a list, -1: none */
	size_t cap_next_row;
	int32_t free_row; /* the first free cache row, -1: none */
	int64_t n_free_rows;

	int32_t *host; /* owned: one block of host staging buffers for the arrays below */
	size_t host_bytes;
	int32_t *host_inputs;  /* (N_STEP_INPUTS, rows) */
	int32_t *host_results; /* as the area results */
	int32_t *host_last_rows,
		*host_new_rows;	   /* (rows) cache rows of the preceding step, of this one */
	int32_t *host_sources;	   /* as the area sources */
	int32_t *host_source_rows; /* (cap_rows, cross_stride) cache rows of new sources */

	struct incremental_slot *slots; /* (cap_rows) owned */
	size_t cap_slots;

	int64_t cap_rows;     /* rows of the areas */
	int64_t stride;	      /* greatest number of steps */
	int64_t cross_stride; /* greatest number of source tokens of a sentence */
	int32_t rows;	      /* of this step, including padding rows */
	bool all;	      /* log-probabilities of all tokens are wanted */

	const struct shortlist_candidates *candidates; /* borrowed; NULL: all tokens */
	int32_t n_candidates;			       /* candidates->n, padded */
	struct tensor candidate_weights;	       /* output weights of the candidates */
	struct tensor candidate_bias;		       /* (1, candidates); data NULL: none */
	void *candidate_block;			       /* owned, device */
	size_t candidate_bytes;
	/* (cap_sentence_logits) owned, host: logits of a sentence, then (GPU) of all rows; or masks */
	float *sentence_logits;
	size_t cap_sentence_logits;
};

/* incremental_sublayers.c */

/* A sublayer of the decoder in one step. */
struct step_sublayer {
	const struct sublayer_weights *w;
	int32_t layer;
	/* NULL, or (rows, cross_stride): weights of cross attention; head -1: the mean of all heads */
	float *weights;
	int32_t head;
};

/* Reads the area h and writes the area branch. */
typedef void incremental_sublayer_step(struct incremental_decoder *s,
				       const struct step_sublayer *at);
extern incremental_sublayer_step *const incremental_steps[N_SUBLAYER_KINDS];

/* incremental_memory.c */

/*
 * Without graphs: n. With graphs: the least of a few sizes that is not below n, so that few graphs
 * are recorded. The sizes are powers of two up to 16, then multiples of 16, 32, 64, ...: at most an
 * eighth more than n.
 */
int64_t incremental_padded_size(const struct incremental_decoder *s, int64_t n);
/* Makes room in areas, slots and host buffers. */
int incremental_reserve(struct incremental_decoder *s, const struct incremental_options *how,
			struct err *e);
/* Makes at least `rows` cache rows free; keeps the rows in use. ERR_NOMEM. */
int incremental_reserve_cache(struct incremental_decoder *s, int64_t rows, struct err *e);
/* Takes a free cache row for a sentence; incremental_reserve_cache() has made one free. */
int32_t incremental_take_row(struct incremental_decoder *s, struct incremental_slot *slot);
/* Frees all slots and cache rows. */
void incremental_release_all(struct incremental_decoder *s);
struct tensor incremental_cache(const struct incremental_decoder *s);
/* Does linear_top_k() find the best of all tokens, without an area for all logits? */
bool incremental_streams_logits(const struct incremental_decoder *s);
/* Elements of a row of the areas logits and masks; 0: the area is not used. */
int64_t incremental_logits_width(const struct incremental_decoder *s);
int64_t incremental_mask_width(const struct incremental_decoder *s);

/* incremental_words.c */

/* At the beginning: gathers the candidates' output weights. ERR_UNAVAILABLE: needs packed weights. */
int incremental_pack_candidates(struct incremental_decoder *s, struct err *e);
/* Uploads which of the n sentences has which candidates; only with a GPU. */
int incremental_upload_masks(struct incremental_decoder *s, int32_t n, struct err *e);
/* Within a step: the k best candidates of each row of h (rows, D); k = 0: only the logits. */
void incremental_find_candidates(struct incremental_decoder *s, const struct incremental_rows *rows,
				 struct tensor h, int32_t k);
/* After the download: positions among the candidates become token ids. */
void incremental_candidate_ids(const struct incremental_decoder *s,
			       struct incremental_output *found, int32_t k, int32_t rows);
/* After the step: log-probabilities of all tokens, -infinity for all but the candidates. */
int incremental_all_candidates(struct incremental_decoder *s, const struct incremental_rows *rows,
			       float *all, struct err *e);

/* ---- helpers ------------------------------------------------------------- */

static inline struct tensor area_tensor(void *data, int64_t rows, int64_t cols)
{
	return tensor_f32(data, rows, cols);
}

/* An area (rows, D) that products read, written by norms and attention. */
static inline struct tensor input_tensor(const struct incremental_decoder *s, void *data)
{
	const int64_t d = s->shape->d_model;

	return (struct tensor){ data, s->rows, d, d, s->input_dtype };
}

static inline void step_linear(struct incremental_decoder *s, struct tensor out, struct tensor in,
			       struct tensor weight, struct tensor bias)
{
	model_linear(s->model, out, in, weight, bias, false);
}

/* One kind of input of all rows: (rows), on the device. */
static inline int32_t *step_input_array(const struct incremental_decoder *s, enum step_input kind)
{
	return (int32_t *)s->a.step_inputs + (int64_t)kind * s->rows;
}

/* The area results holds (rows, k) values, then (rows, k) ids, then (rows, 2) source positions. */
static inline int32_t *result_ids(const struct incremental_decoder *s, int32_t k)
{
	return (int32_t *)s->a.results + (int64_t)s->rows * k;
}

static inline int32_t *result_source_positions(const struct incremental_decoder *s, int32_t k)
{
	return (int32_t *)s->a.results + (int64_t)s->rows * 2 * k;
}

/* Copies to the host and waits for the copy: one synchronisation. */
static inline int fetch_to_host(struct incremental_decoder *s, void *to, const void *from,
				size_t bytes, struct err *e)
{
	if (s->ops->to_host_and_sync)
		return s->ops->to_host_and_sync(s->dev, to, from, bytes, e);
	s->ops->to_host(s->dev, to, from, bytes);
	return s->ops->sync(s->dev, e);
}

#endif
