/* t_conf.c - options: command lines, recipes, the environment, origins, help. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "share/conf/alias.h"
#include "share/conf/conf.h"
#include "share/conf/recipe_pairs.h"
#include "share/format/json.h"
#include "share/help/help.h"
#include "tests/test.h"

#define MAX_WORDS 12

/* Parse "werkbank-PROGRAM words..."; the code, the text in e. */
static int parse(struct conf *c, const char *program, const char *line, struct err *e)
{
	static char words[600], *argv[MAX_WORDS + 2];
	int argc = 1;

	argv[0] = words + sizeof(words) - 1;
	snprintf(words, sizeof(words) - 1, "%s", line);
	for (char *p = words; *p && argc < MAX_WORDS; argc++) {
		argv[argc] = p;
		p += strcspn(p, " ");
		if (*p)
			*p++ = 0;
	}
	argv[argc] = NULL;
	check_int(conf_init(c, e), 0);
	return conf_parse_command(c, program, argc, argv, e);
}

/* Parsing must fail with this code and a text that holds each of the words. */
static void refuse(const char *program, const char *line, int code, const char *a, const char *b)
{
	struct conf c;
	struct err e = { 0 };

	check_err(parse(&c, program, line, &e), code);
	if (!strstr(e.text, a) || !strstr(e.text, b))
		test_fail(__FILE__, __LINE__, "'%s': \"%s\" does not name '%s' and '%s'", line,
			  e.text, a, b);
	conf_free(&c);
}

static const char *write_recipe(const char *name, const char *text)
{
	static char path[300];
	struct err e;

	snprintf(path, sizeof(path), "%s/%s", test_folder(), name);
	check_int(file_write_all(path, text, strlen(text), &e), 0);
	return path;
}

static void refuse_recipe(const char *text, const char *a, const char *b)
{
	struct conf c;
	struct err e = { 0 };

	check_int(conf_init(&c, &e), 0);
	check_err(conf_load_named_recipe(&c, write_recipe("bad.ini", text), &e), ERR_CONFIG);
	if (!strstr(e.text, a) || !strstr(e.text, b))
		test_fail(__FILE__, __LINE__, "\"%s\" does not name '%s' and '%s'", e.text, a, b);
	conf_free(&c);
}

TEST(conf_defaults)
{
	struct conf c;
	struct err e;

	check_int(conf_init(&c, &e), 0);
	check_int(c.beam, 4);
	check_near(c.alpha, 0.6, 0);
	check(c.tokenize && !c.json && !c.corpus && c.train_source.n == 0);
	check_str(c.source_language, "en");
	check_int(c.size, SIZE_TINY);
	check_str(conf_origin(&c, "beam"), "default");
	conf_free(&c);
	conf_free(&c);
}

