/* completion_names.h - names that complete a word of a command line. */
#ifndef WERKBANK_TUI_CONTEXT_COMPLETION_NAMES_H
#define WERKBANK_TUI_CONTEXT_COMPLETION_NAMES_H

#include "share/base/err.h"
#include "share/workspace/workspace_names.h"

/*
 * List the names of a kind, sorted: runs and corpora of the workspace; shipped recipes and
 * manifests. A missing folder gives an empty list. ERR_USAGE: no such kind; ERR_NOINPUT, ERR_NOMEM.
 * On failure the list is empty and needs no free; else free it with workspace_names_free().
 */
int completion_names_list(struct workspace_names *l, const char *workspace, const char *kind,
			  struct err *e);

#endif
