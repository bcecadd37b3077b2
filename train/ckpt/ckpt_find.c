/* ckpt_find.c - lists the checkpoints of a run and finds the one that options name; see ckpt.h */
#include "train/ckpt/ckpt_internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/paths.h"
#include "share/base/util.h"

/* The step in the name of a checkpoint's folder; -1: not such a name. */
static int64_t step_of_name(const char *name)
{
	char *end;
	long long step;

	if (name[0] < '0' || name[0] > '9' || (name[0] == '0' && name[1]))
		return -1;
	errno = 0;
	step = strtoll(name, &end, 10);
	return *end || errno ? -1 : step;
}

static int ckpt_cmp_newest_first(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x > y ? -1 : x < y;
}

int ckpt_list(const char *run_folder, int64_t **steps, size_t *n, struct err *e)
{
	char *path = file_path(e, "%s/checkpoints", run_folder);
	DIR *folder = path ? opendir(path) : NULL;
	struct dirent *entry;
	size_t cap = 0;
	int rc = path ? 0 : e->code;

	*steps = NULL;
	*n = 0;
	if (path && !folder && errno != ENOENT)
		rc = err_set_errno(e, ERR_NOINPUT, "%s: cannot read the folder", path);
	while (!rc && folder && (entry = readdir(folder))) {
		int64_t step = step_of_name(entry->d_name);

		if (step < 0)
			continue;
		rc = mem_grow(steps, &cap, *n + 1, sizeof(**steps), e);
		if (!rc)
			(*steps)[(*n)++] = step;
	}
	if (folder)
		closedir(folder);
	free(path);
	if (*n)
		qsort(*steps, *n, sizeof(**steps), ckpt_cmp_newest_first);
	return rc;
}

int64_t ckpt_link_step(const char *run_folder, const char *link)
{
	struct err ignored;
	char target[64];
	char *path = file_path(&ignored, "%s/checkpoints/%s", run_folder, link);
	ssize_t n = path ? readlink(path, target, sizeof(target) - 1) : -1;

	free(path);
	if (n < 0)
		return -1;
	target[n] = 0;
	return step_of_name(target);
}

char *ckpt_find_last(const char *run_folder, struct err *e)
{
	struct ckpt_state state;
	struct err first = { 0 }, found;
	int64_t *steps;
	char *folder = NULL;
	size_t n;

	if (ckpt_list(run_folder, &steps, &n, e))
		goto done;
	e->code = 0;
	for (size_t i = 0; i < n; i++) {
		folder = file_path(e, "%s/checkpoints/%lld", run_folder, (long long)steps[i]);
		if (!folder || !ckpt_read_state(folder, true, &state, &found))
			goto done;
		if (!first.code)
			first = found;
		free(folder);
		folder = NULL;
	}
	if (n)
		err_set(e, ERR_DATA, "every checkpoint of %s is damaged (%zu); the newest: %.300s",
			run_folder, n, first.text);
done:
	free(steps);
	return folder;
}

/* The error message for a missing checkpoint: lists those that the run has. */
static void ckpt_set_choices_error(const char *run_folder, const char *wanted, struct err *e)
{
	struct buf list = { 0 };
	int64_t *steps = NULL;
	size_t n = 0;
	struct err ignored;

	ckpt_list(run_folder, &steps, &n, &ignored);
	for (size_t i = 0; i < n && i < 12; i++)
		buf_printf(&list, "%s%lld", i ? " " : "", (long long)steps[i]);
	if (n)
		err_set(e, ERR_NOINPUT, "%s has no checkpoint \"%s\"; it has: %s%s", run_folder,
			wanted, buf_text(&list), n > 12 ? " ..." : "");
	else
		err_set(e, ERR_NOINPUT, "%s has no checkpoint yet", run_folder);
	buf_free(&list);
	free(steps);
}

static char *resolve_in_run(const char *run_folder, const char *which, struct err *e)
{
	bool link = !strcmp(which, "last") || !strcmp(which, "best");
	int64_t step = link ? ckpt_link_step(run_folder, which) : step_of_name(which);
	char *folder;

	if (step < 0 && !strcmp(which, "best")) /* no evaluation so far */
		step = ckpt_link_step(run_folder, "last");
	if (step >= 0) {
		folder = file_path(e, "%s/checkpoints/%lld", run_folder, (long long)step);
		if (!folder || file_exists(folder))
			return folder;
		free(folder);
	}
	ckpt_set_choices_error(run_folder, which, e);
	return NULL;
}

/* The folder of the run that c names, owned; NULL: failure. */
static char *ckpt_find_run(const struct conf *c, struct err *e)
{
	char *workspace, *folder;

	if (paths_check_name("run", c->run, e))
		return NULL;
	workspace = paths_workspace(c->workspace, e);
	if (!workspace)
		return NULL;
	folder = file_path(e, "%s/runs/%s", workspace, c->run);
	free(workspace);
	if (!folder || file_exists(folder))
		return folder;
	err_set(e, ERR_NOINPUT, "%s: the workspace has no run \"%s\"", folder, c->run);
	free(folder);
	return NULL;
}

char *ckpt_resolve_named(const struct conf *c, const char *which, struct err *e)
{
	char *run_folder = ckpt_find_run(c, e);
	char *folder = run_folder ? resolve_in_run(run_folder, which, e) : NULL;

	free(run_folder);
	return folder;
}

int ckpt_resolve_newest(const struct conf *c, int64_t most, char ***folders, size_t *n,
			struct err *e)
{
	char *run_folder = ckpt_find_run(c, e);
	int64_t *steps = NULL;
	size_t have = 0;
	int rc = run_folder ? ckpt_list(run_folder, &steps, &have, e) : e->code;

	*n = 0;
	have = MIN(have, (size_t)most);
	if (!rc && !have)
		rc = err_set(e, ERR_NOINPUT, "%s has no checkpoint yet", run_folder);
	if (!rc && !(*folders = mem_alloc(have, sizeof(**folders), e)))
		rc = e->code;
	for (; !rc && *n < have; ++*n) {
		(*folders)[*n] = file_path(e, "%s/checkpoints/%lld", run_folder,
					   (long long)steps[have - 1 - *n]);
		if (!(*folders)[*n])
			rc = e->code;
	}
	free(steps);
	free(run_folder);
	return rc;
}

char *ckpt_resolve(const struct conf *c, struct err *e)
{
	if (c->model && c->run) {
		err_set(e, ERR_USAGE, "--model and --run exclude each other: give one of them");
		return NULL;
	}
	if (c->model)
		return mem_strdup(c->model, e);
	if (!c->run) {
		err_set(e, ERR_USAGE, "no model given: add --run NAME or --model DIR");
		return NULL;
	}
	return ckpt_resolve_named(c, c->checkpoint, e);
}
