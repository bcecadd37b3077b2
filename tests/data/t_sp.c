/*
 * t_sp.c - SentencePiece's BPE: models, normalising, learning, applying.
 *
 * The expected results were written by SentencePiece 0.2.3 for the same input;
 * tests/peers/sentencepiece_compare.py compares both programs on real texts.
 * golden/sp-bytes.model is one of its models, trained on the text below with
 * byte_fallback, user-defined symbols and no normalisation.
 */
#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/pipeline/pipeline.h"
#include "data/sentencepiece/sp.h"
#include "data/sentencepiece/sp_charsmap.h"
#include "data/sentencepiece/sp_model.h"
#include "data/sentencepiece/sp_normalize.h"
#include "data/sentencepiece/sp_rules.h"
#include "data/words/vocab.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/lines.h"
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

static const char *golden(const char *name)
{
	static char path[400];
	const char *folder = getenv("srcdir");

	snprintf(path, sizeof(path), "%s/tests/golden/%s", folder ? folder : ".", name);
	return path;
}

static bool hash_is(const struct buf *b, const char *want)
{
	char hex[HASH_SHA256_HEX] = "";
	struct err e;
	struct hash *h = hash_new(HASH_SHA256, &e);

	if (h && !hash_add(h, buf_text(b), b->len, &e))
		hash_hex(h, hex, &e);
	hash_free(h);
	return check_str(hex, want);
}

static const char *const text[] = {
	"The little blue boat left the harbour before the sun came up.",
	"Before noon the boat came back, and the little harbour was full of boats.",
	"Das kleine blaue Boot verließ den Hafen, bevor die Sonne aufging.",
	"Vor Mittag kam das Boot zurück, und der kleine Hafen war voller Boote.",
	"In 2016 there were 1234 boats; in 2017 there were 12345.",
	"Im Jahr 2016 waren es 1234 Boote, im Jahr 2017 waren es 12345.",
	"Größere Schiffe brauchen größere Häfen, kleinere Boote kleinere.",
	("Маленькая лодка вышла из гавани, "
	 "большая лодка осталась в гавани."),
	"小さな船が港を出た。大きな船は港に残った。",
	"ｆｕｌｌ－ｗｉｄｔｈ　ｔｅｘｔ and ½ of the ﬁsh, № 5",
	"aaaa aaa aa a aaaaaaaa",
	"<s>the boat</s> the <unk> boat <pad>",
};

/* Learn from the text above into model and vocab of the test's folder. */
static int learn_text(int64_t size, int64_t *learned, struct err *e)
{
	struct word_counter *l = word_counter_new(e);
	int rc = l ? 0 : e->code;
	bool is_used;

	for (size_t i = 0; !rc && i < ARRAY_LEN(text); i++)
		rc = sp_count_line(l, text[i], strlen(text[i]), &is_used, e);
	if (!rc)
		rc = sp_learn(l, size, NULL, in_folder("model"), in_folder("vocab"), learned, e);
	word_counter_free(l);
	return rc;
}

struct sample {
	const char *line, *pieces, *undone;
};

static void check_samples(const char *model, const struct sample *samples, size_t n)
{
	struct err e = { 0 };
	struct sp *s = sp_open(model, &e);
	struct buf out = { 0 };

	if (!s)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	for (size_t i = 0; s && i < 2 * n; i++) { /* the second time from the cache */
		const struct sample *want = &samples[i % n];

		buf_clear(&out);
		check_int(sp_apply_line(s, want->line, strlen(want->line), &out, &e), 0);
		check_str(buf_text(&out), want->pieces);
		buf_clear(&out);
		check_int(sp_undo_line(s, want->pieces, strlen(want->pieces), &out, &e), 0);
		check_str(buf_text(&out), want->undone);
	}
	buf_free(&out);
	sp_close(s);
}

/* ---- learning ---- */

