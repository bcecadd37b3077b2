/*
 * t_bpe.c - learning and applying BPE merges.
 *
 * The expected results were written by subword-nmt 0.3.8 for the same input;
 * tests/peers/bpe_compare.py compares both programs on random texts.
 */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "data/subword/bpe.h"
#include "data/subword/bpe_merger.h"
#include "data/text/tokenize.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/lines.h"

/* ---- helpers ---- */

static const char *in_folder(const char *name)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s/%s", test_folder(), name);
	return path;
}

/* Learn from text (lines end at LF) into a string; NULL: failure in e. Free it. */
static char *learn(const char *text, int64_t merges, int64_t min_frequency, int64_t *learned,
		   struct err *e)
{
	struct word_counter *l = word_counter_new(e);
	char *codes = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&codes, &n);
	int rc = l && out ? 0 : ERR_NOMEM;

	for (const char *next; !rc && *text; text = next) {
		size_t len = strcspn(text, "\n");

		next = text + len + (text[len] != 0);
		rc = bpe_count_words(l, text, len, 1, e);
	}
	if (!rc)
		rc = bpe_learn(l, merges, min_frequency, out, learned, e);
	if (out)
		fclose(out);
	word_counter_free(l);
	if (!rc)
		return codes;
	free(codes);
	return NULL;
}

static struct bpe *open_codes(const char *codes, size_t n, struct err *e)
{
	const char *path = in_folder("codes");

	*e = (struct err){ 0 };
	return file_write_all(path, codes, n, e) ? NULL : bpe_open(path, e);
}

static void check_apply(struct bpe *b, const char *line, const char *want)
{
	struct buf out = { 0 };
	struct err e = { 0 };

	for (int twice = 0; twice < 2; twice++) { /* the second time from the cache */
		buf_clear(&out);
		if (bpe_apply_line(b, line, strlen(line), &out, &e))
			test_fail(__FILE__, __LINE__, "%s", e.text);
		check_str(buf_text(&out), want);
	}
	buf_free(&out);
}

static bool hash_is(const void *bytes, size_t n, const char *want)
{
	char hex[HASH_SHA256_HEX] = "";
	struct err e;
	struct hash *h = hash_new(HASH_SHA256, &e);

	if (h && !hash_add(h, bytes, n, &e))
		hash_hex(h, hex, &e);
	hash_free(h);
	return check_str(hex, want);
}

/* ---- learn ---- */

TEST(bpe_learn_small_texts)
{
	static const struct {
		const char *text;
		int64_t merges, min_frequency;
		const char *want;
	} cases[] = {
		{ "low low low low low lower lower newest newest newest newest newest newest "
		  "widest "
		  "widest widest",
		  10, 2,
		  "s t</w>\ne st</w>\nl o\nw est</w>\nn e\nne west</w>\nlo w</w>\nw i\nwi d\nwid "
		  "est</w>\n" },
		{ "low low low low low lower lower newest newest\nnewest newest newest newest "
		  "widest widest widest",
		  2, 2, "s t</w>\ne st</w>\n" },
		/* overlapping pairs of equal symbols */
		{ "aaaa aaa aa aaaaa aaaaaaa", 10, 1,
		  "a a\naa aa\naa a</w>\na a</w>\naaaa aaa</w>\naaaa a</w>\naa aa</w>\n" },
		/* one string built in two ways */
		{ "abab ababab babab", 10, 1,
		  "b a\nba b</w>\nba bab</w>\na babab</w>\na bab</w>\n" },
		/* a tab is no word boundary */
		{ "a\tb a\tb a\tb", 10, 2, "a \t\na\t b</w>\n" },
		/* a no-break space is none either, but pairs match at its edges */
		{ "x\u00A0ab x\u00A0ab ab ab x\u00A0ab", 10, 2,
		  "a b</w>\n\u00A0 ab</w>\nx \u00A0ab</w>\n" },
		/* U+0085 ends a line */
		{ "a\302\205b a\302\205b ab ab", 10, 1, "a \302\205</w>\na b</w>\n" },
		/* ties: the largest pair by code points, not by UTF-16 */
		{ "\u20AC\u20AC \u20AC\u20AC \U0001F600\U0001F600 \U0001F600\U0001F600 "
		  "\u00E4\u00E4 "
		  "\u00E4\u00E4",
		  10, 2, "\U0001F600 \U0001F600</w>\n\u20AC \u20AC</w>\n\u00E4 \u00E4</w>\n" },
		{ "a\\b a\\b \\\\ \\\\", 10, 2, "a \\\na\\ b</w>\n\\ \\</w>\n" },
		{ "ab</w> ab</w> ab ab", 10, 2,
		  "w ></w>\nb <\nb< /\nb</ w></w>\na b</w></w>\na b</w>\n" },
		{ "\n  low\r\n\n low \r\n", 10, 2, "o w</w>\nl ow</w>\n" },
		{ "ab cd", 10, 2, "" },
		{ "ab ab", 0, 2, "" },
	};
	struct err e = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t learned = -1, lines = 0;
		char *codes =
			learn(cases[i].text, cases[i].merges, cases[i].min_frequency, &learned, &e);

		if (!check(codes != NULL))
			continue;
		check(!strncmp(codes, "#version: 0.2\n", 14));
		check_str(codes + 14, cases[i].want);
		for (const char *c = cases[i].want; *c; c++)
			lines += *c == '\n';
		check_int(learned, lines);
		free(codes);
	}
}

