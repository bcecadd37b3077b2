/*
 * cuda.cuh - declarations shared by the kernels of the GPU backend. For kernels/ only.
 *
 * The .cu files are compiled by nvcc and, for tests without a GPU, by the host compiler with the
 * simulator of tests/cudasim/. Macros hide the syntax that only nvcc understands:
 *
 *	__global__ void twice(float *x, int64_t n)
 *	{
 *		kernel_begin();
 *		SHARED(float, tile, [32][33]);
 *		…
 *	}
 *	LAUNCH(d, twice, grid, block, 0, x, n);		LAUNCH(d, (many<A, 4>), …)
 *
 * A launch stores its error in d and does not wait for the GPU.
 *
 * Kernels read and write tensors eight columns ("an eight") at a time, as floats: tensor_load8(),
 * tensor_store8(). Eight bf16 are 16 bytes, the widest access of a thread, and one Philox block
 * serves eight elements of dropout. The template argument `enum access` of nearly every kernel
 * selects the types and whether 16-byte accesses are possible; access_of(t, …, vector, …) chooses
 * it on the host from dtypes and alignment.
 */
#ifndef WERKBANK_KERNELS_CUDA_CUDA_CUH
#define WERKBANK_KERNELS_CUDA_CUDA_CUH

#include <cuda_runtime.h>

#include "kernels/cuda/cuda.h"
#include "kernels/ops/dropout.h"
#include "share/base/mem.h"

/* ---- both compilers ---------------------------------------------------------------- */

