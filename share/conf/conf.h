/*
 * conf.h - options: values, origins, parsers. Help, manual pages and completion: share/help/help.h.
 *
 * options.def holds the options, commands.def the subcommands. A value comes
 * from, in rising order: the default, the recipe's file, the environment
 * (WERKBANK_NAME), the command line. conf_parse_command() does all of it for a
 * program's main():
 *
 *	struct conf c;
 *	conf_init(&c);
 *	conf_parse_command(&c, "data", argc, argv, e);	sets c.command and c.arguments
 *	conf_load_named_recipe(&c, name, e);			[section] key = value, # and ; comments
 *	… c.batch_tokens, conf_origin(&c, "batch_tokens") …
 *	conf_free(&c);
 *
 * Values given on the command line survive a recipe loaded after them.
 * Unknown names and keys are ERR_USAGE / ERR_CONFIG with the nearest name,
 * values out of range give the range, recipes give file and line.
 */
#ifndef WERKBANK_SHARE_CONF_CONF_H
#define WERKBANK_SHARE_CONF_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/held_output.h"
#include "share/conf/export_formats.h"
#include "share/guard/sandbox.h"

struct conf_list {
	char **items; /* owned */
	size_t n;
};

struct conf {
#define OPT_INT(section, name, letter, def, lo, hi, help)   int64_t name;
#define OPT_REAL(section, name, letter, def, lo, hi, help)  double name;
#define OPT_BOOL(section, name, letter, def, help)	    bool name;
#define OPT_STR(section, name, letter, def, arg, help)	    char *name; /* owned; NULL: not given */
#define OPT_ENUM(section, name, letter, def, choices, help) int name;	/* index into choices */
#define OPT_LIST(section, name, letter, arg, help)	    struct conf_list name;
#include "share/conf/options.def"
#undef OPT_INT
#undef OPT_REAL
#undef OPT_BOOL
#undef OPT_STR
#undef OPT_ENUM
#undef OPT_LIST
	const char *command; /* name in commands.def; NULL: none was given */
	char **arguments;    /* borrowed from argv */
	int n_arguments;
	bool is_in_sandbox;  /* conf_enter_sandbox() has given up rights */
	char *typed_program; /* owned, private: see conf_typed_program(); NULL until the sandbox */
	char *recipe;	     /* owned: path of the recipe that was loaded, NULL: none */
	struct conf_origin *origins; /* owned, private: one per option, see conf_origin() */
};

/* Choices of the enumerations that code asks for, in the order of options.def. */
enum conf_size {
#define SIZE(name, text, settings) SIZE_##name,
#include "share/conf/sizes.def"
};
/* the options best_metric and stop_metric */
enum best_metric { BEST_BLEU, BEST_LOSS };
enum conf_precision { PRECISION_FP32, PRECISION_BF16, PRECISION_INT8, PRECISION_AUTO };
enum conf_backend { BACKEND_AUTO, BACKEND_CPU, BACKEND_REF, BACKEND_CUDA };
enum conf_stop_on { STOP_ON_NONE, STOP_ON_DIVERGED };
enum conf_overlap { OVERLAP_WARN, OVERLAP_DROP, OVERLAP_IGNORE };
enum conf_launcher { LAUNCHER_AUTO, LAUNCHER_SSH, LAUNCHER_SLURM, LAUNCHER_SRUN };
enum conf_segmentation { SEGMENTATION_BPE, SEGMENTATION_SENTENCEPIECE, SEGMENTATION_UNIGRAM };
/* The length penalty and the end of a search; see eval/decode/beam.c. */
enum conf_beam_rules {
	BEAM_RULES_OWN,
	BEAM_RULES_TRANSFORMERS,
	BEAM_RULES_FAIRSEQ,
	BEAM_RULES_OPENNMT
};
enum conf_vocabularies { VOCABULARIES_JOINT, VOCABULARIES_SEPARATE, VOCABULARIES_MERGED };

int conf_init(struct conf *c, struct err *e);
void conf_free(struct conf *c);

/*
 * Parse argv of one of the five programs: argv[1] is the subcommand (it must
 * be one of this program's), then its options and arguments in any order, "--"
 * ends options. The number of arguments is checked against commands.def.
 * --help and --version are only recorded. argv is reordered.
 */
int conf_parse_command(struct conf *c, const char *program, int argc, char **argv, struct err *e);

/*
 * The sandbox of a command that reads foreign bytes. conf_hold_outputs() leaves --output to a parent
 * process: 0: this process runs the command (*held: what the parent holds, or NULL); 1: this is the
 * parent, and *status is the command's exit status; < 0: e. conf_begin_sandbox() makes the rules from
 * the options and arguments (false: this command has none, or it is off), the caller may add rules,
 * and conf_enter_sandbox() gives up the rest.
 */
bool conf_needs_sandbox(const struct conf *c, bool *computes); /* on a backend, maybe a GPU */
#define CONF_COMPARE_FOLDER "werkbank-compare"		       /* of compare --run, in $TMPDIR */
int conf_hold_outputs(const struct conf *c, struct held_outputs **held, int *status, struct err *e);
/*
 * The file in which "eval" keeps its score: of a checkpoint, alone, of a run whose folder may be
 * written. A score with options of decoding that the user gave does not replace another one. Owned by the caller; NULL: the score is not kept, or a failure if e->code is set.
 */
