/* t_clean.c - the rules that drop pairs, the ledger, the command clean. */
#include <stdio.h>
#include <stdlib.h>

#include "data/text/clean.h"
#include "data/tools.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tests/test.h"

static struct clean_options defaults(void)
{
	return (struct clean_options){
		.min_words = 1, .max_words = 80, .max_word_chars = 1000, .max_ratio = 9
	};
}

static void check_pair(const struct clean_options *o, const char *source, const char *target,
		       enum clean_rule rule, const char *clean_source, const char *clean_target)
{
	struct buf a = { 0 }, b = { 0 };

	check_str(clean_rule_name(
			  clean_pair(o, source, strlen(source), target, strlen(target), &a, &b)),
		  clean_rule_name(rule));
	check_str(buf_text(&a), clean_source);
	check_str(buf_text(&b), clean_target);
	buf_free(&a);
	buf_free(&b);
}

TEST(clean_squeezes)
{
	struct clean_options o = defaults();

	check_pair(&o,
		   " a \t b\xc2\xa0\xe3\x80\x80"
		   "c ",
		   "x\xc2\x85y", CLEAN_KEEP, "a b c", "x y");
	check_pair(&o, "a|b | c", "|x|", CLEAN_KEEP, "ab c", "x");
	check_pair(&o,
		   "a\xe1\xa0\x8e"
		   "b\xe2\x80\x8b"
		   "c",
		   "\xef\xbb\xbfx", CLEAN_KEEP,
		   "a\xe1\xa0\x8e"
		   "b\xe2\x80\x8b"
		   "c",
		   "\xef\xbb\xbfx");
	check_pair(&o, "\x01 \x1c", "x", CLEAN_KEEP, "\x01 \x1c", "x");
	o.factored = true;
	check_pair(&o, "a|N  b|V", "x", CLEAN_KEEP, "a|N b|V", "x");
	check(clean_is_factored("a", 1, "b|c", 3));
	check(!clean_is_factored("", 0, "b", 1));
}

/* n words in text, which holds 2 * n bytes. */
static void words(char *text, int n)
{
	for (int i = 0; i < n; i++)
		memcpy(text + 2 * i, "a ", 2);
	text[n ? 2 * n - 1 : 0] = 0;
}

TEST(clean_drops_at_the_limits)
{
	struct clean_options o = defaults();
	char eighty[200], more[200], nine[40], ten[40];

	words(eighty, 80);
	words(more, 81);
	words(nine, 9);
	words(ten, 10);
	check_pair(&o, eighty, eighty, CLEAN_KEEP, eighty, eighty);
	check_pair(&o, eighty, more, CLEAN_LONG, eighty, more);
	check_pair(&o, "", "a", CLEAN_EMPTY, "", "a");
	check_pair(&o, "a", " \xc2\xa0|", CLEAN_EMPTY, "a", "");
	check_pair(&o, "a", nine, CLEAN_KEEP, "a", nine);
	check_pair(&o, "a", ten, CLEAN_RATIO, "a", ten);
	check_pair(&o, ten, "a", CLEAN_RATIO, ten, "a");
	o.min_words = 2;
	check_pair(&o, "a", ten, CLEAN_SHORT, "a", ten);
	check_pair(&o, "a b", ten, CLEAN_KEEP, "a b", ten);
}

TEST(clean_drops_long_words)
{
	struct clean_options o = defaults();

	o.max_word_chars = 3;
	check_pair(&o, "äöü", "中文字 a", CLEAN_KEEP, "äöü", "中文字 a");
	check_pair(&o, "a", "b äöüß", CLEAN_WORD, "a", "b äöüß");
	check_pair(&o, "a\x01\x01\x01", "b", CLEAN_WORD, "a\x01\x01\x01", "b");
	check_pair(&o, "ab|cd", "b", CLEAN_WORD, "abcd", "b");
	o.factored = true;
	check_pair(&o, "abc|def", "b", CLEAN_KEEP, "abc|def", "b");
	check_pair(&o, "abc|defg", "b", CLEAN_WORD, "abc|defg", "b");
}

