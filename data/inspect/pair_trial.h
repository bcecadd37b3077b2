/*
 * pair_trial.h - what other limits of the cleaning rules would drop, on the facts in memory
 *
 * The rules are those of the preparation (clean.h, prep/pair_rules.h). Where the facts are of the
 * whole corpus, the counts are exact; else they are counts in a random sample, and
 * pair_trial_estimate() gives the corpus's with the margin of the sample.
 */
#ifndef WERKBANK_DATA_INSPECT_PAIR_TRIAL_H
#define WERKBANK_DATA_INSPECT_PAIR_TRIAL_H

#include "data/inspect/pair_facts.h"

struct pair_trial {
	int64_t n, total; /* pairs judged; pairs of the corpus */
	bool is_exact;
	/* pairs judged, by verdict; before: that of the preparation */
	int64_t before[CLEAN_N_RULES], after[CLEAN_N_RULES];
	int64_t n_dropped, n_kept; /* kept before and dropped now; dropped before and kept now */
	/*
	 * Of n_kept, pairs that a rule not tried here may still drop: their BPE tokens were never
	 * counted, and in a sample they were not compared with all other pairs.
	 */
	int64_t n_unsure;
	struct pair_fact dropped[PAIR_EXAMPLES], kept[PAIR_EXAMPLES]; /* the first ones of them */
	enum clean_rule dropped_by[PAIR_EXAMPLES];
};

/* Judge all facts in memory by these limits; at most PAIR_FACTS_MAX, some milliseconds. */
int pair_trial_run(struct pair_trial *t, const struct pair_facts *f, const struct clean_options *o,
		   struct err *e);

/* The number of pairs of the corpus of which n of the judged pairs are a part (95 % margin). */
struct pair_estimate pair_trial_estimate(const struct pair_trial *t, int64_t n);

/* ---- the limits that can be tried ---- */

/* X(id, name of the option, its rule, its member of struct clean_options) in the order of the rules */
#define PAIR_LIMITS(X)                                                                             \
	X(PAIR_LIMIT_MAX_WORDS, "max-words", CLEAN_LONG, max_words)                                \
	X(PAIR_LIMIT_MIN_WORDS, "min-words", CLEAN_SHORT, min_words)                               \
	X(PAIR_LIMIT_RATIO, "max-ratio", CLEAN_RATIO, max_ratio)                                   \
	X(PAIR_LIMIT_WORD_CHARS, "max-word-chars", CLEAN_WORD, max_word_chars)                     \
	X(PAIR_LIMIT_COPIES, "drop-copies", CLEAN_COPY, drop_copies)                               \
	X(PAIR_LIMIT_FOREIGN, "max-foreign", CLEAN_SCRIPT, max_foreign)                            \
	X(PAIR_LIMIT_CHAR_RATIO, "max-char-ratio", CLEAN_CHARACTERS, max_char_ratio)

enum pair_limit {
#define X(id, name, rule, member) id,
	PAIR_LIMITS(X)
#undef X
		PAIR_N_LIMITS
};

const char *pair_limit_name(enum pair_limit l);
enum clean_rule pair_limit_rule(enum pair_limit l);
/* The limit that a rule applies; PAIR_N_LIMITS: none. */
enum pair_limit pair_limit_of_rule(enum clean_rule rule);
/* The value as a user writes it in a recipe. */
const char *pair_limit_text(const struct clean_options *o, enum pair_limit l, char out[32]);
/* Set the value from text, checked as the option is: ERR_USAGE. */
int pair_limit_set(struct clean_options *o, enum pair_limit l, const char *text, struct err *e);
/* Set the next larger (by 1) or smaller (by -1) value of a ladder of usual ones. */
void pair_limit_step(struct clean_options *o, enum pair_limit l, int by);
bool pair_limits_equal(const struct clean_options *a, const struct clean_options *b,
		       enum pair_limit l);

/* Does the value switch the rule off, so that it drops nothing? */
bool pair_limit_is_off(const struct clean_options *o, enum pair_limit l);

/*
 * What a rule measured on a pair and its limit, as a sentence: "source 3 words, target 31: ratio
 * 10.33, at most 9 (max-ratio)". "" for rules about other pairs and tokens.
 */
void pair_limit_reason(const struct pair_fact *p, enum clean_rule rule,
		       const struct clean_options *o, char *out, size_t size);

#endif
