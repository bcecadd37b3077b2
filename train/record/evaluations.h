/*
 * evaluations.h - what the evaluations of a run have come to: which is the best, and how long it
 * has been the best.
 *
 * Kept in checkpoints/evaluated.json, so that a resumed run knows:
 *
 *	{"v":2,"evaluations":[[step,bleu,dev_nll],…]}		by rising step; null: unknown
 */
#ifndef WERKBANK_TRAIN_RECORD_EVALUATIONS_H
#define WERKBANK_TRAIN_RECORD_EVALUATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

/* As in options.def. */
enum best_metric { BEST_BLEU, BEST_LOSS };

struct evaluated {
	int64_t step;
	double bleu, nll; /* of the development set; NAN: unknown */
};

struct evaluations {
	struct evaluated *all; /* (n) owned, by rising step */
	size_t n, cap;
};

/* Zeroed or read v. No file: nothing was evaluated. evaluations_free() in any case. */
int evaluations_read(const char *run_folder, struct evaluations *v, struct err *e);
int evaluations_write(const char *run_folder, const struct evaluations *v, struct err *e);
void evaluations_free(struct evaluations *v);

/* Forget those after a step: the run goes on from there. */
void evaluations_cut(struct evaluations *v, int64_t step);

/* Note one; those of its step and after it are forgotten. */
int evaluations_note(struct evaluations *v, struct evaluated one, struct err *e);

/* The first of the best; NULL: there is none. */
const struct evaluated *evaluations_best(const struct evaluations *v, enum best_metric metric);

/* Would one more with these scores be the best? */
bool evaluations_would_be_best(const struct evaluations *v, enum best_metric metric, double bleu,
			       double nll);

/* How many have come after the best one. */
int64_t evaluations_waited(const struct evaluations *v, enum best_metric metric);

#endif
