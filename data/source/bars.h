/*
 * bars.h - progress bars of several concurrent items, one bar each
 *
 *	struct bars *b = bars_new(&p, "archives", n, e);
 *	bars_start(b, i, "dev.tgz", have, total);	item i gets a line; total -1: unknown
 *	bars_update(b, i, done, total);			cheap
 *	bars_draw(b);					cheap: draws only when a drawing is due
 *	bars_stop(b, i, "%lld bytes", n);		removes the line, prints a permanent one
 *	bars_free(b);
 *
 * On a terminal: one line for each started item and one for the sum, drawn in place, never wider
 * than the terminal. In a pipe: one line for the sum every ten seconds. Quiet: nothing. A rate is
 * an average of the last seconds that forgets exponentially; the remaining time follows from it.
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

/* n: number of items; what: their noun ("archives"). Borrows p and what. NULL: failure. */
struct bars *bars_new(struct progress *p, const char *what, size_t n, struct err *e);
void bars_free(struct bars *b);

/* have: bytes of a former run, which do not count for the rate. name is copied. */
void bars_start(struct bars *b, size_t i, const char *name, int64_t have, int64_t total);
void bars_update(struct bars *b, size_t i, int64_t done, int64_t total);

/* Show a status text ("waiting") instead of rate and time; NULL: rate and time again. Borrowed. */
void bars_set_status(struct bars *b, size_t i, const char *status);

/* Remove the item's line. If fmt is not NULL, print the permanent line "NAME: text". */
void bars_stop(struct bars *b, size_t i, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Count item i as complete in the sum. The item need not have been started. */
void bars_add_complete(struct bars *b, size_t i, int64_t bytes);

/* Print a permanent line above the bars. */
void bars_print_line(struct bars *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

void bars_draw(struct bars *b);

/* One bar as text of at most `width` columns, as bars_draw() writes it. */
struct bar_view {
	const char *name, *status; /* status NULL: rate and time */
	int64_t done, total;	   /* bytes; total -1: unknown */
	double rate;		   /* bytes a second */
	int name_width;		   /* columns of the longest name */
};

void bars_format_line(struct buf *out, const struct bar_view *v, int width);

#endif
