/* lock_file.c - see lock_file.h */
#include "share/workspace/lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
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

/* Can processes of other hosts lock a file of this file system? */
static bool is_shared_by_hosts(const char *path)
{
	/* Lustre, GPFS and BeeGFS are in no header of Linux */
	static const uint32_t types[] = { NFS_SUPER_MAGIC,   SMB_SUPER_MAGIC,  CIFS_SUPER_MAGIC,
					  SMB2_SUPER_MAGIC,  CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC,
					  V9FS_MAGIC,	     FUSE_SUPER_MAGIC, CODA_SUPER_MAGIC,
					  OCFS2_SUPER_MAGIC, 0x0bd00bd0,       0x47504653,
					  0x19830326,	     0x01161970 /* GFS2 */ };
	struct statfs s;

	if (statfs(path, &s))
		return true;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if ((uint32_t)s.f_type == types[i])
			return true;
	return false;
}

/*
 * Is this line of /proc/locks about a flock() of the file? On a file system without a device of its own
 * (btrfs, overlay) stat() and /proc/locks name different minor numbers: there the inode decides.
 */
static bool is_lock_line_of(const char *line, const struct stat *s)
{
	unsigned device_major, device_minor;
	unsigned long long inode;

	return sscanf(line, "%*d: FLOCK %*s %*s %*d %x:%x:%llu", &device_major, &device_minor,
		      &inode) == 3 &&
	       inode == s->st_ino && device_major == major(s->st_dev) &&
	       (device_minor == minor(s->st_dev) || !device_major);
}

/* Of a lock that this user may not open. */
static enum lock_state state_of_closed_lock(const char *path)
{
	FILE *locks = fopen("/proc/locks", "re");
	struct stat s;
	char line[256];
	bool is_held = false;

	if (!locks || stat(path, &s)) {
		if (locks)
			fclose(locks);
		return LOCK_UNKNOWN;
	}
	while (!is_held && fgets(line, sizeof(line), locks))
		is_held = is_lock_line_of(line, &s);
	fclose(locks);
	return is_held ? LOCK_HELD : is_shared_by_hosts(path) ? LOCK_UNKNOWN : LOCK_FREE;
}

enum lock_state lock_file_state(const char *path)
{
	struct err why = { 0 };
	bool is_held;
	int fd;

	if (file_open_read(&fd, path, &why))
		return why.code == ERR_PERM ? state_of_closed_lock(path) : LOCK_FREE;
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
