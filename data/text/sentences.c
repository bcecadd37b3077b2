/* sentences.c - see sentences.h */
#include "data/text/sentences.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/text/abbrev.h"
#include "data/text/icu.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define SHORT_WORD 4 /* bytes: a shorter word before a full stop may be an abbreviation */
#define ORDINAL_DIGITS                                                                             \
	2 /* a German number of at most this many digits before a full stop is an ordinal */

struct sentence_splitter {
	struct icu_breaks *breaks; /* owned */
	struct abbrev *abbrev;	   /* owned; NULL: no list for this language */
	bool is_german;
	/* owned: ends of sentences with the blanks after them, as ICU says, and with our own */
	size_t *icu_ends, *ends;
	size_t cap_icu_ends, cap_ends;
	struct sentence_range *ranges; /* owned */
	size_t cap_ranges;
};

struct sentence_splitter *sentence_splitter_new(const char *language, struct err *e)
{
	struct sentence_splitter *s = mem_alloc(1, sizeof(*s), e);
	const bool is_english = text_starts_with(language, "en");

	if (!s)
		return NULL;
	s->is_german = text_starts_with(language, "de");
	s->breaks = icu_breaks_new(language, e);
	if (s->breaks && (is_english || s->is_german))
		s->abbrev = abbrev_open(is_english ? "en" : "de", e);
	if (s->breaks && (s->abbrev || (!is_english && !s->is_german)))
		return s;
	sentence_splitter_free(s);
	return NULL;
}

void sentence_splitter_free(struct sentence_splitter *s)
{
	if (!s)
		return;
	icu_breaks_free(s->breaks);
	abbrev_close(s->abbrev);
	free(s->icu_ends);
	free(s->ends);
	free(s->ranges);
	free(s);
}

/* ---- characters ---- */

/* The character that ends before `at`, and its first byte in *begin. at > 0. */
static uint32_t character_before(const char *text, size_t at, size_t *begin)
{
	size_t n = at - 1;
	uint32_t c;

	while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
		n--;
	*begin = n;
	utf8_decode(text + n, at - n, &c);
	return c;
}

static bool is_white_before(const char *text, size_t at, size_t *begin)
{
	return at > 0 && icu_is_white_space(character_before(text, at, begin));
}

/* ---- does a boundary end a sentence? ---- */

/* The word before a full stop: letters, digits, and marks between them. */
struct last_word {
	const char *text;
	size_t n;
	bool begins_sentence; /* it is the sentence's only word */
};

static bool is_word_character(uint32_t c)
{
	return icu_is_letter(c) || icu_is_digit(c) || c == '.' || c == '-' || c == '\'' ||
	       c == 0x2019;
}

/* stop: offset of the full stop. */
static struct last_word find_last_word(const char *text, size_t from, size_t stop)
{
	size_t at = stop, begin = stop;

	while (at > from && is_word_character(character_before(text, at, &begin)))
		at = begin;
	return (struct last_word){ text + at, stop - at, at == from };
}

static size_t count_word_digits(const struct last_word *w)
{
	size_t n = 0;

	while (n < w->n && w->text[n] >= '0' && w->text[n] <= '9')
		n++;
	return n == w->n ? n : 0;
}

/* One letter: an initial, or the letter of a list. */
static bool is_one_letter(const struct last_word *w, uint32_t *letter)
{
	size_t begin;

	if (!w->n)
		return false;
	*letter = character_before(w->text, w->n, &begin);
	return !begin && icu_is_letter(*letter);
}

/* "U.S", "z.B", "e.g": letters of an abbreviation, divided by full stops; but "example.com" is a word. */
static bool is_dotted_abbreviation(const struct last_word *w)
{
	const char *dot = memrchr(w->text, '.', w->n);
	uint32_t c;
	struct last_word last;

	if (!dot || dot == w->text)
		return false;
	last = (struct last_word){ dot + 1, w->n - (size_t)(dot + 1 - w->text), false };
	return is_one_letter(&last, &c);
}

/* "5 p.m. The doors close": a time of day ends a sentence if a capital follows. */
static bool is_time_of_day(const struct last_word *w)
{
	return w->n == 3 && (w->text[0] == 'a' || w->text[0] == 'p') &&
	       !memcmp(w->text + 1, ".m", 2);
}

static bool is_abbreviation(const struct sentence_splitter *s, const struct last_word *w,
			    bool before_digit)
{
	const enum abbrev_kind kind =
		s->abbrev ? abbrev_find(s->abbrev, w->text, w->n) : ABBREV_NONE;

	return kind == ABBREV_WORD || (kind == ABBREV_BEFORE_DIGIT && before_digit);
}

