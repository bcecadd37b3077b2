/* ter_tokenize.c - Tercom's normalisation of a line, as passes; see ter_tokenize.h */
#include "eval/metrics/ter_tokenize.h"

#include "eval/metrics/score_passes.h"
#include "eval/metrics/unicode.h"
#include "share/base/util.h"

#define ASIAN_MARKS                                                                                \
	{ 0x3001, 0x3002 },				/* ideographic comma, full stop */         \
		{ 0x3008, 0x3011 }, { 0x3014, 0x301F }, /* brackets */                             \
		{ 0x30FB, 0x30FB },			/* katakana middle dot */                  \
		{ 0xFF61, 0xFF65 },			/* half-width marks */                     \
		{ 0xFF01, 0xFF02 }, { 0xFF08, 0xFF09 }, { 0xFF0C, 0xFF0C }, { 0xFF0E, 0xFF0E },    \
		{ 0xFF1A, 0xFF1B },                                                                \
	{                                                                                          \
		0xFF1F, 0xFF1F                                                                     \
	} /* full-width marks */

static const struct score_range asian_marks[] = { ASIAN_MARKS };

/*
 * What sacreBLEU splits off with asian_support. Its rules for hiragana and katakana never match,
 * because they ask for the start of a line that begins with a blank.
 */
static const struct score_range asian_characters[] = {
	ASIAN_MARKS,	    { 0x2E80, 0x2EFF }, /* CJK radicals */
	{ 0x31C0, 0x31EF },			/* CJK strokes */
	{ 0x3200, 0x4DBF }, /* enclosed CJK letters, squared words, ideographs of extension A */
	{ 0x4E00, 0x9FFF }, /* ideographs */
	{ 0xF900, 0xFAFF }, /* compatibility ideographs */
	{ 0xFE30, 0xFE4F }, /* compatibility forms */
};

static const struct score_range western_marks[] = {
	{ '!', '"' }, { '(', ')' }, { ',', ',' }, { '.', '.' }, { ':', ';' }, { '?', '?' },
};

/* s->a gets its own text with blanks around the characters of the ranges, or without them. */
static void change_in_ranges(struct score_scratch *s, const struct score_range *ranges,
			     size_t n_ranges, enum score_action action)
{
	struct buf swap;

	if (s->a.failed)
		return;
	buf_clear(&s->b);
	score_pass_ranges(s->a.data, s->a.len, ranges, n_ranges, action, &s->b);
	swap = s->a;
	s->a = s->b;
	s->b = swap;
}

static void normalize_for_ter(struct score_scratch *s, bool asian)
{
	if (s->a.failed)
		return;
	score_pass_entities(s);
	score_pass_western(s, true);
	if (asian)
		change_in_ranges(s, asian_characters, ARRAY_LEN(asian_characters), SCORE_ISOLATE);
}

/* Appends the words of text to out, separated by one blank. */
static void join_ter_words(const struct buf *text, struct buf *out)
{
	size_t i = 0, start = out->len;

	while (i < text->len) {
		size_t blank = unicode_space(text->data + i, text->len - i);

		if (!blank)
			buf_add_char(out, text->data[i++]);
		else if (out->len > start && out->data[out->len - 1] != ' ')
			buf_add_char(out, ' ');
		i += blank;
	}
	if (out->len > start && out->data[out->len - 1] == ' ')
		buf_truncate(out, out->len - 1);
}

void ter_tokenize(const struct ter_options *o, const char *line, size_t n, struct score_scratch *s,
		  struct buf *out)
{
	n = unicode_trimmed(line, n);
	buf_clear(&s->a);
	buf_add_char(&s->a, ' ');
	if (o->cased)
		buf_add(&s->a, line, n);
	else
		unicode_lower(&s->a, line, n);
	buf_add_char(&s->a, ' ');
	if (o->normalized)
		normalize_for_ter(s, o->asian);
	if (o->drop_punctuation)
		change_in_ranges(s, western_marks, ARRAY_LEN(western_marks), SCORE_REMOVE);
	if (o->drop_punctuation && o->asian)
		change_in_ranges(s, asian_marks, ARRAY_LEN(asian_marks), SCORE_REMOVE);
	if (!s->a.failed)
		join_ter_words(&s->a, out);
	out->failed |= s->a.failed | s->b.failed;
}
