/*
 * weight_store.h - a model's weights as tensors of another program: the inverse of weight_map.h, by the same rules.
 *
 *	weight_store_open(&s, NAMING_marian, &shape, weights, &rows, e)
 *	for each of s.items: weight_store_row(&s, &s.items[i], r, x) for r < rows
 *	weight_store_close(&s)
 *
 * Tensors that Werkbank's model lacks and the format needs (biases of products) are zeros.
 */
#ifndef WERKBANK_EVAL_WEIGHTS_WEIGHT_STORE_H
#define WERKBANK_EVAL_WEIGHTS_WEIGHT_STORE_H

#include "eval/weights/weight_map.h"
#include "train/ckpt/safetensors.h"

/* A row of the other program's tables. */
struct token_row {
	int32_t id;	/* Werkbank's token; -1: zeros */
	bool is_silent; /* its logit has the bias WEIGHT_NO_TOKEN_BIAS, whatever the model has */
};

/* The rows of the tables of target and source; n_source 0: the sides share a vocabulary. */
struct token_rows {
	struct token_row *target, *source; /* (n_target), (n_source) borrowed */
	int32_t n_target, n_source;
};

struct weight_item {
	char name[96];
	int32_t n_dims; /* 1 or 2 */
	int64_t rows, cols;
	/* private */
	const unsigned char *from; /* the first float, of any alignment; NULL: zeros */
	int64_t stride;		   /* floats of a row of Werkbank's tensor */
	bool is_transposed;
	const struct token_row *tokens; /* of a table */
	bool is_bias;			/* tokens of an output bias */
	bool is_positions;
};

struct weight_store {
	enum tensor_naming scheme;
	const struct model_shape *shape;   /* borrowed */
	const struct safetensors *weights; /* borrowed */
	struct model_param *params;	   /* owned */
	size_t n_params;
	struct weight_item *items; /* owned, in the order of the rules, tables last */
	size_t n, cap;
};

/* weight_store_close() in any case. ERR_DATA: the file of the weights lacks a tensor. */
int weight_store_open(struct weight_store *s, enum tensor_naming scheme,
		      const struct model_shape *shape, const struct safetensors *weights,
		      const struct token_rows *rows, struct err *e);
/* Appends a tensor of positions, computed from the shape. */
int weight_store_add_positions(struct weight_store *s, const char *name, int64_t rows,
			       struct err *e);
/* Appends the tensor `of` once more, under another name; nothing if the model has no such tensor. */
int weight_store_add_copy(struct weight_store *s, const char *name, const char *of, struct err *e);
/* Row r of an item: cols floats. */
void weight_store_row(const struct weight_store *s, const struct weight_item *x, int64_t r,
		      float *out);
/* NULL: the model has no tensor of this name. */
const struct weight_item *weight_store_find(const struct weight_store *s, const char *name);
/* The most columns of an item. */
int64_t weight_store_widest(const struct weight_store *s);
void weight_store_close(struct weight_store *s);

#endif
