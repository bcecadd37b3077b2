/*
 * help_complete.c - completion scripts for bash, zsh and fish; see help.h
 *
 * Commands, options, choices and the arguments of commands ("pbs|slurm RECIPE") are written into
 * the script. For names of runs, corpora and recipes, the script calls "werkbank _names KIND".
 */
#include "config.h"

#include "share/help/help.h"

#include <assert.h>
#include <string.h>

#include "share/base/text.h"
#include "share/help/help_internal.h"

/* ---- words to complete ---- */

/* Append "a|b|c" as "a b c", without words in capitals: they are placeholders. */
static void add_choice_words(const char *choices, struct buf *out)
{
	const char *at, *space = "";
	size_t n;

	for (int i = 0; (at = conf_choice(choices, i, &n)) != NULL; i++)
		if (*at < 'A' || *at > 'Z') {
			buf_printf(out, "%s%.*s", space, (int)n, at);
			space = " ";
		}
}

static void add_command_names(struct buf *out)
{
	const char *space = "";

	for (size_t i = 0; i < conf_n_commands; i++)
		if (!conf_is_hidden(&conf_commands[i])) {
			buf_printf(out, "%s%s", space, conf_commands[i].name);
			space = " ";
		}
}

/* Placeholders of usage lines, and the kind of names that "werkbank _names" lists for them. */
static const struct {
	const char *word, *kind;
} named[] = {
	{ "RUN", "runs" },
	{ "CORPUS", "corpora" },
	{ "RECIPE", "recipes" },
	{ "MANIFEST", "manifests" },
};

const char *conf_names_of_option(const struct conf_option *o)
{
	if (!strcmp(o->name, "run") || (o->kind == CONF_STR && text_starts_with(o->detail, "RUN")))
		return "runs";
	return strcmp(o->name, "corpus") ? NULL : "corpora";
}

const char *conf_argument_at(const struct conf_command *cmd, int i, struct buf *choices)
{
	char words[200], *at, *word, *rest;

	assert(strlen(cmd->arguments) < sizeof(words));
	snprintf(words, sizeof(words), "%s", cmd->arguments);
	word = strtok_r(words, " ", &rest);
	while (word && i-- > 0)
		word = strtok_r(NULL, " ", &rest);
	if (!word)
		return NULL;
	word += strspn(word, "[");
	at = word + strcspn(word, "].");
	*at = 0;
	/* of RUN|ADDRESS, names of runs */
	for (size_t k = 0; k < ARRAY_LEN(named); k++)
		if (strlen(named[k].word) == strcspn(word, "|") &&
		    text_starts_with(word, named[k].word))
			return named[k].kind;
	if (!strcmp(word, "COMMAND"))
		add_command_names(choices);
	else if (*word >= 'a' && *word <= 'z')
		add_choice_words(word, choices);
	return NULL;
}

#define MAX_ARGUMENTS 3 /* arguments of a command that are completed */

/* Append text for single quotes of a shell; spec: for zsh, with \ before : [ ] and \. */
static void add_shell_quoted(struct buf *out, const char *text, bool spec)
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

/* ---- bash ---- */

/* Append the options of a command as words: --name, --no-name. */
static void add_option_words(const struct conf_command *cmd, struct buf *out)
{
	const char *space = "";

	for (size_t i = 0; i < conf_n_options; i++) {
		const struct conf_option *o = &conf_options[i];
		char dashed[CONF_NAME_MAX];

		if (!conf_command_accepts(cmd, cmd->program, o))
			continue;
		buf_printf(out, "%s--%s", space, conf_dashed(o->name, dashed));
		if (o->kind == CONF_BOOL && o->def != 0)
			buf_printf(out, " --no-%s", dashed);
		space = " ";
	}
}

/* Append "--name", or "-n | --name" if no earlier option has the letter. */
static void bash_pattern(const struct conf_option *o, struct buf *out)
{
	char dashed[CONF_NAME_MAX];
	char letter = conf_letter_of(NULL, o);

	if (letter)
		buf_printf(out, "-%c | ", letter);
	buf_printf(out, "--%s", conf_dashed(o->name, dashed));
}

