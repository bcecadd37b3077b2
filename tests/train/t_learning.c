/* t_learning.c - warnings while a run trains and about recipes: recorded runs, made-up numbers, trainings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/buf.h"
#include "share/workspace/journal.h"
#include "tests/test.h"
#include "tests/train/small_run.h"
#include "train/record/learning_watch.h"
#include "train/record/recipe_check.h"

/* Number of warnings with this sign in the journal of a run. */
static int count_signs(const char *run, const char *sign)
{
	struct err e;
	char path[600];
	const struct json *record;
	struct journal_reader *r;
	int n = 0;

	snprintf(path, sizeof(path), "%s/runs/%s/journal.jsonl", test_folder(), run);
	r = journal_reader_open(path, &e);
	while (r && journal_next(r, &record, &e) > 0)
		n += !strcmp(json_text(json_get(record, "sign"), ""), sign) &&
		     !strcmp(json_text(json_get(record, "level"), ""), "warning");
	journal_reader_free(r);
	return n;
}

/* ---- recorded runs ------------------------------------------------------ */

/* What the watch of a recorded run said: "SIGN@STEP SIGN@STEP …". */
struct replay {
	struct learning_watch watch;
	char warnings[600];
	bool has_begun;
	double before; /* step of the last training record */
};

static void note_warnings(struct replay *r, const struct learning_warning *all, size_t n,
			  double step)
{
	for (size_t i = 0; i < n; i++) {
		const size_t len = strlen(r->warnings);

		check(strlen(all[i].text) < sizeof(all[i].text) - 1); /* not cut off */
		check(all[i].text[strlen(all[i].text) - 1] == '.');
		snprintf(r->warnings + len, sizeof(r->warnings) - len, "%s%s@%.0f", len ? " " : "",
			 all[i].sign, step);
	}
}

static double option_of(const struct json *start, const char *name)
{
	return strtod(json_text(json_get(json_get(start, "options"), name), "nan"), NULL);
}

static double number_of(const struct json *record, const char *name)
{
	return json_number(json_get(record, name), NAN);
}

static void replay_record(struct replay *r, const struct json *record)
{
	const char *kind = json_text(json_get(record, "kind"), "");
	const double step = number_of(record, "step"), nll = number_of(record, "nll");
	struct learning_warning out[N_LEARNING_SIGNS];

	if (!strcmp(kind, "start") && !r->has_begun) {
		r->has_begun = true;
		learning_watch_begin(&r->watch, number_of(record, "vocabulary"),
				     option_of(record, "d_model"), option_of(record, "warmup"));
	} else if (!strcmp(kind, "train")) {
		const struct learning_step p = { .step = step,
						 .steps = step - r->before,
						 .nll = nll,
						 .rate = number_of(record, "lr"),
						 .grad_norm = number_of(record, "grad_norm"),
						 .epoch = number_of(record, "epoch"),
						 .is_skipped = json_get(record, "nonfinite") };

		r->before = step;
		note_warnings(r, out, learning_watch_add_step(&r->watch, &p, out), step);
	} else if (!strcmp(kind, "eval")) {
		const struct learning_evaluation p = { step, number_of(record, "bleu"),
						       number_of(record, "dev_nll"),
						       number_of(record, "train_nll") };

		note_warnings(r, out, learning_watch_add_evaluation(&r->watch, &p, out), step);
	}
}

/* Recorded runs that give a warning, and which; all others of tests/runs give none. */
static const struct {
	const char *run, *warnings;
} warned[] = {
	{ "copied-sources", "above-guess@100" },
	{ "explodes-late", "jump@305 gradient@305 gradient@310 above-guess@350 diverged@365" },
	{ "fresh-overfit-300", "overfitting@150" },
	{ "fresh-rate-30", "jump@105 above-guess@150 diverged@165" },
	{ "jump-recovers", "jump@305" },
	{ "nan", "above-guess@50 diverged@70" },
	{ "overfit-200", "overfitting@150" },
	{ "overfit-500", "overfitting@150" },
	{ "rate-10", "plateau@300" },
	{ "rate-10-files", "plateau@335" },
	{ "rate-40", "jump@35 above-guess@50 diverged@95 jump@365" },
	{ "rate-40-wide", "jump@60 gradient@85 above-guess@100 diverged@120" },
	{ "spike-short", "jump@306" },
	{ "spike-stays", "jump@255 above-guess@262 diverged@355" },
	{ "swapped-sides", "above-guess@100" },
	{ "warmup-none", "plateau@145" },
	{ "warmup-short", "plateau@145" },
};

