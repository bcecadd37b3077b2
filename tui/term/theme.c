/* theme.c - built-in themes, theme files, choice of colours; see theme.h. */
#include "tui/term/theme.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/term/settings.h"

#define OWN -1
#define B   THEME_BOLD
#define D   THEME_DIM
#define R   THEME_REVERSE
#define U   THEME_UNDERLINE

/* Foreground colour only, on the terminal's own background. */
#define ON_OWN(c256, c16, c8, with, without)                                                       \
	{                                                                                          \
		{ c256, c16, c8 }, { OWN, OWN, OWN }, with, without                                \
	}

/*
 * The default theme, for an unknown background: medium tones of the 256 colours are legible on dark
 * and on light. Blue and orange distinguish the two lines of a plot with every kind of colour
 * vision.
 */
static const struct theme any_ground = { "auto",
					 {
						 [STYLE_NORMAL] = ON_OWN(OWN, OWN, OWN, 0, 0),
						 [STYLE_DIM] = ON_OWN(245, 8, OWN, 0, D),
						 [STYLE_FAINT] = ON_OWN(242, 8, OWN, 0, D),
						 [STYLE_BRIGHT] = ON_OWN(OWN, OWN, OWN, B, B),
						 [STYLE_TITLE] = ON_OWN(OWN, OWN, OWN, B, B),
						 [STYLE_BORDER] = ON_OWN(241, 8, OWN, 0, D),
						 [STYLE_FOCUS] = ON_OWN(33, 4, 4, B, B),
						 [STYLE_SELECTED] = ON_OWN(OWN, OWN, OWN, R, R),
						 [STYLE_CURSOR] = ON_OWN(OWN, OWN, OWN, R, R),
						 [STYLE_TAB] = ON_OWN(245, 8, OWN, 0, 0),
						 [STYLE_TAB_FRONT] = ON_OWN(33, 4, 4, B | R, B | R),
						 [STYLE_FIRST] = ON_OWN(33, 4, 4, 0, 0),
						 [STYLE_SECOND] = ON_OWN(172, 3, 3, 0, B),
						 [STYLE_THIRD] = ON_OWN(36, 6, 6, 0, 0),
						 [STYLE_FOURTH] = ON_OWN(169, 5, 5, 0, B),
						 [STYLE_FIFTH] = ON_OWN(71, 2, 2, 0, 0),
						 [STYLE_SIXTH] = ON_OWN(167, 1, 1, 0, B),
						 [STYLE_FIRST_RAW] = ON_OWN(67, 4, 4, 0, D),
						 [STYLE_SECOND_RAW] = ON_OWN(137, 3, 3, 0, D),
						 [STYLE_THIRD_RAW] = ON_OWN(66, 6, 6, 0, D),
						 [STYLE_FOURTH_RAW] = ON_OWN(96, 5, 5, 0, D),
						 [STYLE_FIFTH_RAW] = ON_OWN(65, 2, 2, 0, D),
						 [STYLE_SIXTH_RAW] = ON_OWN(95, 1, 1, 0, D),
						 [STYLE_AREA] = ON_OWN(60, 4, 4, 0, D),
						 [STYLE_AREA_LOW] = ON_OWN(59, 4, 4, 0, D),
						 [STYLE_BAND] = ON_OWN(67, 4, 4, D, D),
						 [STYLE_GOOD] = ON_OWN(71, 2, 2, 0, B),
						 [STYLE_WARN] = ON_OWN(172, 3, 3, B, B),
						 [STYLE_BAD] = ON_OWN(167, 1, 1, B, R),
						 [STYLE_MARK] = ON_OWN(172, 3, 3, B, U),
						 [STYLE_ADDED] = ON_OWN(71, 2, 2, U, U),
						 [STYLE_REMOVED] = ON_OWN(167, 1, 1, R, R),
						 [STYLE_WRONG] = ON_OWN(167, 1, 1, U, B | U),
						 [STYLE_SURE_0] = ON_OWN(167, 1, 1, B | U, B | U),
						 [STYLE_SURE_1] = ON_OWN(172, 3, 3, U, U),
						 [STYLE_SURE_2] = ON_OWN(136, 3, 3, 0, D),
						 [STYLE_SURE_3] = ON_OWN(67, 6, 6, 0, 0),
						 [STYLE_SURE_4] = ON_OWN(33, 4, 4, 0, B),
						 [STYLE_HEAT_0] = ON_OWN(241, 8, OWN, 0, D),
						 [STYLE_HEAT_1] = ON_OWN(67, 4, 4, 0, 0),
						 [STYLE_HEAT_2] = ON_OWN(36, 6, 6, 0, 0),
						 [STYLE_HEAT_3] = ON_OWN(172, 3, 3, 0, B),
						 [STYLE_HEAT_4] = ON_OWN(167, 1, 1, B, B | R),
					 } };

