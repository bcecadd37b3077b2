/*
 * ops.h - the kernels, whichever machine runs them.
 *
 * struct ops is a backend: a table of functions. ops_ref() is plain C written
 * to be read and is the definition of each op; ops_cpu() is the fast CPU
 * backend; ops_cuda() the GPU. ops.def names every op, so a backend that lacks
 * one does not compile, and tests/kernels/t_ops.c compares all of them with the
 * definition, case by case.
 *
 *	const struct ops *o = ops_find(BACKEND_…, e);
 *	struct dev *d = o->open(&options, e);
 *	float *x = o->alloc(d, bytes, e);
 *	o->norm(d, …); …			nothing below fails or allocates
 *	if (o->sync(d, e)) …			wait; the first fault since the last sync
 *	o->release(d, x); o->close(d);
 */
#ifndef WERKBANK_KERNELS_OPS_OPS_H
#define WERKBANK_KERNELS_OPS_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/ops/tensor.h"
#include "share/base/err.h"
#include "share/base/rng.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NORM_EPSILON 1e-6f

struct profile;
struct cuda_queue;
struct dev; /* one backend, opened: threads or streams, scratch memory; opaque */

struct dev_options {
	int threads;		 /* CPU threads, 0: all cores */
	bool decoding;		 /* CPU threads help with packed weights and attention_step alone */
	int device;		 /* GPU number on this host */
	bool bf16;		 /* products round their inputs to bf16 and accumulate in fp32 */
	bool graphs;		 /* a GPU keeps what comes again and again: struct graph_key */
	struct profile *profile; /* borrowed; only for the ops of kernels/profile.h */
};

/* Dropout: element i of the op's output is kept when dropout_is_kept(…, i); kernels/ops/dropout.h. */
struct dropout {
	float rate; /* 0: keep everything, unscaled */
	struct rng_key key;
	/* (2) on the backend's side: step and sub of the key when the op runs; NULL: they are in it */
	const uint32_t *rng_step;
};

struct matmul_how {
	bool a_transposed; /* a is (K, M) */
	bool b_transposed; /* b is (N, K), as weights are stored */
	bool accumulate;   /* out += instead of out = */
};

/*
 * Who attends to whom in a packed batch. Sentence s has queries [q_start[s], q_start[s+1]) and
 * keys likewise.
 */
struct attention_shape {
	const int32_t *q_start, *k_start; /* (N + 1), on the backend's side */
	int32_t n;			  /* N */
	int32_t heads;			  /* H; head h is columns [h * D/H, (h + 1) * D/H) of all */
	int32_t max_q, max_k;		  /* longest sentence of each side */
	bool causal;			  /* query i sees keys 0..i of its sentence */
	int64_t pairs; /* of a query and a key it sees, for accounts only; 0: unknown */
};

/* tokens, squares and loss lie on the backend's side: nobody has to wait for them to be there. */
struct adam_step {
	float rate; /* learning rate of this step */
	float beta1, beta2, epsilon;
	float correction1;     /* 1 - beta1^t */
	float correction2;     /* 1 - beta2^t */
	double grad_scale;     /* the gradient is multiplied by this first */
	double clip;	       /* and then so that its length is at most this; 0: as it is */
	const double *tokens;  /* … and divided by this; NULL: 1 */
	const double *squares; /* of the whole gradient, unscaled; NULL: clip is 0 */
	const double *loss;    /* if it, or *squares, is not finite nothing changes; or NULL */
	uint16_t *rounded;     /* (n) becomes the parameters as bf16, in the same pass; or NULL */
};

/* The largest that the ops of a training will meet. */
struct dev_limits {
	int64_t tokens;	    /* rows of activations */
	int64_t width;	    /* columns of activations, logits apart */
	int64_t head_rows;  /* rows of logits at one time */
	int64_t head_width; /* columns of an attention head */
	int64_t sentence;   /* tokens of a sentence */
	int64_t d_model, heads;
	int64_t sent; /* bytes from one turn to the next */
};

/* Bytes that a backend takes for itself. */
struct dev_memory {
	size_t own;  /* where alloc() takes its from */
	size_t host; /* of the host's, for copies */
};

/*
 * Ops that come again and again with the very same arguments, over memory with other contents, reach a
 * GPU in one call each time: a graph (CUDA Programming Guide, "CUDA Graphs"). The key says, in bytes,
 * all that their arguments follow from; what it does not use is 0.
 *
 *	n = o->graph_begin(d, &key);
 *	for (i = 0; i < n; i++)			they are kept, in n pieces
 *		o->graph_replay(d, i), …		what belongs between pieces
 *	if (!n) {
 *		ops …; o->graph_pause(d);
 *		…				what belongs between pieces
 *		o->graph_resume(d); ops …; o->graph_end(d);
 *	}
 *
 * Within a piece there is nothing but ops: no copies, no sync, no other queues, no memory taken.
 */
