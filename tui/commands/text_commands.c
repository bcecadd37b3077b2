/* text_commands.c - the commands "runs" and "samples"; see text_commands.h. */
#include "tui/commands/text_commands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "share/workspace/paths.h"
#include "share/workspace/workspace_names.h"
#include "tui/run/option_diff.h"
#include "tui/run/run_history.h"
#include "tui/run/sample_history.h"
#include "tui/run/word_diff.h"
#include "tui/run/workspace_index.h"

/* ---- runs ---- */

struct side_by_side {
	const char *names[OPTION_DIFF_MAX_RUNS];
	struct run_status status[OPTION_DIFF_MAX_RUNS];
	size_t n;
	struct option_diff differ;
};

static int add_listed_run(struct side_by_side *s, const char *workspace, const char *name,
			  struct err *e)
{
	struct err unknown = { 0 };

	if (paths_check_name("run", name, e))
		return e->code;
	if (s->n == OPTION_DIFF_MAX_RUNS)
		return err_set(e, ERR_USAGE, "at most %d runs can be compared",
			       OPTION_DIFF_MAX_RUNS);
	/* its message lists the existing runs */
	history_free(history_open(workspace, name, &unknown));
	if (unknown.code)
		return *e = unknown, e->code;
	if (status_read(&s->status[s->n], workspace, name, e))
		return e->code;
	s->names[s->n] = s->status[s->n].name;
	s->n++;
	return 0;
}

static void runs_json(const struct side_by_side *s, struct buf *out)
{
	struct json_writer w = { .out = out };

	json_open(&w, '{');
	json_put_open(&w, "runs", '[');
	for (size_t k = 0; k < s->n; k++) {
		const struct run_status *r = &s->status[k];

		json_open(&w, '{');
		json_put_str(&w, "run", r->name);
		json_put_str(&w, "state", r->state);
		json_put_count(&w, "step", r->step);
		json_put_count(&w, "steps", r->plan.steps);
		json_put_str(&w, "end", status_get_end(r).text);
		json_put_str(&w, "health", run_health_name(r->health.state));
		json_put_str(&w, "health_text", r->health.text);
		json_put_real(&w, "loss", r->loss);
		json_put_real(&w, "nll", r->nll);
		json_put_real(&w, "bleu", r->bleu);
		json_put_str(&w, "bleu_precision", r->bleu_precision);
		json_put_real(&w, "best_bleu", r->best_bleu);
		json_put_str(&w, "best_precision", r->best_precision);
		json_put_count(&w, "best_step", r->best_step);
		json_put_real(&w, "target_tps", r->target_tps);
		json_close(&w, '}');
	}
	json_close(&w, ']');
	json_put_open(&w, "differ", '[');
	for (size_t i = 0; i < s->differ.n; i++) {
		json_open(&w, '{');
		json_put_str(&w, "option", s->differ.rows[i].option);
		json_put_open(&w, "values", '[');
		for (size_t k = 0; k < s->n; k++)
			if (s->differ.rows[i].values[k])
				json_str(&w, s->differ.rows[i].values[k]);
			else
				json_null(&w);
		json_close(&w, ']');
		json_close(&w, '}');
	}
	json_close(&w, ']');
	json_close(&w, '}');
	buf_add_char(out, '\n');
}

static void runs_row(struct buf *out, const char *label, size_t n, const char *const *cells)
{
	buf_printf(out, "%-20s", label);
	for (size_t k = 0; k < n; k++)
		buf_printf(out, "  %14.40s", cells[k] ? cells[k] : "-");
	buf_add_char(out, '\n');
}

/* "22.29 (bf16)" */
static const char *bleu_cell(char out[NUMBER_TEXT_BYTES], double bleu, const char *precision)
{
	struct buf text = { 0 };

	status_add_bleu(&text, bleu, precision);
	snprintf(out, NUMBER_TEXT_BYTES, "%s", buf_text(&text));
	buf_free(&text);
	return out;
}

