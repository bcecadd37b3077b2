/*
 * settings.h - files of lines "NAME = VALUE": key maps, themes.
 *
 *	settings_read(path, text, "STYLE = LOOK", handler, &theme, e)
 *
 * Blank lines and lines that begin with # are skipped. Blanks around name and value are removed.
 */
#ifndef WERKBANK_TUI_TERM_SETTINGS_H
#define WERKBANK_TUI_TERM_SETTINGS_H

#include "share/base/err.h"

struct setting {
	const char *where;  /* "FILE:LINE", for messages; borrowed */
	char *name, *value; /* the handler may change both in place; borrowed */
};

typedef int settings_handler(void *to, const struct setting *s, struct err *e);

/*
 * Call take(to, setting, e) for each line of text and stop at its first failure. path and form
 * ("NAME = VALUE") appear in messages. Returns 0, ERR_CONFIG for a line without =, ERR_NOMEM, or
 * the result of take.
 */
int settings_read(const char *path, const char *text, const char *form, settings_handler *take,
		  void *to, struct err *e);

#endif
