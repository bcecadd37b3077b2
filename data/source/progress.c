/* progress.c - progress of a long command on stderr (see progress.h) */
#include "data/source/progress.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/guard/terminal_text.h"

#define BAR_WIDTH  30
#define TERMINAL_S 0.1	/* seconds between two drawings on a terminal, ... */
#define PIPE_S	   10.0 /* ... and in a pipe */

void progress_init(struct progress *p, bool quiet)
{
	const char *term = getenv("TERM");

	*p = (struct progress){ .quiet = quiet,
				.terminal = isatty(2) && term && strcmp(term, "dumb") != 0 };
}

void progress_begin(struct progress *p, const char *stage, int64_t total, const char *unit)
{
	p->stage = stage;
	p->unit = unit;
	p->total = total;
	p->next_check = 1;
	p->began_s = p->shown_s = clock_mono_s();
	progress_write_file(p, 0, true);
}

static void progress_draw_bar(const struct progress *p, int64_t done, double rate)
{
	int filled = (int)(BAR_WIDTH * (double)MIN(done, p->total) / (double)p->total);

	terminal_send_control("\r\033[K");
	fprintf(stderr, "%s [%.*s%*s] %lld/%lld %s, %.0f/s", p->stage, filled,
		"##############################", BAR_WIDTH - filled, "", (long long)done,
		(long long)p->total, p->unit, rate);
}

static void progress_draw_count(const struct progress *p, int64_t done, double rate)
{
	terminal_send_control("\r\033[K");
	fprintf(stderr, "%s %lld %s, %.0f/s", p->stage, (long long)done, p->unit, rate);
}

void progress_show(struct progress *p, int64_t done)
{
	double now = clock_mono_s(), rate = (double)done / MAX(now - p->began_s, 1e-9);

	assert(p->stage && done >= 0); /* after progress_begin() */
	/* read the clock about twenty times a second, whatever a unit of work costs */
	p->next_check = done + MAX((int64_t)(rate / 20), 1);
	progress_write_file(p, done, false);
	if (p->quiet || now - p->shown_s < (p->terminal ? TERMINAL_S : PIPE_S))
		return;
	p->shown_s = now;
	if (p->terminal && p->total > 0)
		progress_draw_bar(p, done, rate);
	else if (p->terminal)
		progress_draw_count(p, done, rate);
	else if (p->total > 0)
		fprintf(stderr, "%s: %lld of %lld %s, %.0f/s\n", p->stage, (long long)done,
			(long long)p->total, p->unit, rate);
	else
		fprintf(stderr, "%s: %lld %s, %.0f/s\n", p->stage, (long long)done, p->unit, rate);
}

static void PRINTF_LIKE(2, 0)
	progress_print_text(const struct progress *p, const char *fmt, va_list ap)
{
	if (p->terminal)
		terminal_send_control("\r\033[K");
	vfprintf(stderr, fmt, ap);
}

double progress_end(struct progress *p, const char *fmt, ...)
{
	double seconds = clock_mono_s() - p->began_s;
	va_list ap;

	if (p->quiet)
		return seconds;
	if (p->terminal)
		terminal_send_control("\r\033[K");
	fprintf(stderr, "%s: ", p->stage);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (%.1f s)\n", seconds);
	return seconds;
}

void progress_print_line(struct progress *p, const char *fmt, ...)
{
	va_list ap;

	if (p->quiet)
		return;
	va_start(ap, fmt);
	progress_print_text(p, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}
