/*
 * term.h - the terminal: grids out, keys in. term.c is the only file that knows curses.
 *
 *	struct terminal *t = term_open(&(struct term_look){ &theme, true, true }, e);
 *	while (…) {
 *		term_size(t, &rows, &cols); … draw … term_show(t, &g);
 *		key = term_key(t, 500, fds, n);
 *	}
 *	term_close(t);
 *
 * The terminal is put back whatever happens: by term_close(), while the
 * program is suspended, and by a handler when the program crashes.
 *
 * Terminals that can, report the mouse (SGR, buttons, drags and the wheel) and
 * bracket what is pasted; others never get those requests.
 */
#ifndef WERKBANK_TUI_TERM_TERM_H
#define WERKBANK_TUI_TERM_TERM_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/err.h"
#include "tui/term/grid.h"
#include "tui/term/keys.h"

/* What term_key() may give besides a key of keys.h. */
enum term_event {
	TERM_NOTHING = -1, /* the time was up, or one of the descriptors can be read */
	TERM_RESIZED = -2, /* the size may have changed, or the screen must be drawn afresh */
	TERM_ENDED = -3,   /* a signal asks to leave, or the terminal is gone: see term_signal() */
	TERM_MOUSE = -4,   /* see term_mouse() */
	TERM_PASTE = -5,   /* see term_pasted() */
};

struct term_look {
	const struct theme *theme; /* only read by term_open() and term_set_look() */
	bool colours, mouse;
};

struct terminal;

/* Take over the terminal on stdin and stdout; one at a time. NULL: ERR_UNAVAILABLE. */
struct terminal *term_open(const struct term_look *look, struct err *e);

/* Put the terminal back as it was. NULL is fine. */
void term_close(struct terminal *t);

/* Change colours and mouse while it is open; the next term_show() sends everything. */
void term_set_look(struct terminal *t, const struct term_look *look);

void term_size(struct terminal *t, int *rows, int *cols);

/* Show a grid; only what differs from the last one is sent. */
void term_show(struct terminal *t, const struct grid *g);

/* Forget what the terminal shows: the next term_show() sends everything. */
void term_repaint(struct terminal *t);

/* Wait for a key at most timeout_ms (0: only look), or until one of n fds can be read. */
int term_key(struct terminal *t, int timeout_ms, const int *fds, size_t n);

/* After TERM_MOUSE: what it did. */
struct mouse term_mouse(const struct terminal *t);

/* After TERM_PASTE: the text, valid UTF-8, line ends \n. Borrowed until the next term_key(). */
const char *term_pasted(const struct terminal *t);

/* Put text on the clipboard (OSC 52); false: this terminal would not understand. */
bool term_copy(struct terminal *t, const char *text);

/* "xterm-256color, 256 colours, mouse, clipboard": for people. */
void term_describe(const struct terminal *t, char *out, size_t size);

/* The signal that asked to leave; 0: none. Valid after term_close() too. */
int term_signal(void);

#endif
