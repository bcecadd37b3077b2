/*
 * t_sentence_stream.c - sentences that join a running stream get the same translations as in whole
 * batches and alone, to the last bit; the rows of steps stay full, and memory is bounded.
 */
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

#include "data/shard/token_batch.h"
#include "eval/decode/decode.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "train/model/model.h"

#define N_LINES	 60
#define LONGEST	 18
#define CAPACITY 128
#define N_WORDS	 20

/* The CPU backend with a count of the steps of decoding, their rows, and the bytes allocated. */
static struct ops counting_ops;
static struct stream_count {
	int64_t steps, rows;
	size_t bytes;
} stream_count;

static void count_top_k(struct dev *d, float *values, int32_t *ids, struct tensor x,
			struct tensor weight, const float *bias, int64_t n_real, int32_t k)
{
	stream_count.steps++;
	stream_count.rows += x.rows;
	ops_cpu()->linear_top_k(d, values, ids, x, weight, bias, n_real, k);
}

static void *count_alloc(struct dev *d, size_t bytes, struct err *e)
{
	stream_count.bytes += bytes;
	return ops_cpu()->alloc(d, bytes, e);
}

/* A model with sharp distributions, in which </s> is often likely. */
static struct model *ending_model(uint64_t seed, enum dtype precision)
{
	const struct model_shape shape = { .d_model = 16,
					   .d_ff = 32,
					   .heads = 2,
					   .encoder_layers = 1,
					   .decoder_layers = 2,
					   .vocabulary = 24,
					   .real_vocabulary = N_SPECIAL_TOKENS + N_WORDS };
	const struct dev_options dev = { .threads = 1 };
	struct err e = { 0 };
	struct model *m;
	float *p, *shift, *end;

	counting_ops = *ops_cpu();
	counting_ops.linear_top_k = count_top_k;
	counting_ops.alloc = count_alloc;
	m = model_new(&shape, &counting_ops, &dev, &e);
	if (!m || model_reserve_forward(m, CAPACITY, CAPACITY / 2, &e) || model_init(m, seed, &e)) {
		test_fail(__FILE__, __LINE__, "%s", e.text);
		model_free(m);
		return NULL;
	}
	p = model_param_arena(m);
	for (int64_t i = 0; i < model_floats(m); i++)
		p[i] *= 1.7F;
	shift = model_output_norm(m).shift;
	end = (float *)model_get_weights(m)->embed.data + TOKEN_END * shape.d_model;
	for (int i = 0; i < shape.d_model; i++)
		shift[i] += 0.9F * end[i];
	check_err(model_pack(m, precision, &e), 0);
	return m;
}

/* Sources of all lengths: numbers of a simple generator. */
static void make_lines(struct decode_source *lines, int32_t *ids, int32_t n)
{
	uint32_t state = 5;

	for (int32_t i = 0; i < n; i++) {
		lines[i] = (struct decode_source){ ids + i * LONGEST, 1 + i * 7 % LONGEST };
		for (int32_t k = 0; k < LONGEST; k++) {
			state = state * 1664525U + 1013904223U;
			ids[i * LONGEST + k] = N_SPECIAL_TOKENS + (int32_t)(state >> 16) % N_WORDS;
		}
	}
}

struct stream_case {
	const char *name;
	struct decode_options o;
	int32_t models, workers;
	bool has_constraints;
};

#define USUAL                                                                                      \
	.alpha = 0.6, .max_length_factor = 1.5, .max_length_extra = 5, .decode_tokens = 200,       \
	.temperature = 1, .top_p = 1, .seed = 3

static const struct stream_case stream_cases[] = {
	{ "greedy", { .beam = 1, .n_best = 1, USUAL }, 1, 1, false },
	{ "beam",
	  { .beam = 4, .n_best = 2, .alignments = true, .token_scores = true, USUAL },
	  1,
	  1,
	  false },
	{ "workers", { .beam = 2, .n_best = 1, USUAL }, 1, 3, false },
	{ "sampling", { .beam = 2, .n_best = 2, .sample = true, USUAL }, 1, 1, true },
	{ "prefix", { .beam = 3, .n_best = 1, USUAL }, 1, 1, true },
	{ "ensemble", { .beam = 3, .n_best = 3, USUAL }, 2, 1, false },
};

/* A run with a new decoder; stream_count has its figures. */
static bool run_lines(struct model **models, const struct stream_case *c,
		      const struct decode_options *o, const struct decode_source *lines, size_t n,
		      struct decode_result *r)
{
	struct err e = { 0 };
	struct decoder *d;
	bool good;

