/* t_texts.c - tests of texts.h: files, archives and the built-in grammar as sources */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "data/source/texts.h"
#include "share/base/file.h"
#include "share/base/text.h"

static const char *path_of(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", test_folder(), name);
	return path;
}

static const char *write_text(const char *name, const char *text)
{
	struct err e = { 0 };

	check_int(file_write_all(path_of(name), text, strlen(text), &e), 0);
	return path_of(name);
}

/* options: name, value, ..., NULL. Returns 0 or an error code with its text in e. */
static int find(struct texts *t, struct conf *c, const char *const *options, struct err *e)
{
	struct progress p;

	progress_init(&p, true);
	check_int(conf_init(c, e), 0);
	check_int(conf_set(c, "workspace", test_folder(), "test", e), 0);
	check_int(conf_set(c, "quiet", "yes", "test", e), 0);
	for (; options[0]; options += 2)
		check_int(conf_set(c, options[0], options[1], "test", e), 0);
	*t = (struct texts){ 0 };
	return texts_find(t, c, test_folder(), &p, e);
}

static void check_fails(const char *const *options, int code, const char *words)
{
	struct err e = { 0 };
	struct texts t;
	struct conf c;

	check_err(find(&t, &c, options, &e), code);
	if (!strstr(e.text, words))
		test_fail(__FILE__, __LINE__, "'%s' is not in '%s'", words, e.text);
	check(!t.pairs && !t.files);
	texts_free(&t);
	conf_free(&c);
}

TEST(texts_of_files)
{
	struct err e = { 0 };
	struct texts t;
	struct conf c;
	char a[4096], b[4096], both[8300];
	struct buf before = { 0 }, after = { 0 };

	snprintf(a, sizeof(a), "%s", write_text("a.en", "a\n"));
	snprintf(b, sizeof(b), "%s", write_text("a.de", "bb\n"));
	snprintf(both, sizeof(both), "%s %s", a, b);
	const char *const options[] = {
		"source_language", "en", "target_language", "de", "dev_source", b, "dev_target", a,
		"train_source",	   both, "train_target",    both, NULL
	};

	if (!check_int(find(&t, &c, options, &e), 0))
		return;
	check_int(t.n, 3);
	check_int(t.n_train, 2);
	check_int(t.n_files, 2);
	check_int(t.n_sets, 2);
	check_str(t.sets[0], "train");
	check_str(t.sets[1], "dev");
	check_str(t.files[t.pairs[1].source.file].path, b);
	check_int(t.files[t.pairs[2].target.file].bytes, 2);
	check_str(t.pairs[2].name, b);
	check(!t.pairs[0].source.member);
	/* printf 'a\n' | sha256sum */
	check_str(t.files[t.pairs[0].source.file].sha256,
		  "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7");
	texts_describe(&t, &before);
	texts_free(&t);
	conf_free(&c);
	/* other bytes, another description */
	write_text("a.de", "bc\n");
	check_int(find(&t, &c, options, &e), 0);
	texts_describe(&t, &after);
	check(strcmp(buf_text(&before), buf_text(&after)) != 0);
	texts_free(&t);
	conf_free(&c);
	buf_free(&before);
	buf_free(&after);
}

TEST(texts_refuse_what_does_not_fit)
{
	const char *a = strdup(write_text("a.en", "a\n"));
	const char *const none[] = { NULL };
	const char *const two[] = { "demo_pairs", "9", "train_source", a, "train_target", a, NULL };
	const char *const one_side[] = { "train_source", a, NULL };
	const char *const gone[] = { "train_source", a, "train_target", "/none/x", NULL };
	const char *const same[] = {
		"train_source", a,   "train_target", a, "source_language", "de", "target_language",
		"de",		NULL
	};
	const char *const french[] = { "demo_pairs", "9", "target_language", "fr", NULL };

	check_fails(none, ERR_CONFIG, "names no training text");
	check_fails(two, ERR_CONFIG, "exclude each other");
	check_fails(one_side, ERR_CONFIG, "train_source names 1 file and train_target 0");
	check_fails(gone, ERR_NOINPUT, "/none/x: no such file (train text)");
	check_fails(same, ERR_CONFIG, "are both de");
	check_fails(french, ERR_CONFIG, "en and de, not en and fr");
	free((void *)a);
}

TEST(texts_of_the_demo)
{
	const char *const options[] = { "source_language",
					"de",
					"target_language",
					"en",
					"demo_pairs",
					"60",
					"seed",
					"7",
					NULL };
	const char *const other[] = { "demo_pairs", "60", "seed", "8", NULL };
	struct err e = { 0 };
	struct texts t, u;
	struct conf c, d;
	struct buf train = { 0 };
	int64_t lines = 0;

	if (!check_int(find(&t, &c, options, &e), 0))
		return;
	check_int(t.n, 3);
	check_int(t.n_sets, 3);
	check_str(t.sets[2], "test");
	check_int(t.files[0].bytes, 0);
	check_int(texts_write_demo(&t, &c, &e), 0);
	check_int(file_read_all(t.files[t.pairs[0].target.file].path, 0, &train, &e), 0);
	check_int(t.files[t.pairs[0].target.file].bytes, train.len);
	for (size_t i = 0; i < train.len; i++)
		lines += train.data[i] == '\n';
	check_int(lines, 60);
	check(text_ends_with(t.files[t.pairs[0].target.file].path, "demo-train.en"));
	check_int(find(&u, &d, other, &e), 0);
	check(strcmp(u.files[0].sha256, t.files[0].sha256) != 0);
	check(strcmp(t.files[1].sha256, t.files[0].sha256) != 0);
	texts_free(&t);
	texts_free(&u);
	conf_free(&c);
	conf_free(&d);
	buf_free(&train);
}

