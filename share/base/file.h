/*
 * file.h - whole files: read, map, replace atomically.
 *
 * Output that others may read is written to a temporary beside its target and
 * renamed when it is complete:
 *
 *	struct outfile o;
 *	if (outfile_open(&o, path, e)) return e->code;
 *	fwrite(…, o.stream) …
 *	return outfile_commit(&o, e);		or outfile_abandon(&o) on failure
 *
 * Exactly one of commit and abandon is called. A killed program leaves the old
 * file as it was, and at most a file called PATH.PID.tmp. A PATH that is a
 * device or a pipe (/dev/null) is written to directly.
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
/* The same with what a buffer holds, unless memory ran out while it was filled. */
int file_write_buf(const char *path, const struct buf *b, struct err *e);

/* All n bytes to a descriptor, whatever interrupts; -1 with errno: they could not all be written. */
int file_write_fd(int fd, const void *bytes, size_t n);

/*
 * Write to standard output and flush it. A full disk or a closed pipe is ERR_IO, with a message.
 * The buffer is checked first (ERR_NOMEM). file_flush_stdout() ends a series of printf().
 */
int file_put_stdout(const struct buf *text, struct err *e);
int file_write_stdout(const void *bytes, size_t n, struct err *e);
int file_flush_stdout(struct err *e);

/* The first line of a small file, without its end; false, and "": there is none. */
bool file_first_line(const char *path, char *line, size_t size);

/* Append the whole file to b. Larger than limit bytes (0: none): ERR_DATA. */
int file_read_all(const char *path, size_t limit, struct buf *b, struct err *e);

/* Make to a copy of from, atomically; both are small enough for memory. */
int file_copy(const char *from, const char *to, struct err *e);

/* A file mapped read-only. */
struct map {
	const unsigned char *data; /* NULL when the file is empty */
	size_t len;		   /* bytes */
};

int map_open(struct map *m, const char *path, struct err *e);
void map_close(struct map *m);

/*
 * A hint: these bytes of a map will not be read soon. Memory for them is given back; they
 * can still be read, from the file.
 */
void map_drop_pages(const void *bytes, size_t n);

/* Make the folder and every missing one above it. Existing ones are fine. */
int file_make_folders(const char *path, struct err *e);

/* Remove a folder and all it holds. A path that does not exist is fine. Never follows links. */
int file_remove_tree(const char *path, struct err *e);

bool file_exists(const char *path);

/* Bytes of a regular file, -1 when there is none. */
int64_t file_size(const char *path);

/* "a/b" from its parts (printf), owned by the caller; NULL: ERR_NOMEM. */
char *file_path(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
