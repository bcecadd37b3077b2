/*
 * t_cuda_decode.c - decoding steps as CUDA graphs, on padded rows, against steps without graphs. On a real
 * GPU in tests/run, on the simulated GPU in tests/cuda_run.
 */
#include <math.h>
#include <stdlib.h>

#include "eval/decode/decode.h"
#include "share/base/mem.h"
#include "tests/train/small_model.h"

#ifdef CUDA_SIMULATED
#include "tests/cudasim/sim.h"
#define COUNTED	    1 /* the simulator counts launches, copies and waits */
#define WORDS_APART 0 /* its products do not depend on the number of rows */
#else
#define sim_seed(seed)	 ((void)(seed))
#define COUNTED		 0
#define sim_faults(last) 0
#define sim_allocated()	 0
#define sim_forget()	 ((void)0)
#define sim_graphs()	 UINT64_C(0)
#define sim_waits()	 UINT64_C(0)
#define sim_copies()	 UINT64_C(0)
#define sim_starts()	 UINT64_C(0)
#define WORDS_APART	 1e-3
#endif

#define TOKENS 64

static const int32_t words[] = { 4, 7, 5, 11, 6, 9, 10, 8, 4, 4, 5, 11 };
static const struct decode_source sources[] = {
	{ words, 3 },
	{ words + 2, 4 },
	{ words, 0 },
	{ words + 1, 3 },
};
#define N_SOURCES (sizeof(sources) / sizeof(sources[0]))

/* Ways to run steps. OVERLAPPED: as graphs with dependent launches. */
enum way { GRAPHS, OVERLAPPED, ONE_BY_ONE, UNPADDED, N_WAYS };

static bool complete(void)
{
	const struct ops *o = ops_cuda();

	if (o && o->usable())
		return true;
	test_skip("no GPU here");
	return false;
}

/* Distributions far from uniform, </s> so improbable that each translation has its greatest length. */
static void sharpen(struct model *m)
{
	const int64_t d = model_get_shape(m)->d_model, n = model_floats(m);
	float *w = small_copy(m, model_param_arena(m)), *end = w + TOKEN_END * d;
	const float *shift = model_output_norm(m).shift;
	const int64_t at = shift - model_param_read(m);

	for (int64_t i = 0; i < n; i++)
		w[i] *= 1.7f;
	for (int64_t i = 0; i < d; i++)
		w[at + i] = -6 * end[i];
	small_set(m, w);
	free(w);
}

/* few_rows: see struct dev_options. */
static struct model *open_model(enum way way, enum dtype packed, int few_rows)
{
	static struct ops unpadded;
	const struct model_shape shape = { .d_model = 16,
					   .d_ff = 24,
					   .heads = 1,
					   .encoder_layers = 1,
					   .decoder_layers = 1,
					   .vocabulary = 40,
					   .real_vocabulary = 37 };
	const struct dev_options options = { .threads = 1,
					     .is_decoding = true,
					     .bf16 = packed == DTYPE_PACKED_BF16,
					     .few_rows = few_rows,
					     .ways.dependent_launch = way == OVERLAPPED,
					     .graphs = way <= OVERLAPPED };
	struct err e = { 0 };
	struct model *m;

	unpadded = *ops_cuda();
	unpadded.graph_begin = NULL;
	m = model_new(&shape, way == UNPADDED ? &unpadded : ops_cuda(), &options, &e);
	if (m && !model_reserve_forward(m, TOKENS, TOKENS / 2, &e) && !model_init(m, 6, &e)) {
		sharpen(m);
		if (packed == DTYPE_F32 || !model_pack(m, packed, &e))
			return m;
	}
	test_fail(__FILE__, __LINE__, "%s", e.text);
	model_free(m);
	return NULL;
}

/*
 * Translations longer than their sources: the cache must grow during decoding, sometimes only because
 * of the padding rows.
 */
static const struct decode_options usual = { .beam = 2,
					     .n_best = 2,
					     .alpha = 0.6,
					     .max_length_factor = 1,
					     .max_length_extra = 13,
					     .decode_tokens = 96,
					     .temperature = 1,
					     .top_p = 1,
					     .alignments = true };

#define RUNS 4

/*
 * The same sources repeatedly: longer than before, after buffers have grown; with equal numbers of rows
 * but a smaller k; by a second decoder of the same model.
 */
static bool run(struct model *m, const struct decode_options *o,
		struct decode_result (*r)[N_SOURCES])
{
	struct err e = { 0 };
	struct decoder *d = NULL;
	bool good = true;

