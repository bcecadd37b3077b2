/* conf_docs.c - see conf.h: the man page and the completion of shells. */
#include "config.h"

#include "share/base/conf.h"

#include <string.h>

#include "share/base/conf_internal.h"

/* ---- man page ---- */

/* Text for roff: - is a minus, \ and a leading . or ' are made plain. */
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

static void man_option(const struct conf_option *o, struct buf *out)
{
	struct buf text = { 0 };
	const char *usage;

	conf_usage_of(o, conf_letter_of(NULL, o), &text);
	usage = buf_text(&text);
	buf_add_str(out, ".TP\n.B ");
	add_roff(out, usage + strspn(usage, " "));
	buf_add_char(out, '\n');
	buf_clear(&text);
	conf_describe(o, &text);
	add_roff(out, buf_text(&text));
	buf_add_str(out, ".\n");
	buf_free(&text);
}

/* The options of one command that come singly; sections are described once, further down. */
static void man_command(const struct conf_command *cmd, struct buf *out)
{
	struct buf text = { 0 };
	int n = 0;

	buf_add_str(out, ".SS ");
	add_roff(out, cmd->name);
	buf_add_str(out, "\n.B werkbank ");
	add_roff(out, cmd->name);
	buf_add_str(out, "\n[\\fIoption\\fR]... ");
	add_roff(out, cmd->arguments);
	buf_add_str(out, "\n.PP\n");
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
			    !conf_letter_of(NULL, &conf_options[i]))	/* only here */
				buf_printf(out, " (\\-%c)", conf_options[i].letter);
		}
	if (n)
		buf_add_str(out, ".\n");
	buf_free(&text);
}

static void man_head(struct buf *out)
{
	buf_printf(out, ".\\\" Made by werkbank _man from the tables of options and commands.\n"
			".TH WERKBANK 1 \"\" \"werkbank %s\" \"User Commands\"\n", PACKAGE_VERSION);
	buf_add_str(out, ".SH NAME\n"
			 "werkbank \\- a workbench for machine translation\n"
			 ".SH SYNOPSIS\n"
			 ".B werkbank\n"
			 "[\\fIcommand\\fR] [\\fIoption\\fR]... [\\fIargument\\fR]...\n"
			 ".SH DESCRIPTION\n"
			 "Werkbank prepares parallel text, trains a Transformer on it, watches the "
			 "training,\n"
			 "evaluates and translates.\n"
			 "Without a command on a terminal it opens the workbench.\n"
			 "Results go to standard output, progress and remarks to standard error.\n"
			 ".SH COMMANDS\n");
}

static void man_tail(struct buf *out)
{
	static const struct { const char *name, *text; } errors[] = {
#define X(id, status, text) { #status, text },
		ERR_CODES(X)
#undef X
	};

	buf_add_str(
		out,
		".SH RECIPES\n"
		"A recipe is a text file of sections and keys:\n"
		".PP\n.nf\n"
		"[train]\n"
		"steps = 20000    # a comment\n"
		".fi\n.PP\n"
		"A key is the name of an option, written with _ or \\-.\n"
		"\\fIinclude = NAME\\fR under [recipe] loads another recipe first; ${NAME} is "
		"replaced from the\n"
		"environment.\n"
		"A value comes from, in rising order: the default, the recipe, the environment, "
		"the\n"
		"command line.\n"
		".SH ENVIRONMENT\n"
		".TP\n.B WERKBANK_HOME\nThe workspace, where \\-C is not given.\n"
		".TP\n.B WERKBANK_SHARE\nThe folder of shipped recipes and corpus manifests.\n"
		".TP\n.B WERKBANK_\\fINAME\\fR\nThe value of option NAME, in capitals and with _.\n"
		".TP\n.B NO_COLOR\nNo colours on the terminal.\n"
		".SH FILES\n"
		".TP\n.I werkbank.d/corpora/NAME\nA prepared corpus.\n"
		".TP\n.I werkbank.d/runs/NAME\nA run: recipe.ini, state.json, journal.jsonl, "
		"checkpoints.\n"
		".SH EXIT STATUS\n"
		"0 for success, otherwise as in \\fBsysexits.h\\fR:\n");
	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		buf_printf(out, ".TP\n.B %s\n%s\n", errors[i].name, errors[i].text);
}

