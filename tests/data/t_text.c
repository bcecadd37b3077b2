/* t_text.c - tokenising, detokenising, normalising, regular expressions, .sgm. */
#include <stdio.h>
#include <stdlib.h>

#include "data/text/abbrev.h"
#include "data/text/chars.h"
#include "data/text/rewrite.h"
#include "data/text/sgm.h"
#include "data/text/tokenize.h"
#include "data/text/tokenize_rules.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/lines.h"
#include "share/base/rng.h"
#include "share/base/util.h"
#include "tests/test.h"

/* The result of one of the tools for a line. */
typedef int (*line_tool)(void *tool, const char *line, size_t n, struct buf *out, struct err *e);

static int run_tokenizer(void *tool, const char *line, size_t n, struct buf *out, struct err *e)
{
	return tokenizer_line(tool, line, n, out, e);
}

static int run_rules(void *tool, const char *line, size_t n, struct buf *out, struct err *e)
{
	return token_rules_line(tool, line, n, out, e);
}

static int run_detokenizer(void *tool, const char *line, size_t n, struct buf *out, struct err *e)
{
	return detokenizer_line(tool, line, n, out, e);
}

static int run_normalizer(void *tool, const char *line, size_t n, struct buf *out, struct err *e)
{
	return normalizer_line(tool, line, n, out, e);
}

struct sample {
	const char *line, *expected;
};

static void check_samples(line_tool run, void *tool, const struct sample *samples, size_t n)
{
	struct buf out = { 0 };
	struct err e = { 0 };

	for (size_t i = 0; i < n; i++) {
		buf_clear(&out);
		check_int(run(tool, samples[i].line, strlen(samples[i].line), &out, &e), 0);
		check_str(buf_text(&out), samples[i].expected);
	}
	buf_free(&out);
}

/* ---- regular expressions ---- */

static void check_replace(const char *pattern, const char *replacement, unsigned flags,
			  const char *text, const char *expected)
{
	struct err e = { 0 };
	struct buf out = { 0 };
	struct regex *r = regex_new(pattern, flags, &e);

	if (!check(r != NULL))
		return;
	check_int(regex_replace(r, replacement, text, strlen(text), &out, &e), expected != NULL);
	check_str(buf_text(&out), expected ? expected : "");
	regex_free(r);
	buf_free(&out);
}

TEST(rewrite_replaces_as_perl)
{
	check_replace("a(.)", "<$1>", 0, "abac", "<b><c>");
	check_replace("x", "y", 0, "abc", NULL);
	check_replace("x*", "-", 0, "axb", "-a--b-");
	check_replace("x*", "-", 0, "ä", "-ä-");
	check_replace("", "-", REGEX_BYTES, "ab", "-a-b-");
	check_replace("(a)|(b)", "[$1$2]", 0, "ab", "[a][b]");
	check_replace("b", "$$1$x$", 0, "abc", "a$1$x$c");
	check_replace("Ä", "x", REGEX_CASELESS, "äÄ", "xx");
	check_replace("[a-z]", "x", REGEX_CASELESS | REGEX_BYTES, "Kſ\xe2\x84\xaa",
		      "xſ\xe2\x84\xaa");
	check_replace("o$", "x", 0, "foo\n", "fox\n"); /* before a final LF, as in Perl */
	check_replace("\\d", "#", 0, "1٣", "##");
	check_replace("\\d", "#", REGEX_BYTES, "1٣", "#٣");
	check_replace("[" REGEX_SPACE "]", "_", 0,
		      "a\xc2\xa0"
		      "b\xe1\xa0\x8e"
		      "c\xe2\x80\x8b",
		      "a_b\xe1\xa0\x8e"
		      "c\xe2\x80\x8b");
}