/* merges and vocabulary_size share the letter s: it is whichever the command takes first. */
TEST(conf_shared_letter)
{
	static const struct {
		const char *command;
		int64_t merges, vocabulary_size;
		const char *letter, *other;
	} cases[] = {
		{ "bpe-learn", 1234, 32768, "-s, --merges N", NULL },
		{ "sp-learn", 32000, 1234, "-s, --vocabulary-size N", NULL },
		{ "prep", 1234, 32768, "-s, --merges N", "    --vocabulary-size N" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct conf c;
		struct err e;
		struct buf line = { 0 }, help = { 0 };

		buf_printf(&line, "%s -s 1234 x", cases[i].command);
		check_int(parse(&c, "data", buf_text(&line), &e), 0);
		check_int(c.merges, cases[i].merges);
		check_int(c.vocabulary_size, cases[i].vocabulary_size);
		conf_free(&c);
		conf_help(cases[i].command, &help);
		check(strstr(buf_text(&help), cases[i].letter) != NULL);
		check(!cases[i].other || strstr(buf_text(&help), cases[i].other) != NULL);
		buf_free(&line);
		buf_free(&help);
	}
}

TEST(conf_line_forms)
{
	struct conf c;
	struct err e;

	check_int(parse(&c, "eval", "translate -b 7 --alpha=1.5 in.txt --no-escape", &e),
		  ERR_USAGE);
	conf_free(&c);
	check_int(parse(&c, "data", "tokenize -ade in.txt", &e),
		  ERR_USAGE); /* -d is no letter of its */
	conf_free(&c);
	check_int(parse(&c, "data", "tokenize -al de --no-escape --repair=no -- -strange.txt", &e),
		  0);
	check_str(c.command, "tokenize");
	check(c.aggressive && !c.escape && !c.repair);
	check_str(c.language, "de");
	check_int(c.n_arguments, 1);
	check_str(c.arguments[0], "-strange.txt");
	check_str(conf_origin(&c, "language"), "command line");
	conf_free(&c);
	check_int(parse(&c, "eval", "translate --run x - --beam 2 --beam 3", &e), 0);
	check_int(c.beam, 3);
	check_str(c.arguments[0], "-");
	conf_free(&c);
	check_int(parse(&c, "eval", "bleu -r a -r b --smooth-value -1 hyp --reference=c", &e), 0);
	check_int(c.reference.n, 3);
	check_str(c.reference.items[2], "c");
	check_near(c.smooth_value, -1, 0);
	check_str(c.arguments[0], "hyp");
	conf_free(&c);
	check_int(parse(&c, "launch", "train --size big demo --precision=bf16", &e), 0);
	check_int(c.size, SIZE_BIG);
	check_int(c.precision, PRECISION_BF16);
	conf_free(&c);
	check_int(parse(&c, "tui", "", &e), 0);
	check(!c.command);
	conf_free(&c);
	check_int(parse(&c, "tui", "-C ws --color never", &e), 0);
	check(!c.command);
	check_str(c.workspace, "ws");
	conf_free(&c);
	/* the missing RECIPE does not matter then */
	check_int(parse(&c, "launch", "train --help", &e), 0);
	check(c.help);
	conf_free(&c);
}

TEST(conf_line_errors)
{
	refuse("launch", "trian demo", ERR_USAGE, "'trian'", "train?");
	refuse("data", "train demo", ERR_USAGE, "werkbank-data", "train");
	refuse("launch", "train demo --beem 3", ERR_USAGE, "--beem", "--beam?");
	refuse("launch", "train demo --n-best 3", ERR_USAGE, "takes no option --n-best",
	       "translate");
	refuse("launch", "train demo --beam", ERR_USAGE, "--beam", "needs a value");
	refuse("launch", "train demo --run --beam", ERR_USAGE, "--run", "--run=--beam");
	refuse("launch", "train demo --beam 12abc", ERR_USAGE, "--beam: '12abc'",
	       "whole number from 1 to 64");
	refuse("launch", "train demo --beam 65", ERR_USAGE, "'65'", "1 to 64");
	refuse("launch", "train demo --beam=", ERR_USAGE, "''", "1 to 64");
	refuse("launch", "train demo --alpha nan", ERR_USAGE, "--alpha", "0 to 10");
	refuse("launch", "train demo --alpha 1e999", ERR_USAGE, "--alpha", "0 to 10");
	refuse("launch", "train demo --size bigg", ERR_USAGE, "'bigg'", "did you mean big?");
	refuse("launch", "train demo --size zzzzz", ERR_USAGE, "tiny, base, big", "zzzzz");
	refuse("launch", "train demo --no-beam", ERR_USAGE, "--no-beam", "takes a value");
	refuse("launch", "train demo --no-tokenize=yes", ERR_USAGE, "--no-tokenize", "no value");
	refuse("launch", "train demo --tokenize=perhaps", ERR_USAGE, "--tokenize", "yes nor no");
	refuse("launch", "train", ERR_USAGE, "train needs RECIPE", "--help");
	refuse("launch", "train demo more", ERR_USAGE, "'more'", "train");
	refuse("launch", "train demo -x", ERR_USAGE, "-x", "train");
	refuse("launch", "", ERR_USAGE, "werkbank-launch needs a command", "--help");
	refuse("tui", "-- train", ERR_USAGE, "command comes first", "werkbank train");
	refuse("data", "clean a b c", ERR_USAGE, "clean needs SOURCE", "missing");
}

TEST(conf_options_before_the_command)
{
	static const char *const lines[] = { "-C w --run r translate -b 3 --quiet",
					     "-qC w translate -b 3 --run=r",
					     "--quiet -b 3 --run r -C w translate",
					     "translate -b3 -qCw --run r" };
	struct conf c;
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		check_int(parse(&c, "eval", lines[i], &e), 0);
		check_str(c.command, "translate");
		check_str(c.workspace, "w");
		check_str(c.run, "r");
		check_int(c.beam, 3);
		check(c.quiet);
		conf_free(&c);
	}
	/* a letter that is a switch of one command and has a value in another */
	check_int(parse(&c, "eval", "-b bleu -r x y", &e), 0);
	check(c.score_only && c.n_arguments == 1);
	conf_free(&c);
	refuse("eval", "--run translate", ERR_USAGE, "without a command",
	       "--run"); /* "translate" is the value of --run */
}

