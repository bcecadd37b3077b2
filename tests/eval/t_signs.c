/* t_signs.c - slow ranks, slow disks, dead parts and small vocabularies, from made-up series */
#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/report/answers.h"
#include "eval/report/machine_signs.h"
#include "eval/report/model_signs.h"
#include "share/base/rng.h"

#define RECORDS 20
#define RANKS	3

static double signs_noise(int i)
{
	return rng_unit(rng_key_make(11, RNG_TEST, 0, 0), (uint64_t)i) - 0.5;
}

/* ---- ranks ------------------------------------------------------------- */

/* Fills the rank records of RECORDS steps; slow: factor on the work of rank 1. */
static void make_ranks(struct evidence *v, struct rank_point p[RECORDS * RANKS], int ranks,
		       double slow, double noise)
{
	*v = (struct evidence){ .rank = p, .ranks = ranks };
	for (int i = 0; i < RECORDS; i++)
		for (int r = 0; r < ranks; r++) {
			struct rank_point *x = &p[v->n_rank];

			*x = (struct rank_point){ .step = i, .rank = r, .step_s = 1 };
			x->compute_s = 0.4 * (r == 1 ? slow : 1) *
				       (1 + noise * signs_noise((int)v->n_rank));
			snprintf(x->host, sizeof(x->host), "node%d", r);
			v->n_rank++;
		}
}

TEST(signs_straggler)
{
	struct rank_point points[RECORDS * RANKS];
	struct straggler_signs s;
	struct evidence v;
	struct err e;

	make_ranks(&v, points, RANKS, 1.5, 0);
	check_int(find_straggler_signs(&s, &v, &e), 0);
	check_int((int64_t)s.records, RECORDS);
	check_near(s.rank, 1, 0);
	check_str(s.host, "node1");
	check_near(s.ratio, 1.5, 1e-9);
	check_near(s.slow_share, 1, 0);
	check_near(s.lost_s, 0.2, 1e-9);
	check_near(s.lost_least_s, 0.2, 1e-6);
	check_near(s.lost_share, 0.2, 1e-9);

	/* waiting for batches counts as work: a slow disk of one host holds up all ranks */
	for (size_t i = 0; i < v.n_rank; i++)
		points[i].input_s = points[i].rank == 2 ? 0.4 : 0;
	check_int(find_straggler_signs(&s, &v, &e), 0);
	check_near(s.rank, 2, 0);
	check_near(s.ratio, 0.8 / 0.6, 1e-9);

	/* a share of a step is at most 1, whatever a damaged journal says */
	for (size_t i = 0; i < v.n_rank; i++)
		points[i].step_s = 1e-6;
	check_int(find_straggler_signs(&s, &v, &e), 0);
	check(s.lost_share <= 1);
}

/* Two ranks that are slow by turns: the loss is large, but no rank is to blame. */
TEST(signs_straggler_by_turns)
{
	struct rank_point points[RECORDS * RANKS];
	struct straggler_signs s;
	struct train_point train;
	struct evidence v;
	struct answer a = { 0 };
	struct err e;

	make_ranks(&v, points, 2, 1, 0);
	for (size_t i = 0; i < v.n_rank; i++)
		points[i].compute_s *= (i / 2) % 2 == i % 2 ? 2 : 1;
	check_int(find_straggler_signs(&s, &v, &e), 0);
	check_near(s.slow_share, 0.5, 0.01);
	check_int(answer_stragglers(&a, &v, &e), 0);
	check_int(a.verdict, VERDICT_NO);
	check(!strstr(a.sentence, "Ranks wait"));
	/* the diagnosis of the network, which the view Hosts shows, blames the slowest: so it says */
	train = (struct train_point){
		.step = 1, .step_s = 1, .compute_s = 0.4, .exposed_s = 0.5, .wait_s = 0.4
	};
	v.train = &train;
	v.n_train = 1;
	a = (struct answer){ 0 };
	check_int(answer_stragglers(&a, &v, &e), 0);
	check_int(a.verdict, VERDICT_NO);
	check_int(a.confidence, CONFIDENCE_LIKELY);
	check(strstr(a.sentence, "Ranks wait for the slowest: 40 % of a step; the slowest rank "
				 "changes") != NULL);
}

