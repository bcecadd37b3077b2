/*
 * allocations.c - after the first step, training allocates no memory
 *
 * A program of its own, because it replaces malloc() and related functions by functions that
 * count the calls of this program. Calls of libraries are not counted: a new thread has memory of
 * the C library.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/util.h"
#include "tests/train/rig.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define NOT_OURS 1
#endif
#endif
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__)
#define NOT_OURS 1
#endif

#define STEPS	16
#define SKIPPED 77

#ifdef NOT_OURS
static long allocations;
static const bool counts = false;
#else
static volatile long allocations;
static const bool counts = true;

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
int posix_memalign(void **p, size_t align, size_t n);
void *memalign(size_t align, size_t n);

extern char __executable_start, etext;

static void count(const void *caller)
{
	if ((const char *)caller >= &__executable_start && (const char *)caller < &etext)
		__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
}

void *malloc(size_t n)
{
	count(__builtin_return_address(0));
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	count(__builtin_return_address(0));
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	count(__builtin_return_address(0));
	return __libc_realloc(p, n);
}

void *memalign(size_t align, size_t n)
{
	count(__builtin_return_address(0));
	return __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	count(__builtin_return_address(0));
	return __libc_memalign(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
	count(__builtin_return_address(0));
	*p = __libc_memalign(align, n);
	return *p ? 0 : ENOMEM;
}
#endif

static const struct model_shape shapes[] = {
	{ .d_model = 32,
	  .d_ff = 48,
	  .heads = 4,
	  .encoder_layers = 1,
	  .decoder_layers = 1,
	  .vocabulary = 128,
	  .real_vocabulary = 125 },
	{ .d_model = 64,
	  .d_ff = 256,
	  .heads = 2,
	  .encoder_layers = 1,
	  .decoder_layers = 2,
	  .vocabulary = 2048,
	  .real_vocabulary = 2045 },
};

/* Number of allocations of the steps after the first; -1: failure. */
static long count_of(const struct rig_how *how, struct err *e)
{
	struct rig r = { 0 };
	struct model_sums sums;
	long before = 0, n = -1;
	int rc = rig_open(&r, how, e);

	for (int i = 0; !rc && i < STEPS; i++) {
		if (i == 1)
			before = allocations;
		rc = rig_step(&r, i, &sums, e);
	}
	if (!rc)
		n = allocations - before;
	rig_close(&r);
	return n;
}

static int try_all(const char *folder, struct err *e)
{
	static const char *const backends[] = { "cpu", "ref" };
	int bad = 0;

	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		struct rig_how how = { .shape = shapes[i],
				       .tokens = 400,
				       .threads = 2,
				       .dropout = 0.1f,
				       .rate = 1e-3 };
		char *path = file_path(e, "%s/%zu.shard", folder, i);
		struct shard *shard = NULL;

		if (!path || rig_make_shard(path, how.shape.real_vocabulary, 500, e) ||
		    !(shard = shard_open(path, e))) {
			free(path);
			return -1;
		}
		free(path);
		how.shard = shard;
		for (int j = 0; j < 3; j++) { /* cpu in fp32 and bf16, ref */
			long n;

			how.backend = backends[j / 2];
			how.bf16 = j == 1;
			n = j == 2 && i > 0 ? 0 : count_of(&how, e);
			if (n != 0)
				fprintf(stderr, "%s %s, d_model %d: %ld allocations too many\n",
					how.backend, how.bf16 ? "bf16" : "fp32", how.shape.d_model,
					n);
			bad += n != 0;
		}
		shard_close(shard);
	}
	return bad;
}

int main(void)
{
	char folder[] = "/tmp/werkbank-allocations-XXXXXX";
	struct err e = { 0 }, ignored;
	void *volatile p;
	int bad;

	p = malloc(1);
	free(p);
	if (!counts || allocations < 1) {
		fputs("allocations: they cannot be counted here\n", stderr);
		return SKIPPED;
	}
	if (!mkdtemp(folder))
		return 73;
	bad = try_all(folder, &e);
	if (e.code)
		fprintf(stderr, "allocations: %s\n", e.text);
	file_remove_tree(folder, &ignored);
	return bad != 0;
}
