/*
 * clean.h - the rules that drop sentence pairs, and the ledger of dropped pairs.
 *
 * First come the rules of Moses' clean-corpus-n: runs of blanks become one, '|' is removed; a
 * pair is dropped when a side has fewer than min_words or more than max_words words, when the
 * numbers of words differ by more than max_ratio, or when a word has more than max_word_chars
 * characters. Then come optional filters. The first rule that a pair breaks, in the order of the
 * table in clean.c, drops it.
 *
 * ledger.tsv: a header line, then for each dropped pair, in the order of the texts
 *	FILE<TAB>LINE<TAB>RULE<TAB>SOURCE<TAB>TARGET
 * Long texts are cut (DROP_LEDGER_TEXT_BYTES); control characters in them become blanks.
 */
#ifndef WERKBANK_DATA_TEXT_CLEAN_H
#define WERKBANK_DATA_TEXT_CLEAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "share/base/buf.h"
#include "share/base/err.h"

/* X(id, name in the ledger, meaning) */
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
	/* filters; 0: off */
	bool drop_copies;
	bool check_script;  /* apply max_foreign */
	double max_foreign; /* largest share of letters of foreign scripts in a side */
	double max_char_ratio;
};

/*
 * Does the first pair of a corpus hold a '|'? Then clean-corpus-n takes the corpus as factored
 * (word|lemma|tag) and keeps every '|'.
 */
bool clean_is_factored(const char *source, size_t n_source, const char *target, size_t n_target);

/* The facts about one side that the rules use. */
struct clean_side {
	uint64_t hash; /* of the raw line, for filters */
	uint32_t words;
	uint32_t longest; /* characters of the longest word (in a factored corpus: factor) */
	uint32_t characters, letters, foreign; /* of the raw line, for filters */
};

/*
 * Append text to out. Runs of blanks become one blank, blanks at the ends are removed, '|' is
 * deleted unless the corpus is factored. Returns words and longest.
 */
struct clean_side clean_squeeze(const char *text, size_t n, bool factored, struct buf *out);

/*
 * CLEAN_KEEP, or the first rule that drops the pair. Not checked here: rules about other pairs
 * (overlap, duplicate) and about pieces (tokens).
 */
enum clean_rule clean_check_pair(const struct clean_options *o, const struct clean_side *source,
				 const struct clean_side *target);

/*
 * clean_squeeze() both sides into out_source and out_target (cleared first), then
 * clean_check_pair().
 */
enum clean_rule clean_pair(const struct clean_options *o, const char *source, size_t n_source,
			   const char *target, size_t n_target, struct buf *out_source,
			   struct buf *out_target);

const char *clean_rule_name(enum clean_rule r);	   /* as in the ledger; CLEAN_KEEP: "keep" */
const char *clean_rule_meaning(enum clean_rule r); /* "" for CLEAN_KEEP */
enum clean_rule clean_rule_find(const char *name); /* CLEAN_KEEP: unknown name */

#define DROP_LEDGER_TEXT_BYTES 500 /* of each side; longer texts are cut between two characters */

struct dropped_pair {
	const char *file; /* control characters in it become '?' */
	int64_t line;	  /* from 1 */
	enum clean_rule rule;
	const char *source, *target;
	size_t n_source, n_target;
};

struct drop_ledger; /* writes ledger.tsv atomically and counts pairs; drop_ledger.c */
struct drop_ledger *drop_ledger_create(const char *path, struct err *e);
int drop_ledger_add(struct drop_ledger *l, const struct dropped_pair *line, struct err *e);
int64_t drop_ledger_count(const struct drop_ledger *l, enum clean_rule rule);
int drop_ledger_finish(struct drop_ledger *l,
		       struct err *e); /* commit the file; frees l in any case */
/* Abandon the file; frees l. */
void drop_ledger_cancel(struct drop_ledger *l);

#endif
