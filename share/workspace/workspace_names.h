/*
 * workspace_names.h - names of the runs and corpora of a workspace.
 *
 *	struct workspace_names l;
 *	if (!workspace_run_names(&l, workspace, e)) …
 *	… l.items[i], i < l.n …
 *	workspace_names_free(&l);
 *
 * The names of folders that are valid names of runs or corpora (paths_check_name()), sorted by
 * bytes. A workspace that is empty or missing gives an empty list.
 */
#ifndef WERKBANK_SHARE_WORKSPACE_WORKSPACE_NAMES_H
#define WERKBANK_SHARE_WORKSPACE_WORKSPACE_NAMES_H

#include <stddef.h>

#include "share/base/err.h"

struct workspace_names {
	char **items; /* owned, never NULL after a success */
	size_t n;
};

/*
 * ERR_NOINPUT: the folder cannot be read; ERR_NOMEM. On failure the list is empty and needs no
 * free.
 */
int workspace_run_names(struct workspace_names *l, const char *workspace, struct err *e);
/* The corpora that are prepared: they have a manifest.json. */
int workspace_corpus_names(struct workspace_names *l, const char *workspace, struct err *e);
/* The same, and those whose preparation has begun: they have a progress.json. */
int workspace_begun_corpora(struct workspace_names *l, const char *workspace, struct err *e);
void workspace_names_free(struct workspace_names *l);

/*
 * ERR_NOINPUT, or ERR_NOMEM: the workspace has no run of this name, and which runs it has. Returns the
 * code.
 */
int workspace_unknown_run(const char *workspace, const char *name, struct err *e);

/*
 * The name of the run whose journal (else state.json, else folder) changed last, owned by the
 * caller. NULL with e->code 0: the workspace has no run.
 */
char *workspace_newest_run(const char *workspace, struct err *e);

/*
 * The file of a run that keeps the newest score of a held-out set: runs/RUN/eval-SET.json, see
 * werkbank-run(5). Owned by the caller; NULL: ERR_NOMEM.
 */
char *workspace_score_path(const char *workspace, const char *run, const char *set, struct err *e);

#endif
