/*
 * cuda.cuh - what the kernels of the GPU backend share. Inside kernels/ only.
 *
 * The same files are read by nvcc and, for tests without a GPU, by the host
 * compiler with the simulator of tests/cudasim/. What only nvcc understands is
 * behind macros here:
 *
 *	__global__ void twice(float *x, int64_t n) { SHARED(float, tile, [32][33]); … }
 *	LAUNCH(d, twice, grid, block, 0, x, n);		LAUNCH(d, (many<A, 4>), …)
 *
 * A launch notes its error in d; nobody waits for the GPU before sync.
 *
 * Tensors are read and written eight columns at a time, as floats: tensor_load8(),
 * tensor_store8(). How that is done is the template argument of nearly every kernel:
 * access_of(t, …, vector, …) on the host looks at types and alignment.
 * Eight columns are also what one block of random numbers serves.
 */
#ifndef WERKBANK_KERNELS_CUDA_CUDA_CUH
#define WERKBANK_KERNELS_CUDA_CUDA_CUH

#include <cuda_runtime.h>

#include "kernels/cuda/cuda.h"
#include "kernels/ops/dropout.h"
#include "share/base/mem.h"

/* ---- both compilers ---------------------------------------------------------------- */

#ifdef CUDASIM
#define CUDA_LAUNCH(kernel, grid, block, shared, stream, ...)                                      \
	sim_launch_kernel(sim_launch{ #kernel, NULL, grid, block, shared, stream }, kernel,        \
			  __VA_ARGS__)
#define SHARED(type, name, dims)                                                                   \
	static const char name##_key = 0;                                                          \
	typedef type name##_type dims;                                                             \
	name##_type &name = *(name##_type *)sim_shared(&name##_key, sizeof(name##_type), 16)
#define SHARED_DYNAMIC(type, name) type *name = (type *)sim_shared_dynamic()
#else
#define CUDA_LAUNCH(kernel, grid, block, shared, stream, ...)                                      \
	kernel<<<grid, block, shared, stream>>>(__VA_ARGS__)
#define SHARED(type, name, dims) __shared__ __align__(16) type name dims
#define SHARED_DYNAMIC(type, name)                                                                 \
	extern __shared__ uint4 cuda_dynamic_memory[];                                             \
	type *name = (type *)cuda_dynamic_memory
#endif

#define LAUNCH(d, kernel, grid, block, shared, ...)                                                \
	do {                                                                                       \
		CUDA_LAUNCH(kernel, grid, block, shared, (d)->stream, __VA_ARGS__);                \
		cuda_check(d, cudaGetLastError(), #kernel);                                        \
	} while (0)

/* One launch for each way of access. */
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

/* ---- the opened backend --------------------------------------------------------------- */

/* Memory that an op needs for itself; it grows at first use, or in reserve, and is kept. */
enum cuda_scratch {
	CUDA_SCRATCH_SUMS, /* partial sums */
	CUDA_SCRATCH_A,	   /* inputs of a product in another type */
	CUDA_SCRATCH_B,
	CUDA_SCRATCH_OUT,
	CUDA_SCRATCH_BLAS, /* cuBLASLt's own */
	CUDA_SCRATCH_SORT,
	CUDA_SCRATCH_FREQUENCIES, /* of positions, for the embedding */
	CUDA_SCRATCH_ATTENTION,
	CUDA_SCRATCH_COUNT
};

#define CUDA_BLAS_BYTES	 ((size_t)32 << 20) /* cuBLASLt's own */
#define CUDA_STAGES	 4
#define CUDA_STAGE_BYTES ((size_t)256 << 10)

struct cuda_products;
struct cuda_graphs;

struct dev {
	int device;
	int processors;	      /* multiprocessors */
	int max_shared_bytes; /* bytes of shared memory that a block may ask for */
	bool bf16;
	bool tensor_cores;   /* of bf16: from compute capability 8 on */
	cudaStream_t stream; /* owned */
	struct err fault;    /* the first since the last sync; code 0: none */
	struct {
		void *data; /* owned */
		size_t bytes;
	} scratch[CUDA_SCRATCH_COUNT];
	struct {
		char *data;	  /* owned, pinned; NULL: not needed yet */
		cudaEvent_t free; /* owned; what was copied from it has arrived */
	} stage[CUDA_STAGES];
	int next_stage;
	/* what is sent ahead, by turns from two pieces of pinned memory: cuda_to_device_async() */
	cudaStream_t copies;	/* owned */
	cudaEvent_t swap_event; /* owned: what was called before the last turn has ended */
	struct {
		char *data; /* owned, pinned */
		size_t bytes, used;
		cudaEvent_t copy_event; /* owned */
	} staging[2];
	int next_staging;
	int64_t frequencies_width;	/* the width that CUDA_SCRATCH_FREQUENCIES is filled for */
	struct cuda_products *products; /* owned; NULL: none yet */
	struct cuda_graphs *graphs;	/* owned; NULL: not wanted */
};

/* Note that this call failed, unless something did before. */
void cuda_check(struct dev *d, cudaError_t error, const char *what);

/*
 * At least n * size bytes on the device, not zeroed, 256-byte aligned, good until the next call
 * with the same which. NULL: the fault is noted.
 */
void *cuda_get_scratch(struct dev *d, enum cuda_scratch which, size_t n, size_t size);

/* out[c] += the sum over p of parts[p * cols + c], in the order of p. */
void cuda_add_parts(struct dev *d, float *out, const float *parts, int64_t n_parts, int64_t cols);

/* cuda_linear.cu: open the library. */
void cuda_products_open(struct dev *d);
void cuda_products_close(struct cuda_products *p);
/* cuda_graph.cu: graphs from now on; forget all, as their arguments are no longer true. */
int cuda_graphs_open(struct dev *d, struct err *e);
void cuda_graphs_drop(struct dev *d);
void cuda_graphs_close(struct dev *d);
/* cuda_embed.cu: fill what the embedding of this width reads. */
void cuda_embed_prepare(struct dev *d, int64_t d_model);

/* ---- bf16 ------------------------------------------------------------------------------- */

/* Two of them in one register, the lower first. */
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

/* x as bf16 knows it. */
static __device__ __forceinline__ float bf16_rounded(float x)
{
	return bf16_low(bf16_pair(x, 0));
}

/* ---- tensors, eight columns at a time ------------------------------------------------------ */

enum access {
	ACCESS_F32,
	ACCESS_BF16,  /* rows of whole eights, 16-byte aligned, all of one type */
	ACCESS_MIXED, /* the same, of both types */
	ACCESS_ANY    /* anything else: element by element, edges checked */
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

/* v = columns [col, col + 8) of a row; what lies behind the last column is 0. */
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

/* Sixteen bytes of global memory in one access: left alone, the compiler often makes four of it. */
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

/* The same of a vector of floats. */
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

/* Host: how may these be read and written? A NULL vector is no obstacle. */
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
	uint32_t threshold; /* 0: everything is kept */
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

/* A kernel that drops begins with this: the host may have told it long before the moment was known. */
static __device__ __forceinline__ struct drop drop_now(struct drop d)
{
	d.key = dropout_key(d.key, d.rng_step);
	return d;
}

/* What dropout multiplies the eight elements of one block of random numbers by. */
static __device__ __forceinline__ void drop_block(float v[8], struct drop d, uint64_t block)
{
	struct rng_block b = rng_block_at(d.key, block);

#pragma unroll
	for (int i = 0; i < 8; i++)
		v[i] = (b.v[i >> 1] >> ((i & 1) * 16) & 0xFFFF) >= d.threshold ? d.scale : 0;
}

/* What dropout multiplies columns [col, col + 8) of a tensor's row by, cols wide. */
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
	__syncthreads(); /* whoever still reads the sums of the last call */
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

/* ---- tensor cores, one warp ----------------------------------------------------------------- */

/* Kernels for chips that have none for bf16 are left empty, and nobody starts them: dev.tensor_cores. */
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

/* ---- copies into shared memory that arrive later ------------------------------------------- */

/* 16 bytes, of which the first valid ones (0 to 16) come from there; the rest becomes 0. */
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

/* Wait until all but this thread's latest N groups have arrived; a barrier for the others follows. */
template <int N> static __device__ __forceinline__ void copy_wait(void)
{
#if defined(CUDASIM)
	sim_copy_wait(N);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
	asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
#endif
}

#endif
