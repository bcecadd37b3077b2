/* t_shard.c - packed batches, token shards, vocabularies. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "data/shard/shard.h"
#include "data/shard/token_batch.h"
#include "data/words/intern.h"
#include "data/words/vocab.h"
#include "share/base/file.h"

#define SHA    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEADER 176

static const char *in_folder(const char *name)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s/%s", test_folder(), name);
	return path;
}

/* ---- batch ---- */

TEST(batch_packs_sentences)
{
	static const int32_t source[] = { 5, 6, 7 }, target[] = { 8, 9 };
	static const int32_t want_source[] = { 5, 6, 7, 1, 6, 1, 1 },
			     want_position[] = { 0, 1, 2, 3, 0, 1, 0 };
	static const int32_t want_in[] = { 2, 8, 9, 2, 2, 9 }, want_out[] = { 8, 9, 1, 1, 9, 1 };
	static const int32_t want_source_start[] = { 0, 4, 6, 7 },
			     want_target_start[] = { 0, 3, 4, 6 };
	struct batch b;
	struct err e;

	if (!check_int(batch_alloc(&b, 3, 8, &e), 0))
		return;
	batch_clear(&b);
	check(batch_add(&b, 10, source, 3, target, 2));
	check(batch_add(&b, 11, source + 1, 1, target, 0));
	check(batch_add(&b, 12, source, 0, target + 1, 1));
	check_int(b.n, 3);
	check_int(b.n_source, 7);
	check_int(b.n_target, 6);
	check_int(b.max_source, 4);
	check_int(b.max_target, 3);
	check(!memcmp(b.source, want_source, sizeof(want_source)));
	check(!memcmp(b.source_position, want_position, sizeof(want_position)));
	check(!memcmp(b.target_in, want_in, sizeof(want_in)));
	check(!memcmp(b.target_out, want_out, sizeof(want_out)));
	check(!memcmp(b.source_start, want_source_start, sizeof(want_source_start)));
	check(!memcmp(b.target_start, want_target_start, sizeof(want_target_start)));
	check_int(b.pair[2], 12);
	batch_free(&b);
	batch_free(&b);
}

TEST(batch_refuses_what_does_not_fit)
{
	static const int32_t ids[] = { 4, 4, 4, 4 };
	struct batch b;
	struct err e;

	if (!check_int(batch_alloc(&b, 2, 5, &e), 0))
		return;
	batch_clear(&b);
	check(batch_add(&b, 0, ids, 2, ids, 1));
	check(!batch_add(&b, 1, ids, 2, ids, 1)); /* source: 3 + 3 > 5 */
	check(!batch_add(&b, 1, ids, 1, ids, 3)); /* target: 2 + 4 > 5 */
	check(!batch_add(&b, 1, ids, INT32_MAX, ids, 1));
	check(!batch_add(&b, 1, ids, 1, ids, INT32_MAX));
	check(!batch_add(&b, 1, ids, -1, ids, 1));
	check_int(b.n, 1);
	check_int(b.n_source, 3);
	check_int(b.n_target, 2);
	check(batch_add(&b, 1, ids, 1, NULL, 0));
	check_int(b.n_target, 2);
	check_int(b.target_start[2], 2);
	check(!batch_add(&b, 2, ids, 0, NULL, 0)); /* room for two sentences */
	batch_free(&b);
	check_err(batch_alloc(&b, 0, 5, &e), ERR_INTERNAL);
}

/* ---- intern ---- */

TEST(intern_numbers_strings)
{
	struct intern t = { 0 };
	struct err e;
	char name[20];
	int32_t id;
	size_t n;

	check_int(intern_find(&t, "a", 1), -1);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 5000; i++) {
			int len = snprintf(name, sizeof(name), "%x", i * 2654435761u);

			if (!check_int(intern_add(&t, name, (size_t)len, &id, &e), 0) ||
			    !check_int(id, i))
				goto out;
		}
	check_int(t.n, 5000);
	check_int(intern_add(&t, "a\0b", 3, &id, &e), 0);
	check_int(intern_add(&t, "", 0, &id, &e), 0);
	check_int(intern_find(&t, "a\0b", 3), 5000);
	check_int(intern_find(&t, "a", 1), -1);
	check_int(intern_find(&t, "", 0), 5001);
	check(!memcmp(intern_text(&t, 5000, &n), "a\0b", 3) && n == 3);
