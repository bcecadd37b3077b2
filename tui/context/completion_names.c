/* completion_names.c - see completion_names.h. */
#include "tui/context/completion_names.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/workspace/paths.h"

/* List the names of shipped files that end in suffix, without it. */
static int list_shipped(struct workspace_names *l, const char *folder, const char *suffix,
			struct err *e)
{
	char *path = paths_shipped(folder, e);
	struct dirent **found = NULL;
	struct err ignored;
	int n = path ? scandir(path, &found, NULL, alphasort) : 0, rc = path ? 0 : e->code;

	free(path);
	n = n < 0 ? 0 : n;
	if (!rc && !(l->items = mem_alloc((size_t)n + 1, sizeof(*l->items), e)))
		rc = e->code;
	for (int i = 0; i < n; i++) {
		char *name = found[i]->d_name;

		if (!rc && text_ends_with(name, suffix)) {
			name[strlen(name) - strlen(suffix)] = 0;
			if (!paths_check_name("file", name, &ignored) &&
			    (l->items[l->n] = mem_strdup(name, &ignored)))
				l->n++;
		}
		free(found[i]);
	}
	free(found);
	return rc;
}

int completion_names_list(struct workspace_names *l, const char *workspace, const char *kind,
			  struct err *e)
{
	*l = (struct workspace_names){ 0 };
	if (!strcmp(kind, "runs"))
		return workspace_run_names(l, workspace, e);
	if (!strcmp(kind, "corpora"))
		return workspace_corpus_names(l, workspace, e);
	if (!strcmp(kind, "recipes"))
		return list_shipped(l, "recipes", ".ini", e);
	if (!strcmp(kind, "manifests"))
		return list_shipped(l, "corpora", ".manifest", e);
	return err_set(e, ERR_USAGE, "'%s' is not runs, corpora, recipes or manifests", kind);
}
