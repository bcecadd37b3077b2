/* t_ter.c - translation edit rate: cases worked out by hand, and the real systems. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "eval/metrics/ter.h"
#include "share/base/file.h"
#include "share/base/lines.h"
#include "share/base/util.h"
#include "share/format/json.h"

static struct ter_score score_of(bool cased, const char *hypothesis, const char *first,
				 const char *second)
{
	struct ter_options o = { .cased = cased };
	struct err e = { 0 };
	struct ter *t = ter_new(&o, &e);
	struct score_text h = { hypothesis, strlen(hypothesis) };
	struct score_text r[2] = { { first, strlen(first) },
				   { second, second ? strlen(second) : 0 } };
	struct ter_score s = { 0 };

	check_int(ter_add(t, &h, r, second ? 2 : 1, &e), 0);
	ter_score(t, &s);
	ter_free(t);
	return s;
}

static const char *ter_words(struct ter_options o, const char *text)
{
	static char words[200];
	struct score_scratch s = { 0 };
	struct buf out = { 0 };

	ter_tokenize(&o, text, strlen(text), &s, &out);
	snprintf(words, sizeof(words), "%s", buf_text(&out));
	score_scratch_free(&s);
	buf_free(&out);
	return words;
}

TEST(ter_tokenize_options)
{
	static const char text[] = "\"Anna's&amp;B\", 1,5 (3-4).\u4f60\u3001\uff01\u30ab";

	check_str(ter_words((struct ter_options){ 0 }, text),
		  "\"anna's&amp;b\", 1,5 (3-4).\u4f60\u3001\uff01\u30ab");
	check_str(ter_words((struct ter_options){ .cased = true, .normalized = true }, text),
		  "\" Anna 's & B \" , 1,5 ( 3 - 4 ) . \u4f60\u3001\uff01\u30ab");
	check_str(ter_words((struct ter_options){ .normalized = true, .asian = true }, text),
		  "\" anna 's & b \" , 1,5 ( 3 - 4 ) . \u4f60 \u3001 \uff01 \u30ab");
	check_str(ter_words((struct ter_options){ .drop_punctuation = true }, text),
		  "anna's&ampb 15 3-4\u4f60\u3001\uff01\u30ab");
	check_str(ter_words((struct ter_options){ .drop_punctuation = true, .asian = true }, text),
		  "anna's&ampb 15 3-4\u4f60\u30ab");
	check_str(ter_words((struct ter_options){ true, true, true, true }, text),
		  "Anna 's & B 15 3 - 4 \u4f60 \u30ab");
}

/* "a's." is "a's ." after one pass and "a 's ." after two; sacreBLEU 2.6.0 counts 2 edits too. */
TEST(ter_references_are_normalized_twice)
{
	struct err e = { 0 };
	struct ter *t = ter_new(&(struct ter_options){ .normalized = true }, &e);
	struct score_text x = { "a's.", 4 };
	struct ter_score s;

	check_int(ter_add(t, &x, &x, 1, &e), 0);
	ter_score(t, &s);
	check_int(s.edits, 2);
	ter_free(t);
}

TEST(ter_references_must_agree)
{
	struct err e = { 0 };
	struct ter *t = ter_new(&(struct ter_options){ 0 }, &e);
	struct score_text x = { "a", 1 }, two[2] = { x, x };

	check_err(ter_add(t, &x, two, 0, &e), ERR_DATA);
	check_int(ter_add(t, &x, two, 2, &e), 0);
	check_err(ter_add(t, &x, two, 1, &e), ERR_DATA);
	check(strstr(e.text, "segment 2 has 1 references, but the segments before it have 2"));
	ter_free(t);
}

TEST(ter_by_hand)
{
	static const struct {
		const char *hypothesis, *reference;
		int edits;
		double score;
	} cases[] = {
		{ "a b c d", "a b c d", 0, 0 },
		{ "a b c", "a b c d", 1, 25 },	   /* one is missing */
		{ "a x c d", "a b c d", 1, 25 },   /* one is another */
		{ "a b c d e", "a b c d", 1, 25 }, /* one is too many */
		{ "c d a b", "a b c d", 1, 25 },   /* two words moved together */
		{ "d c b a", "a b c d", 3, 75 },
		{ "b c d e f a", "a b c d e f", 1, 100 / 6.0 },
		{ "A  B\tC", "a b c", 0, 0 }, /* white space and case */
		{ "", "a b", 2, 100 },
		{ "a b", "", 2, 100 }, /* Tercom's rule */
		{ "", "", 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ter_score s = score_of(false, cases[i].hypothesis, cases[i].reference, NULL);

		if (!check_int(s.edits, cases[i].edits) ||
		    !check_near(s.score, cases[i].score, 1e-9))
			fprintf(stderr, "\t\"%s\" against \"%s\"\n", cases[i].hypothesis,
				cases[i].reference);
	}
	check_int(score_of(true, "A b", "a b", NULL).edits, 1);
}

/* The nearest reference counts, over the mean of their lengths. */
TEST(ter_references)
{
	struct ter_score s = score_of(false, "a b c", "a b c d e", "a b c");

	check_int(s.edits, 0);
	check_near(s.reference_length, 4, 0);
}

/*
 * Sentences of very different lengths, where the band has to widen and still misses matches:
 * the numbers are sacreBLEU's.
 */
TEST(ter_long_sentences)
{
	struct buf h = { 0 }, r = { 0 };

	for (int i = 0; i < 3000; i++) {
		buf_printf(&r, "w%d ", i);
		if (i % 100 == 0)
			buf_printf(&h, "w%d ", i);
	}
	check_int(score_of(false, h.data, r.data, NULL).edits, 3000);
	check_int(score_of(false, r.data, h.data, NULL).edits, 2970);
	buf_free(&h);
	buf_free(&r);
}

static struct ter_score score_file(const char *hypothesis, const char *reference)
{
	struct ter_options o = { .cased = false };
	struct ter_score s = { 0 };
	struct err e = { 0 };
	struct ter *t = ter_new(&o, &e);
	struct lines h, r;

	if (check_int(lines_open(&h, hypothesis, &e), 0) &&
	    check_int(lines_open(&r, reference, &e), 0)) {
		while (lines_next(&h, &e) > 0 && lines_next(&r, &e) > 0) {
			struct score_text ours = { h.text, h.len }, theirs = { r.text, r.len };

			check_int(ter_add(t, &ours, &theirs, 1, &e), 0);
		}
		ter_score(t, &s);
		lines_close(&h);
		lines_close(&r);
	}
	ter_free(t);
	return s;
}

TEST(ter_real_systems)
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
	for (size_t i = 0; i < json_len(all); i++) {
		const struct json *system = json_at(all, i), *ter = json_get(system, "ter");
		char *h = file_path(&e, "%s/%s", folder, json_text(json_get(system, "hyp"), "")),
		     *r = file_path(&e, "%s/reference.txt", folder);
		struct ter_score s = score_file(h, r);

		check_near(s.score, json_number(json_get(ter, "score"), -1), 1e-9);
		check_int(s.edits, json_integer(json_get(ter, "num_edits"), -1));
		free(h);
		free(r);
	}
	json_free(all);
	buf_free(&text);
	free(folder);
}
