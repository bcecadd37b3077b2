/* form_forecast.c - see form_forecast.h. */
#include "tui/context/form_forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/number_format.h"
#include "share/base/util.h"
#include "tui/run/workspace_index.h"
#include "tui/term/reaction.h"

#define COMPARE_BUDGET_S 0.01

/* ---- parameters and memory ---- */

/* The recipe of the model that is tuned: of a run, or of a model folder. The caller frees it; NULL: none. */
static char *model_recipe(const struct wizard *z)
{
	const char *model = z->rows[0].value;
	struct err ignored;
	char *path = model ? file_path(&ignored, "%s/runs/%s/recipe.ini",
				       z->workspace ? z->workspace : ".", model)
			   : NULL;

	if (!path || file_exists(path))
		return path;
	free(path);
	path = file_path(&ignored, "%s/recipe.ini", model);
	if (path && !file_exists(path)) {
		free(path);
		return NULL;
	}
	return path;
}

static void ask_trainer(struct form_forecast *f, const struct wizard *z, double now)
{
	const bool tunes = !strcmp(z->command, "tune");
	struct err ignored = { 0 };
	char *recipe = tunes ? model_recipe(z) : NULL, **argv;

	if (tunes && !recipe)
		return;
	argv = wizard_other_argv(z, "_memory", recipe, &ignored);
	f->asking = argv ? jobs_new(&ignored) : NULL;
	f->job = f->asking ? jobs_start(f->asking, "forecast", (const char *const *)argv, now,
					&ignored)
			   : 0;
	jobs_free_words(argv);
	free(recipe);
}

/* The answer: five numbers, a line each; or a message. */
static unsigned read_forecast(struct form_forecast *f, double now)
{
	double *const numbers[] = { &f->memory, &f->parameters, &f->memory_total, &f->gpu,
				    &f->gpu_total };
	const struct job *job;

	if (f->job <= 0)
		return REACT_NOTHING;
	jobs_update(f->asking, now);
	job = jobs_find(f->asking, f->job);
	if (job->state == JOB_RUNNING)
		return REACT_SOON;
	f->job = 0;
	if (job->state == JOB_DONE && job->n_lines >= ARRAY_LEN(numbers)) {
		for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
			*numbers[i] = strtod(job_line(job, i)->text, NULL);
	} else if (job->state == JOB_FAILED && job->n_lines) {
		const char *text = job_line(job, job->n_lines - 1)->text;

		snprintf(f->trouble, sizeof(f->trouble), "%s",
			 text + (strncmp(text, "werkbank: ", 10) ? 0 : 10));
	}
	return REACT_REDRAW;
}

/* ---- time and BLEU ---- */

