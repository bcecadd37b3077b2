/*
 * model.h - the Transformer (Vaswani et al. 2017), pre-norm, on packed batches.
 *
 *	y = x + dropout(sublayer(norm(x))), one more norm after the last layer
 *	of each stack; embeddings * sqrt(D) + sinusoids, dropout on the sum; one
 *	table for source, target and output. The decoder reads <s> y1 … ym and
 *	predicts y1 … ym </s>.
 *
 * All parameters are one flat float buffer described by params.def (so are the
 * gradients): a checkpoint is one write, a reduction a few ranges.
 *
 *	struct model_shape shape = …;
 *	struct model *m = model_new(&shape, ops, &dev_options, e);
 *	model_reserve_training(m, batch_tokens, sentences, e);	all memory, before the run
 *	model_init(m, seed, e);
 *	model_forward_backward(m, &batch, &how, NULL, e);	adds to the gradients; no wait
 *	model_collect_sums(m, &sums, e);	what came of all batches since the last time
 *	model_free(m);
 */
#ifndef WERKBANK_TRAIN_MODEL_MODEL_H
#define WERKBANK_TRAIN_MODEL_MODEL_H

#include <stdint.h>

#include "data/shard/token_batch.h"
#include "kernels/ops/ops.h"
#include "share/conf/conf.h"
#include "share/base/err.h"

#define MODEL_MAX_LAYERS 64 /* of one stack: the range of the option */

struct model_shape {
	int32_t d_model, d_ff, heads, encoder_layers, decoder_layers;
	int32_t vocabulary;	 /* V: rows of the table, a multiple of 8 */
	int32_t real_vocabulary; /* of them, those that exist; the rest is never predicted */
};

/* One tensor of the list: where it lies in the flat buffer. */
struct model_param {
	char name[64];
	int64_t rows, cols;
	int64_t offset; /* floats from the start of the arena */
};

/* Weights (or gradients) of one model as views, made from params.def. */
struct model_encoder_layer {
#define PARAM(group, field, name, rows, cols, init) PARAM_##group(field)
#define PARAM_model(field)
#define PARAM_encoder(field) struct tensor field;
#define PARAM_decoder(field)
#include "train/model/params.def"
#undef PARAM_model
#undef PARAM_encoder
#undef PARAM_decoder
};

struct model_decoder_layer {
#define PARAM_model(field)
#define PARAM_encoder(field)
#define PARAM_decoder(field) struct tensor field;
#include "train/model/params.def"
#undef PARAM_model
#undef PARAM_encoder
#undef PARAM_decoder
};

struct model_weights {
#define PARAM_model(field) struct tensor field;
#define PARAM_encoder(field)
#define PARAM_decoder(field)
#include "train/model/params.def"
#undef PARAM_model
#undef PARAM_encoder
#undef PARAM_decoder
#undef PARAM
	struct tensor output;		     /* (V, D) of the last product: embed, maybe packed */
	struct model_encoder_layer *encoder; /* (encoder_layers) owned by the model */
	struct model_decoder_layer *decoder; /* (decoder_layers) owned by the model */
};

struct model;

/*
 * The shape that the options describe (conf_apply_size() first). ERR_CONFIG: heads do not divide
 * d_model, …
 */
int model_shape_from_conf(struct model_shape *shape, const struct conf *c, int32_t vocabulary,
			  int32_t real_vocabulary, struct err *e);

/* The list of tensors: *params owned by the caller (free), *n_floats the total. */
int model_params(const struct model_shape *shape, struct model_param **params, size_t *n_params,
		 int64_t *n_floats, struct err *e);

/* Parameters only. ops is borrowed; opens a device of it. NULL: failure. */
struct model *model_new(const struct model_shape *shape, const struct ops *ops,
			const struct dev_options *o, struct err *e);
/*
 * The same with weights that lie in a mapped file: tensors[i], floats in host memory, is the one of
 * model_params() number i. They are borrowed, must outlive the model and are never written to; when
 * model_pack() has packed one, its memory is given back to the system. There is no
 * model_param_arena(). CPU backends only.
 */
struct model *model_new_mapped(const struct model_shape *shape, const struct ops *ops,
			       const struct dev_options *o, const float *const *tensors,
			       struct err *e);
void model_free(struct model *m);

/*
 * Activations for evaluation (forward), or with gradients for training, for batches up to this
 * size. Called once.
 */
int model_reserve_forward(struct model *m, int32_t tokens, int32_t sentences, struct err *e);
/* Only for model_encode() and what the decoder does: without logits, which are large. */
int model_reserve_encoding(struct model *m, int32_t tokens, int32_t sentences, struct err *e);
int model_reserve_training(struct model *m, int32_t tokens, int32_t sentences, struct err *e);

/* A model to be trained, which is not there yet; all borrowed. */
struct model_size {
	const struct model_shape *shape;
	const struct ops *ops;
	const struct dev_options *options;
	int32_t tokens, sentences; /* as for model_reserve_training() */
};