TEST(rewrite_finds_groups)
{
	struct err e = { 0 };
	struct regex_span spans[4];
	struct regex *r = regex_new("(x)?(b+)", 0, &e);

	if (!check(r != NULL))
		return;
	check_int(regex_find(r, "abb", 3, 0, spans, 4, &e), 1);
	check_int(spans[0].start, 1);
	check_int(spans[0].end, 3);
	check(spans[1].start == SIZE_MAX && spans[1].end == SIZE_MAX);
	check_int(spans[2].end, 3);
	check(spans[3].start == SIZE_MAX);
	check_int(regex_find(r, "abb", 3, 3, spans, 1, &e), 0);
	regex_free(r);
}

TEST(rewrite_names_a_bad_pattern)
{
	struct err e = { 0 };

	check(regex_new("a(b", 0, &e) == NULL);
	check_int(e.code, ERR_INTERNAL);
	check(strstr(e.text, "a(b") && strstr(e.text, "byte 3"));
}

/* ---- tokenising ---- */

TEST(text_tokenize_english)
{
	static const struct sample samples[] = {
		{ "Hello, world!", "Hello , world !" },
		{ "Mr. Smith's dog isn't 5,300 years old...",
		  "Mr. Smith &apos;s dog isn &apos;t 5,300 years old ..." },
		{ "No. 5 was No. One. etc. and so on. The end.",
		  "No. 5 was No . One. etc. and so on . The end ." },
		{ "the U.S. president (D.) said: \"p.m.\"",
		  "the U.S. president ( D. ) said : &quot; p.m. &quot;" },
		{ "the 1990's, '90s; rock & roll | [a] <b>",
		  "the 1990 &apos;s , &apos; 90s ; rock &amp; roll &#124; &#91; a &#93; &lt; b "
		  "&gt;" },
		{ "a,,b 1,,,2 ,5 5,", "a , , b 1 , , ,2 , 5 5 ," },
		{ ",5", ",5" },
		{ ",", "," },
		{ "he said 'no.'", "he said &apos; no . &apos; " },
		{ "'tis", "&apos;tis" },
		{ "a..b .. ..... .", "a .. b .. ..... ." },
		{ "well-known", "well-known" },
		{ "  \t ", "  \t " },
		{ "", "" },
		{ "\x01", "" },
		{ "a\x01"
		  "b\tc",
		  "ab c" },
		{ "a\xc2\xa0"
		  "b\xc2\x85"
		  "c\xc2\xad"
		  "d\xe2\x80\x8b"
		  "e\xc2\x92",
		  "a b c \xc2\xad d \xe2\x80\x8b e \xc2\x92" },
		{ "\xef\xbb\xbfThe", "\xef\xbb\xbf The" },
		{ "x\xc2\xb2 \xc2\xbd Ⅷ's", "x \xc2\xb2 \xc2\xbd Ⅷ &apos;s" },
		{ "a DOTMULTI b", "a . b" },
		{ "a'b'c ''", "a &apos;b&apos;c &apos; &apos;" },
	};
	struct tokenizer_options o = { .language = "en", .escape = true };
	struct err e = { 0 };
	struct tokenizer *t = tokenizer_new(&o, &e);

	if (check(t != NULL))
		check_samples(run_tokenizer, t, samples, ARRAY_LEN(samples));
	tokenizer_free(t);
}

TEST(text_tokenize_german)
{
	static const struct sample samples[] = {
		{ "Das ist z.B. am 3. Mai bzw. im XIV. Jh. Punkt.",
		  "Das ist z.B. am 3. Mai bzw. im XIV. Jh . Punkt ." },
		{ "Wie geht's? \"Gut\"-Schule [1]", "Wie geht ' s ? \" Gut \" -Schule [ 1 ]" },
		{ "U-Bahn-Tür ß-8", "U @-@ Bahn @-@ Tür ß @-@ 8" },
		{ "o.ä. Öl", "o.ä. Öl" },
	};
	struct tokenizer_options o = { .language = "de", .aggressive = true };
	struct err e = { 0 };
	struct tokenizer *t = tokenizer_new(&o, &e);

	if (check(t != NULL))
		check_samples(run_tokenizer, t, samples, ARRAY_LEN(samples));
	tokenizer_free(t);
}

