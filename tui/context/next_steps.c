/* next_steps.c - suggests commands for the state of a workspace; see next_steps.h. */
#include "tui/context/next_steps.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/number_format.h"
#include "share/conf/conf.h"
#include "share/conf/recipe_pairs.h"
#include "share/format/json.h"
#include "share/workspace/paths.h"
#include "tui/context/view.h"

#define DEMO "demo" /* recipe of the built-in corpus */

void next_steps_run_name(const struct workspace_index *p, const char *base, char out[101])
{
	bool taken = true;

	snprintf(out, 101, "%.80s", base);
	for (int n = 2; taken; n++) {
		taken = false;
		for (size_t i = 0; i < p->n_runs; i++)
			taken |= !strcmp(p->runs[i].status.name, out);
		if (taken)
			snprintf(out, 101, "%.80s-%d", base, n);
	}
}

/* Whether path is the shipped recipe of that name. */
static bool is_shipped(const char *name, const char *path)
{
	struct err ignored;
	char relative[160], *shipped;
	bool same;

	snprintf(relative, sizeof(relative), "recipes/%.100s.ini", name);
	shipped = paths_shipped(relative, &ignored);
	same = shipped && (!path || !strcmp(shipped, path));
	free(shipped);
	return same;
}

bool next_steps_recipe(const char *workspace, const char *corpus, char *out, size_t size)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/corpora/%s/manifest.json", workspace, corpus);
	char name[101];
	struct buf text = { 0 };
	struct json *root = NULL;
	const char *recipe;
	int64_t pairs;

	if (path && file_exists(path) && !file_read_all(path, 64u << 20, &text, &ignored))
		root = json_parse(buf_text(&text), text.len, &ignored);
	recipe = json_text(json_get(root, "recipe"), "");
	pairs = json_integer(json_get(json_get(root, "pairs"), "train"), 0);
	conf_recipe_name(recipe, name, sizeof(name));
	if (*recipe && is_shipped(name, NULL) && (!file_exists(recipe) || is_shipped(name, recipe)))
		snprintf(out, size, "%s", recipe_suited(name, pairs));
	else if (*recipe && file_exists(recipe))
		snprintf(out, size, "%s", recipe);
	else /* recipe.ini in a corpus folder has no model */
		snprintf(out, size, "%s", recipe_for_pairs(pairs));
	json_free(root);
	buf_free(&text);
	free(path);
	conf_recipe_name(out, name, sizeof(name));
	return strcmp(name, corpus) != 0;
}

const struct indexed_corpus *next_steps_corpus(const struct workspace_index *p)
{
	const struct indexed_corpus *newest = NULL;

	for (size_t i = 0; i < p->n_corpora; i++)
		if (p->corpora[i].state == CORPUS_READY &&
		    (!newest || p->corpora[i].changed > newest->changed))
			newest = &p->corpora[i];
	return newest;
}

static struct suggested_step *add_next_step(struct suggested_step *steps, size_t *n,
					    enum suggested_step_kind kind, const char *title,
					    const char *why)
{
	struct suggested_step *s = &steps[*n < NEXT_STEPS_MAX ? (*n)++ : NEXT_STEPS_MAX - 1];

	*s = (struct suggested_step){ .kind = kind, .tab = -1 };
	snprintf(s->title, sizeof(s->title), "%s", title);
	snprintf(s->why, sizeof(s->why), "%s", why);
	return s;
}

/* The words of the command, without NULL, which ends argv. */
#define SET_COMMAND(step, ...)                                                                     \
	set_command(step, (const char *const[NEXT_STEP_WORDS]){ __VA_ARGS__ })

static void set_command(struct suggested_step *s, const char *const words[NEXT_STEP_WORDS])
{
	memcpy(s->argv, words, sizeof(s->argv));
	assert(!s->argv[NEXT_STEP_WORDS - 1]);
}

static void add_prep(struct suggested_step *steps, size_t *n, const char *title)
{
	struct suggested_step *s =
		add_next_step(steps, n, NEXT_STEP_RUN, title,
			      "a small synthetic corpus; takes seconds, needs no network");

	SET_COMMAND(s, "werkbank", "prep", DEMO);
}