TEST(bpe_learn_from_counted_words)
{
	static const struct {
		const char *word;
		int64_t count;
	} words[] = { { "low", 5 },    { "lower", 2 },	{ "newest", 5 },
		      { "newest", 1 }, { "widest", 3 }, { "x\302\205widest", 1 } };
	struct err e = { 0 };
	struct word_counter *l = word_counter_new(&e);
	char *codes = NULL, *want;
	int64_t learned = 0;
	size_t n = 0;
	FILE *out = open_memstream(&codes, &n);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		check(!bpe_count_words(l, words[i].word, strlen(words[i].word), words[i].count,
				       &e));
	check(!bpe_learn(l, 20, 1, out, &learned, &e));
	fclose(out);
	word_counter_free(l);
	want = learn("low low low low low lower lower newest newest newest newest newest newest "
		     "widest widest widest\nx\302\205widest",
		     20, 1, &learned, &e);
	check_str(codes, want);
	free(codes);
	free(want);
}

static int64_t counted; /* words that check_word() was given */
static bool is_counted_right;

static int check_word(void *context, const char *word, size_t n, int64_t count, struct err *e)
{
	const int64_t *want = context;

	(void)e;
	counted++;
	/* there is one word of each length */
	is_counted_right = is_counted_right && n < 40 && count == want[n];
	for (size_t i = 0; i < n && n < 40; i++)
		is_counted_right = is_counted_right && word[i] == (char)('a' + (n + i) % 26);
	return 0;
}

TEST(bpe_counts_words_of_all_lengths)
{
	int64_t want[40] = { 0 };
	struct err e = { 0 };
	struct word_counter *l = word_counter_new(&e);
	struct buf line = { 0 };

	for (int i = 0; i < 30000; i++) {
		size_t n = 1 + (size_t)i * 7919 % 39;

		buf_printf(&line, "%*s", i % 3 + 1, "");
		for (size_t k = 0; k < n; k++)
			buf_add_char(&line, (char)('a' + (n + k) % 26));
		want[n]++;
		if (line.len % 11 && i < 29999)
			continue;
		if (i % 2)
			buf_add_str(&line, "\r");
		check(!bpe_count_words(l, line.data, line.len, 1, &e));
		buf_clear(&line);
	}
	for (size_t n = 1; n < 40; n += 2, want[n - 2] += 5) {
		for (size_t k = 0; k < n; k++)
			buf_add_char(&line, (char)('a' + (n + k) % 26));
		check(!bpe_count_words(l, line.data, n, 5, &e));
		buf_clear(&line);
	}
	counted = 0;
	is_counted_right = true;
	check(!word_counter_drain(l, check_word, want, &e));
	check_int(counted, 39);
	check(is_counted_right);
	check(!word_counter_drain(l, check_word, want, &e));
	check_int(counted, 39);
	buf_free(&line);
	word_counter_free(l);
}

TEST(bpe_learn_refuses_text_without_pairs)
{
	static const char *const texts[] = { "", "\n\n", "    ", " \r \n  ",
					     "a b c \u00E4 \U0001F600" };
	struct err e;
	int64_t learned;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		check(!learn(texts[i], 10, 2, &learned, &e));
		check_int(e.code, ERR_DATA);
	}
}