/* A pair that breaks no rule but those of the filters. */
TEST(clean_filters)
{
	struct clean_options o = defaults();
	struct clean_side s = {
		.words = 4, .longest = 5, .characters = 20, .letters = 16, .foreign = 4, .hash = 7
	};
	struct clean_side t = s;

	check_int(clean_check_pair(&o, &s, &t), CLEAN_KEEP);
	o.check_script = true;
	o.max_foreign = 0.25;
	check_int(clean_check_pair(&o, &s, &t), CLEAN_KEEP);
	t.foreign++;
	check_int(clean_check_pair(&o, &s, &t), CLEAN_SCRIPT);
	check_int(clean_check_pair(&o, &t, &s), CLEAN_SCRIPT);
	o.drop_copies = true;
	check_int(clean_check_pair(&o, &s, &t), CLEAN_COPY);
	t = s;
	t.hash = 8;
	check_int(clean_check_pair(&o, &s, &t), CLEAN_KEEP);
	o.max_char_ratio = 2;
	t.characters = 10;
	check_int(clean_check_pair(&o, &s, &t), CLEAN_KEEP);
	t.characters = 9;
	check_int(clean_check_pair(&o, &s, &t), CLEAN_CHARACTERS);
	check_int(clean_check_pair(&o, &t, &s), CLEAN_CHARACTERS);
	t.words = 40;
	check_int(clean_check_pair(&o, &s, &t), CLEAN_RATIO); /* Moses' rules come first */
	check_int(clean_rule_find("characters"), CLEAN_CHARACTERS);
	check_int(clean_rule_find("keep"), CLEAN_KEEP);
	check_int(clean_rule_find("nothing"), CLEAN_KEEP);
	check(clean_rule_meaning(CLEAN_OVERLAP)[0] && !clean_rule_meaning(CLEAN_KEEP)[0]);
}

TEST(clean_ledger)
{
	struct err e = { 0 };
	struct buf text = { 0 };
	struct drop_ledger *l;
	struct dropped_pair line = { "a\tb", 7, CLEAN_RATIO, "one\ttwo\x01", "eins", 8, 4 };
	char path[300];

	snprintf(path, sizeof(path), "%s/ledger.tsv", test_folder());
	l = drop_ledger_create(path, &e);
	if (!check(l != NULL))
		return;
	check_int(drop_ledger_add(l, &line, &e), 0);
	line = (struct dropped_pair){ .file = "c",
				      .line = 8,
				      .rule = CLEAN_TOKENS,
				      .source = "",
				      .target = "\xc3\xa4",
				      .n_target = 2 };
	check_int(drop_ledger_add(l, &line, &e), 0);
	line.rule = CLEAN_KEEP;
	check_err(drop_ledger_add(l, &line, &e), ERR_INTERNAL);
	check_int(drop_ledger_count(l, CLEAN_RATIO), 1);
	check_int(drop_ledger_count(l, CLEAN_LONG), 0);
	check(!file_exists(path));
	check_int(drop_ledger_finish(l, &e), 0);
	check_int(file_read_all(path, 0, &text, &e), 0);
	check_str(buf_text(&text), "file\tline\trule\tsource\ttarget\n"
				   "a?b\t7\tratio\tone two \teins\n"
				   "c\t8\ttokens\t\t\xc3\xa4\n");
	buf_free(&text);
	check(drop_ledger_create("/dev/null/ledger.tsv", &e) == NULL);
	drop_ledger_cancel(NULL);
}

/* Texts are cut at DROP_LEDGER_TEXT_BYTES, and never inside a character. */
TEST(clean_ledger_cuts_long_texts)
{
	struct err e = { 0 };
	struct buf text = { 0 };
	char path[300], plain[600], wide[601];
	struct dropped_pair line = { .file = "f",
				     .line = 1,
				     .rule = CLEAN_LONG,
				     .source = plain,
				     .target = wide,
				     .n_source = 600,
				     .n_target = 601 };
	struct drop_ledger *l;
	int i;

	memset(plain, 'x', sizeof(plain));
	wide[0] = 'y'; /* so that byte 500 is the second one of a character */
	for (i = 0; i < 300; i++)
		memcpy(wide + 1 + 2 * i, "\xc3\xa4", 2);
	snprintf(path, sizeof(path), "%s/ledger.tsv", test_folder());
	l = drop_ledger_create(path, &e);
	if (!check(l != NULL))
		return;
	check_int(drop_ledger_add(l, &line, &e), 0);
	check_int(drop_ledger_finish(l, &e), 0);
	check_int(file_read_all(path, 0, &text, &e), 0);
	check_int(text.len, strlen("file\tline\trule\tsource\ttarget\n") + strlen("f\t1\tlong\t") +
				    500 + 1 + 499 + 1);
	check(utf8_valid(text.data, text.len));
	buf_free(&text);
}

