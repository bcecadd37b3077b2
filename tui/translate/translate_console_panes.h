/* translate_console_panes.h - the panes of the translate console: where they are, and how they are drawn. */
#ifndef WERKBANK_TUI_TRANSLATE_TRANSLATE_CONSOLE_PANES_H
#define WERKBANK_TUI_TRANSLATE_TRANSLATE_CONSOLE_PANES_H

#include "tui/translate/translate_console.h"
#include "tui/term/grid.h"
#include "tui/term/layout.h"

#define CONSOLE_SPOTS 512 /* tokens that can be pointed at */

/* Where things are on the screen; rows or cols 0: not shown. */
struct console_screen {
	struct rect head, input, text[CONSOLE_SIDES], words[CONSOLE_SIDES], n_best, others,
		constraints, file;
	/* as drawn, for the mouse */
	struct rect spots[CONSOLE_SPOTS]; /* of the tokens of the side looked at */
	int n_spots;
	int n_best_top, others_top; /* first rows of the lists that are shown */
};

/* Place everything in body, by what there is to show. */
void console_layout(const struct console *c, const struct grid *g, struct rect body,
		    struct console_screen *s);

/* Draw it all. now: seconds as in console_update(). */
void console_draw(struct console *c, struct grid *g, struct console_screen *s, double now);

/* The style for a token of that log probability, and its sign after the per cent (0: none). */
enum style token_shade(double log_prob, char *sign);

#endif
