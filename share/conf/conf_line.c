/* conf_line.c - see conf.h: options from the command line and from the environment. */
#include "share/conf/conf.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/text.h"
#include "share/conf/alias.h"
#include "share/conf/conf_internal.h"

/* A walk over argv: options are parsed, arguments are collected after the command. */
struct walk {
	struct conf *c;
	const struct conf_command *cmd; /* NULL: none was given */
	const char *program;
	int argc, at;
	char **argv;
	int n_inputs;	    /* times that --input was given */
	int n_before_input; /* arguments before the (last) --input */
};

static const char *of_command(const struct walk *w, char out[64])
{
	if (w->cmd)
		snprintf(out, 64, "%s", w->cmd->name);
	else if (!strcmp(w->program, "tui"))
		snprintf(out, 64, "werkbank without a command");
	else
		snprintf(out, 64, "werkbank-%s without a command", w->program);
	return out;
}

/* Report an unknown option: misspelt, or of another command. */
static int unknown_option(const struct walk *w, const char *name, struct err *e)
{
	const struct conf_option *o = conf_find_option(name);
	const char *names[250], *near, *advice, *takes = NULL;
	char who[64], dashed[CONF_NAME_MAX], plain[CONF_NAME_MAX];
	size_t n = 0, used = 0;
	char takers[160] = "";

	of_command(w, who);
	for (size_t i = 0; o && i < conf_n_commands && used < sizeof(takers); i++) {
		const struct conf_command *cmd = &conf_commands[i];

		if (cmd->name[0] != '_' && conf_command_accepts(cmd, cmd->program, o))
			used += (size_t)snprintf(takers + used, sizeof(takers) - used, "%s%s",
						 used ? ", " : "", cmd->name);
	}
	advice = alias_option_advice(name, &takes);
	if (advice && conf_command_accepts(w->cmd, w->program, conf_find_option(takes)))
		return err_set(e, ERR_USAGE, "%s takes no option --%s: %s", who, name, advice);
	if (o)
		return err_set(e, ERR_USAGE, "%s takes no option --%s; it is for %s", who,
			       conf_dashed(o->name, dashed), takers);
	for (size_t i = 0; i < conf_n_options; i++)
		if (conf_command_accepts(w->cmd, w->program, &conf_options[i]))
			n = conf_add_names(&conf_options[i], names, n, ARRAY_LEN(names));
	snprintf(plain, sizeof(plain), "%s", name);
	for (char *p = plain; *p; p++)
		if (*p == '-')
			*p = '_';
	near = text_nearest(plain, names, n);
	if (near) /* a former name stands for the present one */
		near = conf_find_option(near)->name;
	if (near)
		return err_set(e, ERR_USAGE, "%s takes no option --%s (did you mean --%s?)", who,
			       name, conf_dashed(near, dashed));
	return err_set(e, ERR_USAGE, "%s takes no option --%s; --help lists those it takes", who,
		       name);
}

/* Refuses an option of the sacreBLEU program (value NULL), or one of its values, with advice. */
static int check_refused(const struct walk *w, const char *label, const char *name,
			 const char *value, struct err *e)
{
	const struct conf_option *metrics = conf_find_option("metrics");
	const char *advice = alias_refused(name, value);

	if (!advice || !conf_command_accepts(w->cmd, w->program, metrics))
		return 0;
	return err_set(e, ERR_USAGE, "%s%s%s: %s", label, value ? " " : "", value ? value : "",
		       advice);
}

/* An empty name, as of an unset variable of a script, would silently mean another run or folder. */
static int check_empty_name(const char *label, const struct conf_option *o, const char *value,
			    struct err *e)
{
	static const char *const names[] = { "run", "corpus", "model", "checkpoint", "workspace" };

	for (size_t i = 0; !*value && i < ARRAY_LEN(names); i++)
		if (!strcmp(o->name, names[i]))
			return err_set(e, ERR_USAGE,
				       "%s has an empty value: give %s, or leave %s out", label,
				       o->detail, label);
	return 0;
}