out:
	intern_free(&t);
}

/* ---- shard ---- */

/* Pairs of many lengths, some empty. */
static int write_wide_shard(const char *path, int64_t pairs, int32_t vocabulary, struct err *e)
{
	struct shard_writer *w = shard_create(path, vocabulary, SHA, e);
	int32_t ids[40];

	if (!w)
		return e->code;
	for (int i = 0; i < 40; i++)
		ids[i] = (i * 7 + 3) % 100;
	for (int64_t p = 0; p < pairs; p++)
		if (shard_append(w, ids + p % 5, (int32_t)(p % 30), ids + p % 7,
				 (int32_t)(p * 3 % 31), e)) {
			shard_cancel(w);
			return e->code;
		}
	return shard_finish(w, e);
}

static int write_shard(const char *path, int64_t pairs, struct err *e)
{
	return write_wide_shard(path, pairs, 100, e);
}

/* Open what write_wide_shard() wrote, and compare all of it. */
static void check_shard(const char *path, int64_t pairs, int32_t vocabulary)
{
	int32_t source[32], target[32], n_source, n_target;
	int64_t sources = 0, targets = 0;
	struct err e = { 0 };
	struct shard *s;

	if (!check_int(write_wide_shard(path, pairs, vocabulary, &e), 0) ||
	    !check((s = shard_open(path, &e)) != NULL)) {
		test_fail(__FILE__, __LINE__, "%s", e.text);
		return;
	}
	check_int(shard_pairs(s), pairs);
	check_int(shard_vocabulary(s), vocabulary);
	check_int(shard_longest(s), pairs > 30 ? 30 : MAX((pairs - 1) % 30, 27));
	check_str(shard_vocabulary_id(s), SHA);
	for (int64_t p = 0; p < pairs; p++) {
		shard_lengths(s, p, &n_source, &n_target);
		check_int(n_source, p % 30);
		check_int(n_target, p * 3 % 31);
		shard_read(s, p, source, target);
		for (int32_t i = 0; i < n_source; i++)
			check_int(source[i], ((p % 5 + i) * 7 + 3) % 100);
		for (int32_t i = 0; i < n_target; i++)
			check_int(target[i], ((p % 7 + i) * 7 + 3) % 100);
		sources += n_source;
		targets += n_target;
	}
	check_int(shard_source_tokens(s), sources);
	check_int(shard_target_tokens(s), targets);
	shard_close(s);
}

TEST(shard_reads_what_was_written)
{
	/* around full blocks of the index, and both widths of ids */
	static const int64_t pairs[] = { 31, 32, 33, 47, 48, 1001 };

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		check_shard(in_folder("a.shard"), pairs[i], 100);
		check_shard(in_folder("a.shard"), pairs[i], 65537);
	}
}

TEST(shard_widths_at_their_boundaries)
{
	static const struct {
		int32_t vocabulary, length;
		int64_t bytes;
	} cases[] = {
		{ 65536, 65535, HEADER + 131072 + 16 + 4 },
		{ 65537, 65535, HEADER + 262144 + 16 + 4 },
		{ 65536, 65536, HEADER + 131080 + 16 + 8 },
		{ 65537, 65536, HEADER + 262152 + 16 + 8 },
	};
	int32_t *ids = calloc(3 * 65537, sizeof(*ids)), n_source, n_target;
	const char *path = in_folder("wide.shard");
	struct err e = { 0 };

	for (size_t i = 0; ids && i < ARRAY_LEN(cases); i++) {
		int32_t n = cases[i].length, top = cases[i].vocabulary - 1;
		struct shard_writer *w = shard_create(path, cases[i].vocabulary, SHA, &e);
		struct shard *s = NULL;

		for (int32_t k = 0; k < n; k++)
			ids[k] = top - k % 7;
		if (check(w && !shard_append(w, ids, n, ids, 1, &e) && !shard_finish(w, &e)) &&
		    check((s = shard_open(path, &e)) != NULL)) {
			check_int(file_size(path), cases[i].bytes);
			check_int(shard_longest(s), n);
			shard_lengths(s, 0, &n_source, &n_target);
			check_int(n_source, n);
			check_int(n_target, 1);
			shard_read(s, 0, ids + 65537, ids + 2 * 65537);
			check(!memcmp(ids, ids + 65537, (size_t)n * sizeof(*ids)));
			check_int(ids[2 * 65537], top);
		}
		shard_close(s);
	}
	free(ids);
}