/* Tokenise a file of the real data, line by line, into out. */
static bool tokenize_file(const char *name, const char *language, struct buf *out)
{
	struct err e = { 0 };
	const char *path = test_data(name);
	struct tokenizer *t;
	struct lines in;
	int got = -1;

	if (!path)
		return false;
	t = tokenizer_new(&(struct tokenizer_options){ .language = language, .escape = true }, &e);
	if (t && !lines_open(&in, path, &e)) {
		while ((got = lines_next(&in, &e)) > 0) {
			if ((got = tokenizer_line(t, in.text, in.len, out, &e)))
				break;
			buf_add_char(out, '\n');
		}
		lines_close(&in);
	}
	tokenizer_free(t);
	if (got)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	return !got;
}

TEST(bpe_learn_real_text)
{
	struct buf text = { 0 };
	struct err e;
	int64_t learned;
	char *codes;

	if (!tokenize_file("multi30k/train.en", "en", &text) ||
	    !tokenize_file("multi30k/train.de", "de", &text))
		goto out;
	codes = learn(buf_text(&text), 8000, 2, &learned, &e);
	if (check(codes != NULL))
		hash_is(codes, strlen(codes),
			"782235791762e0734aaa36660c1a954ded576078b3db53224fd90a8832b07d22");
	check_int(learned, 8000);
	free(codes);
	/* More merges than possible: learning ends when no pair occurs twice. */
	codes = learn(buf_text(&text), 32000, 2, &learned, &e);
	check_int(learned, 26695);
	free(codes);
out:
	buf_free(&text);
}

/* ---- the engine with exact counts ---- */

#define N_WORDS 60
#define MAX_LEN 12

struct plain_word {
	int32_t s[MAX_LEN];
	int n;
	int64_t count;
};

/* Among equal counts the pair with the smaller string is better. */
static bool is_first_by_text(const struct bpe_merger *m, const struct bpe_pair *a,
			     const struct bpe_pair *b)
{
	char text[2][100];

	for (int k = 0; k < 2; k++) {
		const struct bpe_pair *q = k ? b : a;
		size_t n_left, n_right;
		const char *left = intern_text(&m->symbols, q->left, &n_left);
		const char *right = intern_text(&m->symbols, q->right, &n_right);

		snprintf(text[k], sizeof(text[k]), "%.*s %.*s", (int)n_left, left, (int)n_right,
			 right);
	}
	return strcmp(text[0], text[1]) < 0;
}

/* No symbol may hold two "c". */
static bool is_allowed(const struct bpe_merger *m, int32_t left, int32_t right)
{
	size_t n_left, n_right;
	const char *a = intern_text(&m->symbols, left, &n_left);
	const char *b = intern_text(&m->symbols, right, &n_right);

	return !memchr(a, 'c', n_left) || !memchr(b, 'c', n_right);
}

static int64_t count_plainly(const struct plain_word *words, int32_t left, int32_t right)
{
	int64_t count = 0;

	for (int w = 0; w < N_WORDS; w++)
		for (int i = 0; i + 1 < words[w].n; i++)
			if (words[w].s[i] == left && words[w].s[i + 1] == right)
				count += words[w].count;
	return count;
}

static void merge_plainly(struct plain_word *w, int32_t left, int32_t right, int32_t merged)
{
	int out = 0;

	for (int i = 0; i < w->n; out++) {
		bool here = i + 1 < w->n && w->s[i] == left && w->s[i + 1] == right;

		w->s[out] = here ? merged : w->s[i];
		i += here ? 2 : 1;
	}
	w->n = out;
}

/*
 * Each pair has the exact count of the current words; no allowed pair is better than the chosen
 * one.
 */
static void check_counts(const struct bpe_merger *m, const struct plain_word *words,
			 const struct bpe_pair *best, const bool *is_dropped)
{
	for (size_t i = 0; i < m->pairs.n; i++) {
		const struct bpe_pair *q = &m->pairs.all[i];
		int64_t count = count_plainly(words, q->left, q->right);

		check_int(q->count, count);
		if (q != best && !is_dropped[i] && is_allowed(m, q->left, q->right))
			check(count < best->count ||
			      (count == best->count && is_first_by_text(m, best, q)));
	}
}

