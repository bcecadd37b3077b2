/*
 * cuda_dev.cu - the opened GPU: errors, memory, copies to and from the host.
 *
 * All ops are enqueued in one stream and run in order. A failed call stores the first fault in the
 * device (cuda_check()); sync() waits and reports it. Ops after a fault may compute garbage.
 *
 * Copies to the GPU go through pinned host memory ("staging"), because only such copies are
 * asynchronous:
 *
 *	to_device()	 4 buffers of 256 KiB, in turn, in the stream of the ops. An event after each
 *			 copy tells when its buffer may be overwritten.
 *	to_device_async() 2 buffers of the size of a batch, in a stream of its own:
 *
 *		ops	 | step 1 (buffer 0) | step 2 (buffer 1) | step 3 (buffer 0) |
 *		copies	 | batch 2 -> 1      | batch 3 -> 0	 | batch 4 -> 1	     |
 *				   swap_staging()      swap_staging()
 *
 *	A swap records one event in each stream and lets the other stream wait for it. So ops after
 *	the swap see the copies before it, and copies after it do not overwrite memory that earlier
 *	ops read. The host waits only if it is two steps ahead of the GPU.
 *
 * reserve() allocates all scratch memory for the largest batch before training starts, so an
 * out-of-memory fault appears at the start of a run. memory_needs() computes the same sum without
 * a GPU.
 */
#include "kernels/cuda/cuda.cuh"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda_blas.h"

/* ---- can a GPU be used? ---------------------------------------------------------------- */

/* The greatest compute capability of the n GPUs. False: unknown. */
static bool find_newest_capability(int n, int *newest)
{
	bool is_known = false;

	*newest = 0;
	for (int i = 0; i < n; i++) {
		int major;

		if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, i) !=
		    cudaSuccess)
			continue;
		is_known = true;
		*newest = MAX(*newest, major);
	}
	return is_known;
}

static bool find_unusable_reason(char *text, size_t size)
{
	int n = 0, major = 0, driver = 0;
	cudaError_t error = cudaGetDeviceCount(&n);
	const char *why;

	(void)cudaGetLastError();
	if (error != cudaSuccess || n == 0) {
		(void)cudaDriverGetVersion(&driver);
		if (driver == 0)
			snprintf(text, size, "there is no NVIDIA driver on this machine");
		else
			snprintf(text, size, "the NVIDIA driver (CUDA %d.%d) finds no GPU: %s",
				 driver / 1000, driver % 1000 / 10, cudaGetErrorString(error));
		return true;
	}
	if (find_newest_capability(n, &major) && major < 7) {
		snprintf(text, size, "the GPU has compute capability %d, required is 7 or later",
			 major);
		return true;
	}
	if (!cuda_blas_load(&why)) {
		snprintf(text, size, "%s", why);
		return true;
	}
	return false;
}

const char *cuda_unusable_reason(void)
{
	static char text[400];

	return find_unusable_reason(text, sizeof(text)) ? text : NULL;
}

bool cuda_usable(void)
{
	return !cuda_unusable_reason();
}

bool cuda_multiplies_bf16(int device)
{
	int major;

	if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) !=
	    cudaSuccess) {
		(void)cudaGetLastError();
		return false;
	}
	return major >= 8;
}

/* *count = number of GPUs; ERR_UNAVAILABLE: none has the number `device`. */
static int find_device(int device, int *count, struct err *e)
{
	*count = 0;
	if (cudaGetDeviceCount(count) != cudaSuccess)
		(void)cudaGetLastError();
	if (device >= 0 && device < *count)
		return 0;
	return err_set(
		e, ERR_UNAVAILABLE,
		"GPU %d does not exist: this host has %d, numbered from 0; "
		"start at most one rank for each GPU of a host, or choose the first with --gpu",
		device, *count);
}

