/*
 * theme.h - what each kind of text on the screen looks like.
 *
 * Views name a role, never a colour. Every role that carries meaning also has
 * an attribute or is accompanied by a word or sign, so that nothing is lost
 * without colours.
 *
 * A theme file has lines STYLE = [COLOUR] [on COLOUR] [bold] [dim] [reverse]
 * [underline], as "bad = 196 bold" or "selected = black on bright-cyan"; a
 * COLOUR is 0 to 255, a name, or "default". "base = dark" begins from another
 * theme. # begins a comment.
 */
#ifndef WERKBANK_TUI_TERM_THEME_H
#define WERKBANK_TUI_TERM_THEME_H

#include <stdbool.h>

#include "share/base/err.h"

/* X(id, name in theme files, what for) */
#define THEME_STYLES(X)                                                                            \
	X(NORMAL, "normal", "text")                                                                \
	X(DIM, "dim", "labels, axes, hints")                                                       \
	X(FAINT, "faint", "what lies behind something: a raw curve, a grid")                       \
	X(BRIGHT, "bright", "values")                                                              \
	X(TITLE, "title", "names of panes")                                                        \
	X(BORDER, "border", "borders")                                                             \
	X(FOCUS, "focus", "border and name of the pane that keys go to")                           \
	X(SELECTED, "selected", "the chosen row")                                                  \
	X(CURSOR, "cursor", "the character under the cursor of a line")                            \
	X(TAB, "tab", "a tab behind")                                                              \
	X(TAB_FRONT, "tab-front", "the tab in front")                                              \
	X(FIRST, "first", "first line of a plot")                                                  \
	X(SECOND, "second", "second line of a plot")                                               \
	X(THIRD, "third", "third line")                                                            \
	X(FOURTH, "fourth", "fourth line")                                                         \
	X(FIFTH, "fifth", "fifth line")                                                            \
	X(SIXTH, "sixth", "sixth line")                                                            \
	X(BAND, "band", "spread around the first line")                                            \
	X(GOOD, "good", "as it should be")                                                         \
	X(WARN, "warn", "worth a look")                                                            \
	X(BAD, "bad", "wrong")                                                                     \
	X(MARK, "mark", "marks of events on an axis; what a search has found")                     \
	X(ADDED, "added", "words that are new")                                                    \
	X(REMOVED, "removed", "words that are gone")                                               \
	X(SURE_0, "sure-0", "probability of a token, five steps: least")                           \
	X(SURE_1, "sure-1", "low")                                                                 \
	X(SURE_2, "sure-2", "middling")                                                            \
	X(SURE_3, "sure-3", "high")                                                                \
	X(SURE_4, "sure-4", "highest")                                                             \
	X(HEAT_0, "heat-0", "cells of a heat map, five steps: nothing")                            \
	X(HEAT_1, "heat-1", "little")                                                              \
	X(HEAT_2, "heat-2", "middling")                                                            \
	X(HEAT_3, "heat-3", "much")                                                                \
	X(HEAT_4, "heat-4", "all")

enum style {
#define X(id, name, use) STYLE_##id,
	THEME_STYLES(X)
#undef X
		STYLE_COUNT
};

enum { THEME_BOLD = 1, THEME_DIM = 2, THEME_REVERSE = 4, THEME_UNDERLINE = 8 };

/* Colours for terminals with 256, 16 and 8 of them. -1: the terminal's own. */
enum theme_depth { THEME_256, THEME_16, THEME_8, THEME_DEPTHS };

struct theme_style {
	short colour[THEME_DEPTHS];
	short ground[THEME_DEPTHS]; /* background */
	unsigned attributes;	    /* with colours */
	unsigned plain_attributes;  /* without */
};

struct theme {
	char name[40];
	struct theme_style styles[STYLE_COUNT];
};

/* The built-in themes: name of number i, and what it is for; NULL past the end. */
const char *theme_name(int i, const char **what);

/* Fill t with a built-in theme ("auto", "dark", "light", "safe", "mono"); false: no such theme. */
bool theme_builtin(struct theme *t, const char *name);

/* Change t as the text of a theme file says; path is for messages. ERR_CONFIG names file and line. */
int theme_read(struct theme *t, const char *path, const char *text, struct err *e);

/* The nearest of the first n (8 or 16) colours to one of 256. */
short theme_nearest(int colour, int n);

/*
 * Colours to use: choice is --color (auto, always, never; NULL is auto),
 * no_color the environment's NO_COLOR (NULL: not set; empty counts as not
 * set). Returns false for none; *bad (when not NULL) says that choice is none of the three.
 */
bool theme_wants_colour(const char *choice, const char *no_color, bool *bad);

#endif
