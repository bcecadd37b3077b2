/* theme_builtin.c - the built-in themes, and which of them suits a background; see theme.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/term/theme.h"

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
static const struct theme_style any_ground[STYLE_COUNT] = {
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
	[STYLE_HEAT_0] = ON_OWN(172, 3, 3, B, B),
	[STYLE_HEAT_1] = ON_OWN(137, 3, 3, 0, 0),
	[STYLE_HEAT_2] = ON_OWN(244, 8, OWN, 0, D),
	[STYLE_HEAT_3] = ON_OWN(67, 4, 4, 0, 0),
	[STYLE_HEAT_4] = ON_OWN(33, 4, 4, B, B),
};

/* A foreground colour of a theme, and the styles that have it; STYLE_NORMAL can only be the first. */
struct tint {
	short colour[THEME_DEPTHS];
	enum style styles[4]; /* unused ones are 0 */
};

/* A style that differs in its background or attributes, too. */
struct look {
	enum style style;
	struct theme_style look;
};

/* Changes for a dark background: brighter tones. */
static const struct tint dark_tints[] = {
	{ { 252, 7, 7 }, { STYLE_NORMAL } },
	{ { 231, 15, 7 }, { STYLE_BRIGHT } },
	{ { 255, 15, 7 }, { STYLE_TITLE } },
	{ { 247, 7, 7 }, { STYLE_DIM, STYLE_TAB } },
	{ { 240, 8, OWN }, { STYLE_FAINT } },
	{ { 239, 8, OWN }, { STYLE_BORDER } },
	{ { 75, 12, 4 }, { STYLE_FOCUS, STYLE_FIRST } },
	{ { 215, 11, 3 }, { STYLE_SECOND, STYLE_SURE_1 } },
	{ { 80, 14, 6 }, { STYLE_THIRD } },
	{ { 176, 13, 5 }, { STYLE_FOURTH } },
	{ { 114, 10, 2 }, { STYLE_FIFTH, STYLE_GOOD, STYLE_ADDED } },
	{ { 210, 9, 1 }, { STYLE_SIXTH, STYLE_BAD, STYLE_WRONG, STYLE_SURE_0 } },
	{ { 25, 4, 4 }, { STYLE_AREA } },
	{ { 234, 4, 4 }, { STYLE_AREA_LOW } },
	{ { 221, 11, 3 }, { STYLE_WARN, STYLE_MARK } },
	{ { 187, 3, 3 }, { STYLE_SURE_2 } },
	{ { 152, 14, 6 }, { STYLE_SURE_3 } },
	{ { 117, 12, 4 }, { STYLE_SURE_4 } },
};
static const struct look dark_looks[] = {
	{ STYLE_SELECTED, { { 231, 15, 7 }, { 24, 4, 4 }, B, R } },
	{ STYLE_TAB_FRONT, { { 231, 15, 7 }, { 24, 4, 4 }, B, B | R } },
	{ STYLE_REMOVED, { { 231, 15, 7 }, { 88, 1, 1 }, 0, R } },
};

