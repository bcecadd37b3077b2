/*
 * evaluate.h - an evaluation during training, by the program werkbank-eval.
 *
 * werkbank-eval translates the development set with a checkpoint and prints its results, one JSON
 * object a line. The trainer writes them to the run's journal.
 *
 * With several ranks each rank starts a werkbank-eval for its share of the sentences. A rank that
 * does not see the checkpoint (another host without a common file system) saves its own weights
 * below $TMPDIR and compares their SHA-256 with that of the checkpoint. The first rank gathers the
 * results; its werkbank-eval joins them, computes missing sentences and scores all. The result
 * equals that of a single process (eval/evaluate/heldout.h).
 */
#ifndef WERKBANK_TRAIN_TRAINER_EVALUATE_H
#define WERKBANK_TRAIN_TRAINER_EVALUATE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "share/base/err.h"
#include "share/workspace/journal.h"
#include "train/ckpt/ckpt.h"
#include "train/comm/comm.h"
#include "train/record/evaluations.h"

/* Everything is borrowed. */
struct evaluation {
	const char *workspace, *run;
	int64_t step;			   /* of the checkpoint, which the first rank has saved */
	struct journal *journal, *samples; /* for the records; only on the first rank */
	const atomic_int *stop;		   /* not 0: stop the evaluation */
	const struct evaluations *before;  /* earlier evaluations; only on the first rank */
	enum best_metric best_metric;
	struct comm *comm;
	/* only read with several ranks */
	const struct conf *conf;
	const char *folder, *corpus; /* of the run, of the corpus */
	const struct ckpt_state *state;
	struct model *model;
	const float *weights; /* to evaluate; NULL: the model's */
	int threads;	      /* for this rank's share */
	int gpu;	      /* of this rank; -1: none */
	bool *unable;	      /* in and out: this rank has failed in a share and gets no more */
	/* results on the first rank */
	double began; /* clock_mono_s() at the start; one rank: 0 */
	double bleu;
	double nll, train_nll; /* of development and training sentences; NAN if unknown */
	char tok[16];	       /* tokenizer of bleu */
	char precision[8];     /* of the products that decoded; "": unknown */
	struct err trouble;    /* failure of the evaluation; code 0: none */
};

/*
 * Collective: evaluate and write the records. A failure of the evaluation itself is left in
 * trouble (ERR_TEMPFAIL: stopped by *stop) and does not affect training. A returned failure is one
 * of the comm.
 */
int evaluate_checkpoint(struct evaluation *v, struct err *e);

/* The results as an item of struct evaluations. */
struct evaluated evaluate_result(const struct evaluation *v);

#endif
