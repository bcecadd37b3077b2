/* t_report.c - synthetic runs with known answers, and the verdicts of the report about them. */
#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "eval/report/answers.h"
#include "eval/report/report.h"
#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/rng.h"
#include "share/base/statistics.h"
#include "train/optim/schedule.h"

/* ---- synthetic runs ---------------------------------------------------- */

#define MILLION 1e6

/* Properties of a synthetic run; 0 is the default of each. */
struct story {
	const char *name;
	int evals, ranks;
	double parameters;
	double floor, fall; /* development NLL = floor + fall / sqrt(step) */
	double rise;	    /* added to the loss per evaluation in the second half */
	double step_s, compute_s, input_s, exposed_s, wait_s;
	double tx_bytes_s, link_bytes_s, sent_bytes;
	double late;	 /* factor on the compute time of rank 1 */
	double gpu_util; /* > 0: hosts have a GPU */
	bool nan;	 /* one record has a loss that is not finite */
	const char *tok; /* of the second half of the evaluations; those before have 30 BLEU more */
};

static double noise(int i, int what)
{
	return rng_unit(rng_key_make(7, RNG_TEST, (uint32_t)what, 0), (uint64_t)i) - 0.5;
}

static void add_evals(struct buf *b, const struct story *s, int i, int step)
{
	double nll = s->floor + s->fall / sqrt(step) + 0.002 * noise(i, 1), train = nll - 0.2;

	if (i > s->evals / 2) {
		nll += s->rise * (i - s->evals / 2);
		train -= s->rise * (i - s->evals / 2);
	}
	buf_printf(b,
		   "{\"v\":1,\"kind\":\"eval\",\"t\":%d,\"step\":%d,\"bleu\":%.3f,"
		   "\"dev_nll\":%.5f,\"train_nll\":%.5f,\"seconds\":2",
		   1000 + step, step,
		   60 - 12 * nll + 0.1 * noise(i, 2) + (s->tok && i <= s->evals / 2 ? 30 : 0), nll,
		   train);
	if (s->tok && i > s->evals / 2)
		buf_printf(b, ",\"tok\":\"%s\"", s->tok);
	buf_add_str(b, "}\n");
}

static void add_hosts(struct buf *b, const struct story *s, int step)
{
	for (int h = 0; h < s->ranks && s->tx_bytes_s > 0; h++) {
		buf_printf(b,
			   "{\"v\":1,\"kind\":\"host\",\"t\":%d,\"step\":%d,\"host\":\"h%d\","
			   "\"ranks\":1,\"cpu\":0.9,\"tx_bytes_s\":%.1f,\"rx_bytes_s\":%.1f,"
			   "\"link_bytes_s\":%.1f",
			   1000 + step, step, h, s->tx_bytes_s, s->tx_bytes_s, s->link_bytes_s);
		if (s->gpu_util > 0)
			buf_printf(b,
				   ",\"gpus\":[{\"index\":0,\"name\":\"Tesla V100-SXM2\","
				   "\"util\":%.3f,\"power_w\":150,\"power_limit_w\":300}]",
				   s->gpu_util);
		buf_add_str(b, "}\n");
	}
	for (int r = 0; r < s->ranks && s->ranks > 1; r++)
		buf_printf(b,
			   "{\"v\":1,\"kind\":\"rank\",\"t\":%d,\"step\":%d,\"rank\":%d,"
			   "\"host\":\"h%d\",\"compute_s\":%.4f,\"step_s\":%.4f,\"wait_s\":%.4f}\n",
			   1000 + step, step, r, r,
			   s->compute_s * (r == s->ranks - 2 && s->late > 0 ? s->late : 1),
			   s->step_s, s->wait_s);
}

static void add_number(struct buf *b, const char *name, double v)
{
	if (v > 0)
		buf_printf(b, ",\"%s\":%.6f", name, v);
}

static void add_train(struct buf *b, const struct story *s, int step)
{
	double rate = 2 * pow(256, -0.5) * fmin(step * pow(400, -1.5), pow(step, -0.5));

	buf_printf(b, "{\"v\":1,\"kind\":\"train\",\"t\":%d,\"step\":%d,", 1000 + step, step);
	if (s->nan && step == 500)
		buf_add_str(b, "\"loss\":null,\"nonfinite\":\"loss\"");
	else
		buf_printf(b, "\"loss\":%.4f,\"nll\":%.4f", 2 + 8 / sqrt(step), 1 + 8 / sqrt(step));
	buf_printf(b, ",\"lr\":%.9g,\"grad_norm\":0.5,\"source_tps\":9000,\"target_tps\":9500",
		   rate);
	add_number(b, "step_s", s->step_s + 0.01 * s->step_s * noise(step, 3));
	add_number(b, "compute_s", s->compute_s);
	add_number(b, "input_s", s->input_s);
	add_number(b, "exposed_s", s->exposed_s);
	add_number(b, "wait_s", s->wait_s);
	add_number(b, "sent_bytes", s->sent_bytes);
	buf_printf(b, ",\"epoch\":%.2f}\n", step / 400.0);
}

