/* report_text.c - the report as plain text for a terminal; see report.h */
#include "eval/report/report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define WIDTH 78 /* columns */

/* Replaces control characters: text from a journal must not move the cursor. */
static void add_text_word(struct buf *out, const char *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_add_char(out, iscntrl((unsigned char)word[i]) ? ' ' : word[i]);
}

/* Appends text in lines of WIDTH columns: the first starts at column at, the others at indent. */
static void add_wrapped_text(struct buf *out, const char *text, size_t at, size_t indent)
{
	while (*text) {
		size_t n = strcspn(text, " "), columns = utf8_count(text, n);

		if (at > indent && at + 1 + columns > WIDTH) {
			buf_printf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			buf_add_char(out, ' ');
			at++;
		}
		add_text_word(out, text, n);
		at += columns;
		text += n;
		text += strspn(text, " ");
	}
	buf_add_char(out, '\n');
}

static void add_text_facts(const struct answer *a, struct buf *out)
{
	struct buf value = { 0 };
	size_t width = 0;

	for (size_t i = 0; i < a->n_facts; i++)
		width = MAX(width, utf8_count(a->facts[i].name, strlen(a->facts[i].name)));
	for (size_t i = 0; i < a->n_facts; i++) {
		const char *name = a->facts[i].name;
		size_t have = utf8_count(name, strlen(name));

		buf_clear(&value);
		report_fact(&a->facts[i], &value);
		buf_add_str(out, "    ");
		add_text_word(out, name, strlen(name));
		buf_printf(out, "%*s  ", (int)(width - have), "");
		add_text_word(out, buf_text(&value), strlen(buf_text(&value)));
		buf_add_char(out, '\n');
	}
	out->failed |= value.failed;
	buf_free(&value);
}

static void add_text_answer(const struct answer *a, struct buf *out)
{
	size_t at = 2;

	buf_printf(out, "\n%s\n  ", a->question);
	if (a->verdict != VERDICT_STATEMENT) {
		const char *name = answer_verdict_name(a->verdict),
			   *note = answer_confidence_note(a);

		buf_printf(out, "%c%s%s.", toupper((unsigned char)name[0]), name + 1, note);
		at += strlen(name) + strlen(note) + 1;
	}
	add_wrapped_text(out, a->sentence, at, 2);
	add_text_facts(a, out);
	report_plot_text(a, out);
}

/* The first samples, each a block of three lines. */
static void add_text_samples(const struct run_samples *s, struct buf *out)
{
	static const char *const texts[] = { "source", "reference", "hypothesis" };

	if (!s->n)
		return;
	buf_printf(out, "\nSamples of step %s\n", COUNT_TEXT(s->step));
	for (size_t i = 0; i < MIN(s->n, PAGE_SAMPLES_TEXT); i++)
		for (size_t k = 0; k < ARRAY_LEN(texts); k++) {
			buf_printf(out, "%s%-12s", k ? "    " : "  - ", texts[k]);
			add_wrapped_text(out, samples_text(s, i, texts[k]), 16, 16);
		}
}

/* One question a line, its verdict in a column of its own. */
static void add_text_part(const struct answers *a, const struct report_overview_part *part,
			  size_t width, struct buf *out)
{
	size_t n = 0;

	buf_printf(out, "\n%s\n", part->title);
	if (part->state == ANSWER_OPEN && *a->early) {
		buf_printf(out, "  %s\n", a->early);
		return;
	}
	for (size_t i = 0; i < a->n; i++) {
		const struct answer *one = &a->all[i];

		if (answer_state_of(one) != part->state)
			continue;
		if (one->verdict == VERDICT_UNKNOWN)
			buf_printf(out, "  %s\n", one->question);
		else
			buf_printf(out, "  %-*s  %s%s\n", (int)width, one->question,
				   answer_verdict_name(one->verdict), answer_confidence_note(one));
		n++;
	}
	if (!n)
		buf_add_str(out, "  none\n");
}

static void add_text_overview(const struct answers *a, const struct page_one *p, struct buf *out)
{
	struct buf names = { 0 };
	size_t width = 0;

	for (size_t i = 0; i < a->n; i++)
		if (answer_state_of(&a->all[i]) != ANSWER_STATE_NONE)
			width = MAX(width, strlen(a->all[i].question));
	for (size_t k = 0; k < REPORT_OVERVIEW_PARTS; k++) {
		add_text_part(a, &report_overview_parts[k], width, out);
		if (p && report_overview_parts[k].state == ANSWER_PROBLEM)
			buf_printf(out, "\nNext\n  %s\n    %s\n", p->command, p->command_why);
	}
	report_inapplicable(a, &names);
	if (names.len) {
		buf_add_str(out, "\nDoes not apply to this run\n  ");
		add_wrapped_text(out, buf_text(&names), 2, 2);
	}
	buf_free_part(&names, out);
}

void report_text(const struct report_content *c, struct buf *out)
{
	const struct answers *a = c->answers;
	bool is_part = false;

	buf_add_str(out, "Report of the run ");
	add_text_word(out, c->v->run, strlen(c->v->run));
	buf_add_char(out, '\n');
	if (c->page) {
		add_text_answer(&c->page->result, out);
		add_text_samples(&c->v->samples, out);
	}
	if (a->has_overview)
		add_text_overview(a, c->page, out);
	for (size_t i = 0; i < a->n; i++) {
		is_part |= a->all[i].is_hidden && !answer_is_useless(a, &a->all[i]);
		if (!a->all[i].is_hidden)
			add_text_answer(&a->all[i], out);
	}
	if (a->has_overview && is_part) {
		buf_add_str(out, "\nAll answers with their numbers: werkbank report ");
		add_text_word(out, c->v->run, strlen(c->v->run));
		buf_add_str(out, " all\n");
	}
}
