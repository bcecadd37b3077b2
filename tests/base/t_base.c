/* t_base.c - errors, memory, text, files, lines, hashes, random numbers, processes. */
#include "tests/test.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/lines.h"
#include "share/base/mem.h"
#include "share/base/proc.h"
#include "share/base/rng.h"
#include "share/base/statistics.h"
#include "share/base/text.h"
#include "share/guard/terminal_text.h"
#include "share/workspace/paths.h"

TEST(err_codes_and_text)
{
	struct err e = { 0 };

	check_int(err_set(&e, ERR_DATA, "%s:%d: bad", "f", 3), ERR_DATA);
	check_str(e.text, "f:3: bad");
	check_int(err_prefix(&e, "run %s", "x"), ERR_DATA);
	check_str(e.text, "run x: f:3: bad");
	check_int(err_exit_status(ERR_DATA), 65);
	check_int(err_exit_status(0), 0);
	check_int(err_exit_status(-1234), 70);
	errno = ENOSPC;
	check_int(err_set_errno(&e, ERR_NOINPUT, "f"), ERR_IO);
	errno = EACCES;
	check_int(err_set_errno(&e, ERR_NOINPUT, "f"), ERR_PERM);
	errno = EMFILE; /* the file is there */
	check_int(err_set_errno(&e, ERR_NOINPUT, "f"), ERR_NOMEM);
	check(err_is_of_input(ERR_NOINPUT) && err_is_of_input(ERR_DATA));
	check(!err_is_of_input(ERR_NOMEM) && !err_is_of_input(ERR_PERM) && !err_is_of_input(0));
}

TEST(mem_sizes_are_checked)
{
	struct err e = { 0 };
	size_t product;
	char *p = NULL;
	size_t cap = 0;

	check(!mem_mul(SIZE_MAX / 2, 3, &product));
	check(mem_mul(6, 7, &product) && product == 42);
	check(mem_alloc(SIZE_MAX / 2, 4, &e) == NULL);
	check_int(e.code, ERR_NOMEM);
	check(mem_alloc_aligned(SIZE_MAX, 1, &e) == NULL);
	check_int(mem_grow(&p, &cap, 100, 1, &e), 0);
	check(p && cap >= 100);
	check_err(mem_grow(&p, &cap, SIZE_MAX / 2, 8, &e), ERR_NOMEM);
	check(p && cap >= 100);
	free(p);
	p = mem_alloc_aligned(10, 4, &e);
	check(p && (uintptr_t)p % 64 == 0 && p[39] == 0);
	free(p);
}

TEST(buf_grows_and_gives_away)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	char *text;

	check_str(buf_text(&b), "");
	if (check(buf_reserve(&b, 100) != NULL))
		check_str(buf_text(&b), "");
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%d,", i % 10);
	check_int(b.len, 2000);
	check_int(b.data[b.len], 0);
	buf_truncate(&b, 3);
	check_str(b.data, "0,1");
	text = buf_detach(&b, &e);
	check_str(text, "0,1");
	check(b.data == NULL && b.len == 0);
	free(text);
	buf_free(&b);
}

TEST(buf_part_fails_with_the_whole)
{
	struct buf whole = { 0 }, part = { 0 };
	struct err e = { 0 };

	buf_add_str(&part, "a");
	buf_add_str(&whole, buf_text(&part));
	buf_free_part(&part, &whole);
	check(!part.data && !buf_check(&whole, &e));
	part.failed = true; /* as after an addition without memory */
	buf_free_part(&part, &whole);
	check(!part.failed);
	check_int(buf_check(&whole, &e), ERR_NOMEM);
	buf_free(&whole);
}

