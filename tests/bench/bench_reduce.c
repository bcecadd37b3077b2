/*
 * bench_reduce.c - the cost of a reduction between the ranks of an MPI job, and how much of it
 * computation hides:
 *
 *	mpirun -n 2 tests/bench_reduce [MB [COMPUTE_S [BUCKET_MB]]]
 *
 * For each wire format: seconds of a reduction alone, payload sent by a rank, bytes a second; then the
 * exposed seconds, after one thread has computed for COMPUTE_S: with all gradients ready at the end (no
 * overlap), and ready piece by piece (overlap).
 * The first line is MPI_Allreduce of the same array. Medians of 7.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "train/comm/comm.h"
#include "train/comm/reduce.h"

enum { TIMES = 7, STEPS = 20 };

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *x)
{
	qsort(x, TIMES, sizeof(*x), by_size);
	return x[TIMES / 2];
}

/* Keep a processor busy. */
static void compute(double seconds)
{
	const double end = clock_mono_s() + seconds;
	volatile double x = 1;

	while (clock_mono_s() < end)
		for (int i = 0; i < 1000; i++)
			x = sqrt(x + 1);
}

/* Seconds from the end of the computation to the sums. */
static int exposed(struct comm *c, struct reduce *r, float *x, size_t n, double compute_s,
		   bool overlap, double *seconds, struct err *e)
{
	double begun;
	bool done = false;

	if (c->barrier(c, e))
		return e->code;
	reduce_begin(r, x);
	for (int i = 1; i <= STEPS && compute_s > 0; i++) {
		compute(compute_s / STEPS);
		if (overlap)
			reduce_ready(r, n - n * (size_t)i / STEPS);
	}
	begun = clock_mono_s();
	reduce_ready(r, 0);
	while (!done) {
		if (reduce_poll(r, &done, e))
			return e->code;
		comm_pause(clock_mono_s() - begun);
	}
	*seconds = clock_mono_s() - begun;
	return 0;
}

static int bench_wire(struct comm *c, enum wire_format w, float *x, size_t n, double compute_s,
		      double bucket_mb, struct err *e)
{
	const struct reduce_options how = { .buckets = buckets_make(n, bucket_mb, c->size),
					    .wire = w,
					    .thread = true };
	struct reduce *r = reduce_open(c, &how, e);
	double alone[TIMES], after[TIMES], beside[TIMES], sent = 0;
	int rc = r ? 0 : e->code;

	for (int i = 0; !rc && i < TIMES; i++) {
		(void)reduce_collect(r);
		rc = exposed(c, r, x, n, 0, false, &alone[i], e);
		sent = reduce_collect(r).sent_bytes;
		if (!rc)
			rc = exposed(c, r, x, n, compute_s, false, &after[i], e);
		if (!rc)
			rc = exposed(c, r, x, n, compute_s, true, &beside[i], e);
	}
	if (!rc && c->rank == 0) {
		const double s = median(alone);

		printf("%-14s %9.4f %10.2f %9.1f %12.4f %12.4f\n", compress_name(w), s, sent / 1e6,
		       sent / 1e6 / s, median(after), median(beside));
	}
	reduce_free(r);
	return rc;
}

static int bench(struct comm *c, double mb, double compute_s, double bucket_mb, struct err *e)
{
	const size_t n = (size_t)(mb * 1e6 / sizeof(float));
	float *x = mem_alloc_aligned(n, sizeof(*x), e);
	double seconds[TIMES];
	int rc = x ? 0 : e->code;

	for (size_t i = 0; !rc && i < n; i++)
		x[i] = (float)((i * 2654435761u) % 1000) * 1e-6f - 5e-4f;
	for (int i = 0; !rc && i < TIMES; i++) {
		double begun;

		rc = c->barrier(c, e);
		begun = clock_mono_s();
		if (!rc)
			rc = c->sum_floats(c, x, n, e);
		seconds[i] = clock_mono_s() - begun;
	}
	if (!rc && c->rank == 0) {
		const double s = median(seconds);

		printf("%d ranks, %.1f MB as fp32, buckets of %.2f MB, %.3f s of computing\n",
		       c->size, mb, bucket_mb, compute_s);
		printf("%-14s %9s %10s %9s %12s %12s\n", "", "alone s", "sent MB", "MB/s",
		       "exposed s", "overlapped s");
		printf("%-14s %9.4f\n", "MPI_Allreduce", s);
	}
	for (size_t i = 0; !rc && i < n; i++)
		x[i] = (float)((i * 2654435761u) % 1000) * 1e-6f - 5e-4f;
	for (enum wire_format w = WIRE_FP32; !rc && w < WIRE_FORMATS; w++)
		rc = bench_wire(c, w, x, n, compute_s, bucket_mb, e);
	free(x);
	return rc;
}

int main(int argc, char **argv)
{
	struct comm c;
	struct err e = { 0 };
	double numbers[3] = { 20, 0.2, 4 };

	if (comm_open(&c, "auto", &argc, &argv, &e)) {
		fprintf(stderr, "bench_reduce: %s\n", e.text);
		return 1;
	}
	for (int i = 1; i < argc && i <= 3; i++)
		numbers[i - 1] = strtod(argv[i], NULL);
	if (bench(&c, numbers[0], numbers[1], numbers[2], &e)) {
		fprintf(stderr, "bench_reduce: rank %d: %s\n", c.rank, e.text);
		c.abort(&c, 1);
	}
	c.close(&c);
	return e.code != 0;
}