int cuda_query_device(int device, struct dev_info *facts, struct err *e)
{
	struct cudaDeviceProp prop;

	memset(facts, 0, sizeof(*facts));
	if (find_device(device, &facts->count, e))
		return e->code;
	if (cudaGetDeviceProperties(&prop, device) == cudaSuccess)
		snprintf(facts->name, sizeof(facts->name), "%.90s", prop.name);
	if (cudaSetDevice(device) != cudaSuccess ||
	    cudaMemGetInfo(&facts->free_bytes, &facts->total_bytes) != cudaSuccess)
		return err_set(e, ERR_UNAVAILABLE, "GPU %d: %s", device,
			       cudaGetErrorString(cudaGetLastError()));
	return 0;
}

/* ---- errors ---------------------------------------------------------------------------- */

void cuda_check(struct dev *d, cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	/* the runtime keeps it as its last error, too: a launch after sync() must not report it again */
	(void)cudaGetLastError();
	if (d->fault.code)
		return;
	err_set(&d->fault, error == cudaErrorMemoryAllocation ? ERR_NOMEM : ERR_INTERNAL,
		"GPU %d: %s: %s (%s)", d->device, what, cudaGetErrorString(error),
		cudaGetErrorName(error));
}

int cuda_sync(struct dev *d, struct err *e)
{
	int rc;

	cuda_check(d, cudaStreamSynchronize(d->stream), "waiting for kernels");
	rc = d->fault.code;
	if (rc) {
		err_set(e, rc, "%s", d->fault.text);
		d->fault.code = 0;
	}
	return rc;
}

/* ---- open and close --------------------------------------------------------------------- */

static void prepare_device(struct dev *d)
{
	int major = 0;

	cuda_check(d, cudaSetDevice(d->device), "selecting the GPU");
	cuda_check(
		d,
		cudaDeviceGetAttribute(&d->processors, cudaDevAttrMultiProcessorCount, d->device),
		"reading the number of multiprocessors");
	cuda_check(d,
		   cudaDeviceGetAttribute(&d->max_shared_bytes,
					  cudaDevAttrMaxSharedMemoryPerBlockOptin, d->device),
		   "reading the size of shared memory");
	cuda_check(d, cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, d->device),
		   "reading the compute capability");
	d->tensor_cores = major >= 8;
	d->dependent_launch = d->ways.dependent_launch && major >= 9;
	if (!d->fault.code && !cuda_kernels_fit())
		err_set(&d->fault, ERR_UNAVAILABLE,
			"GPU %d has compute capability %d, and this program has no kernels for it: "
			"build it again with NVCC_GENCODE for this GPU",
			d->device, major);
	if (d->fault.code)
		return;
	cuda_check(d, cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking),
		   "creating a stream");
	cuda_check(d, cudaStreamCreateWithFlags(&d->copies, cudaStreamNonBlocking),
		   "creating a stream");
	cuda_check(d, cudaEventCreateWithFlags(&d->swap_event, cudaEventDisableTiming),
		   "creating an event");
	for (int i = 0; i < 2; i++)
		cuda_check(
			d,
			cudaEventCreateWithFlags(&d->staging[i].copy_event, cudaEventDisableTiming),
			"creating an event");
}

struct dev *cuda_open(const struct dev_options *options, struct err *e)
{
	int count;
	struct dev *d = find_device(options->device, &count, e)
				? NULL
				: (struct dev *)mem_alloc(1, sizeof(*d), e);

	if (!d)
		return NULL;
	d->device = options->device;
	d->bf16 = options->bf16;
	d->ways = options->ways;
	/* training: bits must not depend on the number of padding rows */
	d->few_rows = options->few_rows	     ? options->few_rows
		      : options->is_decoding ? CUDA_FEW_ROWS
					     : 0;
	prepare_device(d);
	if (d->fault.code)
		err_set(e, ERR_UNAVAILABLE, "%s", d->fault.text);
	if (d->fault.code || (options->graphs && cuda_graphs_open(d, e))) {
		cuda_close(d);
		return NULL;
	}
	return d;
}