static const char *expected_warnings(const char *run)
{
	for (size_t i = 0; i < ARRAY_LEN(warned); i++)
		if (!strcmp(warned[i].run, run))
			return warned[i].warnings;
	return "";
}

/* The path of a recorded run; one static buffer. */
static const char *recorded_path(const char *run)
{
	static char path[600];
	const char *srcdir = getenv("srcdir");

	snprintf(path, sizeof(path), "%s/tests/runs/%s", srcdir ? srcdir : ".", run);
	return path;
}

static bool replay_run(struct replay *r, const char *run)
{
	char path[700];
	const struct json *record;
	struct journal_reader *reader;
	struct err e = { 0 };

	memset(r, 0, sizeof(*r));
	snprintf(path, sizeof(path), "%s.jsonl", recorded_path(run));
	reader = journal_reader_open(path, &e);
	while (reader && journal_next(reader, &record, &e) > 0)
		replay_record(r, record);
	journal_reader_free(reader);
	return check(r->has_begun);
}

/* Verdict of a run in expected.tsv on "diverged": 'y', 'n', 0: not in the table. */
static char expected_divergence(const char *table, const char *run)
{
	char row[140];
	const char *found = NULL;
	static const char *const halves[] = { "design", "kept", "fresh" };

	for (size_t i = 0; i < ARRAY_LEN(halves) && !found; i++) {
		snprintf(row, sizeof(row), "%s\t%s\tdiverged\t", run, halves[i]);
		found = strstr(table, row);
		if (found)
			found += strlen(row);
	}
	return (char)(found ? *found : 0);
}

/* A journal without the size of the vocabulary: no uniform guess is named. */
TEST(learning_names_no_unknown_guess)
{
	for (int has_vocabulary = 0; has_vocabulary < 2; has_vocabulary++) {
		struct learning l;
		struct learning_signs s;

		learning_begin(&l, has_vocabulary ? 1000 : NAN, 64, 100);
		for (int i = 1; i <= 60; i++)
			learning_add_step(&l, &(struct learning_step){ .step = i,
								       .nll = 5 + 0.2 * i,
								       .rate = 0.001 });
		learning_find_signs(&l, &s);
		check_int(s.diverged, DIVERGENCE_CLEAR);
		check(!strstr(s.divergence, "nan"));
		check_int(strstr(s.divergence, "a uniform guess has 6.908 (ln V)") != NULL,
			  has_vocabulary);
	}
}

/* The names of all recorded runs in the table, each once. */
TEST(learning_warns_of_recorded_sick_runs_only)
{
	struct buf table = { 0 };
	struct err e = { 0 };
	char *rest = NULL, *lines, last[100] = "";
	size_t runs = 0;

	if (!check_err(file_read_all(recorded_path("expected.tsv"), 0, &table, &e), 0))
		return;
	lines = strdup(buf_text(&table));
	for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct replay r;
		char run[100], divergence;

		snprintf(run, sizeof(run), "%.*s", (int)strcspn(line, "\t"), line);
		if (line[0] == '#' || !strcmp(run, last) || !replay_run(&r, run))
			continue;
		snprintf(last, sizeof(last), "%s", run);
		divergence = expected_divergence(buf_text(&table), run);
		runs++;
		if (strcmp(r.warnings, expected_warnings(run)) != 0)
			test_fail(__FILE__, __LINE__, "%s: \"%s\" instead of \"%s\"", run,
				  r.warnings, expected_warnings(run));
		if (strstr(run, "healthy"))
			check_str(r.warnings, "");
		if (divergence == 'y')
			check(strstr(r.warnings, "diverged@") != NULL);
		if (divergence == 'n')
			check(strstr(r.warnings, "diverged@") == NULL);
	}
	check(runs >= 36);
	free(lines);
	buf_free(&table);
}