TEST(signs_straggler_verdict)
{
	static const struct {
		double slow, noise;
		size_t n_rank;
		enum answer_verdict verdict;
		enum answer_confidence confidence;
	} cases[] = {
		{ 1.6, 0.2, RECORDS * 2, VERDICT_YES, CONFIDENCE_CLEAR },
		{ 1.6, 0.2, 6 * 2, VERDICT_YES, CONFIDENCE_LIKELY },
		{ 1.6, 0.2, 4 * 2, VERDICT_UNKNOWN, CONFIDENCE_NONE },
		{ 1.0, 0.1, RECORDS * 2, VERDICT_NO, CONFIDENCE_CLEAR },
		{ 1.0, 1.2, RECORDS * 2, VERDICT_NO, CONFIDENCE_LIKELY },
	};
	struct rank_point points[RECORDS * RANKS];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct answer a = { 0 };
		struct evidence v;
		struct err e;

		make_ranks(&v, points, 2, cases[i].slow, cases[i].noise);
		v.n_rank = cases[i].n_rank;
		check_int(answer_stragglers(&a, &v, &e), 0);
		check_int(a.verdict, cases[i].verdict);
		check_int(a.confidence, cases[i].confidence);
		if (a.verdict == VERDICT_YES)
			check(strstr(a.sentence, "Rank 1 on host node1") != NULL);
	}
}

/* ---- batches and checkpoints ------------------------------------------- */

TEST(signs_input)
{
	struct train_point points[RECORDS];
	struct evidence v = { .train = points, .n_train = RECORDS };
	struct input_signs s;

	for (int i = 0; i < RECORDS; i++) /* the start-up phase does not count */
		points[i] = (struct train_point){
			.step = i, .step_s = 1, .steps = 1, .input_s = i < RECORDS / 2 ? 0.9 : 0.02
		};
	find_input_signs(&s, &v);
	check_int((int64_t)s.records, RECORDS);
	check_near(s.share, 0.02, 1e-9);
	check_near(s.slow_share, 0, 0);
	points[RECORDS - 1].input_s = 5;
	find_input_signs(&s, &v);
	check_near(s.share, (9 * 0.02 + 5) / 10, 1e-9);
	check_near(s.slow_share, 0.1, 1e-9);
	for (int i = 0; i < RECORDS; i++)
		points[i].input_s = NAN;
	find_input_signs(&s, &v);
	check_int((int64_t)s.records, 0);
	check(isnan(s.share));
}

TEST(signs_saves)
{
	struct train_point steps[RECORDS];
	struct save_point saves[4];
	struct evidence v = { .train = steps, .n_train = RECORDS, .saves = saves, .n_saves = 4 };
	struct answer a = { 0 };
	struct save_signs s;

	for (int i = 0; i < RECORDS; i++)
		steps[i] = (struct train_point){ .step = i, .step_s = 0.5, .steps = 2 };
	for (int i = 0; i < 4; i++)
		saves[i] = (struct save_point){ .step = i, .bytes = 1e6, .seconds = 5 };
	find_save_signs(&s, &v);
	check_near(s.step_seconds, RECORDS, 1e-9);
	check_near(s.share, 20.0 / (20 + RECORDS), 1e-9);
	check_near(s.seconds, 5, 1e-9);
	check_near(s.bytes, 1e6, 1e-3);
	answer_checkpoint_bound(&a, &v);
	check_int(a.verdict, VERDICT_YES);
	check_int(a.confidence, CONFIDENCE_CLEAR);
	for (size_t k = 0; k < a.n_curves; k++)
		free(a.curves[k].points.x);
	saves[3].seconds = NAN; /* a save of unknown duration does not count */
	find_save_signs(&s, &v);
	check_int((int64_t)s.saves, 3);
	v.n_saves = 0;
	find_save_signs(&s, &v);
	check(isnan(s.share));
}

/* ---- dead parts -------------------------------------------------------- */

static const char *const matrices[] = { "embed", "encoder.0.self.qkv", "encoder.0.ffn.in",
					"decoder.0.cross.q", "decoder.0.ffn.out" };

