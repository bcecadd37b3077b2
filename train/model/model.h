/*
 * model.h - the Transformer (Vaswani et al. 2017), pre-norm, on packed batches.
 *
 *	y = x + dropout(sublayer(norm(x))), and one more norm after the last layer of each stack.
 *	Embeddings * sqrt(D) + sinusoids, dropout on the sum; one table for source, target and
 *	output. The decoder reads <s> y1 … ym and predicts y1 … ym </s>.
 *
 * A packed batch is all sentences one after the other, without padding: every activation is a
 * matrix with one row for each token. Only attention knows where sentences start.
 *
 * All parameters lie in one flat float array described by params.def, and so do the gradients: a
 * checkpoint is one write, a reduction over ranks works on ranges of the array.
 *
 *	struct model_shape shape = …;
 *	struct model *m = model_new(&shape, ops, &dev_options, e);
 *	model_reserve_training(m, batch_tokens, sentences, e);	allocates all memory of the run
 *	model_init(m, seed, e);
 *	model_forward_backward(m, &batch, &how, NULL, e);	adds to the gradients; no wait
 *	model_collect_sums(m, &sums, e);	waits; losses of all batches since the last call
 *	model_free(m);
 */
#ifndef WERKBANK_TRAIN_MODEL_MODEL_H
#define WERKBANK_TRAIN_MODEL_MODEL_H

#include <stdint.h>

#include "data/shard/token_batch.h"
#include "kernels/ops/ops.h"
#include "share/base/err.h"
#include "share/conf/arch.h"
#include "share/conf/conf.h"

#define MODEL_MAX_LAYERS ARCH_MAX_LAYERS

enum model_stack { STACK_ENCODER, STACK_DECODER, N_STACKS };

enum model_sublayer {
#define SUBLAYER(name) SUBLAYER_##name,
#include "train/model/sublayers.def"
	N_SUBLAYER_KINDS
};

/* The sublayers of a layer, in order. Sublayer i of a stack is at[i % n] of layer i / n. */
#define LAYER_MAX_SUBLAYERS 4
struct layer_list {
	int32_t n;
	enum model_sublayer at[LAYER_MAX_SUBLAYERS];
};

enum param_init { INIT_table, INIT_rows, INIT_glorot, INIT_glorot_ffn, INIT_one, INIT_zero };

/* One tensor of the list of parameters: (rows, cols) at offset in the flat array. */
struct model_param {
	char name[64];
	int64_t rows, cols;
	int64_t offset; /* floats from the start of the array */
	/* for the files of the model: where its view is, and its row of params.def */
	enum model_stack stack;
	int32_t sublayer; /* of the stack; -1: a field of struct model_weights */
	size_t field;	  /* offset in the struct */
	enum param_init init;
};

/*
 * The tensors of a sublayer, or their gradients: views into the flat array; data is NULL where its kind
 * has no such tensor (params.def).
 */
struct sublayer_weights {
	struct tensor norm_scale,
		norm_shift; /* (1, D) the norm before the sublayer, with post-norm after it */
	struct tensor in, in_bias;   /* (inner, D), (1, …) its first product */
	struct tensor out, out_bias; /* (D, …), (1, D) its last product */
};

struct stack_weights {
	int32_t n; /* sublayers of all layers */
	/* (n + 1) owned by the model; sub[n] has only the norm of the stack's output */
	struct sublayer_weights *sub;
};

struct model_weights {
	struct tensor embed; /* (V, D) of the target, and of the source unless it has its own */
	struct tensor source_embed; /* (W, D) */
	struct tensor output;	    /* (V, D) output layer: embed, or embed packed, or its own */
	struct tensor output_bias, cross_kv, cross_kv_bias;
	struct tensor position[N_STACKS]; /* (P, D) learned positions */
	struct tensor embedding_scale[N_STACKS],
		embedding_shift[N_STACKS]; /* (1, D) norm of the embeddings */
	struct stack_weights stack[N_STACKS];
};

struct model;

/*
 * The shape that the options describe; call conf_apply_size() first. The vocabularies of *shape are set, the
 * rest is overwritten. ERR_CONFIG: a size is out of range, or heads does not divide d_model.
 */
int model_shape_from_conf(struct model_shape *shape, const struct conf *c, struct err *e);

/* The sublayers of each layer of a stack. */
const struct layer_list *model_layer_list(const struct model_shape *s, enum model_stack stack);
int32_t model_count_layers(const struct model_shape *shape, enum model_stack stack);
int32_t model_heads(const struct model_shape *s, enum model_stack stack);
int32_t model_ffn_width(const struct model_shape *s, enum model_stack stack);
/* What the decoder reads first; -1: a zero vector. */
int32_t model_start_token(const struct model_shape *s);
/* Most tokens of a sentence for which there are positions; INT32_MAX: no limit. */
int32_t model_longest_sentence(const struct model_shape *s);

