/*
 * t_ops.c - every op of every backend against the definition (kernels/ref/ref.h), with the cases of
 * ops_cases.def; profiled backends; bits that must not depend on threads or on the number of rows.
 */
#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/cpu.h"
#include "kernels/device_roof.h"
#include "kernels/ops/dropout.h"
#include "kernels/ops/panels.h"
#include "kernels/profile.h"
#include "tests/kernels/ops_list.h"
#include "tests/test.h"

TEST(ops_every_op_has_a_case)
{
	for (size_t i = 0; i < ops_n; i++) {
		int n = 0;

		for (size_t j = 0; j < ops_n_cases; j++)
			n += strcmp(ops_list[i].name, ops_cases[j].op) == 0;
		if (n == 0)
			test_fail(__FILE__, __LINE__, "no case for %s", ops_list[i].name);
	}
	for (size_t j = 0; j < ops_n_cases; j++)
		if (!ops_function(ops_cases[j].op))
			test_fail(__FILE__, __LINE__, "there is no op %s", ops_cases[j].op);
}

TEST(ops_cpu_plain)
{
	ops_compare_all(cpu_variant(0), "cpu for any machine");
}

TEST(ops_cpu_v3)
{
	if (cpu_variant(1))
		ops_compare_all(cpu_variant(1), "cpu for x86-64-v3");
	else
		test_skip("no x86-64-v3 here");
}

TEST(ops_cpu_v4)
{
	if (cpu_variant(2))
		ops_compare_all(cpu_variant(2), "cpu for x86-64-v4");
	else
		test_skip("no x86-64-v4 here");
}

static struct dev *open_without_vnni(const struct dev_options *options, struct err *e)
{
	struct dev *d = cpu_open(options, e);

	if (d)
		d->avx_vnni = false;
	return d;
}

/*
 * On a processor with AVX-VNNI ops_cpu_v3 tests its instruction, and this those of AVX2. Sums of
 * integers are exact, so both give the same bits.
 */
TEST(ops_cpu_v3_without_vnni)
{
	struct ops table;

	if (!cpu_variant(1) || !cpu_has_avx_vnni()) {
		test_skip("no AVX-VNNI here");
		return;
	}
	table = *cpu_variant(1);
	table.open = open_without_vnni;
	ops_compare_all(&table, "cpu for x86-64-v3 without AVX-VNNI");
	for (size_t i = 0; i < ops_n_cases; i++) {
		op_function *f = ops_function(ops_cases[i].op);
		struct run with, without;

		if (strncmp(ops_cases[i].op, "linear", 6) != 0)
			continue;
		run_case(&with, cpu_variant(1), 1, &ops_cases[i], f);
		run_case(&without, &table, 1, &ops_cases[i], f);
		run_check_same(&with, &without, "without AVX-VNNI");
		run_free(&with);
		run_free(&without);
	}
}

static struct dev *open_without_tiles(const struct dev_options *options, struct err *e)
{
	struct dev *d = cpu_open(options, e);

	if (d)
		d->tiles = false;
	return d;
}

/* On a processor with AMX ops_cpu_v4 tests the tile unit, and this the vector units. */
TEST(ops_cpu_v4_without_tiles)
{
	struct ops table;

	if (!cpu_variant(2) || !cpu_can_use_tiles()) {
		test_skip("no tiles (AMX) here");
		return;
	}
	table = *cpu_variant(2);
	table.open = open_without_tiles;
	ops_compare_all(&table, "cpu for x86-64-v4 without tiles");
}

/* OPS in the environment: only ops whose name begins so. */
TEST(ops_cuda)
{
	const char *only = getenv("OPS");

	if (!ops_cuda() || !ops_cuda()->usable()) {
		test_skip("no GPU here");
		return;
	}
	for (size_t i = 0; i < ops_n_cases; i++) {
		struct op_case aligned = ops_cases[i];
		op_function *f = ops_function(aligned.op);
		struct run first, again;

		if (only && strncmp(aligned.op, only, strlen(only)) != 0)
			continue;
		aligned.flags |= ALIGNED;
		ops_compare(ops_cuda(), "cuda", &ops_cases[i]);
		ops_compare(ops_cuda(), "cuda", &aligned);
		run_case(&first, ops_cuda(), 1, &aligned, f);
		aligned.flags |= DEPENDENT;
		run_case(&again, ops_cuda(), 1, &aligned, f);
		run_check_same(&first, &again, "a second run");
		run_free(&first);
		run_free(&again);
	}
}

