/*
 * cpu.h - what the files of the CPU backend share. Inside kernels/ only.
 *
 * The vector files (cpu_attention, cpu_decode, cpu_few, cpu_gemm, cpu_linear, cpu_loss,
 * cpu_norm, cpu_point, cpu_table) are compiled once for each machine level with
 * CPU_VARIANT set to plain, v3 or v4; CPU(name) is then cpu_NAME_v4. The
 * others are compiled once.
 *
 * Results do not depend on the number of threads: work is split into parts
 * whose size follows from the shapes only, and sums over parts are made in
 * their order. (Products by oneDNN repeat their bits for one number of threads.)
 */
#ifndef WERKBANK_KERNELS_CPU_CPU_H
#define WERKBANK_KERNELS_CPU_CPU_H

#ifdef _OPENMP
#include <omp.h>
#endif

#include "kernels/cpu/cpu_team.h"
#include "kernels/ops/ops.h"

#define CPU_JOIN2(name, variant) cpu_##name##_##variant
#define CPU_JOIN(name, variant)	 CPU_JOIN2(name, variant)
#ifdef CPU_VARIANT
#define CPU(name)	      CPU_JOIN(name, CPU_VARIANT)
#define OP(name, args, names) void CPU(name) args;
#include "kernels/ops/ops.def"
#undef OP
/* A product of few rows without packing. False: not of that kind, make it otherwise. */
bool CPU(matmul_small)(struct dev *d, struct tensor out, struct tensor a, struct tensor b,
		       struct matmul_how how);
#endif

/* Memory that an op needs for itself; it grows at first use and is kept. */
enum cpu_scratch {
	CPU_SCRATCH_THREADS, /* a piece for each thread */
	CPU_SCRATCH_SUMS,    /* partial sums, added up at the end */
	CPU_SCRATCH_A,	     /* inputs of a product, rounded or packed */
	CPU_SCRATCH_B,
	CPU_SCRATCH_ONEDNN,
	CPU_SCRATCH_SINUSOID,
	CPU_SCRATCH_COUNT
};

struct cpu_onednn;

struct dev {
	int threads;	       /* of loops by OpenMP */
	int team_threads;      /* of loops by the team: what decoding is made of */
	struct cpu_team *team; /* owned */
	bool bf16;
	struct err fault; /* the first since the last sync; code 0: none */
	struct {
		void *data; /* owned, 64-byte aligned */
		size_t bytes;
	} scratch[CPU_SCRATCH_COUNT];
	int64_t sinusoid_rows, sinusoid_cols; /* filled in of CPU_SCRATCH_SINUSOID */
	struct cpu_onednn *onednn;	      /* owned; NULL: own products, see cpu_open() */
};

/* The common part of the table: everything above the ops of ops.def. */
struct dev *cpu_open(const struct dev_options *options, struct err *e);
void cpu_close(struct dev *d);
void *cpu_alloc(struct dev *d, size_t bytes, struct err *e);
void cpu_release(struct dev *d, void *p);
void cpu_copy(struct dev *d, void *to, const void *from, size_t bytes);
int cpu_sync(struct dev *d, struct err *e);
int cpu_reserve(struct dev *d, const struct dev_limits *most, struct err *e);

/*
 * At least n * size bytes, not zeroed, good until the next call with the same which. NULL: the
 * fault is noted in d.
 */
void *cpu_scratch(struct dev *d, enum cpu_scratch which, size_t n, size_t size);

/* Rows [first, last) of an op whose rows do not depend on each other. */
typedef void cpu_rows_work(const void *context, int64_t first, int64_t last);

/* All rows, each of cols elements of light work: by OpenMP, or by the team where that decodes. */
void cpu_rows(struct dev *d, int64_t rows, int64_t cols, cpu_rows_work *work, const void *context);

/*
 * oneDNN. open: NULL without a word when it is not built or does not work here: our own products
 * serve then.
 */
struct cpu_onednn *cpu_onednn_open(void);
bool cpu_has_tiles(void); /* AMX for bf16: what oneDNN is used for */
void cpu_onednn_close(struct cpu_onednn *o);

/*
 * One product; d->onednn must be there. to_bf16 rounds n floats. False: not done, make it
 * otherwise.
 */
typedef void cpu_to_bf16(uint16_t *to, const float *from, int64_t n);
bool cpu_onednn_matmul(struct dev *d, struct tensor out, struct tensor a, struct tensor b,
		       struct matmul_how how, cpu_to_bf16 *to_bf16);

/* How many threads are worth waking for so many elements of light work. */
static inline int cpu_threads(const struct dev *d, int64_t elements)
{
	return elements < 16384 ? 1 : d->threads;
}

static inline int cpu_team_threads(const struct dev *d, int64_t elements)
{
	return elements < 16384 ? 1 : d->team_threads;
}

static inline int cpu_thread_number(void)
{
#ifdef _OPENMP
	return omp_get_thread_num();
#else
	return 0;
#endif
}

/* Rows are summed in parts of this many, at most CPU_MOST_PARTS of them. */
#define CPU_MOST_PARTS 128
static inline int64_t cpu_part_rows(int64_t rows)
{
	return MAX(32, CEIL_DIV(rows, CPU_MOST_PARTS));
}

static inline float *cpu_row(struct tensor t, int64_t row)
{
	return (float *)t.data + row * t.stride;
}

/* The same for a tensor of either type. */
static inline void *cpu_any_row(struct tensor t, int64_t row)
{
	return tensor_rows(t, row, 1).data;
}

static inline bool cpu_is_half(struct tensor t)
{
	return t.dtype == DTYPE_BF16;
}

/*
 * The table for machine level number i (0: plain, 1: x86-64-v3, 2: x86-64-v4), NULL: not built or
 * not usable here.
 */
const struct ops *cpu_variant(int i);
#define CPU_VARIANTS 3

#endif
