/* help_man.c - manual pages of the program, of each command, and of recipes; see help.h */
#include "config.h"

#include "share/help/help.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "share/conf/alias.h"
#include "share/help/help_internal.h"

/* Append text with -, \, ', ^ and a leading . or ' escaped for roff. */
static void add_roff(struct buf *out, const char *text)
{
	if (*text == '.' || *text == '\'')
		buf_add_str(out, "\\&");
	for (; *text; text++) {
		if (*text == '-')
			buf_add_str(out, "\\-");
		else if (*text == '\\')
			buf_add_str(out, "\\e");
		else if (*text == '\'')
			buf_add_str(out, "\\(aq");
		else if (*text == '^')
			buf_add_str(out, "\\(ha");
		else
			buf_add_char(out, *text);
	}
}

static void add_upper(struct buf *out, const char *text)
{
	for (; *text; text++)
		if (*text == '-')
			buf_add_str(out, "\\-");
		else
			buf_add_char(out, (char)toupper((unsigned char)*text));
}

static void man_title(const char *name, int section, const char *about, struct buf *out)
{
	char words[200];

	assert(section == 1 || section == 5);
	buf_add_str(out, ".\\\" Made by werkbank _man from the tables of options and commands.\n"
			 ".TH WERKBANK");
	if (name) {
		buf_add_str(out, "\\-");
		add_upper(out, name);
	}
	buf_printf(out, " %d " RELEASE_DATE " \"werkbank %s\" \"%s\"\n.SH NAME\nwerkbank", section,
		   PACKAGE_VERSION, section == 1 ? "User Commands" : "File Formats");
	if (name) {
		buf_add_str(out, "\\-");
		add_roff(out, name);
	}
	/* whatis wants few words: only the text before a remark */
	snprintf(words, sizeof(words), "%.*s", (int)strcspn(about, ":;("), about);
	while (*words && words[strlen(words) - 1] == ' ')
		words[strlen(words) - 1] = 0;
	buf_add_str(out, " \\- ");
	add_roff(out, words);
	buf_add_char(out, '\n');
}

/* ---- options ---- */

static const struct {
	const char *section, *title;
} sections[] = {
	{ "data", "DATA OPTIONS" },	 { "model", "MODEL OPTIONS" },
	{ "train", "TRAINING OPTIONS" }, { "decode", "DECODING OPTIONS" },
	{ "tool", "OTHER OPTIONS" },
};

static void man_explain(const struct conf_option *o, struct buf *out)
{
	const char *former = alias_old_name(ALIAS_OPTION, o->name, 0);
	struct buf text = { 0 };

	conf_describe(o, &text);
	add_roff(out, buf_text(&text));
	buf_add_str(out, ".\n");
	for (size_t i = 0; i < conf_n_option_notes; i++)
		if (!strcmp(conf_option_notes[i].key, o->name)) {
			add_roff(out, conf_option_notes[i].text);
			buf_add_char(out, '\n');
		}
	if (former) {
		buf_add_str(out, "The former name ");
		add_roff(out, former);
		buf_add_str(out, " is accepted too.\nIf both names are given, the last one wins "
				 "on the command line, and the present name in\nthe environment; "
				 "a recipe with both is an error.\n");
	}
	buf_free_part(&text, out);
}

/* An option of the command line; letter: its short form; 0: none. */
static void man_option(const struct conf_option *o, char letter, struct buf *out)
{
	struct buf text = { 0 };
	const char *usage;

	conf_usage_of(o, letter, &text);
	usage = buf_text(&text);
	buf_add_str(out, ".TP\n.B ");
	add_roff(out, usage + strspn(usage, " "));
	buf_add_char(out, '\n');
	buf_free_part(&text, out);
	man_explain(o, out);
}

/* An option as a key of a recipe. */
static void man_key(const struct conf_option *o, struct buf *out)
{
	buf_add_str(out, ".TP\n.B ");
	add_roff(out, o->name);
	buf_add_str(out, " = ");
	add_roff(out, o->kind == CONF_BOOL ? "yes|no" : o->detail);
	buf_add_char(out, '\n');
	man_explain(o, out);
}

/* ---- parts that pages share ---- */

