/* t_token_column.c - tests of token columns and word tables on disk: round trip, damage */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "data/prep/token_column.h"
#include "data/words/leb.h"
#include "share/base/file.h"
#include "share/base/mem.h"

static const char *path_of(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", test_folder(), name);
	return path;
}

/* ---- numbers ---- */

TEST(leb_round_trip)
{
	static const uint32_t numbers[] = { 0,	     1,		127,	   128,
					    129,     16383,	16384,	   2097151,
					    2097152, 268435455, 268435456, INT32_MAX - 1 };
	unsigned char bytes[ARRAY_LEN(numbers) * LEB_MAX + LEB_SLACK] = { 0 }, *end = bytes, *at;
	int32_t got[ARRAY_LEN(numbers)];
	uint32_t bad = 1, one;

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		end = leb_put(end, numbers[i]);
	at = leb_get_many(bytes, end, got, ARRAY_LEN(numbers), INT32_MAX, &bad);
	check(at == end);
	check_int(bad, 0);
	at = bytes;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		check_int(got[i], numbers[i]);
		check(leb_get(&at, end, &one));
		check_int(one, numbers[i]);
	}
	check(at == end);
	end = leb_put(bytes, UINT32_MAX);
	at = bytes;
	check(leb_get(&at, end, &one));
	check_int(one, UINT32_MAX);
}

TEST(leb_refuses_other_forms)
{
	static const unsigned char cases[][12] = {
		{ 0x80, 0x00 },
		{ 0xff, 0x80, 0x00 },
		{ 0x80, 0x80, 0x80, 0x80, 0x00 },
		{ 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 },
		{ 0xff, 0xff, 0xff, 0xff, 0x1f },
		{ 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		unsigned char bytes[32] = { 0 }, *at = bytes;
		uint32_t bad = 0, one;
		int32_t got;

		memcpy(bytes, cases[i], sizeof(cases[i]));
		leb_get_many(bytes, bytes + 12, &got, 1, INT32_MAX, &bad);
		check_int(bad, 1);
		check(!leb_get(&at, bytes + 12, &one));
	}
}

TEST(leb_refuses_the_limit)
{
	unsigned char bytes[16] = { 0 }, *end = leb_put(leb_put(bytes, 6), 7);
	uint32_t bad = 1;
	int32_t got[2];

	check(leb_get_many(bytes, end, got, 2, 8, &bad) == end);
	check_int(bad, 0);
	leb_get_many(bytes, end, got, 2, 7, &bad);
	check_int(bad, 1);
	check(leb_get_many(bytes, end - 1, got, 2, 8, &bad) > end - 1);
}

/* ---- sides ---- */

#define N_WORDS 3000000

/* Line k of a made-up text. Long ones reach over more than one chunk of the reader. */
static void make_line(struct token_column_line *l, int32_t *words, int64_t k)
{
	uint32_t n = k % 100 == 99 ? 100000 : (uint32_t)(k * 7 % 60);

	for (uint32_t i = 0; i < n; i++)
		words[i] = (int32_t)((uint64_t)(k + 1) * (i + 3) * 2654435761u % N_WORDS >> i % 20);
	*l = (struct token_column_line){ .hash = (uint64_t)k * 0x9E3779B97F4A7C15u,
					 .bytes = n * 6,
					 .characters = n * 5,
					 .letters = n * 4,
					 .foreign = n,
					 .longest = n ? 1 + n % 30 : 0,
					 .n = n,
					 .words = words };
}

static void write_side(const char *path, int64_t lines)
{
	struct err e = { 0 };
	int32_t *words = mem_alloc(100000, sizeof(*words), &e);
	struct token_column_writer *w = token_column_create(path, &e);
	struct token_column_line l;

	for (int64_t k = 0; w && k < lines; k++) {
		make_line(&l, words, k);
		check_int(token_column_put(w, &l, &e), 0);
	}
	check_int(w ? token_column_finish(w, &e) : -1, 0);
	free(words);
}

TEST(side_round_trip)
{
	static const int64_t sizes[] = { 0, 1, 2, 1000 };
	struct err e = { 0 };
	int32_t *words = mem_alloc(100000, sizeof(*words), &e);

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct token_column_reader *r;
		struct token_column_line want, got;

		write_side(path_of("side"), sizes[i]);
		r = token_column_open(path_of("side"), N_WORDS, &e);
		if (!check(r != NULL))
			continue;
		check_int(token_column_lines(r), sizes[i]);
		for (int64_t k = 0; k < sizes[i]; k++) {
			make_line(&want, words, k);
			if (!check_int(token_column_next(r, &got, &e), 1))
				break;
			check(got.hash == want.hash && got.bytes == want.bytes &&
			      got.characters == want.characters && got.letters == want.letters &&
			      got.foreign == want.foreign && got.longest == want.longest);
			check_int(got.n, want.n);
			check(!want.n || !memcmp(got.words, want.words, want.n * sizeof(*words)));
		}
		check_int(token_column_next(r, &got, &e), 0);
		check_int(token_column_next(r, &got, &e), 0);
		token_column_close(r);
	}
	free(words);
}

