/*
 * line_history.h - the history file of a line editor, oldest line first.
 *
 *	line_history_read(&edit, path)		insert the lines of the file before the current ones
 *	line_history_add(path, line, e)		append one line
 *
 * The file is private to the user (mode 0600). It stays small: beyond LINE_HISTORY_BYTES only
 * the latest EDIT_HISTORY lines remain; a line above LINE_HISTORY_LONGEST bytes is not saved.
 * Several workbenches may append to the same file.
 */
#ifndef WERKBANK_TUI_CONTEXT_LINE_HISTORY_H
#define WERKBANK_TUI_CONTEXT_LINE_HISTORY_H

#include "share/base/err.h"
#include "tui/term/edit.h"

#define LINE_HISTORY_BYTES   (256u << 10)
#define LINE_HISTORY_LONGEST 4000

/* Does nothing if the file is missing or unreadable. Invalid lines are skipped. */
void line_history_read(struct edit *d, const char *path);

/* Creates the folder of path if necessary. ERR_IO, ERR_NOMEM. */
int line_history_add(const char *path, const char *line, struct err *e);

#endif
