/* watch_address.c - see watch_address.h */
#include "tui/commands/watch_address.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/mem.h"
#include "share/base/proc.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/workspace/paths.h"

#define ADDRESSES_MAX 32
#define LINE_BYTES    700
#define UNUSED_DAYS   30
#define NAME_BYTES    40 /* of a host in the names of runs */

struct watched_copy {
	char *folder; /* owned */
	struct proc followers[ADDRESSES_MAX];
	size_t n;
	char run[202]; /* the only run, by its name in the copy; "": a workspace */
};

static bool is_ssh_address(const char *text)
{
	return text_starts_with(text, "ssh://");
}

bool watch_has_address(const struct conf *c)
{
	return c->n_arguments > 0 && is_ssh_address(c->arguments[0]);
}

/* ---- the folder ------------------------------------------------------------------- */

/* Remove copies that were not used for a long time. Failures are ignored: it is a cache. */
static void remove_unused_copies(const char *cache)
{
	DIR *d = opendir(cache);
	struct dirent *entry;
	struct err ignored;
	struct stat st;

	while (d && (entry = readdir(d))) {
		char *path = entry->d_name[0] == '.'
				     ? NULL
				     : file_path(&ignored, "%s/%s", cache, entry->d_name);
		char *used = path ? file_path(&ignored, "%s/contact-0.json", path) : NULL;

		if (used && !stat(used, &st) &&
		    (double)st.st_mtime < clock_wall_s() - UNUSED_DAYS * 86400.0)
			file_remove_tree(path, &ignored);
		free(used);
		free(path);
	}
	if (d)
		closedir(d);
}

/* The folder of these addresses: the same ones find their copy again. */
static char *copy_folder(const struct conf *c, struct err *e)
{
	char *cache = paths_user_file("XDG_CACHE_HOME", ".cache", "watch", e), *folder = NULL;
	struct buf all = { 0 };

	if (!cache)
		return NULL;
	for (int i = 0; i < c->n_arguments; i++)
		buf_printf(&all, "%s\n", c->arguments[i]);
	if (!buf_check(&all, e))
		folder = file_path(e, "%s/%016llx", cache,
				   (unsigned long long)hash_bytes(buf_text(&all), all.len));
	if (folder && !file_make_folders(cache, e)) {
		chmod(cache, 0700); /* other users must not read the records */
		remove_unused_copies(cache);
	} else {
		free(folder);
		folder = NULL;
	}
	buf_free(&all);
	free(cache);
	return folder;
}

/* ---- the processes ---------------------------------------------------------------- */

/* The host of an address, as the beginning of a name: letters, digits, - and _. */
static void host_prefix(const char *address, char out[NAME_BYTES + 8])
{
	const char *host = address + strlen("ssh://"), *at = strchr(host, '@');
	size_t n;

	if (at && at < host + strcspn(host, "/"))
		host = at + 1;
	n = MIN(strcspn(host, "/"), (size_t)NAME_BYTES);
	for (size_t i = 0; i < n; i++) {
		char c = host[i];
		bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || (i && c == '-');

		out[i] = c;
		if (!fits)
			out[i] = '_';
	}
	out[n] = 0;
}

/* "" for one address, else the host, with a number if an earlier address has the same one. */
static void copy_prefix(const struct conf *c, int number, char out[NAME_BYTES + 24])
{
	char host[NAME_BYTES + 8], other[NAME_BYTES + 8];
	int same = 1;

	*out = 0;
	if (c->n_arguments == 1)
		return;
	host_prefix(c->arguments[number], host);
	for (int i = 0; i < number; i++) {
		host_prefix(c->arguments[i], other);
		same += !strcmp(host, other);
	}
	if (same > 1)
		snprintf(out, NAME_BYTES + 24, "%s-%d.", host, same);
	else
		snprintf(out, NAME_BYTES + 24, "%s.", host);
}