	stream_count = (struct stream_count){ 0 };
	d = decoder_new_ensemble(models, c->models, CAPACITY, c->workers, &e);
	good = d && !decoder_run(d, o, lines, n, r, &e);
	if (!good)
		test_fail(__FILE__, __LINE__, "%s: %s", c->name, e.text);
	decoder_free(d);
	return good;
}

static void check_equal_bits(const struct stream_case *c, const struct decode_result *a,
			     const struct decode_result *b)
{
	check_int(a->n, b->n);
	for (int32_t h = 0; h < MIN(a->n, b->n); h++) {
		const struct decode_hypothesis *x = &a->hypotheses[h], *y = &b->hypotheses[h];
		const size_t bytes = (size_t)MIN(x->n, y->n) * sizeof(int32_t);

		check_int(x->n, y->n);
		check(!memcmp(x->tokens, y->tokens, bytes));
		check(!memcmp(&x->log_prob, &y->log_prob, sizeof(x->log_prob)));
		check(!memcmp(&x->score, &y->score, sizeof(x->score)));
		check(!c->o.alignments || !memcmp(x->aligned, y->aligned, bytes));
		check(!c->o.token_scores || !memcmp(x->log_probs, y->log_probs, bytes));
	}
}

static void compare_streams(const struct stream_case *c, enum dtype precision)
{
	static int32_t ids[N_LINES * LONGEST];
	struct decode_source lines[N_LINES];
	struct decode_constraint constraints[N_LINES];
	struct decode_result stream[N_LINES], whole[N_LINES], alone;
	struct model *models[2] = { ending_model(3, precision), ending_model(4, precision) };
	struct decode_options o = c->o;
	struct stream_count streamed;

	make_lines(lines, ids, N_LINES);
	for (int32_t i = 0; i < N_LINES; i++)
		constraints[i] = (struct decode_constraint){ .number = (uint64_t)i,
							     .prefix = ids + i,
							     .n_prefix = c->o.sample ? 0 : i % 4 };
	if (c->has_constraints)
		o.constraints = constraints;
	if (!models[0] || !models[1] || !run_lines(models, c, &o, lines, N_LINES, stream))
		goto out;
	streamed = stream_count;
	o.whole_batches = true;
	if (run_lines(models, c, &o, lines, N_LINES, whole)) {
		/* the same hypotheses in fewer steps; several workers count without a lock */
		if (c->workers == 1) {
			check_int(streamed.rows, stream_count.rows);
			check(!streamed.steps || streamed.steps * 10 < stream_count.steps * 9);
		}
		for (int32_t i = 0; i < N_LINES; i++)
			check_equal_bits(c, &stream[i], &whole[i]);
		decode_results_free(whole, N_LINES);
	}
	for (int32_t i = 0; i < N_LINES; i += 7) {
		if (c->has_constraints)
			o.constraints = &constraints[i];
		if (!run_lines(models, c, &o, &lines[i], 1, &alone))
			break;
		check_equal_bits(c, &stream[i], &alone);
		decode_results_free(&alone, 1);
	}
	decode_results_free(stream, N_LINES);
out:
	model_free(models[0]);
	model_free(models[1]);
}

TEST(sentence_stream_changes_no_bit)
{
	for (size_t i = 0; i < ARRAY_LEN(stream_cases); i++) {
		compare_streams(&stream_cases[i], DTYPE_PACKED_F32);
		compare_streams(&stream_cases[i], DTYPE_PACKED_INT8);
	}
}

/* Cache rows of ended sentences serve new ones: four times the sentences need the same memory. */
TEST(sentence_stream_memory_is_bounded)
{
	static int32_t ids[4 * N_LINES * LONGEST];
	struct decode_source lines[4 * N_LINES];
	struct decode_result r[4 * N_LINES];
	struct model *m = ending_model(3, DTYPE_PACKED_F32);
	struct stream_case c = stream_cases[1];
	size_t bytes[2] = { 0 };

	c.o.max_length_factor = 1; /* no translation is much longer than its source */

	make_lines(lines, ids, 4 * N_LINES);
	for (size_t i = 0; i < 2 && m; i++) {
		const size_t n = i ? 4 * N_LINES : N_LINES;

		if (!run_lines(&m, &c, &c.o, lines, n, r))
			break;
		bytes[i] = stream_count.bytes;
		decode_results_free(r, n);
	}
	check(bytes[0] > 0);
	check_int(bytes[0], bytes[1]);
	model_free(m);
}

