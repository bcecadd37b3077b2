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
 * unchanged, and at most a file PATH.PID.tmp. A PATH that is a device or a pipe
 * (/dev/null) is written to directly.
 */
#ifndef WERKBANK_BASE_FILE_H
#define WERKBANK_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "share/base/buf.h"
#include "share/base/err.h"

struct outfile {
	FILE *stream;	 /* write here */
	char *path;	 /* owned */
	char *temporary; /* owned; NULL: a device or pipe, written to directly */
};

int outfile_open(struct outfile *o, const char *path, struct err *e);
/* Flush, fsync, close, rename, fsync the folder. On failure the temporary is removed. */
int outfile_commit(struct outfile *o, struct err *e);
/* Close and remove the temporary. Safe on a zeroed or already finished struct. */
void outfile_abandon(struct outfile *o);

/* Replace path by these bytes, atomically. */
int file_write_all(const char *path, const void *bytes, size_t n, struct err *e);
/* The same with the contents of a buffer; ERR_NOMEM if an addition to it failed. */
int file_write_buf(const char *path, const struct buf *b, struct err *e);

/* Write all n bytes to a descriptor, across signals and short writes. 0, or -1 with errno. */
int file_write_fd(int fd, const void *bytes, size_t n);

/*
 * Write to standard output and flush it. A full disk or a closed pipe is ERR_IO, with a message.
 * The buffer is checked first (ERR_NOMEM). file_flush_stdout() ends a series of printf().
 */
int file_put_stdout(const struct buf *text, struct err *e);
int file_write_stdout(const void *bytes, size_t n, struct err *e);
int file_flush_stdout(struct err *e);

/* Read the first line of a small file, without its LF; false and "": no file or no line. */
bool file_first_line(const char *path, char *line, size_t size);

/* Append the whole file to b. ERR_DATA: it is larger than limit bytes (0: no limit). */
int file_read_all(const char *path, size_t limit, struct buf *b, struct err *e);

/* Copy the file `from` to `to` atomically, through memory. */
int file_copy(const char *from, const char *to, struct err *e);

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

/* Create the folder and its missing parents. An existing folder is no error. */
int file_make_folders(const char *path, struct err *e);

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