/*
 * What it will take, before anything is opened: parameters, their copy in bf16 where products read
 * one, gradients, moments, activations, and what ops need for themselves.
 */
int model_memory_needs(const struct model_size *s, struct dev_memory *needs, struct err *e);

/* Random initial weights, the same on every backend. */
int model_init(struct model *m, uint64_t seed, struct err *e);

/* Sums over the target tokens of a batch, or of several. */
struct model_sums {
	double loss;			/* label-smoothed, nats */
	double nll;			/* without smoothing, nats */
	int64_t tokens;			/* target tokens, </s> included */
	double squares, target, source; /* model_collect_sums(): what the tally says; else 0 */
};

/* Numbers of a step that stay on the backend's side, to be read all at once. */
struct model_tally {
	double loss, nll;      /* of the batches since they were taken */
	double squares;	       /* the optimizer's: of the gradient's elements */
	double target, source; /* the trainer's: tokens of the step, of all ranks */
};

struct model_pass_options {
	float dropout, attention_dropout, relu_dropout;
	float smoothing;
	/* the loss is multiplied by this before backward: 1 / tokens of the whole step */
	float grad_scale;
	uint64_t seed;
	uint32_t step, micro; /* name the dropout masks */
	/*
	 * Called during backward as soon as everything from that float of the gradient arena on is
	 * final; from falls, the last call is with 0. NULL: nobody wants to know.
	 */
	void (*ready)(void *arg, int64_t from);
	void *ready_arg;
};

/*
 * Gradients += those of the batch; *sums = those of the batch (not +=), after a wait. sums NULL:
 * nothing is waited for, b may be changed at once, and model_collect_sums() has the sums and the
 * faults. Needs model_reserve_training().
 */
int model_forward_backward(struct model *m, const struct batch *b,
			   const struct model_pass_options *how, struct model_sums *sums,
			   struct err *e);

/*
 * The sums over all batches since they were last taken, or since the last pass that gave its own.
 * Waits for everything that the backend was told to do: a step of training calls it once, at its
 * end.
 */
int model_collect_sums(struct model *m, struct model_sums *sums, struct err *e);

/* No dropout, no gradients. Needs either reserve. */
int model_evaluate(struct model *m, const struct batch *b, float smoothing, struct model_sums *sums,
		   struct err *e);

/*
 * The same without smoothing, and in ids (n_target) the likeliest token at each place where the
 * batch has a target token, given those before it ("teacher forcing").
 */
int model_predict(struct model *m, const struct batch *b, int32_t *ids, struct model_sums *sums,
		  struct err *e);

/*
 * A model with the same weights, which stay m's: m must outlive it and not be trained. It computes
 * with one thread of its own, at the same time as others that share them. Only for model_encode()
 * and what the decoder does, of batches up to this size. CPU backends only. NULL: failure.
 */
struct model *model_share(struct model *m, int32_t tokens, int32_t sentences, struct err *e);

/*
 * For decoding: run the encoder without dropout. Afterwards *memory_kv is a
 * view (n_source, 2 * D * L) of keys and values of all decoder layers, on the
 * backend's side, valid until the next call. b's targets may be empty.
 */
int model_encode(struct model *m, const struct batch *b, struct tensor *memory_kv, struct err *e);

/*
 * Pack the weights of all products once and for all, in this precision (DTYPE_PACKED_…): from now
 * on the views of model_get_weights() are the packed ones, and model_linear() reads them. After
 * that the model can only be evaluated and decoded. ERR_UNAVAILABLE: the backend cannot; weights
 * are as before.
 */
int model_pack(struct model *m, enum dtype precision, struct err *e);

/*
 * out = in times the weight, stored (outputs, inputs) or packed; relu: and max(0, that + bias);
 * otherwise bias is NULL.
 */
void model_linear(const struct model *m, struct tensor out, struct tensor in, struct tensor weight,
		  const struct tensor *bias, bool relu);

/* Parts that the trainer, checkpoints and the decoder work on; all borrowed. */
const struct model_shape *model_get_shape(const struct model *m);
const struct model_weights *model_get_weights(const struct model *m);
const struct ops *model_get_ops(const struct model *m);
struct dev *model_get_dev(const struct model *m);
/*
 * Flat, on the backend's side; NULL: mapped. The caller may write to it until the next pass over a
 * batch: where products read a copy of the weights in bf16 it is made anew then.
 */
float *model_param_arena(struct model *m);
const float *model_param_read(const struct model *m); /* the same, only to be read */
/*
 * The same for the optimizer, which keeps that copy as it is told by adam_step.rounded: *rounded =
 * its place, or NULL where there is none or it will be made anew.
 */
float *model_update_arena(struct model *m, uint16_t **rounded);
float *model_grad_arena(struct model *m);	  /* NULL unless reserved for training */
int64_t model_floats(const struct model *m);	  /* length of either arena */
struct model_tally *model_tally(struct model *m); /* on the backend's side; needs a reserve */

#endif
