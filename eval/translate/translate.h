/*
 * translate.h - the command translate: raw text in, raw text out.
 *
 * Lines are translated in batches and written in their order. An empty line
 * stays an empty line. The output has one line per translation; its columns,
 * separated by tabs, are those of the following that were asked for, in this
 * order:
 *
 *	number of the input line, from 1        with --n-best above 1
 *	score (log-probability / penalty)       with --scores
 *	the translation                         always
 *	"0-0 1-2 …" source word - target word   with --alignments
 *
 * With --prefix an input line may have a tab and behind it the words that its translation must
 * begin with. With --sample translations are drawn; those of line N depend on seed, N and the
 * model alone.
 *
 * --terms and --forbid: see constraint_options.h. A prefix or a term that says what is forbidden is stronger.
 *
 * With --n-best N an input line gives at most N lines, best first. On a
 * terminal each line is prompted for by "en> " (the source language) and
 * translated at once.
 */
#ifndef WERKBANK_EVAL_TRANSLATE_TRANSLATE_H
#define WERKBANK_EVAL_TRANSLATE_TRANSLATE_H

#include "share/conf/conf.h"
#include "share/base/err.h"

/* Translate c->arguments[0] (none or "-": standard input) to c->output (NULL: standard output). */
int translate_run(struct conf *c, struct err *e);

#endif
