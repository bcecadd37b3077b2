/*
 * line_history.h - lines of a line editor that outlive the workbench: a file of them, the oldest first.
 *
 *	line_history_read(&edit, path)		they come before what is typed
 *	line_history_add(path, line, e)		at its end
 *
 * What people type is theirs: only they can read the file (mode 0600). It stays bounded: beyond
 * LINE_HISTORY_BYTES all but the latest EDIT_HISTORY lines go, and a line of more than
 * LINE_HISTORY_LONGEST bytes is not kept. Several workbenches may add to it.
 */
#ifndef WERKBANK_TUI_APP_LINE_HISTORY_H
#define WERKBANK_TUI_APP_LINE_HISTORY_H

#include "share/base/err.h"
#include "tui/term/edit.h"

#define LINE_HISTORY_BYTES   (256u << 10)
#define LINE_HISTORY_LONGEST 4000

/* Without the file, or when it cannot be read, nothing happens. What is in it is not trusted. */
void line_history_read(struct edit *d, const char *path);

/* The folder of path is made when it is missing. ERR_IO, ERR_NOMEM. */
int line_history_add(const char *path, const char *line, struct err *e);

#endif
