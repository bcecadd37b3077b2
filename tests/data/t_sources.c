/* t_sources.c - tests of manifests, parallel texts, and the contents of a prepared corpus */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "data/pipeline/pipeline.h"
#include "data/prep/parallel.h"
#include "data/prep/prep.h"
#include "data/shard/shard.h"
#include "data/source/archive.h"
#include "data/source/corpus.h"
#include "data/source/manifest.h"
#include "share/base/file.h"
#include "share/base/text.h"

/* Write text to NAME in the test's folder; the path is owned by the caller. */
static char *write_text(const char *name, const char *text)
{
	struct err e = { 0 };
	char *path = file_path(&e, "%s/%s", test_folder(), name);

	check_int(file_write_all(path, text, strlen(text), &e), 0);
	return path;
}

/* ---- manifests ---- */

TEST(manifest_of_wmt16_is_complete)
{
	struct err e = { 0 };
	struct manifest m;
	size_t i, train = 0, held_out = 0;

	if (!check_int(manifest_read(&m, "wmt16-en-de", &e), 0))
		return;
	check_int(m.n, 5);
	check_str(m.name, "wmt16-en-de");
	for (i = 0; i < m.n; i++) {
		check(m.archives[i].n_urls >= 1);
		for (size_t k = 0; k < m.archives[i].n_members; k++)
			*(!strcmp(m.archives[i].members[k].set, "train") ? &train : &held_out) += 1;
	}
	check_int(train, 6);
	check_int(held_out, 8);
	check_int(m.archives[1].sums.bytes, 918311367);
	check_str(m.archives[0].members[0].language, "en");
	manifest_free(&m);
}

/* Sets of any name; a URL has its own sums, else those of the archive. */
TEST(manifest_sets_and_mirrors)
{
	struct err e = { 0 };
	struct manifest m;
	char *path =
		write_text("x.y.manifest",
			   "[archive a.tgz]\r\nbytes = 7\nurl = https://a/a.tgz\n"
			   "url =\thttps://b/b.zip  bytes:9\tmd5:0123456789ABCDEF0123456789abcdef\n"
			   "news-20.15.en = d/x.en\nnews-20.15.pt-BR = d/x.pt");

	if (check_int(manifest_read(&m, path, &e), 0)) {
		const struct manifest_archive *a = m.archives;

		check_str(m.name, "x.y");
		check_int(a->n_urls, 2);
		check_int(a->urls[0].sums.bytes, 7);
		check_str(a->urls[1].url, "https://b/b.zip");
		check_int(a->urls[1].sums.bytes, 9);
		check_str(a->urls[1].sums.md5, "0123456789abcdef0123456789abcdef");
		check_str(a->members[0].set, "news-20.15");
		check_str(a->members[1].language, "pt-BR");
		check(manifest_set_is_extra(a->members[0].set) && !manifest_set_is_extra("dev"));
		manifest_free(&m);
	}
	free(path);
}

