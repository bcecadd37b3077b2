/* tune_command.c - see tune_command.h */
#include "train/launch/tune/tune_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/conf/arch.h"
#include "share/conf/text_facts.h"
#include "share/format/json.h"
#include "share/workspace/paths.h"
#include "train/launch/tune/tune_plan.h"
#include "train/launch/tune/tune_scores.h"
#include "train/launch/tune/tune_steps.h"

#define HELD_OUT      "1000" /* pairs of each held-out set that the recipe does not name */
#define GENERAL_SHARE "0.5"
#define MAX_STATE     (1u << 20) /* bytes of state.json */
#define MAX_SETS      2

struct tuning {
	struct conf *conf;						 /* borrowed */
	char *workspace, *model_folder, *corpus, *run, *folder, *recipe; /* owned */
	char *model; /* owned: as start_from takes it */
	char name[120];
	struct tune_set sets[MAX_SETS];
	size_t n_sets;
};

/* ---- the derived recipe ---- */

/* NAME of "NAME", "NAME:STEP", "some/NAME" or "some/NAME/", with "-tuned". */
static void name_run(struct tuning *t, const char *model)
{
	const char *base;
	size_t n = strlen(model);

	while (n > 1 && model[n - 1] == '/')
		n--;
	base = memrchr(model, '/', n);
	base = base ? base + 1 : model;
	n -= (size_t)(base - model);
	n = MIN(n, strcspn(base, ":"));
	snprintf(t->name, sizeof(t->name), "%.*s-tuned", (int)MIN(n, 90), base);
}

static int tune_load_recipe(struct tuning *t, struct err *e)
{
	struct conf *c = t->conf;
	const char *model = c->arguments[0];

	if (c->n_arguments > 2)
		return err_set(e, ERR_USAGE, "tune takes a MODEL and a RECIPE");
	name_run(t, model);
	if (c->n_arguments == 2) {
		if (conf_load_named_recipe(c, c->arguments[1], e))
			return e->code;
		conf_recipe_name(c->recipe, t->name, sizeof(t->name));
	}
	if (c->run)
		snprintf(t->name, sizeof(t->name), "%s", c->run);
	if (paths_check_name("run", t->name, e))
		return e->code;
	t->model = strchr(model, '/') ? paths_absolute(model, e) : mem_strdup(model, e);
	t->workspace = t->model ? paths_workspace(c->workspace, e) : NULL;
	t->model_folder = t->workspace ? paths_model(c->workspace, model, e) : NULL;
	return t->model_folder ? 0 : e->code;
}

/* The user names files relative to the current folder, but tune.ini is in the folder of the run. */
static int make_texts_absolute(struct conf *c, struct err *e)
{
	struct conf_list *const lists[] = {
		&c->train_source,	 &c->train_target,   &c->dev_source,
		&c->dev_target,		 &c->test_source,    &c->test_target,
		&c->general_source,	 &c->general_target, &c->general_test_source,
		&c->general_test_target, &c->train_pairs,    &c->dev_pairs,
		&c->test_pairs,
	};

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		for (size_t k = 0; k < lists[i]->n; k++) {
			char *whole = paths_absolute(lists[i]->items[k], e);

			if (!whole)
				return e->code;
			free(lists[i]->items[k]);
			lists[i]->items[k] = whole;
		}
	return 0;
}

static int plan_held_out(struct conf *c, struct buf *out, struct err *e)
{
	const bool is_split =
		!c->manifest && !c->demo_pairs &&
		(!(c->dev_source.n + c->dev_pairs.n) || !(c->test_source.n + c->test_pairs.n) ||
		 (c->general_source.n && !c->general_test_source.n));

	if (is_split && tune_propose(c, "hold_out", HELD_OUT,
				     "pairs of the text for each set that is not given, at most a "
				     "tenth",
				     out, e))
		return e->code;
	if (c->general_source.n &&
	    tune_propose(c, "general_share", GENERAL_SHARE,
			 "as much general text as text of yours, against forgetting", out, e))
		return e->code;
	return 0;
}

