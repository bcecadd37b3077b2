/* t_demo.c - the built-in corpus: correct sentences, each of them once. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "data/demo/demo.h"
#include "data/demo/demo_grammar.h"
#include "share/base/hash.h"
#include "share/base/mem.h"

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* How many of the n strings are equal to another one; sorts them. */
static int64_t count_repeated(char **texts, size_t n)
{
	int64_t repeated = 0;
	size_t i;

	qsort(texts, n, sizeof(*texts), compare_text);
	for (i = 1; i < n; i++)
		repeated += !strcmp(texts[i - 1], texts[i]);
	return repeated;
}

static int count_words(const char *text)
{
	int n = 1;

	for (; *text; text++)
		n += *text == ' ';
	return n;
}

static bool is_well_written(const char *text)
{
	size_t n = strlen(text);

	return n > 3 && (text[n - 1] == '.' || text[n - 1] == '?') &&
	       !(text[0] >= 'a' && text[0] <= 'z') && !strstr(text, "  ") && !strstr(text, " ,") &&
	       !strstr(text, " .") && !strchr(text, '_') && !strchr(text, '@') &&
	       count_words(text) <= 15;
}

#define PAIRS 25000

TEST(demo_gives_25000_distinct_pairs)
{
	struct err e = { 0 };
	struct demo *d = demo_open(1, &e);
	struct buf en = { 0 }, de = { 0 };
	char **english = mem_alloc(PAIRS, sizeof(*english), &e),
	     **german = mem_alloc(PAIRS, sizeof(*german), &e);
	size_t n = 0;
	int bad = 0;

	if (!check(d && english && german))
		goto out;
	for (; n < PAIRS && !demo_next(d, &en, &de, &e); n++) {
		english[n] = mem_strdup(buf_text(&en), &e);
		german[n] = mem_strdup(buf_text(&de), &e);
		if (!is_well_written(english[n]) || !is_well_written(german[n])) {
			fprintf(stderr, "%s | %s\n", english[n], german[n]);
			bad++;
		}
		/* prepositions and articles that German writes as one */
		bad += strstr(german[n], " in dem ") || strstr(german[n], " zu der ") ||
		       strstr(german[n], " von dem ");
	}
	check_int(n, PAIRS);
	check_int(bad, 0);
	check_int(count_repeated(english, n), 0);
	check_int(count_repeated(german, n), 0);
out:
	while (n--) {
		free(english[n]);
		free(german[n]);
	}
	free(english);
	free(german);
	buf_free(&en);
	buf_free(&de);
	demo_close(d);
}

/* A sum over the first pairs of a seed. */
static uint64_t fingerprint(uint64_t seed, int pairs)
{
	struct err e = { 0 };
	struct demo *d = demo_open(seed, &e);
	struct buf en = { 0 }, de = { 0 };
	uint64_t sum = 0;

	for (; d && pairs; pairs--) {
		if (!check_int(demo_next(d, &en, &de, &e), 0))
			break;
		sum = sum * 31 + hash_bytes(en.data, en.len) + 7 * hash_bytes(de.data, de.len);
	}
	buf_free(&en);
	buf_free(&de);
	demo_close(d);
	return sum;
}

TEST(demo_depends_on_the_seed_only)
{
	check(fingerprint(1, 500) != 0);
	check(fingerprint(1, 500) == fingerprint(1, 500));
	check(fingerprint(1, 500) != fingerprint(2, 500));
}

/* Sorted by English, neighbours with the same English must have the same German. */
TEST(demo_has_one_german_for_each_english)
{
	enum { TRIES = 150000 };
	struct err e = { 0 };
	struct demo_lexicon x;
	struct demo_patterns p = { 0 };
	struct demo_rng dice = { rng_key_make(99, RNG_TEST, 0, 0), 0 };
	struct buf en = { 0 }, de = { 0 };
	char **pairs = mem_alloc(TRIES, sizeof(*pairs), &e), *tab;
	size_t n = 0, i, m, twice = 0;

	if (!check_int(demo_lexicon_read(&x, &e), 0) ||
	    !check_int(demo_patterns_read(&p, &x, &e), 0) || !check(pairs))
		goto out;
	for (i = 0; i < TRIES; i++)
		if (demo_sentence(&x, &p, &dice, &en, &de)) {
			buf_printf(&en, "\t%s", buf_text(&de));
			pairs[n++] = mem_strdup(buf_text(&en), &e);
		}
	check(n > TRIES / 2);
	qsort(pairs, n, sizeof(*pairs), compare_text);
	for (i = 1; i < n; i++) {
		tab = strchr(pairs[i], '\t');
		m = (size_t)(tab - pairs[i]) + 1;
		if (strncmp(pairs[i - 1], pairs[i], m))
			continue;
		twice++;
		if (strcmp(pairs[i - 1], pairs[i]))
			test_fail(__FILE__, __LINE__, "two ways to say it: %s / %s", pairs[i - 1],
				  pairs[i]);
	}
	check(twice > 1000); /* the check had cases */
out:
	while (n--)
		free(pairs[n]);
	free(pairs);
	buf_free(&en);
	buf_free(&de);
	demo_patterns_free(&p);
	demo_lexicon_free(&x);
}