static const struct tint light_tints[] = {
	{ { 235, 0, 0 }, { STYLE_NORMAL } },
	{ { 16, 0, 0 }, { STYLE_BRIGHT, STYLE_TITLE } },
	{ { 241, 8, OWN }, { STYLE_DIM, STYLE_TAB } },
	{ { 249, 7, OWN }, { STYLE_FAINT } },
	{ { 248, 7, OWN }, { STYLE_BORDER } },
	{ { 25, 4, 4 }, { STYLE_FOCUS, STYLE_FIRST, STYLE_SURE_4 } },
	{ { 130, 3, 3 }, { STYLE_SECOND, STYLE_WARN, STYLE_MARK, STYLE_SURE_1 } },
	{ { 23, 6, 6 }, { STYLE_THIRD } },
	{ { 127, 5, 5 }, { STYLE_FOURTH } },
	{ { 28, 2, 2 }, { STYLE_FIFTH, STYLE_GOOD, STYLE_ADDED } },
	{ { 124, 1, 1 }, { STYLE_SIXTH, STYLE_BAD, STYLE_WRONG, STYLE_SURE_0 } },
	{ { 110, 14, 4 }, { STYLE_FIRST_RAW } },
	{ { 180, 3, 3 }, { STYLE_SECOND_RAW } },
	{ { 109, 14, 6 }, { STYLE_THIRD_RAW } },
	{ { 182, 13, 5 }, { STYLE_FOURTH_RAW } },
	{ { 108, 2, 2 }, { STYLE_FIFTH_RAW } },
	{ { 174, 9, 1 }, { STYLE_SIXTH_RAW } },
	{ { 153, 14, 4 }, { STYLE_AREA } },
	{ { 255, 15, 4 }, { STYLE_AREA_LOW } },
	{ { 94, 3, 3 }, { STYLE_SURE_2 } },
	{ { 30, 6, 6 }, { STYLE_SURE_3 } },
};
static const struct look light_looks[] = {
	{ STYLE_SELECTED, { { 16, 0, 0 }, { 153, 14, 6 }, B, R } },
	{ STYLE_TAB_FRONT, { { 231, 15, 7 }, { 25, 4, 4 }, B, B | R } },
	{ STYLE_REMOVED, { { 16, 0, 0 }, { 217, 9, 1 }, 0, R } },
};

/*
 * The eight colours of Okabe and Ito, approximated by 256 colours: distinct with every kind of
 * colour vision. Good is blue, bad is vermilion, never green against red.
 */
static const struct tint safe_tints[] = {
	{ { 32, 4, 4 }, { STYLE_FIRST, STYLE_HEAT_4 } },
	{ { 214, 11, 3 }, { STYLE_SECOND, STYLE_WARN, STYLE_SURE_1, STYLE_HEAT_0 } },
	{ { 36, 6, 6 }, { STYLE_THIRD } },
	{ { 175, 13, 5 }, { STYLE_FOURTH } },
	{ { 166, 9, 1 }, { STYLE_SIXTH, STYLE_REMOVED, STYLE_WRONG, STYLE_SURE_0 } },
	{ { 179, 3, 3 }, { STYLE_SECOND_RAW, STYLE_HEAT_1 } },
	{ { 132, 5, 5 }, { STYLE_FOURTH_RAW } },
	{ { 74, 14, 6 }, { STYLE_GOOD, STYLE_ADDED, STYLE_SURE_3, STYLE_HEAT_3 } },
	{ { 245, 8, OWN }, { STYLE_SURE_2 } },
};
static const struct look safe_looks[] = {
	{ STYLE_FIFTH, ON_OWN(74, 14, 6, B, 0) },
	{ STYLE_BAD, ON_OWN(166, 9, 1, B | R, R) },
	{ STYLE_SURE_4, ON_OWN(32, 4, 4, B, B) },
};

/* Changes of dark for low vision and projectors: pure colours, no grey below 7 : 1 on black. */
static const struct tint contrast_tints[] = {
	{ { 255, 15, 7 }, { STYLE_NORMAL, STYLE_TAB } },
	{ { 248, 7, 7 }, { STYLE_FAINT } },
	{ { 226, 11, 3 }, { STYLE_FOCUS, STYLE_WARN, STYLE_MARK } },
};
static const struct look contrast_looks[] = {
	{ STYLE_DIM, ON_OWN(252, 7, 7, 0, 0) },
	{ STYLE_BORDER, ON_OWN(250, 7, 7, 0, 0) },
	{ STYLE_SELECTED, { { 16, 0, 0 }, { 226, 11, 3 }, B, R } },
	{ STYLE_TAB_FRONT, { { 16, 0, 0 }, { 226, 11, 3 }, B, B | R } },
	{ STYLE_FIRST, ON_OWN(51, 14, 6, B, 0) },
	{ STYLE_SECOND, ON_OWN(226, 11, 3, B, B) },
	{ STYLE_THIRD, ON_OWN(46, 10, 2, B, 0) },
	{ STYLE_FOURTH, ON_OWN(213, 13, 5, B, B) },
	{ STYLE_FIFTH, ON_OWN(231, 15, 7, B, 0) },
	{ STYLE_SIXTH, ON_OWN(215, 9, 1, B, B) },
	{ STYLE_GOOD, ON_OWN(46, 10, 2, B, B) },
	{ STYLE_BAD, ON_OWN(217, 9, 1, B | R, R) },
};