static int take_value(struct walk *w, const struct conf_option *o, const char *value, struct err *e)
{
	char dashed[CONF_NAME_MAX], label[CONF_NAME_MAX + 2];
	struct conf_source s = { RANK_LINE, "command line", label, ERR_USAGE, false, w->cmd };
	int rc;

	assert(o->kind != CONF_BOOL && conf_command_accepts(w->cmd, w->program, o));
	snprintf(label, sizeof(label), "--%s", conf_dashed(o->name, dashed));
	if (!value) {
		if (w->at + 1 >= w->argc)
			return err_set(e, ERR_USAGE, "%s needs a value: %s", label, o->detail);
		value = w->argv[++w->at];
		if (value[0] == '-' && value[1] == '-')
			return err_set(e, ERR_USAGE,
				       "%s needs a value, but %s follows; to use that as the "
				       "value, write %s=%s",
				       label, value, label, value);
	}
	if (!strcmp(o->name, "input")) {
		w->n_inputs++;
		w->n_before_input = w->c->n_arguments;
	}
	rc = check_empty_name(label, o, value, e);
	if (!rc)
		rc = check_refused(w, label, o->name, value, e);
	if (!rc)
		rc = conf_assign(w->c, o, value, &s, e);
	while (!rc && o->kind == CONF_LIST && conf_has_choices(o) && w->at + 1 < w->argc &&
	       conf_is_choice(o, w->argv[w->at + 1]))
		rc = conf_assign(w->c, o, w->argv[++w->at], &s, e);
	return rc;
}

static int take_switch(struct walk *w, const struct conf_option *o, const char *value,
		       struct err *e)
{
	char dashed[CONF_NAME_MAX], label[CONF_NAME_MAX + 2];
	struct conf_source s = { RANK_LINE, "command line", label, ERR_USAGE, false, NULL };

	assert(o->kind == CONF_BOOL);
	snprintf(label, sizeof(label), "--%s", conf_dashed(o->name, dashed));
	return conf_assign(w->c, o, value, &s, e);
}

/* The option that the command takes under this name, or under one of sacreBLEU's; NULL: none. */
static const struct conf_option *find_sacrebleu_option(const struct walk *w, const char *name)
{
	const char *present = alias_new_name(ALIAS_SACREBLEU, name);
	const struct conf_option *o = present ? conf_find_option(present) : NULL;

	return o && conf_command_accepts(w->cmd, w->program, o) ? o : NULL;
}

static const struct conf_option *find_line_option(const struct walk *w, const char *name)
{
	const struct conf_option *o = conf_find_option(name), *foreign;

	if (o && conf_command_accepts(w->cmd, w->program, o))
		return o;
	foreign = find_sacrebleu_option(w, name);
	return foreign ? foreign : o;
}

/* "--name", "--name=value", "--no-name"; word is what follows the two dashes. */
static int long_option(struct walk *w, const char *word, struct err *e)
{
	char name[CONF_NAME_MAX];
	const char *value = strchr(word, '=');
	size_t n = value ? (size_t)(value - word) : strlen(word);
	const struct conf_option *o;

	snprintf(name, sizeof(name), "%.*s", (int)n, word);
	o = n < sizeof(name) ? find_line_option(w, name) : NULL;
	if (!o && !strncmp(name, "no-", 3)) {
		o = conf_find_option(name + 3);
		if (o && o->kind == CONF_BOOL && conf_command_accepts(w->cmd, w->program, o)) {
			if (value)
				return err_set(e, ERR_USAGE, "--%s takes no value", name);
			return take_switch(w, o, "no", e);
		}
		if (o && o->kind != CONF_BOOL)
			return err_set(e, ERR_USAGE,
				       "--%s: only switches can be turned off, --%s takes a value",
				       name, name + 3);
	}
	if (!o || !conf_command_accepts(w->cmd, w->program, o)) {
		char label[CONF_NAME_MAX + 2];

		snprintf(label, sizeof(label), "--%s", name);
		if (check_refused(w, label, name, NULL, e))
			return e->code;
	}
	if (!o || !conf_command_accepts(w->cmd, w->program, o))
		return unknown_option(w, name, e);
	if (o->kind == CONF_BOOL)
		return take_switch(w, o, value ? value + 1 : "yes", e);
	return take_value(w, o, value ? value + 1 : NULL, e);
}

