/* t_text_facts.c - what a corpus says about its text: the table, and what wins against it. */
#include <stdio.h>
#include <string.h>

#include "share/base/util.h"
#include "share/conf/text_facts.h"
#include "tests/test.h"

TEST(text_facts_have_a_row_for_each_option_of_data)
{
	const char *section, *name;
	size_t n = 0;

	for (size_t i = 0; (name = conf_option_at(i, &section)) != NULL; i++) {
		const bool is_data = !strcmp(section, "data") && strcmp(name, "corpus") != 0;

		if (is_data != (text_fact_find(name) != NULL))
			test_fail(__FILE__, __LINE__, "%s: [%s], but %s row", name, section,
				  is_data ? "no" : "a");
		n += is_data;
	}
	for (size_t i = 0; i < n; i++)
		check(text_fact_at(i) != NULL);
	check(text_fact_at(n) == NULL);
}

/* A corpus x and a recipe of the user; the code of adopting. */
static int adopt(struct conf *c, const char *corpus, const char *recipe, struct err *e)
{
	char own[300], from[300];

	test_put_file("own.ini", recipe);
	test_put_file("x.ini", corpus);
	snprintf(own, sizeof(own), "%s/own.ini", test_folder());
	snprintf(from, sizeof(from), "%s/x.ini", test_folder());
	check_int(conf_init(c, e), 0);
	check_int(conf_load_named_recipe(c, own, e), 0);
	return text_facts_adopt(c, "x", from, e);
}

TEST(text_facts_win_against_defaults_and_shipped_recipes)
{
	struct conf c;
	struct err e = { 0 };

	/* small has merges = 8000; the languages are defaults */
	check_int(adopt(&c,
			"[data]\nsource_language = de\ntarget_language = en\nmerges = 200\n"
			"segmentation = sentencepiece\n",
			"[recipe]\ninclude = small\n", &e),
		  0);
	check_str(c.source_language, "de");
	check_str(c.target_language, "en");
	check_int(c.merges, 200);
	check_int(c.segmentation, SEGMENTATION_SENTENCEPIECE);
	check_int(c.patience, 8);
	check_str(conf_origin(&c, "merges"), "corpus x");
	check(text_facts_are_adopted(&c));
	conf_free(&c);
}

TEST(text_facts_refuse_what_the_user_gave)
{
	static const struct {
		const char *corpus, *recipe, *says; /* says NULL: no contradiction */
	} cases[] = {
		{ "target_language = en", "target_language = fr",
		  "has target_language = en, but own.ini:2 says fr" },
		{ "target_language = fr", "target_language = fr", NULL },
		{ "merges = 7", "merges = 8000", "has merges = 7, but own.ini:2 says 8000" },
		{ "merges = 7\nsegmentation = sentencepiece", "merges = 8", NULL }, /* no BPE */
		{ "tokenize = no", "escape = no", NULL },
		{ "tokenize = yes", "escape = no", "has escape = yes" },
		{ "tokenize = no", "tokenize = yes", "has tokenize = no" },
		{ "repair = no", "repair = yes", NULL },
		{ "train_source = /there/a.en", "train_source = a.en",
		  NULL }, /* the file is gone */
		{ "train_source = /there/a.en", "train_source = /here/a.en", "has train_source" },
		{ "train_source = /there/a.en", "train_source = /here/a.en b", "has train_source" },
		{ "train_source = a.en", "train_source = aa.en", "has train_source" },
		/* m.en is there, so its path becomes absolute: recipe and text have moved together */
		{ "train_source = /before/m.en m.en", "train_source = m.en m.en", NULL },
		{ "manifest = /before/m.en", "manifest = m.en", NULL },
		{ "train_source = /before/n.en", "train_source = m.en", "has train_source" },
		{ "dev_source =", "dev_source = d.en", "has dev_source = (none), but" },
	};

	test_put_file("m.en", "");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e = { 0 };
		struct conf c;
		char corpus[200], recipe[200];

		snprintf(corpus, sizeof(corpus), "[data]\n%s\n", cases[i].corpus);
		snprintf(recipe, sizeof(recipe), "[data]\n%s\n", cases[i].recipe);
		check_int(adopt(&c, corpus, recipe, &e), cases[i].says ? ERR_CONFIG : 0);
		if (cases[i].says)
			check(strstr(e.text, cases[i].says) != NULL);
		conf_free(&c);
	}
}

TEST(text_facts_of_records_are_not_given)
{
	struct conf from, c;
	struct err e = { 0 };
	struct buf text = { 0 };

	/* the recipe.ini of a run of an older release: a value of the command line, a wrong default */
	check_int(conf_init(&from, &e), 0);
	check_int(conf_set(&from, "merges", "500", "command line", &e), 0);
	conf_write_recipe(&from, &text);
	check_int(adopt(&c, "[data]\nsource_language = de\ntarget_language = en\n", buf_text(&text),
			&e),
		  0);
	check_str(c.source_language, "de");
	check_int(c.merges, 32000);
	conf_free(&c);
	conf_free(&from);
	buf_free(&text);
}