static const char vocabulary[] =
	"<pad> </s> <s> <unk> aa re ▁b he ▁t le ▁the at in oo ▁B ▁w ere oat ▁boat "
	"▁1 ▁k oot ▁Boot 01 23 en ▁2 ▁a ▁d 234 ▁aa ▁wa lein ▁201 ▁1234 "
	"▁klein am it nd ur ка ▁H ▁f fen itt ▁Boote 5. Ja ar as au bo ck ef er es hr "
	"ie ll of or rö ав ал ан ло ▁I ▁S ▁c ▁h ▁l ▁u ▁v ▁в ▁г "
	"な船 ame efo ren röß ull ани дка ▁Ha ▁Ja ▁bl ▁es ▁of ▁ло aaaa "
	"arbo ▁and ▁гав efore ittle ▁2016 ▁2017 ▁Jahr ▁came ▁full ▁were "
	"arbour rößere ▁Hafen ▁boats ▁there ▁waren ▁лодка ▁12345. ▁kleine "
	"▁little ▁гавани ▁harbour ▁kleinere No ag ch dt ev ex fe fg ft if im is "
	"ne ol on su ue wi ас ▁ e a t o r n h l i b f u а 1 2 s . d , k w B c л m 0 3 4 "
	"g в о 5 H v ß и к н ь 6 7 I J S ö г д с ш я 。 た な 港 船 - ; D G "
	"M N T V p x z ä ü М б е з т ы ⁄ が き さ っ に は を 出 大 小 残 ";

TEST(sp_learn_small_text)
{
	struct err e = { 0 };
	struct buf file = { 0 }, pieces = { 0 };
	int64_t learned = 0;

	if (learn_text(220, &learned, &e))
		test_fail(__FILE__, __LINE__, "%s", e.text);
	check_int(learned, 220);
	check_int(file_read_all(in_folder("vocab"), 0, &file, &e), 0);
	for (char *at = file.data, *tab; at && (tab = strchr(at, '\t'));
	     at = strchr(tab, '\n') + 1) {
		buf_add(&pieces, at, (size_t)(tab - at));
		buf_add_char(&pieces, ' ');
	}
	check_str(buf_text(&pieces), vocabulary);
	check(strstr(buf_text(&file), "<unk>\t0\naa\t-0\nre\t-1\n") != NULL);
	check(text_ends_with(buf_text(&file), "\n残\t-215\n"));
	buf_free(&file);
	buf_free(&pieces);
}

TEST(sp_apply_learned)
{
	static const struct sample samples[] = {
		{ "The boat is in the harbour.", "▁ T he ▁boat ▁ is ▁ in ▁the ▁harbour .",
		  "The boat is in the harbour." },
		{ "", "", "" },
		{ " \t \u00A0", "", "" },
		{ "  Two   blanks\tand a tab  ", "▁ T w o ▁bl a n k s ▁and ▁a ▁t a b",
		  "Two blanks and a tab" },
		{ "Größere Boote: 12 neue, 1 altes!",
		  "▁ G rößere ▁Boote : ▁1 2 ▁ ne ue , ▁1 ▁a l t es !",
		  "Größere Boote: 12 neue, 1 altes!" },
		{ "лодка и boat", "▁лодка ▁ и ▁boat", "лодка и boat" },
		{ "港の船", "▁ 港 の 船", "港の船" },
		{ "zero\u200Bwidth, soft\u00ADhyphen, no\u00A0break",
		  "▁ z er o ▁w i dt h , ▁ s of t \u00AD h y p he n , ▁ n o ▁b re a k",
		  "zero width, soft\u00ADhyphen, no break" },
		{ "e+acute e\u0301, ﬁ, Ａ, ①, …, ~～",
		  "▁ e + a c u t e ▁ é , ▁f i , ▁ A , ▁1 , ▁ . . . , ▁ ~～",
		  "e+acute é, fi, A, 1, ..., ~～" },
		{ "unknown: ☃☃ ☃x☃ and \U0001F642",
		  "▁u n k n o w n : ▁ ☃☃ ▁ ☃ x ☃ ▁and ▁ \U0001F642",
		  "unknown: ☃☃ ☃x☃ and \U0001F642" },
		{ "<s> </s> <unk> <pad>", "▁ < s > ▁ </ s > ▁ < u n k > ▁ < p a d >",
		  "<s> </s> <unk> <pad>" },
		{ "a▁b ▁ c", "▁a ▁b ▁c", "a b c" },
	};
	struct err e = { 0 };
	int64_t learned;

	check_int(learn_text(220, &learned, &e), 0);
	check_samples(in_folder("model"), samples, ARRAY_LEN(samples));
}

/* Pieces that no line becomes. */
TEST(sp_undo_special_tokens)
{
	static const char pieces[] = "▁boat <unk> </s> ▁ nonsense <pad>";
	struct err e = { 0 };
	struct buf out = { 0 };
	struct sp *s;
	int64_t learned;

	check_int(learn_text(220, &learned, &e), 0);
	s = sp_open(in_folder("model"), &e);
	check(s && !sp_undo_line(s, pieces, strlen(pieces), &out, &e));
	check_str(buf_text(&out), "boat \u2047  nonsense");
	buf_free(&out);
	sp_close(s);
}

