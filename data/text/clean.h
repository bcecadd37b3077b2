/*
 * clean.h - which pairs are dropped, and the ledger that says why.
 *
 * First the rules of Moses' clean-corpus-n: blanks squeezed, '|' removed, a side of
 * fewer than min_words or more than max_words words, sides that differ more
 * than max_ratio in words, a word longer than max_word_chars characters. Then
 * filters that are off unless asked for. The first rule that a pair breaks, in the
 * order of the table in clean.c, is the one that drops it.
 *
 * ledger.tsv: a header line, then for each dropped pair, in the order of the texts
 *	FILE<TAB>LINE<TAB>RULE<TAB>SOURCE<TAB>TARGET
 * where the texts may be cut (DROP_LEDGER_TEXT_BYTES), and control characters in
 * them are blanks.
 */
#ifndef WERKBANK_DATA_TEXT_CLEAN_H
#define WERKBANK_DATA_TEXT_CLEAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "share/base/buf.h"
#include "share/base/err.h"

/* X(id, name in the ledger, what it means) */
#define CLEAN_RULES(X)                                                                             \
	X(CLEAN_EMPTY, "empty", "a side is empty")                                                 \
	X(CLEAN_SHORT, "short", "a side has fewer than min-words words")                           \
	X(CLEAN_LONG, "long", "a side has more than max-words words")                              \
	X(CLEAN_RATIO, "ratio", "the sides differ too much in length")                             \
	X(CLEAN_WORD, "word", "a word is longer than max-word-chars characters")                   \
	X(CLEAN_COPY, "copy", "both sides are the same text (drop-copies)")                        \
	X(CLEAN_SCRIPT, "script", "too many letters of another script (max-foreign)")              \
	X(CLEAN_CHARACTERS, "characters",                                                          \
	  "the sides differ too much in characters (max-char-ratio)")                              \
	X(CLEAN_OVERLAP, "overlap", "the pair is in a held-out set (overlap = drop)")              \
	X(CLEAN_DUPLICATE, "duplicate", "the pair was there before (drop-duplicates)")             \
	X(CLEAN_TOKENS, "tokens", "a side has more than max-tokens BPE tokens")

enum clean_rule {
	CLEAN_KEEP = 0,
#define X(id, name, text) id,
	CLEAN_RULES(X)
#undef X
		CLEAN_N_RULES
};

struct clean_options {
	int64_t min_words, max_words, max_word_chars;
	double max_ratio;
	bool factored; /* keep '|': see clean_is_factored() */
	/* filters: left 0 they are off */
	bool drop_copies;
	bool check_script;  /* is max_foreign meant? */
	double max_foreign; /* share of the letters of a side */
	double max_char_ratio;
};

/*
 * Does this pair, the first of a corpus, hold a '|'? Then clean-corpus-n takes
 * the corpus for a factored one (word|lemma|tag) and keeps every '|'.
 */
bool clean_is_factored(const char *source, size_t n_source, const char *target, size_t n_target);

/* What a pair is judged by. Only the filters look at what is known of the raw line. */
struct clean_side {
	int64_t words;
	int64_t longest; /* characters of the longest word (in a factored corpus: factor) */
	int64_t characters, letters, foreign; /* as in struct token_column_line */
	uint64_t hash;
};

/*
 * Append text to out with every run of blanks squeezed to one, none at the
 * ends, and '|' deleted (unless factored, where it separates factors).
 */
struct clean_side clean_squeeze(const char *text, size_t n, bool factored, struct buf *out);

/*
 * CLEAN_KEEP, or the first rule that drops the pair. The rules that need to know
 * other pairs (overlap, duplicate) or pieces (tokens) are not here.
 */
enum clean_rule clean_check_pair(const struct clean_options *o, const struct clean_side *source,
				 const struct clean_side *target);

/*
 * Both steps: squeeze both sides into out_source and out_target (cleared first) and judge
 * them: CLEAN_KEEP, or the first rule that drops the pair.
 */
enum clean_rule clean_pair(const struct clean_options *o, const char *source, size_t n_source,
			   const char *target, size_t n_target, struct buf *out_source,
			   struct buf *out_target);

const char *clean_rule_name(enum clean_rule r);	   /* as in the ledger; else "keep" */
const char *clean_rule_meaning(enum clean_rule r); /* "" for CLEAN_KEEP */
enum clean_rule clean_rule_find(const char *name); /* CLEAN_KEEP: there is none of that name */

#define DROP_LEDGER_TEXT_BYTES 500 /* of each side; longer ones are cut between two characters */

struct dropped_pair {
	const char *file; /* control characters in it become '?' */
	int64_t line;	  /* from 1 */
	enum clean_rule rule;
	const char *source, *target;
	size_t n_source, n_target;
};

struct drop_ledger; /* writes ledger.tsv atomically and counts */
struct drop_ledger *drop_ledger_create(const char *path, struct err *e);
int drop_ledger_add(struct drop_ledger *l, const struct dropped_pair *line, struct err *e);
int64_t drop_ledger_count(const struct drop_ledger *l, enum clean_rule rule);
int drop_ledger_finish(struct drop_ledger *l, struct err *e); /* frees l in any case */
void drop_ledger_cancel(struct drop_ledger *l);

#endif