static bool is_option_named(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Does the option change how long a step takes? The corpus hardly does. */
static bool decides_time(const char *section, const char *name)
{
	static const char *const names[] = { "batch_tokens", "micro_batches", "optimizer",
					     "r_drop",	     "precision",     "backend",
					     "gpu",	     "threads",	      "cuda_graphs",
					     "freeze" };

	return !strcmp(section, "model") || is_option_named(names, ARRAY_LEN(names), name);
}

/* Does the option change what a run learns? The length of the training, which is shown, is left out. */
static bool decides_bleu(const char *section, const char *name)
{
	static const char *const others[] = {
		"seed",	     "steps",		"max_minutes", "eval_every",   "eval_sentences",
		"patience",  "stop_on",		"save_every",  "save_minutes", "keep",
		"log_every", "samples",		"tensorboard", "prometheus",   "profile",
		"measure",   "telemetry_every", "late_after",  "hang_after",   "gpu",
		"threads",   "cuda_graphs",
	};

	return !strcmp(section, "data") || !strcmp(section, "model") ||
	       (!strcmp(section, "train") && !is_option_named(others, ARRAY_LEN(others), name));
}

static bool options_agree(const struct conf *a, const struct conf *b,
			  bool (*decides)(const char *section, const char *name))
{
	struct buf left = { 0 }, right = { 0 };
	const char *name, *section;
	bool agree = true;

	for (size_t i = 0; agree && (name = conf_option_at(i, &section)); i++) {
		if (!decides(section, name))
			continue;
		buf_clear(&left);
		buf_clear(&right);
		conf_value(a, name, &left);
		conf_value(b, name, &right);
		agree = !strcmp(buf_text(&left), buf_text(&right));
	}
	buf_free(&left);
	buf_free(&right);
	return agree;
}

/* The latest run with such options gives the time if it ran on this host alone, the best one the BLEU. */
static void compare_run(struct form_forecast *f, const struct wizard *z, const struct run_status *s)
{
	const double elapsed = status_elapsed(s, s->latest);
	char here[256] = "", *path;
	struct conf c = { 0 };
	struct err ignored;

	gethostname(here, sizeof(here) - 1);
	path = file_path(&ignored, "%s/runs/%s/recipe.ini", z->workspace ? z->workspace : ".",
			 s->name);
	if (path && file_exists(path) && !conf_init(&c, &ignored) &&
	    !conf_load_recipe(&c, path, &ignored)) {
		conf_apply_size(&c);
		if (isnan(f->step_s) && s->step > 0 && elapsed > 0 && s->n_hosts <= 1 &&
		    s->ranks <= 1 && !strcmp(s->host, here) &&
		    options_agree(&z->effective, &c, decides_time)) {
			f->step_s = elapsed / (double)s->step;
			snprintf(f->timed, sizeof(f->timed), "%s", s->name);
		}
		if (isfinite(s->best_bleu) && !(s->best_bleu <= f->bleu) &&
		    options_agree(&z->effective, &c, decides_bleu)) {
			f->bleu = s->best_bleu;
			f->bleu_step = s->best_step;
			snprintf(f->scored, sizeof(f->scored), "%s", s->name);
		}
	}
	conf_free(&c);
	free(path);
}

static unsigned compare_runs(struct form_forecast *f, const struct wizard *z,
			     const struct app_context *w)
{
	const double end = clock_mono_s() + COMPARE_BUDGET_S;
	const size_t n = w->index ? w->index->n_runs : 0;

	if (!f->is_searching)
		return REACT_NOTHING;
	while (f->next_run < n && clock_mono_s() < end)
		compare_run(f, z, &w->index->runs[f->next_run++].status);
	f->is_searching = f->next_run < n;
	return f->is_searching ? REACT_AGAIN : REACT_REDRAW;
}

/* ---- the forecast ---- */

void form_forecast_close(struct form_forecast *f)
{
	jobs_free(f->asking);
	*f = (struct form_forecast){
		.parameters = NAN, .memory = NAN, .memory_total = NAN, .step_s = NAN, .bleu = NAN
	};
}

void form_forecast_start(struct form_forecast *f, const struct wizard *z,
			 const struct app_context *w)
{
	form_forecast_close(f);
	f->is_known =
		!*w->addresses && (!strcmp(z->command, "train") || !strcmp(z->command, "tune"));
	if (!f->is_known)
		return;
	f->is_searching = !strcmp(z->command, "train");
	ask_trainer(f, z, w->now);
}

unsigned form_forecast_update(struct form_forecast *f, const struct wizard *z,
			      const struct app_context *w)
{
	return read_forecast(f, w->now) | compare_runs(f, z, w);
}

/* The time of the steps, or the limit of time if that is shorter. */
static void add_forecast_time(const struct form_forecast *f, const struct conf *c, struct buf *out)
{
	const double limit = c->max_minutes > 0 ? c->max_minutes * 60 : INFINITY;
	const double time = c->steps > 0 ? (double)c->steps * f->step_s : NAN;

	if (time < limit)
		buf_printf(out, "   time about %s, at the pace of %s", DURATION_TEXT(time),
			   f->timed);
	else if (isfinite(limit))
		buf_printf(out, "   time at most %s%s", DURATION_TEXT(limit),
			   isnan(time) ? ", not measured yet" : "");
	else
		buf_add_str(out, "   time not measured yet");
}

/* What ranks that share it need, and what there is, if that is less. */
static void add_forecast_memory(struct buf *out, const char *what, double need, int64_t ranks,
				double have, const char *whose)
{
	buf_printf(out, "   %s %s", what, BYTES_TEXT(need));
	if (!(need * (double)ranks > have))
		return;
	if (ranks > 1)
		buf_printf(out, " for each of %lld ranks", (long long)ranks);
	buf_printf(out, ", but %s has %s", whose, BYTES_TEXT(have));
}

void form_forecast_text(const struct form_forecast *f, const struct wizard *z, struct buf *out)
{
	const struct conf *c = &z->effective;

	if (!f->is_known)
		return;
	if (f->job > 0)
		buf_add_str(out, "parameters and memory are being computed");
	else if (isnan(f->memory))
		buf_add_str(out, *f->trouble ? f->trouble : "parameters and memory are unknown");
	else
		buf_printf(out, "%s parameters", VALUE_TEXT(f->parameters));
	if (isfinite(f->memory))
		add_forecast_memory(out, "memory", f->memory, c->hosts ? 1 : MAX(c->ranks, 1),
				    f->memory_total, "this host");
	if (f->gpu > 0)
		add_forecast_memory(out, "GPU memory", f->gpu, 1, f->gpu_total, "the GPU");
	add_forecast_time(f, c, out);
	if (isfinite(f->bleu))
		buf_printf(out, "   BLEU of %s: %.2f at step %s", f->scored, f->bleu,
			   COUNT_TEXT(f->bleu_step));
}
