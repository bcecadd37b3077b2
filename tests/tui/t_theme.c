/* t_theme.c - themes: the background that they suit, contrast, the ramp of heat */
#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/term/draw.h"
#include "tui/term/grid.h"
#include "tui/term/theme.h"

static struct err e;

TEST(workbench_themes_suit_the_background)
{
	static const struct {
		const char *answer;
		enum theme_ground is;
	} cases[] = {
		{ "rgb:0000/0000/0000", THEME_GROUND_DARK },
		{ "rgb:ffff/ffff/ffff", THEME_GROUND_LIGHT },
		{ "rgb:ff/ff/e0", THEME_GROUND_LIGHT },
		{ "rgba:2222/2222/3333/ffff", THEME_GROUND_DARK },
		{ "rgb:0/f/f", THEME_GROUND_LIGHT },
		{ "#fdf6e3", THEME_GROUND_LIGHT },
		{ "#002b36", THEME_GROUND_DARK },
		{ "rgb:00ff", THEME_GROUND_UNKNOWN },
		{ "rgb://", THEME_GROUND_UNKNOWN },
		{ "rgb", THEME_GROUND_UNKNOWN },
		{ "", THEME_GROUND_UNKNOWN },
		{ "#12", THEME_GROUND_UNKNOWN },
		{ "red", THEME_GROUND_UNKNOWN },
	};
	struct theme t, dark;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_int(theme_ground_of(cases[i].answer), cases[i].is);
	check(theme_builtin(&dark, "dark") && theme_builtin(&t, "auto"));
	theme_suit_ground(&t, THEME_GROUND_DARK);
	check_str(t.name, "auto");
	check(!t.is_light && !memcmp(t.styles, dark.styles, sizeof(t.styles)));
	theme_suit_ground(&t, THEME_GROUND_LIGHT);
	check(t.is_light && memcmp(t.styles, dark.styles, sizeof(t.styles)) != 0);
	check(theme_builtin(&t, "dark"));
	theme_suit_ground(&t, THEME_GROUND_LIGHT);
	check(!t.is_light);
}

/* The contrast of two colours by WCAG 2.2. */
static double contrast_of(int a, int b)
{
	double light[2] = { 0, 0 };

	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 3; k++) {
			const double part = ((i ? b : a) >> (16 - 8 * k) & 255) / 255.0,
				     linear = part <= 0.04045 ? part / 12.92
							      : pow((part + 0.055) / 1.055, 2.4);

			light[i] += linear * (double[]){ 0.2126, 0.7152, 0.0722 }[k];
		}
	return (fmax(light[0], light[1]) + 0.05) / (fmin(light[0], light[1]) + 0.05);
}

TEST(workbench_themes_are_legible)
{
	static const enum style texts[] = { STYLE_NORMAL, STYLE_DIM,	STYLE_BRIGHT, STYLE_TITLE,
					    STYLE_FOCUS,  STYLE_TAB,	STYLE_FIRST,  STYLE_SECOND,
					    STYLE_THIRD,  STYLE_FOURTH, STYLE_FIFTH,  STYLE_SIXTH,
					    STYLE_GOOD,	  STYLE_WARN,	STYLE_BAD,    STYLE_ADDED,
					    STYLE_WRONG },
				boxes[] = { STYLE_SELECTED, STYLE_TAB_FRONT };
	static const struct {
		const char *name;
		double least; /* contrast, on black or white */
	} cases[] = { { "dark", 4.5 },
		      { "light", 4.5 },
		      { "warm", 4.5 },
		      { "cool", 4.5 },
		      { "contrast", 7 } };
	struct theme t;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		check(theme_builtin(&t, cases[i].name));
		for (size_t k = 0; k < ARRAY_LEN(texts); k++) {
			const double has =
				contrast_of(theme_rgb(t.styles[texts[k]].colour[THEME_256]),
					    t.is_light ? 0xFFFFFF : 0);

			if (has < cases[i].least)
				printf("%s: style %d has %.1f\n", cases[i].name, texts[k], has);
			check(has >= cases[i].least);
		}
		for (size_t k = 0; k < ARRAY_LEN(boxes); k++)
			check(contrast_of(theme_rgb(t.styles[boxes[k]].colour[THEME_256]),
					  theme_rgb(t.styles[boxes[k]].ground[THEME_256])) >= 4.5);
	}
}

TEST(workbench_theme_ramp)
{
	struct grid g = { .charset = GRID_FULL };
	struct theme t;

	check(theme_builtin(&t, "mono") && theme_ramp_rgb(&t, 3) == -1);
	check(theme_builtin(&t, "dark"));
	check_int(theme_ramp_rgb(&t, 0), theme_rgb(t.styles[STYLE_HEAT_0].colour[THEME_256]));
	check_int(theme_ramp_rgb(&t, THEME_RAMP - 1),
		  theme_rgb(t.styles[STYLE_HEAT_4].colour[THEME_256]));
	for (int i = 1; i < THEME_RAMP; i++)
		check(theme_ramp_rgb(&t, i) != theme_ramp_rgb(&t, i - 1));
	for (int c = 16; c < 256; c++) /* some greys are in the cube too */
		check_int(theme_rgb(theme_nearest_256(theme_rgb(c))), theme_rgb(c));
	check_int(grid_resize(&g, 1, 101, &e), 0);
	for (int steps = 0; steps <= THEME_RAMP; steps += THEME_RAMP) {
		int changes = 0;

		g.ramp = steps;
		for (int i = 0; i <= 100; i++)
			draw_deviation(&g, 0, i, 1, (i / 50.0 - 1) * HEAT_SPREAD, false);
		for (int i = 1; i <= 100; i++) {
			check(grid_at(&g, 0, i)->style >= grid_at(&g, 0, i - 1)->style);
			changes += grid_at(&g, 0, i)->style > grid_at(&g, 0, i - 1)->style;
		}
		check_int(changes, steps ? THEME_RAMP - 1 : HEAT_LEVELS - 1);
		/* a share of all: from the neutral colour in the middle to one end */
		draw_heat(&g, 0, 0, 1, 0, false);
		draw_heat(&g, 0, 1, 1, 1, false);
		draw_deviation(&g, 0, 2, 1, 0, false);
		draw_deviation(&g, 0, 3, 1, 1e9, false);
		check_int(grid_at(&g, 0, 0)->style, grid_at(&g, 0, 2)->style);
		check_int(grid_at(&g, 0, 1)->style, grid_at(&g, 0, 3)->style);
		check(grid_at(&g, 0, 0)->ch == grid_at(&g, 0, 2)->ch);
	}
	draw_heat(&g, 0, 0, 1, NAN, false);
	check_int(grid_at(&g, 0, 0)->style, STYLE_DIM);
	draw_heat(&g, 0, 0, 1, INFINITY, false);
	check_int(grid_at(&g, 0, 0)->style, STYLE_DIM);
	grid_free(&g);
}
