/* view_hosts.c - the machines of a run. */
#include "share/base/util.h"
#include "tui/draw.h"
#include "tui/view.h"

static void hosts_draw(void *state, struct grid *g, struct rect body, const struct world *w)
{
	static const char *const lines[] = {
		"This screen is not in this build; on the command line there is",
		"",
		"werkbank hosts check SPEC",
	};

	(void)state;
	(void)w;
	draw_message(g, body, STYLE_TITLE, lines, ARRAY_LEN(lines));
}

const struct view view_hosts = {
	.name = "hosts",
	.title = "hosts",
	.draw = hosts_draw,
};