/* A line for each run that has ended: "RUN: finished: 42 minutes are over". */
static void add_run_ends(const struct side_by_side *s, struct buf *out)
{
	bool first = true;

	for (size_t k = 0; k < s->n; k++) {
		const struct run_end end = status_get_end(&s->status[k]);

		if (!*end.text)
			continue;
		buf_printf(out, "%s%s: %s: %s\n", first ? "\n" : "", s->names[k],
			   s->status[k].state, end.text);
		first = false;
	}
}

static void runs_text(const struct side_by_side *s, struct buf *out)
{
	char text[7][OPTION_DIFF_MAX_RUNS][NUMBER_TEXT_BYTES];
	const char *rows[9][OPTION_DIFF_MAX_RUNS];
	static const char *const labels[] = {
		"state",    "health",	 "step",    "training NLL",   "training perplexity",
		"dev BLEU", "best BLEU", "at step", "target tokens/s"
	};

	for (size_t k = 0; k < s->n; k++) {
		const struct run_status *r = &s->status[k];

		rows[0][k] = r->state;
		rows[1][k] = *r->health.text ? r->health.text : NULL;
		rows[2][k] = format_count(text[0][k], r->step);
		rows[3][k] = format_fixed(text[1][k], r->nll, 3);
		rows[4][k] = format_perplexity(text[2][k], r->nll);
		rows[5][k] = bleu_cell(text[3][k], r->bleu, r->bleu_precision);
		rows[6][k] = bleu_cell(text[4][k], r->best_bleu, r->best_precision);
		rows[7][k] = format_count(text[5][k], r->best_step);
		rows[8][k] = format_real_count(text[6][k], r->target_tps);
	}
	runs_row(out, "", s->n, s->names);
	for (size_t i = 0; i < ARRAY_LEN(labels); i++)
		runs_row(out, labels[i], s->n, rows[i]);
	if (s->n > 1)
		buf_printf(out, "\n%zu option%s differ%s%s\n", s->differ.n,
			   text_plural(s->differ.n), s->differ.n == 1 ? "s" : "",
			   s->differ.n ? ":" : "");
	for (size_t i = 0; i < s->differ.n; i++)
		runs_row(out, s->differ.rows[i].option, s->n,
			 (const char *const *)s->differ.rows[i].values);
	for (size_t k = 0; k < s->n && s->n > 1; k++)
		if (!s->differ.has_recipe[k])
			buf_printf(out, "%s has no recipe: its options are unknown\n", s->names[k]);
	add_run_ends(s, out);
}

int text_command_runs(const struct conf *c, struct buf *out, struct err *e)
{
	char *workspace = paths_existing_workspace(c->workspace, e);
	struct side_by_side *s = mem_alloc(1, sizeof(*s), e);
	struct workspace_index all = { 0 };
	const double now = clock_wall_s();
	int rc = workspace && s ? 0 : e->code;

	if (!rc && !c->n_arguments) {
		while ((rc = workspace_index_update(&all, workspace, now, 10, e)) == INDEX_MORE)
			;
		rc = MIN(rc, 0);
	}
	for (int i = 0; !rc && i < c->n_arguments; i++)
		rc = add_listed_run(s, workspace, c->arguments[i], e);
	for (size_t i = 0; !rc && i < all.n_runs && i < OPTION_DIFF_MAX_RUNS; i++)
		rc = status_skip_newer(add_listed_run(s, workspace, all.runs[i].status.name, e), e);
	if (!rc && s->n)
		rc = option_diff_make(&s->differ, workspace, s->names, s->n, e);
	if (!rc && c->json)
		runs_json(s, out);
	else if (!rc && s->n)
		runs_text(s, out);
	else if (!rc)
		status_add_no_runs(c, workspace, out);
	if (s)
		option_diff_free(&s->differ);
	workspace_index_free(&all);
	free(s);
	free(workspace);
	return rc ? rc : buf_check(out, e);
}

/* ---- samples ---- */

