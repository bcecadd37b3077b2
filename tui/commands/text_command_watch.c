/*
 * text_command_watch.c - "watch --plain": one screen of status as plain text; see text_commands.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/guard/terminal_text.h"
#include "share/workspace/paths.h"
#include "tui/commands/text_commands.h"
#include "tui/context/next_steps.h"
#include "tui/run/contact.h"
#include "tui/run/run_history.h"
#include "tui/run/workspace_index.h"

#define BAR_WIDTH  30
#define LOG_LINES  8
#define LIST_LINES 8 /* lines of corpora and lines of runs */
#define NEXT_LINES 2
#define WIDTH	   79

/* Append text as a line of its own that is safe for a terminal, cut at WIDTH. */
static void append_plain_line(struct buf *out, const char *text)
{
	terminal_add_text(out, text, MIN(strlen(text), (size_t)WIDTH * 4), TERMINAL_SENTENCE);
	buf_add_char(out, '\n');
}

static void append_share_bar(struct buf *out, double share)
{
	int filled = isfinite(share) ? (int)(MIN(MAX(share, 0), 1) * BAR_WIDTH) : 0;

	buf_add_char(out, '[');
	for (int i = 0; i < BAR_WIDTH; i++)
		buf_add_char(out, i < filled ? '#' : '-');
	buf_add_char(out, ']');
	if (isfinite(share))
		buf_printf(out, " %.0f %%", 100 * MIN(MAX(share, 0), 1));
}

static void show_run_progress(const struct run_history *h, double now, struct buf *out)
{
	char evaluation[80];
	double share = h->plan.steps > 0 && h->step >= 0 ? (double)h->step / (double)h->plan.steps
							 : NAN,
	       spent = history_elapsed(h, now);

	if (h->plan.minutes > 0 && isfinite(spent))
		share = MAX(isfinite(share) ? share : 0, spent / 60 / h->plan.minutes);
	if (h->state == RUN_FINISHED)
		share = 1;
	append_share_bar(out, share);
	buf_printf(out, "  step %s of %s, %s spent, ", COUNT_TEXT(h->step),
		   COUNT_TEXT(h->plan.steps), DURATION_TEXT(spent));
	if (h->state == RUN_RUNNING && h->evaluation.since > 0)
		buf_printf(out, "evaluating for %s\n",
			   eval_progress_text(&h->evaluation, now, evaluation, sizeof(evaluation)));
	else
		buf_printf(out, "%s left\n", DURATION_TEXT(history_remaining(h, now)));
}

static void show_figures(const struct run_history *h, struct buf *out)
{
	buf_printf(out, "NLL %s   dev NLL %s   train sample NLL %s   learning rate %s\n",
		   FIXED_TEXT(h->nll.value, 3), FIXED_TEXT(h->dev_nll.value, 3),
		   FIXED_TEXT(h->train_nll, 3), VALUE_TEXT(h->rate.value));
	buf_printf(out, "dev BLEU %s   best %s at step %s\n", FIXED_TEXT(h->bleu.value, 2),
		   FIXED_TEXT(h->best_bleu, 2), COUNT_TEXT(h->best_step));
	buf_printf(out, "tokens/s: target %s, source %s   gradient norm %s   epoch %s\n",
		   VALUE_TEXT(h->target_tps.value), VALUE_TEXT(h->source_tps.value),
		   VALUE_TEXT(h->grad_norm.value), FIXED_TEXT(h->epoch, 2));
}

static void show_log(const struct run_history *h, struct buf *out)
{
	static const char *const kinds[] = {
		[LINE_START] = "start", [LINE_EVAL] = "eval", [LINE_BEST] = "best",
		[LINE_SAVE] = "save",	[LINE_INFO] = "info", [LINE_WARNING] = "warning",
		[LINE_ERROR] = "error", [LINE_STOP] = "stop", [LINE_CONSOLE] = "console"
	};
	struct buf line = { 0 };

	for (size_t i = h->n_lines - MIN(h->n_lines, (size_t)LOG_LINES); i < h->n_lines; i++) {
		const struct history_line *l = history_line(h, i);

		buf_clear(&line);
		buf_printf(&line, "%9s  %-8s %s", l->step < 0 ? "" : COUNT_TEXT(l->step),
			   kinds[l->kind], l->text);
		append_plain_line(out, buf_text(&line));
	}
	buf_free(&line);
}

static int show_run(const char *workspace, const char *name, double now, struct buf *out,
		    struct err *e)
{
	struct run_history *h = history_open(workspace, name, e);
	char ranks[48] = "";
	int got;