/* ---- resuming ----------------------------------------------------------- */

/*
 * Copies the journal of a recorded run until a step, with the warnings that were given; then
 * resumes at that step. The rest of the run gives exactly the rest of the warnings.
 */
static void check_resume(const char *run, double until, double from, const char *rest)
{
	struct replay before = { 0 }, after = { 0 };
	const struct json *record;
	struct journal_reader *reader;
	struct err e = { 0 };
	struct journal *journal;
	char path[700];

	snprintf(path, sizeof(path), "%s.jsonl", recorded_path(run));
	remove(at("journal"));
	journal = journal_open(at("journal"), &e);
	reader = journal_reader_open(path, &e);
	while (reader && journal_next(reader, &record, &e) > 0) {
		const double step = number_of(record, "step");
		static const char *const numbers[] = { "nll",  "lr",	  "grad_norm", "epoch",
						       "bleu", "dev_nll", "train_nll" };
		const char *kind = json_text(json_get(record, "kind"), "");
		const size_t told = strlen(before.warnings);
		struct json_writer *w;

		if (step <= until)
			replay_record(&before, record);
		if (step <= until && (!strcmp(kind, "train") || !strcmp(kind, "eval"))) {
			w = journal_begin(journal, kind, (int64_t)step);
			for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
				if (json_get(record, numbers[i]))
					json_put_real(w, numbers[i], number_of(record, numbers[i]));
			journal_end(journal, &e);
		}
		for (char *word = before.warnings + told; *word; word += strcspn(word, " ")) {
			char sign[40];

			word += *word == ' ';
			snprintf(sign, sizeof(sign), "%.*s", (int)strcspn(word, "@"), word);
			w = journal_begin(journal, "event", (int64_t)step);
			json_put_str(w, "level", "warning");
			json_put_str(w, "sign", sign);
			json_put_str(w, "text", "text");
			journal_end(journal, &e);
		}
		if (step > from && !after.has_begun) {
			after.has_begun = true;
			after.before = before.before;
			after.watch = before.watch; /* for the sizes */
			learning_watch_begin(&after.watch,
					     exp(before.watch.learning.signs.ln_vocabulary),
					     before.watch.learning.root_d_model *
						     before.watch.learning.root_d_model,
					     before.watch.learning.signs.warmup);
		}
	}
	journal_reader_free(reader);
	journal_free(journal);
	check_err(learning_watch_resume(&after.watch, at("journal"), (int64_t)from, &e), 0);
	after.before = from;
	reader = journal_reader_open(path, &e);
	while (reader && journal_next(reader, &record, &e) > 0)
		if (number_of(record, "step") > from)
			replay_record(&after, record);
	journal_reader_free(reader);
	check_str(after.warnings, rest);
}

TEST(learning_does_not_repeat_warnings_after_a_resume)
{
	/* after a warning, in the middle of what must last, and with repeated steps */
	check_resume("rate-40", 100, 100, "jump@365");
	check_resume("rate-40", 60, 60, "diverged@95 jump@365");
	check_resume("rate-40", 100, 30, "jump@365");
	check_resume("overfit-200", 200, 200, "");
	check_resume("overfit-200", 160, 100, "");
	check_resume("rate-10", 250, 250, "plateau@300");
	check_resume("healthy-demo", 200, 150, "");
}

/* A journal without the warnings, as older versions wrote: what holds still is said once. */
TEST(learning_warns_after_a_resume_of_an_old_journal)
{
	struct replay r = { 0 };
	struct err e = { 0 };
	struct learning_warning out[N_LEARNING_SIGNS];
	struct learning_step p = { 405, 5, 11, 0.5, 1, 10, false };
	char path[700];

	snprintf(path, sizeof(path), "%s.jsonl", recorded_path("rate-40-wide"));
	learning_watch_begin(&r.watch, 400, 128, 100);
	check_err(learning_watch_resume(&r.watch, path, 250, &e), 0);
	note_warnings(&r, out, learning_watch_add_step(&r.watch, &p, out), 405);
	check_str(r.warnings, "diverged@405");
	check(learning_watch_is_diverged(&r.watch));
	r.warnings[0] = 0;
	p.step = 410;
	note_warnings(&r, out, learning_watch_add_step(&r.watch, &p, out), 410);
	check_str(r.warnings, "");
}