TEST(conf_environment)
{
	struct conf c;
	struct err e;

	setenv("WERKBANK_BEAM", "9", 1);
	setenv("WERKBANK_STEPS", "70", 1);
	check_int(parse(&c, "eval", "translate", &e), 0);
	check_int(c.beam, 9);
	check_str(conf_origin(&c, "beam"), "WERKBANK_BEAM");
	check_int(c.steps, 100000); /* not an option of translate */
	conf_free(&c);
	check_int(parse(&c, "eval", "translate --beam 2", &e), 0);
	check_int(c.beam, 2);
	conf_free(&c);
	setenv("WERKBANK_BEAM", "many", 1);
	refuse("eval", "translate", ERR_CONFIG, "WERKBANK_BEAM", "many");
	unsetenv("WERKBANK_BEAM");
	check_int(parse(&c, "launch", "train x", &e), 0);
	check_int(conf_load_recipe(&c, write_recipe("x.ini", "[train]\nsteps = 5\n"), &e), 0);
	check_int(c.steps, 70);
	check_str(conf_origin(&c, "steps"), "WERKBANK_STEPS");
	conf_free(&c);
	unsetenv("WERKBANK_STEPS");
}

/* An option under a former name gets the value; its origin and later names are the present ones. */
static void check_old_option(const char *old, const char *name)
{
	struct conf c;
	struct err e = { 0 };
	struct buf value = { 0 };
	char text[200], variable[60];

	snprintf(text, sizeof(text), "train x --%s 3", old);
	check_err(parse(&c, "launch", text, &e), 0);
	conf_value(&c, name, &value);
	check_str(buf_text(&value), "3");
	check_str(conf_origin(&c, name), "command line");
	conf_free(&c);

	check_int(conf_init(&c, &e), 0);
	snprintf(text, sizeof(text), "[train]\n%s = 3\n", old);
	check_err(conf_load_recipe(&c, write_recipe("old.ini", text), &e), 0);
	buf_clear(&value);
	conf_value(&c, name, &value);
	check_str(buf_text(&value), "3");
	conf_free(&c);

	snprintf(variable, sizeof(variable), "WERKBANK_%s", old);
	for (char *p = variable; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	setenv(variable, "3", 1);
	check_err(parse(&c, "launch", "train x", &e), 0);
	unsetenv(variable);
	buf_clear(&value);
	conf_value(&c, name, &value);
	check_str(buf_text(&value), "3");
	check_str(conf_origin(&c, name), variable);
	conf_free(&c);
	buf_free(&value);
}

TEST(conf_former_names)
{
	static const struct {
		const char *kind, *old, *name;
	} rows[] = {
#define ALIAS(kind, old, new, release) { #kind, old, new },
#include "share/conf/aliases.def"
#undef ALIAS
	};
	struct conf_row row;
	char text[200];
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!strcmp(rows[i].kind, "OPTION")) {
			check(conf_find_row(rows[i].old, &row));
			check_str(row.name, rows[i].name);
			check_old_option(rows[i].old, rows[i].name);
		} else if (!strcmp(rows[i].kind, "SACREBLEU")) {
			check(conf_accepts_option("bleu", rows[i].name));
		} else {
			struct json *tree;

			snprintf(text, sizeof(text), "{\"%s\":7}", rows[i].old);
			tree = json_parse(text, strlen(text), &e);
			check_int(json_integer(alias_json_get(tree, rows[i].name), 0), 7);
			json_free(tree);
		}
	}
	check(!alias_new_name(ALIAS_OPTION, "noam_factor"));
	refuse_recipe("[train]\naccumulate = 2\nmicro_batches = 3\n",
		      "bad.ini:3: micro_batches is set twice, first in line 2",
		      "its former name is accumulate");
	refuse_recipe("[train]\nlearning_rat = 2\n", "'learning_rat'", "did you mean noam_factor?");
	refuse("launch", "train x --accumulat 2", ERR_USAGE, "--accumulat ", "--micro-batches?");
}

