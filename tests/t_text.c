/* t_text.c - tokenising, detokenising, normalising, regular expressions, .sgm. */
#include <stdio.h>
#include <stdlib.h>

#include "data/rewrite.h"
#include "data/sgm.h"
#include "data/tokenize.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "tests/test.h"

/* What one tool makes of one line, for check_str(). */
typedef int (*line_tool)(void *tool, const char *line, size_t n, struct buf *out, struct err *e);

static void check_line(line_tool run, void *tool, const char *line, const char *expected)
{
	struct buf out = { 0 };
	struct err e = { 0 };

	check_int(run(tool, line, strlen(line), &out, &e), 0);
	check_str(buf_text(&out), expected);
	buf_free(&out);
}

static int run_tokenizer(void *tool, const char *line, size_t n, struct buf *out, struct err *e)
{
	return tokenizer_line(tool, line, n, out, e);
}

static int run_detokenizer(void *tool, const char *line, size_t n, struct buf *out, struct err *e)
{
	return detokenizer_line(tool, line, n, out, e);
}

static int run_normalizer(void *tool, const char *line, size_t n, struct buf *out, struct err *e)
{
	return normalizer_line(tool, line, n, out, e);
}

TEST(text_tokenize)
{
	struct tokenizer_options o = { .language = "en", .escape = true };
	struct err e = { 0 };
	struct tokenizer *t = tokenizer_new(&o, &e);

	if (!check(t != NULL))
		return;
	check_line(run_tokenizer, t, "Hello, world!", "Hello , world !");
	check_line(run_tokenizer, t, "Mr. Smith's dog isn't 5,300 years old...",
		   "Mr. Smith &apos;s dog isn &apos;t 5,300 years old ...");
	tokenizer_free(t);
}

TEST(text_detokenize)
{
	struct err e = { 0 };
	struct detokenizer *d = detokenizer_new("en", &e);

	if (!check(d != NULL))
		return;
	check_line(run_detokenizer, d, "Hello , world !", "Hello, world!");
	check_line(run_detokenizer, d, "He said &quot; no &quot; at Smith &apos;s ( 5 @-@ 6 ) .",
		   "He said \"no\" at Smith's (5-6).");
	detokenizer_free(d);
}

TEST(text_normalize)
{
	struct err e = { 0 };
	struct normalizer *m = normalizer_new("de", &e);

	if (!check(m != NULL))
		return;
	check_line(run_normalizer, m, "„Das“ – 5\xc2\xa0""000 …", "\"Das\" - 5,000 ...");
	normalizer_free(m);
}
