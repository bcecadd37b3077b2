/* term_internal.h - shared by term.c and term_read.c; no other file includes curses.h. */
#ifndef WERKBANK_TUI_TERM_TERM_INTERNAL_H
#define WERKBANK_TUI_TERM_TERM_INTERNAL_H

#include <curses.h>
#include <signal.h>
#include <stdbool.h>

#include "share/base/buf.h"
#include "tui/term/picture.h"
#include "tui/term/term.h"
#include "tui/term/theme.h"

/* A picture on the screen. */
struct shown_picture {
	struct rect cells;
	uint64_t sum; /* over its pixels */
	bool is_shown;
};

struct picture_state {
	enum term_pictures state;
	struct picture_list list; /* of the grid that is drawn; owned */
	struct shown_picture shown[PICTURE_MOST];
	double asked_at;		     /* when an answer was asked for */
	bool has_fence;			     /* pictures are on their way */
	bool has_kitty;			     /* kitty's query was answered */
	int answered_width, answered_height; /* pixels of a cell */
	int colours;			     /* of sixels */
	int ground;			     /* colour behind sixels, 0xRRGGBB */
};

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
	struct picture_state pictures;
	enum theme_ground ground; /* as the terminal answered */
	double ground_asked_at;	  /* 0: not yet */
};

/* Send what is in out, at once. */
void term_send(struct terminal *t, const struct buf *out);

/* ---- term_read.c ---- */

/* The next character of an answer; -1: none came in time, or a key did. */
int term_next_char(void);
/* The rest of an answer that ends with BEL or ESC \, as far as it has room in text. */
void term_read_string(char *text, size_t room);

/* ---- term_ground.c ---- */

/* Read the rest of the answer after ESC ] 11 ; and return an event. */
int term_read_ground(struct terminal *t);
/* At the end: drop an answer that may still come, which the shell would read as typed. */
void term_drop_late_ground(struct terminal *t);

/* ---- term_picture.c ---- */

/* Read the rest of an answer: attributes, kitty's; each returns an event. */
int term_read_answer(struct terminal *t);
int term_read_kitty_answer(struct terminal *t);
/* Take the pixels of a cell from what came after ESC [, if it is that: "6;16;8t". */
void term_take_cell_size(struct terminal *t, const char *text);
/* timeout_ms, or less if an answer is awaited; the event if it did not come in time, else 0. */
int term_picture_wait_ms(const struct terminal *t, int timeout_ms);
int term_picture_deadline(struct terminal *t);
/* Before a grid is sent: clear the cells below its pictures. After it: send the pictures. */
void term_place_pictures(struct terminal *t, struct grid *g);
void term_send_pictures(struct terminal *t);
void term_remove_pictures(struct terminal *t);
void term_measure_cells(struct terminal *t);
void term_set_picture_colours(struct terminal *t, const struct theme *theme);

/* The event that pending signals ask for: TERM_ENDED, TERM_RESIZED; 0: none. */
int term_signalled(struct terminal *t);

/* Define the key sequences of the xterm family in curses. */
void term_define_keys(void);

#endif