TEST(conf_sacrebleu_names)
{
	struct conf c;
	struct err e = { 0 };

	check_err(parse(&c, "eval", "bleu ref -tok intl -i hyp -m bleu chrf ter -lc", &e), 0);
	check_str(c.input, "hyp");
	check_int(c.n_arguments, 1);
	check_str(c.arguments[0], "ref");
	check_int(c.metrics.n, 3);
	check_str(c.metrics.items[2], "ter");
	check_int(c.tokenizer, 3);
	check(c.lowercase);
	conf_free(&c);
	check_err(parse(&c, "eval", "bleu --tokenize=char --smooth-method none hyp", &e), 0);
	check_int(c.tokenizer, 4);
	check_int(c.smoothing, 1);
	check_str(c.arguments[0], "hyp");
	conf_free(&c);
	check_err(parse(&c, "eval", "bleu -i hyp ref1 ref2", &e), 0);
	conf_free(&c);
	refuse("eval", "bleu ref -i hyp1 hyp2", ERR_USAGE, "'hyp2' follows -i", "compare");
	refuse("eval", "chrf ref -i hyp1 -i hyp2", ERR_USAGE, "-i is given 2 times", "compare");
	refuse("eval", "bleu -m meteor", ERR_USAGE, "--metrics: 'meteor' is not one of", "ter");
	refuse("data", "tokenize -tok 13a", ERR_USAGE, "takes no option", "-t");
}

TEST(conf_recipe)
{
	struct conf c;
	struct err e;

	setenv("CORPUS_PLACE", "/some/place", 1);
	check_int(parse(&c, "launch", "train x --beam 11", &e), 0);
	write_recipe("parent.ini", "[train]\nsteps = 7\nwarmup = 3\n");
	write_recipe("here.en", "a\n");
	check_int(conf_load_named_recipe(&c,
					 write_recipe("my.ini",
						      "\xEF\xBB\xBF# a comment\r\n"
						      "[data]\r\n"
						      "train-source = here.en nowhere.en \"with "
						      "blank\" ${CORPUS_PLACE}/a   ; four\n"
						      "  dev_source=${CORPUS_PLACE}/dev.en\n"
						      "tokenize = no # yes?\n"
						      "source_language = \"de # not\"\n"
						      "[ train ]\n"
						      "warmup = 12\n"
						      "[recipe]\n"
						      "description = what it is for\n"
						      "include = parent.ini\n"
						      "[decode]\n"
						      "beam = 5\n"
						      "alpha = 1"),
					 &e),
		  0);
	check_int(c.steps, 7);
	check_int(c.warmup, 12); /* included first, wherever it stands */
	check_int(c.beam, 11);	 /* the command line stays */
	check_near(c.alpha, 1, 0);
	check(!c.tokenize);
	check_str(c.source_language, "de # not");
	check_int(c.train_source.n, 4);
	check(c.train_source.items[0][0] == '/' && strstr(c.train_source.items[0], "/here.en"));
	check_str(c.train_source.items[1], "nowhere.en");
	check_str(c.train_source.items[2], "with blank");
	check_str(c.train_source.items[3], "/some/place/a");
	check_str(c.dev_source.items[0], "/some/place/dev.en");
	check_str(c.corpus, "my");
	check_str(conf_origin(&c, "dev_source"), "my.ini:4 ${CORPUS_PLACE}");
	check_str(conf_origin(&c, "warmup"), "my.ini:8");
	check_str(conf_origin(&c, "steps"), "parent.ini:2");
	check_str(conf_origin(&c, "beam"), "command line");
	check(c.recipe && strstr(c.recipe, "/my.ini"));
	conf_free(&c);
}

