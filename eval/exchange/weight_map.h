/*
 * weight_map.h - weights of another program put into a model of ours, or what keeps them out.
 *
 * Three ways to call tensors are known (weight_map.def, ct2.def, train/model/params.def): that of PyTorch's
 * nn.Transformer, that of CTranslate2, and our own. All that the architecture decides is compared,
 * and nothing is left over unseen: a tensor that has no place in ours is a reason to refuse, since
 * a translation without it would be another one. Where the tables of source, target and output are
 * several, they must be equal.
 *
 *	weight_map_open(&t, &file, e)		which of the three, and the sizes
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
	char prefix[128];	     /* in front of all names of layers; "" */
	struct import_tensor *table; /* of embeddings, borrowed from f */
	/* the sizes; heads: 0 where the file does not say; vocabulary, real_vocabulary: rows of the table */
	struct model_shape shape;
};

/* ERR_DATA: no names that are known, or another architecture: a sentence that says what differs. */
int weight_map_open(struct weight_map *t, struct import_reader *f, struct err *e);

/*
 * Fill a zeroed arena laid out by shape, which has the same sizes but for the vocabulary. rows: which
 * row of their table each of our tokens has (real_vocabulary); NULL: the same numbers.
 */
int weight_map_load(struct weight_map *t, const struct model_shape *shape, const int32_t *rows,
		    float *arena, struct err *e);

#endif
