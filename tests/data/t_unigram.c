/*
 * t_unigram.c - unigram models of SentencePiece: tries, the best split, n-best splits, samples, learning.
 *
 * The small models are made here. tests/peers/sentencepiece_compare.py --type unigram compares with
 * SentencePiece on real texts.
 */
#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/pipeline/resplit.h"
#include "data/sentencepiece/piece_trie.h"
#include "data/sentencepiece/sp.h"
#include "data/sentencepiece/sp_lattice.h"
#include "data/words/vocab.h"
#include "share/base/file.h"
#include "share/base/rng.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/format/proto.h"

/* ---- helpers ---- */

static const char *in_folder(const char *name)
{
	static char path[4][300];
	static int turn;
	char *at = path[turn++ % 4];

	snprintf(at, sizeof(path[0]), "%s/%s", test_folder(), name);
	return at;
}

struct test_piece {
	const char *text;
	float score;
	enum sp_type type;
};

/* A unigram model of <pad> </s> <s> <unk> and these pieces; bytes: with the 256 byte pieces. */
static void make_unigram(struct buf *model, const struct test_piece *pieces, size_t n, bool bytes)
{
	static const struct test_piece specials[] = { { "<pad>", 0, SP_CONTROL },
						      { "</s>", 0, SP_CONTROL },
						      { "<s>", 0, SP_CONTROL },
						      { "<unk>", 0, SP_UNKNOWN } };
	struct buf part = { 0 };
	char name[8];

	for (size_t i = 0; i < 4 + n + (bytes ? 256 : 0); i++) {
		struct test_piece p = i < 4	  ? specials[i]
				      : i < 4 + n ? pieces[i - 4]
						  : (struct test_piece){ name, 0, SP_BYTE };

		snprintf(name, sizeof(name), "<0x%02X>", (unsigned int)(i - 4 - n) & 0xFF);
		proto_put_text(&part, 1, p.text);
		proto_put_float(&part, 2, p.score);
		proto_put_varint(&part, 3, p.type);
		proto_put_message(model, 1, &part);
	}
	proto_put_varint(&part, 3, 1);
	proto_put_varint(&part, 35, bytes);
	proto_put_message(model, 2, &part);
}

static struct sp *open_unigram(const struct test_piece *pieces, size_t n, bool bytes)
{
	struct buf model = { 0 };
	struct err e = { 0 };
	struct sp *s;

	make_unigram(&model, pieces, n, bytes);
	s = sp_open_memory(model.data, model.len, "test.model", &e);
	if (!s)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	buf_free(&model);
	return s;
}

static void check_pieces(struct sp *s, const char *line, const char *want)
{
	struct buf out = { 0 };
	struct err e = { 0 };

	for (int i = 0; i < 2; i++) { /* the second time from the cache */
		buf_clear(&out);
		check_err(sp_apply_line(s, line, strlen(line), &out, &e), 0);
		check_str(buf_text(&out), want);
	}
	buf_free(&out);
}

/* ---- the trie ---- */

