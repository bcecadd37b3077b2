/* language_guess.c - see language_guess.h */
#include "data/judge/language_guess.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/judge/word_marks.h"
#include "data/text/chars.h"
#include "data/text/icu.h"
#include "data/text/scripts.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

/* Logarithms of ratios of probabilities */
#define WORD_WEIGHT   3.0  /* of a frequent word, if the language has it */
#define SCRIPT_WEIGHT -0.8 /* of a letter of a script in which the language is not written */
#define LETTER_WEIGHT -1.5 /* of a letter that no frequent word of the language has */
#define ASKED_WEIGHT  2.0  /* of a language that was asked for, before the text is seen */

#define FIRST_LETTER 0xc0
#define LAST_LETTER  0x17f /* Latin-1 Supplement and Latin Extended-A */
#define MAX_ROWS     64

struct language_guess {
	struct word_marks marks; /* owned: only frequent words */
	struct scripts *scripts; /* owned */
	/* of each letter: bits of the rows with a word that has it */
	uint64_t letters[LAST_LETTER - FIRST_LETTER + 1];
};

static bool is_extended_letter(uint32_t c)
{
	return c >= FIRST_LETTER && c <= LAST_LETTER;
}

/* Which letters do the words of each row have? */
static void list_letters(struct language_guess *g)
{
	for (int32_t i = 0; i < g->marks.frequent.n; i++) {
		size_t n;
		const char *word = intern_text(&g->marks.frequent, i, &n);
		uint32_t c;

		for (size_t at = 0; at < n;) {
			at += utf8_decode(word + at, n - at, &c);
			if (is_extended_letter(c))
				g->letters[c - FIRST_LETTER] |= g->marks.frequent_languages[i];
		}
	}
}

struct language_guess *language_guess_new(struct err *e)
{
	struct language_guess *g = mem_alloc(1, sizeof(*g), e);

	if (!g)
		return NULL;
	g->scripts = scripts_new(e);
	if (!g->scripts || word_marks_open(&g->marks, false, e)) {
		language_guess_free(g);
		return NULL;
	}
	list_letters(g);
	return g;
}

void language_guess_free(struct language_guess *g)
{
	if (!g)
		return;
	word_marks_free(&g->marks);
	scripts_free(g->scripts);
	free(g);
}

/* A language that the text may be in. */
struct guessed_language {
	uint64_t row;	  /* bit of language_words.def; 0: it has none */
	uint32_t scripts; /* bits */
	double weight;
};

static struct guessed_language guess_of_code(const char *code)
{
	const int row = language_row(code);
	char base[16];

	snprintf(base, sizeof(base), "%.*s", (int)strcspn(code, "-_"), code);
	return (struct guessed_language){ row < 0 ? 0 : (uint64_t)1 << row,
					  scripts_of_language(base), 0 };
}

/* The asked languages, all others of language_words.def, and one without words that fits every script. */
static size_t list_guesses(const char *const *codes, size_t n_codes, struct guessed_language *all)
{
	uint64_t asked = 0;
	size_t n = 0;

	for (; n < n_codes; n++) {
		all[n] = guess_of_code(codes[n]);
		all[n].weight = ASKED_WEIGHT;
		asked |= all[n].row;
	}
	for (int row = 0; row < language_rows(); row++)
		if (!(asked >> row & 1))
			all[n++] = guess_of_code(language_row_code(row));
	all[n++] = (struct guessed_language){ 0, UINT32_MAX, 0 };
	return n;
}

/* Weighs one character for all languages; false: it is no letter. */
static bool weigh_letter(const struct language_guess *g, uint32_t c, struct guessed_language *all,
			 size_t n)
{
	const enum script script = scripts_of(g->scripts, c);
	const uint32_t lower = is_extended_letter(c) ? icu_to_lower(c) : 0;
	const bool is_extended = is_extended_letter(lower);

	for (size_t i = 0; script != SCRIPT_NONE && i < n; i++)
		if (!(all[i].scripts >> script & 1))
			all[i].weight += SCRIPT_WEIGHT;
		else if (is_extended && all[i].row &&
			 !(g->letters[lower - FIRST_LETTER] & all[i].row))
			all[i].weight += LETTER_WEIGHT;
	return script != SCRIPT_NONE;
}

/* Weighs one word for all languages. */
static void weigh_word(const struct language_guess *g, const char *word, size_t n_word,
		       struct guessed_language *all, size_t n)
{
	const uint64_t rows = word_marks_languages(&g->marks, word, n_word);

	for (size_t i = 0; rows && i < n; i++)
		if (rows & all[i].row)
			all[i].weight += WORD_WEIGHT;
}

void language_guess_text(const struct language_guess *g, const char *text, size_t n,
			 const char *const *codes, size_t n_codes, double *shares)
{
	struct guessed_language all[LANGUAGE_GUESS_MAX + MAX_ROWS + 1];
	const size_t n_all = list_guesses(codes, MIN(n_codes, (size_t)LANGUAGE_GUESS_MAX), all);
	double best = -INFINITY, sum = 0;
	const size_t n_text = n;
	size_t word = 0;
	bool has_letters = false;

	for (n = MIN(n, (size_t)LANGUAGE_GUESS_BYTES); n < n_text && (text[n] & 0xc0) == 0x80;)
		n--; /* to the beginning of a character */
	for (size_t at = 0, bytes; at <= n; at += bytes) {
		uint32_t c = ' ';

		bytes = at < n ? utf8_decode(text + at, n - at, &c) : 1;
		has_letters |= weigh_letter(g, c, all, n_all);
		if (chars_is_blank(c) || icu_is_punctuation(c) || icu_is_digit(c)) {
			weigh_word(g, text + word, at - word, all, n_all);
			word = at + bytes;
		}
	}
	for (size_t i = 0; i < n_all; i++)
		best = fmax(best, all[i].weight);
	for (size_t i = 0; i < n_all; i++)
		sum += exp(all[i].weight - best);
	for (size_t i = 0; i < n_codes; i++)
		shares[i] =
			has_letters && i < LANGUAGE_GUESS_MAX ? exp(all[i].weight - best) / sum : 0;
}