/* A line whose parts affect each other. */
static void random_line(uint64_t seed, uint32_t line, struct buf *out)
{
	static const char *const pieces[] = {
		" ",	    " ",
		" ",	    "a",
		"S",	    "s",
		"0",	    "5",
		".",	    ".",
		",",	    ",",
		"'",	    "'",
		"-",	    "`",
		"\"",	    "(",
		"&",	    "|",
		"%",	    "@",
		"ä",	    "É",
		"²",	    "Ⅷ",
		"ⅷ",	    "٣",
		"ª",	    "\xc2\xa0",
		"\xc2\xad", "\xe2\x80\x8b",
		"\xc2\x85", "\xe1\xa0\x8e",
		"\xcc\x81", "中",
		"“",	    "„",
		"€",	    "\x01",
		"\x1c",	    "\t",
		"\x7f",	    "Mr.",
		"No.",	    "z.B.",
		"3.",	    "XX.",
		"e.g.",	    "it's",
		"5,3",	    "...",
		"''",	    "DOTMULTI",
		"@-@",	    "a-b",
		"’",	    "l’a",
		"&amp;",    "  ",
	};
	struct rng_key k = rng_key_make(seed, RNG_TEST, line, 0);
	uint32_t n = 1 + rng_u32(k, 0) % 16;

	buf_clear(out);
	for (uint32_t i = 1; i <= n; i++)
		buf_add_str(out, pieces[rng_u32(k, i) % ARRAY_LEN(pieces)]);
}

static void compare_with_rules(const struct tokenizer_options *o)
{
	struct err e = { 0 };
	struct tokenizer *t = tokenizer_new(o, &e);
	struct abbrev *a = abbrev_open(o->language, &e);
	struct charclass *c = chars_new(&e);
	struct token_rules *rules = a && c ? token_rules_new(o, a, c, &e) : NULL;
	struct buf line = { 0 }, walked = { 0 }, defined = { 0 };
	bool same = t && rules;

	check(same);
	for (uint32_t i = 0; same && i < 5000; i++) {
		random_line(1, i, &line);
		buf_clear(&walked);
		buf_clear(&defined);
		check_int(run_tokenizer(t, line.data, line.len, &walked, &e), 0);
		check_int(run_rules(rules, line.data, line.len, &defined, &e), 0);
		same = check_str(buf_text(&walked), buf_text(&defined));
		if (!same)
			fprintf(stderr, "\tthe line is \"%s\", in %s\n", line.data, o->language);
	}
	tokenizer_free(t);
	token_rules_free(rules);
	charclass_free(c);
	abbrev_close(a);
	buf_free(&line);
	buf_free(&walked);
	buf_free(&defined);
}

TEST(text_tokenize_equals_its_rules)
{
	compare_with_rules(&(struct tokenizer_options){ .language = "en", .escape = true });
	compare_with_rules(&(struct tokenizer_options){ .language = "en", .aggressive = true });
	compare_with_rules(&(struct tokenizer_options){
		.language = "de", .escape = true, .aggressive = true });
	compare_with_rules(&(struct tokenizer_options){ .language = "fr", .escape = true });
	compare_with_rules(&(struct tokenizer_options){ .language = "uk", .aggressive = true });
}

/* ---- apostrophes between letters ---- */

/* Lines, their tokens, and the lines that come back. */
struct round_trip {
	const char *line, *tokens, *back;
};

static void check_round_trips(const char *language, const struct round_trip *r, size_t n)
{
	struct tokenizer_options o = { .language = language };
	struct err e = { 0 };
	struct tokenizer *t = tokenizer_new(&o, &e);
	struct detokenizer *d = detokenizer_new(language, &e);

	for (size_t i = 0; i < n && check(t && d); i++) {
		struct sample there = { r[i].line, r[i].tokens };
		struct sample back = { r[i].tokens, r[i].back ? r[i].back : r[i].line };

		check_samples(run_tokenizer, t, &there, 1);
		check_samples(run_detokenizer, d, &back, 1);
	}
	tokenizer_free(t);
	detokenizer_free(d);
}

