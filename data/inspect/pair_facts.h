/*
 * pair_facts.h - lengths, ratios, scripts, repeats and leaks of the training pairs of a corpus
 *
 *	struct pair_facts *f = pair_facts_open(folder, e);
 *	while (pair_facts_read(f, pairs, e) > 0)	in steps: the corpus may be huge
 *		...
 *	pair_facts_free(f);
 *
 * Reads what the preparation left in work/ (the token columns and the verdict on each pair), so a
 * corpus prepared with keep-work = no has no facts. Counts and histograms are of all pairs read.
 * Memory is bounded: the facts of single pairs are kept of all pairs while there are at most
 * PAIR_FACTS_MAX, else of a random sample of PAIR_FACTS_MAX; and of the first PAIR_DROPPED_MAX dropped
 * pairs. With more than PAIR_REPEAT_KEYS different pairs, repeats are estimated.
 */
#ifndef WERKBANK_DATA_INSPECT_PAIR_FACTS_H
#define WERKBANK_DATA_INSPECT_PAIR_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "data/text/clean.h"
#include "share/base/err.h"

#define PAIR_FACTS_MAX	 200000
#define PAIR_DROPPED_MAX 100000
#define PAIR_REPEAT_KEYS 131072
#define PAIR_GRID	 256 /* words a side that the density tells apart; longer sides: the last */
#define PAIR_BINS	 10
#define PAIR_EXAMPLES	 8
#define PAIR_SETS_MAX	 16

/* Where a pair is: number of the training text, and line from 1. */
struct pair_place {
	uint32_t text;
	int64_t line;
};

struct pair_fact {
	struct pair_place place;
	struct clean_side sides[2]; /* source, target */
	enum clean_rule rule;	    /* the verdict of the preparation */
};

enum pair_histogram {
	PAIR_SOURCE_WORDS,
	PAIR_TARGET_WORDS,
	PAIR_WORD_RATIO,    /* the longer side's words by the shorter side's; 0: a side is empty */
	PAIR_FOREIGN_SHARE, /* the larger share of letters of a foreign script, per cent */
	PAIR_HISTOGRAMS
};

/* Upper limit of a bin (inclusive); the last bin has none (INFINITY). */
double pair_bin_limit(enum pair_histogram h, int bin);

/* An estimate with its 95 % margin; exact: the margin is 0. */
struct pair_estimate {
	double n, margin;
	bool is_exact;
};

/* Keys that occur repeatedly among the kept pairs. */
enum pair_repeat { PAIR_REPEATED, PAIR_SOURCE_REPEATED, PAIR_TARGET_REPEATED, PAIR_REPEATS };

struct pair_repeat_example {
	struct pair_place first; /* the first pair of them */
	int64_t n;		 /* occurrences */
};

/* A held-out set, and kept training pairs that equal one of its pairs, or a side of it. */
struct pair_leaks {
	char set[64];
	int64_t n_lines;
	int64_t n[3]; /* training pairs with this pair, this source, this target (held_out_part) */
	struct {
		struct pair_place place;
		int64_t line; /* of the set */
		int part;     /* enum held_out_part */
	} examples[PAIR_EXAMPLES];
	int n_examples;
};

/* The recipe's rules, and counts of the pairs read so far. */
struct pair_counts {
	struct clean_options options; /* the limits of the recipe */
	bool drop_duplicates, drop_overlap;
	int64_t total, done;		/* training pairs of the corpus; of them read so far */
	int64_t of_rule[CLEAN_N_RULES]; /* pairs by verdict; CLEAN_KEEP: the kept ones */
	int64_t in_bin[PAIR_HISTOGRAMS][PAIR_BINS][CLEAN_N_RULES];
	/* by number of words (the last: or more): [is dropped][source][target] */
	int64_t density[2][PAIR_GRID][PAIR_GRID];
	int64_t n_sample; /* pairs whose facts are kept */
	int n_sets;
	struct pair_leaks leaks[PAIR_SETS_MAX]; /* (n_sets) */
};

struct pair_facts;

struct pair_facts *pair_facts_open(const char *folder, struct err *e); /* NULL: failure */
void pair_facts_free(struct pair_facts *f);
/* Read up to n pairs: 1: there are more; 0: all are read; < 0: failure. */
int pair_facts_read(struct pair_facts *f, int64_t n, struct err *e);

/* Borrowed until pair_facts_free(); pair_facts_read() goes on counting in it. */
const struct pair_counts *pair_facts_counts(const struct pair_facts *f);
/* Are the facts of every pair of the corpus in memory? */
bool pair_facts_are_whole(const struct pair_facts *f);
/* Fact i of the sample. */
const struct pair_fact *pair_facts_at(const struct pair_facts *f, int64_t i);
/* Is the pair with these hashes in a held-out set that was read? */
bool pair_facts_is_held_out(const struct pair_facts *f, const struct pair_fact *p);
/* The fact of a dropped pair by the name of its text and its line; NULL: not in memory. */
const struct pair_fact *pair_facts_find(const struct pair_facts *f, const char *text, size_t n_text,
					int64_t line);
const char *pair_facts_text_name(const struct pair_facts *f, uint32_t text);

/* Kept pairs beyond the first with their key. */
struct pair_estimate pair_facts_repeats(const struct pair_facts *f, enum pair_repeat what);
/* The most frequent keys, at most max of them, most frequent first. Returns their number. */
int pair_facts_repeat_examples(const struct pair_facts *f, enum pair_repeat what,
			       struct pair_repeat_example *out, int max);

#endif
