/*
 * frozen.h - the option freeze: tensors that training leaves as they are
 *
 * A part is "embeddings" (the tables of words and of learned positions), or the beginning of names of tensors
 * (params.def) up to a dot: encoder, decoder, encoder.0, decoder.2.ffn, output. Commas separate parts, too.
 */
#ifndef WERKBANK_TRAIN_MODEL_FROZEN_H
#define WERKBANK_TRAIN_MODEL_FROZEN_H

#include "share/conf/conf.h"
#include "train/model/model.h"

/* Is the tensor of this name in one of the parts? No parts, or NULL: false. */
bool frozen_has(const struct conf_list *parts, const char *tensor);

/*
 * Find the n tensors of a model that are frozen. *floats: how many weights they have. ERR_CONFIG: a part
 * names no tensor of the model, or nothing is left to train.
 */
int frozen_count(const struct conf_list *parts, const struct model_shape *shape, size_t *n,
		 int64_t *floats, struct err *e);

#endif
