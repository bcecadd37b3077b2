/* t_decode.c - beam search against definitions that are slower and simpler. */
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

#include "data/shard/token_batch.h"
#include "eval/decode/decode.h"
#include "share/base/mem.h"
#include "train/model/model.h"

#define CAPACITY  256
#define WIDTH	  16
#define END_SHIFT 1.2f
#define N_REAL	  12 /* four special tokens and eight words */
#define N_WORDS	  (N_REAL - N_SPECIAL_TOKENS)

/* Many sentences of different lengths; words of the tiny vocabulary. */
static const int32_t words[] = { 4, 7, 5, 11, 6, 9, 10, 8, 4, 4, 5, 11, 9, 6, 7, 10, 8, 5, 4, 6 };
static const struct decode_source sources[] = {
	{ words, 3 },	  { words + 2, 7 }, { words + 1, 1 }, { words, 0 },	{ words + 3, 12 },
	{ words + 5, 3 }, { words, 20 },    { words + 8, 2 }, { words + 4, 7 }, { words + 6, 5 },
};
#define N_SOURCES (sizeof(sources) / sizeof(sources[0]))

static struct model *tiny_model(const char *backend, uint64_t seed)
{
	struct model_shape shape = { .d_model = WIDTH,
				     .d_ff = 32,
				     .heads = 2,
				     .encoder_layers = 2,
				     .decoder_layers = 3,
				     .vocabulary = 16,
				     .real_vocabulary = N_REAL };
	struct dev_options dev = { .threads = 1 };
	struct err e = { 0 };
	const struct ops *ops = ops_find(backend, &e);
	struct model *m = ops ? model_new(&shape, ops, &dev, &e) : NULL;

	if (!check(m != NULL)) {
		test_fail(__FILE__, __LINE__, "%s", e.text);
		return NULL;
	}
	check_int(model_reserve_forward(m, CAPACITY, CAPACITY / 2, &e), 0);
	check_int(model_init(m, seed, &e), 0);
	return m;
}

/*
 * Make the distributions of the model sharp by larger weights. A shift towards </s> makes
 * sentences end.
 */
static struct model *sharp_model(const char *backend, uint64_t seed)
{
	struct model *m = tiny_model(backend, seed);
	float *p = m ? model_param_arena(m) : NULL;
	float *shift, *end;

	if (!m)
		return NULL;
	for (int64_t i = 0; i < model_floats(m); i++)
		p[i] *= 1.7f;
	shift = model_output_norm(m).shift;
	end = (float *)model_get_weights(m)->embed.data + TOKEN_END * WIDTH;
	for (int i = 0; i < WIDTH; i++)
		shift[i] += END_SHIFT * end[i];
	return m;
}

static double nll_of(struct model *m, const struct decode_source *s, const int32_t *target,
		     int32_t n)
{
	struct model_sums sums = { 0 };
	struct batch b = { 0 };
	struct err e = { 0 };

	check_int(batch_alloc(&b, 4, CAPACITY, &e), 0);
	check(batch_add(&b, 0, s->ids, s->n, target, n));
	check_int(model_evaluate(m, &b, 0, &sums, &e), 0);
	check_int(sums.tokens, n + 1);
	batch_free(&b);
	return sums.nll;
}

static struct decode_options options(int32_t beam, int32_t n_best)
{
	return (struct decode_options){ .beam = beam,
					.n_best = n_best,
					.alpha = 0.6,
					.max_length_factor = 1.0,
					.max_length_extra = 6,
					.decode_tokens = 128 };
}

static void run_with(struct model *m, int32_t n_workers, const struct decode_options *o,
		     const struct decode_source *s, size_t n, struct decode_result *r)
{
	struct err e = { 0 };
	struct decoder *d = decoder_new(m, CAPACITY, n_workers, &e);

	if (!check_int(decoder_run(d, o, s, n, r, &e), 0))
		test_fail(__FILE__, __LINE__, "%s", e.text);
	decoder_free(d);
}

static void run(struct model *m, const struct decode_options *o, const struct decode_source *s,
		size_t n, struct decode_result *r)
{
	run_with(m, 1, o, s, n, r);
}

/* The incremental decoder and the whole model give a translation the same log-probability. */
static void check_scores(const char *backend, int32_t beam)
{
	struct model *m = sharp_model(backend, 3);
	struct decode_options o = options(beam, beam);
	struct decode_result r[N_SOURCES];
	int finished = 0;

	run(m, &o, sources, N_SOURCES, r);
	for (size_t i = 0; i < N_SOURCES; i++) {
		for (int32_t k = 0; k < r[i].n; k++) {
			const struct decode_hypothesis *h = &r[i].hypotheses[k];

			if (k > 0 && h->finished)
				check(h->score <= r[i].hypotheses[k - 1].score);
			if (!h->finished || sources[i].n == 0)
				continue;
			check_near(h->log_prob, -nll_of(m, &sources[i], h->tokens, h->n), 1e-4);
			check_near(h->score, h->log_prob / pow((5.0 + h->n + 1) / 6.0, 0.6), 1e-9);
			check(h->n + 1 <= sources[i].n + 6);
			finished++;
		}
	}
	check(finished > 5);
	check_int(r[3].n, 1); /* the empty source */
	check_int(r[3].hypotheses[0].n, 0);
	decode_results_free(r, N_SOURCES);
	model_free(m);
}