TEST(text_french_round_trip)
{
	static const struct round_trip french[] = {
		{ "L'homme n'a pas l'air d'être là.", "L' homme n' a pas l' air d' être là .",
		  NULL },
		{ "L’homme n’a pas l’air d’être là.", "L’ homme n’ a pas l’ air d’ être là .",
		  NULL },
		{ "Aujourd'hui, l'an 1990, c'est l'été.",
		  "Aujourd' hui , l' an 1990 , c' est l' été .", NULL },
		{ "Les années '90 de l'U.E.", "Les années ' 90 de l' U.E .",
		  "Les années '90 de l'U.E." },
		{ "l'1 et 5'3", "l ' 1 et 5 ' 3", "l '1 et 5' 3" },
		{ "Il dit \"l'État\" et 'oui'.", "Il dit \" l' État \" et ' oui ' .", NULL },
		{ "'L'ami'", "' L' ami '", NULL },
		{ "Quoi ? Non ! Voici : 5 % ; fin...", "Quoi ? Non ! Voici : 5 % ; fin ...", NULL },
		{ "Quoi? (Non?)", "Quoi ? ( Non ? )", "Quoi ? (Non ?)" },
	};

	check_round_trips("fr", french, ARRAY_LEN(french));
}

TEST(text_apostrophe_round_trip)
{
	static const struct round_trip italian[] = {
		{ "Nell'anno 2000 l'Italia c'era: perché?",
		  "Nell' anno 2000 l' Italia c' era : perché ?", NULL },
		{ "Dell’arte, un po' di tutto", "Dell’ arte , un po ' di tutto",
		  "Dell’arte, un po 'di tutto" },
	};
	static const struct round_trip irish[] = {
		{ "D'fhág sé d'obair.", "D' fhág sé d' obair .", NULL },
	};
	static const struct round_trip ukrainian[] = {
		{ "п'ять сім’ї, об'єм.", "п'ять сім’ї , об'єм .", NULL },
	};
	static const struct round_trip spanish[] = {
		{ "d'Artagnan", "d ' Artagnan", "d 'Artagnan" },
	};

	check_round_trips("it", italian, ARRAY_LEN(italian));
	check_round_trips("ga", irish, ARRAY_LEN(irish));
	check_round_trips("ca", irish, ARRAY_LEN(irish));
	check_round_trips("uk", ukrainian, ARRAY_LEN(ukrainian));
	check_round_trips("es", spanish, ARRAY_LEN(spanish));
}

TEST(text_abbreviations)
{
	struct err e = { 0 };
	struct abbrev *en = abbrev_open("en", &e), *de = abbrev_open("de", &e),
		      *xx = abbrev_open("xx", &e);

	if (check(en && de && xx)) {
		check_int(abbrev_find(en, "Mr", 2), ABBREV_WORD);
		check_int(abbrev_find(en, "pp", 2), ABBREV_BEFORE_DIGIT);
		check_int(abbrev_find(en, "a", 1), ABBREV_NONE);
		check_int(abbrev_find(en, "", 0), ABBREV_NONE);
		check_int(abbrev_find(de, "a", 1), ABBREV_WORD);
		check_int(abbrev_find(de, "99", 2), ABBREV_WORD);
		check_int(abbrev_find(de, "100", 3), ABBREV_NONE);
		check_int(abbrev_find(de, "XIX", 3), ABBREV_WORD);
		check_int(abbrev_find(de, "xx", 2), ABBREV_WORD);
		check_int(abbrev_find(de, "XXI", 3), ABBREV_NONE);
		check_int(abbrev_find(xx, "Mr", 2),
			  ABBREV_WORD); /* a language without a list: English */
	}
	abbrev_close(en);
	abbrev_close(de);
	abbrev_close(xx);
}

