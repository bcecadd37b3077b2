/* report.c - the command "report", and its Markdown and JSON formats; see report.h */
#include "eval/report/report.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/json.h"
#include "share/base/paths.h"

/* ---- facts ------------------------------------------------------------- */

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
	else if (f->value == floor(f->value) && fabs(f->value) < 1e15) /* a count: no exponent */
		buf_printf(out, "%.0f%s%s", f->value, *f->unit ? " " : "", f->unit);
	else
		buf_printf(out, "%.4g%s%s", f->value, *f->unit ? " " : "", f->unit);
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

void report_markdown(const struct evidence *v, const struct answers *a, struct buf *out)
{
	buf_add_str(out, "# Report of the run ");
	add_plain(out, v->run);
	buf_add_str(out, "\n\n");
	for (size_t i = 0; i < a->n; i++)
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

void report_json(const struct evidence *v, const struct answers *a, struct buf *out)
{
	struct json_writer w = { .out = out };

	json_open(&w, '{');
	json_put_int(&w, "v", 1);
	json_put_str(&w, "run", v->run);
	json_key(&w, "answers");
	json_open(&w, '[');
	for (size_t i = 0; i < a->n; i++) {
		const struct answer *one = &a->all[i];

		json_open(&w, '{');
		json_put_str(&w, "id", one->id);
		json_put_str(&w, "question", one->question);
		json_put_str(&w, "verdict", answer_verdict_name(one->verdict));
		if (one->confidence != CONFIDENCE_UNSTATED)
			json_put_str(&w, "confidence", answer_confidence_name(one->confidence));
		json_put_str(&w, "sentence", one->sentence);
		json_key(&w, "evidence");
		json_open(&w, '[');
		for (size_t k = 0; k < one->n_facts; k++)
			put_fact(&w, &one->facts[k]);
		json_close(&w, ']');
		json_close(&w, '}');
	}
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

static int write_report(const struct conf *c, const struct evidence *v, const char *format,
			struct err *e)
{
	struct answers a = { 0 };
	struct buf text = { 0 };
	int rc = answers_find(&a, v, e);

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

int report_run(struct conf *c, struct err *e)
{
	const char *run = c->n_arguments ? c->arguments[0] : c->run;
	const char *format = c->format ? c->format : "md";
	struct evidence v = { 0 };
	char *workspace;
	bool known = false;
	int rc;

	if (c->json)
		format = "json";
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		known |= !strcmp(formats[i].name, format);
	if (!known)
		return err_set(e, ERR_USAGE, "--format '%s' is not one of md, text, html, json",
			       format);
	if (!run)
		return err_set(e, ERR_USAGE, "report needs a run: give its name, or --run NAME");
	workspace = paths_workspace(c->workspace, e);
	if (!workspace)
		return e->code;
	rc = evidence_open(&v, workspace, run, e);
	if (!rc)
		rc = write_report(c, &v, format, e);
	evidence_close(&v);
	free(workspace);
	return rc;
}
