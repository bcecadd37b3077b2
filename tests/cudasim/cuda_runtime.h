/*
 * cuda_runtime.h - CUDA for the host compiler: the part that the .cu files of kernels/cuda use.
 *
 * The simulator (sim.h) is for tests only. It compiles the very same .cu files
 * as nvcc does, with this header in the place of NVIDIA's, and runs each thread
 * of a block as a fiber, one at a time, each until it has to wait for others:
 *
 *  - __syncthreads() and warp functions are real barriers. Different masks in
 *    one warp, a lane that has left, a shuffle from a lane outside the mask, and
 *    a deadlock are faults;
 *  - the order of threads, blocks and streams depends on a seed and is chosen to
 *    provoke races: without a barrier, a __syncwarp() or an event the result is
 *    wrong;
 *  - shared memory and new device memory contain NaN; device memory ends at a
 *    guard page and is invisible to the host; copies from pinned memory are
 *    done late.
 *
 * Faults are sticky errors, as in CUDA, with a message on stderr.
 */
#ifndef CUDASIM_CUDA_RUNTIME_H
#define CUDASIM_CUDA_RUNTIME_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <functional>
#include <tuple>
#include <type_traits>

#define CUDASIM	       1
#define CUDART_VERSION 13000

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

/* ---- vectors ------------------------------------------------------------------- */

struct alignas(8) float2 {
	float x, y;
};
struct alignas(16) float4 {
	float x, y, z, w;
};
struct alignas(8) int2 {
	int x, y;
};
struct alignas(16) int4 {
	int x, y, z, w;
};
struct alignas(8) uint2 {
	unsigned x, y;
};
struct alignas(16) uint4 {
	unsigned x, y, z, w;
};
struct uint3 {
	unsigned x, y, z;
};

struct dim3 {
	unsigned x, y, z;
	dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
	{
	}
};

static inline float2 make_float2(float x, float y)
{
	return float2{ x, y };
}
static inline float4 make_float4(float x, float y, float z, float w)
{
	return float4{ x, y, z, w };
}
static inline int2 make_int2(int x, int y)
{
	return int2{ x, y };
}
static inline int4 make_int4(int x, int y, int z, int w)
{
	return int4{ x, y, z, w };
}
static inline uint2 make_uint2(unsigned x, unsigned y)
{
	return uint2{ x, y };
}
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
	return uint4{ x, y, z, w };
}

/* ---- the running thread ---------------------------------------------------------- */

struct sim_place { /* of the running thread; block.cc */
	uint3 thread, block;
	dim3 block_dim, grid_dim;
	int lane;
};
extern struct sim_place sim_now;
#define threadIdx (sim_now.thread)
#define blockIdx  (sim_now.block)
#define blockDim  (sim_now.block_dim)
#define gridDim	  (sim_now.grid_dim)
#define warpSize  32

