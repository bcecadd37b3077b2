/*
 * import_model.h - weights of another program as a model of ours.
 *
 * What is needed besides weights, and where it is looked for, in this order:
 *
 *	vocabulary   --vocabulary FILE; vocab.tsv of the corpus (--corpus NAME) or of the weights'
 *	             folder; shared_vocabulary.json or .txt there (import_vocabulary.h)
 *	splitting    --codes FILE; bpe.codes or sentencepiece.model of the same folder
 *	the rest     options of [data] on the command line; recipe.ini of the same folder
 *	heads        the weights' file; --heads or --size; recipe.ini
 *
 * What cannot be seen in PyTorch's tensors must be said: pre-norm, by "norm_first": "True" in the
 * file's metadata or by --pre-norm.
 *
 * With --output FOLDER a model folder is made, with --run NAME a run whose one checkpoint it is,
 * of step 0. Both are complete or not there. What is not exactly a Transformer of ours is refused
 * with a sentence that says what differs (weight_map.h).
 */
#ifndef WERKBANK_EVAL_EXCHANGE_IMPORT_MODEL_H
#define WERKBANK_EVAL_EXCHANGE_IMPORT_MODEL_H

#include "share/conf/conf.h"
#include "share/base/err.h"

enum import_kind { IMPORT_LOG, IMPORT_SAFETENSORS, IMPORT_CTRANSLATE2 };

/*
 * What a file is by its first bytes, or a folder by the files in it. *file, owned by the caller: the
 * file of weights. ERR_DATA: something that is known and cannot be taken, with what to do instead.
 */
int import_recognise(const char *path, enum import_kind *kind, char **file, struct err *e);

/* Import the weights in file. Takes the options over into the recipe of the model. */
int import_model(struct conf *c, enum import_kind kind, const char *file, struct err *e);

#endif
