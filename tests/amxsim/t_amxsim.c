/*
 * t_amxsim.c - the simulated tile unit (amxsim.h), then the CPU backend on it: every op against its
 * definition, bits that must not depend on threads or on the batch, and 30 steps of training.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/cpu.h"
#include "kernels/ops/bf16.h"
#include "kernels/ops/panels.h"
#include "tests/amxsim/amxsim.h"
#include "tests/kernels/ops_list.h"
#include "tests/test.h"
#include "tests/train/small_model.h"
#include "train/optim/adam.h"

const struct ops *cpu_table_sim(void);
const struct ops *cpu_table_sim_v4(void);

/* ---- the simulator --------------------------------------------------------------------- */

struct config {
	uint8_t palette, start_row, reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
};

/* Tiles 0: sums, 1: a, 2: b, of these shapes; 3: as 0. */
static struct config config_of(int rows, int units, int cols)
{
	struct config c = { .palette = 1 };

	c.rows[0] = c.rows[1] = c.rows[3] = (uint8_t)rows;
	c.rows[2] = (uint8_t)units;
	c.row_bytes[0] = c.row_bytes[2] = c.row_bytes[3] = (uint16_t)(4 * cols);
	c.row_bytes[1] = (uint16_t)(4 * units);
	return c;
}

static bool config_is_refused(struct config c)
{
	char text[200];

	amxsim_catch(text, sizeof(text));
	amxsim_load_config(&c);
	amxsim_catch(NULL, 0);
	return text[0] != 0;
}

TEST(amxsim_refuses_configurations)
{
	const struct config good = config_of(16, 16, 16);
	struct config c = good;

	check(!config_is_refused(c));
	c.palette = 2;
	check(config_is_refused(c));
	c = good;
	c.start_row = 1;
	check(config_is_refused(c));
	c = good;
	c.reserved[13] = 1;
	check(config_is_refused(c));
	c = good;
	c.rows[8] = 1;
	check(config_is_refused(c));
	c = good;
	c.rows[1] = 17;
	check(config_is_refused(c));
	c = good;
	c.row_bytes[1] = 65;
	check(config_is_refused(c));
	c = good;
	c.row_bytes[1] = 0;
	check(config_is_refused(c));
	check_int(amxsim_configured_threads(), 1);
	_tile_release();
	check_int(amxsim_configured_threads(), 0);
}

TEST(amxsim_refuses_instructions)
{
	const struct config good = config_of(3, 2, 5), narrow = config_of(3, 2, 5);
	struct config c = narrow;
	char text[200];

	amxsim_catch(text, sizeof(text));
	_tile_zero(0);
	check_str(text, "zero without a configuration");
	amxsim_catch(text, sizeof(text));
	_tile_loadconfig(&good);
	_tile_dpbf16ps(0, 1, 2);
	check_str(text, "");
	_tile_dpbf16ps(0, 1, 1);
	check_str(text, "tiles 0, 1, 1: operands must differ");
	_tile_dpbf16ps(0, 2, 1);
	check_str(text, "(2 x 20 bytes) times (3 x 8 bytes) into (3 x 20 bytes)");
	_tile_zero(7);
	check_str(text, "zero: tile 7 has no rows");
	c.row_bytes[1] = 6;
	_tile_loadconfig(&c);
	_tile_dpbssd(0, 1, 2);
	check_str(text, "a row is no multiple of four bytes");
	amxsim_catch(NULL, 0);
	_tile_release();
}

static uint16_t half(float x)
{
	return bf16_from_float(x);
}

/* Even and odd elements apart; then both; then the old sum. Each addition rounds. */
TEST(amxsim_order_of_additions)
{
	const struct config c = config_of(1, 2, 1);
	const float tiny = 0x1p-24f;
	uint16_t a[4] = { half(1), half(tiny), half(tiny), half(tiny) };
	uint16_t b[4] = { half(1), half(1), half(1), half(1) };
	float sum = 4;

	_tile_loadconfig(&c);
	_tile_loadd(0, &sum, 4);
	_tile_loadd(1, a, 8);
	_tile_loadd(2, b, 4);
	_tile_dpbf16ps(0, 1, 2);
	_tile_stored(0, &sum, 4);
	check(sum == 5); /* even: 1 + 2^-24 is 1; odd: 2^-23; 1 + 2^-23; 5 + 2^-23 is 5 */
	sum = 0;
	_tile_loadd(0, &sum, 4);
	_tile_dpbf16ps(0, 1, 2);
	_tile_stored(0, &sum, 4);
	check(sum == 1 + 0x1p-23f); /* in one chain it would be 1 */
	_tile_release();
}