#ifdef CUDASIM
#define CUDA_LAUNCH(kernel, grid, block, shared, stream, dependent, ...)                           \
	sim_launch_kernel(sim_launch{ #kernel, NULL, grid, block, shared, stream, dependent },     \
			  kernel, __VA_ARGS__)
#define SHARED(type, name, dims)                                                                   \
	static const char name##_key = 0;                                                          \
	typedef type name##_type dims;                                                             \
	name##_type &name = *(name##_type *)sim_shared(&name##_key, sizeof(name##_type), 16)
#define SHARED_DYNAMIC(type, name) type *name = (type *)sim_shared_dynamic()
#else
#define CUDA_LAUNCH(kernel, grid, block, shared, stream, dependent, ...)                           \
	cuda_launch_kernel(kernel, grid, block, shared, stream, dependent, __VA_ARGS__)
#define SHARED(type, name, dims) __shared__ __align__(16) type name dims
#define SHARED_DYNAMIC(type, name)                                                                 \
	extern __shared__ uint4 cuda_dynamic_memory[];                                             \
	type *name = (type *)cuda_dynamic_memory
#endif

/*
 * First statement of every kernel; tests/lint.sh checks it. With gpu_ways.dependent_launch the blocks of a
 * kernel may start while the last blocks of the kernel before it in the stream still run
 * (programmatic dependent launch, CUDA C++ programming guide). Here they wait until that kernel has
 * ended and its results are visible, and allow the next kernel to start in the same way. So starts
 * overlap, memory accesses do not. Behind another launch, kernel_begin() has no effect.
 */
static __device__ __forceinline__ void kernel_begin(void)
{
#if defined(CUDASIM)
	sim_kernel_begin();
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.wait;" : : : "memory");
	asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
#endif
}

#ifndef CUDASIM
/* dependent: see kernel_begin(). Errors are those of cudaGetLastError(). */
template <class... P, class... A>
static inline void cuda_launch_kernel(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared,
				      cudaStream_t stream, bool dependent, A... arguments)
{
	cudaLaunchAttribute attribute = {};
	cudaLaunchConfig_t how = {};

	attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	attribute.val.programmaticStreamSerializationAllowed = 1;
	how.gridDim = grid;
	how.blockDim = block;
	how.dynamicSmemBytes = shared;
	how.stream = stream;
	how.attrs = &attribute;
	how.numAttrs = dependent;
	(void)cudaLaunchKernelEx(&how, kernel, arguments...);
}
#endif

#define LAUNCH(d, kernel, grid, block, shared, ...)                                                \
	do {                                                                                       \
		CUDA_LAUNCH(kernel, grid, block, shared, (d)->stream, (d)->dependent_launch,       \
			    __VA_ARGS__);                                                          \
		cuda_check(d, cudaGetLastError(), #kernel);                                        \
	} while (0)

/* Launch the instance of a kernel for this access. */
#define LAUNCH_ACCESS(d, access, kernel, grid, block, shared, ...)                                 \
	do {                                                                                       \
		switch (access) {                                                                  \
		case ACCESS_F32:                                                                   \
			LAUNCH(d, kernel<ACCESS_F32>, grid, block, shared, __VA_ARGS__);           \
			break;                                                                     \
		case ACCESS_BF16:                                                                  \
			LAUNCH(d, kernel<ACCESS_BF16>, grid, block, shared, __VA_ARGS__);          \
			break;                                                                     \
		case ACCESS_MIXED:                                                                 \
			LAUNCH(d, kernel<ACCESS_MIXED>, grid, block, shared, __VA_ARGS__);         \
			break;                                                                     \
		default:                                                                           \
			LAUNCH(d, kernel<ACCESS_ANY>, grid, block, shared, __VA_ARGS__);           \
		}                                                                                  \
	} while (0)

/* The same for a kernel with a second template argument. */
#define LAUNCH_ACCESS_WITH(d, access, kernel, with, grid, block, shared, ...)                      \
	do {                                                                                       \
		switch (access) {                                                                  \
		case ACCESS_F32:                                                                   \
			LAUNCH(d, (kernel<ACCESS_F32, with>), grid, block, shared, __VA_ARGS__);   \
			break;                                                                     \
		case ACCESS_BF16:                                                                  \
			LAUNCH(d, (kernel<ACCESS_BF16, with>), grid, block, shared, __VA_ARGS__);  \
			break;                                                                     \
		case ACCESS_MIXED:                                                                 \
			LAUNCH(d, (kernel<ACCESS_MIXED, with>), grid, block, shared, __VA_ARGS__); \
			break;                                                                     \
		default:                                                                           \
			LAUNCH(d, (kernel<ACCESS_ANY, with>), grid, block, shared, __VA_ARGS__);   \
		}                                                                                  \
	} while (0)

/* ---- the opened backend --------------------------------------------------------------- */

/* Scratch memory of ops on the device, allocated at first use or by reserve(); never shrinks. */
enum cuda_scratch {
	CUDA_SCRATCH_SUMS, /* partial sums */
	CUDA_SCRATCH_A,	   /* inputs of a product, converted */
	CUDA_SCRATCH_B,
	CUDA_SCRATCH_OUT,  /* output of a product before conversion; logits of linear_top_k */
	CUDA_SCRATCH_BLAS, /* workspace of cuBLASLt */
	CUDA_SCRATCH_BIAS, /* a bias in bf16 */
	CUDA_SCRATCH_SORT, /* keys of embed_grad */
	CUDA_SCRATCH_FREQUENCIES, /* of the position encoding */
	CUDA_SCRATCH_ATTENTION,
	CUDA_SCRATCH_COUNT
};

#define CUDA_BLAS_BYTES	  ((size_t)32 << 20) /* workspace of cuBLASLt */
#define CUDA_COLUMN_PARTS ((int64_t)1 << 16) /* floats of the parts of column_sums */
#define CUDA_FEW_ROWS	  15		     /* default of dev_options.few_rows */
#define CUDA_STAGES	  4		     /* pinned buffers of to_device() */
#define CUDA_STAGE_BYTES  ((size_t)256 << 10)

struct cuda_products;
struct cuda_graphs;

struct dev {
	int device;
	int processors;	      /* number of multiprocessors */
	int max_shared_bytes; /* greatest shared memory of a block */
	bool bf16;
	struct gpu_ways ways;
	int64_t few_rows;      /* products of more rows go to cuBLASLt */
	bool tensor_cores;     /* has tensor cores for bf16: compute capability >= 8 */
	bool dependent_launch; /* see kernel_begin() */
	cudaStream_t stream;   /* owned; all ops */
	struct err fault;      /* the first fault since the last sync; code 0: none */
	struct {
		void *data; /* owned */
		size_t bytes;
	} scratch[CUDA_SCRATCH_COUNT];
	struct {
		char *data;	  /* owned, pinned; NULL: not used yet */
		cudaEvent_t free; /* owned; recorded after the last copy from data */
	} stage[CUDA_STAGES];	  /* host staging buffers of cuda_to_device() */
	int next_stage;
	/* two host staging buffers of cuda_to_device_async(), exchanged by cuda_swap_staging() */
	cudaStream_t copies;	/* owned; copies from staging[] */
	cudaEvent_t swap_event; /* owned; after the ops called before the last swap */
	struct {
		char *data; /* owned, pinned */
		size_t bytes, used;
		cudaEvent_t copy_event; /* owned; after the copies made before the last swap */
	} staging[2];
	int next_staging;
	int64_t frequencies_width;	/* width for which CUDA_SCRATCH_FREQUENCIES is filled */
	struct cuda_products *products; /* owned; NULL: not opened yet */
	struct cuda_graphs *graphs;	/* owned; NULL: graphs are off */
};

/*
 * If error is not cudaSuccess and d->fault is empty, store a fault there. what: the failed action,
 * e.g. "copying to the GPU".
 */
void cuda_check(struct dev *d, cudaError_t error, const char *what);

/*
 * At least n * size bytes on the device, not zeroed, 256-byte aligned, valid until the next call
 * with the same `which`. NULL: out of memory, stored in d->fault.
 */
void *cuda_get_scratch(struct dev *d, enum cuda_scratch which, size_t n, size_t size);

/* out[c] += the sum over p of parts[p * cols + c], in the order of p. */
void cuda_add_parts(struct dev *d, float *out, const float *parts, int64_t n_parts, int64_t cols);

/* cuda_linear.cu: does this program hold kernels that the current GPU can run? */
bool cuda_kernels_fit(void);
/* cuda_product.cu: load and open cuBLASLt. */
void cuda_products_open(struct dev *d);
void cuda_products_close(struct cuda_products *p); /* p may be NULL */
/* cuda_graph.cu: switch graphs on; discard all graphs, because memory they use has moved. */
int cuda_graphs_open(struct dev *d, struct err *e);
void cuda_graphs_drop(struct dev *d);
void cuda_graphs_close(struct dev *d);
/* cuda_embed.cu: fill the table of frequencies for this width. */
void cuda_embed_prepare(struct dev *d, int64_t d_model);

/* ---- bf16 ------------------------------------------------------------------------------- */

/* Two bf16 in one register; the first in the lower half. */
static __device__ __forceinline__ float bf16_low(uint32_t two)
{
	return __uint_as_float(two << 16);
}

static __device__ __forceinline__ float bf16_high(uint32_t two)
{
	return __uint_as_float(two & 0xFFFF0000u);
}

static __device__ __forceinline__ uint32_t bf16_round_bits(float x)
{
	uint32_t u = __float_as_uint(x);

	if ((u & 0x7FFFFFFFu) > 0x7F800000u)
		return u >> 16 | 0x40;
	return (u + 0x7FFF + (u >> 16 & 1)) >> 16;
}

static __device__ __forceinline__ uint32_t bf16_pair(float low, float high)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
	uint32_t two;

	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
	return two;
#else
	return bf16_round_bits(low) | bf16_round_bits(high) << 16;
#endif
}

static __device__ __forceinline__ uint16_t bf16_one(float x)
{
	return (uint16_t)bf16_pair(x, 0);
}

/* x rounded to bf16, as a float. */
static __device__ __forceinline__ float bf16_rounded(float x)
{
	return bf16_low(bf16_pair(x, 0));
}

/* ---- tensors, eight columns at a time ------------------------------------------------------ */

enum access {
	ACCESS_F32,
	ACCESS_BF16,  /* both: all tensors of this type, 16-byte aligned, columns a multiple of 8 */
	ACCESS_MIXED, /* the same, but some tensors are float and some bf16 */
	ACCESS_ANY    /* anything else: element by element, with checks at the edges */
};

template <enum access A> static __device__ __forceinline__ bool is_bf16(struct tensor t)
{
	return A == ACCESS_BF16 || (A != ACCESS_F32 && t.dtype == DTYPE_BF16);
}

static __device__ __forceinline__ void bf16_unpack8(float v[8], uint4 raw)
{
	const uint32_t two[4] = { raw.x, raw.y, raw.z, raw.w };

#pragma unroll
	for (int i = 0; i < 4; i++) {
		v[2 * i] = bf16_low(two[i]);
		v[2 * i + 1] = bf16_high(two[i]);
	}
}

static __device__ __forceinline__ uint4 bf16_pack8(const float v[8])
{
	return make_uint4(bf16_pair(v[0], v[1]), bf16_pair(v[2], v[3]), bf16_pair(v[4], v[5]),
			  bf16_pair(v[6], v[7]));
}

static __device__ __forceinline__ float tensor_load1(struct tensor t, int64_t row, int64_t col)
{
	int64_t at = row * t.stride + col;

	return t.dtype == DTYPE_BF16 ? bf16_low(((const uint16_t *)t.data)[at])
				     : ((const float *)t.data)[at];
}

static __device__ __forceinline__ void tensor_store1(struct tensor t, int64_t row, int64_t col,
						     float x)
{
	int64_t at = row * t.stride + col;

	if (t.dtype == DTYPE_BF16)
		((uint16_t *)t.data)[at] = bf16_one(x);
	else
		((float *)t.data)[at] = x;
}

/* v = columns [col, col + 8) of a row; columns after the last one are 0. */
template <enum access A>
static __device__ __forceinline__ void tensor_load8(float v[8], struct tensor t, int64_t row,
						    int64_t col)
{
	int64_t at = row * t.stride + col;

	if (A == ACCESS_ANY) {
#pragma unroll
		for (int i = 0; i < 8; i++)
			v[i] = col + i < t.cols ? tensor_load1(t, row, col + i) : 0;
	} else if (is_bf16<A>(t)) {
		bf16_unpack8(v, *(const uint4 *)((const uint16_t *)t.data + at));
	} else {
		float4 a = *(const float4 *)((const float *)t.data + at),
		       b = *(const float4 *)((const float *)t.data + at + 4);

		v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
		v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
	}
}

/* One 16-byte store; without asm the compiler often splits it into four. */
static __device__ __forceinline__ void store_16_bytes(void *to, uint4 v)
{
#if defined(__CUDA_ARCH__)
	asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
		     :
		     : "l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
		     : "memory");
#else
	*(uint4 *)to = v;
#endif
}

