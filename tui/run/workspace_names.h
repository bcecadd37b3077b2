/*
 * workspace_names.h - what a workspace holds, by name.
 *
 *	struct names l;
 *	if (workspace_run_names(&l, workspace, e)) …
 *	… l.items[i], i < l.n …
 *	workspace_names_free(&l);
 *
 * Names are those of folders that may be a run's or a corpus's (paths_check_name()), sorted by their bytes. A
 * workspace that has none, or is not there, gives none.
 */
#ifndef WERKBANK_TUI_RUN_WORKSPACE_NAMES_H
#define WERKBANK_TUI_RUN_WORKSPACE_NAMES_H

#include <stddef.h>

#include "share/base/err.h"

struct workspace_names {
	char **items; /* owned, never NULL after a success */
	size_t n;
};

/* ERR_NOINPUT: the folder cannot be listed; ERR_NOMEM. The list is then empty, and need not be freed. */
int workspace_run_names(struct workspace_names *l, const char *workspace, struct err *e);
int workspace_corpus_names(struct workspace_names *l, const char *workspace, struct err *e);
void workspace_names_free(struct workspace_names *l);

#endif
