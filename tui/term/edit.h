/*
 * edit.h - the line editor of prompts and of the translate console.
 *
 *	struct edit d = { 0 };
 *	switch (edit_key(&d, key)) { … }
 *	edit_draw(&d, g, rect, STYLE_NORMAL, true);
 *	edit_close(&d);			leaves it empty and reusable
 *
 * The cursor moves and deletes by grapheme: a base character with the combining marks and
 * joiners that follow it. Line ends and tabs become blanks; other control characters and
 * invalid UTF-8 are dropped. A text has at most EDIT_MAX bytes; input beyond is ignored.
 *
 * Keys are those of most shells: arrows, Home, End, Backspace, Delete; Ctrl-A E B F H D;
 * words Ctrl-Left, Ctrl-Right, Alt-B, Alt-F; kill Ctrl-K, Ctrl-U, Ctrl-W, Alt-D,
 * Alt-Backspace; Ctrl-Y yanks the last kill (consecutive kills are one); Ctrl-T transposes;
 * Ctrl-_ undoes; Up, Down, Ctrl-P, Ctrl-N walk through the history.
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
#define EDIT_HISTORY 200   /* lines in the history; the oldest are dropped first */
#define EDIT_UNDO    32	   /* undo levels */

enum edit_result {
	EDIT_IGNORED, /* not a key of the editor: the caller handles it */
	EDIT_MOVED,   /* cursor moved, text unchanged: redraw */
	EDIT_CHANGED, /* the text changed */
	EDIT_DONE,    /* Enter */
	EDIT_LEFT,    /* Esc or Ctrl-G */
};

/* All zero is an empty editor. Private: use edit_text(). */
struct edit {
	struct buf text; /* UTF-8 */
	size_t at;	 /* cursor: bytes before it */
	struct buf killed;
	bool killing, typing;	     /* whether the last key killed or typed text */
	char *history[EDIT_HISTORY]; /* owned, oldest first */
	size_t n_history, shown;     /* shown: line on the screen; n_history: the draft */
	char *draft; /* owned: the typed line while a history line is shown; NULL: "" */
	struct edit_state {
		char *text;
		size_t at;
	} undo[EDIT_UNDO]; /* owned */
	size_t n_undo;
	size_t first; /* field of one row: first visible byte */
	int top;      /* field of several rows: first visible row */
};

/* Free the contents; leaves an empty, usable editor. */
void edit_close(struct edit *d);

/* Process a key of keys.h. */
enum edit_result edit_key(struct edit *d, int key);

/*
 * Insert text at the cursor as one change. EDIT_CHANGED, or EDIT_IGNORED if nothing was inserted.
 */
enum edit_result edit_paste(struct edit *d, const char *text);

/* The text; "" when empty. Borrowed until the next change. */
const char *edit_text(const struct edit *d);

/*
 * Replace the text (invalid parts dropped), with the cursor at its end; can be undone. ERR_NOMEM.
 */
int edit_set(struct edit *d, const char *text, struct err *e);

/* Bytes before the cursor. */
size_t edit_cursor(const struct edit *d);
/* Put the cursor before byte at of the text, or before the character that contains it. */
void edit_set_cursor(struct edit *d, size_t at);

/* Make a line the last one of the history, which has it once. An empty line is not remembered. ERR_NOMEM. */
int edit_remember(struct edit *d, const char *line, struct err *e);

/*
 * Draw into r and keep the cursor visible: one row scrolls sideways, several rows wrap at blanks
 * and scroll vertically. active: show the cursor.
 */
void edit_draw(struct edit *d, struct grid *g, struct rect r, enum style style, bool active);

/* Move the cursor to a mouse position (row, col) in a grid in which d was drawn into r. */
void edit_point(struct edit *d, const struct grid *g, struct rect r, int row, int col);

/* Rows of the text at that width, including room for the cursor after its end; at least 1. */
int edit_rows(const struct edit *d, const struct grid *g, int width);

#endif
