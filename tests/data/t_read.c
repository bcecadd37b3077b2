/* t_read.c - tests of blocks.h, block_words.h and the stage "read" */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "data/pipeline/pipeline.h"
#include "data/prep/blocks.h"
#include "data/prep/prep_stages.h"
#include "data/prep/token_column.h"
#include "data/text/clean.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/lines.h"
#include "share/base/mem.h"
#include "share/base/text.h"

/* A corpus folder of its own, and a preparation with these options. */
struct fixture {
	struct conf c;
	struct prep p;
	struct err e;
};

static const char *path_of(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", test_folder(), name);
	return path;
}

static void write_bytes(const char *name, const char *bytes, size_t n)
{
	struct err e = { 0 };

	check_int(file_write_all(path_of(name), bytes, n, &e), 0);
}

static void write_text(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

/* options: name, value, ..., NULL; values of path options are names in the test's folder. */
static int run(struct fixture *f, int threads, const char *const *options)
{
	static const char *const in_folder[] = { "train_source", "train_target", "dev_source",
						 "dev_target",	 "test_source",	 "test_target",
						 "manifest",	 "from" };

	*f = (struct fixture){ 0 };
	f->p.c = &f->c;
	f->p.threads = threads;
	progress_init(&f->p.progress, true);
	f->p.folder = file_path(&f->e, "%s/corpus", test_folder());
	f->p.work = file_path(&f->e, "%s/work", f->p.folder);
	if (conf_init(&f->c, &f->e) || file_make_folders(f->p.work, &f->e) ||
	    conf_set(&f->c, "workspace", test_folder(), "test", &f->e) ||
	    conf_set(&f->c, "quiet", "yes", "test", &f->e))
		return f->e.code;
	for (; options[0]; options += 2) {
		char value[4096];

		snprintf(value, sizeof(value), "%s", options[1]);
		for (size_t i = 0; i < ARRAY_LEN(in_folder); i++)
			if (!strcmp(in_folder[i], options[0]) && *options[1] != '/')
				snprintf(value, sizeof(value), "%s", path_of(options[1]));
		if (conf_set(&f->c, options[0], value, "test", &f->e))
			return f->e.code;
	}
	if (texts_find(&f->p.texts, &f->c, f->p.work, &f->p.progress, &f->e))
		return f->e.code;
	return prep_read(&f->p, &f->e);
}

static void done(struct fixture *f)
{
	texts_free(&f->p.texts);
	intern_free(&f->p.words);
	free(f->p.folder);
	free(f->p.work);
	conf_free(&f->c);
}

static void check_fails(int threads, const char *const *options, int code, const char *words)
{
	struct fixture f;

	check_err(run(&f, threads, options), code);
	if (!strstr(f.e.text, words))
		test_fail(__FILE__, __LINE__, "'%s' is not in '%s'", words, f.e.text);
	done(&f);
}

/* Append the lines of a token column to out, rebuilt from its words. */
static void side_text(struct fixture *f, const char *name, struct buf *out)
{
	struct token_column_reader *r;
	struct token_column_line l;
	struct intern words = { 0 };
	int got = -1;

	check_int(word_table_load(&words, path_of("corpus/work/words"), &f->e), 0);
	r = token_column_open(path_of(name), words.n, &f->e);
	while (r && (got = token_column_next(r, &l, &f->e)) > 0) {
		for (uint32_t i = 0; i < l.n; i++) {
			size_t n;
			const char *word = intern_text(&words, l.words[i], &n);

			if (i)
				buf_add_char(out, ' ');
			buf_add(out, word, n);
		}
		buf_add_char(out, '\n');
	}
	check_int(got, 0);
	token_column_close(r);
	intern_free(&words);
}

static void check_side(struct fixture *f, const char *name, const char *want)
{
	struct buf b = { 0 };

	side_text(f, name, &b);
	check_str(buf_text(&b), want);
	buf_free(&b);
}

static void check_file(const char *name, const char *want)
{
	struct err e = { 0 };
	struct buf b = { 0 };

	check_int(file_read_all(path_of(name), 0, &b, &e), 0);
	check_str(buf_text(&b), want);
	buf_free(&b);
}

/* ---- small texts ---- */

TEST(read_gives_words_and_counts)
{
	static const char *const options[] = { "train_source",
					       "a.en",
					       "train_target",
					       "a.de",
					       "source_language",
					       "en",
					       "target_language",
					       "de",
					       NULL };
	static const struct {
		uint32_t bytes, characters, letters, foreign, longest, n;
	} want[] = {
		{ 13, 13, 10, 0, 5, 4 }, { 0, 0, 0, 0, 0, 0 }, { 3, 3, 0, 0, 0, 0 },
		{ 16, 10, 9, 6, 6, 2 },	 { 5, 5, 4, 0, 2, 2 },
	};
	struct fixture f;
	struct token_column_reader *r;
	struct token_column_line l;

	/* CRLF, an empty line, only blanks, other scripts, a '|', no LF at the end */
	write_text("a.en", "Hello, world!\r\n\n \t \n\u041f\u0440\u0438\u0432\u0435\u0442 abc\n"
			   "ab cd");
	write_text("a.de", "world\nab\nab ab\n\u00df\u00fc\u00b5\u00d7\nc | d|e\n");
	if (!check_int(run(&f, 2, options), 0)) {
		test_fail(__FILE__, __LINE__, "%s", f.e.text);
		done(&f);
		return;
	}
	check_side(&f, "corpus/work/side-0.source",
		   "Hello , world !\n\n\n\u041f\u0440\u0438\u0432\u0435\u0442 abc\nab cd\n");
	check_int(f.p.numbers.read, 5);
	check_int(f.p.numbers.source_bytes, 42);
	check_int(f.p.numbers.distinct_words, f.p.words.n);
	/* first the words of the source, in order */
	check_int(intern_find(&f.p.words, "Hello", 5), 0);
	check_int(intern_find(&f.p.words, "world", 5), 2);
	check_int(intern_find(&f.p.words, "cd", 2), 7);
	r = token_column_open(path_of("corpus/work/side-0.source"), f.p.words.n, &f.e);
	for (size_t i = 0; r && i < ARRAY_LEN(want); i++) {
		check_int(token_column_next(r, &l, &f.e), 1);
		check_int(l.bytes, want[i].bytes);
		check_int(l.characters, want[i].characters);
		check_int(l.letters, want[i].letters);
		check_int(l.foreign, want[i].foreign);
		check_int(l.longest, want[i].longest);
		check_int(l.n, want[i].n);
	}
	check(l.hash == hash_bytes("ab cd", 5));
	token_column_close(r);
	done(&f);
}

TEST(read_squeezes_and_drops_bars)
{
	static const char *const options[] = {
		"train_source", "a.en", "train_target", "a.de", "tokenize", "no", NULL
	};
	struct fixture f;

	write_text("a.en", "a|b c  d\n|\n | x\u00a0y\u3000|z |\n");
	write_text("a.de", "\xef\xbb\xbf"
			   "bom\r\r\n\xc2\x85\n\f\n");
	check_int(run(&f, 1, options), 0);
	check_side(&f, "corpus/work/side-0.source", "ab c d\n\nx y z\n");
	check_side(&f, "corpus/work/side-0.target", "bom\n\n\n"); /* without the byte-order mark */
	done(&f);
}

TEST(read_checks_and_repairs_utf8)
{
	static const char *const options[] = { "train_source", "a.en",	     "train_target",
					       "a.de",	       "dev_source", "ok",
					       "dev_target",   "ok",	     NULL };
	static const char *const repair[] = { "train_source", "a.en",	    "train_target",
					      "a.de",	      "dev_source", "bad",
					      "dev_target",   "ok",	    "repair",
					      "yes",	      NULL };
	static const char *const held_out[] = { "train_source", "ok",	      "train_target",
						"ok",		"dev_source", "bad",
						"dev_target",	"ok",	      NULL };
	struct fixture f;

	write_text("a.en", "one\ntw\xffo\n");
	write_text("a.de", "eins\nzwei\n");
	write_text("ok", "fine\n");
	write_text("bad", "b\xc3\xc3\xa4\r\n");
	check_fails(1, options, ERR_DATA, "a.en:2: byte 3 is not valid UTF-8 (0xFF)");
	check_fails(3, options, ERR_DATA, "a.en:2: byte 3 is not valid UTF-8 (0xFF)");
	check_fails(2, held_out, ERR_DATA, "bad:1: byte 2 is not valid UTF-8 (0xC3)");
	check_int(run(&f, 2, repair), 0);
	check_side(&f, "corpus/work/side-0.source", "one\ntw \ufffd o\n");
	check_file("corpus/dev.en", "b\ufffd\u00e4\n");
	done(&f);
}

TEST(read_refuses_unequal_and_empty_sides)
{
	static const char *const unequal[] = { "train_source", "3", "train_target", "2", NULL };
	static const char *const second[] = { "train_source", "2", "train_target", "3", NULL };
	static const char *const dev[] = {
		"train_source", "2", "train_target", "2", "dev_source", "2", "dev_target", "3", NULL
	};
	static const char *const empty[] = { "train_source", "0", "train_target", "0", NULL };
	static const char *const no_dev[] = {
		"train_source", "2", "train_target", "2", "dev_source", "0", "dev_target", "0", NULL
	};
	static const char *const one_empty[] = { "train_source", "0", "train_target", "2", NULL };

	write_text("0", "");
	write_text("2", "a\nb\n");
	write_text("3", "a\nb\nc");
	check_fails(2, unequal, ERR_DATA, "/3 has 3 lines, but ");
	check_fails(2, unequal, ERR_DATA, "/2 has 2: both files need the same number of lines");
	check_fails(1, second, ERR_DATA, "/2 has 2 lines, but ");
	check_fails(1, dev, ERR_DATA, "/3 has 3: both files need");
	check_fails(2, empty, ERR_DATA, "/0: the training text is empty");
	check_fails(2, no_dev, ERR_DATA, "/0: is empty: a dev set needs at least one sentence");
	check_fails(2, one_empty, ERR_DATA, "/0 has 0 lines, but ");
}

TEST(read_joins_held_out_sets_and_forgets_old_ones)
{
	static const char *const options[] = { "train_source", "2", "train_target", "2", NULL };
	char both[8300];
	struct fixture f;

	write_text("2", "a\nb\n");
	write_text("d1", "x\n\n");
	write_text("d2", "y |  z \r\nend");
	snprintf(both, sizeof(both), "%s ", path_of("d2"));
	strncat(both, path_of("d1"), sizeof(both) - strlen(both) - 1);
	const char *const with_dev[] = {
		"train_source", "2",	      "train_target", "2", "dev_source",
		both,		"dev_target", both,	      NULL
	};
	check_int(run(&f, 2, with_dev), 0);
	check_int(f.p.numbers.pairs[1], 4);
	check_file("corpus/dev.en", "y |  z \nend\nx\n\n");
	check_file("corpus/dev.de", "y |  z \nend\nx\n\n");
	check(!file_exists(path_of("corpus/work/text-1.source")));
	check(intern_find(&f.p.words, "end", 3) < 0);
	done(&f);
	check_int(run(&f, 2, options), 0);
	check(!file_exists(path_of("corpus/dev.en")));
	check(!file_exists(path_of("corpus/dev.de")));
	done(&f);
}

TEST(read_makes_the_demo)
{
	static const char *const options[] = {
		"demo_pairs", "100", "source_language", "en", "target_language", "de", NULL
	};
	struct fixture f;

	check_int(run(&f, 2, options), 0);
	check_int(f.p.numbers.read, 100);
	check_int(f.p.numbers.pairs[1], 5);
	check_int(f.p.numbers.pairs[2], 5);
	check_int(f.p.numbers.source_bytes, file_size(path_of("corpus/work/demo-train.en")));
	check(f.p.words.n > 50);
	done(&f);
}

/* ---- archives ---- */

/* Append a member of a tar archive (ustar). */
static void add_member(struct buf *tar, const char *name, const char *text, size_t n)
{
	char head[512] = { 0 };
	unsigned int sum = 0;

	snprintf(head, 100, "%s", name);
	memcpy(head + 100, "0000644", 8);
	memcpy(head + 108, "0000000", 8);
	memcpy(head + 116, "0000000", 8);
	snprintf(head + 124, 12, "%011o", (unsigned int)n);
	memcpy(head + 136, "00000000000", 12);
	memcpy(head + 148, "        ", 8);
	head[156] = '0';
	memcpy(head + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof(head); i++)
		sum += (unsigned char)head[i];
	snprintf(head + 148, 8, "%06o", sum);
	buf_add(tar, head, sizeof(head));
	buf_add(tar, text, n);
	while (tar->len % 512)
		buf_add_char(tar, 0);
}

static void write_tar(const char *name, const char *const *members)
{
	static const char end[1024];
	struct buf tar = { 0 };

	for (; members[0]; members += 2)
		add_member(&tar, members[0], members[1], strlen(members[1]));
	buf_add(&tar, end, sizeof(end));
	write_bytes(name, tar.data, tar.len);
	buf_free(&tar);
}

static const char *const from_archives[] = {
	"manifest", "m.manifest",      "from", "archives", "source_language",
	"en",	    "target_language", "de",   NULL
};

static void write_archives(void)
{
	static const char *const x[] = {
		"x/README",	"no\xff text",
		"x/2.de",	"zwei\n",
		"x/1.en",	"one\none more\n",
		"x/dev.de.sgm", "<seg id=\"1\"> a  b </seg>\n<seg id=2>c\nd</seg>\n",
		"x/2.en",	"two\n",
		"x/dev.en.sgm", "<seg id=\"1\">A</seg>\n<seg id=2>B &amp; |</seg>\n",
		"x/1.de",	"eins\neins mehr\n",
		NULL,
	};
	static const char *const y[] = { "3.de",   "drei",   "3.en",  "three",	"new.de",
					 "neu\n",  "new.en", "new\n", "dev.en", "E\n",
					 "dev.de", "D\n",    NULL };
	struct err e = { 0 };

	check_int(file_make_folders(path_of("archives"), &e), 0);
	write_tar("archives/x.tar", x);
	write_tar("archives/y.tar", y);
	write_text("m.manifest",
		   "[archive x.tar]\ntrain.en = 1.en\ntrain.en = x/2.en\ntrain.de = 1.de\n"
		   "train.de = 2.de\ndev.en = dev.en.sgm\ndev.de = dev.de.sgm\n"
		   "gone.en = gone.en\ngone.de = README\n"
		   "[archive y.tar]\ntrain.de = 3.de\ntrain.en = 3.en\n"
		   "dev.en = dev.en\ndev.de = dev.de\nnew.en = new.en\nnew.de = new.de\n");
}

TEST(read_members_where_they_are)
{
	struct fixture f;

	write_archives();
	if (check_int(run(&f, 2, from_archives), ERR_DATA))
		check(strstr(f.e.text, "x.tar:README:1: byte 3 is not valid UTF-8"));
	done(&f);
	/* a further set whose source member is missing is left out */
	write_text("m.manifest",
		   "[archive x.tar]\ntrain.en = 1.en\ntrain.en = x/2.en\ntrain.de = 1.de\n"
		   "train.de = 2.de\ndev.en = dev.en.sgm\ndev.de = dev.de.sgm\n"
		   "[archive y.tar]\ntrain.de = 3.de\ntrain.en = 3.en\ngone.en = gone.en\n"
		   "gone.de = new.de\ndev.en = dev.en\ndev.de = dev.de\n");
	if (!check_int(run(&f, 2, from_archives), 0)) {
		test_fail(__FILE__, __LINE__, "%s", f.e.text);
		done(&f);
		return;
	}
	check_int(f.p.numbers.read, 4);
	check_int(f.p.numbers.pairs[1], 3);
	check_int(f.p.numbers.pairs[2], 0);
	check(!file_exists(path_of("corpus/gone.de")));
	check(!file_exists(path_of("corpus/work/text-5.target")));
	check_side(&f, "corpus/work/side-0.source", "one\none more\n");
	check_side(&f, "corpus/work/side-1.source", "two\n");
	check_side(&f, "corpus/work/side-2.target", "drei\n");
	check_file("corpus/dev.en", "A\nB &amp; |\nE\n");
	check_file("corpus/dev.de", "a b\ncd\nD\n");
	/* in the order of the archive */
	check_int(intern_find(&f.p.words, "zwei", 4), 0);
	check_int(intern_find(&f.p.words, "one", 3), 1);
	check_int(intern_find(&f.p.words, "drei", 4), 6);
	done(&f);
}

TEST(read_keeps_further_sets)
{
	struct fixture f;

	write_archives();
	write_text("m.manifest", "[archive x.tar]\ntrain.en = 1.en\ntrain.de = 1.de\n"
				 "[archive y.tar]\nnew.en = new.en\nnew.de = new.de\n");
	check_int(run(&f, 2, from_archives), 0);
	check_int(f.p.texts.n_sets, 2);
	check_int(f.p.numbers.pairs[1], 1);
	check_file("corpus/new.en", "new\n");
	check_file("corpus/new.de", "neu\n");
	done(&f);
}

TEST(read_names_what_is_wrong_in_an_archive)
{
	write_archives();
	write_text("m.manifest", "[archive x.tar]\ntrain.en = 1.en\ntrain.de = 2.de\n");
	check_fails(2, from_archives, ERR_DATA, "x.tar:1.en has 2 lines, but x.tar:2.de has 1");
	write_text("m.manifest", "[archive x.tar]\ntrain.en = 1.en\ntrain.de = none\n");
	check_fails(2, from_archives, ERR_DATA, "x.tar: holds no member none");
	write_text("m.manifest", "[archive x.tar]\ntrain.en = 1.en\ntrain.de = README\n");
	check_fails(2, from_archives, ERR_DATA, "x.tar:README:1: byte 3 is not valid UTF-8");
}

/* ---- blocks ---- */

/* A text of long and short lines, with the given end. */
static void make_text(struct buf *b, size_t bytes, const char *end)
{
	uint64_t k = 1;

	while (b->len < bytes) {
		k = k * 6364136223846793005u + 1442695040888963407u;
		buf_printf(b, "w%d ", (int)(k >> 50));
		if (k >> 60 == 3)
			buf_add_str(b, k >> 59 & 1 ? "\n" : "\u00e4\r\n");
		if (b->len % 1000 == 7)
			buf_add_str(b, "\n\n");
	}
	buf_add_str(b, end);
}

TEST(blocks_are_whole_lines_and_all_of_them)
{
	static const size_t sizes[] = { 0,
					10,
					TEXT_BLOCK_BYTES - 1,
					TEXT_BLOCK_BYTES,
					TEXT_BLOCK_BYTES + 1,
					5 * TEXT_BLOCK_BYTES + 77 };
	static const char *const ends[] = { "", "\n", "last" };

	for (size_t i = 0; i < ARRAY_LEN(sizes) * ARRAY_LEN(ends); i++) {
		struct text_file file = { .path = (char *)path_of("text") };
		struct text_pair pair = { .set = "train",
					  .source.name = file.path,
					  .target.name = file.path };
		struct texts t = {
			.pairs = &pair, .n = 1, .n_train = 1, .files = &file, .n_files = 1
		};
		const struct conf c = { .repair = false };
		struct err e = { 0 };
		struct buf want = { 0 }, got = { 0 };
		struct block k = { 0 };
		struct blocks *b;
		int64_t lines = 0;
		int rc;

		make_text(&want, sizes[i / ARRAY_LEN(ends)], ends[i % ARRAY_LEN(ends)]);
		write_bytes("text", buf_text(&want), want.len);
		file.bytes = (int64_t)want.len;
		b = blocks_open(&t, &c, &e);
		check_int(blocks_total(b), 2 * want.len);
		while ((rc = blocks_next(b, &k, &e)) > 0) {
			if (k.text == 1)
				continue;
			check_int(k.first, lines + 1);
			lines += k.lines;
			check(k.is_last || k.bytes[k.n - 1] == '\n');
			check(k.n < 2 * TEXT_BLOCK_BYTES);
			buf_add(&got, k.bytes, k.n);
		}
		check_int(rc, 0);
		check_int(k.position, 2 * want.len);
		check(k.is_last && k.text == 1);
		check(got.len == want.len && !memcmp(buf_text(&got), buf_text(&want), got.len));
		blocks_close(b);
		block_free(&k);
		buf_free(&want);
		buf_free(&got);
	}
}

/* One hash over all files that the stage writes. */
static void hash_outputs(char out[2 * HASH_SHA256_HEX], struct err *e)
{
	static const char *const names[] = { "corpus/work/words", "corpus/work/side-0.source",
					     "corpus/work/side-0.target", "corpus/dev.en" };
	char hex[HASH_SHA256_HEX];
	struct hash *h = hash_new(HASH_SHA256, e);

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		check_int(hash_file(path_of(names[i]), hex, e), 0);
		check_int(hash_add(h, hex, sizeof(hex), e), 0);
	}
	check_int(hash_hex(h, out, e), 0);
	hash_free(h);
}

