/* cpu_dev.c - see cpu.h: the opened CPU backend, its memory and its threads. */
#include "kernels/cpu.h"

#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "share/base/mem.h"

static int usable_threads(int asked)
{
#ifdef _OPENMP
	return asked > 0 ? asked : omp_get_num_procs();
#else
	(void)asked;
	return 1;
#endif
}

/*
 * Our own products are as fast as oneDNN's on AVX2 and AVX-512, need no preparation for each new
 * shape and repeat their bits for any number of threads. Only where the machine has tiles for bf16
 * (AMX) oneDNN goes further.
 */
static bool machine_has_tiles(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1);
#else
	return false;
#endif
}

struct dev *cpu_open(const struct dev_options *options, struct err *e)
{
	struct dev *d = mem_alloc(1, sizeof(*d), e);

	if (!d)
		return NULL;
	d->threads = usable_threads(options->threads);
	d->bf16 = options->bf16;
	if (d->bf16 && machine_has_tiles())
		d->onednn = cpu_onednn_open();
	return d;
}

void cpu_close(struct dev *d)
{
	if (!d)
		return;
	cpu_onednn_close(d->onednn);
	for (int i = 0; i < CPU_SCRATCH_COUNT; i++)
		free(d->scratch[i].data);
	free(d);
}

void *cpu_alloc(struct dev *d, size_t bytes, struct err *e)
{
	(void)d;
	return mem_alloc_aligned(bytes, 1, e);
}

void cpu_release(struct dev *d, void *p)
{
	(void)d;
	free(p);
}

void cpu_copy(struct dev *d, void *to, const void *from, size_t bytes)
{
	(void)d;
	if (bytes)
		memcpy(to, from, bytes);
}

int cpu_sync(struct dev *d, struct err *e)
{
	int code = d->fault.code;

	if (code) {
		err_set(e, code, "%s", d->fault.text);
		d->fault.code = 0;
	}
	return code;
}

void *cpu_scratch(struct dev *d, enum cpu_scratch which, size_t n, size_t size)
{
	struct err e = { 0 };
	size_t bytes;
	void *bigger;

	if (!mem_mul(n, size, &bytes) || bytes > SIZE_MAX / 2)
		bytes = SIZE_MAX;
	if (d->scratch[which].data && bytes <= d->scratch[which].bytes)
		return d->scratch[which].data;
	if (bytes <= SIZE_MAX / 2)
		bytes += bytes / 4;	/* so that slowly growing needs do not ask each time */
	bigger = mem_alloc_aligned(bytes, 1, &e);
	if (!bigger) {
		if (!d->fault.code)
			d->fault = e;
		return NULL;
	}
	free(d->scratch[which].data);
	d->scratch[which].data = bigger;
	d->scratch[which].bytes = bytes;
	return bigger;
}

/* Bytes a row of a packed operand takes, cpu_gemm.c, and of its panels beyond the last row. */
#define PACKED_ROW   ((size_t)2112)
#define PACKED_BLOCK ((size_t)8 * 32 * 2112)

/* Upper bounds for all machine levels of what cpu_attention.c, cpu_gemm.c and cpu_norm.c take. */
int cpu_reserve(struct dev *d, const struct dev_limits *most, struct err *e)
{
	const int64_t keys = CEIL_DIV(most->sentence, 16) * 16,
		      cols = CEIL_DIV(most->head_width, 16) * 16,
		      parts = MIN(CEIL_DIV(most->tokens, 32), CPU_MOST_PARTS);
	const size_t threads = (size_t)d->threads;

	cpu_scratch(d, CPU_SCRATCH_THREADS, threads,
		    (size_t)(4 * keys * cols + 64 * cols + 96 * keys) * sizeof(float));
	cpu_scratch(d, CPU_SCRATCH_SUMS, (size_t)parts, (size_t)(3 * most->width) * sizeof(float));
	cpu_scratch(d, CPU_SCRATCH_A, (size_t)(MAX(most->width, most->head_rows) + 32), PACKED_ROW);
	cpu_scratch(d, CPU_SCRATCH_B, threads, PACKED_BLOCK);
	return cpu_sync(d, e);
}
