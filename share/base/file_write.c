/*
 * file_write.c - files and folders that replace others atomically; see file.h
 *
 * Another user may be able to write in the folder of the target. Therefore a temporary name is
 * random and new, the folder stays open from the check of the target to the rename, and a symbolic
 * link counts only if this user or root has made it.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/mem.h"

#define NAME_TRIES 100	 /* random names before giving up: 64 bits do not collide by chance */
#define LINK_LIMIT 8	 /* links that lead to links */
#define LEFTOVER_S 86400 /* after a day nobody writes to a temporary any more */

/* ---- names ---- */

/* ".0123456789abcdef.tmp": what file_remove_leftovers() recognises. */
enum { SUFFIX_BYTES = 1 + 16 + 4 };

static int make_temporary_name(char out[NAME_MAX + 1], const char *name, struct err *e)
{
	unsigned long long number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return err_set_errno(e, ERR_INTERNAL, "no random number for a temporary name");
	if (strlen(name) + SUFFIX_BYTES > NAME_MAX)
		name = ""; /* then the name is the suffix alone */
	snprintf(out, NAME_MAX + 1, "%s.%016llx.tmp", name, number);
	return 0;
}

static bool is_temporary_name(const char *name)
{
	const size_t n = strlen(name);
	const char *suffix = name + n - SUFFIX_BYTES;

	return n >= SUFFIX_BYTES && suffix[0] == '.' && !strcmp(suffix + 17, ".tmp") &&
	       strspn(suffix + 1, "0123456789abcdef") == 16;
}

/* Sets the last part of a path and the length of the part before it, with the slash. */
static const char *last_part(const char *path, size_t *folder)
{
	const char *slash = strrchr(path, '/');

	*folder = slash ? (size_t)(slash - path) + 1 : 0;
	return slash ? slash + 1 : path;
}

/* A missing folder is no missing input. */
static int cannot_write(struct err *e, const char *path)
{
	err_set_errno(e, ERR_CANTCREAT, "%s: cannot be written", path);
	if (e->code == ERR_NOINPUT)
		e->code = ERR_CANTCREAT;
	return e->code;
}

/* ---- the target ---- */

/*
 * Open a folder, whose path has no slash at its end, seen from the folder `from`. A link in a folder
 * that everybody can write in counts only if this user, root or that folder's owner has made it, as
 * with the kernel's fs.protected_symlinks, which may be off: else -1, EPERM.
 */
static int open_folder(int from, const char *path)
{
	size_t n;
	const char *last = last_part(path, &n);
	char *above = n ? strndup(path, n) : strdup(".");
	const int parent = above ? openat(from, above, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	int fd = -1;
	struct stat link, at;

	if (parent >= 0 && !fstat(parent, &at) &&
	    !fstatat(parent, last, &link, AT_SYMLINK_NOFOLLOW)) {
		const bool is_link = S_ISLNK(link.st_mode);

		errno = EPERM;
		if (!is_link || !(at.st_mode & 0002) || !link.st_uid || link.st_uid == geteuid() ||
		    link.st_uid == at.st_uid)
			fd = openat(parent, last,
				    O_PATH | O_DIRECTORY | O_CLOEXEC | (is_link ? 0 : O_NOFOLLOW));
	}
	if (parent >= 0)
		close(parent);
	free(above);
	return fd;
}

/* Open the folder of `path`, seen from the folder `from`; name gets the last part. */
static int open_folder_of(int from, const char *path, char name[NAME_MAX + 1])
{
	size_t n;
	const char *last = last_part(path, &n);
	char *folder;
	int fd = -1;

	while (n > 1 && path[n - 1] == '/')
		n--;
	folder = n ? strndup(path, n) : strdup(".");
	if (!*last || strlen(last) > NAME_MAX)
		errno = *last ? ENAMETOOLONG : *path ? EISDIR : ENOENT;
	else if (folder && !strcmp(folder, "/"))
		fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	else if (folder)
		fd = open_folder(from, folder);
	if (fd >= 0)
		memcpy(name, last, strlen(last) + 1);
	free(folder);
	return fd;
}

static int cannot_open_folder(struct err *e, const char *path)
{
	if (errno != EPERM)
		return cannot_write(e, path);
	return err_set(e, ERR_PERM,
		       "%s: its folder is a symbolic link that another user has made in a folder "
		       "of all users; nothing is written through it: give another name",
		       path);
}

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
		return errno == ENOENT ? 0 : cannot_write(e, o->path);
	if (fstat(fd, &s))
		rc = cannot_write(e, o->path);
	else if (S_ISLNK(s.st_mode) && ((s.st_uid && s.st_uid != geteuid()) || s.st_nlink > 1))
		rc = err_set(e, ERR_PERM,
			     "%s: is a symbolic link that another user (number %ld) can have made; "
			     "nothing is written through it: remove it or give another name",
			     o->path, (long)s.st_uid);
	else if (S_ISLNK(s.st_mode) && (n = readlinkat(fd, "", target, PATH_MAX - 1)) < 0)
		rc = cannot_write(e, o->path);
	if (n > 0)
		target[n] = 0;
	close(fd);
	return rc ? rc : n > 0;
}

