/* control.c - see control.h */
#include "train/common/control.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"

#define WRITE_TRIES    500 /* a reader may be suspended between its lock and its end */
#define WRITE_PAUSE_US 10000

static void parse_requests(FILE *f, struct control *c)
{
	char word[32];

	while (fscanf(f, "%31s", word) == 1) {
		c->save |= !strcmp(word, "save");
		c->evaluate |= !strcmp(word, "evaluate");
		c->stop |= !strcmp(word, "stop");
	}
}

struct control control_read_requests(const char *run_folder)
{
	struct err ignored;
	struct control c = { 0 };
	char *path = file_path(&ignored, "%s/control", run_folder);
	FILE *f = path ? file_open_stream(path, &ignored) : NULL;

	/* a shared lock: NFS refuses an exclusive one on a file opened for reading */
	if (f && (!flock(fileno(f), LOCK_SH | LOCK_NB) || errno != EWOULDBLOCK)) {
		unlink(path); /* first: a writer without a lock then sees that it is late */
		parse_requests(f, &c);
	}
	if (f)
		fclose(f);
	free(path);
	return c;
}

/* Is the open file still the one with this name? */
static bool is_file_in_place(int fd, const char *path)
{
	struct stat ours, now;

	return !fstat(fd, &ours) && !stat(path, &now) && ours.st_ino == now.st_ino &&
	       ours.st_dev == now.st_dev;
}

/* *is_done false: the reader removed the file or reads it now; try again. */
static int append_request_line(const char *path, const char *line, bool *is_done, struct err *e)
{
	int fd, rc = file_open_in_place(&fd, path, O_WRONLY | O_APPEND, e);
	bool is_locked, is_ours;

	*is_done = false;
	if (rc)
		return rc;
	is_locked = !flock(fd, LOCK_EX | LOCK_NB);
	is_ours = is_locked || errno != EWOULDBLOCK; /* another error: no locks here */
	if (is_ours && is_file_in_place(fd, path)) {
		if (file_write_fd(fd, line, strlen(line)))
			rc = err_set_errno(e, ERR_CANTCREAT, "%s: cannot write to this file", path);
		*is_done = is_locked || is_file_in_place(fd, path);
	}
	close(fd);
	return rc;
}

int control_write_request(const char *run_folder, const char *file, const char *word, struct err *e)
{
	char *path = file_path(e, "%s/%s", run_folder, file), line[40];
	int rc = path ? 0 : e->code;
	bool is_done = false;

	assert(strlen(word) < sizeof(line) - 1);
	snprintf(line, sizeof(line), "%s\n", word);
	for (int i = 0; !rc && !is_done && i < WRITE_TRIES; i++) {
		if (i)
			usleep(WRITE_PAUSE_US);
		rc = append_request_line(path, line, &is_done, e);
	}
	if (!rc && !is_done)
		rc = err_set(
			e, ERR_TEMPFAIL,
			"%s: another process keeps this file locked: end it, or remove the file",
			path);
	free(path);
	return rc;
}