TEST(piece_trie_finds_what_was_put_in)
{
	struct rng_key r = rng_key_make(5, RNG_TEST, 0, 0);
	static char texts[3000][8];
	static struct piece_key keys[3000];
	struct piece_trie t = { 0 };
	struct err e;
	size_t n = 0;

	for (uint64_t i = 0; i < 3000; i++) {
		size_t len = 1 + rng_u32(r, 16 * i) % 6;

		for (size_t k = 0; k < len; k++)
			texts[i][k] = (char)(rng_u32(r, 16 * i + 1 + k) % (i % 3 ? 4 : 255) + 1);
		keys[i] = (struct piece_key){ texts[i], (uint32_t)len, (int32_t)i };
	}
	qsort(keys, 3000, sizeof(*keys), piece_key_compare);
	for (size_t i = 0; i < 3000; i++)
		if (!n || piece_key_compare(&keys[n - 1], &keys[i]) != 0)
			keys[n++] = keys[i];
	/* every third one stays out */
	struct piece_key in[3000];
	size_t n_in = 0;

	for (size_t i = 0; i < n; i++)
		if (i % 3)
			in[n_in++] = keys[i];
	if (!check_err(piece_trie_build(&t, in, n_in, &e), 0))
		return;
	for (size_t i = 0; i < n; i++) {
		uint32_t node = PIECE_TRIE_ROOT, k = 0;

		while (k < keys[i].n && piece_trie_step(&t, &node, (unsigned char)keys[i].text[k]))
			k++;
		check_int(k == keys[i].n ? t.units[node].id : -1, i % 3 ? keys[i].id : -1);
	}
	check(t.n_units < 20000);
	piece_trie_free(&t);
	check_err(piece_trie_build(&t, NULL, 0, &e), 0); /* without keys */
	check(!piece_trie_step(&t, &(uint32_t){ PIECE_TRIE_ROOT }, 'a'));
	piece_trie_free(&t);
}

/* ---- the best split ---- */

static const struct test_piece letters[] = {
	{ "▁", -2, SP_NORMAL },	       { "a", -3, SP_NORMAL },	{ "b", -3, SP_NORMAL },
	{ "ab", -4, SP_NORMAL },       { "▁a", -4, SP_NORMAL }, { "ba", -4, SP_NORMAL },
	{ "0", -2, SP_NORMAL },	       { "00", -3, SP_NORMAL }, { "▁ab", -9, SP_NORMAL },
	{ "<x>", 0, SP_USER_DEFINED }, { "x", -1, SP_NORMAL },
};

TEST(unigram_best_split)
{
	struct sp *s = open_unigram(letters, ARRAY_LEN(letters), false);

	if (!s)
		return;
	check_pieces(s, "ab", "▁ ab");		 /* -6, not -7 or -9 */
	check_pieces(s, "aba ab", "▁a ba ▁ ab"); /* -8: before ▁ ab a, -9 */
	check_pieces(s, "000", "▁ 0 00");	 /* of two equal splits the first found */
	check_pieces(s, "00000", "▁ 0 00 00");
	check_pieces(s, "azzb  a", "▁a zz b ▁a"); /* unknown characters are one piece */
	check_pieces(s, "z za", "▁ z ▁ z a");	  /* but not over a blank */
	check_pieces(s, "a<x>b<xx", "▁a <x> b < x x");
	check_pieces(s, " ", "");
	check_pieces(s, "<s>", "▁ <s>"); /* control pieces are no text */
	sp_close(s);
	s = open_unigram(letters, ARRAY_LEN(letters), true);
	if (!s)
		return;
	check_pieces(s, "aé<x>", "▁a <0xC3> <0xA9> <x>");
	sp_close(s);
}

/* Scores are sums of floats over the line: which of two equal splits wins depends on the text before. */
TEST(unigram_rounds_like_sentencepiece)
{
	static const struct test_piece p[] = {
		{ "▁", -2.1f, SP_NORMAL },
		{ "0", -3.7123f, SP_NORMAL },
		{ "00", -5.4321f, SP_NORMAL },
		{ "q", -9.123456f, SP_NORMAL },
	};
	struct sp *s = open_unigram(p, ARRAY_LEN(p), false);
	struct buf line = { 0 }, out = { 0 }, want = { 0 };
	struct err e;
	int later = 0;

	for (int words = 0; s && words < 60; words++) {
		float sum = 0, first, second;

		buf_clear(&line);
		buf_clear(&out);
		for (int i = 0; i < words; i++) {
			buf_add_str(&line, "q ");
			sum += -2.1f;
			sum += -9.123456f;
		}
		buf_add_str(&line, "000");
		sum += -2.1f;
		first = (sum + -3.7123f) + -5.4321f;
		second = (sum + -5.4321f) + -3.7123f;
		check_err(sp_apply_line(s, line.data, line.len, &out, &e), 0);
		check(text_ends_with(buf_text(&out), second > first ? " 00 0" : " 0 00"));
		later += second > first;
	}
	check(later > 0); /* both happen */
	buf_free(&line);
	buf_free(&out);
	buf_free(&want);
	sp_close(s);
}

