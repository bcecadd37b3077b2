/* help.c - what --help and --version print; see help.h */
#include "config.h"

#include "share/help/help.h"

#include <ctype.h>
#include <string.h>

#include "share/base/file.h"
#include "share/help/help_internal.h"

#define HELP_WIDTH     80 /* columns */
#define HELP_INDENT    30 /* where explanations begin */
#define COMMAND_INDENT 16
#define VALUES_WIDTH   60 /* longest list of values beside the name of an option */

/* The words of a text in columns indent..HELP_WIDTH; the line is at column indent already. */
static void help_wrap_words(struct buf *out, const char *text, size_t indent)
{
	size_t column = indent;

	while (*(text += strspn(text, " "))) {
		size_t n = strcspn(text, " ");

		if (column > indent && column + 1 + n > HELP_WIDTH) {
			buf_printf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			buf_add_char(out, ' ');
			column++;
		}
		buf_add(out, text, n);
		column += n;
		text += n;
	}
	buf_add_char(out, '\n');
}

/* The same after `column` columns of a line; on the next line if they are too many. */
static void help_add_wrapped(struct buf *out, const char *text, size_t column, size_t indent)
{
	if (column + 2 > indent && column > 0) {
		buf_add_char(out, '\n');
		column = 0;
	}
	buf_printf(out, "%*s", (int)(indent - column), "");
	help_wrap_words(out, text, indent);
}

char conf_letter_of(const struct conf_command *cmd, const struct conf_option *o)
{
	for (const struct conf_option *before = conf_options; before < o; before++)
		if (o->letter && before->letter == o->letter &&
		    (!cmd || conf_command_accepts(cmd, cmd->program, before)))
			return 0;
	return o->letter;
}

/* Of a long open list ("a|b|…|FORMAT"), only the word in capitals: the help names the values. */
static const char *shown_values(const struct conf_option *o)
{
	const char *last = strrchr(o->detail, '|');

	if (o->kind == CONF_STR && last && isupper((unsigned char)last[1]) &&
	    strlen(o->detail) > VALUES_WIDTH)
		return last + 1;
	return o->detail;
}

void conf_usage_of(const struct conf_option *o, char letter, struct buf *out)
{
	char dashed[CONF_NAME_MAX];

	if (letter)
		buf_printf(out, "-%c, ", letter);
	else
		buf_add_str(out, "    ");
	buf_printf(out, "--%s%s", o->kind == CONF_BOOL && o->def != 0 ? "[no-]" : "",
		   conf_dashed(o->name, dashed));
	if (o->kind != CONF_BOOL)
		buf_printf(out, " %s", shown_values(o));
}

void conf_describe(const struct conf_option *o, struct buf *out)
{
	size_t n = strlen(o->help);
	bool remark = n && o->help[n - 1] == ')'; /* ours goes into the same brackets */
	const char *open = remark ? "; " : " (", *choice;

	buf_add(out, o->help, n - (remark ? 1 : 0));
	switch (o->kind) {
	case CONF_INT:
	case CONF_REAL:
		buf_printf(out, "%s%.16g to %.16g, default %.16g)", open, o->lo, o->hi, o->def);
		return;
	case CONF_ENUM:
		choice = conf_choice(o->detail, (int)o->def, &n);
		buf_printf(out, "%sdefault %.*s)", open, (int)n, choice);
		return;
	case CONF_STR:
		if (o->text) {
			buf_printf(out, "%sdefault %s)", open, o->text);
			return;
		}
		break;
	case CONF_LIST:
		buf_printf(out, "%smay be repeated)", open);
		return;
	case CONF_BOOL:
		if (o->def != 0) {
			buf_printf(out, "%sdefault yes)", open);
			return;
		}
		break;
	}
	if (remark)
		buf_add_char(out, ')');
}

void conf_explain(const char *name, struct buf *out)
{
	const struct conf_option *o = conf_find_option(name);

	if (o)
		conf_describe(o, out);
}

static void help_option(const struct conf_command *cmd, const struct conf_option *o,
			struct buf *out)
{
	const struct conf_option shown = conf_option_of(cmd, o);
	struct buf text = { 0 };
	size_t start = out->len;

	buf_add_str(out, "  ");
	conf_usage_of(&shown, conf_letter_of(cmd, o), out);
	conf_describe(&shown, &text);
	help_add_wrapped(out, buf_text(&text), out->len - start, HELP_INDENT);
	buf_free_part(&text, out);
}

/* One group: the common options in the order of commands.def, others in that of options.def. */
static void help_group(const struct conf_command *cmd, enum conf_group group, struct buf *out)
{
	bool is_titled = false;

	for (size_t i = 0; i < conf_n_options; i++) {
		const struct conf_option *o = &conf_options[i];

		if (!conf_command_accepts(cmd, cmd->program, o) || conf_group_of(cmd, o) != group)
			continue;
		if (!is_titled)
			buf_printf(out, "\n%s:\n", conf_group_title(cmd, group));
		is_titled = true;
		help_option(cmd, o, out);
	}
}

