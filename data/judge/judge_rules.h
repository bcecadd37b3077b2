/* judge_rules.h - the rules of corpus_judge.h, and what they share; only files of this room include this */
#ifndef WERKBANK_DATA_JUDGE_JUDGE_RULES_H
#define WERKBANK_DATA_JUDGE_JUDGE_RULES_H

#include "data/judge/alignment.h"
#include "data/judge/corpus_judge.h"
#include "data/text/scripts.h"

#define JUDGE_SETS_MAX	   16
#define JUDGE_VERDICTS_MAX 64

struct judged_set {
	char name[32];
	struct judged_lines lines;
	bool *is_swapped; /* owned: (lines.n) other way round than in the training text */
};

struct corpus_judge {
	struct judge_options options;
	struct word_marks marks;
	int32_t *numbers; /* owned: (options.words->n) number in marks + 1; 0: not yet added */
	struct judged_set train, sets[JUDGE_SETS_MAX];
	int n_sets;
	uint32_t scripts[2];	   /* of source and target, as bits (scripts.h) */
	uint64_t most_frequent[2]; /* hash of the most frequent source and target of the sample */
	int language_rows[2];	   /* of source and target; -1: no list of words */
	bool *is_repeat; /* owned: (train.lines.n) an earlier sampled line has the same pair */
	struct corpus_verdict verdicts[JUDGE_VERDICTS_MAX];
	int n_verdicts;
	double alignment; /* share of wins over all lines; NaN: unknown */
};

/* A new verdict about lines of a set, without what and cure; NULL: there is no room for more. */
struct corpus_verdict *judge_new_verdict(struct corpus_judge *j, enum judge_rule rule,
					 const struct judged_set *set);

/*
 * Where the bad lines are: if they lie close together in one text, set the verdict's text, first and last;
 * copy examples. is_bad: (set->lines.n). Sets n_bad and n_judged.
 */
void judge_locate(const struct corpus_judge *j, struct corpus_verdict *v,
		  const struct judged_set *set, const bool *is_bad);

/* Rules about single lines, by a table. */
int judge_line_rules(struct corpus_judge *j, const struct judged_set *set, struct err *e);
/* Rules about the pairs of a set: misaligned, shifted. */
int judge_alignment_rules(struct corpus_judge *j, struct err *e);
/* Rules that compare a held-out set with the training text: letter case, lengths. */
void judge_set_rules(struct corpus_judge *j, const struct judged_set *set);

#endif