/* The folder of a model of another program has no recipe. */
static bool has_recipe(const struct tuning *t, struct err *e)
{
	char *path = file_path(e, "%s/recipe.ini", t->model_folder);
	const bool has = path && file_exists(path);

	if (path && !has)
		err_set(e, ERR_NOINPUT,
			"%s has no recipe.ini, so Werkbank cannot read this model: import the "
			"model of "
			"another program first, with werkbank import %s -o MODEL",
			t->model_folder, t->model_folder);
	free(path);
	return has;
}

/* The beam search of the model, which an import takes from its program. */
static int plan_search(struct tuning *t, struct buf *out, struct err *e)
{
	static const char *const names[] = { "beam_rules", "beam", "alpha" };
	char *path = file_path(e, "%s/recipe.ini", t->model_folder);
	struct buf is = { 0 };
	struct conf model = { 0 };
	int rc = path ? conf_init(&model, e) : e->code;

	if (!rc)
		rc = conf_load_recipe(&model, path, e);
	for (size_t i = 0; !rc && i < ARRAY_LEN(names); i++) {
		if (!strcmp(conf_origin(&model, names[i]), "default"))
			continue;
		buf_clear(&is);
		conf_value(&model, names[i], &is);
		rc = buf_check(&is, e);
		if (!rc)
			rc = tune_propose(t->conf, names[i], buf_text(&is), "as the model", out, e);
	}
	buf_free(&is);
	conf_free(&model);
	free(path);
	return rc;
}

/* Options of [data]: those of the model, and the names. */
static int plan_data(struct tuning *t, struct buf *out, struct err *e)
{
	struct conf *c = t->conf;

	if (!has_recipe(t, e) || text_facts_adopt_model(c, c->arguments[0], t->model_folder, e) ||
	    make_texts_absolute(c, e))
		return e->code;
	if (!conf_is_given(c, "corpus") && conf_set(c, "corpus", t->name, TUNE_ORIGIN, e))
		return e->code;
	if (tune_propose(c, "start_from", t->model, "its weights", out, e) ||
	    tune_propose(c, "pieces_from", t->model, "its vocabulary and subwords", out, e) ||
	    plan_search(t, out, e) || plan_held_out(c, out, e))
		return e->code;
	t->corpus = file_path(e, "%s/corpora/%s", t->workspace, c->corpus);
	t->run = t->corpus ? file_path(e, "%s/runs/%s", t->workspace, t->name) : NULL;
	t->folder = t->run ? file_path(e, "%s/tune", t->run) : NULL;
	t->recipe = t->folder ? file_path(e, "%s/tune.ini", t->folder) : NULL;
	return t->recipe ? 0 : e->code;
}

static int write_recipe(const struct tuning *t, struct err *e)
{
	struct buf text = { 0 };
	int rc = file_make_folders(t->folder, e);

	if (!rc) {
		conf_write_recipe(t->conf, &text);
		rc = buf_check(&text, e) ? e->code : file_write_buf(t->recipe, &text, e);
	}
	buf_free(&text);
	return rc;
}

/* May an option change when a tuning goes on? */
static bool may_change(const char *line)
{
	static const char *const names[] = { "max_minutes ", "threads ", "backend ", "gpu ",
					     "cuda_graphs " };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (text_starts_with(line, names[i]))
			return true;
	return false;
}

/* The bytes of a line without its comment and the blanks before it. */
static size_t option_length(const char *line)
{
	size_t n = strcspn(line, "#\n");

	while (n && line[n - 1] == ' ')
		n--;
	return n;
}

/* Compares the options of two recipes line by line, without the comments that say where a value comes from. */
static int compare_asked_options(const struct tuning *t, const char *was, const char *is,
				 struct err *e)
{
	for (size_t a, b; *was && *is; was += a + (was[a] == '\n'), is += b + (is[b] == '\n')) {
		const size_t n_was = option_length(was), n_is = option_length(is);

		a = strcspn(was, "\n");
		b = strcspn(is, "\n");
		if ((n_was != n_is || memcmp(was, is, n_is) != 0) && !may_change(is))
			return err_set(e, ERR_CONFIG,
				       "the tuning %s began with %.*s, which is %.*s now: give the "
				       "same options, or another --run NAME",
				       t->name, (int)n_was, was, (int)n_is, is);
	}
	return 0;
}