char *conf_score_path(const struct conf *c, struct err *e);
bool conf_begin_sandbox(const struct conf *c, const struct held_outputs *held, struct sandbox *s);
void conf_enter_sandbox(struct conf *c, struct sandbox *s);

/*
 * What the user types for "werkbank" in a hint, such as build/werkbank where $PATH does not lead to it
 * (paths_typed_program()). Owned by the caller; NULL: no memory, or the program is gone. Also in the sandbox.
 */
char *conf_typed_program(const struct conf *c);

/*
 * The end of a main(): if lines were repaired, print how many; if code is not 0, print "werkbank COMMAND: text"; both on
 * standard error. Returns the exit status of code. c may be just zeroed.
 */
int conf_exit_status(const struct conf *c, int code, const struct err *e);

/*
 * Set one option from text as a user writes it (name with - or _). origin is "command line",
 * "FILE:LINE", …
 */
int conf_set(struct conf *c, const char *name, const char *value, const char *origin,
	     struct err *e);

/*
 * Load the recipe that the user names. name is a path when it holds a slash or ends in .ini, else
 * the name of one shipped in share/recipes. A key "include = NAME" in section
 * [recipe] loads that one first. Relative paths of files in [data] are relative to the
 * recipe's folder if they exist there, else to the current folder;
 * ${NAME} in a value is replaced from the environment, and the origin of the value says so. Unset:
 * ERR_CONFIG; but the value is empty if it says where text comes from and the command is not prep.
 * A value may be in "double quotes". Where nothing names the corpus, it is
 * called like the recipe. A recipe that conf_write_recipe() wrote keeps the
 * origins in its comments.
 */
int conf_load_named_recipe(struct conf *c, const char *name, struct err *e);

/*
 * Load a recipe that is in the folder of a model, run or corpus. It may be a stranger's, so ${NAME}
 * is refused (ERR_CONFIG): a secret of the environment must not get into files that are passed on.
 */
int conf_load_recipe(struct conf *c, const char *path, struct err *e);

/*
 * The same for n bytes of text from another source; path is for messages and need not exist
 * on this host.
 */
int conf_load_recipe_text(struct conf *c, const char *path, const char *text, size_t n,
			  struct err *e);

/* The name of a recipe from its path: "some/demo.ini" is demo. */
void conf_recipe_name(const char *path, char *name, size_t size);

/* Set the options that sizes.def has for the size and that nobody has given, or that are 0. */
void conf_apply_size(struct conf *c);

/*
 * The origin of a value: "default", "recipe.ini:12", "WERKBANK_BEAM", "command line",
 * "size base". Borrowed.
 */
const char *conf_origin(const struct conf *c, const char *name);

/*
 * Did the user give this value: on the command line, in the environment, or in a recipe of his own?
 * false: it is a default, or comes from a shipped recipe or the recipe.ini of a run, model or corpus.
 */
bool conf_is_given(const struct conf *c, const char *name);

/*
 * Every option of the recipe sections as a recipe that loads to the same values, each with
 * "# origin".
 */
void conf_write_recipe(const struct conf *c, struct buf *out);

/* The value of one option as text, as conf_set() takes it. */
void conf_value(const struct conf *c, const char *name, struct buf *out);

/*
 * Name and section of option number i, for walking over all of them; NULL past the end. Borrowed.
 */
const char *conf_option_at(size_t i, const char **section);

/* ---- the tables, for forms and lists ---- */

enum conf_kind { CONF_INT, CONF_REAL, CONF_BOOL, CONF_STR, CONF_ENUM, CONF_LIST };

/* A row of options.def. All borrowed. */
struct conf_row {
	enum conf_kind kind;
	const char *section, *name; /* name with _ */
	const char *detail;	    /* the argument; enumerations: the choices "a|b|c" */
	const char *help;
};

/* Find the row of an option by its name or former name (with - or _); false: unknown. */
bool conf_find_row(const char *name, struct conf_row *out);

/* Whether a command takes an option; false for a command or option that does not exist. */
bool conf_accepts_option(const char *command, const char *option);

/* The name of an option as users write it, with - for _. Returns out. */
#define CONF_NAME_MAX 40
const char *conf_dashed(const char *name, char out[CONF_NAME_MAX]);

/* Check a value of an option: 0, or ERR_USAGE with what is expected. */
int conf_check(const char *name, const char *value, struct err *e);

/* Choice number i of a detail "a|b|c" and its length *n; NULL past the end. Borrowed. */
const char *conf_choice(const char *choices, int i, size_t *n);

/* A row of commands.def. All borrowed. */
struct conf_command_row {
	const char *name, *arguments, *help;
};

/* Command number i, without those for calls between the programs; false: past the end. */
bool conf_command_at(size_t i, struct conf_command_row *out);

/* The program ("data", …) that does a command; NULL: no such command. */
const char *conf_find_program(const char *command);

/* ERR_USAGE: no command is called `word`, and what to type instead. */
int conf_unknown_command(const char *word, struct err *e);

/* If options stand before the command in argv, moves the command to argv[1]. */
void conf_command_first(int argc, char **argv);

#endif
