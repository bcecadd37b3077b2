/* t_comm.c - reductions between ranks: wire formats, order of buckets, sums */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "share/base/rng.h"
#include "tests/train/fake_ranks.h"
#include "tests/train/small_model.h"
#include "train/comm/compress.h"
#include "train/comm/reduce.h"

/* Numbers of both signs in -128 .. 128, of sizes that differ by 2^powers. */
static void fill_within(float *x, size_t n, uint32_t what, uint32_t powers)
{
	const struct rng_key key = rng_key_make(7, RNG_TEST, what, 0);

	for (size_t i = 0; i < n; i++) {
		uint32_t u = rng_u32(key, i);

		x[i] = ((float)(u & 0xFFFF) / 32768 - 1) *
		       powf(2, 7 - (float)((u >> 16) % (powers + 1)));
	}
}

static void fill(float *x, size_t n, uint32_t what)
{
	fill_within(x, n, what, 31);
}

static double length2(const float *x, const float *y, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += ((double)x[i] - (y ? y[i] : 0)) * ((double)x[i] - (y ? y[i] : 0));
	return sum;
}

/* ---- wire formats ------------------------------------------------------------- */

TEST(compress_bf16_rounds_to_nearest_even)
{
	static const struct {
		uint32_t in, out;
	} cases[] = {
		{ 0x3F800000, 0x3F800000 }, { 0x3F808000, 0x3F800000 }, { 0x3F818000, 0x3F820000 },
		{ 0x3F808001, 0x3F810000 }, { 0xBF807FFF, 0xBF800000 }, { 0x00000000, 0x00000000 },
		{ 0x80000000, 0x80000000 }, { 0x7F800000, 0x7F800000 }, { 0xFF800000, 0xFF800000 },
		{ 0x7F7FFFFF, 0x7F800000 }, { 0x00008000, 0x00000000 }, { 0x00018000, 0x00020000 },
		{ 0x7FC00000, 0x7FC00000 }, { 0x7F800001, 0x7FC00000 }, { 0xFFFFFFFF, 0xFFFF0000 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		unsigned char wire[2];
		float x, y;
		uint32_t got;

		memcpy(&x, &cases[i].in, 4);
		compress_encode(WIRE_BF16, wire, &x, NULL, 1);
		compress_decode(WIRE_BF16, &y, wire, 1);
		memcpy(&got, &y, 4);
		check_int(got, cases[i].out);
	}
}

TEST(compress_bf16_error_is_bounded)
{
	enum { N = 3001 };
	static float x[N], y[N];
	static unsigned char wire[2 * N];

	fill(x, N, 1);
	check_int(compress_bytes(WIRE_BF16, N), 2 * N);
	compress_encode(WIRE_BF16, wire, x, NULL, N);
	compress_decode(WIRE_BF16, y, wire, N);
	for (size_t i = 0; i < N; i++)
		if (!(fabs((double)y[i] - x[i]) <= fabs((double)x[i]) / 256)) {
			test_fail(__FILE__, __LINE__, "%g became %g", (double)x[i], (double)y[i]);
			return;
		}
}

/* Levels adapt to the size of the values. Decode-and-add equals decoding, then adding. */
TEST(compress_levels_fit_any_size)
{
	enum { N = 5 * COMPRESS_BLOCK + 77 };
	static const double ratios[] = { 1 / 16.0, 1 / 32.0, 1 / 4.0 };
	static float x[N], y[N], z[N], scaled[N];
	static unsigned char wire[2 * N];

	fill(x, N, 2);
	for (enum wire_format w = WIRE_2BIT; w < WIRE_FORMATS; w++) {
		double lost, all = length2(x, NULL, N);

		check_near(compress_bytes(w, N) / (N * 4.0), ratios[w - WIRE_2BIT], 0.005);
		compress_encode(w, wire, x, NULL, N);
		compress_decode(w, y, wire, N);
		lost = length2(x, y, N);
		check(lost < all);
		if (w != WIRE_INT8) /* where a level is a mean */
			check_near(lost, all - length2(y, NULL, N), all * 0.01);
		memcpy(z, x, sizeof(z));
		compress_add(w, z, wire, N);
		for (size_t i = 0; i < N; i++)
			if (z[i] != x[i] + y[i]) {
				test_fail(__FILE__, __LINE__, "element %d", (int)i);
				break;
			}
		for (size_t i = 0; i < N; i++)
			scaled[i] = x[i] * 0x1p-30f;
		compress_encode(w, wire, scaled, NULL, N);
		compress_decode(w, z, wire, N);
		for (size_t i = 0; i < N; i++)
			if (z[i] != y[i] * 0x1p-30f) {
				test_fail(__FILE__, __LINE__, "small element %d", (int)i);
				break;
			}
	}
}

/* int8: no number is further off than half of a 127th of the largest in its block. */
TEST(compress_int8_rounds_to_nearest)
{
	enum { N = 3 * COMPRESS_BLOCK + 5 };
	static float x[N], y[N];
	static unsigned char wire[2 * N];

	fill(x, N, 7);
	memset(x + COMPRESS_BLOCK, 0, COMPRESS_BLOCK * sizeof(*x));
	x[N - 1] = 0x1p-130f; /* its block's largest is far from it */
	compress_encode(WIRE_INT8, wire, x, NULL, N);
	compress_decode(WIRE_INT8, y, wire, N);
	for (size_t at = 0; at < N; at += COMPRESS_BLOCK) {
		const size_t end = MIN(at + COMPRESS_BLOCK, (size_t)N);
		float most = 0;

		for (size_t i = at; i < end; i++)
			most = fmaxf(most, fabsf(x[i]));
		/* the scale is rounded to 8 bits, so the largest number may be half of it too large */
		for (size_t i = at; i < end; i++)
			check(fabsf(x[i] - y[i]) <= most / 127 * 0.51f);
	}
	for (size_t i = 0; i < COMPRESS_BLOCK; i++)
		x[i] = 0x1p-140f; /* too small for a scale */
	compress_encode(WIRE_INT8, wire, x, NULL, COMPRESS_BLOCK);
	compress_decode(WIRE_INT8, y, wire, COMPRESS_BLOCK);
	check(y[0] == 0 && y[COMPRESS_BLOCK - 1] == 0);
}

/* Sums over steps are correct except for one rounding error, which does not grow. */
TEST(compress_error_feedback)
{
	enum { N = 700, STEPS = 200 };
	static float x[N], y[N], feedback[N];
	static double wanted[N], written[N];
	static unsigned char wire[2 * N];

	for (enum wire_format w = WIRE_2BIT; w < WIRE_FORMATS; w++) {
		double worst = 0, largest = 0;

		memset(feedback, 0, sizeof(feedback));
		memset(wanted, 0, sizeof(wanted));
		memset(written, 0, sizeof(written));
		for (int step = 0; step < STEPS; step++) {
			fill(x, N, 100 + (uint32_t)step);
			compress_encode(w, wire, x, feedback, N);
			compress_decode(w, y, wire, N);
			for (size_t i = 0; i < N; i++) {
				wanted[i] += x[i];
				written[i] += y[i];
			}
		}
		for (size_t i = 0; i < N; i++) {
			worst = fmax(worst, fabs(wanted[i] - written[i] - feedback[i]));
			largest = fmax(largest, fabs((double)feedback[i]));
		}
		check(worst < 1e-2);	   /* rounding of 200 additions of numbers up to 128 */
		check(largest < 128 * 40); /* without feedback: of the order of 128 * 200 */
		check(length2(feedback, NULL, N) > 0);
	}
}

TEST(compress_keeps_error_feedback_finite)
{
	static float x[COMPRESS_BLOCK + 3], y[COMPRESS_BLOCK + 3], feedback[COMPRESS_BLOCK + 3];
	static unsigned char wire[2 * COMPRESS_BLOCK];

	for (enum wire_format w = WIRE_2BIT; w < WIRE_FORMATS; w++)
		for (int bad = 0; bad < 2; bad++) {
			for (size_t i = 0; i < ARRAY_LEN(x); i++) {
				x[i] = (float)i - 9;
				feedback[i] = 0.5f;
			}
			x[5] = bad ? NAN : INFINITY;
			compress_encode(w, wire, x, feedback, ARRAY_LEN(x));
			compress_decode(w, y, wire, ARRAY_LEN(x));
			check(isnan(y[0]) && isnan(y[5]));
			check(isfinite(y[COMPRESS_BLOCK]));
			check(feedback[0] == 0.5f && feedback[5] == 0.5f);
			check(isfinite(feedback[COMPRESS_BLOCK]));
		}
}

/* ---- buckets ----------------------------------------------------------- */

TEST(buckets_cover_everything_once)
{
	static const size_t sizes[] = { 1, 511, 512, 513, 5000, 100003, 1 << 20 };
	static const double megabytes[] = { 0.01, 0.1, 4, 1000 };
	static unsigned char seen[1 << 20];

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		for (size_t k = 0; k < ARRAY_LEN(megabytes); k++)
			for (int ranks = 1; ranks <= 5; ranks += 2) {
				struct buckets b = buckets_make(sizes[i], megabytes[k], ranks);
				size_t end = sizes[i], total = 0;

				memset(seen, 0, sizes[i]);
				for (size_t n = 0; n < b.count; n++) {
					struct range whole = buckets_at(&b, n);

					check_int(whole.at + whole.n, end);
					end = whole.at;
					for (int r = 0; r < ranks; r++) {
						struct range p = buckets_piece(&b, n, r);

						check(!p.n || p.at % COMPRESS_BLOCK == 0);
						check(p.n <= buckets_largest_piece(&b));
						memset(seen + p.at, 1, p.n);
					}
				}
				check_int(end, 0);
				check(!memchr(seen, 0, sizes[i]));
				for (int r = 0; r < ranks; r++)
					total += buckets_owned(&b, r);
				check_int(total, sizes[i]);
			}
}

/* ---- reductions -------------------------------------------------------- */

enum { FLOATS = 20011, ROUNDS = 3 };

struct reduction {
	enum wire_format wire;
	bool shards, thread, is_exact;
	double megabytes;
	float *result[8]; /* of each rank, owned */
	double sent[8];
};

static void contribution(float *x, int rank, int round)
{
	fill(x, FLOATS, (uint32_t)(10 * round + rank));
}

static void reduce_once(struct comm *c, void *arg)
{
	struct reduction *t = arg;
	struct err e = { 0 };
	struct reduce_options how = {
		.buckets = buckets_make(FLOATS, t->megabytes, c->size),
		.wire = t->wire,
		.may_be_exact = t->is_exact,
		.shards = t->shards,
		.thread = t->thread,
	};
	struct reduce *r = reduce_open(c, &how, &e);
	float *x = calloc(FLOATS, sizeof(*x));

	check(r && x);
	reduce_set_exact(r, t->is_exact);
	for (int round = 0; round < ROUNDS; round++) {
		bool done = false;

		contribution(x, c->rank, round);
		reduce_begin(r, x);
		for (size_t from = FLOATS; from > 3000; from -= 3000)
			reduce_ready(r, from);
		reduce_ready(r, 0);
		while (!done && check_err(reduce_poll(r, &done, &e), 0))
			comm_pause(0);
	}
	if (t->shards)
		check_err(reduce_all_gather(r, x, &e), 0);
	t->result[c->rank] = x;
	t->sent[c->rank] = reduce_collect(r).sent_bytes;
	reduce_free(r);
}

static void run_reduction(struct reduction *t, int ranks)
{
	fake_ranks(ranks, reduce_once, t);
	for (int i = 1; i < ranks; i++)
		check(!memcmp(t->result[0], t->result[i], FLOATS * sizeof(float)));
}

static void free_reduction(struct reduction *t, int ranks)
{
	for (int i = 0; i < ranks; i++)
		free(t->result[i]);
}

/* Sums are added in the order of ranks, bit for bit, for any buckets, with and without a thread. */
TEST(reduce_fp32_is_the_sum_in_order_of_ranks)
{
	static float want[FLOATS], x[FLOATS];

	for (int ranks = 1; ranks <= 4; ranks++)
		for (int variant = 0; variant < 4; variant++) {
			struct reduction t = { .shards = variant & 1,
					       .thread = variant & 2,
					       .megabytes = variant == 1 ? 4 : 0.01 };

			run_reduction(&t, ranks);
			contribution(want, 0, ROUNDS - 1);
			for (int i = 1; i < ranks; i++) {
				contribution(x, i, ROUNDS - 1);
				for (size_t k = 0; k < FLOATS; k++)
					want[k] += x[k];
			}
			check(!memcmp(want, t.result[0], sizeof(want)));
			free_reduction(&t, ranks);
		}
}

/* A rank sends 2 (n-1)/n of the array in the wire format; parts differ by a block or two. */
TEST(reduce_sends_predicted_bytes)
{
	for (enum wire_format w = WIRE_FP32; w < WIRE_FORMATS; w++) {
		struct reduction t = { .wire = w, .thread = true, .megabytes = 0.02 };
		double total = 0;

		run_reduction(&t, 3);
		for (int i = 0; i < 3; i++)
			total += t.sent[i];
		check_near(total / ROUNDS / (2 * 2 * FLOATS * 4.0 * compress_ratio(w)), 1, 0.01);
		free_reduction(&t, 3);
	}
}

TEST(reduce_bf16_is_near)
{
	struct reduction exact = { .thread = true, .megabytes = 0.02 }, t = exact;
	static float x[FLOATS], size[FLOATS];
	double worst = 0;

	t.wire = WIRE_BF16;
	run_reduction(&exact, 3);
	run_reduction(&t, 3);
	for (int i = 0; i < 3; i++) {
		contribution(x, i, ROUNDS - 1);
		for (size_t k = 0; k < FLOATS; k++)
			size[k] += fabsf(x[k]);
	}
	for (size_t k = 0; k < FLOATS; k++)
		worst = fmax(worst, fabs((double)t.result[0][k] - exact.result[0][k]) / size[k]);
	check(worst > 0);
	check(worst < 2.0 / 256);
	free_reduction(&exact, 3);
	free_reduction(&t, 3);
}

/* ---- error feedback of senders and receivers --------------------------------- */

enum { FED = 3011 };

struct feedback {
	enum wire_format wire;
	int steps;
	double off[8]; /* of each rank: relative error of the mean over steps */
};

static void reduce_many_times(struct comm *c, void *arg)
{
	struct feedback *t = arg;
	struct err e = { 0 };
	struct reduce_options how = { .buckets = buckets_make(FED, 0.02, c->size),
				      .wire = t->wire,
				      .thread = true };
	struct reduce *r = reduce_open(c, &how, &e);
	float *x = calloc(FED, sizeof(*x)), *signal = calloc(FED, sizeof(*x));
	double *sum = calloc(FED, sizeof(*sum)), lacks = 0, all = 0;

	check(r && x && signal && sum);
	for (int step = 0; step < t->steps; step++) {
		/* the same contribution in each step */
		fill_within(x, FED, 1000 + (uint32_t)c->rank, 4);
		check_err(reduce_all(r, x, &e), 0);
		for (size_t k = 0; k < FED; k++)
			sum[k] += x[k];
	}
	for (int i = 0; i < c->size; i++) {
		fill_within(x, FED, 1000 + (uint32_t)i, 4);
		for (size_t k = 0; k < FED; k++)
			signal[k] += x[k];
	}
	for (size_t k = 0; k < FED; k++) {
		lacks += pow(sum[k] / t->steps - signal[k], 2);
		all += pow(signal[k], 2);
	}
	t->off[c->rank] = sqrt(lacks / all);
	reduce_free(r);
	free(x);
	free(signal);
	free(sum);
}

TEST(reduce_with_feedback_converges_to_the_sum)
{
	for (enum wire_format w = WIRE_2BIT; w < WIRE_FORMATS; w++) {
		struct feedback some = { w, 200, { 0 } }, many = { w, 1000, { 0 } };

		fake_ranks(3, reduce_many_times, &some);
		fake_ranks(3, reduce_many_times, &many);
		check(some.off[0] < (w == WIRE_1BIT ? 0.2 : 0.05));
		check(many.off[0] < some.off[0] * 0.5);
		check(many.off[0] > 0);
		check_near(many.off[1], many.off[0], 0);
		check_near(many.off[2], many.off[0], 0);
	}
}

struct balance {
	struct reduce_options how;
	double sent[FED], given[FED],
		kept[FED]; /* sums over steps; given and kept: also over ranks */
	pthread_mutex_t lock;
};

static void add_to(double *sum, const float *x)
{
	for (size_t k = 0; k < FED; k++)
		sum[k] += x[k];
}

/* With gradients that differ in each step and rank, the first steps exact. */
static void keep_balance(struct comm *c, void *arg)
{
	struct balance *b = arg;
	struct err e = { 0 };
	struct reduce *r = reduce_open(c, &b->how, &e);
	float x[FED];

	for (int step = 0; check(r) && step < 100; step++) {
		reduce_set_exact(r, step < 10 || step == 50);
		fill_within(x, FED, 1000 + (uint32_t)(8 * step + c->rank), 4);
		pthread_mutex_lock(&b->lock);
		add_to(b->given, x);
		pthread_mutex_unlock(&b->lock);
		check_err(reduce_all(r, x, &e), 0);
		if (!c->rank)
			add_to(b->sent, x);
	}
	pthread_mutex_lock(&b->lock);
	add_to(b->kept, reduce_error_feedback(r));
	pthread_mutex_unlock(&b->lock);
	reduce_free(r);
}

/* What all steps have summed, and what ranks keep of contributions and of sums, is what was given. */
TEST(reduce_sends_or_keeps_everything)
{
	for (enum wire_format w = WIRE_2BIT; w < WIRE_FORMATS; w++) {
		static struct balance b;
		double worst = 0, kept = 0;

		b = (struct balance){
			.how = { .buckets = buckets_make(FED, 0.003, 3),
				 .wire = w,
				 .may_be_exact = true,
				 .thread = true },
			.lock = PTHREAD_MUTEX_INITIALIZER,
		};
		fake_ranks(3, keep_balance, &b);
		for (size_t k = 0; k < FED; k++) {
			worst = fmax(worst, fabs(b.sent[k] + b.kept[k] - b.given[k]));
			kept += fabs(b.kept[k]);
		}
		check(worst < 0.02); /* rounding of 100 sums of numbers up to 3 * 128 */
		check(kept / FED > 0.1);
	}
}

/* Exact reductions give the sums of fp32 and send its bytes, before the others and after them. */
TEST(reduce_exact_is_fp32)
{
	static float want[FLOATS], x[FLOATS];
	struct reduction t = {
		.wire = WIRE_1BIT, .is_exact = true, .thread = true, .megabytes = 0.02
	};

	run_reduction(&t, 3);
	contribution(want, 0, ROUNDS - 1);
	for (int i = 1; i < 3; i++) {
		contribution(x, i, ROUNDS - 1);
		for (size_t k = 0; k < FLOATS; k++)
			want[k] += x[k];
	}
	check(!memcmp(want, t.result[0], sizeof(want)));
	check_near((t.sent[0] + t.sent[1] + t.sent[2]) / ROUNDS / (2 * 2 * FLOATS * 4.0), 1, 0.01);
	free_reduction(&t, 3);
}

/* ---- the hook of backward ---------------------------------------------- */

struct watched {
	struct model *m;
	float *seen; /* copy of the gradients when they were reported as final */
	int64_t from;
	int calls;
};

static void watch(void *arg, int64_t from)
{
	struct watched *w = arg;

	check(from < w->from);
	memcpy(w->seen + from, model_grad_arena(w->m) + from,
	       (size_t)(w->from - from) * sizeof(float));
	w->from = from;
	w->calls++;
}

TEST(model_reports_final_gradients)
{
	struct model *m = small_model("cpu", false);
	struct watched w = { .m = m };
	struct model_pass_options how = { .grad_scale = 1, .ready = watch, .ready_arg = &w };
	struct model_sums sums;
	struct batch b;
	struct err e = { 0 };

	if (!m || !small_batch(&b))
		return;
	check_err(model_init(m, 3, &e), 0);
	w.from = model_floats(m);
	w.seen = small_copy(m, model_grad_arena(m));
	small_clear_grad(m);
	check_err(model_forward_backward(m, &b, &how, &sums, &e), 0);
	check_int(w.from, 0);
	check(w.calls >= 6); /* each layer, and what lies between the stacks */
	check(!memcmp(w.seen, model_grad_arena(m), (size_t)model_floats(m) * sizeof(float)));
	free(w.seen);
	batch_free(&b);
	model_free(m);
}