/* Set folder and name of the file that is replaced: PATH, or what the links there lead to. */
static int find_target(struct outfile *o, struct err *e)
{
	char target[PATH_MAX];
	int got, fd;

	o->folder = open_folder_of(AT_FDCWD, o->path, o->name);
	if (o->folder < 0)
		return cannot_open_folder(e, o->path);
	for (int links = 0; (got = read_target_link(o, target, e)) > 0; links++) {
		if (links == LINK_LIMIT)
			return err_set(e, ERR_CANTCREAT,
				       "%s: cannot be written: more than %d symbolic links",
				       o->path, LINK_LIMIT);
		fd = open_folder_of(o->folder, target, o->name);
		if (fd < 0)
			return cannot_open_folder(e, o->path);
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
	fd = openat(o->folder, o->name, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &s) && !S_ISREG(s.st_mode))
		return fd;
	cannot_write(e, o->path);
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
		return cannot_write(e, o->path);
	if (old->st_uid != geteuid())
		mode = (mode & new.st_mode) | 0600;
	/* the permissions of one group are not for another */
	if (old->st_gid != new.st_gid && fchown(fd, (uid_t)-1, old->st_gid))
		mode &= ~(mode_t)070;
	if (wanted & 0111)
		mode |= (mode & 0444) >> 2;
	return fchmod(fd, mode) ? cannot_write(e, o->path) : 0;
}