/* The norm at point i of a stack, 0 … n: before sublayer i, or with post-norm after sublayer i - 1. */
struct model_norm {
	struct norm_how how;  /* NORM_NONE: the point has no norm */
	float *scale, *shift; /* (D) borrowed weights; NULL: the norm has no such weight */
};
struct model_norm model_norm_at(const struct model *m, const struct model_weights *w,
				enum model_stack stack, int32_t point);

/* row[0 .. d_model): the sinusoids of a sentence's position, from 0, for the three kinds of them. */
void model_sinusoid_row(float *row, const struct model_shape *s, int64_t position);

/* All tensors in the order of the flat array. The caller frees *params. *n_floats: their sum. */
int model_params(const struct model_shape *shape, struct model_param **params, size_t *n_params,
		 int64_t *n_floats, struct err *e);

/*
 * Weights of the products that a token of the source, and one of the target, takes part in; each costs
 * 2 operations forward and 4 backward. The output layer counts for the target; biases, norms and
 * attention do not count. NAN without memory.
 */
void model_product_weights(const struct model_shape *shape, double *source, double *target);

/*
 * A model with its parameters, not initialised, and no activations. Opens a device of ops, which
 * is borrowed. NULL: failure.
 */
struct model *model_new(const struct model_shape *shape, const struct ops *ops,
			const struct dev_options *o, struct err *e);
/*
 * A model whose weights lie in a mapped file. tensors[i]: the floats of tensor i of
 * model_params(), borrowed for the life of the model and never written to. When model_pack() has
 * packed a tensor, its pages are released to the system. model_param_arena() returns NULL. CPU
 * backends only.
 */
struct model *model_new_mapped(const struct model_shape *shape, const struct ops *ops,
			       const struct dev_options *o, const float *const *tensors,
			       struct err *e);
void model_free(struct model *m);

/*
 * Allocate activations for batches of at most `tokens` tokens (of source and of target each) and
 * sentences. Call one of the three once. For evaluation:
 */
int model_reserve_forward(struct model *m, int32_t tokens, int32_t sentences, struct err *e);
/* For model_encode() and incremental decoding: no logits, which are large. */
int model_reserve_encoding(struct model *m, int32_t tokens, int32_t sentences, struct err *e);
/*
 * Training passes will compute a batch as this many copies (2: R-Drop); call before model_reserve_training(),
 * whose tokens and sentences are those of one copy.
 */
void model_set_copies(struct model *m, int32_t copies);
/* For training: also gradients. */
int model_reserve_training(struct model *m, int32_t tokens, int32_t sentences, struct err *e);

/* A planned training, for an estimate of its memory; all borrowed. */
struct model_size {
	const struct model_shape *shape;
	const struct ops *ops;
	const struct dev_options *options;
	int32_t tokens, sentences; /* as for model_reserve_training() */
	int32_t copies;		   /* as for model_set_copies(); 0 is 1 */
};

/*
 * *needs = bytes of such a training on one rank: parameters, their bf16 copy if products read one,
 * gradients, Adam's moments, activations, and the workspaces of ops. Opens no device.
 */
int model_memory_needs(const struct model_size *s, struct dev_memory *needs, struct err *e);

/* Random initial weights: the same on every backend for a seed. */
int model_init(struct model *m, uint64_t seed, struct err *e);
/* The same with the weights of layer n divided by sqrt(n), n from 1 (Zhang et al. 2019). */
int model_init_by_depth(struct model *m, uint64_t seed, struct err *e);

/* Sums over the target tokens of a batch, or of several. */
struct model_sums {
	double loss;			/* label-smoothed, nats */
	double nll;			/* without smoothing, nats */
	int64_t tokens;			/* target tokens, </s> included */
	double squares, target, source; /* see struct model_tally */
};

/*
 * Numbers of a step in the backend's memory. The ops, the optimizer and the trainer write them
 * there without a wait; model_collect_sums() copies all of them at once.
 */
struct model_tally {
	double loss, nll;      /* sums over the batches since they were last collected */
	double squares;	       /* written by the optimizer: sum of squares of the gradient */
	double target, source; /* written by the trainer: tokens of the step, of all ranks */
};

struct model_pass_options {
	float dropout, attention_dropout, relu_dropout;
	float smoothing;
	/*
	 * R-Drop (Liang et al. 2021), needs model_set_copies(m, 2): the batch passes twice, with other dropout
	 * masks; the loss is the mean of both plus half of this weight times the divergence of the two
	 * predictions. 0: one pass
	 */
	float r_drop;
	/*
	 * LayerDrop (Fan et al. 2020): probability of skipping a layer in this pass. Not with CUDA graphs.
	 */
	float layer_drop;
	float grad_scale; /* factor of the loss: 1 / target tokens of the whole step */
	uint64_t seed;
	uint32_t step, micro; /* of the dropout masks: every micro-batch has its own */
	/*
	 * Called during the backward pass: the gradient array is final from float number from on.
	 * from falls from call to call; the last call is with 0. May be NULL.
	 */
	void (*ready)(void *arg, int64_t from);
	void *ready_arg;
};