TEST(decode_scores_ref)
{
	check_scores("ref", 1);
	check_scores("ref", 4);
}

TEST(decode_scores_cpu)
{
	check_scores("cpu", 1);
	check_scores("cpu", 4);
}

/*
 * Log-probabilities of the token after a prefix, by running the whole model:
 * Only the last target differs between the runs. So their likelihoods differ by the wanted
 * log-probability, up to a constant that normalising removes.
 */
static void naive_step(struct model *m, const struct decode_source *s, const int32_t *prefix,
		       int32_t n, double *log_prob)
{
	struct model_sums sums = { 0 };
	struct batch b = { 0 };
	struct err e = { 0 };
	double total = 0, best = -INFINITY;

	check_int(batch_alloc(&b, 4, CAPACITY, &e), 0);
	check(batch_add(&b, 0, s->ids, s->n, prefix, n));
	for (int32_t y = 0; y < N_REAL; y++) {
		b.target_out[n] = y;
		check_int(model_evaluate(m, &b, 0, &sums, &e), 0);
		log_prob[y] = -sums.nll;
		best = MAX(best, log_prob[y]);
	}
	for (int32_t y = 0; y < N_REAL; y++)
		total += exp(log_prob[y] - best);
	for (int32_t y = 0; y < N_REAL; y++)
		log_prob[y] -= best + log(total);
	batch_free(&b);
}

/* Teacher forcing predicts, at each position, the most probable next token after the prefix. */
static void check_predictions(const char *backend)
{
	struct model *m = sharp_model(backend, 5);
	struct model_sums sums = { 0 };
	struct batch b = { 0 };
	struct err e = { 0 };
	int32_t ids[CAPACITY], distinct = 0;

	check_int(batch_alloc(&b, 4, CAPACITY, &e), 0);
	for (int i = 0; i < 3; i++) /* packed: sentences of 4, 7 and 0 words */
		check(batch_add(&b, i, sources[i].ids, sources[i].n, words + 2 * i,
				i == 2 ? 0 : 4 + 3 * i));
	check_int(model_predict(m, &b, ids, &sums, &e), 0);
	check_int(sums.tokens, 5 + 8 + 1);
	check_near(sums.nll,
		   nll_of(m, &sources[0], words, 4) + nll_of(m, &sources[1], words + 2, 7) +
			   nll_of(m, &sources[2], words, 0),
		   1e-4);
	for (int i = 0; i < 3; i++)
		for (int32_t n = 0; n < b.target_start[i + 1] - b.target_start[i]; n++) {
			double log_prob[N_REAL];
			int32_t got = ids[b.target_start[i] + n];

			naive_step(m, &sources[i], words + 2 * i, n, log_prob);
			for (int32_t y = 0; y < N_REAL; y++)
				check(log_prob[y] <= log_prob[got] + 1e-5);
			distinct += got != ids[0];
		}
	check(distinct > 0);
	batch_free(&b);
	model_free(m);
}

TEST(decode_predicts_under_teacher_forcing)
{
	check_predictions("ref");
	check_predictions("cpu");
}

struct path {
	int32_t tokens[40];
	int32_t n;
	bool finished;
	double log_prob, score;
};

static int by_log_prob(const void *a, const void *b)
{
	const struct path *x = a, *y = b;

	return (x->log_prob < y->log_prob) - (x->log_prob > y->log_prob);
}

static bool is_word(int32_t y)
{
	return y >= N_SPECIAL_TOKENS;
}

