/* help_internal.h - the texts of help and manual, and completion of options and arguments, for share/help only. */
#ifndef WERKBANK_SHARE_HELP_HELP_INTERNAL_H
#define WERKBANK_SHARE_HELP_HELP_INTERNAL_H

#include "share/conf/conf_internal.h"

/*
 * The letter of an option for a command, 0: none. If a command takes two options with one letter,
 * the first one has it. cmd NULL: among all options.
 */
char conf_letter_of(const struct conf_command *cmd, const struct conf_option *o);

/* A text of the manual: an example, or the explanation of an argument or option. All borrowed. */
struct conf_text {
	const char *about; /* the command; "": every command */
	const char *key;   /* an example's line; an argument; an option; "" */
	const char *text;
};
extern const struct conf_text conf_examples[], conf_arguments[], conf_command_notes[],
	conf_option_notes[];
extern const size_t conf_n_examples, conf_n_arguments, conf_n_command_notes, conf_n_option_notes;

/* The title of the group that --help and the manual list an option of a command under. */
enum conf_group {
	CONF_GROUP_COMMON,
	CONF_GROUP_DATA,
	CONF_GROUP_MODEL,
	CONF_GROUP_TRAIN,
	CONF_GROUP_DECODE,
	CONF_GROUP_OTHER,
	CONF_N_GROUPS
};
enum conf_group conf_group_of(const struct conf_command *cmd, const struct conf_option *o);
const char *conf_group_title(const struct conf_command *cmd, enum conf_group group);

/*
 * An option with the argument and phrase that a command shows for it (command_helps.def). The row of
 * options.def, not this copy, says which letter it has.
 */
struct conf_option conf_option_of(const struct conf_command *cmd, const struct conf_option *o);

/* "-b, --beam N" and the sentence that explains it: for help, man page and completion. */
void conf_usage_of(const struct conf_option *o, char letter, struct buf *out);
void conf_describe(const struct conf_option *o, struct buf *out);
/* Text with a capital first and a full stop last. */
void conf_sentence(const char *text, struct buf *out);

/* The kind of names ("runs") that are values of an option; NULL: its values are not names. */
const char *conf_names_of_option(const struct conf_option *o);

/*
 * Argument i of a command: returns the kind of its names, or NULL. For an argument with choices,
 * appends them to choices, separated by blanks. NULL and no choices: a file, or no such argument.
 */
const char *conf_argument_at(const struct conf_command *cmd, int i, struct buf *choices);

#endif
