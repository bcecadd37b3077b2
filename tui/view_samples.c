/* view_samples.c - the same sentences, checkpoint after checkpoint. */
#include "share/base/util.h"
#include "tui/draw.h"
#include "tui/view.h"

static void samples_draw(void *state, struct grid *g, struct rect body, const struct world *w)
{
	static const char *const lines[] = {
		"This screen is not in this build; on the command line there is",
		"",
		"less WORKSPACE/runs/RUN/samples.jsonl",
	};

	(void)state;
	(void)w;
	draw_message(g, body, STYLE_TITLE, lines, ARRAY_LEN(lines));
}

const struct view view_samples = {
	.name = "samples",
	.title = "samples",
	.draw = samples_draw,
};
