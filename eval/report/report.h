/*
 * report.h - the answers of answers.h about a run, as Markdown, plain text, one HTML file or JSON.
 * A document begins with page_one.h and an overview: the questions with their verdicts, problems first.
 *
 * The JSON form:
 *	{"v":1,"run":NAME,"result":{…},"samples":[{"id","source","reference","hypothesis"}…],
 *	"next":{"command","why"},"answers":[{"id":…,"question":…,"verdict":…,"confidence":…,
 *	"problem":true or false,"sentence":…,"evidence":[{"name":…,"value":number or text,"unit":…}]}]}
 * confidence is "clear", "likely" or "not enough data"; questions without a rule for it lack it.
 * problem says whether the verdict asks for action; questions without a verdict lack it. applies is
 * false for questions about GPUs or several ranks that the run does not have, else absent.
 * result: bleu, tok, step and dev_nll of the best evaluation; test (bleu, tok, step, nll, t,
 * sentences, beam) if the run keeps a score; ended (unix seconds), host, format, pairs, trained_s.
 * What is unknown is absent. A document of chosen questions has no result, samples and next.
 */
#ifndef WERKBANK_EVAL_REPORT_REPORT_H
#define WERKBANK_EVAL_REPORT_REPORT_H

#include "eval/report/answers.h"
#include "eval/report/page_one.h"
#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

/* The command "report": reads the run (without a name the newest one), writes the answers to --output or standard output. 0 or negative. */
int report_run(struct conf *c, struct err *e);

/* What a document shows. */
struct report_content {
	const struct evidence *v;
	const struct answers *answers;
	const struct page_one *page; /* NULL: a document of chosen questions */
};

/* Each appends one format to out. The caller checks for lack of memory with buf_check(). */
void report_markdown(const struct report_content *c, struct buf *out);
/* Plain text for a terminal: lines of 78 columns, curves in braille characters. */
void report_text(const struct report_content *c, struct buf *out);
void report_html(const struct report_content *c, struct buf *out);
void report_json(const struct report_content *c, struct buf *out);

/* "gpus-used, stragglers": the questions that do not apply to the run; "": all do. */
void report_inapplicable(const struct answers *a, struct buf *out);

/* The parts of an overview in their order, each with the title of its list. */
#define REPORT_OVERVIEW_PARTS 3
extern const struct report_overview_part {
	enum answer_state state;
	const char *title;
} report_overview_parts[REPORT_OVERVIEW_PARTS];

/* report_plot.c: append the curves of an answer in braille or as SVG; nothing if it has none. */
void report_plot_text(const struct answer *a, struct buf *out);
void report_plot_svg(const struct answer *a, struct buf *out);

/* Appends the value of a fact with its unit for people: "3.4 s", "243 MB", "0.83". */
void report_fact(const struct named_fact *f, struct buf *out);

#endif