/*
 * Gradients += those of the batch. sums not NULL: wait, and *sums = the losses of this batch. sums
 * NULL: no wait; model_collect_sums() returns the losses, and the failures of the backend. b is
 * not used after the return. Needs model_reserve_training().
 */
int model_forward_backward(struct model *m, const struct batch *b,
			   const struct model_pass_options *how, struct model_sums *sums,
			   struct err *e);

/*
 * *sums = sums over all batches since the last call, or since the last pass that returned sums.
 * Waits for all work of the backend: the trainer calls it once, at the end of a step.
 */
int model_collect_sums(struct model *m, struct model_sums *sums, struct err *e);

/*
 * *sums = the losses of a batch, without dropout and gradients; waits. Needs
 * model_reserve_forward() or model_reserve_training().
 */
int model_evaluate(struct model *m, const struct batch *b, float smoothing, struct model_sums *sums,
		   struct err *e);

/*
 * The same without smoothing. ids (n_target) = the likeliest token at each target position, given
 * the true tokens before this position (teacher forcing).
 */
int model_predict(struct model *m, const struct batch *b, int32_t *ids, struct model_sums *sums,
		  struct err *e);

/* The same; log_probs (n_target) = the log-probability of each target token, given the true tokens before it. */
int model_log_probs(struct model *m, const struct batch *b, float *log_probs, struct err *e);

/*
 * A model that borrows the weights of m, for decoding in parallel: it computes with one thread of
 * its own. m must outlive it and must not be trained. Its activations are those of
 * model_reserve_encoding(). CPU backends only. NULL: failure.
 */
struct model *model_share(struct model *m, int32_t tokens, int32_t sentences, struct err *e);

/*
 * For decoding: run the encoder without dropout. *memory_kv = a view (n_source, 2 * D * L) of the
 * cross attention's keys and values of all decoder layers, in the backend's memory, valid until
 * the next call. Targets of b may be empty. Waits.
 */
int model_encode(struct model *m, const struct batch *b, struct tensor *memory_kv, struct err *e);

/*
 * Pack the weights of all products in this precision (DTYPE_PACKED_…), once. Afterwards
 * model_get_weights() returns views of packed weights, which model_linear() reads; the model can
 * evaluate and decode, but not train. A GPU multiplies plain rows faster: there fp32 weights, and
 * bf16 weights of a device opened with bf16, stay as they are. ERR_UNAVAILABLE: the backend has no packed weights; nothing
 * has changed.
 */
int model_pack(struct model *m, enum dtype precision, struct err *e);

#define MODEL_NO_BIAS ((struct tensor){ .data = NULL })
/*
 * out (rows, outputs) = in (rows, inputs) times the transposed weight (outputs, inputs), which may
 * be packed; plus a bias (1, outputs), whose data may be NULL. relu: out = max(0, product + bias).
 */
void model_linear(const struct model *m, struct tensor out, struct tensor in, struct tensor weight,
		  struct tensor bias, bool relu);

/* Parts of the model for the trainer, checkpoints and the decoder; all borrowed. */
const struct model_shape *model_get_shape(const struct model *m);
const struct model_weights *model_get_weights(const struct model *m);
/* The norm of the decoder's output, which the output layer reads. */
struct model_norm model_output_norm(const struct model *m);
/* How embeddings are normalised, with embedding_norm. */
struct norm_how model_embedding_norm(const struct model *m);
/* The rows of the output layer as floats, (V, D), not packed. Not for mapped models that are packed. */
struct tensor model_output_rows(const struct model *m);
/* How the embeddings of a stack are made; its table is weights.source_embed or embed. */
struct embed_how model_embed_how(const struct model *m, enum model_stack stack);
/* Rotary positions: (positions, D / heads) cosines and sines for op rotate; data NULL: not rotary. */
struct tensor model_rotary_waves(const struct model *m, enum model_stack stack);
const struct ops *model_get_ops(const struct model *m);
struct dev *model_get_dev(const struct model *m);
/* Products so far for which a slow kernel stood in, struct ops; 0: none. */
int64_t model_count_slow_products(const struct model *m);
/* A sentence without a full stop for the user, to be said once if there are such products. */
#define MODEL_SLOW_PRODUCTS                                                                        \
	"the GPU's matrix library has no algorithm for some products of this model; a kernel "     \
	"computes them about 100 times slower"
/*
 * The flat array of parameters, in the backend's memory; NULL: mapped. The caller may write to it
 * until the next pass over a batch. If products read a bf16 copy of the weights, the next pass
 * makes this copy again.
 */
float *model_param_arena(struct model *m);
const float *model_param_read(const struct model *m); /* the same, only for reading */
/*
 * The same for the optimizer, which updates the bf16 copy itself (adam_step.bf16_params): *rounded =
 * the copy; NULL: there is none, or the next pass will make it again.
 */
float *model_update_arena(struct model *m, uint16_t **rounded);
float *model_grad_arena(struct model *m);	  /* NULL without model_reserve_training() */
int64_t model_floats(const struct model *m);	  /* length of both arrays */
struct model_tally *model_tally(struct model *m); /* in the backend's memory; needs a reserve */

#endif
