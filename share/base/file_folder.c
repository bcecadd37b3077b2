/*
 * file_folder.c - folders: opened without following the links of others, made, filled under a
 * temporary name, removed; see file.h
 *
 * Another user may be able to rename what stands in a folder, and put a link or a folder of his own
 * in its place. Therefore no step trusts a path that an earlier step has checked: each part of it is
 * opened from the descriptor of the part before, and a temporary folder is known by its inode.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/file_internal.h"
#include "share/base/mem.h"

#define LEFTOVER_S 86400 /* after a day nobody writes to a temporary any more */
#define TREE_DEPTH 100	 /* folders in folders that are removed; each takes a descriptor */

/* ---- names ---- */

/* ".0123456789abcdef.tmp": what file_remove_leftovers() recognises. */
enum { SUFFIX_BYTES = 1 + 16 + 4 };

int file_temporary_name(char out[NAME_MAX + 1], const char *name, struct err *e)
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

const char *file_last_part(const char *path, size_t *folder)
{
	const char *slash = strrchr(path, '/');

	*folder = slash ? (size_t)(slash - path) + 1 : 0;
	return slash ? slash + 1 : path;
}

int file_cannot_write(struct err *e, const char *path)
{
	err_set_errno(e, ERR_CANTCREAT, "%s: cannot be written", path);
	if (e->code == ERR_NOINPUT)
		e->code = ERR_CANTCREAT;
	return e->code;
}

/* ---- opening ---- */

/* A path that is being opened. */
struct walk {
	int fd;		     /* the folder so far; O_PATH */
	int links;	     /* followed so far */
	bool in_temporary;   /* fd is a temporary folder or below one */
	char rest[PATH_MAX]; /* of the path, seen from fd */
};

/* May the link `at`, which stands in the folder `folder`, be followed? */
static bool is_link_trusted(const struct stat *at, const struct stat *folder)
{
	if (!(folder->st_mode & 0002))
		return true;
	return at->st_nlink == 1 &&
	       (!at->st_uid || at->st_uid == geteuid() || at->st_uid == folder->st_uid);
}

static void walk_to(struct walk *w, int fd)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = fd;
}