TEST(conf_recipe_errors)
{
	unsetenv("NOT_SET_ANYWHERE");
	refuse_recipe("[train]\nstep = 3\n", "bad.ini:2", "steps?");
	refuse_recipe("[train]\ninclude = demo\n", "bad.ini:2", "belongs under [recipe]");
	refuse_recipe("[train]\nsteps = 3x\n", "bad.ini:2: steps", "'3x'");
	refuse_recipe("\n\n[train]\nsteps = 3\nsteps = 4\n", "bad.ini:5", "line 4");
	refuse_recipe("[trian]\nsteps = 3\n", "bad.ini:1", "train?");
	refuse_recipe("[data]\nsteps = 3\n", "bad.ini:2", "under [train]");
	refuse_recipe("[data]\nrun = x\n", "bad.ini:2", "command line only");
	refuse_recipe("steps = 3\n", "bad.ini:1", "[section]");
	refuse_recipe("[train]\nsteps\n", "bad.ini:2", "key = value");
	refuse_recipe("[train\nsteps = 1\n", "bad.ini:1", "expected [section]");
	refuse_recipe("[data]\ncorpus = ${NOT_SET_ANYWHERE}\n", "NOT_SET_ANYWHERE", "not set");
	refuse_recipe("[data]\ncorpus = ${unclosed\n", "bad.ini:2", "${");
	refuse_recipe("[data]\ncorpus = \xff\n", "bad.ini:2", "UTF-8");
	refuse_recipe("[recipe]\ninclude = bad.ini\n", "bad.ini", "in a cycle");
	refuse_recipe("[recipe]\nsteps = 1\n", "bad.ini:2", "include");
}

/* The recipe of a stranger's model cannot read a secret of this user, directly or by an include. */
TEST(conf_recipe_in_a_folder)
{
	struct conf c;
	struct err e = { 0 };

	setenv("CORPUS_SECRET", "s3cret", 1);
	check_int(parse(&c, "eval", "translate", &e), 0);
	check_err(
		conf_load_recipe(
			&c, write_recipe("recipe.ini", "[data]\ncorpus = ${CORPUS_SECRET}\n"), &e),
		ERR_CONFIG);
	check(strstr(e.text, "recipe.ini:2: CORPUS_SECRET: ") && !strstr(e.text, "s3cret"));
	check_err(conf_load_recipe(
			  &c, write_recipe("other.ini", "[recipe]\ninclude = recipe.ini\n"), &e),
		  ERR_CONFIG);
	check(!strstr(c.corpus ? c.corpus : "", "s3cret"));
	conf_free(&c);
}

/* Eight files, each of which includes the next one nine times: 9^7 files, were they not counted. */
TEST(conf_recipe_multiplies)
{
	char name[20];
	struct buf text = { 0 };

	for (int i = 7; i > 0; i--) {
		buf_clear(&text);
		buf_add_str(&text, "[recipe]\n");
		for (int k = 0; k < 9 && i < 7; k++)
			buf_printf(&text, "include = laugh%d.ini\n", i + 1);
		snprintf(name, sizeof(name), "laugh%d.ini", i);
		write_recipe(name, buf_text(&text));
	}
	refuse_recipe("[recipe]\ninclude = laugh1.ini\n", "laugh6.ini", "at most 64 files");
	buf_clear(&text);
	for (int i = 0; i < 100000; i++)
		buf_add_str(&text, "# a comment\n");
	buf_truncate(&text, 1000000);
	write_recipe("laugh2.ini", buf_text(&text));
	write_recipe("laugh1.ini", "[recipe]\ninclude = laugh2.ini\ninclude = laugh2.ini\n"
				   "include = laugh2.ini\ninclude = laugh2.ini\n"
				   "include = laugh2.ini\n");
	refuse_recipe("[recipe]\ninclude = laugh1.ini\n", "laugh1.ini:6", "at most 4 MiB");
	buf_free(&text);
}

