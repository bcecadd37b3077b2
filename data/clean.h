/*
 * clean.h - which pairs are dropped, and the ledger that says why.
 *
 * The rules of Moses' clean-corpus-n: blanks squeezed, '|' removed, a side of
 * fewer than min_words or more than max_words words, sides that differ more
 * than max_ratio in words, a word longer than max_word_chars characters.
 * ledger.tsv: "FILE<TAB>LINE<TAB>RULE" a dropped pair, header line first.
 */
#ifndef WERKBANK_DATA_CLEAN_H
#define WERKBANK_DATA_CLEAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "share/base/buf.h"
#include "share/base/err.h"

/* X(id, name in the ledger, what it means) */
#define CLEAN_RULES(X) \
	X(CLEAN_EMPTY,     "empty",     "a side is empty") \
	X(CLEAN_SHORT,     "short",     "a side has fewer than min-words words") \
	X(CLEAN_LONG,      "long",      "a side has more than max-words words") \
	X(CLEAN_RATIO,     "ratio",     "the sides differ too much in length") \
	X(CLEAN_WORD,      "word",      "a word is longer than max-word-chars characters") \
	X(CLEAN_TOKENS,    "tokens",    "a side has more than max-tokens BPE tokens")

enum clean_rule {
	CLEAN_KEEP = 0,
#define X(id, name, text) id,
	CLEAN_RULES(X)
#undef X
	CLEAN_N_RULES
};

struct clean_options {
	int64_t min_words, max_words, max_word_chars;
	double  max_ratio;
	bool    factored;	/* keep '|': see clean_is_factored() */
};

/*
 * Does this pair, the first of a corpus, hold a '|'? Then clean-corpus-n takes
 * the corpus for a factored one (word|lemma|tag) and keeps every '|'.
 */
bool clean_is_factored(const char *source, size_t n_source, const char *target, size_t n_target);

/* What a pair is judged by. */
struct clean_side {
	int64_t words;
	int64_t longest;	/* characters of the longest word (in a factored corpus: factor) */
};

/*
 * Append text to out with every run of blanks squeezed to one, none at the
 * ends, and '|' deleted (unless factored, where it separates factors).
 */
struct clean_side clean_squeeze(const char *text, size_t n, bool factored, struct buf *out);

/* CLEAN_KEEP, or the first rule that drops the pair. */
enum clean_rule clean_judge(const struct clean_options *o, struct clean_side source,
			    struct clean_side target);

/*
 * Both steps: squeeze both sides into out_source and out_target (cleared first) and judge
 * them: CLEAN_KEEP, or the first rule that drops the pair.
 */
enum clean_rule clean_pair(const struct clean_options *o, const char *source, size_t n_source,
			   const char *target, size_t n_target, struct buf *out_source,
			   struct buf *out_target);

const char *clean_rule_name(enum clean_rule r);		/* as in the ledger */

struct ledger;			/* writes ledger.tsv atomically and counts */
struct ledger *ledger_create(const char *path, struct err *e);
int ledger_drop(struct ledger *l, const char *file, int64_t line, enum clean_rule rule,
		struct err *e);
int64_t ledger_count(const struct ledger *l, enum clean_rule rule);
int  ledger_finish(struct ledger *l, struct err *e);	/* frees l in any case */
void ledger_cancel(struct ledger *l);

#endif
