/* view_help.c - the keys, drawn from actions.def. */
#include <string.h>

#include "share/base/util.h"
#include "tui/draw.h"
#include "tui/view.h"

struct help {
	int top;	/* first line shown */
	int page;	/* lines the last drawing had room for */
};

/* Lines: a blank and a heading before each group, then its actions. */
static int count_lines(void)
{
	int n = 0;

	for (int a = 1; a < ACTION_COUNT; a++)
		n += 1 +
		     2 * (a == 1 || strcmp(action_infos[a].group, action_infos[a - 1].group) != 0);
	return n;
}

static void draw_line(struct grid *g, struct rect r, int line, const struct action_info *a,
		      bool heading)
{
	char keys[64];

	if (line < 0 || line >= r.rows)
		return;
	if (heading) {
		draw_text(g, r.row + line, r.col + 2, r.cols - 2, STYLE_TITLE, a->group);
		return;
	}
	keys_describe((enum action)(a - action_infos), true, keys, sizeof(keys));
	draw_text(g, r.row + line, r.col + 4, 18, STYLE_BRIGHT, keys);
	draw_text(g, r.row + line, r.col + 23, r.cols - 24, STYLE_NORMAL, a->help);
}

static void help_draw(void *state, struct grid *g, const struct view_world *w)
{
	struct help *h = state;
	struct rect box = { 0, 0, g->rows - 1, g->cols }, r = layout_inside(box);
	int line = 0, all = count_lines();

	(void)w;
	h->page = MAX(r.rows, 1);
	h->top = MAX(MIN(h->top, all - r.rows), 0);
	draw_box(g, box, "keys", false);
	for (int a = 1; a < ACTION_COUNT; a++) {
		if (a == 1 || strcmp(action_infos[a].group, action_infos[a - 1].group)) {
			draw_line(g, r, line + 1 - h->top, &action_infos[a], true);
			line += 2;
		}
		draw_line(g, r, line++ - h->top, &action_infos[a], false);
	}
	draw_text(g, g->rows - 1, 1, g->cols - 2, STYLE_DIM,
		  all > r.rows ? "q back   j k scroll" : "q back");
}

static unsigned help_act(void *state, enum action action)
{
	struct help *h = state;

	switch (action) {
	case ACTION_DOWN:      h->top++; break;
	case ACTION_UP:        h->top = MAX(h->top - 1, 0); break;
	case ACTION_PAGE_DOWN: h->top += h->page; break;
	case ACTION_PAGE_UP:   h->top = MAX(h->top - h->page, 0); break;
	case ACTION_HOME:      h->top = 0; break;
	case ACTION_END:       h->top = count_lines(); break;
	case ACTION_HELP:
	case ACTION_BACK:
	case ACTION_QUIT:      return REACT_BACK;
	default:               return REACT_UNKNOWN;
	}
	return REACT_REDRAW;
}

const struct view view_help = {
	.name = "help",
	.title = "keys",
	.state_size = sizeof(struct help),
	.act = help_act,
	.draw = help_draw,
};
