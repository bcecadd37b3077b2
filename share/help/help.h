/*
 * help.h - what users read of the tables of options and commands: help, manual pages, completion.
 *
 * examples.def holds the examples of commands, manual.def what the manual pages add to
 * share/conf/options.def and commands.def.
 */
#ifndef WERKBANK_SHARE_HELP_HELP_H
#define WERKBANK_SHARE_HELP_HELP_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

/*
 * Print what --help or --version requested: 1 when the program is done, 0 when neither was given,
 * < 0 when standard output cannot be written. Every main() calls it after conf_parse_command().
 */
int conf_print_requested(const struct conf *c, struct err *e);

/* The version and the built-in features. */
void conf_version(struct buf *out);
/* Help: of one command, or (NULL) the list of commands. */
void conf_help(const char *command, struct buf *out);
/* A manual page in roff. page: NULL werkbank(1), "train" werkbank-train(1), "recipe" (5). */
int conf_man_page(const char *page, struct buf *out, struct err *e);
/* Completion for "bash", "zsh" or "fish". */
int conf_completion(const char *shell, struct buf *out, struct err *e);

/* Append the help of an option with range and default, as --help prints it. */
void conf_explain(const char *name, struct buf *out);

/* ---- completion of a command line ---- */

/* A word that can be at the end of a line; help is borrowed, "" for values. */
struct conf_candidate {
	char word[CONF_NAME_MAX + 8];
	const char *help;
};

struct conf_candidates {
	struct conf_candidate *items; /* owned */
	size_t n, cap;
	/* Names that can be there too: runs, corpora, recipes or manifests. NULL: none. */
	const char *names;
	bool is_value; /* the word is the value of an option; no items and names: any text */
};

/*
 * What can follow the words of a line, as the completion scripts offer it: words[0] is the
 * command, word the begin of the last word ("" or "-" …). Unknown commands and options give no
 * candidates. out is zeroed before; free it with conf_candidates_free(). ERR_NOMEM.
 */
int conf_complete_word(const char *const *words, size_t n, const char *word,
		       struct conf_candidates *out, struct err *e);
void conf_candidates_free(struct conf_candidates *c);

#endif
