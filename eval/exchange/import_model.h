/*
 * import_model.h - makes a Werkbank model from weights of another program.
 *
 * Besides weights a model needs these things, searched in this order:
 *
 *	vocabulary   --vocabulary FILE; vocab.tsv of the corpus (--corpus NAME) or of the weights'
 *	             folder; shared_vocabulary.json or .txt there (import_vocabulary.h)
 *	splitting    --codes FILE; bpe.codes or sentencepiece.model of the same folder
 *	the rest     options of [data] on the command line; recipe.ini of the same folder
 *	heads        the weights' file; --heads or --size; recipe.ini
 *
 * PyTorch's tensors do not show whether a model is pre-norm. The metadata "norm_first": "True" of
 * the file or --pre-norm must confirm that.
 *
 * --output FOLDER makes a model folder; --run NAME makes a run with one checkpoint of step 0. Both
 * are written to a temporary folder and renamed when they are complete. A model that differs from
 * Werkbank's Transformer is refused with a sentence about the difference (weight_map.h).
 */
#ifndef WERKBANK_EVAL_EXCHANGE_IMPORT_MODEL_H
#define WERKBANK_EVAL_EXCHANGE_IMPORT_MODEL_H

#include "share/base/err.h"
#include "share/conf/conf.h"

enum import_kind { IMPORT_LOG, IMPORT_SAFETENSORS, IMPORT_CTRANSLATE2 };

/* Imports the weights in file. Sets the sizes in c, which becomes the recipe of the model. */
int import_model(struct conf *c, enum import_kind kind, const char *file, struct err *e);

#endif