/* Three evaluations in which each matrix moves by a tenth or two. */
static void make_weights(struct evidence *v, struct weights_point *p)
{
	*v = (struct evidence){ .weights = p };
	for (int k = 0; k < 3; k++)
		for (size_t i = 0; i < ARRAY_LEN(matrices); i++) {
			struct weights_point *x = &p[v->n_weights++];

			*x = (struct weights_point){ .step = 50 * (k + 1), .since = 50 * k };
			x->moved = 0.1 + 0.02 * (double)i;
			snprintf(x->matrix, sizeof(x->matrix), "%s", matrices[i]);
		}
}

static struct dead_signs dead_signs_of(const struct evidence *v)
{
	struct dead_signs s;
	struct err e;

	check_int(find_dead_signs(&s, v, &e), 0);
	return s;
}

TEST(signs_dead_matrix)
{
	struct weights_point points[3 * ARRAY_LEN(matrices)];
	struct evidence v;
	struct dead_signs s;

	make_weights(&v, points);
	s = dead_signs_of(&v);
	check_int((int64_t)s.records, 3);
	check_int((int64_t)s.matrices, ARRAY_LEN(matrices));
	check_near(s.median, 0.14, 1e-9);
	check_int((int64_t)(s.dead + s.partly), 0);
	for (size_t i = 1; i < v.n_weights; i += ARRAY_LEN(matrices))
		points[i].moved = 0;
	s = dead_signs_of(&v);
	check_int((int64_t)s.dead, 1);
	check_int((int64_t)s.frozen, 1);
	check_str(s.names, "encoder.0.self.qkv");
	points[1].moved = 0.0005; /* hardly */
	s = dead_signs_of(&v);
	check_int((int64_t)s.dead, 1);
	check_int((int64_t)s.frozen, 0);
	points[1].moved = 0.1; /* it moved once: it is not dead */
	s = dead_signs_of(&v);
	check_int((int64_t)s.dead, 0);
}

/* All matrices stand still at a learning rate of 0: no matrix is to blame. */
TEST(signs_dead_rate_zero)
{
	struct weights_point points[3 * ARRAY_LEN(matrices)];
	struct answer a = { 0 };
	struct evidence v;
	struct err e;

	make_weights(&v, points);
	for (size_t i = 0; i < v.n_weights; i++)
		points[i].moved = 0;
	check_int(answer_dead_part(&a, &v, &e), 0);
	check_int(a.verdict, VERDICT_UNKNOWN);
	v.n_weights = ARRAY_LEN(matrices); /* one evaluation */
	a = (struct answer){ 0 };
	check_int(answer_dead_part(&a, &v, &e), 0);
	check_int(a.verdict, VERDICT_UNKNOWN);
	check(strstr(a.sentence, "at 1 evaluation;") != NULL);
}

TEST(signs_dead_head)
{
	struct weights_point points[3 * ARRAY_LEN(matrices)];
	struct evidence v;
	struct dead_signs s;

	make_weights(&v, points);
	for (size_t i = 0; i < v.n_weights; i++)
		points[i].still = 0.125; /* two of 16 chunks */
	s = dead_signs_of(&v);
	check_int((int64_t)s.dead, 0);
	check_int((int64_t)s.partly, 2); /* the embedding and feed-forward layers may have it */
	check_str(s.names, "encoder.0.self.qkv, decoder.0.cross.q");
	check_near(s.still, 0.125, 0);
	points[1].still = 0;
	s = dead_signs_of(&v);
	check_str(s.names, "decoder.0.cross.q");
}