/* ---- detokenising, normalising ---- */

TEST(text_detokenize)
{
	static const struct sample english[] = {
		{ "Hello , world !", "Hello, world!" },
		{ "He said &quot; no &quot; at Smith &apos;s ( 5 @-@ 6 ) .",
		  "He said \"no\" at Smith's (5-6)." },
		{ "the Jones &apos; house , &apos; so &apos;", "the Jones' house, 'so'" },
		{ "„ a “ b \" c \"", "„a“ b \"c\"" },
		{ "it costs $ 5 &amp;lt; € 6 ?", "it costs $5 &lt; €6?" },
		{ "中 文 a", "中文 a" },
		{ "@-@ a  b @-@", "-a b-" },
		{ "<seg> a , b </seg>", "<seg> a , b </seg>" },
		{ " ", " " },
	};
	static const struct sample german[] = {
		{ "Wie geht &apos; s ?", "Wie geht 's?" },
		{ "&apos;s", "'s" },
	};
	struct err e = { 0 };
	struct detokenizer *en = detokenizer_new("en", &e), *de = detokenizer_new("de", &e);

	if (check(en && de)) {
		check_samples(run_detokenizer, en, english, ARRAY_LEN(english));
		check_samples(run_detokenizer, de, german, ARRAY_LEN(german));
	}
	detokenizer_free(en);
	detokenizer_free(de);
}

TEST(text_normalize)
{
	static const struct sample english[] = {
		{ "“Yes”, he said – it’s 5\xc2\xa0"
		  "000 …",
		  "\"Yes,\" he said - it's 5.000 ..." },
		{ "a( b )c : 5 %", "a (b) c: 5%" },
	};
	static const struct sample german[] = {
		{ "„Das“ – 5\xc2\xa0"
		  "000 …",
		  "\"Das\" - 5,000 ..." },
		{ "«\xc2\xa0So\xc2\xa0»\xc2\xa0!", "\"So\" !" },
		{ "„So.“", "\"So\"." }, /* because the rule sees the LF that follows */
		{ "``x''", " \" x \" " },
		{ "a\rb", "ab" },
	};
	struct err e = { 0 };
	struct normalizer *en = normalizer_new("en", &e), *de = normalizer_new("de", &e);

	if (check(en && de)) {
		check_samples(run_normalizer, en, english, ARRAY_LEN(english));
		check_samples(run_normalizer, de, german, ARRAY_LEN(german));
	}
	normalizer_free(en);
	normalizer_free(de);
}

/* One byte at a time. */
static int64_t read_byte(void *from, void *to, size_t room, struct err *e)
{
	const char **text = from;

	(void)room;
	(void)e;
	if (!**text)
		return 0;
	memcpy(to, (*text)++, 1);
	return 1;
}

TEST(text_sgm_from_memory_and_a_reader)
{
	static const char text[] = "<doc>\n<seg id=\"1\"> One  &amp;\r\n</seg>\n<SEG id=2>\ntwo\n"
				   "lines</SEG>\n<seg>none</seg>\n<seg id=3>open\n";
	const char *rest = text;
	struct err e = { 0 };
	struct sgm s;

	for (int memory = 0; memory < 2; memory++) {
		check_int(memory ? sgm_open_memory(&s, "set.sgm", text, sizeof(text) - 1, &e)
				 : sgm_open_reader(&s, "set.sgm", read_byte, &rest, &e),
			  0);
		check(sgm_next(&s, &e) == 1 && !strcmp(s.text, "One &amp;") && s.number == 1);
		check(sgm_next(&s, &e) == 1 && !strcmp(s.text, "twolines") && s.number == 2);
		check_err(sgm_next(&s, &e), ERR_DATA);
		check_str(e.text, "set.sgm:8: the file ends before </seg> of this segment");
		sgm_close(&s);
	}
}

