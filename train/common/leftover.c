/* leftover.c - see leftover.h */
#include "train/common/leftover.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/proc.h"
#include "share/base/text.h"

#define MAX_RECORD  8192 /* bytes */
#define MAX_RECORDS 65536

/* ---- identity of processes --------------------------------------------- */

/*
 * /proc/PID/stat from the end of field 2 on; NULL: no such process. The name, field 2, may contain
 * blanks and brackets: the last bracket ends it.
 */
static char *read_process_stat(int64_t pid, char line[1024])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	return pid > 0 && file_first_line(path, line, 1024) ? strrchr(line, ')') : NULL;
}

bool process_is_suspended(int64_t pid)
{
	char line[1024], *at = read_process_stat(pid, line);

	return at && at[1] == ' ' && (at[2] == 'T' || at[2] == 't');
}

int64_t process_start_ticks(int64_t pid)
{
	char line[1024], *at = read_process_stat(pid, line), *end;
	long long value;

	if (!at)
		return -1;
	if (at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X'))
		return -1; /* a zombie: its parent has not waited for it yet */
	for (int field = 2; field < 22 && at; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return -1;
	value = strtoll(at + 1, &end, 10);
	return end > at + 1 ? value : -1;
}

bool process_boot_id(char boot[PROCESS_BOOT_ID])
{
	return file_first_line("/proc/sys/kernel/random/boot_id", boot, PROCESS_BOOT_ID);
}

static void read_boot_and_pid_space(char boot[PROCESS_BOOT_ID], char pid_space[40])
{
	ssize_t n = readlink("/proc/self/ns/pid", pid_space, 39);

	pid_space[n > 0 ? n : 0] = 0;
	process_boot_id(boot);
}

/* ---- the folder -------------------------------------------------------- */

/*
 * Path of the folder, owned by the caller. Anybody can create names in /tmp: check owner and mode.
 */
static char *record_folder_path(bool make, struct err *e)
{
	const char *given = getenv("WERKBANK_RUNTIME");
	char *path = given && *given ? mem_strdup(given, e)
				     : file_path(e, "/tmp/werkbank-%ld", (long)geteuid());
	struct stat s;

	if (!path)
		return NULL;
	if (make && mkdir(path, 0700) && errno != EEXIST) {
		err_set_errno(e, ERR_CANTCREAT, "%s: cannot create this folder", path);
	} else if (lstat(path, &s)) {
		err_set_errno(e, ERR_NOINPUT, "%s: cannot read the state of this folder", path);
	} else if (!S_ISDIR(s.st_mode) || s.st_uid != geteuid() || s.st_mode & 077) {
		err_set(e, ERR_PERM,
			"%s must be a folder of user %ld with mode 0700, for the records of "
			"processes: remove it or correct its owner and mode",
			path, (long)geteuid());
	} else {
		return path;
	}
	free(path);
	return NULL;
}

/* ---- records ------------------------------------------------------------ */

void leftover_write(const struct leftover *l, struct json_writer *w)
{
	assert(l->rank >= LEFTOVER_LAUNCHER);
	json_open(w, '{');
	json_put_str(w, "run", l->run);
	json_put_int(w, "rank", l->rank);
	json_put_str(w, "folder", l->folder);
	json_put_str(w, "host", l->host);
	json_put_str(w, "tag", l->tag);
	json_put_int(w, "pid", l->pid);
	json_put_int(w, "started", l->started);
	json_put_str(w, "boot", l->boot);
	json_put_str(w, "pid_space", l->pid_space);
	json_put_int(w, "parent", l->parent);
	json_put_int(w, "parent_started", l->parent_started);
	if (l->file[0]) {
		json_put_str(w, "file", l->file);
		json_put_bool(w, "alive", l->alive);
		json_put_bool(w, "orphan", l->orphan);
	}
	json_close(w, '}');
}

/* false: the text is too long. */
static bool leftover_get_text(const struct json *object, const char *key, char *to, size_t size)
{
	const char *text = json_text(json_get(object, key), "");

	return (size_t)snprintf(to, size, "%s", text) < size;
}

bool leftover_parse(struct leftover *l, const struct json *object)
{
	*l = (struct leftover){ 0 };
	if (!leftover_get_text(object, "run", l->run, sizeof(l->run)) ||
	    !leftover_get_text(object, "folder", l->folder, sizeof(l->folder)) ||
	    !leftover_get_text(object, "host", l->host, sizeof(l->host)) ||
	    !leftover_get_text(object, "tag", l->tag, sizeof(l->tag)) ||
	    !leftover_get_text(object, "boot", l->boot, sizeof(l->boot)) ||
	    !leftover_get_text(object, "pid_space", l->pid_space, sizeof(l->pid_space)) ||
	    !leftover_get_text(object, "file", l->file, sizeof(l->file)))
		return false;
	l->rank = (int32_t)json_integer(json_get(object, "rank"), LEFTOVER_LAUNCHER - 1);
	l->pid = json_integer(json_get(object, "pid"), 0);
	l->started = json_integer(json_get(object, "started"), 0);
	l->parent = json_integer(json_get(object, "parent"), 0);
	l->parent_started = json_integer(json_get(object, "parent_started"), 0);
	l->alive = json_boolean(json_get(object, "alive"), false);
	l->orphan = json_boolean(json_get(object, "orphan"), false);
	/* Pids up to 1 are invalid: kill() treats 0 and negative numbers as process groups. */
	return l->pid > 1 && l->pid <= INT32_MAX && l->started > 0 && l->run[0] && l->boot[0] &&
	       l->rank >= LEFTOVER_LAUNCHER;
}

static void describe_self(struct leftover *l, const char *run_folder, const char *name, int rank)
{
	const char *tag = getenv(LEFTOVER_TAG);

	*l = (struct leftover){ .rank = rank, .pid = getpid(), .parent = getppid() };
	snprintf(l->run, sizeof(l->run), "%s", name);
	snprintf(l->folder, sizeof(l->folder), "%s", run_folder ? run_folder : "");
	snprintf(l->tag, sizeof(l->tag), "%s", tag ? tag : "");
	if (gethostname(l->host, sizeof(l->host) - 1))
		l->host[0] = 0;
	l->started = process_start_ticks(l->pid);
	l->parent_started = process_start_ticks(l->parent);
	read_boot_and_pid_space(l->boot, l->pid_space);
}

char *leftover_record(const char *run_folder, const char *name, int rank, struct err *e)
{
	struct buf text = { 0 };
	struct json_writer w = { .out = &text };
	struct leftover self;
	char *folder = record_folder_path(true, e), *path = NULL;

	describe_self(&self, run_folder, name, rank);
	if (folder)
		path = file_path(e, "%s/%s.%d.%ld", folder, name, rank, (long)self.pid);
	leftover_write(&self, &w);
	buf_add_char(&text, '\n');
	if (path && (buf_check(&text, e) || file_write_all(path, text.data, text.len, e))) {
		free(path);
		path = NULL;
	}
	buf_free(&text);
	free(folder);
	return path;
}

void leftover_remove_record(char *record)
{
	if (record)
		unlink(record);
	free(record);
}

/* ---- reading ------------------------------------------------------------ */

static bool leftover_is_of_this_boot(const struct leftover *l)
{
	char boot[PROCESS_BOOT_ID], space[40];

	read_boot_and_pid_space(boot, space);
	return !strcmp(l->boot, boot) && !strcmp(l->pid_space, space);
}

static void leftover_find_state(struct leftover *l)
{
	l->alive = leftover_is_of_this_boot(l) && process_start_ticks(l->pid) == l->started;
	l->orphan = l->alive && l->rank >= 0 && l->parent_started > 0 &&
		    process_start_ticks(l->parent) != l->parent_started;
}

/* Read one record; false: not a record (a temporary file, garbage, a symbolic link). */
static bool read_record(const char *path, struct leftover *l)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char text[MAX_RECORD];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	struct err ignored;
	struct json *tree = n > 0 ? json_parse(text, (size_t)n, &ignored) : NULL;
	bool ok = tree && leftover_parse(l, tree) &&
		  (size_t)snprintf(l->file, sizeof(l->file), "%s", path) < sizeof(l->file);

	json_free(tree);
	if (fd >= 0)
		close(fd);
	if (ok)
		leftover_find_state(l);
	return ok;
}

int leftover_read(struct leftover **all, size_t *n, struct err *e)
{
	struct err none = { 0 };
	char *folder = record_folder_path(false, &none);
	DIR *d = folder ? opendir(folder) : NULL;
	const struct dirent *entry;
	size_t cap = 0;
	int rc = 0;

	*all = NULL;
	*n = 0;
	if (!folder && none.code != ERR_NOINPUT)
		rc = err_set(e, none.code, "%s", none.text);
	else if (folder && !d)
		rc = err_set_errno(e, ERR_IO, "%s: cannot read this folder", folder);
	while (!rc && d && *n < MAX_RECORDS && (entry = readdir(d))) {
		char *path;

		if (entry->d_name[0] == '.' || text_ends_with(entry->d_name, ".tmp"))
			continue;
		path = file_path(e, "%s/%s", folder, entry->d_name);
		if (!path || mem_grow(all, &cap, *n + 1, sizeof(**all), e))
			rc = e->code;
		else if (read_record(path, *all + *n))
			++*n;
		free(path);
	}
	if (d)
		closedir(d);
	free(folder);
	if (rc) {
		free(*all);
		*all = NULL;
	}
	return rc;
}

/* ---- ending processes ------------------------------------------------------ */

/*
 * A pidfd makes sure that the pid is not recycled between the check and the signal. Kernels before
 * 5.3 have no pidfd: then there is a small gap. Returns 0 or an errno.
 */
static int send_signal(const struct leftover *l, int descriptor, int number)
{
	if (!leftover_is_of_this_boot(l) || process_start_ticks(l->pid) != l->started)
		return ESRCH;
	return proc_handle_signal(descriptor, (pid_t)l->pid, number);
}

static bool wait_leftover_gone(const struct leftover *l, double seconds)
{
	double until = clock_mono_s() + seconds;

	while (process_start_ticks(l->pid) == l->started) {
		if (clock_mono_s() > until)
			return false;
		usleep(20000);
	}
	return true;
}

void leftover_send_sigterm(const struct leftover *l)
{
	int descriptor = proc_handle_open((pid_t)l->pid);

	send_signal(l, descriptor, SIGTERM);
	if (descriptor >= 0)
		close(descriptor);
}

int leftover_end(const struct leftover *l, double grace_s, const char **ended, struct err *e)
{
	int descriptor = proc_handle_open((pid_t)l->pid);
	int number = send_signal(l, descriptor, SIGTERM), rc = 0;

	assert(l->pid > 1 && grace_s >= 0);
	*ended = "gone";
	if (!number) {
		send_signal(l, descriptor, SIGCONT); /* a stopped process does not handle SIGTERM */
		*ended = "terminated";
		if (!wait_leftover_gone(l, grace_s)) {
			*ended = "killed";
			number = send_signal(l, descriptor, SIGKILL);
			if (!number && !wait_leftover_gone(l, grace_s + 2))
				number = EBUSY;
		}
	}
	if (descriptor >= 0)
		close(descriptor);
	errno = number;
	if (number && number != ESRCH)
		rc = err_set_errno(e, ERR_PERM, "cannot end process %lld of run %s",
				   (long long)l->pid, l->run);
	else if (l->file[0] && unlink(l->file) && errno != ENOENT)
		rc = err_set_errno(e, ERR_IO, "%s: cannot remove this file", l->file);
	return rc;
}