/* Report a fault of the kernel, and end the kernel. */
void sim_fault(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Shared memory of the block: the same address for all threads with the same key. */
void *sim_shared(const void *key, size_t bytes, size_t align);
void *sim_shared_dynamic(void);

/* Barrier of the block; returns the number of threads with a predicate that is not 0. */
int sim_barrier(int predicate);
void sim_kernel_begin(void); /* kernel_begin() of cuda.cuh */

/*
 * Barrier of the lanes in mask. The last lane calls joint() with the argument of each lane (NULL:
 * not in the mask).
 */
typedef void sim_joint(void *const *given, unsigned mask);
void sim_warp(unsigned mask, sim_joint *joint, void *given);

/* ---- warp functions ----------------------------------------------------------------- */

static inline void __syncthreads(void)
{
	(void)sim_barrier(0);
}
static inline int __syncthreads_count(int p)
{
	return sim_barrier(p != 0);
}
static inline int __syncthreads_or(int p)
{
	return sim_barrier(p != 0) != 0;
}
static inline int __syncthreads_and(int p)
{
	return sim_barrier(p == 0) == 0;
}

template <class T> struct sim_shuffle {
	T value, got;
	int from;
};

template <class T> static void sim_shuffle_joint(void *const *given, unsigned mask)
{
	for (int i = 0; i < 32; i++) {
		struct sim_shuffle<T> *me = (struct sim_shuffle<T> *)given[i];

		if (!(mask >> i & 1))
			continue;
		if (!(mask >> me->from & 1))
			sim_fault("lane %d shuffles from lane %d, which is not in the mask 0x%x", i,
				  me->from, mask);
		me->got = ((struct sim_shuffle<T> *)given[me->from])->value;
	}
}

template <class T> static inline T sim_shuffle_from(unsigned mask, T value, int from)
{
	struct sim_shuffle<T> s = {
		value, value, from
	};

	sim_warp(mask, sim_shuffle_joint<T>, &s);
	return s.got;
}

template <class T> static inline T __shfl_sync(unsigned mask, T v, int from, int width = 32)
{
	return sim_shuffle_from(mask, v, (sim_now.lane & ~(width - 1)) | (from & (width - 1)));
}

template <class T> static inline T __shfl_xor_sync(unsigned mask, T v, int with, int width = 32)
{
	int from = sim_now.lane ^ with;

	return sim_shuffle_from(mask, v, from > (sim_now.lane | (width - 1)) ? sim_now.lane : from);
}

template <class T> static inline T __shfl_down_sync(unsigned mask, T v, int by, int width = 32)
{
	int from = sim_now.lane + by;

	return sim_shuffle_from(mask, v, from > (sim_now.lane | (width - 1)) ? sim_now.lane : from);
}

template <class T> static inline T __shfl_up_sync(unsigned mask, T v, int by, int width = 32)
{
	int from = sim_now.lane - by;

	return sim_shuffle_from(mask, v,
				from < (sim_now.lane & ~(width - 1)) ? sim_now.lane : from);
}

void __syncwarp(unsigned mask = 0xFFFFFFFFu);
unsigned __ballot_sync(unsigned mask, int predicate);
unsigned __match_any_sync(unsigned mask, unsigned value);
static inline int __any_sync(unsigned mask, int p)
{
	return __ballot_sync(mask, p) != 0;
}
static inline int __all_sync(unsigned mask, int p)
{
	return __ballot_sync(mask, !p) == 0;
}

/* d (16, 8) += a (16, 16) b (16, 8) in the fragments of mma.sync.m16n8k16, bf16 into float. */
void sim_mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2]);
/* ldmatrix: n (1, 2 or 4) matrices of 8 rows of 16 bytes; lane i of each 8 has the address of a row. */
void sim_ldmatrix(uint32_t *out, const void *row, int n, bool transposed);
/* Asynchronous copies arrive at a wait: then all but the latest n groups have arrived. */
void sim_copy_async(void *to, const void *from, int bytes, int valid);
void sim_copy_commit(void);
void sim_copy_wait(int n);

/* ---- atomics: only one thread runs at a time -------------------------------------------- */

template <class T> static inline T sim_swap(T *p, T v)
{
	T old = *p;

	*p = v;
	return old;
}

template <class T> static inline T atomicAdd(T *p, T v)
{
	return sim_swap(p, (T)(*p + v));
}
template <class T> static inline T atomicMax(T *p, T v)
{
	return sim_swap(p, *p > v ? *p : v);
}
template <class T> static inline T atomicMin(T *p, T v)
{
	return sim_swap(p, *p < v ? *p : v);
}
template <class T> static inline T atomicOr(T *p, T v)
{
	return sim_swap(p, (T)(*p | v));
}
template <class T> static inline T atomicExch(T *p, T v)
{
	return sim_swap(p, v);
}
template <class T> static inline T atomicCAS(T *p, T old, T v)
{
	return sim_swap(p, *p == old ? v : *p);
}
static inline void __threadfence(void)
{
}
static inline void __threadfence_block(void)
{
}

/* ---- arithmetic ------------------------------------------------------------------- */

template <class To, class From> static inline To sim_bits(From x)
{
	To y;

	static_assert(sizeof(To) == sizeof(From), "bits of one kind as another");
	memcpy(&y, &x, sizeof(y));
	return y;
}

static inline unsigned __float_as_uint(float x)
{
	return sim_bits<unsigned>(x);
}
static inline int __float_as_int(float x)
{
	return sim_bits<int>(x);
}
static inline float __uint_as_float(unsigned x)
{
	return sim_bits<float>(x);
}
static inline float __int_as_float(int x)
{
	return sim_bits<float>(x);
}
#define __expf(x) expf(x) /* the C library has functions of these names, too */
#define __logf(x) logf(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
static inline float __fdividef(float x, float y)
{
	return x / y;
}
static inline float rsqrtf(float x)
{
	return 1 / sqrtf(x);
}
static inline int __popc(unsigned x)
{
	return __builtin_popcount(x);
}
static inline int __clz(unsigned x)
{
	return x ? __builtin_clz(x) : 32;
}
static inline int __ffs(unsigned x)
{
	return __builtin_ffs((int)x);
}
static inline int __float2int_rn(float x)
{
	return (int)rintf(x);
}
static inline float __int2float_rn(int x)
{
	return (float)x;
}
int __dp4a(int a, int b, int c);
template <class T> static inline T __ldg(const T *p)
{
	return *p;
}
template <class T> static inline T __ldcs(const T *p)
{
	return *p;
}
template <class T> static inline void __stcs(T *p, T v)
{
	*p = v;
}
template <class T> static inline T min(T a, T b)
{
	return a < b ? a : b;
}
template <class T> static inline T max(T a, T b)
{
	return a > b ? a : b;
}