static __device__ __forceinline__ uint4 four_floats(const float v[4])
{
	return make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]),
			  __float_as_uint(v[3]));
}

template <enum access A>
static __device__ __forceinline__ void tensor_store8(struct tensor t, int64_t row, int64_t col,
						     const float v[8])
{
	int64_t at = row * t.stride + col;

	if (A == ACCESS_ANY) {
#pragma unroll
		for (int i = 0; i < 8; i++)
			if (col + i < t.cols)
				tensor_store1(t, row, col + i, v[i]);
	} else if (is_bf16<A>(t)) {
		store_16_bytes((uint16_t *)t.data + at, bf16_pack8(v));
	} else {
		store_16_bytes((float *)t.data + at, four_floats(v));
		store_16_bytes((float *)t.data + at + 4, four_floats(v + 4));
	}
}

/* The same for a vector of floats. */
template <enum access A>
static __device__ __forceinline__ void tensor_load8(float v[8], const float *p, int64_t col,
						    int64_t cols)
{
	const struct tensor t = { (void *)p, 1, cols, cols, DTYPE_F32 };

	tensor_load8<A == ACCESS_ANY ? ACCESS_ANY : ACCESS_F32>(v, t, 0, col);
}

template <enum access A>
static __device__ __forceinline__ void tensor_store8(float *p, int64_t col, int64_t cols,
						     const float v[8])
{
	const struct tensor t = { p, 1, cols, cols, DTYPE_F32 };

	tensor_store8<A == ACCESS_ANY ? ACCESS_ANY : ACCESS_F32>(t, 0, col, v);
}