static const struct demo_noun *find_noun(const struct demo_lexicon *x, const char *singular)
{
	for (size_t i = 0; i < x->nouns.n; i++)
		if (!strcmp(x->nouns.at[i].singular, singular))
			return &x->nouns.at[i];
	return NULL;
}

static const struct demo_adjective *find_adjective(const struct demo_lexicon *x,
						   const char *english)
{
	for (size_t i = 0; i < x->adjectives.n; i++)
		if (!strcmp(x->adjectives.at[i].english, english))
			return &x->adjectives.at[i];
	return NULL;
}

TEST(demo_inflects_noun_phrases)
{
	static const struct {
		const char *noun, *adjective;
		enum demo_determiner determiner;
		bool plural;
		enum demo_case c;
		const char *german;
	} cases[] = {
		{ "table", "old", DET_THE, false, CASE_NOMINATIVE, "der alte Tisch " },
		{ "table", "old", DET_THE, false, CASE_ACCUSATIVE, "den alten Tisch " },
		{ "table", "old", DET_A, false, CASE_NOMINATIVE, "ein alter Tisch " },
		{ "table", "old", DET_A, false, CASE_DATIVE, "einem alten Tisch " },
		{ "table", "old", DET_NONE, true, CASE_DATIVE, "alten Tischen " },
		{ "table", "old", DET_COUNT, true, CASE_NOMINATIVE, "zwei alte Tische " },
		{ "lamp", "expensive", DET_MY, false, CASE_NOMINATIVE, "meine teure Lampe " },
		{ "lamp", "expensive", DET_KEIN, true, CASE_ACCUSATIVE, "keine teuren Lampen " },
		{ "book", "new", DET_THIS, false, CASE_ACCUSATIVE, "dieses neue Buch " },
		{ "book", "new", DET_OUR, false, CASE_NOMINATIVE, "unser neues Buch " },
		{ "book", "new", DET_THE, false, CASE_GENITIVE, "des neuen Buches " },
		{ "boy", NULL, DET_THE, false, CASE_NOMINATIVE, "der Junge " },
		{ "boy", "ill", DET_A, false, CASE_ACCUSATIVE, "einen kranken Jungen " },
		{ "neighbour", NULL, DET_THE, false, CASE_GENITIVE, "des Nachbarn " },
		{ "car", NULL, DET_MANY, true, CASE_DATIVE, "vielen Autos " },
		{ "sister", NULL, DET_THEIR, true, CASE_DATIVE, "ihren Schwestern " },
		{ "milk", "cold", DET_NONE, false, CASE_ACCUSATIVE, "kalte Milch " },
		{ "coffee", "cold", DET_NONE, false, CASE_ACCUSATIVE, "kalten Kaffee " },
		{ "child", NULL, DET_EVERY, false, CASE_NOMINATIVE, "jedes Kind " },
		{ "house", "dark", DET_WHICH, true, CASE_ACCUSATIVE, "welche dunklen Häuser " },
	};
	struct err e = { 0 };
	struct demo_lexicon x;
	struct buf out = { 0 };

	if (check_int(demo_lexicon_read(&x, &e), 0))
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
			struct demo_phrase p = {
				.pronoun = -1,
				.noun = find_noun(&x, cases[i].noun),
				.count = 2,
				.adjective = cases[i].adjective
						     ? find_adjective(&x, cases[i].adjective)
						     : NULL,
				.determiner = cases[i].determiner,
				.plural = cases[i].plural
			};

			if (!check(p.noun && !p.adjective == !cases[i].adjective))
				continue;
			buf_clear(&out);
			demo_write_phrase(&out, DEMO_GERMAN, &p, cases[i].c, FORM_FULL);
			check_str(buf_text(&out), cases[i].german);
		}
	buf_free(&out);
	demo_lexicon_free(&x);
}

TEST(demo_says_numbers)
{
	static const struct {
		int n;
		const char *english, *german;
	} cases[] = {
		{ 2, "two ", "zwei " },
		{ 12, "twelve ", "zwölf " },
		{ 17, "seventeen ", "siebzehn " },
		{ 30, "thirty ", "dreißig " },
		{ 21, "twenty-one ", "einundzwanzig " },
		{ 76, "seventy-six ", "sechsundsiebzig " },
	};
	struct buf en = { 0 }, de = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		buf_clear(&en);
		buf_clear(&de);
		demo_write_number(&en, DEMO_ENGLISH, cases[i].n);
		demo_write_number(&de, DEMO_GERMAN, cases[i].n);
		check_str(buf_text(&en), cases[i].english);
		check_str(buf_text(&de), cases[i].german);
	}
	buf_free(&en);
	buf_free(&de);
}