static const char bash_head[] =
	"# bash completion of werkbank, made by werkbank _completion bash\n"
	"# shellcheck shell=bash\n"
	"_werkbank()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	"\tlocal command='' words='' kind='' folder='' offer=(+o default) word i n=0\n"
	"\tCOMPREPLY=()\n"
	"\t# \"--name=value\" comes as three words\n"
	"\tif [[ $cur == = ]]; then\n"
	"\t\tcur=''\n"
	"\telif [[ $prev == = ]]; then\n"
	"\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n"
	"\tfi\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\tword=${COMP_WORDS[i]}\n"
	"\t\tcase $word in\n";

/* The loop that finds the command, the workspace and the number of arguments before the cursor. */
static void bash_walk(struct buf *out)
{
	const char *bar = "\t\t";

	buf_add_str(out, bash_head);
	for (size_t i = 0; i < conf_n_options; i++) {
		if (conf_options[i].kind == CONF_BOOL)
			continue;
		buf_add_str(out, bar);
		bash_pattern(&conf_options[i], out);
		bar = " | ";
	}
	buf_add_str(out,
		    ")\n"
		    "\t\t\t[[ ${COMP_WORDS[i+1]} == = ]] && ((i++))\n"
		    "\t\t\t((i++))\n"
		    "\t\t\tcase $word in -C | --workspace) folder=${COMP_WORDS[i]} ;; esac ;;\n"
		    "\t\t-*) ;;\n"
		    "\t\t*)\n"
		    "\t\t\tif [[ -z $command ]]; then command=$word; else ((n++)); fi ;;\n"
		    "\t\tesac\n"
		    "\tdone\n");
}

static bool has_path(const struct conf_option *o)
{
	return o->path != CONF_PATH_NONE && o->path != CONF_PATH_FOLDER;
}

/* Options whose values are paths of one kind: what bash offers then. */
static void bash_paths(bool folders, const char *offer, struct buf *out)
{
	const char *bar = "\t";

	for (size_t i = 0; i < conf_n_options; i++) {
		const struct conf_option *o = &conf_options[i];

		if (conf_has_choices(o) || conf_names_of_option(o) ||
		    !(folders ? o->path == CONF_PATH_FOLDER : has_path(o)))
			continue;
		buf_add_str(out, bar);
		bash_pattern(o, out);
		bar = " | ";
	}
	buf_printf(out, ") offer=(%s) ;;\n", offer);
}

/* Completion of the value of an option: choices, names, or a path; nothing for a number or text. */
static void bash_values(struct buf *out)
{
	buf_add_str(out, "\tcase $prev in\n");
	bash_paths(false, "-o default", out);
	bash_paths(true, "+o default -o dirnames", out);
	for (size_t i = 0; i < conf_n_options; i++) {
		const struct conf_option *o = &conf_options[i];

		if (!conf_has_choices(o) && !conf_names_of_option(o))
			continue;
		buf_add_str(out, "\t");
		bash_pattern(o, out);
		if (conf_has_choices(o)) {
			buf_add_str(out, ") words='");
			add_choice_words(o->detail, out);
			buf_add_str(out, "' ;;\n");
		} else {
			buf_printf(out, ") kind=%s ;;\n", conf_names_of_option(o));
		}
	}
	buf_add_str(out, "\tesac\n"
			 "\tif [[ -z $words$kind ]] && ((i > COMP_CWORD)); then\n"
			 "\t\tcompopt \"${offer[@]}\" 2>/dev/null\n"
			 "\t\treturn\n"
			 "\tfi\n");
}

