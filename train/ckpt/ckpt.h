/*
 * ckpt.h - checkpoints: complete or not there.
 *
 *	checkpoints/STEP/	written as STEP.tmp, synced, renamed
 *		model.safetensors       the tensors of params.def by name, fp32
 *		training.safetensors    the same names: the weights that training goes on from; only
 *		                        where those of model.safetensors are their average
 *		optimizer.safetensors   the same names with .m and .v
 *		residual.safetensors    the same names with .r0, .r1 …: what compression of each
 *		                        rank holds back; only where there is such
 *		state.json              step, loader position, seed, shape, vocabulary hash,
 *		                        best BLEU, seconds trained
 *		recipe.ini vocab.tsv, and bpe.codes or sentencepiece.model, shortlist.bin if any
 *		                        so that the folder is a model of its own
 *		SHA256SUMS              of all of the above; checked before anything is used
 *	checkpoints/last, best	symbolic links, replaced atomically
 *
 * keep-last-k never removes what best or last points to. A folder without a
 * good SHA256SUMS is not used; ckpt_find_last() then takes the one before it.
 */
#ifndef WERKBANK_TRAIN_CKPT_CKPT_H
#define WERKBANK_TRAIN_CKPT_CKPT_H

#include <stdbool.h>
#include <stdint.h>

#include "share/conf/conf.h"
#include "share/base/err.h"
#include "train/model/model.h"
#include "train/ckpt/safetensors.h"

/* What a checkpoint says besides tensors; plain data. */
struct ckpt_state {
	int64_t step;
	uint64_t loader_position;
	uint64_t seed;
	double seconds;	  /* trained so far, evaluation included */
	double best_bleu; /* -1: none yet */
	int64_t best_step;
	struct model_shape shape;
	char vocabulary_sha256[65];
	/* what the residuals belong to: they fit the same form, buckets and ranks only */
	int32_t feedback_ranks;	 /* 0: there are none */
	int32_t feedback_wire;	 /* enum wire */
	int64_t feedback_bucket; /* floats */
};

/* An arena of the model's length; borrowed. */
struct ckpt_arena {
	const float *x;
	bool on_host; /* else on the side of the model's backend */
};

/*
 * Where a checkpoint's arenas come from, for those who have not all of them in one place: which
 * is CKPT_FIRST, CKPT_SECOND, then CKPT_FEEDBACK + rank up to n - 1; asked for once each, in this order, before
 * its first tensor is written. What get() gives is borrowed until the next call.
 *
 * From a GPU one tensor after the other is copied and written: that takes memory of the host for
 * the largest, and none with a backend that computes there.
 */
enum { CKPT_FIRST, CKPT_SECOND, CKPT_FEEDBACK };

struct ckpt_arenas {
	int (*get)(void *arg, int which, struct ckpt_arena *found, struct err *e);
	void *arg;
	int n;
	/*
	 * What model.safetensors shall hold instead of the model's weights, which are saved beside
	 * it then; NULL: these. On the backend's side; borrowed until the first get().
	 */
	const float *average;
};

/*
 * Read state.json of a checkpoint or model folder; verify: check SHA256SUMS first.
 * Corrupt or foreign: ERR_DATA naming the file.
 */
int ckpt_read_state(const char *folder, bool verify, struct ckpt_state *s, struct err *e);

/* Which weights of a model folder. */
struct ckpt_source {
	const char *folder; /* borrowed */
	bool unaveraged;    /* not their moving average, where the folder has both */
};

/* The name of the file that has them. */
const char *ckpt_weights_name(const struct ckpt_source *s);

/*
 * The same check of SHA256SUMS on a thread of its own, while other work goes on; the moments of
 * the optimizer are left out. NULL: ERR_NOMEM. finish waits for it and frees it: 0, or ERR_DATA
 * naming the file. NULL is fine for finish.
 */
struct ckpt_check;
struct ckpt_check *ckpt_check_start(const struct ckpt_source *s, struct err *e);
int ckpt_check_finish(struct ckpt_check *c, struct err *e);