static void man_environment(struct buf *out)
{
	buf_add_str(out, ".SH ENVIRONMENT\n");
	conf_man_variables(out);
	buf_add_str(
		out,
		".TP\n.B WERKBANK_\\fINAME\\fR\nThe value of option NAME, in capitals and with _.\n"
		".TP\n.B NO_COLOR\nNo colours on the terminal.\n");
}

static void man_exit_status(struct buf *out)
{
	static const struct {
		const char *status, *text;
	} errors[] = {
#define X(id, status, text) { #status, text },
		ERR_CODES(X)
#undef X
	};

	buf_add_str(out, ".SH EXIT STATUS\n"
			 "0 for success, otherwise as in \\fBsysexits.h\\fR, and 79:\n");
	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		buf_printf(out, ".TP\n.B %s\n%s\n", errors[i].status, errors[i].text);
}

static void man_synopsis(const struct conf_command *cmd, struct buf *out)
{
	buf_add_str(out, ".B werkbank ");
	add_roff(out, cmd->name);
	buf_add_str(out, "\n[\\fIoption\\fR]...");
	if (*cmd->arguments) {
		buf_add_char(out, ' ');
		add_roff(out, cmd->arguments);
	}
	buf_add_char(out, '\n');
}

/* ---- werkbank(1) ---- */

/* A command in werkbank(1). Options of whole sections follow once, after all commands. */
static void man_command(const struct conf_command *cmd, struct buf *out)
{
	struct buf text = { 0 };
	int n = 0;

	buf_add_str(out, ".SS ");
	add_roff(out, cmd->name);
	buf_add_char(out, '\n');
	man_synopsis(cmd, out);
	buf_add_str(out, ".PP\n");
	conf_sentence(cmd->help, &text);
	add_roff(out, buf_text(&text));
	buf_add_char(out, '\n');
	if (*cmd->sections) {
		buf_add_str(out, "Takes the options of these sections of a recipe: ");
		add_roff(out, cmd->sections);
		buf_add_str(out, ".\n");
	}
	for (size_t i = 0; i < conf_n_options; i++)
		if (conf_has_word(cmd->options, conf_options[i].name)) {
			char dashed[CONF_NAME_MAX];

			buf_add_str(out, n++ ? ",\n" : "Options:\n");
			buf_add_str(out, "\\fB\\-\\-");
			add_roff(out, conf_dashed(conf_options[i].name, dashed));
			buf_add_str(out, "\\fR");
			if (conf_letter_of(cmd, &conf_options[i]) &&
			    !conf_letter_of(NULL,
					    &conf_options[i])) /* a letter of this command only */
				buf_printf(out, " (\\-%c)", conf_options[i].letter);
		}
	if (n)
		buf_add_str(out, ".\n");
	buf_free_part(&text, out);
}

static void man_all(struct buf *out)
{
	man_title(NULL, 1, "a workbench for machine translation", out);
	buf_add_str(out, ".SH SYNOPSIS\n"
			 ".B werkbank\n"
			 "[\\fIcommand\\fR] [\\fIoption\\fR]... [\\fIargument\\fR]...\n"
			 ".SH DESCRIPTION\n"
			 "Werkbank prepares parallel text, trains a Transformer on it, watches the "
			 "training,\n"
			 "evaluates and translates.\n"
			 "Without a command on a terminal it opens the workbench.\n"
			 "Results go to standard output, progress and remarks to standard error.\n"
			 ".PP\n"
			 "A value comes from, in rising order: the default, the recipe, the "
			 "environment, the\n"
			 "command line.\n"
			 ".SH COMMANDS\n"
			 "Each has a page of its own, \\fBwerkbank\\-\\fICOMMAND\\fR(1).\n");
	for (size_t i = 0; i < conf_n_commands; i++)
		if (conf_commands[i].name[0] != '_')
			man_command(&conf_commands[i], out);
	for (size_t t = 0; t < ARRAY_LEN(sections); t++) {
		buf_printf(out, ".SH %s\n", sections[t].title);
		for (size_t i = 0; i < conf_n_options; i++)
			if (!strcmp(conf_options[i].section, sections[t].section))
				man_option(&conf_options[i], conf_letter_of(NULL, &conf_options[i]),
					   out);
	}
	man_environment(out);
	buf_add_str(out,
		    ".SH FILES\n"
		    ".TP\n.I werkbank.d/corpora/NAME\nA prepared corpus.\n"
		    ".TP\n.I werkbank.d/runs/NAME\nA run: recipe.ini, state.json, journal.jsonl, "
		    "checkpoints.\n");
	man_exit_status(out);
	buf_add_str(out, ".SH SEE ALSO\n"
			 ".BR werkbank (7),\n"
			 ".BR werkbank\\-recipe (5),\n.BR werkbank\\-corpus (5),\n"
			 ".BR werkbank\\-manifest (5),\n.BR werkbank\\-run (5),\n"
			 ".BR werkbank\\-journal (5),\n.BR werkbank\\-checkpoint (5)\n");
}

