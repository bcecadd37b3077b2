/*
 * import_model.h - makes a Werkbank model from weights of another program.
 *
 * Each format reads its own text files (import_format.h). Weights of CTranslate2, PyTorch and Werkbank itself
 * (import_plain.c) need these things besides, searched in this order:
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
#ifndef WERKBANK_EVAL_IMPORT_IMPORT_MODEL_H
#define WERKBANK_EVAL_IMPORT_IMPORT_MODEL_H

#include "eval/import/import_format.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

/* Imports the weights of source. Sets the sizes in c, which becomes the recipe of the model. */
int import_model(struct conf *c, const struct import_format *format,
		 const struct import_source *source, struct err *e);

#endif
