/* view_compare.c - runs over each other. */
#include "share/base/util.h"
#include "tui/draw.h"
#include "tui/view.h"

static void compare_draw(void *state, struct grid *g, struct rect body, const struct world *w)
{
	static const char *const lines[] = {
		"This screen is not in this build; on the command line there is",
		"",
		"werkbank status --json",
	};

	(void)state;
	(void)w;
	draw_message(g, body, STYLE_TITLE, lines, ARRAY_LEN(lines));
}

const struct view view_compare = {
	.name = "compare",
	.title = "compare",
	.draw = compare_draw,
};