/* The eights of a tensor are numbered row by row; number i begins at (row, col). */
struct eight {
	int64_t row, col;
};

static __device__ __forceinline__ struct eight eight_at(int64_t i, int64_t eights)
{
	struct eight e;

	e.row = i / eights;
	e.col = (i - e.row * eights) * 8;
	return e;
}

/* The columns of one head. */
static __device__ __forceinline__ struct tensor head_of(struct tensor t, int32_t head,
							int32_t heads)
{
	t.cols /= heads;
	t.data = (char *)t.data + (t.dtype == DTYPE_BF16 ? 2 : 4) * head * t.cols;
	return t;
}

/* Host: the access for these tensors and float vectors; a vector may be NULL. */
static inline bool access_is_aligned(struct tensor t)
{
	return (uintptr_t)t.data % 16 == 0 && t.cols % 8 == 0 &&
	       (size_t)t.stride * dtype_bytes(t.dtype) % 16 == 0;
}

static inline bool access_is_aligned(const void *p)
{
	return (uintptr_t)p % 16 == 0;
}

static inline int access_type(struct tensor t)
{
	return t.dtype == DTYPE_BF16 ? 2 : 1;
}

static inline int access_type(const void *)
{
	return 0;
}

template <class... T> static inline enum access access_of(T... t)
{
	int types = (access_type(t) | ...);

	if (!(access_is_aligned(t) && ...))
		return ACCESS_ANY;
	return types == 1 ? ACCESS_F32 : types == 2 ? ACCESS_BF16 : ACCESS_MIXED;
}