/* Millions of short lines in a segment that never ends: each is scanned once. */
TEST(text_sgm_never_closed_is_read_once)
{
	static const char *const fillers[] = { "x\n", " \n", ">\n" };
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(fillers); i++) {
		struct buf text = { 0 };
		struct sgm s;

		buf_add_str(&text, "<doc>\n<seg id=\"1\">");
		while (text.len < 8u << 20)
			buf_add_str(&text, fillers[i]);
		check_int(sgm_open_memory(&s, "set.sgm", text.data, text.len, &e), 0);
		check_err(sgm_next(&s, &e), ERR_DATA);
		check_str(e.text, "set.sgm:2: the file ends before </seg> of this segment");
		sgm_close(&s);
		buf_free(&text);
	}
}

/* ---- the real data ---- */

/* Does the tool make of every line of input exactly the lines of expected? */
static void check_file(line_tool run, void *tool, const char *input, const char *expected)
{
	struct err e = { 0 };
	struct lines in, want;
	struct buf out = { 0 };
	char path[1000];
	int64_t different = 0, n = 0;

	if (!test_data(input))
		return;
	snprintf(path, sizeof(path), "%s", test_data(input));
	if (!test_data(expected) || !check_int(lines_open(&in, path, &e), 0))
		return;
	if (check_int(lines_open(&want, test_data(expected), &e), 0)) {
		while (lines_next(&in, &e) > 0 && lines_next(&want, &e) > 0) {
			buf_clear(&out);
			different += run(tool, in.text, in.len, &out, &e) != 0;
			different += strcmp(buf_text(&out), want.text) != 0;
			n++;
		}
		check_int(different, 0);
		check_int(n, 3003);
		lines_close(&want);
	}
	lines_close(&in);
	buf_free(&out);
}

static void check_language(const char *language)
{
	static const struct {
		const char *name;
		bool escape, aggressive;
	} kinds[] = {
		{ "tok", true, false },
		{ "tok-a", true, true },
		{ "tok-noesc", false, false },
	};
	struct err e = { 0 };
	struct detokenizer *d = detokenizer_new(language, &e);
	struct normalizer *m = normalizer_new(language, &e);
	char raw[100], name[100], tokens[100];

	snprintf(raw, sizeof(raw), "newstest/newstest2014.%s", language);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct tokenizer_options o = { language, kinds[i].escape, kinds[i].aggressive };
		struct tokenizer *t = tokenizer_new(&o, &e);

		snprintf(name, sizeof(name), "moses/newstest2014.%s.%s", kinds[i].name, language);
		if (check(t != NULL))
			check_file(run_tokenizer, t, raw, name);
		tokenizer_free(t);
	}
	snprintf(tokens, sizeof(tokens), "moses/newstest2014.tok.%s", language);
	snprintf(name, sizeof(name), "moses/newstest2014.detok.%s", language);
	if (check(d != NULL))
		check_file(run_detokenizer, d, tokens, name);
	snprintf(name, sizeof(name), "moses/newstest2014.norm.%s", language);
	if (check(m != NULL))
		check_file(run_normalizer, m, raw, name);
	detokenizer_free(d);
	normalizer_free(m);
}

TEST(text_moses_on_newstest2014)
{
	check_language("en");
	check_language("de");
}

/*
 * Compare the SHA-256 of a tool's result for a whole file, each line with its LF, with that of
 * Moses.
 */
static void check_hash(line_tool run, void *tool, const char *input, const char *expected)
{
	struct err e = { 0 };
	struct hash *h = hash_new(HASH_SHA256, &e);
	struct lines in;
	struct buf out = { 0 };
	char hex[HASH_SHA256_HEX] = "";
	const char *path = test_data(input);

	if (path && check(h != NULL) && check_int(lines_open(&in, path, &e), 0)) {
		while (lines_next(&in, &e) > 0) {
			buf_clear(&out);
			run(tool, in.text, in.len, &out, &e);
			buf_add_char(&out, '\n');
			hash_add(h, out.data, out.len, &e);
		}
		check_int(hash_hex(h, hex, &e), 0);
		check_str(hex, expected);
		lines_close(&in);
	}
	hash_free(h);
	buf_free(&out);
}