TEST(manifest_limits)
{
	static const struct {
		int archives, urls, members, sets;
		const char *words;
	} cases[] = {
		{ 256, 0, 0, 1, NULL },	 { 257, 0, 0, 1, "more than 256 archives" },
		{ 1, 32, 0, 1, NULL },	 { 1, 33, 0, 1, "more than 32 urls" },
		{ 1, 0, 1024, 1, NULL }, { 1, 0, 1025, 1, "more than 1024 members" },
		{ 1, 0, 13, 13, NULL },	 { 1, 0, 14, 14, "more than 13 sets" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf b = { 0 };
		struct err e = { 0 };
		struct manifest m;
		char *path;
		int k, rc;

		for (k = 0; k < cases[i].archives; k++)
			buf_printf(&b, "[archive %d]\n", k);
		for (k = 0; k < cases[i].urls; k++)
			buf_add_str(&b, "url = http://a/\n");
		for (k = 0; k < cases[i].members; k++)
			buf_printf(&b, "s%d.en = %d\n", k % cases[i].sets, k);
		path = write_text("many.manifest", buf_text(&b));
		rc = manifest_read(&m, path, &e);
		check_int(rc, cases[i].words ? ERR_CONFIG : 0);
		check(!cases[i].words || strstr(e.text, cases[i].words));
		manifest_free(&m);
		buf_free(&b);
		free(path);
	}
}

TEST(manifest_errors_name_file_and_line)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "url = x\n", ":1: expected [archive NAME] before" },
		{ "[archiv x]\n", ":1: expected [archive NAME]" },
		{ "[archive ../x]\n", ":1: " },
		{ "[archive x.tgz]\nurl\n", ":2: expected key = value" },
		{ "[archive x.tgz]\n\n# c\nbytes = many\n", ":4: bytes is not a number" },
		{ "[archive x.tgz]\nsha256 = 12\n", ":2: sha256 is not 64" },
		{ "[archive x.tgz]\nmd5 = zz\n", ":2: md5 is not 32" },
		{ "[archive x.tgz]\nvalid = x\n", ":2: 'valid' is none of" },
		{ "[archive x.tgz]\ntrain. = x\n", ":2: 'train.' is no SET.LANGUAGE" },
		{ "[archive x.tgz]\n.en = x\n", ":2: '.en' is no SET.LANGUAGE" },
		{ "[archive x.tgz]\na/b.en = x\n", ":2: 'a/b.en' is no SET.LANGUAGE" },
		{ "[archive x.tgz]\nUP.en = x\n", ":2: 'UP.en' is no SET.LANGUAGE" },
		{ "[archive x.tgz]\n..en = x\n", ":2: '..en' is no SET.LANGUAGE" },
		{ "[archive x.tgz]\nbpe.de = x\n", ":2: 'bpe.de' is no SET.LANGUAGE" },
		{ "[archive x.tgz]\ntest.codes = x\n", ":2: 'test.codes' is no SET.LANGUAGE" },
		{ "[archive x.tgz]\na2345678901234567890123456789012.en = x\n", ":2: 'a23" },
		{ "[archive x.tgz]\ntrain.en =\n", ":2: train.en: expected the path" },
		{ "[archive x.tgz]\ntrain.en = a\ndev.en = a\n", ":3: member a is in this arch" },
		{ "[archive x.tgz]\nbytes = 1\nbytes = 1\n", ":3: bytes is not" },
		{ "[archive x.tgz]\nbytes = 0\n", ":2: bytes is not" },
		{ "[archive x.tgz]\nurl = x\n", ":2: a url must begin with" },
		{ "[archive x.tgz]\nurl = https://a/x size:3\n", ":2: after a url only" },
		{ "[archive x.tgz]\nurl = https://a/x 33\n", ":2: after a url only" },
		{ "[archive x.tgz]\nurl = https://a/x md5:33\n", ":2: md5 is not 32" },
		{ "[archive x.tgz]\n[archive y]\n[archive x.tgz]\n", ":3: archive x.tgz is" },
		{ "[archive x.tgz.part]\n", ":1: x.tgz.part is reserved" },
		{ "[archive x.tgz]\na.en = \033[2J\n", ":2: the line holds a control char" },
		{ "[archive x.tgz]\na.en = \377\n", ":2: the line holds a control char" },
		{ "# nothing\n", "names no archive" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e = { 0 };
		struct manifest m;
		char *path = write_text("x.manifest", cases[i].text);

		check_err(manifest_read(&m, path, &e), ERR_CONFIG);
		if (!strstr(e.text, cases[i].words) || !strstr(e.text, "x.manifest"))
			test_fail(__FILE__, __LINE__, "'%s' is not in '%s'", cases[i].words,
				  e.text);
		free(path);
	}
}