/* ---- werkbank-COMMAND(1) ---- */

static void man_notes(const struct conf_command *cmd, struct buf *out)
{
	for (size_t i = 0; i < conf_n_command_notes; i++)
		if (!strcmp(conf_command_notes[i].about, cmd->name)) {
			buf_add_str(out, ".PP\n");
			add_roff(out, conf_command_notes[i].text);
			buf_add_char(out, '\n');
		}
}

/* The text for a word of a usage line: that of the command, else the general one; NULL: none. */
static const char *argument_text(const struct conf_command *cmd, const char *word)
{
	const char *text = NULL;

	for (size_t i = 0; i < conf_n_arguments; i++) {
		const struct conf_text *a = &conf_arguments[i];

		if (!strcmp(a->key, word) &&
		    (!strcmp(a->about, cmd->name) || (!text && !*a->about)))
			text = a->text;
	}
	return text;
}

static void man_arguments(const struct conf_command *cmd, struct buf *out)
{
	char words[200], *rest;
	bool is_titled = false;

	snprintf(words, sizeof(words), "%s", cmd->arguments);
	for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
		const char *text;

		w += strspn(w, "[");
		w[strcspn(w, "].")] = 0;
		text = argument_text(cmd, w);
		assert(text); /* t_conf.c: every word of a usage line is in manual.def */
		if (!is_titled)
			buf_add_str(out, ".SH ARGUMENTS\n");
		is_titled = true;
		buf_add_str(out, ".TP\n.I ");
		add_roff(out, w);
		buf_add_char(out, '\n');
		add_roff(out, text ? text : "");
		buf_add_char(out, '\n');
	}
}

static void man_group(const struct conf_command *cmd, enum conf_group group, struct buf *out)
{
	bool is_titled = false;

	for (size_t i = 0; i < conf_n_options; i++) {
		const struct conf_option *o = &conf_options[i];
		struct conf_option shown;

		if (!conf_command_accepts(cmd, cmd->program, o) || conf_group_of(cmd, o) != group)
			continue;
		if (!is_titled) {
			buf_add_str(out, ".SH ");
			add_upper(out, conf_group_title(cmd, group));
			buf_add_char(out, '\n');
		}
		is_titled = true;
		shown = conf_option_of(cmd, o);
		man_option(&shown, conf_letter_of(cmd, o), out);
	}
}

static void man_examples(const struct conf_command *cmd, struct buf *out)
{
	buf_add_str(out, ".SH EXAMPLES\n");
	for (size_t i = 0; i < conf_n_examples; i++) {
		const struct conf_text *x = &conf_examples[i];
		struct buf text = { 0 };

		if (strcmp(x->about, cmd->name))
			continue;
		buf_add_str(out, ".TP\n.B werkbank ");
		add_roff(out, cmd->name);
		if (*x->key)
			buf_add_char(out, ' ');
		add_roff(out, x->key);
		buf_add_char(out, '\n');
		conf_sentence(x->text, &text);
		add_roff(out, buf_text(&text));
		buf_add_char(out, '\n');
		buf_free_part(&text, out);
	}
}

