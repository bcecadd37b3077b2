/* wizard.c - rows and values of a form, and its command line; see wizard.h. */
#include "tui/context/wizard.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/conf/text_facts.h"
#include "share/workspace/paths.h"
#include "tui/context/jobs.h"

#define MAX_WORDS 60 /* words of a command; jobs.c accepts a few more */

void wizard_free(struct wizard *z)
{
	if (!z)
		return;
	for (size_t i = 0; i < z->n; i++)
		free(z->rows[i].value);
	for (size_t i = 0; i < z->n_choices; i++)
		free(z->choices[i]);
	free(z->choices);
	free(z->rows);
	free(z->title);
	free(z->command);
	free(z->workspace);
	conf_free(&z->effective);
	conf_free(&z->defaults);
	free(z);
}

/* ---- rows ---- */

static int add_form_row(struct wizard *z, const struct conf_row *option, const char *value,
			struct err *e)
{
	struct wizard_row *r = &z->rows[z->n];

	*r = (struct wizard_row){ .option = *option };
	r->label = conf_dashed(option->name, r->dashed);
	if (value && !(r->value = mem_strdup(value, e)))
		return e->code;
	z->n++;
	return 0;
}

static bool has_row(const struct wizard *z, const char *name)
{
	for (size_t i = 0; i < z->n; i++)
		if (z->rows[i].option.name && !strcmp(z->rows[i].option.name, name))
			return true;
	return false;
}

/* Options that are hidden in forms: useless for a job, or set by the workbench. */
static bool is_hidden_option(const char *name)
{
	static const char *const hidden[] = { "workspace", "help", "version",
					      "quiet",	   "json", "color" };

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (!strcmp(hidden[i], name))
			return true;
	return false;
}

static int add_argument(struct wizard *z, const struct wizard_form *form, struct err *e)
{
	struct wizard_row *r = &z->rows[z->n];
	bool is_listed = !form->argument || !form->n_choices;

	snprintf(r->dashed, sizeof(r->dashed), "%s", form->argument_label);
	r->label = r->dashed;
	if (form->argument && !(r->value = mem_strdup(form->argument, e)))
		return e->code;
	z->n++;
	if (!(z->choices = mem_alloc(form->n_choices + 1, sizeof(*z->choices), e)))
		return e->code;
	for (; z->n_choices < form->n_choices; z->n_choices++) {
		const char *choice = form->argument_choices[z->n_choices];

		is_listed |= form->argument && !strcmp(choice, form->argument);
		if (!(z->choices[z->n_choices] = mem_strdup(choice, e)))
			return e->code;
	}
	if (!is_listed) {
		if (!(z->choices[z->n_choices] = mem_strdup(form->argument, e)))
			return e->code;
		z->n_choices++;
	}
	return 0;
}

static int add_form_rows(struct wizard *z, const struct wizard_form *form, struct err *e)
{
	struct conf_row option;
	const char *name, *section;

	if (form->argument_label && add_argument(z, form, e))
		return e->code;
	for (size_t i = 0; i < form->n_values; i++) {
		if (!conf_find_row(form->values[i].option, &option) ||
		    !conf_accepts_option(form->command, form->values[i].option))
			return err_set(e, ERR_INTERNAL, "%s has no option %s", form->command,
				       form->values[i].option);
		if (add_form_row(z, &option, form->values[i].value, e))
			return e->code;
	}
	z->n_first = z->n;
	for (size_t i = 0; (name = conf_option_at(i, &section)); i++)
		if (conf_accepts_option(form->command, name) && !is_hidden_option(name) &&
		    !has_row(z, name) && conf_find_row(name, &option) &&
		    add_form_row(z, &option, NULL, e))
			return e->code;
	return 0;
}

/*
 * Parse the form's command as its program does: options, environment, recipe, corpus. An error, as of an
 * unknown recipe, leaves the values that were found before it; the command itself reports it.
 */
static int find_effective_values(struct wizard *z, struct err *e)
{
	const bool has_recipe =
		z->n && !z->rows[0].option.name && !strcmp(z->rows[0].label, "recipe");
	const char *program = conf_find_program(z->command);
	struct conf c;
	struct err ignored = { 0 };
	char **argv, *words[MAX_WORDS + 1]; /* conf_parse_command() reorders words */
	int n = 0;

	if (conf_init(&c, e))
		return e->code;
	if (!(argv = wizard_argv(z, &ignored))) {
		conf_free(&c);
		return 0;
	}
	for (; argv[n]; n++)
		words[n] = argv[n];
	assert(n <= MAX_WORDS);
	words[n] = NULL;
	if (program && !conf_parse_command(&c, program, n, words, &ignored) && c.n_arguments > 0 &&
	    has_recipe && !conf_load_named_recipe(&c, c.arguments[0], &ignored) &&
	    strcmp(z->command, "prep") != 0)
		text_facts_adopt_prepared(&c, &ignored);
	conf_apply_size(&c);
	c.arguments = NULL; /* borrowed from words */
	c.n_arguments = 0;
	jobs_free_words(argv);
	conf_free(&z->effective);
	z->effective = c;
	return 0;
}