TEST(archive_kinds)
{
	static const struct {
		const char *bytes;
		int code;
		const char *words;
	} cases[] = {
		{ "\x1f\x8b rest", 0, "" },
		{ "PK\3\4 rest", 0, "" },
		{ "BZh9", 0, "" },
		{ " \n<!DOCTYPE html>", ERR_DATA, "web page" },
		{ "<?xml", ERR_DATA, "web page" },
		{ "The quick brown fox", ERR_DATA, "not an archive" },
		{ "", ERR_DATA, "empty" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e = { 0 };
		char *path = write_text("some.tgz", cases[i].bytes);

		check_int(archive_check_kind(path, &e), cases[i].code);
		check(strstr(e.text, cases[i].words) != NULL);
		free(path);
	}
}

/* ---- parallel texts ---- */

TEST(parallel_reads_lines_and_segments_in_step)
{
	struct err e = { 0 };
	char *plain = write_text("a.en", "one\ntwo"),
	     *sgm = write_text("a.sgm", "<refset>\n<seg id=\"1\"> eins </seg>\n<seg "
					"id=\"2\">zwei\n</seg>\n</refset>\n");
	struct parallel_reader p;

	if (check_int(parallel_open(&p, plain, sgm, false, &e), 0)) {
		check_int(parallel_next(&p, &e), 1);
		check_str(p.source.text, "one");
		check_str(p.target.text, "eins");
		check_int(parallel_next(&p, &e), 1);
		check_str(p.source.text, "two");
		check_str(p.target.text, "zwei");
		check_int(p.number, 2);
		check_int(parallel_next(&p, &e), 0);
		parallel_close(&p);
	}
	free(plain);
	free(sgm);
}

TEST(parallel_counts_sides_of_different_length)
{
	struct err e = { 0 };
	char *two = write_text("two", "1\n2\n"), *five = write_text("five", "1\n2\n3\n4\n5");
	struct parallel_reader p;

	for (int turn = 0; turn < 2; turn++) {
		if (!check_int(parallel_open(&p, turn ? two : five, turn ? five : two, false, &e),
			       0))
			break;
		check_int(parallel_next(&p, &e), 1);
		check_int(parallel_next(&p, &e), 1);
		check_err(parallel_next(&p, &e), ERR_DATA);
		check(strstr(e.text, "two has 2") && strstr(e.text, "five has 5"));
		parallel_close(&p);
	}
	free(two);
	free(five);
}

/* ---- a corpus ---- */

/* Prepare the recipe in the test's folder. The caller frees the conf. */
static int prepare(struct conf *c, const char *recipe, const char *const *options, struct err *e)
{
	char *arguments[1] = { (char *)recipe };
	int rc;

	if (conf_init(c, e) || conf_set(c, "workspace", test_folder(), "command line", e) ||
	    conf_set(c, "quiet", "yes", "command line", e))
		return e->code;
	for (; *options; options += 2)
		if (conf_set(c, options[0], options[1], "command line", e))
			return e->code;
	c->arguments = arguments;
	c->n_arguments = 1;
	rc = prep_command_run(c, e);
	c->arguments = NULL;
	c->n_arguments = 0;
	return rc;
}

/*
 * Every pair of a held-out shard must equal the encoded raw text, and decode to that text.
 */
static void check_held_out(const char *folder, struct pipeline *tools)
{
	struct err e = { 0 };
	char *source = file_path(&e, "%s/dev.en", folder),
	     *target = file_path(&e, "%s/dev.de", folder);
	char *path = file_path(&e, "%s/dev.shard", folder);
	struct shard *s = shard_open(path, &e);
	struct parallel_reader in;
	int32_t source_ids[1000], target_ids[1000], n_source, n_target;
	struct buf back = { 0 };
	int32_t *ids = NULL;
	size_t n, cap = 0;
	int unequal = 0, unknown = 0;

	if (check(s != NULL) && check(shard_longest(s) <= 1000) &&
	    check_int(parallel_open(&in, source, target, false, &e), 0)) {
		while (parallel_next(&in, &e) > 0) {
			shard_lengths(s, in.number - 1, &n_source, &n_target);
			shard_read(s, in.number - 1, source_ids, target_ids);
			n = 0;
			check_int(pipeline_encode(tools, SIDE_TARGET, in.target.text, in.target.len,
						  &ids, &n, &cap, &e),
				  0);
			unequal +=
				n != (size_t)n_target || memcmp(ids, target_ids, n * sizeof(*ids));
			n = 0;
			check_int(pipeline_encode(tools, SIDE_SOURCE, in.source.text, in.source.len,
						  &ids, &n, &cap, &e),
				  0);
			unequal +=
				n != (size_t)n_source || memcmp(ids, source_ids, n * sizeof(*ids));
			buf_clear(&back);
			check_int(pipeline_decode(tools, SIDE_SOURCE, ids, n, &back, &e), 0);
			/* a digit that the small training text has no piece for is unknown */
			if (strstr(buf_text(&back), "<unk>"))
				unknown++;
			else
				check_str(buf_text(&back), in.source.text);
		}
		check_int(in.number, shard_pairs(s));
		parallel_close(&in);
	}
	check_int(unequal, 0);
	check(unknown <= 2);
	free(ids);
	buf_free(&back);
	shard_close(s);
	free(source);
	free(target);
	free(path);
}

TEST(prep_of_the_built_in_corpus)
{
	static const char *const options[] = { "demo_pairs", "2000", "merges", "150", NULL };
	struct err e = { 0 };
	struct conf c;
	char *folder = NULL, *path = NULL;
	struct pipeline *tools = NULL;
	struct shard *s = NULL;
	bool ready = false;

	if (!check_int(prepare(&c, "demo", options, &e), 0)) {
		fprintf(stderr, "%s\n", e.text);
		goto out;
	}
	folder = corpus_folder(&c, &e);
	check(text_ends_with(folder, "/corpora/demo"));
	check_int(corpus_is_ready(&c, &ready, &e), 0);
	check(ready);
	path = file_path(&e, "%s/train.shard", folder);
	s = shard_open(path, &e);
	tools = pipeline_open(folder, &c, &e);
	if (check(s && tools)) {
		check_int(shard_pairs(s), 2000);
		check_int(shard_vocabulary(s), vocab_size(pipeline_vocab(tools, SIDE_SOURCE)));
		check_str(shard_vocabulary_id(s), vocab_sha256(pipeline_vocab(tools, SIDE_SOURCE)));
		check_held_out(folder, tools);
	}
	/* other options, a damaged file, a missing file */
	c.max_words++;
	check_err(corpus_is_ready(&c, &ready, &e), ERR_CONFIG);
	check(strstr(e.text, "max_words") != NULL);
	c.max_words--;
	check_int(remove(path), 0);
	check_int(corpus_is_ready(&c, &ready, &e), 0);
	check(!ready);
out:
	shard_close(s);
	pipeline_close(tools);
	free(path);
	free(folder);
	conf_free(&c);
}

/* The same seed gives the same bytes, another seed another order of the same pairs. */
TEST(prep_shuffles_by_seed_only)
{
	static const char *const seeds[3] = { "1", "1", "2" };
	char sums[3][HASH_SHA256_HEX] = { "", "", "" };
	struct buf text = { 0 };
	struct err e = { 0 };
	struct conf c;
	char *source, *target, *recipe, *folder, *path;
	int i;

	for (i = 0; i < 200; i++)
		buf_printf(&text, "line %d is line %d\n", i, i);
	source = write_text("s.en", buf_text(&text));
	buf_clear(&text);
	for (i = 0; i < 200; i++)
		buf_printf(&text, "Zeile %d ist Zeile %d\n", i, i);
	target = write_text("s.de", buf_text(&text));
	recipe = write_text("order.ini",
			    "[data]\ntrain_source = s.en\ntrain_target = s.de\nmerges = 20\n");
	for (i = 0; i < 3; i++) {
		const char *options[] = { "seed", seeds[i], "force", "yes", NULL };

		check_int(prepare(&c, recipe, options, &e), 0);
		folder = corpus_folder(&c, &e);
		path = file_path(&e, "%s/train.shard", folder);
		check_int(hash_file(path, sums[i], &e), 0);
		free(path);
		free(folder);
		conf_free(&c);
	}
	check_str(sums[0], sums[1]);
	check(strcmp(sums[0], sums[2]) != 0);
	buf_free(&text);
	free(source);
	free(target);
	free(recipe);
}

/* Real text: decoding restores it, except for blanks that detokenising cannot know. */
TEST(pipeline_on_real_text)
{
	const char *data = test_data("multi30k/val.en");
	struct err e = { 0 };
	struct conf c;
	struct buf train = { 0 }, back = { 0 };
	char *recipe, *folder = NULL;
	struct pipeline *tools = NULL;
	struct lines in;
	int32_t *ids = NULL;
	size_t n, cap = 0, same = 0;
	static const char *const none[] = { NULL };

	if (!data)
		return;
	buf_printf(&train, "[data]\ntrain_source = %s\ntrain_target = %.*sde\nmerges = 1000\n",
		   data, (int)strlen(data) - 2, data);
	recipe = write_text("real.ini", buf_text(&train));
	if (check_int(prepare(&c, recipe, none, &e), 0) &&
	    check((folder = corpus_folder(&c, &e)) != NULL) &&
	    check((tools = pipeline_open(folder, &c, &e)) != NULL) &&
	    check_int(lines_open(&in, data, &e), 0)) {
		while (lines_next(&in, &e) > 0) {
			n = 0;
			buf_clear(&back);
			check_int(pipeline_encode(tools, SIDE_SOURCE, in.text, in.len, &ids, &n,
						  &cap, &e),
				  0);
			check_int(pipeline_decode(tools, SIDE_SOURCE, ids, n, &back, &e), 0);
			same += !strcmp(buf_text(&back), in.text);
		}
		check_int(in.number, 1014);
		check(same > 950);
		lines_close(&in);
	}
	free(ids);
	free(recipe);
	free(folder);
	buf_free(&train);
	buf_free(&back);
	pipeline_close(tools);
	conf_free(&c);
}

TEST(pipeline_refuses_foreign_ids)
{
	static const char *const options[] = { "demo_pairs", "200", "merges", "50", NULL };
	struct err e = { 0 };
	struct conf c;
	struct buf out = { 0 };
	char *folder = NULL;
	struct pipeline *tools = NULL;
	int32_t ids[] = { TOKEN_START, -1, 1000000 };

	if (check_int(prepare(&c, "demo", options, &e), 0) &&
	    check((folder = corpus_folder(&c, &e)) != NULL) &&
	    check((tools = pipeline_open(folder, &c, &e)) != NULL)) {
		check_int(pipeline_decode(tools, SIDE_TARGET, ids, 1, &out, &e), 0);
		check_str(buf_text(&out), "");
		check_err(pipeline_decode(tools, SIDE_TARGET, ids, 2, &out, &e), ERR_DATA);
		check_err(pipeline_decode(tools, SIDE_TARGET, ids + 2, 1, &out, &e), ERR_DATA);
	}
	pipeline_close(tools);
	buf_free(&out);
	free(folder);
	conf_free(&c);
}
