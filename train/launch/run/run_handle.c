/* run_handle.c - see run_handle.h */
#include "train/launch/run/run_handle.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/proc.h"
#include "share/base/text.h"
#include "share/format/json.h"
#include "share/workspace/lock_file.h"
#include "share/workspace/paths.h"
#include "share/workspace/run_lease.h"
#include "share/workspace/workspace_names.h"
#include "train/common/control.h"
#include "train/common/leftover.h"

#define STATE_MAX_BYTES 65536

/* ---- reading ---- */

/* The lock of the run, or another host's lease; an unknown one counts as held. */
static bool is_run_lock_held(const char *folder)
{
	return run_lease_state(folder) != LOCK_FREE;
}

static struct json *read_state_json(const char *folder)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/state.json", folder);
	struct json *root = NULL;

	if (path)
		json_read_optional(&root, path, STATE_MAX_BYTES, &ignored);
	free(path);
	return root;
}

struct run_size run_handle_former_size(const char *folder)
{
	struct json *state = read_state_json(folder);
	const struct run_size size = {
		.ranks = json_integer(json_get(state, "ranks"), 0),
		.hosts = (int64_t)json_len(json_get(state, "hosts")),
	};

	json_free(state);
	return size;
}

/* Was the state written on this host, since its last boot? */
static bool is_state_local(const struct json *state)
{
	char host[256] = "", boot[PROCESS_BOOT_ID];

	process_boot_id(boot);
	gethostname(host, sizeof(host) - 1);
	return !strcmp(json_text(json_get(state, "host"), ""), host) &&
	       !strcmp(json_text(json_get(state, "boot_id"), ""), boot);
}

/* The pid in the lock file: of the supervisor that took the lock; -1: unknown. */
static int64_t read_lock_pid(const char *folder)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/lock", folder), line[32];
	int64_t pid = -1;

	if (path && file_first_line(path, line, sizeof(line)) && !text_to_int(line, &pid))
		pid = -1;
	free(path);
	return pid;
}

void run_handle_refresh(struct run_handle *l)
{
	struct json *state;
	int64_t pid;
	bool local;

	l->alive = is_run_lock_held(l->folder);
	state = read_state_json(l->folder);
	pid = json_integer(json_get(state, "pid"), -1);
	local = pid > 0 && is_state_local(state);
	/* the start time detects a recycled pid */
	l->is_local =
		local && json_integer(json_get(state, "pid_start"), -2) == process_start_ticks(pid);
	/* another pid in the lock: a new supervisor, which has not written its state yet */
	l->is_orphan = l->alive && local && !l->is_local && read_lock_pid(l->folder) == pid;
	l->pid = (pid_t)pid;
	l->pid_start = json_integer(json_get(state, "pid_start"), -2);
	l->exit = (int)json_integer(json_get(state, "exit"), -1);
	snprintf(l->state, sizeof(l->state), "%s", json_text(json_get(state, "state"), "unknown"));
	snprintf(l->event, sizeof(l->event), "%s", json_text(json_get(state, "event"), ""));
	json_free(state);
}

int run_handle_exit_status(const struct run_handle *l, struct err *e)
{
	if (!strcmp(l->state, "finished"))
		return 0;
	if (!strcmp(l->state, "stopped") || !strcmp(l->state, "failed"))
		return l->exit > 0 ? l->exit : err_exit_status(ERR_INTERNAL);
	return err_set(
		e, ERR_UNAVAILABLE,
		"the supervisor of the run %s ended without a final state: train the run again, "
		"which resumes from its last checkpoint",
		l->name);
}

/* ---- finding ---- */

/* Start time of the run in this folder; -1: not a run. */
static double run_start_time(const char *folder)
{
	struct json *state = read_state_json(folder);
	double t = json_number(json_get(state, "started"), -1);

	json_free(state);
	return t;
}

/* The live run that began last; if no run is alive, the run that began last. */
static int find_latest_run(struct run_handle *l, bool *alive, struct err *e)
{
	char *runs = file_path(e, "%s/runs", l->workspace);
	DIR *d = runs ? opendir(runs) : NULL;
	double last = -1;
	struct err ignored;

	*alive = false;
	for (struct dirent *f; d && (f = readdir(d)) != NULL;) {
		char *folder;
		double t;
		bool lives;

		if (paths_check_name("run", f->d_name, &ignored))
			continue;
		folder = file_path(e, "%s/%s", runs, f->d_name);
		lives = folder && is_run_lock_held(folder);
		t = folder ? run_start_time(folder) : -1;
		if (t >= 0 && (lives > *alive || (lives == *alive && t > last))) {
			last = t;
			*alive = lives;
			snprintf(l->name, sizeof(l->name), "%.100s", f->d_name);
		}
		free(folder);
	}
	if (d)
		closedir(d);
	free(runs);
	return l->name[0] ? 0
			  : err_set(e, ERR_NOINPUT, "the workspace %s has no run", l->workspace);
}