/* Changes of dark: sand, amber and moss. */
static const struct tint warm_tints[] = {
	{ { 223, 7, 7 }, { STYLE_NORMAL } },
	{ { 230, 15, 7 }, { STYLE_BRIGHT, STYLE_TITLE } },
	{ { 180, 7, 7 }, { STYLE_DIM, STYLE_TAB } },
	{ { 95, 8, OWN }, { STYLE_FAINT, STYLE_BORDER } },
	{ { 214, 11, 3 }, { STYLE_FOCUS, STYLE_FIRST } },
	{ { 109, 12, 4 }, { STYLE_SECOND } },
	{ { 142, 10, 2 }, { STYLE_THIRD, STYLE_GOOD, STYLE_ADDED } },
	{ { 175, 13, 5 }, { STYLE_FOURTH } },
	{ { 108, 14, 6 }, { STYLE_FIFTH } },
	{ { 173, 9, 1 }, { STYLE_SIXTH } },
	{ { 136, 3, 3 }, { STYLE_FIRST_RAW, STYLE_BAND } },
	{ { 94, 3, 3 }, { STYLE_AREA } },
	{ { 235, 3, 3 }, { STYLE_AREA_LOW } },
};
static const struct look warm_looks[] = {
	{ STYLE_SELECTED, { { 230, 15, 7 }, { 94, 3, 3 }, B, R } },
	{ STYLE_TAB_FRONT, { { 230, 15, 7 }, { 130, 3, 3 }, B, B | R } },
};

/* Changes of dark: ice, slate and violet. */
static const struct tint cool_tints[] = {
	{ { 253, 7, 7 }, { STYLE_NORMAL } },
	{ { 146, 7, 7 }, { STYLE_DIM, STYLE_TAB } },
	{ { 60, 8, OWN }, { STYLE_FAINT, STYLE_BORDER } },
	{ { 117, 14, 6 }, { STYLE_FOCUS, STYLE_FIRST } },
	{ { 183, 13, 5 }, { STYLE_SECOND } },
	{ { 115, 10, 2 }, { STYLE_THIRD, STYLE_GOOD, STYLE_ADDED } },
	{ { 222, 11, 3 }, { STYLE_FOURTH } },
	{ { 110, 12, 4 }, { STYLE_FIFTH } },
	{ { 210, 9, 1 }, { STYLE_SIXTH } },
	{ { 67, 6, 6 }, { STYLE_FIRST_RAW } },
	{ { 24, 6, 6 }, { STYLE_AREA } },
};
static const struct look cool_looks[] = {
	{ STYLE_SELECTED, { { 231, 15, 7 }, { 60, 4, 4 }, B, R } },
	{ STYLE_TAB_FRONT, { { 231, 15, 7 }, { 61, 4, 4 }, B, B | R } },
};

struct change_list {
	const struct tint *tints;
	size_t n_tints;
	const struct look *looks;
	size_t n_looks;
};

#define CHANGES(name)                                                                              \
	static const struct change_list name##_changes = { name##_tints, ARRAY_LEN(name##_tints),  \
							   name##_looks, ARRAY_LEN(name##_looks) }
CHANGES(dark);
CHANGES(light);
CHANGES(safe);
CHANGES(contrast);
CHANGES(warm);
CHANGES(cool);

static const struct {
	const char *name, *what;
	const struct change_list *first, *then; /* NULL: none */
	bool is_light;
} builtin[] = {
	{ "auto", "dark or light, as the terminal says; medium tones if it does not say", NULL,
	  NULL, false },
	{ "dark", "for dark backgrounds", &dark_changes, NULL, false },
	{ "light", "for light backgrounds", &light_changes, NULL, true },
	{ "warm", "sand, amber and moss, for dark backgrounds", &dark_changes, &warm_changes,
	  false },
	{ "cool", "ice, slate and violet, for dark backgrounds", &dark_changes, &cool_changes,
	  false },
	{ "contrast", "strong colours, for low vision and projectors", &dark_changes,
	  &contrast_changes, false },
	{ "safe", "distinct with every kind of colour vision", &safe_changes, NULL, false },
	{ "mono", "no colours, only bold, dim, underlined, reversed", NULL, NULL, false },
};