static bool write_run(const struct story *s)
{
	static const char recipe[] = "[data]\ncorpus = none\n[model]\nsize = tiny\nd_model = 256\n"
				     "[train]\nnoam_factor = 2\nwarmup = 400\nsteps = 100000\n";
	struct buf b = { 0 };
	struct err e = { 0 };
	char *folder = file_path(&e, "%s/runs/%s", test_folder(), s->name),
	     *path = file_path(&e, "%s/journal.jsonl", folder),
	     *ini = file_path(&e, "%s/recipe.ini", folder);
	int rc;

	buf_printf(&b,
		   "{\"v\":1,\"kind\":\"start\",\"t\":1000,\"step\":0,\"run\":\"%s\","
		   "\"ranks\":%d,\"parameters\":%.0f,\"backend\":\"%s\",\"vocabulary\":8000}\n",
		   s->name, s->ranks, s->parameters, s->gpu_util > 0 ? "cuda" : "cpu");
	for (int i = 1; i <= s->evals; i++) {
		for (int k = 1; k <= 5; k++) {
			add_train(&b, s, (i - 1) * 500 + k * 100);
			add_hosts(&b, s, (i - 1) * 500 + k * 100);
		}
		add_evals(&b, s, i, i * 500);
	}
	rc = file_make_folders(folder, &e) ? e.code : file_write_all(path, b.data, b.len, &e);
	if (!rc)
		rc = file_write_all(ini, recipe, sizeof(recipe) - 1, &e);
	check_int(rc, 0);
	free(folder);
	free(path);
	free(ini);
	buf_free(&b);
	return !rc;
}

static const struct answer *find(const struct answers *a, const char *id)
{
	for (size_t i = 0; i < a->n; i++)
		if (!strcmp(a->all[i].id, id))
			return &a->all[i];
	return NULL;
}

static double fact(const struct answer *a, const char *name)
{
	for (size_t i = 0; a && i < a->n_facts; i++)
		if (!strcmp(a->facts[i].name, name))
			return a->facts[i].value;
	return NAN;
}

static const char *in_runs(const char *name)
{
	static char path[600];

	snprintf(path, sizeof(path), "%s/runs/%s", test_folder(), name);
	return path;
}

/* ---- verdicts ---------------------------------------------------------- */

#define N_ASKED 8

static const char *const asked[N_ASKED] = { "fully-trained", "overfitting", "network-bound",
					    "input-bound",   "stragglers",  "stable",
					    "diverged",	     "healthy" };

/* Expected, in the order above: y yes, n no, ? not enough data. */
static const struct {
	struct story story;
	const char *expected;
} runs[] = {
	{ { "healthy", .evals = 12, .ranks = 1, .parameters = 2 * MILLION, .floor = 1, .fall = 60,
	    .step_s = 0.5, .compute_s = 0.45, .input_s = 0.001 },
	  "nnnnnyny" },
	{ { "plateaued", .evals = 40, .ranks = 1, .parameters = 2 * MILLION, .floor = 1.5,
	    .fall = 0.01, .step_s = 0.5, .compute_s = 0.45, .input_s = 0.001 },
	  "ynnnnyny" },
	{ { "overfitting", .evals = 20, .ranks = 1, .parameters = 2 * MILLION, .floor = 1.5,
	    .fall = 1, .rise = 0.02, .step_s = 0.5, .compute_s = 0.45, .input_s = 0.001 },
	  "yynnnynn" },
	{ { "throttled", .evals = 12, .ranks = 2, .parameters = 2 * MILLION, .floor = 1, .fall = 60,
	    .step_s = 0.95, .compute_s = 0.25, .input_s = 0.001, .exposed_s = 0.66, .wait_s = 0.02,
	    .tx_bytes_s = 8.6e6, .link_bytes_s = 12.5e6 },
	  "nnynnyny" },
	{ { "starved", .evals = 12, .ranks = 1, .parameters = 2 * MILLION, .floor = 1, .fall = 60,
	    .step_s = 0.9, .compute_s = 0.45, .input_s = 0.42 },
	  "nnnynyny" },
	{ { "straggler", .evals = 12, .ranks = 3, .parameters = 2 * MILLION, .floor = 1, .fall = 60,
	    .step_s = 0.9, .compute_s = 0.45, .input_s = 0.001, .exposed_s = 0.43, .wait_s = 0.41,
	    .tx_bytes_s = 1.2e7, .link_bytes_s = 1.25e8, .late = 1.9 },
	  "nnnnyyny" },
	/* more ranks than a fixed table would hold; the late one is the last */
	{ { "straggler-of-thousands", .evals = 3, .ranks = 4801, .parameters = 2 * MILLION,
	    .floor = 1, .fall = 60, .step_s = 0.9, .compute_s = 0.45, .input_s = 0.001,
	    .exposed_s = 0.43, .wait_s = 0.41, .late = 1.9 },
	  "?nnnyyn?" },
	{ { "diverging", .evals = 12, .ranks = 1, .parameters = 2 * MILLION, .floor = 1, .fall = 60,
	    .step_s = 0.5, .compute_s = 0.45, .input_s = 0.001, .nan = true },
	  "nnnnnnny" },
	{ { "short", .evals = 1, .ranks = 1, .parameters = 2 * MILLION, .floor = 1, .fall = 60,
	    .step_s = 0.5 },
	  "??n?nyn?" },
};

