/*
 * edit.h - a line editor: what is typed in prompts and in the translate console.
 *
 *	struct edit d = { 0 };
 *	switch (edit_key(&d, key)) { … }
 *	edit_draw(&d, g, rect, STYLE_NORMAL, true);
 *	edit_close(&d);			leaves it empty and reusable
 *
 * It moves and deletes by what looks like one character: a base with the
 * combining marks and joiners that follow it. Control characters never get in:
 * line ends and tabs become blanks, others are left out, and so is what is not
 * UTF-8. A text has at most EDIT_MAX bytes; what does not fit is not taken.
 *
 * Keys are those of most shells: arrows, Home, End, Backspace, Delete;
 * Ctrl-A E B F H D; words Ctrl-Left, Ctrl-Right, Alt-B, Alt-F; killing Ctrl-K,
 * Ctrl-U, Ctrl-W, Alt-D, Alt-Backspace, Ctrl-Y brings back what was killed
 * last (kills in a row are one); Ctrl-T swaps; Ctrl-_ undoes; Up, Down, Ctrl-P,
 * Ctrl-N walk through history.
 */
#ifndef WERKBANK_TUI_TERM_EDIT_H
#define WERKBANK_TUI_TERM_EDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "tui/term/grid.h"
#include "tui/term/layout.h"

#define EDIT_MAX     65536 /* bytes of a text */
#define EDIT_HISTORY 200   /* lines remembered; the oldest go first */
#define EDIT_UNDO    32	   /* changes that can be undone */

enum edit_result {
	EDIT_IGNORED, /* not a key of the editor: the caller's turn */
	EDIT_MOVED,   /* draw again; the text is as it was */
	EDIT_CHANGED, /* the text is another one */
	EDIT_DONE,    /* Enter */
	EDIT_LEFT,    /* Esc or Ctrl-G */
};

/* All zero is an empty editor. Private but for edit_text(). */
struct edit {
	struct buf text; /* UTF-8 */
	size_t at;	 /* bytes before the cursor */
	struct buf killed;
	bool killing, typing;	     /* the last key killed, typed */
	char *history[EDIT_HISTORY]; /* owned, the oldest first */
	size_t n_history, shown;     /* shown: position in it; n_history: the line being typed */
	char *draft;		     /* owned: that line, while history is shown; NULL: "" */
	struct edit_state {
		char *text;
		size_t at;
	} undo[EDIT_UNDO]; /* owned */
	size_t n_undo;
	size_t first; /* when drawn in one row: bytes scrolled out at the left … */
	int top;      /* … in several: rows scrolled out at the top */
};

void edit_close(struct edit *d);

/* Take a key of keys.h. */
enum edit_result edit_key(struct edit *d, int key);

/* Put text in at the cursor, as one change. EDIT_CHANGED, or EDIT_IGNORED when nothing went in. */
enum edit_result edit_paste(struct edit *d, const char *text);

/* The text; "" when empty. Borrowed until the next change. */
const char *edit_text(const struct edit *d);

/* Replace the text (what cannot be in it left out), cursor at its end. It can be undone. */
int edit_set(struct edit *d, const char *text, struct err *e);

/* Put a line at the end of history, unless it is empty or the last one there. */
int edit_remember(struct edit *d, const char *line, struct err *e);

/*
 * Draw into r: one row scrolls sideways, several are broken at blanks and scroll
 * up and down, so that the cursor is always seen. active: show the cursor.
 */
void edit_draw(struct edit *d, struct grid *g, struct rect r, enum style style, bool active);

/* Put the cursor where a mouse pointed at in a grid in which d was drawn into r. */
void edit_point(struct edit *d, const struct grid *g, struct rect r, int row, int col);

/* Rows that the text takes in that width, with room for the cursor behind it; at least 1. */
int edit_rows(const struct edit *d, const struct grid *g, int width);

#endif
