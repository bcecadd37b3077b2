/* view_settings.c - every option of the run, from the tables, with its value and where it came from. */
#include "share/base/util.h"
#include "tui/draw.h"
#include "tui/view.h"

static void settings_draw(void *state, struct grid *g, struct rect body, const struct world *w)
{
	static const char *const lines[] = {
		"This screen is not in this build; on the command line there is", "",
		"less WORKSPACE/runs/RUN/recipe.ini",
	};

	(void)state;
	(void)w;
	draw_message(g, body, STYLE_TITLE, lines, ARRAY_LEN(lines));
}

const struct view view_settings = {
	.name = "settings",
	.title = "settings",
	.draw = settings_draw,
};
