/* ckpt_internal.h - what ckpt.c (reading), ckpt_find.c and ckpt_save.c (writing) share. */
#ifndef WERKBANK_TRAIN_CKPT_CKPT_INTERNAL_H
#define WERKBANK_TRAIN_CKPT_CKPT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/shard/shortlist.h"
#include "train/ckpt/ckpt.h"

#define CKPT_WEIGHTS	   "model.safetensors"
#define CKPT_TRAINING	   "training.safetensors"
#define CKPT_MOMENTS	   "optimizer.safetensors"
#define CKPT_FEEDBACK_FILE "residual.safetensors"
#define CKPT_STATE	   "state.json"
#define CKPT_SUMS	   "SHA256SUMS"
/* Files of the corpus and the run that make a checkpoint a model of its own. */
#define CKPT_COPIES "recipe.ini", "bpe.codes", "sentencepiece.model", "vocab.tsv", SHORTLIST_FILE

/*
 * The steps that have a folder in run_folder/checkpoints, newest first; *steps owned by the caller.
 * No folder: none.
 */
int ckpt_list(const char *run_folder, int64_t **steps, size_t *n, struct err *e);

/* The step that the link best or last points to; -1: none. */
int64_t ckpt_link_step(const char *run_folder, const char *link);

/*
 * Check every line of SHA256SUMS: of the whole checkpoint, or without the optimizer's moments and the
 * weights that are not asked for. ERR_DATA naming the file.
 */
enum ckpt_part { CKPT_WHOLE, CKPT_MODEL, CKPT_UNAVERAGED };
int ckpt_verify(const char *folder, enum ckpt_part part, struct err *e);

/* SHA-256 of a file as SHA256SUMS has it. */
int ckpt_file_sum(const char *folder, const char *name, char hex[65], struct err *e);

#endif
