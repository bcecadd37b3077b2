/* t_constraints.c - sampling, ensembles, prefixes and phrases against their definitions. */
#include "tests/train/sharp_model.h"

#include "eval/decode/sampling.h"

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

static bool same_tokens(const struct decode_hypothesis *a, const struct decode_hypothesis *b)
{
	return a->n == b->n && a->finished == b->finished &&
	       !memcmp(a->tokens, b->tokens, (size_t)a->n * sizeof(*a->tokens));
}

static void check_same(struct decode_result *a, struct decode_result *b, double tolerance)
{
	for (int i = 0; i < N_SOURCES; i++) {
		check_int(a[i].n, b[i].n);
		for (int32_t h = 0; h < MIN(a[i].n, b[i].n); h++) {
			check(same_tokens(&a[i].hypotheses[h], &b[i].hypotheses[h]));
			check_near(a[i].hypotheses[h].log_prob, b[i].hypotheses[h].log_prob,
				   tolerance);
		}
	}
}

/* ---- ensembles --------------------------------------------------------- */

TEST(ensemble_of_one_model_is_the_model)
{
	struct model *m = sharp_model(3), *three[3] = { m, m, m };
	struct decode_options o = options(4, 3);
	struct decode_result alone[N_SOURCES], all[N_SOURCES];

	if (!m)
		return;
	if (run(three, 1, 1, &o, alone) && run(three, 3, 1, &o, all)) {
		check_same(alone, all, 1e-4);
		decode_results_free(all, N_SOURCES);
		decode_results_free(alone, N_SOURCES);
	}
	model_free(m);
}

/* The log-probability of a translation: sum over its tokens of the log of the mean probability. */
static double mean_log_prob(struct model *const *models, int n, const struct decode_source *s,
			    const struct decode_hypothesis *h)
{
	double total = 0;

	for (int32_t at = 0; at <= h->n; at++) {
		double p[N_REAL], mean = 0;

		for (int k = 0; k < n; k++) {
			next_token(models[k], s, h->tokens, at, p);
			mean += exp(p[at < h->n ? h->tokens[at] : TOKEN_END]) / n;
		}
		total += log(mean);
	}
	return total;
}

TEST(ensemble_is_the_mean_of_probabilities)
{
	struct model *models[2] = { sharp_model(3), sharp_model(6) };
	struct decode_options o = options(4, 2);
	struct decode_result r[N_SOURCES], side[N_SOURCES];
	int compared = 0;

	if (!models[0] || !models[1] || !run(models, 2, 1, &o, r))
		return;
	for (int i = 0; i < N_SOURCES - 1; i++)
		for (int32_t k = 0; k < r[i].n; k++) {
			const struct decode_hypothesis *h = &r[i].hypotheses[k];

			if (!h->finished)
				continue;
			check_near(h->log_prob, mean_log_prob(models, 2, &sources[i], h), 1e-4);
			compared++;
		}
	check(compared > 5);
	if (run(models, 2, 2, &o, side)) {
		check_same(r, side, 1e-4);
		decode_results_free(side, N_SOURCES);
	}
	decode_results_free(r, N_SOURCES);
	model_free(models[0]);
	model_free(models[1]);
}

/* ---- sampling ---------------------------------------------------------- */

/* Draws from a row of logits and counts each token. */
static void count_draws(const struct decode_options *o, const float *x, int draws, int *counts)
{
	struct err e = { 0 };

	memset(counts, 0, N_REAL * sizeof(*counts));
	for (int i = 0; i < draws; i++) {
		const struct rng_key key = rng_key_make(o->seed, RNG_DECODE, (uint32_t)i, 0);
		const int32_t id = sampling_draw_token(x, N_REAL, o, key, 3, &e);

		if (check(id >= 0 && id < N_REAL))
			counts[id]++;
	}
}