TEST(amxsim_denormals_and_poison)
{
	const struct config c = config_of(1, 1, 1);
	uint16_t a[2] = { half(0x1p-100f), 1 /* a denormal */ }, b[2] = { half(0x1p-40f), half(1) };
	float sum = FLT_MIN / 2;

	_tile_loadconfig(&c);
	_tile_loadd(1, a, 4);
	_tile_loadd(2, b, 4);
	_tile_dpbf16ps(0, 1, 2);
	_tile_stored(0, &sum, 4);
	check(isnan(sum)); /* tile 0 was never set */
	sum = FLT_MIN / 2;
	_tile_loadd(0, &sum, 4);
	_tile_dpbf16ps(0, 1, 2);
	_tile_stored(0, &sum, 4);
	check(sum == 0);
	_tile_release();
}

TEST(amxsim_bytes)
{
	const struct config c = config_of(1, 1, 1);
	uint8_t a[4] = { 255, 1, 2, 128 }, b[4] = { 2, 255, 3, 128 };
	uint32_t sum[4] = { 10, 10, 10, 10 };

	_tile_loadconfig(&c);
	_tile_loadd(1, a, 4);
	_tile_loadd(2, b, 4);
	_tile_loadd(0, sum, 4);
	_tile_dpbssd(0, 1, 2);
	_tile_stored(0, sum, 4);
	_tile_loadd(0, sum + 1, 4);
	_tile_dpbsud(0, 1, 2);
	_tile_stored(0, sum + 1, 4);
	_tile_loadd(0, sum + 2, 4);
	_tile_dpbusd(0, 1, 2);
	_tile_stored(0, sum + 2, 4);
	_tile_loadd(0, sum + 3, 4);
	_tile_dpbuud(0, 1, 2);
	_tile_stored(0, sum + 3, 4);
	check_int((int32_t)sum[0], 10 - 2 - 1 + 6 + 16384);
	check_int((int32_t)sum[1], 10 - 2 + 255 + 6 - 16384);
	check_int((int32_t)sum[2], 10 + 510 - 1 + 6 - 16384);
	check_int((int32_t)sum[3], 10 + 510 + 255 + 6 + 16384);
	_tile_release();
}

/* ---- the backend on simulated tiles ---------------------------------------------------- */

/* Shapes that only tiles treat apart: K of whole tiles, of several passes; results past the caches. */
static const struct op_case tile_cases[] = {
	{ "matmul", 70, 96, 64, 0, 0, BF16 | ROUNDED },
	{ "matmul", 65, 40, 96, 0, 0, BF16 | ROUNDED | WIDE },
	{ "matmul", 33, 70, 2112, 0, 0, BF16 | ROUNDED | B_TRANSPOSED },
	{ "matmul", 40, 34, 4128, 0, 0, HALF_CACHE | ROUNDED },
	{ "matmul", 34, 40, 2050, 0, 0, BF16 | ROUNDED | A_TRANSPOSED | ACCUMULATE },
	{ "matmul", 72, 33, 2081, 0, 0, ROUNDED | A_TRANSPOSED | ACCUMULATE },
	{ "matmul", 35, 300, 64, 0, 0, HALF_CACHE | ROUNDED | A_TRANSPOSED | B_TRANSPOSED },
	{ "matmul", 300, 35, 64, 0, 0, BF16 | ROUNDED | ACCUMULATE },
	{ "matmul", 2080, 544, 1, 0, 0, BF16 | ROUNDED | ALIGNED },
	{ "matmul", 544, 1040, 2, 0, 0, ROUNDED | ALIGNED },
	{ "linear", 16, 64, 96, 2, 0, 0 },
	{ "linear", 33, 70, 64, 2, 0, WIDE },
	{ "linear", 33, 70, 128, 4, 0, NO_BIAS },
	{ "linear", 1, 33, 520, 4, 0, WIDE },
};

