/* t_wizard.c - forms for the options of a command: rows, values, the command line. */
#include "tests/test.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/context/form_forecast.h"
#include "tui/context/jobs.h"
#include "tui/context/wizard.h"
#include "tui/run/workspace_index.h"
#include "tui/term/reaction.h"

static struct err e;

static size_t row_of(const struct wizard *z, const char *label)
{
	for (size_t i = 0; i < z->n; i++)
		if (!strcmp(z->rows[i].label, label))
			return i;
	test_fail(__FILE__, __LINE__, "no row %s", label);
	return 0;
}

static void check_line(const struct wizard *z, const char *want)
{
	struct buf line = { 0 };
	char **argv = wizard_argv(z, &e);

	jobs_command_text((const char *const *)argv, &line);
	check_str(buf_text(&line), want);
	jobs_free_words(argv);
	buf_free(&line);
}

TEST(workbench_forms)
{
	static const struct wizard_value values[] = { { "run", "first" }, { "max_minutes", NULL } };
	static const struct wizard_value wrong[] = { { "beam_me_up", "1" } };
	static const char *const recipes[] = { "demo", "multi30k" };
	struct wizard_form form = {
		.title = "Train",
		.command = "train",
		.argument = "demo",
		.argument_label = "recipe",
		.argument_choices = recipes,
		.n_choices = 2,
		.values = values,
		.n_values = 2,
		.show_tab = -1,
	};
	struct buf text = { 0 };
	struct wizard *z = wizard_new(&form, "w", &e);

	if (!check(z != NULL))
		return;
	check_int((int)z->n_first, 3);
	check_line(z, "werkbank train -C w demo --run first");
	check_int(wizard_set(z, row_of(z, "max-minutes"), "-1", &e), ERR_USAGE);
	check_int(wizard_set(z, row_of(z, "max-minutes"), "2.5", &e), 0);
	check_int(wizard_set(z, row_of(z, "size"), "huge", &e), ERR_USAGE);
	check_int(wizard_set(z, row_of(z, "size"), "big", &e), 0);
	check_int(wizard_set(z, row_of(z, "tokenize"), "no", &e), 0);
	check_int(wizard_set(z, row_of(z, "detach"), "yes", &e), 0);
	check_int(wizard_set(z, row_of(z, "run"), "../x y", &e), ERR_USAGE);
	check_int(wizard_set(z, row_of(z, "run"), NULL, &e), 0);
	check_line(z, "werkbank train -C w demo --max-minutes 2.5 --no-tokenize --size big "
		      "--detach");
	wizard_default(z, row_of(z, "dropout"), &text);
	check_str(buf_text(&text), "0.1");
	buf_free(&text);
	/* no options that the workbench sets, no options of other commands */
	for (size_t i = 0; i < z->n; i++)
		check(strcmp(z->rows[i].label, "workspace") && strcmp(z->rows[i].label, "quiet") &&
		      strcmp(z->rows[i].label, "n-best"));
	wizard_free(z);
	form.argument = "own.ini"; /* the initial value is a choice too */
	check((z = wizard_new(&form, "w", &e)) && z->n_choices == 3);
	wizard_free(z);
	form.values = wrong;
	form.n_values = 1;
	check(!wizard_new(&form, NULL, &e));
	check(strstr(e.text, "beam_me_up"));
}

/* The form of a training with the recipe small and these values. */
static struct wizard *training_form(const struct wizard_value *values, size_t n)
{
	return wizard_new(&(struct wizard_form){ .command = "train",
						 .title = "t",
						 .argument = "small",
						 .argument_label = "recipe",
						 .values = values,
						 .n_values = n,
						 .show_tab = -1 },
			  test_folder(), &e);
}

TEST(form_of_a_training_shows_what_the_corpus_says)
{
	static const struct wizard_value values[] = { { "corpus", "rev" } };
	struct buf text = { 0 };
	struct wizard *z;

	test_put_file("corpora/rev/recipe.ini",
		      "[data]\nsource_language = de\ntarget_language = en\nmerges = 200\n");
	z = training_form(values, ARRAY_LEN(values));
	check(z != NULL);
	wizard_value(z, row_of(z, "source-language"), &text);
	wizard_value(z, row_of(z, "merges"), &text);
	check_str(buf_text(&text), "de200");
	check_str(wizard_origin(z, row_of(z, "merges")), "corpus rev");
	buf_free(&text);
	wizard_free(z);
}

