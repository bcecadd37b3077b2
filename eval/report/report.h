/*
 * report.h - a run explained: the answers of answers.h as Markdown, text, one HTML file, or JSON.
 *
 *	{"v":1,"run":NAME,"answers":[{"id":…,"question":…,"verdict":…,"sentence":…,
 *	"evidence":[{"name":…,"value":number or text,"unit":…}]}]}
 */
#ifndef WERKBANK_EVAL_REPORT_REPORT_H
#define WERKBANK_EVAL_REPORT_REPORT_H

#include "eval/report/answers.h"
#include "share/base/buf.h"
#include "share/conf/conf.h"
#include "share/base/err.h"

/* The command "report": reads the run, writes to --output or standard output. */
int report_run(struct conf *c, struct err *e);

/* One form each; check out with buf_check(). */
void report_markdown(const struct evidence *v, const struct answers *a, struct buf *out);
/* For a terminal: no markup, lines of 78 columns, curves in braille. */
void report_text(const struct evidence *v, const struct answers *a, struct buf *out);
void report_html(const struct evidence *v, const struct answers *a, struct buf *out);
void report_json(const struct evidence *v, const struct answers *a, struct buf *out);

/* report_plot.c: the curves of an answer in braille, and as SVG. Nothing without a curve. */
void report_plot_text(const struct answer *a, struct buf *out);
void report_plot_svg(const struct answer *a, struct buf *out);

/* "3.4 s", "243 MB", "0.83" of a fact; for people. */
void report_fact(const struct named_fact *f, struct buf *out);

#endif
