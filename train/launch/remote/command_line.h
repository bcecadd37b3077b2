/*
 * command_line.h - an argument vector that grows, and commands as text: quoted for a shell, or split like
 * a shell does.
 *
 *	struct command_line c = { 0 };
 *	command_line_add(&c, "ssh"); COMMAND_LINE_ADD(&c, "-p", port); …
 *	if (command_line_check(&c, e)) …	once, at the end: reports a failed allocation
 *	command_line_free(&c);
 */
#ifndef WERKBANK_TRAIN_LAUNCH_REMOTE_COMMAND_LINE_H
#define WERKBANK_TRAIN_LAUNCH_REMOTE_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/util.h"

struct command_line {
	const char **all; /* owned, with its words 0 … n-1; all[n] is NULL */
	size_t n, cap;
	bool failed; /* out of memory: further additions do nothing */
};

/* Append copies: one word; the words of an array that ends with NULL; a text of printf(). */
void command_line_add(struct command_line *c, const char *word);
void command_line_add_all(struct command_line *c, const char *const *words);
void command_line_printf(struct command_line *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define COMMAND_LINE_ADD(c, ...) command_line_add_all(c, (const char *const[]){ __VA_ARGS__, NULL })

/* 0, or ERR_NOMEM when an addition failed. */
int command_line_check(const struct command_line *c, struct err *e);
void command_line_free(struct command_line *c);

/* Append the words (NULL ends them) to out, separated by blanks and quoted for a shell where needed. */
void command_line_quote(const char *const *words, struct buf *out);

/*
 * Append the words of the text of a command such as --ssh, split like a shell. ERR_USAGE: an open
 * quote, or no word at all.
 */
int command_line_split(struct command_line *c, const char *command, struct err *e);

#endif
