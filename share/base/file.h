/*
 * file.h - whole files: read, map, replace atomically.
 *
 * Output files are written to a temporary file in the same folder and renamed
 * when they are complete:
 *
 *	struct outfile o;
 *	if (outfile_open(&o, path, e)) return e->code;
 *	fwrite(…, o.stream) …
 *	return outfile_commit(&o, e);		or outfile_abandon(&o) on failure
 *
 * Call exactly one of commit and abandon. A killed program leaves the old file
 * unchanged, and at most a file PATH.HEX.tmp, HEX being 16 random digits.
 *
 * What stands at PATH decides:
 *	nothing		a new file, permissions by the umask
 *	a regular file	replaced; the new file keeps its permissions (0600 stays 0600)
 *	a symbolic link	of this user or of root: the file it leads to is replaced, the link stays;
 *			of another user: refused (ERR_PERM)
 *	a device	written to directly, as /dev/null
 *	a pipe		of this user or of root: written to directly; of another user: refused.
 *			outfile_open() waits for a reader; file_write_...() refuse a pipe without one
 *	a folder	refused
 * /dev/stdout and /dev/fd/N are the streams of this process, whatever they are.
 */
#ifndef WERKBANK_SHARE_BASE_FILE_H
#define WERKBANK_SHARE_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "share/base/buf.h"
#include "share/base/err.h"

#define FILE_NAME_BYTES 256 /* of the last part of a path, with the NUL: NAME_MAX + 1 */

struct outfile {
	FILE *stream;	  /* write here */
	char *path;	  /* owned; for messages */
	int folder;	  /* descriptor of the folder of the file that is replaced; -1: none */
	bool is_volatile; /* set after open: no fsync, the file need not survive a power failure */
	bool waits;	  /* private: for a program that reads a pipe */
	int held; /* private: the parent process renames it (held_output.h); 0: nobody else */
	char name[FILE_NAME_BYTES];	 /* in folder: the file that is replaced */
	char temporary[FILE_NAME_BYTES]; /* in folder; "": written to directly */
};

/*
 * ERR_PERM: the file is a link that another user can have made, or its folder is such a link in a
 * folder of all users.
 */
int outfile_open(struct outfile *o, const char *path, struct err *e);
/*
 * Flush, fsync, close, rename, fsync the folder. On failure the temporary is removed. ERR_CANTCREAT:
 * another user has put something else in the place of the temporary.
 */
int outfile_commit(struct outfile *o, struct err *e);
/* Close and remove the temporary. Safe on a zeroed or already finished struct. */
void outfile_abandon(struct outfile *o);
/*
 * The end of a command's output, whose work had the result rc: commits if rc is 0, else abandons. A zeroed struct,
 * because the output is standard output, changes nothing. Returns rc, or the failure of the commit.
 */
int outfile_finish(struct outfile *o, int rc, struct err *e);

/* Replace path by these bytes, atomically. */
int file_write_all(const char *path, const void *bytes, size_t n, struct err *e);
/* The same with the contents of a buffer; ERR_NOMEM if an addition to it failed. */
int file_write_buf(const char *path, const struct buf *b, struct err *e);
/* The same for the file FOLDER/NAME. */
int file_write_into(const char *folder, const char *name, const struct buf *b, struct err *e);
/* The same; whoever may read the file may also execute it. */
int file_write_script(const char *path, const struct buf *b, struct err *e);
/* The same without fsync, for a file that need not survive a power failure. */
int file_write_volatile(const char *path, const struct buf *b, struct err *e);

/* Copy the file `from` to `to` atomically, through memory. */
int file_copy(const char *from, const char *to, struct err *e);

/*
 * A folder that is filled under a temporary name and then renamed:
 *
 *	outfolder_open(&o, path, NULL, e); write files into o.temporary; outfolder_commit(&o, e)
 *
 * Missing parents are made. The temporary is BESIDE.HEX.tmp, beside NULL: PATH.HEX.tmp; both must
 * be on one file system. An empty folder at PATH is replaced, anything else is ERR_CANTCREAT.
 * Each file in it is written once. Another user who can write in its parent can put a link or another
 * folder in its place: no link is followed there, no file there is replaced or removed, and commit
 * ends with ERR_CANTCREAT.
 */
struct outfolder {
	char *path;	 /* owned; without slashes at the end */
	char *temporary; /* owned */
	int folder;	 /* descriptor of the temporary; open while `temporary` is set, as parent */
	int parent;	 /* descriptor of the folder that it is in */
	int held;	 /* private, as in struct outfile */
};

