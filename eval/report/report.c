/* report.c - the command "report", and its Markdown and JSON formats; see report.h */
#include "eval/report/report.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/json.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/paths.h"
#include "share/base/workspace_names.h"

const struct report_overview_part report_overview_parts[REPORT_OVERVIEW_PARTS] = {
	{ ANSWER_PROBLEM, "Problems" },
	{ ANSWER_FINE, "No problem" },
	{ ANSWER_OPEN, "Not enough data" },
};

/* ---- facts ------------------------------------------------------------- */

/* Counts and large numbers with separators, small ones with four digits. */
static void add_plain_number(double value, const char *unit, struct buf *out)
{
	if (value >= 1000 || (value >= 0 && value == floor(value)))
		buf_add_str(out, COUNT_TEXT(value));
	else
		buf_printf(out, "%.4g", value);
	buf_printf(out, "%s%s", *unit ? " " : "", unit);
}

void report_fact(const struct named_fact *f, struct buf *out)
{
	char text[ANSWER_TEXT];

	if (*f->text)
		buf_add_str(out, f->text);
	else if (!strcmp(f->unit, "s"))
		buf_add_str(out, answer_seconds(text, f->value));
	else if (!strcmp(f->unit, "bytes"))
		buf_add_str(out, answer_bytes(text, f->value));
	else if (!strcmp(f->unit, "bytes/s"))
		buf_printf(out, "%s/s", answer_bytes(text, f->value));
	else if (!strcmp(f->unit, "share"))
		buf_printf(out, "%.3g %%", 100 * f->value);
	else if (!strcmp(f->unit, "FLOP/s"))
		buf_printf(out, "%.4g GFLOP/s", f->value / 1e9);
	else
		add_plain_number(f->value, f->unit, out);
}

/* ---- Markdown ---------------------------------------------------------- */

/* Escapes Markdown and control characters: text from a journal is not trusted. */
static void add_plain(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (iscntrl((unsigned char)*text))
			buf_add_char(out, ' ');
		else if (strchr("|<>`", *text))
			buf_printf(out, "\\%c", *text);
		else
			buf_add_char(out, *text);
	}
}

static void add_markdown_answer(const struct answer *a, struct buf *out)
{
	struct buf value = { 0 };

	buf_printf(out, "## %s\n\n", a->question);
	if (a->verdict != VERDICT_STATEMENT)
		buf_printf(out, "**%s%s.** ", answer_verdict_name(a->verdict),
			   answer_confidence_note(a));
	add_plain(out, a->sentence);
	buf_add_str(out, "\n\n");
	if (a->n_facts)
		buf_add_str(out, "| | |\n|---|---|\n");
	for (size_t i = 0; i < a->n_facts; i++) {
		buf_clear(&value);
		report_fact(&a->facts[i], &value);
		buf_add_str(out, "| ");
		add_plain(out, a->facts[i].name);
		buf_add_str(out, " | ");
		add_plain(out, buf_text(&value));
		buf_add_str(out, " |\n");
	}
	if (a->n_facts)
		buf_add_char(out, '\n');
	if (a->n_curves) {
		buf_add_str(out, "```\n");
		report_plot_text(a, out);
		buf_add_str(out, "```\n\n");
	}
	out->failed |= value.failed;
	buf_free(&value);
}

static void add_markdown_overview(const struct answers *a, struct buf *out)
{
	buf_add_str(out, "## Overview\n\n| | |\n|---|---|\n");
	for (size_t p = 0; p < REPORT_OVERVIEW_PARTS; p++) {
		const struct report_overview_part *part = &report_overview_parts[p];

		buf_printf(out, "| **%s** | |\n", part->title);
		for (size_t i = 0; i < a->n; i++)
			if (answer_state_of(&a->all[i]) == part->state)
				buf_printf(out, "| %s | %s%s |\n", a->all[i].question,
					   answer_verdict_name(a->all[i].verdict),
					   answer_confidence_note(&a->all[i]));
	}
	buf_add_char(out, '\n');
}

void report_markdown(const struct evidence *v, const struct answers *a, struct buf *out)
{
	buf_add_str(out, "# Report of the run ");
	add_plain(out, v->run);
	buf_add_str(out, "\n\n");
	if (a->has_overview)
		add_markdown_overview(a, out);
	for (size_t i = 0; i < a->n; i++)
		if (!a->all[i].is_hidden)
			add_markdown_answer(&a->all[i], out);
}

/* ---- JSON -------------------------------------------------------------- */

