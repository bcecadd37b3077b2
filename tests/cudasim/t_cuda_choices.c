/*
 * t_cuda_choices.c - algorithms of products that are measured, kept as text and loaded again; on the simulated
 * GPU (sim.h), whose algorithms differ in the last bits of their sums.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ops/ops.h"
#include "share/base/hash.h"
#include "tests/cudasim/sim.h"
#include "tests/test.h"

enum { ROWS = 24, COLS = 16, INNER = 700 };

/* The results of two products, and what the backend says of its choices. */
struct computed {
	float plain[ROWS * COLS], added[ROWS * COLS];
	char *text; /* owned: save_choices() */
	size_t n;
	int64_t choices, measured;
	struct err loaded; /* the result of load_choices() */
};

static const struct gpu_ways measuring = { .measures_products = true };

static float *random_floats(struct dev *d, int n, uint32_t stream)
{
	const struct ops *o = ops_cuda();
	const struct rng_key key = rng_key_make(stream, RNG_TEST, 0, 0);
	struct err e = { 0 };
	float *host = malloc((size_t)n * sizeof(*host)),
	      *p = o->alloc(d, (size_t)n * sizeof(*host), &e);

	for (int i = 0; i < n; i++)
		host[i] = rng_unit(key, (uint64_t)i) - 0.5f;
	o->to_device(d, p, host, (size_t)n * sizeof(*host));
	free(host);
	return p;
}

/* A process of its own: text, if there is one, comes from an earlier one. fastest: candidate of cuBLASLt. */
static void compute_products(struct computed *to, struct gpu_ways ways, int fastest,
			     const char *text, size_t n)
{
	const struct ops *o = ops_cuda();
	const struct dev_options options = { .ways = ways };
	struct err e = { 0 };
	struct dev *d = o->open(&options, &e);
	float *a = random_floats(d, ROWS * INNER, 1), *b = random_floats(d, COLS * INNER, 2),
	      *plain = o->alloc(d, sizeof(to->plain), &e),
	      *added = random_floats(d, ROWS * COLS, 3);

	memset(to, 0, sizeof(*to));
	sim_prefer_algorithm(fastest);
	if (text)
		(void)o->load_choices(d, text, n, &to->loaded);
	for (int add = 0; add < 2; add++)
		o->matmul(d, tensor_f32(add ? added : plain, ROWS, COLS),
			  tensor_f32(a, ROWS, INNER), tensor_f32(b, COLS, INNER),
			  (struct matmul_how){ .b_transposed = true, .accumulate = add });
	o->to_host(d, to->plain, plain, sizeof(to->plain));
	o->to_host(d, to->added, added, sizeof(to->added));
	to->choices = o->count_choices(d, &to->measured);
	to->text = o->save_choices(d, &to->n, &e);
	check_err(o->sync(d, &e), 0);
	o->release(d, a);
	o->release(d, b);
	o->release(d, plain);
	o->release(d, added);
	o->close(d);
	sim_prefer_algorithm(0);
	check_int(sim_faults(NULL), 0);
	check_int(sim_allocated(), 0);
}

static bool has_same_bits(const struct computed *x, const struct computed *y)
{
	return !memcmp(x->plain, y->plain, sizeof(x->plain)) &&
	       !memcmp(x->added, y->added, sizeof(x->added));
}

/* The fastest algorithm is taken; a product that adds to its output adds once, though it ran several times. */
TEST(cuda_choices_are_measured)
{
	struct computed usual, first, second;

	compute_products(&usual, (struct gpu_ways){ 0 }, 1, NULL, 0);
	compute_products(&first, measuring, 0, NULL, 0);
	compute_products(&second, measuring, 1, NULL, 0);
	check_int(usual.measured, 0);
	check_int(first.choices, 2);
	check_int(first.measured, 2);
	check(has_same_bits(&usual, &first));
	check(!has_same_bits(&first, &second));
	for (int i = 0; i < ROWS * COLS; i++) {
		check_near(second.plain[i], first.plain[i], 1e-4);
		check_near(second.added[i], first.added[i], 1e-4);
	}
	free(usual.text);
	free(first.text);
	free(second.text);
}

/* Choices of an earlier process: the same bits, and nothing is measured, though another one is faster now. */
TEST(cuda_choices_are_kept)
{
	struct computed before, after;

	compute_products(&before, measuring, 1, NULL, 0);
	compute_products(&after, measuring, 0, before.text, before.n);
	check_int(after.loaded.code, 0);
	check_int(after.measured, 0);
	check_int(after.choices, 2);
	check(has_same_bits(&before, &after));
	check(after.n == before.n && !memcmp(after.text, before.text, before.n));
	free(before.text);
	free(after.text);
}

