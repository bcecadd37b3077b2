/*
 * lines.h - text read line by line, from a file or a pipe.
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
 */
#ifndef WERKBANK_BASE_LINES_H
#define WERKBANK_BASE_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "share/base/buf.h"
#include "share/base/err.h"

#define LINES_MAX_BYTES (64u << 20)	/* a longer line is ERR_DATA */

struct lines {
	const char *text;	/* the current line, NUL-terminated; borrowed until the next call */
	size_t      len;
	int64_t     number;	/* of the current line, from 1 */
	bool        repair;	/* replace invalid UTF-8 instead of failing; set after open */
	/* private */
	FILE       *stream;
	char       *name;	/* owned: for messages */
	char       *line;	/* owned by getline() */
	size_t      cap;
	struct buf  mended;
};

int  lines_open(struct lines *l, const char *path, struct err *e);
int  lines_next(struct lines *l, struct err *e);	/* 1: a line; 0: the end; < 0: failure */
void lines_close(struct lines *l);

#endif
