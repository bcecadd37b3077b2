/* t_pairs.c - the tag of a line, its languages, and the text tools that follow it. */
#include "tests/test.h"

#include <stdlib.h>

#include "data/pipeline/line_tags.h"
#include "data/pipeline/pipeline.h"
#include "share/base/file.h"
#include "share/base/util.h"

/* English to German without a tag; three tags. */
static void open_conf(struct conf *c)
{
	struct err e = { 0 };

	check_int(conf_init(c, &e), 0);
	check_int(conf_set(c, "train_tags", "- <2fr> <2de>", "test", &e), 0);
	check_int(conf_set(c, "dev_tags", "<2de>", "test", &e), 0);
	check_int(conf_set(c, "protect", "<num> >>eng<<", "test", &e), 0);
	check_int(conf_set(c, "tag_languages", "<2fr>=en-fr <2de>=fr-de >>eng<<=fr-en", "test", &e),
		  0);
}

TEST(pairs_find_the_tag_of_a_line)
{
	static const struct {
		const char *line, *tag;
		size_t bytes;
	} samples[] = {
		{ "<2de> Hello.", "<2de>", 6 },
		{ " <2fr>  Hello.", "<2fr>", 7 },
		{ ">>eng<< Salut.", ">>eng<<", 8 },
		{ "<2de>", "<2de>", 5 },
		{ "<2de>Hello.", "", 0 },
		{ "Hello <2de>.", "", 0 },
		{ "<num> <2de>", "", 0 },
		{ "- no tag", "", 0 },
		{ "", "", 0 },
		{ "  ", "", 0 },
	};
	struct conf c;

	open_conf(&c);
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		size_t bytes;

		check_str(line_tag_find(&c, samples[i].line, strlen(samples[i].line), &bytes),
			  samples[i].tag);
		check_int((int)bytes, (int)samples[i].bytes);
	}
	conf_free(&c);
}

TEST(pairs_have_the_languages_of_their_tag)
{
	static const struct {
		const char *tag, *source, *target;
	} samples[] = {
		{ NULL, "en", "de" },	 { "", "en", "de" },	  { "<num>", "en", "de" },
		{ "<2fr>", "en", "fr" }, { "<2de>", "fr", "de" }, { ">>eng<<", "fr", "en" }
	};
	static const char *const bad[] = { "<2fr>",
					   "<2fr>=fr",
					   "<2fr>=en-fr-ca",
					   "<2fr>=-fr",
					   "<2fr>=en-",
					   "=en-fr",
					   "<2fr>=en-en",
					   "<new>=en-fr",
					   "<2fr>=en-fr <2fr>=de-fr",
					   "-=en-fr",
					   "<2fr>=en-averyveryverylong" };
	struct conf c;
	struct err e = { 0 };

	open_conf(&c);
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		const struct pair_languages l = line_tag_languages(&c, samples[i].tag);

		check_str(l.source, samples[i].source);
		check_str(l.target, samples[i].target);
	}
	check_int(line_tags_check_texts(&c, &e), ERR_CONFIG);
	check(strstr(e.text, "no text has the tag >>eng<<") != NULL);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		check_int(conf_set(&c, "tag_languages", bad[i], "test", &e), 0);
		e = (struct err){ 0 };
		check(!pipeline_open(NULL, &c, &e));
		check_int(e.code, ERR_CONFIG);
		check(strstr(e.text, "tag_languages: ") != NULL);
	}
	conf_free(&c);
}

static void check_tokens(struct pipeline *p, enum pipeline_side side, const char *line,
			 const char *tokens)
{
	struct buf out = { 0 };
	struct err e = { 0 };

	check_int(pipeline_tokenize(p, side, line, strlen(line), &out, &e), 0);
	check_str(buf_text(&out), tokens);
	buf_free(&out);
}

static void check_decoded(struct pipeline *p, enum pipeline_side side, const int32_t *ids, size_t n,
			  const char *text)
{
	struct buf out = { 0 };
	struct err e = { 0 };

	check_int(pipeline_decode(p, side, ids, n, &out, &e), 0);
	check_str(buf_text(&out), text);
	buf_free(&out);
}

static void write_file(const char *name, const char *text)
{
	struct err e = { 0 };
	char *path = file_path(&e, "%s/%s", test_folder(), name);

	check_int(file_write_all(path, text, strlen(text), &e), 0);
	free(path);
}

/* English and French split an apostrophe on different sides, German on both. */
TEST(pairs_are_tokenised_by_their_tag)
{
	struct conf c;
	struct err e = { 0 };
	struct pipeline *p;

	open_conf(&c);
	c.escape = false;
	p = pipeline_open(NULL, &c, &e);
	if (!check(p != NULL))
		return;
	check_tokens(p, SIDE_TARGET, "l'eau", "l ' eau"); /* of no line yet */
	check_tokens(p, SIDE_SOURCE, "<2fr> l'eau", "<2fr> l 'eau");
	check_tokens(p, SIDE_TARGET, "l'eau", "l' eau");
	check_tokens(p, SIDE_SOURCE, "<2de> l'eau", "<2de> l' eau");
	check_tokens(p, SIDE_TARGET, "l'eau", "l ' eau");
	check_tokens(p, SIDE_SOURCE, "l'eau", "l 'eau");
	pipeline_follow_line(p, "<2fr>", 5);
	check_tokens(p, SIDE_TARGET, "l'eau", "l' eau");
	pipeline_follow_line(p, ">>eng<< l'eau", 13);
	check_tokens(p, SIDE_TARGET, "l'eau", "l 'eau");
	pipeline_close(p);
	conf_free(&c);
}

TEST(pairs_are_detokenised_by_their_tag)
{
	static const int32_t french[] = { 5, 10, 11 }, german[] = { 6, 10, 11 },
			     text[] = { 10, 11 };
	struct conf c;
	struct err e = { 0 };
	struct pipeline *p;

	open_conf(&c);
	write_file("bpe.codes", "#version: 0.2\na b\n");
	write_file("vocab.tsv",
		   "<pad>\t0\n</s>\t0\n<s>\t0\n<unk>\t0\n<num>\t0\n<2fr>\t0\n<2de>\t0\n"
		   ">>eng<<\t0\na\t0\nb\t0\nl'\t0\neau\t0\n<unused0>\t0\n<unused1>\t0\n"
		   "<unused2>\t0\n<unused3>\t0\n");
	p = pipeline_open(test_folder(), &c, &e);
	if (!p)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	if (!p)
		return;
	check_decoded(p, SIDE_TARGET, text, 2, "l' eau");
	pipeline_follow_line(p, "<2fr> x", 7);
	check_decoded(p, SIDE_TARGET, text, 2, "l'eau");
	/* the ids of a source have its tag */
	check_decoded(p, SIDE_SOURCE, german, 3, "<2de> l'eau");
	check_decoded(p, SIDE_TARGET, text, 2, "l' eau");
	check_decoded(p, SIDE_SOURCE, french, 3, "<2fr> l' eau");
	check_decoded(p, SIDE_TARGET, text, 2, "l'eau");
	pipeline_close(p);
	conf_free(&c);
}
