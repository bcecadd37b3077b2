/*
 * export.h - a model for another program; what a run recorded: records.h.
 *
 * werkbank export --format ctranslate2 -o OUT makes a folder that CTranslate2 opens, and that is
 * complete for whoever gets it:
 *
 *	model.bin                     the weights, see ct2.h; fp32, or int8 by --precision
 *	config.json                   special tokens, epsilon of the norms
 *	shared_vocabulary.json        the pieces, by id
 *	recipe.ini vocab.tsv, and bpe.codes or sentencepiece.model
 *	                              how text becomes pieces and pieces text
 *
 * It is written beside OUT and renamed when it is complete.
 */
#ifndef WERKBANK_EVAL_EXCHANGE_MODEL_EXPORT_H
#define WERKBANK_EVAL_EXCHANGE_MODEL_EXPORT_H

#include "share/conf/conf.h"
#include "share/base/err.h"
#include "train/ckpt/ckpt.h"

int model_export_run(const struct conf *c, struct err *e);

/* The same for a model folder, to a folder that must not exist, or be empty. */
int model_export_ctranslate2(const struct ckpt_source *from, bool int8, const char *to,
			     struct err *e);

/* Rename a finished folder to its name, which must not exist, or be an empty folder. */
int model_export_commit(const char *temporary, const char *to, struct err *e);

#endif
