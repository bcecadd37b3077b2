/*
 * ops.h - the interface of the compute backends.
 *
 * struct ops is a backend: a table of functions. ops_ref() is plain C, written
 * to be read; it defines the result of each op. ops_cpu() is the fast CPU
 * backend, ops_cuda() the GPU. All three tables are generated from ops.def, so
 * a backend that lacks an op does not compile. tests/kernels/t_ops.c compares
 * every op of every backend with the definition.
 *
 *	const struct ops *o = ops_find("auto", e);
 *	struct dev *d = o->open(&options, e);
 *	float *x = o->alloc(d, bytes, e);
 *	o->norm(d, …); …			ops return nothing; a fault is stored in d
 *	if (o->sync(d, e)) …			wait; returns the first fault since the last sync
 *	o->release(d, x); o->close(d);
 *
 * On a GPU an op is enqueued and the call returns at once. Ops run in the order of
 * their calls.
 */
#ifndef WERKBANK_KERNELS_OPS_OPS_H
#define WERKBANK_KERNELS_OPS_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/ops/tensor.h"
#include "share/base/activation.h"
#include "share/base/err.h"
#include "share/base/rng.h"

#ifdef __cplusplus
extern "C" {
#endif

enum norm_kind {
	NORM_LAYER, /* Ba et al. 2016 */
	NORM_RMS,   /* Zhang and Sennrich 2019 */
	NORM_NONE
};

/* How the ops around norm normalise a row. */
struct norm_how {
	enum norm_kind kind;
	float epsilon; /* added to the variance, or to the mean square */
};

enum position_kind {
	POSITION_SINUSOID, /* of the formula at op embed */
	POSITION_TABLE,	   /* row number `position` of a table */
	POSITION_NONE
};

/* How op embed makes a row. */
struct embed_how {
	float scale; /* factor of the word's row */
	enum position_kind kind;
	struct tensor positions; /* POSITION_TABLE: (positions, D) floats */
};

struct profile;
struct cuda_queue;
struct dev; /* an opened backend: threads or streams, scratch memory; opaque */

/*
 * GPU: other ways to compute, for benchmarks to compare: tests/bench/train_variants.c, bench_decode.
 * They are not options of a user: the best ways on real GPUs become the only ones.
 */
struct gpu_ways {
	bool fuses_bias;	/* bias and ReLU of bf16 products by cuBLASLt's epilogue */
	bool measures_products; /* the fastest algorithm of a few: see save_choices() */
	bool dependent_launch;	/* from sm_90 on: see kernel_begin() in cuda.cuh */
};

struct dev_options {
	int threads;	  /* CPU threads, 0: all cores */
	bool is_decoding; /* GPU: see few_rows */
	int device;	  /* index of the GPU on this host, from 0 */
	bool bf16;	  /* products round their inputs to bf16 and accumulate in fp32 */
	/*
	 * GPU: greatest number of rows of a product with bf16 weights that a kernel of our own computes
	 * instead of cuBLASLt. 0: CUDA_FEW_ROWS if is_decoding, else never; negative: never.
	 */
	int few_rows;
	bool graphs;		 /* record and replay CUDA graphs: struct graph_key */
	struct gpu_ways ways;	 /* all false: the usual way */
	struct profile *profile; /* borrowed; only for the table of kernels/profile.h */
};

/* Dropout keeps element i of the op's output if dropout_is_kept(…, i); kernels/ops/dropout.h. */
struct dropout {
	float rate; /* 0: keep everything, unscaled */
	struct rng_key key;
	/*
	 * (2) in device memory: key.step and key.sub, read when the op runs, so that a replayed
	 * graph draws new numbers. NULL: use the values in key.
	 */
	const uint32_t *rng_step;
};

struct matmul_how {
	bool a_transposed; /* a is (K, M) */
	bool b_transposed; /* b is (N, K), as weights are stored */
	bool accumulate;   /* out += instead of out = */
};

/*
 * Sentences of a packed batch. Sentence s has the query rows [q_start[s], q_start[s+1]) and the key
 * rows [k_start[s], k_start[s+1]). A query sees keys of its own sentence only:
 *
 *	rows of q	0 1 2 | 3 4 | 5 6 7 8		q_start = 0 3 5 9
 *	rows of k	0 1 | 2 3 4 | 5			k_start = 0 2 5 6
 *
 * There is no padding: rows 3 and 4 of q see rows 2 to 4 of k, and nothing else is computed.
 */
struct attention_shape {
	const int32_t *q_start, *k_start; /* (N + 1), in device memory */
	int32_t n;			  /* N */
	int32_t heads;			  /* H; head h is columns [h * D/H, (h + 1) * D/H) */
	int32_t max_q, max_k;		  /* rows of the longest sentence in q, in k */
	bool causal;			  /* query i sees keys 0..i of its sentence */
	int64_t pairs; /* pairs of a query and a key it sees, to count FLOPs; 0: unknown */
};

/*
 * Arguments of op adam. g = gradient * grad_scale / *tokens, then scaled down to the length clip if
 * it is longer. tokens, squares and loss are in device memory: the host need not wait for them.
 */
struct adam_step {
	float rate; /* learning rate of this step */
	float beta1, beta2, epsilon;
	float correction1; /* 1 - beta1^t */
	float correction2; /* 1 - beta2^t */
	float decay; /* decoupled weight decay of this step: param -= decay * param; 0: none */
	double grad_scale;
	double clip;	       /* greatest L2 norm of the scaled gradient; 0: no clipping */
	const double *tokens;  /* (1); NULL: 1 */
	const double *squares; /* (1) sum of squares of the unscaled gradient; NULL: no clipping */
	const double *loss;    /* (1) or NULL. If *loss or *squares is not finite, skip the step */
	uint16_t *bf16_params; /* (n) gets the new parameters rounded to bf16; or NULL */
};

/* Upper bounds of the shapes that the ops of a training run get. */
struct dev_limits {
	int64_t tokens; /* rows of activations */
	int64_t width;	/* columns of activations, logits excluded */
	struct gpu_ways ways;
	int64_t head_rows;  /* rows of logits at one time */
	int64_t head_width; /* columns of an attention head */
	int64_t sentence;   /* tokens of a sentence */
	int64_t d_model, heads;
	int64_t upload_bytes; /* bytes of to_device_async() between two calls of swap_staging() */
	int64_t step_kernels; /* of a pass forward and backward, at most; 0: no graphs */
	int64_t sum_floats;   /* numbers of the largest output that products add to */
};

/* Bytes of memory that a backend allocates for itself. */
struct dev_memory {
	size_t device_bytes; /* of the memory that alloc() uses */
	size_t host_bytes;   /* of pinned host memory, for copies */
	/*
	 * Of the device, at times: a recorded step (struct graph_key), and a second output while a
	 * product that adds to its output is measured (gpu_ways.measures_products).
	 */
	size_t passing_bytes;
};

/*
 * CUDA graphs. A sequence of ops that repeats with the same arguments (and new contents of the
 * same memory) is captured once and then replayed by one call (CUDA Programming Guide, "CUDA
 * Graphs"). The key must contain everything that the arguments of the ops depend on: pointers,
 * shapes, options. Unused words are 0. A graph may consist of several pieces; between two pieces
 * the caller may do what a graph cannot contain.
 *
 *	n = o->graph_begin(d, &key);		n: pieces that can be replayed
 *	for (i = 0; i < n; i++)
 *		o->graph_replay(d, i), …		… is the work between two pieces
 *	if (!n) {				not captured yet: call the ops
 *		ops …; o->graph_pause(d);
 *		…				the same work between two pieces
 *		o->graph_resume(d); ops …; o->graph_end(d);
 *	}
 *
 * A piece contains ops only: no copies, no sync, no other queue, no allocation.
 */
struct graph_key {
	uint64_t word[16];
};

/* A GPU of this host. */
struct dev_info {
	int count; /* number of GPUs on this host */
	char name[96];
	size_t free_bytes, total_bytes;
};

struct ops {
	const char *name;
	/* alloc() returns device memory: the host reaches it by to_device() and to_host() only. */
	bool has_device_memory;
	bool (*usable)(void); /* can this machine run the backend? */
	/*
	 * Describe GPU number `device`. ERR_UNAVAILABLE: no GPU has that number. NULL: this backend
	 * uses the processor.
	 */
	int (*query_device)(int device, struct dev_info *facts, struct err *e);
	struct dev *(*open)(const struct dev_options *options, struct err *e); /* NULL: failure */
	void (*close)(struct dev *d);					       /* d may be NULL */
	/* Zeroed, 64-byte aligned, freed by release(); NULL: ERR_NOMEM. */
	void *(*alloc)(struct dev *d, size_t bytes, struct err *e);
	void (*release)(struct dev *d, void *p); /* p may be NULL */
	/* Copy to device memory; the caller may reuse `from` at once. */
	void (*to_device)(struct dev *d, void *to, const void *from, size_t bytes);
	/* Copy to the host; returns when the data are there. */
	void (*to_host)(struct dev *d, void *to, const void *from, size_t bytes);
	/* Wait for all ops. Returns, and clears, the first fault since the last sync. */
	int (*sync)(struct dev *d, struct err *e);
	/* to_host() of a small block and sync(), with a single wait. NULL: call both. */
	int (*to_host_and_sync)(struct dev *d, void *to, const void *from, size_t bytes,
				struct err *e);
	/*
	 * Double buffering. to_device_async() copies while earlier ops run; `to` must be memory that
	 * these ops do not use. swap_staging() orders both: ops called after a swap see all copies
	 * made before it, and copies made after it wait for the ops called before it. A caller
	 * with two input buffers copies batch i + 1 into one while the ops read batch i in the
	 * other, and calls swap_staging() once a step. NULL: use to_device().
	 */
	void (*to_device_async)(struct dev *d, void *to, const void *from, size_t bytes);
	void (*swap_staging)(struct dev *d);
	/* Allocate the scratch memory of the ops now, not at the first use. NULL: nothing to do. */
	int (*reserve)(struct dev *d, const struct dev_limits *limits, struct err *e);
	/* The memory that reserve() allocates; needs no opened device. NULL: negligible. */
	struct dev_memory (*memory_needs)(const struct dev_limits *limits);
	/*
	 * Are products of bf16 the fastest ones of device `device`, by instructions of its own? The format
	 * that precision = auto means. NULL: no; the backend rounds to bf16 and multiplies floats.
	 */
	bool (*multiplies_bf16)(int device);
	/* Products with bf16 inputs are faster if the weights are stored as bf16. */
	bool prefers_bf16_weights;
	/*
	 * Preferred number of rows of logits at one time. The caller then stores their gradient
	 * apart, as bf16, unless loss_in_place. 0: all rows at once, with the gradient in place.
	 */
	int32_t loss_rows;
	/* With loss_rows: logits have the type of activations, with their gradient in place. */
	bool loss_in_place;
	/* A second stream, concurrent with the ops, cuda_queue.h; NULL: the backend has none. */
	struct cuda_queue *(*open_queue)(struct dev *d, struct err *e);
	/*
	 * Products since open() for which the library had no algorithm: a simple kernel computed
	 * them, about 100 times slower. NULL: the backend needs no library.
	 */
	int64_t (*count_slow_products)(const struct dev *d);
	/*
	 * With gpu_ways.measures_products each kind of product gets the fastest of a few algorithms,
	 * measured when the kind first occurs. Other algorithms add in another order, so a resumed
	 * run needs the choices of its first part:
	 *
	 * save_choices() returns them as text, owned by the caller. load_choices() takes such a text,
	 * which may come from anywhere: ERR_DATA if it is damaged, ERR_UNAVAILABLE if another GPU or
	 * library made it; then nothing is taken. count_choices() counts those in use, and of them
	 * *measured by this process. NULL: the backend has no choice.
	 */
	char *(*save_choices)(const struct dev *d, size_t *n, struct err *e);
	int (*load_choices)(struct dev *d, const char *text, size_t n, struct err *e);
	int64_t (*count_choices)(const struct dev *d, int64_t *measured);
	/* See struct graph_key. NULL: no graphs; the caller acts as if graph_begin() returned 0. */
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
const struct ops *ops_cpu(void);  /* the variant for the vector units of this machine */
const struct ops *ops_cuda(void); /* NULL: built without CUDA */
/* Why no GPU can be used here: a clause without a full stop; NULL: a GPU can be used. */
const char *ops_cuda_unusable_reason(void);

/* Instruction sets that the CPU backend uses on this machine. */
struct cpu_features {
	const char *level;	/* "AVX-512", "AVX2" or "plain" */
	bool has_unbuilt_level; /* the machine supports a higher level than this build */
	bool bf16, vnni, tiles; /* AVX-512 BF16, (AVX-)VNNI for int8, AMX */
	bool has_slow_bf16; /* AVX-512 BF16 runs at half the rate of fp32: Intel's, see speed.md */
	bool has_unused_tiles; /* AMX is there, but the kernel or WERKBANK_TILES=0 forbids it */
};

void ops_cpu_features(struct cpu_features *m);

/*
 * Which of fp32 and bf16 a processor multiplies faster, by what it has: bf16 with tiles, or with AVX-512
 * BF16 of full rate; else fp32.
 */
bool cpu_features_prefer_bf16(const struct cpu_features *m);

/* name: auto (cuda if usable, else cpu), ref, cpu or cuda. NULL: ERR_UNAVAILABLE. */
const struct ops *ops_find(const char *name, struct err *e);

/*
 * Describe the backend o to the user, e.g. "GPU 0, NVIDIA H200 (139.1 of 139.8 GiB free)".
 * requested: the name given to ops_find(); device: index of the GPU.
 */
void ops_describe(const struct ops *o, const char *requested, int device, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
