/* compare.c - scores systems, tests the differences, prints a table or JSON; see compare.h */
#include "eval/evaluate/compare.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "eval/evaluate/compare_runs.h"
#include "eval/evaluate/score_tools.h"
#include "eval/metrics/resample.h"
#include "eval/translate/engine.h"
#include "eval/translate/segment_reader.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"

#define LEVEL 0.05 /* p below this: the difference is significant */

enum test { TEST_BOOTSTRAP, TEST_RANDOMISATION }; /* as in options.def */

struct system {
	const char *name; /* borrowed */
	struct metric metric;
	struct score_confidence confidence;
	double score;
	double p; /* against the baseline */
};

struct comparison {
	const struct conf *conf;
	struct system *systems; /* (n) owned: the baseline first */
	size_t n;
	enum test test;
	int64_t trials; /* resamples of the test */
	int64_t draws;	/* resamples of the confidence intervals */
	uint64_t seed;
	const char *precision; /* number format of decoding; NULL: unknown (files) */
};

static int read_systems(struct comparison *x, struct segment_reader *s, struct err *e)
{
	struct metric_options o =
		metric_options_from_conf((enum metric_kind)x->conf->metric, x->conf);
	int rc = 0;

	for (size_t i = 0; i < x->n && !rc; i++) {
		x->systems[i].name = s->names[i];
		rc = metric_open(&x->systems[i].metric, &o, e);
	}
	while (!rc && (rc = segment_reader_next(s, e)) > 0) {
		rc = 0;
		for (size_t i = 0; i < x->n && !rc; i++)
			rc = metric_add(&x->systems[i].metric, &s->texts[i], s->texts + x->n,
					s->n - x->n, e);
	}
	return rc;
}

static int test_all(struct comparison *x, struct err *e)
{
	const struct metric *baseline = &x->systems[0].metric;

	for (size_t i = 0; i < x->n; i++) {
		struct system *s = &x->systems[i];

		s->score = metric_score(&s->metric);
		if (resample_confidence(&s->metric, x->seed, x->draws, &s->confidence, e))
			return e->code;
		if (i > 0 && (x->test == TEST_BOOTSTRAP
				      ? resample_bootstrap(baseline, &s->metric, x->seed, x->trials,
							   &s->p, e)
				      : resample_randomisation(baseline, &s->metric, x->seed,
							       x->trials, &s->p, e)))
			return e->code;
	}
	return 0;
}

static const char *describe_difference(const struct comparison *x, size_t i)
{
	double gain = x->systems[i].score - x->systems[0].score;

	assert(i > 0 && i < x->n);

	if (metric_less_is_better(&x->systems[i].metric))
		gain = -gain;
	if (gain == 0) /* p is small then, see p_value() in resample.c */
		return "no difference";
	if (x->systems[i].p >= LEVEL)
		return "no significant difference";
	return gain > 0 ? "better" : "worse";
}

/* The signature of the scores and the test; sacreBLEU names the draws of the intervals too. */
static void compare_signatures(const struct comparison *x, struct buf *own, struct buf *sacrebleu)
{
	const struct metric *m = &x->systems[0].metric;
	struct signature_trials trials = { x->draws, 0, x->seed };

	if (x->test != TEST_BOOTSTRAP)
		trials.ar = x->trials;
	metric_sacrebleu_signature(m, &trials, sacrebleu);
	metric_signature(m, own);
	if (x->test != TEST_BOOTSTRAP)
		trials.bs = 0;
	signature_add_trials(&trials, own);
}

static void compare_print_json(const struct comparison *x, struct buf *out)
{
	struct json_writer w = { .out = out };
	struct buf text = { 0 }, foreign = { 0 };

	json_open(&w, '{');
	metric_name(&x->systems[0].metric, &text);
	json_put_str(&w, "name", buf_text(&text));
	if (x->precision)
		json_put_str(&w, "precision", x->precision);
	json_key(&w, "test");
	json_str(&w, x->test == TEST_BOOTSTRAP ? "paired bootstrap"
					       : "paired approximate randomisation");
	json_put_open(&w, "systems", '[');
	for (size_t i = 0; i < x->n; i++) {
		json_open(&w, '{');
		json_put_str(&w, "system", x->systems[i].name);
		json_put_real(&w, "score", x->systems[i].score);
		score_tools_confidence_json(&w, &x->systems[i].confidence);
		if (i > 0) {
			json_put_real(&w, "p", x->systems[i].p);
			json_put_str(&w, "verdict", describe_difference(x, i));
		}
		json_close(&w, '}');
	}
	json_close(&w, ']');
	buf_clear(&text);
	compare_signatures(x, &text, &foreign);
	json_put_str(&w, "signature", buf_text(&text));
	if (foreign.len)
		json_put_str(&w, "sacrebleu_signature", buf_text(&foreign));
	json_close(&w, '}');
	buf_free_part(&text, out);
	buf_free_part(&foreign, out);
}