void cuda_close(struct dev *d)
{
	if (!d)
		return;
	cuda_graphs_close(d);
	cuda_products_close(d->products);
	for (int i = 0; i < CUDA_SCRATCH_COUNT; i++)
		(void)cudaFree(d->scratch[i].data);
	for (int i = 0; i < CUDA_STAGES; i++) {
		if (d->stage[i].free)
			(void)cudaEventDestroy(d->stage[i].free);
		(void)cudaFreeHost(d->stage[i].data);
	}
	for (int i = 0; i < 2; i++) {
		if (d->staging[i].copy_event)
			(void)cudaEventDestroy(d->staging[i].copy_event);
		(void)cudaFreeHost(d->staging[i].data);
	}
	if (d->swap_event)
		(void)cudaEventDestroy(d->swap_event);
	if (d->copies)
		(void)cudaStreamDestroy(d->copies);
	if (d->stream)
		(void)cudaStreamDestroy(d->stream);
	free(d);
}

/* ---- memory ------------------------------------------------------------------------------ */

void *cuda_alloc(struct dev *d, size_t bytes, struct err *e)
{
	void *p = NULL;
	cudaError_t error = bytes > SIZE_MAX / 2 ? cudaErrorMemoryAllocation
						 : cudaMalloc(&p, MAX(bytes, (size_t)1));
	size_t free_bytes = 0, total = 0;

	if (error == cudaSuccess) {
		cuda_check(d, cudaMemsetAsync(p, 0, MAX(bytes, (size_t)1), d->stream),
			   "clearing memory");
		/* copies in another stream may write this memory next */
		cuda_check(d, cudaStreamSynchronize(d->stream), "clearing memory");
		return p;
	}
	(void)cudaGetLastError();
	(void)cudaMemGetInfo(&free_bytes, &total);
	if (error == cudaErrorMemoryAllocation)
		err_set(e, ERR_NOMEM,
			"GPU %d: out of memory: cannot allocate %zu MiB, %zu of %zu MiB are free",
			d->device, bytes >> 20, free_bytes >> 20, total >> 20);
	else
		err_set(e, ERR_INTERNAL, "GPU %d: allocation of %zu bytes: %s", d->device, bytes,
			cudaGetErrorString(error));
	return NULL;
}

void cuda_release(struct dev *d, void *p)
{
	(void)d;
	(void)cudaFree(p); /* waits for ops that use p */
}

static void *grow_scratch(struct dev *d, enum cuda_scratch which, size_t bytes)
{
	void *bigger = NULL;

	cuda_graphs_drop(d); /* they contain the old address */
	cuda_check(d, cudaMalloc(&bigger, bytes), "allocating scratch memory");
	if (!bigger)
		return NULL;
	(void)cudaFree(d->scratch[which].data);
	d->scratch[which].data = bigger;
	d->scratch[which].bytes = bytes;
	return bigger;
}

void *cuda_get_scratch(struct dev *d, enum cuda_scratch which, size_t n, size_t size)
{
	size_t bytes;

	assert(which < CUDA_SCRATCH_COUNT);
	if (!mem_mul(n, size, &bytes) || bytes > SIZE_MAX / 2) {
		cuda_check(d, cudaErrorMemoryAllocation, "allocating scratch memory");
		return NULL;
	}
	if (d->scratch[which].data && bytes <= d->scratch[which].bytes)
		return d->scratch[which].data;
	/* a quarter more, so that slowly growing needs do not allocate at each call */
	return grow_scratch(d, which, bytes + bytes / 4 + 256);
}

/* ---- copies ------------------------------------------------------------------------------- */

/* Index of the next staging buffer, after its last copy has ended; -1: a fault. */
static int acquire_stage(struct dev *d)
{
	int i = d->next_stage;

	if (d->fault.code)
		return -1;
	if (!d->stage[i].data) {
		cuda_check(d, cudaMallocHost((void **)&d->stage[i].data, CUDA_STAGE_BYTES),
			   "allocating pinned memory");
		if (!d->fault.code)
			cuda_check(
				d,
				cudaEventCreateWithFlags(&d->stage[i].free, cudaEventDisableTiming),
				"creating an event");
	} else {
		cuda_check(d, cudaEventSynchronize(d->stage[i].free), "waiting for a copy");
	}
	d->next_stage = (i + 1) % CUDA_STAGES;
	return d->fault.code ? -1 : i;
}

