/* paths.c - see paths.h */
#include "share/workspace/paths.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"

/* The folder of the running program, owned by the caller; NULL with e set. */
static char *program_folder(struct err *e)
{
	char path[4096], *slash;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n < 0) {
		err_set_errno(e, ERR_UNAVAILABLE, "/proc/self/exe: cannot be read");
		return NULL;
	}
	path[n] = 0;
	slash = strrchr(path, '/');
	if (slash)
		*slash = 0;
	return mem_strdup(path, e);
}

/*
 * The path of name in the first folder that contains it: the folders `places` relative to the
 * running program (a build in the source tree; the test program one level down; a relocated
 * installation; NULL ends the list), then the configured data folder.
 */
static char *find_beside(const char *const *places, const char *installed, const char *name,
			 struct err *e)
{
	char *folder = program_folder(e), *path = NULL;

	if (!folder)
		return NULL;
	for (int i = 0;; i++) {
		free(path);
		if (places[i])
			path = file_path(e, "%s%s/%s", folder, places[i], name);
		else
			path = file_path(e, "%s/%s", installed, name);
		if (!path || file_exists(path))
			break;
		if (!places[i]) {
			err_set(e, ERR_UNAVAILABLE, "%s was not found in %s%s nor in %s", name,
				folder, places[0], installed);
			free(path);
			path = NULL;
			break;
		}
	}
	free(folder);
	return path;
}

char *paths_program(const char *name, struct err *e)
{
	static const char *const places[] = { "", "/..", NULL };

	return find_beside(places, WERKBANK_BINDIR, name, e);
}

/* Does the first program of this name in $PATH have the inode of this file? */
static bool is_in_path(const char *name, const char *file)
{
	const char *at = getenv("PATH");
	struct err ignored = { 0 };
	struct stat found, wanted;
	bool is_found = false;

	while (at && *at && !is_found) {
		const size_t n = strcspn(at, ":");
		char *path = file_path(&ignored, "%.*s/%s", (int)n, at, name);

		is_found = path && !access(path, X_OK) && !stat(path, &found);
		free(path);
		at += n + (at[n] == ':');
	}
	return is_found && !stat(file, &wanted) && found.st_dev == wanted.st_dev &&
	       found.st_ino == wanted.st_ino;
}

char *paths_typed_program(struct err *e)
{
	char *file = paths_program("werkbank", e), here[PATH_MAX];
	char *typed = NULL;
	size_t n;

	if (!file)
		return NULL;
	if (is_in_path("werkbank", file)) {
		typed = mem_strdup("werkbank", e);
	} else if (getcwd(here, sizeof(here)) && (n = strlen(here)) > 1 &&
		   !strncmp(file, here, n) && file[n] == '/') {
		typed = file_path(e, "%s%s", strchr(file + n + 1, '/') ? "" : "./", file + n + 1);
	} else {
		return file;
	}
	free(file);
	return typed;
}

char *paths_shipped(const char *name, struct err *e)
{
	static const char *const places[] = { "/share", "/../share", "/../share/werkbank", NULL };
	const char *share = getenv("WERKBANK_SHARE");
	char *path;

	if (!share || !*share) {
		path = find_beside(places, WERKBANK_DATADIR, name, e);
		if (!path && e->code == ERR_UNAVAILABLE)
			e->code = ERR_NOINPUT;
		return path;
	}
	path = file_path(e, "%s/%s", share, name);
	if (path && !file_exists(path)) {
		err_set(e, ERR_NOINPUT, "%s was not found in %s, which WERKBANK_SHARE names", name,
			share);
		free(path);
		path = NULL;
	}
	return path;
}

char *paths_absolute(const char *path, struct err *e)
{
	char here[PATH_MAX];

	if (path[0] == '/' || !getcwd(here, sizeof(here)))
		return mem_strdup(path, e);
	return file_path(e, "%s/%s", here, path);
}

char *paths_user_file(const char *variable, const char *below_home, const char *name, struct err *e)
{
	const char *folder = getenv(variable), *home = getenv("HOME");

	/* the XDG specification ignores relative paths */
	if (folder && *folder == '/')
		return file_path(e, "%s/werkbank/%s", folder, name);
	if (home && *home == '/')
		return file_path(e, "%s/%s/werkbank/%s", home, below_home, name);
	err_set(e, ERR_UNAVAILABLE, "neither $%s nor $HOME is an absolute path", variable);
	return NULL;
}