void conf_man_page(struct buf *out)
{
	static const struct { const char *section, *title;
	} titles[] = {
		{"data", "DATA OPTIONS"},      {"model", "MODEL OPTIONS"},
		{"train", "TRAINING OPTIONS"}, {"decode", "DECODING OPTIONS"},
		{"tool", "OTHER OPTIONS"},
	};

	man_head(out);
	for (size_t i = 0; i < conf_n_commands; i++)
		if (conf_commands[i].name[0] != '_')
			man_command(&conf_commands[i], out);
	for (size_t t = 0; t < ARRAY_LEN(titles); t++) {
		buf_printf(out, ".SH %s\n", titles[t].title);
		for (size_t i = 0; i < conf_n_options; i++)
			if (!strcmp(conf_options[i].section, titles[t].section))
				man_option(&conf_options[i], out);
	}
	man_tail(out);
}

/* ---- completion ---- */

/* The options of a command as words: --name, --no-name. */
static void add_words(const struct conf_command *cmd, struct buf *out)
{
	for (size_t i = 0; i < conf_n_options; i++) {
		const struct conf_option *o = &conf_options[i];
		char dashed[CONF_NAME_MAX];

		if (!conf_command_takes(cmd, cmd->program, o))
			continue;
		buf_printf(out, " --%s", conf_dashed(o->name, dashed));
		if (o->kind == CONF_BOOL && o->def != 0)
			buf_printf(out, " --no-%s", dashed);
	}
}

static void add_command_names(struct buf *out)
{
	for (size_t i = 0; i < conf_n_commands; i++)
		if (conf_commands[i].name[0] != '_')
			buf_printf(out, " %s", conf_commands[i].name);
}

/* "a|b|c" as "a b c"; words in capitals stand for something else and are left out. */
static void add_choices(const char *choices, struct buf *out)
{
	const char *at;
	size_t n;

	for (int i = 0; (at = conf_choice(choices, i, &n)) != NULL; i++)
		if (*at < 'A' || *at > 'Z')
			buf_printf(out, " %.*s", (int)n, at);
}

static bool has_choices(const struct conf_option *o)
{
	return o->kind == CONF_ENUM ||
	       (o->kind == CONF_STR && o->detail && strchr(o->detail, '|') && o->detail[0] >= 'a');
}

static void bash(struct buf *out)
{
	buf_add_str(out,
		"# bash completion of werkbank, made by werkbank _completion bash\n"
		"_werkbank()\n{\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
		"\tCOMPREPLY=()\n"
		"\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
		"\t\tmapfile -t COMPREPLY < <(compgen -W '");
	add_command_names(out);
	buf_add_str(out, " --help --version' -- \"$cur\")\n\t\treturn\n\tfi\n\tcase $prev in\n");
	for (size_t i = 0; i < conf_n_options; i++) {
		char dashed[CONF_NAME_MAX];

		if (!has_choices(&conf_options[i]))
			continue;
		buf_printf(out, "\t--%s) words='", conf_dashed(conf_options[i].name, dashed));
		add_choices(conf_options[i].detail, out);
		buf_add_str(out, "' ;;\n");
	}
	buf_add_str(out, "\t--run) words=$(cd \"${WERKBANK_HOME:-werkbank.d}/runs\" 2>/dev/null && "
			 "echo *) ;;\n"
			 "\tesac\n"
			 "\tif [ -z \"$words\" ]; then\n"
			 "\t\tcase $cur in\n"
			 "\t\t-*) case ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; i < conf_n_commands; i++) {
		if (conf_commands[i].name[0] == '_')
			continue;
		buf_printf(out, "\t\t\t%s) words='", conf_commands[i].name);
		add_words(&conf_commands[i], out);
		buf_add_str(out, "' ;;\n");
	}
	buf_add_str(out,
		"\t\t\tesac ;;\n"
		"\t\tesac\n"
		"\tfi\n"
		"\tif [ -n \"$words\" ]; then\n"
		"\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
		"\tfi\n"
		"}\n"
		"complete -o default -F _werkbank werkbank\n");
}