TEST(sp_apply_foreign_model)
{
	static const struct sample samples[] = {
		{ "The boat is in the harbour.", "▁ T he ▁boat ▁ i s ▁ in ▁the ▁harbour .",
		  "The boat is in the harbour." },
		{ "  Two   blanks\tand a tab  ", "▁ T w o ▁bl a n k s <0x09> a nd ▁a ▁ t a b",
		  "Two blanks\tand a tab" },
		{ "Größere Boote: 12 neue, 1 altes!",
		  "▁ G rößere ▁B oo te <0x3A> ▁12 ▁ n e u e , ▁ 1 ▁a l te s <0x21>",
		  "Größere Boote: 12 neue, 1 altes!" },
		{ "港の船", "▁ 港 <0xE3> <0x81> <0xAE> 船", "港の船" },
		{ "ﬁ, Ａ, …",
		  "▁ <0xEF> <0xAC> <0x81> , ▁ <0xEF> <0xBC> <0xA1> , ▁ <0xE2> <0x80> <0xA6>",
		  "ﬁ, Ａ, …" },
		{ "unknown: ☃☃ ☃x☃ and \U0001F642",
		  "▁u n k n o w n <0x3A> ▁ <0xE2> <0x98> <0x83> <0xE2> <0x98> <0x83> ▁ "
		  "<0xE2> <0x98> <0x83> <0x78> <0xE2> <0x98> <0x83> ▁and ▁ "
		  "<0xF0> <0x9F> <0x99> <0x82>",
		  "unknown: ☃☃ ☃x☃ and \U0001F642" },
		{ "a▁b ▁ c", "▁a ▁b ▁ ▁ ▁c", "a b   c" },
		{ "x▁ y", "▁ <0x78> ▁ ▁ <0x79>", "x  y" },
	};

	check_samples(golden("sp-bytes.model"), samples, ARRAY_LEN(samples));
}

TEST(sp_learn_refuses)
{
	struct err e = { 0 };
	int64_t learned = 0;
	struct word_counter *l = word_counter_new(&e);
	struct buf line = { 0 };
	bool is_used = true;

	check_err(sp_learn(l, 100, NULL, in_folder("model"), NULL, &learned, &e), ERR_DATA);
	for (int i = 0; i < 839; i++)
		buf_add_str(&line, "boot ");
	check_int(line.len, 4195);
	check_int(sp_count_line(l, line.data, line.len, &is_used, &e), 0);
	check(!is_used); /* too long */
	check_int(sp_count_line(l, "a \u2585 b", 7, &is_used, &e), 0);
	check(!is_used); /* reserved */
	check_err(sp_learn(l, 100, NULL, in_folder("model"), NULL, &learned, &e), ERR_DATA);
	check_int(sp_count_line(l, line.data, 4192, &is_used, &e), 0);
	check(is_used);
	check_int(sp_learn(l, 100, NULL, in_folder("model"), NULL, &learned, &e), 0);
	check_int(learned, 4 + 4 + 4); /* ▁ b o t, and what makes ▁boot of them */
	word_counter_free(l);
	buf_free(&line);
	check_err(learn_text(90, &learned, &e), ERR_CONFIG);
	check(strstr(e.text, "ask for at least 91 entries") != NULL);
	check_int(learn_text(91, &learned, &e), 0);
	check_int(learned, 91);
}

/* Words with counts give the same model as the lines with these words. */
TEST(sp_learn_counted_words)
{
	struct err e = { 0 };
	struct word_counter *lines = word_counter_new(&e), *words = word_counter_new(&e);
	struct buf a = { 0 }, b = { 0 };
	int64_t learned;
	bool is_used;

	for (int i = 0; i < 3; i++)
		check_int(sp_count_line(lines, " low\u00A0lower  low ", 17, &is_used, &e), 0);
	check_int(sp_count_word(words, "low", 3, 2, &e), 0);
	check_int(sp_count_word(words, "low\u00A0lower", 10, 3, &e), 0);
	check_int(sp_count_word(words, "low", 3, 1, &e), 0);
	check_int(sp_count_word(words, "▅", 3, 100, &e), 0);
	check_int(sp_learn(lines, 16, NULL, in_folder("a"), NULL, &learned, &e), 0);
	check_int(learned, 15);
	check_int(sp_learn(words, 16, NULL, in_folder("b"), NULL, &learned, &e), 0);
	check_int(file_read_all(in_folder("a"), 0, &a, &e), 0);
	check_int(file_read_all(in_folder("b"), 0, &b, &e), 0);
	check(a.len > 1000 && a.len == b.len && !memcmp(a.data, b.data, a.len));
	word_counter_free(lines);
	word_counter_free(words);
	buf_free(&a);
	buf_free(&b);
}

