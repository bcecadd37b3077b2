/*
 * model_export.h - the command "export": a model for CTranslate2 (records of a run: records.h).
 *
 * werkbank export --format ctranslate2 -o OUT makes a folder that CTranslate2 opens and that needs
 * no other file:
 *
 *	model.bin                     the weights, see ct2.h; fp32, or int8 by --precision
 *	config.json                   special tokens, epsilon of the norms
 *	shared_vocabulary.json        the pieces, by id
 *	recipe.ini vocab.tsv, and bpe.codes or sentencepiece.model
 *	                              for splitting text into pieces and joining them
 *
 * The folder is written under a temporary name and renamed to OUT when it is complete.
 */
#ifndef WERKBANK_EVAL_EXCHANGE_MODEL_EXPORT_H
#define WERKBANK_EVAL_EXCHANGE_MODEL_EXPORT_H

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/ckpt/ckpt.h"

/* Exports the model or the records that c names, by --format. 0 or a negative code. */
int model_export_run(struct conf *c, struct err *e);

/* Exports a model folder to a folder that must not exist or must be empty. */
int model_export_ctranslate2(const struct ckpt_source *from, bool int8, const char *to,
			     struct err *e);

#endif