TEST(conf_recipe_names)
{
	struct conf c;
	struct err e;

	check_int(conf_init(&c, &e), 0);
	check_err(conf_load_named_recipe(&c, "./not-there.ini", &e), ERR_NOINPUT);
	check(strstr(e.text, "not-there.ini"));
	check_err(conf_load_named_recipe(&c, "dmo", &e), ERR_NOINPUT);
	check(strstr(e.text, "dmo"));
	check(strstr(e.text, "./dmo.ini"));
	conf_free(&c);
}

/* Every recipe option, as text, of one configuration. */
static void all_values(const struct conf *c, struct buf *out)
{
	const char *section, *name;

	for (size_t i = 0; (name = conf_option_at(i, &section)) != NULL; i++)
		if (strcmp(section, "tool")) {
			buf_printf(out, "%s=", name);
			conf_value(c, name, out);
			buf_add_char(out, '\n');
		}
}

TEST(conf_resolved_recipe)
{
	struct conf a, b;
	struct err e = { 0 };
	struct buf text = { 0 }, before = { 0 }, after = { 0 };

	check_int(parse(&a, "launch",
			"train x --noam-factor 0.1 --max-ratio 3.3333333333333335 --seed 12", &e),
		  0);
	check_int(conf_set(&a, "corpus", " odd # \"name\" ${HOME} \\ ", "command line", &e), 0);
	check_int(conf_set(&a, "dev_source", "one \"two words\" \"#x\" ${HOME}", "somewhere", &e),
		  0);
	check_int(conf_set(&a, "size", "base", "somewhere", &e), 0);
	conf_apply_size(&a);
	check_int(a.d_model, 512);
	check_int(a.decoder_layers, 6);
	check_str(conf_origin(&a, "d_model"), "size base");
	conf_write_recipe(&a, &text);
	all_values(&a, &before);
	check_int(conf_init(&b, &e), 0);
	check_int(conf_load_recipe(&b, write_recipe("resolved.ini", buf_text(&text)), &e), 0);
	check_str(e.text, "");
	all_values(&b, &after);
	check_str(buf_text(&after), buf_text(&before));
	check_str(conf_origin(&b, "seed"), "command line");
	check_str(conf_origin(&b, "d_model"), "size base");
	check_str(conf_origin(&b, "beam"), "default");
	conf_free(&a);
	conf_free(&b);
	buf_free(&text);
	buf_free(&before);
	buf_free(&after);
}

TEST(conf_set_by_name)
{
	struct conf c;
	struct err e;
	struct buf b = { 0 };

	check_int(conf_init(&c, &e), 0);
	check_int(conf_set(&c, "batch-tokens", "512", "settings", &e), 0);
	check_int(conf_set(&c, "batch_tokens", "1024", "settings", &e), 0);
	check_int(c.batch_tokens, 1024);
	check_err(conf_set(&c, "batch_token", "1", "settings", &e), ERR_USAGE);
	check(strstr(e.text, "batch_tokens"));
	check_err(conf_set(&c, "batch_tokens", "1", "settings", &e), ERR_USAGE);
	check_int(c.batch_tokens, 1024);
	conf_value(&c, "epsilon", &b);
	check_str(buf_text(&b), "1e-09");
	buf_free(&b);
	conf_free(&c);
}

