/*
 * wizard.h - a form over the options of a command, from the tables of conf.h.
 *
 * It shows the arguments and the options of a command, lets the user change
 * them within their ranges, and always shows the line that it would run; that
 * line can be copied, and becomes a job (jobs.h) on the user's word. Views open
 * it by context_open_wizard():
 *
 *	static const struct wizard_value values[] = { { "run", "first" }, { "max_minutes", "2" } };
 *	context_open_wizard(w, &(struct wizard_form){ .title = "Train a model", .command = "train",
 *		.argument = "demo", .argument_choices = recipes, .n_choices = n,
 *		.values = values, .n_values = 2 });
 */
#ifndef WERKBANK_TUI_APP_WIZARD_H
#define WERKBANK_TUI_APP_WIZARD_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/conf/conf.h"
#include "share/base/err.h"

struct wizard_value {
	const char *option, *value;
};

struct wizard_form {
	const char *title;
	const char *command;		     /* in commands.def */
	const char *argument;		     /* its first argument at first; NULL: none */
	const char *argument_label;	     /* "recipe"; NULL: the command takes none */
	const char *const *argument_choices; /* NULL: any text */
	size_t n_choices;
	/* Options shown first, with their values (NULL: not given) at first; all others follow. */
	const struct wizard_value *values;
	size_t n_values;
	int show_tab; /* enum tab shown once it has been started; < 0: stay */
};

/* ---- for view_wizard.c and tests ---- */

struct wizard_row {
	struct conf_row option; /* name NULL: the argument of the command */
	const char *label;	/* "max-minutes", as users write it; borrowed from dashed */
	char dashed[48];
	char *value; /* owned; NULL: not given, the default counts */
};

struct wizard {
	char *title, *command;	   /* owned */
	char *workspace;	   /* owned: for -C; NULL: where commands look by themselves */
	char **choices;		   /* owned: of the argument */
	size_t n_choices, n_first; /* rows before all the others */
	struct wizard_row *rows;   /* owned */
	size_t n;
	int show_tab;
};

/*
 * A form, copied, with a row for the argument, for each value and for every other option that the command
 * takes. workspace NULL: no -C. NULL: ERR_NOMEM, or ERR_INTERNAL when the command or an option does not exist.
 */
struct wizard *wizard_new(const struct wizard_form *form, const char *workspace, struct err *e);
void wizard_free(struct wizard *z);

/* Give a row a value, NULL: none. ERR_USAGE when it cannot be one. */
int wizard_set(struct wizard *z, size_t row, const char *value, struct err *e);

/* What is shown for a row without a value: its default. */
void wizard_default(const struct wizard *z, size_t row, struct buf *out);

/* The command as words, ending with NULL; array and words owned by the caller (wizard_free_argv). */
char **wizard_argv(const struct wizard *z, struct err *e);
void wizard_free_argv(char **argv);

#endif