	for (int i = 0; i < RUNS && good; i++) {
		struct decode_options now = *o;

		now.max_length_extra -= i == 0 ? 3 : i == 3 ? 9 : 0;
		if (i == 1 && !o->sample)
			now.beam = now.n_best = 1;
		if (i == 3) {
			decoder_free(d);
			d = NULL;
		}
		if (!d)
			d = decoder_new(m, TOKENS, 1, &e);
		good = d && !decoder_run(d, &now, sources, N_SOURCES, r[i], &e);
	}
	if (!good)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	decoder_free(d);
	return good;
}

static void check_same(const struct decode_result *a, const struct decode_result *b, double apart)
{
	for (size_t i = 0; i < N_SOURCES; i++) {
		check_int(a[i].n, b[i].n);
		for (int32_t h = 0; h < MIN(a[i].n, b[i].n); h++) {
			const struct decode_hypothesis *x = &a[i].hypotheses[h],
						       *y = &b[i].hypotheses[h];
			const size_t bytes = (size_t)MIN(x->n, y->n) * sizeof(*x->tokens);

			check_int(x->n, y->n);
			check(!memcmp(x->tokens, y->tokens, bytes));
			check(!x->aligned || !memcmp(x->aligned, y->aligned, bytes));
			check_near(x->log_prob, y->log_prob, apart);
		}
	}
}

static void compare(enum dtype packed, int few_rows, const struct decode_options *o, uint64_t least)
{
	/* cuBLASLt's bits depend on the number of rows, the simulator's do not */
	const bool by_library = packed == DTYPE_F32 || packed == DTYPE_PACKED_F32 || few_rows < 0;
	static struct decode_result r[N_WAYS][RUNS][N_SOURCES];

	for (enum way way = GRAPHS; way < N_WAYS; way++) {
		const uint64_t before = sim_graphs();
		struct model *m = open_model(way, packed, few_rows);

		sim_seed(70 + way);
		if (!m || !run(m, o, r[way])) {
			model_free(m);
			return;
		}
		model_free(m);
		check(way <= OVERLAPPED ? sim_graphs() - before >= least : sim_graphs() == before);
	}
	for (int i = 0; i < RUNS; i++) {
		check_same(r[GRAPHS][i], r[OVERLAPPED][i], 0);
		check_same(r[GRAPHS][i], r[ONE_BY_ONE][i], 0);
		check_same(r[ONE_BY_ONE][i], r[UNPADDED][i], by_library ? WORDS_APART : 0);
		for (enum way way = GRAPHS; way < N_WAYS; way++)
			decode_results_free(r[way][i], N_SOURCES);
	}
	check_int(sim_faults(NULL), 0);
	sim_forget();
}

TEST(cuda_graphs_decode)
{
	if (!complete())
		return;
	compare(DTYPE_F32, 0, &usual, 30 * COUNTED);
	compare(DTYPE_PACKED_F32, 0, &usual, 30 * COUNTED);
	compare(DTYPE_PACKED_BF16, 0, &usual, 30 * COUNTED);
	compare(DTYPE_PACKED_INT8, 0, &usual, 30 * COUNTED);
}

/* The same with products by cuBLASLt alone, and from 5 rows on. */
TEST(cuda_graphs_decode_by_library)
{
	if (!complete())
		return;
	if (!COUNTED) {
		test_skip("rounding to bf16 amplifies differences between products");
		return;
	}
	compare(DTYPE_PACKED_BF16, -1, &usual, 30);
	compare(DTYPE_PACKED_BF16, 4, &usual, 30);
}

/*
 * With room for two sentences, the third one joins when the shorter one has ended, beside the longer
 * one. Whole batches give the same translations.
 */
TEST(cuda_graphs_join)
{
	static struct decode_result joined[RUNS][N_SOURCES], whole[RUNS][N_SOURCES];
	struct decode_options o = usual;
	struct model *m;

	if (!complete())
		return;
	o.decode_tokens = 32;
	compare(DTYPE_PACKED_BF16, 0, &o, 20 * COUNTED);
	m = open_model(GRAPHS, DTYPE_F32, 0);
	if (m && run(m, &o, joined)) {
		o.whole_batches = true;
		if (run(m, &o, whole))
			for (int i = 0; i < RUNS; i++) {
				check_same(joined[i], whole[i], WORDS_APART);
				decode_results_free(whole[i], N_SOURCES);
			}
		for (int i = 0; i < RUNS; i++)
			decode_results_free(joined[i], N_SOURCES);
	}
	model_free(m);
	sim_forget();
}

/* Copy all logits to the host. */
TEST(cuda_graphs_sample)
{
	struct decode_options o = usual;

	if (!complete())
		return;
	o.sample = true;
	o.n_best = o.beam = 2;
	o.seed = 4;
	compare(DTYPE_PACKED_BF16, 0, &o, 30 * COUNTED);
}

