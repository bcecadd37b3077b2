/* word_marks.c - see word_marks.h */
#include "data/judge/word_marks.h"

#include <stdlib.h>
#include <string.h>

#include "data/text/chars.h"
#include "data/text/icu.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

static const struct {
	const char *code, *name, *words;
} languages[] = {
#define LANGUAGE(code, name, words) { code, name, words },
#include "data/judge/language_words.def"
#undef LANGUAGE
};

_Static_assert(ARRAY_LEN(languages) <= 64, "a bit of word_mark.languages for each language");

int language_row(const char *code)
{
	size_t n = strcspn(code, "-_");

	if (n == 2 && !strncmp(code, "no", n))
		code = "nb";
	for (size_t i = 0; i < ARRAY_LEN(languages); i++)
		if (strlen(languages[i].code) == n && !strncmp(languages[i].code, code, n))
			return (int)i;
	return -1;
}

const char *language_row_code(int row)
{
	return languages[row].code;
}

const char *language_row_name(int row)
{
	return languages[row].name;
}

int language_rows(void)
{
	return ARRAY_LEN(languages);
}

static int add_frequent_word(struct word_marks *m, const char *word, size_t n, size_t row,
			     size_t *cap, struct err *e)
{
	const int32_t before = m->frequent.n;
	int32_t at;

	if (intern_add(&m->frequent, word, n, &at, e) ||
	    mem_grow(&m->frequent_languages, cap, (size_t)m->frequent.n, sizeof(uint64_t), e))
		return e->code;
	if (at == before)
		m->frequent_languages[at] = 0;
	m->frequent_languages[at] |= (uint64_t)1 << row;
	return 0;
}

int word_marks_open(struct word_marks *m, bool is_escaped, struct err *e)
{
	size_t cap = 0;

	*m = (struct word_marks){ .is_escaped = is_escaped };
	for (size_t row = 0; row < ARRAY_LEN(languages); row++) {
		const char *at = languages[row].words, *end = at + strlen(at), *word;
		size_t n;

		while ((word = chars_next_word(&at, end, &n)) != NULL)
			if (add_frequent_word(m, word, n, row, &cap, e))
				return e->code;
	}
	return 0;
}

void word_marks_free(struct word_marks *m)
{
	intern_free(&m->words);
	intern_free(&m->terms);
	intern_free(&m->frequent);
	free(m->marks);
	free(m->term_lists);
	free(m->frequent_languages);
	*m = (struct word_marks){ 0 };
}

/* ---- one word ---- */

/* Is the word an XML entity, or does it hold one ("&lt;", "&#39;")? */
static bool holds_entity(const char *word, size_t n)
{
	const char *at = memchr(word, '&', n), *end = word + n;

	for (; at; at = memchr(at, '&', (size_t)(end - at))) {
		const char *name = ++at;

		while (at < end && at - name < 8 &&
		       ((*at >= 'a' && *at <= 'z') || *at == '#' || (*at >= '0' && *at <= '9')))
			at++;
		if (at - name >= 2 && at < end && *at == ';')
			return true;
	}
	return false;
}

static unsigned flags_of_text(const struct word_marks *m, const char *word, size_t n)
{
	static const struct {
		const char *word;
		unsigned flag;
	} special[] = {
		{ "\"", WORD_QUOTE },	     { "&quot;", WORD_QUOTE }, { "<", WORD_OPENS },
		{ "&lt;", WORD_OPENS },	     { ">", WORD_CLOSES },     { "&gt;", WORD_CLOSES },
		{ "&amp;", WORD_AMPERSAND }, { "&", WORD_AMPERSAND },
	};

	for (size_t i = 0; i < ARRAY_LEN(special); i++)
		if (strlen(special[i].word) == n && !memcmp(special[i].word, word, n) &&
		    (m->is_escaped || n == 1))
			return special[i].flag;
	if (m->is_escaped)
		return 0;
	return (holds_entity(word, n) ? WORD_ENTITY : 0) |
	       (*word == '"' || word[n - 1] == '"' ? WORD_QUOTE : 0) |
	       (*word == '<' ? WORD_OPENS : 0) | (word[n - 1] == '>' ? WORD_CLOSES : 0);
}