/* ---- other splits ---- */

TEST(unigram_n_best)
{
	struct sp *s = open_unigram(letters, ARRAY_LEN(letters), false);
	struct buf out = { 0 };
	struct err e = { 0 };

	if (!s)
		return;
	check_err(sp_best_lines(s, "ab", 2, 10, &out, &e), 0);
	check_str(buf_text(&out), "▁ ab\n▁a b\n▁ a b\n▁ab\n");
	buf_clear(&out);
	check_err(sp_best_lines(s, "ab", 2, 2, &out, &e), 0);
	check_str(buf_text(&out), "▁ ab\n▁a b\n");
	buf_clear(&out);
	check_err(sp_best_lines(s, " ", 1, 2, &out, &e), 0);
	check_str(buf_text(&out), "\n");
	buf_free(&out);
	sp_close(s);
}

struct way {
	const char *pieces;
	double score;
	int count;
};

static void check_ways(const struct way *ways, size_t n, double theta, int draws)
{
	double sum = 0, chi = 0;
	int seen = 0;

	for (size_t i = 0; i < n; i++)
		sum += exp(theta * ways[i].score);
	for (size_t i = 0; i < n; i++) {
		double want = draws * exp(theta * ways[i].score) / sum;

		chi += (ways[i].count - want) * (ways[i].count - want) / want;
		seen += ways[i].count;
	}
	check_int(seen, draws); /* no other split */
	check(chi < (double)(n - 1) + 5 * sqrt(2 * (double)(n - 1)));
}

TEST(unigram_samples_have_their_probabilities)
{
	struct sp *s = open_unigram(letters, ARRAY_LEN(letters), false);
	struct err e;

	for (int best = 1; s && best <= 3; best += 2)
		for (double theta = 0.3; theta < 1.5; theta += 0.7) {
			struct way ways[] = { { "▁ ab", -6, 0 },
					      { "▁a b", -7, 0 },
					      { "▁ a b", -8, 0 },
					      { "▁ab", -9, 0 } };
			size_t n = best == 1 ? 4 : 3;

			for (uint32_t i = 0; i < 20000; i++) {
				struct buf out = { 0 };

				check_err(sp_sample_line(s, "ab", 2, theta, (size_t)best,
							 rng_key_make(1, RNG_PIECES, i, 0), &out,
							 &e),
					  0);
				for (size_t k = 0; k < n; k++)
					ways[k].count += !strcmp(ways[k].pieces, buf_text(&out));
				buf_free(&out);
			}
			check_ways(ways, n, theta, 20000);
		}
	sp_close(s);
}