struct change {
	enum style style;
	struct theme_style look;
};

/* Changes for a dark background: brighter tones. */
static const struct change dark_changes[] = {
	{ STYLE_NORMAL, ON_OWN(252, 7, 7, 0, 0) },
	{ STYLE_BRIGHT, ON_OWN(231, 15, 7, B, B) },
	{ STYLE_TITLE, ON_OWN(255, 15, 7, B, B) },
	{ STYLE_DIM, ON_OWN(247, 7, 7, 0, D) },
	{ STYLE_FAINT, ON_OWN(240, 8, OWN, 0, D) },
	{ STYLE_BORDER, ON_OWN(239, 8, OWN, 0, D) },
	{ STYLE_FOCUS, ON_OWN(75, 12, 4, B, B) },
	{ STYLE_SELECTED, { { 231, 15, 7 }, { 24, 4, 4 }, B, R } },
	{ STYLE_TAB, ON_OWN(247, 7, 7, 0, 0) },
	{ STYLE_TAB_FRONT, { { 231, 15, 7 }, { 24, 4, 4 }, B, B | R } },
	{ STYLE_FIRST, ON_OWN(75, 12, 4, 0, 0) },
	{ STYLE_SECOND, ON_OWN(215, 11, 3, 0, B) },
	{ STYLE_THIRD, ON_OWN(80, 14, 6, 0, 0) },
	{ STYLE_FOURTH, ON_OWN(176, 13, 5, 0, B) },
	{ STYLE_FIFTH, ON_OWN(114, 10, 2, 0, 0) },
	{ STYLE_SIXTH, ON_OWN(210, 9, 1, 0, B) },
	{ STYLE_AREA, ON_OWN(25, 4, 4, 0, D) },
	{ STYLE_AREA_LOW, ON_OWN(234, 4, 4, 0, D) },
	{ STYLE_GOOD, ON_OWN(114, 10, 2, 0, B) },
	{ STYLE_WARN, ON_OWN(221, 11, 3, B, B) },
	{ STYLE_BAD, ON_OWN(210, 9, 1, B, R) },
	{ STYLE_MARK, ON_OWN(221, 11, 3, B, U) },
	{ STYLE_ADDED, ON_OWN(114, 10, 2, U, U) },
	{ STYLE_REMOVED, { { 231, 15, 7 }, { 88, 1, 1 }, 0, R } },
	{ STYLE_WRONG, ON_OWN(210, 9, 1, U, B | U) },
	{ STYLE_SURE_0, ON_OWN(210, 9, 1, B | U, B | U) },
	{ STYLE_SURE_1, ON_OWN(215, 11, 3, U, U) },
	{ STYLE_SURE_2, ON_OWN(187, 3, 3, 0, D) },
	{ STYLE_SURE_3, ON_OWN(152, 14, 6, 0, 0) },
	{ STYLE_SURE_4, ON_OWN(117, 12, 4, 0, B) },
};