/* Waits only if copies from all staging buffers are still running. */
void cuda_to_device(struct dev *d, void *to, const void *from, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += CUDA_STAGE_BYTES) {
		size_t n = MIN(bytes - at, CUDA_STAGE_BYTES);
		int i = acquire_stage(d);

		if (i < 0)
			return;
		memcpy(d->stage[i].data, (const char *)from + at, n);
		cuda_check(d,
			   cudaMemcpyAsync((char *)to + at, d->stage[i].data, n,
					   cudaMemcpyHostToDevice, d->stream),
			   "copying to the GPU");
		cuda_check(d, cudaEventRecord(d->stage[i].free, d->stream), "recording an event");
	}
}

void cuda_to_host(struct dev *d, void *to, const void *from, size_t bytes)
{
	if (!bytes)
		return;
	cuda_check(d, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, d->stream),
		   "copying from the GPU");
	cuda_check(d, cudaStreamSynchronize(d->stream), "waiting for a copy");
}

/* Through a staging buffer, if bytes fit: a copy to pageable memory would wait a second time. */
int cuda_to_host_and_sync(struct dev *d, void *to, const void *from, size_t bytes, struct err *e)
{
	const int i = bytes <= CUDA_STAGE_BYTES ? acquire_stage(d) : -1;
	int rc;

	if (i < 0)
		cuda_to_host(d, to, from, bytes);
	else if (bytes)
		cuda_check(d,
			   cudaMemcpyAsync(d->stage[i].data, from, bytes, cudaMemcpyDeviceToHost,
					   d->stream),
			   "copying from the GPU");
	rc = cuda_sync(d, e);
	if (i >= 0 && !rc)
		memcpy(to, d->stage[i].data, bytes);
	return rc;
}

/* ---- asynchronous copies of the next batch --------------------------------------------------- */

static size_t staging_bytes(size_t wanted)
{
	return wanted + wanted / 4;
}

/*
 * Space for `bytes` (a multiple of 64) in the current staging buffer; NULL: a fault. Its first use
 * after a swap waits for the copies made two swaps ago, which are done unless the host is that far
 * ahead of the GPU.
 */
static char *acquire_staging(struct dev *d, size_t bytes)
{
	auto *half = &d->staging[d->next_staging];

	assert(bytes % 64 == 0 || !half->used);
	if (d->fault.code)
		return NULL;
	if (!half->used)
		cuda_check(d, cudaEventSynchronize(half->copy_event), "waiting for a copy");
	if (half->used + bytes > half->bytes) {
		cuda_check(d, cudaStreamSynchronize(d->copies), "waiting for copies");
		(void)cudaFreeHost(half->data);
		half->data = NULL;
		half->bytes = 0;
		cuda_check(d, cudaMallocHost((void **)&half->data, staging_bytes(bytes)),
			   "allocating pinned memory");
		if (d->fault.code)
			return NULL;
		half->bytes = staging_bytes(bytes);
		half->used = 0;
	}
	return half->data + half->used;
}

void cuda_to_device_async(struct dev *d, void *to, const void *from, size_t bytes)
{
	const size_t padded = CEIL_DIV(bytes, 64) * 64;
	char *pinned = bytes ? acquire_staging(d, padded) : NULL;

	if (!pinned)
		return;
	memcpy(pinned, from, bytes);
	d->staging[d->next_staging].used += padded;
	assert(d->staging[d->next_staging].used <= d->staging[d->next_staging].bytes);
	cuda_check(d, cudaMemcpyAsync(to, pinned, bytes, cudaMemcpyHostToDevice, d->copies),
		   "copying to the GPU");
}

void cuda_swap_staging(struct dev *d)
{
	auto *half = &d->staging[d->next_staging];

	cuda_check(d, cudaEventRecord(half->copy_event, d->copies), "recording an event");
	cuda_check(d, cudaStreamWaitEvent(d->stream, half->copy_event, 0), "waiting for an event");
	cuda_check(d, cudaEventRecord(d->swap_event, d->stream), "recording an event");
	cuda_check(d, cudaStreamWaitEvent(d->copies, d->swap_event, 0), "waiting for an event");
	d->next_staging = 1 - d->next_staging;
	d->staging[d->next_staging].used = 0;
}