static char letter(const struct answer *a)
{
	static const char letters[] = { '?', 'y', 'n', 't' };

	return a ? letters[a->verdict] : '!';
}

TEST(report_verdicts)
{
	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		struct evidence v = { 0 };
		struct answers a = { 0 };
		struct err e = { 0 };
		char got[N_ASKED + 1] = "";

		if (!write_run(&runs[i].story))
			return;
		if (check_int(evidence_open(&v, test_folder(), runs[i].story.name, &e), 0) &&
		    check_int(answers_find(&a, &v, &e), 0))
			for (size_t k = 0; k < N_ASKED; k++)
				got[k] = letter(find(&a, asked[k]));
		if (!check_str(got, runs[i].expected))
			for (size_t k = 0; k < N_ASKED; k++)
				if (got[k] != runs[i].expected[k])
					fprintf(stderr, "\t%s: %s: %s\n", runs[i].story.name,
						asked[k], find(&a, asked[k])->sentence);
		answers_free(&a);
		evidence_close(&v);
	}
}

/* The limits of BLEU are those of words; and scores before a change of the tokenizer do not count. */
TEST(report_knows_the_tokens_of_bleu)
{
	static const struct {
		const char *tok;
		enum answer_confidence confidence;
	} cases[] = { { NULL, CONFIDENCE_CLEAR },
		      { "intl", CONFIDENCE_CLEAR },
		      { "zh", CONFIDENCE_LIKELY },
		      { "char", CONFIDENCE_LIKELY } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct story story = runs[0].story;
		struct evidence v = { 0 };
		struct answers a = { 0 };
		struct err e = { 0 };
		const struct answer *data;

		story.tok = cases[i].tok;
		if (!write_run(&story))
			return;
		check_int(evidence_open(&v, test_folder(), story.name, &e), 0);
		check_int(answers_find(&a, &v, &e), 0);
		data = find(&a, "data-problem");
		check_int(data->verdict, VERDICT_NO);
		check_int(data->confidence, cases[i].confidence);
		check(fact(data, "best BLEU") < 45);
		answers_free(&a);
		evidence_close(&v);
	}
}

/*
  * Measurements of the reference system: 60,880,896 parameters, 0.33 s per step on one GPU. A ring
 * sends 2 (n - 1) / n * 243.5 MB per step and host: 365.3 MB with four hosts, 324.7 MB with three.
 */
static const struct {
	struct story story;
	double bytes;  /* per step and host */
	double within; /* relative tolerance: the precision of the reading */
} reference[] = {
	/* four V100, 1.71 s a step; 213.6 MB/s, which nmon showed as about 200 MB/s */
	{ { "reference", .evals = 8, .ranks = 4, .parameters = 60880896, .floor = 1, .fall = 60,
	    .step_s = 1.71, .compute_s = 0.33, .tx_bytes_s = 213.6e6, .gpu_util = 0.99 },
	  365.3e6,
	  0.03 },
	{ { "as-read", .evals = 8, .ranks = 4, .parameters = 60880896, .floor = 1, .fall = 60,
	    .step_s = 1.71, .compute_s = 0.33, .tx_bytes_s = 200e6, .gpu_util = 0.99 },
	  365.3e6,
	  0.07 },
	/* four T4, 1.28 s a step, 17.3 GB a minute */
	{ { "t4", .evals = 8, .ranks = 4, .parameters = 60880896, .floor = 1, .fall = 60,
	    .step_s = 1.28, .compute_s = 0.33, .tx_bytes_s = 17.3e9 / 60, .gpu_util = 0.99 },
	  365.3e6,
	  0.03 },
	/* three GPUs, 33 s a step, on a port of 100 Mbit/s */
	{ { "port", .evals = 8, .ranks = 3, .parameters = 60880896, .floor = 1, .fall = 60,
	    .step_s = 33, .compute_s = 0.33, .tx_bytes_s = 9.84e6, .link_bytes_s = 12.5e6,
	    .gpu_util = 0.99 },
	  324.7e6,
	  0.03 },
	/* the same with gradients of half the size, whatever the recipe says */
	{ { "compressed", .evals = 8, .ranks = 3, .parameters = 60880896, .floor = 1, .fall = 60,
	    .step_s = 33, .compute_s = 0.33, .tx_bytes_s = 4.92e6, .link_bytes_s = 6.25e6,
	    .gpu_util = 0.99, .sent_bytes = 162.4e6 },
	  162.4e6,
	  0.03 },
};

