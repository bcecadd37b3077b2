/*
 * product_race.c - fp32 matrix products of training against a BLAS library, taking turns in one process
 *
 *	tests/product_race LIBRARY [ROUNDS]
 *
 * LIBRARY is a shared library with cblas_sgemm, or with the name of the OpenBLAS inside numpy's wheel
 * (numpy.libs/libscipy_openblas64_*.so). Both compute with one thread. A line has the shape (rows x columns x terms; +=:
 * added to the result), the medians of ROUNDS (default 9) as shares of this processor's measured roof, and the ratio of
 * ours to the library's. Time is processor time: start it with `taskset -c 0 chrt -r 1` on a busy machine.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/ops/ops.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "tests/bench/roof.h"

#define MAX_ROUNDS  99
#define REPEAT_FLOP 3e8 /* small products are repeated up to so many operations */

enum kind { NEITHER, B_TRANSPOSED, A_TRANSPOSED };

struct product_shape {
	enum kind kind;
	int64_t m, n, k;
	bool accumulate;
};

/* Of training steps: tiny and big with 1,024 tokens, base with 2,020, its output layer with 1,024. */
static const struct product_shape shapes[] = {
	{ B_TRANSPOSED, 1024, 128, 128, false },   { B_TRANSPOSED, 1024, 384, 128, false },
	{ B_TRANSPOSED, 1024, 256, 128, false },   { NEITHER, 1024, 128, 256, false },
	{ A_TRANSPOSED, 256, 128, 1024, true },	   { A_TRANSPOSED, 128, 128, 1024, true },
	{ B_TRANSPOSED, 1024, 8000, 128, false },  { NEITHER, 1024, 128, 8000, false },
	{ A_TRANSPOSED, 8000, 128, 1024, true },   { B_TRANSPOSED, 2020, 512, 512, false },
	{ B_TRANSPOSED, 2020, 1536, 512, false },  { B_TRANSPOSED, 2020, 2048, 512, false },
	{ B_TRANSPOSED, 2020, 512, 2048, false },  { NEITHER, 2020, 512, 512, false },
	{ NEITHER, 2020, 512, 1536, false },	   { NEITHER, 2020, 2048, 512, false },
	{ NEITHER, 2020, 512, 2048, false },	   { A_TRANSPOSED, 512, 512, 2020, true },
	{ A_TRANSPOSED, 1536, 512, 2020, true },   { A_TRANSPOSED, 512, 2048, 2020, true },
	{ A_TRANSPOSED, 2048, 512, 2020, true },   { B_TRANSPOSED, 1024, 32768, 512, false },
	{ NEITHER, 1024, 512, 32768, false },	   { A_TRANSPOSED, 32768, 512, 1024, true },
	{ B_TRANSPOSED, 1024, 4096, 1024, false }, { A_TRANSPOSED, 1024, 1024, 1024, true },
	{ A_TRANSPOSED, 4096, 1024, 1024, true },
};

/* cblas_sgemm with 32 or 64 bits of an integer; exactly one is not NULL. */
struct blas {
	void (*narrow)(int, int, int, int, int, int, float, const float *, int, const float *, int,
		       float, float *, int);
	void (*wide)(int, int, int, int64_t, int64_t, int64_t, float, const float *, int64_t,
		     const float *, int64_t, float, float *, int64_t);
};

struct race {
	const struct ops *ops;
	struct dev *dev;
	struct blas blas;
	double roof; /* operations a second */
	int rounds;
	float *a, *b, *ours, *theirs;
};

static double processor_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool open_blas(struct blas *b, const char *path)
{
	static const char *const threads[] = { "openblas_set_num_threads",
					       "scipy_openblas_set_num_threads64_",
					       "bli_thread_set_num_threads" };
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*set_threads)(int) = NULL;

	if (!library)
		return false;
	*(void **)&b->narrow = dlsym(library, "cblas_sgemm");
	if (!b->narrow)
		*(void **)&b->wide = dlsym(library, "scipy_cblas_sgemm64_");
	for (size_t i = 0; i < ARRAY_LEN(threads) && !set_threads; i++)
		*(void **)&set_threads = dlsym(library, threads[i]);
	if (set_threads)
		set_threads(1);
	return b->narrow || b->wide;
}

static void multiply_blas(const struct race *r, const struct product_shape *s)
{
	enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };
	const int ta = s->kind == A_TRANSPOSED ? TRANSPOSED : PLAIN,
		  tb = s->kind == B_TRANSPOSED ? TRANSPOSED : PLAIN;
	const int64_t lda = s->kind == A_TRANSPOSED ? s->m : s->k,
		      ldb = s->kind == B_TRANSPOSED ? s->k : s->n;
	const float beta = s->accumulate ? 1 : 0;

	if (r->blas.wide)
		r->blas.wide(ROW_MAJOR, ta, tb, s->m, s->n, s->k, 1, r->a, lda, r->b, ldb, beta,
			     r->theirs, s->n);
	else
		r->blas.narrow(ROW_MAJOR, ta, tb, (int)s->m, (int)s->n, (int)s->k, 1, r->a,
			       (int)lda, r->b, (int)ldb, beta, r->theirs, (int)s->n);
}