/* The backends that can run here; NULL at the end. */
static void find_backends(const struct ops *list[3])
{
	size_t n = 0;

	list[n++] = cpu_table_sim();
#ifdef HAVE_VECTOR_VARIANTS
	if (cpu_variant(2) && __builtin_cpu_supports("avx512bf16"))
		list[n++] = cpu_table_sim_v4();
#endif
	list[n] = NULL;
}

TEST(amxsim_shapes)
{
	const struct ops *list[3];
	const long before = amxsim_multiplications();

	find_backends(list);
	for (int i = 0; list[i]; i++)
		for (size_t j = 0; j < ARRAY_LEN(tile_cases); j++)
			ops_compare(list[i], "simulated tiles", &tile_cases[j]);
	check(amxsim_multiplications() > before);
	check_int(amxsim_configured_threads(), 0);
}

TEST(amxsim_ops)
{
	const struct ops *list[3];

	find_backends(list);
	for (int i = 0; list[i]; i++)
		ops_compare_all(list[i], "simulated tiles");
	check_int(amxsim_configured_threads(), 0);
}

/* Both runs of a case agree bit by bit. */
static void compare_bits(const struct ops *x, int x_threads, const struct ops *y, int y_threads,
			 const struct op_case *c, const char *what)
{
	struct run first, second;

	run_case(&first, x, x_threads, c, ops_function(c->op));
	run_case(&second, y, y_threads, c, ops_function(c->op));
	run_check_same(&first, &second, what);
	run_free(&first);
	run_free(&second);
}

TEST(amxsim_threads_change_nothing)
{
	for (size_t i = 0; i < ARRAY_LEN(tile_cases); i++)
		compare_bits(cpu_table_sim(), 1, cpu_table_sim(), 3, &tile_cases[i], "3 threads");
	for (size_t i = 0; i < ops_n_cases; i++)
		if (!strncmp(ops_cases[i].op, "linear", 6) || !strcmp(ops_cases[i].op, "matmul"))
			compare_bits(cpu_table_sim(), 1, cpu_table_sim(), 3, &ops_cases[i],
				     "3 threads");
}

/* On a processor with AMX: the instructions give the bits of their simulation. */
TEST(amxsim_equals_processor)
{
#ifdef HAVE_VECTOR_VARIANTS
	if (cpu_variant(2) && cpu_can_use_tiles()) {
		for (size_t i = 0; i < ARRAY_LEN(tile_cases); i++)
			compare_bits(cpu_variant(2), 2, cpu_table_sim_v4(), 2, &tile_cases[i],
				     "the processor's tiles");
		return;
	}
#endif
	test_skip("no tiles (AMX) here");
}

/* A row has the same bits alone and among others; int8 has those of a backend without tiles. */
TEST(amxsim_linear_rows)
{
	enum { ROWS = 39, COLS = 70, INNER = 130 };
	static const enum dtype kinds[] = { DTYPE_PACKED_BF16, DTYPE_PACKED_INT8 };
	static float a[ROWS * INNER], b[COLS * INNER], all[ROWS * COLS], other[ROWS * COLS];
	static int32_t block[3 * PANEL_WIDTH * (INNER + 2)];
	const struct ops *sim = cpu_table_sim(), *plain = cpu_variant(0);
	struct rng_key key = rng_key_make(1, RNG_TEST, 0, 0);
	struct dev_options options = { .threads = 2 };
	struct err e = { 0 };
	struct dev *d = sim->open(&options, &e), *without = plain->open(&options, &e);
	const struct tensor rows = tensor_f32(a, ROWS, INNER), out = tensor_f32(all, ROWS, COLS);

	for (int i = 0; i < ROWS * INNER; i++)
		a[i] = rng_unit(key, (uint64_t)i) - 0.5f;
	for (int i = 0; i < COLS * INNER; i++)
		b[i] = rng_unit(key, (uint64_t)(ROWS * INNER + i)) - 0.5f;
	for (size_t i = 0; d && without && i < ARRAY_LEN(kinds); i++) {
		struct tensor packed = { block, COLS, INNER, 0, kinds[i] };

		sim->pack(d, packed, tensor_f32(b, COLS, INNER));
		sim->linear(d, out, rows, packed, NULL, false);
		for (int r = 0; r < ROWS; r++) {
			sim->linear(d, tensor_f32(other, 1, COLS), tensor_rows(rows, r, 1), packed,
				    NULL, false);
			check(!memcmp(other, all + r * COLS, COLS * sizeof(*other)));
		}
		plain->linear(without, tensor_f32(other, ROWS, COLS), rows, packed, NULL, false);
		check(kinds[i] == DTYPE_PACKED_BF16 || !memcmp(other, all, sizeof(all)));
	}
	sim->close(d);
	plain->close(without);
}