int run_handle_find(struct run_handle *l, const struct conf *c, bool must_live, struct err *e)
{
	const char *name = c->n_arguments ? c->arguments[0] : c->run;
	bool alive = false;
	int rc;

	*l = (struct run_handle){ .pid = -1, .exit = -1 };
	l->workspace = paths_workspace(c->workspace, e);
	if (!l->workspace)
		return e->code;
	if (name && (rc = paths_check_name("run", name, e)) != 0)
		return rc;
	if (name)
		snprintf(l->name, sizeof(l->name), "%s", name);
	else if ((rc = find_latest_run(l, &alive, e)) != 0)
		return rc;
	l->folder = file_path(e, "%s/runs/%s", l->workspace, l->name);
	if (!l->folder)
		return e->code;
	if (!file_exists(l->folder))
		return workspace_unknown_run(l->workspace, l->name, e);
	run_handle_refresh(l);
	if (must_live && !l->alive && name)
		l->alive = run_lease_watch_state(l->folder) != LOCK_FREE;
	if (must_live && !l->alive && !name)
		return err_set(e, ERR_NOINPUT, "no run in the workspace %s is being trained",
			       l->workspace);
	if (must_live && !l->alive)
		return err_set(e, ERR_NOINPUT, "the run %s is not being trained; its state is: %s",
			       l->name, l->exit < 0 ? "lost" : l->state);
	return 0;
}

void run_handle_close(struct run_handle *l)
{
	free(l->workspace);
	free(l->folder);
	l->workspace = l->folder = NULL;
}

/* ---- requests ---- */

int run_handle_request(const struct run_handle *l, const char *word, struct err *e)
{
	return control_write_request(l->folder, "control", word, e);
}

static bool is_rank_of_run(const struct leftover *l, const char *folder)
{
	return l->alive && l->rank >= 0 && !strcmp(l->folder, folder);
}

/* End the ranks of this run on this host; without them, mpirun ends the ranks on other hosts. */
static int end_orphaned_ranks(const struct run_handle *l, struct err *e)
{
	struct leftover *all = NULL;
	const char *ended;
	size_t n = 0;
	int rc = leftover_read(&all, &n, e);

	for (size_t i = 0; !rc && i < n; i++)
		if (is_rank_of_run(&all[i], l->folder))
			rc = leftover_end(&all[i], 0, &ended, e);
	free(all);
	return rc;
}

/* Does the process have the lock of the run open? */
static bool has_lock_open(pid_t pid, const char *folder)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/lock", folder);
	char *list = path ? file_path(&ignored, "/proc/%ld/fd", (long)pid) : NULL;
	const struct lock_identity lock = lock_file_identity(path ? path : "");
	DIR *d = list && lock.inode ? opendir(list) : NULL;
	struct dirent *entry;
	struct stat s;
	bool is_open = false;

	while (d && !is_open && (entry = readdir(d)))
		is_open = *entry->d_name != '.' && !fstatat(dirfd(d), entry->d_name, &s, 0) &&
			  s.st_dev == lock.device && s.st_ino == lock.inode;
	if (d)
		closedir(d);
	free(list);
	free(path);
	return is_open;
}

/*
 * Is this process the launcher of the run? The text of state.json alone proves nothing: who can write
 * it could name any process. It must run werkbank-launch, have the lock open, and belong to the owner
 * of the run's folder.
 */
static bool is_launcher_of_run(pid_t pid, const char *folder)
{
	char link[64], program[PATH_MAX];
	struct stat process, run, theirs, ours;
	ssize_t n;
	bool is_launcher;

	snprintf(link, sizeof(link), "/proc/%ld/exe", (long)pid);
	n = readlink(link, program, sizeof(program) - 1);
	program[n > 0 ? n : 0] = '\0';
	/* "(deleted)": an update has replaced it */
	is_launcher = text_ends_with(program, "/werkbank-launch") ||
		      text_ends_with(program, "/werkbank-launch (deleted)") ||
		      (!stat(link, &theirs) && !stat("/proc/self/exe", &ours) &&
		       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino);
	*strrchr(link, '/') = '\0';
	return is_launcher && !stat(link, &process) && !stat(folder, &run) &&
	       process.st_uid == run.st_uid && has_lock_open(pid, folder);
}

/* Signal the launcher by a handle, so that its pid cannot become that of another process meanwhile. */
static bool signal_launcher(const struct run_handle *l, int number)
{
	const int handle = proc_handle_open(l->pid);
	const bool is_sent = process_start_ticks(l->pid) == l->pid_start &&
			     is_launcher_of_run(l->pid, l->folder) &&
			     !proc_handle_signal(handle, l->pid, number);

	if (handle >= 0)
		close(handle);
	return is_sent;
}

/* A signal also interrupts an evaluation; from another host only the request file works. */
int run_handle_stop(const struct run_handle *l, bool now, struct err *e)
{
	if (l->is_local && signal_launcher(l, now ? SIGQUIT : SIGTERM)) {
		signal_launcher(l, SIGCONT); /* also cancels a SIGSTOP not yet in effect */
		return 0;
	}
	if (now && l->is_orphan)
		return end_orphaned_ranks(l, e);
	return now ? control_write_request(l->folder, "control.now", "now", e)
		   : run_handle_request(l, "stop", e);
}

void run_handle_repeat_stop(char *folder)
{
	const struct run_handle l = { .folder = folder };
	struct leftover *all = NULL;
	struct err ignored;
	size_t n = 0;

	run_handle_request(&l, "stop", &ignored);
	leftover_read(&all, &n, &ignored);
	for (size_t i = 0; i < n; i++)
		if (is_rank_of_run(&all[i], folder)) {
			proc_signal(all[i].pid, SIGCONT);
			proc_signal(all[i].pid, SIGUSR1);
		}
	free(all);
}

double run_env_seconds(const char *variable, double otherwise)
{
	const char *given = getenv(variable);
	double s;

	return given && text_to_real(given, &s) && s >= 0 ? s : otherwise;
}