/* Recorded from Moses' own tools by tests/peers/moses.sh --record. */
static const struct {
	const char *tool, *language, *input, *sha256;
} recorded[] = {
	{ "tokenize", "en", "multi30k/train.en",
	  "ba6c3e782dccaddc98ef5f2542a4385e563d16b919ba4f4485ba5366fd053988" },
	{ "tokenize", "en", "newstest/newstest2013.en",
	  "60c4b6fd95d30180dd8b50a33756ad45277622130b7a2c05bca96aa87d8b0378" },
	{ "tokenize", "en", "newstest/newstest2015.en",
	  "6206ddc1280a675165a1739bed0f05ab2cf0731b52f58b377457551d7fce251b" },
	{ "tokenize", "en", "newstest/newstest2017.en",
	  "4bad7219d876abb0d59dd975b8433921919b02e9a69a234a8398a9e6bc72185f" },
	{ "tokenize", "en", "noisy/train10k.en",
	  "057a5a4843cb95636fc18fb276b419d97e228b1a8536428a4c4e80f5676f383d" },
	{ "tokenize", "en", "mixed/test.en",
	  "67f4ce373f12864ed03f5e0f71d51b5dd9ddf38f5eba72e27f7304d1be12f025" },
	{ "normalize", "en", "newstest/newstest2013.en",
	  "2dc0713c30ac09246e17657c364e56a7821a19a4c6fa0e9a8d52a1a945512e4d" },
	{ "normalize", "en", "newstest/newstest2017.en",
	  "12a0997c8dbd136ca764909ffda48c2fe163d9a56fa17f6ba5880a68d2517c1f" },
	{ "normalize", "en", "noisy/train10k.en",
	  "5bc2d58a792b021f19fee8717138e5580e86f02b36f3d4fc171e8c1cbdc37b94" },
	{ "detokenize", "en", "noisy/train10k.en",
	  "b3fb5f1773f8ba554256cce05d2eb2e6c8c8e37f984881e900ef610fbe517036" },
	{ "tokenize", "de", "multi30k/train.de",
	  "367729430c1ab687bf4eb1bfa3e9afacbbf1fac08080beacbec696cffc449382" },
	{ "tokenize", "de", "newstest/newstest2013.de",
	  "bd3ba818e292897e296116f6662d6664c10eef1a5c4d4bf209811a8437f0539d" },
	{ "tokenize", "de", "newstest/newstest2015.de",
	  "18d2664124428ce4fdd116f5b6dfe68ea32671927b3c79e85d508881434f7bee" },
	{ "tokenize", "de", "newstest/newstest2017.de",
	  "ba5e2b25d0a31e3e0e9ace20d10723f9f823ef02e352fa712ab83b82ff11cbe9" },
	{ "tokenize", "de", "noisy/train10k.de",
	  "d327944a2378736def1b2ba2e8a906397a05c3c578b065e834997f5da6c73999" },
	{ "tokenize", "de", "mixed/test.de",
	  "ef9156340d40a0bcaec62311925b88cf1855cffae0910f44e670a1237d9c7cde" },
	{ "normalize", "de", "newstest/newstest2013.de",
	  "dea8402ed62c7d0ea8c757d7e06a4f69e416f38038200dd0ef4c00d6555fd69f" },
	{ "normalize", "de", "newstest/newstest2017.de",
	  "f97fa416fbc472cc92a58276672d8493e4c87710b8f73e8c3f7a89818cbc1c3d" },
	{ "normalize", "de", "noisy/train10k.de",
	  "80b4c9d7aa4d6932cdbf337bb831bbfac49cc5ba359789dbf2ccb40224d66d69" },
	{ "detokenize", "de", "noisy/train10k.de",
	  "e59b06ef73571b555338db07e61cec99e55adfe722cb5d6dda80c0687961c932" },
	{ "tokenize", "de", "systems/newstest2017.online-A.0.en-de.txt",
	  "b29861d4614a141222f2b2743ba5de46a8456bd19c0a1ded4c2bba547a8dfc9f" },
	{ "normalize", "de", "systems/newstest2017.online-A.0.en-de.txt",
	  "9f1be3fe191577b4a7bd0e9719c420853ea4f6314351af7a87313871d18e07f2" },
	{ "detokenize", "de", "systems/newstest2017.online-A.0.en-de.txt",
	  "d6e2986dc3f8bee2c2527fc3f6149ca2378c4dcc9ecc539447d480e71fe1e054" },
};

