/*
 * cpu.h - declarations shared by the files of the CPU backend. For kernels/ only.
 *
 * The vector files (cpu_activate, cpu_attention, cpu_decode, cpu_gemm, cpu_linear, cpu_loss, cpu_matmul_small,
 * cpu_norm, cpu_point, cpu_ssru, cpu_table) are compiled once for each machine level, with CPU_VARIANT set to
 * plain, v3 or v4: CPU(norm) is then cpu_norm_v4. The other files are compiled once.
 *
 * Results do not depend on the number of threads: work is split into parts whose size depends
 * on the shapes only, and the sums of the parts are added in the order of the parts.
 *
 * An op checks the dtypes of its tensors; combinations without a fast version go to ref_*().
 */
#ifndef WERKBANK_KERNELS_CPU_CPU_H
#define WERKBANK_KERNELS_CPU_CPU_H

#include "kernels/cpu/cpu_team.h"
#include "kernels/ops/ops.h"

#define CPU_JOIN2(name, variant) cpu_##name##_##variant
#define CPU_JOIN(name, variant)	 CPU_JOIN2(name, variant)
#ifdef CPU_VARIANT
#define CPU(name)	      CPU_JOIN(name, CPU_VARIANT)
#define OP(name, args, names) void CPU(name) args;
#include "kernels/ops/ops.def"
#undef OP
/* A product with few rows, without packing. False: shape or dtype not supported, nothing done. */
bool CPU(matmul_small)(struct dev *d, struct tensor out, struct tensor a, struct tensor b,
		       struct matmul_how how);
#endif

/* Scratch memory of ops, allocated at first use; grows, never shrinks. */
enum cpu_scratch {
	CPU_SCRATCH_THREADS, /* one piece for each thread */
	CPU_SCRATCH_SUMS,    /* partial sums of parts */
	CPU_SCRATCH_A,	     /* inputs of a product, rounded or packed */
	CPU_SCRATCH_B,
	CPU_SCRATCH_SINUSOID,
	CPU_SCRATCH_COUNT
};

struct dev {
	int threads;	       /* of the team */
	struct cpu_team *team; /* owned; NULL: one thread */
	bool bf16;
	struct err fault; /* the first fault since the last sync; code 0: none */
	struct {
		void *data; /* owned, 64-byte aligned */
		size_t bytes;
	} scratch[CPU_SCRATCH_COUNT];
	int64_t sinusoid_rows, sinusoid_cols; /* of the table in CPU_SCRATCH_SINUSOID; 0: none */
	bool tiles;    /* products of bf16 and int8 use the tile unit: cpu_tiles.h */
	bool avx_vnni; /* the processor multiplies 32 bytes by one instruction (AVX-VNNI) */
};

/* Functions of struct ops that are not ops; the same for all machine levels. */
struct dev *cpu_open(const struct dev_options *options, struct err *e);
void cpu_close(struct dev *d);
void *cpu_alloc(struct dev *d, size_t bytes, struct err *e);
void cpu_release(struct dev *d, void *p);
void cpu_copy(struct dev *d, void *to, const void *from, size_t bytes);
int cpu_sync(struct dev *d, struct err *e);
bool cpu_multiplies_bf16(int device);
int cpu_reserve(struct dev *d, const struct dev_limits *limits, struct err *e);

/*
 * At least n * size bytes, 64-byte aligned, not zeroed, valid until the next call with the same
 * `which`. NULL: out of memory, stored in d->fault.
 */
void *cpu_scratch(struct dev *d, enum cpu_scratch which, size_t n, size_t size);

/* Rows [first, last) of an op whose rows do not depend on each other. */
typedef void cpu_rows_work(const void *context, int64_t first, int64_t last);

/*
 * Call work() for all rows, in parallel. cols: elements of a row; from them follow the rows of a part
 * and whether threads are worth waking.
 */
void cpu_rows(struct dev *d, int64_t rows, int64_t cols, cpu_rows_work *work, const void *context);

/* Does the compiler know the tile instructions (Intel AMX)? */
#if defined(__x86_64__) && defined(__has_include)
#if __has_include(<amxtileintrin.h>) || __has_include(<amxintrin.h>)
#define CPU_COMPILES_TILES 1
#endif
#endif
#ifndef CPU_COMPILES_TILES
#define CPU_COMPILES_TILES 0
#endif

/* Does the compiler know AVX-VNNI? (-DCPU_COMPILES_AVX_VNNI=0 builds without it, to compare.) */
#if !defined(CPU_COMPILES_AVX_VNNI) && defined(__x86_64__) && defined(__has_include)
#if __has_include(<avxvnniintrin.h>)
#define CPU_COMPILES_AVX_VNNI 1
#endif
#endif
#ifndef CPU_COMPILES_AVX_VNNI
#define CPU_COMPILES_AVX_VNNI 0
#endif

/* The processor has AVX-VNNI, and this build knows it. */
bool cpu_has_avx_vnni(void);

/*
 * cpu_has_tiles(): the processor has tiles for bf16 and int8, and this build knows them.
 * cpu_can_use_tiles(): the kernel permits their use, too; the environment variable WERKBANK_TILES=0
 * switches them off.
 */
bool cpu_has_tiles(void);
bool cpu_can_use_tiles(void);

/* Threads for a loop over `elements` with a few operations each: one for each 8192 elements. */
static inline int cpu_threads(const struct dev *d, int64_t elements)
{
	return (int)MIN(MAX(elements / 8192, 1), d->threads);
}

/*
 * Rows of one partial sum: at least 32, and at most CPU_MAX_PARTS parts. A function of the shape
 * only, so that sums round alike with any number of threads.
 */
#define CPU_MAX_PARTS 128
static inline int64_t cpu_part_rows(int64_t rows)
{
	return MAX(32, CEIL_DIV(rows, CPU_MAX_PARTS));
}

static inline float *cpu_row(struct tensor t, int64_t row)
{
	return (float *)t.data + row * t.stride;
}

/* Address of a row of a float or bf16 tensor. */
static inline void *cpu_any_row(struct tensor t, int64_t row)
{
	return tensor_rows(t, row, 1).data;
}

static inline bool cpu_is_half(struct tensor t)
{
	return t.dtype == DTYPE_BF16;
}

/*
 * The table of machine level i (0: plain, 1: x86-64-v3, 2: x86-64-v4). NULL: not built, or the
 * machine does not support it.
 */
const struct ops *cpu_variant(int i);
#define CPU_VARIANTS 3

#endif
