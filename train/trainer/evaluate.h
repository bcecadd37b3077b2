/*
 * evaluate.h - an evaluation during training: the sister program werkbank-eval
 * translates the development set with a checkpoint and says what it found, one
 * JSON object a line. The trainer writes that into the run's journal.
 *
 * With several ranks each starts one, for its share of the sentences. A rank that does not see
 * the checkpoint (another host, no file system in common) saves its own weights for it below
 * $TMPDIR; that they are the same is checked by their SHA-256. What the shares came to
 * goes to the first rank, whose werkbank-eval joins and scores it, and does what is missing. The
 * result is the one of a single process (eval/evaluate/heldout.h).
 */
#ifndef WERKBANK_TRAIN_TRAINER_EVALUATE_H
#define WERKBANK_TRAIN_TRAINER_EVALUATE_H

#include <signal.h>
#include <stdbool.h>

#include "share/base/err.h"
#include "share/base/journal.h"
#include "train/ckpt/ckpt.h"
#include "train/comm/comm.h"
#include "train/record/evaluations.h"

/* Everything is borrowed. */
struct evaluation {
	const char *workspace, *run;
	int64_t step;			   /* which checkpoint; the first rank has saved it */
	struct journal *journal, *samples; /* where records go; the first rank's */
	const volatile sig_atomic_t *stop; /* not 0 ends the evaluation */
	const struct evaluations *before;  /* what the first rank has seen so far */
	enum best_metric best_metric;
	struct comm *comm;
	/* of each rank, where there are several */
	const struct conf *conf;
	const char *folder, *corpus; /* of the run, of the corpus */
	const struct ckpt_state *state;
	struct model *model;
	const float *weights; /* that are scored; NULL: the model's */
	int threads;	      /* that its share may use */
	int gpu;	      /* that this rank computes on; -1: none */
	bool *unable;	      /* in and out: its share failed once, it gets none */
	/* filled in on the first rank */
	double began;	    /* clock_mono_s(), where ranks share it; else 0 */
	double bleu, nll;   /* nll: NAN when it is unknown */
	struct err trouble; /* code 0: it came through */
};

/*
 * All ranks together: run it and write its records. What goes wrong with the evaluation itself is
 * left in trouble (ERR_TEMPFAIL: *stop asked to end) and leaves training as it was: a warning for
 * the journal. A failure that is returned is one of the comm.
 */
int evaluate_checkpoint(struct evaluation *v, struct err *e);

#endif