/* ---- dropout -------------------------------------------------------------------------------- */

struct drop {
	struct rng_key key;
	uint32_t threshold; /* 0: no dropout */
	float scale;
	const uint32_t *rng_step; /* see drop_now() */
};

static inline struct drop drop_of(struct dropout how)
{
	struct drop d = { how.key, 0, 1, NULL };

	if (how.rate > 0) {
		d.threshold = dropout_threshold(how.rate);
		d.scale = dropout_scale(how.rate);
		d.rng_step = how.rng_step;
	}
	return d;
}

/*
 * The dropout of the current step, which is read from device memory: a graph that is replayed was recorded in another
 * step. A kernel with dropout calls this after kernel_begin().
 */
static __device__ __forceinline__ struct drop drop_now(struct drop d)
{
	d.key = dropout_key(d.key, d.rng_step);
	return d;
}

/* v = factors of the eight elements of one Philox block. */
static __device__ __forceinline__ void drop_block(float v[8], struct drop d, uint64_t block)
{
	struct rng_block b = rng_block_at(d.key, block);

#pragma unroll
	for (int i = 0; i < 8; i++)
		v[i] = (b.v[i >> 1] >> ((i & 1) * 16) & 0xFFFF) >= d.threshold ? d.scale : 0;
}

/* v = factors of columns [col, col + 8) of a row of a tensor with cols columns. */
template <enum access A>
static __device__ __forceinline__ void dropout_factors8(float v[8], struct drop d, int64_t row,
							int64_t col, int64_t cols)
{
	if (d.threshold == 0) {
#pragma unroll
		for (int i = 0; i < 8; i++)
			v[i] = d.scale;
	} else if (A != ACCESS_ANY) {
		drop_block(v, d, (uint64_t)(row * cols + col) >> 3);
	} else {
#pragma unroll
		for (int i = 0; i < 8; i++)
			v[i] = dropout_is_kept(d.key, (uint64_t)(row * cols + col + i), d.threshold)
				       ? d.scale
				       : 0;
	}
}

/* ---- sums over threads ------------------------------------------------------------------------ */

#define ALL_LANES 0xFFFFFFFFu

/* The sum (maximum) over the warp, on every lane; the same order of additions in every run. */
template <class T> static __device__ __forceinline__ T warp_sum(T x)
{
#pragma unroll
	for (int with = 16; with > 0; with >>= 1)
		x += __shfl_xor_sync(ALL_LANES, x, with);
	return x;
}

static __device__ __forceinline__ float warp_max(float x)
{
#pragma unroll
	for (int with = 16; with > 0; with >>= 1)
		x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, with));
	return x;
}

/*
 * The sum over a block of THREADS threads, a multiple of 32, on every thread. All threads of the
 * block call it.
 */
template <int THREADS, class T> static __device__ __forceinline__ T block_sum(T x)
{
	SHARED(T, sums, [THREADS / 32]);
	T total = 0;

	x = warp_sum(x);
	__syncthreads(); /* all threads have read the sums of the last call */
	if (threadIdx.x % 32 == 0)
		sums[threadIdx.x / 32] = x;
	__syncthreads();
#pragma unroll
	for (int i = 0; i < THREADS / 32; i++)
		total += sums[i];
	return total;
}

template <int THREADS> static __device__ __forceinline__ float block_max(float x)
{
	SHARED(float, largest, [THREADS / 32]);

	x = warp_max(x);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		largest[threadIdx.x / 32] = x;
	__syncthreads();
#pragma unroll
	for (int i = 0; i < THREADS / 32; i++)
		x = fmaxf(x, largest[i]);
	return x;
}

#define PART_ROWS 64 /* rows of a part of column sums */