TEST(report_reference_system)
{
	for (size_t i = 0; i < ARRAY_LEN(reference); i++) {
		const double bytes = reference[i].bytes;
		struct evidence v = { 0 };
		struct answers a = { 0 };
		struct err e = { 0 };

		if (!write_run(&reference[i].story) ||
		    !check_int(evidence_open(&v, test_folder(), reference[i].story.name, &e), 0) ||
		    !check_int(answers_find(&a, &v, &e), 0))
			return;
		check(letter(find(&a, "network-bound")) == 'y');
		check_near(fact(find(&a, "network-bound"), "bytes per step and host, predicted"),
			   bytes, 0.03 * bytes);
		check_near(fact(find(&a, "network-bound"), "bytes per step and host, observed"),
			   bytes, reference[i].within * bytes);
		check(letter(find(&a, "gpus-used")) == 'n');
		check(strstr(find(&a, "gpus-used")->sentence, "counts as busy") != NULL);
		answers_free(&a);
		evidence_close(&v);
	}
}

/* The bound of the BLEU gain is at most the distance to 100 and the gain of the last doubling. */
TEST(report_outlook_is_bounded)
{
	static const double bleus[] = { 0.1, 0.5, 1, 30, 60, 95 };
	struct buf b = { 0 };
	struct evidence v = { 0 };
	struct answers a = { 0 };
	struct err e = { 0 };

	buf_add_str(&b, "{\"kind\":\"start\",\"t\":0,\"step\":0,\"ranks\":1}\n");
	for (size_t i = 0; i < ARRAY_LEN(bleus); i++)
		buf_printf(&b,
			   "{\"kind\":\"eval\",\"t\":%zu,\"step\":%zu,\"bleu\":%g,"
			   "\"dev_nll\":%g}\n",
			   i + 1, 100 * (i + 1), bleus[i], 9.0 - (double)i);
	if (!check_int(file_make_folders(in_runs("steep"), &e), 0) ||
	    !check_int(file_write_all(in_runs("steep/journal.jsonl"), b.data, b.len, &e), 0) ||
	    !check_int(evidence_open(&v, test_folder(), "steep", &e), 0) ||
	    !check_int(answers_find(&a, &v, &e), 0))
		return;
	check(fact(find(&a, "fully-trained"), "BLEU per doubling of steps") > 50);
	check_near(fact(find(&a, "fully-trained"), "BLEU gain of another doubling, upper bound"), 5,
		   1e-9);
	check(strstr(find(&a, "fully-trained")->sentence, "at most about 5.00 BLEU") != NULL);
	answers_free(&a);
	evidence_close(&v);
	buf_free(&b);
}

/* An interval of the slope that holds a fall and a rise is neither: no clear trend. */
TEST(report_noise_is_no_trend)
{
	static const double nlls[] = { 5, 4, 3, 2.2, 2.6, 2.1, 2.7, 2.15, 2.5 };
	struct buf b = { 0 };
	struct evidence v = { 0 };
	struct answers a = { 0 };
	struct err e = { 0 };

	buf_add_str(&b, "{\"kind\":\"start\",\"t\":0,\"step\":0,\"ranks\":1}\n");
	for (size_t i = 0; i < ARRAY_LEN(nlls); i++)
		buf_printf(&b, "{\"kind\":\"eval\",\"t\":%zu,\"step\":%zu,\"dev_nll\":%g}\n", i + 1,
			   100 * (i + 1), nlls[i]);
	if (!check_int(file_make_folders(in_runs("noisy"), &e), 0) ||
	    !check_int(file_write_all(in_runs("noisy/journal.jsonl"), b.data, b.len, &e), 0) ||
	    !check_int(evidence_open(&v, test_folder(), "noisy", &e), 0) ||
	    !check_int(answers_find(&a, &v, &e), 0))
		return;
	check(letter(find(&a, "fully-trained")) == '?');
	check(find(&a, "fully-trained")->confidence == CONFIDENCE_NONE);
	check(strstr(find(&a, "fully-trained")->sentence, "no clear trend") != NULL);
	answers_free(&a);
	evidence_close(&v);
	buf_free(&b);
}