TEST(read_does_not_depend_on_threads)
{
	static const char *const options[] = { "train_source", "big",	     "train_target",
					       "big",	       "dev_source", "big",
					       "dev_target",   "big",	     NULL };
	static const int threads[] = { 0, 1, 2, 5 };
	char want[2 * HASH_SHA256_HEX], got[2 * HASH_SHA256_HEX];
	struct buf text = { 0 };

	make_text(&text, 7 * TEXT_BLOCK_BYTES, "no LF");
	write_bytes("big", text.data, text.len);
	buf_free(&text);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		struct fixture f;

		check_int(run(&f, threads[i], options), 0);
		hash_outputs(i ? got : want, &f.e);
		if (i)
			check_str(got, want);
		check_int(f.p.numbers.source_bytes, file_size(path_of("big")));
		done(&f);
	}
}

TEST(read_long_lines)
{
	static const char *const options[] = {
		"train_source", "long", "train_target", "long", "tokenize", "no", NULL
	};
	struct fixture f;
	struct buf text = { 0 };
	struct err e = { 0 };

	buf_add_str(&text, "first\n");
	for (int i = 0; i < 3 * (int)TEXT_BLOCK_BYTES / 8; i++)
		buf_add_str(&text, "longline");
	buf_add_str(&text, "\nthird\n");
	write_bytes("long", text.data, text.len);
	check_int(run(&f, 2, options), 0);
	check_int(f.p.numbers.read, 3);
	check_int(f.p.words.n, 3);
	check_int(intern_find(&f.p.words, "third", 5), 2);
	done(&f);
	if (!check(buf_reserve(&text, LINES_MAX_BYTES) != NULL))
		return;
	memset(text.data, 'x', LINES_MAX_BYTES);
	memcpy(text.data, "first\n", 6);
	write_bytes("long", text.data, LINES_MAX_BYTES); /* the longest line that is allowed */
	check_int(run(&f, 2, options), 0);
	done(&f);
	memcpy(text.data, "firstx", 6);
	text.data[LINES_MAX_BYTES] = 'x';
	check_int(file_write_all(path_of("long"), text.data, LINES_MAX_BYTES + 1, &e), 0);
	check_fails(2, options, ERR_DATA, "long:1: the line has more than");
	buf_free(&text);
}

