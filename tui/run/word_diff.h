/*
 * word_diff.h - the words of a sentence that another sentence lacks.
 *
 * Computed by the longest common subsequence of blank-separated words. A moved word counts as
 * removed in one place and added in the other.
 */
#ifndef WERKBANK_TUI_RUN_WORD_DIFF_H
#define WERKBANK_TUI_RUN_WORD_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#define WORD_DIFF_MAX 300 /* words of a sentence; the rest counts as one word */

struct word_part {
	size_t at, len; /* position and length in bytes */
	bool differs;	/* the other sentence lacks this word here */
};

/*
 * Split text into words and mark those that other lacks (NULL or "": none is marked). Returns the
 * number of parts.
 */
size_t word_diff(const char *text, const char *other, struct word_part parts[WORD_DIFF_MAX]);

#endif
