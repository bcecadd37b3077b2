/* ckpt_internal.h - file names and checks shared by ckpt.c, ckpt_find.c, ckpt_save.c and ckpt_average.c. */
#ifndef WERKBANK_TRAIN_CKPT_CKPT_INTERNAL_H
#define WERKBANK_TRAIN_CKPT_CKPT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/shard/shortlist.h"
#include "share/workspace/model_files.h"
#include "train/ckpt/ckpt.h"

#define CKPT_WEIGHTS	   "model.safetensors"
#define CKPT_TRAINING	   "training.safetensors"
#define CKPT_MOMENTS	   "optimizer.safetensors"
#define CKPT_FEEDBACK_FILE "error_feedback.safetensors"
#define CKPT_FEEDBACK_OLD  "residual.safetensors" /* its former name; only read */
#define CKPT_STATE	   "state.json"
#define CKPT_SUMS	   "SHA256SUMS"
/* Files of the run that are copied into a checkpoint, so that it is a model of its own. */
#define CKPT_COPIES "recipe.ini", MODEL_FILE_NAMES SHORTLIST_FILE

/*
 * Check the lines of SHA256SUMS: of the whole checkpoint; or without the optimizer's moments and,
 * if there are two files of weights, without the other file. ERR_DATA naming the file.
 */
enum ckpt_part { CKPT_WHOLE, CKPT_MODEL, CKPT_UNAVERAGED };
int ckpt_verify(const char *folder, enum ckpt_part part, struct err *e);

/*
 * Rename a checkpoint to STEP.old.tmp, then remove it: a kill at any moment leaves no checkpoint
 * under its own name that lacks files. A missing folder is no error.
 */
int ckpt_remove_folder(const char *folder, struct err *e);

/* checkpoints/NAME -> STEP, atomically. */
int ckpt_point_link(const char *run_folder, const char *name, int64_t step, struct err *e);

/* hex = the SHA-256 of a file according to SHA256SUMS; does not read the file itself. */
int ckpt_file_sum(const char *folder, const char *name, char hex[65], struct err *e);

/* out = the suffix of tensor names in an array (CKPT_FIRST, …); -1 (weights): "". */
void ckpt_set_suffix(int which, char *out, size_t size);

/*
 * Copy the files of CKPT_COPIES from a run or corpus into the folder `to` that is being written, and
 * write its SHA256SUMS: of the files `names` that exist, then of the copies. Adds their sizes to
 * *bytes.
 */
int ckpt_finish_folder(const char *from, const char *to, const char *const *names, size_t n,
		       int64_t *bytes, struct err *e);

#endif