static void bash_command(const struct conf_command *cmd, struct buf *out)
{
	buf_printf(out, "\t\t%s:*:-*) words='", cmd->name);
	add_option_words(cmd, out);
	buf_add_str(out, "' ;;\n");
	for (int i = 0; i < MAX_ARGUMENTS; i++) {
		struct buf choices = { 0 };
		const char *kind = conf_argument_at(cmd, i, &choices);

		if (kind)
			buf_printf(out, "\t\t%s:%d:*) kind=%s ;;\n", cmd->name, i, kind);
		else if (choices.len)
			buf_printf(out, "\t\t%s:%d:*) words='%s' ;;\n", cmd->name, i,
				   buf_text(&choices));
		buf_free_part(&choices, out);
	}
}

static void complete_bash(struct buf *out)
{
	bash_walk(out);
	bash_values(out);
	buf_add_str(out, "\tif [[ -z $command && -z $words$kind ]]; then\n\t\twords='");
	add_command_names(out);
	buf_add_str(out, " --help --version'\n"
			 "\telif [[ -z $words$kind ]]; then\n"
			 "\t\tcase $command:$n:$cur in\n");
	for (size_t i = 0; i < conf_n_commands; i++)
		if (!conf_is_hidden(&conf_commands[i]))
			bash_command(&conf_commands[i], out);
	buf_add_str(
		out,
		"\t\tesac\n"
		"\tfi\n"
		"\tif [[ -n $kind ]]; then\n"
		"\t\twords=$(\"${COMP_WORDS[0]/#~/$HOME}\" _names ${folder:+-C \"$folder\"} $kind "
		"2>/dev/null)\n"
		"\tfi\n"
		"\tif [[ -n $words ]]; then\n"
		"\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
		"\tfi\n"
		"\tif [[ $kind == recipes ]]; then\n"
		"\t\tmapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -X '!*.ini' -- "
		"\"$cur\")\n"
		"\tfi\n"
		"}\n"
		"complete -o default -F _werkbank werkbank\n");
}

/* ---- zsh ---- */

/* Append ":description:action" for an option with a value. */
static void zsh_value(const struct conf_option *o, const char *dashed, struct buf *out)
{
	if (o->kind == CONF_BOOL)
		return;
	if (conf_has_choices(o)) {
		buf_printf(out, ":%s:(", dashed);
		add_choice_words(o->detail, out);
		buf_add_char(out, ')');
	} else if (conf_names_of_option(o)) {
		buf_printf(out, ":%s:_werkbank_names %s", dashed, conf_names_of_option(o));
	} else if (o->path == CONF_PATH_FOLDER) {
		buf_printf(out, ":%s:_files -/", dashed);
	} else {
		buf_printf(out, ":%s:%s", dashed, has_path(o) ? "_files" : " ");
	}
}

/* Append one spec for each way to write the option. */
static void zsh_option(const struct conf_command *cmd, const struct conf_option *o, struct buf *out)
{
	const struct conf_option shown = conf_option_of(cmd, o);
	char dashed[CONF_NAME_MAX], name[2][CONF_NAME_MAX + 8];
	char letter = conf_letter_of(cmd, o);
	int n = 0;

	conf_dashed(o->name, dashed);
	snprintf(name[n++], sizeof(name[0]), "--%s%s", dashed, o->kind == CONF_BOOL ? "" : "=");
	if (letter)
		snprintf(name[n++], sizeof(name[0]), "-%c%s", letter,
			 o->kind == CONF_BOOL ? "" : "+");
	else if (o->kind == CONF_BOOL && o->def != 0)
		snprintf(name[n++], sizeof(name[0]), "--no-%s", dashed);
	for (int i = 0; i < n; i++) {
		buf_add_str(out, " \\\n\t\t'");
		if (o->kind == CONF_LIST)
			buf_add_char(out, '*');
		else if (letter)
			buf_printf(out, "(-%c --%s)", letter, dashed);
		buf_printf(out, "%s[", name[i]);
		add_shell_quoted(out, shown.help, true);
		buf_add_char(out, ']');
		zsh_value(&shown, dashed, out);
		buf_add_char(out, '\'');
	}
}

