/*
 * alignment.h - do targets translate their sources? By terms that occur together.
 *
 * Two halves of the lines, in turns of 32 lines, each count how often a source term and a target term
 * occur in one pair. A pair is scored with the counts of the other half: for each of its target terms
 * the greatest log(c n / (c_s c_t)) over its source terms (pointwise mutual information; c: pairs of
 * both terms, at least 2). The pair wins if its target has a higher score than the target of another,
 * random pair with as many terms. The share of wins is 1 for translations that the counts know, and
 * 1/2 for targets that have nothing to do with their sources, whatever the language is.
 */
#ifndef WERKBANK_DATA_JUDGE_ALIGNMENT_H
#define WERKBANK_DATA_JUDGE_ALIGNMENT_H

#include "data/judge/judged_lines.h"

#define ALIGNMENT_TERMS	 12 /* of a side: its rarest ones, which say most */
#define ALIGNMENT_SHIFTS 4  /* targets are tried up to this number of lines before and after */

struct alignment;

/* Wins among n comparisons; a draw is half a win. */
struct alignment_wins {
	double wins;
	int64_t n;
};

/* Borrows both until alignment_free(). NULL: failure. */
struct alignment *alignment_new(const struct word_marks *m, const struct judged_lines *lines,
				struct err *e);
void alignment_free(struct alignment *a);

/* Learn from pairs of line i and the target `shift` lines further on; forgets what was learned. */
void alignment_learn(struct alignment *a, int shift);
/* Compare the pairs of one block (-1: of all), with targets `shift` lines further on, with random targets. */
struct alignment_wins alignment_of_block(const struct alignment *a, int32_t block, int shift);
/*
 * Compare targets `shift` lines further on with those of the same line: neighbours resemble each other
 * in sorted texts and in documents, so a random target is no rival there.
 */
struct alignment_wins alignment_of_shift(const struct alignment *a, int32_t block, int shift);

/*
 * Both for a held-out set, by what was learned. shifted: (2 ALIGNMENT_SHIFTS + 1), of the shifts
 * -ALIGNMENT_SHIFTS to ALIGNMENT_SHIFTS, if the share of wins is below `least`.
 */
int alignment_of_set(const struct alignment *a, const struct judged_lines *set, double least,
		     struct alignment_wins *wins, struct alignment_wins *shifted, struct err *e);

#endif