static void add_padded(struct buf *out, const char *text, size_t width)
{
	size_t have = utf8_count(text, strlen(text));

	buf_add_str(out, text);
	for (; have < width; have++)
		buf_add_char(out, ' ');
}

static void compare_print_text(const struct comparison *x, struct buf *out)
{
	size_t width = strlen("system");
	struct buf foreign = { 0 };

	for (size_t i = 0; i < x->n; i++)
		width = MAX(width, utf8_count(x->systems[i].name, strlen(x->systems[i].name)));
	metric_name(&x->systems[0].metric, out);
	if (x->precision)
		buf_printf(out, " (%s)", x->precision);
	buf_printf(out, ", %s of %lld, against the first\n",
		   x->test == TEST_BOOTSTRAP ? "paired bootstrap"
					     : "paired approximate randomisation",
		   (long long)x->trials);
	add_padded(out, "system", width);
	buf_add_str(out, "   score   mean \xC2\xB1 95 %          p\n");
	for (size_t i = 0; i < x->n; i++) {
		const struct system *s = &x->systems[i];

		add_padded(out, s->name, width);
		buf_printf(out, "  %6.2f  %6.2f \xC2\xB1 %5.2f", s->score, s->confidence.mean,
			   s->confidence.interval);
		if (i > 0)
			buf_printf(out, "  %9.4f  %s", s->p, describe_difference(x, i));
		buf_add_char(out, '\n');
	}
	compare_signatures(x, out, &foreign);
	if (foreign.len) {
		buf_add_char(out, '\n');
		buf_add(out, foreign.data, foreign.len);
	}
	buf_free_part(&foreign, out);
}

static int compare_print(const struct comparison *x, struct err *e)
{
	struct buf text = { 0 };
	int rc;

	if (x->conf->json)
		compare_print_json(x, &text);
	else
		compare_print_text(x, &text);
	buf_add_char(&text, '\n');
	rc = file_put_stdout(&text, e);
	buf_free(&text);
	return rc;
}

/*
 * Compares the files that c names. names: (c->n_arguments) of the systems; NULL: the paths.
 * precision: number format in which the systems translated; NULL: unknown.
 */
static int compare_files(const struct conf *c, char *const *names, const char *precision,
			 struct err *e)
{
	struct comparison x = { .conf = c,
				.precision = precision,
				.test = (enum test)c->test,
				.seed = (uint64_t)c->resample_seed };
	struct segment_reader s = { 0 };
	int rc;

	x.draws = c->resamples && x.test == TEST_BOOTSTRAP ? c->resamples : RESAMPLE_DRAWS;
	x.trials = c->resamples		      ? c->resamples
		   : x.test == TEST_BOOTSTRAP ? RESAMPLE_DRAWS
					      : RESAMPLE_SHUFFLES;
	x.n = (size_t)c->n_arguments;
	x.systems = mem_alloc(x.n, sizeof(*x.systems), e);
	rc = x.systems ? segment_reader_open(&s, c, e) : e->code;
	if (!rc)
		rc = read_systems(&x, &s, e);
	for (size_t i = 0; !rc && names && i < x.n; i++)
		x.systems[i].name = names[i];
	if (!rc)
		rc = test_all(&x, e);
	if (!rc)
		rc = compare_print(&x, e);
	for (size_t i = 0; x.systems && i < x.n; i++)
		metric_close(&x.systems[i].metric);
	free(x.systems);
	segment_reader_close(&s);
	return rc;
}

/* Translates with the runs and compares the translations like files. */
static int compare_systems(const struct conf *c, struct err *e)
{
	struct compare_runs f;
	struct conf files = *c; /* a shallow copy: borrows the members of c */
	int rc = compare_runs_translate(&f, c, e);

	files.arguments = f.paths;
	files.n_arguments = (int)f.n;
	files.reference = (struct conf_list){ &f.reference, 1 };
	files.tokenizer = (int)f.tokenizer;
	if (!rc)
		rc = compare_files(&files, f.names, f.precision, e);
	compare_runs_close(&f);
	return rc;
}

int compare_run(struct conf *c, struct err *e)
{
	if (c->run && c->reference.n)
		return err_set(e, ERR_USAGE,
			       "--run and --reference cannot be used together: runs are compared "
			       "on the references of their held-out set (--set)");
	if (c->n_arguments < (c->run ? 1 : 2))
		return err_set(e, ERR_USAGE,
			       "compare needs BASELINE SYSTEM...: two files or more, "
			       "or --run NAME and another run or :CHECKPOINT");
	return c->run ? compare_systems(c, e) : compare_files(c, NULL, NULL, e);
}
