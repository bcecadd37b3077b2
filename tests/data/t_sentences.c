/* t_sentences.c - tests of the sentence splitter: rules, and that no byte is lost */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "data/text/sentences.h"
#include "share/base/rng.h"
#include "share/base/text.h"

/* expected: the text with | at each boundary, in place of the blanks there. */
static void check_sentences(const char *language, const char *expected)
{
	struct err e = { 0 };
	struct sentence_splitter *s = sentence_splitter_new(language, &e);
	char text[1000], got[1000] = "";
	const struct sentence_range *r;
	size_t n;

	check(s != NULL);
	snprintf(text, sizeof(text), "%s", expected);
	for (char *p = text; *p; p++)
		if (*p == '|')
			*p = ' ';
	check_err(sentences_find(s, text, strlen(text), &r, &n, &e), 0);
	for (size_t i = 0; i < n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%.*s", i ? "|" : "",
			 (int)r[i].n, text + r[i].from);
	check_str(got, expected);
	sentence_splitter_free(s);
}

TEST(sentences_english)
{
	check_sentences("en", "The girl opens the window.|The boy drinks the milk.");
	check_sentences("en", "Is it late?|Yes!|We go.");
	check_sentences("en", "Dr. Smith met Mr. Jones in St. Louis.|They talked.");
	check_sentences("en", "J. S. Bach wrote it.|So did I.|He knew.");
	check_sentences("en", "The U.S. Army came at 5 p.m.|The doors were closed.");
	check_sentences("en", "It costs 3.50 dollars, e.g. here.|See example.com.|Then go.");
	check_sentences("en", "\"Come in.\"|She smiled.|(He did not.)|Why?");
	check_sentences("en", "1. Introduction to it.|2. The rest.");
	check_sentences("en", "Look at http://a.b/?c=d!e now.|It works.");
	check_sentences("en", "They sit on a hill.|5 children play.|That is No. 3 of them.");
	check_sentences("en", "\"Why?\" she asked.|(Well!) he said.");
	check_sentences("en", "Wait... what?|No.");
	check_sentences("en", "no capital. here");
	check_sentences("en", "One sentence without an end");
}

TEST(sentences_german)
{
	check_sentences("de", "Am 3. Mai kam Dr. Müller.|Er ging am 21. Juni.");
	check_sentences("de", "Das ist z.B. hier so, bzw. dort.|Ja.");
	check_sentences("de", "Es war 1990.|Danach kam Nr. 5.");
	check_sentences("de", "„Komm herein.“|Sie lächelte.");
	check_sentences("de", "Über 5 Mio. Menschen leben hier.|Österreich ist schön.");
}

TEST(sentences_of_other_languages)
{
	check_sentences("fr", "Il pleut.|Où vas-tu ?|Je reste.");
	check_sentences("ru", "Привет.|Как дела?|А. С. Пушкин писал.");
	check_sentences("xx", "One thing.|Another thing.");
}

/* No blanks between sentences: the boundaries are those of the full stops. */
TEST(sentences_of_chinese)
{
	struct err e = { 0 };
	struct sentence_splitter *s = sentence_splitter_new("zh", &e);
	const char *text = "我来了。你好吗？很好！";
	const struct sentence_range *r;
	size_t n;

	check(s != NULL);
	check_err(sentences_find(s, text, strlen(text), &r, &n, &e), 0);
	check_int(n, 3);
	check_int(r[1].from, strlen("我来了。"));
	check_int(r[2].n, strlen("很好！"));
	sentence_splitter_free(s);
}

TEST(sentences_end_at_line_ends)
{
	struct err e = { 0 };
	struct sentence_splitter *s = sentence_splitter_new("de", &e);
	const char *text = " \tAm 3.\nMai kam er\r\n\r\nund ging. \n";
	const struct sentence_range *r;
	size_t n;

	check_err(sentences_find(s, text, strlen(text), &r, &n, &e), 0);
	check_int(n, 3);
	check(!strncmp(text + r[0].from, "Am 3.", r[0].n));
	check(!strncmp(text + r[1].from, "Mai kam er", r[1].n));
	check_err(sentences_find(s, " \t\n", 3, &r, &n, &e), 0);
	check_int(n, 0);
	check_err(sentences_find(s, "", 0, &r, &n, &e), 0);
	check_int(n, 0);
	sentence_splitter_free(s);
}

/* Ranges rise, none is empty, and what lies outside of them is white space. */
TEST(sentences_lose_nothing)
{
	static const char *const pieces[] = {
		"a",  "B",  "ß",    ".",       "...",	       "!",  "?",  " ", "  ",
		"\n", "3.", "Dr",   "z.B",     "\xe3\x80\x82", "我", "\"", ")", "\t ",
		"—",  "1",  "\r\n", "\xc2\xa0"
	};
	static const char *const languages[] = { "en", "de", "zh", "fr" };
	struct err e = { 0 };

	for (uint64_t round = 0; round < 2000; round++) {
		struct sentence_splitter *s = sentence_splitter_new(languages[round % 4], &e);
		struct rng_key key = rng_key_make(round, RNG_SAMPLE, 0, 0);
		const struct sentence_range *r;
		struct buf text = { 0 };
		size_t n, at = 0;

		for (uint64_t i = 0; i < 5 + round % 60; i++)
			buf_add_str(&text, pieces[rng_u32(key, i) % ARRAY_LEN(pieces)]);
		check_err(sentences_find(s, buf_text(&text), text.len, &r, &n, &e), 0);
		for (size_t i = 0; i <= n; i++) {
			const size_t end = i < n ? r[i].from : text.len;

			check(end >= at);
			for (; at < end; at++)
				check(strchr(" \t\r\n\xc2\xa0", text.data[at]) != NULL);
			if (i < n) {
				check(r[i].n > 0 && r[i].from + r[i].n <= text.len);
				at = r[i].from + r[i].n;
			}
		}
		buf_free(&text);
		sentence_splitter_free(s);
	}
}