/* Is a count within 5 standard deviations of its expectation? */
static void check_frequency(int count, int draws, double p)
{
	check_near(count, draws * p, 5 * sqrt(draws * p * (1 - p)) + 1e-9);
}

TEST(sampling_follows_the_softmax)
{
	static const float logits[N_REAL] = { 9, 0.5f, 9, 9, 1, -1, 0, 2, 1.5f, -3, 0.25f, -2 };
	static const double temperatures[] = { 1, 0.5, 2 };
	enum { DRAWS = 20000 };
	struct decode_options o = options(1, 1);
	float x[N_REAL];
	int counts[N_REAL];

	memcpy(x, logits, sizeof(x));
	sampling_log_softmax(x, N_REAL);
	for (int t = 0; t < 3; t++) {
		double weights[N_REAL], total = 0;

		o.temperature = temperatures[t];
		for (int i = 0; i < N_REAL; i++) {
			weights[i] = i == TOKEN_END || i > 3 ? exp(logits[i] / o.temperature) : 0;
			total += weights[i];
		}
		count_draws(&o, x, DRAWS, counts);
		for (int i = 0; i < N_REAL; i++)
			check_frequency(counts[i], DRAWS, weights[i] / total);
	}
	o.temperature = 1;
	o.top_k = 2;
	count_draws(&o, x, DRAWS, counts);
	check_int(counts[7] + counts[8], DRAWS);
	check_frequency(counts[7], DRAWS, exp(2) / (exp(2) + exp(1.5)));
	o.top_k = 0;
	o.top_p = 0.6; /* e^2, e^1.5 and e^1 are 14.6 of 19.5; the first two 11.9: 61 % */
	count_draws(&o, x, DRAWS, counts);
	check_int(counts[7] + counts[8], DRAWS);
	o.top_p = 1e-6;
	count_draws(&o, x, 100, counts);
	check_int(counts[7], 100);
}

static void check_likelihood(struct model *m, const struct decode_source *s,
			     const struct decode_hypothesis *h)
{
	if (h->finished)
		check_near(h->log_prob, -nll_of(m, s, h->tokens, h->n), 1e-4);
}

TEST(sampling_draws_translations)
{
	struct model *m = sharp_model(3);
	struct decode_options o = options(50, 50);
	struct decode_result r[N_SOURCES], other[N_SOURCES];
	double p[N_REAL];
	int counts[N_REAL] = { 0 }, draws = 0;

	if (!m)
		return;
	o.sample = true;
	next_token(m, &sources[0], words, 0, p);
	for (o.seed = 0; o.seed < 20; o.seed++) {
		if (!run(&m, 1, 1, &o, r))
			break;
		for (int32_t h = 0; h < r[0].n; h++, draws++)
			counts[r[0].hypotheses[h].n ? r[0].hypotheses[h].tokens[0] : TOKEN_END]++;
		if (o.seed == 4)
			for (int32_t h = 0; h < r[0].n; h++)
				check_likelihood(m, &sources[0], &r[0].hypotheses[h]);
		decode_results_free(r, N_SOURCES);
	}
	check_int(draws, 1000);
	for (int i = 4; i < N_REAL; i++) /* <pad>, <s>, <unk> are never drawn */
		check_frequency(counts[i], draws,
				exp(p[i]) / (1 - exp(p[0]) - exp(p[2]) - exp(p[3])));
	o = options(3, 3);
	o.sample = true;
	if (run(&m, 1, 1, &o, r)) {
		o.decode_tokens = 16;
		if (run(&m, 1, 2, &o, other)) {
			check_same(r, other, 1e-4);
			decode_results_free(other, N_SOURCES);
		}
		check(!same_tokens(&r[1].hypotheses[0], &r[1].hypotheses[1]) ||
		      !same_tokens(&r[3].hypotheses[0], &r[3].hypotheses[1]));
		decode_results_free(r, N_SOURCES);
	}
	model_free(m);
}