/* ---- scratch memory of a whole run ----------------------------------------------------------- */

/* n * size; on overflow a size that no machine has. */
static size_t multiply_saturated(int64_t n, size_t size)
{
	size_t bytes;

	return mem_mul((size_t)n, size, &bytes) ? MIN(bytes, SIZE_MAX / 32) : SIZE_MAX / 32;
}

/*
 * Upper bounds of the scratch memory of training: see the users of each enum cuda_scratch. The
 * inputs of products have the right type already, so CUDA_SCRATCH_A, _B and _OUT stay empty.
 */
static void scratch_upper_bounds(const struct dev_limits *limits, size_t bytes[CUDA_SCRATCH_COUNT])
{
	const int64_t tokens = limits->tokens, width = CEIL_DIV(limits->width, 8) * 8;

	memset(bytes, 0, CUDA_SCRATCH_COUNT * sizeof(*bytes));
	bytes[CUDA_SCRATCH_SUMS] =
		MAX(multiply_saturated(tokens / 32 + 3072, (size_t)width * sizeof(float)),
		    CUDA_COLUMN_PARTS * sizeof(float));
	bytes[CUDA_SCRATCH_BLAS] = CUDA_BLAS_BYTES;
	if (limits->ways.fuses_bias)
		bytes[CUDA_SCRATCH_BIAS] = multiply_saturated(width, sizeof(uint16_t));
	bytes[CUDA_SCRATCH_SORT] =
		multiply_saturated(4 * (tokens + 64) + tokens / 8 + 256, sizeof(int32_t));
	bytes[CUDA_SCRATCH_FREQUENCIES] =
		multiply_saturated(MAX(limits->d_model / 2, (int64_t)1), sizeof(double));
	bytes[CUDA_SCRATCH_ATTENTION] = multiply_saturated(
		tokens, (size_t)MAX(limits->d_model, limits->heads) * sizeof(float));
}

/* Memory of a kernel in a graph with drivers before 550; it takes less with later ones. */
#define GRAPH_KERNEL_BYTES ((size_t)64 << 10)

/* One recorded step: for a new one that does not fit, the others are discarded (cuda_graph.cu). */
static size_t passing_upper_bound(const struct dev_limits *limits)
{
	const size_t graph = multiply_saturated(limits->step_kernels, GRAPH_KERNEL_BYTES);

	if (!limits->ways.measures_products)
		return graph;
	return graph + multiply_saturated(limits->sum_floats, sizeof(float));
}

struct dev_memory cuda_memory_needs(const struct dev_limits *limits)
{
	struct dev_memory n = { 0,
				CUDA_STAGES * CUDA_STAGE_BYTES +
					2 * staging_bytes((size_t)limits->upload_bytes),
				passing_upper_bound(limits) };
	size_t bytes[CUDA_SCRATCH_COUNT];

	scratch_upper_bounds(limits, bytes);
	for (int i = 0; i < CUDA_SCRATCH_COUNT; i++)
		n.device_bytes += bytes[i];
	return n;
}

/*
 * Afterwards no step needs more memory, neither on the GPU nor pinned. Measuring a product may take some
 * while it measures (fastest_algorithm()), and does without if there is none.
 */
int cuda_reserve(struct dev *d, const struct dev_limits *limits, struct err *e)
{
	size_t bytes[CUDA_SCRATCH_COUNT];

	scratch_upper_bounds(limits, bytes);
	for (int i = 0; i < CUDA_SCRATCH_COUNT; i++)
		if (bytes[i] > d->scratch[i].bytes)
			(void)grow_scratch(d, (enum cuda_scratch)i, bytes[i]);
	cuda_products_open(d);
	cuda_embed_prepare(d, limits->d_model);
	for (int i = 0; i < CUDA_STAGES; i++)
		(void)acquire_stage(d);
	for (int i = 0; i < 2; i++, d->next_staging = 1 - d->next_staging)
		(void)acquire_staging(d, (size_t)limits->upload_bytes);
	return cuda_sync(d, e);
}