TEST(shard_without_pairs)
{
	const char *path = in_folder("empty.shard");
	struct err e;
	struct shard *s;

	check_int(write_shard(path, 0, &e), 0);
	if (check((s = shard_open(path, &e)) != NULL))
		check_int(shard_pairs(s), 0);
	shard_close(s);
}

TEST(shard_writer_refuses_foreign_ids_and_leaves_nothing)
{
	const char *path = in_folder("b.shard");
	static const int32_t high[] = { 5, 100 }, negative[] = { -1 };
	struct err e;
	struct shard_writer *w = shard_create(path, 100, SHA, &e);

	if (!check(w != NULL))
		return;
	check_err(shard_append(w, high, 2, high, 1, &e), ERR_DATA);
	check(strstr(e.text, "source id 100 is not in the vocabulary of 100") != NULL);
	check_err(shard_append(w, high, 1, negative, 1, &e), ERR_DATA);
	shard_cancel(w);
	check(!file_exists(path));
	check(!shard_create(in_folder("no/such/folder.shard"), 100, SHA, &e));
	check_int(e.code, ERR_CANTCREAT);
}

/* Write bytes as a shard and say how opening fails ("" when it does not). */
static const char *open_bytes(const struct buf *b, size_t n, struct err *e)
{
	const char *path = in_folder("hostile.shard");
	struct shard *s;

	e->text[0] = 0;
	e->code = 0;
	if (!check_int(file_write_all(path, b->data, n, e), 0))
		return e->text;
	s = shard_open(path, e);
	if (!s)
		check_int(e->code, ERR_DATA);
	shard_close(s);
	return e->text;
}

/* Correct the checksum, so that only later checks can find the damage. */
static void seal(struct buf *b)
{
	char hex[HASH_SHA256_HEX];
	struct err e;
	struct hash *h = hash_new(HASH_SHA256, &e);

	check(h && !hash_add(h, b->data + HEADER, b->len - HEADER, &e) &&
	      !hash_add(h, b->data, 112, &e) && !hash_hex(h, hex, &e));
	memcpy(b->data + 112, hex, 64);
	hash_free(h);
}

TEST(shard_hostile_files)
{
	static const struct {
		size_t at, n;
		int64_t value;
		bool sealed;
		const char *says;
	} cases[] = {
		{ 0, 1, 'X', true, "not a token shard" },
		{ 8, 4, 0x04030201, true, "other byte order" },
		{ 8, 4, 0x01020305, true, "field for the byte order" },
		{ 12, 4, 1, true, "prepare the corpus again" },
		{ 12, 4, 4, true, "version 4" },
		{ 16, 8, INT64_MAX, true, "cannot be in" },
		{ 16, 8, -1, true, "cannot be in" },
		{ 16, 8, 20, true, "another length" },
		{ 24, 8, INT64_MAX, true, "cannot be in" },
		{ 24, 8, INT64_MIN, true, "cannot be in" },
		{ 32, 8, 0x4000000000000000, true, "cannot be in" },
		{ 32, 8, 3, true, "another length" },
		{ 40, 4, 0, true, "a vocabulary of 0" },
		{ 40, 4, 5, true, "the vocabulary has 5" },
		{ 40, 4, 65537, true, "ids of 2 and" },
		{ 44, 2, 4, true, "ids of 4 and" },
		{ 46, 2, 3, true, "lengths of 3" },
		{ 46, 2, 4, true, "another length" },
		{ 48, 1, 'f', false, "SHA-256" },
		{ 120, 1, 'x', false, "SHA-256" },
		{ HEADER, 2, 100, true, "has id 100" },
		{ HEADER, 2, -1, true, "has id 65535" },
		{ HEADER, 1, 77, false, "SHA-256" },
	};
	struct buf good = { 0 }, b = { 0 };
	struct err e;

	if (write_shard(in_folder("c.shard"), 21, &e) ||
	    file_read_all(in_folder("c.shard"), 0, &good, &e)) {
		test_fail(__FILE__, __LINE__, "%s", e.text);
		goto out;
	}
	check_str(open_bytes(&good, good.len, &e), "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_clear(&b);
		buf_add(&b, good.data, good.len);
		memcpy(b.data + cases[i].at, &cases[i].value, cases[i].n);
		if (cases[i].sealed)
			seal(&b);
		if (!strstr(open_bytes(&b, b.len, &e), cases[i].says))
			test_fail(__FILE__, __LINE__, "case %zu: \"%s\" does not say \"%s\"", i,
				  e.text, cases[i].says);
	}
	for (size_t n = 0; n < good.len; n += n < 300 ? 1 : 97)
		check(*open_bytes(&good, n, &e));
	buf_add_char(&good, 0);
	check(strstr(open_bytes(&good, good.len, &e), "another length") != NULL);
out:
	buf_free(&good);
	buf_free(&b);
}

