/*
 * model_internal.h - what the files of the model share: where activations lie
 * and what one pass over a batch knows.
 *
 *	model.c           shapes, the list of tensors, life and death, initial weights
 *	model_pack.c      weights packed for decoding
 *	model_plan.c      one arena for all activations, sized before the run
 *	model_batch.c     batches on their way to the backend, made alike where it keeps graphs
 *	model_forward.c   encoder, decoder, evaluation
 *	model_head.c      the tied output layer and its loss, in chunks of tokens
 *	model_backward.c  gradients
 *
 * A stack is a row of *points*: point 0 is the embedding and its norm, every
 * later one the sum of its predecessor with a sublayer's branch, and the norm
 * that the next sublayer reads. An encoder layer l has its sublayers between
 * points 2l, 2l+1, 2l+2; a decoder layer between 3l … 3l+3. What the last
 * point's norm gives is the output of the stack.
 *
 * Training with bf16 products keeps in bf16 what products read or make: norms' outputs, queries,
 * keys, values and mixes, hidden layers, branches, and the gradients of all these. They would be
 * rounded on their way into a product anyway, and the op that makes them still computes with
 * floats. Floats stay: sum and dsum, to which every layer adds a little; logits, from which the
 * loss and its gradient come; lse, mean, rstd, losses; weights, and their gradients, which are
 * sums over all tokens.
 */
#ifndef WERKBANK_TRAIN_MODEL_MODEL_INTERNAL_H
#define WERKBANK_TRAIN_MODEL_MODEL_INTERNAL_H

#include <stdbool.h>

#include "train/model/model.h"

/* Tokens whose logits' gradient exists at one time: as many bytes in either type. */
#define MODEL_HEAD_ROWS(dtype) ((dtype) == DTYPE_BF16 ? 2048 : 1024)
/* Calls of model_pass_options.ready in one backward. */
#define MODEL_MAX_READY_CALLS (2 * MODEL_MAX_LAYERS + 3)

struct norm_point {
	struct tensor sum;  /* (T, D) the residual stream */
	struct tensor out;  /* (T, D) its norm */
	float *mean, *rstd; /* (T) */
};

struct layer_act {
	struct tensor qkv; /* (T, 3D) */
	struct tensor
		self_context; /* (T, D) what self attention gives, before its output product */
	float *self_lse;      /* (T, H) */
	struct tensor cross_q, cross_context; /* (T, D) decoder only */
	float *cross_lse;		      /* (T, H) decoder only */
	struct tensor hidden;		      /* (T, F) after ReLU and dropout */
};

struct stack_act {
	struct norm_point *points; /* (n_points) owned */
	struct layer_act *layers;  /* (n_layers) owned */
	int32_t n_points, n_layers;
};

/* A batch on the backend's side, or on its way there; one piece of memory, in this order. */
struct device_batch {
	uint32_t *rng_step; /* (2) of dropout: step, micro-batch */
	int32_t *source, *source_position, *source_start;
	int32_t *target_in, *target_out, *target_position, *target_start;
};

/* Views into the arena; rows of the tensors follow the batch of the current pass. */
struct model_acts {
	struct stack_act encoder, decoder;
	void *batch_slots[2];	 /* batches by turns: one travels while the other is used */
	struct device_batch ids; /* that of the current pass */
	struct tensor memory_kv; /* (source T, 2DL) */
	struct tensor branch;	 /* (T, D) a sublayer's output; in backward its gradient */
	struct tensor logits;	 /* (ops->loss_rows, or as dlogits, V) */
	struct tensor losses;	 /* (2, target T) with smoothing, without */
	struct model_tally *tally;
	/* training only */
	struct tensor dlogits;	  /* (MODEL_HEAD_ROWS, V); logits without ops->loss_rows */
	struct tensor dmemory_kv; /* (source T, 2DL) */
	struct tensor dsum;	  /* (T, D) gradient of the residual stream */
	struct tensor dout;	  /* (T, D) gradient of a norm's output */
	struct tensor wide_grad;  /* (T, max(F, 3D)) gradient inside a sublayer */
};