char *paths_workspace(const char *option, struct err *e)
{
	const char *home = getenv("WERKBANK_HOME");

	const char *path = option ? option : home && *home ? home : "werkbank.d";
	struct stat st;

	if (!stat(path, &st) && !S_ISDIR(st.st_mode)) {
		err_set(e, ERR_NOINPUT,
			"the workspace %.300s is not a folder: name a folder with -C, or in "
			"WERKBANK_HOME",
			path);
		return NULL;
	}
	return mem_strdup(path, e);
}

char *paths_temporary(const char *name, struct err *e)
{
	const char *folder = getenv("TMPDIR");

	return file_path(e, "%s/%s", folder && *folder ? folder : "/tmp", name);
}

char *paths_existing_workspace(const char *option, struct err *e)
{
	char *path = paths_workspace(option, e);

	if (!path || file_exists(path))
		return path;
	err_set(e, ERR_NOINPUT,
		"there is no workspace %.300s: name another folder with -C or WERKBANK_HOME; "
		"\"werkbank prep RECIPE\" begins a new one",
		path);
	free(path);
	return NULL;
}

/* The folder of a checkpoint of a run, owned by the caller; NULL: failure. */
static char *find_checkpoint(const char *run, const char *which, struct err *e)
{
	static const char *const usual[] = { "best", "last" };
	char *folder = NULL;

	for (size_t i = 0; i < (which ? 1 : ARRAY_LEN(usual)); i++) {
		free(folder);
		folder = file_path(e, "%s/checkpoints/%s", run, which ? which : usual[i]);
		if (!folder || file_exists(folder))
			return folder;
	}
	free(folder);
	if (which)
		err_set(e, ERR_NOINPUT, "%s has no checkpoint \"%s\"", run, which);
	else
		err_set(e, ERR_NOINPUT, "%s has no checkpoint yet", run);
	return NULL;
}

/* A copy of NAME:CHECKPOINT cut at the colon, owned; *which: CHECKPOINT, or NULL. */
static char *find_run_folder(const char *workspace, const char *name, const char **which,
			     struct err *e)
{
	const char *colon = strchr(name, ':');
	char *run = file_path(e, "%.*s", colon ? (int)(colon - name) : (int)strlen(name), name);
	char *home = run && !paths_check_name("run", run, e) ? paths_workspace(workspace, e) : NULL;
	char *folder = home ? file_path(e, "%s/runs/%s", home, run) : NULL;

	*which = colon && colon[1] ? colon + 1 : NULL;
	if (folder && !file_exists(folder)) {
		err_set(e, ERR_NOINPUT,
			"%s: there is no such run (the path of a folder has a / in "
			"it: ./%s)",
			folder, run);
		free(folder);
		folder = NULL;
	}
	free(home);
	free(run);
	return folder;
}

/* The folder of a model, or of the best checkpoint if it is the folder of a run. */
static char *find_folder(const char *path, struct err *e)
{
	char *checkpoints = file_path(e, "%s/checkpoints", path), *folder = NULL;

	if (checkpoints && file_exists(checkpoints))
		folder = find_checkpoint(path, NULL, e);
	else if (checkpoints && file_exists(path))
		folder = mem_strdup(path, e);
	else if (checkpoints)
		err_set(e, ERR_NOINPUT, "%s: there is no such folder", path);
	free(checkpoints);
	return folder;
}

char *paths_model(const char *workspace, const char *name, struct err *e)
{
	const char *which;
	char *run, *folder;

	if (strchr(name, '/'))
		return find_folder(name, e);
	run = find_run_folder(workspace, name, &which, e);
	folder = run ? find_checkpoint(run, which, e) : NULL;
	free(run);
	return folder;
}

int paths_check_name(const char *what, const char *name, struct err *e)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t n = strlen(name);

	if (!n || n > 100)
		return err_set(e, ERR_USAGE, "the name of a %s must have 1 to 100 characters",
			       what);
	if (name[0] == '.')
		return err_set(e, ERR_USAGE, "the name of a %s must not begin with a dot: '%s'",
			       what, name);
	if (name[0] == '-')
		return err_set(
			e, ERR_USAGE,
			"the name of a %s must not begin with -, which begins an option: '%s'",
			what, name);
	for (size_t i = 0; i < n; i++)
		if (!strchr(allowed, name[i]))
			return err_set(e, ERR_USAGE,
				       "the name of a %s may hold letters, digits, dot, _ and - "
				       "only: '%s'",
				       what, name);
	return 0;
}