/* ---- prefixes and phrases ---------------------------------------------- */

TEST(prefix_is_forced_and_counts)
{
	static const int32_t prefix[] = { 9, 4, 10 };
	struct model *m = sharp_model(3);
	struct decode_constraint constraints[N_SOURCES] = { { .n_prefix = 0 } };
	struct decode_options o = options(4, 2);
	struct decode_result r[N_SOURCES], plain[N_SOURCES];
	int finished = 0;

	if (!m)
		return;
	for (int i = 1; i < N_SOURCES; i++)
		constraints[i] = (struct decode_constraint){ .prefix = prefix, .n_prefix = i % 4 };
	o.token_scores = true;
	run(&m, 1, 1, &o, plain);
	o.constraints = constraints;
	if (!run(&m, 1, 1, &o, r))
		return;
	for (int i = 0; i < N_SOURCES; i++)
		for (int32_t k = 0; k < r[i].n; k++) {
			const struct decode_hypothesis *h = &r[i].hypotheses[k];
			double sum = 0;

			check(h->n >= constraints[i].n_prefix &&
			      (!constraints[i].n_prefix ||
			       !memcmp(h->tokens, prefix,
				       (size_t)constraints[i].n_prefix * sizeof(*prefix))));
			if (!h->finished)
				continue;
			for (int32_t t = 0; t < h->n; t++)
				sum += (double)h->log_probs[t];
			check_near(h->log_prob, -nll_of(m, &sources[i], h->tokens, h->n), 1e-4);
			check(sum >= h->log_prob);
			finished++;
		}
	check(finished > 3);
	check(same_tokens(&r[0].hypotheses[0], &plain[0].hypotheses[0]));
	check(same_tokens(&r[4].hypotheses[0], &plain[4].hypotheses[0]));
	decode_results_free(r, N_SOURCES);
	decode_results_free(plain, N_SOURCES);
	model_free(m);
}

/* A prefix that ends in </s> is the whole translation: forced, with the log-probability that the search found for it. */
TEST(whole_translation_is_forced)
{
	struct model *m = sharp_model(3);
	struct decode_constraint constraints[N_SOURCES] = { { .n_prefix = 0 } };
	int32_t tokens[N_SOURCES][CAPACITY + 1];
	struct decode_options o = options(4, 1);
	struct decode_result forced[N_SOURCES], found[N_SOURCES];
	int n_whole = 0;

	if (!m || !run(&m, 1, 1, &o, found))
		return;
	for (int i = 0; i < N_SOURCES; i++) {
		const struct decode_hypothesis *h = &found[i].hypotheses[0];

		if (!h->finished || h->n >= CAPACITY)
			continue;
		memcpy(tokens[i], h->tokens, (size_t)h->n * sizeof(*h->tokens));
		tokens[i][h->n] = TOKEN_END;
		constraints[i] =
			(struct decode_constraint){ .prefix = tokens[i], .n_prefix = h->n + 1 };
		n_whole++;
	}
	check(n_whole > 2);
	o.constraints = constraints;
	for (o.beam = 1; o.beam <= 4; o.beam += 3) {
		if (!run(&m, 1, 1, &o, forced))
			return;
		for (int i = 0; i < N_SOURCES; i++) {
			if (!constraints[i].n_prefix)
				continue;
			check(same_tokens(&forced[i].hypotheses[0], &found[i].hypotheses[0]));
			check_near(forced[i].hypotheses[0].log_prob,
				   found[i].hypotheses[0].log_prob, 1e-4);
		}
		decode_results_free(forced, N_SOURCES);
	}
	decode_results_free(found, N_SOURCES);
	model_free(m);
}

/* Tokens whose word continues in the next token. */
static const bool joins_next[N_REAL] = { [5] = true, [11] = true };