/* Log-probabilities of these tokens by a forward pass of the whole model, without </s>. */
static double log_prob_of(struct model *m, const struct decode_source *s, const int32_t *tokens,
			  int32_t n)
{
	struct model_sums sums = { 0 };
	struct batch b;
	struct err e = { 0 };

	check_int(batch_alloc(&b, 2, TOKENS, &e), 0);
	check(batch_add(&b, 0, s->ids, s->n, tokens, n - 1));
	b.target_out[n - 1] = tokens[n - 1];
	check_err(model_evaluate(m, &b, 0, &sums, &e), 0);
	batch_free(&b);
	return -sums.nll;
}

/* Steps and the whole model agree, whatever was replayed before. */
TEST(cuda_graphs_true)
{
	struct decode_result r[RUNS][N_SOURCES];
	struct model *m = complete() ? open_model(GRAPHS, DTYPE_F32, 0) : NULL;

	if (m && run(m, &usual, r))
		for (int i = 0; i < RUNS; i++) {
			for (size_t k = 0; k < N_SOURCES; k++) {
				const struct decode_hypothesis *h = &r[i][k].hypotheses[0];

				if (h->n)
					check_near(h->log_prob,
						   log_prob_of(m, &sources[k], h->tokens, h->n),
						   2e-3);
				check(!h->finished || !h->n);
			}
			decode_results_free(r[i], N_SOURCES);
		}
	model_free(m);
	sim_forget();
}

/* Decode repeatedly, until all graphs exist. */
struct cost {
	uint64_t waits, copies, starts;
};

static struct cost cost_of(struct decoder *d, int32_t steps)
{
	struct decode_options o = usual;
	struct decode_result r;
	struct cost c = { 0 };
	struct err e = { 0 };

	o.max_length_factor = 0;
	o.max_length_extra = steps;
	for (int i = 0; i < 4; i++) {
		c = (struct cost){ sim_waits(), sim_copies(), sim_starts() };
		check_err(decoder_run(d, &o, &sources[1], 1, &r, &e), 0);
		c = (struct cost){ sim_waits() - c.waits, sim_copies() - c.copies,
				   sim_starts() - c.starts };
		check_int(r.hypotheses[0].n, steps);
		decode_results_free(&r, 1);
	}
	return c;
}

/* A step is one copy to the GPU, one graph launch, one copy back, one wait. */
TEST(cuda_graphs_step)
{
	struct model *m = complete() ? open_model(GRAPHS, DTYPE_PACKED_BF16, 0) : NULL;
	struct err e = { 0 };
	struct decoder *d = m ? decoder_new(m, TOKENS, 1, &e) : NULL;

	if (d) {
		const struct cost longer = cost_of(d, 12), less = cost_of(d, 6);

		check_int(longer.waits - less.waits, COUNTED * 6);
		check_int(longer.copies - less.copies, COUNTED * 2 * 6);
		check_int(longer.starts - less.starts, COUNTED * 6);
	}
	decoder_free(d);
	model_free(m);
	check_int(sim_allocated(), 0);
	sim_forget();
}

/* Kernels and copies that a step of the model starts without graphs, products by cuBLASLt not counted. */
static void check_launches(enum dtype packed, int few_rows, uint64_t kernels)
{
	struct model *m = complete() ? open_model(ONE_BY_ONE, packed, few_rows) : NULL;
	struct err e = { 0 };
	struct decoder *d = m ? decoder_new(m, TOKENS, 1, &e) : NULL;

	if (d) {
		const struct cost longer = cost_of(d, 12), less = cost_of(d, 6);

		check_int(longer.waits - less.waits, COUNTED * 6);
		check_int(longer.copies - less.copies, COUNTED * 2 * 6);
		check_int(longer.starts - less.starts, COUNTED * 6 * kernels);
	}
	decoder_free(d);
	model_free(m);
	sim_forget();
}

/*
 * The layer has 6 products, 2 attentions, 3 norms, and stores its keys and values. A step has 4 kernels
 * for lists of cache rows, the embedding and its norm, the output's product and top k, 2 for
 * alignments. int8 converts the input of each product. Of cuBLASLt's products only the second one of
 * the feed-forward network has an input to convert.
 */
TEST(cuda_decode_launches)
{
	const uint64_t products = 7, others = 2 + 3 + 1 + 4 + 2 + 1 + 2;

	check_launches(DTYPE_PACKED_BF16, 0, products + others);
	check_launches(DTYPE_PACKED_BF16, -1, 1 + others);
	check_launches(DTYPE_PACKED_INT8, 0, 2 * products + others);
}
