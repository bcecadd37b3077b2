/*
 * start_from.h - may a training begin with the weights of another model?
 *
 * start_from names it (paths_model()). It must be of this recipe's shape, and the corpus must have
 * its vocabulary and its codes: else its weights mean nothing here. Read are small files alone:
 * state.json, and the hashes of vocab.tsv, bpe.codes and sentencepiece.model.
 */
#ifndef WERKBANK_TRAIN_COMMON_START_FROM_H
#define WERKBANK_TRAIN_COMMON_START_FROM_H

#include "share/conf/conf.h"
#include "share/base/err.h"

/* Before conf_apply_size(): sizes that nobody has given become the model's. */
int start_from_adopt(const char *folder, struct conf *c, struct err *e);

/* ERR_DATA: it cannot, and what to do. corpus: its folder. Sizes are those of c. */
int start_from_check(const char *folder, const char *corpus, const struct conf *c, struct err *e);

#endif