/* Read a column to its end. Returns 0 or an error code; its text must name the file. */
static int read_side(const char *path, int32_t n_words)
{
	struct err e = { 0 };
	struct token_column_reader *r = token_column_open(path, n_words, &e);
	struct token_column_line l;
	int got = 0;

	while (r && (got = token_column_next(r, &l, &e)) > 0)
		;
	token_column_close(r);
	got = r ? got : e.code;
	check(!got || strstr(e.text, path));
	return got;
}

/* A column of two lines, of 3 words and 1 word; the offsets below refer to its bytes. */
static void small_side(struct buf *b)
{
	static const int32_t words[] = { 5, 300, 0, 70000 };
	struct token_column_line l = { .hash = 1,
				       .bytes = 20,
				       .characters = 19,
				       .letters = 15,
				       .foreign = 2,
				       .longest = 8,
				       .n = 3,
				       .words = words };
	struct err e = { 0 };
	struct token_column_writer *w = token_column_create(path_of("small"), &e);

	check_int(token_column_put(w, &l, &e), 0);
	l.n = 1;
	l.words = words + 3;
	check_int(token_column_put(w, &l, &e), 0);
	check_int(token_column_finish(w, &e), 0);
	check_int(read_side(path_of("small"), 70001), 0);
	check_int(file_read_all(path_of("small"), 0, b, &e), 0);
}

TEST(side_bytes_are_as_its_header_says)
{
	static const char want[] = "WBSIDE\n\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0"
				   "\1\0\0\0\0\0\0\0\24\23\17\2\10\3\5\254\2\0"
				   "\1\0\0\0\0\0\0\0\24\23\17\2\10\1\360\242\4";
	struct buf b = { 0 };

	small_side(&b);
	check_int(b.len, sizeof(want) - 1);
	check(b.len == sizeof(want) - 1 && !memcmp(b.data, want, b.len));
	buf_free(&b);
}

TEST(side_refuses_a_shorter_or_longer_file)
{
	struct err e = { 0 };
	struct buf b = { 0 };

	small_side(&b);
	for (size_t n = 0; n < b.len; n++) {
		check_int(file_write_all(path_of("cut"), b.data, n, &e), 0);
		check_int(read_side(path_of("cut"), 70001), ERR_DATA);
	}
	buf_add_char(&b, 0);
	check_int(file_write_all(path_of("cut"), b.data, b.len, &e), 0);
	check_int(read_side(path_of("cut"), 70001), ERR_DATA);
	buf_free(&b);
	check_int(read_side(path_of("none"), 1), ERR_NOINPUT);
	check_int(read_side(test_folder(), 1), ERR_NOINPUT);
}

TEST(side_refuses_what_does_not_fit_together)
{
	/* at: offset of the byte to change */
	static const struct {
		size_t at;
		unsigned char byte;
	} cases[] = {
		{ 0, 'w' },   { 7, 1 },	 { 8, 2 },     { 8, 0 },     { 12, 1 }, /* magic, version */
		{ 16, 1 },    { 16, 3 }, { 23, 1 },    { 23, 0xff },		/* lines */
		{ 24, 3 },    { 24, 5 }, { 31, 1 },    { 31, 0xff },		/* words */
		{ 40, 18 }, /* fewer bytes than characters */
		{ 41, 14 }, /* fewer characters than letters */
		{ 42, 1 },  /* fewer letters than foreign ones */
		{ 44, 0 },  /* words, but the longest has no characters */
		{ 45, 2 },    { 45, 5 }, { 45, 0xff }, /* other numbers of words */
		{ 46, 0x85 },			       /* a number that swallows the next */
		{ 48, 0x80 },			       /* … or is not in its shortest form */
		{ 65, 0x05 },			       /* a word beyond the table */
	};
	struct err e = { 0 };
	struct buf b = { 0 };

	small_side(&b);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char was = b.data[cases[i].at];

		b.data[cases[i].at] = (char)cases[i].byte;
		check_int(file_write_all(path_of("bad"), b.data, b.len, &e), 0);
		if (read_side(path_of("bad"), 70001) != ERR_DATA)
			test_fail(__FILE__, __LINE__, "byte %zu as %d is not refused", cases[i].at,
				  cases[i].byte);
		b.data[cases[i].at] = was;
	}
	check_int(read_side(path_of("small"), 70000), ERR_DATA);
	check_int(read_side(path_of("small"), 0), ERR_DATA);
	/* any byte replaced by any value: read or rejected, never out of bounds */
	for (size_t at = 32; at < b.len; at++) {
		b.data[at] ^= (char)0x80;
		check_int(file_write_all(path_of("bad"), b.data, b.len, &e), 0);
		read_side(path_of("bad"), 70001);
		b.data[at] ^= (char)0x80;
	}
	buf_free(&b);
}

