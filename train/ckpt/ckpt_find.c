/* ckpt_find.c - lists the checkpoints of a run and finds the one that options name; see ckpt.h */
#include "train/ckpt/ckpt_internal.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/workspace/paths.h"
#include "share/workspace/workspace_names.h"

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

/* The steps of the names for which step_of(name) is not negative, newest first. */
static int list_steps(const char *run_folder, int64_t (*step_of)(const char *name), int64_t **steps,
		      size_t *n, struct err *e)
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
		int64_t step = step_of(entry->d_name);

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

int ckpt_list(const char *run_folder, int64_t **steps, size_t *n, struct err *e)
{
	return list_steps(run_folder, step_of_name, steps, n, e);
}

int ckpt_link_step(const char *run_folder, const char *link, int64_t *step, struct err *e)
{
	char target[64] = "";
	char *path = file_path(e, "%s/checkpoints/%s", run_folder, link);
	int rc = path ? 0 : e->code;

	/* EINVAL: it is no link */
	if (path && readlink(path, target, sizeof(target) - 1) < 0 && errno != ENOENT &&
	    errno != ENOTDIR && errno != EINVAL)
		rc = err_set_errno(e, ERR_IO, "%s: cannot be read", path);
	free(path);
	*step = step_of_name(target);
	return rc;
}

/*
 * The newest intact checkpoint, as ckpt_find_last(). The first *n_damaged of *steps (owned by the
 * caller) are newer and damaged; damage gets a line for each. skips_unreadable: a file that the
 * disk cannot read is damage, too. Lack of memory or permissions is none: it says nothing about
 * the files.
 */
static char *find_intact(const char *run_folder, bool skips_unreadable, int64_t **steps,
			 size_t *n_damaged, struct buf *damage, struct err *e)
{
	struct ckpt_state state;
	struct err first = { 0 }, found = { 0 };
	size_t n;

	*n_damaged = 0;
	if (ckpt_list(run_folder, steps, &n, e))
		return NULL;
	e->code = 0;
	for (size_t i = 0; i < n; i++) {
		char *folder =
			file_path(e, "%s/checkpoints/%lld", run_folder, (long long)(*steps)[i]);

		if (!folder || !ckpt_read_state(folder, true, &state, &found))
			return folder;
		free(folder);
		if (found.code != ERR_DATA && (found.code != ERR_IO || !skips_unreadable)) {
			*e = found;
			return NULL;
		}
		if (!first.code)
			first = found;
		++*n_damaged;
		buf_printf(damage, "%s\n", found.text);
	}
	if (n)
		err_set(e, ERR_DATA, "every checkpoint of %s is damaged (%zu); the newest: %.300s",
			run_folder, n, first.text);
	return NULL;
}

char *ckpt_find_last(const char *run_folder, struct err *e)
{
	struct buf damage = { 0 };
	int64_t *steps = NULL;
	size_t n_damaged;
	char *folder = find_intact(run_folder, false, &steps, &n_damaged, &damage, e);

	buf_free(&damage);
	free(steps);
	return folder;
}

/* ---- damaged checkpoints ---- */

#define DAMAGED	     ".damaged"
#define DAMAGED_KEPT 2

/* Rename checkpoints/STEP to STEP.damaged; an older one of this step goes. */
static int set_aside(const char *run_folder, int64_t step, struct err *e)
{
	char *from = file_path(e, "%s/checkpoints/%lld", run_folder, (long long)step),
	     *to = from ? file_path(e, "%s" DAMAGED, from) : NULL;
	int rc = to ? ckpt_remove_folder(to, e) : e->code;

	if (!rc && rename(from, to))
		rc = err_set_errno(e, ERR_CANTCREAT, "%s: cannot be renamed to %s", from, to);
	free(from);
	free(to);
	return rc;
}

/* The step of a name STEP.damaged; -1: not such a name. */
static int64_t damaged_step(const char *name)
{
	const size_t n = strlen(name), end = strlen(DAMAGED);
	char step[32];

	if (n <= end || n - end >= sizeof(step) || strcmp(name + n - end, DAMAGED) != 0)
		return -1;
	snprintf(step, sizeof(step), "%.*s", (int)(n - end), name);
	return step_of_name(step);
}

/* Remove all folders STEP.damaged but the newest DAMAGED_KEPT. */
static int remove_old_damaged(const char *run_folder, struct err *e)
{
	int64_t *steps = NULL;
	size_t n = 0;
	int rc = list_steps(run_folder, damaged_step, &steps, &n, e);

	for (size_t i = DAMAGED_KEPT; !rc && i < n; i++) {
		char *folder = file_path(e, "%s/checkpoints/%lld" DAMAGED, run_folder,
					 (long long)steps[i]);

		rc = folder ? ckpt_remove_folder(folder, e) : e->code;
		free(folder);
	}
	free(steps);
	return rc;
}

/* The links best and last must not lead to a checkpoint that is gone. */
static int repair_links(const char *run_folder, const char *intact, struct err *e)
{
	const int64_t step = step_of_name(strrchr(intact, '/') + 1);
	char *best = file_path(e, "%s/checkpoints/best", run_folder);
	int rc = best ? ckpt_point_link(run_folder, "last", step, e) : e->code;

	assert(step >= 0);
	if (!rc && !file_exists(best) && unlink(best) && errno != ENOENT)
		rc = err_set_errno(e, ERR_CANTCREAT, "%s: cannot be removed", best);
	free(best);
	return rc;
}

char *ckpt_take_last(const char *run_folder, struct buf *damage, struct err *e)
{
	int64_t *steps = NULL;
	size_t n_damaged;
	char *folder = find_intact(run_folder, true, &steps, &n_damaged, damage, e);
	int rc = 0;

	for (size_t i = 0; folder && !rc && i < n_damaged; i++)
		rc = set_aside(run_folder, steps[i], e);
	if (folder && n_damaged && !rc)
		rc = repair_links(run_folder, folder, e);
	if (folder && n_damaged && !rc)
		rc = remove_old_damaged(run_folder, e);
	if (!rc && folder)
		rc = buf_check(damage, e);
	if (rc) {
		free(folder);
		folder = NULL;
	}
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
	int64_t step = step_of_name(which);
	char *folder;

	if (link && ckpt_link_step(run_folder, which, &step, e))
		return NULL;
	/* no evaluation so far */
	if (step < 0 && !strcmp(which, "best") && ckpt_link_step(run_folder, "last", &step, e))
		return NULL;
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
	if (folder && !file_exists(folder)) {
		workspace_unknown_run(workspace, c->run, e);
		free(folder);
		folder = NULL;
	}
	free(workspace);
	return folder;
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
