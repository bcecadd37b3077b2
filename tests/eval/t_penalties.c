/* t_penalties.c - penalty of repetition, repeated n-grams and the least length, against their definitions. */
#include "tests/train/sharp_model.h"

static struct decode_options options(int32_t beam, int32_t n_best)
{
	return (struct decode_options){ .beam = beam,
					.n_best = n_best,
					.alpha = 0.6,
					.max_length_factor = 1.0,
					.max_length_extra = 6,
					.decode_tokens = 128,
					.temperature = 1,
					.top_p = 1,
					.seed = 7 };
}

static bool run(struct model *const *models, int32_t n_models, int32_t workers,
		const struct decode_options *o, struct decode_result r[N_SOURCES])
{
	struct err e = { 0 };
	struct decoder *d = decoder_new_ensemble(models, n_models, CAPACITY, workers, &e);
	bool good = d && !decoder_run(d, o, sources, N_SOURCES, r, &e);

	if (!good)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	decoder_free(d);
	return good;
}

/* Would the token end an n-gram that is in tokens? */
static bool ends_ngram(const int32_t *tokens, int32_t n_tokens, int32_t n, int32_t token)
{
	for (int32_t i = 0; i + n <= n_tokens; i++)
		if (tokens[i + n - 1] == token && !memcmp(tokens + i, tokens + n_tokens - (n - 1),
							  (size_t)(n - 1) * sizeof(*tokens)))
			return true;
	return false;
}

/* Applies the rules to log-probabilities p of the next token. */
static void apply_rules(const struct decode_options *o, const int32_t *tokens, int32_t n, double *p)
{
	for (int32_t t = 0; t < N_REAL; t++) {
		bool is_there = false;

		for (int32_t i = 0; i < n; i++)
			is_there |= tokens[i] == t;
		if (is_there && o->repetition_penalty > 0)
			p[t] *= o->repetition_penalty;
		if (o->no_repeat_ngram > 0 && ends_ngram(tokens, n, o->no_repeat_ngram, t))
			p[t] = -INFINITY;
	}
	if (n < o->min_length)
		p[TOKEN_END] = -INFINITY;
	p[TOKEN_PAD] = p[TOKEN_START] = p[TOKEN_UNKNOWN] = -INFINITY;
}

/* Greedy search by the definitions. */
static void check_greedy(struct model *m, const struct decode_options *o,
			 const struct decode_source *s, const struct decode_hypothesis *h)
{
	int32_t tokens[64];
	double total = 0;

	for (int32_t at = 0; at <= h->n && at < 64; at++) {
		double p[N_REAL];
		int32_t best = TOKEN_END;

		if (at == h->n && !h->finished)
			break;
		next_token(m, s, tokens, at, p);
		apply_rules(o, tokens, at, p);
		for (int32_t t = 0; t < N_REAL; t++)
			if (p[t] > p[best])
				best = t;
		total += p[best];
		check_int(at < h->n ? h->tokens[at] : TOKEN_END, best);
		tokens[at] = best;
	}
	check_near(h->log_prob, total, 1e-3);
}

static const struct decode_options rules[] = {
	{ .repetition_penalty = 1.3 },
	{ .repetition_penalty = 3 },
	{ .no_repeat_ngram = 1 },
	{ .no_repeat_ngram = 2 },
	{ .no_repeat_ngram = 3 },
	{ .min_length = 4 },
	{ .min_length = 30 },
	{ .repetition_penalty = 1.5, .no_repeat_ngram = 2, .min_length = 3 },
};

static struct decode_options with_rules(struct decode_options o, size_t i)
{
	o.repetition_penalty = rules[i].repetition_penalty;
	o.no_repeat_ngram = rules[i].no_repeat_ngram;
	o.min_length = rules[i].min_length;
	return o;
}

TEST(penalties_of_greedy_search)
{
	struct model *m = sharp_model(3);

	for (size_t i = 0; m && i < ARRAY_LEN(rules); i++) {
		const struct decode_options o = with_rules(options(1, 1), i);
		struct decode_result r[N_SOURCES];

		if (i == 6 || !run(&m, 1, 1, &o, r)) /* 30 tokens: below */
			continue;
		for (int k = 0; k < N_SOURCES; k++)
			if (sources[k].n)
				check_greedy(m, &o, &sources[k], &r[k].hypotheses[0]);
		decode_results_free(r, N_SOURCES);
	}
	model_free(m);
}

/* No n-gram twice, and enough tokens unless nothing else was left. */
static void check_hypothesis(const struct decode_options *o, const struct decode_hypothesis *h)
{
	for (int32_t at = 0; o->no_repeat_ngram > 0 && at < h->n; at++)
		check(!ends_ngram(h->tokens, at, o->no_repeat_ngram, h->tokens[at]));
	if (o->no_repeat_ngram != 1)
		check(h->n >= o->min_length);
	check(h->log_prob > -1e6);
}

TEST(penalties_of_beams_samples_ensembles)
{
	struct model *models[2] = { sharp_model(3), sharp_model(6) };

	for (size_t i = 0; models[0] && models[1] && i < 4 * ARRAY_LEN(rules); i++) {
		struct decode_options o = with_rules(options(4, 4), i / 4);
		struct decode_result r[N_SOURCES];

		o.sample = i % 4 == 1;
		if (!run(models, 1 + (i % 4 == 2), 1 + (i % 4 == 3), &o, r))
			continue;
		for (int k = 0; k < N_SOURCES; k++)
			for (int32_t h = 0; sources[k].n && h < r[k].n; h++)
				check_hypothesis(&o, &r[k].hypotheses[h]);
		decode_results_free(r, N_SOURCES);
	}
	model_free(models[0]);
	model_free(models[1]);
}

/* Without any rule the scores are not touched: the same bits on both ways. */
TEST(penalties_that_do_nothing_change_nothing)
{
	struct model *m = sharp_model(3);
	struct decode_options o = options(4, 3);
	struct decode_result plain[N_SOURCES], ruled[N_SOURCES];

	if (!m || !run(&m, 1, 1, &o, plain))
		return;
	o.no_repeat_ngram = 50;
	o.repetition_penalty = 1;
	if (run(&m, 1, 1, &o, ruled)) {
		for (int i = 0; i < N_SOURCES; i++)
			for (int32_t h = 0; h < plain[i].n && check_int(plain[i].n, ruled[i].n);
			     h++) {
				check_int(plain[i].hypotheses[h].n, ruled[i].hypotheses[h].n);
				check_near(plain[i].hypotheses[h].log_prob,
					   ruled[i].hypotheses[h].log_prob, 1e-4);
			}
		decode_results_free(ruled, N_SOURCES);
	}
	decode_results_free(plain, N_SOURCES);
	model_free(m);
}

/* More tokens than the vocabulary has, each at most once: the end is the last resort. */
TEST(penalties_never_leave_a_sentence_without_tokens)
{
	struct model *m = sharp_model(3);

	for (int32_t beam = 1; m && beam <= 4; beam += 3) {
		struct decode_options o = options(beam, 1);
		struct decode_result r[N_SOURCES];

		o.no_repeat_ngram = 1;
		o.min_length = 2 * N_REAL;
		if (!run(&m, 1, 1, &o, r))
			break;
		for (int i = 0; i < N_SOURCES; i++) {
			const struct decode_hypothesis *h = &r[i].hypotheses[0];

			check(h->finished);
			check_int(h->n, sources[i].n ? N_REAL - N_SPECIAL_TOKENS : 0);
		}
		decode_results_free(r, N_SOURCES);
	}
	model_free(m);
}