/* Does the row contain the phrase as whole words, at tokens that are not used yet? Marks them. */
static bool take_phrase(const struct decode_hypothesis *h, const struct decode_phrase *p,
			bool *used)
{
	for (int32_t at = 0; at + p->n <= h->n; at++) {
		bool fits = at == 0 || !joins_next[h->tokens[at - 1]];

		for (int32_t i = 0; i < p->n; i++)
			fits = fits && !used[at + i] && h->tokens[at + i] == p->tokens[i];
		if (!fits)
			continue;
		for (int32_t i = 0; i < p->n; i++)
			used[at + i] = true;
		return true;
	}
	return false;
}

TEST(phrases_are_always_there)
{
	static const int32_t tokens[] = { 10, 5, 7, 8, 8, 11, 5, 6, 9 };
	static const struct decode_phrase phrases[] = {
		{ tokens, 1 },	   { tokens + 1, 2 }, { tokens + 3, 2 },
		{ tokens + 5, 3 }, { tokens + 8, 1 }, { tokens + 8, 1 },
	};
	static const int32_t beams[] = { 1, 2, 4, 16 };
	struct decode_constraint constraints[N_SOURCES];
	struct model *m = sharp_model(3);
	struct decode_options o;
	struct decode_result r[N_SOURCES];
	int finished = 0;

	for (int i = 0; m && i < N_SOURCES; i++)
		constraints[i] = (struct decode_constraint){ .phrases = phrases + (i == 5 ? 2 : 0),
							     .n_phrases = i == 5 ? 2 : i + 1,
							     .prefix = tokens,
							     .n_prefix = i % 3 == 1 ? 2 : 0 };
	for (size_t b = 0; m && b < ARRAY_LEN(beams); b++) {
		o = options(beams[b], beams[b] > 2 ? 3 : 1);
		o.constraints = constraints;
		o.joins_next = joins_next;
		if (!run(&m, 1, b % 2 ? 2 : 1, &o, r))
			break;
		for (int i = 0; i < N_SOURCES; i++) {
			const struct decode_hypothesis *h = &r[i].hypotheses[0];

			for (; h < r[i].hypotheses + r[i].n; h++) {
				bool used[100] = { false };

				check(h->n < 100);
				/* longest first, so that a phrase does not use tokens of a longer one */
				for (int32_t p = constraints[i].n_phrases - 1; p >= 0; p--)
					check(take_phrase(h, &constraints[i].phrases[p], used));
				if (h->finished)
					check_near(h->log_prob,
						   -nll_of(m, &sources[i], h->tokens, h->n), 1e-3);
				finished += h->finished;
			}
		}
		decode_results_free(r, N_SOURCES);
	}
	check(finished > 10);
	model_free(m);
}

/* Forcing a phrase that the best translation contains does not change the result. */
TEST(phrases_that_are_there_anyway_change_nothing)
{
	struct model *m = sharp_model(3);
	struct decode_options o = options(16, 1);
	struct decode_result plain[N_SOURCES], r[N_SOURCES];
	struct decode_phrase phrases[N_SOURCES];
	struct decode_constraint constraints[N_SOURCES] = { { .n_prefix = 0 } };
	int compared = 0;

	if (!m || !run(&m, 1, 1, &o, plain))
		return;
	for (int i = 0; i < N_SOURCES; i++)
		if (plain[i].hypotheses[0].n > 0) {
			phrases[i] = (struct decode_phrase){ plain[i].hypotheses[0].tokens, 1 };
			constraints[i].phrases = &phrases[i];
			constraints[i].n_phrases = 1;
			compared++;
		}
	o.constraints = constraints;
	check(compared > 0);
	if (run(&m, 1, 1, &o, r)) {
		for (int i = 0; i < N_SOURCES; i++)
			check(r[i].hypotheses[0].score >= plain[i].hypotheses[0].score - 1e-4);
		decode_results_free(r, N_SOURCES);
	}
	decode_results_free(plain, N_SOURCES);
	model_free(m);
}
