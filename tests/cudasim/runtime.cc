/* runtime.cc - the CUDA runtime: device memory, errors, properties; see sim.h */
#include <cuda_runtime.h>

#include "tests/cudasim/sim.h"

#include <map>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE	 ((size_t)4096)
#define ARENA	 ((size_t)64 << 30) /* address space; no address is used twice */
#define POISONED ((size_t)1 << 20)  /* poisoned bytes at both ends of a block */
#define TOTAL	 ((size_t)8 << 30)  /* memory of the simulated GPU */

static struct {
	char *arena;
	size_t next;			 /* first unused address */
	std::map<char *, size_t> blocks; /* of device memory, by address */
	std::map<char *, size_t> pinned;
	size_t allocated;
	size_t taken; /* by graphs */
	int opened;
	bool hidden; /* sim_memory_hide() */
	cudaError_t last, sticky;
	int n_faults;
	char fault[700];
	bool quiet, absent, old;
	uint64_t random;
	std::map<const void *, int> shared_limit;
	uint64_t waits, allocations, copies, starts, graphs;
} gpu;

void sim_count_wait(void)
{
	gpu.waits++;
}

void sim_count_allocation(void)
{
	gpu.allocations++;
}

void sim_count_copy(void)
{
	gpu.copies++;
}

void sim_count_start(bool graph)
{
	gpu.starts++;
	gpu.graphs += graph;
}

uint64_t sim_copies(void)
{
	return gpu.copies;
}

uint64_t sim_starts(void)
{
	return gpu.starts;
}

uint64_t sim_graphs(void)
{
	return gpu.graphs;
}

uint64_t sim_waits(void)
{
	return gpu.waits;
}

uint64_t sim_allocations(void)
{
	return gpu.allocations;
}

/* ---- errors --------------------------------------------------------------------------- */

void sim_note_fault(const char *who, const char *text);

void sim_note_fault(const char *who, const char *text)
{
	gpu.n_faults++;
	snprintf(gpu.fault, sizeof(gpu.fault), "%s: %s", who, text);
	if (!gpu.quiet)
		fprintf(stderr, "cudasim: %s\n", gpu.fault);
	sim_set_error(cudaErrorLaunchFailure, true);
}

int sim_faults(const char **last)
{
	if (last)
		*last = gpu.fault;
	return gpu.n_faults;
}

void sim_quiet(bool quiet)
{
	gpu.quiet = quiet;
}

void sim_forget(void)
{
	gpu.last = gpu.sticky = cudaSuccess;
	gpu.n_faults = 0;
	gpu.fault[0] = 0;
}

void sim_seed(uint64_t seed)
{
	gpu.random = seed;
}

