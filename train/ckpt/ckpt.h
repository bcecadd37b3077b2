/*
 * ckpt.h - checkpoints: each is complete, or it does not exist.
 *
 *	checkpoints/STEP/	written as STEP.HEX.tmp, synced, renamed
 *		model.safetensors           the tensors of params.def by name, fp32
 *		training.safetensors        the same names: the weights that training resumes with;
 *		                            only if model.safetensors has their moving average
 *		optimizer.safetensors       the same names with .m and .v: Adam's moments; of Adafactor
 *		                            only .v, in the form of adafactor.h
 *		error_feedback.safetensors  the same names with .r0, .r1 …: error feedback of each
 *		                            rank (compress.h); only with int8, 2bit or 1bit.
 *		                            Its former name residual.safetensors is read, too
 *		state.json                  step, loader position, seed, shape, vocabulary hash,
 *		                            best BLEU, seconds trained, number format of products
 *		recipe.ini vocab.tsv, and bpe.codes or sentencepiece.model, shortlist.bin if any:
 *		                            with them the folder is a model of its own
 *		SHA256SUMS                  of all files above; checked before a file is used
 *	checkpoints/STEP.claim-N.tmp	a claim of ckpt_claim(); the next ordinary save removes it
 *	checkpoints/last, best	symbolic links, replaced atomically
 *
 *	checkpoints/STEP.damaged	set aside by ckpt_take_last(); the newest two are kept
 *
 * The removal of old checkpoints never removes the targets of best and last. A folder whose
 * SHA256SUMS is missing or wrong is not used; ckpt_find_last() then tries the one before it.
 */
#ifndef WERKBANK_TRAIN_CKPT_CKPT_H
#define WERKBANK_TRAIN_CKPT_CKPT_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"
#include "share/conf/text_sides.h"
#include "train/ckpt/safetensors.h"
#include "train/model/model.h"
#include "train/optim/optimizer.h"
#include "train/optim/schedule.h"

/* The contents of state.json; plain data, which ranks send to each other. */
struct ckpt_state {
	int64_t step;
	int64_t held_steps; /* of adam.h; below step, or 0 */
	uint64_t loader_position;
	uint64_t seed;
	double seconds;	     /* training time so far, evaluation included */
	double evaluation_s; /* duration of the last evaluation; 0: unknown */
	/* decided because of the time limit of cooldown_minutes; to 0, schedule_end 0: none */
	struct schedule_cooldown cooldown;
	int64_t schedule_end; /* rate_schedule.end */
	double cooldown_minutes;
	double best_bleu; /* -1: none yet */
	int64_t best_step;
	struct model_shape shape;
	char vocabulary_sha256
		[TEXT_VOCABULARY_ID]; /* identity of the vocabularies: see text_sides.h */
	char precision
		[8]; /* of products in training: "fp32", "bf16"; "": unknown (older releases) */
	char optimizer[16]; /* optimizer_name(); "": adam (older releases) */
	/* of the training text, from the corpus; 0: unknown */
	double several;	 /* share of its source lines that have several sentences */
	int32_t longest; /* tokens of its longest source line */
	/* error feedback is valid for the same ranks, wire format and buckets only */
	int32_t feedback_ranks;	 /* 0: no error feedback */
	int32_t feedback_wire;	 /* enum wire_format */
	int64_t feedback_bucket; /* floats of a bucket */
};

/* A flat array of the model's length; borrowed. */
struct ckpt_arena {
	const float *x;
	bool on_host; /* true: host memory; false: the memory of the model's backend */
};

/*
 * The source of a checkpoint's flat arrays, which may be distributed over ranks. get() is called
 * once for each array which = CKPT_FIRST (not with a factored optimizer), CKPT_SECOND,
 * CKPT_FEEDBACK + rank … n - 1, in this order, before its first tensor is written. *found is borrowed until
 * the next call.
 *
 * Tensors in GPU memory are copied and written one after the other, through a host buffer for the
 * largest tensor. With a CPU backend nothing is copied.
 */
