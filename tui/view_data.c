/* view_data.c - how corpora came to be. */
#include "share/base/util.h"
#include "tui/draw.h"
#include "tui/view.h"

static void data_draw(void *state, struct grid *g, struct rect body, const struct world *w)
{
	static const char *const lines[] = {
		"This screen is not in this build; on the command line there is",
		"",
		"werkbank data stats CORPUS",
	};

	(void)state;
	(void)w;
	draw_message(g, body, STYLE_TITLE, lines, ARRAY_LEN(lines));
}

const struct view view_data = {
	.name = "data",
	.title = "data",
	.draw = data_draw,
};
