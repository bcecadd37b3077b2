/* translate_console_panes.h - layout and drawing of the panes of the translate console. */
#ifndef WERKBANK_TUI_TRANSLATE_TRANSLATE_CONSOLE_PANES_H
#define WERKBANK_TUI_TRANSLATE_TRANSLATE_CONSOLE_PANES_H

#include "tui/term/grid.h"
#include "tui/term/layout.h"
#include "tui/translate/translate_console.h"

#define CONSOLE_SPOTS 512 /* tokens that the mouse can reach */

/* Positions on the screen; rows or cols 0: hidden. */
struct console_screen {
	struct rect head, input, text[CONSOLE_SIDES], words[CONSOLE_SIDES], n_best, others,
		extras[CONSOLE_EXTRAS], constraints, file;
	bool extra_alone; /* one of the extras is in the place of words and lists */
	/* as drawn, for the mouse */
	struct rect spots[CONSOLE_SPOTS]; /* tokens of the selected side */
	int n_spots, first_spot;	  /* first_spot: the token of spots[0] */
	int n_best_top, others_top;	  /* first visible rows of the lists */
};

/* ---- translate_console_layout.c ---- */

/* The number of sides, and the sentence of a side that is shown: at the cursor of the selected one, else the first. */
int console_sides(const struct console *c);
const struct service_part *console_shown_part(const struct console *c, int side);
/* Compute the layout in body. */
void console_layout(const struct console *c, const struct grid *g, struct rect body,
		    struct console_screen *s);

/* ---- translate_console_panes.c ---- */

/* Draw all panes. now: as in console_update(). */
void console_draw(struct console *c, struct grid *g, struct console_screen *s, double now);

/* Style of a token by log probability, and a sign for it after the percentage (0: none). */
enum style token_shade(double log_prob, char *sign);

#endif