enum { CKPT_FIRST, CKPT_SECOND, CKPT_FEEDBACK };

struct ckpt_arenas {
	int (*get)(void *arg, int which, struct ckpt_arena *found, struct err *e);
	void *arg;
	int n;
	/*
	 * The moving average for model.safetensors, in the backend's memory; the model's weights
	 * go to training.safetensors then. Borrowed until the first get(). NULL: no average.
	 */
	const float *average;
};

/*
 * Read state.json of a checkpoint or model folder; verify: check SHA256SUMS first. ERR_DATA naming
 * the file: damaged, or not a checkpoint of Werkbank.
 */
int ckpt_read_state(const char *folder, bool verify, struct ckpt_state *s, struct err *e);

/* The weights of a model folder, or its unaveraged ones. */
struct ckpt_source {
	const char *folder; /* borrowed */
	bool unaveraged;    /* the raw weights, if the folder has both them and their average */
};

/* The name of the file with these weights. */
const char *ckpt_weights_name(const struct ckpt_source *s);

/*
 * Check SHA256SUMS on a thread of its own, without the moments of the optimizer. NULL: ERR_NOMEM.
 * ckpt_check_finish() waits for the end and frees c, which may be NULL: 0, or ERR_DATA naming the
 * damaged file.
 */
struct ckpt_check;
struct ckpt_check *ckpt_check_start(const struct ckpt_source *s, struct err *e);
int ckpt_check_finish(struct ckpt_check *c, struct err *e);

/*
 * A model with the weights of a folder, for decoding: mapped if backend and file allow it, else
 * loaded. *weights: the mapped file, to be closed after the model; NULL if loaded. NULL: failure,
 * as of ckpt_load_weights().
 */
struct model *ckpt_open_model(const struct ckpt_source *s, const struct model_shape *shape,
			      const struct ops *ops, const struct dev_options *o,
			      struct safetensors **weights, struct err *e);

/*
 * Load model.safetensors into a model of the same shape. ERR_DATA naming the first tensor that
 * differs: another shape.
 */
int ckpt_load_weights(const char *folder, struct model *m, struct err *e);

/*
 * Load the weights that training resumes with. *average: does model.safetensors have their moving
 * average instead?
 */
int ckpt_load_training(const char *folder, struct model *m, bool *average, struct err *e);

/* Load model.safetensors into arena (model_floats(m)) in the memory of m's backend. */
int ckpt_load_average(const char *folder, struct model *m, float *arena, struct err *e);

/* Load Adam's moments into arrays (model_floats(m)) in the memory of m's backend. */
int ckpt_load_moments(const char *folder, struct model *m, float *first, float *second,
		      struct err *e);
/* Load the state of a factored optimizer (adafactor.h), in host memory. */
int ckpt_load_factored(const char *folder, struct model *m, float *state, struct err *e);

/*
 * Save a checkpoint as run_folder/checkpoints/STEP, point last to it, and remove all but the
 * newest keep ones. The moments are in the memory of m's backend. Those of recipe.ini, vocab.tsv,
 * bpe.codes, sentencepiece.model and shortlist.bin that run_folder has are copied from there.
 * *bytes: of the whole checkpoint.
 */
int ckpt_save(const char *run_folder, const struct ckpt_state *s, struct model *m,
	      const float *first, const float *second, int keep, int64_t *bytes, struct err *e);

/*
 * The same by one of several processes that may have this idea at the same time, while nobody else saves.
 * ckpt_claim() chooses the one: *is_mine; claims 0, 1, … follow each other when the owner of a claim may
 * have died. A checkpoint of this step that exists meanwhile stays, and is ERR_CANTCREAT.
 */
int ckpt_claim(const char *run_folder, int64_t step, int number, bool *is_mine, struct err *e);
int ckpt_save_claimed(const char *run_folder, const struct ckpt_state *s, struct model *m,
		      const float *first, const float *second, int keep, int64_t *bytes,
		      struct err *e);