static void man_one(const struct conf_command *cmd, struct buf *out)
{
	struct buf text = { 0 };

	man_title(cmd->name, 1, cmd->help, out);
	buf_add_str(out, ".SH SYNOPSIS\n");
	man_synopsis(cmd, out);
	buf_add_str(out, ".SH DESCRIPTION\n");
	conf_sentence(cmd->help, &text);
	add_roff(out, buf_text(&text));
	buf_add_char(out, '\n');
	buf_free_part(&text, out);
	if (*cmd->sections)
		buf_add_str(out,
			    ".PP\nThe value of an option comes from the command line, else from "
			    "the environment, else\nfrom the recipe, else it is the default.\n");
	man_notes(cmd, out);
	man_arguments(cmd, out);
	for (int g = 0; g < CONF_N_GROUPS; g++)
		man_group(cmd, (enum conf_group)g, out);
	man_examples(cmd, out);
	man_exit_status(out);
	buf_add_str(out, ".SH SEE ALSO\n.BR werkbank (1),\n.BR werkbank (7)");
	if (*cmd->sections)
		buf_add_str(out, ",\n.BR werkbank\\-recipe (5)");
	if (conf_has_word(cmd->options, "run"))
		buf_add_str(out, ",\n.BR werkbank\\-run (5)");
	if (!strcmp(cmd->name, "train") || !strcmp(cmd->name, "stop") || !strcmp(cmd->name, "job"))
		buf_add_str(out, ",\n.BR werkbank\\-signals (7)");
	buf_add_char(out, '\n');
}

/* ---- werkbank-recipe(5) ---- */

static void man_recipe(struct buf *out)
{
	static const char *const titles[] = { "DATA", "MODEL", "TRAIN", "DECODE" };

	man_title("recipe", 5, "options of a corpus, a model and its training", out);
	buf_add_str(
		out,
		".SH DESCRIPTION\n"
		"A recipe is a text file with sections and keys, in UTF\\-8, at most 1 MiB:\n"
		".PP\n.nf\n"
		"[recipe]\n"
		"include = demo\n"
		"[train]\n"
		"steps = 20000    # a comment\n"
		".fi\n.PP\n"
		"A key is the name of an option, with _ or \\- between its words.\n"
		"Each key has a section, listed below, and may be set once in a file.\n"
		"A comment begins with # or ; at the start of a line or after a blank.\n"
		"A value may be in \"double quotes\"; inside them, \\e\", \\e\\e and \\en mean a "
		"quote, "
		"a\nbackslash and a line feed.\n"
		"Items of a list are separated by blanks.\n"
		"\\fB${NAME}\\fR is replaced by the environment variable NAME, which must be "
		"set;\n"
		"only a recipe that a command names, and recipes that it includes, may use it.\n"
		"A relative path in [data] names a file in the folder of the recipe or, if there "
		"is none,\n"
		"in the current folder.\n"
		".PP\n"
		"If the argument RECIPE of a command has a slash or ends in .ini, it is the path "
		"of a recipe.\n"
		"Otherwise it is the name of a shipped recipe.\n"
		"The name of the recipe is the default name of the corpus and of the run.\n"
		".SH RECIPE\n"
		".TP\n.B include = NAME\nLoad another recipe first. Keys of this "
		"file override it.\nIncluded recipes may include others, up to 8 levels.\n"
		".TP\n.B description = TEXT\nA remark for readers; it has no effect.\n");
	for (size_t t = 0; t < ARRAY_LEN(titles); t++) {
		buf_printf(out, ".SH %s\n", titles[t]);
		for (size_t i = 0; i < conf_n_options; i++)
			if (!strcmp(conf_options[i].section, sections[t].section))
				man_key(&conf_options[i], out);
	}
	buf_add_str(
		out,
		".SH RESOLVED RECIPES\n"
		"The file recipe.ini of a corpus, a run or a model has the values of all options "
		"of these\n"
		"sections, each with a comment that names the source of the value.\n"
		"Its first line begins with \\fB# werkbank recipe, resolved\\fR.\n"
		"It can be loaded like any recipe.\n"
		".SH FILES\n"
		".TP\n.I recipes/NAME.ini\nA shipped recipe, in WERKBANK_SHARE or the "
		"installation's share folder.\n"
		".SH SEE ALSO\n"
		".BR werkbank (1),\n.BR werkbank\\-prep (1),\n.BR werkbank\\-train (1),\n"
		".BR werkbank\\-manifest (5)\n");
}

int conf_man_page(const char *page, struct buf *out, struct err *e)
{
	const struct conf_command *cmd = page ? conf_find_command(page) : NULL;

	if (!page)
		man_all(out);
	else if (cmd && cmd->name[0] != '_')
		man_one(cmd, out);
	else if (!strcmp(page, "recipe"))
		man_recipe(out);
	else
		return err_set(e, ERR_USAGE, "'%s' is neither a command nor \"recipe\"", page);
	return buf_check(out, e);
}
