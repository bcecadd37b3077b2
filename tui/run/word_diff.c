/* word_diff.c - differing words by the longest common subsequence; see word_diff.h. */
#include "tui/run/word_diff.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "share/base/util.h"

static size_t split_diff_words(const char *text, struct word_part parts[WORD_DIFF_MAX])
{
	size_t n = 0, at = 0;

	while (n < WORD_DIFF_MAX) {
		at += strspn(text + at, " ");
		if (!text[at])
			break;
		parts[n].at = at;
		at += n + 1 < WORD_DIFF_MAX ? strcspn(text + at, " ") : strlen(text + at);
		parts[n].len = at - parts[n].at;
		parts[n++].differs = false;
	}
	return n;
}

static bool is_same_word(const char *a, const struct word_part *x, const char *b,
			 const struct word_part *y)
{
	return x->len == y->len && !memcmp(a + x->at, b + y->at, x->len);
}

size_t word_diff(const char *text, const char *other, struct word_part parts[WORD_DIFF_MAX])
{
	/*
	 * length[i][j]: length of the longest common subsequence of the words from i and from j on
	 */
	static uint16_t length[WORD_DIFF_MAX + 1][WORD_DIFF_MAX + 1];
	struct word_part against[WORD_DIFF_MAX];
	size_t n = split_diff_words(text, parts), m = other ? split_diff_words(other, against) : 0,
	       i, j;

	assert(n <= WORD_DIFF_MAX && m <= WORD_DIFF_MAX);
	if (!m)
		return n;
	for (i = n + 1; i-- > 0;)
		for (j = m + 1; j-- > 0;)
			length[i][j] = i == n || j == m ? 0
				       : is_same_word(text, &parts[i], other, &against[j])
					       ? (uint16_t)(length[i + 1][j + 1] + 1)
					       : MAX(length[i + 1][j], length[i][j + 1]);
	for (i = j = 0; i < n;) {
		if (j < m && is_same_word(text, &parts[i], other, &against[j])) {
			i++;
			j++;
		} else if (j < m && length[i][j + 1] >= length[i + 1][j]) {
			j++;
		} else {
			parts[i++].differs = true;
		}
	}
	return n;
}
