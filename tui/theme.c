/* theme.c - see theme.h */
#include "tui/theme.h"

#include <stddef.h>
#include <string.h>

/*
 * Blue against orange tells the two lines of a plot apart for every kind of colour
 * vision. The middle tones of the 256 colours are legible on dark and on light ground.
 */
const struct theme_style theme_styles[STYLE_COUNT] = {
	[STYLE_NORMAL] = { -1,  -1, 0, 0 },
	[STYLE_DIM]    = { 245, -1, 0, THEME_DIM },
	[STYLE_BRIGHT] = { -1,  -1, THEME_BOLD, THEME_BOLD },
	[STYLE_TITLE]  = { -1,  -1, THEME_BOLD, THEME_BOLD },
	[STYLE_BORDER] = { 241, -1, 0, THEME_DIM },
	[STYLE_FOCUS]  = { 33,   4, THEME_BOLD, THEME_BOLD },
	[STYLE_FIRST]  = { 33,   4, 0, 0 },
	[STYLE_SECOND] = { 172,  3, 0, THEME_BOLD },
	[STYLE_BAND]   = { 67,   4, THEME_DIM, THEME_DIM },
	[STYLE_GOOD]   = { 71,   2, 0, THEME_BOLD },
	[STYLE_WARN]   = { 172,  3, THEME_BOLD, THEME_BOLD },
	[STYLE_BAD]    = { 167,  1, THEME_BOLD, THEME_REVERSE },
	[STYLE_CURSOR] = { -1,  -1, THEME_REVERSE, THEME_REVERSE },
};

bool theme_wants_colour(const char *choice, const char *no_color, bool *bad)
{
	bool is_auto = !choice || !strcmp(choice, "auto");

	if (bad)
		*bad = !is_auto && strcmp(choice, "always") && strcmp(choice, "never");
	if (is_auto)
		return !no_color || !*no_color;
	return !strcmp(choice, "always");
}