TEST(bpe_merger_impossible_counts)
{
	static const struct bpe_dialect dialect = { is_first_by_text, is_allowed, false };
	struct bpe_merger m = { .dialect = &dialect };
	struct err e = { 0 };
	int32_t word[2];

	for (int i = 0; i < 2; i++)
		check(!bpe_merger_symbol(&m, &"ab"[i], 1, &word[i], &e));
	check_int(bpe_merger_add_word(&m, word, 2, INT64_MAX / 4, 0, &e), 0);
	check_err(bpe_merger_add_word(&m, word, 2, INT64_MAX / 2, 0, &e), ERR_DATA);
	check_err(bpe_merger_add_word(&m, word, 2, INT64_MAX, 0, &e), ERR_DATA);
	check_err(bpe_merger_add_word(&m, word, 2, -1, 0, &e), ERR_DATA);
	bpe_merger_free(&m);
}

static void merge_to_the_end(const char *letters, uint32_t seed)
{
	static const struct bpe_dialect dialect = { is_first_by_text, is_allowed, false };
	struct bpe_merger m = { .dialect = &dialect };
	struct plain_word words[N_WORDS];
	bool is_dropped[4000] = { false };
	struct err e = { 0 };
	uint32_t pair;
	int steps = 0, got;

	for (int w = 0; w < N_WORDS; w++) {
		words[w].n = (int)((seed = seed * 1103515245 + 12345) >> 16) % (MAX_LEN + 1);
		words[w].count = 1 + (seed >> 8) % 5;
		for (int i = 0; i < words[w].n; i++) {
			seed = seed * 1103515245 + 12345;
			check(!bpe_merger_symbol(&m, letters + (seed >> 16) % strlen(letters), 1,
						 &words[w].s[i], &e));
		}
		check(!bpe_merger_add_word(&m, words[w].s, (size_t)words[w].n, words[w].count, 0,
					   &e));
	}
	check(!bpe_merger_start(&m, &e));
	while ((got = bpe_merger_best(&m, &pair, &e)) > 0 && m.pairs.n < ARRAY_LEN(is_dropped)) {
		struct bpe_pair q = m.pairs.all[pair];
		int32_t merged;

		check_counts(&m, words, &m.pairs.all[pair], is_dropped);
		if (++steps % 7 == 0) {
			bpe_merger_drop(&m, pair);
			is_dropped[pair] = true;
			continue;
		}
		if (!check(!bpe_merger_merge(&m, pair, &merged, &e)))
			break;
		for (int w = 0; w < N_WORDS; w++)
			merge_plainly(&words[w], q.left, q.right, merged);
	}
	check_int(got, 0);
	check(steps > 10);
	bpe_merger_free(&m);
}

TEST(bpe_merger_counts_exactly)
{
	static const char *const letters[] = { "ab", "aab", "abcd", "abcdefgh" };

	for (uint32_t i = 0; i < 40; i++)
		merge_to_the_end(letters[i % ARRAY_LEN(letters)], i);
}

/* ---- apply ---- */

static const char small_codes[] = "#version: 0.2\nl o\nlo w</w>\nlo w\ne r</w>\ne s\nes t</w>\n";

TEST(bpe_apply_small_texts)
{
	static const struct {
		const char *line, *want;
	} cases[] = {
		{ "", "" },
		{ "   ", "   " },
		{ " low  lower ", " low low@@ er " },
		{ "lowest\tlow", "low@@ es@@ t@@ \t@@ low" },
		{ "l", "l" },
		{ "\u00E4", "\u00E4" },
		{ "\U0001F600\u00E4", "\U0001F600@@ \u00E4" },
		{ "low\302\205low est", "low@@ \302\205low est" },
		{ "a low\vnew", "a low@@ \vn@@ e@@ w" },
		{ "  \t  low", "  \t low" },
		{ "llow LOW", "l@@ low L@@ O@@ W" },
		{ "lowlow", "low@@ low" },
		{ "@@ low@@", "@@@ @ low@@ @@@ @" },
		{ "low \r", "low \r" },
	};
	struct err e;
	struct bpe *b = open_codes(small_codes, sizeof(small_codes) - 1, &e);

	if (!check(b != NULL))
		return;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_apply(b, cases[i].line, cases[i].want);
	check_int(bpe_set_separator(b, "~", &e), 0);
	check_apply(b, "lower", "low~ er");
	bpe_close(b);
}

