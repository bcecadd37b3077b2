/*
 * theme.h - what each kind of text on the screen looks like.
 *
 * Views name a role, never a colour. Every role that carries meaning also has
 * an attribute or is accompanied by a word or sign, so that nothing is lost
 * without colours.
 */
#ifndef WERKBANK_TUI_THEME_H
#define WERKBANK_TUI_THEME_H

#include <stdbool.h>

enum style {
	STYLE_NORMAL,
	STYLE_DIM,	/* labels, axes, hints */
	STYLE_BRIGHT,	/* values */
	STYLE_TITLE,	/* names of panes */
	STYLE_BORDER,
	STYLE_FOCUS,	/* border and name of the pane that keys go to */
	STYLE_FIRST,	/* first line of a plot */
	STYLE_SECOND,	/* second line of a plot */
	STYLE_BAND,	/* spread around the first line */
	STYLE_GOOD,
	STYLE_WARN,
	STYLE_BAD,
	STYLE_CURSOR,	/* where typing goes, the line or word that is chosen */
	STYLE_COUNT
};

enum { THEME_BOLD = 1, THEME_DIM = 2, THEME_REVERSE = 4, THEME_UNDERLINE = 8 };

struct theme_style {
	short colour256;	/* -1: the terminal's own */
	short colour8;
	unsigned attributes;		/* with colours */
	unsigned plain_attributes;	/* without */
};

extern const struct theme_style theme_styles[STYLE_COUNT];

/*
 * Colours to use: choice is --color (auto, always, never; NULL is auto),
 * no_color the environment's NO_COLOR (NULL: not set; empty counts as not
 * set). Returns false for none; *bad (when not NULL) says that choice is none of the three.
 */
bool theme_wants_colour(const char *choice, const char *no_color, bool *bad);

#endif