/* ---- made-up records ---------------------------------------------------- */

/* Adds a training record 10 steps after the last one. */
static void add_made_up(struct replay *r, double nll, double norm, bool is_skipped)
{
	struct learning_warning out[N_LEARNING_SIGNS];
	const struct learning_step p = { r->before + 10, 10, nll, 0.001, norm, 1, is_skipped };

	r->before = p.step;
	note_warnings(r, out, learning_watch_add_step(&r->watch, &p, out), p.step);
}

/* A loss that falls steeply is no divergence: the newest medians have fewer than five records. */
TEST(learning_does_not_call_a_steep_fall_a_divergence)
{
	static const double nll[] = { 6.3, 5.2, 5.0, 4.7, 4.3, 3.7, 2.7, 1.6, 0.9, 0.8 };
	struct replay r = { 0 };
	struct learning_signs s;

	learning_watch_begin(&r.watch, 400, 64, 100);
	for (size_t i = 0; i < ARRAY_LEN(nll); i++) {
		add_made_up(&r, nll[i], 1, false);
		learning_find_signs(&r.watch.learning, &s);
		check_int(s.diverged, DIVERGENCE_NONE);
	}
	check_str(r.warnings, "");
}

/* Records of single batches scatter: what is usual for them is no jump, what is not usual is one. */
TEST(learning_measures_a_jump_by_the_scatter_of_the_records)
{
	static const double scatter[] = { 0.1, -0.2, 0.05, 0.25, -0.1, -0.25, 0.15, 0.02, -0.15 };
	struct replay r = { 0 };

	learning_watch_begin(&r.watch, 8000, 128, 1200);
	for (size_t i = 0; i < 90; i++)
		add_made_up(&r, 1.8 + scatter[i % ARRAY_LEN(scatter)], 1, false);
	add_made_up(&r, 2.35, 1, false); /* 0.55 above the median, scatter 0.2 */
	check_str(r.warnings, "");
	for (size_t i = 0; i < 9; i++)
		add_made_up(&r, 1.8 + scatter[i], 1, false);
	add_made_up(&r, 3.3, 1, false);
	check_str(r.warnings, "jump@1010");
	check_int(r.watch.learning.signs.spikes, 1);
}

/* Skipped steps: a warning for the first, and when their number has doubled. */
TEST(learning_warns_of_skipped_steps_with_measure)
{
	struct replay r = { 0 };

	learning_watch_begin(&r.watch, 400, 64, 100);
	for (int i = 0; i < 40; i++)
		add_made_up(&r, 4, 1, i % 4 == 3);
	check_str(r.warnings, "nonfinite@40 nonfinite@80 nonfinite@160 nonfinite@320");
	for (int i = 0; i < 3; i++)
		add_made_up(&r, NAN, NAN, true);
	check(strstr(r.warnings, " diverged@430") != NULL);
	check(learning_watch_is_diverged(&r.watch));
	add_made_up(&r, 4, 1, false);
	check(!learning_watch_is_diverged(&r.watch));
}

