/*
 * progress.h - what a long command says on stderr while it works.
 *
 *	progress_begin(&p, "tokenise", total, "pairs");		a stage; total 0: unknown
 *	progress_at(&p, done);					cheap: call it for every line
 *	progress_end(&p, "%lld pairs kept", kept);		one line that stays
 *
 * On a terminal a bar that is drawn over; in a pipe one line every ten
 * seconds; nothing at all when quiet.
 */
#ifndef WERKBANK_DATA_PROGRESS_H
#define WERKBANK_DATA_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/util.h"

struct progress {
	bool quiet, terminal;
	const char *stage, *unit;	/* borrowed */
	int64_t total, next_look;
	double  began_s, shown_s;	/* clock_mono_s() */
};

void progress_init(struct progress *p, bool quiet);
void progress_begin(struct progress *p, const char *stage, int64_t total, const char *unit);
void progress_show(struct progress *p, int64_t done);

static inline void progress_at(struct progress *p, int64_t done)
{
	if (done >= p->next_look)
		progress_show(p, done);
}

/* Seconds since progress_begin(); prints "stage: text (seconds)". */
double progress_end(struct progress *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* A line of its own. */
void progress_note(struct progress *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
