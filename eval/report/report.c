/* report.c - the command "report", and its Markdown and JSON formats; see report.h */
#include "eval/report/report.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/format/json.h"
#include "share/workspace/paths.h"
#include "share/workspace/workspace_names.h"

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

void report_inapplicable(const struct answers *a, struct buf *out)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->all[i].is_inapplicable)
			buf_printf(out, "%s%s", out->len ? ", " : "", a->all[i].id);
}

static void add_markdown_samples(const struct run_samples *s, struct buf *out)
{
	static const char *const texts[] = { "source", "reference", "hypothesis" };

	if (!s->n)
		return;
	buf_printf(out,
		   "## Samples of step %s\n\n| source | reference | hypothesis |\n|---|---|---|\n",
		   COUNT_TEXT(s->step));
	for (size_t i = 0; i < MIN(s->n, PAGE_SAMPLES); i++) {
		for (size_t k = 0; k < ARRAY_LEN(texts); k++) {
			buf_add_str(out, "| ");
			add_plain(out, samples_text(s, i, texts[k]));
			buf_add_char(out, ' ');
		}
		buf_add_str(out, "|\n");
	}
	buf_add_char(out, '\n');
}

/* Of an early run, the questions without an answer are one line. */
static void add_markdown_open(const struct answers *a, struct buf *out)
{
	struct buf names = { 0 };

	report_inapplicable(a, &names);
	if (*a->early)
		buf_printf(out, "| %s | |\n", a->early);
	if (names.len)
		buf_printf(out, "| **Does not apply to this run** | |\n| %s | |\n",
			   buf_text(&names));
	buf_free_part(&names, out);
}

static void add_markdown_overview(const struct answers *a, struct buf *out)
{
	buf_add_str(out, "## Overview\n\n| | |\n|---|---|\n");
	for (size_t p = 0; p < REPORT_OVERVIEW_PARTS; p++) {
		const struct report_overview_part *part = &report_overview_parts[p];

		buf_printf(out, "| **%s** | |\n", part->title);
		for (size_t i = 0; i < a->n; i++)
			if (answer_state_of(&a->all[i]) == part->state &&
			    !(*a->early && part->state == ANSWER_OPEN))
				buf_printf(out, "| %s | %s%s |\n", a->all[i].question,
					   answer_verdict_name(a->all[i].verdict),
					   answer_confidence_note(&a->all[i]));
	}
	add_markdown_open(a, out);
	buf_add_char(out, '\n');
}

void report_markdown(const struct report_content *c, struct buf *out)
{
	const struct answers *a = c->answers;

	buf_add_str(out, "# Report of the run ");
	add_plain(out, c->v->run);
	buf_add_str(out, "\n\n");
	if (c->page) {
		add_markdown_answer(&c->page->result, out);
		add_markdown_samples(&c->v->samples, out);
	}
	if (a->has_overview)
		add_markdown_overview(a, out);
	if (c->page)
		buf_printf(out, "## Next\n\n    %s\n\nThis command %s.\n\n", c->page->command,
			   c->page->command_why);
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
	if (a->bad != VERDICT_STATEMENT)
		json_put_bool(w, "problem", answer_state_of(a) == ANSWER_PROBLEM);
	if (a->is_inapplicable)
		json_put_bool(w, "applies", false);
	json_put_str(w, "sentence", a->sentence);
	json_put_open(w, "evidence", '[');
	for (size_t k = 0; k < a->n_facts; k++)
		put_fact(w, &a->facts[k]);
	json_close(w, ']');
	json_close(w, '}');
}

static void put_known_number(struct json_writer *w, const char *key, double value)
{
	if (isfinite(value))
		json_put_real(w, key, value);
}

static void put_known_text(struct json_writer *w, const char *key, const char *text)
{
	if (*text)
		json_put_str(w, key, text);
}

static void put_test_score(struct json_writer *w, const struct page_score *s)
{
	if (isnan(s->bleu))
		return;
	json_put_open(w, "test", '{');
	json_put_real(w, "bleu", s->bleu);
	put_known_text(w, "tok", s->tok);
	put_known_number(w, "step", s->step);
	put_known_number(w, "nll", s->nll);
	put_known_number(w, "t", s->t);
	put_known_number(w, "sentences", s->sentences);
	put_known_number(w, "beam", s->beam);
	json_close(w, '}');
}

