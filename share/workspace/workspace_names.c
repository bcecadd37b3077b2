/* workspace_names.c - lists the folders of a workspace; see workspace_names.h. */
#include "share/workspace/workspace_names.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/workspace/paths.h"

void workspace_names_free(struct workspace_names *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->items[i]);
	free(l->items);
	*l = (struct workspace_names){ 0 };
}

/* Accept folders, and entries of unknown type, which some file systems report. */
static int may_be_folder(const struct dirent *d)
{
	return d->d_type == DT_DIR || d->d_type == DT_UNKNOWN || d->d_type == DT_LNK;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* what: "run" or "corpus", for paths_check_name(). Takes ownership of folder. */
static int list_named_folders(struct workspace_names *l, const char *what, char *folder,
			      struct err *e)
{
	struct dirent **found = NULL;
	int all = scandir(folder, &found, may_be_folder, by_bytes), status = 0;
	struct err ignored;

	*l = (struct workspace_names){ 0 };
	if (all < 0 && errno != ENOENT && errno != ENOTDIR)
		return err_set_errno(e, ERR_NOINPUT, "%s: cannot be listed", folder);
	if (!(l->items = mem_alloc((size_t)MAX(all, 0) + 1, sizeof(*l->items), e)))
		status = e->code;
	for (int i = 0; i < all; i++) {
		if (!status && !paths_check_name(what, found[i]->d_name, &ignored)) {
			if ((l->items[l->n] = mem_strdup(found[i]->d_name, e)))
				l->n++;
			else
				status = e->code;
		}
		free(found[i]);
	}
	free(found);
	if (status)
		workspace_names_free(l);
	return status;
}

static int list_below(struct workspace_names *l, const char *what, const char *workspace,
		      const char *folder, struct err *e)
{
	char *path = file_path(e, "%s/%s", workspace, folder);
	int status;

	*l = (struct workspace_names){ 0 };
	if (!path)
		return e->code;
	status = list_named_folders(l, what, path, e);
	free(path);
	return status;
}

int workspace_run_names(struct workspace_names *l, const char *workspace, struct err *e)
{
	return list_below(l, "run", workspace, "runs", e);
}

static bool corpus_has_file(const char *workspace, const char *corpus, const char *name)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/corpora/%s/%s", workspace, corpus, name);
	const bool has = path && file_exists(path);

	free(path);
	return has;
}

/* files: NULL at the end; a corpus needs one of them. */
static int list_corpora_with(struct workspace_names *l, const char *workspace,
			     const char *const *files, struct err *e)
{
	int rc = list_below(l, "corpus", workspace, "corpora", e);
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		const char *const *file = files;

		while (*file && !corpus_has_file(workspace, l->items[i], *file))
			file++;
		if (*file)
			l->items[n++] = l->items[i];
		else
			free(l->items[i]);
	}
	l->n = n;
	return rc;
}

int workspace_corpus_names(struct workspace_names *l, const char *workspace, struct err *e)
{
	static const char *const files[] = { "manifest.json", NULL };

	return list_corpora_with(l, workspace, files, e);
}

int workspace_begun_corpora(struct workspace_names *l, const char *workspace, struct err *e)
{
	static const char *const files[] = { "manifest.json", "progress.json", NULL };

	return list_corpora_with(l, workspace, files, e);
}

/* Modification time of the journal, else of state.json or of the folder; -1: none. */
static double run_changed_at(const char *folder)
{
	static const char *const files[] = { "journal.jsonl", "state.json", "." };
	struct err ignored;

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char *path = file_path(&ignored, "%s/%s", folder, files[i]);
		struct stat st;
		bool there = path && !stat(path, &st);

		free(path);
		if (there)
			return (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec * 1e-9;
	}
	return -1;
}

char *workspace_newest_run(const char *workspace, struct err *e)
{
	struct workspace_names runs;
	size_t newest = 0;
	double when = -1;
	char *name;

	e->code = 0;
	if (workspace_run_names(&runs, workspace, e))
		return NULL;
	for (size_t i = 0; i < runs.n; i++) {
		char *path = file_path(e, "%s/runs/%s", workspace, runs.items[i]);
		double t = path ? run_changed_at(path) : -1;

		free(path);
		if (t >= when) { /* equal times: the later name */
			newest = i;
			when = t;
		}
	}
	name = runs.n ? mem_strdup(runs.items[newest], e) : NULL;
	workspace_names_free(&runs);
	return name;
}

#define SHOWN_NAMES 8 /* of the runs that a message lists */

int workspace_unknown_run(const char *workspace, const char *name, struct err *e)
{
	struct err ignored = { 0 };
	struct workspace_names l = { 0 };
	struct buf names = { 0 };
	char hint[TEXT_HINT_MAX];

	workspace_run_names(&l, workspace, &ignored);
	for (size_t i = 0; i < l.n && i < SHOWN_NAMES; i++)
		buf_printf(&names, "%s%s", i ? ", " : "; it has: ", l.items[i]);
	if (l.n > SHOWN_NAMES)
		buf_printf(&names, " and %zu more", l.n - SHOWN_NAMES);
	err_set(e, ERR_NOINPUT, "the workspace %s has no run '%s'%s%s", workspace, name,
		text_hint(hint, text_nearest(name, (const char *const *)l.items, l.n)),
		l.n ? buf_text(&names) : "; it has no run: werkbank train RECIPE starts one");
	buf_free(&names);
	workspace_names_free(&l);
	return e->code;
}

char *workspace_score_path(const char *workspace, const char *run, const char *set, struct err *e)
{
	return file_path(e, "%s/runs/%s/eval-%s.json", workspace, run, set);
}