/* Replace each number of index and lengths by wrong ones, with a correct checksum. */
TEST(shard_hostile_index_and_lengths)
{
	enum { PAIRS = 37, INDEX = 4 }; /* entries of the index */
	static const uint64_t odd[] = { UINT64_MAX, 1u << 31, 0, 1, 65535, 38 };
	struct buf good = { 0 }, b = { 0 };
	struct err e;
	size_t table;

	if (write_shard(in_folder("d.shard"), PAIRS, &e) ||
	    file_read_all(in_folder("d.shard"), 0, &good, &e)) {
		test_fail(__FILE__, __LINE__, "%s", e.text);
		goto out;
	}
	table = good.len - 2 * PAIRS * sizeof(uint16_t) - INDEX * sizeof(uint64_t);
	for (size_t i = 0; i < INDEX + 2 * PAIRS; i++) {
		size_t at = i < INDEX ? 8 * i : 8 * INDEX + 2 * (i - INDEX), n = i < INDEX ? 8 : 2;

		for (size_t k = 0; k < ARRAY_LEN(odd); k++) {
			if (!memcmp(good.data + table + at, &odd[k], n))
				continue;
			buf_clear(&b);
			buf_add(&b, good.data, good.len);
			memcpy(b.data + table + at, &odd[k], n);
			seal(&b);
			check(strstr(open_bytes(&b, b.len, &e), "damaged") != NULL);
		}
	}
out:
	buf_free(&good);
	buf_free(&b);
}

TEST(shard_every_flipped_bit_is_noticed)
{
	struct buf b = { 0 };
	struct err e;

	if (write_shard(in_folder("e.shard"), 5, &e) ||
	    file_read_all(in_folder("e.shard"), 0, &b, &e)) {
		test_fail(__FILE__, __LINE__, "%s", e.text);
		goto out;
	}
	for (size_t i = 0; i < b.len; i++) {
		b.data[i] ^= (char)(1 << i % 8);
		if (!*open_bytes(&b, b.len, &e))
			test_fail(__FILE__, __LINE__, "a flipped bit in byte %zu was not noticed",
				  i);
		b.data[i] ^= (char)(1 << i % 8);
	}
out:
	buf_free(&b);
}

/* ---- vocab ---- */

static struct vocab *vocab_of(const char *text, struct err *e)
{
	const char *path = in_folder("vocab.tsv");

	e->text[0] = 0;
	return file_write_all(path, text, strlen(text), e) ? NULL : vocab_open(path, e);
}