/* Text inside single quotes of a shell; zsh's specs also need \ before : [ ]. */
static void add_quoted(struct buf *out, const char *text, bool spec)
{
	for (; *text; text++) {
		if (*text == '\'')
			buf_add_str(out, "'\\''");
		else if (spec && strchr(":[]\\", *text))
			buf_printf(out, "\\%c", *text);
		else
			buf_add_char(out, *text);
	}
}

static void zsh(struct buf *out)
{
	buf_add_str(out, "#compdef werkbank\n# zsh completion of werkbank, made by werkbank "
			 "_completion zsh\n"
			 "if (( CURRENT == 2 )); then\n\tlocal -a commands=(\n");
	for (size_t i = 0; i < conf_n_commands; i++) {
		if (conf_commands[i].name[0] == '_')
			continue;
		buf_printf(out, "\t'%s:", conf_commands[i].name);
		add_quoted(out, conf_commands[i].help, true);
		buf_add_str(out, "'\n");
	}
	buf_add_str(out, "\t)\n\t_describe command commands\n\treturn\nfi\ncase $words[2] in\n");
	for (size_t c = 0; c < conf_n_commands; c++) {
		if (conf_commands[c].name[0] == '_')
			continue;
		buf_printf(out, "%s)\n\tshift words; (( CURRENT-- ))\n\t_arguments",
			   conf_commands[c].name);
		for (size_t i = 0; i < conf_n_options; i++) {
			const struct conf_option *o = &conf_options[i];
			char dashed[CONF_NAME_MAX];

			if (!conf_command_takes(&conf_commands[c], conf_commands[c].program, o))
				continue;
			buf_printf(out, " \\\n\t\t'%s--%s%s[", o->kind == CONF_LIST ? "*" : "",
				   conf_dashed(o->name, dashed), o->kind == CONF_BOOL ? "" : "=");
			add_quoted(out, o->help, true);
			buf_add_char(out, ']');
			if (has_choices(o)) {
				buf_printf(out, ":%s:(", dashed);
				add_choices(o->detail, out);
				buf_add_char(out, ')');
			} else if (o->kind != CONF_BOOL) {
				buf_printf(out, ":%s:_files", dashed);
			}
			buf_add_char(out, '\'');
		}
		buf_add_str(out, " \\\n\t\t'*:file:_files'\n\t;;\n");
	}
	buf_add_str(out, "esac\n");
}

static void fish(struct buf *out)
{
	buf_add_str(out, "# fish completion of werkbank, made by werkbank _completion fish\n");
	for (size_t c = 0; c < conf_n_commands; c++) {
		const struct conf_command *cmd = &conf_commands[c];

		if (cmd->name[0] == '_')
			continue;
		buf_printf(out, "complete -c werkbank -n __fish_use_subcommand -a %s -d '",
			   cmd->name);
		add_quoted(out, cmd->help, false);
		buf_add_str(out, "'\n");
		for (size_t i = 0; i < conf_n_options; i++) {
			const struct conf_option *o = &conf_options[i];
			char dashed[CONF_NAME_MAX];

			if (!conf_command_takes(cmd, cmd->program, o))
				continue;
			buf_printf(out,
				   "complete -c werkbank -n '__fish_seen_subcommand_from %s' -l %s",
				   cmd->name, conf_dashed(o->name, dashed));
			if (conf_letter_of(cmd, o))
				buf_printf(out, " -s %c", o->letter);
			if (o->kind != CONF_BOOL)
				buf_add_str(out, " -r");
			if (has_choices(o)) {
				buf_add_str(out, " -a '");
				add_choices(o->detail, out);
				buf_add_char(out, '\'');
			}
			buf_add_str(out, " -d '");
			add_quoted(out, o->help, false);
			buf_add_str(out, "'\n");
		}
	}
}

int conf_completion(const char *shell, struct buf *out, struct err *e)
{
	if (!strcmp(shell, "bash"))
		bash(out);
	else if (!strcmp(shell, "zsh"))
		zsh(out);
	else if (!strcmp(shell, "fish"))
		fish(out);
	else
		return err_set(e, ERR_USAGE, "'%s' is not one of bash, zsh, fish", shell);
	return buf_check(out, e);
}