/* Create the temporary; it never has more permissions than the complete file will have. */
static int create_temporary(struct outfile *o, const struct stat *old, mode_t mode, struct err *e)
{
	const mode_t first = old ? mode & (old->st_mode | 0600) : mode;
	int fd = -1;

	for (int i = 0; fd < 0 && i < NAME_TRIES; i++) {
		if (make_temporary_name(o->temporary, o->name, e)) {
			*o->temporary = 0;
			return -1;
		}
		fd = openat(o->folder, o->temporary,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, first);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0) {
		cannot_write(e, o->path);
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
			cannot_write(e, o->path);
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
	cannot_write(e, o->path);
	return -1;
}

static int open_outfile(struct outfile *o, const char *path, mode_t mode, struct err *e)
{
	int fd;

	*o = (struct outfile){ .folder = -1 };
	o->path = mem_strdup(path, e);
	fd = o->path ? open_target(o, mode, e) : -1;
	o->stream = fd >= 0 ? fdopen(fd, "wb") : NULL;
	if (o->stream)
		return 0;
	if (fd >= 0) {
		cannot_write(e, path);
		close(fd);
	}
	outfile_abandon(o);
	return e->code;
}

int outfile_open(struct outfile *o, const char *path, struct err *e)
{
	return open_outfile(o, path, 0666, e);
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
	if (*o->temporary)
		unlinkat(o->folder, o->temporary, 0);
	if (o->path && o->folder >= 0)
		close(o->folder);
	free(o->path);
	*o = (struct outfile){ .folder = -1 };
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

	return outfile_open(&o, path, e) ? e->code : finish_with(&o, bytes, n, e);
}

int file_write_buf(const char *path, const struct buf *b, struct err *e)
{
	return buf_check(b, e) ? e->code : file_write_all(path, b->data, b->len, e);
}

int file_write_script(const char *path, const struct buf *b, struct err *e)
{
	struct outfile o;

	if (buf_check(b, e) || open_outfile(&o, path, 0777, e))
		return e->code;
	return finish_with(&o, b->data, b->len, e);
}

int file_write_volatile(const char *path, const struct buf *b, struct err *e)
{
	struct outfile o;

	if (buf_check(b, e) || outfile_open(&o, path, e))
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

/* ---- folders ---- */

static int make_parents(const char *path, struct err *e)
{
	size_t n;
	char *parent = (last_part(path, &n), n) ? file_path(e, "%.*s", (int)n, path) : NULL;
	int rc = !n ? 0 : parent ? file_make_folders(parent, e) : e->code;

	free(parent);
	return rc;
}

static int make_temporary_folder(struct outfolder *o, const char *beside, struct err *e)
{
	size_t n;
	const char *last = last_part(beside, &n);
	char *parent = file_path(e, "%.*s", (int)n, beside), name[NAME_MAX + 1];
	int rc = parent ? make_parents(o->path, e) : e->code;

	if (!rc)
		rc = make_parents(beside, e);

	for (int i = 0; !rc && i < NAME_TRIES; i++) {
		rc = make_temporary_name(name, last, e);
		o->temporary = rc ? NULL : file_path(e, "%s%s", parent, name);
		if (!o->temporary)
			rc = e->code;
		else if (!mkdir(o->temporary, 0777))
			break;
		else if (errno != EEXIST || i == NAME_TRIES - 1)
			rc = cannot_write(e, o->path);
		free(o->temporary);
		o->temporary = NULL;
	}
	free(parent);
	return rc;
}

int outfolder_open(struct outfolder *o, const char *path, const char *beside, struct err *e)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	*o = (struct outfolder){ .path = file_path(e, "%.*s", (int)n, path) };
	if (!o->path || make_temporary_folder(o, beside ? beside : o->path, e))
		outfolder_abandon(o);
	return o->path ? 0 : e->code;
}

/* rename() replaces an empty folder, but nothing else. */
int outfolder_commit(struct outfolder *o, struct err *e)
{
	char *parent = file_path(e, "%s/..", o->path);
	int rc = parent ? 0 : e->code;

	file_sync_folder(o->temporary);
	if (!rc && rename(o->temporary, o->path))
		rc = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR
			     ? err_set(e, ERR_CANTCREAT,
				       "%s already exists: remove it, or give another --output",
				       o->path)
			     : err_set_errno(e, ERR_CANTCREAT, "cannot make %s", o->path);
	if (!rc) {
		file_sync_folder(parent);
		free(o->temporary);
		o->temporary = NULL;
	}
	free(parent);
	outfolder_abandon(o);
	return rc;
}

void outfolder_abandon(struct outfolder *o)
{
	if (o->temporary)
		file_remove_tree(o->temporary, &(struct err){ 0 });
	free(o->temporary);
	free(o->path);
	*o = (struct outfolder){ 0 };
}

static void remove_leftover_tree(const char *folder, const char *name)
{
	struct err ignored = { 0 };
	char *path = file_path(&ignored, "%s/%s", folder, name);

	if (path)
		file_remove_tree(path, &ignored);
	free(path);
}

void file_remove_leftovers(const char *folder)
{
	DIR *d = opendir(folder);
	const time_t now = time(NULL);
	struct dirent *entry;
	struct stat s;

	while (d && (entry = readdir(d))) {
		if (!is_temporary_name(entry->d_name) ||
		    fstatat(dirfd(d), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) ||
		    s.st_uid != geteuid() || s.st_mtime > now - LEFTOVER_S)
			continue;
		if (S_ISREG(s.st_mode))
			unlinkat(dirfd(d), entry->d_name, 0);
		else if (S_ISDIR(s.st_mode))
			remove_leftover_tree(folder, entry->d_name);
	}
	if (d)
		closedir(d);
}

/* ---- files that are written in place ---- */

int file_open_in_place(int *fd, const char *path, int flags, struct err *e)
{
	struct stat s;

	assert(!(flags & ~(O_APPEND | O_WRONLY | O_RDWR)));
	*fd = open(path, flags | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0666);
	if (*fd < 0 && errno == ELOOP)
		return err_set(e, ERR_CANTCREAT,
			       "%s: is a symbolic link; a regular file was expected: remove it",
			       path);
	if (*fd < 0 || fstat(*fd, &s)) {
		cannot_write(e, path);
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