static void zsh_command(const struct conf_command *cmd, struct buf *out)
{
	buf_printf(out, "%s)\n\tshift words; (( CURRENT-- ))\n\t_arguments -s", cmd->name);
	for (size_t i = 0; i < conf_n_options; i++)
		if (conf_command_accepts(cmd, cmd->program, &conf_options[i]))
			zsh_option(cmd, &conf_options[i], out);
	for (int i = 0; i < MAX_ARGUMENTS; i++) {
		struct buf choices = { 0 };
		const char *kind = conf_argument_at(cmd, i, &choices);

		if (kind)
			buf_printf(out, " \\\n\t\t'%d:%s:_werkbank_names %s'", i + 1, kind, kind);
		else if (choices.len)
			buf_printf(out, " \\\n\t\t'%d:what:(%s)'", i + 1, buf_text(&choices));
		buf_free_part(&choices, out);
	}
	buf_add_str(out, " \\\n\t\t'*:file:_files'\n\t;;\n");
}

static void complete_zsh(struct buf *out)
{
	buf_add_str(
		out,
		"#compdef werkbank\n"
		"# zsh completion of werkbank, made by werkbank _completion zsh\n"
		"local werkbank_program=${(Q)words[1]/#\\~/$HOME}\n"
		"local -a werkbank_folder\n"
		"local -i werkbank_at=${words[(I)(-C|--workspace)]}\n"
		"(( werkbank_at )) && werkbank_folder=(-C ${(Q)words[werkbank_at+1]/#\\~/$HOME})\n"
		"(( $+functions[_werkbank_names] )) || _werkbank_names() {\n"
		"\tlocal -a names\n"
		"\tnames=(${(f)\"$($werkbank_program _names $werkbank_folder ${@[-1]} "
		"2>/dev/null)\"})\n"
		"\tcompadd \"${@[1,-2]}\" -a names\n"
		"\t[[ ${@[-1]} != recipes ]] || _files -g '*.ini'\n"
		"}\n"
		"if (( CURRENT == 2 )); then\n\tlocal -a commands=(\n");
	for (size_t i = 0; i < conf_n_commands; i++) {
		if (conf_is_hidden(&conf_commands[i]))
			continue;
		buf_printf(out, "\t'%s:", conf_commands[i].name);
		add_shell_quoted(out, conf_commands[i].help, true);
		buf_add_str(out, "'\n");
	}
	buf_add_str(out, "\t)\n\t_describe command commands\n\treturn\nfi\ncase $words[2] in\n");
	for (size_t c = 0; c < conf_n_commands; c++)
		if (!conf_is_hidden(&conf_commands[c]))
			zsh_command(&conf_commands[c], out);
	buf_add_str(out, "esac\n");
}

/* ---- fish ---- */

static void fish_option(const struct conf_command *cmd, const struct conf_option *o,
			struct buf *out)
{
	const struct conf_option shown = conf_option_of(cmd, o);
	char dashed[CONF_NAME_MAX];

	buf_printf(out, "complete -c werkbank -n '__werkbank_does %s' -l %s", cmd->name,
		   conf_dashed(o->name, dashed));
	if (conf_letter_of(cmd, o))
		buf_printf(out, " -s %c", o->letter);
	if (conf_has_choices(&shown)) {
		buf_add_str(out, " -x -a '");
		add_choice_words(shown.detail, out);
		buf_add_char(out, '\'');
	} else if (conf_names_of_option(o)) {
		buf_printf(out, " -x -a '(__werkbank_names %s)'", conf_names_of_option(o));
	} else if (o->path == CONF_PATH_FOLDER) {
		buf_add_str(out, " -x -a '(__fish_complete_directories)'");
	} else if (o->kind != CONF_BOOL) {
		buf_add_str(out, has_path(o) ? " -r -F" : " -x");
	}
	buf_add_str(out, " -d '");
	add_shell_quoted(out, shown.help, false);
	buf_add_str(out, "'\n");
	if (o->kind == CONF_BOOL && o->def != 0)
		buf_printf(out, "complete -c werkbank -n '__werkbank_does %s' -l no-%s\n",
			   cmd->name, dashed);
}