/* ---- the tool ---- */

/* Run a command of werkbank-data like its main(). */
static int run_tool(int argc, char **argv, struct err *e)
{
	struct conf c;
	int rc = conf_init(&c, e);

	if (!rc)
		rc = conf_parse_command(&c, "data", argc, argv, e);
	if (!rc)
		rc = data_tool_run(data_tool_find(c.command), &c, e);
	conf_free(&c);
	return rc;
}

struct names {
	char in[2][300], out[2][300], ledger[300];
};

static void name_files(struct names *n)
{
	for (int i = 0; i < 2; i++) {
		snprintf(n->in[i], sizeof(n->in[i]), "%s/in.%d", test_folder(), i);
		snprintf(n->out[i], sizeof(n->out[i]), "%s/out.%d", test_folder(), i);
	}
	snprintf(n->ledger, sizeof(n->ledger), "%s/ledger", test_folder());
}

static int run_clean(struct names *n, struct err *e)
{
	char program[] = "werkbank-data", command[] = "clean", quiet[] = "--quiet";
	char *argv[] = { program,   command,   quiet,	  n->in[0], n->in[1],
			 n->out[0], n->out[1], n->ledger, NULL };

	return run_tool(ARRAY_LEN(argv) - 1, argv, e);
}

static void write_text(const char *path, const char *text)
{
	struct err e = { 0 };

	check_int(file_write_all(path, text, strlen(text), &e), 0);
}

static void check_text(const char *path, const char *expected)
{
	struct err e = { 0 };
	struct buf b = { 0 };

	check_int(file_read_all(path, 0, &b, &e), 0);
	check_str(buf_text(&b), expected);
	buf_free(&b);
}

TEST(clean_tool)
{
	struct names n;
	struct err e = { 0 };

	name_files(&n);
	write_text(n.in[0], "a  b\n\nc|\n1 2 3 4 5 6 7 8 9 10");
	write_text(n.in[1], "x\r\ny\nz\n1\n");
	check_int(run_clean(&n, &e), 0);
	check_text(n.out[0], "a b\nc\n");
	check_text(n.out[1], "x\nz\n");
	check(file_size(n.ledger) > 30);
}

TEST(clean_tool_refuses)
{
	struct names n;
	struct err e = { 0 };

	name_files(&n);
	write_text(n.in[0], "a\nb\n");
	write_text(n.in[1], "x\n");
	check_err(run_clean(&n, &e), ERR_DATA);
	check(strstr(e.text, "in.1 ends after line 1"));
	check(!file_exists(n.out[0]) && !file_exists(n.ledger));
	write_text(n.in[1], "x\n\xff\n");
	check_err(run_clean(&n, &e), ERR_DATA);
	check(strstr(e.text, "in.1:2"));
	snprintf(n.in[1], sizeof(n.in[1]), "%s/missing", test_folder());
	check_err(run_clean(&n, &e), ERR_NOINPUT);
}

TEST(clean_noisy_data)
{
	struct names n;
	struct err e = { 0 };
	char hex[HASH_SHA256_HEX] = "";

	name_files(&n);
	if (!test_data("noisy/train10k.de"))
		return;
	snprintf(n.in[0], sizeof(n.in[0]), "%s", test_data("noisy/train10k.en"));
	snprintf(n.in[1], sizeof(n.in[1]), "%s", test_data("noisy/train10k.de"));
	check_int(run_clean(&n, &e), 0);
	/* recorded from clean-corpus-n.perl train10k en de out 1 80 */
	check_int(hash_file(n.out[0], hex, &e), 0);
	check_str(hex, "0d7130fb7e1f116ac6191c5af498b06b35d0a133c6795d73709a00a3f3738417");
	check_int(hash_file(n.out[1], hex, &e), 0);
	check_str(hex, "a11e71b58ae0b3b80b6ffc0a625bbbf3268a5067f1312eb3a5503411bfc5e22b");
}
