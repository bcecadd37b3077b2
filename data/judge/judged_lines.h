/*
 * judged_lines.h - pairs of lines for a judge of corpora: a sample of blocks of the training text, or a
 * held-out set
 *
 * A block is up to JUDGE_BLOCK_LINES lines in their order, so that a bad stretch shows. The blocks are spread
 * evenly over the training text: JUDGE_BLOCKS / 4 to JUDGE_BLOCKS of them, a JUDGE_SHARE-th of the text between
 * these limits; a text of fewer lines is read whole. So judging takes less than a tenth of a preparation.
 */
#ifndef WERKBANK_DATA_JUDGE_JUDGED_LINES_H
#define WERKBANK_DATA_JUDGE_JUDGED_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "data/judge/word_marks.h"
#include "share/base/err.h"

#define JUDGE_BLOCKS	  128
#define JUDGE_BLOCK_LINES 128
#define JUDGE_SHARE	  6

/* One side of a line. */
struct judged_side {
	uint64_t hash; /* of the line */
	uint32_t characters, letters;
	uint32_t foreign;  /* letters of scripts that the language does not use */
	uint32_t first, n; /* words: numbers words[first] … of struct judged_lines */
};

struct judged_line {
	struct judged_side sides[2]; /* source, target */
	int32_t text;		     /* number of the training text; held-out set: -1 */
	int32_t block;		     /* rising from 0 */
	int64_t line;		     /* from 1 */
};

struct judged_lines {
	struct judged_line *lines; /* owned: (n), in their order */
	size_t n, cap;
	int32_t *words; /* owned: numbers of struct word_marks */
	size_t n_words, cap_words;
	int32_t n_blocks;
};

/* Is pair `number` (from 0) of `total` pairs of the training text in the sample? *block: its block. */
bool judged_lines_wants(int64_t number, int64_t total, int32_t *block);

/* Add a line; its words follow. Words are added to the last line's sides, first source, then target. */
int judged_lines_add(struct judged_lines *t, const struct judged_line *line, struct err *e);
int judged_lines_add_word(struct judged_lines *t, int side, int32_t word, struct err *e);
/*
 * Split plain text at blanks, and each mark of punctuation off both ends of words; fill in the side of the last
 * line. scripts: those of its language, as bits (scripts.h).
 */
int judged_lines_add_text(struct judged_lines *t, int side, struct word_marks *m, uint32_t scripts,
			  const char *text, size_t n, struct err *e);
void judged_lines_free(struct judged_lines *t);

/* The words of a side. */
static inline const int32_t *judged_words(const struct judged_lines *t, const struct judged_line *l,
					  int side)
{
	return t->words + l->sides[side].first;
}

#endif
