/*
 * model_export.h - the command "export": a model for another program (export_format.h), or the records of a run
 * (records.h)
 *
 * A folder or file is written under a temporary name and renamed to OUT when it is complete.
 */
#ifndef WERKBANK_EVAL_EXPORT_MODEL_EXPORT_H
#define WERKBANK_EVAL_EXPORT_MODEL_EXPORT_H

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/ckpt/ckpt.h"

/* Exports the model or the records that c names, by --format. 0 or a negative code. */
int model_export_run(struct conf *c, struct err *e);

struct export_format;

/*
 * Exports a model folder to a folder that must not exist or must be empty, or to a file. ERR_UNAVAILABLE: the
 * format cannot hold the model.
 */
int model_export_write(const struct ckpt_source *from, const struct export_format *format,
		       bool int8, const char *to, struct err *e);

#endif
