/* t_score.c - BLEU and chrF against figures of sacreBLEU 2.6.0. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "eval/evaluate/score_tools.h"
#include "eval/metrics/bleu.h"
#include "eval/metrics/chrf.h"
#include "eval/metrics/unicode.h"
#include "share/base/file.h"
#include "share/base/lines.h"
#include "share/format/json.h"

#define TOKENS(tokenizer, text) tokens_of(tokenizer, text, strlen(text))

/* The tokens of a text with one blank between them; a static buffer. */
static const char *tokens_of(enum score_tokenizer t, const char *text, size_t n)
{
	static char flat[1000];
	struct score_scratch s = { 0 };
	struct buf out = { 0 };
	size_t w = 0;

	score_tokenize(t, false, text, n, &s, &out);
	for (size_t i = 0; i < out.len && w + 5 < sizeof(flat);) {
		size_t blank = unicode_space(out.data + i, out.len - i);

		if (!blank)
			flat[w++] = out.data[i++];
		else if (w && flat[w - 1] != ' ')
			flat[w++] = ' ';
		i += blank;
	}
	flat[w - (w && flat[w - 1] == ' ')] = 0;
	score_scratch_free(&s);
	buf_free(&out);
	return flat;
}

TEST(score_tokenizer_fits_the_language)
{
	static const struct {
		const char *language;
		enum score_tokenizer tokenizer;
	} cases[] = { { "zh", SCORE_ZH },   { "zh-TW", SCORE_ZH }, { "zh_Hans", SCORE_ZH },
		      { "ZH", SCORE_ZH },   { "cmn", SCORE_ZH },   { "ja", SCORE_CHAR },
		      { "ko", SCORE_CHAR }, { "th", SCORE_CHAR },  { "km", SCORE_CHAR },
		      { "lo", SCORE_CHAR }, { "my", SCORE_CHAR },  { "mya", SCORE_CHAR },
		      { "en", SCORE_13A },  { "de", SCORE_13A },   { "zha", SCORE_13A },
		      { "z", SCORE_13A },   { "", SCORE_13A },	   { "kok", SCORE_13A } };
	struct conf c;
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_int(score_tokenizer_for(cases[i].language), cases[i].tokenizer);
	/* the names are the choices of the option, in this order */
	check_int(conf_init(&c, &e), 0);
	for (enum score_tokenizer t = SCORE_AUTO; t <= SCORE_ZH; t++) {
		check_int(conf_set(&c, "tokenizer", score_tokenizer_name(t), "test", &e), 0);
		check_int(c.tokenizer, t);
		check_int(score_tokenizer_of(&c), t == SCORE_AUTO ? SCORE_13A : t);
	}
	conf_free(&c);
}

TEST(score_tokenize_13a)
{
	check_str(TOKENS(SCORE_13A, "Hello, world."), "Hello , world .");
	check_str(TOKENS(SCORE_13A, "1,000.5 and .5 or 5."), "1,000.5 and . 5 or 5 .");
	check_str(TOKENS(SCORE_13A, "a..b ... 3-4 x-y 3--"), "a . . b . . . 3 - 4 x-y 3 - -");
	check_str(TOKENS(SCORE_13A, "&amp;lt; &quot;x&quot; <skipped>y"), "< \" x \" y");
	check_str(TOKENS(SCORE_13A, "it's (so) [x] {y} @#%"), "it's ( so ) [ x ] { y } @ # %");
	check_str(TOKENS(SCORE_13A, "\xC3\xA4.\xC3\xB6,\xC2\xA0"
				    "5"),
		  "\xC3\xA4 . \xC3\xB6 , 5");
	check_str(TOKENS(SCORE_13A, ""), "");
}

TEST(score_tokenize_zh)
{
	check_str(TOKENS(SCORE_ZH, "\u4f60\u597d\uff0cworld, 1,000.5\u5143\u3002"),
		  "\u4f60 \u597d \uff0c world , 1,000.5 \u5143 \u3002");
	/* white space at the start does not count, so the period is not split off */
	check_str(TOKENS(SCORE_ZH, "\u3000 .5 3-4 \u201cit's\u201d"),
		  ".5 3 - 4 \u201c it's \u201d");
	check_str(TOKENS(SCORE_ZH, "\u3042\u30ab\uff76&amp; \U00020000x \u00e4."),
		  "\u3042\u30ab \uff76 & amp ; \U00020000x \u00e4 .");
	check_str(TOKENS(SCORE_ZH, " \u3000"), "");
	check_str(TOKENS(SCORE_ZH, ""), "");
}