static const struct change light_changes[] = {
	{ STYLE_NORMAL, ON_OWN(235, 0, 0, 0, 0) },
	{ STYLE_BRIGHT, ON_OWN(16, 0, 0, B, B) },
	{ STYLE_TITLE, ON_OWN(16, 0, 0, B, B) },
	{ STYLE_DIM, ON_OWN(241, 8, OWN, 0, D) },
	{ STYLE_FAINT, ON_OWN(249, 7, OWN, 0, D) },
	{ STYLE_BORDER, ON_OWN(248, 7, OWN, 0, D) },
	{ STYLE_FOCUS, ON_OWN(25, 4, 4, B, B) },
	{ STYLE_SELECTED, { { 16, 0, 0 }, { 153, 14, 6 }, B, R } },
	{ STYLE_TAB, ON_OWN(241, 8, OWN, 0, 0) },
	{ STYLE_TAB_FRONT, { { 231, 15, 7 }, { 25, 4, 4 }, B, B | R } },
	{ STYLE_FIRST, ON_OWN(25, 4, 4, 0, 0) },
	{ STYLE_SECOND, ON_OWN(130, 3, 3, 0, B) },
	{ STYLE_THIRD, ON_OWN(30, 6, 6, 0, 0) },
	{ STYLE_FOURTH, ON_OWN(127, 5, 5, 0, B) },
	{ STYLE_FIFTH, ON_OWN(28, 2, 2, 0, 0) },
	{ STYLE_SIXTH, ON_OWN(124, 1, 1, 0, B) },
	{ STYLE_FIRST_RAW, ON_OWN(110, 14, 4, 0, D) },
	{ STYLE_SECOND_RAW, ON_OWN(180, 3, 3, 0, D) },
	{ STYLE_THIRD_RAW, ON_OWN(109, 14, 6, 0, D) },
	{ STYLE_FOURTH_RAW, ON_OWN(182, 13, 5, 0, D) },
	{ STYLE_FIFTH_RAW, ON_OWN(108, 2, 2, 0, D) },
	{ STYLE_SIXTH_RAW, ON_OWN(174, 9, 1, 0, D) },
	{ STYLE_AREA, ON_OWN(153, 14, 4, 0, D) },
	{ STYLE_AREA_LOW, ON_OWN(255, 15, 4, 0, D) },
	{ STYLE_GOOD, ON_OWN(28, 2, 2, 0, B) },
	{ STYLE_WARN, ON_OWN(130, 3, 3, B, B) },
	{ STYLE_BAD, ON_OWN(124, 1, 1, B, R) },
	{ STYLE_MARK, ON_OWN(130, 3, 3, B, U) },
	{ STYLE_ADDED, ON_OWN(28, 2, 2, U, U) },
	{ STYLE_REMOVED, { { 16, 0, 0 }, { 217, 9, 1 }, 0, R } },
	{ STYLE_WRONG, ON_OWN(124, 1, 1, U, B | U) },
	{ STYLE_SURE_0, ON_OWN(124, 1, 1, B | U, B | U) },
	{ STYLE_SURE_1, ON_OWN(130, 3, 3, U, U) },
	{ STYLE_SURE_2, ON_OWN(94, 3, 3, 0, D) },
	{ STYLE_SURE_3, ON_OWN(30, 6, 6, 0, 0) },
	{ STYLE_SURE_4, ON_OWN(25, 4, 4, 0, B) },
};

/*
 * The eight colours of Okabe and Ito, approximated by 256 colours: distinct with every kind of
 * colour vision. Good is blue, bad is vermilion, never green against red.
 */
static const struct change safe_changes[] = {
	{ STYLE_FIRST, ON_OWN(32, 4, 4, 0, 0) },
	{ STYLE_SECOND, ON_OWN(214, 11, 3, 0, B) },
	{ STYLE_THIRD, ON_OWN(36, 6, 6, 0, 0) },
	{ STYLE_FOURTH, ON_OWN(175, 13, 5, 0, B) },
	{ STYLE_FIFTH, ON_OWN(74, 14, 6, B, 0) },
	{ STYLE_SIXTH, ON_OWN(166, 9, 1, 0, B) },
	{ STYLE_SECOND_RAW, ON_OWN(179, 3, 3, 0, D) },
	{ STYLE_FOURTH_RAW, ON_OWN(132, 5, 5, 0, D) },
	{ STYLE_GOOD, ON_OWN(74, 14, 6, 0, B) },
	{ STYLE_WARN, ON_OWN(214, 11, 3, B, B) },
	{ STYLE_BAD, ON_OWN(166, 9, 1, B | R, R) },
	{ STYLE_ADDED, ON_OWN(74, 14, 6, U, U) },
	{ STYLE_REMOVED, ON_OWN(166, 9, 1, R, R) },
	{ STYLE_WRONG, ON_OWN(166, 9, 1, U, B | U) },
	{ STYLE_SURE_0, ON_OWN(166, 9, 1, B | U, B | U) },
	{ STYLE_SURE_1, ON_OWN(214, 11, 3, U, U) },
	{ STYLE_SURE_2, ON_OWN(245, 8, OWN, 0, D) },
	{ STYLE_SURE_3, ON_OWN(74, 14, 6, 0, 0) },
	{ STYLE_SURE_4, ON_OWN(32, 4, 4, B, B) },
	{ STYLE_HEAT_1, ON_OWN(25, 4, 4, 0, 0) },
	{ STYLE_HEAT_2, ON_OWN(74, 14, 6, 0, 0) },
	{ STYLE_HEAT_3, ON_OWN(214, 11, 3, 0, B) },
	{ STYLE_HEAT_4, ON_OWN(166, 9, 1, B, B | R) },
};