static void add_form_step(struct suggested_step *steps, size_t *n, const char *title,
			  const char *command, const char *why)
{
	struct suggested_step *s = add_next_step(steps, n, NEXT_STEP_FORM, title, why);

	SET_COMMAND(s, command);
}

static void add_training(struct suggested_step *steps, size_t *n, const struct workspace_index *p,
			 const char *workspace, const struct indexed_corpus *c)
{
	char title[80], why[160];
	struct suggested_step *s;
	bool needs_corpus;

	snprintf(title, sizeof(title), "Train a model on %.50s", c->name);
	snprintf(why, sizeof(why), "%.20s to %.20s; training goes on when you leave", c->source,
		 c->target);
	s = add_next_step(steps, n, NEXT_STEP_RUN, title, why);
	needs_corpus = next_steps_recipe(workspace, c->name, s->text[0], sizeof(s->text[0]));
	next_steps_run_name(p, c->name, s->text[1]);
	snprintf(s->run, sizeof(s->run), "%.100s", s->text[1]);
	snprintf(s->text[2], sizeof(s->text[2]), "%.100s", c->name);
	if (needs_corpus)
		SET_COMMAND(s, "werkbank", "train", s->text[0], "--corpus", s->text[2], "--run",
			    s->text[1], "--detach");
	else
		SET_COMMAND(s, "werkbank", "train", s->text[0], "--run", s->text[1], "--detach");
}

static void add_show_step(struct suggested_step *steps, size_t *n, const char *verb,
			  const struct run_status *r, int tab, const char *why)
{
	char title[80];
	struct suggested_step *s;

	snprintf(title, sizeof(title), "%s %.60s", verb, r->name);
	s = add_next_step(steps, n, NEXT_STEP_SHOW, title, why);
	snprintf(s->run, sizeof(s->run), "%s", r->name);
	s->tab = tab;
}

/* Its model translates to nothing of use. */
static bool has_diverged(const struct run_status *r)
{
	return r->health.state == HEALTH_DIVERGED || status_get_end(r).why == RUN_END_DIVERGED;
}

static bool can_resume_run(const struct run_status *r)
{
	/* a diverged run would diverge again */
	return !r->alive && r->step > 0 && !has_diverged(r) &&
	       (!strcmp(r->state, "stopped") || !strcmp(r->state, "lost") ||
		!strcmp(r->state, "failed"));
}

/* A step that trains a run again by the recipe in its folder. */
static struct suggested_step *add_again_step(struct suggested_step *steps, size_t *n,
					     const char *workspace, const struct run_status *r,
					     const char *verb, const char *why)
{
	char title[80];
	struct suggested_step *s;

	snprintf(title, sizeof(title), "%s training %.60s", verb, r->name);
	s = add_next_step(steps, n, NEXT_STEP_RUN, title, why);
	snprintf(s->text[0], sizeof(s->text[0]), "%.900s/runs/%.100s/recipe.ini", workspace,
		 r->name);
	snprintf(s->run, sizeof(s->run), "%s", r->name);
	return s;
}

static void add_resume_step(struct suggested_step *steps, size_t *n, const char *workspace,
			    const struct run_status *r)
{
	char why[160];
	struct suggested_step *s;

	snprintf(why, sizeof(why), "%.15s at step %lld; resumes from the last checkpoint", r->state,
		 (long long)r->step);
	s = add_again_step(steps, n, workspace, r, "Resume", why);
	SET_COMMAND(s, "werkbank", "train", s->text[0], "--run", s->run, "--detach");
}

/* Did a limit other than the number of steps end the run? */
static bool can_train_longer(const struct run_status *r)
{
	const enum run_end_why why = status_get_end(r).why;

	return !has_diverged(r) && (why == RUN_END_MINUTES || why == RUN_END_PATIENCE);
}

/* Go on with such a run: twice the limit. */
static void add_longer_step(struct suggested_step *steps, size_t *n, const char *workspace,
			    const struct run_status *r)
{
	const struct run_end end = status_get_end(r);
	const struct run_limits limits = status_limits(r);
	char why[200], value[32];
	const char *option;
	struct suggested_step *s;

	if (!run_end_longer(&end, &limits, &option, value))
		return;
	snprintf(why, sizeof(why), "%.100s at step %lld of %lld; doubles this limit", end.text,
		 (long long)r->step, (long long)r->plan.steps);
	s = add_again_step(steps, n, workspace, r, "Go on", why);
	snprintf(s->text[1], sizeof(s->text[1]), "%s", value);
	SET_COMMAND(s, "werkbank", "train", s->text[0], "--run", s->run, option, s->text[1],
		    "--detach");
}