struct graph_key {
	uint64_t word[16];
};

/* A GPU of this host. */
struct dev_info {
	int count; /* how many there are */
	char name[96];
	size_t free_bytes, total_bytes;
};

struct ops {
	const char *name;
	/* What alloc() gives is no memory of the host's: to_device() and to_host() reach it, nobody else. */
	bool has_device_memory;
	bool (*usable)(void); /* may this machine run them? */
	/* GPU number device; NULL: the processors compute. ERR_UNAVAILABLE: there is none of that number. */
	int (*query_device)(int device, struct dev_info *facts, struct err *e);
	struct dev *(*open)(const struct dev_options *options, struct err *e); /* NULL: failure */
	void (*close)(struct dev *d);
	/* Zeroed, 64-byte aligned; NULL: ERR_NOMEM. */
	void *(*alloc)(struct dev *d, size_t bytes, struct err *e);
	void (*release)(struct dev *d, void *p);
	void (*to_device)(struct dev *d, void *to, const void *from, size_t bytes);
	/* Waits for the data. */
	void (*to_host)(struct dev *d, void *to, const void *from, size_t bytes);
	int (*sync)(struct dev *d, struct err *e);
	/* Both in one: to_host of something small, and sync, with one wait. NULL: one after the other. */
	int (*fetch)(struct dev *d, void *to, const void *from, size_t bytes, struct err *e);
	/*
	 * As to_device, but beside the ops that were called since the last turn: those called after
	 * the next turn find what was sent, and what is sent after that turn arrives when those
	 * called before it have ended. So who has two places for something, and calls turn each time
	 * when it has sent, sends the next one while the last one is used. NULL: to_device does it.
	 */
	void (*to_device_async)(struct dev *d, void *to, const void *from, size_t bytes);
	void (*swap_staging)(struct dev *d);
	/*
	 * Take the memory that ops need for themselves, now instead of when they first need it. NULL:
	 * they need none.
	 */
	int (*reserve)(struct dev *d, const struct dev_limits *most, struct err *e);
	/* What that takes, to be asked before any device is opened. NULL: not worth counting. */
	struct dev_memory (*needs)(const struct dev_limits *most);
	/* Products that round to bf16 are faster where the weights are bf16 already. */
	bool prefers_bf16_weights;
	/*
	 * Logits are best made so many rows at a time, which a cache keeps between product and loss,
	 * and their gradient elsewhere, rounded as products read it. 0: in place.
	 */
	int32_t loss_rows;
	/* Work beside the ops, cuda_queue.h; NULL: there is no such thing here. */
	struct cuda_queue *(*open_queue)(struct dev *d, struct err *e);
	/* struct graph_key; NULL: every op goes its own way here, as also with 0 from begin. */
	int (*graph_begin)(struct dev *d, const struct graph_key *key);
	void (*graph_pause)(struct dev *d);
	void (*graph_resume)(struct dev *d);
	void (*graph_end)(struct dev *d);
	void (*graph_replay)(struct dev *d, int piece);
#define OP(name, args, names) void(*name) args;
#include "kernels/ops/ops.def"
#undef OP
};

const struct ops *ops_ref(void);
const struct ops *ops_cpu(void);  /* the variant for this machine's vector units */
const struct ops *ops_cuda(void); /* NULL when not built */
/* Why no GPU can be used here, in a sentence without its full stop; NULL: one can. */
const char *ops_cuda_unusable_reason(void);

/* What the CPU backend finds on this machine. */
struct cpu_features {
	const char *level;	/* "AVX-512", "AVX2" or "plain" */
	bool has_unbuilt_level; /* the machine has a higher level than this build */
	bool bf16, vnni, tiles; /* instructions for products: of bf16, of int8, AMX */
	bool onednn;		/* built in; it is used with tiles */
};

void ops_cpu_features(struct cpu_features *m);

/* The backend called auto (cuda where it is usable, else cpu), ref, cpu or cuda; NULL: ERR_UNAVAILABLE. */
const struct ops *ops_find(const char *name, struct err *e);

/*
 * What computes, and why, for people: asked is the name that ops_find() was asked for, device the
 * number of a GPU. Such as "GPU 0, NVIDIA H200 (139.1 of 139.8 GiB free)".
 */
void ops_describe(const struct ops *o, const char *asked, int device, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
