/*
 * model_internal.h - the structs that the files of the model share: activations, and a pass.
 *
 *	model_params.c        shapes, the list of tensors, initial weights
 *	model.c               allocation of a model, memory of a run
 *	model_pack.c          copies of weights: in bf16 for products, packed for decoding
 *	arena_plan.c          an arena divided into arrays
 *	model_positions.c     tables of positions
 *	model_plan.c          one arena for all activations, sized before the run
 *	model_batch.c         batches sent to the backend, padded to few shapes for CUDA graphs
 *	sublayer.h            what a sublayer is; sublayers.def lists the kinds
 *	sublayer_table.c      all kinds, and the sublayer at a place of a stack
 *	sublayer_parts.c      what several kinds need: dropout, gradients of products
 *	sublayer_attention.c  self attention and cross attention
 *	sublayer_ffn.c        feed-forward
 *	sublayer_residual.c   what is around each sublayer: sum, dropout, norm
 *	model_forward.c       a pass; encoder and decoder as lists of sublayers
 *	model_head.c          the output layer and its loss, in chunks of tokens
 *	model_backward.c      gradients
 *
 * A stack is a list of sublayers. Sublayer i reads the residual stream at point i, which is a sum and
 * its norm; its branch is added to this sum (with post-norm, to its norm) and gives point i + 1. Point 0
 * is the embedding. The norm of the last point is the output of the stack.
 *
 * Training with bf16 products stores in bf16 what products read or write: outputs of norms,
 * queries, keys, values and attention contexts, hidden layers, branches, and the gradients of all
 * these. A product would round them anyway, and the ops that write them compute with floats.
 * Other activations are floats: sum and dsum, to which every layer adds a little; logits, because
 * the loss and its gradient come from them; lse, mean, rstd and losses. Weights are floats, and so
 * are their gradients, which are sums over all tokens.
 */
#ifndef WERKBANK_TRAIN_MODEL_MODEL_INTERNAL_H
#define WERKBANK_TRAIN_MODEL_MODEL_INTERNAL_H

#include <stdbool.h>

#include "train/model/model.h"

/* Tokens of a chunk in model_head(): such that dlogits takes equal bytes in fp32 and bf16. */
#define MODEL_HEAD_ROWS(dtype) ((dtype) == DTYPE_BF16 ? 2048 : 1024)
/* Upper bound of the calls of model_pass_options.ready in one backward pass. */
#define MODEL_MAX_READY_CALLS (2 * MODEL_MAX_LAYERS + 3)

/* T: tokens of the stack; D: d_model; F: d_ff; H: heads; L: decoder layers; V: vocabulary. */
struct norm_point {
	struct tensor sum;  /* (T, D) the residual stream */
	struct tensor out;  /* (T, D) norm of sum */
	float *mean, *rstd; /* (T) */
};

/* What a sublayer stores, in the training also for the backward pass. */
struct sublayer_act {
	struct norm_point x;
	/*
	 * output of its first product: (T, 3D) Q, K and V; (T, D) Q; (T, F) after ReLU and dropout, or (T, G) before
	 * another activation; (T, 2D) of a recurrent unit
	 */
	struct tensor inner;
	/* what its last product reads: (T, D) of attention, (T, F) after an activation; states of a recurrent unit */
	struct tensor context;
	float *lse; /* (T, H) attention: logarithms of the softmax's sums, for backward */
};

struct stack_act {
	int32_t n;
	/* with embedding_norm: sum = the embeddings before the norm; out is unused */
	struct norm_point embedding;
	struct sublayer_act *sub; /* (n + 1) owned; sub[n] has only the output of the stack */
};

/* A batch in the backend's memory, or in the staging buffer: one block, in this order. */
struct device_batch {
	uint32_t *rng_step; /* (2) counter of the dropout masks: step, micro-batch */
	int32_t *source, *source_position, *source_start;
	int32_t *target_in, *target_out, *target_position, *target_start;
};