/* ---- output ------------------------------------------------------------ */

TEST(report_learning_rate)
{
	struct evidence v = { 0 };
	struct answers a = { 0 };
	struct err e = { 0 };

	if (!write_run(&runs[0].story) ||
	    !check_int(evidence_open(&v, test_folder(), "healthy", &e), 0) ||
	    !check_int(answers_find(&a, &v, &e), 0))
		return;
	check_near(fact(find(&a, "learning-rate"), "peak"), 2 * pow(256, -0.5) * pow(400, -0.5),
		   1e-9);
	check(fact(find(&a, "learning-rate"), "largest relative deviation from the formula") <
	      1e-6);
	check_near(fact(find(&a, "step-time"), "median"), 0.5, 0.01);
	answers_free(&a);
	evidence_close(&v);
}

/* The time limit asked for a cool-down: its rates are no deviation from the formula. */
TEST(report_learning_rate_with_a_decided_cooldown)
{
	static const char more[] =
		"{\"v\":1,\"kind\":\"event\",\"t\":90000,\"step\":90000,\"level\":\"info\","
		"\"text\":\"x\","
		"\"cooldown_from\":90000,\"cooldown_to\":95000,\"cooldown_factor\":1}\n"
		"{\"v\":1,\"kind\":\"train\",\"t\":94000,\"step\":94000,\"nll\":1,\"lr\":1e-6}\n";
	struct buf b = { 0 };
	struct evidence v = { 0 };
	struct answers a = { 0 };
	struct err e = { 0 };
	char *path = file_path(&e, "%s/runs/healthy/journal.jsonl", test_folder());

	if (!write_run(&runs[0].story) || !check_err(file_read_all(path, 0, &b, &e), 0))
		return;
	buf_add_str(&b, more);
	check_err(file_write_all(path, b.data, b.len, &e), 0);
	if (!check_int(evidence_open(&v, test_folder(), "healthy", &e), 0) ||
	    !check_int(answers_find(&a, &v, &e), 0))
		return;
	check(fact(find(&a, "learning-rate"), "largest relative deviation from the formula") <
	      1e-6);
	check(strstr(find(&a, "learning-rate")->sentence,
		     "from step 90,000 the rate falls to its end at step 95,000") != NULL);
	answers_free(&a);
	evidence_close(&v);
	buf_free(&b);
	free(path);
}

/* A cosine whose end the time limit moved at step 1,000: neither part deviates from the formula. */
TEST(report_learning_rate_of_a_cosine)
{
	static const char recipe[] = "[data]\ncorpus = none\n[model]\nd_model = 256\n[train]\n"
				     "schedule = cosine\npeak_rate = 0.001\nmin_rate = 0.1\n"
				     "warmup = 400\nsteps = 100000\n";
	struct rate_schedule s = {
		.kind = SCHEDULE_cosine, .peak = 0.001, .floor = 0.1, .warmup = 400, .steps = 100000
	};
	const struct answer *found;
	struct buf b = { 0 };
	struct evidence v = { 0 };
	struct answers a = { 0 };
	struct err e = { 0 };

	buf_add_str(&b, "{\"v\":1,\"kind\":\"start\",\"t\":1,\"step\":0,\"run\":\"cosine\"}\n");
	for (int step = 100; step <= 5000; step += 100) {
		buf_printf(
			&b,
			"{\"v\":1,\"kind\":\"train\",\"t\":%d,\"step\":%d,\"nll\":2,\"lr\":%.9g}\n",
			step, step, schedule_rate(&s, step - 1));
		if (step != 1000)
			continue;
		s.end = 5000;
		buf_add_str(
			&b,
			"{\"v\":1,\"kind\":\"event\",\"t\":1000,\"step\":1000,\"level\":\"info\","
			"\"text\":\"x\",\"schedule_from\":1000,\"schedule_end\":5000}\n");
	}
	if (!check_err(file_make_folders(in_runs("cosine"), &e), 0) ||
	    !check_err(file_write_into(in_runs("cosine"), "journal.jsonl", &b, &e), 0))
		return;
	buf_clear(&b);
	buf_add_str(&b, recipe);
	if (!check_err(file_write_into(in_runs("cosine"), "recipe.ini", &b, &e), 0) ||
	    !check_int(evidence_open(&v, test_folder(), "cosine", &e), 0) ||
	    !check_int(answers_find(&a, &v, &e), 0))
		return;
	found = find(&a, "learning-rate");
	check_near(fact(found, "peak"), 0.001, 1e-9);
	check_near(fact(found, "floor"), 0.1, 1e-9);
	check(isnan(fact(found, "factor")));
	check(fact(found, "largest relative deviation from the formula") < 1e-6);
	check(strstr(found->sentence, "then falls like half a wave of a cosine") != NULL);
	check(strstr(found->sentence, "from step 1,000 on the schedule ends at step 5,000") !=
	      NULL);
	check(!strstr(found->sentence, "noam"));
	answers_free(&a);
	evidence_close(&v);
	buf_free(&b);
}