TEST(utf8_well_formed_only)
{
	static const struct {
		const char *text;
		size_t n, good;
	} cases[] = {
		{ "", 0, 0 },
		{ "abc", 3, 3 },
		{ "gr\xC3\xB6\xC3\x9F"
		  "er",
		  8, 8 },
		{ "\xE2\x82\xAC", 3, 3 },
		{ "\xF0\x9F\x98\x80", 4, 4 },
		{ "\xC0\x80", 2, 0 },
		{ "\xED\xA0\x80", 3, 0 },
		{ "\xE0\x80\x80", 3, 0 },
		{ "\xF4\x90\x80\x80", 4, 0 },
		{ "ab\xE2\x82", 4, 2 },
		{ "12345678\xFF", 9, 8 },
		{ "\xF5\x80\x80\x80", 4, 0 },
		{ "\x80", 1, 0 },
		{ "1234567\xC3\xA4"
		  "12345678",
		  17, 17 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_int(utf8_valid_prefix(cases[i].text, cases[i].n), cases[i].good);
}

TEST(utf8_round_trip)
{
	for (uint32_t c = 1; c < 0x110000; c += c < 0x3000 ? 1 : 97) {
		char bytes[4];
		uint32_t back;
		size_t n;

		if (c >= 0xD800 && c < 0xE000)
			continue;
		n = utf8_encode(c, bytes);
		if (!utf8_valid(bytes, n) || utf8_decode(bytes, n, &back) != n || back != c ||
		    utf8_count(bytes, n) != 1)
			test_fail(__FILE__, __LINE__, "U+%04X does not come back", c);
	}
}

TEST(utf8_repair_keeps_the_rest)
{
	struct buf b = { 0 };

	utf8_repair(&b,
		    "a\xFF\xC3"
		    "b\xC3\xA4",
		    6);
	check_str(buf_text(&b), "a\xEF\xBF\xBD\xEF\xBF\xBD"
				"b\xC3\xA4");
	buf_free(&b);
}

TEST(text_numbers_are_whole)
{
	int64_t i;
	double r;

	check(text_to_int("42", &i) && i == 42);
	check(text_to_int("-9223372036854775808", &i) && i == INT64_MIN);
	check(!text_to_int("9223372036854775808", &i));
	check(!text_to_int("12abc", &i) && !text_to_int("", &i) && !text_to_int(" 1", &i) &&
	      !text_to_int("1.5", &i));
	check(text_to_real("1e-9", &r) && r == 1e-9);
	check(!text_to_real("nan", &r) && !text_to_real("inf", &r) && !text_to_real("1e999", &r) &&
	      !text_to_real("1x", &r));
}

TEST(text_plural_of_numbers)
{
	check_str(text_plural(0), "s");
	check_str(text_plural(1), "");
	check_str(text_plural(1.5), "s");
	check_str(text_plural(2), "s");
	check_str(text_plural((double)INT64_MAX), "s");
}

TEST(text_finds_a_password_in_an_address)
{
	check(text_has_password("ssh://user:pw@host/path"));
	check(text_has_password("ssh://user:p@w@host:22/path"));
	check(!text_has_password("ssh://user@host:22/path"));
	check(!text_has_password("ssh://host:22/user:pw@path"));
	check(!text_has_password("user:pw@host"));
}

TEST(text_nearest_name)
{
	static const char *const names[] = { "batch-tokens", "beam", "beta1", "tokenize" };

	check_str(text_nearest("batch_token", names, 4), "batch-tokens");
	check_str(text_nearest("baem", names, 4), "beam");
	check_str(text_nearest("tokenise", names, 4), "tokenize");
	check(text_nearest("qqqqqq", names, 4) == NULL);
	/* letters swapped count once; two changes of a short word leave nothing of it */
	check_str(text_nearest("saed", (const char *const[]){ "seed", "save" }, 2), "seed");
	check(text_nearest("foo", (const char *const[]){ "job", "ter" }, 2) == NULL);
	check(text_nearest("", names, 0) == NULL);
}

TEST(file_replaced_at_once)
{
	struct err e = { 0 };
	struct outfile o;
	struct buf b = { 0 };
	char *path = file_path(&e, "%s/deep/er/file", test_folder()),
	     *folder = file_path(&e, "%s/deep/er", test_folder());

	check_err(file_write_all(path, "x", 1, &e), ERR_CANTCREAT);
	check_int(file_make_folders(folder, &e), 0);
	check_int(file_make_folders(folder, &e), 0);
	check_int(file_write_all(path, "old", 3, &e), 0);
	check_int(outfile_open(&o, path, &e), 0);
	fputs("half", o.stream);
	outfile_abandon(&o);
	check_int(file_read_all(path, 0, &b, &e), 0);
	check_str(buf_text(&b), "old");
	check_err(file_read_all(path, 2, &b, &e), ERR_DATA);
	check_int(file_size(path), 3);
	check_int(file_remove_tree(folder, &e), 0);
	check(!file_exists(path));
	check_int(file_remove_tree(folder, &e), 0);
	buf_free(&b);
	free(path);
	free(folder);
}

TEST(file_writes_into_a_pipe)
{
	char path[300], text[10] = "";
	struct outfile o;
	struct stat st;
	struct err e = { 0 };
	int fd;

	snprintf(path, sizeof(path), "%s/pipe", test_folder());
	check_int(mkfifo(path, 0600), 0);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	if (!check(fd >= 0) || !check_int(outfile_open(&o, path, &e), 0))
		return;
	fputs("abc", o.stream);
	check_int(outfile_commit(&o, &e), 0);
	check_int(read(fd, text, sizeof(text) - 1), 3);
	check_str(text, "abc");
	close(fd);
	check_int(stat(path, &st), 0);
	check(S_ISFIFO(st.st_mode));
}

TEST(file_full_disk_is_an_error)
{
	struct err e = { 0 };
	struct outfile o = { 0 };

	if (access("/dev/full", W_OK)) {
		test_skip("no /dev/full");
		return;
	}
	check_int(outfile_open(&o, "/dev/full", &e), 0);
	fputs("text", o.stream);
	check_err(outfile_commit(&o, &e), ERR_IO);
	check(strstr(e.text, "/dev/full") != NULL);
}

TEST(lines_of_all_kinds)
{
	struct err e = { 0 };
	struct lines l;
	char *path = file_path(&e, "%s/lines", test_folder());
	static const char text[] = "one\r\n\n\xC2\x85"
				   "mid\x0C"
				   "dle\rx\n\xFF"
				   "bad\nlast";

	check_int(file_write_all(path, text, sizeof(text) - 1, &e), 0);
	check_int(lines_open(&l, path, &e), 0);
	check(lines_next(&l, &e) == 1 && !strcmp(l.text, "one"));
	check(lines_next(&l, &e) == 1 && l.len == 0);
	check(lines_next(&l, &e) == 1 && !strcmp(l.text, "\xC2\x85"
							 "mid\x0C"
							 "dle\rx"));
	check_err(lines_next(&l, &e), ERR_DATA);
	check(strstr(e.text, "lines:4: byte 1") != NULL);
	lines_close(&l);

	check_int(lines_open(&l, path, &e), 0);
	l.repair = true;
	for (int i = 0; i < 4; i++)
		check_int(lines_next(&l, &e), 1);
	check_str(l.text, "\xEF\xBF\xBD"
			  "bad");
	check(lines_next(&l, &e) == 1 && !strcmp(l.text, "last") && l.number == 5);
	check_int(lines_next(&l, &e), 0);
	lines_close(&l);
	check_err(lines_open(&l, "/no/such/file", &e), ERR_NOINPUT);
	check_err(lines_open(&l, "/", &e), ERR_NOINPUT);
	free(path);
}

/* A compressed file given as text is named as such, also with repair; on a later line it is a bad byte. */
TEST(lines_name_files_that_are_no_text)
{
	static const struct {
		const char *bytes, *says;
	} cases[] = { { "\x1F\x8B\x08", "x is compressed with gzip, not UTF-8 text; unpack it" },
		      { "\xFD"
			"7zXZ",
			"compressed with xz" },
		      { "\x28\xB5\x2F\xFD!", "compressed with zstd" },
		      { "BZh91AY\xFF", "compressed with bzip2" },
		      { "PK\x03\x04\xFF", "a zip archive" },
		      { "\xFF\xFE"
			"a",
			"iconv -f UTF-16" },
		      { "BZ\xFF", "x:1: byte 3 is not valid" },
		      { "\n\x1F\x8B", "x:2: byte 2 is not valid" } };
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *text = cases[i].bytes;
		struct lines l;
		int got;

		check_int(lines_open_memory(&l, "x", text, strlen(text), 1, &e), 0);
		l.repair = strstr(cases[i].says, "byte") == NULL;
		while ((got = lines_next(&l, &e)) > 0)
			continue;
		check_int(got, ERR_DATA);
		check(strstr(e.text, cases[i].says) != NULL);
		lines_close(&l);
	}
}

/* Gives a text in pieces of the given size. */
struct pieces {
	const char *text;
	size_t n, size;
	bool fails; /* after the last of them */
};

static int64_t read_pieces(void *from, void *to, size_t room, struct err *e)
{
	struct pieces *p = from;
	size_t n = MIN(MIN(p->n, p->size), room);

	if (!p->n && p->fails)
		return err_set(e, ERR_PROTOCOL, "the pieces ran out");
	memcpy(to, p->text, n);
	p->text += n;
	p->n -= n;
	return (int64_t)n;
}

/* Both give the same lines, and the same failure at the end. */
static void check_same_lines(struct lines *a, struct lines *b)
{
	struct err x = { 0 }, y = { 0 };
	int got;

	do {
		got = lines_next(a, &x);
		check_int(lines_next(b, &y), got);
		check_int(a->number, b->number);
		if (got > 0 && check_int(a->len, b->len))
			check(!memcmp(a->text, b->text, a->len + 1));
	} while (got > 0);
	check_str(x.text, y.text);
	lines_close(a);
	lines_close(b);
}

TEST(lines_are_the_same_from_file_memory_and_pieces)
{
	static const char *const texts[] = {
		"",
		"\n",
		"\r\n",
		"a",
		"a\r",
		"a\n\nb\r\r\nc\n",
		"\n\n\nx",
		("good\nb\xFF"
		 "d\nnot reached"),
		"\xE2\x82\xAC\n\xE2\x82",
	};
	struct err e = { 0 };
	char *path = file_path(&e, "%s/lines", test_folder());
	struct lines a, b;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		size_t n = strlen(texts[i]);

		check_int(file_write_all(path, texts[i], n, &e), 0);
		for (int repair = 0; repair < 2; repair++) {
			check_int(lines_open(&a, path, &e), 0);
			check_int(lines_open_memory(&b, path, texts[i], n, 1, &e), 0);
			a.repair = b.repair = repair;
			check_same_lines(&a, &b);
			for (size_t size = 1; size < 4; size++) {
				struct pieces p = { texts[i], n, size, false };

				check_int(lines_open(&a, path, &e), 0);
				check_int(lines_open_reader(&b, path, read_pieces, &p, &e), 0);
				a.repair = b.repair = repair;
				check_same_lines(&a, &b);
			}
		}
	}
	free(path);
}