/* Views into the arena; rows of the tensors follow the batch of the current pass. */
struct model_acts {
	struct stack_act stack[N_STACKS];
	void *batch_slots[2];	 /* used in turns: one batch is copied while the other is used */
	struct device_batch ids; /* the batch of the current pass, in one of the slots */
	struct tensor memory_kv; /* (source T, 2DL) */
	struct tensor branch;	 /* (T, D) a sublayer's output; in the backward pass its gradient */
	/* (ops->loss_rows, V); without loss_rows or with loss_in_place the same memory as dlogits */
	struct tensor logits;
	struct tensor losses; /* (2, target T) loss with smoothing, loss without */
	struct model_tally *tally;
	/* (MODEL_HEAD_ROWS, V) gradient of logits */
	struct tensor dlogits;
	/* training only */
	struct tensor dmemory_kv; /* (source T, 2DL) */
	struct tensor dsum;	  /* (T, D) gradient of the residual stream */
	struct tensor dout;	  /* (T, D) gradient of a norm's output */
	struct tensor wide_grad;  /* (T, widest inner) gradient of inner */
	struct tensor gate_grad;  /* (T, F) with gates: gradient of an activation's output */
	struct tensor embed_grad; /* (T, D) with embedding_norm: gradient of the embeddings */
};

struct model {
	struct model_shape shape;
	const struct ops *ops;	    /* borrowed */
	struct dev_options options; /* of dev */
	struct dev *dev;	    /* owned */
	bool is_mapped;		    /* parameters lie in a mapped file: param is NULL */
	bool is_shared;		    /* model_share(): parameters and views are borrowed */
	struct model_param *params; /* owned */
	size_t n_params;
	int64_t floats;
	float *param, *grad; /* (floats) owned, backend's memory; grad NULL without training */
	struct model_weights weights, grads; /* views into param and grad */
	uint16_t *rounded;     /* (floats) owned: bf16 copy of param for products; or NULL */
	bool rounded_is_stale; /* param may have changed since the copy was made */
	void *packed;	       /* owned, backend's memory: see model_pack(); or NULL */
	float *tables;	       /* owned, backend's memory: model_positions.c; or NULL */
	struct tensor sinusoids, waves[N_STACKS]; /* views into tables */
	float epsilon;				  /* of norms */
	struct model_acts acts;
	void *arena;	   /* owned, backend's memory: all activations */
	void *staging;	   /* owned, host memory: a batch is written here and then sent */
	int batch_slot;	   /* slot of acts.batch_slots that the current pass uses */
	bool pads_batches; /* training on a GPU: model_batch.c */
	int32_t n_ready;   /* calls of model_pass_options.ready in the pass */
	int64_t ready_at[MODEL_MAX_READY_CALLS]; /* their arguments, for the replay of graphs */
	int64_t tokens;				 /* target tokens of the batches in acts.tally */
	int32_t cap_tokens, cap_sentences; /* of one copy of a batch; 0: nothing reserved yet */
	int32_t copies;			   /* of a batch, reserved; 0 means 1 */
};

/* Sizes of a batch as the backend sees it, with padding. */
struct batch_extent {
	int32_t source, target;		/* rows, which are tokens */
	int32_t sentences;		/* with empty ones at the end */
	int32_t max_source, max_target; /* upper bounds of a sentence's length */
};

/* One pass over one batch. */
struct model_pass {
	struct model *m;
	const struct batch *b;
	struct batch_extent extent;	      /* of all copies */
	int32_t copies;			      /* of b in this pass, one after the other */
	const struct model_pass_options *how; /* NULL: no dropout */
	float smoothing;
	bool predict; /* model_predict(): the likeliest tokens replace ids.target_in */
	bool graph;   /* record the pass as CUDA graphs, or replay them */
	uint64_t skipped[N_STACKS]; /* LayerDrop: bit i: layer i */
	struct attention_shape self[N_STACKS], cross;
};

/* An arena while it is divided into arrays. base NULL: only count bytes. */
struct arena_plan {
	char *base;
	size_t used;	       /* bytes so far */
	bool overflow;	       /* a size does not fit into size_t: the plan is useless */
	enum dtype dtype;      /* of the activations that may be bf16 */
	const struct ops *ops; /* borrowed: how its loss works */
};

