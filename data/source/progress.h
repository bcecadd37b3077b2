/*
 * progress.h - progress of a long command on stderr and in a file
 *
 *	progress_begin(&p, "tokenise", total, "pairs");		a stage; total 0: unknown
 *	progress_at(&p, done);					cheap: call it for every line
 *	progress_end(&p, "%lld pairs kept", kept);		prints one permanent line
 *
 * On a terminal: a bar that is redrawn. In a pipe: one line every ten seconds. Quiet: nothing.
 *
 * If p.path is set, progress_file.c also writes the progress to that file, quiet or not. The file
 * is replaced atomically about four times a second, so that other programs can watch:
 *
 *	{"v":1, "pid":..., "host":..., "t":unix seconds, "began":... of the stage, "stage":"read",
 *	 "unit":"bytes", "done":..., "total":... (0: unknown), "rate":... a second,
 *	 "archives":[{"name":..., "done":..., "total":..., "rate":..., "words":...}, ...]}
 *
 * Only fetch writes "archives"; "words" is a status text ("waiting", "done"). The owner of path
 * removes the file after success; after a failure or a kill the file stays with the last state.
 */
#ifndef WERKBANK_DATA_SOURCE_PROGRESS_H
#define WERKBANK_DATA_SOURCE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/util.h"

struct progress {
	bool quiet, terminal;
	const char *stage, *unit;	    /* borrowed */
	const char *path;		    /* borrowed: the progress file; NULL: none */
	int64_t total, next_check;	    /* progress_at() ignores all counts below next_check */
	double began_s, shown_s, written_s; /* clock_mono_s() */
};

void progress_init(struct progress *p, bool quiet);
void progress_begin(struct progress *p, const char *stage, int64_t total, const char *unit);
void progress_show(struct progress *p, int64_t done);

static inline void progress_at(struct progress *p, int64_t done)
{
	if (done >= p->next_check)
		progress_show(p, done);
}

/* Seconds since progress_begin(); prints "stage: text (seconds)". */
double progress_end(struct progress *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * Write the progress file if a write is due, or if `now`. Write errors are ignored: the progress is
 * informational.
 */
struct progress_archive {
	const char *name, *status; /* status NULL: running */
	int64_t done, total;	   /* bytes */
	double rate;		   /* bytes a second */
};
void progress_write_file(struct progress *p, int64_t done, bool now);
void progress_write_archives(struct progress *p, const struct progress_archive *archives, size_t n);

/* Print a permanent line on stderr, unless quiet. */
void progress_print_line(struct progress *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