TEST(lines_of_memory_are_numbered_on)
{
	struct err e = { 0 };
	struct lines l;

	check_int(lines_open_memory(&l, "corpus.en", "a\n\0b\n\xC3", 6, 1001, &e), 0);
	check(lines_next(&l, &e) == 1 && l.number == 1001 && !strcmp(l.text, "a"));
	check(lines_next(&l, &e) == 1 && l.len == 2 && !memcmp(l.text, "\0b", 3));
	check_err(lines_next(&l, &e), ERR_DATA);
	check(strstr(e.text, "corpus.en:1003: byte 1") != NULL);
	lines_close(&l);
	check_int(lines_open_memory(&l, "nothing", NULL, 0, 1, &e), 0);
	check_int(lines_next(&l, &e), 0);
	lines_close(&l);
}

TEST(lines_report_what_the_reader_reports)
{
	struct err e = { 0 };
	struct lines l;
	struct pieces p = { "one\ntwo", 7, 3, true };

	check_int(lines_open_reader(&l, "pieces", read_pieces, &p, &e), 0);
	check(lines_next(&l, &e) == 1 && !strcmp(l.text, "one"));
	check_err(lines_next(&l, &e), ERR_PROTOCOL);
	check_str(e.text, "the pieces ran out");
	lines_close(&l);
}