/* Purpose of the activations; each includes the arrays of those before it. */
enum model_use { MODEL_USE_ENCODE, MODEL_USE_EVALUATE, MODEL_USE_TRAIN };

/* model_params.c: allocate the views of w, which point nowhere; free w->stack[].sub after a failure too. */
int model_alloc_views(struct model_weights *w, const struct model_shape *s, struct err *e);
/* Point the views of w to flat, or to tensors[] in the order of params if flat is NULL. */
void model_set_views(struct model_weights *w, const struct model_param *params, size_t n,
		     float *flat, const float *const *tensors);
/* Columns of sublayer_act.inner: the outputs of the first product, by params.def. */
int64_t model_inner_width(const struct model_shape *s, enum model_stack stack,
			  enum model_sublayer kind);
/* Outputs of the widest product but the output layer; *largest: floats of the largest tensor. */
int64_t model_widest(const struct model_param *params, size_t n, int64_t *largest);
/* Call visit for the view of each weight of a product, until one returns false. */
typedef bool model_visit(void *context, struct tensor *view);
bool model_each_weight(struct model *m, model_visit *visit, void *context);

/* model_positions.c: floats of the tables; allocate and fill them. m->tables is freed with the model. */
int64_t model_table_floats(const struct model_shape *s);
int model_tables_alloc(struct model *m, struct err *e);

/* model_plan.c: allocate the arrays of sublayers. After a failure still call free. */
int model_acts_alloc(struct model_acts *a, const struct model_shape *s, struct err *e);
void model_acts_free(struct model_acts *a);
/* Lay out all activations for batches of at most this extent. False: sizes overflow. */
bool model_acts_plan(struct model_acts *a, const struct model_shape *s,
		     const struct batch_extent *most, enum model_use use, struct arena_plan *c);
/* Set the rows of every view to those of a batch. */
void model_acts_set_rows(struct model_acts *a, int32_t n_source, int32_t n_target);

/* arena_plan.c: the next n elements of the arena, 64-byte aligned; NULL while only counting. */
void *arena_plan_array(struct arena_plan *c, int64_t n, size_t size);
/* A tensor of floats. */
struct tensor model_plan_floats(struct arena_plan *c, int64_t rows, int64_t cols);

/* model_batch.c: upper bound of the extents of batches of at most these tokens and sentences. */
struct batch_extent model_max_extent(int32_t tokens, int32_t sentences, bool pad);
/* The extent of this many copies, each with its own padding. */
struct batch_extent model_copies_extent(struct batch_extent x, int32_t copies);
/* The extent of a batch; max_tokens: that of the reserve. */
struct batch_extent model_extent(const struct batch *b, int32_t max_tokens, bool pad);
/* Bytes of a device_batch. */
size_t model_batch_bytes(const struct batch_extent *x);
/* Lay out the arrays of a device_batch. */
void model_plan_ids(struct device_batch *b, const struct batch_extent *x, struct arena_plan *c);
/* Send the batch of a pass to the backend and set acts.ids. p->extent is set. */
void model_send_batch(const struct model_pass *p);

/* model_forward.c: check the batch against the reserve, send it, set the attention shapes. */
int model_pass_begin(struct model_pass *p, struct err *e);
/* Tokens to the encoder's output, and its keys and values for the cross attention. */
void model_encoder_forward(const struct model_pass *p);
/* Tokens to the decoder's output; after model_encoder_forward(). */
void model_decoder_forward(const struct model_pass *p);
/*
 * model_head.c: losses of all target tokens. gradients: also add to the gradient of the embedding,
 * and set acts.dout to the gradient of the decoder's output.
 */
void model_head(const struct model_pass *p, bool gradients);
/* Add the losses of the pass to acts.tally. */
void model_head_sums(const struct model_pass *p);
/* Set the losses and tokens in acts.tally to 0. */
void model_discard_sums(struct model *m);

/* model_pack.c: make the bf16 copy of the weights again if they may have changed. */
void model_refresh_rounded(struct model *m);
/* Free the bf16 copy; products read the weights themselves again. */
void model_discard_rounded(struct model *m);

/* A tensor of floats, (1, n) or longer, as the pointer that ops take. */
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
