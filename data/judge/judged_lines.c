/* judged_lines.c - see judged_lines.h */
#include "data/judge/judged_lines.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>

#include "data/text/icu.h"
#include "share/base/hash.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

bool judged_lines_wants(int64_t number, int64_t total, int32_t *block)
{
	const int64_t share = total / JUDGE_SHARE / JUDGE_BLOCK_LINES,
		      blocks = MIN(MAX(share, JUDGE_BLOCKS / 4), JUDGE_BLOCKS),
		      whole = blocks * JUDGE_BLOCK_LINES;
	int64_t distance = JUDGE_BLOCK_LINES; /* between the starts of two blocks */

	assert(number >= 0 && number < total);
	if (total > whole)
		distance = (total - JUDGE_BLOCK_LINES) /
			   (blocks - 1); /* the last block is at the end */
	*block = (int32_t)(number / distance);
	return number % distance < JUDGE_BLOCK_LINES && (total <= whole || *block < blocks);
}

int judged_lines_add(struct judged_lines *t, const struct judged_line *line, struct err *e)
{
	if (mem_grow(&t->lines, &t->cap, t->n + 1, sizeof(*t->lines), e))
		return e->code;
	t->lines[t->n] = *line;
	for (int side = 0; side < 2; side++) {
		t->lines[t->n].sides[side].first = (uint32_t)t->n_words;
		t->lines[t->n].sides[side].n = 0;
	}
	t->n++;
	t->n_blocks = MAX(t->n_blocks, line->block + 1);
	return 0;
}

int judged_lines_add_word(struct judged_lines *t, int side, int32_t word, struct err *e)
{
	struct judged_line *l = &t->lines[t->n - 1];

	if (mem_grow(&t->words, &t->cap_words, t->n_words + 1, sizeof(*t->words), e))
		return e->code;
	t->words[t->n_words++] = word;
	l->sides[side].n++;
	if (side == 0)
		l->sides[1].first = (uint32_t)t->n_words;
	return 0;
}

static bool is_trimmed(char c)
{
	return (c & 0x80) == 0 && ispunct((unsigned char)c);
}

static int add_raw_word(struct judged_lines *t, int side, struct word_marks *m, const char *word,
			size_t n, struct err *e)
{
	const int32_t number = word_marks_add(m, word, n, e);

	return number < 0 ? e->code : judged_lines_add_word(t, side, number, e);
}

/* A word between blanks: marks of punctuation at both ends are words of their own. */
static int add_split_word(struct judged_lines *t, int side, struct word_marks *m, const char *word,
			  size_t n, struct err *e)
{
	size_t first = 0, end = n;
	int rc = 0;

	while (end > 0 && is_trimmed(word[end - 1]))
		end--;
	while (first < end && is_trimmed(word[first]))
		first++;
	for (size_t i = 0; !rc && i < first; i++)
		rc = add_raw_word(t, side, m, word + i, 1, e);
	if (!rc && end > first)
		rc = add_raw_word(t, side, m, word + first, end - first, e);
	for (size_t i = MAX(end, first); !rc && i < n; i++)
		rc = add_raw_word(t, side, m, word + i, 1, e);
	return rc;
}

static void count_letters(struct judged_side *s, uint32_t scripts, const char *text, size_t n)
{
	for (size_t at = 0; at < n;) {
		uint32_t c;
		enum script script;

		at += utf8_decode(text + at, n - at, &c);
		s->characters++;
		script = c >= 0x80	   ? icu_letter_script(c)
			 : isalpha((int)c) ? SCRIPT_LATIN
					   : SCRIPT_NONE;
		s->letters += script != SCRIPT_NONE;
		s->foreign += script > SCRIPT_COMMON && !(scripts >> script & 1);
	}
}

int judged_lines_add_text(struct judged_lines *t, int side, struct word_marks *m, uint32_t scripts,
			  const char *text, size_t n, struct err *e)
{
	struct judged_side *s = &t->lines[t->n - 1].sides[side];
	size_t at = 0, from;

	assert(utf8_valid(text, n));
	s->hash = hash_bytes(text, n);
	count_letters(s, scripts, text, n);
	while (at < n) {
		for (from = at; at < n && !isspace((unsigned char)text[at]); at++)
			;
		if (at > from && add_split_word(t, side, m, text + from, at - from, e))
			return e->code;
		while (at < n && isspace((unsigned char)text[at]))
			at++;
	}
	return 0;
}

void judged_lines_free(struct judged_lines *t)
{
	free(t->lines);
	free(t->words);
	*t = (struct judged_lines){ 0 };
}