/* Units whose ReLU never opens are told, but only a whole layer of them is a dead part. */
TEST(signs_dead_units)
{
	static const struct {
		double still;
		enum answer_verdict verdict;
		const char *words;
	} cases[] = { { 0.25, VERDICT_NO, "the median matrix by" },
		      { 0.4375, VERDICT_NO, "about 44 % of the feed-forward units" },
		      { 0.875, VERDICT_NO, "encoder.0.ffn.in" },
		      { 0.9375, VERDICT_YES, "feed-forward layers there may be dead" } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct weights_point points[3 * ARRAY_LEN(matrices)];
		struct answer a = { 0 };
		struct evidence v;
		struct err e;

		make_weights(&v, points);
		for (size_t k = 2; k < v.n_weights; k += ARRAY_LEN(matrices))
			points[k].still = cases[i].still;
		check_int(answer_dead_part(&a, &v, &e), 0);
		check_int(a.verdict, cases[i].verdict);
		if (!strstr(a.sentence, cases[i].words))
			test_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", a.sentence,
				  cases[i].words);
	}
}

/* ---- the vocabulary ---------------------------------------------------- */

TEST(signs_vocabulary)
{
	static const struct {
		double words, source, target, vocabulary, source_bytes, target_bytes;
		const char *language; /* of the target */
		enum answer_verdict verdict;
		enum answer_confidence confidence;
	} cases[] = {
		{ 50000, 1.3, 1.5, 4000, 5, 5, "de", VERDICT_NO, CONFIDENCE_CLEAR },
		{ 50000, 2.2, 2.7, 800, 5, 5, "de", VERDICT_NO, CONFIDENCE_LIKELY },
		{ 50000, 2.8, 3.4, 300, 5, 5, "de", VERDICT_YES, CONFIDENCE_LIKELY },
		{ 50000, 4.6, 4.4, 80, 5, 5, "de", VERDICT_YES, CONFIDENCE_CLEAR },
		/* words of a script of 3 bytes a letter */
		{ 50000, 4.6, 4.4, 80, 5, 21, "ta", VERDICT_YES, CONFIDENCE_CLEAR },
		/* too few words for a larger vocabulary */
		{ 1500, 3.2, 3.1, 120, 5, 5, "de", VERDICT_NO, CONFIDENCE_LIKELY },
		{ 500, 4.6, 4.4, 80, 5, 5, "de", VERDICT_UNKNOWN, CONFIDENCE_NONE },
		/* no blanks between words: of the target, by its language or its bytes; of both */
		{ 50000, 1.4, 14.6, 8000, 5, 30, "zh", VERDICT_NO, CONFIDENCE_CLEAR },
		{ 50000, 1.4, 14.6, 8000, 5, 30, "zh-TW", VERDICT_NO, CONFIDENCE_CLEAR },
		{ 50000, 1.4, 14.6, 8000, 5, 60, "xx", VERDICT_NO, CONFIDENCE_CLEAR },
		{ 50000, 4.6, 14.6, 80, 5, 30, "th", VERDICT_YES, CONFIDENCE_CLEAR },
		{ 50000, 20, 14.6, 8000, 60, 30, "ja", VERDICT_UNKNOWN, CONFIDENCE_NONE },
		{ 50000, NAN, NAN, 8000, 5, 5, "de", VERDICT_UNKNOWN, CONFIDENCE_NONE },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const double n = cases[i].words;
		struct evidence v = { .words = { n, n },
				      .pieces = { n * cases[i].source, n * cases[i].target },
				      .vocabulary = cases[i].vocabulary,
				      .bytes_a_word = { cases[i].source_bytes,
							cases[i].target_bytes } };
		struct answer a = { 0 };

		v.recipe.source_language = (char *)"en";
		v.recipe.target_language = (char *)cases[i].language;
		v.recipe.segmentation = i % 2 ? SEGMENTATION_SENTENCEPIECE : SEGMENTATION_BPE;
		answer_vocabulary_small(&a, &v);
		if (!check_int(a.verdict, cases[i].verdict) ||
		    !check_int(a.confidence, cases[i].confidence) ||
		    !check(i % 2 ? !strstr(a.sentence, "merges")
				 : !strstr(a.sentence, "vocabulary_size")) ||
		    !check(a.verdict != VERDICT_YES ||
			   strstr(a.sentence,
				  i % 2 ? "a larger vocabulary_size." : "more merges.")))
			fprintf(stderr, "\tcase %zu: %s\n", i, a.sentence);
	}
}

/* ---- is the run healthy? ------------------------------------------------- */