/* Is this a name that next_steps_run_name() gives: CORPUS, or CORPUS-2, …? */
static bool is_run_name_of(const char *run, const char *corpus)
{
	size_t len = strlen(corpus);

	if (strncmp(run, corpus, len) != 0)
		return false;
	run += len;
	return !*run || (*run == '-' && run[1 + strspn(run + 1, "0123456789")] == 0);
}

static bool has_run(const struct workspace_index *p, const char *corpus)
{
	for (size_t i = 0; i < p->n_runs; i++)
		if (is_run_name_of(p->runs[i].status.name, corpus) &&
		    p->runs[i].status.best_step >= 0)
			return true;
	return false;
}

static void add_diverged_step(struct suggested_step *steps, size_t *n, const struct run_status *r)
{
	char why[160];

	snprintf(why, sizeof(why), "%.60s; the curves show when, and the report why",
		 r->health.text);
	add_show_step(steps, n, "Look at", r, TAB_RUN, why);
}

size_t next_steps_find(const struct workspace_index *p, const char *workspace, bool busy,
		       struct suggested_step steps[NEXT_STEPS_MAX])
{
	const struct indexed_corpus *newest = next_steps_corpus(p);
	const struct run_status *best = NULL;
	size_t n = 0, alive = 0;

	for (size_t i = 0; i < p->n_runs && n < 3; i++)
		if (p->runs[i].status.alive) {
			add_show_step(steps, &n, "Watch", &p->runs[i].status, TAB_RUN,
				      "training is running");
			alive++;
		}
	for (size_t i = 0; i < p->n_runs; i++)
		if (p->runs[i].status.best_step >= 0 && !has_diverged(&p->runs[i].status) &&
		    (!best || p->runs[i].status.best_bleu > best->best_bleu))
			best = &p->runs[i].status;
	if (p->n_runs && !p->runs[0].status.alive && has_diverged(&p->runs[0].status))
		add_diverged_step(steps, &n, &p->runs[0].status);
	if (best)
		add_show_step(steps, &n, "Translate with", best, TAB_TRANSLATE,
			      best->alive ? "type a sentence; the newest checkpoint translates it"
					  : "type a sentence; the best checkpoint translates it");
	for (size_t i = 0; i < p->n_runs && !alive && i < 1; i++)
		if (can_resume_run(&p->runs[i].status))
			add_resume_step(steps, &n, workspace, &p->runs[i].status);
		else if (can_train_longer(&p->runs[i].status))
			add_longer_step(steps, &n, workspace, &p->runs[i].status);
	if (newest && !alive && !busy && !has_run(p, newest->name))
		add_training(steps, &n, p, workspace, newest);
	if (!workspace_index_corpus(p, DEMO) && !busy)
		add_prep(steps, &n, "Prepare the built-in corpus");
	else if (workspace_index_corpus(p, DEMO) &&
		 workspace_index_corpus(p, DEMO)->state == CORPUS_UNFINISHED && !busy)
		add_prep(steps, &n, "Resume preparing the built-in corpus");
	if (newest && !alive && !busy && has_run(p, newest->name))
		add_training(steps, &n, p, workspace, newest);
	if (p->n_runs > 1)
		add_show_step(steps, &n, "Compare runs with", &p->runs[0].status, TAB_COMPARE,
			      "curves in one plot, and the options that differ");
	if (n < NEXT_STEPS_MAX)
		add_form_step(steps, &n, "Prepare another corpus", "prep",
			      "choose a recipe and its options");
	if (n < NEXT_STEPS_MAX && p->n_corpora)
		add_form_step(steps, &n, "Train with other options", "train",
			      "choose a recipe and its options");
	if (n < NEXT_STEPS_MAX && best)
		add_form_step(steps, &n, "Tune a model on your translations", "tune",
			      "choose a model and name your files");
	assert(n <= NEXT_STEPS_MAX);
	return n;
}
