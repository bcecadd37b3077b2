/*
 * lines.h - text read line by line from a file, a pipe, memory or a read function.
 *
 *	struct lines in;
 *	lines_open(&in, path, e);		"-" and NULL: standard input
 *	while ((got = lines_next(&in, e)) > 0)
 *		use in.text, in.len, in.number;
 *	lines_close(&in);			got < 0: e says which line and why
 *
 * A line ends at LF only (U+0085, FF and a lone CR are text); one CR before
 * the LF is cut off. The last line may lack its LF. Invalid UTF-8 is an error
 * that names file and line, unless repair is set: then U+FFFD replaces it.
 * These rules hold for every source of bytes.
 */
#ifndef WERKBANK_SHARE_BASE_LINES_H
#define WERKBANK_SHARE_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"

#define LINES_MAX_BYTES (64u << 20) /* a longer line is ERR_DATA; it is not read completely */

/* Read at most room (> 0) bytes to `to`: returns their number, 0 at the end, < 0 on failure. */
typedef int64_t lines_read(void *from, void *to, size_t room, struct err *e);

struct lines {
	const char *text; /* the current line, NUL-terminated; borrowed until the next call */
	size_t len;
	int64_t number;	   /* of the current line, from 1 */
	bool repair;	   /* replace invalid UTF-8 instead of failing; set after open */
	bool was_repaired; /* the current line had invalid UTF-8 */
	bool has_encoding; /* the command takes --encoding: messages offer it */
	bool drops_mark;   /* a byte order mark before line 1 is not a part of it; set after open */
	bool skip_long;	   /* lines_next() skips a line that is too long instead of failing */
	/* private */
	char *name;	  /* owned: for messages */
	lines_read *read; /* NULL: read from fd, or from memory if memory is not NULL */
	void *from;
	int fd;
	bool owns_fd;
	const char *memory; /* borrowed: the unread rest … */
	size_t memory_len;  /* … and its length */
	char *read_buf;	    /* owned: bytes read; begin … end are not consumed yet */
	size_t begin, end, cap;
	bool is_at_end; /* nothing more can be read */
	struct buf repaired;
};

/* A path that the user gave; it may be a pipe, which the user then feeds. */
int lines_open(struct lines *l, const char *path, struct err *e);

/* A path that a recipe, a corpus or a folder names: a regular file (see file_open_read()). */
int lines_open_file(struct lines *l, const char *path, struct err *e);

/*
 * Read the lines of n bytes at text (borrowed until lines_close()). name (copied) is used in
 * messages; first is the number of the first line. A block of a longer text must end after an LF.
 */
int lines_open_memory(struct lines *l, const char *name, const char *text, size_t n, int64_t first,
		      struct err *e);

/* Read the lines of what read(from, …) returns. After 0 or a failure it is not called again. */
int lines_open_reader(struct lines *l, const char *name, lines_read *read, void *from,
		      struct err *e);

/* 1: a line; 0: the end; LINES_SKIPPED: a line that was too long (text is ""); < 0: failure. */
enum { LINES_SKIPPED = 2 };
int lines_next(struct lines *l, struct err *e);
/* Does lines_next() return at once? (It may wait for the end of a line that has begun.) */
bool lines_has_next(const struct lines *l);

/*
 * Instead of lines_next(): put the next whole lines into block (cleared first), about want bytes,
 * with their LFs, not checked. The block is shorter at the end and when a pipe has no more data
 * now (*is_waiting is true then); the call waits for one line only. Returns 1, 0 at the end,
 * < 0 on failure. l->number becomes the number of the last line of the block; to read the lines,
 * call lines_open_memory() with first = the previous l->number + 1.
 */
int lines_read_block(struct lines *l, size_t want, struct buf *block, bool *is_waiting,
		     struct err *e);
void lines_close(struct lines *l);

/*
 * How many lines of this process had invalid UTF-8 that was replaced, of all files and threads; name: of
 * the file with the last one, cut to LINES_NAME_BYTES.
 */
enum { LINES_NAME_BYTES = 300 };
int64_t lines_count_repaired(char name[LINES_NAME_BYTES]);

#endif