/* Beam search by the rules of decode.h, without stopping early: the best finished path. */
static struct path naive_search(struct model *m, const struct decode_source *s, int32_t beam,
				int32_t max_length)
{
	static struct path all[64 * N_REAL];
	struct path live[64] = { { .n = 0 } }, best = { .score = -INFINITY };
	int32_t n_live = 1;

	for (int32_t step = 0; step < max_length && n_live > 0; step++) {
		int32_t n_all = 0, n_next = 0;

		for (int32_t i = 0; i < n_live; i++) {
			double log_prob[N_REAL];

			naive_step(m, s, live[i].tokens, live[i].n, log_prob);
			for (int32_t y = 0; y < N_REAL; y++) {
				if (!is_word(y) && y != TOKEN_END)
					continue;
				all[n_all] = live[i];
				all[n_all].log_prob += log_prob[y];
				all[n_all].finished = y == TOKEN_END;
				if (is_word(y))
					all[n_all].tokens[all[n_all].n++] = y;
				n_all++;
			}
		}
		qsort(all, (size_t)n_all, sizeof(*all), by_log_prob);
		for (int32_t i = 0; i < MIN(n_all, beam == 1 ? 1 : 2 * beam); i++) {
			if (!all[i].finished) {
				if (n_next < beam)
					live[n_next++] = all[i];
				continue;
			}
			all[i].score = all[i].log_prob / pow((5.0 + step + 1) / 6.0, 0.6);
			if (all[i].score > best.score)
				best = all[i];
		}
		n_live = n_next;
	}
	return best;
}

static void check_search(const char *backend, int32_t beam, uint64_t seed)
{
	struct model *m = sharp_model(backend, seed);
	struct decode_options o = options(beam, 1);
	struct decode_result r[N_SOURCES];
	int compared = 0;

	run(m, &o, sources, N_SOURCES, r);
	for (size_t i = 0; i < N_SOURCES; i++) {
		const struct decode_hypothesis *h = &r[i].hypotheses[0];
		struct path best;

		if (sources[i].n == 0 || sources[i].n > 8)
			continue;
		best = naive_search(m, &sources[i], beam, sources[i].n + 6);
		if (!check_int(h->finished, best.score > -INFINITY) || !h->finished)
			continue;
		check_near(h->score, best.score, 1e-4);
		check_int(h->n, best.n);
		check(h->n != best.n ||
		      !memcmp(h->tokens, best.tokens, (size_t)h->n * sizeof(int32_t)));
		compared++;
	}
	check(compared > 0);
	decode_results_free(r, N_SOURCES);
	model_free(m);
}

TEST(decode_greedy)
{
	check_search("ref", 1, 1);
	check_search("ref", 1, 3);
	check_search("cpu", 1, 6);
}

TEST(decode_beam)
{
	check_search("ref", 4, 1);
	check_search("ref", 2, 3);
	check_search("ref", 4, 6);
	check_search("cpu", 3, 4);
}

/* A beam that holds every sequence finds the best of all. */
TEST(decode_exhaustive)
{
	struct model *m = tiny_model("ref", 9);
	struct decode_options o = options(DECODE_MAX_BEAM, 1);
	double best = -INFINITY, score;
	struct decode_result r;
	int32_t y[2];

	o.max_length_factor = 0.1;
	o.max_length_extra = 3;
	run(m, &o, sources, 1, &r);
	for (int32_t n = 0; n <= 2; n++)
		for (int32_t code = 0; code < (n == 0	? 1
					       : n == 1 ? N_WORDS
							: N_WORDS * N_WORDS);
		     code++) {
			y[0] = N_SPECIAL_TOKENS + code % N_WORDS;
			y[1] = N_SPECIAL_TOKENS + code / N_WORDS;
			score = -nll_of(m, &sources[0], y, n) / pow((5.0 + n + 1) / 6.0, 0.6);
			best = MAX(best, score);
		}
	check_near(r.hypotheses[0].score, best, 1e-4);
	decode_results_free(&r, 1);
	model_free(m);
}

static bool same(const struct decode_hypothesis *a, const struct decode_hypothesis *b)
{
	return a->n == b->n && a->finished == b->finished &&
	       !memcmp(a->tokens, b->tokens, (size_t)a->n * sizeof(int32_t)) &&
	       fabs(a->log_prob - b->log_prob) < 1e-4;
}

/*
 * Alone, together, or in small batches: the same translations, n-best and alignments included.
 * exact: the same log-probabilities to the last bit.
 */
static void check_batch_invariance(struct model *m, bool exact)
{
	struct decode_options o = options(4, 3);
	struct decode_result together[N_SOURCES], alone;

	o.alignments = true;
	run(m, &o, sources, N_SOURCES, together);
	for (size_t i = 0; i < N_SOURCES; i++) {
		o.decode_tokens = i % 2 ? 16 : 1000;
		run(m, &o, &sources[i], 1, &alone);
		check_int(alone.n, together[i].n);
		for (int32_t h = 0; h < MIN(alone.n, together[i].n); h++) {
			const struct decode_hypothesis *a = &alone.hypotheses[h],
						       *b = &together[i].hypotheses[h];

			if (!check(same(a, b)))
				continue;
			check(!exact || a->log_prob == b->log_prob);
			check(!memcmp(a->aligned, b->aligned, (size_t)a->n * sizeof(int32_t)));
			for (int32_t t = 0; t < a->n; t++)
				check(a->aligned[t] >= 0 && a->aligned[t] < sources[i].n);
		}
		decode_results_free(&alone, 1);
	}
	decode_results_free(together, N_SOURCES);
	model_free(m);
}