/* More kinds of products than the table holds: the first one keeps its algorithm, though another is faster now. */
TEST(cuda_choices_of_many_kinds)
{
	enum { KINDS = 600 };
	const struct ops *o = ops_cuda();
	const struct dev_options options = { .ways = measuring };
	struct err e = { 0 };
	struct dev *d = o->open(&options, &e);
	float *a = random_floats(d, ROWS * INNER, 1), *b = random_floats(d, COLS * INNER, 2),
	      *out = o->alloc(d, KINDS * sizeof(*out), &e), first[2][ROWS * COLS];
	int64_t measured;

	for (int i = 0; i < 2; i++) {
		sim_prefer_algorithm(i == 0);
		o->matmul(d, tensor_f32(out, ROWS, COLS), tensor_f32(a, ROWS, INNER),
			  tensor_f32(b, COLS, INNER), (struct matmul_how){ .b_transposed = true });
		o->to_host(d, first[i], out, sizeof(first[i]));
		for (int n = 1; i == 0 && n <= KINDS; n++)
			o->matmul(d, tensor_f32(out, 1, n), tensor_f32(a, 1, 1),
				  tensor_f32(b, n, 1), (struct matmul_how){ .b_transposed = true });
	}
	check(!memcmp(first[0], first[1], sizeof(first[0])));
	check(o->count_choices(d, &measured) < KINDS);
	check_int(o->count_slow_products(d), 0);
	check_err(o->sync(d, &e), 0);
	o->release(d, a);
	o->release(d, b);
	o->release(d, out);
	o->close(d);
	sim_prefer_algorithm(0);
	check_int(sim_faults(NULL), 0);
	check_int(sim_allocated(), 0);
}

/* What `text` must cause: this error, and new measurements. */
static void check_not_taken(const char *text, size_t n, int code)
{
	struct computed usual, got;

	compute_products(&usual, measuring, 0, NULL, 0);
	compute_products(&got, measuring, 0, text, n);
	check_int(got.loaded.code, code);
	check_int(got.measured, 2);
	check(has_same_bits(&usual, &got));
	free(usual.text);
	free(got.text);
}

/* Replace the hash in the last line by the right one. */
static void sign_text(char *text, size_t n)
{
	char last[22];

	snprintf(last, sizeof(last), "end %016llx\n", (unsigned long long)hash_bytes(text, n - 21));
	memcpy(text + n - 21, last, 21);
}

TEST(cuda_choices_that_are_damaged)
{
	struct computed before;
	char *mark;

	compute_products(&before, measuring, 1, NULL, 0);
	before.text[before.n / 2] ^= 1;
	check_not_taken(before.text, before.n, ERR_DATA);
	sign_text(before.text, before.n); /* the hash is right, but the digit may be none */
	before.text[before.n / 2] = 'x';
	sign_text(before.text, before.n);
	check_not_taken(before.text, before.n, ERR_DATA);
	check_not_taken("", 0, ERR_DATA);
	check_not_taken(before.text, before.n / 2, ERR_DATA);
	check_not_taken(before.text, before.n - 22, ERR_DATA);
	free(before.text);
	/* a right text with an algorithm that the library does not know: 5751 is the simulator's mark */
	compute_products(&before, measuring, 1, NULL, 0);
	for (int i = 0; i < 2; i++) {
		mark = strstr(before.text, "5751000000000000");
		if (check(mark != NULL))
			mark[0] = '6';
	}
	sign_text(before.text, before.n);
	check_not_taken(before.text, before.n, 0);
	free(before.text);
}

/* Bits of a product of 960 tokens, on a device that has multiplied `first` tokens before; 0: none. */
static void multiply_after(float *got, int first)
{
	enum { TOKENS = 1024 };
	const struct ops *o = ops_cuda();
	const struct dev_options options = { .bf16 = false };
	struct err e = { 0 };
	struct dev *d = o->open(&options, &e);
	float *a = random_floats(d, TOKENS * COLS, 4),
	      *out = o->alloc(d, COLS * COLS * sizeof(*out), &e);

	for (int i = 0; i < 2; i++) {
		const int n = i ? 960 : first;

		if (n)
			o->matmul(d, tensor_f32(out, COLS, COLS), tensor_f32(a, n, COLS),
				  tensor_f32(a, n, COLS),
				  (struct matmul_how){ .a_transposed = true });
	}
	o->to_host(d, got, out, COLS * COLS * sizeof(*out));
	check_err(o->sync(d, &e), 0);
	o->release(d, a);
	o->release(d, out);
	o->close(d);
}

/*
 * The library chooses by shape: 1,024 terms get another algorithm than 960. Products of both sizes share a
 * choice, which must not depend on the one that came first: a resumed run meets other batches first.
 */
TEST(cuda_choices_by_shape)
{
	float alone[COLS * COLS], later[COLS * COLS];

	multiply_after(alone, 0);
	multiply_after(later, 1024);
	check(!memcmp(alone, later, sizeof(alone)));
	check_int(sim_faults(NULL), 0);
}

TEST(cuda_choices_of_another_library)
{
	struct computed before;

	sim_set_blas_version(120805);
	compute_products(&before, measuring, 1, NULL, 0);
	sim_set_blas_version(130100);
	check_not_taken(before.text, before.n, ERR_UNAVAILABLE);
	free(before.text);
}
