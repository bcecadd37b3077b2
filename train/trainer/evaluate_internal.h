/* evaluate_internal.h - the child process of evaluate.c (one rank) and evaluate_ranks.c (all ranks). */
#ifndef WERKBANK_TRAIN_TRAINER_EVALUATE_INTERNAL_H
#define WERKBANK_TRAIN_TRAINER_EVALUATE_INTERNAL_H

#include <stdatomic.h>
#include <stddef.h>

#include "train/trainer/evaluate.h"

/* A werkbank-eval _evaluate. Everything is borrowed. */
struct evaluate_child {
	const char *workspace, *run;
	int64_t step;
	const char *model;	 /* not NULL: this folder instead of the run's checkpoint */
	int gpu;		 /* index; -1: werkbank-eval chooses */
	const char *const *more; /* further arguments, NULL at the end; NULL: none */
	const atomic_int *stop;
	/* called for each line of its output, without the line end */
	int (*on_line)(void *arg, const char *line, size_t n, struct err *e);
	void *arg;
};

/* Run it to its end. ERR_TEMPFAIL: stopped by *stop. */
int evaluate_run_child(const struct evaluate_child *c, struct err *e);

/* An on_line() that writes records; arg is a struct evaluation. */
int evaluate_write_record(void *arg, const char *text, size_t n, struct err *e);

/* First rank: evaluate in one process. more: further arguments; returns v->trouble.code. */
int evaluate_on_first_rank(struct evaluation *v, const char *const *more);

/* evaluate_ranks.c: evaluate_checkpoint() of several ranks. */
int evaluate_on_all_ranks(struct evaluation *v, struct err *e);

#endif
