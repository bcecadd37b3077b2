/* lock_file.c - see lock_file.h */
#include "share/base/lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/util.h"

/* Permissions of a lock: those of the folder that it is in, without others. */
static mode_t lock_mode(const char *path)
{
	struct err ignored = { 0 };
	const char *slash = strrchr(path, '/');
	char *folder = file_path(&ignored, "%.*s", slash ? (int)MAX(slash - path, 1) : 1,
				 slash ? path : ".");
	struct stat s;
	const bool is_shared = folder && !stat(folder, &s) && s.st_mode & S_IWGRP;

	free(folder);
	return is_shared ? 0660 : 0600;
}

int lock_file_open(int *fd, const char *path, struct err *e)
{
	const mode_t mode = lock_mode(path);
	struct stat s;

	if (file_open_in_place(fd, path, O_RDWR, e))
		return e->code;
	if (!fstat(*fd, &s) && s.st_uid == geteuid() && s.st_mode & 0777 & ~mode)
		(void)fchmod(*fd, s.st_mode & mode); /* some file systems have no modes */
	return 0;
}

enum lock_state lock_file_state(const char *path)
{
	struct err why = { 0 };
	bool is_held;
	int fd;

	if (file_open_read(&fd, path, &why))
		return why.code == ERR_PERM ? LOCK_UNKNOWN : LOCK_FREE;
	is_held = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
	close(fd);
	return is_held ? LOCK_HELD : LOCK_FREE;
}

struct lock_identity lock_file_identity(const char *path)
{
	struct stat s;

	if (stat(path, &s))
		return (struct lock_identity){ .inode = 0 };
	return (struct lock_identity){ s.st_dev, s.st_ino };
}

bool lock_file_is_same(const struct lock_identity *was, const char *path)
{
	const struct lock_identity is = lock_file_identity(path);

	return !was->inode || (was->device == is.device && was->inode == is.inode);
}
