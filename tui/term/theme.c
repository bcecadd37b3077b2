/* theme.c - theme files, choice of colours; see theme.h. */
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
	struct theme_style look = { { OWN, OWN, OWN }, { OWN, OWN, OWN }, 0, s->plain_attributes };
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
	char all[120];

	if (!strcmp(s->name, "base")) {
		theme_list_names(all, sizeof(all));
		if (!theme_builtin(t, s->value))
			return err_set(e, ERR_CONFIG, "%s: no theme is called %.40s; use %s",
				       s->where, s->value, all);
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
