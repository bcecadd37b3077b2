/*
 * reduce_internal.h - the base of both kinds of reductions. A kind is a struct that begins with
 * struct reduce, and a table of functions:
 *
 *	reduce.c	chooses a kind
 *	reduce_host.c	arrays in host memory, exchanged by the comm
 *	reduce_gpu.c	arrays on a GPU, exchanged by NCCL; only in builds with NCCL
 */
#ifndef WERKBANK_TRAIN_COMM_REDUCE_INTERNAL_H
#define WERKBANK_TRAIN_COMM_REDUCE_INTERNAL_H

#include "train/comm/reduce.h"

struct reduce_kind;

struct reduce {
	const struct reduce_kind *kind;
	struct comm *comm; /* borrowed */
	struct reduce_options how;
	enum wire_format wire;	    /* of the next reductions: how.wire or fp32 */
	float *error_feedback;	    /* (floats) owned by the kind; NULL: no error feedback */
	double sent, busy, exposed; /* bytes, seconds, seconds since they were last collected */
};

/* The functions of reduce.h. */
struct reduce_kind {
	struct reduce *(*open)(struct comm *comm, const struct reduce_options *how, struct err *e);
	void (*free)(struct reduce *r);
	void (*set_wire)(struct reduce *r, enum wire_format w); /* sets wire, and buffers for it */
	void (*begin)(struct reduce *r, float *x);
	void (*ready)(struct reduce *r, size_t from);
	int (*poll)(struct reduce *r, bool *done, struct err *e);
	int (*all_gather)(struct reduce *r, float *x, struct err *e);
	/* NULL for arrays in host memory: */
	int (*numbers)(struct reduce *r, double *x, size_t n, struct err *e);
	bool (*backward_is_done)(struct reduce *r);
	void (*measure)(struct reduce *r); /* brings busy and exposed up to date */
};

extern const struct reduce_kind reduce_on_host, reduce_on_gpu;

#endif
