/*
 * conf_internal.h - the option and command tables as rows, for share/conf and share/help only.
 *
 * Other files use conf.h. The value of an option is in struct conf at row->offset.
 * A source of lower rank never overwrites a value of higher rank.
 */
#ifndef WERKBANK_SHARE_CONF_CONF_INTERNAL_H
#define WERKBANK_SHARE_CONF_CONF_INTERNAL_H

#include "share/conf/conf.h"

enum conf_rank { RANK_DEFAULT, RANK_RECIPE, RANK_ENVIRONMENT, RANK_LINE };

/* What the value of an option has to do with files: see options.def. */
enum conf_path {
	CONF_PATH_NONE,
	CONF_PATH_FILE,
	CONF_PATH_FOLDER,
	CONF_PATH_NAMED,
	CONF_PATH_PHRASE,
	CONF_PATH_ENTRY,
	CONF_PATH_WRITTEN
};

struct conf_option {
	enum conf_kind kind;
	const char *section;
	const char *name; /* with _ */
	char letter;	  /* 0: none */
	size_t offset;	  /* of the value in struct conf */
	double def;	  /* numbers, booleans, enumerations */
	double lo, hi;
	const char
		*detail; /* strings, lists: the argument, such as FILE; enumerations: the choices */
	const char *text; /* strings: the default, NULL: none */
	const char *help;
	enum conf_path path;
};

struct conf_command {
	const char *name, *program, *sections, *options, *common, *arguments, *help;
};

struct conf_origin {
	char *text; /* owned; NULL: "default" */
	enum conf_rank rank;
	bool is_given; /* see conf_is_given() */
};

extern const struct conf_option conf_options[];
extern const size_t conf_n_options;
extern const struct conf_command conf_commands[];
extern const size_t conf_n_commands;

/* Whether a name as a user writes it (with - or _) is the name of a row (with _). */
bool conf_same_name(const char *user, const char *row);

/* Add o's name and its former names to names[n..max - 1]; returns the new n. */
size_t conf_add_names(const struct conf_option *o, const char **names, size_t n, size_t max);

/* The row of a name, or of a former name, written with - or _. NULL: there is none. */
const struct conf_option *conf_find_option(const char *name);
const struct conf_command *conf_find_command(const char *name);

/* Whether a command takes an option. cmd NULL: the program was called without a command. */
bool conf_command_accepts(const struct conf_command *cmd, const char *program,
			  const struct conf_option *o);

/* Whether a word is among words separated by blanks. */
bool conf_has_word(const char *words, const char *word);

/* Whether the values of an option are the words of its detail "a|b|c"; whether a value is one. */
bool conf_has_choices(const struct conf_option *o);
bool conf_is_choice(const struct conf_option *o, const char *value);

/* Whether a command is for calls between the programs. */
static inline bool conf_is_hidden(const struct conf_command *cmd)
{
	return cmd->name[0] == '_';
}

/* The source of a value, and the name of the option in messages. */
struct conf_source {
	enum conf_rank rank;
	const char *origin;		    /* borrowed */
	const char *label;		    /* "--beam", "demo.ini:3: beam", "WERKBANK_BEAM" */
	int code;			    /* of errors: ERR_USAGE or ERR_CONFIG */
	bool is_ours;			    /* of a shipped recipe or a record, not of the user */
	const struct conf_command *command; /* that gets the value; NULL: unknown */
};

/*
 * Set an option from text if the rank of the source allows it. The command line appends one item
 * to a list; any other source replaces the list by items separated by blanks.
 */
int conf_assign(struct conf *c, const struct conf_option *o, const char *value,
		const struct conf_source *s, struct err *e);

/* Read WERKBANK_NAME for every option that the command takes. */
int conf_read_environment(struct conf *c, const struct conf_command *cmd, const char *program,
			  struct err *e);

/* Appends the variables of variables.def to a manual page in roff. */
void conf_man_variables(struct buf *out);

/* Warns on standard error of variables WERKBANK_... that nothing reads. */
void conf_warn_variables(void);

static inline void *conf_slot(const struct conf *c, const struct conf_option *o)
{
	return (char *)(uintptr_t)c + o->offset;
}

/* Path number i that an option lets the command read, "" for a phrase. Borrowed; NULL: past the end. */
const char *conf_read_path(const struct conf *c, const struct conf_option *o, size_t i);

/* Append the names of the shipped recipes, "demo, medium, …". */
void conf_shipped_recipes(struct buf *out);

/*
 * ERR_USAGE: --output, or another file that the command writes, is one that it reads, a file of a run,
 * corpus or model, or a downloaded archive. After the command line, and again after a recipe.
 */
int conf_check_outputs(const struct conf *c, const struct conf_command *cmd, struct err *e);

#endif