static struct profile *watching;

static struct dev *open_watched(const struct dev_options *options, struct err *e)
{
	struct dev_options all = *options;

	all.profile = watching;
	return profile_ops(watching)->open(&all, e);
}

/* A profiled backend gives the bits of the backend it profiles, and has measured every op. */
TEST(ops_profiled)
{
	const struct profile_entry *list;
	struct err e = { 0 };
	struct ops table;
	size_t n;

	watching = profile_new(ops_cpu(), &e);
	if (!check_err(e.code, 0))
		return;
	table = *profile_ops(watching);
	table.open = open_watched;
	check_str(table.name, "cpu");
	for (size_t i = 0; i < ops_n_cases; i++) {
		struct run plain, watched;

		run_case(&plain, ops_cpu(), 2, &ops_cases[i], ops_function(ops_cases[i].op));
		run_case(&watched, &table, 2, &ops_cases[i], ops_function(ops_cases[i].op));
		run_check_same(&plain, &watched, "the profiled backend");
		run_free(&plain);
		run_free(&watched);
	}
	list = profile_entries(watching, &n);
	for (size_t i = 0; i < ops_n; i++) {
		int64_t wanted = 0, calls = 0;

		for (size_t j = 0; j < ops_n_cases; j++)
			wanted += !strcmp(ops_cases[j].op, ops_list[i].name);
		for (size_t j = 0; j < n; j++)
			calls += !strcmp(list[j].op, ops_list[i].name) ? list[j].calls : 0;
		check(calls >= wanted && calls > 0); /* some cases call further ops first */
	}
	for (size_t j = 0; j + 1 < n; j++)
		check(list[j].seconds >= list[j + 1].seconds);
	profile_free(watching);
}

/* The same bits in a second run, and with another number of threads. */
TEST(ops_cpu_bits)
{
	for (size_t i = 0; i < ops_n_cases; i++) {
		op_function *f = ops_function(ops_cases[i].op);
		struct run first, again, alone;

		run_case(&first, ops_cpu(), 3, &ops_cases[i], f);
		run_case(&again, ops_cpu(), 3, &ops_cases[i], f);
		run_case(&alone, ops_cpu(), 1, &ops_cases[i], f);
		run_check_same(&first, &again, "a second run");
		run_check_same(&first, &alone, "one thread");
		run_free(&first);
		run_free(&again);
		run_free(&alone);
	}
}

/* A row has the same bits alone and among other rows, for each type of unit. */
TEST(ops_linear_rows)
{
	enum { ROWS = 14, COLS = 70, INNER = 130 };
	static const enum dtype kinds[] = { DTYPE_PACKED_F32, DTYPE_PACKED_BF16,
					    DTYPE_PACKED_INT8 };
	static float a[ROWS * INNER], b[COLS * INNER], together[ROWS * COLS], alone[COLS];
	static int32_t block[3 * PANEL_WIDTH * (INNER + 2)];
	struct rng_key key = rng_key_make(1, RNG_TEST, 0, 0);
	struct dev_options options = { .threads = 2 };
	struct err e = { 0 };

	for (int i = 0; i < ROWS * INNER; i++)
		a[i] = rng_unit(key, (uint64_t)i) - 0.5f;
	for (int i = 0; i < COLS * INNER; i++)
		b[i] = rng_unit(key, (uint64_t)(ROWS * INNER + i)) - 0.5f;
	for (int v = 0; v < CPU_VARIANTS; v++) {
		const struct ops *o = cpu_variant(v);
		struct dev *d = o ? o->open(&options, &e) : NULL;

		for (size_t i = 0; i < ARRAY_LEN(kinds) && o; i++) {
			struct tensor packed = { block, COLS, INNER, 0, kinds[i] };

			o->pack(d, packed, tensor_f32(b, COLS, INNER));
			o->linear(d, tensor_f32(together, ROWS, COLS), tensor_f32(a, ROWS, INNER),
				  packed, NULL, false);
			for (int r = 0; r < ROWS; r++) {
				o->linear(d, tensor_f32(alone, 1, COLS),
					  tensor_f32(a + r * INNER, 1, INNER), packed, NULL, false);
				check(!memcmp(alone, together + r * COLS, sizeof(alone)));
			}
		}
		if (o)
			o->close(d);
	}
}