TEST(text_moses_hashes)
{
	for (size_t i = 0; i < ARRAY_LEN(recorded); i++) {
		struct tokenizer_options o = { .language = recorded[i].language, .escape = true };
		struct err e = { 0 };

		if (!strcmp(recorded[i].tool, "tokenize")) {
			struct tokenizer *t = tokenizer_new(&o, &e);

			if (check(t != NULL))
				check_hash(run_tokenizer, t, recorded[i].input, recorded[i].sha256);
			tokenizer_free(t);
		} else if (!strcmp(recorded[i].tool, "normalize")) {
			struct normalizer *m = normalizer_new(recorded[i].language, &e);

			if (check(m != NULL))
				check_hash(run_normalizer, m, recorded[i].input,
					   recorded[i].sha256);
			normalizer_free(m);
		} else {
			struct detokenizer *d = detokenizer_new(recorded[i].language, &e);

			if (check(d != NULL))
				check_hash(run_detokenizer, d, recorded[i].input,
					   recorded[i].sha256);
			detokenizer_free(d);
		}
	}
}

/* ---- .sgm ---- */

static void check_sgm(const char *text, const char *const *expected, size_t n, int end)
{
	struct err e = { 0 };
	struct sgm s;
	char path[300];
	size_t i = 0;
	int got;

	snprintf(path, sizeof(path), "%s/a.sgm", test_folder());
	check_int(file_write_all(path, text, strlen(text), &e), 0);
	if (!check_int(sgm_open(&s, path, &e), 0))
		return;
	while ((got = sgm_next(&s, &e)) > 0) {
		check(i < n);
		check_str(s.text, i < n ? expected[i] : "");
		check_int(s.number, ++i);
		check_int(s.len, strlen(s.text));
	}
	check_int(i, n);
	check_int(got, end);
	sgm_close(&s);
}

TEST(sgm_segments)
{
	static const char text[] =
		"<srcset setid=\"x\">\r\n<doc>\n<hl>\n<seg id=\"1\"> A  &amp; b\tc "
		"</seg>\r\n</hl>\n"
		"<p><SEG ID=2>two</SEG></p>\n<seg id=3>\nover \nlines\n</seg>\n<seg>no</seg>\n"
		"<seg id=4></seg>\n<seg id=5>a</seg> <seg id=6>b</seg>\n<seg id=7>c</seg><seg "
		"id=8> \nd</seg>\n</doc>";
	static const char *const expected[] = {
		"A &amp; b c",	       "two", "over lines", "", "a</seg> <seg id=6>b",
		"c</seg><seg id=8> d",
	};

	check_sgm(text, expected, ARRAY_LEN(expected), 0);
	check_sgm("", NULL, 0, 0);
	check(sgm_has_suffix("a/b.SGM") && sgm_has_suffix(".sgm"));
	check(!sgm_has_suffix("a.sgm.gz") && !sgm_has_suffix("gm"));
}

TEST(sgm_never_closed)
{
	static const char *const expected[] = { "a" };

	check_sgm("<seg id=1>a</seg>\n<seg id=2>b\nc\n", expected, 1, ERR_DATA);
}