/* Steps that a restarted attempt repeats count once. */
TEST(report_restart)
{
	static const char journal[] =
		"{\"kind\":\"start\",\"t\":0,\"step\":0,\"ranks\":1}\n"
		"{\"kind\":\"train\",\"t\":10,\"step\":10,\"loss\":5,\"step_s\":1}\n"
		"{\"kind\":\"train\",\"t\":20,\"step\":20,\"loss\":4,\"step_s\":1}\n"
		"{\"kind\":\"start\",\"t\":40,\"step\":10,\"ranks\":1}\n"
		"{\"kind\":\"train\",\"t\":50,\"step\":20,\"loss\":4,\"step_s\":1}\n";
	struct evidence v = { 0 };
	struct err e = { 0 };
	char *folder = file_path(&e, "%s/runs/r", test_folder()),
	     *path = file_path(&e, "%s/journal.jsonl", folder);

	if (check_int(file_make_folders(folder, &e), 0) &&
	    check_int(file_write_all(path, journal, sizeof(journal) - 1, &e), 0) &&
	    check_int(evidence_open(&v, test_folder(), "r", &e), 0)) {
		check_int(v.n_train, 2);
		check_int(v.n_attempts, 2);
		check_near(v.lost_s, 10, 0);
		check_near(v.train[1].steps, 10, 0);
	}
	evidence_close(&v);
	free(folder);
	free(path);
}

/* Somebody sets the clock of the host back by two hours. */
TEST(report_clock_set_back)
{
	static const char journal[] =
		"{\"kind\":\"start\",\"t\":8000,\"step\":0,\"ranks\":1}\n"
		"{\"kind\":\"train\",\"t\":8010,\"step\":10,\"loss\":5,\"step_s\":1}\n"
		"{\"kind\":\"train\",\"t\":820,\"step\":20,\"loss\":4,\"step_s\":1}\n"
		"{\"kind\":\"train\",\"t\":830,\"step\":30,\"loss\":4,\"step_s\":1}\n";
	struct evidence v = { 0 };
	struct answers a = { 0 };
	struct err e = { 0 };

	if (check_int(file_make_folders(in_runs("back"), &e), 0) &&
	    check_int(
		    file_write_all(in_runs("back/journal.jsonl"), journal, sizeof(journal) - 1, &e),
		    0) &&
	    check_int(evidence_open(&v, test_folder(), "back", &e), 0) &&
	    check_int(answers_find(&a, &v, &e), 0)) {
		const struct answer *duration = find(&a, "duration");

		check_near(v.set_back_s, 7190, 1e-9);
		check_near(v.train[2].t - v.train[1].t, 10, 1e-9);
		check_near(fact(duration, "wall clock"), 30, 1e-9);
		check(strstr(duration->sentence, "The run took 30") != NULL);
		check(strstr(duration->sentence, "The clock was set back by ") != NULL);
	}
	answers_free(&a);
	evidence_close(&v);
}

/* The highest rate that was seen is no link speed; a restart drops the weights records it repeats. */
TEST(report_host_and_weights_records)
{
	static const char journal[] =
		"{\"kind\":\"start\",\"t\":0,\"step\":0,\"ranks\":2}\n"
		"{\"kind\":\"host\",\"t\":1,\"step\":5,\"host\":\"a\",\"link_bytes_s\":100,"
		"\"link_from\":\"seen\"}\n"
		"{\"kind\":\"host\",\"t\":1,\"step\":5,\"host\":\"b\",\"link_bytes_s\":100,"
		"\"link_from\":\"measured\"}\n"
		"{\"kind\":\"rank\",\"t\":1,\"step\":5,\"rank\":1,\"host\":\"b\"}\n"
		"{\"kind\":\"weights\",\"t\":2,\"step\":10,\"since\":0,\"moved\":{\"a\":0.5,"
		"\"b\":0.25},\"still\":{\"b\":0.125}}\n"
		"{\"kind\":\"weights\",\"t\":3,\"step\":20,\"since\":10,\"moved\":{\"a\":0.4}}\n"
		"{\"kind\":\"start\",\"t\":4,\"step\":10,\"ranks\":2}\n";
	struct evidence v = { 0 };
	struct err e = { 0 };

	if (check_int(file_make_folders(in_runs("records"), &e), 0) &&
	    check_int(file_write_all(in_runs("records/journal.jsonl"), journal, sizeof(journal) - 1,
				     &e),
		      0) &&
	    check_int(evidence_open(&v, test_folder(), "records", &e), 0)) {
		check_int((int64_t)v.n_host, 2);
		check(isnan(v.host[0].link_bytes_s));
		check_near(v.host[1].link_bytes_s, 100, 0);
		check_str(v.rank[0].host, "b");
		check_int((int64_t)v.n_weights, 2);
		check_str(v.weights[1].matrix, "b");
		check_near(v.weights[1].moved, 0.25, 0);
		check_near(v.weights[1].still, 0.125, 0);
		check_near(v.weights[0].still, 0, 0);
	}
	evidence_close(&v);
}

