/*
 * progress.h - what a long command says on stderr while it works.
 *
 *	progress_begin(&p, "tokenise", total, "pairs");		a stage; total 0: unknown
 *	progress_at(&p, done);					cheap: call it for every line
 *	progress_end(&p, "%lld pairs kept", kept);		one line that stays
 *
 * On a terminal a bar that is drawn over; in a pipe one line every ten
 * seconds; nothing at all when quiet.
 *
 * With p.path set (progress_file.c) the same stands in that file, quiet or not, replaced as a
 * whole about four times a second, so that others can watch:
 *
 *	{"v":1, "pid":…, "host":…, "t":unix seconds, "began":… of the stage, "stage":"read",
 *	 "unit":"bytes", "done":…, "total":… (0: unknown), "rate":… a second,
 *	 "archives":[{"name":…, "done":…, "total":…, "rate":…, "words":…}, …]}	while fetching
 *
 * Whoever set path removes the file when all is well; of a preparation that failed or was
 * killed it stays and says where that was.
 */
#ifndef WERKBANK_DATA_SOURCE_PROGRESS_H
#define WERKBANK_DATA_SOURCE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/util.h"

struct progress {
	bool quiet, terminal;
	const char *stage, *unit; /* borrowed */
	const char *path;	  /* borrowed: of the file; NULL: none */
	int64_t total, next_check;
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

/* Write the file, when it is time for it (or in any case: now). What cannot be written is let be. */
struct progress_archive {
	const char *name, *words;
	int64_t done, total;
	double rate;
};
void progress_write_file(struct progress *p, int64_t done, bool now);
void progress_write_archives(struct progress *p, const struct progress_archive *archives, size_t n);

/* A line of its own. */
void progress_print_line(struct progress *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