TEST(bpe_apply_version_0_1)
{
	static const char *const codes[] = { "a b\nab </w>\nc </w>\n",
					     "#version: 0.1\na b\nab </w>\nc </w>\n" };
	struct err e;

	for (int i = 0; i < 2; i++) {
		struct bpe *b = open_codes(codes[i], strlen(codes[i]), &e);

		if (!check(b != NULL))
			continue;
		check_apply(b, "ab", "ab");
		check_apply(b, "abc", "ab@@ c");
		check_apply(b, "abab c", "ab@@ ab c");
		check_apply(b, "abd", "ab@@ d");
		bpe_close(b);
	}
}

TEST(bpe_apply_codes_without_merges)
{
	struct err e;
	struct bpe *b = open_codes("#version: 0.2\n", 14, &e);

	if (check(b != NULL))
		check_apply(b, "low a", "l@@ o@@ w a");
	bpe_close(b);
}

TEST(bpe_apply_with_vocabulary)
{
	static const char vocabulary[] = "lo@@ 5\nw 3\nlow 1\ne@@ 9\nst 2\nl@@ 9\no@@\t9\n";
	static const struct {
		int64_t threshold;
		const char *line, *want;
	} cases[] = {
		{ 0, "low", "low" },
		{ 0, "lowest", "lo@@ w@@ e@@ s@@ t" },
		{ 0, "lowlow", "lo@@ w@@ low" },
		{ 0, "est", "e@@ s@@ t" },
		{ 0, "x", "x" },
		{ 2, "low", "lo@@ w" },
		{ 3, "lowlow", "lo@@ w@@ lo@@ w" },
		{ 100, "lowest", "low@@ est" }, /* no piece is left: no limit */
	};
	const char *path;
	struct err e;
	struct bpe *b = open_codes(small_codes, sizeof(small_codes) - 1, &e);

	path = in_folder("vocabulary");
	if (!check(b != NULL) ||
	    !check_int(file_write_all(path, vocabulary, strlen(vocabulary), &e), 0))
		return;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_int(bpe_limit_vocabulary(b, path, cases[i].threshold, &e), 0);
		check_apply(b, cases[i].line, cases[i].want);
	}
	check_int(file_write_all(path, "low 1\nnew\n", 10, &e), 0);
	check_err(bpe_limit_vocabulary(b, path, 0, &e), ERR_DATA);
	check(strstr(e.text, "line 2: expected a piece") != NULL);
	check_int(file_write_all(path, "low 1x\n", 7, &e), 0);
	check_err(bpe_limit_vocabulary(b, path, 0, &e), ERR_DATA);
	bpe_close(b);
}

TEST(bpe_apply_ways_back_of_one_string)
{
	/* "xab" is built by two merges; the one whose last line comes first is undone. */
	static const struct {
		const char *codes, *want;
	} cases[] = {
		{ "#version: 0.2\nx a\nxa b</w>\na b</w>\nx ab</w>\nx a\n", "x@@ a@@ b ab" },
		{ "#version: 0.2\nx a\nxa b</w>\na b</w>\nx ab</w>\nx ab</w>\nxa b</w>\n",
		  "x@@ ab ab" },
	};
	const char *vocabulary = "x@@ 1\nab 1\nz 1\n";
	struct err e;

	for (size_t i = 0; i < 2; i++) {
		struct bpe *b = open_codes(cases[i].codes, strlen(cases[i].codes), &e);

		if (!check(b != NULL))
			continue;
		check_int(file_write_all(in_folder("v"), vocabulary, strlen(vocabulary), &e), 0);
		check_int(bpe_limit_vocabulary(b, in_folder("v"), 0, &e), 0);
		check_apply(b, "xab ab", cases[i].want);
		bpe_close(b);
	}
}

