/*
 * demo.h - the built-in English-German corpus.
 *
 * A grammar written for this project (share/demo) says the same thing in both
 * languages: articles, cases, plurals, verb position, separable verbs,
 * adjective endings, questions, negation, numbers, subordinate and relative
 * clauses. Each English sentence has exactly one German reference, so a model
 * can be judged by it; no English and no German sentence comes twice.
 *
 *	struct demo *d = demo_open(seed, e);
 *	while (…) demo_next(d, &english, &german, e);	the same pairs for the same seed
 *	demo_close(d);
 */
#ifndef WERKBANK_DATA_DEMO_DEMO_H
#define WERKBANK_DATA_DEMO_DEMO_H

#include <stdint.h>

#include "share/base/buf.h"
#include "share/conf/conf.h"
#include "share/base/err.h"

struct demo;

struct demo *demo_open(uint64_t seed, struct err *e); /* NULL: failure */

/* The next pair, never one given before. ERR_CONFIG when the grammar finds no new one. */
int demo_next(struct demo *d, struct buf *english, struct buf *german, struct err *e);

void demo_close(struct demo *d);

/* werkbank-data demo-corpus: write --demo-pairs pairs (0: 24000) to OUT-SOURCE and OUT-TARGET. */
int demo_corpus_run(const struct conf *c, struct err *e);

#endif
