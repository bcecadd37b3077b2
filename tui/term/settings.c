/* settings.c - parses files of lines "NAME = VALUE"; see settings.h. */
#include "tui/term/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"

int settings_read(const char *path, const char *text, const char *form, settings_handler *take,
		  void *to, struct err *e)
{
	char *all = mem_strdup(text, e), *rest = all, *line;
	int status = all ? 0 : e->code;

	for (int n = 1; !status && (line = strsep(&rest, "\n")); n++) {
		char where[300], *equals = strchr(line, '=');
		struct setting s = { .where = where };

		line = text_trim(line);
		if (!*line || *line == '#')
			continue;
		snprintf(where, sizeof(where), "%.250s:%d", path, n);
		if (!equals) {
			status = err_set(e, ERR_CONFIG, "%s: \"%.60s\" is not a line %s", where,
					 line, form);
			break;
		}
		*equals = 0;
		s.name = text_trim(line);
		s.value = text_trim(equals + 1);
		status = take(to, &s, e);
	}
	free(all);
	return status;
}