static int start_follower(struct watched_copy *w, const struct conf *c, int number, struct err *e)
{
	char *program = paths_program("werkbank-launch", e), digits[16], prefix[NAME_BYTES + 24];
	const char *argv[] = { program, "_follow", "--ssh",
			       c->ssh,	"--",	   w->folder,
			       digits,	prefix,	   c->arguments[number],
			       NULL };
	int rc;

	if (!program)
		return e->code;
	snprintf(digits, sizeof(digits), "%d", number);
	copy_prefix(c, number, prefix);
	/* its messages come by the pipe of its output; on standard error they would disturb the screen */
	rc = proc_start(&w->followers[w->n], argv,
			PROC_PIPE_OUT | PROC_PIPE_ERR | PROC_OWN_GROUP | PROC_DIE_WITH_PARENT, e);
	if (!rc)
		w->n++;
	free(program);
	return rc;
}

/* Read the one line of a follower. It has its own deadlines. */
static int read_first_line(int fd, char *line, size_t room, struct err *e)
{
	size_t n = 0;

	while (n + 1 < room) {
		ssize_t got = read(fd, line + n, 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 || line[n] == '\n')
			break;
		n++;
	}
	line[n] = 0;
	return n ? 0
		 : err_set(e, ERR_UNAVAILABLE,
			   "the process that follows the other host ended "
			   "without a word");
}

/* The error code of an exit status; ERR_UNAVAILABLE if no error code has this status. */
static int code_of_status(int64_t status)
{
	return err_exit_status(-(int)status) == status ? -(int)status : ERR_UNAVAILABLE;
}

static int wait_for_follower(struct watched_copy *w, size_t i, struct err *e)
{
	char line[LINE_BYTES], *reason;
	int64_t status;

	if (read_first_line(w->followers[i].out, line, sizeof(line), e))
		return e->code;
	if (text_starts_with(line, "ready ")) {
		if (w->n == 1)
			snprintf(w->run, sizeof(w->run), "%.201s", line + strlen("ready "));
		return 0;
	}
	reason = text_starts_with(line, "failed ") ? strchr(line + 7, ' ') : NULL;
	if (!reason)
		return err_set(e, ERR_INTERNAL, "unexpected line of _follow: %.100s", line);
	*reason++ = 0;
	return err_set(e, text_to_int(line + 7, &status) ? code_of_status(status) : ERR_UNAVAILABLE,
		       "%.450s", reason);
}

struct watched_copy *watch_address_open(const struct conf *c, struct err *e)
{
	struct watched_copy *w;
	int rc = 0;

	if (c->n_arguments > ADDRESSES_MAX)
		err_set(e, ERR_USAGE, "at most %d addresses can be watched at once", ADDRESSES_MAX);
	for (int i = 0; i < c->n_arguments && !e->code; i++)
		if (!is_ssh_address(c->arguments[i]))
			err_set(e, ERR_USAGE,
				"%.100s is not an address; all arguments must begin with "
				"ssh://, or none",
				c->arguments[i]);
		else if (text_has_password(c->arguments[i])) /* others see a process's arguments */
			err_set(e, ERR_USAGE,
				"an ssh:// address must hold no password: ssh uses keys, or asks");
	if (e->code || !(w = mem_alloc(1, sizeof(*w), e)))
		return NULL;
	w->folder = copy_folder(c, e);
	rc = w->folder ? 0 : e->code;
	for (int i = 0; i < c->n_arguments && !rc; i++)
		rc = start_follower(w, c, i, e);
	for (size_t i = 0; i < w->n && !rc; i++)
		rc = wait_for_follower(w, i, e);
	if (rc) {
		watch_address_close(w);
		return NULL;
	}
	return w;
}

struct conf watch_address_conf(const struct watched_copy *w, const struct conf *c)
{
	struct conf copy = *c;

	copy.workspace = w->folder;
	copy.n_arguments = 0;
	copy.run = *w->run ? (char *)(uintptr_t)w->run : NULL;
	copy.readonly = true;
	if (!*w->run && !c->view)
		copy.view = (char *)(uintptr_t) "home";
	return copy;
}

void watch_address_close(struct watched_copy *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n; i++)
		proc_stop(&w->followers[i], 2);
	free(w->folder);
	free(w);
}