/* "-q", "-l de", "-lde", "-ql de": letters after one dash; "-tok 13a": a name of sacreBLEU's. */
static int short_options(struct walk *w, const char *letters, struct err *e)
{
	const struct conf_option *foreign = find_sacrebleu_option(w, letters);

	if (foreign)
		return foreign->kind == CONF_BOOL ? take_switch(w, foreign, "yes", e)
						  : take_value(w, foreign, NULL, e);
	if (check_refused(w, letters - 1, letters, NULL, e))
		return e->code;
	for (; *letters; letters++) {
		const struct conf_option *o = NULL;
		char who[64];
		int rc;

		for (size_t i = 0; i < conf_n_options && !o; i++)
			if (conf_options[i].letter == *letters &&
			    conf_command_accepts(w->cmd, w->program, &conf_options[i]))
				o = &conf_options[i];
		if (!o)
			return err_set(e, ERR_USAGE,
				       "%s takes no option -%c; --help lists those it takes",
				       of_command(w, who), *letters);
		if (o->kind != CONF_BOOL)
			return take_value(w, o, letters[1] ? letters + 1 : NULL, e);
		rc = take_switch(w, o, "yes", e);
		if (rc)
			return rc;
	}
	return 0;
}

static int parse_arguments(struct walk *w, struct err *e)
{
	bool options = true;
	int rc = 0;

	for (; !rc && w->at < w->argc; w->at++) {
		char *word = w->argv[w->at];

		if (options && !strcmp(word, "--"))
			options = false;
		else if (options && word[0] == '-' && word[1] == '-')
			rc = long_option(w, word + 2, e);
		else if (options && word[0] == '-' && word[1])
			rc = short_options(w, word + 1, e);
		else
			w->c->arguments[w->c->n_arguments++] = word;
	}
	return rc;
}

/* The number of arguments of a usage line such as "SOURCE TARGET [LEDGER]" or "[FILE...]". */
static void count_arguments(const char *usage, int *least, int *most)
{
	*least = *most = 0;
	for (const char *p = usage; *p; p += strcspn(p, " "), p += strspn(p, " ")) {
		if (*p != '[')
			++*least;
		++*most;
	}
	if (strstr(usage, "..."))
		*most = 1 << 30;
}

/* Arguments that are missing: what they are. A recipe is a file, or one of the shipped ones. */
static int missing_arguments(const struct walk *w, const char *usage, struct err *e)
{
	struct buf names = { 0 };
	char who[64];

	of_command(w, who);
	if (text_ends_with(usage, "RECIPE"))
		conf_shipped_recipes(&names);
	err_set(e, ERR_USAGE, "%s needs %s%s%s%s; see its --help", who, usage,
		w->c->n_arguments ? ", and some of it is missing" : "",
		names.len ? ": a file such as my.ini, or one of " : "", buf_text(&names));
	buf_free(&names);
	return e->code;
}

/* An argument too many. Commands that take --run do not guess that the word names a run. */
static int needless_argument(const struct walk *w, const char *word, struct err *e)
{
	char who[64];

	of_command(w, who);
	if (conf_command_accepts(w->cmd, w->program, conf_find_option("run")))
		return err_set(e, ERR_USAGE,
			       "%s does not take the argument '%s'; to name a run: --run %s", who,
			       word, word);
	return err_set(e, ERR_USAGE, "%s does not take the argument '%s'; see its --help", who,
		       word);
}

static int check_arguments(const struct walk *w, struct err *e)
{
	const struct conf *c = w->c;
	const char *usage = w->cmd ? w->cmd->arguments : "";
	int least, most;

	if (c->help || c->version)
		return 0;
	count_arguments(usage, &least, &most);
	if (c->n_arguments < least)
		return missing_arguments(w, usage, e);
	if (c->n_arguments > most && !w->cmd && conf_find_command(c->arguments[0]))
		return err_set(e, ERR_USAGE, "the command comes first: werkbank %s [OPTION]...",
			       c->arguments[0]);
	return c->n_arguments > most ? needless_argument(w, c->arguments[most], e) : 0;
}

/*
 * "REFERENCE -i A B" has two systems in sacreBLEU, but one system and two references here. Refuse
 * the line: its score would be wrong without a sign.
 */
static int check_inputs(const struct walk *w, struct err *e)
{
	char who[64];

	if (w->n_inputs > 1)
		return err_set(e, ERR_USAGE,
			       "%s scores one system, but -i is given %d times; "
			       "werkbank compare scores several systems",
			       of_command(w, who), w->n_inputs);
	if (w->n_inputs && w->n_before_input > 0 && w->c->n_arguments > w->n_before_input)
		return err_set(e, ERR_USAGE,
			       "%s scores one system, but '%s' follows -i FILE; write further "
			       "references before -i; werkbank compare scores several systems",
			       of_command(w, who), w->c->arguments[w->n_before_input]);
	return 0;
}