uint64_t sim_random(void) /* splitmix64 */
{
	uint64_t z = gpu.random += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

void sim_set_error(cudaError_t e, bool sticky)
{
	gpu.last = e;
	if (sticky && gpu.sticky == cudaSuccess)
		gpu.sticky = e;
}

cudaError_t sim_sticky(void)
{
	return gpu.sticky;
}

static cudaError_t answer(cudaError_t e)
{
	if (e != cudaSuccess)
		gpu.last = e;
	return e;
}

cudaError_t cudaGetLastError(void)
{
	cudaError_t e = gpu.last;

	gpu.last = gpu.sticky;
	return e;
}

cudaError_t cudaPeekAtLastError(void)
{
	return gpu.last;
}

const char *cudaGetErrorName(cudaError_t e)
{
	switch (e) {
	case cudaSuccess:
		return "cudaSuccess";
	case cudaErrorInvalidValue:
		return "cudaErrorInvalidValue";
	case cudaErrorMemoryAllocation:
		return "cudaErrorMemoryAllocation";
	case cudaErrorInvalidConfiguration:
		return "cudaErrorInvalidConfiguration";
	case cudaErrorInsufficientDriver:
		return "cudaErrorInsufficientDriver";
	case cudaErrorNoDevice:
		return "cudaErrorNoDevice";
	case cudaErrorInvalidDevice:
		return "cudaErrorInvalidDevice";
	case cudaErrorNotReady:
		return "cudaErrorNotReady";
	case cudaErrorLaunchFailure:
		return "cudaErrorLaunchFailure";
	default:
		return "another error";
	}
}

const char *cudaGetErrorString(cudaError_t e)
{
	return e == cudaErrorLaunchFailure && gpu.fault[0] ? gpu.fault : cudaGetErrorName(e);
}

void sim_pretend_absent(bool absent)
{
	gpu.absent = absent;
}

void sim_pretend_old(bool old)
{
	gpu.old = old;
}

static bool is_unfit;

void sim_pretend_unfit(bool unfit)
{
	is_unfit = unfit;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *facts, const void *)
{
	if (is_unfit) {
		sim_set_error(cudaErrorNoKernelImageForDevice, false);
		return cudaErrorNoKernelImageForDevice;
	}
	facts->binaryVersion = 90;
	return cudaSuccess;
}

bool sim_is_old(void)
{
	return gpu.old;
}

cudaError_t sim_absent(void)
{
	return gpu.absent ? cudaErrorInsufficientDriver : gpu.sticky;
}

/* ---- devices and properties --------------------------------------------------------------- */

cudaError_t cudaDriverGetVersion(int *version)
{
	*version = gpu.absent ? 0 : 13000;
	return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	*version = CUDART_VERSION;
	return cudaSuccess;
}

/* One GPU, or CUDASIM_GPUS, less those that CUDA_VISIBLE_DEVICES hides; a process uses only one of them. */
static int count_devices(void)
{
	const char *text = getenv("CUDASIM_GPUS"), *visible = getenv("CUDA_VISIBLE_DEVICES");
	const int all = text ? (int)strtol(text, NULL, 10) : 1;
	int n = 0;
	char *end;

	if (!visible)
		return all;
	for (const char *at = visible; *at; at = *end == ',' ? end + 1 : end) {
		const long i = strtol(at, &end, 10);

		if (end == at || i < 0 || i >= all)
			break; /* as CUDA does: the list ends at an invalid index */
		n++;
	}
	return n;
}

static bool is_there(int device)
{
	return device >= 0 && device < count_devices();
}

cudaError_t cudaGetDeviceCount(int *n)
{
	*n = gpu.absent ? 0 : count_devices();
	return answer(sim_absent());
}

cudaError_t cudaSetDevice(int device)
{
	return answer(sim_absent()	 ? sim_absent()
		      : is_there(device) ? cudaSuccess
					 : cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	memset(prop, 0, sizeof(*prop));
	if (!is_there(device))
		return answer(cudaErrorInvalidDevice);
	snprintf(prop->name, sizeof(prop->name), "simulated GPU");
	return answer(sim_absent());
}

/* Few multiprocessors, so that work is spread unevenly over them. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device)
{
	if (!is_there(device))
		return answer(cudaErrorInvalidDevice);
	switch (which) {
	case cudaDevAttrMultiProcessorCount:
		*value = 3;
		break;
	case cudaDevAttrComputeCapabilityMajor:
		*value = gpu.old ? 7 : 9;
		break;
	case cudaDevAttrComputeCapabilityMinor:
		*value = 0;
		break;
	case cudaDevAttrL2CacheSize:
		*value = 50 << 20;
		break;
	case cudaDevAttrMaxSharedMemoryPerBlockOptin:
		*value = SIM_SHARED_MAX;
		break;
	default:
		return answer(cudaErrorInvalidValue);
	}
	return answer(sim_absent());
}

cudaError_t sim_set_shared_limit(const void *kernel, int bytes)
{
	if (bytes < 0 || bytes > SIM_SHARED_MAX)
		return answer(cudaErrorInvalidValue);
	gpu.shared_limit[kernel] = bytes;
	return answer(sim_absent());
}

int sim_shared_limit(const void *kernel)
{
	auto at = gpu.shared_limit.find(kernel);

	return at == gpu.shared_limit.end() || at->second < SIM_SHARED_DEFAULT ? SIM_SHARED_DEFAULT
									       : at->second;
}

/* ---- memory ----------------------------------------------------------------------------- */

static void on_fault(int signal_number, siginfo_t *info, void *)
{
	char *at = (char *)info->si_addr;
	bool device = gpu.arena && at >= gpu.arena && at < gpu.arena + ARENA;

	fprintf(stderr, "cudasim: %s touched %p, %s\n", sim_in_kernel() ? "a kernel" : "the host",
		info->si_addr,
		!device		   ? "which is not device memory"
		: !sim_in_kernel() ? "which is device memory"
		: gpu.hidden	   ? "before kernel_begin()"
				   : "outside what was allocated");
	if (sim_in_kernel()) {
		sim_quiet(false);
		fprintf(stderr, "cudasim: block (%u, %u, %u), thread (%u, %u, %u)\n",
			sim_now.block.x, sim_now.block.y, sim_now.block.z, sim_now.thread.x,
			sim_now.thread.y, sim_now.thread.z);
	}
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static bool make_arena(void)
{
	static char alternative[64 * 1024];
	stack_t stack = {};
	struct sigaction act = {};
	void *p;

	if (gpu.arena)
		return true;
	p = mmap(NULL, ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	gpu.arena = (char *)p;
#if !defined(__SANITIZE_ADDRESS__)
	stack.ss_sp = alternative;
	stack.ss_size = sizeof(alternative);
	sigaltstack(&stack, NULL);
	act.sa_sigaction = on_fault;
	act.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
#else
	(void)stack, (void)act, (void)alternative, (void)on_fault;
#endif
	return true;
}

/* The block ends at the end of its pages; the bytes in front of it are checked on release. */
static size_t pages_of(size_t bytes)
{
	return (bytes + 255 + PAGE) / PAGE * PAGE;
}

static char *start_of(char *p)
{
	return (char *)((uintptr_t)p / PAGE * PAGE);
}

static size_t rounded(size_t bytes)
{
	return (bytes + 255) / 256 * 256;
}

static void protect(int how)
{
	for (const auto &b : gpu.blocks)
		mprotect(start_of(b.first),
			 (size_t)(b.first - start_of(b.first)) + rounded(b.second), how);
}

void sim_memory_open(void)
{
	if (gpu.opened++ == 0)
		protect(PROT_READ | PROT_WRITE);
}

void sim_memory_close(void)
{
	if (--gpu.opened == 0)
		protect(PROT_NONE);
}

void sim_memory_hide(bool hide)
{
	gpu.hidden = hide;
	protect(hide ? PROT_NONE : PROT_READ | PROT_WRITE);
}

/* Fill with NaN; to save time the middle of a very large block stays 0. */
static void poison(char *p, size_t bytes)
{
	if (bytes <= 4 * POISONED) {
		memset(p, 0xFF, bytes);
	} else {
		memset(p, 0xFF, POISONED);
		memset(p + bytes - POISONED, 0xFF, POISONED);
	}
}

cudaError_t cudaMalloc(void **p, size_t bytes)
{
	size_t whole, front;

	sim_count_allocation();
	*p = NULL;
	if (sim_capturing())
		return answer(cudaErrorStreamCaptureUnsupported);
	if (sim_absent() || bytes == 0)
		return answer(sim_absent());
	if (bytes > TOTAL || gpu.allocated + gpu.taken + bytes > TOTAL || !make_arena())
		return answer(cudaErrorMemoryAllocation);
	whole = pages_of(rounded(bytes));
	if (gpu.next + whole + PAGE > ARENA)
		return answer(cudaErrorMemoryAllocation);
	front = whole - rounded(bytes);
	mprotect(gpu.arena + gpu.next, whole, PROT_READ | PROT_WRITE);
	poison(gpu.arena + gpu.next, whole);
	*p = gpu.arena + gpu.next + front;
	gpu.blocks[(char *)*p] = bytes;
	gpu.allocated += bytes;
	gpu.next += whole + PAGE;
	if (!gpu.opened)
		mprotect(gpu.arena + gpu.next - whole - PAGE, whole, PROT_NONE);
	return cudaSuccess;
}

/* Are the bytes around the block unchanged? */
static void check_edges(char *p, size_t bytes)
{
	char *start = start_of(p);

	mprotect(start, (size_t)(p - start) + rounded(bytes), PROT_READ | PROT_WRITE);
	for (char *c = start; c < p + rounded(bytes); c++) {
		if (c == p && bytes) {
			c += bytes - 1;
			continue;
		}
		if ((unsigned char)*c != 0xFF) {
			sim_fault("a kernel wrote %td bytes %s a block of %zu bytes",
				  c < p ? p - c : c - p - (ptrdiff_t)bytes,
				  c < p ? "in front of" : "behind", bytes);
			break;
		}
	}
}

cudaError_t cudaFree(void *p)
{
	auto at = gpu.blocks.find((char *)p);

	if (!p)
		return answer(gpu.sticky);
	if (at == gpu.blocks.end())
		return answer(cudaErrorInvalidValue);
	sim_count_wait();
	sim_drain_all();
	check_edges(at->first, at->second);
	gpu.allocated -= at->second;
	madvise(start_of(at->first), pages_of(at->second), MADV_DONTNEED);
	mprotect(start_of(at->first),
		 (size_t)(at->first - start_of(at->first)) + rounded(at->second), PROT_NONE);
	gpu.blocks.erase(at);
	return answer(gpu.sticky);
}

cudaError_t cudaMallocHost(void **p, size_t bytes)
{
	sim_count_allocation();
	if (sim_capturing())
		return answer(cudaErrorStreamCaptureUnsupported);
	if (sim_absent())
		return answer(sim_absent());
	*p = malloc(bytes ? bytes : 1);
	if (!*p)
		return answer(cudaErrorMemoryAllocation);
	memset(*p, 0xFF, bytes);
	gpu.pinned[(char *)*p] = bytes;
	return cudaSuccess;
}

cudaError_t cudaFreeHost(void *p)
{
	if (!p)
		return cudaSuccess;
	if (!gpu.pinned.erase((char *)p))
		return answer(cudaErrorInvalidValue);
	sim_drain_all();
	free(p);
	return answer(gpu.sticky);
}

static bool inside(const std::map<char *, size_t> &blocks, const void *p, size_t bytes)
{
	auto at = blocks.upper_bound((char *)p);

	if (at == blocks.begin())
		return false;
	--at;
	return (const char *)p + bytes <= at->first + at->second;
}

bool sim_is_device(const void *p, size_t bytes)
{
	return inside(gpu.blocks, p, bytes);
}

bool sim_is_pinned(const void *p)
{
	return inside(gpu.pinned, p, 1);
}

size_t sim_allocated(void)
{
	return gpu.allocated;
}

bool sim_take_memory(size_t bytes)
{
	if (gpu.allocated + gpu.taken + bytes > TOTAL)
		return false;
	gpu.taken += bytes;
	return true;
}

void sim_give_memory(size_t bytes)
{
	gpu.taken -= bytes;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
	*total = TOTAL;
	*free_bytes = TOTAL - gpu.allocated - gpu.taken;
	return answer(sim_absent());
}

/* At exit, with CUDASIM_LEFT or CUDASIM_WAITS: report leaks and waits. */
static struct teller {
	~teller()
	{
		if (gpu.allocated && getenv("CUDASIM_LEFT"))
			fprintf(stderr, "cudasim: %zu bytes of device memory are left\n",
				gpu.allocated);
		if (getenv("CUDASIM_WAITS"))
			fprintf(stderr, "simulated GPU: waited for %llu times\n",
				(unsigned long long)sim_waits());
		if (getenv("CUDASIM_GRAPHS"))
			fprintf(stderr, "graphs started: %llu\n", (unsigned long long)sim_graphs());
	}
} at_end;

void sim_check_pointer(const struct sim_launch *l, const void *p)
{
	/* a pointer one element behind the end is valid */
	if (p && !sim_is_device((const char *)p - 1, 1) && !sim_is_device(p, 1))
		sim_fault("kernel %s is given %p, which is not device memory", l->name, p);
}