/* ---- sources that come while others are decoded ---- */

struct feed_of_test {
	struct decode_fed fed[N_LINES];
	struct decode_result results[N_LINES];
	int calls, n_added, n_done, n_cancelled;
	bool is_slow; /* sources come one by one */
};

/* Adds some sources now and then, and cancels each tenth one a few steps later. */
static int feed_more(void *context, struct decode_job *job, struct err *e)
{
	struct feed_of_test *f = context;
	const int n = f->is_slow ? f->calls % 3 == 0 : N_LINES / 2;

	f->calls++;
	for (int i = 0; i < n && f->n_added < N_LINES; i++)
		if (decoder_feed(job, &f->fed[f->n_added++], e))
			return e->code;
	for (int i = 5; i < f->n_added - 2; i += 10)
		f->fed[i].is_cancelled = true;
	return 0;
}

static int feed_done(void *context, struct decode_fed *fed, struct decode_result *result,
		     struct err *e)
{
	struct feed_of_test *f = context;

	(void)e;
	check(result || fed->is_cancelled);
	f->n_done++;
	f->n_cancelled += !result;
	if (result)
		f->results[fed - f->fed] = *result;
	return 0;
}

static void compare_feed(const struct stream_case *c, bool is_slow)
{
	static int32_t ids[N_LINES * LONGEST];
	struct decode_source lines[N_LINES];
	struct decode_constraint constraints[N_LINES];
	struct decode_result whole[N_LINES];
	struct model *models[2] = { ending_model(3, DTYPE_PACKED_F32),
				    ending_model(4, DTYPE_PACKED_F32) };
	struct feed_of_test f = { .is_slow = is_slow };
	const struct decode_feed feed = { &f, feed_more, feed_done };
	struct decode_options o = c->o;
	struct err e = { 0 };
	struct decoder *d;

	make_lines(lines, ids, N_LINES);
	for (int32_t i = 0; i < N_LINES; i++) {
		constraints[i] = (struct decode_constraint){ .number = (uint64_t)i,
							     .prefix = ids + i,
							     .n_prefix = c->o.sample ? 0 : i % 4 };
		f.fed[i] = (struct decode_fed){ .source = lines[i], .n_best = o.n_best };
		f.fed[i].constraint = c->has_constraints ? &constraints[i] : NULL;
	}
	o.constraints = c->has_constraints ? constraints : NULL;
	d = decoder_new_ensemble(models, c->models, CAPACITY, c->workers, &e);
	if (d && run_lines(models, c, &o, lines, N_LINES, whole)) {
		check_err(decoder_run_feed(d, &o, &feed, &e), 0);
		check_int(f.n_done, N_LINES);
		check(f.n_cancelled > 0);
		for (int32_t i = 0; i < N_LINES; i++)
			if (f.results[i].n)
				check_equal_bits(c, &f.results[i], &whole[i]);
		decode_results_free(f.results, N_LINES);
		decode_results_free(whole, N_LINES);
	}
	decoder_free(d);
	model_free(models[0]);
	model_free(models[1]);
}

TEST(decode_feed_changes_no_bit)
{
	for (size_t i = 0; i < ARRAY_LEN(stream_cases); i++) {
		compare_feed(&stream_cases[i], false);
		compare_feed(&stream_cases[i], true);
	}
}

static int feed_fails(void *context, struct decode_fed *fed, struct decode_result *result,
		      struct err *e)
{
	(void)context, (void)fed;
	if (result)
		decode_results_free(result, 1);
	return err_set(e, ERR_NOMEM, "no room for a result");
}

TEST(decode_feed_failure)
{
	static int32_t ids[N_LINES * LONGEST];
	struct decode_source lines[N_LINES];
	struct feed_of_test f = { 0 };
	const struct decode_feed feed = { &f, feed_more, feed_fails };
	struct model *m = ending_model(3, DTYPE_PACKED_F32);

	make_lines(lines, ids, N_LINES);
	for (int32_t i = 0; i < N_LINES; i++)
		f.fed[i] = (struct decode_fed){ .source = lines[i], .n_best = 1 };
	for (int32_t workers = 1; m && workers < 4; workers += 2) {
		struct err e = { 0 };
		struct decoder *d = decoder_new(m, CAPACITY, workers, &e);

		f.n_added = 0;
		check_err(d ? decoder_run_feed(d, &stream_cases[0].o, &feed, &e) : 0, ERR_NOMEM);
		decoder_free(d);
	}
	model_free(m);
}