/* ---- real text ---- */

/* Reference: tokenise and squeeze line by line, like the pipe tools. */
static void expected_text(const struct conf *c, enum pipeline_side side, const char *path,
			  struct buf *out)
{
	struct err e = { 0 };
	struct pipeline *p = pipeline_open(NULL, c, &e);
	struct buf tokens = { 0 };
	struct lines in;

	check_int(lines_open(&in, path, &e), 0);
	while (p && lines_next(&in, &e) > 0) {
		buf_clear(&tokens);
		pipeline_tokenize(p, side, in.text, in.len, &tokens, &e);
		clean_squeeze(buf_text(&tokens), tokens.len, false, out);
		buf_add_char(out, '\n');
	}
	check_int(e.code, 0);
	lines_close(&in);
	pipeline_close(p);
	buf_free(&tokens);
}

TEST(read_real_text_as_the_pipe_tools_do)
{
	static const char *const names[] = { "multi30k/train.en", "multi30k/train.de" };
	char paths[2][4096];
	struct fixture f;

	if (!test_data(names[0]))
		return;
	for (int i = 0; i < 2; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s", test_data(names[i]));
	const char *const options[] = {
		"train_source", paths[0],	   "train_target", paths[1], "source_language",
		"en",		"target_language", "de",	   NULL
	};
	check_int(run(&f, 2, options), 0);
	for (int i = 0; i < 2; i++) {
		struct buf want = { 0 }, got = { 0 };

		expected_text(&f.c, i ? SIDE_TARGET : SIDE_SOURCE, paths[i], &want);
		side_text(&f, i ? "corpus/work/side-0.target" : "corpus/work/side-0.source", &got);
		check_int(got.len, want.len);
		check(got.len == want.len && !memcmp(got.data, want.data, got.len));
		buf_free(&want);
		buf_free(&got);
	}
	done(&f);
}