/* ---- the runtime --------------------------------------------------------------------- */

extern "C++" {

enum cudaError_t {
	cudaSuccess = 0,
	cudaErrorInvalidValue = 1,
	cudaErrorMemoryAllocation = 2,
	cudaErrorInvalidConfiguration = 9,
	cudaErrorInsufficientDriver = 35,
	cudaErrorNoDevice = 100,
	cudaErrorInvalidDevice = 101,
	cudaErrorNoKernelImageForDevice = 209,
	cudaErrorInvalidResourceHandle = 400,
	cudaErrorNotReady = 600,
	cudaErrorLaunchFailure = 719,
	cudaErrorStreamCaptureUnsupported = 900,
	cudaErrorStreamCaptureInvalidated = 901,
	cudaErrorStreamCaptureUnjoined = 904,
	cudaErrorStreamCaptureIsolation = 905,
};

enum cudaMemcpyKind {
	cudaMemcpyHostToHost,
	cudaMemcpyHostToDevice,
	cudaMemcpyDeviceToHost,
	cudaMemcpyDeviceToDevice,
	cudaMemcpyDefault
};

enum cudaDeviceAttr {
	cudaDevAttrMultiProcessorCount = 16,
	cudaDevAttrComputeCapabilityMajor = 75,
	cudaDevAttrComputeCapabilityMinor = 76,
	cudaDevAttrL2CacheSize = 38,
	cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
};

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };

#define cudaStreamNonBlocking  1u
#define cudaEventDefault       0u
#define cudaEventDisableTiming 2u
#define cudaHostAllocDefault   0u

typedef struct sim_stream *cudaStream_t;
typedef struct sim_event *cudaEvent_t;
typedef struct sim_graph *cudaGraph_t;
typedef struct sim_graph *cudaGraphExec_t;

const char *cudaGetErrorString(cudaError_t e);
const char *cudaGetErrorName(cudaError_t e);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetDeviceCount(int *n);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device);
struct cudaDeviceProp {
	char name[256];
};
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMallocHost(void **p, size_t bytes);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
			    cudaStream_t s);
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t s);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags, int priority);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaStreamDestroy(cudaStream_t s);
cudaError_t cudaStreamSynchronize(cudaStream_t s);
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags = 0);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t e);
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s);
cudaError_t cudaEventQuery(cudaEvent_t e);
cudaError_t cudaEventSynchronize(cudaEvent_t e);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g);
cudaError_t cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus *status);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *x, cudaGraph_t g, unsigned long long flags = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t x, cudaStream_t s);
cudaError_t cudaGraphDestroy(cudaGraph_t g);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t x);
struct cudaFuncAttributes {
	int binaryVersion;
};
/* Fails while sim_pretend_unfit() says that no kernel fits. */
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *facts, const void *kernel);
cudaError_t sim_set_shared_limit(const void *kernel, int bytes);

template <class F>
static inline cudaError_t cudaFuncSetAttribute(F *kernel, enum cudaFuncAttribute, int bytes)
{
	return sim_set_shared_limit((const void *)kernel, bytes);
}
}

/* ---- launches ------------------------------------------------------------------------- */

struct sim_launch {
	const char *name; /* of the kernel, as it is written */
	const void *kernel;
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
	bool dependent; /* programmatic dependent launch: see sim_kernel_begin() */
};

/* Check: an argument that is a pointer points to device memory, or is NULL. */
void sim_check_pointer(const struct sim_launch *l, const void *p);
void sim_enqueue_kernel(const struct sim_launch *l, std::function<void()> body);

template <class T> static inline void sim_check_argument(const struct sim_launch *l, T a)
{
	if constexpr (std::is_pointer_v<T>)
		sim_check_pointer(l, (const void *)a);
	else
		(void)l, (void)a;
}

template <class... P, class... A>
static inline void sim_launch_kernel(struct sim_launch l, void (*kernel)(P...), A... a)
{
	std::tuple<std::remove_cv_t<P>...> kept(a...);

	l.kernel = (const void *)kernel;
	(sim_check_argument(&l, a), ...);
	sim_enqueue_kernel(&l, [=] { std::apply(kernel, kept); });
}

#endif