/* The first time, keeps what the user asked for; later it must be the same. */
static int check_same_options(const struct tuning *t, struct err *e)
{
	char *path = file_path(e, "%s/asked.ini", t->folder);
	struct buf is = { 0 }, was = { 0 };
	int rc = path ? file_make_folders(t->folder, e) : e->code;

	conf_write_recipe(t->conf, &is);
	if (!rc)
		rc = buf_check(&is, e);
	if (!rc && !file_exists(path))
		rc = file_write_buf(path, &is, e);
	else if (!rc && !(rc = file_read_all(path, MAX_STATE, &was, e)))
		rc = compare_asked_options(t, buf_text(&was), buf_text(&is), e);
	buf_free(&was);
	buf_free(&is);
	free(path);
	return rc;
}

/* ---- facts of model and corpus ---- */

static int read_width(const struct tuning *t, int32_t *d_model, struct err *e)
{
	char *path = file_path(e, "%s/state.json", t->model_folder);
	struct model_shape shape = { 0 };
	struct json *root = NULL;
	int rc = path ? json_read_optional(&root, path, MAX_STATE, e) : e->code;

	if (!rc && !root)
		rc = err_set(e, ERR_NOINPUT,
			     "%s is not the folder of a model: it has no state.json",
			     t->model_folder);
	if (!rc)
		rc = arch_read_shape(&shape, root, path, e);
	*d_model = MAX(shape.d_model, 1);
	json_free(root);
	free(path);
	return rc;
}

static void find_sets(struct tuning *t, const struct json *pairs)
{
	static const struct tune_set all[] = { { "test", 0, false },
					       { "dev", 0, false },
					       { "general", 0, true } };

	t->n_sets = 0;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct tune_set set = all[i];

		set.pairs = json_integer(json_get(pairs, set.name), 0);
		if (set.pairs && t->n_sets < MAX_SETS &&
		    (set.is_general || !t->n_sets)) /* dev if there is no test */
			t->sets[t->n_sets++] = set;
	}
}

/* *is_ready: the corpus is prepared, and the options of [train] are planned. */
static int plan_from_corpus(struct tuning *t, bool *is_ready, struct buf *out, struct err *e)
{
	struct json *manifest = NULL;
	struct tune_facts f;
	const struct json *tokens, *pairs;
	int rc = text_corpus_manifest(&manifest, t->corpus, e);

	*is_ready = !rc && manifest;
	if (*is_ready)
		rc = read_width(t, &f.d_model, e);
	if (*is_ready && !rc) {
		pairs = json_get(manifest, "pairs");
		tokens = json_get(json_get(manifest, "tokens"), "train");
		f.pairs = json_integer(json_get(pairs, "train"), 0);
		f.dev_pairs = json_integer(json_get(pairs, "dev"), 0);
		f.tokens = MAX(json_integer(json_get(tokens, "source"), 0),
			       json_integer(json_get(tokens, "target"), 0)) +
			   f.pairs;
		find_sets(t, pairs);
		rc = tune_plan_training(t->conf, &f, out, e);
	}
	json_free(manifest);
	return rc;
}

/* ---- steps ---- */

static int run_command(struct tuning *t, const char *program, const char *const *words, size_t n,
		       int *status, struct err *e)
{
	struct tune_step step = { .n = 0 };

	for (size_t i = 0; i < n; i++)
		tune_step_add(&step, words[i]);
	tune_step_add(&step, "-C");
	tune_step_add(&step, t->workspace);
	if (t->conf->quiet)
		tune_step_add(&step, "-q");
	return tune_step_run(program, &step, NULL, status, e);
}

static int prepare_text(struct tuning *t, int *status, struct err *e)
{
	const char *const words[] = { "prep", t->recipe };

	return run_command(t, "werkbank-data", words, ARRAY_LEN(words), status, e);
}

static int train_model(struct tuning *t, int *status, struct err *e)
{
	const char *const words[] = { "train", t->recipe, "--run", t->name };

	if (run_command(t, "werkbank-launch", words, ARRAY_LEN(words), status, e))
		return e->code;
	if (*status && !t->conf->quiet)
		fprintf(stderr, "%s is not tuned yet: %s\n", t->name,
			*status == err_exit_status(ERR_CONFIG)
				? "correct the option, and give another --run NAME"
				: "the same tune command goes on and compares");
	return 0;
}

