/*
 * ckpt_average.h - the mean of several models' weights, as a model folder of its own.
 *
 * Checkpoints from the end of one training lie around the same optimum; their mean is nearer to
 * it than each of them (Polyak and Juditsky 1992; Vaswani et al. 2017 average the last 5 or 20).
 * The folder holds model.safetensors, what the newest of the models has besides (state.json,
 * recipe.ini, vocab.tsv and bpe.codes or sentencepiece.model), average.json and SHA256SUMS:
 *
 *	{"v":1,"models":[{"folder":…,"step":…,"weights_sha256":…}, …]}
 */
#ifndef WERKBANK_TRAIN_CKPT_CKPT_AVERAGE_H
#define WERKBANK_TRAIN_CKPT_CKPT_AVERAGE_H

#include <stddef.h>

#include "share/base/err.h"
#include "train/ckpt/ckpt.h"

#define CKPT_AVERAGE_MAX 1000

/*
 * Average the weights of n folders into the folder to, which must not be there (or be empty). Each
 * weight is the sum in double, in the order of the folders, over n, rounded to float once: the
 * mean of equal models is that model. The models are mapped; memory: one tensor. ERR_DATA: one is
 * damaged, or of another shape or vocabulary; ERR_CANTCREAT: to is there.
 */
int ckpt_average(const struct ckpt_source *from, size_t n, const char *to, struct err *e);

#endif
