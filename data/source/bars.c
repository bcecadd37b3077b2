/* bars.c - progress bars of several concurrent items (see bars.h) */
#include "data/source/bars.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/guard/terminal_text.h"

#define TERMINAL_S 0.1	/* seconds between two drawings on a terminal, … */
#define PIPE_S	   10.0 /* … and in a pipe */
#define RATE_S	   3.0	/* time constant of the exponential average of a rate */
#define MAX_BAR	   40	/* columns */
#define MIN_BAR	   8
#define MAX_WIDTH  200
#define MAX_NAME   100

struct bar {
	char name[MAX_NAME + 1];
	bool started, finished;
	const char *status; /* borrowed; NULL: show rate and time */
	int64_t done, total;
	int64_t seen;	       /* value of done at the last update of the rate */
	double rate;	       /* bytes a second: rates / weights */
	double rates, weights; /* sums with exponentially decaying weights */
};

struct bars {
	struct progress *progress;
	const char *what;
	struct bar *bars; /* owned; n */
	size_t n;
	double began_s, shown_s, rated_s;
	int drawn; /* terminal lines with bars; the cursor is in the last of them */
	struct buf text;
};

struct bars *bars_new(struct progress *p, const char *what, size_t n, struct err *e)
{
	struct bars *b = mem_alloc(1, sizeof(*b), e);

	if (!b)
		return NULL;
	b->bars = mem_alloc(n, sizeof(*b->bars), e);
	if (!b->bars) {
		free(b);
		return NULL;
	}
	b->progress = p;
	b->what = what;
	b->n = n;
	b->began_s = b->rated_s = b->shown_s = clock_mono_s();
	return b;
}

/* ---- texts ---- */

static void bar_add_bytes(struct buf *out, int64_t n)
{
	if (n < 1000)
		buf_printf(out, "%lld B", (long long)n);
	else if (n < 1000000)
		buf_printf(out, "%.1f kB", (double)n / 1e3);
	else if (n < 10000000000)
		buf_printf(out, "%.1f MB", (double)n / 1e6);
	else
		buf_printf(out, "%.1f GB", (double)n / 1e9);
}

/* 0:41, 12:03, 2:05:00 */
static void add_time(struct buf *out, double seconds)
{
	long long s = seconds > 359999 ? 359999 : (long long)ceil(seconds);

	if (s >= 3600)
		buf_printf(out, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
	else
		buf_printf(out, "%lld:%02lld", s / 60, s % 60);
}

static void bar_add_amount(struct buf *out, const struct bar_view *v)
{
	bar_add_bytes(out, v->done);
	if (v->total > 0) {
		buf_add_str(out, " of ");
		bar_add_bytes(out, v->total);
	}
}

static void add_rate(struct buf *out, const struct bar_view *v)
{
	if (v->status) {
		buf_add_str(out, v->status);
		return;
	}
	bar_add_bytes(out, (int64_t)v->rate);
	buf_add_str(out, "/s");
	if (v->total > 0 && v->rate >= 1) {
		buf_add_str(out, "  ");
		add_time(out, (double)MAX(v->total - v->done, 0) / v->rate);
	}
}

static void bar_add_blocks(struct buf *out, const struct bar_view *v, int columns)
{
	int filled = (int)(columns * (double)MIN(v->done, v->total) / (double)v->total), i;

	buf_add_str(out, "  [");
	for (i = 0; i < columns; i++)
		buf_add_char(out, i < filled ? '#' : ' ');
	buf_add_char(out, ']');
}

/* Parts that do not fit are left out in this order: the bar, the amounts, the end of the name. */
void bars_format_line(struct buf *out, const struct bar_view *v, int width)
{
	struct buf percent = { 0 }, amount = { 0 }, rate = { 0 };
	int name = MIN(MAX(v->name_width, (int)strlen(v->name)), MAX(width / 3, 8));
	int left;

	if (v->total > 0)
		buf_printf(&percent, "  %3d %%",
			   (int)(100.0 * (double)MIN(v->done, v->total) / (double)v->total));
	bar_add_amount(&amount, v);
	add_rate(&rate, v);
	left = width - name - (int)(percent.len + rate.len) - 2;
	if (left < 0) {
		name = MAX(name + left, 1);
		left = 0;
	}
	buf_printf(out, "%-*.*s", name, name, v->name);
	if (v->total > 0 && left - (int)amount.len - 2 - 4 >= MIN_BAR)
		bar_add_blocks(out, v, MIN(left - (int)amount.len - 2 - 4, MAX_BAR));
	buf_add_str(out, buf_text(&percent));
	if (left >= (int)amount.len + 2)
		buf_printf(out, "  %s", buf_text(&amount));
	buf_printf(out, "  %s", buf_text(&rate));
	buf_truncate(out, MIN(out->len, (size_t)MAX(width, 0)));
	buf_free_part(&percent, out);
	buf_free_part(&amount, out);
	buf_free_part(&rate, out);
}

/* ---- the terminal ---- */

static int terminal_width(void)
{
	struct winsize w;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) || w.ws_col < 10)
		return 79;
	return MIN(w.ws_col - 1, MAX_WIDTH); /* some terminals wrap after the last column */
}

