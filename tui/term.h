/*
 * term.h - the terminal: grids out, keys in. term.c is the only file that knows curses.
 *
 *	struct terminal *t = term_open(true, e);
 *	while (…) {
 *		term_size(t, &rows, &cols); … draw … term_show(t, &g);
 *		key = term_key(t, 500);
 *	}
 *	term_close(t);
 *
 * The terminal is put back whatever happens: by term_close(), while the
 * program is suspended, and by a handler when the program crashes.
 */
#ifndef WERKBANK_TUI_TERM_H
#define WERKBANK_TUI_TERM_H

#include <stdbool.h>

#include "share/base/err.h"
#include "tui/grid.h"

/* What term_key() may give besides a key of keys.h. */
enum term_event {
	TERM_NOTHING = -1, /* the time was up */
	TERM_RESIZED = -2, /* the size may have changed, or the screen must be drawn afresh */
	TERM_ENDED = -3,   /* a signal asks to leave, or the terminal is gone: see term_signal() */
};

struct terminal;

/* Take over the terminal on stdin and stdout; one at a time. NULL: ERR_UNAVAILABLE. */
struct terminal *term_open(bool colours, struct err *e);

/* Put the terminal back as it was. NULL is fine. */
void term_close(struct terminal *t);

void term_size(struct terminal *t, int *rows, int *cols);

/* Show a grid; only what differs from the last one is sent. */
void term_show(struct terminal *t, const struct grid *g);

/* Forget what the terminal shows: the next term_show() sends everything. */
void term_repaint(struct terminal *t);

/* Wait for a key at most timeout_ms (0: only look). */
int term_key(struct terminal *t, int timeout_ms);

/* The signal that asked to leave; 0: none. Valid after term_close() too. */
int term_signal(void);

#endif
