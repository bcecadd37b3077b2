/* report_html.c - the report as one HTML file without external files; see report.h */
#include "eval/report/report.h"

#include <string.h>

#include "share/base/number_format.h"
#include "share/base/util.h"

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<style>\n"
	":root{color-scheme:light dark;--ink:#222;--paper:#fff;--faint:#767676;--line:#ccc;"
	"--a:#0072b2;--b:#d55e00;--c:#009e73}\n"
	"@media(prefers-color-scheme:dark){:root{--ink:#ddd;--paper:#181818;--faint:#999;"
	"--line:#444;--a:#56b4e9;--b:#e69f00;--c:#33c39c}}\n"
	"body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);"
	"max-width:52rem;margin:2rem auto;padding:0 1rem}\n"
	"h2{font-size:1.15rem;margin:2.2rem 0 .4rem}\n"
	"table{border-collapse:collapse;font-size:.9rem}\n"
	"td{padding:.1rem 1rem .1rem 0;border-bottom:1px solid var(--line)}\n"
	"a{color:inherit}\n"
	"td+td{font-variant-numeric:tabular-nums}\n"
	".verdict{font-weight:600}\n.faint{color:var(--faint)}\n"
	"svg{width:100%;height:auto;margin:.6rem 0}\n"
	"svg text{fill:var(--faint);font-size:11px}\n"
	"svg .axis{stroke:var(--line);fill:none}\n"
	"svg .c0{stroke:var(--a)}svg .c1{stroke:var(--b);stroke-dasharray:6 3}"
	"svg .c2{stroke:var(--c);stroke-dasharray:2 3}\n"
	"svg polyline{fill:none;stroke-width:1.6}\n"
	"</style>\n";

static void add_escaped(struct buf *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			buf_add_str(out, "&amp;");
			break;
		case '<':
			buf_add_str(out, "&lt;");
			break;
		case '>':
			buf_add_str(out, "&gt;");
			break;
		case '"':
			buf_add_str(out, "&quot;");
			break;
		default:
			buf_add_char(out, (unsigned char)*text < ' ' ? ' ' : *text);
		}
	}
}

static void add_html_facts(const struct answer *a, struct buf *out)
{
	struct buf value = { 0 };

	buf_add_str(out, "<table>\n");
	for (size_t i = 0; i < a->n_facts; i++) {
		buf_clear(&value);
		report_fact(&a->facts[i], &value);
		buf_add_str(out, "<tr><td>");
		add_escaped(out, a->facts[i].name);
		buf_add_str(out, "</td><td>");
		add_escaped(out, buf_text(&value));
		buf_add_str(out, "</td></tr>\n");
	}
	buf_add_str(out, "</table>\n");
	out->failed |= value.failed;
	buf_free(&value);
}

static void add_html_samples(const struct run_samples *s, struct buf *out)
{
	static const char *const texts[] = { "source", "reference", "hypothesis" };

	if (!s->n)
		return;
	buf_printf(out, "<h2>Samples of step %s</h2>\n<table>\n<tr>", COUNT_TEXT(s->step));
	for (size_t k = 0; k < ARRAY_LEN(texts); k++)
		buf_printf(out, "<td class=\"faint\">%s</td>", texts[k]);
	buf_add_str(out, "</tr>\n");
	for (size_t i = 0; i < MIN(s->n, PAGE_SAMPLES); i++) {
		buf_add_str(out, "<tr>");
		for (size_t k = 0; k < ARRAY_LEN(texts); k++) {
			buf_add_str(out, "<td>");
			add_escaped(out, samples_text(s, i, texts[k]));
			buf_add_str(out, "</td>");
		}
		buf_add_str(out, "</tr>\n");
	}
	buf_add_str(out, "</table>\n");
}

static void add_html_next(const struct page_one *p, struct buf *out)
{
	buf_add_str(out, "<h2>Next</h2>\n<p><code>");
	add_escaped(out, p->command);
	buf_printf(out, "</code><br>This command %s.</p>\n", p->command_why);
}

static void add_html_part(const struct answers *a, const struct report_overview_part *part,
			  struct buf *out)
{
	buf_printf(out, "<h2>%s</h2>\n<table>\n", part->title);
	if (*a->early && part->state == ANSWER_OPEN)
		buf_printf(out, "<tr><td>%s</td></tr>\n", a->early);
	for (size_t i = 0; i < a->n; i++)
		if (answer_state_of(&a->all[i]) == part->state &&
		    !(*a->early && part->state == ANSWER_OPEN))
			buf_printf(out, "<tr><td><a href=\"#%s\">%s</a></td><td>%s%s</td></tr>\n",
				   a->all[i].id, a->all[i].question,
				   answer_verdict_name(a->all[i].verdict),
				   answer_confidence_note(&a->all[i]));
	buf_add_str(out, "</table>\n");
}

static void add_html_overview(const struct answers *a, const struct page_one *page, struct buf *out)
{
	struct buf names = { 0 };

	for (size_t p = 0; p < REPORT_OVERVIEW_PARTS; p++) {
		add_html_part(a, &report_overview_parts[p], out);
		if (page && report_overview_parts[p].state == ANSWER_PROBLEM)
			add_html_next(page, out);
	}
	report_inapplicable(a, &names);
	if (names.len)
		buf_printf(out, "<p class=\"faint\">Does not apply to this run: %s</p>\n",
			   buf_text(&names));
	buf_free_part(&names, out);
}

static void add_html_answer(const struct answer *one, struct buf *out)
{
	buf_printf(out, "<h2 id=\"%s\">%s</h2>\n<p>", one->id, one->question);
	if (one->verdict != VERDICT_STATEMENT)
		buf_printf(out, "<span class=\"verdict\">%s%s.</span> ",
			   answer_verdict_name(one->verdict), answer_confidence_note(one));
	add_escaped(out, one->sentence);
	buf_add_str(out, "</p>\n");
	report_plot_svg(one, out);
	if (one->n_facts)
		add_html_facts(one, out);
}

void report_html(const struct report_content *c, struct buf *out)
{
	const struct answers *a = c->answers;

	buf_add_str(out, head);
	buf_add_str(out, "<title>");
	add_escaped(out, c->v->run);
	buf_add_str(out, " - report</title>\n</head>\n<body>\n<h1>Report of the run ");
	add_escaped(out, c->v->run);
	buf_add_str(out, "</h1>\n");
	if (c->page) {
		add_html_answer(&c->page->result, out);
		add_html_samples(&c->v->samples, out);
	}
	if (a->has_overview)
		add_html_overview(a, c->page, out);
	for (size_t i = 0; i < a->n; i++)
		if (!a->all[i].is_hidden)
			add_html_answer(&a->all[i], out);
	buf_add_str(out, "</body>\n</html>\n");
}