/* The line of a form; the answer about memory, which depends on the machine, is replaced. */
static void check_forecast(const struct wizard *z, const struct workspace_index *index,
			   const char *want)
{
	struct app_context w = { .addresses = "", .workspace = test_folder(), .index = index };
	struct form_forecast f = { 0 };
	struct buf text = { 0 };

	form_forecast_start(&f, z, &w);
	while (form_forecast_update(&f, z, &w) & (REACT_AGAIN | REACT_SOON))
		usleep(1000);
	f.parameters = 1.5e6;
	f.memory = 91e6;
	f.memory_total = 100e6;
	form_forecast_text(&f, z, &text);
	check_str(buf_text(&text), want);
	form_forecast_close(&f);
	buf_free(&text);
}

TEST(form_forecast_compares_with_the_machine)
{
	static const struct wizard_value values[] = { { "ranks", "2" } };
	struct wizard *z = training_form(values, ARRAY_LEN(values));
	struct form_forecast f = { .is_known = true,
				   .parameters = 1.5e6,
				   .memory = 60e6,
				   .memory_total = 100e6,
				   .gpu = 90e9,
				   .gpu_total = 80e9,
				   .step_s = NAN,
				   .bleu = NAN };
	struct buf text = { 0 };

	if (!check(z != NULL))
		return;
	form_forecast_text(&f, z, &text);
	check(text_starts_with(buf_text(&text),
			       "1.50M parameters   memory 60.0 MB for each of 2 ranks, but this "
			       "host has 100 MB   GPU memory 90.0 GB, but the GPU has 80.0 GB   "));
	buf_free(&text);
	wizard_free(z);
}

/* The line says why the trainer refuses the options. */
TEST(form_forecast_names_a_refused_option)
{
	static const struct wizard_value values[] = { { "d_model", "7" } };
	struct wizard *z = training_form(values, ARRAY_LEN(values));
	struct app_context w = { .addresses = "", .workspace = test_folder() };
	struct form_forecast f = { 0 };
	struct buf text = { 0 };

	if (!check(z != NULL))
		return;
	form_forecast_start(&f, z, &w);
	while (form_forecast_update(&f, z, &w) & (REACT_AGAIN | REACT_SOON))
		usleep(1000);
	form_forecast_text(&f, z, &text);
	check(strstr(buf_text(&text), "d_model is 7") != NULL);
	form_forecast_close(&f);
	buf_free(&text);
	wizard_free(z);
}

/* Time and BLEU are those of earlier runs with the same options, or unknown. */
TEST(form_forecasts_from_measured_runs)
{
	static const struct wizard_value values[] = { { "steps", "500" },
						      { "batch_tokens", "256" } };
	struct wizard *z = training_form(values, ARRAY_LEN(values));
	struct indexed_run twin = { .status = { .name = "twin",
						.step = 100,
						.best_step = 90,
						.best_bleu = 31.4,
						.ranks = 1,
						.attempt_t = 1000,
						.latest = 1200 } };
	const struct workspace_index index = { .runs = &twin, .n_runs = 1 }, none = { 0 };
	struct buf recipe = { 0 };

	if (!check(z != NULL))
		return;
	gethostname(twin.status.host, sizeof(twin.status.host) - 1);
	conf_write_recipe(&z->effective, &recipe);
	test_put_file("runs/twin/recipe.ini", buf_text(&recipe));
	buf_free(&recipe);
	check_forecast(
		z, &none,
		"1.50M parameters   memory 91.0 MB   time at most 1:00:00, not measured yet");
	check_forecast(z, &index,
		       "1.50M parameters   memory 91.0 MB   time about 16:40, at the pace of twin"
		       "   BLEU of twin: 31.40 at step 90");
	check_int(wizard_set(z, row_of(z, "label-smoothing"), "0.3", &e),
		  0); /* as fast, not as good */
	check_forecast(z, &index,
		       "1.50M parameters   memory 91.0 MB   time about 16:40, at the pace of twin");
	check_int(wizard_set(z, row_of(z, "max-minutes"), "5", &e), 0);
	check_forecast(z, &index, "1.50M parameters   memory 91.0 MB   time at most 5:00");
	check_int(wizard_set(z, row_of(z, "max-minutes"), "0", &e), 0);
	twin.status.host[0] = '!'; /* another machine */
	check_forecast(z, &index, "1.50M parameters   memory 91.0 MB   time not measured yet");
	wizard_free(z);
}