struct wizard *wizard_new(const struct wizard_form *form, const char *workspace, struct err *e)
{
	struct wizard *z = mem_alloc(1, sizeof(*z), e);
	const char *section;
	size_t all = 1 + form->n_values;

	if (!z)
		return NULL;
	while (conf_option_at(all - form->n_values - 1, &section))
		all++;
	z->show_tab = form->show_tab;
	z->title = mem_strdup(form->title, e);
	z->command = mem_strdup(form->command, e);
	z->rows = mem_alloc(all, sizeof(*z->rows), e);
	if (!z->title || !z->command || !z->rows || conf_init(&z->defaults, e) ||
	    (workspace && !(z->workspace = mem_strdup(workspace, e))) ||
	    add_form_rows(z, form, e) || find_effective_values(z, e)) {
		wizard_free(z);
		return NULL;
	}
	return z;
}

/* ---- values ---- */

/* A run or a corpus is a folder of the workspace. */
static bool is_folder_name(const struct wizard_row *r)
{
	return r->option.name &&
	       (!strcmp(r->option.name, "run") || !strcmp(r->option.name, "corpus"));
}

int wizard_set(struct wizard *z, size_t row, const char *value, struct err *e)
{
	struct wizard_row *r = &z->rows[row];
	char *copy = NULL;

	assert(row < z->n);
	if (value && r->option.name && conf_check(r->option.name, value, e))
		return e->code;
	if (value && *value && is_folder_name(r) && paths_check_name(r->option.name, value, e))
		return e->code;
	if (value && *value && !(copy = mem_strdup(value, e)))
		return e->code;
	free(r->value);
	r->value = copy;
	return find_effective_values(z, e);
}

void wizard_value(const struct wizard *z, size_t row, struct buf *out)
{
	assert(row < z->n);
	if (z->rows[row].option.name)
		conf_value(&z->effective, z->rows[row].option.name, out);
}

void wizard_default(const struct wizard *z, size_t row, struct buf *out)
{
	assert(row < z->n);
	if (z->rows[row].option.name)
		conf_value(&z->defaults, z->rows[row].option.name, out);
}

const char *wizard_origin(const struct wizard *z, size_t row)
{
	const char *origin, *slash;

	assert(row < z->n);
	if (!z->rows[row].option.name)
		return "";
	origin = conf_origin(&z->effective, z->rows[row].option.name);
	slash = strrchr(origin, '/');
	return slash ? slash + 1 : origin;
}

/* ---- the command ---- */

static int add_argv_word(char **argv, size_t *n, const char *word, struct err *e)
{
	assert(*n < MAX_WORDS);
	if (*n + 1 >= MAX_WORDS)
		return err_set(e, ERR_USAGE,
			       "the command has more than %d words; put options into a recipe",
			       MAX_WORDS);
	argv[*n] = mem_strdup(word, e);
	return argv[(*n)++] ? 0 : e->code;
}

static int add_wizard_option(char **argv, size_t *n, const struct wizard_row *r, struct err *e)
{
	bool boolean = r->option.kind == CONF_BOOL;
	char name[64];

	snprintf(name, sizeof(name), "--%s%s", boolean && !strcmp(r->value, "no") ? "no-" : "",
		 r->dashed);
	if (add_argv_word(argv, n, name, e))
		return e->code;
	return boolean ? 0 : add_argv_word(argv, n, r->value, e);
}

char **wizard_argv(const struct wizard *z, struct err *e)
{
	return wizard_other_argv(z, z->command, NULL, e);
}

char **wizard_other_argv(const struct wizard *z, const char *command, const char *argument,
			 struct err *e)
{
	char **argv = mem_alloc(MAX_WORDS + 1, sizeof(*argv), e);
	size_t n = 0;
	int status;

	if (!argv)
		return NULL;
	status = add_argv_word(argv, &n, "werkbank", e) || add_argv_word(argv, &n, command, e);
	if (!status && z->workspace)
		status = add_argv_word(argv, &n, "-C", e) ||
			 add_argv_word(argv, &n, z->workspace, e);
	for (size_t i = 0; i < z->n && !status; i++) {
		const struct wizard_row *r = &z->rows[i];

		if (r->value && r->option.name && conf_accepts_option(command, r->option.name))
			status = add_wizard_option(argv, &n, r, e);
		else if (r->value && !r->option.name)
			status = add_argv_word(argv, &n, argument ? argument : r->value, e);
	}
	if (!status)
		return argv;
	jobs_free_words(argv);
	return NULL;
}
