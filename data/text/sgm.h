/*
 * sgm.h - reads the segments of an .sgm test set, one by one.
 *
 *	struct sgm in;
 *	sgm_open(&in, path, e);
 *	while ((got = sgm_next(&in, e)) > 0)
 *		use in.text, in.len, in.number;
 *	sgm_close(&in);
 *
 * As in Moses' input-from-sgm.perl: a segment is the text between <seg ...> and </seg>, also over
 * several lines (which are joined without a blank). Runs of blanks become one, blanks at the ends
 * are removed, entities are kept. A line holds at most one segment: a second one on the same line
 * becomes part of the first. "<seg>" without attributes is no segment.
 */
#ifndef WERKBANK_DATA_TEXT_SGM_H
#define WERKBANK_DATA_TEXT_SGM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/lines.h"

struct sgm {
	const char *text; /* the segment, NUL-terminated; borrowed until the next call */
	size_t len;
	int64_t number; /* of the segment, from 1 */
	/* private */
	struct lines in;
	struct buf line; /* lines joined until a segment is complete */
	struct buf segment;
};

/* "-" and NULL: standard input. Set in.in.repair afterwards to replace invalid UTF-8. */
int sgm_open(struct sgm *s, const char *path, struct err *e);

/*
 * sgm_open() for text in memory, or for a function that reads bytes (lines.h). name: for
 * messages.
 */
int sgm_open_memory(struct sgm *s, const char *name, const char *text, size_t n, struct err *e);
int sgm_open_reader(struct sgm *s, const char *name, lines_read *read, void *from, struct err *e);

/* 1: a segment; 0: end of the file; < 0: failure, or a segment without </seg> */
int sgm_next(struct sgm *s, struct err *e);
void sgm_close(struct sgm *s);

/* Does the name of the file end in ".sgm"? */
bool sgm_has_suffix(const char *path);

#endif
