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
#define AREAS(AREA) \
	AREA(x,            s->shape->d_model)		/* the residual stream */ \
	AREA(h,            s->shape->d_model)		/* its norm */ \
	AREA(context,      s->shape->d_model) \
	AREA(branch,       s->shape->d_model) \
	AREA(qkv,          3 * s->shape->d_model) \
	AREA(inner,        s->shape->d_ff) \
	AREA(logits,       stepper_logits_of(s)) \
	AREA(masks,        stepper_masked_of(s))	/* of sentences: 0 for words they have */ \
	AREA(mask,         stepper_masked_of(s))	/* of rows */ \
	AREA(mean,         1) \
	AREA(rstd,         1) \
	AREA(brought,      N_BROUGHT) \
	AREA(results,      2 * STEPPER_MAX_K + 2)	/* values, ids, places of the source */ \
	AREA(index,        s->stride)			/* cache rows of each row's ancestors */ \
	AREA(index_before, s->stride)			/* those of the parents */ \
	AREA(sources,      s->cross_stride)		/* of sentences: encoder's rows */ \
	AREA(cross_index,  s->cross_stride)		/* of rows */ \
	AREA(weights,      s->cross_stride) \
	AREA(strengths,    2)

struct areas {
#define AREA(name, per_row) void *name;
	AREAS(AREA)
#undef AREA
};

/* What a step brings: so many numbers a row, one kind after the other, in one copy. */
enum brought {
	BROUGHT_TOKEN,
	BROUGHT_POSITION,
	BROUGHT_SLOT,		/* the cache row that it fills */
	BROUGHT_LENGTH,		/* of its list of ancestors, itself counted */
	BROUGHT_PARENT,
	BROUGHT_AT,		/* where its slot is put in the index */
	BROUGHT_SENTENCE,
	BROUGHT_CROSS_LENGTH,
	N_BROUGHT
};

struct stepper {
	struct model *model;			/* borrowed */
	const struct ops *ops;
	struct dev *dev;
	const struct model_shape *shape;
	const struct model_weights *weights;
	const struct batch *batch;		/* borrowed */
	struct tensor memory;		/* (n_source, 2 * D * L), the model's; see source_kv() */
	bool    padded;				/* there may be graphs: see above */

	void   *block;				/* owned, backend */
	size_t  block_bytes;
	struct areas a;
	void *cache; /* (cache_rows, 2 * D * L) owned, backend: K and V of each layer */
	enum dtype cache_dtype;
	int64_t cache_rows, cache_used;

	int32_t *host;				/* owned: one block for the arrays below */
	size_t   host_bytes;
	int32_t *bring;				/* (N_BROUGHT, rows) */
	int32_t *fetched;			/* as the area results */
	int32_t *sources;			/* as the area of that name */

	int64_t cap_rows, stride, cross_stride;	/* sizes of the areas */
	int32_t rows;				/* of this step, those that pad it counted */
	int32_t step;
	bool    all;				/* log-probabilities of all tokens are wanted */

	const struct allowed *words;		/* borrowed; NULL: all */
	int32_t n_words;			/* words->n, those that pad it counted */
	struct tensor chosen;			/* the output weights of words */
	void   *chosen_block;			/* owned, backend */
	size_t  chosen_bytes;
	float  *own;	/* (cap_own) owned: a sentence's logits; of a GPU all rows' or the masks */
	size_t  cap_own;
};

/* incremental_memory.c */

/* The next of a few sizes from n on: powers of two up to 16, then multiples of 16, ever coarser. */
int64_t stepper_size(const struct stepper *s, int64_t n);
int  stepper_reserve(struct stepper *s, const struct stepper_how *how, struct err *e);
/* Room for rows more cache rows; what is in the cache is kept. */
int  stepper_reserve_cache(struct stepper *s, int64_t rows, struct err *e);
struct tensor stepper_cache(const struct stepper *s);
/* Elements of a row: logits that exist as a whole, and masks. */
int64_t stepper_logits_of(const struct stepper *s);
int64_t stepper_masked_of(const struct stepper *s);

/* incremental_words.c */

/* The output weights of the words alone; which sentence has which. */
int  stepper_choose_words(struct stepper *s, struct err *e);
int  stepper_show_words(struct stepper *s, struct err *e);
/* In the step: the best k of each row whose state is h; or all logits. */
void stepper_find_words(struct stepper *s, const struct stepper_rows *rows, struct tensor h,
			int32_t k);
/* Behind it: what was found, as the caller knows it. */
void stepper_name_words(const struct stepper *s, struct stepper_found *found, int32_t k,
			int32_t rows);
int  stepper_take_all_words(struct stepper *s, const struct stepper_rows *rows, float *all,
			    struct err *e);

/* ---- small things -------------------------------------------------------- */

static inline struct tensor area(void *data, int64_t rows, int64_t cols)
{
	return tensor_f32(data, rows, cols);
}

static inline void product(struct stepper *s, struct tensor out, struct tensor in,
			   struct tensor weight)
{
	model_linear(s->model, out, in, weight, NULL, false);
}

/* On the backend's side, of this step's rows. */
static inline int32_t *brought(const struct stepper *s, enum brought what)
{
	return (int32_t *)s->a.brought + (int64_t)what * s->rows;
}

/* The ids behind k values a row, and the places behind both. */
static inline int32_t *result_ids(const struct stepper *s, int32_t k)
{
	return (int32_t *)s->a.results + (int64_t)s->rows * k;
}

static inline int32_t *result_places(const struct stepper *s, int32_t k)
{
	return (int32_t *)s->a.results + (int64_t)s->rows * 2 * k;
}

/* Copy to the host and wait, once. */
static inline int fetch(struct stepper *s, void *to, const void *from, size_t bytes, struct err *e)
{
	if (s->ops->fetch)
		return s->ops->fetch(s->dev, to, from, bytes, e);
	s->ops->to_host(s->dev, to, from, bytes);
	return s->ops->sync(s->dev, e);
}

#endif