/* In every format, text from a hostile journal is escaped. */
TEST(report_hostile)
{
	static const char journal[] =
		"{\"kind\":\"start\",\"t\":0,\"step\":0,\"ranks\":1,\"run\":\"<b>\\u001b[2J|x\"}\n"
		"{\"kind\":\"train\",\"t\":10,\"step\":1e300,\"loss\":1e308,\"step_s\":-1}\n"
		"{\"kind\":\"train\",\"t\":10,\"step\":2,\"loss\":\"x\",\"step_s\":1}\n"
		"{\"kind\":\"event\",\"level\":\"error\",\"text\":\"<script>\\u0007\"}\n"
		"{\"kind\":\"host\",\"host\":7,\"gpus\":{\"a\":1}}\n{\"kind\":\"rank\",\"rank\":"
		"1e9}\n"
		"[1]\nnot json\n{\"kind\":\"stop\",\"reason\":\"failed\"}\n{\"kind\":";
	static const char samples[] = "{\"step\":1,\"hypothesis\":7}\n{\"step\":1,\"hypothesis\":"
				      "\"<script>|`\\u001b[2J\"}\n"
				      "[]\n{\"step\":1,\"hypothesis\":{},\"source\":[1]}\n";
	struct evidence v = { 0 };
	struct answers a = { 0 };
	struct page_one page = { 0 };
	struct buf text[4] = { 0 };
	struct err e = { 0 };
	char *folder = file_path(&e, "%s/runs/h", test_folder()),
	     *path = file_path(&e, "%s/journal.jsonl", folder);

	if (check_int(file_make_folders(folder, &e), 0) &&
	    check_int(file_write_all(path, journal, sizeof(journal) - 1, &e), 0) &&
	    check_int(file_write_all(in_runs("h/samples.jsonl"), samples, sizeof(samples) - 1, &e),
		      0) &&
	    check_int(evidence_open(&v, test_folder(), "h", &e), 0) &&
	    check_int(answers_find(&a, &v, &e), 0)) {
		const struct report_content content = { &v, &a, &page };

		check_int(page_one_open(&page, &v, &a, &e), 0);
		report_markdown(&content, &text[0]);
		report_html(&content, &text[1]);
		report_json(&content, &text[2]);
		report_text(&content, &text[3]);
		for (size_t i = 0; i < ARRAY_LEN(text); i++) {
			check_int(buf_check(&text[i], &e), 0);
			check(!strchr(buf_text(&text[i]), '\033') &&
			      !strchr(buf_text(&text[i]), '\a'));
		}
		check(!strstr(buf_text(&text[1]), "<script>") &&
		      strstr(buf_text(&text[1]), "&lt;script&gt;"));
		json_free(json_parse(text[2].data, text[2].len, &e));
		check_int(e.code, 0);
	}
	page_one_close(&page);
	answers_free(&a);
	evidence_close(&v);
	for (size_t i = 0; i < ARRAY_LEN(text); i++)
		buf_free(&text[i]);
	free(folder);
	free(path);
}