int outfolder_open(struct outfolder *o, const char *path, const char *beside, struct err *e);
/* Is the temporary still this folder? ERR_CANTCREAT: another user has replaced it. */
int outfolder_check(const struct outfolder *o, struct err *e);
int outfolder_commit(struct outfolder *o, struct err *e);
/*
 * Put the folder in the place of the one at PATH, atomically, and remove that one. *is_done false,
 * and 0: there is none, or the file system cannot exchange folders.
 */
int outfolder_exchange(struct outfolder *o, bool *is_done, struct err *e);
/* Remove the temporary folder. Safe on a zeroed or already finished struct. */
void outfolder_abandon(struct outfolder *o);

/* Remove this user's temporary files and folders of killed programs that are older than a day. */
void file_remove_leftovers(const char *folder);

/*
 * Open, or create, a file that is locked, appended to or changed in place. flags: O_RDWR or
 * O_WRONLY, perhaps O_APPEND. ERR_CANTCREAT: it is a symbolic link, no regular file, or has a second
 * name (a hard link), which another user can have made to have another file overwritten. The
 * descriptor is closed by exec.
 */
int file_open_in_place(int *fd, const char *path, int flags, struct err *e);

/* fsync a folder, so that its renames survive a crash; file systems without this are no failure. */
void file_sync_folder(const char *path);

/* Write all n bytes to a descriptor, across signals and short writes. 0, or -1 with errno. */
int file_write_fd(int fd, const void *bytes, size_t n);

/*
 * Write to standard output and flush it. A full disk or a closed pipe is ERR_IO, with a message.
 * The buffer is checked first (ERR_NOMEM). file_flush_stdout() ends a series of printf().
 */
int file_put_stdout(const struct buf *text, struct err *e);
int file_write_stdout(const void *bytes, size_t n, struct err *e);
int file_flush_stdout(struct err *e);

/* /dev/stdin, /dev/stdout, /dev/fd/N …: a path of a stream that this process has already. */
bool file_is_own_stream(const char *path);

/*
 * Open a regular file to read it, also in a folder of a stranger: a pipe, a device or a folder is
 * ERR_NOINPUT at once, it is never waited for. Streams of this process may be pipes. The second
 * form returns a stream for fclose(); NULL: e.
 */
int file_open_read(int *fd, const char *path, struct err *e);
FILE *file_open_stream(const char *path, struct err *e);

/* Read the first line of a small file, without its LF; false and "": no file or no line. */
bool file_first_line(const char *path, char *line, size_t size);

/* Read the first bytes of a file, at most `room`; *n gets their number. */
int file_read_head(const char *path, void *to, size_t room, size_t *n, struct err *e);

/* Append the whole file to b. ERR_DATA: it is larger than limit bytes (0: no limit). */
int file_read_all(const char *path, size_t limit, struct buf *b, struct err *e);

/* A file mapped read-only. */
struct map {
	const unsigned char *data; /* NULL when the file is empty */
	size_t len;		   /* bytes */
};

int map_open(struct map *m, const char *path, struct err *e);
void map_close(struct map *m);

/*
 * Hint that these bytes of a map will not be read soon. The kernel may drop their pages; a later
 * read loads them from the file again.
 */
void map_drop_pages(const void *bytes, size_t n);

/*
 * Create the folder and its missing parents. An existing folder is no error. ERR_PERM: one of them is
 * a link that another user has made in a folder of all users.
 */
int file_make_folders(const char *path, struct err *e);

/* Make the symbolic link `path` with this text, atomically; it replaces a file or a link. */
int file_make_link(const char *path, const char *text, struct err *e);

/*
 * Rename the file FROM to TO, in the same folder: the file of this device and inode, which the caller
 * has written. ERR_CANTCREAT: another user has put something else in its place.
 */
int file_rename_written(const char *from, const char *to, const struct stat *written,
			struct err *e);

/* Remove a folder and its contents; symbolic links are not followed. A missing path is no error. */
int file_remove_tree(const char *path, struct err *e);

bool file_exists(const char *path);

/* The path leads to a folder, perhaps by a symbolic link. */
bool file_is_folder(const char *path);

/* Bytes of a regular file, -1 when there is none. */
int64_t file_size(const char *path);

/* "a/b" from its parts (printf), owned by the caller; NULL: ERR_NOMEM. */
char *file_path(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * Let a write beyond the limit of the size of files (ulimit -f) fail with EFBIG; without this call the signal SIGXFSZ
 * ends the program. Programs that this one starts inherit it.
 */
void file_limit_as_error(void);

#endif
