/*
 * start_from.h - checks whether a training can begin with the weights of another model.
 *
 * The option start_from names the model (paths_model()). It must have the shape of the recipe, and
 * the corpus must have its vocabulary and subword codes; otherwise the weights are meaningless.
 * Only small files are read: state.json, vocab.tsv, bpe.codes and sentencepiece.model.
 */
#ifndef WERKBANK_TRAIN_COMMON_START_FROM_H
#define WERKBANK_TRAIN_COMMON_START_FROM_H

#include "share/base/err.h"
#include "share/conf/conf.h"

/* Call before conf_apply_size(): set sizes that are not given to those of the model in folder. */
int start_from_adopt(const char *folder, struct conf *c, struct err *e);

/* folder: of the model; corpus: its folder; c: the sizes. ERR_DATA: they do not match. */
int start_from_check(const char *folder, const char *corpus, const struct conf *c, struct err *e);

#endif