static void multiply_ours(const struct race *r, const struct product_shape *s)
{
	const struct tensor a = s->kind == A_TRANSPOSED ? tensor_f32(r->a, s->k, s->m)
							: tensor_f32(r->a, s->m, s->k);
	const struct tensor b = s->kind == B_TRANSPOSED ? tensor_f32(r->b, s->n, s->k)
							: tensor_f32(r->b, s->k, s->n);

	r->ops->matmul(r->dev, tensor_f32(r->ours, s->m, s->n), a, b,
		       (struct matmul_how){ s->kind == A_TRANSPOSED, s->kind == B_TRANSPOSED,
					    s->accumulate });
}

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(double *x, int n)
{
	qsort(x, (size_t)n, sizeof(*x), compare_doubles);
	return x[n / 2];
}

static float *filled(int64_t n, uint32_t seed)
{
	struct err e;
	float *x = mem_alloc_aligned((size_t)n, sizeof(*x), &e);

	for (int64_t i = 0; x && i < n; i++)
		x[i] = (float)((uint32_t)i * 2654435761u + seed) * 0x1p-32f - 0.5f;
	return x;
}

/* The greatest difference of the two results; every product was computed as often. */
static double difference(const struct race *r, const struct product_shape *s)
{
	double most = 0;

	for (int64_t i = 0; i < s->m * s->n; i++)
		most = MAX(most, fabs((double)r->ours[i] - (double)r->theirs[i]));
	return most;
}

static bool race_shape(struct race *r, const struct product_shape *s)
{
	static const char *const names[] = { "a b  ", "a b^T", "a^T b" };
	const double flop = 2.0 * (double)s->m * (double)s->n * (double)s->k;
	const int repeats = 1 + (int)(REPEAT_FLOP / flop);
	double ours[MAX_ROUNDS], theirs[MAX_ROUNDS];

	r->a = filled(s->m * s->k, 1);
	r->b = filled(s->n * s->k, 2);
	r->ours = filled(s->m * s->n, 3);
	r->theirs = filled(s->m * s->n, 3);
	for (int i = 0; i < r->rounds && r->a && r->b && r->ours && r->theirs; i++) {
		double began = processor_seconds();

		for (int k = 0; k < repeats; k++)
			multiply_ours(r, s);
		ours[i] = flop * repeats / (processor_seconds() - began);
		began = processor_seconds();
		for (int k = 0; k < repeats; k++)
			multiply_blas(r, s);
		theirs[i] = flop * repeats / (processor_seconds() - began);
	}
	const double x = median_of(ours, r->rounds), y = median_of(theirs, r->rounds);
	const double error = difference(r, s) / ((double)r->rounds * repeats * sqrt((double)s->k));

	printf("%s %5lld x %5lld x %5lld %s  ours %5.1f %%  library %5.1f %%  ratio %5.3f\n",
	       names[s->kind], (long long)s->m, (long long)s->n, (long long)s->k,
	       s->accumulate ? "+=" : "  ", 100 * x / r->roof, 100 * y / r->roof, x / y);
	fflush(stdout);
	free(r->a);
	free(r->b);
	free(r->ours);
	free(r->theirs);
	return error < 1e-4;
}

int main(int argc, char **argv)
{
	struct race r = { .ops = ops_cpu(), .rounds = argc > 2 ? atoi(argv[2]) : 9 };
	struct roof roof;
	struct err e;
	bool right = true;

	if (argc < 2 || r.rounds < 1 || r.rounds > MAX_ROUNDS) {
		fprintf(stderr, "usage: product_race LIBRARY [ROUNDS, 1 to %d]\n", MAX_ROUNDS);
		return 64;
	}
	if (!open_blas(&r.blas, argv[1])) {
		fprintf(stderr, "product_race: %s: no cblas_sgemm here\n", argv[1]);
		return 66;
	}
	r.dev = r.ops->open(&(struct dev_options){ .threads = 1 }, &e);
	if (!r.dev || roof_measure(&roof, 1, &e)) {
		fprintf(stderr, "product_race: %s\n", e.text);
		return 70;
	}
	r.roof = roof.fp32;
	printf("roof %.1f GFLOP/s (%s)\n", r.roof * 1e-9, roof.units);
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
		right &= race_shape(&r, &shapes[i]);
	r.ops->close(r.dev);
	if (!right)
		fprintf(stderr, "product_race: the results differ\n");
	return right ? 0 : 1;
}
