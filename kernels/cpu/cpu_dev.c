/* cpu_dev.c - see cpu.h: the opened CPU backend, its memory and its threads. */
#include "kernels/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "share/base/flow.h"
#include "share/base/mem.h"

/* Threads of loops by OpenMP, which may not be there. */
static int openmp_threads(int threads)
{
#ifdef _OPENMP
	return threads;
#else
	(void)threads;
	return 1;
#endif
}

/*
 * Our own products are as fast as oneDNN's on AVX2 and AVX-512, need no preparation for each new
 * shape and repeat their bits for any number of threads. Only where the machine has tiles for bf16
 * (AMX) oneDNN goes further.
 */
bool cpu_has_tiles(void)
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
	d->team_threads = flow_threads(options->threads);
	d->threads = options->decoding ? 1 : openmp_threads(d->team_threads);
	if (d->team_threads > 1) {
		d->team = cpu_team_new(d->team_threads, e);
		if (!d->team) {
			free(d);
			return NULL;
		}
	}
	d->bf16 = options->bf16;
	if (d->bf16 && cpu_has_tiles())
		d->onednn = cpu_onednn_open();
	return d;
}

void cpu_close(struct dev *d)
{
	if (!d)
		return;
	cpu_onednn_close(d->onednn);
	cpu_team_free(d->team);
	for (int i = 0; i < CPU_SCRATCH_COUNT; i++)
		free(d->scratch[i].data);
	free(d);
}

/*
 * Large blocks come from the system as they are: zeroed page by page as they are first touched, so
 * that what is reserved for the largest batch takes no memory before it comes. With pages of 2 MiB,
 * where the system gives them to those who ask, addresses need not be looked up all the time. The
 * length lies in front.
 */
#define LARGE	  ((size_t)4 << 20)
#define HUGE_PAGE ((size_t)2 << 20)
#define FRONT	  64

static void *alloc_large(size_t bytes)
{
	size_t whole = CEIL_DIV(bytes + FRONT, HUGE_PAGE) * HUGE_PAGE;
	void *p = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
#if defined(MADV_HUGEPAGE)
	(void)madvise(p, whole, MADV_HUGEPAGE); /* a hint */
#endif
	*(size_t *)p = whole;
	return (char *)p + FRONT;
}

void *cpu_alloc(struct dev *d, size_t bytes, struct err *e)
{
	char *p;

	(void)d;
	if (bytes > SIZE_MAX - HUGE_PAGE - FRONT) {
		err_set(e, ERR_NOMEM, "out of memory: %zu bytes were asked for", bytes);
		return NULL;
	}
	if (bytes < LARGE) {
		p = mem_alloc_aligned(bytes + FRONT, 1, e);
		return p ? p + FRONT : NULL;
	}
	p = alloc_large(bytes);
	if (!p)
		err_set(e, ERR_NOMEM, "out of memory: %zu bytes were asked for", bytes);
	return p;
}

void cpu_release(struct dev *d, void *p)
{
	size_t *front = p ? (size_t *)(void *)((char *)p - FRONT) : NULL;

	(void)d;
	if (front && *front)
		munmap(front, *front);
	else
		free(front);
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
		bytes += bytes / 4; /* so that slowly growing needs do not ask each time */
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

#define ROWS_PART 16 /* rows that a thread takes at once */

struct rows {
	cpu_rows_work *work;
	const void *context;
	int64_t rows;
};

static void rows_part(const void *context, int thread, int64_t part)
{
	const struct rows *r = context;

	(void)thread;
	r->work(r->context, part * ROWS_PART, MIN((part + 1) * ROWS_PART, r->rows));
}

void cpu_rows(struct dev *d, int64_t rows, int64_t cols, cpu_rows_work *work, const void *context)
{
	const struct rows r = { work, context, rows };
	const int64_t parts = CEIL_DIV(rows, ROWS_PART), elements = rows * cols;

	if (d->threads == 1) {
		cpu_team_run(d->team, cpu_team_threads(d, elements), parts, rows_part, &r);
		return;
	}
#pragma omp parallel for num_threads(cpu_threads(d, elements)) schedule(static)
	for (int64_t part = 0; part < parts; part++)
		rows_part(&r, 0, part);
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