/* A loss that falls well: healthy if BLEU rises, but too early to say while BLEU is near 0. */
TEST(signs_healthy_needs_bleu)
{
	static const struct {
		double bleu;
		enum answer_verdict verdict;
	} cases[] = {
		{ 12, VERDICT_YES },
		{ 0.4, VERDICT_UNKNOWN },
		{ NAN, VERDICT_YES }, /* not computed */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct train_point train[40];
		struct eval_point evals[4];
		struct evidence v = { .train = train, .n_train = 40, .evals = evals, .n_evals = 4 };
		const struct answers no_problems = { 0 };
		struct answer a = { 0 };
		struct err e;

		v.vocabulary = 1200;
		for (int k = 0; k < 40; k++)
			train[k] = (struct train_point){
				.step = k, .steps = 1, .nll = 7.5 - 0.07 * k, .lr = 0.01
			};
		for (int k = 0; k < 4; k++)
			evals[k] = (struct eval_point){ .step = 10 * k + 9,
							.bleu = cases[i].bleu,
							.dev_nll = 6.5 - 0.6 * k,
							.train_nll = 6.5 - 0.6 * k };
		evidence_find_signs(&v);
		check_int(answer_healthy(&a, &v, &no_problems, &e), 0);
		if (!check_int(a.verdict, cases[i].verdict))
			fprintf(stderr, "\tcase %zu: %s\n", i, a.sentence);
	}
}

/* ---- hosts --------------------------------------------------------------- */

/* Host records in rounds of 600 hosts, more than a report once looked at; the third sends most. */
TEST(signs_busiest_of_many_hosts)
{
	enum { HOSTS = 600, ROUNDS = 4 };
	static struct host_point points[HOSTS * ROUNDS];
	struct evidence v = { .host = points, .n_host = HOSTS * ROUNDS, .hosts = HOSTS };
	struct traffic_signs s;
	struct err e;

	for (size_t i = 0; i < v.n_host; i++) {
		points[i] = (struct host_point){ .number = i % HOSTS,
						 .tx_step_bytes = i % HOSTS == 2 ? 2e6 : 1e6,
						 .link_bytes_s = (double)i,
						 .retransmits_s = NAN,
						 .waits_cpu = NAN,
						 .cpu = NAN };
		if (i == HOSTS * 2 + 1) /* one record of a later host lacks the figure */
			points[i].tx_step_bytes = points[i].tx_bytes_s = NAN;
	}
	check_int(find_traffic_signs(&s, &v, 1, &e), 0);
	check_near(s.sent_bytes, 2e6, 1);
	check_near(s.link_bytes_s, HOSTS * 3 + 2, 0);
}

TEST(signs_cpu_verdict)
{
	static const struct {
		double waits, busy;
		size_t n;
		enum answer_verdict verdict;
		enum answer_confidence confidence;
	} cases[] = {
		{ 0.97, 1, 20, VERDICT_YES, CONFIDENCE_CLEAR },
		{ 0.7, 0.99, 20, VERDICT_YES, CONFIDENCE_LIKELY },
		{ 0.97, NAN, 20, VERDICT_YES, CONFIDENCE_CLEAR },
		{ 0.97, 0.4, 20, VERDICT_NO, CONFIDENCE_LIKELY }, /* processors are free */
		{ 0.003, 0.995, 20, VERDICT_NO, CONFIDENCE_CLEAR },
		{ 0.97, 1, 6, VERDICT_UNKNOWN, CONFIDENCE_NONE },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct host_point points[20];
		struct evidence v = { .host = points, .n_host = cases[i].n, .hosts = 2 };
		struct answer a = { 0 };
		struct err e;

		/* a second host waits for nothing */
		for (size_t k = 0; k < 20; k++)
			points[k] = (struct host_point){ .number = k % 2,
							 .step = (double)k,
							 .waits_cpu = k % 2 ? cases[i].waits : 0.01,
							 .cpu = k % 2 ? cases[i].busy : 0.1,
							 .host = "b" };
		check_int(answer_cpu_starved(&a, &v, &e), 0);
		if (!check_int(a.verdict, cases[i].verdict) ||
		    !check_int(a.confidence, cases[i].confidence))
			fprintf(stderr, "\tcase %zu: %s\n", i, a.sentence);
		for (size_t k = 0; k < a.n_curves; k++)
			free(a.curves[k].points.x);
	}
}