/* ---- normalising ---- */

/* Every character of the first plane before an accent, as SentencePiece's own nmt_nfkc makes it. */
TEST(sp_rules_are_nmt_nfkc)
{
	struct err e = { 0 };
	struct sp_normalizer z = { 0 };
	struct buf rules = { 0 }, out = { 0 };

	if (!check_int(sp_rules_nmt_nfkc(&rules, &e), 0) ||
	    !check_int(charsmap_read(&z.rules, rules.data, rules.len, "rules", &e), 0))
		return;
	for (uint32_t c = 1; c < 0x10000; c++) {
		char line[12] = "a";
		size_t n = 1;

		if (c >= 0xD800 && c < 0xE000)
			continue;
		n += utf8_encode(c, line + n);
		memcpy(line + n, "\u0301b", 3);
		check_int(sp_normalize(&z, line, n + 3, &out, NULL, &e), 0);
		buf_add_char(&out, '\n');
	}
	hash_is(&out, "fbcd71fdfce0042ab273305557e4c9ff19cead8cfef0e344cd3dc2c746166c61");
	sp_normalizer_free(&z);
	buf_free(&rules);
	buf_free(&out);
}

TEST(sp_normalize_blanks)
{
	static const struct {
		const char *flags; /* d: dummy, r: remove extra, e: escape, s: suffix */
		const char *line, *want;
	} cases[] = {
		/* clang-format off */
		{ "dre", "  a  b ", "▁a▁b" }, { "dre", "", "" }, { "dre", "   ", "" },
		{ "re", "  a  b ", "a▁b" },   { "de", " a  b ", "▁▁a▁▁b▁" },
		{ "d", " a b", "  a b" },     { "drs", " a  b ", "a b " },
		{ "e", "  ", "▁▁" },	      { "", "a\x80z\xC3", "a\uFFFDz\uFFFD" },
		{ "dres", "a b", "a▁b▁" },
		/* clang-format on */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sp_normalizer z = {
			.add_dummy_prefix = strchr(cases[i].flags, 'd'),
			.remove_extra_whitespaces = strchr(cases[i].flags, 'r'),
			.escape_whitespaces = strchr(cases[i].flags, 'e'),
			.is_space_suffix = strchr(cases[i].flags, 's'),
		};
		struct buf out = { 0 };
		struct err e = { 0 };

		check_int(sp_normalize(&z, cases[i].line, strlen(cases[i].line), &out, NULL, &e),
			  0);
		check_str(buf_text(&out), cases[i].want);
		buf_free(&out);
	}
}

/* Tables of random rules against a linear search. */
TEST(sp_charsmap_finds_the_longest)
{
	struct rng_key key = rng_key_make(5, RNG_SHUFFLE, 0, 0);
	uint64_t drawn = 0;

	for (int round = 0; round < 50; round++) {
		struct charsmap_rule rules[60];
		char from[60][5];
		struct intern known = { 0 };
		struct charsmap m = { 0 };
		struct buf bytes = { 0 };
		struct err e = { 0 };
		size_t n = 0;

		for (int i = 0; i < 60; i++) {
			size_t len = 1 + rng_u32(key, drawn++) % 4;
			int32_t number;

			for (size_t k = 0; k < len; k++)
				from[n][k] = "ab \xFF\x01"[rng_u32(key, drawn++) % 5];
			check_int(intern_add(&known, from[n], len, &number, &e), 0);
			if ((size_t)number < n)
				continue;
			rules[n] = (struct charsmap_rule){ from[n], &"xyz"[number % 3], len,
							   3 - (size_t)number % 3 };
			n++;
		}
		check_int(charsmap_build(rules, n, &bytes, &e), 0);
		check_int(charsmap_read(&m, bytes.data, bytes.len, "test", &e), 0);
		for (int i = 0; i < 500; i++) {
			char line[6];
			size_t len = rng_u32(key, drawn++) % 6, want = 0, got;
			const char *to = "none", *want_to = "none";

			for (size_t k = 0; k < len; k++)
				line[k] = "ab \xFF\x01"[rng_u32(key, drawn++) % 5];
			for (size_t r = 0; r < n; r++)
				if (rules[r].n <= len && rules[r].n > want &&
				    !memcmp(rules[r].from, line, rules[r].n)) {
					want = rules[r].n;
					want_to = rules[r].to;
				}
			got = charsmap_match(&m, line, len, &to, NULL);
			check_int(got, want);
			check_str(to, want_to);
		}
		charsmap_free(&m);
		intern_free(&known);
		buf_free(&bytes);
	}
}