static const struct {
	const char *name, *what;
	const struct change *changes;
	size_t n;
} builtin[] = {
	{ "auto", "medium tones, for dark and light backgrounds", NULL, 0 },
	{ "dark", "for dark backgrounds", dark_changes, ARRAY_LEN(dark_changes) },
	{ "light", "for light backgrounds", light_changes, ARRAY_LEN(light_changes) },
	{ "safe", "distinct with every kind of colour vision", safe_changes,
	  ARRAY_LEN(safe_changes) },
	{ "mono", "no colours, only bold, dim, underlined, reversed", NULL, 0 },
};

const char *theme_name(int i, const char **what)
{
	if (i < 0 || i >= (int)ARRAY_LEN(builtin))
		return NULL;
	if (what)
		*what = builtin[i].what;
	return builtin[i].name;
}

bool theme_builtin(struct theme *t, const char *name)
{
	for (size_t k = 0; k < ARRAY_LEN(builtin); k++) {
		if (strcmp(builtin[k].name, name))
			continue;
		*t = any_ground;
		snprintf(t->name, sizeof(t->name), "%s", name);
		for (size_t i = 0; i < builtin[k].n; i++)
			t->styles[builtin[k].changes[i].style] = builtin[k].changes[i].look;
		for (int i = 0; !strcmp(name, "mono") && i < STYLE_COUNT; i++) {
			unsigned plain = t->styles[i].plain_attributes;

			t->styles[i] = (struct theme_style)ON_OWN(OWN, OWN, OWN, plain, plain);
		}
		return true;
	}
	return false;
}

/* ---- colours ---- */

/* Write red, green and blue (0..255) of one of xterm's 256 colours. */
static void rgb_of(int colour, int rgb[3])
{
	static const int low[16][3] = {
		{ 0, 0, 0 },	   { 205, 0, 0 },   { 0, 205, 0 },   { 205, 205, 0 },
		{ 0, 0, 238 },	   { 205, 0, 205 }, { 0, 205, 205 }, { 229, 229, 229 },
		{ 127, 127, 127 }, { 255, 0, 0 },   { 0, 255, 0 },   { 255, 255, 0 },
		{ 92, 92, 255 },   { 255, 0, 255 }, { 0, 255, 255 }, { 255, 255, 255 },
	};

	if (colour < 16) {
		memcpy(rgb, low[colour], sizeof(low[colour]));
		return;
	}
	for (int i = 0; i < 3; i++) {
		int divisor = i == 0 ? 36 : i == 1 ? 6 : 1, level = (colour - 16) / divisor % 6;

		rgb[i] = colour >= 232 ? 8 + 10 * (colour - 232) : level ? 55 + 40 * level : 0;
	}
}

int theme_rgb(int colour)
{
	int rgb[3];

	if (colour < 0 || colour > 255)
		return OWN;
	rgb_of(colour, rgb);
	return rgb[0] << 16 | rgb[1] << 8 | rgb[2];
}

/* The colour at part/whole of the way between the colours of two styles. */
static int mix_styles(const struct theme *t, enum style first, enum style second, int part,
		      int whole)
{
	int from = theme_rgb(t->styles[first].colour[THEME_256]);
	int to = theme_rgb(t->styles[second].colour[THEME_256]), mixed = 0;

	if (from < 0 || to < 0)
		return from;
	for (int shift = 0; shift <= 16; shift += 8) {
		int a = from >> shift & 255, b = to >> shift & 255;

		mixed |= (a + (b - a) * part / whole) << shift;
	}
	return mixed;
}

int theme_tone_rgb(const struct theme *t, int tone)
{
	assert(tone >= 0 && tone < THEME_TONES);
	return mix_styles(t, STYLE_AREA, STYLE_AREA_LOW, tone, THEME_TONES - 1);
}

int theme_ramp_rgb(const struct theme *t, int step)
{
	const int parts = STYLE_HEAT_4 - STYLE_HEAT_0, whole = THEME_RAMP - 1;
	int part;

	assert(step >= 0 && step < THEME_RAMP);
	part = MIN(step * parts / whole, parts - 1);
	return mix_styles(t, (enum style)(STYLE_HEAT_0 + part),
			  (enum style)(STYLE_HEAT_0 + part + 1), step * parts - part * whole,
			  whole);
}

static int colour_distance(const int a[3], const int b[3])
{
	int distance = 0;

	for (int i = 0; i < 3; i++)
		distance += (a[i] - b[i]) * (a[i] - b[i]);
	return distance;
}