static bool is_without_blanks(enum script s)
{
	return s == SCRIPT_HAN || s == SCRIPT_HIRAGANA || s == SCRIPT_KATAKANA ||
	       s == SCRIPT_THAI || s == SCRIPT_LAO || s == SCRIPT_KHMER || s == SCRIPT_MYANMAR ||
	       s == SCRIPT_TIBETAN;
}

static int add_term(struct word_marks *m, struct word_mark *mark, const char *text, size_t n,
		    struct err *e)
{
	int32_t term;

	if (mark->n_terms == WORD_TERMS_MAX)
		return 0;
	if (intern_add(&m->terms, text, n, &term, e) ||
	    mem_grow(&m->term_lists, &m->cap_terms, m->n_terms + 1, sizeof(term), e))
		return e->code;
	m->term_lists[m->n_terms++] = term;
	mark->n_terms++;
	return 0;
}

/* Lower-case text of the word, as far as languages and terms need it. */
struct lower_word {
	char text[128];
	size_t n, n_prefix; /* bytes; of the first TERM_CHARACTERS characters */
};

static int mark_characters(struct word_marks *m, struct word_mark *mark, const char *word, size_t n,
			   struct lower_word *lower, struct err *e)
{
	int cased = 0, n_upper = 0, n_lower = 0, characters = 0;

	for (size_t at = 0, bytes; at < n; at += bytes) {
		uint32_t c;
		bool is_upper, is_lower;

		bytes = utf8_decode(word + at, n - at, &c);
		is_upper = icu_is_upper(c);
		is_lower = icu_is_lower(c);
		n_upper += is_upper;
		n_lower += is_lower;
		cased += is_upper || is_lower;
		if (c > 0x0e00 && is_without_blanks(icu_letter_script(c)) &&
		    add_term(m, mark, word + at, bytes, e))
			return e->code;
		if (lower->n + 4 > sizeof(lower->text))
			continue;
		lower->n += utf8_encode(icu_to_lower(c), lower->text + lower->n);
		if (++characters <= TERM_CHARACTERS)
			lower->n_prefix = lower->n;
	}
	mark->flags |= (uint8_t)((cased >= 2 ? WORD_CASED : 0) |
				 (cased >= 2 && !n_lower ? WORD_CAPITALS : 0) |
				 (n_upper ? WORD_HAS_UPPER : 0));
	return 0;
}

static uint64_t languages_of(const struct word_marks *m, const struct lower_word *lower)
{
	const int32_t frequent = lower->n < sizeof(lower->text) - 4
					 ? intern_find(&m->frequent, lower->text, lower->n)
					 : -1;

	return frequent < 0 ? 0 : m->frequent_languages[frequent];
}

uint64_t word_marks_languages(const struct word_marks *m, const char *word, size_t n)
{
	struct lower_word lower = { .n = 0 };
	uint32_t c;

	for (size_t at = 0; at < n && lower.n + 4 <= sizeof(lower.text);) {
		at += utf8_decode(word + at, n - at, &c);
		lower.n += utf8_encode(icu_to_lower(c), lower.text + lower.n);
	}
	return languages_of(m, &lower);
}

static int mark_word(struct word_marks *m, struct word_mark *mark, const char *word, size_t n,
		     struct err *e)
{
	struct lower_word lower = { .n = 0 };

	*mark = (struct word_mark){ .first_term = (int32_t)m->n_terms };
	mark->flags = (uint8_t)flags_of_text(m, word, n);
	if (mark_characters(m, mark, word, n, &lower, e))
		return e->code;
	mark->languages = languages_of(m, &lower);
	return mark->n_terms ? 0 : add_term(m, mark, lower.text, lower.n_prefix, e);
}

int32_t word_marks_add(struct word_marks *m, const char *word, size_t n, struct err *e)
{
	const int32_t before = m->words.n;
	int32_t number;

	if (intern_add(&m->words, word, n, &number, e))
		return -1;
	if (number < before)
		return number;
	if (mem_grow(&m->marks, &m->cap_marks, (size_t)m->words.n, sizeof(*m->marks), e) ||
	    mark_word(m, &m->marks[number], word, n, e))
		return -1;
	return number;
}
