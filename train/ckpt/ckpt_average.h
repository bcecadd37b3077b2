/*
 * ckpt_average.h - the mean of several models' weights, as a new model folder.
 *
 * Checkpoints from the end of one training lie around the same optimum; their mean is nearer to
 * the optimum than each of them (Polyak and Juditsky 1992; Vaswani et al. 2017 average the last 5
 * or 20). The folder has model.safetensors, average.json, SHA256SUMS, and copies of the newest
 * model's other files: state.json, recipe.ini, vocab.tsv, bpe.codes or sentencepiece.model.
 * average.json lists the models:
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
 * Average the weights of n folders into the folder to, which must not exist, or be empty. Each
 * weight is the sum in double, in the order of the folders, divided by n, and rounded to float
 * once: the mean of equal models is that model. The models are mapped; one tensor is in memory at a
 * time. ERR_DATA: a model is damaged, or of another shape or vocabulary; ERR_CANTCREAT: to exists.
 */
int ckpt_average(const struct ckpt_source *from, size_t n, const char *to, struct err *e);

#endif