static void help_examples(const struct conf_command *cmd, struct buf *out)
{
	buf_add_str(out, "\nExamples:\n");
	for (size_t i = 0; i < conf_n_examples; i++) {
		const struct conf_text *x = &conf_examples[i];

		if (!strcmp(x->about, cmd->name))
			buf_printf(out, "  werkbank %s%s%s\n      %s\n", cmd->name,
				   *x->key ? " " : "", x->key, x->text);
	}
}

void conf_sentence(const char *text, struct buf *out)
{
	buf_add_char(out, (char)toupper((unsigned char)text[0]));
	buf_printf(out, "%s.", text + 1);
}

static void help_command(const struct conf_command *cmd, struct buf *out)
{
	struct buf text = { 0 };

	buf_printf(&text, "werkbank %s [OPTION]... %s", cmd->name, cmd->arguments);
	buf_add_str(out, "Usage: ");
	help_wrap_words(out, buf_text(&text), strlen("Usage: "));
	buf_add_char(out, '\n');
	buf_clear(&text);
	conf_sentence(cmd->help, &text);
	help_add_wrapped(out, buf_text(&text), 0, 0);
	if (cmd->name[0] != '_')
		help_examples(cmd, out);
	for (int g = 0; g < CONF_N_GROUPS; g++)
		help_group(cmd, (enum conf_group)g, out);
	buf_free_part(&text, out);
}

static void help_all(struct buf *out)
{
	buf_add_str(
		out,
		"Usage: werkbank [COMMAND] [OPTION]... [ARGUMENT]...\n"
		"\n"
		"Werkbank is a workbench for machine translation: it prepares parallel text,\n"
		"trains a Transformer, watches the training, evaluates and translates. Without a\n"
		"command on a terminal it opens the workbench.\n"
		"\n"
		"To begin:\n"
		"  werkbank prep demo          prepare a small corpus (seconds)\n"
		"  werkbank train demo         train a model on it (minutes)\n"
		"  werkbank translate --run demo\n"
		"                              translate sentences with the trained model\n"
		"  werkbank                    open the workbench\n"
		"\n"
		"Commands:\n");
	for (size_t i = 0; i < conf_n_commands; i++) {
		const struct conf_command *cmd = &conf_commands[i];
		size_t start = out->len;

		if (cmd->name[0] == '_')
			continue;
		buf_printf(out, "  %s", cmd->name);
		help_add_wrapped(out, cmd->help, out->len - start, COMMAND_INDENT);
	}
	buf_add_str(
		out,
		"\n"
		"werkbank COMMAND --help shows the options of a command. An option can also be\n"
		"set in a recipe (name = value) or in the environment (WERKBANK_NAME=value).\n"
		"Corpora and runs are in the workspace: -C DIR, else $WERKBANK_HOME, else\n"
		"./werkbank.d. man 7 werkbank explains the terms.\n");
}

void conf_help(const char *command, struct buf *out)
{
	const struct conf_command *cmd = command ? conf_find_command(command) : NULL;

	if (cmd)
		help_command(cmd, out);
	else
		help_all(out);
}

/* What configure found. config.h is asked here and in the registries of backends only. */
static const struct {
	const char *name;
	bool built;
} features[] = {
#ifdef HAVE_CURSES
	{ "workbench on the terminal", true },
#else
	{ "workbench on the terminal", false },
#endif
#ifdef HAVE_CUDA
	{ "CUDA", true },
#else
	{ "CUDA", false },
#endif
#ifdef HAVE_MPI
	{ "MPI", true },
#else
	{ "MPI", false },
#endif
#ifdef HAVE_NCCL
	{ "NCCL", true },
#else
	{ "NCCL", false },
#endif
#ifdef HAVE_VECTOR_VARIANTS
	{ "x86-64-v3 and -v4 kernels", true },
#else
	{ "x86-64-v3 and -v4 kernels", false },
#endif
};

void conf_version(struct buf *out)
{
	buf_add_str(out, "werkbank " PACKAGE_VERSION "\n");
	for (int built = 1; built >= 0; built--) {
		int n = 0;

		for (size_t i = 0; i < ARRAY_LEN(features); i++)
			if (features[i].built == built)
				buf_printf(out, "%s%s",
					   n++	   ? ", "
					   : built ? "built with: "
						   : "without: ",
					   features[i].name);
		if (n)
			buf_add_char(out, '\n');
	}
}

int conf_print_requested(const struct conf *c, struct err *e)
{
	struct buf text = { 0 };
	int rc;

	if (!c->help && !c->version)
		return 0;
	if (c->help)
		conf_help(c->command, &text);
	else
		conf_version(&text);
	rc = file_put_stdout(&text, e);
	buf_free(&text);
	return rc ? rc : 1;
}