static void put_fact(struct json_writer *w, const struct named_fact *f)
{
	json_open(w, '{');
	json_put_str(w, "name", f->name);
	json_key(w, "value");
	if (*f->text)
		json_str(w, f->text);
	else
		json_real(w, f->value);
	if (*f->unit)
		json_put_str(w, "unit", f->unit);
	json_close(w, '}');
}

static void put_answer(struct json_writer *w, const struct answer *a)
{
	json_open(w, '{');
	json_put_str(w, "id", a->id);
	json_put_str(w, "question", a->question);
	json_put_str(w, "verdict", answer_verdict_name(a->verdict));
	if (a->confidence != CONFIDENCE_UNSTATED)
		json_put_str(w, "confidence", answer_confidence_name(a->confidence));
	if (answer_state_of(a) != ANSWER_STATE_NONE)
		json_put_bool(w, "problem", answer_state_of(a) == ANSWER_PROBLEM);
	json_put_str(w, "sentence", a->sentence);
	json_key(w, "evidence");
	json_open(w, '[');
	for (size_t k = 0; k < a->n_facts; k++)
		put_fact(w, &a->facts[k]);
	json_close(w, ']');
	json_close(w, '}');
}

void report_json(const struct evidence *v, const struct answers *a, struct buf *out)
{
	struct json_writer w = { .out = out };

	json_open(&w, '{');
	json_put_int(&w, "v", 1);
	json_put_str(&w, "run", v->run);
	json_key(&w, "answers");
	json_open(&w, '[');
	for (size_t i = 0; i < a->n; i++)
		if (!a->all[i].is_hidden)
			put_answer(&w, &a->all[i]);
	json_close(&w, ']');
	json_close(&w, '}');
	buf_add_char(out, '\n');
}

/* ---- the command ------------------------------------------------------- */

static const struct {
	const char *name;
	void (*write)(const struct evidence *v, const struct answers *a, struct buf *out);
} formats[] = {
	{ "md", report_markdown },
	{ "text", report_text },
	{ "html", report_html },
	{ "json", report_json },
};

static int write_report_output(const struct conf *c, const struct buf *text, struct err *e)
{
	if (c->output)
		return file_write_all(c->output, text->data, text->len, e);
	return file_put_stdout(text, e);
}

/* Which answers a document shows: the named ones; else all, as text for a reader only problems. */
static int choose_answers(struct answers *a, char *const *ids, size_t n, const char *format,
			  struct err *e)
{
	if (n)
		return answers_choose(a, ids, n, e);
	if (!strcmp(format, "text"))
		answers_choose_problems(a);
	return 0;
}

static int write_report(const struct conf *c, const struct evidence *v, const char *format,
			struct err *e)
{
	const size_t first = c->run || !c->n_arguments ? 0 : 1; /* questions begin here */
	struct answers a = { 0 };
	struct buf text = { 0 };
	int rc = answers_find(&a, v, e);

	if (!rc)
		rc = choose_answers(&a, c->arguments + first, c->n_arguments - first, format, e);
	for (size_t i = 0; !rc && i < ARRAY_LEN(formats); i++)
		if (!strcmp(formats[i].name, format))
			formats[i].write(v, &a, &text);
	if (!rc)
		rc = buf_check(&text, e);
	if (!rc)
		rc = write_report_output(c, &text, e);
	buf_free(&text);
	answers_free(&a);
	return rc;
}

/* A reader at a terminal gets text, a file gets Markdown. */
static const char *default_format(const struct conf *c)
{
	return !c->output && isatty(STDOUT_FILENO) ? "text" : "md";
}

/* The named run, else the run that changed last; the caller owns the name. */
static char *find_report_run(const struct conf *c, const char *workspace, struct err *e)
{
	char *newest;

	if (c->run || c->n_arguments)
		return mem_strdup(c->run ? c->run : c->arguments[0], e);
	newest = workspace_newest_run(workspace, e);
	if (!newest && !e->code)
		err_set(e, ERR_NOINPUT, "there is no run in %s", workspace);
	return newest;
}

int report_run(struct conf *c, struct err *e)
{
	const char *format = c->json ? "json" : c->format ? c->format : default_format(c);
	struct evidence v = { 0 };
	char *workspace, *run;
	bool known = false;
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		known |= !strcmp(formats[i].name, format);
	if (!known)
		return err_set(e, ERR_USAGE, "--format '%s' is not one of md, text, html, json",
			       format);
	workspace = paths_existing_workspace(c->workspace, e);
	if (!workspace)
		return e->code;
	run = find_report_run(c, workspace, e);
	rc = run ? evidence_open(&v, workspace, run, e) : e->code;
	if (!rc)
		rc = write_report(c, &v, format, e);
	evidence_close(&v);
	free(run);
	free(workspace);
	return rc;
}