TEST(vocab_orders_pads_and_finds)
{
	static const struct {
		const char *piece;
		int64_t times;
	} pieces[] = {
		{ "b", 2 },	     { "haus", 7 },  { "a", 1 },	 { "a", 1 },
		{ "tab\tbed", 1 },   { "</s>", 99 }, { "<unused0>", 9 }, { "", 5 },
		{ "line\nfeed", 5 }, { "@@", 1 },
	};
	static const char want[] =
		"<pad>\t0\n</s>\t0\n<s>\t0\n<unk>\t0\nhaus\t7\na\t2\nb\t2\n@@\t1\n"
		"tab\tbed\t1\n<unused0>\t0\n<unused1>\t0\n<unused2>\t0\n<unused3>\t0\n<unused4>"
		"\t0\n<unused5>\t0\n"
		"<unused6>\t0\n";
	struct err e = { 0 };
	struct vocab_counter *c = vocab_counter_new(&e);
	const char *path = in_folder("v.tsv");
	char hex[HASH_SHA256_HEX];
	struct buf text = { 0 };
	struct vocab *v = NULL;

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		check_int(vocab_count(c, pieces[i].piece, strlen(pieces[i].piece), pieces[i].times,
				      &e),
			  0);
	if (!check_int(vocab_write(c, path, &e), 0) ||
	    !check_int(file_read_all(path, 0, &text, &e), 0))
		goto out;
	check_str(text.data, want);
	v = vocab_open(path, &e);
	if (!check(v != NULL))
		goto out;
	check_int(vocab_size(v), 16);
	check_int(vocab_real_size(v), 9);
	check_int(vocab_id(v, "haus", 4), 4);
	check_int(vocab_id(v, "hau", 3), TOKEN_UNKNOWN);
	check_int(vocab_id(v, "tab\tbed", 7), 8);
	check_int(vocab_id(v, "</s>", 4), TOKEN_UNKNOWN);
	check_int(vocab_id(v, "<unused0>", 9), TOKEN_UNKNOWN);
	check_int(vocab_id(v, "", 0), TOKEN_UNKNOWN);
	check_str(vocab_piece(v, 8), "tab\tbed");
	check_str(vocab_piece(v, TOKEN_END), "</s>");
	check_int(vocab_frequency(v, 4), 7);
	check_int(hash_file(path, hex, &e), 0);
	check_str(vocab_sha256(v), hex);
out:
	vocab_close(v);
	buf_free(&text);
	vocab_counter_free(c);
}

TEST(vocab_without_pieces)
{
	struct err e;
	struct vocab_counter *c = vocab_counter_new(&e);
	const char *path = in_folder("v.tsv");
	struct vocab *v;

	check_int(vocab_write(c, path, &e), 0);
	if (check((v = vocab_open(path, &e)) != NULL)) {
		check_int(vocab_size(v), 8);
		check_int(vocab_real_size(v), 4);
	}
	vocab_close(v);
	vocab_counter_free(c);
}

TEST(vocab_hostile_files)
{
#define HEAD "<pad>\t0\n</s>\t0\n<s>\t0\n<unk>\t0\n"
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "0 lines" },
		{ HEAD, "4 lines, expected a multiple of 8" },
		{ "<pad>\t0\n<s>\t0\n", "line 2: expected </s>" },
		{ HEAD "a\t1\nb\nc\t1\nd\t1\n", "line 6: expected a token, a tab and its count" },
		{ HEAD "a\t1\nb\t-1\nc\t1\nd\t1\n", "line 6: expected a token" },
		{ HEAD "a\t1\nb\t1x\nc\t1\nd\t1\n", "line 6: expected a token" },
		{ HEAD "a\t1\n\t1\nc\t1\nd\t1\n", "line 6: expected a token" },
		{ HEAD "a\t99999999999999999999\n", "line 5: expected a token" },
		{ HEAD "a\t1\nb\t1\na\t1\nd\t1\n", "line 7: \"a\" occurs twice (also in line 5)" },
		{ HEAD "a\t1\n<unk>\t1\n", "line 6: \"<unk>\" occurs twice" },
		{ HEAD "a\t1\n\xff\t1\n", "line 6: the token is not UTF-8" },
		{ HEAD "a\t1\n<unused0>\t0\nc\t1\nd\t1\n",
		  "line 7: expected <unused1>, found \"c\"" },
		{ HEAD "a\t1\n<unused1>\t0\n", "line 6: expected <unused0>, found \"<unused1>\"" },
		{ HEAD "a\t1\nb\t1\nc\t1\nd\t1", "line 8: the file ends without LF" },
	};
	struct err e;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct vocab *v = vocab_of(cases[i].text, &e);

		if (v || e.code != ERR_DATA || !strstr(e.text, cases[i].says))
			test_fail(__FILE__, __LINE__, "case %zu: \"%s\" does not say \"%s\"", i,
				  e.text, cases[i].says);
		vocab_close(v);
	}
	check(!vocab_open(in_folder("none.tsv"), &e));
	check_int(e.code, ERR_NOINPUT);
}