static void put_result(struct json_writer *w, const struct page_one *p)
{
	json_put_open(w, "result", '{');
	put_known_number(w, "bleu", p->dev.bleu);
	put_known_text(w, "tok", p->dev.tok);
	put_known_number(w, "step", p->dev.step);
	put_known_number(w, "dev_nll", p->dev.nll);
	put_test_score(w, &p->test);
	put_known_number(w, "ended", p->ended);
	put_known_text(w, "host", p->host);
	put_known_text(w, "format", p->format);
	put_known_number(w, "pairs", p->pairs);
	put_known_number(w, "trained_s", p->trained_s);
	json_close(w, '}');
}

static void put_page_samples(struct json_writer *w, const struct run_samples *s)
{
	json_put_open(w, "samples", '[');
	for (size_t i = 0; i < MIN(s->n, PAGE_SAMPLES); i++) {
		json_open(w, '{');
		json_put_int(w, "id", json_integer(json_get(s->all[i], "id"), (int64_t)i));
		json_put_str(w, "source", samples_text(s, i, "source"));
		json_put_str(w, "reference", samples_text(s, i, "reference"));
		json_put_str(w, "hypothesis", samples_text(s, i, "hypothesis"));
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_next(struct json_writer *w, const struct page_one *p)
{
	json_put_open(w, "next", '{');
	json_put_str(w, "command", p->command);
	json_put_str(w, "why", p->command_why);
	json_close(w, '}');
}

void report_json(const struct report_content *c, struct buf *out)
{
	const struct answers *a = c->answers;
	struct json_writer w = { .out = out };

	json_open(&w, '{');
	json_put_int(&w, "v", 1);
	json_put_str(&w, "run", c->v->run);
	if (c->page) {
		put_result(&w, c->page);
		put_page_samples(&w, &c->v->samples);
		put_next(&w, c->page);
		put_known_text(&w, "early", a->early);
	}
	json_put_open(&w, "answers", '[');
	for (size_t i = 0; i < a->n; i++)
		if (!a->all[i].is_hidden)
			put_answer(&w, &a->all[i]);
	json_close(&w, ']');
	json_close(&w, '}');
	buf_add_char(out, '\n');
}

/* ---- the command ------------------------------------------------------- */

/* long_name: the whole name of the format; a hint understands it. */
static const struct {
	const char *name, *long_name;
	void (*write)(const struct report_content *c, struct buf *out);
} formats[] = {
	{ "md", "markdown", report_markdown },
	{ "text", "plain", report_text },
	{ "html", "html", report_html },
	{ "json", "json", report_json },
};

static int refuse_report_format(const char *format, struct err *e)
{
	const char *names[2 * ARRAY_LEN(formats)], *near;
	char hint[TEXT_HINT_MAX];

	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		names[2 * i] = formats[i].name;
		names[2 * i + 1] = formats[i].long_name;
	}
	near = text_nearest(format, names, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (near == formats[i].long_name)
			near = formats[i].name;
	return err_set(e, ERR_USAGE, "--format '%s' is not one of md, text, html, json%s", format,
		       text_hint(hint, near));
}

static int write_report_output(const struct conf *c, const struct buf *text, struct err *e)
{
	if (c->output)
		return file_write_all(c->output, text->data, text->len, e);
	return file_put_stdout(text, e);
}

/*
 * Which answers a document shows: the named ones; else all that apply, as text for a reader only
 * problems, and as JSON for a program all.
 */
static int choose_answers(struct answers *a, char *const *ids, size_t n, const char *format,
			  struct err *e)
{
	const bool is_text = !strcmp(format, "text");

	if (n && answers_choose(a, ids, n, e))
		return e->code;
	if (is_text && !n)
		answers_choose_problems(a);
	else if (is_text ? a->has_overview : !n && strcmp(format, "json") != 0)
		answers_choose_useful(a);
	return 0;
}

static int write_report(const struct conf *c, const struct evidence *v, const char *format,
			struct err *e)
{
	const size_t first = c->run || !c->n_arguments ? 0 : 1; /* questions begin here */
	struct answers a = { 0 };
	struct page_one page = { 0 };
	struct report_content content = { v, &a, NULL };
	struct buf text = { 0 };
	int rc = answers_find(&a, v, e);

	if (!rc)
		rc = choose_answers(&a, c->arguments + first, c->n_arguments - first, format, e);
	if (!rc && a.has_overview) {
		content.page = &page;
		rc = page_one_open(&page, v, &a, e);
	}
	for (size_t i = 0; !rc && i < ARRAY_LEN(formats); i++)
		if (!strcmp(formats[i].name, format))
			formats[i].write(&content, &text);
	if (!rc)
		rc = buf_check(&text, e);
	if (!rc)
		rc = write_report_output(c, &text, e);
	buf_free(&text);
	page_one_close(&page);
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
		return refuse_report_format(format, e);
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