/*
 * The held-out sets of the built-in corpus do not depend on the number of training pairs; with
 * exchanged languages, source and target are exchanged.
 */
TEST(texts_of_the_demo_held_out)
{
	const char *const small[] = { "demo_pairs", "400", NULL };
	const char *const large[] = {
		"demo_pairs", "500", "source_language", "de", "target_language", "en", NULL
	};
	struct buf dev[2] = { { 0 }, { 0 } };
	struct err e = { 0 };

	for (int i = 0; i < 2; i++) {
		struct texts t;
		struct conf c;

		if (check_int(find(&t, &c, i ? large : small, &e), 0)) {
			const struct source_text *german =
				i ? &t.pairs[1].source : &t.pairs[1].target;

			check_str(t.pairs[1].set, "dev");
			check_int(texts_write_demo(&t, &c, &e), 0);
			check_int(file_read_all(t.files[german->file].path, 0, &dev[i], &e), 0);
		}
		texts_free(&t);
		conf_free(&c);
	}
	check(dev[0].len && dev[0].len < dev[1].len);
	check(!strncmp(buf_text(&dev[0]), buf_text(&dev[1]), dev[0].len));
	buf_free(&dev[0]);
	buf_free(&dev[1]);
}

/* Archives are not opened here: any bytes with the right magic number are enough. */
TEST(texts_of_a_manifest)
{
	char path[4096];
	const char *const options[] = { "manifest", path, "from", test_folder(), NULL };
	struct err e = { 0 };
	struct texts t;
	struct conf c;

	snprintf(path, sizeof(path), "%s", path_of("m.manifest"));
	write_text("x.tgz", "\x1f\x8b and so on");
	write_text("y.zip", "PK\3\4 and so on");
	write_text("m.manifest",
		   "[archive x.tgz]\nextra.en = q.en\nextra.de = q.de\ntest.de = t.de.sgm\n"
		   "test.en = t.en.sgm\ntrain.en = 1.en\ntrain.de = 1.de\ntrain.fr = 1.fr\n"
		   "[archive y.zip]\ntrain.de = 2.de\ntrain.de = 3.de\ntrain.en = 2.en\n"
		   "train.en = 3.en\ndev.en = d.en\ndev.de = d.de\n");
	if (!check_int(find(&t, &c, options, &e), 0)) {
		test_fail(__FILE__, __LINE__, "%s", e.text);
		conf_free(&c);
		return;
	}
	check_int(t.n, 6);
	check_int(t.n_train, 3);
	check_int(t.n_files, 2);
	check_int(t.n_sets, 4);
	check_str(t.sets[1], "dev");
	check_str(t.sets[2], "test");
	check_str(t.sets[3], "extra");
	check_str(t.pairs[2].source.member, "3.en");
	check_str(t.pairs[2].target.name, "y.zip:3.de");
	check_str(t.pairs[4].name, "x.tgz:t.en.sgm");
	check_str(t.files[1].archive, "y.zip");
	check_int(t.files[1].bytes, 14);
	texts_free(&t);
	conf_free(&c);
	write_text("m.manifest", "[archive x.tgz]\ntrain.en = 1.en\ntrain.de = 1.de\n"
				 "train.en = 2.en\n");
	check_fails(options, ERR_CONFIG, "more train members in en than in de");
	write_text("m.manifest", "[archive x.tgz]\ndev.en = 1.en\ndev.de = 1.de\n");
	check_fails(options, ERR_CONFIG, "no training text in en and de");
}

/* Files of held-out sets come before the archives of a manifest: each text must find its file. */
TEST(texts_of_a_manifest_and_files)
{
	char path[4096], dev[2][4096];
	const char *const options[] = { "manifest",    path,	     "from",
					test_folder(), "dev_source", dev[0],
					"dev_target",  dev[1],	     NULL };
	struct err e = { 0 };
	struct texts t;
	struct conf c;

	snprintf(path, sizeof(path), "%s", path_of("m.manifest"));
	snprintf(dev[0], sizeof(dev[0]), "%s", write_text("own.en", "a\n"));
	snprintf(dev[1], sizeof(dev[1]), "%s", write_text("own.de", "b\n"));
	write_text("x.tgz", "\x1f\x8b and so on");
	write_text("m.manifest", "[archive x.tgz]\ntrain.en = 1.en\ntrain.de = 1.de\n");
	if (check_int(find(&t, &c, options, &e), 0)) {
		check_int(t.n, 2);
		check_str(t.files[t.pairs[0].source.file].archive, "x.tgz");
		check_str(t.files[t.pairs[0].target.file].archive, "x.tgz");
		check_str(t.files[t.pairs[1].source.file].path, dev[0]);
		texts_free(&t);
	}
	conf_free(&c);
}

/* The built-in grammar makes dev and test: the user's files of these sets must not be touched. */
TEST(texts_of_the_demo_and_files)
{
	char dev[4096];
	const char *const options[] = { "demo_pairs", "9", "dev_source", dev,
					"dev_target", dev, NULL };

	snprintf(dev, sizeof(dev), "%s", write_text("own.en", "a\n"));
	check_fails(options, ERR_CONFIG, "demo_pairs makes the sets dev and test");
}
