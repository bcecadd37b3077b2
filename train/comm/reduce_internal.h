/*
 * reduce_internal.h - what the kinds of reductions share. Each is a struct that begins with struct
 * reduce, and a table:
 *
 *	reduce.c	chooses one
 *	reduce_host.c	arrays of the host, exchanged by the comm
 *	reduce_gpu.c	arrays of a GPU, by NCCL; only where that is built
 */
#ifndef WERKBANK_TRAIN_COMM_REDUCE_INTERNAL_H
#define WERKBANK_TRAIN_COMM_REDUCE_INTERNAL_H

#include "train/comm/reduce.h"

struct reduce_kind;

struct reduce {
	const struct reduce_kind *kind;
	struct comm *comm; /* borrowed */
	struct reduce_options how;
	float *error_feedback;	    /* owned by the kind; NULL: nothing is fed back */
	double sent, busy, exposed; /* since they were last taken */
};

/* As the functions of reduce.h. */
struct reduce_kind {
	struct reduce *(*open)(struct comm *comm, const struct reduce_options *how, struct err *e);
	void (*free)(struct reduce *r);
	void (*begin)(struct reduce *r, float *x);
	void (*ready)(struct reduce *r, size_t from);
	int (*poll)(struct reduce *r, bool *done, struct err *e);
	int (*all_gather)(struct reduce *r, float *x, struct err *e);
	/* of a GPU's arrays only: */
	int (*numbers)(struct reduce *r, double *x, size_t n, struct err *e);
	bool (*backward_is_done)(struct reduce *r);
	void (*measure)(struct reduce *r); /* busy and exposed are brought up to date */
};

extern const struct reduce_kind reduce_on_host, reduce_on_gpu;

#endif