/*
 * The last step of the sums of columns over a part of the rows, for a block of 32 x 8 threads and 256 columns: thread
 * (x, y) brings the sums of eight columns, from col on, over every eighth row. part[c] = the sum of column c. All
 * threads of the block call it; before a second call they need a barrier.
 */
static __device__ __forceinline__ void store_column_sums(float *part, int64_t cols, int64_t col,
							 const float sum[8])
{
	SHARED(float, sums, [8][32 * 8]);

#pragma unroll
	for (int k = 0; k < 8; k++)
		sums[threadIdx.y][k * 32 + threadIdx.x] = sum[k];
	__syncthreads();
	/* thread (x, y) sums column 8 x + y of the block */
	if (col + threadIdx.y < cols) {
		float total = 0;

#pragma unroll
		for (int k = 0; k < 8; k++)
			total += sums[k][threadIdx.y * 32 + threadIdx.x];
		part[col + threadIdx.y] = total;
	}
}

#define LOG2E 1.44269504088896340736f

/* 2^x, with a relative error of about 2^-22; results below 2^-126 are 0. */
static __device__ __forceinline__ float exp_2(float x)
{
#if defined(__CUDA_ARCH__)
	float y;

	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
#else
	return exp2f(x);
#endif
}

/* 1 / (1 + e^-x) */
static __device__ __forceinline__ float sigmoid(float x)
{
	return __fdividef(1, 1 + __expf(-x));
}

/* ---- tensor cores, one warp ----------------------------------------------------------------- */

/* For older chips the kernels are compiled empty; dev.tensor_cores prevents their launch. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define HAS_TENSOR_CORES false
#else
#define HAS_TENSOR_CORES true
#endif

/*
 * d (16, 8) += a (16, 16) b (16, 8), bf16 into float. With lane = 4 * group + t: a[0], a[1] are
 * columns 2t, 2t + 1 of rows group, group + 8; a[2], a[3] the same 8 columns later; b[0], b[1] are
 * rows 2t, 2t + 1 and 8 later of column group; d[0], d[1] are columns 2t, 2t + 1 of row group,
 * d[2], d[3] of row group + 8. (PTX ISA, mma.m16n8k16.)
 */
static __device__ __forceinline__ void mma_bf16(float d[4], const uint32_t a[4],
						const uint32_t b[2])
{
#if defined(CUDASIM)
	sim_mma_bf16(d, a, b);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
	asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
	    "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

/*
 * Four matrices of 8 rows of 16 bytes from shared memory: lane i has the address of row i % 8 of
 * matrix i / 8, and gets elements 2t, 2t + 1 of row group of each; transposed: rows 2t, 2t + 1 of
 * column group.
 */
template <bool TRANSPOSED>
static __device__ __forceinline__ void load_matrices(uint32_t out[4], const void *row)
{
#if defined(CUDASIM)
	sim_ldmatrix(out, row, 4, TRANSPOSED);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
	uint32_t at = (uint32_t)__cvta_generic_to_shared(row);

	if (TRANSPOSED)
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
			     "{%0, %1, %2, %3}, [%4];"
			     : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
			     : "r"(at)
			     : "memory");
	else
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
			     : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
			     : "r"(at)
			     : "memory");
#endif
}

/* ---- asynchronous copies into shared memory -------------------------------------------------- */

/* Copy the first `valid` (0 to 16) of 16 bytes; the rest becomes 0. */
static __device__ __forceinline__ void copy_async16(void *shared, const void *from, int valid)
{
#if defined(CUDASIM)
	sim_copy_async(shared, from, 16, valid);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
		     :
		     : "r"((uint32_t)__cvta_generic_to_shared(shared)), "l"(from), "r"(valid)
		     : "memory");
#else
	*(uint4 *)shared = valid == 16 ? *(const uint4 *)from : make_uint4(0, 0, 0, 0);
	for (int i = 0; i < valid && valid < 16; i++)
		((char *)shared)[i] = ((const char *)from)[i];
#endif
}

static __device__ __forceinline__ void copy_commit(void)
{
#if defined(CUDASIM)
	sim_copy_commit();
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
	asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}

/*
 * Wait until at most the N latest groups of this thread are still under way. A barrier must follow
 * before other threads read the data.
 */
template <int N> static __device__ __forceinline__ void copy_wait(void)
{
#if defined(CUDASIM)
	sim_copy_wait(N);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
	asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
#endif
}

#endif