/* Training sentences: each word is sampled for itself; words with an unknown token or a symbol stay. */
TEST(unigram_resplit)
{
	struct buf model = { 0 }, text = { 0 };
	struct err e = { 0 };
	struct conf c;
	struct vocab *v;
	struct resplit *r;
	struct way ways[] = {
		{ "▁ ab", -6, 0 }, { "▁a b", -7, 0 }, { "▁ a b", -8, 0 }, { "▁ab", -9, 0 }
	};

	make_unigram(&model, letters, ARRAY_LEN(letters), false);
	buf_add_str(&text, "<pad>\t0\n</s>\t0\n<s>\t0\n<unk>\t0\n");
	for (size_t i = 0; i < ARRAY_LEN(letters); i++)
		buf_printf(&text, "%s\t1\n", letters[i].text);
	buf_add_str(&text, "<unused0>\t0\n");
	if (conf_init(&c, &e) ||
	    file_write_all(in_folder("sentencepiece.model"), model.data, model.len, &e) ||
	    file_write_all(in_folder("vocab.tsv"), text.data, text.len, &e))
		return;
	c.unigram_sampling = 1;
	v = vocab_open(in_folder("vocab.tsv"), &e);
	if (!check(v != NULL))
		return;
	check(!resplit_open(test_folder(), &c, 0, v, &e) && strstr(e.text, "use bpe_dropout"));
	c.segmentation = SEGMENTATION_UNIGRAM;
	check(resplit_is_wanted(&c));
	r = resplit_open(test_folder(), &c, 0, v, &e);
	for (uint32_t epoch = 0; check(r != NULL) && epoch < 8000; epoch++) {
		/* ▁ab, ▁a <unk>, ▁a <x>, ▁a b */
		const int32_t ids[] = { 12, 8, 3, 8, 13, 8, 6 };
		struct resplit_key place = { 7, epoch, epoch & 1 };
		int32_t *out = NULL;
		size_t n_out = 0, cap = 0, first = 0, n_first;

		check_err(resplit_sentence(r, &place, ids, 7, &out, &n_out, &cap, &e), 0);
		for (n_first = 1; n_first < n_out && out[n_first] != 3; n_first++)
			;
		n_first -= 1; /* up to the word with <unk> */
		check(n_first + 5 <= n_out && !memcmp(out + n_first, ids + 1, 4 * sizeof(*ids)));
		for (size_t half = 0; half < 2; half++) {
			struct buf pieces = { 0 };
			size_t end = half ? n_out : n_first;

			for (first = half ? n_first + 4 : 0; first < end; first++)
				buf_printf(&pieces, "%s%s", pieces.len ? " " : "",
					   vocab_piece(v, out[first]));
			for (size_t k = 0; k < ARRAY_LEN(ways); k++)
				ways[k].count += !strcmp(ways[k].pieces, buf_text(&pieces));
			buf_free(&pieces);
		}
		free(out);
	}
	check_ways(ways, ARRAY_LEN(ways), 1, 16000);
	c.bpe_dropout = 0.1;
	check(!resplit_open(test_folder(), &c, 0, v, &e) && strstr(e.text, "use unigram_sampling"));
	resplit_close(r);
	vocab_close(v);
	conf_free(&c);
	buf_free(&model);
	buf_free(&text);
}

/* Does the side split these ids in other ways in some of 100 epochs? -1: it cannot be opened. */
static int changes_splits(const struct conf *c, int side, const struct vocab *v, const int32_t *ids,
			  int32_t n)
{
	struct err e = { 0 };
	struct resplit *r = resplit_open(test_folder(), c, side, v, &e);
	int changes = r ? 0 : -1;

	for (uint32_t epoch = 0; r && epoch < 100; epoch++) {
		const struct resplit_key place = { 7, epoch, (uint32_t)side };
		int32_t *out = NULL;
		size_t n_out = 0, cap = 0;

		check_err(resplit_sentence(r, &place, ids, n, &out, &n_out, &cap, &e), 0);
		if (n_out != (size_t)n || memcmp(out, ids, n_out * sizeof(*ids)) != 0)
			changes = 1;
		free(out);
	}
	resplit_close(r);
	return changes;
}