const char *theme_name(int i, const char **what)
{
	if (i < 0 || i >= (int)ARRAY_LEN(builtin))
		return NULL;
	if (what)
		*what = builtin[i].what;
	return builtin[i].name;
}

void theme_list_names(char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(builtin) && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%s",
				      !i			   ? ""
				      : i + 1 < ARRAY_LEN(builtin) ? ", "
								   : " or ",
				      builtin[i].name);
}

static void apply_changes(struct theme *t, const struct change_list *list)
{
	for (size_t i = 0; list && i < list->n_tints; i++)
		for (size_t k = 0; k < ARRAY_LEN(list->tints[i].styles); k++)
			if (!k || list->tints[i].styles[k])
				memcpy(t->styles[list->tints[i].styles[k]].colour,
				       list->tints[i].colour, sizeof(list->tints[i].colour));
	for (size_t i = 0; list && i < list->n_looks; i++)
		t->styles[list->looks[i].style] = list->looks[i].look;
}

bool theme_builtin(struct theme *t, const char *name)
{
	size_t k = 0;

	while (k < ARRAY_LEN(builtin) && strcmp(builtin[k].name, name) != 0)
		k++;
	if (k == ARRAY_LEN(builtin))
		return false;
	memcpy(t->styles, any_ground, sizeof(any_ground));
	snprintf(t->name, sizeof(t->name), "%s", name);
	t->is_light = builtin[k].is_light;
	apply_changes(t, builtin[k].first);
	apply_changes(t, builtin[k].then);
	for (int i = 0; !strcmp(name, "mono") && i < STYLE_COUNT; i++) {
		unsigned plain = t->styles[i].plain_attributes;

		t->styles[i] = (struct theme_style)ON_OWN(OWN, OWN, OWN, plain, plain);
	}
	return true;
}

/* ---- the background ---- */

void theme_suit_ground(struct theme *t, enum theme_ground ground)
{
	if (strcmp(t->name, "auto") != 0)
		return;
	theme_builtin(t, ground == THEME_GROUND_DARK	? "dark"
			 : ground == THEME_GROUND_LIGHT ? "light"
							: "auto");
	snprintf(t->name, sizeof(t->name), "auto");
}

/* One to four hexadecimal digits as 0 to 1. false: there is none. Moves *at past them. */
static bool read_colour_part(const char **at, size_t most, double *value)
{
	static const double whole[] = { 0, 15, 255, 4095, 65535 };
	size_t n = strspn(*at, "0123456789abcdefABCDEF");
	char digits[5] = "";

	n = n > most ? most : n;
	memcpy(digits, *at, n);
	*value = n ? (double)strtol(digits, NULL, 16) / whole[n] : 0;
	*at += n;
	return n > 0;
}

enum theme_ground theme_ground_of(const char *colour)
{
	/* weights of red, green and blue in the luma of ITU-R BT.601 */
	static const double weights[] = { 0.299, 0.587, 0.114 };
	const bool is_short = *colour == '#';
	double luma = 0, part;

	if (!is_short && !text_starts_with(colour, "rgb:") && !text_starts_with(colour, "rgba:"))
		return THEME_GROUND_UNKNOWN;
	colour += is_short ? 1 : strcspn(colour, ":") + 1;
	for (size_t i = 0; i < ARRAY_LEN(weights); i++) {
		if ((i && !is_short && *colour++ != '/') ||
		    !read_colour_part(&colour, is_short ? 2 : 4, &part))
			return THEME_GROUND_UNKNOWN;
		luma += weights[i] * part;
	}
	return luma > 0.5 ? THEME_GROUND_LIGHT : THEME_GROUND_DARK;
}