/* A development NLL above a uniform guess: after small steps, that of the random weights. */
TEST(learning_advises_by_the_distance_of_the_weights)
{
	static const struct {
		double rate;
		const char *advice, *option; /* NULL: as at first */
	} cases[] = { { 0, "raise noam_factor", NULL },
		      { 0.0001, "raise noam_factor", NULL },
		      { 0.1, "Lower noam_factor", NULL },
		      { 0, "raise peak_rate", "peak_rate" },
		      { 0.1, "Lower peak_rate", "peak_rate" } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct learning_evaluation evaluation = { 200, 0, 6.8, 6.8 };
		struct learning_warning out[N_LEARNING_SIGNS];
		struct learning_watch w = { 0 };
		size_t n;

		learning_watch_begin(&w, 400, 64, 100);
		if (cases[i].option)
			w.rate_option = cases[i].option;
		for (int k = 1; k <= 20; k++)
			learning_watch_add_step(
				&w,
				&(struct learning_step){ 10 * k, 10, 6.8, cases[i].rate, 1, 1, 0 },
				out);
		n = learning_watch_add_evaluation(&w, &evaluation, out);
		if (check_int((int64_t)n, 1) && !strstr(out[0].text, cases[i].advice))
			test_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", out[0].text,
				  cases[i].advice);
	}
}

/* The memory of a long run is that of a short one, and the trend is that of its later half. */
TEST(learning_follows_a_long_run)
{
	struct replay r = { 0 };
	struct learning_signs s;

	learning_watch_begin(&r.watch, 30000, 512, 4000);
	for (int i = 1; i <= 100000; i++)
		add_made_up(&r, 8 - 0.25 * log2(i), 1, false);
	check_str(r.warnings, "");
	learning_find_signs(&r.watch.learning, &s);
	learning_find_trend(&r.watch.learning, &s, true);
	check_near(s.trend.median, -0.25, 1e-3);
	check_near(s.end, 8 - 0.25 * log2(100000), 1e-3);
	check_int(s.n_train, 100000);
}

/* ---- recipes ------------------------------------------------------------ */

/* Warnings of a recipe, "NAME NAME …"; all: of them all. */
static const char *check_recipe(const struct recipe_facts *f, char text[600])
{
	static char names[200];
	struct learning_warning all[RECIPE_CHECKS];
	const size_t n = recipe_check(f, all);

	names[0] = text[0] = 0;
	for (size_t i = 0; i < n; i++) {
		const size_t len = strlen(names);

		snprintf(names + len, sizeof(names) - len, "%s%s", len ? " " : "", all[i].sign);
		check(strlen(all[i].text) < sizeof(all[i].text) - 1);
		snprintf(text, 600, "%s", all[i].text);
	}
	return names;
}