static void bars_erase_lines(struct bars *b)
{
	char up[40] = "";

	buf_clear(&b->text);
	if (!b->drawn)
		return;
	if (b->drawn > 1)
		snprintf(up, sizeof(up), "\033[%dA", b->drawn - 1);
	terminal_send_control("\r");
	terminal_send_control(up);
	terminal_send_control("\033[J");
	b->drawn = 0;
}

static void bars_flush_text(struct bars *b)
{
	if (b->text.len)
		fwrite(b->text.data, 1, b->text.len, stderr);
	fflush(stderr);
	buf_clear(&b->text);
}

static void bars_update_rates(struct bars *b, double now)
{
	double dt = now - b->rated_s, decay = exp(-dt / RATE_S), fresh;
	size_t i;

	if (dt < TERMINAL_S / 2)
		return;
	b->rated_s = now;
	for (i = 0; i < b->n; i++) {
		struct bar *r = &b->bars[i];

		if (!r->started)
			continue;
		fresh = (double)MAX(r->done - r->seen, 0) / dt;
		r->rates = decay * r->rates + (1 - decay) * fresh;
		r->weights = decay * r->weights + (1 - decay);
		r->rate = r->rates / r->weights;
		r->seen = r->done;
	}
}

/* The sum of all items as one view. Returns how many items are complete. */
static size_t bars_sum_totals(const struct bars *b, struct bar_view *all)
{
	size_t i, complete = 0;
	bool known = true;

	*all = (struct bar_view){ 0 };
	for (i = 0; i < b->n; i++) {
		const struct bar *r = &b->bars[i];

		complete += r->finished;
		all->done += r->done;
		all->total += MAX(r->total, 0);
		all->rate += r->started && !r->status ? r->rate : 0;
		known = known && (r->finished || r->total > 0);
	}
	if (!known)
		all->total = -1;
	return complete;
}

static void draw_all(struct bars *b, const char *end)
{
	struct bar_view all;
	char name[MAX_NAME];

	snprintf(name, sizeof(name), "%zu of %zu %s", bars_sum_totals(b, &all), b->n, b->what);
	all.name = name;
	all.name_width = (int)strlen(name);
	bars_format_line(&b->text, &all, 1000);
	buf_add_str(&b->text, end);
}

