/* fuzzy.c - see fuzzy.h. */
#include "tui/term/fuzzy.h"

#include <ctype.h>
#include <string.h>

#include "share/base/util.h"

enum {
	SCORE_LETTER = 4,
	SCORE_WORD = 12,   /* more for the first letter of a word */
	SCORE_FIRST = 8,   /* more for the first letter of the name */
	SCORE_FOLLOW = 16, /* more for a letter that follows the previous match */
	NO_MATCH = -1000000,
};

#define TYPED_MAX 32

static int letter_score(const char *name, size_t at)
{
	if (!at)
		return SCORE_LETTER + SCORE_WORD + SCORE_FIRST;
	return isalnum((unsigned char)name[at - 1]) ? SCORE_LETTER : SCORE_LETTER + SCORE_WORD;
}

/*
 * best[k][i]: the score of the typed letters 0 to k if letter k matches byte i of the name. The
 * loops are short: a name has at most FUZZY_BYTES bytes.
 */
int fuzzy_score(const char *name, const char *typed, uint64_t *marks)
{
	size_t n = MIN(strlen(name), (size_t)FUZZY_BYTES), m = strlen(typed), end = 0;
	int best[TYPED_MAX][FUZZY_BYTES], total = NO_MATCH;
	uint8_t from[TYPED_MAX][FUZZY_BYTES];

	if (!m || m > TYPED_MAX || m > n)
		return 0;
	for (size_t k = 0; k < m; k++) {
		int before = NO_MATCH; /* the best of letter k - 1 before byte i */
		size_t before_at = 0;

		for (size_t i = 0; i < n; i++) {
			int score = k ? before : 0;

			from[k][i] = (uint8_t)before_at;
			if (k && i && best[k - 1][i - 1] + SCORE_FOLLOW > score) {
				score = best[k - 1][i - 1] + SCORE_FOLLOW;
				from[k][i] = (uint8_t)(i - 1);
			}
			best[k][i] = NO_MATCH;
			if (score > NO_MATCH / 2 &&
			    tolower((unsigned char)name[i]) == tolower((unsigned char)typed[k]))
				best[k][i] = score + letter_score(name, i);
			if (k && best[k - 1][i] > before) {
				before = best[k - 1][i];
				before_at = i;
			}
		}
	}
	for (size_t i = 0; i < n; i++)
		if (best[m - 1][i] > total) {
			total = best[m - 1][i];
			end = i;
		}
	if (total < 0)
		return 0;
	for (size_t k = m; marks && k-- > 0; end = from[k][end])
		*marks |= (uint64_t)1 << end;
	/* of two names with the same letters the shorter one fits better */
	return total * (FUZZY_LETTER / SCORE_LETTER) + (int)(FUZZY_BYTES - n) + 1;
}