static void version_json(struct json_writer *w, const struct sample_version *v, const char *before)
{
	static struct word_part parts[WORD_DIFF_MAX];
	size_t n = word_diff(v->hypothesis, before, parts);

	json_open(w, '{');
	json_put_count(w, "step", v->step);
	json_put_str(w, "hypothesis", v->hypothesis);
	json_put_open(w, "new_words", '[');
	for (size_t i = 0; i < n; i++)
		if (parts[i].differs)
			json_int(w, (int64_t)i);
	json_close(w, ']');
	json_close(w, '}');
}

static void sentence_json(struct json_writer *w, const struct sample_sentence *s)
{
	json_open(w, '{');
	json_put_count(w, "id", s->id);
	json_put_str(w, "source", s->source);
	json_put_str(w, "reference", s->reference);
	json_put_open(w, "checkpoints", '[');
	for (size_t v = 0; v < s->n; v++)
		version_json(w, &s->versions[v], v ? s->versions[v - 1].hypothesis : NULL);
	json_close(w, ']');
	json_close(w, '}');
}

/* The text of a sentence; words that the previous checkpoint lacks are in {braces}. */
static void sentence_text(struct buf *out, const struct sample_sentence *s)
{
	static struct word_part parts[WORD_DIFF_MAX];

	buf_printf(out, "%lld source     %s\n", (long long)s->id, s->source);
	buf_printf(out, "%lld reference  %s\n", (long long)s->id, s->reference);
	for (size_t v = 0; v < s->n; v++) {
		const char *text = s->versions[v].hypothesis;
		size_t n = word_diff(text, v ? s->versions[v - 1].hypothesis : NULL, parts);

		buf_printf(out, "%lld %9lld ", (long long)s->id, (long long)s->versions[v].step);
		for (size_t i = 0; i < n; i++)
			buf_printf(out, parts[i].differs ? " {%.*s}" : " %.*s", (int)parts[i].len,
				   text + parts[i].at);
		buf_add_char(out, '\n');
	}
	buf_add_char(out, '\n');
}

/* The name of the given run, or of the newest; owned by the caller. */
static char *named_or_newest_run(const struct conf *c, const char *workspace, struct err *e)
{
	const char *name = c->n_arguments ? c->arguments[0] : c->run;
	char *newest;

	if (name)
		return mem_strdup(name, e);
	newest = workspace_newest_run(workspace, e);
	if (!newest && !e->code)
		err_set(e, ERR_NOINPUT, "there is no run in %s", workspace);
	return newest;
}

int text_command_samples(const struct conf *c, struct buf *out, struct err *e)
{
	char *workspace = paths_existing_workspace(c->workspace, e);
	char *name = workspace ? named_or_newest_run(c, workspace, e) : NULL;
	struct run_history *h = name ? history_open(workspace, name, e) : NULL;
	struct sample_history *b = h ? sample_history_open(h->folder, e) : NULL;
	struct json_writer w = { .out = out };
	int64_t only = -1;
	bool is_found = false;
	int rc = b ? 0 : e->code;

	if (!rc && c->n_arguments > 1 && (!text_to_int(c->arguments[1], &only) || only < 0))
		rc = err_set(e, ERR_USAGE, "N must be the number of a sentence, not '%s'",
			     c->arguments[1]);
	while (!rc && (rc = sample_history_update(b, 1, e)) > 0)
		rc = 0;
	if (!rc && c->json)
		json_open(&w, '[');
	for (size_t i = 0; !rc && i < b->n; i++) {
		if (only >= 0 && b->sentences[i].id != only)
			continue;
		is_found = true;
		if (c->json)
			sentence_json(&w, &b->sentences[i]);
		else
			sentence_text(out, &b->sentences[i]);
	}
	if (!rc && c->json) {
		json_close(&w, ']');
		buf_add_char(out, '\n');
	}
	if (!rc && only >= 0 && !is_found)
		rc = err_set(e, ERR_NOINPUT,
			     "the run %s has no sample %lld; werkbank samples %s lists its %zu",
			     name, (long long)only, name, b->n);
	sample_history_free(b);
	history_free(h);
	free(name);
	free(workspace);
	return rc ? rc : buf_check(out, e);
}
