/*
 * word_diff.h - which words of a sentence are new against another one.
 *
 * By the longest common subsequence of words (what stands between blanks), so
 * that what only moved counts as gone in one place and new in the other.
 */
#ifndef WERKBANK_TUI_RUN_WORD_DIFF_H
#define WERKBANK_TUI_RUN_WORD_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#define WORD_DIFF_MAX 300 /* words of a sentence; what follows counts as one word */

struct word_part {
	size_t at, len; /* bytes of the text */
	bool differs;	/* it is not in the other one, there */
};

/*
 * The words of text against those of other (NULL or "": all are new, but nothing is marked) into
 * parts; returns how many.
 */
size_t word_diff(const char *text, const char *other, struct word_part parts[WORD_DIFF_MAX]);

#endif