/* Is there a checkpoint of this step? It may be damaged. */
bool ckpt_exists(const char *run_folder, int64_t step);

/* The same with arrays from a struct ckpt_arenas. */
int ckpt_save_arenas(const char *run_folder, const struct ckpt_state *s, struct model *m,
		     const struct ckpt_arenas *from, int keep, int64_t *bytes, struct err *e);

/*
 * Load one array: CKPT_FIRST or CKPT_SECOND into the memory of m's backend, or CKPT_FEEDBACK + rank
 * into host memory.
 */
int ckpt_load_arena(const char *folder, struct model *m, int which, float *arena, struct err *e);

/* The sources of a model folder, except weights; borrowed. */
struct ckpt_folder {
	const char *corpus_folder; /* vocab.tsv, bpe.codes … are copied from it */
	const struct conf *conf;   /* for recipe.ini */
	const struct ckpt_state *state;
};

/*
 * Copy FROM_FOLDER/NAME if it exists. A file that is there already stays: ckpt_save_model() has
 * written the recipe of the run, not of the corpus.
 */
int ckpt_copy_file(const char *from_folder, const char *to_folder, const char *name, struct err *e);

/*
 * Save a model folder without moments, for another process on this host. weights: a flat array in
 * the backend's memory; NULL: the model's weights.
 */
int ckpt_save_model(const char *folder, const struct ckpt_folder *of, struct model *m,
		    const float *weights, struct err *e);

/* hex = the SHA-256 of model.safetensors according to SHA256SUMS of the folder. */
int ckpt_weights_sum(const char *folder, char hex[65], struct err *e);

/* Add a line to faults for each file that is damaged; *n_files grows by the files checked. */
void ckpt_list_faults(const char *folder, struct buf *faults, int64_t *n_files);

/*
 * *steps (*n) = the steps that have a folder in run_folder/checkpoints, newest first; the caller
 * frees *steps. Without that folder *n is 0.
 */
int ckpt_list(const char *run_folder, int64_t **steps, size_t *n, struct err *e);

/* Set the step that the link best or last points to; -1: none. */
int ckpt_link_step(const char *run_folder, const char *link, int64_t *step, struct err *e);

/* Point the link best to the checkpoint of a step. */
int ckpt_set_best(const char *run_folder, int64_t step, struct err *e);

/*
 * The folder of the newest intact checkpoint, owned by the caller. NULL with e->code 0: the run has
 * no checkpoint; with ERR_DATA: all are damaged, and the text says what is wrong with the newest;
 * another code: a checkpoint cannot be checked (memory, permissions).
 */
char *ckpt_find_last(const char *run_folder, struct err *e);

/*
 * The same for the trainer, which is the only writer: newer checkpoints, which are damaged, are
 * renamed to STEP.damaged, and the link last leads to the intact one. damage gets a line for each.
 */
char *ckpt_take_last(const char *run_folder, struct buf *damage, struct err *e);

/*
 * The model folder that --run/--checkpoint or --model name (c->run, c->checkpoint, c->model,
 * c->workspace), owned by the caller. NULL: ERR_NOINPUT with the checkpoints that the run has, or
 * ERR_USAGE.
 */
char *ckpt_resolve(const struct conf *c, struct err *e);

/* The folder of one checkpoint ("best", "last", a step) of the run c->run; as ckpt_resolve(). */
char *ckpt_resolve_named(const struct conf *c, const char *which, struct err *e);

/*
 * *folders = the folders of the newest checkpoints of the run c->run, at most `most`, oldest
 * first: *n paths. The caller frees the array and each path, also after a failure. ERR_NOINPUT: the
 * run has no checkpoint.
 */
int ckpt_resolve_newest(const struct conf *c, int64_t most, char ***folders, size_t *n,
			struct err *e);

#endif
