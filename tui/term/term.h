/*
 * term.h - the terminal: shows grids, reads keys. Only term*.c know curses.
 *
 *	struct terminal *t = term_open(&(struct term_look){ &theme, true, true }, e);
 *	while (…) {
 *		term_size(t, &rows, &cols); … draw … term_show(t, &g);
 *		key = term_key(t, 500, fds, n);
 *	}
 *	term_close(t);
 *
 * The terminal's modes are restored by term_close(), before the program is suspended, and by
 * a signal handler if the program crashes.
 *
 * Terminals of the xterm family report the mouse (SGR: buttons, drags, wheel) and mark
 * pasted text (bracketed paste). Other terminals never receive these requests.
 */
#ifndef WERKBANK_TUI_TERM_TERM_H
#define WERKBANK_TUI_TERM_TERM_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/err.h"
#include "tui/term/grid.h"
#include "tui/term/keys.h"
#include "tui/term/theme.h"

/* Results of term_key() besides the keys of keys.h. */
enum term_event {
	TERM_NOTHING = -1,  /* timeout, or a descriptor is readable */
	TERM_RESIZED = -2,  /* the size may have changed, or the screen must be redrawn */
	TERM_ENDED = -3,    /* a signal asks to leave, or the terminal is gone: see term_signal() */
	TERM_MOUSE = -4,    /* see term_mouse() */
	TERM_PASTE = -5,    /* see term_pasted() */
	TERM_FOCUS = -6,    /* the window got or lost the focus: see term_is_away() */
	TERM_PICTURES = -7, /* term_pictures() has changed, or pictures have arrived: draw again */
	TERM_GROUND = -8,   /* the terminal has said its background: see term_ground() */
};

struct term_look {
	const struct theme *theme; /* read only by term_open() and term_set_look() */
	bool colours, mouse;
};

struct terminal;

/* Take over the terminal on stdin and stdout; only one may be open. NULL: ERR_UNAVAILABLE. */
struct terminal *term_open(const struct term_look *look, struct err *e);

/* Restore the terminal's modes and free t. NULL is fine. */
void term_close(struct terminal *t);

/*
 * Ask the terminal for its background, once; the event TERM_GROUND says that its answer has come.
 * term_ground(): the answer, or before it what COLORFGBG says.
 */
void term_ask_ground(struct terminal *t);
enum theme_ground term_ground(const struct terminal *t);

/* Change colours and mouse; the next term_show() sends the whole screen. */
void term_set_look(struct terminal *t, const struct term_look *look);

/* The current size of the terminal. */
void term_size(struct terminal *t, int *rows, int *cols);

/*
 * Show a grid; sends only the cells that changed since the last call. Below a picture that the terminal
 * shows, the cells of g are cleared.
 */
void term_show(struct terminal *t, struct grid *g);

/* Mark the screen as unknown: the next term_show() sends everything. */
void term_repaint(struct terminal *t);

/* Wait for a key at most timeout_ms (0: do not wait), or until one of n fds is readable. */
int term_key(struct terminal *t, int timeout_ms, const int *fds, size_t n);

/* The event after the last TERM_MOUSE. */
struct mouse term_mouse(const struct terminal *t);

/*
 * The text after the last TERM_PASTE: valid UTF-8, lines end with \n. Borrowed until the next
 * term_key().
 */
const char *term_pasted(const struct terminal *t);

/* Copy text to the clipboard (OSC 52). false: the terminal does not support that. */
bool term_copy(struct terminal *t, const char *text);

/*
 * The title of the window, restored by term_close(); its progress in per cent, -1: none (OSC 9;4);
 * a message outside of the window. Texts may come from any file. Terminals that do not know these
 * requests get none of them, but a bell.
 */
enum term_toast { TOAST_NONE, TOAST_OSC9, TOAST_OSC777, TOAST_BELL };
void term_set_title(struct terminal *t, const char *title);
void term_set_progress(struct terminal *t, int percent, bool failed);
void term_send_toast(struct terminal *t, enum term_toast kind, const char *title, const char *text);

/* Whether the terminal reported that its window lost the focus. */
bool term_is_away(const struct terminal *t);

/*
 * Whether plots are shown as pictures, by the kitty graphics protocol or else as sixels. The terminal is
 * asked, and its answer is awaited for a second at most, while keys are read as ever. Off at first.
 */
enum term_pictures {
	TERM_PICTURES_OFF,
	TERM_PICTURES_ASKED,  /* no answer yet */
	TERM_PICTURES_KITTY,  /* they are shown */
	TERM_PICTURES_SIXEL,  /* they are shown */
	TERM_PICTURES_NONE,   /* the terminal knows neither, or does not say how large a cell is */
	TERM_PICTURES_SILENT, /* it has not answered */
	TERM_PICTURES_SLOW,   /* the line is too slow */
	TERM_PICTURES_INSIDE, /* tmux or screen would have to pass them on; they are not asked */
};
void term_want_pictures(struct terminal *t, bool on);
enum term_pictures term_pictures(const struct terminal *t);

/* Set the pictures that a grid may have, and how many tones of an area (THEME_TONES, 1 or 0) and of heat the terminal can tell apart. */
void term_set_tones(struct terminal *t, struct grid *g);

/* Describe the terminal for people: "xterm-256color: 256 colours, mouse, pasting, clipboard". */
void term_describe(const struct terminal *t, char *out, size_t size);

/* The signal that asked to leave; 0: none. Valid after term_close() too. */
int term_signal(void);

#endif
