/*
 * sgm.h - the segments of an .sgm test set, one after the other.
 *
 *	struct sgm in;
 *	sgm_open(&in, path, e);
 *	while ((got = sgm_next(&in, e)) > 0)
 *		use in.text, in.len, in.number;
 *	sgm_close(&in);
 *
 * As Moses' input-from-sgm.perl: the text between <seg ...> and </seg>, also
 * over several lines (which are joined as they are), blanks squeezed and cut
 * off the ends, entities left as they stand. One segment a line of the file:
 * a second one on the same line is not told apart. "<seg>" without attributes
 * is no segment.
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

/* The same from memory, or from whatever gives bytes, as in lines.h; name is for messages. */
int sgm_open_memory(struct sgm *s, const char *name, const char *text, size_t n, struct err *e);
int sgm_open_reader(struct sgm *s, const char *name, lines_read *read, void *from, struct err *e);

/* 1: a segment; 0: the end; < 0: failure, or one never closed */
int sgm_next(struct sgm *s, struct err *e);
void sgm_close(struct sgm *s);

/* Does the name of this file say that it is an .sgm test set? */
bool sgm_has_suffix(const char *path);

#endif
