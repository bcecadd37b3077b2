/*
 * t_cuda_product.c - products by the GPU's matrix library. On a real GPU in tests/run, on the simulated
 * GPU in tests/cuda_run.
 */
#include <math.h>

#include "kernels/ops/ops.h"
#include "share/base/util.h"
#include "tests/test.h"

#ifdef CUDA_SIMULATED
#include "tests/cudasim/sim.h"
#else
#define sim_faults(last) 0
#endif

static bool is_gpu_there(void)
{
	if (ops_cuda() && ops_cuda()->usable())
		return true;
	test_skip("no GPU here");
	return false;
}

/* out = a^T b, as in gradients of weights: inner rows of a and b, which are tokens. */
static void multiply_tokens(struct dev *d, float *out, float *a, float *b, int64_t inner,
			    int64_t width)
{
	const struct matmul_how how = { .a_transposed = true };

	ops_cuda()->matmul(d, tensor_f32(out, width, width), tensor_f32(a, inner, width),
			   tensor_f32(b, inner, width), how);
}

/* A sum of ones shows a term that is left out, as split-K does with some numbers of terms. */
TEST(cuda_products_of_ones)
{
	enum { WIDTH = 16, MOST = 1100 };
	const struct ops *o = ops_cuda();
	float ones[MOST * WIDTH], got[WIDTH * WIDTH];

	if (!is_gpu_there())
		return;
	for (int i = 0; i < MOST * WIDTH; i++)
		ones[i] = 1;
	for (int bf16 = 0; bf16 < 2; bf16++) {
		const struct dev_options options = { .bf16 = bf16 };
		struct err e = { 0 };
		struct dev *d = o->open(&options, &e);
		float *a = o->alloc(d, sizeof(ones), &e), *out = o->alloc(d, sizeof(got), &e);

		o->to_device(d, a, ones, sizeof(ones));
		for (int64_t inner = 1000; inner <= MOST; inner++) {
			multiply_tokens(d, out, a, a, inner, WIDTH);
			o->to_host(d, got, out, sizeof(got));
			for (int i = 0; i < WIDTH * WIDTH; i++)
				check_near(got[i], (double)inner, 0);
		}
		check_int(o->sync(d, &e), 0);
		o->release(d, a);
		o->release(d, out);
		o->close(d);
	}
	check_int(sim_faults(NULL), 0);
}

/* A resumed run meets other batches first: the bits of a product must not depend on them. */
TEST(cuda_product_bits_do_not_depend_on_earlier_sizes)
{
	enum { WIDTH = 16, MOST = 1024 };
	static const int64_t first[] = { 0, MOST, 900 };
	const struct ops *o = ops_cuda();
	float numbers[MOST * WIDTH], got[ARRAY_LEN(first)][WIDTH * WIDTH];

	if (!is_gpu_there())
		return;
	for (int i = 0; i < MOST * WIDTH; i++)
		numbers[i] = (float)sin(i * 0.7 + i * i * 1e-5);
	for (size_t k = 0; k < ARRAY_LEN(first); k++) {
		const struct dev_options options = { .bf16 = false };
		struct err e = { 0 };
		struct dev *d = o->open(&options, &e);
		float *a = o->alloc(d, sizeof(numbers), &e), *out = o->alloc(d, sizeof(got[k]), &e);

		o->to_device(d, a, numbers, sizeof(numbers));
		if (first[k])
			multiply_tokens(d, out, a, a, first[k], WIDTH);
		multiply_tokens(d, out, a, a, 960, WIDTH);
		o->to_host(d, got[k], out, sizeof(got[k]));
		check_int(o->sync(d, &e), 0);
		check(!memcmp(got[k], got[0], sizeof(got[0])));
		o->release(d, a);
		o->release(d, out);
		o->close(d);
	}
	check_int(sim_faults(NULL), 0);
}
