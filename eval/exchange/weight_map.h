/*
 * weight_map.h - weights of another program put into a model of ours, or what keeps them out.
 *
 * Three ways to call tensors are known (weight_map.def, ct2.def, train/model/params.def): that of PyTorch's
 * nn.Transformer, that of CTranslate2, and our own. All that the architecture decides is compared,
 * and nothing is left over unseen: a tensor that has no place in ours is a reason to refuse, since
 * a translation without it would be another one. Where the tables of source, target and output are
 * several, they must be equal.
 *
 *	take_open(&t, &file, e)		which of the three, and the sizes
 *	take_weights(&t, &shape, rows, model_param_arena(m), e)
 */
#ifndef WERKBANK_EVAL_EXCHANGE_WEIGHT_MAP_H
#define WERKBANK_EVAL_EXCHANGE_WEIGHT_MAP_H

#include "eval/exchange/import_reader.h"
#include "train/model/model.h"

enum take_scheme { TAKE_own, TAKE_ctranslate2, TAKE_pytorch };

struct take {
	struct foreign *f;		/* borrowed */
	enum take_scheme scheme;
	char prefix[128];		/* in front of all names of layers; "" */
	struct foreign_tensor *table;	/* of embeddings, borrowed from f */
	/* the sizes; heads: 0 where the file does not say; vocabulary, real_vocabulary: rows of the table */
	struct model_shape shape;
};

/* ERR_DATA: no names that are known, or another architecture: a sentence that says what differs. */
int take_open(struct take *t, struct foreign *f, struct err *e);

/*
 * Fill a zeroed arena laid out by shape, which has the same sizes but for the vocabulary. rows: which
 * row of their table each of our tokens has (real_vocabulary); NULL: the same numbers.
 */
int take_weights(struct take *t, const struct model_shape *shape, const int32_t *rows,
		 float *arena, struct err *e);

#endif