TEST(score_tokenize_others)
{
	check_str(TOKENS(SCORE_INTL, "Der Preis: 1.000,50 \xE2\x82\xAC."),
		  "Der Preis : 1.000,50 \xE2\x82\xAC .");
	check_str(TOKENS(SCORE_INTL, "Im Jahr 1999."), "Im Jahr 1999.");
	check_str(TOKENS(SCORE_INTL, "\xE2\x80\x9Eja\xE2\x80\x9C!"),
		  "\xE2\x80\x9E ja \xE2\x80\x9C !");
	check_str(TOKENS(SCORE_CHAR, "a \xC3\xA4!"), "a \xC3\xA4 !");
	check_str(TOKENS(SCORE_NONE, " a,  b\xE2\x80\x83"
				     "c "),
		  "a, b c");
}

/* U+0085 and no-break spaces separate words as in Python; a byte-order mark is part of one. */
TEST(score_white_space)
{
	check_str(TOKENS(SCORE_NONE, "a\xC2\x85"
				     "b\xC2\xA0"
				     "c\x1C"
				     "d"),
		  "a b c d");
	check_str(TOKENS(SCORE_NONE, "\xEF\xBB\xBF"
				     "a\xE2\x80\x8B"
				     "b"),
		  "\xEF\xBB\xBF"
		  "a\xE2\x80\x8B"
		  "b");
}

TEST(score_lower_case)
{
	struct buf b = { 0 };

	unicode_lower(&b, "\xC3\x84\xC3\x96\xC3\x9F \xC4\xB0", 9);
	check_str(buf_text(&b), "\xC3\xA4\xC3\xB6\xC3\x9F i\xCC\x87");
	buf_clear(&b);
	unicode_lower(&b, "\xCE\x9F\xCE\xA3 \xCE\xA3\xCE\x91",
		      9); /* a sigma at the end of a word has its own form */
	check_str(buf_text(&b), "\xCE\xBF\xCF\x82 \xCF\x83\xCE\xB1");
	buf_free(&b);
}

/* Score lists with up to two references (the second may be NULL). */
static double bleu_of(const struct bleu_options *o, const char *const *hypotheses,
		      const char *const *first, const char *const *second, size_t n)
{
	struct err e = { 0 };
	struct bleu *b = bleu_new(o, &e);
	struct bleu_score s = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct score_text h = { hypotheses[i], strlen(hypotheses[i]) };
		struct score_text refs[2] = { { first[i], strlen(first[i]) },
					      { second ? second[i] : "",
						second ? strlen(second[i]) : 0 } };

		if (!check(bleu_add(b, &h, refs, second ? 2 : 1, &e) == 0))
			break;
	}
	bleu_score(b, &s);
	bleu_free(b);
	return s.score;
}

static const char *const hypotheses[] = { "the cat sat on the mat .", "",
					  "a quick brown fox, jumps over it" };
static const char *const references[] = { "the cat is on the mat .", "nothing",
					  "The quick brown fox jumps over the dog" };
static const char *const others[] = { "there is a cat on the mat .", "",
				      "a quick brown fox leaps over it" };

TEST(score_bleu_smoothing)
{
	static const char *const h[] = { "a b c x" }, *const r[] = { "a b c d e" };
	struct bleu_options o = bleu_defaults;

	check_near(bleu_of(&o, hypotheses, references, NULL, 3), 30.94087405597132, 1e-9);
	check_near(bleu_of(&o, hypotheses, references, others, 3), 46.92470064105599, 1e-9);
	check_near(bleu_of(&o, h, r, NULL, 1), 46.30777161991026, 1e-9);
	o.smoothing = BLEU_NONE;
	check_near(bleu_of(&o, h, r, NULL, 1), 0, 1e-9);
	o.smoothing = BLEU_FLOOR;
	check_near(bleu_of(&o, h, r, NULL, 1), 30.9678733158773, 1e-9);
	o.smooth_value = 0.5;
	check_near(bleu_of(&o, h, r, NULL, 1), 46.30777161991026, 1e-9);
	o.smoothing = BLEU_ADD_K;
	o.smooth_value = -1;
	check_near(bleu_of(&o, h, r, NULL, 1), 51.24797359336636, 1e-9);
	o.smooth_value = 0.25;
	check_near(bleu_of(&o, h, r, NULL, 1), 38.16856719199036, 1e-9);
	o = bleu_defaults;
	o.lowercase = true;
	check_near(bleu_of(&o, hypotheses, references, NULL, 3), 30.94087405597132, 1e-9);
}

