/* t_scripts.c - letters and their scripts. */
#include "tests/test.h"

#include "data/text/rewrite.h"
#include "data/text/scripts.h"
#include "share/base/text.h"

/*
 * ICU, which scripts.c asks, and PCRE2 may hold different versions of Unicode: characters that
 * PCRE2 does not know yet are left out. Later versions of PCRE2 count a shared letter for each of
 * its scripts: with PCRE2 10.46, 13 of the 103 letters of Devanagari.
 */
TEST(scripts_are_those_of_pcre2)
{
	static const struct {
		const char *pattern;
		enum script script;
	} cases[] = {
		{ "(?=\\p{L})\\p{Latin}", SCRIPT_LATIN },
		{ "(?=\\p{L})\\p{Greek}", SCRIPT_GREEK },
		{ "(?=\\p{L})\\p{Cyrillic}", SCRIPT_CYRILLIC },
		{ "(?=\\p{L})\\p{Arabic}", SCRIPT_ARABIC },
		{ "(?=\\p{L})\\p{Devanagari}", SCRIPT_DEVANAGARI },
		{ "(?=\\p{L})\\p{Han}", SCRIPT_HAN },
		{ "(?=\\p{L})\\p{Katakana}", SCRIPT_KATAKANA },
		{ "\\p{L}", SCRIPT_NONE },
	};
	const char *patterns[ARRAY_LEN(cases)];
	int64_t wrong[ARRAY_LEN(cases)] = { 0 }, all[ARRAY_LEN(cases)] = { 0 };
	struct err e = { 0 };
	struct scripts *s = scripts_new(&e);
	struct charclass *c, *unassigned;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		patterns[i] = cases[i].pattern;
	c = charclass_new(patterns, ARRAY_LEN(cases), &e);
	unassigned = charclass_new((const char *[]){ "\\p{Cn}" }, 1, &e);
	if (check(s && c && unassigned))
		for (uint32_t u = 0; u < CHARCLASS_CODEPOINTS; u++) {
			unsigned want = u - 0xd800 < 0x800 ? 0 : charclass_of(c, u);
			enum script got = scripts_of(s, u);

			if (charclass_of(unassigned, u))
				continue;
			for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
				bool is = i + 1 < ARRAY_LEN(cases) ? got == cases[i].script
								   : got != SCRIPT_NONE;

				all[i] += want >> i & 1;
				wrong[i] += (want >> i & 1) != is;
			}
		}
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (!all[i] || wrong[i] * (i + 1 < ARRAY_LEN(cases) ? 4 : 100) > all[i])
			test_fail(__FILE__, __LINE__, "%s: %lld of %lld differ", cases[i].pattern,
				  (long long)wrong[i], (long long)all[i]);
	charclass_free(unassigned);
	charclass_free(c);
	scripts_free(s);
}

TEST(scripts_are_counted)
{
	static const struct {
		const char *language, *text;
		size_t characters, letters, foreign;
	} cases[] = {
		{ "en", "", 0, 0, 0 },
		{ "en", "Hello, world 123!", 17, 10, 0 },
		{ "de", "F\u00fc\u00dfe \u00d7 \u00e4 \u2013 \u201ea\u201c", 14, 6, 0 },
		{ "de", "\u041f\u0440\u0438\u0432\u0435\u0442 abc", 10, 9, 6 },
		{ "ru", "\u041f\u0440\u0438\u0432\u0435\u0442 abc", 10, 9, 3 },
		{ "sr", "\u041f\u0440\u0438\u0432\u0435\u0442 abc", 10, 9, 0 },
		{ "xx", "\u041f\u0440\u0438\u0432\u0435\u0442 abc", 10, 9, 0 },
		{ "ja", "\u65e5\u672c\u3054\u30ab\u30fc @ab", 9, 7, 2 },
		{ "en", "\U0001F600 x \U00020000", 5, 2, 1 },
		{ "en", "\u02bc\u00aa", 2, 2, 0 }, /* letters of several scripts */
	};
	struct err e = { 0 };
	struct scripts *s = scripts_new(&e);

	for (size_t i = 0; s && i < ARRAY_LEN(cases); i++) {
		struct scripts_count k;

		scripts_count(s, scripts_of_language(cases[i].language), cases[i].text,
			      strlen(cases[i].text), &k);
		if (!check_int(k.characters, cases[i].characters) ||
		    !check_int(k.letters, cases[i].letters) ||
		    !check_int(k.foreign, cases[i].foreign))
			test_fail(__FILE__, __LINE__, "case %zu", i);
	}
	scripts_free(s);
}