static const struct {
	const char *name, *program, *arguments, *common;
} command_rows[] = {
#define CMD(name, program, sections, options, common, arguments, help)                             \
	{ name, #program, arguments, common },
#include "share/conf/commands.def"
#undef CMD
};

static void check_help_fits(const char *command)
{
	struct buf b = { 0 };
	size_t lines = 0;

	conf_help(command, &b);
	for (const char *p = buf_text(&b); *p; p += strcspn(p, "\n"), p += *p == '\n', lines++)
		if (strcspn(p, "\n") > 80 || (strcspn(p, "\n") && p[strcspn(p, "\n") - 1] == ' '))
			test_fail(__FILE__, __LINE__, "bad line: %.*s", (int)strcspn(p, "\n"), p);
	check(lines > 5);
	buf_free(&b);
}

TEST(conf_help_fits)
{
	struct buf b = { 0 };

	check_help_fits(NULL);
	for (size_t i = 0; i < ARRAY_LEN(command_rows); i++)
		if (command_rows[i].name[0] != '_')
			check_help_fits(command_rows[i].name);
	conf_help("bleu", &b);
	check(strstr(buf_text(&b), "--lowercase") && !strstr(buf_text(&b), "--merges"));
	buf_clear(&b);
	conf_help("tokenize", &b);
	check(strstr(buf_text(&b), "--threads") && !strstr(buf_text(&b), "Training"));
	buf_free(&b);
}

/* Each command has two examples, and each of them is a valid command line. */
TEST(conf_examples)
{
	static const struct {
		const char *command, *line;
	} rows[] = {
#define EXAMPLE(command, line, text) { command, line },
#include "share/help/examples.def"
#undef EXAMPLE
	};

	for (size_t k = 0; k < ARRAY_LEN(command_rows); k++) {
		int n = 0;

		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			struct conf c;
			struct err e = { 0 };
			char line[300];

			if (strcmp(rows[i].command, command_rows[k].name))
				continue;
			n++;
			snprintf(line, sizeof(line), "%s%s%.*s", rows[i].command,
				 *rows[i].line ? " " : "", (int)strcspn(rows[i].line, "<>|"),
				 rows[i].line);
			while (line[strlen(line) - 1] == ' ')
				line[strlen(line) - 1] = 0;
			if (!check_err(parse(&c, command_rows[k].program, line, &e), 0))
				test_fail(__FILE__, __LINE__, "%s: %s", line, e.text);
			conf_free(&c);
		}
		if (command_rows[k].name[0] != '_' && (n < 2 || n > 3))
			test_fail(__FILE__, __LINE__, "%s has %d examples", command_rows[k].name,
				  n);
	}
}

/* Common options are options of the command; the manual explains each word of a usage line. */
TEST(conf_command_rows)
{
	static const struct {
		const char *command, *word;
	} known[] = {
#define ARGUMENT(command, word, text) { command, word },
#define COMMAND_NOTE(command, text)
#define OPTION_NOTE(option, text)
#include "share/help/manual.def"
#undef ARGUMENT
#undef COMMAND_NOTE
#undef OPTION_NOTE
	};

	for (size_t k = 0; k < ARRAY_LEN(command_rows); k++) {
		char words[200], *rest;

		snprintf(words, sizeof(words), "%s", command_rows[k].common);
		for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
			if (!conf_accepts_option(command_rows[k].name, w))
				test_fail(__FILE__, __LINE__, "%s: %s", command_rows[k].name, w);
		snprintf(words, sizeof(words), "%s",
			 command_rows[k].name[0] == '_' ? "" : command_rows[k].arguments);
		for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
			bool is_known = false;

			w += strspn(w, "[");
			w[strcspn(w, "].")] = 0;
			for (size_t i = 0; i < ARRAY_LEN(known); i++)
				is_known |= !strcmp(known[i].word, w) &&
					    (!*known[i].command ||
					     !strcmp(known[i].command, command_rows[k].name));
			if (!is_known)
				test_fail(__FILE__, __LINE__, "%s: no text for the argument %s",
					  command_rows[k].name, w);
		}
	}
}

/* Phrases of options: at most 12 words outside of brackets, and no range that is added anyway. */
TEST(conf_option_phrases)
{
	const char *section, *name;
	struct conf_row row;

	for (size_t i = 0; (name = conf_option_at(i, &section)) != NULL; i++) {
		check(conf_find_row(name, &row));
		check(!strstr(row.help, "may be repeated") && !strstr(row.help, "default:)"));
		check(row.help[strlen(row.help) - 1] != '.');
	}
}

