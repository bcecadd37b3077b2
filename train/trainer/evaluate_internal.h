/* evaluate_internal.h - what evaluate.c (one process) and evaluate_ranks.c (all ranks) share. */
#ifndef WERKBANK_TRAIN_TRAINER_EVALUATE_INTERNAL_H
#define WERKBANK_TRAIN_TRAINER_EVALUATE_INTERNAL_H

#include <stddef.h>

#include "train/trainer/evaluate.h"

/* A werkbank-eval _evaluate. Everything is borrowed. */
struct evaluate_child {
	const char *workspace, *run;
	int64_t step;
	const char *model;	 /* not NULL: this folder instead of the run's checkpoint */
	int gpu;		 /* that it may use; -1: it finds one, or none */
	const char *const *more; /* further words for it, NULL at the end; NULL: none */
	const volatile sig_atomic_t *stop;
	int (*on_line)(void *arg, const char *line, size_t n, struct err *e); /* of its output */
	void *arg;
};

/* ERR_TEMPFAIL: *stop asked to end. */
int evaluate_run_child(const struct evaluate_child *c, struct err *e);

/* on_line() that writes records: arg is a struct evaluation. */
int evaluate_write_record(void *arg, const char *text, size_t n, struct err *e);

/* The first rank's: v->trouble says how it went. */
int evaluate_on_first_rank(struct evaluation *v, const char *const *more);

/* evaluate_ranks.c: evaluate_checkpoint() of several ranks. */
int evaluate_on_all_ranks(struct evaluation *v, struct err *e);

#endif
