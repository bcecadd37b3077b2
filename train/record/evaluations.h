/*
 * evaluations.h - the list of a run's evaluations: which is the best, and how many came after it.
 *
 * The list is saved in checkpoints/evaluated.json for a resumed run:
 *
 *	{"v":2,"evaluations":[[step,bleu,dev_nll,tok],…]}	by rising step; null: unknown; no tok: 13a
 */
#ifndef WERKBANK_TRAIN_RECORD_EVALUATIONS_H
#define WERKBANK_TRAIN_RECORD_EVALUATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/conf/conf.h"

struct evaluated {
	int64_t step;
	double bleu, nll; /* of the development set; NAN: unknown */
	char tok[16]; /* tokenizer of bleu; of scores with two tokenizers the later one counts */
};

struct evaluations {
	struct evaluated *all; /* (n) owned, by rising step */
	size_t n, cap;
};

/*
 * *v = the list of a run; without a file it is empty. v is zeroed, or was read before. Call
 * evaluations_free() also after a failure.
 */
int evaluations_read(const char *run_folder, struct evaluations *v, struct err *e);
int evaluations_write(const char *run_folder, const struct evaluations *v, struct err *e);
void evaluations_free(struct evaluations *v);

/* Remove the evaluations after a step, from which the run resumes. */
void evaluations_cut(struct evaluations *v, int64_t step);

/* Add an evaluation; remove those of its step and of later steps. */
int evaluations_note(struct evaluations *v, struct evaluated one, struct err *e);

/* The best evaluation; the first one of equals; NULL: none has a finite score. Borrowed. */
const struct evaluated *evaluations_best(const struct evaluations *v, enum best_metric metric);

/* Would this evaluation be the best so far? */
bool evaluations_would_be_best(const struct evaluations *v, enum best_metric metric,
			       const struct evaluated *one);

/* The number of evaluations after the best one. */
int64_t evaluations_waited(const struct evaluations *v, enum best_metric metric);

#endif