static const struct {
	const char *options[6]; /* name, value, … */
	double parameters, pairs, target_tokens, dev_in_train;
	const char *names, *proposal;
} recipe_cases[] = {
	{ { 0 }, 2e5, 4000, 48000, 0, "", "" },
	{ { "warmup", "1000" }, 2e5, 4000, 48000, 0, "warmup-too-long", "--warmup 100." },
	{ { "cooldown", "100" }, 2e5, 4000, 48000, 0, "", "" },
	{ { "cooldown", "380" }, 2e5, 4000, 48000, 0, "cooldown-too-long", "--cooldown 100." },
	{ { "noam_factor", "20" }, 2e5, 4000, 48000, 0, "rate-too-large", "Try --noam-factor 2." },
	{ { "noam_factor", "0.05" },
	  2e5,
	  4000,
	  48000,
	  0,
	  "rate-too-small",
	  "Try --noam-factor 0.4." },
	{ { "noam_factor", "0" },
	  2e5,
	  4000,
	  48000,
	  0,
	  "rate-too-small",
	  "the weights do not change. Try --noam-factor 2." },
	{ { "noam_factor", "0.05", "start_from", "other" }, 2e5, 4000, 48000, 0, "", "" },
	/* the same limits for the other schedules: d_model^-0.5 is 0.125 */
	{ { "schedule", "cosine", "peak_rate", "0.04" }, 2e5, 4000, 48000, 0, "", "" },
	{ { "schedule", "constant", "peak_rate", "0.06" },
	  2e5,
	  4000,
	  48000,
	  0,
	  "rate-too-large",
	  "The largest learning rate is 0.06, which is 0.48 times d_model^-0.5; above 0.4 times, "
	  "training "
	  "often diverges. Try --peak-rate 0.0025." },
	{ { "schedule", "constant", "peak_rate", "0.0015" }, 2e5, 4000, 48000, 0, "", "" },
	{ { "schedule", "linear", "peak_rate", "0.0015" }, /* half the sum after the warm-up */
	  2e5,
	  4000,
	  48000,
	  0,
	  "rate-too-small",
	  "is only 2.4 times d_model^-0.5 (needed: 4 or more): the weights hardly change. Try "
	  "--peak-rate "
	  "0.0062." },
	{ { "schedule", "constant", "peak_rate", "0.0015", "cooldown", "250" },
	  2e5,
	  4000,
	  48000,
	  0,
	  "rate-too-small",
	  "Try --peak-rate 0.0055." },
	{ { 0 }, 2e5, 4000, 1e6, 0, "no-epoch", "41 % of the 4000 pairs. Try --steps 977." },
	{ { 0 }, 2e4, 60, 800, 0, "batch-too-large", "Try --batch-tokens 40." },
	{ { 0 },
	  2e5,
	  200,
	  2400,
	  0,
	  "model-too-large",
	  "has 200000 parameters, the corpus 2400 target tokens: the model will memorise "
	  "the pairs. Try --dropout 0.3" },
	{ { "d_model", "512" }, 5e7, 29000, 4e5, 0, "", "" }, /* one epoch */
	{ { "d_model", "512", "steps", "20000" },
	  5e7,
	  29000,
	  4e5,
	  0,
	  "model-too-large",
	  "Try --size tiny." },
	{ { "d_model", "512", "steps", "20000", "dropout", "0.3" }, 5e7, 29000, 4e5, 0, "", "" },
	{ { 0 }, 2e5, 4000, 48000, 26, "dev-in-train", "--overlap drop" },
	{ { 0 }, 2e5, 4000, 48000, 25, "", "" },
	{ { "overlap", "drop" }, 2e5, 4000, 48000, 26, "", "" },
	{ { "steps", "0" }, 2e5, 4000, 48000, 0, "", "" },
};

TEST(recipe_warnings_propose_a_value)
{
	for (size_t i = 0; i < ARRAY_LEN(recipe_cases); i++) {
		struct conf c;
		char text[600];

		if (!make_conf(&c, "r"))
			return;
		set(&c, "steps", "400");
		set(&c, "warmup", "100");
		set(&c, "noam_factor", "2");
		set(&c, "batch_tokens", "512");
		set(&c, "d_model", "64");
		for (size_t k = 0; k < 6 && recipe_cases[i].options[k]; k += 2)
			set(&c, recipe_cases[i].options[k], recipe_cases[i].options[k + 1]);
		check_str(check_recipe(&(struct recipe_facts){ &c, recipe_cases[i].parameters,
							       recipe_cases[i].pairs,
							       recipe_cases[i].target_tokens, 500,
							       recipe_cases[i].dev_in_train },
				       text),
			  recipe_cases[i].names);
		if (!strstr(text, recipe_cases[i].proposal))
			test_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", text,
				  recipe_cases[i].proposal);
		conf_free(&c);
	}
}

/* The recipes of share/recipes, with the sizes of their corpora. */
TEST(recipe_check_accepts_the_shipped_recipes)
{
	static const struct {
		const char *name;
		double parameters, pairs, target_tokens;
	} recipes[] = {
		{ "demo", 1.58e6, 24000, 3e5 },
		{ "multi30k", 2.3e6, 29000, 4.6e5 },
		{ "small", 7.7e6, 20000, 5e5 }, /* the smallest and the largest of its corpora */
		{ "small", 7.7e6, 200000, 6e6 },
		{ "medium", 2.3e7, 200000, 6e6 },
		{ "medium", 2.3e7, 2e6, 6e7 },
		{ "wmt16-en-de", 6.1e7, 4.5e6, 1.3e8 },
		{ "openseq2seq-en-de", 6.1e7, 4.5e6, 1.3e8 },
	};

	for (size_t i = 0; i < ARRAY_LEN(recipes); i++) {
		const char *srcdir = getenv("srcdir");
		struct err e = { 0 };
		struct conf c;
		char path[600], text[600];

		snprintf(path, sizeof(path), "%s/share/recipes/%s.ini", srcdir ? srcdir : ".",
			 recipes[i].name);
		setenv("MULTI30K", "/nowhere", 0);
		if (!check_err(conf_init(&c, &e), 0) ||
		    !check_err(conf_load_named_recipe(&c, path, &e), 0))
			return;
		conf_apply_size(&c);
		check_str(check_recipe(&(struct recipe_facts){ &c, recipes[i].parameters,
							       recipes[i].pairs,
							       recipes[i].target_tokens, 500, 0 },
				       text),
			  "");
		conf_free(&c);
	}
}