/* A BLEU far below what the development NLL promises is a problem; somewhat below, nothing is clear. */
TEST(signs_bleu_follows_nll)
{
	static const struct {
		double bleu;
		enum answer_verdict verdict;
		enum answer_confidence confidence;
	} cases[] = {
		{ 3.56, VERDICT_YES, CONFIDENCE_LIKELY },
		{ 10.5, VERDICT_NO, CONFIDENCE_LIKELY },
		{ 20, VERDICT_NO, CONFIDENCE_CLEAR },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct train_point train[40];
		struct eval_point evals[4];
		struct evidence v = { .train = train, .n_train = 40, .evals = evals, .n_evals = 4 };
		struct answer a = { 0 };

		v.vocabulary = 1000;
		snprintf(v.tok, sizeof(v.tok), "13a");
		for (int k = 0; k < 40; k++)
			train[k] = (struct train_point){ .step = k,
							 .steps = 1,
							 .nll = 6.9 - 0.15 * k,
							 .lr = 0.01,
							 .epoch = 0.1 * k };
		for (int k = 0; k < 4; k++)
			evals[k] = (struct eval_point){ .step = 10 * k + 9,
							.bleu = cases[i].bleu * (k + 1) / 4,
							.dev_nll = 5.8 - 1.5 * k,
							.train_nll = 5.8 - 1.5 * k };
		evidence_find_signs(&v);
		answer_data_problem(&a, &v);
		if (!check_int(a.verdict, cases[i].verdict) ||
		    !check_int(a.confidence, cases[i].confidence))
			fprintf(stderr, "\tcase %zu: %s\n", i, a.sentence);
	}
}

/* Training text that is harder than the development set: pairs that are not translations, unless it was as much harder at first. */
TEST(signs_gap_of_harder_training_text)
{
	static const struct {
		double early_gap, early_epoch;
		enum answer_verdict verdict;
	} cases[] = {
		{ 0.02, 1.2, VERDICT_YES },
		{ -0.2, 1.2, VERDICT_YES },
		{ -0.7, 1.2, VERDICT_UNKNOWN },
		{ -0.7, 1.2 * SIGNS_EARLY, VERDICT_YES }, /* too late to compare */
		{ NAN, NAN, VERDICT_YES },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct evidence v = { .signs = { .n_evals = 3,
						 .gap = -0.35,
						 .early_gap = cases[i].early_gap,
						 .early_epoch = cases[i].early_epoch,
						 .dev_last = 1.3,
						 .end = 1.6,
						 .ln_vocabulary = 9,
						 .best_bleu = 39 } };
		struct answer a = { 0 };

		snprintf(v.tok, sizeof(v.tok), "13a");
		answer_data_problem(&a, &v);
		if (!check_int(a.verdict, cases[i].verdict))
			fprintf(stderr, "\tcase %zu: %s\n", i, a.sentence);
	}
}

/* ---- the end of the run -------------------------------------------------- */

/* A run that stop_on ended did not finish, nobody proposes to resume it, and no time is left. */
TEST(signs_end_of_a_diverged_run)
{
	struct train_point train[2] = { { .t = 1, .step = 10, .steps = 10, .step_s = 0.1 },
					{ .t = 2, .step = 20, .steps = 10, .step_s = 0.1 } };
	struct evidence v = { .train = train,
			      .n_train = 2,
			      .last_t = 2,
			      .n_attempts = 1,
			      .stop_step = 20,
			      .has_plan = true,
			      .reason = "diverged" };
	struct answer early = { 0 }, duration = { 0 };

	v.recipe.steps = 100;
	answer_stopped_early(&early, &v);
	check_int(early.verdict, VERDICT_YES);
	check_str(early.sentence,
		  "The run was stopped at step 20 of 100, because training diverged (stop_on).");
	answer_duration(&duration, &v);
	check(strstr(duration.sentence, "; the run was stopped, because training diverged.") !=
	      NULL);
	check(!strstr(duration.sentence, "remaining"));
}
