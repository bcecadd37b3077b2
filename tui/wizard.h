/*
 * wizard.h - a form over the options of a command, from the tables of conf.h.
 *
 * It shows the arguments and the options of a command, lets the user change
 * them within their ranges, and always shows the line that it would run; that
 * line can be copied, and becomes a job (jobs.h) on the user's word. Views open
 * it by world_wizard():
 *
 *	static const struct wizard_value values[] = { { "run", "first" }, { "max_minutes", "2" } };
 *	world_wizard(w, &(struct wizard_form){ .title = "Train a model", .command = "train",
 *		.argument = "demo", .argument_choices = recipes, .n_choices = n,
 *		.values = values, .n_values = 2 });
 */
#ifndef WERKBANK_TUI_WIZARD_H
#define WERKBANK_TUI_WIZARD_H

#include <stddef.h>

struct wizard_value { const char *option, *value; };

struct wizard_form {
	const char *title;
	const char *command;		/* in commands.def */
	const char *argument;		/* its first argument at first; NULL: none */
	const char *argument_label;	/* "recipe"; NULL: the command takes none */
	const char *const *argument_choices;	/* NULL: any text */
	size_t n_choices;
	/* Options shown first, with their values (NULL: not given) at first; all others follow. */
	const struct wizard_value *values;
	size_t n_values;
	int go;				/* enum tab shown once it has been started; < 0: stay */
};

#endif
