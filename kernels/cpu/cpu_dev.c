/*
 * cpu_dev.c - the opened CPU backend: memory, scratch buffers, threads; see cpu.h.
 *
 * alloc(): a small block is zeroed memory of the C library. A block from 4 MiB on is mapped by
 * mmap(). The kernel allocates and zeroes a page when it is first touched, so memory reserved for
 * the largest batch stays virtual until such a batch comes. In both cases 64 bytes before the
 * returned address hold the mapped length (0: not mapped), for release().
 *
 * Scratch buffers belong to the backend and grow by a quarter more than needed, so a slowly growing
 * need does not reallocate at each call. An op that gets no scratch memory stores the fault in the
 * device and returns; sync() reports it.
 */
#include "kernels/cpu/cpu.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "share/base/flow.h"
#include "share/base/mem.h"

struct dev *cpu_open(const struct dev_options *options, struct err *e)
{
	struct dev *d = mem_alloc(1, sizeof(*d), e);

	if (!d)
		return NULL;
	d->threads = flow_threads(options->threads);
	if (d->threads > 1) {
		d->team = cpu_team_new(d->threads, e);
		if (!d->team) {
			free(d);
			return NULL;
		}
	}
	d->bf16 = options->bf16;
	d->tiles = cpu_can_use_tiles();
	d->avx_vnni = cpu_has_avx_vnni();
	return d;
}

void cpu_close(struct dev *d)
{
	if (!d)
		return;
	cpu_team_free(d->team);
	for (int i = 0; i < CPU_SCRATCH_COUNT; i++)
		free(d->scratch[i].data);
	free(d);
}

#define LARGE	  ((size_t)4 << 20) /* blocks from here on are mapped */
#define HUGE_PAGE ((size_t)2 << 20) /* fewer TLB misses */
#define FRONT	  64		    /* bytes before a block, with the mapped length */

static void *alloc_large(size_t bytes)
{
	size_t whole = CEIL_DIV(bytes + FRONT, HUGE_PAGE) * HUGE_PAGE;
	void *p = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
#if defined(MADV_HUGEPAGE)
	(void)madvise(p, whole, MADV_HUGEPAGE); /* only a hint: ignore failure */
#endif
	*(size_t *)p = whole;
	return (char *)p + FRONT;
}

void *cpu_alloc(struct dev *d, size_t bytes, struct err *e)
{
	char *p;

	(void)d;
	if (bytes > SIZE_MAX - HUGE_PAGE - FRONT) {
		err_set(e, ERR_NOMEM, "out of memory: cannot allocate %zu bytes", bytes);
		return NULL;
	}
	if (bytes < LARGE) {
		p = mem_alloc_aligned(bytes + FRONT, 1, e);
		return p ? p + FRONT : NULL;
	}
	p = alloc_large(bytes);
	if (!p)
		err_set(e, ERR_NOMEM, "out of memory: cannot allocate %zu bytes", bytes);
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
	int rc = d->fault.code;

	if (rc) {
		err_set(e, rc, "%s", d->fault.text);
		d->fault.code = 0;
	}
	return rc;
}

void *cpu_scratch(struct dev *d, enum cpu_scratch which, size_t n, size_t size)
{
	struct err e = { 0 };
	size_t bytes;
	void *bigger;

	assert(which < CPU_SCRATCH_COUNT);
	if (!mem_mul(n, size, &bytes) || bytes > SIZE_MAX / 2)
		bytes = SIZE_MAX;
	if (d->scratch[which].data && bytes <= d->scratch[which].bytes)
		return d->scratch[which].data;
	if (bytes <= SIZE_MAX / 2)
		bytes += bytes / 4; /* head room for slowly growing needs */
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

#define PART_ELEMENTS 8192 /* of a part: a few microseconds of work */

struct rows {
	cpu_rows_work *work;
	const void *context;
	int64_t rows, part_rows;
};

static void rows_part(const void *context, int thread, int64_t part)
{
	const struct rows *r = context;

	(void)thread;
	r->work(r->context, part * r->part_rows, MIN((part + 1) * r->part_rows, r->rows));
}

void cpu_rows(struct dev *d, int64_t rows, int64_t cols, cpu_rows_work *work, const void *context)
{
	const int64_t part_rows = MAX(1, PART_ELEMENTS / MAX(cols, 1));
	const struct rows r = { work, context, rows, part_rows };

	cpu_team_run(d->team, cpu_threads(d, rows * cols), CEIL_DIV(rows, part_rows), rows_part,
		     &r);
}

/* cpu_gemm.c: bytes of a row of a packed operand, in vectors and in tiles; rows of a block of panels. */
#define PACKED_ROW  ((size_t)2112)
#define TILES_ROW   ((size_t)4160)
#define PACKED_ROWS ((size_t)8 * 32)

/* Upper bounds, for all machine levels, of the scratch of cpu_attention.c, cpu_gemm.c, cpu_norm.c. */
int cpu_reserve(struct dev *d, const struct dev_limits *limits, struct err *e)
{
	const int64_t keys = CEIL_DIV(limits->sentence, 16) * 16,
		      cols = CEIL_DIV(limits->head_width, 16) * 16,
		      parts = MIN(CEIL_DIV(limits->tokens, 32), CPU_MAX_PARTS);
	const size_t threads = (size_t)d->threads,
		     row = d->bf16 && d->tiles ? TILES_ROW : PACKED_ROW;

	cpu_scratch(d, CPU_SCRATCH_THREADS, threads,
		    (size_t)(4 * keys * cols + 64 * cols + 96 * keys) * sizeof(float));
	cpu_scratch(d, CPU_SCRATCH_SUMS, (size_t)parts,
		    (size_t)(3 * limits->width) * sizeof(float));
	cpu_scratch(d, CPU_SCRATCH_A, (size_t)(MAX(limits->width, limits->head_rows) + 32), row);
	cpu_scratch(d, CPU_SCRATCH_B, threads, PACKED_ROWS * row);
	return cpu_sync(d, e);
}