static void draw_terminal(struct bars *b)
{
	int width = terminal_width(), name_width = 0;
	struct buf line = { 0 };
	size_t i;

	bars_erase_lines(b);
	for (i = 0; i < b->n; i++)
		if (b->bars[i].started)
			name_width = MAX(name_width, (int)strlen(b->bars[i].name));
	for (i = 0; i < b->n; i++) {
		const struct bar *r = &b->bars[i];
		struct bar_view v = { r->name, r->status, r->done, r->total, r->rate, name_width };

		if (!r->started)
			continue;
		buf_clear(&line);
		bars_format_line(&line, &v, width);
		buf_printf(&b->text, "%s%s", b->drawn ? "\n" : "", buf_text(&line));
		b->drawn++;
	}
	buf_free(&line);
	if (b->n > 1 && b->drawn) {
		size_t before = b->text.len + 1;

		buf_add_char(&b->text, '\n');
		draw_all(b, "");
		buf_truncate(&b->text, MIN(b->text.len, before + (size_t)width));
		b->drawn++;
	}
	bars_flush_text(b);
}

/* Write the progress file, for programs that watch it. */
static void bars_write_progress(struct bars *b)
{
	struct progress_archive *list;
	struct err ignored;
	size_t n = 0;

	if (!b->progress->path || !(list = mem_alloc(b->n, sizeof(*list), &ignored)))
		return;
	b->progress->began_s = b->began_s;
	for (size_t i = 0; i < b->n; i++) {
		const struct bar *r = &b->bars[i];

		if (*r->name)
			list[n++] = (struct progress_archive){ .name = r->name,
							       .status = r->started ? r->status
										    : "done",
							       .done = r->done,
							       .total = r->total,
							       .rate = r->started ? r->rate : 0 };
	}
	progress_write_archives(b->progress, list, n);
	free(list);
}

void bars_draw(struct bars *b)
{
	double now = clock_mono_s();

	if (b->progress->quiet && !b->progress->path)
		return;
	bars_update_rates(b, now);
	bars_write_progress(b);
	if (b->progress->quiet)
		return;
	if (now - b->shown_s < (b->progress->terminal ? TERMINAL_S : PIPE_S))
		return;
	b->shown_s = now;
	if (b->progress->terminal) {
		draw_terminal(b);
	} else {
		draw_all(b, "\n");
		bars_flush_text(b);
	}
}

/* ---- changes of an item ---- */

void bars_start(struct bars *b, size_t i, const char *name, int64_t have, int64_t total)
{
	struct bar *r = &b->bars[i];

	assert(i < b->n);
	*r = (struct bar){ .started = true, .done = have, .seen = have, .total = total };
	snprintf(r->name, sizeof(r->name), "%s", name);
}

void bars_update(struct bars *b, size_t i, int64_t done, int64_t total)
{
	struct bar *r = &b->bars[i];

	assert(i < b->n);
	r->done = done;
	r->total = total;
	r->seen = MIN(r->seen, done); /* a download that restarts moves back */
}

void bars_set_status(struct bars *b, size_t i, const char *status)
{
	b->bars[i].status = status;
}

static void PRINTF_LIKE(2, 0) bars_print_plain(struct bars *b, const char *fmt, va_list ap)
{
	if (b->progress->quiet)
		return;
	bars_erase_lines(b);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	b->shown_s = MIN(b->shown_s, clock_mono_s() - (b->progress->terminal ? TERMINAL_S : 0));
}

void bars_print_line(struct bars *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	bars_print_plain(b, fmt, ap);
	va_end(ap);
}

void bars_stop(struct bars *b, size_t i, const char *fmt, ...)
{
	char text[1000];
	va_list ap;

	b->bars[i].started = false;
	if (!fmt)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	bars_print_line(b, "%s: %s", b->bars[i].name, text);
}

void bars_add_complete(struct bars *b, size_t i, int64_t bytes)
{
	b->bars[i].finished = true;
	b->bars[i].done = b->bars[i].total = bytes;
}

void bars_free(struct bars *b)
{
	if (!b)
		return;
	bars_erase_lines(b);
	buf_free(&b->text);
	free(b->bars);
	free(b);
}