/* Put the text of a link before the rest of the path. 0 or -1 with errno. */
static int walk_link(struct walk *w, const char *name)
{
	const int fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char target[PATH_MAX], rest[PATH_MAX];
	struct stat link, folder;
	ssize_t n = -1;

	if (fd >= 0 && !fstat(fd, &link) && !fstat(w->fd, &folder)) {
		errno = S_ISLNK(link.st_mode) ? EPERM : ENOTDIR;
		if (S_ISLNK(link.st_mode) && !w->in_temporary && is_link_trusted(&link, &folder))
			n = readlinkat(fd, "", target, sizeof(target) - 1);
	}
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return -1;
	target[n] = 0;
	errno = ++w->links > FILE_LINK_LIMIT ? ELOOP : ENAMETOOLONG;
	if (errno == ELOOP ||
	    (size_t)snprintf(rest, sizeof(rest), "%s/%s", target, w->rest) >= sizeof(rest))
		return -1;
	memcpy(w->rest, rest, strlen(rest) + 1);
	if (*target == '/')
		walk_to(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
	return w->fd < 0 ? -1 : 0;
}

/* Go on by one part of the path. 0 or -1 with errno. */
static int walk_part(struct walk *w, const char *name)
{
	/* O_DIRECTORY lets the kernel mount what an automounter offers there */
	const int fd = openat(w->fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && (errno != ENOTDIR || is_temporary_name(name))) {
		errno = errno == ENOTDIR ? EPERM : errno;
		return -1;
	}
	if (fd < 0)
		return walk_link(w, name);
	walk_to(w, fd);
	w->in_temporary |= is_temporary_name(name);
	return 0;
}

int file_open_folder(int from, const char *path, bool *in_temporary)
{
	struct walk w = { .fd = -1 };
	char name[NAME_MAX + 1];
	int failed = -1;

	errno = ENAMETOOLONG;
	if (strlen(path) < sizeof(w.rest)) {
		memcpy(w.rest, path, strlen(path) + 1);
		w.fd = openat(from, *path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
		failed = w.fd < 0 ? -1 : 0;
	}
	while (!failed) {
		const char *part = w.rest + strspn(w.rest, "/");
		const size_t n = strcspn(part, "/");

		if (!n)
			break;
		errno = ENAMETOOLONG;
		failed = n > NAME_MAX ? -1 : 0;
		if (failed)
			break;
		memcpy(name, part, n);
		name[n] = 0;
		memmove(w.rest, part + n, strlen(part + n) + 1);
		failed = walk_part(&w, name);
	}
	if (failed && w.fd >= 0) {
		const int saved = errno;

		close(w.fd);
		errno = saved;
	}
	if (in_temporary)
		*in_temporary = w.in_temporary;
	return failed ? -1 : w.fd;
}

int file_open_folder_of(int from, const char *path, char name[NAME_MAX + 1], bool *in_temporary)
{
	size_t n;
	const char *last = file_last_part(path, &n);
	char folder[PATH_MAX];
	int fd = -1;

	if (!*last || strlen(last) > NAME_MAX || n >= sizeof(folder)) {
		errno = *last ? ENAMETOOLONG : *path ? EISDIR : ENOENT;
	} else {
		memcpy(folder, path, n);
		folder[n] = 0;
		fd = file_open_folder(from, folder, in_temporary);
		memcpy(name, last, strlen(last) + 1);
	}
	return fd;
}

int file_cannot_open_folder(struct err *e, const char *path)
{
	if (errno != EPERM)
		return file_cannot_write(e, path);
	return err_set(e, ERR_PERM,
		       "%s: its folder is a symbolic link that another user has made in a folder "
		       "that he can write in; nothing is written through it: give another name",
		       path);
}

/* ---- making ---- */

/* Make one folder, whose parents exist. */
static int make_folder_at(const char *path, struct err *e)
{
	char name[NAME_MAX + 1];
	const int parent = file_open_folder_of(AT_FDCWD, path, name, NULL);
	int rc = 0;

	if (parent < 0)
		return file_cannot_open_folder(e, path);
	if (mkdirat(parent, name, 0777) && errno != EEXIST) {
		rc = err_set_errno(e, ERR_CANTCREAT, "%s: cannot be made", path);
		if (rc == ERR_NOINPUT)
			rc = e->code = ERR_CANTCREAT;
	}
	close(parent);
	return rc;
}

int file_make_folders(const char *path, struct err *e)
{
	char *copy = mem_strdup(path, e);
	int failed = 0;

	if (!copy)
		return e->code;
	if (!*copy)
		failed = make_folder_at(copy, e);
	for (char *p = copy + 1; !failed; p++) {
		char c = *p;

		if ((c != '/' && c) || p[-1] == '/') {
			if (c)
				continue;
			break;
		}
		*p = 0;
		failed = make_folder_at(copy, e);
		*p = c;
		if (!c)
			break;
	}
	free(copy);
	return failed;
}

static int make_parents(const char *path, struct err *e)
{
	size_t n;
	char *parent = (file_last_part(path, &n), n) ? file_path(e, "%.*s", (int)n, path) : NULL;
	int rc = !n ? 0 : parent ? file_make_folders(parent, e) : e->code;

	free(parent);
	return rc;
}

int file_make_link(const char *path, const char *text, struct err *e)
{
	char name[NAME_MAX + 1], temporary[NAME_MAX + 1];
	const int folder = file_open_folder_of(AT_FDCWD, path, name, NULL);
	int rc;

	if (folder < 0)
		return file_cannot_open_folder(e, path);
	rc = file_temporary_name(temporary, name, e);
	if (!rc && symlinkat(text, folder, temporary)) {
		rc = err_set_errno(e, ERR_CANTCREAT, "%s: cannot make it a link to %s", path, text);
	} else if (!rc && renameat(folder, temporary, folder, name)) {
		rc = err_set_errno(e, ERR_CANTCREAT, "%s: cannot make it a link to %s", path, text);
		unlinkat(folder, temporary, 0);
	}
	close(folder);
	return rc;
}

/* ---- removing: without memory, which may have run out ---- */

/* What the system call getdents64 writes. */
struct folder_entry {
	uint64_t inode;
	int64_t offset;
	unsigned short bytes; /* of this entry, with padding */
	unsigned char type;
	char name[];
};

/*
 * Call `see` for each entry but "." and "..", until it returns something else than 0, which is the
 * result. -1: errno.
 */
static int each_entry(int fd, int (*see)(int fd, const char *name, int depth), int depth)
{
	_Alignas(struct folder_entry) char entries[4096];
	long n;
	int rc = 0;

	while (!rc && (n = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
		for (long at = 0; !rc && at < n;) {
			const struct folder_entry *entry = (struct folder_entry *)(entries + at);

			if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0)
				rc = see(fd, entry->name, depth);
			at += entry->bytes;
		}
	}
	return rc ? rc : n < 0 ? -1 : 0;
}

static int remove_at(int parent, const char *name, int depth);

static int remove_entry(int fd, const char *name, int depth)
{
	return remove_at(fd, name, depth);
}

/* Remove what is in a folder. Closes the descriptor. 0 or -1 with errno. */
static int empty_folder(int fd, int depth)
{
	const int failed = each_entry(fd, remove_entry, depth);
	const int saved = errno;

	close(fd);
	errno = saved;
	return failed;
}

/* Remove a file, a link, or a folder and its contents. What is missing is no failure. 0 or -1, errno. */
static int remove_once(int parent, const char *name, int depth)
{
	int fd;

	/* files first, without a descriptor */
	if (!unlinkat(parent, name, 0) || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (depth == TREE_DEPTH) {
		close(fd);
		errno = ELOOP;
		return -1;
	}
	if (empty_folder(fd, depth + 1))
		return -1;
	return unlinkat(parent, name, AT_REMOVEDIR) && errno != ENOENT ? -1 : 0;
}

/* A file system may skip entries of a folder while others are removed: then a second time. */
static int remove_at(int parent, const char *name, int depth)
{
	const int failed = remove_once(parent, name, depth);

	return failed && errno == ENOTEMPTY ? remove_once(parent, name, depth) : failed;
}

int file_remove_tree(const char *path, struct err *e)
{
	char name[NAME_MAX + 1], clean[PATH_MAX];
	size_t n = strlen(path);
	int parent, rc = 0;

	while (n > 1 && path[n - 1] == '/')
		n--;
	snprintf(clean, sizeof(clean), "%.*s", (int)n, path);
	parent = file_open_folder_of(AT_FDCWD, clean, name, NULL);
	if ((parent < 0 && errno != ENOENT) || (parent >= 0 && remove_at(parent, name, 0)))
		rc = err_set_errno(e, ERR_IO, "%s: cannot be removed", path);
	if (parent >= 0)
		close(parent);
	return rc;
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

/* ---- folders that are renamed when they are complete ---- */

static int stop_at_entry(int fd, const char *name, int depth)
{
	(void)fd, (void)name, (void)depth;
	return 1;
}

/*
 * Does the empty folder belong to this user? Some mounts give all files to one owner: there a file that
 * is made in the folder has the owner of the folder.
 */
static bool is_own_folder(int fd)
{
	static const char name[] = "owner";
	struct stat folder, made;
	bool is_own;
	int file;

	if (fstat(fd, &folder))
		return false;
	if (folder.st_uid == geteuid())
		return true;
	file = openat(fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0)
		return false;
	is_own = !fstat(file, &made) && made.st_uid == folder.st_uid;
	close(file);
	unlinkat(fd, name, 0);
	return is_own;
}

/*
 * Make NAME in o->parent, a new one, and open it. 0 or -1 with errno. EEXIST: what stands there after
 * mkdir() is something else, which another user has put there.
 */
static int make_outfolder_at(struct outfolder *o, const char *name)
{
	if (mkdirat(o->parent, name, 0777))
		return -1;
	o->folder = openat(o->parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (o->folder < 0) {
		if (errno == ENOTDIR || errno == ELOOP || errno == ENOENT)
			errno = EEXIST;
		else
			unlinkat(o->parent, name, AT_REMOVEDIR);
		return -1;
	}
	if (!each_entry(o->folder, stop_at_entry, 0) && is_own_folder(o->folder))
		return 0;
	close(o->folder);
	errno = EEXIST;
	return -1;
}

static int outfolder_is_replaced(const struct outfolder *o, struct err *e)
{
	return err_set(e, ERR_CANTCREAT,
		       "%s: another user has replaced the folder while it was filled; write to a "
		       "folder that only you can change",
		       o->path);
}

static int make_temporary_folder(struct outfolder *o, const char *beside, struct err *e)
{
	size_t n;
	const char *last = file_last_part(beside, &n);
	char name[NAME_MAX + 1], ignored[NAME_MAX + 1];
	int rc = make_parents(o->path, e);

	if (!rc)
		rc = make_parents(beside, e);
	if (rc)
		return rc;
	o->parent = file_open_folder_of(AT_FDCWD, beside, ignored, NULL);
	if (o->parent < 0)
		return file_cannot_open_folder(e, o->path);
	for (int i = 0; !rc && i < FILE_NAME_TRIES; i++) {
		rc = file_temporary_name(name, last, e);
		o->temporary = rc ? NULL : file_path(e, "%.*s%s", (int)n, beside, name);
		if (!o->temporary)
			rc = e->code;
		else if (!make_outfolder_at(o, name))
			return 0;
		else if (errno != EEXIST)
			rc = file_cannot_write(e, o->path);
		else if (i == FILE_NAME_TRIES - 1)
			rc = outfolder_is_replaced(o, e);
		free(o->temporary);
		o->temporary = NULL;
	}
	close(o->parent);
	return rc;
}

int outfolder_open(struct outfolder *o, const char *path, const char *beside, struct err *e)
{
	size_t n = strlen(path);

	*o = (struct outfolder){ .path = NULL };
	if (held_take_folder(o, path, beside, e))
		return e->code;
	while (n > 1 && path[n - 1] == '/')
		n--;
	*o = (struct outfolder){ .path = file_path(e, "%.*s", (int)n, path) };
	if (!o->path || make_temporary_folder(o, beside ? beside : o->path, e))
		outfolder_abandon(o);
	return o->path ? 0 : e->code;
}

/* Is this the folder that outfolder_open() has made? */
static bool is_outfolder_at(const struct outfolder *o, int parent, const char *name)
{
	struct stat s, ours;

	return !fstatat(parent, name, &s, AT_SYMLINK_NOFOLLOW) && !fstat(o->folder, &ours) &&
	       s.st_dev == ours.st_dev && s.st_ino == ours.st_ino;
}

static const char *outfolder_name(const struct outfolder *o)
{
	size_t n;

	return file_last_part(o->temporary, &n);
}

int outfolder_check(const struct outfolder *o, struct err *e)
{
	return is_outfolder_at(o, o->parent, outfolder_name(o)) ? 0 : outfolder_is_replaced(o, e);
}

/* rename() replaces an empty folder, but nothing else. */
static int put_folder_in_place(const struct outfolder *o, struct err *e)
{
	char to[NAME_MAX + 1];
	const int folder = file_open_folder_of(AT_FDCWD, o->path, to, NULL);
	int rc;

	if (folder < 0)
		return file_cannot_open_folder(e, o->path);
	rc = outfolder_check(o, e);
	if (!rc && renameat(o->parent, outfolder_name(o), folder, to))
		rc = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR
			     ? err_set(e, ERR_CANTCREAT,
				       "%s already exists: remove it, or give another --output",
				       o->path)
			     : err_set_errno(e, ERR_CANTCREAT, "cannot make %s", o->path);
	else if (!rc && !is_outfolder_at(o, folder, to))
		rc = outfolder_is_replaced(o, e);
	close(folder);
	return rc;
}

static void sync_opened_folder(int folder)
{
	const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		(void)fsync(fd);
		close(fd);
	}
}

static void close_outfolder(struct outfolder *o)
{
	close(o->folder);
	close(o->parent);
	free(o->temporary);
	o->temporary = NULL;
}

int outfolder_commit(struct outfolder *o, struct err *e)
{
	char *parent = file_path(e, "%s/..", o->path);
	int rc = parent ? 0 : e->code;

	(void)fsync(o->folder); /* some file systems do not support this */
	if (!rc)
		rc = o->held ? held_commit(o->held, e) : put_folder_in_place(o, e);
	if (!rc && !o->held) {
		file_sync_folder(parent);
		close_outfolder(o);
	}
	free(parent);
	outfolder_abandon(o);
	return rc;
}

int outfolder_exchange(struct outfolder *o, bool *is_done, struct err *e)
{
	enum { EXCHANGE = 1 << 1 }; /* RENAME_EXCHANGE of <linux/fs.h>, which musl does not have */
	char to[NAME_MAX + 1];
	const int folder = file_open_folder_of(AT_FDCWD, o->path, to, NULL);
	int rc;

	*is_done = false;
	if (folder < 0)
		return file_cannot_open_folder(e, o->path);
	(void)fsync(o->folder);
	rc = outfolder_check(o, e);
	/* the system call, because musl before 1.2.6 has no renameat2() */
	if (!rc && !syscall(SYS_renameat2, o->parent, outfolder_name(o), folder, to, EXCHANGE)) {
		*is_done = true;
		sync_opened_folder(folder);
		if (!is_outfolder_at(o, folder, to))
			rc = outfolder_is_replaced(o, e);
		else if (remove_at(o->parent, outfolder_name(o), 0))
			rc = err_set_errno(e, ERR_IO, "%s: cannot be removed", o->temporary);
		close_outfolder(o);
	}
	close(folder);
	return rc;
}

void outfolder_abandon(struct outfolder *o)
{
	if (o->temporary && !o->held) {
		/* by descriptors: wherever another user has moved it, and when no other can be opened */
		lseek(o->folder, 0, SEEK_SET);
		(void)each_entry(o->folder, remove_entry, 1);
		if (is_outfolder_at(o, o->parent, outfolder_name(o)))
			unlinkat(o->parent, outfolder_name(o), AT_REMOVEDIR);
	}
	if (o->temporary)
		close_outfolder(o);
	free(o->path);
	*o = (struct outfolder){ 0 };
}