TEST(conf_numbers_as_text)
{
	struct conf c;
	struct err e;
	struct buf b = { 0 };

	check_int(conf_init(&c, &e), 0);
	conf_value(&c, "late_after", &b);
	check_str(buf_text(&b), "10");
	c.clip = 1e9;
	buf_clear(&b);
	conf_value(&c, "clip", &b);
	check_str(buf_text(&b), "1000000000");
	buf_clear(&b);
	conf_value(&c, "epsilon", &b);
	check_str(buf_text(&b), "1e-09");
	buf_free(&b);
	conf_free(&c);
}

TEST(conf_programs)
{
	struct err e = { 0 };

	check_str(conf_find_program("prep"), "data");
	check_str(conf_find_program("train"), "launch");
	check(!conf_find_program("prpe"));
	check_err(conf_unknown_command("prpe", &e), ERR_USAGE);
	check(strstr(e.text, "(did you mean prep?)") != NULL);
	check_err(conf_unknown_command("foo", &e), ERR_USAGE);
	check(strstr(e.text, "did you mean") == NULL);
}

/* Advice for words of other programs never hides a name of ours, and names an option that exists. */
TEST(conf_words_of_other_programs)
{
	static const struct {
		const char *word, *advice;
	} commands[] = {
#define ELSEWHERE_COMMAND(word, advice) { word, advice },
#include "share/conf/aliases.def"
	};
	static const struct {
		const char *name, *takes, *advice;
	} options[] = {
#define ELSEWHERE_OPTION(name, takes, advice) { name, takes, advice },
#include "share/conf/aliases.def"
	};
	struct conf_row row;
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		check(!conf_find_program(commands[i].word));
		check_err(conf_unknown_command(commands[i].word, &e), ERR_USAGE);
		check(strstr(e.text, commands[i].advice) != NULL);
	}
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		/* json: an option, but not of the command that takes serve (cli.sh) */
		check(!conf_find_row(options[i].name, &row) || !strcmp(options[i].name, "json"));
		check(conf_find_row(options[i].takes, &row));
	}
}

TEST(conf_documents)
{
	static const char *const shells[] = { "bash", "zsh", "fish" };
	const char *section, *name;
	struct buf b = { 0 };
	struct err e;

	check_int(conf_man_page(NULL, &b, &e), 0);
	for (size_t i = 0; (name = conf_option_at(i, &section)) != NULL; i++) {
		char roff[80], *p = roff;

		for (const char *n = name; *n; n++)
			if (*n == '_') {
				*p++ = '\\';
				*p++ = '-';
			} else {
				*p++ = *n;
			}
		*p = 0;
		if (!strstr(buf_text(&b), roff))
			test_fail(__FILE__, __LINE__, "the man page lacks %s", name);
	}
	for (size_t i = 0; i < 3; i++) {
		buf_clear(&b);
		check_int(conf_completion(shells[i], &b, &e), 0);
		check(strstr(buf_text(&b), "batch-tokens") && !strstr(buf_text(&b), "_rank"));
	}
	check_err(conf_completion("csh", &b, &e), ERR_USAGE);
	buf_clear(&b);
	check_int(conf_man_page("bpe-learn", &b, &e), 0);
	check(strstr(buf_text(&b), "min\\-frequency") && !strstr(buf_text(&b), "warmup"));
	buf_clear(&b);
	check_int(conf_man_page("recipe", &b, &e), 0);
	check(strstr(buf_text(&b), "batch_tokens") && !strstr(buf_text(&b), "n_best"));
	check_err(conf_man_page("_rank", &b, &e), ERR_USAGE);
	check_err(conf_man_page("no-such-page", &b, &e), ERR_USAGE);
	buf_free(&b);
}

TEST(conf_recipe_for_pairs)
{
	check_str(recipe_for_pairs(0), "small");
	check_str(recipe_for_pairs(200000), "small");
	check_str(recipe_for_pairs(200001), "medium");
	check_str(recipe_for_pairs(INT64_MAX), "medium");
	check(recipe_pairs_limit("small") == 200000);
	check(!recipe_pairs_limit("multi30k"));
	check_str(recipe_suited("medium", 7), "small");
	check_str(recipe_suited("multi30k", INT64_MAX), "multi30k");
}