/* ---- files that are no models ---- */

TEST(sp_model_refuses)
{
	static const struct {
		int type;  /* of the model; 0: no trainer_spec */
		int piece; /* type of its second piece; the first is <unk> */
		float score;
		const char *why;
	} cases[] = {
		{ 2, SP_NORMAL, -1, NULL },
		{ 1, SP_NORMAL, -1, NULL },
		{ 3, SP_NORMAL, -1, "a word model" },
		{ 4, SP_NORMAL, -1, "a character model" },
		{ 9, SP_NORMAL, -1, "a model of an unknown type" },
		{ 0, SP_NORMAL, -1, "no trainer_spec" },
		{ 2, SP_UNUSED, -1, "piece 1 is marked as unused" },
		{ 2, SP_UNKNOWN, -1, "pieces 0 and 1 are both the unknown token" },
		{ 2, SP_BYTE, -1, "expected a byte like <0x1F>" },
		{ 2, 7, -1, "piece 1 is damaged" },
		{ 2, SP_NORMAL, INFINITY, "piece 1 is damaged" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf part = { 0 }, model = { 0 };
		struct err e = { 0 };
		struct sp *s;

		proto_put_bytes(&part, 1, "<unk>", 5);
		proto_put_varint(&part, 3, SP_UNKNOWN);
		proto_put_bytes(&model, 1, part.data, part.len);
		buf_clear(&part);
		proto_put_bytes(&part, 1, "▁", 3);
		proto_put_float(&part, 2, cases[i].score);
		proto_put_varint(&part, 3, (uint64_t)cases[i].piece);
		proto_put_bytes(&model, 1, part.data, part.len);
		buf_clear(&part);
		proto_put_varint(&part, 3, (uint64_t)cases[i].type);
		if (cases[i].type)
			proto_put_bytes(&model, 2, part.data, part.len);
		s = sp_open_memory(model.data, model.len, "some.model", &e);
		check(!s == (cases[i].why != NULL));
		if (cases[i].why && !s &&
		    (!strstr(e.text, cases[i].why) || !text_starts_with(e.text, "some.model")))
			check_str(e.text, cases[i].why);
		sp_close(s);
		buf_free(&part);
		buf_free(&model);
	}
}

/* A model that is cut off anywhere, or has any byte changed, is refused or works. */
TEST(sp_model_damaged)
{
	struct err e = { 0 };
	struct buf good = { 0 }, out = { 0 };
	int opened = 0, cut_opened = 0;

	if (!check_int(file_read_all(golden("sp-bytes.model"), 0, &good, &e), 0))
		return;
	for (size_t i = 0; i < good.len; i++) {
		struct sp *s = sp_open_memory(good.data, i, "cut.model", &e);

		cut_opened += s != NULL;
		sp_close(s);
		good.data[i] ^= (char)(1 << i % 8);
		s = sp_open_memory(good.data, good.len, "changed.model", &e);
		good.data[i] ^= (char)(1 << i % 8);
		buf_clear(&out);
		if (s && !sp_apply_line(s, text[i % 12], strlen(text[i % 12]), &out, &e))
			opened++;
		sp_close(s);
	}
	check(cut_opened < 3); /* only at the end of a field after the trainer_spec */
	check(opened > 1000);
	buf_free(&good);
	buf_free(&out);
}

/* ---- in the pipeline ---- */

TEST(sp_pipeline_there_and_back)
{
	struct err e = { 0 };
	struct conf c;
	struct vocab_counter *counter;
	struct pipeline *p;
	int32_t *ids = NULL;
	size_t n = 0, cap = 0;
	int64_t learned;
	struct buf out = { 0 };

	check_int(conf_init(&c, &e), 0);
	c.tokenize = false;
	c.segmentation = SEGMENTATION_SENTENCEPIECE;
	check_int(learn_text(220, &learned, &e), 0);
	check_int(rename(in_folder("model"), in_folder("sentencepiece.model")), 0);
	counter = vocab_counter_new(&e);
	check_int(vocab_count(counter, "▁boat", strlen("▁boat"), 7, &e), 0);
	p = pipeline_open_pieces(test_folder(), &c, &e);
	check(p && pipeline_piece_order(p, SIDE_SOURCE));
	if (p)
		check_int(vocab_write_in_order(counter, pipeline_piece_order(p, SIDE_SOURCE),
					       in_folder("vocab.tsv"), &e),
			  0);
	pipeline_close(p);
	vocab_counter_free(counter);
	p = pipeline_open(test_folder(), &c, &e);
	if (!p)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	if (p) {
		const struct vocab *v = pipeline_vocab(p, SIDE_SOURCE);

		check_int(vocab_size(v), 224);
		check_int(vocab_real_size(v), 220);
		check_str(vocab_piece(v, 4), "aa");
		check_int(vocab_frequency(v, vocab_id(v, "▁boat", strlen("▁boat"))), 7);
		check_int(vocab_frequency(v, 4), 0);
		check_int(pipeline_encode(p, SIDE_SOURCE, "The  boat ☃ is", 16, &ids, &n, &cap, &e),
			  0);
		check_int(n, 8); /* ▁ T he ▁boat ▁ ☃ ▁ is */
		check_int(ids[5], TOKEN_UNKNOWN);
		check_int(pipeline_decode(p, SIDE_TARGET, ids, n, &out, &e), 0);
		check_str(buf_text(&out), "The boat  \u2047  is");
	}
	pipeline_close(p);
	conf_free(&c);
	free(ids);
	buf_free(&out);
}

/* ---- real text ---- */

static const char *const learn_from[] = { "multi30k/train.en", "multi30k/train.de",
					  "noisy/train10k.en", "noisy/train10k.de" };
static const char *const apply_to[] = { "noisy/train10k.en", "noisy/train10k.de",
					"newstest/newstest2014.en", "newstest/newstest2014.de" };

static int learn_files(struct err *e)
{
	struct word_counter *l = word_counter_new(e);
	int64_t learned;
	int rc = l ? 0 : e->code;
	bool is_used;

	for (size_t i = 0; !rc && i < ARRAY_LEN(learn_from); i++) {
		struct lines in;

		rc = lines_open(&in, test_data(learn_from[i]), e);
		while (!rc && lines_next(&in, e) > 0)
			rc = sp_count_line(l, in.text, in.len, &is_used, e);
		lines_close(&in);
	}
	if (!rc)
		rc = sp_learn(l, 8000, NULL, in_folder("model"), in_folder("vocab"), &learned, e);
	word_counter_free(l);
	return rc;
}

TEST(sp_on_real_text)
{
	struct err e = { 0 };
	struct buf vocab = { 0 }, pieces = { 0 }, undone = { 0 };
	struct sp *s = NULL;

	for (size_t i = 0; i < ARRAY_LEN(learn_from); i++)
		if (!test_data(learn_from[i]) || !test_data(apply_to[i]))
			return;
	if (!check_int(learn_files(&e), 0) ||
	    !check_int(file_read_all(in_folder("vocab"), 0, &vocab, &e), 0))
		return;
	hash_is(&vocab, "2f36e8ed1dfc9eefd3078ac42dc2cfeba2cc5da7dcbbc734f65d85c7660e933d");
	s = sp_open(in_folder("model"), &e);
	check(s != NULL);
	for (size_t i = 0; s && i < ARRAY_LEN(apply_to); i++) {
		struct lines in;

		check_int(lines_open(&in, test_data(apply_to[i]), &e), 0);
		while (lines_next(&in, &e) > 0) {
			size_t start = pieces.len;

			check_int(sp_apply_line(s, in.text, in.len, &pieces, &e), 0);
			check_int(sp_undo_line(s, buf_text(&pieces) + start, pieces.len - start,
					       &undone, &e),
				  0);
			buf_add_char(&pieces, '\n');
			buf_add_char(&undone, '\n');
		}
		lines_close(&in);
	}
	hash_is(&pieces, "87d3b8185378da5380ce29863eabaf3166b252008f33f6ee7694db919644772f");
	hash_is(&undone, "56e787543d95b7356bc987473ca24fc61bf12796ecbc37812ad8edb2b22a59bd");
	sp_close(s);
	buf_free(&vocab);
	buf_free(&pieces);
	buf_free(&undone);
}
