/*
 * evaluate.h - an evaluation during training: the sister program werkbank-eval
 * translates the development set with a checkpoint and says what it found, one
 * JSON object a line. The trainer writes that into the run's journal.
 */
#ifndef WERKBANK_TRAIN_EVALUATE_H
#define WERKBANK_TRAIN_EVALUATE_H

#include <signal.h>

#include "share/base/err.h"
#include "share/base/journal.h"

struct evaluation {
	const char *workspace, *run;	/* borrowed */
	int64_t step;			/* which checkpoint */
	struct journal *journal, *samples;	/* borrowed: where records go */
	const volatile sig_atomic_t *stop;	/* borrowed: not 0 ends the evaluation */
	double best_bleu;		/* so far, -1: none */
	/* filled in */
	double bleu;
};

/*
 * Run it and write its records. ERR_TEMPFAIL: *stop asked to end. Any other
 * failure leaves training as it was: a warning for the journal.
 */
int evaluate_checkpoint(struct evaluation *v, struct err *e);

/* What checkpoints/evaluated.json keeps between attempts; -1: never. */
struct evaluated {
	int64_t step, best_step;
	double  best_bleu;
};

/* No file: nothing was evaluated. */
int evaluated_read(const char *run_folder, struct evaluated *v, struct err *e);
int evaluated_write(const char *run_folder, const struct evaluated *v, struct err *e);

#endif
