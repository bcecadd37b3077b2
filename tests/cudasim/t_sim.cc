/* t_sim.cc - the simulated GPU detects mistakes in kernels, and accepts correct kernels. */
#include <cuda_runtime.h>

#include "kernels/cuda/cuda.cuh"

extern "C" {
#include "tests/test.h"
}
#include "tests/cudasim/sim.h"

extern "C" {

/* The fields of struct dev that a launch uses. */
static struct dev *gpu(void)
{
	static struct dev d;

	if (!d.stream)
		cudaStreamCreateWithFlags(&d.stream, cudaStreamNonBlocking);
	return &d;
}

static float *device_floats(int n)
{
	void *p;

	cudaMalloc(&p, (size_t)n * sizeof(float));
	return (float *)p;
}

/* Run the enqueued work; did it fault, with these words in the message? */
static bool faults(const char *words)
{
	const char *last;
	int n;

	sim_quiet(true);
	cudaStreamSynchronize(gpu()->stream);
	n = sim_faults(&last);
	if (n && !strstr(last, words))
		test_fail(__FILE__, __LINE__, "nothing like \"%s\" in \"%s\"", words, last);
	sim_quiet(false);
	gpu()->fault.code = 0;
	sim_forget();
	return n > 0;
}

/* ---- barriers ------------------------------------------------------------------------- */

static void turn(float *out, const float *in, int barrier)
{
	SHARED(float, tile, [64]);

	tile[threadIdx.x] = in[threadIdx.x];
	if (barrier)
		__syncthreads();
	out[threadIdx.x] = tile[63 - threadIdx.x];
}

/* Number of 64 values that are misplaced, in the worst of some orders. */
static int turned_wrong(int barrier)
{
	float *a = device_floats(64), *b = device_floats(64), host[64];
	int worst = 0;

	for (int i = 0; i < 64; i++)
		host[i] = (float)i;
	cudaMemcpyAsync(a, host, sizeof(host), cudaMemcpyHostToDevice, gpu()->stream);
	for (int seed = 0; seed < 8; seed++) {
		int wrong = 0;

		sim_seed((uint64_t)seed);
		LAUNCH(gpu(), turn, 1, 64, 0, b, (const float *)a, barrier);
		cudaMemcpyAsync(host, b, sizeof(host), cudaMemcpyDeviceToHost, gpu()->stream);
		for (int i = 0; i < 64; i++)
			wrong += !(host[i] == (float)(63 - i));
		worst = wrong > worst ? wrong : worst;
	}
	cudaFree(a);
	cudaFree(b);
	return worst;
}

TEST(sim_barrier)
{
	check_int(turned_wrong(1), 0);
	check(turned_wrong(0) >= 32); /* shared memory is poisoned, and every order is tried */
}

static void half_waits(int *)
{
	if (threadIdx.x < 32)
		(void)__shfl_xor_sync(ALL_LANES, 1, 1);
	else if (threadIdx.x < 48)
		(void)__shfl_xor_sync(ALL_LANES, 1, 1);
	else
		__syncthreads();
}

TEST(sim_waits_for_ever)
{
	LAUNCH(gpu(), half_waits, 1, 64, 0, (int *)NULL);
	check(faults("never come"));
}

/* ---- warps ------------------------------------------------------------------------------ */

static void sums(float *out)
{
	out[threadIdx.x] = warp_sum((float)threadIdx.x);
	out[32 + threadIdx.x] = block_sum<32>((float)threadIdx.x + 1);
	out[64 + threadIdx.x] = (float)__ballot_sync(ALL_LANES, threadIdx.x == 3);
	out[96 + threadIdx.x] = (float)__shfl_up_sync(ALL_LANES, (int)threadIdx.x, 2);
	out[128 + threadIdx.x] = (float)__popc(__match_any_sync(ALL_LANES, threadIdx.x % 5));
	out[160 + threadIdx.x] = (float)__shfl_down_sync(ALL_LANES, (int)threadIdx.x, 3, 8);
}

TEST(sim_warp)
{
	float *out = device_floats(192), host[192];

	LAUNCH(gpu(), sums, 1, 32, 0, out);
	cudaMemcpyAsync(host, out, sizeof(host), cudaMemcpyDeviceToHost, gpu()->stream);
	for (int i = 0; i < 32; i++) {
		check_near(host[i], 496, 0);
		check_near(host[32 + i], 528, 0);
		check_near(host[64 + i], 8, 0);
		check_near(host[96 + i], i < 2 ? i : i - 2, 0);
		check_near(host[128 + i], i % 5 < 2 ? 7 : 6, 0);
		check_near(host[160 + i], i % 8 + 3 < 8 ? i + 3 : i, 0);
	}
	check(!faults(""));
	cudaFree(out);
}

static void wrong_mask(int *)
{
	(void)__shfl_sync(threadIdx.x < 16 ? 0xFFFFu : ALL_LANES, 1, 0);
}

static void early_exit(int *)
{
	if (threadIdx.x == 5)
		return;
	__syncwarp();
}

static void from_outside(int *)
{
	if (threadIdx.x < 8)
		(void)__shfl_sync(0xFFu, 1, 9);
}

TEST(sim_warp_faults)
{
	LAUNCH(gpu(), wrong_mask, 1, 32, 0, (int *)NULL);
	check(faults("mask"));
	LAUNCH(gpu(), early_exit, 1, 32, 0, (int *)NULL);
	check(faults("left"));
	LAUNCH(gpu(), from_outside, 1, 32, 0, (int *)NULL);
	check(faults("not in the mask"));
}

/* A 16 x 16 x 8 product through shared memory, as in attention. */
static void one_product(float *out, const uint16_t *a, const uint16_t *b)
{
	SHARED(uint16_t, x, [16][24]);
	SHARED(uint16_t, y, [16][24]);
	const int lane = threadIdx.x, group = lane / 4, t = lane % 4;
	uint32_t fa[4], fb[4];
	float d[4] = { 0 };

	copy_async16(&x[lane / 2][lane % 2 * 8], a + lane * 8, 16);
	copy_async16(&y[lane / 2][lane % 2 * 8], b + lane * 8, 16);
	copy_commit();
	copy_wait<0>();
	__syncwarp();
	load_matrices<false>(fa, &x[lane % 16][lane / 16 * 8]);
	load_matrices<true>(fb, &y[lane % 16][lane / 16 * 8]);
	mma_bf16(d, fa, fb);
	for (int i = 0; i < 4; i++)
		out[(group + i / 2 * 8) * 8 + 2 * t + i % 2] = d[i];
}

TEST(sim_tensor_core)
{
	uint16_t host[2][256];
	void *a, *b;
	float *out = device_floats(128), got[128];

	for (int i = 0; i < 512; i++) {
		float x = (float)((i * 37 + i / 16 * 11) % 17 - 8);

		host[i / 256][i % 256] = (uint16_t)(sim_bits<uint32_t>(x) >> 16);
	}
	cudaMalloc(&a, 512);
	cudaMalloc(&b, 512);
	cudaMemcpyAsync(a, host[0], 512, cudaMemcpyHostToDevice, gpu()->stream);
	cudaMemcpyAsync(b, host[1], 512, cudaMemcpyHostToDevice, gpu()->stream);
	LAUNCH(gpu(), one_product, 1, 32, 0, out, (const uint16_t *)a, (const uint16_t *)b);
	cudaMemcpyAsync(got, out, sizeof(got), cudaMemcpyDeviceToHost, gpu()->stream);
	for (int i = 0; i < 16; i++) {
		for (int j = 0; j < 8; j++) {
			float sum = 0;

			for (int k = 0; k < 16; k++)
				sum += bf16_low(host[0][i * 16 + k]) *
				       bf16_low(host[1][k * 16 + j]);
			check_near(got[i * 8 + j], sum, 0);
		}
	}
	check(!faults(""));
	cudaFree(a);
	cudaFree(b);
	cudaFree(out);
}

/* ---- memory ---------------------------------------------------------------------------- */

static void write_at(float *p, int at)
{
	p[at] = 1;
}

TEST(sim_memory)
{
	float *p = device_floats(10), host[10];
	char *pinned;

	cudaMemcpyAsync(host, p, sizeof(host), cudaMemcpyDeviceToHost, gpu()->stream);
	check(host[3] != host[3]); /* fresh memory is poisoned */
	LAUNCH(gpu(), write_at, 1, 1, 0, p, 10);
	cudaStreamSynchronize(gpu()->stream);
	sim_quiet(true);
	cudaFree(p);
	check(faults("behind a block of 40 bytes"));
	check_int(cudaFree(host), cudaErrorInvalidValue);
	sim_forget();
	sim_quiet(true);
	LAUNCH(gpu(), write_at, 1, 1, 0, host, 0);
	check(faults("not device memory"));
	/* pinned memory is read when the stream reaches the copy */
	cudaMallocHost((void **)&pinned, 4);
	p = device_floats(1);
	memset(pinned, 0, 4);
	cudaMemcpyAsync(p, pinned, 4, cudaMemcpyHostToDevice, gpu()->stream);
	memset(pinned, 0x40, 4);
	cudaMemcpyAsync(host, p, 4, cudaMemcpyDeviceToHost, gpu()->stream);
	check(host[0] > 3);
	cudaFreeHost(pinned);
	cudaFree(p);
	check_int(sim_allocated(), 0);
}

/* ---- launches ---------------------------------------------------------------------------- */

static void much_shared(float *out, int n)
{
	SHARED_DYNAMIC(float, all);

	all[n - 1 - (int)threadIdx.x] = 1;
	__syncthreads();
	out[threadIdx.x] = all[0];
}

TEST(sim_launch_limits)
{
	float *p = device_floats(1);

	LAUNCH(gpu(), much_shared, 1, 2048, 0, p, 1);
	check_int(gpu()->fault.code, ERR_INTERNAL);
	check(strstr(gpu()->fault.text, "cudaErrorInvalidConfiguration") != NULL);
	gpu()->fault.code = 0;
	LAUNCH(gpu(), much_shared, 0, 1, 0, p, 1);
	check_int(gpu()->fault.code, ERR_INTERNAL);
	gpu()->fault.code = 0;
	LAUNCH(gpu(), much_shared, dim3(1, 70000), 1, 0, p, 1);
	check_int(gpu()->fault.code, ERR_INTERNAL);
	gpu()->fault.code = 0;
	LAUNCH(gpu(), much_shared, 1, 1, 60000, p, 15000);
	check_int(gpu()->fault.code, ERR_INTERNAL);
	gpu()->fault.code = 0;
	(void)faults("");
	cudaFuncSetAttribute(much_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000);
	LAUNCH(gpu(), much_shared, 1, 1, 60000, p, 15000);
	check_int(gpu()->fault.code, 0);
	check(!faults(""));
	LAUNCH(gpu(), much_shared, 1, 1, 40, p, 11);
	check(faults("behind its 40 bytes"));
	cudaFree(p);
}

/* Does not begin with kernel_begin(). */
static void begins_late(float *out, int n)
{
	if (n == 0)
		return;
	kernel_begin();
	out[threadIdx.x] = 1;
}

TEST(sim_dependent_launches)
{
	float *p = device_floats(4);
	struct dev dependent = *gpu();

	dependent.dependent_launch = true;
	sim_quiet(true);
	LAUNCH(&dependent, begins_late, 2, 4, 0, p, 1);
	check(!faults(""));
	LAUNCH(gpu(), begins_late, 2, 4, 0, p, 0);
	check(!faults(""));
	LAUNCH(&dependent, begins_late, 2, 4, 0, p, 0);
	check(faults("kernel_begin() is not the first statement"));
	sim_quiet(false);
	cudaFree(p);
}

/* ---- streams ------------------------------------------------------------------------------ */

static void put(float *p, float x)
{
	*p = x;
}

static void add_to(float *p, const float *q)
{
	*p += *q;
}

/* One stream writes what another reads; in how many of 12 orders is the result wrong? */
static int wrong_without(bool wait)
{
	float *a = device_floats(1), *b = device_floats(1), host;
	cudaStream_t other;
	cudaEvent_t made;
	int wrong = 0;

	cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
	cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
	for (int seed = 0; seed < 12; seed++) {
		struct dev second = {};

		sim_seed((uint64_t)seed);
		second.stream = other;
		LAUNCH(gpu(), put, 1, 1, 0, a, 1.0f);
		LAUNCH(gpu(), put, 1, 1, 0, b, 2.0f);
		cudaStreamSynchronize(gpu()->stream);
		LAUNCH(&second, put, 1, 1, 0, b, 5.0f);
		cudaEventRecord(made, other);
		if (wait)
			cudaStreamWaitEvent(gpu()->stream, made);
		LAUNCH(gpu(), add_to, 1, 1, 0, a, (const float *)b);
		cudaMemcpyAsync(&host, a, sizeof(host), cudaMemcpyDeviceToHost, gpu()->stream);
		wrong += host != 6;
		cudaStreamSynchronize(other);
	}
	cudaEventDestroy(made);
	cudaStreamDestroy(other);
	cudaFree(a);
	cudaFree(b);
	return wrong;
}

TEST(sim_streams)
{
	check_int(wrong_without(true), 0);
	check(wrong_without(false) > 0);
	check(wrong_without(false) < 12);
}

TEST(sim_graph)
{
	float *a = device_floats(1), *b = device_floats(1), host;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaEvent_t event;
	void *none;

	cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
	LAUNCH(gpu(), put, 1, 1, 0, a, 1.0f);
	LAUNCH(gpu(), put, 1, 1, 0, b, 2.0f);
	cudaStreamBeginCapture(gpu()->stream, cudaStreamCaptureModeThreadLocal);
	LAUNCH(gpu(), add_to, 1, 1, 0, a, (const float *)b);
	check(cudaStreamSynchronize(gpu()->stream) != cudaSuccess); /* no wait during a capture */
	/* no event from outside of the capture */
	check_int(cudaStreamWaitEvent(gpu()->stream, event, 0), cudaErrorStreamCaptureIsolation);
	check(cudaMalloc(&none, 16) != cudaSuccess);
	cudaStreamEndCapture(gpu()->stream, &graph);
	cudaGraphInstantiate(&exec, graph);
	cudaGraphDestroy(graph);
	sim_forget();
	for (int i = 0; i < 3; i++)
		cudaGraphLaunch(exec, gpu()->stream);
	cudaMemcpyAsync(&host, a, sizeof(host), cudaMemcpyDeviceToHost, gpu()->stream);
	check_near(host, 7, 0);
	cudaGraphExecDestroy(exec);
	cudaEventDestroy(event);
	cudaFree(a);
	cudaFree(b);
}

/*
 * A graph of two streams: the second one reads b and adds it to c, the first one changes b then. joins: the
 * first stream waits at the end; waits: before it changes b. Returns the orders of 12 with a wrong
 * result; -1: the capture failed.
 */
static int wrong_in_graph(bool waits, bool joins)
{
	float *b = device_floats(1), *c = device_floats(1), host;
	cudaStream_t other;
	cudaEvent_t begun, ended;
	cudaGraph_t graph = NULL;
	cudaGraphExec_t exec;
	struct dev second = {};
	int wrong = 0;

	cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
	cudaEventCreateWithFlags(&begun, cudaEventDisableTiming);
	cudaEventCreateWithFlags(&ended, cudaEventDisableTiming);
	second.stream = other;
	cudaStreamBeginCapture(gpu()->stream, cudaStreamCaptureModeThreadLocal);
	LAUNCH(gpu(), put, 1, 1, 0, b, 2.0f);
	LAUNCH(gpu(), put, 1, 1, 0, c, 1.0f);
	cudaEventRecord(begun, gpu()->stream);
	cudaStreamWaitEvent(other, begun, 0);
	LAUNCH(&second, add_to, 1, 1, 0, c, (const float *)b);
	cudaEventRecord(ended, other);
	if (waits)
		cudaStreamWaitEvent(gpu()->stream, ended, 0);
	LAUNCH(gpu(), put, 1, 1, 0, b, 5.0f);
	if (joins)
		cudaStreamWaitEvent(gpu()->stream, ended, 0);
	wrong = cudaStreamEndCapture(gpu()->stream, &graph) == cudaErrorStreamCaptureUnjoined ? -1
											      : 0;
	for (uint64_t seed = 0; graph && seed < 12; seed++) {
		sim_seed(seed);
		if (seed == 0)
			cudaGraphInstantiate(&exec, graph);
		cudaGraphLaunch(exec, gpu()->stream);
		cudaMemcpyAsync(&host, c, sizeof(host), cudaMemcpyDeviceToHost, gpu()->stream);
		wrong += host != 3;
	}
	if (graph) {
		cudaGraphExecDestroy(exec);
		cudaGraphDestroy(graph);
	}
	cudaEventDestroy(begun);
	cudaEventDestroy(ended);
	cudaStreamDestroy(other);
	cudaFree(b);
	cudaFree(c);
	sim_forget();
	return wrong;
}

TEST(sim_graph_of_two_streams)
{
	check_int(wrong_in_graph(true, true), 0);
	check(wrong_in_graph(false, true) > 0);
	check(wrong_in_graph(false, true) < 12);
	check_int(wrong_in_graph(false, false), -1);
}

/* Results are complete when to_host() returns, in pinned and pageable memory. */
TEST(cuda_pinned)
{
	struct dev_options options = {};
	struct err e = {};
	struct dev *d = cuda_open(&options, &e);
	float *p, *pinned, one = 1;

	cudaMallocHost((void **)&pinned, sizeof(*pinned));
	p = (float *)cuda_alloc(d, sizeof(*p), &e);
	cuda_to_device(d, p, &one, sizeof(one));
	cuda_to_host(d, pinned, p, sizeof(*p));
	check_near(*pinned, 1, 0);
	cudaFreeHost(pinned);
	cuda_release(d, p);
	cuda_close(d);
}
}