/* A healthy verdict is no problem, an ill one is; questions choose answers, unknown ones are refused. */
TEST(report_chooses_answers)
{
	static const char journal[] =
		"{\"kind\":\"start\",\"t\":0,\"step\":0,\"ranks\":1,\"vocabulary\":1000}\n"
		"{\"kind\":\"train\",\"t\":10,\"step\":1,\"loss\":6,\"nll\":6,\"step_s\":1}\n"
		"{\"kind\":\"train\",\"t\":20,\"step\":2,\"loss\":5,\"nll\":5,\"step_s\":1}\n"
		"{\"kind\":\"stop\",\"t\":30,\"step\":2,\"reason\":\"stopped\"}\n";
	char name[][12] = { "overfitting", "step-time", "all", "nothing" };
	char *const two[] = { name[0], name[1] }, *const all[] = { name[2] },
		    *const wrong[] = { name[0], name[3] };
	struct evidence v = { 0 };
	struct answers a = { 0 };
	const struct report_content content = { &v, &a, NULL };
	struct buf text = { 0 };
	struct err e = { 0 };
	char *folder = file_path(&e, "%s/runs/c", test_folder()),
	     *path = file_path(&e, "%s/journal.jsonl", folder);

	if (check_int(file_make_folders(folder, &e), 0) &&
	    check_int(file_write_all(path, journal, sizeof(journal) - 1, &e), 0) &&
	    check_int(evidence_open(&v, test_folder(), "c", &e), 0) &&
	    check_int(answers_find(&a, &v, &e), 0)) {
		check_int(answers_choose(&a, two, 2, &e), 0);
		report_text(&content, &text);
		check(strstr(buf_text(&text), "Does it overfit?") &&
		      strstr(buf_text(&text), "How long does a step take?"));
		check(!strstr(buf_text(&text), "Problems") &&
		      !strstr(buf_text(&text), "Did training diverge?"));
		buf_clear(&text);
		answers_choose_problems(&a);
		check_int(answers_choose(&a, all, 1, &e), 0);
		report_markdown(&content, &text);
		check(strstr(buf_text(&text), "## Overview") &&
		      strstr(buf_text(&text), "## How big is a checkpoint?"));
		check_err(answers_choose(&a, wrong, 2, &e), ERR_USAGE);
		check(strstr(e.text, "'nothing'"));
	}
	answers_free(&a);
	evidence_close(&v);
	buf_free(&text);
	free(folder);
	free(path);
}

/* The state of an answer follows from its verdict and from the verdict that is bad. */
TEST(report_answer_states)
{
	struct answer a = { .bad = VERDICT_YES, .verdict = VERDICT_YES };

	check_int(answer_state_of(&a), ANSWER_PROBLEM);
	a.verdict = VERDICT_NO;
	check_int(answer_state_of(&a), ANSWER_FINE);
	a.bad = VERDICT_NO;
	check_int(answer_state_of(&a), ANSWER_PROBLEM);
	a.verdict = VERDICT_UNKNOWN;
	check_int(answer_state_of(&a), ANSWER_OPEN);
	a.bad = VERDICT_STATEMENT;
	check_int(answer_state_of(&a), ANSWER_STATE_NONE);
}

TEST(report_facts_for_people)
{
	static const struct {
		struct named_fact fact;
		const char *want;
	} cases[] = {
		{ { .value = 2338304 }, "2,338,304" },
		{ { .value = 18164962.4, .unit = "tokens" }, "18,164,962 tokens" },
		{ { .value = 5.1381 }, "5.138" },
		{ { .value = -0.08741, .unit = "nats" }, "-0.08741 nats" },
		{ { .value = -2 }, "-2" },
		{ { .value = 0.97754, .unit = "share" }, "97.8 %" },
		{ { .value = 0.000297, .unit = "share" }, "0.0297 %" },
		{ { .value = 4.2341e10, .unit = "FLOP/s" }, "42.34 GFLOP/s" },
		{ { .value = 37612345, .unit = "bytes" }, "37.6 MB" },
		{ { .value = 0.267, .unit = "s" }, "267 ms" },
		{ { .text = "fp32" }, "fp32" },
	};
	struct buf out = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		buf_clear(&out);
		report_fact(&cases[i].fact, &out);
		check_str(buf_text(&out), cases[i].want);
	}
	buf_free(&out);
}

TEST(report_no_run)
{
	struct evidence v = { 0 };
	struct err e = { 0 };

	check_err(evidence_open(&v, test_folder(), "nothing", &e), ERR_NOINPUT);
	evidence_close(&v);
}

/* ---- statistics -------------------------------------------------------- */

TEST(statistics_known_values)
{
	const double x[] = { 1, 2, 3, 4, 5 }, y[] = { 2, 4, 6, 8, 100 };
	struct slope_estimate s = stat_slope(x, y, 5);

	check_near(stat_median(x, 5), 3, 0);
	check_near(stat_quantile(x, 5, 0.25), 2, 0);
	check_near(stat_quantile(x, 4, 0.5), 2.5, 0);
	check_near(s.median, 2, 0); /* the outlier does not count */
	check(s.low <= 2 && s.high >= 2);
	check_near(stat_correlation(x, x, 5), 1, 1e-12);
	check(isnan(stat_correlation(x, y, 1)) && isnan(stat_median(x, 0)));
	check(isnan(stat_slope(x, y, 1).median));
}
