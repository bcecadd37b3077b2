/*
 * score_ledger.h - all variants of BLEU, chrF and TER, and what each can be compared with.
 *
 *	struct score_ledger l;
 *	score_ledger_open(&l, "de", e);
 *	score_ledger_add(&l, &hypothesis, references, n, e);	each segment of raw text
 *	score_ledger_resample(&l, seed, draws, e);
 *	score_ledger_text(&l, &out);
 *	score_ledger_close(&l);
 *
 * Variants that are all called BLEU differ by several points for the same translation.
 */
#ifndef WERKBANK_EVAL_EVALUATE_SCORE_LEDGER_H
#define WERKBANK_EVAL_EVALUATE_SCORE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "data/text/tokenize.h"
#include "eval/metrics/metric.h"
#include "eval/metrics/resample.h"
#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"
#include "share/format/json.h"

enum score_ledger_row {
	LEDGER_BLEU,
	LEDGER_BLEU_LC,
	LEDGER_BLEU_INTL,
	LEDGER_MULTI_BLEU,
	LEDGER_MULTI_BLEU_LC,
	LEDGER_COMPOUND_SPLIT,
	LEDGER_CHRF,
	LEDGER_CHRF_PLUS,
	LEDGER_TER,
	LEDGER_PSEUDO, /* score_ledger_add() omits it: the owner fills metrics[LEDGER_PSEUDO] */
	LEDGER_ROWS
};

struct score_ledger {
	struct metric metrics[LEDGER_ROWS];
	struct score_confidence confidence[LEDGER_ROWS]; /* after score_ledger_resample() */
	uint64_t seed;
	int64_t draws;
	char *language;		     /* owned */
	struct tokenizer *tokenizer; /* owned: like Moses */
	struct buf *tokens;	     /* (cap_tokens) owned: the tokenised texts of a segment */
	struct score_text *texts;    /* (cap_texts) owned: views of tokens */
	size_t cap_tokens, cap_texts;
};

/* language: of the texts, for the tokenizer. Call score_ledger_close() after a failure too. */
int score_ledger_open(struct score_ledger *l, const char *language, struct err *e);
int score_ledger_add(struct score_ledger *l, const struct score_text *hypothesis,
		     const struct score_text *references, size_t n, struct err *e);
int score_ledger_resample(struct score_ledger *l, uint64_t seed, int64_t draws, struct err *e);

/* Appends a table. Rows without a segment are left out. */
void score_ledger_text(const struct score_ledger *l, struct buf *out);
/* Writes an array of objects: id, name, score, confidence, signature, compare. */
void score_ledger_json(const struct score_ledger *l, struct json_writer *w);
void score_ledger_close(struct score_ledger *l);

/* The command "ledger": scores each file of c->arguments against c->reference; prints a table. */
int score_ledger_run(struct conf *c, struct err *e);

#endif