/* A text without LF is refused before all of it is in memory. */
static int64_t read_endless(void *from, void *to, size_t room, struct err *e)
{
	(void)e;
	memset(to, 'x', room);
	*(int64_t *)from += (int64_t)room;
	return (int64_t)room;
}

TEST(lines_refuse_an_endless_one)
{
	struct err e = { 0 };
	struct lines l;
	int64_t given = 0;

	check_int(lines_open_reader(&l, "endless", read_endless, &given, &e), 0);
	check_err(lines_next(&l, &e), ERR_DATA);
	check(strstr(e.text, "endless:1: the line has more than") != NULL);
	check(given > LINES_MAX_BYTES && given <= 2 * (int64_t)LINES_MAX_BYTES);
	lines_close(&l);
}

/* A long line, then a short one; it reads whatever follows. */
static int64_t read_long_line(void *from, void *to, size_t room, struct err *e)
{
	static const char end[] = "\nshort\n";
	const int64_t longest = LINES_MAX_BYTES + 5;
	int64_t *given = from;

	(void)e;
	if (*given < longest) {
		room = MIN(room, (size_t)(longest - *given));
		memset(to, 'x', room);
	} else {
		room = MIN(room, (size_t)(longest + (int64_t)strlen(end) - *given));
		memcpy(to, end + (*given - longest), room);
	}
	*given += (int64_t)room;
	return (int64_t)room;
}