/* Does a full stop at `stop` belong to its word? next: the text after the boundary. */
static bool is_stop_of_word(const struct sentence_splitter *s, const char *text, size_t from,
			    size_t stop, const char *next)
{
	const struct last_word w = find_last_word(text, from, stop);
	const size_t digits = count_word_digits(&w);
	uint32_t letter;

	if (!w.n)
		return false;
	if (digits)
		return w.begins_sentence || (s->is_german && digits <= ORDINAL_DIGITS);
	if (is_one_letter(&w, &letter))
		return w.begins_sentence || (icu_is_upper(letter) && letter != 'I');
	if (is_dotted_abbreviation(&w))
		return !is_time_of_day(&w);
	return is_abbreviation(s, &w, *next >= '0' && *next <= '9');
}

/* The end of text[from, end) without marks that close a quotation or a bracket. */
static size_t skip_closing_marks(const char *text, size_t from, size_t end)
{
	size_t begin = end;

	while (end > from && icu_is_closing_mark(character_before(text, end, &begin)))
		end = begin;
	return end;
}

/* Does the sentence text[from, end) go on at next, though ICU ends it? is_spaced: blanks are between. */
static bool goes_on(const struct sentence_splitter *s, const char *text, size_t from, size_t end,
		    const char *next, bool is_spaced)
{
	const size_t mark = skip_closing_marks(text, from, end);
	const char last = mark > from ? text[mark - 1] : 0;

	uint32_t following;

	utf8_decode(next, strlen(next) < 4 ? strlen(next) : 4, &following);
	if (mark < end && icu_is_lower(following)) /* "Why?" she asked */
		return true;
	if (!is_spaced)
		return last == '.' || last == '?' || last == '!';
	return last == '.' && is_stop_of_word(s, text, from, mark - 1, next);
}

static bool has_line_end(const char *text, size_t n)
{
	return memchr(text, '\n', n) || memchr(text, '\r', n);
}

/* ---- ranges ---- */

/* Cut white space off both ends; n 0: nothing is left. */
static struct sentence_range trim_range(const char *text, size_t from, size_t end)
{
	size_t begin;

	while (end > from && is_white_before(text, end, &begin))
		end = begin;
	while (from < end) {
		uint32_t c;
		const size_t n = utf8_decode(text + from, end - from, &c);

		if (!icu_is_white_space(c))
			break;
		from += n;
	}
	return (struct sentence_range){ from, end - from };
}

/*
 * A sentence that begins with a number and a small letter: "… a hill. 5 children play". UAX 29 finds no
 * boundary there. True for a boundary at `at`, after a word of small letters that is no abbreviation.
 */
static bool begins_with_number(const struct sentence_splitter *s, const char *text, size_t from,
			       size_t at)
{
	size_t end = at;
	struct last_word w;
	uint32_t last;
	size_t begin;

	while (end > from && text[end - 1] == ' ')
		end--;
	if (end == at || end <= from + 1 || text[end - 1] != '.')
		return false;
	w = find_last_word(text, from, end - 1);
	if (w.n < SHORT_WORD || memchr(w.text, '.', w.n))
		return false;
	last = character_before(w.text, w.n, &begin);
	return icu_is_lower(last) && !is_abbreviation(s, &w, true);
}

/* The boundaries of ICU and those before numbers, in their order, in s->ends. */
static int find_boundaries(struct sentence_splitter *s, const char *text, size_t n, size_t *n_ends,
			   struct err *e)
{
	size_t n_icu = 0, from = 0;

	*n_ends = 0;
	if (icu_breaks_find(s->breaks, text, n, &s->icu_ends, &n_icu, &s->cap_icu_ends, e))
		return e->code;
	for (size_t i = 0; i < n_icu; from = s->icu_ends[i++]) {
		for (size_t at = from + 1; at <= s->icu_ends[i]; at++) {
			const bool is_number = at < s->icu_ends[i] && text[at - 1] == ' ' &&
					       text[at] >= '0' && text[at] <= '9' &&
					       begins_with_number(s, text, from, at);

			if (!is_number && at < s->icu_ends[i])
				continue;
			if (mem_grow(&s->ends, &s->cap_ends, *n_ends + 1, sizeof(*s->ends), e))
				return e->code;
			s->ends[(*n_ends)++] = at;
		}
	}
	return 0;
}

int sentences_find(struct sentence_splitter *s, const char *text, size_t n,
		   const struct sentence_range **found, size_t *count, struct err *e)
{
	size_t n_ends = 0, from = 0;

	*count = 0;
	if (find_boundaries(s, text, n, &n_ends, e) ||
	    mem_grow(&s->ranges, &s->cap_ranges, MAX(n_ends, 1), sizeof(*s->ranges), e))
		return e->code;
	for (size_t i = 0; i < n_ends; i++) {
		const struct sentence_range r = trim_range(text, from, s->ends[i]);
		const size_t end = r.from + r.n;

		assert(s->ends[i] <= n);
		if (i + 1 < n_ends &&
		    (!r.n || (!has_line_end(text + end, s->ends[i] - end) &&
			      goes_on(s, text, r.from, end, text + s->ends[i], end < s->ends[i]))))
			continue;
		if (r.n)
			s->ranges[(*count)++] = r;
		from = s->ends[i];
	}
	*found = s->ranges;
	return 0;
}
