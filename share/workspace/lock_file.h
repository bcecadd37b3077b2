/*
 * lock_file.h - the lock of a folder: a file that one program holds with flock()
 *
 * Whoever can open a file can lock it with flock(), for reading too. So the file is readable for its
 * owner only, and for the group if the folder may be written by the group: nobody else can hold it.
 * Others see in /proc/locks whether a process of their own host holds it.
 */
#ifndef WERKBANK_SHARE_WORKSPACE_LOCK_FILE_H
#define WERKBANK_SHARE_WORKSPACE_LOCK_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "share/base/err.h"

/*
 * Open, or create, the lock and take away permissions that an earlier release gave to others. *fd: the
 * caller locks and closes it. Errors as of file_open_in_place().
 */
int lock_file_open(int *fd, const char *path, struct err *e);

/*
 * LOCK_FREE: also if there is none. LOCK_UNKNOWN: this user may not open the lock, and a process of
 * another host may hold it, because the folder is on a network file system.
 */
enum lock_state { LOCK_FREE, LOCK_HELD, LOCK_UNKNOWN };

/*
 * Does a process hold the lock? Takes a shared lock for a short time. Looks for the lock in /proc/locks
 * if this user may not open it.
 */
enum lock_state lock_file_state(const char *path);

/* The inode of a lock, by which a folder that was exchanged is noticed. */
struct lock_identity {
	dev_t device;
	ino_t inode; /* 0: unknown */
};

/* Of the lock at this path; unknown if there is none. */
struct lock_identity lock_file_identity(const char *path);

/* Is this still the lock at the path? An unknown identity is the same as any. */
bool lock_file_is_same(const struct lock_identity *was, const char *path);

#endif