/* A real run: the warning is in the journal once; again only after an option has changed. */
TEST(recipe_warning_is_not_repeated_by_a_resume)
{
	struct conf c;

	if (!make_corpus() || !make_conf(&c, "r"))
		return;
	set(&c, "steps", "12");
	set(&c, "warmup", "30");
	trains(&c);
	check_int(count_signs("r", "warmup-too-long"), 1);
	trains(&c);
	check_int(count_signs("r", "warmup-too-long"), 1);
	set(&c, "steps", "14");
	trains(&c);
	check_int(count_signs("r", "warmup-too-long"), 2);
	set(&c, "warmup", "10");
	trains(&c);
	check_int(count_signs("r", "warmup-too-long"), 2);
	conf_free(&c);
}

/* ---- stop_on ------------------------------------------------------------ */

/* The last record "stop" of the run "r" says that it diverged at this step. */
static void check_diverged_stop(int64_t step, int stops)
{
	double exit_status = 0, at_step = 0;

	check_int(count_records("r", "stop", "exit", &exit_status), stops);
	count_records("r", "stop", "step", &at_step);
	check_near(exit_status, 79, 0);
	check_int(at_step, step);
}

/*
 * A learning rate that is far too large: with stop_on the run saves and stops; it stops again when
 * it is resumed, without a second warning. Without stop_on it goes on.
 */
TEST(learning_stops_a_diverged_run)
{
	static const struct trainer_signals never;
	struct ckpt_state s = { 0 };
	struct err e = { 0 };
	struct conf c;
	char *newest;

	if (!make_corpus() || !make_conf(&c, "r"))
		return;
	set(&c, "steps", "600");
	set(&c, "warmup", "40");
	set(&c, "noam_factor", "40");
	set(&c, "clip", "0");
	set(&c, "save_every", "1000");
	set(&c, "stop_on", "diverged");
	check_err(train(&c, &never, &e), ERR_DIVERGED);
	check(strstr(e.text, "training diverged; saved at step") != NULL);
	check_int(count_signs("r", "rate-too-large"), 1);
	check_int(count_signs("r", "diverged"), 1);
	newest = ckpt_find_last(at("runs/r"), &e);
	if (!check(newest != NULL) || !check_err(ckpt_read_state(newest, false, &s, &e), 0))
		return;
	check(s.step > 40 && s.step < 600);
	check_diverged_stop(s.step, 1);

	check_err(train(&c, &never, &e), ERR_DIVERGED);
	check_diverged_stop(s.step, 2);
	check_int(count_signs("r", "diverged"), 1);

	set(&c, "stop_on", "none");
	set(&c, "steps", "300");
	if (s.step < 300) {
		trains(&c);
		check_int(count_signs("r", "diverged"), 1);
		check_int(count_signs("r", "rate-too-large"), 1);
	}
	free(newest);
	conf_free(&c);
}

/* The same option does not touch a healthy run. */
TEST(learning_does_not_stop_a_healthy_run)
{
	double exit_status = 1;
	struct conf c;

	if (!make_corpus() || !make_conf(&c, "r"))
		return;
	set(&c, "steps", "200");
	set(&c, "stop_on", "diverged");
	trains(&c);
	check_int(count_records("r", "stop", "exit", &exit_status), 1);
	check_near(exit_status, NOT_EVALUATED, 0);
	check_int(count_signs("r", "diverged"), 0);
	check_int(count_signs("r", "jump"), 0);
	conf_free(&c);
}
