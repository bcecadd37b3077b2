/* view_log.c - everything that happened. */
#include "share/base/util.h"
#include "tui/draw.h"
#include "tui/view.h"

static void log_draw(void *state, struct grid *g, struct rect body, const struct world *w)
{
	static const char *const lines[] = {
		"This screen is not in this build; on the command line there is",
		"",
		"werkbank logs RUN",
	};

	(void)state;
	(void)w;
	draw_message(g, body, STYLE_TITLE, lines, ARRAY_LEN(lines));
}

const struct view view_log = {
	.name = "log",
	.title = "log",
	.draw = log_draw,
};