/* The colour from first to end (excluded) that is nearest to red, green and blue. */
static short nearest_colour(const int want[3], int first, int end)
{
	int best = first, least = INT32_MAX;

	for (int c = first; c < end; c++) {
		int have[3], distance;

		rgb_of(c, have);
		distance = colour_distance(want, have);
		if (distance < least) {
			least = distance;
			best = c;
		}
	}
	return (short)best;
}

short theme_nearest_256(int rgb)
{
	return nearest_colour((const int[]){ rgb >> 16 & 255, rgb >> 8 & 255, rgb & 255 }, 16, 256);
}

short theme_nearest(int colour, int n)
{
	int want[3];

	assert((n == 8 || n == 16) && colour < 256);
	if (colour < n)
		return (short)colour;
	rgb_of(colour, want);
	return nearest_colour(want, 0, n);
}

bool theme_wants_colour(const char *choice, const char *no_color, bool *bad)
{
	bool is_auto = !choice || !strcmp(choice, "auto");

	if (bad)
		*bad = !is_auto && strcmp(choice, "always") && strcmp(choice, "never");
	if (is_auto)
		return !no_color || !*no_color;
	return !strcmp(choice, "always");
}

/* ---- theme files ---- */

static bool colour_named(const char *word, short *colour)
{
	static const char *const names[] = { "black", "red",	 "green", "yellow",
					     "blue",  "magenta", "cyan",  "white" };
	int bright = text_starts_with(word, "bright-") ? 8 : 0;
	int64_t number;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(word + (bright ? 7 : 0), names[i])) {
			*colour = (short)((int)i + bright);
			return true;
		}
	if (!strcmp(word, "default")) {
		*colour = OWN;
		return true;
	}
	if (!text_to_int(word, &number) || number < 0 || number > 255)
		return false;
	*colour = (short)number;
	return true;
}

static unsigned attribute_named(const char *word)
{
	return !strcmp(word, "bold")	    ? B
	       : !strcmp(word, "dim")	    ? D
	       : !strcmp(word, "reverse")   ? R
	       : !strcmp(word, "underline") ? U
					    : 0;
}

static void set_colour(short out[THEME_DEPTHS], short colour)
{
	out[THEME_256] = colour;
	out[THEME_16] = theme_nearest(colour, 16);
	out[THEME_8] = theme_nearest(colour, 8);
}

/* Parse the words after "STYLE =". */
static int read_look(struct theme_style *s, const char *where, char *words, struct err *e)
{
	struct theme_style look = ON_OWN(OWN, OWN, OWN, 0, s->plain_attributes);
	bool ground = false;
	char *rest = words, *word;

	while ((word = strsep(&rest, " \t"))) {
		short colour;

		if (!*word)
			continue;
		if (!strcmp(word, "on")) {
			ground = true;
		} else if (attribute_named(word)) {
			look.attributes |= attribute_named(word);
		} else if (colour_named(word, &colour)) {
			set_colour(ground ? look.ground : look.colour, colour);
			ground = false;
		} else {
			return err_set(e, ERR_CONFIG,
				       "%s: \"%.40s\" is neither a colour (0 to 255, red, "
				       "bright-blue, default) nor bold, dim, reverse, underline",
				       where, word);
		}
	}
	*s = look;
	return 0;
}

static int read_style_setting(void *to, const struct setting *s, struct err *e)
{
	static const char *const names[] = {
#define X(id, name, use) name,
		THEME_STYLES(X)
#undef X
	};
	struct theme *t = to;
	const char *nearest;

	if (!strcmp(s->name, "base")) {
		if (!theme_builtin(t, s->value))
			return err_set(e, ERR_CONFIG,
				       "%s: no theme is called %.40s; use auto, dark, light, "
				       "safe or mono",
				       s->where, s->value);
		return 0;
	}
	for (size_t i = 0; i < STYLE_NAMED; i++)
		if (!strcmp(names[i], s->name))
			return read_look(&t->styles[i], s->where, s->value, e);
	nearest = text_nearest(s->name, names, STYLE_NAMED);
	return err_set(e, ERR_CONFIG, "%s: no style is called %.40s (did you mean %s?)", s->where,
		       s->name, nearest ? nearest : "normal");
}

int theme_read(struct theme *t, const char *path, const char *text, struct err *e)
{
	return settings_read(path, text, "STYLE = LOOK", read_style_setting, t, e);
}