/* A unigram model for the source, BPE for the target: each option changes the splits of its side only. */
TEST(unigram_beside_bpe)
{
	static const char special[] = "<pad>\t0\n</s>\t0\n<s>\t0\n<unk>\t0\n";
	static const char codes[] = "#version: 0.2\na b</w>\n";
	/* ▁a ▁ab; ab ab */
	const int32_t of_source[] = { 8, 12 }, of_target[] = { 6, 6 };
	struct buf model = { 0 }, source = { 0 }, target = { 0 };
	struct vocab *v[2] = { NULL, NULL };
	struct conf c;
	struct err e = { 0 };

	make_unigram(&model, letters, ARRAY_LEN(letters), false);
	buf_add_str(&source, special);
	for (size_t i = 0; i < ARRAY_LEN(letters); i++)
		buf_printf(&source, "%s\t1\n", letters[i].text);
	buf_add_str(&source, "<unused0>\t0\n");
	buf_printf(&target, "%sa@@\t1\nb\t1\nab\t1\n<unused0>\t0\n", special);
	if (conf_init(&c, &e) ||
	    file_write_all(in_folder("sentencepiece.source.model"), model.data, model.len, &e) ||
	    file_write_all(in_folder("bpe.target.codes"), codes, sizeof(codes) - 1, &e) ||
	    file_write_all(in_folder("s.tsv"), source.data, source.len, &e) ||
	    file_write_all(in_folder("t.tsv"), target.data, target.len, &e))
		return;
	v[0] = vocab_open(in_folder("s.tsv"), &e);
	v[1] = vocab_open(in_folder("t.tsv"), &e);
	if (!check(v[0] && v[1]))
		return;
	check_err(conf_set(&c, "vocabularies", "separate", "test", &e), 0);
	check_err(conf_set(&c, "source_segmentation", "unigram", "test", &e), 0);
	for (int options = 1; options < 4; options++) {
		c.unigram_sampling = options & 1 ? 0.5 : 0;
		c.bpe_dropout = options & 2 ? 0.5 : 0;
		check_int(changes_splits(&c, 0, v[0], of_source, 2), options & 1);
		check_int(changes_splits(&c, 1, v[1], of_target, 2), options >> 1);
	}
	vocab_close(v[0]);
	vocab_close(v[1]);
	conf_free(&c);
	buf_free(&model);
	buf_free(&source);
	buf_free(&target);
}

/* ---- learning ---- */

/* Words of a small language: 40 stems with 6 endings, by a power law. */
static int learn_stems(int64_t size, int threads, const char *name, int64_t *learned, struct err *e)
{
	static const char *const ends[] = { "", "en", "ung", "lich", "er", "." };
	struct rng_key r = rng_key_make(3, RNG_TEST, 0, 0);
	struct word_counter *c = word_counter_new(e);
	struct protect *symbols = NULL;
	char tag[] = "<2de>", *const tags[] = { tag };
	bool used;
	int rc = c ? protect_open(&symbols, tags, 1, e) : e->code;

	for (uint64_t i = 0; !rc && i < 4000; i++) {
		uint32_t stem = (uint32_t)(40 * pow(rng_unit(r, 2 * i), 2));
		char word[40];

		snprintf(word, sizeof(word), "%s%c%c%c%c%s", i % 9 ? "" : "<2de> ", 'a' + stem % 7,
			 'k' + stem % 5, 'a' + stem / 7, 'q' + stem / 11,
			 ends[rng_u32(r, 2 * i + 1) % 6]);
		rc = sp_count_line(c, word, strlen(word), &used, e);
	}
	if (!rc)
		rc = sp_learn_unigram(c, size, symbols, threads, in_folder(name), NULL, learned, e);
	protect_close(symbols);
	word_counter_free(c);
	return rc;
}