TEST(lines_skip_a_long_one)
{
	struct err e = { 0 };
	struct lines l;
	int64_t given = 0;

	check_int(lines_open_reader(&l, "long", read_long_line, &given, &e), 0);
	l.skip_long = true;
	check_int(lines_next(&l, &e), LINES_SKIPPED);
	check_str(l.text, "");
	check_int(lines_next(&l, &e), 1);
	check_str(l.text, "short");
	check_int(l.number, 2);
	check_int(lines_next(&l, &e), 0);
	lines_close(&l);
}

TEST(hash_known_sums)
{
	struct err e = { 0 };
	char hex[HASH_SHA256_HEX];
	char *path = file_path(&e, "%s/abc", test_folder());
	struct hash *h = hash_new(HASH_MD5, &e);

	check_int(file_write_all(path, "abc", 3, &e), 0);
	check_int(hash_file(path, hex, &e), 0);
	check_str(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check_int(hash_add(h, "abc", 3, &e), 0);
	check_int(hash_hex(h, hex, &e), 0);
	check_str(hex, "900150983cd24fb0d6963f7d28e17f72");
	check(hash_bytes("a", 1) != hash_bytes("b", 1));
	hash_free(h);
	free(path);
}

/* The known answers of Random123's kat_vectors for philox4x32-10: all zero, and all ones. */
TEST(rng_is_philox)
{
	struct rng_key zero = { 0, 0, 0, 0, 0 };
	struct rng_block b = rng_block_at(zero, 0);

	check_int(b.v[0], 0x6627e8d5);
	check_int(b.v[1], 0xe169c58d);
	check_int(b.v[2], 0xbc57ac4c);
	check_int(b.v[3], 0x9b00dbd8);
}

TEST(rng_streams_differ)
{
	struct rng_key a = rng_key_make(1, RNG_DROPOUT, 5, 0);
	double sum = 0;

	check(rng_u32(a, 7) == rng_u32(a, 7));
	check(rng_u32(a, 7) != rng_u32(rng_key_make(2, RNG_DROPOUT, 5, 0), 7));
	check(rng_u32(a, 7) != rng_u32(rng_key_make(1, RNG_SHUFFLE, 5, 0), 7));
	check(rng_u32(a, 7) != rng_u32(rng_key_make(1, RNG_DROPOUT, 6, 0), 7));
	check(rng_u32(a, 7) != rng_u32(rng_key_make(1, RNG_DROPOUT, 5, 1), 7));
	for (int i = 0; i < 100000; i++)
		sum += rng_unit(a, (uint64_t)i);
	check_near(sum / 100000, 0.5, 0.005);
}

TEST(proc_runs_and_reports)
{
	static const char *const cat[] = { "cat", NULL }, *const no[] = { "/no/such/program",
									  NULL };
	static const char *const seven[] = { "sh", "-c", "exit 7", NULL }, *const sleeper[] = {
		"sleep", "60", NULL
	};
	struct err e = { 0 };
	struct proc p;
	static const char *const many[] = { "sh", "-c", "yes | head -c 300000", NULL };
	struct buf out = { 0 };
	char text[8] = "";
	int status = -1;

	check_int(proc_start(&p, cat, PROC_PIPE_IN | PROC_PIPE_OUT, &e), 0);
	check_int(write(p.in, "hello", 5), 5);
	close(p.in);
	p.in = -1;
	check_int(read(p.out, text, sizeof(text)), 5);
	check_str(text, "hello");
	check(proc_wait(&p, &status, &e) == 0 && status == 0);
	/* more than a pipe holds, and more than is asked for */
	check_int(proc_start(&p, many, PROC_PIPE_OUT, &e), 0);
	check_int(proc_read_output(&p, 100000, &out, &e), 0);
	check_int((int64_t)out.len, 100000);
	check_int(proc_wait(&p, &status, &e), 0);
	buf_free(&out);
	check(proc_start(&p, seven, 0, &e) == 0 && proc_wait(&p, &status, &e) == 0 && status == 7);
	check_err(proc_start(&p, no, PROC_PIPE_OUT, &e), ERR_UNAVAILABLE);
	check_int(proc_start(&p, sleeper, 0, &e), 0);
	proc_stop(&p, 5);
	check_int(p.pid, -1);
}

TEST(paths_names)
{
	struct err e = { 0 };

	check_int(paths_check_name("run", "demo-1.a_b", &e), 0);
	check_err(paths_check_name("run", "../x", &e), ERR_USAGE);
	check_err(paths_check_name("run", ".hidden", &e), ERR_USAGE);
	check_err(paths_check_name("run", "", &e), ERR_USAGE);
	check_err(paths_check_name("run", "-rf", &e), ERR_USAGE);
	check(strstr(e.text, "must not begin with -, which begins an option: '-rf'") != NULL);
	check_err(paths_check_name("corpus", "-x", &e), ERR_USAGE);
}

TEST(terminal_text)
{
	static const struct {
		const char *text, *lines, *sentence; /* ? stands for U+FFFD */
	} cases[] = {
		{ "plain \xC3\xA4", "plain \xC3\xA4", "plain \xC3\xA4" },
		{ "a\tb\n", "a\tb\n", "a?b?" },
		{ "\x1B]0;x\x07", "?]0;x?", "?]0;x?" },
		{ "a\rb\x7F", "a?b?", "a?b?" },
		{ "\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0", "???\xC2\xA0", "???\xC2\xA0" },
		{ "\x9B\x9D\xFF", "???", "???" },
		{ "\xE2\x80\xAA\xE2\x80\xAE\xE2\x81\xA6\xE2\x81\xA9", "????", "????" },
		{ "\xE2\x80\x8D\xE2\x80\xA9", "\xE2\x80\x8D?", "\xE2\x80\x8D?" },
		{ "cut \xE2\x80", "cut ??", "cut ??" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (int sentence = 0; sentence < 2; sentence++) {
			const char *want = sentence ? cases[i].sentence : cases[i].lines;
			struct buf got = { 0 }, expected = { 0 };

			for (; *want; want++)
				if (*want == '?')
					buf_add_str(&expected, "\xEF\xBF\xBD");
				else
					buf_add_char(&expected, *want);
			terminal_add_text(&got, cases[i].text, strlen(cases[i].text),
					  sentence ? TERMINAL_SENTENCE : TERMINAL_LINES);
			check_str(buf_text(&got), buf_text(&expected));
			buf_free(&got);
			buf_free(&expected);
		}
}

/* Every call writes what is complete: a character may arrive in pieces, at any place. */
TEST(terminal_guard)
{
	static const char text[] = "\xC3\xA4 \xE2\x80\xAE \xF0\x9F\x99\x82 \x1B[m\n";
	char got[100];
	int ends[2];
	ssize_t n;
	pid_t child;

	check_int(pipe(ends), 0);
	child = fork();
	check(child >= 0);
	if (child < 0)
		return;
	if (!child) {
		dup2(ends[1], STDERR_FILENO);
		terminal_guard_streams();
		for (const char *p = text; *p; p++)
			fputc(*p, stderr);
		fputs(text, stderr);
		_exit(0);
	}
	close(ends[1]);
	check_int(waitpid(child, NULL, 0), child);
	n = read(ends[0], got, sizeof(got) - 1);
	got[n > 0 ? n : 0] = 0;
	check_str(got, "\xC3\xA4 \xEF\xBF\xBD \xF0\x9F\x99\x82 \xEF\xBF\xBD[m\n"
		       "\xC3\xA4 \xEF\xBF\xBD \xF0\x9F\x99\x82 \xEF\xBF\xBD[m\n");
	close(ends[0]);
}

/* No file gets the number of a closed stream, so no message is written into it. */
TEST(closed_streams_stay_closed)
{
	const pid_t child = fork();
	char byte;
	int status;

	check(child >= 0);
	if (child < 0)
		return;
	if (!child) {
		for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
			close(fd);
		terminal_guard_streams();
		if (open("/dev/zero", O_RDWR) <= STDERR_FILENO)
			_exit(1);
		if (read(STDIN_FILENO, &byte, 1) != -1 || errno != EBADF)
			_exit(2);
		if (write(STDOUT_FILENO, "", 1) != -1 || write(STDERR_FILENO, "", 1) != -1)
			_exit(3);
		_exit(0);
	}
	check_int(waitpid(child, &status, 0), child);
	check(WIFEXITED(status));
	check_int(WEXITSTATUS(status), 0);
}

TEST(statistics_pace)
{
	struct step_pace p = { 0 };

	check(isnan(step_pace_seconds(&p)));
	step_pace_add(&p, 1000, 50);
	check(isnan(step_pace_seconds(&p)));
	step_pace_add(&p, NAN, 60);
	step_pace_add(&p, 1010, 70);
	check_near(step_pace_seconds(&p), 0.5, 1e-12);
	/* points far apart do not change a steady pace */
	step_pace_add(&p, 5010, 8070);
	check_near(step_pace_seconds(&p), 0.5, 1e-12);
	/* ten windows later only the new pace counts */
	step_pace_add(&p, 11010, 11070);
	check_near(step_pace_seconds(&p), 2, 1e-3);
	/* a clock that was set back adds nothing */
	step_pace_add(&p, 500, 11080);
	check_near(step_pace_seconds(&p), 2, 1e-3);
	step_pace_add(&p, 510, 11180);
	check(step_pace_seconds(&p) < 2);
	/* a run that was rewound begins anew, and no number is too large */
	step_pace_add(&p, 520, INT64_MIN);
	check(isnan(step_pace_seconds(&p)));
	step_pace_add(&p, 521, INT64_MAX);
	check(step_pace_seconds(&p) > 0);
}

TEST(statistics_pace_left)
{
	check_near(step_pace_left(0.5, 100, 0, NAN), 50, 1e-12);
	check_near(step_pace_left(0.5, 100, 1, 20), 40, 1e-12); /* the time limit comes first */
	check_near(step_pace_left(0.5, 100, 1, 5), 50, 1e-12);
	check_near(step_pace_left(0.5, 100, 1, 100), 0, 0); /* the limit is over */
	check_near(step_pace_left(NAN, 100, 1, 20), 40, 1e-12);
	check_near(step_pace_left(0.5, -1, 1, 20), 40, 1e-12);
	check_near(step_pace_left(0.5, 100, 1, NAN), 50, 1e-12);
	check(isnan(step_pace_left(NAN, 100, 0, 20)));
	check(isnan(step_pace_left(0.5, -1, 0, 20)));
}
