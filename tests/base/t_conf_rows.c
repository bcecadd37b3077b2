/* t_conf_rows.c - tests of the tables of options: which values are paths, what the help of a command says */
#include <stdio.h>
#include <string.h>

#include "share/base/buf.h"
#include "share/base/util.h"
#include "share/conf/conf.h"
#include "share/conf/conf_internal.h"
#include "share/help/help.h"
#include "tests/test.h"

/* The kind of an option says which of its values are paths; the words of its help do not. */
TEST(conf_paths_by_kind)
{
	static const struct {
		const char *name, *value, *path;
	} rows[] = {
		{ "terms", "terms.tsv", "terms.tsv" }, { "ensemble", "other", "other" },
		{ "pieces_from", "run", "run" },       { "train_source", "a.txt", "a.txt" },
		{ "forbid", "@list", "list" },	       { "forbid", "a phrase", "" },
		{ "output", "out.txt", NULL },	       { "prometheus", "out.prom", NULL },
		{ "separator", "file", NULL },
	};
	struct conf_option other;
	struct conf c;
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct conf_option *o = conf_find_option(rows[i].name);

		check_int(conf_init(&c, &e), 0);
		check_int(conf_set(&c, rows[i].name, rows[i].value, "command line", &e), 0);
		check_str(conf_read_path(&c, o, 0), rows[i].path);
		check(!conf_read_path(&c, o, 1));
		conf_free(&c);
	}
	check_int(conf_init(&c, &e), 0);
	check_int(conf_set(&c, "separator", "file", "command line", &e), 0);
	other = *conf_find_option("separator");
	other.detail = "FILE|DIR";
	other.help = "FILE in a FOLDER, or a PHRASE";
	check(!conf_read_path(&c, &other, 0));
	check_int(conf_set(&c, "terms", "terms.tsv", "command line", &e), 0);
	other = *conf_find_option("terms");
	other.detail = "TEXT";
	other.help = "";
	check_str(conf_read_path(&c, &other, 0), "terms.tsv");
	conf_free(&c);
}

/* A command shows its own phrase of an option that means something else elsewhere. */
TEST(conf_help_of_commands)
{
	static const struct {
		const char *commands, *option, *argument, *help;
	} rows[] = {
#define COMMAND_HELP(commands, option, argument, help) { commands, option, argument, help },
#include "share/help/command_helps.def"
#undef COMMAND_HELP
	};
	struct buf b = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char words[200], *rest;

		check(conf_find_option(rows[i].option));
		snprintf(words, sizeof(words), "%s", rows[i].commands);
		for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
			if (!conf_accepts_option(w, rows[i].option))
				test_fail(__FILE__, __LINE__, "%s does not take %s", w,
					  rows[i].option);
	}
	conf_help("translate", &b);
	check(strstr(buf_text(&b), "-m, --model DIR             model folder\n"));
	check(!strstr(buf_text(&b), "sp-apply"));
	buf_clear(&b);
	conf_help("sp-apply", &b);
	check(strstr(buf_text(&b), "-m, --model FILE            SentencePiece model file\n"));
	buf_free(&b);
}
