/*
 * bars.h - the progress of several things at once: a bar each.
 *
 *	struct bars *b = bars_new(&p, "archives", n, e);
 *	bars_start(b, i, "dev.tgz", have, total);	from now on there is a line for it; total -1: unknown
 *	bars_update(b, i, done, total);			cheap
 *	bars_draw(b);					often: it looks at the clock itself
 *	bars_stop(b, i, "%lld bytes", n);		its line goes, this one stays
 *	bars_free(b);
 *
 * On a terminal one line for each that was started and one for all, drawn in place, never
 * wider than the terminal; in a pipe one line every ten seconds for all of them; nothing at
 * all when quiet. Rates are of the last few seconds; the time that is left follows from them.
 */
#ifndef WERKBANK_DATA_SOURCE_BARS_H
#define WERKBANK_DATA_SOURCE_BARS_H

#include <stddef.h>
#include <stdint.h>

#include "data/source/progress.h"
#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/util.h"

struct bars;

/* Borrows p and what ("archives", n of them in all). NULL: failure. */
struct bars *bars_new(struct progress *p, const char *what, size_t n, struct err *e);
void bars_free(struct bars *b);

/* have: bytes that were there before and say nothing about the rate. name is copied. */
void bars_start(struct bars *b, size_t i, const char *name, int64_t have, int64_t total);
void bars_update(struct bars *b, size_t i, int64_t done, int64_t total);

/* Words instead of rate and time ("waiting"); NULL: none any more. Borrowed. */
void bars_set_status(struct bars *b, size_t i, const char *words);

/* Take the line away; fmt, which may be NULL, becomes "NAME: text" and stays. */
void bars_stop(struct bars *b, size_t i, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* This one is complete: for the line of all of them. It may never have been started. */
void bars_add_complete(struct bars *b, size_t i, int64_t bytes);

/* A line of its own. */
void bars_print_line(struct bars *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

void bars_draw(struct bars *b);

/* One bar as text of at most width columns: what bars_draw() writes. */
struct bar_view {
	const char *name, *words; /* words NULL: rate and time */
	int64_t done, total;	  /* bytes; total -1: unknown */
	double rate;		  /* bytes a second */
	int name_width;		  /* columns of the longest name */
};

void bars_format_line(struct buf *out, const struct bar_view *v, int width);

#endif
