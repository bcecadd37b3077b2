/* t_language_guess.c - the languages of sentences; of 1,000 lines of each language of a test set, if there is one */
#include "data/judge/language_guess.h"

#include <stdio.h>
#include <string.h>

#include "share/base/lines.h"
#include "share/base/util.h"
#include "tests/test.h"

static const char *const codes[] = { "en", "de", "fr", "ja" };

/* The best of the codes. */
static size_t best_of(const double *shares)
{
	size_t best = 0;

	for (size_t i = 1; i < ARRAY_LEN(codes); i++)
		best = shares[i] > shares[best] ? i : best;
	return best;
}

TEST(language_guess_sentences)
{
	static const struct {
		const char *text, *code; /* code NULL: in none of them */
	} cases[] = {
		{ "The dog sleeps under the table.", "en" },
		{ "Der Hund schläft unter dem Tisch.", "de" },
		{ "ES IST SEHR KALT FÜR DIE KINDER", "de" },
		{ "Le chien dort sous la table.", "fr" },
		{ "犬がテーブルの下で眠っています。", "ja" },
		{ "El perro duerme debajo de la mesa y no ladra.", NULL },
		{ "Собака спит под столом.", NULL },
		{ "", NULL },
		{ "12 345 !?", NULL },
	};
	struct err e = { 0 };
	struct language_guess *g = language_guess_new(&e);
	double shares[ARRAY_LEN(codes)];

	if (!check(g))
		return;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t best;

		language_guess_text(g, cases[i].text, strlen(cases[i].text), codes,
				    ARRAY_LEN(codes), shares);
		best = best_of(shares);
		if (cases[i].code)
			check_str(codes[best], cases[i].code);
		check(cases[i].code ? shares[best] > 0.6 : shares[best] < 0.4);
	}
	language_guess_free(g);
}

TEST(language_guess_long_text)
{
	const char *code = "de";
	struct err e = { 0 };
	struct language_guess *g = language_guess_new(&e);
	char text[LANGUAGE_GUESS_BYTES + 400];
	double share;

	/* the limit is within a character, and a word has no end */
	memset(text, 'x', sizeof(text));
	for (size_t i = 1; i + 1 < sizeof(text); i += 2)
		memcpy(text + i, "ü", 2);
	language_guess_text(g, text, sizeof(text) - 1, &code, 1, &share);
	check(share > 0 && share < 1);
	language_guess_free(g);
}

/* Of 1,000 lines of a test set, how many are found to be in the language, and the mean of their shares. */
static void guess_lines(const struct language_guess *g, const char *name, const char *code)
{
	const char *path = test_data(name);
	double sum = 0, shares[ARRAY_LEN(codes)];
	struct lines in;
	struct err e = { 0 };
	int n = 0, right = 0;

	if (!path || !check_int(lines_open(&in, path, &e), 0))
		return;
	for (; n < 1000 && lines_next(&in, &e) > 0; n++) {
		language_guess_text(g, in.text, in.len, codes, ARRAY_LEN(codes), shares);
		right += !strcmp(codes[best_of(shares)], code);
		sum += shares[best_of(shares)];
	}
	lines_close(&in);
	fprintf(stderr, "%s: %d of %d lines, mean share %.3f\n", code, right, n, sum / n);
	check(n == 1000 && right >= 975);
}

TEST(language_guess_test_set)
{
	struct err e = { 0 };
	struct language_guess *g = language_guess_new(&e);

	guess_lines(g, "newstest/newstest2014.en", "en");
	guess_lines(g, "newstest/newstest2014.de", "de");
	language_guess_free(g);
}