/*
 * A model with the weights of a folder, for decoding: mapped where backend and file allow it, else
 * loaded. *weights must be closed after the model; NULL when loaded. NULL: failure as below.
 */
struct model *ckpt_open_model(const struct ckpt_source *s, const struct model_shape *shape,
			      const struct ops *ops, const struct dev_options *o,
			      struct safetensors **weights, struct err *e);

/*
 * Load weights into a model of the same shape (ERR_DATA otherwise, naming the first tensor that
 * differs).
 */
int ckpt_load_weights(const char *folder, struct model *m, struct err *e);

/*
 * The same, of the weights that training goes on from. *average: whether those of the folder's
 * model are another thing, their moving average.
 */
int ckpt_load_training(const char *folder, struct model *m, bool *average, struct err *e);

/* The weights of the folder's model into an arena of model_floats(m) on the side of m's backend. */
int ckpt_load_average(const char *folder, struct model *m, float *arena, struct err *e);

/* Load Adam's moments into arenas of model_floats(m) floats on the side of m's backend. */
int ckpt_load_moments(const char *folder, struct model *m, float *first, float *second,
		      struct err *e);

/*
 * Save a checkpoint as run_folder/checkpoints/STEP, point last to it, keep the newest keep ones.
 * The moments lie on the side of m's backend. recipe.ini, vocab.tsv, bpe.codes and
 * sentencepiece.model are taken from run_folder, those that are there. *bytes: of the whole checkpoint.
 */
int ckpt_save(const char *run_folder, const struct ckpt_state *s, struct model *m,
	      const float *first, const float *second, int keep, int64_t *bytes, struct err *e);

int ckpt_save_arenas(const char *run_folder, const struct ckpt_state *s, struct model *m,
		     const struct ckpt_arenas *from, int keep, int64_t *bytes, struct err *e);

/*
 * One arena of the optimizer's (which is CKPT_FIRST or CKPT_SECOND) on the side of m's backend, or
 * the residual of a rank in the memory of the host.
 */
int ckpt_load_arena(const char *folder, struct model *m, int which, float *arena, struct err *e);

/* What a model folder is made of besides weights; borrowed. */
struct ckpt_folder {
	const char *corpus_folder; /* vocab.tsv and the rest are taken from it */
	const struct conf *conf;   /* the recipe */
	const struct ckpt_state *state;
};

/*
 * Save the weights alone as a model folder, for somebody on this host to read now. weights: NULL,
 * the model's; else an arena like theirs, where theirs is.
 */
int ckpt_save_model(const char *folder, const struct ckpt_folder *of, struct model *m,
		    const float *weights, struct err *e);

/* SHA-256 of the weights (65 bytes) as SHA256SUMS of a checkpoint or model folder has it. */
int ckpt_weights_sum(const char *folder, char hex[65], struct err *e);

/* Point best to a step. */
int ckpt_set_best(const char *run_folder, int64_t step, struct err *e);

/*
 * The folder of the newest good checkpoint, owned by the caller. NULL with e->code 0: there is
 * none; with ERR_DATA: there are some, but each is damaged (the text says how the newest is).
 */
char *ckpt_find_last(const char *run_folder, struct err *e);

/*
 * The model folder that --run/--checkpoint or --model name (c->run, c->checkpoint,
 * c->model, c->workspace). Owned by the caller; NULL: ERR_NOINPUT saying what there is.
 */
char *ckpt_resolve(const struct conf *c, struct err *e);

/* The same for one checkpoint ("best", "last", a step) of the run that c->run names. */
char *ckpt_resolve_named(const struct conf *c, const char *which, struct err *e);

/*
 * The folders of at most so many of its newest checkpoints, oldest first: an array of *n owned
 * paths. ERR_NOINPUT: there is none. What *n says is owned on failure too.
 */
int ckpt_resolve_newest(const struct conf *c, int64_t most, char ***folders, size_t *n,
			struct err *e);

#endif