TEST(score_bleu_edges)
{
	static const char *const empty[] = { "" }, *const one[] = { "a" }, *const other[] = { "b" };
	struct bleu_options o = bleu_defaults;

	check_near(bleu_of(&o, empty, one, NULL, 1), 0, 0);
	check_near(bleu_of(&o, one, empty, NULL, 1), 0, 0);
	check_near(bleu_of(&o, one, other, NULL, 1), 0, 0);
	check_near(bleu_of(&o, one, one, NULL, 1), 0,
		   1e-9); /* no bigrams: undefined, and 0 in a corpus */
	o.effective_order = true;
	check_near(bleu_of(&o, one, one, NULL, 1), 100, 1e-9);
}

TEST(score_bleu_signature)
{
	struct err e = { 0 };
	struct bleu_options o = { SCORE_INTL, BLEU_FLOOR, -1, true, false, false };
	struct bleu *b = bleu_new(&o, &e);
	struct score_text t = { "x", 1 }, refs[2] = { t, t };
	struct buf s = { 0 };

	check_int(bleu_add(b, &t, refs, 2, &e), 0);
	check_err(bleu_add(b, &t, refs, 1, &e), ERR_DATA);
	bleu_signature(b, &s);
	check(strstr(buf_text(&s), "werkbank|bleu|refs:2|case:lc|tok:intl|smooth:floor[0.1]|v:") ==
	      buf_text(&s));
	buf_clear(&s);
	bleu_sacrebleu_signature(b, &(struct signature_trials){ 1000, 0, 12345 }, &s);
	check(strstr(buf_text(&s), "nrefs:2|bs:1000|seed:12345|case:lc|eff:no|tok:intl|"
				   "smooth:floor[0.10]|version:werkbank-") == buf_text(&s));
	buf_free(&s);
	bleu_free(b);
}

static double chrf_of(const struct chrf_options *o, const char *const *second)
{
	struct err e = { 0 };
	struct chrf *c = chrf_new(o, &e);
	struct chrf_score s;

	for (size_t i = 0; i < 3; i++) {
		struct score_text h = { hypotheses[i], strlen(hypotheses[i]) };
		struct score_text refs[2] = { { references[i], strlen(references[i]) },
					      { second ? second[i] : "",
						second ? strlen(second[i]) : 0 } };

		check_int(chrf_add(c, &h, refs, second ? 2 : 1, &e), 0);
	}
	chrf_score(c, &s);
	chrf_free(c);
	return s.score;
}

TEST(score_chrf)
{
	struct chrf_options o = chrf_defaults;

	check_near(chrf_of(&o, NULL), 58.65432998285628, 1e-9);
	check_near(chrf_of(&o, others), 65.14087056718014, 1e-9);
	o.word_order = 2;
	check_near(chrf_of(&o, NULL), 59.47007658497686, 1e-9);
	check_near(chrf_of(&o, others), 67.07773053040411, 1e-9);
	o.lowercase = true;
	o.char_order = 4;
	o.beta = 3;
	check_near(chrf_of(&o, NULL), 62.650035653213244, 1e-9);
}

/* Scores a file of the real systems. */
static int score_files(const struct bleu_options *o, const struct chrf_options *x,
		       const char *hypothesis, const char *reference, struct bleu_score *bleu,
		       struct chrf_score *chrf, struct err *e)
{
	struct bleu *b = bleu_new(o, e);
	struct chrf *c = x ? chrf_new(x, e) : NULL;
	struct lines h, r;
	int rc;

	if (lines_open(&h, hypothesis, e))
		return e->code;
	if (lines_open(&r, reference, e)) {
		lines_close(&h);
		return e->code;
	}
	while ((rc = lines_next(&h, e)) > 0 && (rc = lines_next(&r, e)) > 0) {
		struct score_text ours = { h.text, h.len }, theirs = { r.text, r.len };

		if ((rc = bleu_add(b, &ours, &theirs, 1, e)) ||
		    (c && (rc = chrf_add(c, &ours, &theirs, 1, e))))
			break;
	}
	bleu_score(b, bleu);
	if (c)
		chrf_score(c, chrf);
	bleu_free(b);
	chrf_free(c);
	lines_close(&h);
	lines_close(&r);
	return rc;
}

static void compare_counts(const struct json *list, const int64_t *counts)
{
	check_int(json_len(list), BLEU_ORDER);
	for (size_t k = 0; k < BLEU_ORDER; k++)
		check_int(counts[k], json_integer(json_at(list, k), -1));
}

static void compare_bleu(const struct bleu_score *s, const struct json *expected)
{
	check_near(s->score, json_number(json_get(expected, "score"), -1), 1e-9);
	check_near(s->bp, json_number(json_get(expected, "bp"), -1), 1e-12);
	check_int(s->hypothesis_length, json_integer(json_get(expected, "sys_len"), -1));
	check_int(s->reference_length, json_integer(json_get(expected, "ref_len"), -1));
	compare_counts(json_get(expected, "counts"), s->counts);
	compare_counts(json_get(expected, "totals"), s->totals);
}