static int print_verdict(struct tuning *t, int *status, struct err *e)
{
	const char *const words[] = { "report", "--run",	 t->name,	 "--format",
				      "text",	"tuning-helped", "tuning-forgot" };

	return run_command(t, "werkbank-eval", words, ARRAY_LEN(words), status, e);
}

static int evaluate_before(struct tuning *t, const struct tune_scores *s, int *status,
			   struct err *e)
{
	for (size_t i = 0; i < t->n_sets && !*status; i++)
		if (tune_keep_set(s, &t->sets[i], e) ||
		    tune_translate(s, &t->sets[i], t->model_folder, "before", status, e) ||
		    (!*status && tune_print_before(s, &t->sets[i], status, e)))
			return e->code;
	return 0;
}

static int evaluate_after(struct tuning *t, const struct tune_scores *s, int *status, struct err *e)
{
	char *model = paths_model(t->conf->workspace, t->name, e);
	int rc = model ? 0 : e->code;

	for (size_t i = 0; !rc && i < t->n_sets && !*status; i++) {
		bool is_compared;

		rc = tune_is_compared(s, &t->sets[i], &is_compared, e);
		if (!rc && !is_compared)
			rc = tune_translate(s, &t->sets[i], model, "after", status, e);
		if (!rc && !is_compared && !*status)
			rc = tune_compare(s, &t->sets[i], status, e);
	}
	free(model);
	return rc;
}

static int is_tuned(struct tuning *t, const struct tune_scores *s, bool *is, struct err *e)
{
	*is = t->n_sets > 0;
	for (size_t i = 0; *is && i < t->n_sets; i++)
		if (tune_is_compared(s, &t->sets[i], is, e))
			return e->code;
	return 0;
}

static int train_and_compare(struct tuning *t, int *status, struct err *e)
{
	const struct tune_scores s = { t->conf, t->corpus, t->run, t->folder };
	bool is_done;

	if (is_tuned(t, &s, &is_done, e))
		return e->code;
	if (is_done && !t->conf->quiet)
		fprintf(stderr, "%s is tuned already; another --run NAME begins anew\n", t->name);
	if (!is_done && (write_recipe(t, e) || evaluate_before(t, &s, status, e) ||
			 (!*status && train_model(t, status, e)) ||
			 (!*status && evaluate_after(t, &s, status, e))))
		return e->code;
	return *status ? 0 : print_verdict(t, status, e);
}

static void print_plan(const struct tuning *t, const struct buf *data, const struct buf *training,
		       bool is_ready)
{
	FILE *to = t->conf->dry_run ? stdout : stderr;

	fprintf(to, "%s: tunes %s\n%s%s", t->name, t->conf->arguments[0], buf_text(data),
		buf_text(training));
	if (!is_ready)
		fputs("  the options of the training follow from the number of pairs that prep "
		      "keeps\n",
		      to);
}

static int tune_all(struct tuning *t, int *status, struct err *e)
{
	struct buf data = { 0 }, training = { 0 };
	bool is_ready = false;
	int rc = tune_load_recipe(t, e);

	if (!rc)
		rc = plan_data(t, &data, e);
	if (!rc && !t->conf->dry_run) {
		rc = check_same_options(t, e);
		if (!rc)
			rc = write_recipe(t, e);
		if (!rc)
			rc = prepare_text(t, status, e);
	}
	if (!rc && !*status)
		rc = plan_from_corpus(t, &is_ready, &training, e);
	if (!rc && !*status && (t->conf->dry_run || !t->conf->quiet))
		print_plan(t, &data, &training, is_ready);
	buf_free(&data);
	buf_free(&training);
	return rc || *status || t->conf->dry_run ? rc : train_and_compare(t, status, e);
}

int tune_command_run(struct conf *c, int *status, struct err *e)
{
	struct tuning t = { .conf = c };
	int rc;

	*status = 0;
	rc = tune_all(&t, status, e);
	free(t.workspace);
	free(t.model_folder);
	free(t.corpus);
	free(t.run);
	free(t.folder);
	free(t.recipe);
	free(t.model);
	return rc;
}
