/*
 * theme.h - colours and attributes of each kind of text on the screen.
 *
 * Views name a role (STYLE_BAD), never a colour. A role that carries meaning also has an
 * attribute, or a word or sign beside it, so that nothing is lost without colours.
 *
 * A theme file has lines STYLE = [COLOUR] [on COLOUR] [bold] [dim] [reverse] [underline],
 * for example "bad = 196 bold" or "selected = black on bright-cyan". A COLOUR is 0 to 255, a
 * name, or "default". "base = dark" starts from another theme. # begins a comment.
 */
#ifndef WERKBANK_TUI_TERM_THEME_H
#define WERKBANK_TUI_TERM_THEME_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/err.h"

/* X(id, name in theme files, purpose) */
#define THEME_STYLES(X)                                                                            \
	X(NORMAL, "normal", "text")                                                                \
	X(DIM, "dim", "labels, axes, hints")                                                       \
	X(FAINT, "faint", "background elements: raw curves, grid lines")                           \
	X(BRIGHT, "bright", "values")                                                              \
	X(TITLE, "title", "titles of panes")                                                       \
	X(BORDER, "border", "borders")                                                             \
	X(FOCUS, "focus", "border and title of the focused pane")                                  \
	X(SELECTED, "selected", "the chosen row")                                                  \
	X(CURSOR, "cursor", "the character under the cursor of a line")                            \
	X(TAB, "tab", "inactive tabs")                                                             \
	X(TAB_FRONT, "tab-front", "the active tab")                                                \
	X(FIRST, "first", "first line of a plot")                                                  \
	X(SECOND, "second", "second line of a plot")                                               \
	X(THIRD, "third", "third line")                                                            \
	X(FOURTH, "fourth", "fourth line")                                                         \
	X(FIFTH, "fifth", "fifth line")                                                            \
	X(SIXTH, "sixth", "sixth line")                                                            \
	X(FIRST_RAW, "first-raw", "raw curve or band behind the first line")                       \
	X(SECOND_RAW, "second-raw", "behind the second line")                                      \
	X(THIRD_RAW, "third-raw", "behind the third line")                                         \
	X(FOURTH_RAW, "fourth-raw", "behind the fourth line")                                      \
	X(FIFTH_RAW, "fifth-raw", "behind the fifth line")                                         \
	X(SIXTH_RAW, "sixth-raw", "behind the sixth line")                                         \
	X(BAND, "band", "spread around the first line")                                            \
	X(AREA, "area", "area under the first line; true colour: its upper end")                   \
	X(AREA_LOW, "area-low", "the lower end of the area in true colour")                        \
	X(GOOD, "good", "success")                                                                 \
	X(WARN, "warn", "warnings")                                                                \
	X(BAD, "bad", "errors and failures")                                                       \
	X(MARK, "mark", "event marks on an axis; search matches")                                  \
	X(ADDED, "added", "added words")                                                           \
	X(REMOVED, "removed", "removed words")                                                     \
	X(WRONG, "wrong", "words of a translation that the reference lacks")                       \
	X(SURE_0, "sure-0", "token probability, five levels: lowest")                              \
	X(SURE_1, "sure-1", "low")                                                                 \
	X(SURE_2, "sure-2", "medium")                                                              \
	X(SURE_3, "sure-3", "high")                                                                \
	X(SURE_4, "sure-4", "highest")                                                             \
	X(HEAT_0, "heat-0", "heat map cells, five levels: far below the middle")                   \
	X(HEAT_1, "heat-1", "below")                                                               \
	X(HEAT_2, "heat-2", "the middle, or nothing")                                              \
	X(HEAT_3, "heat-3", "above")                                                               \
	X(HEAT_4, "heat-4", "far above, or all")
#define THEME_TONES 6
#define THEME_RAMP  30 /* steps of heat between HEAT_0 and HEAT_4 */

enum style {
#define X(id, name, use) STYLE_##id,
	THEME_STYLES(X)
#undef X
		STYLE_NAMED, /* number of styles that theme files name */
	/* tones of an area from AREA to AREA_LOW; distinct on terminals with true colour */
	STYLE_TONE_0 = STYLE_NAMED,
	/* heat in steps from HEAT_0 to HEAT_4, on terminals with 256 colours or true colour */
	STYLE_RAMP_0 = STYLE_TONE_0 + THEME_TONES,
	STYLE_COUNT = STYLE_RAMP_0 + THEME_RAMP
};

enum { THEME_BOLD = 1, THEME_DIM = 2, THEME_REVERSE = 4, THEME_UNDERLINE = 8 };

/* Colours for terminals with 256, 16 and 8 colours. -1: the terminal's default colour. */
enum theme_depth { THEME_256, THEME_16, THEME_8, THEME_DEPTHS };

struct theme_style {
	short colour[THEME_DEPTHS];
	short ground[THEME_DEPTHS]; /* background */
	unsigned attributes;	    /* attributes on a terminal with colours */
	unsigned plain_attributes;  /* attributes without colours */
};

struct theme {
	char name[40];
	bool is_light; /* for a light background */
	struct theme_style styles[STYLE_COUNT];
};

/* Name and purpose of built-in theme number i; NULL past the last. */
const char *theme_name(int i, const char **what);

/* Fill t with a built-in theme, such as "auto" or "dark". false: unknown name. */
bool theme_builtin(struct theme *t, const char *name);

enum theme_ground { THEME_GROUND_UNKNOWN, THEME_GROUND_DARK, THEME_GROUND_LIGHT };

/* Give the theme "auto" the colours of "dark" or "light", as the background is; other themes stay as they are. */
void theme_suit_ground(struct theme *t, enum theme_ground ground);

/* The background of a terminal that answers with this colour: "rgb:RRRR/GGGG/BBBB" or "#RRGGBB". */
enum theme_ground theme_ground_of(const char *colour);

/* The names of all built-in themes for a message: "auto, dark and light". */
void theme_list_names(char *out, size_t size);

/* Apply the text of a theme file to t; path appears in messages. ERR_CONFIG names file and line. */
int theme_read(struct theme *t, const char *path, const char *text, struct err *e);

/* One of 256 colours as 0xRRGGBB; -1: the terminal's default colour. */
int theme_rgb(int colour);

/* The colour of STYLE_TONE_0 + tone in true colour: between "area" and "area-low". -1: default. */
int theme_tone_rgb(const struct theme *t, int tone);

/* The colour of STYLE_RAMP_0 + step in true colour, mixed from its two neighbours of HEAT_0 to HEAT_4. */
int theme_ramp_rgb(const struct theme *t, int step);

/* The one of 256 colours that is nearest to 0xRRGGBB; those that terminals redefine are not used. */
short theme_nearest_256(int rgb);

/* The colour among the first n (8 or 16) that is nearest to one of 256 colours. */
short theme_nearest(int colour, int n);

/*
 * Whether to use colours. choice is --color (auto, always, never; NULL is auto), no_color the value
 * of NO_COLOR (NULL: not set; empty counts as not set). *bad (if not NULL) is set for another
 * choice.
 */
bool theme_wants_colour(const char *choice, const char *no_color, bool *bad);

#endif
