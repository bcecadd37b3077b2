/* t_text_filter.c - filters that users type: plain texts and regular expressions. */
#include <stdlib.h>
#include <string.h>

#include "data/text/text_filter.h"
#include "share/base/clock.h"
#include "share/base/util.h"
#include "tests/test.h"

static struct err e;

TEST(text_filters_match)
{
	static const struct {
		const char *filter, *text;
		bool matches;
	} cases[] = {
		{ "", "anything", true },
		{ "run", "first-RUN", true },
		{ "Run", "first-run", false }, /* a capital letter: case counts */
		{ "Run", "Run-1", true },
		{ "a.c", "abc", false }, /* no regular expression */
		{ "~a.c", "xABCx", true },
		{ "~^a.c$", "xabcx", false },
		{ "~A.c", "abc", false },
		{ "~\\W\\S", "a b", true }, /* the letters after \ are no capitals */
		{ "~\\p{Lu}\\d", "x É7", true },
		{ "~^run-[0-9]+$", "run-17", true },
		{ "~^run-[0-9]+$", "run-x", false },
		{ "~", "a ~ b", true }, /* alone it is a plain text */
		{ "~", "a b", false },
		{ "~~", "a ~ b", true },
		{ "~ü", "GRÜN", true },
		{ "~b", "\xff\xfe b \xc3", true }, /* bytes that are no UTF-8 */
		{ "~x*", "", true },
	};
	struct text_filter f = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		check_int(text_filter_set(&f, cases[i].filter, &e), 0);
		check_str(f.text, cases[i].filter);
		if (text_filter_matches(&f, cases[i].text) != cases[i].matches)
			check_str(cases[i].filter, cases[i].text);
	}
	text_filter_set(&f, "~c$", &e);
	check(text_filter_matches_bytes(&f, "abcd", 3));
	text_filter_set(&f, "cd", &e);
	check(!text_filter_matches_bytes(&f, "abcd", 3));
	check(text_filter_matches_bytes(&f, "abcd", 4));
	text_filter_clear(&f);
	check(text_filter_matches(&f, "x"));
}

TEST(text_filters_find_what_to_mark)
{
	struct text_filter f = { 0 };
	const char *text = "step 12: loss 3.5";
	size_t n = 0;

	check(!text_filter_find(&f, text, &n));
	text_filter_set(&f, "~[0-9.]+$", &e);
	check_str(text_filter_find(&f, text, &n), "3.5");
	check_int(n, 3);
	text_filter_set(&f, "LOSS", &e);
	check(!text_filter_find(&f, text, &n));
	text_filter_set(&f, "loss", &e);
	check_str(text_filter_find(&f, text, &n), "loss 3.5");
	check_int(n, 4);
	text_filter_set(&f, "~x*", &e);
	check(!text_filter_find(&f, text, &n)); /* empty matches are not marked */
	text_filter_clear(&f);
}

/* A bad filter leaves the old one; the message says where it is wrong. */
TEST(text_filters_refuse)
{
	struct text_filter f = { 0 };
	char long_text[TEXT_FILTER_BYTES + 1];

	memset(long_text, 'a', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = 0;
	text_filter_set(&f, "~^b", &e);
	check_int(text_filter_set(&f, "~ü(a", &e), ERR_USAGE);
	check(strstr(e.text, "missing closing parenthesis") && strstr(e.text, "at character 4"));
	check_int(text_filter_set(&f, "~\\C", &e), ERR_USAGE);
	check_int(text_filter_set(&f, long_text, &e), ERR_USAGE);
	check_str(f.text, "~^b");
	check(text_filter_matches(&f, "bc") && !text_filter_matches(&f, "cb"));
	check_int(text_filter_set(&f, f.text, &e), 0);
	check(text_filter_matches(&f, "bc") && !text_filter_matches(&f, "cb"));
	text_filter_clear(&f);
}

/* A pattern that would need exponential time counts as no match, soon. */
TEST(text_filters_do_not_block)
{
	struct text_filter f = { 0 };
	double began = clock_mono_s();

	check_int(text_filter_set(&f, "~^(a+)+(b|c)\\1$", &e), 0);
	for (int i = 0; i < 100; i++)
		check(!text_filter_matches(&f,
					   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaad"));
	check(clock_mono_s() - began < 10);
	text_filter_clear(&f);
}
