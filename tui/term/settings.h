/*
 * settings.h - files of lines "NAME = VALUE": key maps, themes.
 *
 *	settings_read(path, text, "STYLE = LOOK", take, &theme, e)
 *
 * Blank lines and those that begin with # say nothing. Blanks around name and value are cut off.
 */
#ifndef WERKBANK_TUI_TERM_SETTINGS_H
#define WERKBANK_TUI_TERM_SETTINGS_H

#include "share/base/err.h"

struct setting {
	const char *where;  /* "FILE:LINE", for messages */
	char *name, *value; /* may be changed in place */
};

typedef int settings_handler(void *to, const struct setting *s, struct err *e);

/*
 * Each line in turn, until one is refused. path is for messages, form says in them what a line
 * should be. ERR_CONFIG: a line without =; ERR_NOMEM; what take returns.
 */
int settings_read(const char *path, const char *text, const char *form, settings_handler *take,
		  void *to, struct err *e);

#endif