TEST(side_that_is_cancelled_leaves_nothing)
{
	struct err e = { 0 };
	struct token_column_writer *w = token_column_create(path_of("gone"), &e);

	check(w != NULL);
	token_column_cancel(w);
	token_column_cancel(NULL);
	check(!file_exists(path_of("gone")));
	check(token_column_create(path_of("no/such/folder"), &e) == NULL);
	check_int(e.code, ERR_CANTCREAT);
}

/* ---- tables of words ---- */

static void add_words(struct intern *t, int32_t n)
{
	struct err e = { 0 };
	char word[32];
	int32_t index;

	for (int32_t i = 0; i < n; i++) {
		int len = snprintf(word, sizeof(word), "w%d\xc3\xa4%c", i, i % 3 ? 'x' : 0);

		check_int(intern_add(t, word, (size_t)len, &index, &e), 0);
	}
}

TEST(words_round_trip)
{
	static const int32_t sizes[] = { 0, 1, 100000 };
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct intern out = { 0 }, in = { 0 };
		size_t a, b;

		add_words(&out, sizes[i]);
		check_int(word_table_save(&out, path_of("words"), &e), 0);
		check_int(word_table_load(&in, path_of("words"), &e), 0);
		check_int(in.n, out.n);
		for (int32_t k = 0; k < MIN(in.n, out.n); k++) {
			const char *x = intern_text(&out, k, &a), *y = intern_text(&in, k, &b);

			check(a == b && !memcmp(x, y, a));
		}
		intern_free(&out);
		intern_free(&in);
	}
}

TEST(words_longer_than_the_chunk)
{
	const size_t n = 3000000;
	struct err e = { 0 };
	struct intern out = { 0 }, in = { 0 };
	char *word = mem_alloc(n, 1, &e);
	int32_t index;

	memset(word, 'a', n);
	check_int(intern_add(&out, "", 0, &index, &e), 0);
	check_int(intern_add(&out, word, n, &index, &e), 0);
	check_int(intern_add(&out, word, n - 1, &index, &e), 0);
	check_int(word_table_save(&out, path_of("words"), &e), 0);
	check_int(word_table_load(&in, path_of("words"), &e), 0);
	check_int(in.n, 3);
	check_int(intern_find(&in, word, n), 1);
	check_int(intern_find(&in, word, n - 1), 2);
	check_int(intern_find(&in, "", 0), 0);
	intern_free(&out);
	intern_free(&in);
	free(word);
}

TEST(words_refuses_damage)
{
	static const struct {
		size_t at;
		unsigned char byte;
	} cases[] = {
		{ 0, 'V' },   { 8, 2 },	 { 12, 1 },    { 16, 2 },   { 16, 4 },
		{ 19, 0x80 }, { 23, 1 }, { 24, 14 },   { 24, 16 },  { 31, 0x80 },
		{ 32, 4 },    { 32, 6 }, { 32, 0xff }, { 40, '0' }, /* a word twice */
	};
	struct err e = { 0 };
	struct buf b = { 0 };
	struct intern out = { 0 }, in = { 0 };

	add_words(&out, 3); /* w0ä\0 w1äx w2äx */
	check_int(word_table_save(&out, path_of("words"), &e), 0);
	check_int(file_read_all(path_of("words"), 0, &b, &e), 0);
	check_int(b.len, 32 + 3 * 6);
	b.data[37] = 'x'; /* instead of \0: now the words differ in their digit only */
	for (size_t n = 0; n < b.len; n++) {
		check_int(file_write_all(path_of("bad"), b.data, n, &e), 0);
		check_err(word_table_load(&in, path_of("bad"), &e), ERR_DATA);
		check_int(in.n, 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char was = b.data[cases[i].at];

		b.data[cases[i].at] = (char)cases[i].byte;
		check_int(file_write_all(path_of("bad"), b.data, b.len, &e), 0);
		if (word_table_load(&in, path_of("bad"), &e) != ERR_DATA)
			test_fail(__FILE__, __LINE__, "byte %zu as %d is not refused", cases[i].at,
				  cases[i].byte);
		check(strstr(e.text, "/bad"));
		intern_free(&in);
		b.data[cases[i].at] = was;
	}
	buf_add_char(&b, 0);
	check_int(file_write_all(path_of("bad"), b.data, b.len, &e), 0);
	check_err(word_table_load(&in, path_of("bad"), &e), ERR_DATA);
	check_err(word_table_load(&in, path_of("none"), &e), ERR_NOINPUT);
	intern_free(&out);
	buf_free(&b);
}