	if (!h)
		return e->code;
	while ((got = history_update(h, now, 1, e)) == HISTORY_MORE)
		;
	if (h->ranks > 1)
		snprintf(ranks, sizeof(ranks), ", %lld ranks", (long long)h->ranks);
	if (got >= 0) {
		const struct run_end end = history_get_end(h);
		struct buf head = { 0 };

		buf_printf(&head, "%s: %s%s%s%s%s%s", h->name, run_state_name(h->state),
			   *end.text ? ": " : "", end.text, *h->host ? " on " : "", h->host, ranks);
		append_plain_line(out, buf_text(&head));
		buf_free(&head);
		show_run_progress(h, now, out);
		show_figures(h, out);
		show_log(h, out);
	}
	history_free(h);
	return MIN(got, 0);
}

static void show_corpus(const struct indexed_corpus *c, struct buf *out)
{
	const struct prep_progress *p = &c->progress;

	if (c->state == CORPUS_READY) {
		buf_printf(out, "corpus %s: %s to %s, %s pairs, vocabulary of %s", c->name,
			   c->source, c->target, COUNT_TEXT(c->train), COUNT_TEXT(c->vocabulary));
		if (c->clear_verdicts > 0)
			buf_printf(out, ", %d clear verdict%s against it", c->clear_verdicts,
				   text_plural(c->clear_verdicts));
		buf_add_char(out, '\n');
		return;
	}
	buf_printf(out, "corpus %s: %s", c->name, corpus_state_name(c->state));
	if (p->exists) {
		buf_printf(out, ", %s ", p->stage);
		append_share_bar(out, prep_progress_share(p));
		if (p->rate > 0)
			buf_printf(out, " %s %s/s", VALUE_TEXT(p->rate), p->unit);
		if (isfinite(prep_progress_left(p)))
			buf_printf(out, ", %s left", DURATION_TEXT(prep_progress_left(p)));
	}
	buf_add_char(out, '\n');
}

static void show_row(const struct run_status *s, struct buf *out)
{
	const struct run_end end = status_get_end(s);
	bool has_reason = *end.text && end.why != RUN_END_STEPS; /* the row shows the steps */

	buf_printf(out, "run %s: %s%s%s, step %s of %s, best BLEU %s\n", s->name, s->state,
		   has_reason ? ": " : "", has_reason ? end.text : "", COUNT_TEXT(s->step),
		   COUNT_TEXT(s->plan.steps), FIXED_TEXT(s->best_bleu, 2));
}

/* Show the first suggested steps that are commands. */
static void show_next_steps(const struct workspace_index *p, const char *workspace, struct buf *out)
{
	struct suggested_step steps[NEXT_STEPS_MAX];
	size_t n = next_steps_find(p, workspace, false, steps), shown = 0;

	for (size_t i = 0; i < n && shown < NEXT_LINES; i++) {
		if (steps[i].kind != NEXT_STEP_RUN)
			continue;
		buf_add_str(out, "next: ");
		for (size_t k = 0; steps[i].argv[k]; k++)
			buf_printf(out, "%s%s", k ? " " : "", steps[i].argv[k]);
		buf_add_char(out, '\n');
		shown++;
	}
}

static void show_workspace(const struct workspace_index *p, const char *workspace, double now,
			   struct buf *out)
{
	struct contact contact = { 0 };

	contact_update(&contact, workspace, now);
	buf_printf(out, "workspace %s\n", *contact.addresses ? contact.addresses : workspace);
	for (size_t i = 0; i < p->n_corpora && i < LIST_LINES; i++)
		show_corpus(&p->corpora[i], out);
	for (size_t i = 0; i < p->n_runs && i < LIST_LINES; i++)
		show_row(&p->runs[i].status, out);
	if (p->n_corpora > LIST_LINES || p->n_runs > LIST_LINES)
		buf_printf(out, "in all: %zu %s, %zu run%s\n", p->n_corpora,
			   p->n_corpora == 1 ? "corpus" : "corpora", p->n_runs,
			   text_plural(p->n_runs));
	if (!p->n_corpora && !p->n_runs)
		buf_add_str(out, "no corpora and no runs yet\n");
	if (!*contact.addresses)
		show_next_steps(p, workspace, out);
}

int text_command_watch(const struct conf *c, double now, struct buf *out, struct err *e)
{
	char *workspace = paths_workspace(c->workspace, e);
	const char *named = c->n_arguments ? c->arguments[0] : c->run;
	struct workspace_index p = { 0 };
	int rc = workspace ? 0 : e->code;

	while (!rc && (rc = workspace_index_update(&p, workspace, now, 1, e)) == INDEX_MORE)
		rc = 0;
	rc = MIN(rc, 0);
	if (!rc && !named)
		show_workspace(&p, workspace, now, out);
	/* the first run is running, else the newest */
	if (!rc && (named || p.n_runs)) {
		if (!named)
			buf_add_char(out, '\n');
		rc = show_run(workspace, named ? named : p.runs[0].status.name, now, out, e);
	}
	workspace_index_free(&p);
	free(workspace);
	return rc ? rc : buf_check(out, e);
}