static void fish_command(const struct conf_command *cmd, struct buf *out)
{
	buf_printf(out, "complete -c werkbank -n __werkbank_begins -f -a %s -d '", cmd->name);
	add_shell_quoted(out, cmd->help, false);
	buf_add_str(out, "'\n");
	for (size_t i = 0; i < conf_n_options; i++)
		if (conf_command_accepts(cmd, cmd->program, &conf_options[i]))
			fish_option(cmd, &conf_options[i], out);
	for (int i = 0; i < MAX_ARGUMENTS; i++) {
		struct buf choices = { 0 };
		const char *kind = conf_argument_at(cmd, i, &choices);

		if (kind)
			buf_printf(out,
				   "complete -c werkbank -n '__werkbank_does %s %d' %s-a "
				   "'(__werkbank_names %s)'\n",
				   cmd->name, i, strcmp(kind, "recipes") ? "-f " : "", kind);
		else if (choices.len)
			buf_printf(out,
				   "complete -c werkbank -n '__werkbank_does %s %d' -f -a '%s'\n",
				   cmd->name, i, buf_text(&choices));
		buf_free_part(&choices, out);
	}
}

static void complete_fish(struct buf *out)
{
	const char *space = " ";

	buf_add_str(out,
		    "# fish completion of werkbank, made by werkbank _completion fish\n"
		    "function __werkbank_begins\n"
		    "\ttest (count (commandline -opc)) -eq 1\n"
		    "end\n"
		    "# __werkbank_does COMMAND [N]: it is this command, with N arguments so far\n"
		    "function __werkbank_does\n"
		    "\tset -l line (commandline -opc)\n"
		    "\ttest (count $line) -ge 2; and test $line[2] = $argv[1]; or return 1\n"
		    "\ttest (count $argv) -eq 1; and return 0\n"
		    "\tset -l n 0\n"
		    "\tset -l value no\n"
		    "\tfor word in $line[3..-1]\n"
		    "\t\tif test $value = yes\n"
		    "\t\t\tset value no\n"
		    "\t\telse if contains -- $word");
	for (size_t i = 0; i < conf_n_options; i++) {
		char dashed[CONF_NAME_MAX];

		if (conf_options[i].kind == CONF_BOOL)
			continue;
		buf_printf(out, "%s--%s", space, conf_dashed(conf_options[i].name, dashed));
		if (conf_letter_of(NULL, &conf_options[i]))
			buf_printf(out, " -%c", conf_options[i].letter);
	}
	buf_add_str(out, "\n"
			 "\t\t\tset value yes\n"
			 "\t\telse if not string match -q -- '-*' $word\n"
			 "\t\t\tset n (math $n + 1)\n"
			 "\t\tend\n"
			 "\tend\n"
			 "\ttest $n -eq $argv[2]\n"
			 "end\n"
			 "function __werkbank_names\n"
			 "\tset -l line (commandline -opc)\n"
			 "\tset -l folder\n"
			 "\tfor i in (seq 2 (math (count $line) - 1))\n"
			 "\t\tif contains -- $line[$i] -C --workspace\n"
			 "\t\t\tset folder -C $line[(math $i + 1)]\n"
			 "\t\tend\n"
			 "\tend\n"
			 "\t$line[1] _names $folder $argv[1] 2>/dev/null\n"
			 "end\n");
	for (size_t c = 0; c < conf_n_commands; c++)
		if (!conf_is_hidden(&conf_commands[c]))
			fish_command(&conf_commands[c], out);
}

int conf_completion(const char *shell, struct buf *out, struct err *e)
{
	if (!strcmp(shell, "bash"))
		complete_bash(out);
	else if (!strcmp(shell, "zsh"))
		complete_zsh(out);
	else if (!strcmp(shell, "fish"))
		complete_fish(out);
	else
		return err_set(e, ERR_USAGE, "'%s' is not one of bash, zsh, fish", shell);
	return buf_check(out, e);
}