/* Whether the option has the next word of the line as its value; next may be NULL. */
static bool takes_next_word(const char *option, const char *next)
{
	const char *present = NULL, *letters = option + 1;

	if (option[1] == '-') {
		const struct conf_option *o;

		if (strchr(option, '='))
			return false;
		present = alias_new_name(ALIAS_SACREBLEU, option + 2);
		o = conf_find_option(present ? present : option + 2);
		return o && o->kind != CONF_BOOL;
	}
	for (; *letters; letters++) {
		bool is_switch = false, has_value = false;

		for (size_t i = 0; i < conf_n_options; i++)
			if (conf_options[i].letter == *letters)
				*(conf_options[i].kind == CONF_BOOL ? &is_switch : &has_value) =
					true;
		if (has_value && is_switch) /* it depends on the command */
			return !letters[1] && !(next && conf_find_command(next));
		if (has_value)
			return !letters[1];
	}
	return false;
}

void conf_command_first(int argc, char **argv)
{
	int at = 1;
	char *command;

	while (at < argc && argv[at][0] == '-' && strcmp(argv[at], "--") != 0)
		at += takes_next_word(argv[at], at + 1 < argc ? argv[at + 1] : NULL) ? 2 : 1;
	if (at < 2 || at >= argc || !conf_find_command(argv[at]))
		return;
	command = argv[at];
	memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof(*argv));
	argv[1] = command;
}

/* Find argv[1] among the commands of this program. */
static int find_command(struct walk *w, struct err *e)
{
	const char *word;

	conf_command_first(w->argc, w->argv);
	word = w->argc > 1 ? w->argv[1] : NULL;
	if (!word || word[0] == '-')
		return 0;
	w->cmd = conf_find_command(word);
	if (!w->cmd)
		return conf_unknown_command(word, e);
	if (strcmp(w->cmd->program, w->program))
		return err_set(e, ERR_USAGE, "werkbank%s%s does not do '%s'; type werkbank %s",
			       strcmp(w->program, "tui") ? "-" : "",
			       strcmp(w->program, "tui") ? w->program : "", word, word);
	w->c->command = w->cmd->name;
	return 0;
}

int conf_parse_command(struct conf *c, const char *program, int argc, char **argv, struct err *e)
{
	struct walk w = { .c = c, .program = program, .argc = argc, .argv = argv };
	int rc = find_command(&w, e);

	if (rc)
		return rc;
	w.at = w.cmd ? 2 : 1;
	c->arguments = argv + MIN(w.at, argc);
	c->n_arguments = 0;
	rc = parse_arguments(&w, e);
	if (!rc)
		rc = check_arguments(&w, e);
	if (!rc)
		rc = check_inputs(&w, e);
	if (!rc && !w.cmd && strcmp(program, "tui") && !c->help && !c->version)
		rc = err_set(e, ERR_USAGE,
			     "werkbank-%s needs a command; werkbank --help lists them", program);
	if (!rc)
		rc = conf_read_environment(c, w.cmd, program, e);
	if (!rc && !c->help && !c->version)
		rc = conf_check_outputs(c, w.cmd, e);
	if (!rc && !c->quiet && !(w.cmd && w.cmd->name[0] == '_'))
		conf_warn_variables();
	return rc;
}

/* "WERKBANK_NAME" of an option's name or former name. */
#define VARIABLE_MAX (CONF_NAME_MAX + 12)
static const char *variable_value(const char *option, char variable[VARIABLE_MAX])
{
	const char *value;

	snprintf(variable, VARIABLE_MAX, "WERKBANK_%s", option);
	for (char *p = variable; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	value = getenv(variable);
	return value && *value ? value : NULL;
}

int conf_read_environment(struct conf *c, const struct conf_command *cmd, const char *program,
			  struct err *e)
{
	for (size_t i = 0; i < conf_n_options; i++) {
		const struct conf_option *o = &conf_options[i];
		char variable[VARIABLE_MAX];
		struct conf_source s = { RANK_ENVIRONMENT, variable, variable,
					 ERR_CONFIG,	   false,    NULL };
		const char *value, *old;
		int rc;

		if (!strcmp(o->name, "help") || !strcmp(o->name, "version") ||
		    !conf_command_accepts(cmd, program, o))
			continue;
		value = variable_value(o->name, variable);
		for (size_t k = 0; !value && (old = alias_old_name(ALIAS_OPTION, o->name, k)); k++)
			value = variable_value(old, variable);
		if (!value)
			continue;
		rc = conf_assign(c, o, value, &s, e);
		if (rc)
			return rc;
	}
	return 0;
}
