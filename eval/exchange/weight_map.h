/*
 * weight_map.h - maps weights of another program to the parameters of a Werkbank model.
 *
 * Three naming schemes are known: PyTorch's nn.Transformer (weight_map.def), CTranslate2 (ct2.def)
 * and Werkbank's own (train/model/params.def). The model must have exactly Werkbank's architecture.
 * Every tensor of the file must be mapped or have no effect: a tensor without a place is an error,
 * since translations without it would differ. Embedding tables of source, target and output must
 * be equal.
 *
 *	weight_map_open(&t, &file, e)		finds the naming scheme and the sizes
 *	weight_map_load(&t, &shape, rows, model_param_arena(m), e)
 */
#ifndef WERKBANK_EVAL_EXCHANGE_WEIGHT_MAP_H
#define WERKBANK_EVAL_EXCHANGE_WEIGHT_MAP_H

#include "eval/exchange/import_reader.h"
#include "train/model/model.h"

enum tensor_naming { NAMING_own, NAMING_ctranslate2, NAMING_pytorch };

struct weight_map {
	struct import_reader *f; /* borrowed */
	enum tensor_naming scheme;
	char prefix[128];	     /* of all names of layers; "" if there is none */
	struct import_tensor *table; /* embeddings, borrowed from f */
	/* heads: 0 if the file does not have it; vocabulary, real_vocabulary: rows of the table */
	struct model_shape shape;
};

/* Borrows f. ERR_DATA: an unknown naming scheme or another architecture; the text names both. */
int weight_map_open(struct weight_map *t, struct import_reader *f, struct err *e);

/*
 * Fills a zeroed arena with the layout of shape, which equals t->shape except for the vocabulary.
 * rows: (real_vocabulary) the row of the file's table of each token id; NULL: row = id. ERR_DATA: a
 * tensor is missing, has another shape, or has no place.
 */
int weight_map_load(struct weight_map *t, const struct model_shape *shape, const int32_t *rows,
		    float *arena, struct err *e);

/* Writes the name of a tensor: the pattern, with the number of the layer for its %d, if it has one. */
void weight_layer_name(char *to, size_t size, const char *pattern, int32_t layer);
/* Werkbank's tensor of this name; NULL: params (n) has none. */
const struct model_param *weight_own_param(const struct model_param *params, size_t n,
					   const char *pattern, int32_t layer);

#endif
