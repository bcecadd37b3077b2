/* term_internal.h - what term.c and term_read.c share; no other file includes curses.h. */
#ifndef WERKBANK_TUI_TERM_TERM_INTERNAL_H
#define WERKBANK_TUI_TERM_TERM_INTERNAL_H

#include <curses.h>
#include <signal.h>
#include <stdbool.h>

#include "share/base/buf.h"
#include "tui/term/term.h"
#include "tui/term/theme.h"

struct terminal {
	SCREEN *screen;
	attr_t attributes[STYLE_COUNT];
	short pairs[STYLE_COUNT];
	struct grid shown;  /* what curses was told last */
	bool is_xterm;	    /* understands the requests of xterm */
	bool mouse_on;	    /* it is asked for reports of the mouse */
	int colours;	    /* in use; 0: none */
	struct mouse mouse; /* the last report */
	struct buf pasted;
	sigset_t outside; /* the signal mask of our caller */
	struct sigaction old[16];
	char *stack; /* owned: for a crash by stack overflow */
	bool gone;   /* the terminal was closed at its other end */
};

/* What the signals that came in want: TERM_ENDED, TERM_RESIZED; 0: nothing. */
int term_signalled(struct terminal *t);

/* Tell curses what terminals of xterm's family send. */
void term_define_keys(void);

#endif