TEST(decode_batch_invariance)
{
	check_batch_invariance(sharp_model("cpu", 3), false);
}

static const enum dtype precisions[] = { DTYPE_PACKED_F32, DTYPE_PACKED_BF16, DTYPE_PACKED_INT8 };

static struct model *packed_model(const char *backend, uint64_t seed, enum dtype precision)
{
	struct model *m = sharp_model(backend, seed);
	struct err e = { 0 };

	check_int(model_pack(m, precision, &e), 0);
	return m;
}

TEST(decode_batch_invariance_packed)
{
	for (size_t i = 0; i < ARRAY_LEN(precisions); i++)
		check_batch_invariance(packed_model("cpu", 3, precisions[i]), true);
}

/* Any number of workers, any batches: the same bits. */
TEST(decode_workers)
{
	for (size_t p = 0; p < ARRAY_LEN(precisions); p++) {
		struct model *m = packed_model("cpu", 3, precisions[p]);
		struct decode_options o = options(3, 2);
		struct decode_result alone[N_SOURCES], side[N_SOURCES];

		run(m, &o, sources, N_SOURCES, alone);
		for (int32_t n = 2; n <= 4; n++) {
			o.decode_tokens = n == 4 ? 16 : 128;
			run_with(m, n, &o, sources, N_SOURCES, side);
			for (size_t i = 0; i < N_SOURCES; i++) {
				check_int(side[i].n, alone[i].n);
				for (int32_t h = 0; h < MIN(side[i].n, alone[i].n); h++) {
					check(same(&side[i].hypotheses[h],
						   &alone[i].hypotheses[h]));
					check(side[i].hypotheses[h].log_prob ==
					      alone[i].hypotheses[h].log_prob);
				}
			}
			decode_results_free(side, N_SOURCES);
		}
		decode_results_free(alone, N_SOURCES);
		model_free(m);
	}
}

/* The NLL of each sentence as the translation of the preceding one. Frees the model. */
static void all_nlls(struct model *m, double nll[N_SOURCES])
{
	for (size_t i = 1; i < N_SOURCES; i++)
		nll[i] = nll_of(m, &sources[i - 1], sources[i].ids, sources[i].n);
	model_free(m);
}

/* Packed weights give the definition's result, which is close to that of unpacked weights. */
TEST(decode_packed)
{
	static const double near_plain[] = { 1e-5, 0.03, 0.06 };
	double plain[N_SOURCES], ref[N_SOURCES], cpu[N_SOURCES];

	all_nlls(sharp_model("cpu", 6), plain);
	for (size_t p = 0; p < ARRAY_LEN(precisions); p++) {
		all_nlls(packed_model("ref", 6, precisions[p]), ref);
		all_nlls(packed_model("cpu", 6, precisions[p]), cpu);
		for (size_t i = 1; i < N_SOURCES; i++) {
			check_near(cpu[i], ref[i], 1e-3 * plain[i]);
			check_near(cpu[i], plain[i], near_plain[p] * plain[i]);
		}
	}
}

TEST(decode_pack_once)
{
	struct model *m = packed_model("cpu", 6, DTYPE_PACKED_INT8);
	struct err e = { 0 };

	check_int(model_pack(m, DTYPE_PACKED_INT8, &e), ERR_INTERNAL);
	model_free(m);
}

TEST(decode_backends_agree)
{
	struct model *ref = sharp_model("ref", 6), *cpu = sharp_model("cpu", 6);
	struct decode_options o = options(4, 2);
	struct decode_result a[N_SOURCES], b[N_SOURCES];

	run(ref, &o, sources, N_SOURCES, a);
	run(cpu, &o, sources, N_SOURCES, b);
	for (size_t i = 0; i < N_SOURCES; i++)
		check(same(&a[i].hypotheses[0], &b[i].hypotheses[0]));
	decode_results_free(a, N_SOURCES);
	decode_results_free(b, N_SOURCES);
	model_free(ref);
	model_free(cpu);
}

/* The end of a sentence too long for a batch is left out, and truncated is set. */
TEST(decode_long_source)
{
	int32_t ids[CAPACITY + 50];
	struct decode_source s = { ids, CAPACITY + 50 };
	struct decode_options o = options(2, 1);
	struct decode_result r;
	struct model *m = sharp_model("cpu", 4);

	for (size_t i = 0; i < CAPACITY + 50; i++)
		ids[i] = (int32_t)(N_SPECIAL_TOKENS + i % N_WORDS);
	o.max_length_factor = 0.1;
	run(m, &o, &s, 1, &r);
	check(r.truncated);
	check_int(r.n, 1);
	decode_results_free(&r, 1);
	model_free(m);
}