TEST(unigram_learn)
{
	struct buf a = { 0 }, b = { 0 }, out = { 0 }, text = { 0 };
	struct err e = { 0 };
	int64_t learned = 0;
	struct sp *s;
	double sum = 0;
	struct sp_model m;

	if (!check_err(learn_stems(70, 1, "one", &learned, &e), 0))
		return;
	check_int(learned, 70);
	check_err(learn_stems(70, 3, "three", &learned, &e), 0);
	check_err(file_read_all(in_folder("one"), 0, &a, &e), 0);
	check_err(file_read_all(in_folder("three"), 0, &b, &e), 0);
	check(a.len == b.len && !memcmp(a.data, b.data, a.len));
	if (check_err(sp_model_read(&m, a.data, a.len, "one", &e), 0)) {
		for (int32_t i = 5; i < m.pieces.n; i++)
			sum += exp((double)m.entries[i].score);
		check(sum > 0.9 && sum < 1); /* log-probabilities */
		check_int(m.entries[4].type, SP_USER_DEFINED);
		check(intern_find(&m.pieces, "q", 1) >= 0);
		sp_model_free(&m);
	}
	s = sp_open(in_folder("one"), &e);
	if (check(s != NULL)) {
		check_err(sp_apply_line(s, "<2de> akaqlich", 14, &out, &e), 0);
		check(text_starts_with(buf_text(&out), "▁ <2de> ▁akaq"));
		check_err(sp_undo_line(s, out.data, out.len, &text, &e), 0);
		check_str(buf_text(&text), "<2de> akaqlich");
	}
	sp_close(s);
	check_err(learn_stems(20, 1, "small", &learned, &e), ERR_CONFIG);
	check_err(learn_stems(5000, 2, "large", &learned, &e), 0);
	check(learned > 200 && learned < 1000); /* all useful substrings */
	buf_free(&text);
	buf_free(&a);
	buf_free(&b);
	buf_free(&out);
}

/* Long texts without blanks are cut, and rare characters do not make probabilities vanish. */
TEST(unigram_learn_long_texts)
{
	struct word_counter *c;
	struct err e = { 0 };
	struct buf line = { 0 };
	struct rng_key r = rng_key_make(9, RNG_TEST, 0, 0);
	int64_t learned = 0;
	bool used;
	struct sp *s;

	c = word_counter_new(&e);
	for (uint64_t i = 0; c && i < 60; i++) {
		buf_clear(&line);
		for (uint64_t k = 0; k < 900; k++) {
			char bytes[4];
			uint32_t x = rng_u32(r, 1000 * i + k);

			/* mostly a few characters; one line of rare ones */
			buf_add(&line, bytes,
				utf8_encode(i == 30 ? 0x4E00 + x % 500 : 0x3042 + x % 9, bytes));
		}
		check_err(sp_count_line(c, line.data, line.len, &used, &e), 0);
		check(used);
	}
	check_err(sp_learn_unigram(c, 800, NULL, 2, in_folder("long"), NULL, &learned, &e), 0);
	check_int(learned, 800);
	s = sp_open(in_folder("long"), &e);
	check(s != NULL);
	sp_close(s);
	word_counter_free(c);
	buf_free(&line);
}

/* ---- damaged files ---- */

TEST(unigram_mutants)
{
	struct rng_key r = rng_key_make(1, RNG_TEST, 0, 0);
	struct buf good = { 0 }, bad = { 0 }, out = { 0 };
	struct err e = { 0 };
	int opened = 0;

	make_unigram(&good, letters, ARRAY_LEN(letters), false);
	for (uint64_t i = 0; i < 10000; i++) {
		struct sp *s;

		buf_clear(&bad);
		buf_add(&bad, good.data, good.len - (i % 10 ? 0 : rng_u32(r, 32 * i) % good.len));
		for (uint64_t k = 0; k < 1 + i % 4 && bad.len; k++)
			bad.data[rng_u32(r, 32 * i + 2 * k + 1) % bad.len] =
				(char)rng_u32(r, 32 * i + 2 * k + 2);
		s = sp_open_memory(bad.data, bad.len, "mutant", &e);
		opened += s != NULL;
		buf_clear(&out);
		if (s && !sp_apply_line(s, "aba <x>00 zb", 12, &out, &e) &&
		    !sp_sample_line(s, "ab", 2, 0.5, 1, r, &out, &e))
			sp_best_lines(s, "abab00", 6, 7, &out, &e);
		sp_close(s);
	}
	check(opened > 1000 && opened < 9900);
	buf_free(&good);
	buf_free(&bad);
	buf_free(&out);
}