struct model {
	struct model_shape shape;
	const struct ops *ops;	    /* borrowed */
	struct dev_options options; /* with which dev was opened */
	struct dev *dev;	    /* owned */
	bool is_mapped;		    /* parameters lie in a mapped file: param is NULL */
	bool is_shared;		    /* parameters and their views are another model's */
	struct model_param *params; /* owned */
	size_t n_params;
	int64_t floats;
	float *param, *grad; /* owned, on the backend's side; grad NULL without training */
	struct model_weights weights, grads; /* views of the two */
	uint16_t *rounded;     /* owned: param in bf16, which products read; or NULL */
	bool rounded_is_stale; /* param may have been written to since it was made */
	void *packed;	       /* owned, on the backend's side: model_pack(); or NULL */
	struct model_acts acts;
	void *arena;	   /* owned, on the backend's side */
	void *staging;	   /* owned: where a batch is written before it is sent */
	int batch_slot;	   /* of acts.sides, that the current pass uses */
	bool pads_batches; /* training goes by graphs: model_batch.c */
	int32_t n_ready;
	int64_t ready_at
		[MODEL_MAX_READY_CALLS];   /* what model_pass_options.ready is told, call by call */
	int64_t tokens;			   /* of the batches in acts.tally */
	int32_t cap_tokens, cap_sentences; /* 0: nothing reserved yet */
};

/* A batch's rows, sentences and longest sentences as the backend sees them. */
struct batch_extent {
	int32_t source, target, sentences, max_source, max_target;
};

/* One pass over one batch. */
struct model_pass {
	struct model *m;
	const struct batch *b;
	struct batch_extent extent;
	const struct model_pass_options *how; /* NULL: no dropout */
	float smoothing;
	bool predict; /* ids.target_in becomes the likeliest tokens */
	bool graph;   /* the backend keeps it, or has kept it */
	struct attention_shape encoder_self, decoder_self, cross;
};

/* Where dropout happens: each place has its own stream of random numbers. */
enum model_stack { STACK_ENCODER, STACK_DECODER };
enum model_site {
	SITE_SELF_WEIGHTS,
	SITE_SELF,
	SITE_CROSS_WEIGHTS,
	SITE_CROSS,
	SITE_RELU,
	SITE_FFN,
	N_LAYER_SITES,
	SITE_EMBEDDING /* layer 0 stands for the whole stack */
};

/* model_plan.c: carve the arena (base NULL: only count bytes). false: sizes overflow. */
struct arena_plan {
	char *base;
	size_t used; /* bytes so far */
	bool overflow;
	enum dtype dtype;  /* of the activations that may be bf16 */
	int32_t loss_rows; /* of the backend */
};

/* What the activations are for; each needs all that those before it need. */
enum model_use { MODEL_USE_ENCODE, MODEL_USE_EVALUATE, MODEL_USE_TRAIN };

int model_acts_alloc(struct model_acts *a, const struct model_shape *s, struct err *e);
void model_acts_free(struct model_acts *a);
bool model_acts_plan(struct model_acts *a, const struct model_shape *s,
		     const struct batch_extent *most, enum model_use use, struct arena_plan *c);
/* The next n elements of the arena, 64-byte aligned; NULL while only counting. */
void *arena_plan_array(struct arena_plan *c, int64_t n, size_t size);
/* Set the rows of every view for a batch. */
void model_acts_set_rows(struct model_acts *a, int32_t n_source, int32_t n_target);

/* model_batch.c: what memory has to be there for; what a batch is for the backend. */
struct batch_extent model_max_extent(int32_t tokens, int32_t sentences, bool pads_batches);
struct batch_extent model_extent(const struct batch *b, int32_t most_tokens, bool pads_batches);
size_t model_batch_bytes(const struct batch_extent *x); /* that are sent for it */
void model_plan_ids(struct device_batch *b, const struct batch_extent *x, struct arena_plan *c);
/* Send the batch of a pass, whose extent is known; its place is acts.ids. */
void model_send_batch(const struct model_pass *p);

/* model_forward.c */
int model_pass_begin(struct model_pass *p,
		     struct err *e); /* checks the batch against the reserve and brings it over */
void model_encoder_forward(const struct model_pass *p);
void model_decoder_forward(const struct model_pass *p);
struct dropout model_dropout(const struct model_pass *p, enum model_stack stack, int32_t layer,
			     enum model_site site);

/*
 * model_head.c: logits and loss of all target tokens. With gradients the
 * embedding's gradient grows and acts.dout becomes the gradient of the decoder's
 * output.
 */
void model_head(const struct model_pass *p, bool gradients);
void model_head_sums(const struct model_pass *p); /* adds the losses to acts.tally */
void model_discard_sums(struct model *m);	  /* of passes before */

/* model_pack.c: calls visit for each weight of a product; view is where the model finds it. */
typedef bool model_visit(void *context, struct tensor *view);
bool model_each_weight(struct model *m, model_visit *visit, void *context);
/* Let products read the weights themselves again, not a rounded copy. */
void model_discard_rounded(struct model *m);

/* The weight as the vector that ops take. */
static inline float *vector_of(struct tensor t)
{
	return t.data;
}

static inline struct tensor with_rows(struct tensor t, int64_t rows)
{
	t.rows = rows;
	return t;
}

#endif
