/*
 * export_format.h - the formats of models that export can write: one table (share/conf/export_formats.h), one module a
 * format.
 *
 * What a format cannot hold is refused before anything is written, with a sentence that names the first such fact: of the
 * architecture by the format's limits, of the text by its check. write() then fills job->out, a folder, or for
 * a format of one file the stream job->file.
 */
#ifndef WERKBANK_EVAL_EXPORT_EXPORT_FORMAT_H
#define WERKBANK_EVAL_EXPORT_EXPORT_FORMAT_H

#include <stdbool.h>
#include <stdio.h>

#include "data/pipeline/vocabs.h"
#include "eval/weights/weight_store.h"
#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/ckpt/ckpt.h"

/* An export in progress; all borrowed by the format. */
struct export_job {
	const char *folder;	 /* the model */
	const struct conf *text; /* its recipe.ini */
	const struct model_shape *shape;
	struct vocabs vocabs; /* of its two sides */
	const struct safetensors *weights;
	bool int8;
	const char *out; /* a temporary folder; NULL: the format is one file */
	FILE *file;	 /* NULL: the format is a folder */
};

/* A fact of arch.def that must have one of these values, "a|b". */
struct export_limit {
	const char *fact, *values, *reason;
};

struct export_format {
	const char *name, *title; /* of export_formats.h */
	bool is_file, has_int8;
	const struct export_limit *limits; /* up to a row without fact; NULL: none */
	int (*check)(const struct export_job *x, struct err *e); /* NULL: nothing more */
	int (*write)(const struct export_job *x, struct err *e);
};

#define EXPORT_DECLARE(name, title) extern const struct export_format export_##name;
EXPORT_MODEL_FORMATS(EXPORT_DECLARE, EXPORT_DECLARE)
#undef EXPORT_DECLARE

/* NULL: no format of models has this name. */
const struct export_format *export_find_format(const char *name);
/* ERR_UNAVAILABLE: the format cannot hold the model; the sentence names the fact. */
int export_check_format(const struct export_format *f, const struct export_job *x, struct err *e);

/* ---- help for formats -------------------------------------------------- */

/* ERR_UNAVAILABLE: "FOLDER: WHAT, but TITLE ..." */
int export_refuse(const struct export_job *x, const struct export_format *f, struct err *e,
		  const char *what, ...) PRINTF_LIKE(4, 5);
/* ERR_UNAVAILABLE unless both sides are raw text that SentencePiece models split. */
int export_check_pieces(const struct export_job *x, const struct export_format *f, struct err *e);
/* Copies NAME of the model's folder to job->out as TO; a file that is missing is left out if is_optional. */
int export_copy_file(const struct export_job *x, const char *name, const char *to, bool is_optional,
		     struct err *e);
/* Copies recipe.ini and vocab.tsv, by which import finds options and frequencies again. */
int export_copy_vocabularies(const struct export_job *x, struct err *e);
/* Copies recipe.ini and the files that split text, by which import finds the same text pipeline again. */
int export_copy_pipeline(const struct export_job *x, struct err *e);

/*
 * Is the token no part of the model's predictions? A model that was imported has no row for some special tokens, and their
 * logits have the bias WEIGHT_NO_TOKEN_BIAS.
 */
bool export_is_silent(const struct export_job *x, int32_t id);
/* Is the row of this token in the table ("embed", "encoder.embed") zero? */
bool export_is_zero_row(const struct export_job *x, const char *table, int32_t id);
/* *rows: all real tokens of a side in their order; freed by the caller. Returns their number, or a negative code. */
int32_t export_all_rows(const struct export_job *x, int side, struct token_row **rows,
			struct err *e);

/* The files of CTranslate2 except those of the text pipeline; the texts are passed to put. */
typedef int export_put_text(void *arg, const char *name, const struct buf *text, struct err *e);
int export_ct2_texts(const struct export_job *x, export_put_text *put, void *arg, struct err *e);
int export_ct2_weights(const struct export_job *x, FILE *out, struct err *e);
extern const struct export_limit export_ct2_limits[];

#endif
