/* translate_choices.c - which checkpoints the tab "translate" uses; see translate_view.h. */
#include "tui/translate/translate_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "tui/run/checkpoints.h"
#include "tui/run/run_history.h"

#define MAX_CHOICES 500

/* The step of a run's best checkpoint, else of its newest one; -1: it has none. */
static int64_t best_step(const struct app_context *w, const char *run)
{
	int64_t step = checkpoints_link(w->workspace, run, "best");

	return step < 0 ? checkpoints_link(w->workspace, run, "last") : step;
}

/* Find a run with a checkpoint, to offer it. */
static void find_other_run(struct translate_view *v, const struct app_context *w)
{
	struct err ignored; /* without names there is no offer */
	size_t n = 0;
	char **runs = context_run_names(w, &n, &ignored);

	free(v->other);
	v->other = NULL;
	for (size_t i = 0; i < n && !v->other; i++) {
		int64_t step = strcmp(runs[i], w->run) != 0 ? best_step(w, runs[i]) : -1;
		struct buf text = { 0 };

		if (step < 0)
			continue;
		buf_printf(&text, "%s %lld", runs[i], (long long)step);
		v->other = buf_detach(&text, &ignored);
	}
	for (size_t i = 0; i < n; i++)
		free(runs[i]);
	free(runs);
}

void translate_start(struct translate_view *v, struct app_context *w, double now)
{
	bool live = w->history && w->history->state == RUN_RUNNING;
	struct console *c = &v->console;
	struct err e = { 0 };
	int64_t step;
	char *run;

	if (!w->run || !w->front || v->chosen || now - v->checked_at < 1)
		return;
	if (c->sides[0].run && v->run && !strcmp(v->run, w->run))
		return;
	v->checked_at = now;
	step = live ? checkpoints_link(w->workspace, w->run, "last") : best_step(w, w->run);
	if (step < 0) {
		find_other_run(v, w);
		/* The newly chosen run has no checkpoint: close the old run's translator. */
		if (c->sides[0].run)
			translate_notify_failure(w, console_set_checkpoint(c, 0, NULL, -1, &e), &e);
		return;
	}
	if (!(run = mem_strdup(w->run, &e)) || console_set_checkpoint(c, 0, run, step, &e)) {
		translate_notify_failure(w, e.code, &e);
		free(run);
		return;
	}
	c->follow = live;
	free(v->run);
	v->run = run;
}

void translate_use_choice(struct translate_view *v, struct app_context *w, int side,
			  const char *text)
{
	char run[128];
	const char *blank = strchr(text, ' ');
	struct err e = { 0 };
	int64_t step;
	char number[24];
	size_t n;

	if (!blank || (size_t)(blank - text) >= sizeof(run))
		return;
	memcpy(run, text, (size_t)(blank - text));
	run[blank - text] = 0;
	n = strcspn(blank + 1, " ");
	snprintf(number, sizeof(number), "%.*s", (int)MIN(n, sizeof(number) - 1), blank + 1);
	if (!text_to_int(number, &step))
		return;
	if (side == 0) {
		v->chosen = true;
		v->console.follow = step == checkpoints_link(w->workspace, run, "last");
	}
	translate_notify_failure(w, console_set_checkpoint(&v->console, side, run, step, &e), &e);
}

/*
 * Append the checkpoints of a run as choices; in_use (NULL: none) is the one of the other side, which
 * add_same_choice() appends.
 */
static void add_checkpoint_choices(const struct app_context *w, const char *run,
				   const struct console_side *in_use, char **choices, size_t *n)
{
	struct checkpoints list;
	struct err e;

	if (checkpoints_list(&list, w->workspace, run, &e))
		return;
	for (size_t i = 0; i < list.n && *n < MAX_CHOICES; i++) {
		struct buf text = { 0 };

		if (in_use && in_use->run && in_use->step == list.steps[i] &&
		    !strcmp(in_use->run, run))
			continue;
		buf_printf(&text, "%s %lld", run, (long long)list.steps[i]);
		if (list.steps[i] == list.last)
			buf_add_str(&text, "  newest");
		if (list.steps[i] == list.best)
			buf_add_str(&text, "  best");
		choices[*n] = buf_detach(&text, &e);
		*n += choices[*n] != NULL;
	}
	checkpoints_free(&list);
}

/* The checkpoint of the other side, last: for a comparison of settings. */
static void add_same_choice(const struct console_side *in_use, char **choices, size_t *n)
{
	struct buf text = { 0 };
	struct err e;

	if (!in_use || !in_use->run || *n == MAX_CHOICES)
		return;
	buf_printf(&text, "%s %lld  the same, for other settings", in_use->run,
		   (long long)in_use->step);
	choices[*n] = buf_detach(&text, &e);
	*n += choices[*n] != NULL;
}

unsigned translate_ask_checkpoint(struct app_context *w, int id, const char *title,
				  const struct console_side *in_use)
{
	struct err e = { 0 };
	size_t n_runs = 0, n = 0;
	char **runs = context_run_names(w, &n_runs, &e),
	     **choices = mem_alloc(MAX_CHOICES, sizeof(*choices), &e);

	if (choices && w->run)
		add_checkpoint_choices(w, w->run, in_use, choices, &n);
	for (size_t i = 0; i < n_runs; i++) {
		if (choices && (!w->run || strcmp(runs[i], w->run)))
			add_checkpoint_choices(w, runs[i], in_use, choices, &n);
		free(runs[i]);
	}
	free(runs);
	if (choices)
		add_same_choice(in_use, choices, &n);
	if (n)
		context_ask_choice(w, id, title, (const char *const *)choices, n);
	else
		context_notify(w, STYLE_WARN, "there is no checkpoint yet");
	for (size_t i = 0; i < n; i++)
		free(choices[i]);
	free(choices);
	return REACT_REDRAW;
}