TEST(ops_find_backend)
{
	struct err e = { 0 };

	check(ops_find("ref", &e) == ops_ref());
	check(ops_find("cpu", &e) == ops_cpu());
	check(ops_find("auto", &e) != ops_ref());
	check(ops_find("abacus", &e) == NULL);
	check_int(e.code, ERR_UNAVAILABLE);
	if (!ops_cuda()) {
		e.code = 0;
		check(ops_find("cuda", &e) == NULL);
		check_int(e.code, ERR_UNAVAILABLE);
	}
}

TEST(ops_memory_runs_out)
{
	const struct ops *all[] = { ops_ref(), ops_cpu() };
	struct dev_options options = { .threads = 1 };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct err e = { 0 };
		struct dev *d = all[i]->open(&options, &e);

		check(all[i]->alloc(d, SIZE_MAX, &e) == NULL);
		check_int(e.code, ERR_NOMEM);
		all[i]->close(d);
	}
}

/* The known answers of Random123 for Philox4x32-10. */
TEST(ops_philox)
{
	static const uint32_t zeros[4] = { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 };
	static const uint32_t ones[4] = { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd };
	struct rng_key key = { 0 }, all = { .seed_low = 0xFFFFFFFFu ^ (0xFFFFFFFFu * 0x9E3779B1u),
					    .seed_high = 0xFFFFFFFFu,
					    .purpose = 0xFFFFFFFFu,
					    .step = 0xFFFFFFFFu };

	for (int i = 0; i < 4; i++) {
		check_int(rng_block_at(key, 0).v[i], zeros[i]);
		check_int(rng_block_at(all, UINT64_MAX).v[i], ones[i]);
	}
}

TEST(ops_dropout_share)
{
	struct rng_key key = rng_key_make(7, RNG_DROPOUT, 3, 1);
	int kept = 0, n = 100000;

	for (int i = 0; i < n; i++)
		kept += dropout_is_kept(key, (uint64_t)i, dropout_threshold(0.3f));
	check_near(kept / (double)n, 0.7, 0.005);
	check_near(dropout_scale(0.3f) * 0.7, 1, 1e-4);
	check_near(dropout_scale(0), 1, 0);
}

TEST(ops_cpu_memory)
{
	const struct ops *o = ops_cpu();
	struct dev_options options = { .threads = 1 };
	struct err e = { 0 };
	struct dev *d = o->open(&options, &e);
	static const size_t sizes[] = { 0, 1, 4095, 5 << 20 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes) && check(d); i++) {
		unsigned char *p = o->alloc(d, sizes[i], &e), sum = 0;

		if (!check(p && (uintptr_t)p % 64 == 0))
			continue;
		for (size_t k = 0; k < sizes[i]; k++)
			sum |= p[k];
		check_int(sum, 0);
		memset(p, 1, sizes[i]);
		o->release(d, p);
	}
	check(!o->alloc(d, SIZE_MAX - 100, &e));
	check_int(e.code, ERR_NOMEM);
	check(!o->alloc(d, SIZE_MAX / 2, &e));
	o->release(d, NULL);
	o->close(d);
}

/* The roof of the fast kernels is above that of their definition. */
TEST(device_roof_measured)
{
	const struct dev_options options = { .threads = 1 };
	struct device_roof fast, plain;
	struct err e;

	if (!check_int(device_roof_measure(ops_cpu(), &options, &fast, &e), 0) ||
	    !check_int(device_roof_measure(ops_ref(), &options, &plain, &e), 0))
		return;
	check(isfinite(fast.flops) && isfinite(fast.bytes) && fast.bytes > 0);
	check(plain.flops > 0 && plain.bytes > 0);
	check(fast.flops > plain.flops);
}