static double expected_chrf(const struct json *system, const char *key)
{
	const struct json *v = json_get(system, key);

	return json_number(json_get(v, "score"), json_number(v, -1));
}

/* Every real system, all tokenisers, cased and not, chrF2 and chrF++: every digit of sacreBLEU. */
static void compare_system(const struct json *system, const char *folder)
{
	static const struct {
		const char *key;
		struct bleu_options o;
	} kinds[] = {
		{ "bleu_13a", { SCORE_13A, BLEU_EXP, -1, false, false, false } },
		{ "bleu_13a_lc", { SCORE_13A, BLEU_EXP, -1, true, false, false } },
		{ "bleu_intl", { SCORE_INTL, BLEU_EXP, -1, false, false, false } },
		{ "bleu_none", { SCORE_NONE, BLEU_EXP, -1, false, false, false } },
		{ "bleu_char", { SCORE_CHAR, BLEU_EXP, -1, false, false, false } },
	};
	struct chrf_options plus = { 6, 2, 2, false };
	struct err e = { 0 };
	char *hypothesis = file_path(&e, "%s/%s", folder, json_text(json_get(system, "hyp"), ""));
	char *reference = file_path(&e, "%s/reference.txt", folder);
	struct bleu_score bleu;
	struct chrf_score chrf;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct chrf_options *x = i == 0 ? &chrf_defaults : i == 1 ? &plus : NULL;

		if (!check(json_get(system, kinds[i].key) != NULL))
			continue;
		if (!check_int(score_files(&kinds[i].o, x, hypothesis, reference, &bleu, &chrf, &e),
			       0))
			continue;
		compare_bleu(&bleu, json_get(system, kinds[i].key));
		if (x)
			check_near(chrf.score, expected_chrf(system, i == 0 ? "chrf2" : "chrf2++"),
				   1e-9);
	}
	free(hypothesis);
	free(reference);
}

TEST(score_real_systems)
{
	const char *path = test_data("systems/scores.json");
	struct err e = { 0 };
	struct buf text = { 0 };
	struct json *all;
	char *folder;

	if (!path)
		return;
	folder = file_path(&e, "%.*s", (int)(strlen(path) - strlen("/scores.json")), path);
	check_int(file_read_all(path, 0, &text, &e), 0);
	all = json_parse(buf_text(&text), text.len, &e);
	check(json_len(all) >= 8);
	for (size_t i = 0; i < json_len(all); i++)
		compare_system(json_at(all, i), folder);
	json_free(all);
	buf_free(&text);
	free(folder);
}

static void compare_tokens(enum score_tokenizer t, const char *raw, const char *expected)
{
	struct err e = { 0 };
	struct lines in, out;
	int64_t wrong = 0, n = 0;
	char *raw_path = file_path(&e, "%s", test_data(raw)),
	     *expected_path = file_path(&e, "%s", test_data(expected));

	if (!check_int(lines_open(&in, raw_path, &e), 0) ||
	    !check_int(lines_open(&out, expected_path, &e), 0))
		return;
	while (lines_next(&in, &e) > 0 && lines_next(&out, &e) > 0) {
		struct score_scratch s = { 0 };
		struct buf tokens = { 0 };
		struct buf flat = { 0 };

		score_tokenize(t, false, in.text, in.len, &s, &tokens);
		for (size_t i = 0; i < tokens.len;) {
			size_t blank = unicode_space(tokens.data + i, tokens.len - i);

			if (!blank)
				buf_add(&flat, tokens.data + i++, 1);
			else if (flat.len && flat.data[flat.len - 1] != ' ')
				buf_add(&flat, " ", 1);
			i += blank;
		}
		buf_truncate(&flat, flat.len - (flat.len && flat.data[flat.len - 1] == ' '));
		wrong += strcmp(buf_text(&flat), out.text) != 0;
		n++;
		buf_free(&flat);
		buf_free(&tokens);
		score_scratch_free(&s);
	}
	check_int(wrong, 0);
	check_int(n, 3003);
	lines_close(&in);
	lines_close(&out);
	free(raw_path);
	free(expected_path);
}

TEST(score_tokenize_newstest)
{
	if (!test_data("moses/newstest2014.13a.en"))
		return;
	compare_tokens(SCORE_13A, "newstest/newstest2014.en", "moses/newstest2014.13a.en");
	compare_tokens(SCORE_13A, "newstest/newstest2014.de", "moses/newstest2014.13a.de");
	compare_tokens(SCORE_INTL, "newstest/newstest2014.en", "moses/newstest2014.intl.en");
	compare_tokens(SCORE_INTL, "newstest/newstest2014.de", "moses/newstest2014.intl.de");
}
