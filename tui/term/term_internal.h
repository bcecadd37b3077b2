/* term_internal.h - shared by term.c and term_read.c; no other file includes curses.h. */
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
	FILE *out; /* owned: the terminal's own stream, because stdout is guarded */
	attr_t attributes[STYLE_COUNT];
	short pairs[STYLE_COUNT];
	struct grid shown; /* the grid that curses holds */
	bool is_xterm;	   /* the terminal supports the requests of xterm */
	bool mouse_on;	   /* mouse reports are switched on */
	int colours;	   /* number of colours in use; 0: none */
	bool true_colour;  /* colours from n_indexed on are 0xRRGGBB */
	int n_indexed;
	int tones, ramp;    /* see term_set_tones() */
	struct mouse mouse; /* the last mouse event */
	struct buf pasted;
	sigset_t outside; /* the caller's signal mask, restored by term_close() */
	struct sigaction old[16];
	char *stack;	 /* owned: alternate signal stack, for a crash by stack overflow */
	bool gone;	 /* the terminal hung up */
	bool away;	 /* the window does not have the focus */
	char title[200]; /* as sent last */
	int progress;	 /* as sent last; -1: none */
};

/* The event that pending signals ask for: TERM_ENDED, TERM_RESIZED; 0: none. */
int term_signalled(struct terminal *t);

/* Define the key sequences of the xterm family in curses. */
void term_define_keys(void);

#endif
