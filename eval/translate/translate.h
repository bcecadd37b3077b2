/*
 * translate.h - the command "translate": raw text in, raw text out.
 *
 * Lines are translated in batches and written in input order. An empty line gives an empty line.
 * The output has one line per translation with these columns, separated by tabs:
 *
 *	number of the input line, from 1        with --n-best above 1
 *	score (log-probability / penalty)       with --scores
 *	the translation                         always
 *	"0-0 1-2 …" source word - target word   with --alignments
 *
 * With --prefix, an input line may have a tab and then the words that its translation must begin
 * with. With --sample, translations are drawn; the draws of line N depend on the seed, N and the
 * model alone. With --n-best N, an input line gives at most N output lines, best first.
 *
 * --terms and --forbid: see constraint_options.h. A prefix may contain a forbidden phrase, a
 * term may not.
 *
 * On a terminal, "en> " (the source language) prompts for each line, which is translated at once.
 */
#ifndef WERKBANK_EVAL_TRANSLATE_TRANSLATE_H
#define WERKBANK_EVAL_TRANSLATE_TRANSLATE_H

#include "share/base/err.h"
#include "share/conf/conf.h"

/* Translates c->arguments[0] (none or "-": standard input) to c->output (NULL: standard output). */
int translate_run(struct conf *c, struct err *e);

#endif
