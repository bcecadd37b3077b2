/*
 * wizard.h - a form for the options of a command, built from the tables of conf.h.
 *
 * The form shows the arguments and options of a command, checks changes against their ranges
 * and shows the resulting command line. The line can be copied or run as a job (jobs.h). Views
 * open a form with context_open_wizard():
 *
 *	static const struct wizard_value values[] = { { "run", "first" }, { "max_minutes", "2" } };
 *	context_open_wizard(w, &(struct wizard_form){ .title = "Train a model", .command = "train",
 *		.argument = "demo", .argument_choices = recipes, .n_choices = n,
 *		.values = values, .n_values = 2 });
 */
#ifndef WERKBANK_TUI_CONTEXT_WIZARD_H
#define WERKBANK_TUI_CONTEXT_WIZARD_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

struct wizard_value {
	const char *option, *value;
};

struct wizard_form {
	const char *title;
	const char *command;		     /* a command of commands.def */
	const char *argument;		     /* initial first argument; NULL: none */
	const char *argument_label;	     /* NULL: no argument; "recipe": its values apply */
	const char *const *argument_choices; /* and the initial one; NULL: any text is allowed */
	size_t n_choices;
	/* Options shown first, with initial values (NULL: not set); all other options follow. */
	const struct wizard_value *values;
	size_t n_values;
	int show_tab; /* enum tab to show after the start; < 0: stay */
};

/* ---- for view_wizard.c and tests ---- */

struct wizard_row {
	struct conf_row option; /* name NULL: the argument of the command */
	const char *label;	/* "max-minutes", as users write it; borrowed from dashed */
	char dashed[CONF_NAME_MAX];
	char *value; /* owned; NULL: not set, wizard_value() applies */
};

struct wizard {
	char *title, *command;	   /* owned */
	char *workspace;	   /* owned: for -C; NULL: no -C */
	char **choices;		   /* owned: choices of the argument */
	size_t n_choices, n_first; /* n_first: rows shown before the other options */
	struct wizard_row *rows;   /* owned */
	size_t n;
	int show_tab;
	/* The options of the command with the form's values, its recipe and the environment. */
	struct conf effective; /* owned */
	struct conf defaults;  /* owned */
};

/*
 * Create a form with a row for the argument, for each value and for every other option of the
 * command; copies its input. workspace NULL: no -C. NULL: ERR_NOMEM, or ERR_INTERNAL for an unknown
 * command or option.
 */
struct wizard *wizard_new(const struct wizard_form *form, const char *workspace, struct err *e);
void wizard_free(struct wizard *z);

/* Set the value of a row, NULL: unset. ERR_USAGE: invalid value. */
int wizard_set(struct wizard *z, size_t row, const char *value, struct err *e);

/*
 * Append the value that the command uses for a row, and its default. Nothing for the argument, or
 * if the option is empty.
 */
void wizard_value(const struct wizard *z, size_t row, struct buf *out);
void wizard_default(const struct wizard *z, size_t row, struct buf *out);

/*
 * The origin of a row's value, as in conf_origin(), with the file name only of a recipe's path; ""
 * for the argument. Borrowed until the next wizard_set().
 */
const char *wizard_origin(const struct wizard *z, size_t row);

/*
 * The command as words, ending with NULL; free with jobs_free_words(). NULL: ERR_NOMEM, ERR_USAGE.
 */
char **wizard_argv(const struct wizard *z, struct err *e);

/* The same of another command, with the options of the form that it takes, and its argument (NULL: that of the form). */
char **wizard_other_argv(const struct wizard *z, const char *command, const char *argument,
			 struct err *e);

#endif
