/*
 * file_write.c - files that replace others atomically; see file.h
 *
 * Another user may be able to write in the folder of the target. Therefore a temporary name is
 * random and new, the folder stays open from the check of the target to the rename, and a symbolic
 * link counts only if this user or root has made it.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/file_internal.h"
#include "share/base/mem.h"

/* ---- the target ---- */

/*
 * Read the link `name` of this folder. 0: it is none; < 0: e. The link is opened first, so that
 * owner and text are those of one link. A link with a second name (st_nlink) may have got this name
 * from another user.
 */
static int read_target_link(const struct outfile *o, char target[PATH_MAX], struct err *e)
{
	const int fd = openat(o->folder, o->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat s;
	ssize_t n = 0;
	int rc = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : file_cannot_write(e, o->path);
	if (fstat(fd, &s))
		rc = file_cannot_write(e, o->path);
	else if (S_ISLNK(s.st_mode) && ((s.st_uid && s.st_uid != geteuid()) || s.st_nlink > 1))
		rc = err_set(e, ERR_PERM,
			     "%s: is a symbolic link that another user (number %ld) can have made; "
			     "nothing is written through it: remove it or give another name",
			     o->path, (long)s.st_uid);
	else if (S_ISLNK(s.st_mode) && (n = readlinkat(fd, "", target, PATH_MAX - 1)) < 0)
		rc = file_cannot_write(e, o->path);
	if (n > 0)
		target[n] = 0;
	close(fd);
	return rc ? rc : n > 0;
}

/*
 * Each file of a temporary folder is new. Another user can have put a folder in its place which has
 * files or links already.
 */
static int refuse_known_name(const struct outfile *o, struct err *e)
{
	struct stat s;

	if (fstatat(o->folder, o->name, &s, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : file_cannot_write(e, o->path);
	return err_set(e, ERR_CANTCREAT,
		       "%s: already exists in a new folder, which another user has replaced",
		       o->path);
}

/* Set folder and name of the file that is replaced: PATH, or what the links there lead to. */
static int find_target(struct outfile *o, struct err *e)
{
	char target[PATH_MAX];
	bool in_temporary;
	int got, fd;

	o->folder = file_open_folder_of(AT_FDCWD, o->path, o->name, &in_temporary);
	if (o->folder < 0)
		return file_cannot_open_folder(e, o->path);
	if (in_temporary)
		return refuse_known_name(o, e);
	for (int links = 0; (got = read_target_link(o, target, e)) > 0; links++) {
		if (links == FILE_LINK_LIMIT)
			return err_set(e, ERR_CANTCREAT,
				       "%s: cannot be written: more than %d symbolic links",
				       o->path, FILE_LINK_LIMIT);
		fd = file_open_folder_of(o->folder, target, o->name, NULL);
		if (fd < 0)
			return file_cannot_open_folder(e, o->path);
		close(o->folder);
		o->folder = fd;
	}
	return got;
}

/*
 * A device or a pipe is written to directly: a rename would replace it by a plain file. A pipe of
 * another user would give him the output, or never be opened.
 */
static int open_special_file(const struct outfile *o, const struct stat *target, struct err *e)
{
	struct stat s;
	int fd;

	if (!S_ISCHR(target->st_mode) && !S_ISBLK(target->st_mode) && target->st_uid &&
	    target->st_uid != geteuid()) {
		err_set(e, ERR_PERM, "%s: is a pipe that another user (number %ld) has made",
			o->path, (long)target->st_uid);
		return -1;
	}
	/* O_NONBLOCK: open() fails at once instead of waiting for a reader */
	fd = openat(o->folder, o->name,
		    O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC | (o->waits ? 0 : O_NONBLOCK));
	if (fd >= 0 && !fstat(fd, &s) && !S_ISREG(s.st_mode) &&
	    (o->waits || !fcntl(fd, F_SETFL, O_WRONLY)))
		return fd;
	if (fd < 0 && errno == ENXIO) {
		err_set(e, ERR_CANTCREAT, "%s: is a pipe that no program reads", o->path);
		return -1;
	}
	file_cannot_write(e, o->path);
	if (fd >= 0) {
		err_set(e, ERR_CANTCREAT, "%s: another program has replaced it", o->path);
		close(fd);
	}
	return -1;
}

/* ---- the temporary ---- */

/*
 * The mode of the new file is that of the file which it replaces. A file of another user can only
 * take permissions away: its owner does not decide who may read ours.
 */
static int keep_mode(const struct outfile *o, int fd, const struct stat *old, mode_t wanted,
		     struct err *e)
{
	struct stat new;
	mode_t mode = old->st_mode & 0777;

	if (fstat(fd, &new))
		return file_cannot_write(e, o->path);
	if (old->st_uid != geteuid())
		mode = (mode & new.st_mode) | 0600;
	/* the permissions of one group are not for another */
	if (old->st_gid != new.st_gid && fchown(fd, (uid_t)-1, old->st_gid))
		mode &= ~(mode_t)070;
	if (wanted & 0111)
		mode |= (mode & 0444) >> 2;
	if ((new.st_mode & 0777) == mode || !fchmod(fd, mode))
		return 0;
	/* a sandbox refuses fchmod(): fewer permissions are no harm */
	return errno == EPERM && !(new.st_mode & 0777 & ~mode) ? 0 : file_cannot_write(e, o->path);
}

/* Create the temporary; it never has more permissions than the complete file will have. */
static int create_temporary(struct outfile *o, const struct stat *old, mode_t mode, struct err *e)
{
	const mode_t first = old ? mode & (old->st_mode | 0600) : mode;
	int fd = -1;

	for (int i = 0; fd < 0 && i < FILE_NAME_TRIES; i++) {
		if (file_temporary_name(o->temporary, o->name, e)) {
			*o->temporary = 0;
			return -1;
		}
		fd = openat(o->folder, o->temporary,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, first);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0) {
		file_cannot_write(e, o->path);
		*o->temporary = 0;
	} else if (old && keep_mode(o, fd, old, mode, e)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* The descriptor to write to; -1: e. */
static int open_target(struct outfile *o, mode_t mode, struct err *e)
{
	struct stat old;
	int fd;

	if (file_is_own_stream(o->path)) {
		fd = open(o->path, O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC);
		if (fd < 0)
			file_cannot_write(e, o->path);
		return fd;
	}
	if (find_target(o, e))
		return -1;
	if (fstatat(o->folder, o->name, &old, AT_SYMLINK_NOFOLLOW))
		return create_temporary(o, NULL, mode, e);
	if (S_ISREG(old.st_mode))
		return create_temporary(o, &old, mode, e);
	if (!S_ISDIR(old.st_mode))
		return open_special_file(o, &old, e);
	errno = EISDIR;
	file_cannot_write(e, o->path);
	return -1;
}

static int open_outfile(struct outfile *o, const char *path, mode_t mode, bool waits, struct err *e)
{
	int fd;

	*o = (struct outfile){ .folder = -1, .waits = waits };
	if (held_take_file(o, path, e))
		return e->code;
	o->path = mem_strdup(path, e);
	fd = o->path ? open_target(o, mode, e) : -1;
	o->stream = fd >= 0 ? fdopen(fd, "wb") : NULL;
	if (o->stream)
		return 0;
	if (fd >= 0) {
		file_cannot_write(e, path);
		close(fd);
	}
	outfile_abandon(o);
	return e->code;
}

int outfile_open(struct outfile *o, const char *path, struct err *e)
{
	return open_outfile(o, path, 0666, true, e);
}

/* ---- the end ---- */

static void sync_folder_at(int folder, const char *path)
{
	const int fd = openat(folder, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		(void)fsync(fd); /* some file systems do not support this */
		close(fd);
	}
}

void file_sync_folder(const char *path)
{
	sync_folder_at(AT_FDCWD, path);
}

/*
 * Is this what another user has put there instead of the file that we have `written`? Another process
 * of ours may have replaced it, which is no fault.
 */
static bool is_planted(const struct stat *there, const struct stat *written)
{
	return (there->st_dev != written->st_dev || there->st_ino != written->st_ino) &&
	       (there->st_uid != written->st_uid || !S_ISREG(there->st_mode) ||
		there->st_nlink > 1);
}

/* Rename the temporary. Who can write in the folder can have replaced the temporary before. */
static int put_in_place(const struct outfile *o, const struct stat *written, struct err *e)
{
	struct stat there;

	if (renameat(o->folder, o->temporary, o->folder, o->name)) {
		err_set_errno(e, ERR_CANTCREAT, "%s: cannot be put in place", o->path);
		if (e->code == ERR_NOINPUT) /* the temporary is gone */
			e->code = ERR_CANTCREAT;
		return e->code;
	}
	if (!fstatat(o->folder, o->name, &there, AT_SYMLINK_NOFOLLOW) &&
	    is_planted(&there, written))
		return err_set(e, ERR_CANTCREAT,
			       "%s: another user has replaced it while it was written; write to a "
			       "folder that only you can change",
			       o->path);
	return 0;
}

static bool is_file_at(int folder, const char *name, const struct stat *written)
{
	struct stat s;

	return !fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) && s.st_dev == written->st_dev &&
	       s.st_ino == written->st_ino;
}

int file_rename_written(const char *from, const char *to, const struct stat *written, struct err *e)
{
	char old[NAME_MAX + 1];
	const int folder = file_open_folder_of(AT_FDCWD, from, old, NULL);
	size_t ignored;
	const char *new = file_last_part(to, &ignored);
	int rc = 0;

	if (folder < 0)
		return file_cannot_open_folder(e, from);
	if (is_file_at(folder, old, written) && renameat(folder, old, folder, new))
		rc = err_set_errno(e, ERR_CANTCREAT, "%s: cannot be renamed to %s", from, to);
	else if (!is_file_at(folder, new, written))
		rc = err_set(e, ERR_CANTCREAT,
			     "%s: another user or program has replaced the file; write to a folder "
			     "that only you can change",
			     from);
	close(folder);
	return rc;
}

int outfile_commit(struct outfile *o, struct err *e)
{
	const bool synced = *o->temporary && !o->is_volatile;
	struct stat written;
	bool good;
	int rc;

	assert(o->stream && o->path); /* open, and not committed or abandoned before */
	good = !ferror(o->stream) && fflush(o->stream) == 0 &&
	       (!synced || fsync(fileno(o->stream)) == 0) &&
	       fstat(fileno(o->stream), &written) == 0;
	if (good) {
		good = fclose(o->stream) == 0;
		o->stream = NULL;
	}
	if (!good) {
		err_set_errno(e, ERR_IO, "%s: cannot be written", o->path);
		outfile_abandon(o);
		return e->code;
	}
	if (o->held) {
		rc = held_commit(o->held, e);
		outfile_abandon(o);
		return rc;
	}
	rc = *o->temporary ? put_in_place(o, &written, e) : 0;
	if (!rc)
		*o->temporary = 0;
	if (!rc && synced)
		sync_folder_at(o->folder, ".");
	outfile_abandon(o);
	return rc;
}

void outfile_abandon(struct outfile *o)
{
	if (o->stream)
		fclose(o->stream);
	if (*o->temporary && !o->held)
		unlinkat(o->folder, o->temporary, 0);
	if (o->path && o->folder >= 0)
		close(o->folder);
	free(o->path);
	*o = (struct outfile){ .folder = -1 };
}

int outfile_finish(struct outfile *o, int rc, struct err *e)
{
	if (o->stream && !rc)
		return outfile_commit(o, e);
	outfile_abandon(o);
	return rc;
}

/* ---- whole files ---- */

/* Write to an open outfile and commit it. */
static int finish_with(struct outfile *o, const void *bytes, size_t n, struct err *e)
{
	if (n) /* outfile_commit() reports a failure, through ferror() */
		fwrite(bytes, 1, n, o->stream);
	return outfile_commit(o, e);
}

int file_write_all(const char *path, const void *bytes, size_t n, struct err *e)
{
	struct outfile o;

	return open_outfile(&o, path, 0666, false, e) ? e->code : finish_with(&o, bytes, n, e);
}

int file_write_buf(const char *path, const struct buf *b, struct err *e)
{
	return buf_check(b, e) ? e->code : file_write_all(path, b->data, b->len, e);
}

int file_write_into(const char *folder, const char *name, const struct buf *b, struct err *e)
{
	char *path = file_path(e, "%s/%s", folder, name);
	int rc = path ? file_write_buf(path, b, e) : e->code;

	free(path);
	return rc;
}

int file_write_script(const char *path, const struct buf *b, struct err *e)
{
	struct outfile o;

	if (buf_check(b, e) || open_outfile(&o, path, 0777, false, e))
		return e->code;
	return finish_with(&o, b->data, b->len, e);
}

int file_write_volatile(const char *path, const struct buf *b, struct err *e)
{
	struct outfile o;

	if (buf_check(b, e) || open_outfile(&o, path, 0666, false, e))
		return e->code;
	o.is_volatile = true;
	return finish_with(&o, b->data, b->len, e);
}

int file_copy(const char *from, const char *to, struct err *e)
{
	struct buf b = { 0 };
	int failed = file_read_all(from, 0, &b, e);

	if (!failed)
		failed = file_write_all(to, b.data, b.len, e);
	buf_free(&b);
	return failed;
}

/* ---- files that are written in place ---- */

int file_open_in_place(int *fd, const char *path, int flags, struct err *e)
{
	char name[NAME_MAX + 1];
	const int folder = file_open_folder_of(AT_FDCWD, path, name, NULL);
	struct stat s;

	assert(!(flags & ~(O_APPEND | O_WRONLY | O_RDWR)));
	*fd = -1;
	if (folder < 0)
		return file_cannot_open_folder(e, path);
	*fd = openat(folder, name, flags | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC,
		     0666);
	close(folder); /* keeps errno */
	if (*fd < 0 && errno == ELOOP)
		return err_set(e, ERR_CANTCREAT,
			       "%s: is a symbolic link; a regular file was expected: remove it",
			       path);
	if (*fd < 0 || fstat(*fd, &s)) {
		file_cannot_write(e, path);
	} else if (!S_ISREG(s.st_mode)) {
		err_set(e, ERR_CANTCREAT, "%s: is not a regular file: remove it", path);
	} else if (s.st_nlink > 1) {
		err_set(e, ERR_CANTCREAT,
			"%s: has %ld names (hard links); a file of its own was expected: remove it",
			path, (long)s.st_nlink);
	} else {
		return 0;
	}
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return e->code;
}