TEST(bpe_codes_hostile_files)
{
	static const struct {
		const char *text;
		size_t n;
		const char *says;
	} cases[] = {
#define CASE(text, says) { text, sizeof(text) - 1, says }
		CASE("", "is empty"),
		CASE("\n\n", "is empty"),
		CASE("#version: 0.3\na b\n", "line 1: version \"0.3\" of BPE codes"),
		CASE("#version:\na b\n", "line 1: version \"\" of BPE codes"),
		CASE("#version: 0.2\na b\nabc\nc d\n", "line 3: expected two pieces"),
		CASE("#version: 0.2\na b\n\nc d\n", "line 3: expected two pieces"),
		CASE("#version: 0.2\na b\na  b\n", "line 3: expected two pieces"),
		CASE("#version: 0.2\na b c\n", "line 2: expected two pieces"),
		CASE("#version: 0.2\na \xff\n", "line 2: not UTF-8"),
		CASE("a b\n\xe2\x82 b\n", "line 2: not UTF-8"),
		CASE("\x7f"
		     "ELF\x02\x01\x01",
		     "line 1: expected two pieces"),
	};
	struct err e;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bpe *b = open_codes(cases[i].text, cases[i].n, &e);

		if (b || e.code != ERR_DATA || !strstr(e.text, cases[i].says))
			test_fail(__FILE__, __LINE__, "case %zu: \"%s\" does not say \"%s\"", i,
				  e.text, cases[i].says);
		bpe_close(b);
	}
	check(!bpe_open(in_folder("none"), &e));
	check_int(e.code, ERR_NOINPUT);
}

TEST(bpe_codes_forgive_what_subword_nmt_forgives)
{
	static const char codes[] = "#version: 0.2.0\r\n l o \r\nlo w</w>\nl o\n\n\n";
	struct err e;
	struct bpe *b = open_codes(codes, sizeof(codes) - 1, &e);

	if (check(b != NULL))
		check_apply(b, "low", "low");
	bpe_close(b);
}

TEST(bpe_apply_very_long_word)
{
	enum { N = 1000000 };
	static const char codes[] = "#version: 0.2\na b\nab ab\nabab abab\nabab ab</w>\n";
	struct buf word = { 0 }, out = { 0 }, back = { 0 };
	struct err e = { 0 };
	struct bpe *b = open_codes(codes, sizeof(codes) - 1, &e);

	for (int i = 0; i < N; i++)
		buf_add(&word, "ab", 2);
	if (check(b != NULL) && check_int(bpe_apply_line(b, word.data, word.len, &out, &e), 0)) {
		/* 250000 times "abababab", the last one built without its "</w>" … */
		check(!strncmp(out.data, "abababab@@ abababab@@ ", 22));
		bpe_undo_line("@@", out.data, out.len, &back);
		check_int(back.len, word.len);
		check(back.len == word.len && !memcmp(back.data, word.data, word.len));
	}
	bpe_close(b);
	buf_free(&word);
	buf_free(&out);
	buf_free(&back);
}

TEST(bpe_apply_real_text)
{
	struct buf text = { 0 }, out = { 0 }, back = { 0 };
	const char *path = test_data("bpe/codes.m30k.8000");
	struct err e = { 0 };
	struct bpe *b = path ? bpe_open(path, &e) : NULL;

	if (!path || !check(b != NULL) ||
	    !tokenize_file("multi30k/test_2016_flickr.en", "en", &text) ||
	    !tokenize_file("multi30k/test_2016_flickr.de", "de", &text))
		goto out;
	for (const char *line = text.data, *lf; (lf = strchr(line, '\n')) != NULL; line = lf + 1) {
		size_t before = out.len;

		check_int(bpe_apply_line(b, line, (size_t)(lf - line), &out, &e), 0);
		bpe_undo_line("@@", out.data + before, out.len - before, &back);
		buf_add_char(&out, '\n');
		buf_add_char(&back, '\n');
	}
	hash_is(out.data, out.len,
		"73ef30b24eb8e9cbfc4d3649853dc0a210609894e340d577aa5eea569818e8a3");
	check_str(back.data, text.data);
out:
	bpe_close(b);
	buf_free(&text);
	buf_free(&out);
	buf_free(&back);
}

/* ---- undo ---- */

TEST(bpe_undo)
{
	static const struct {
		const char *line, *want;
	} cases[] = {
		{ "", "" },
		{ "low@@ er new", "lower new" },
		{ "low@@", "low" },
		{ "low@@ ", "low" },
		{ "@@ low", "low" },
		{ "@@@ x", "@x" },
		{ "a@@b c@@ d", "a@@b cd" },
		{ "a@@ @@ b", "ab" },
		{ "@", "@" },
		{ "  a@@  b ", "  a b " },
	};
	struct buf out = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_clear(&out);
		bpe_undo_line("@@", cases[i].line, strlen(cases[i].line), &out);
		check_str(buf_text(&out), cases[i].want);
	}
	buf_clear(&out);
	bpe_undo_line("", "a b", 3, &out);
	check_str(buf_text(&out), "a b");
	buf_free(&out);
}