/* ---- training ------------------------------------------------------------------------------ */

struct learner {
	struct model *model;
	struct adam adam;
	struct batch batch;
};

/* False: a check failed; close it in any case. */
static bool learner_open(struct learner *l, int threads)
{
	struct model_shape shape = small_shape();
	struct dev_options options = { .threads = threads, .bf16 = true };
	struct err e = { 0 };

	*l = (struct learner){ 0 };
	shape.d_model = 32;
	shape.d_ff = 96;
	shape.encoder_layers = shape.decoder_layers = 1;
	l->model = model_new(&shape, cpu_table_sim(), &options, &e);
	return l->model &&
	       check_err(model_reserve_training(l->model, SMALL_TOKENS, SMALL_SENTENCES, &e), 0) &&
	       check_err(model_init(l->model, 8, &e), 0) && small_batch(&l->batch) &&
	       check_err(adam_open(&l->adam, l->model, 0.9, 0.98, 1e-9, &e), 0);
}

static void learner_close(struct learner *l)
{
	if (l->adam.model)
		adam_close(&l->adam);
	batch_free(&l->batch);
	model_free(l->model);
}

static void learner_run(struct learner *l, int from, int to)
{
	const struct model_pass_options how = { .dropout = 0.1f, .grad_scale = 1 };
	struct model_sums sums;
	struct err e;

	for (int step = from; step < to; step++) {
		small_clear_grad(l->model);
		check_err(model_forward_backward(l->model, &l->batch, &how, &sums, &e), 0);
		adam_apply(&l->adam, step, 3e-3, 1.0 / (double)sums.tokens);
	}
}

/* Parameters after 30 steps, owned by the caller: `first` threads for 15 steps, then `then`. */
static float *trained(int first, int then)
{
	struct learner a = { 0 }, b = { 0 };
	float *params = NULL;

	if (learner_open(&a, first) && learner_open(&b, then)) {
		const size_t bytes = (size_t)model_floats(a.model) * sizeof(float);

		learner_run(&a, 0, 15);
		memcpy(model_param_arena(b.model), model_param_arena(a.model), bytes);
		memcpy(b.adam.first, a.adam.first, bytes);
		memcpy(b.adam.second, a.adam.second, bytes);
		learner_run(&b, 15, 30);
		params = small_copy(b.model, model_param_arena(b.model));
	}
	learner_close(&b);
	learner_close(&a);
	return params;
}

/* 30 steps on 1, 2 and 3 threads, and with a change of threads half-way, end with the same bits. */
TEST(amxsim_training)
{
	static const int threads[][2] = { { 2, 2 }, { 3, 3 }, { 1, 3 } };
	struct learner l;
	float *one = trained(1, 1);

	if (!check(one) || !learner_open(&l, 1))
		return;
	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		float *other = trained(threads[i][0], threads[i][1]);

		check(other && !memcmp(one, other, (size_t)model_floats(l.model) * sizeof(*one)));
		free(other);
	}
	check(memcmp(one, model_param_arena(l.model), (size_t)model_floats(l.model)) != 0);
	check_int(amxsim_configured_threads(), 0);
	learner_close(&l);
	free(one);
}
