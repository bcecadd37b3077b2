/*
 * view_help.c - the overlay "keys": the active view's keys and the common ones, from actions.def.
 */
#include <stdio.h>
#include <string.h>

#include "data/text/text_filter.h"
#include "share/base/util.h"
#include "tui/overlay/overlays.h"
#include "tui/term/draw.h"
#include "tui/term/list_widget.h"

#define KEYS_COLS  18
#define KEYS_BYTES 64

struct help {
	struct list_widget list;   /* of lines */
	struct text_filter filter; /* of the help and names of actions */
};

/* A line of the help: a heading, an action, or a blank line. */
struct help_line {
	const char *heading;
	enum action action;
};

#define MAX_LINES (ACTION_COUNT + 14)

static bool help_filter_matches(enum action a, const struct text_filter *filter)
{
	return text_filter_matches(filter, action_infos[a].help) ||
	       text_filter_matches(filter, action_infos[a].name);
}

/*
 * Write the keys that start the action in this view, "k  Up": a view may use keys of a common action
 * for actions of its own. Returns false if no key is left.
 */
static bool describe_reachable_keys(const struct app_context *w, enum action action, char *out,
				    size_t size)
{
	const char *keys = keymap_keys(w->keymap, action);
	size_t n = 0;

	*out = 0;
	while (*keys) {
		const char *start = keys;
		int key;

		if (*keys == ' ') {
			keys++;
			continue;
		}
		if ((key = keys_next(&keys)) <= 0)
			break;
		if (keys_action(w->keymap, key, w->view) != action)
			continue;
		n = MIN(n + (size_t)snprintf(out + n, size - n, "%s", n ? "  " : ""), size - 1);
		n += (size_t)keys_show(start, (size_t)(keys - start), out + n, size - n);
		n = MIN(n, size - 1);
	}
	return n > 0;
}

/* Where lines are added, and under which heading. */
struct help_writer {
	struct help_line *lines;
	int n;
	const struct text_filter *filter;
	const struct app_context *w;
};

/* Add an action that matches and can be reached; the first of a group gets a heading. */
static void add_help_action(struct help_writer *to, const char *group, int first, enum action a)
{
	char keys[KEYS_BYTES];

	if (!help_filter_matches(a, to->filter) ||
	    !describe_reachable_keys(to->w, a, keys, sizeof(keys)))
		return;
	if (to->n == first) {
		to->lines[to->n++] = (struct help_line){ 0 };
		to->lines[to->n++] = (struct help_line){ .heading = group };
	}
	to->lines[to->n++] = (struct help_line){ .action = a };
}

/* The keys of the pane with the focus, in its own order. */
static void add_pane(struct help_writer *to, const char *heading)
{
	const struct view_pane *pane = to->w->pane;
	int first = to->n;

	for (const enum action *a = pane ? pane->actions : NULL; a && *a; a++)
		add_help_action(to, heading, first, *a);
}

/* The actions of a group, but for those of the pane. */
static void add_group(struct help_writer *to, const char *group)
{
	const enum action *of_pane = to->w->pane ? to->w->pane->actions : NULL;
	int first = to->n;

	for (int a = 1; a < ACTION_COUNT; a++)
		if (!strcmp(action_infos[a].group, group) &&
		    !view_lists_action(of_pane, SIZE_MAX, (enum action)a))
			add_help_action(to, group, first, (enum action)a);
}

/*
 * The focused pane's keys first, with a heading, then the view's, then the common ones. Returns the number of
 * lines.
 */
static int lines_for(const struct help *h, const struct app_context *w, const char *heading,
		     struct help_line lines[MAX_LINES])
{
	struct help_writer to = { .lines = lines, .filter = &h->filter, .w = w };

	add_pane(&to, heading);
	if (w->view)
		add_group(&to, w->view);
	add_group(&to, "Panes");
	add_group(&to, "Plots");
	add_group(&to, "Training");
	add_group(&to, "Workbench");
	return to.n;
}

static void draw_help_line(struct grid *g, struct rect r, int row, const struct help_line *line,
			   const struct app_context *w)
{
	char keys[KEYS_BYTES];

	if (line->heading) {
		draw_text(g, row, r.col + 2, r.cols - 2, STYLE_TITLE, line->heading);
		return;
	}
	if (line->action == ACTION_NONE)
		return;
	describe_reachable_keys(w, line->action, keys, sizeof(keys));
	draw_text(g, row, r.col + 4, MIN(KEYS_COLS, r.cols - 4), STYLE_BRIGHT, keys);
	draw_text(g, row, r.col + KEYS_COLS + 5, r.cols - KEYS_COLS - 6, STYLE_NORMAL,
		  action_infos[line->action].help);
}

static void help_draw(void *state, struct grid *g, struct rect body, const struct app_context *w)
{
	struct help *h = state;
	struct rect r = layout_inside(body);
	struct help_line lines[MAX_LINES];
	char title[TEXT_FILTER_BYTES + 20], heading[60];
	struct list_row row;
	int n;

	snprintf(heading, sizeof(heading), "%s: %s", w->pane ? w->view : "",
		 w->pane ? w->pane->name : "");
	n = lines_for(h, w, heading, lines);
	snprintf(title, sizeof(title), *h->filter.text ? "keys with \"%s\"" : "keys",
		 h->filter.text);
	draw_box(g, body, title, false);
	if (!n)
		draw_text(g, r.row + MIN(1, r.rows - 1), r.col + 2, r.cols - 2, STYLE_DIM,
			  "no key matches");
	row = list_text(g, body, r, &h->list, (size_t)n);
	while (list_row_next(&row))
		draw_help_line(g, r, row.row, &lines[row.i], w);
}

static unsigned help_act(void *state, struct app_context *w, enum action action)
{
	(void)state;
	(void)w;
	return action == ACTION_HELP || action == ACTION_BACK || action == ACTION_QUIT
		       ? REACT_BACK
		       : REACT_UNKNOWN;
}

static void show_first_line(void *state, struct app_context *w)
{
	struct help *h = state;

	(void)w;
	h->list.top = 0;
}

static const struct view_toggle help_filter = VIEW_FILTER(
	struct help, filter, ACTION_FIND, 0, "keys whose help contains", show_first_line);

const struct view view_help = {
	.name = "help",
	.title = "keys",
	.state_size = sizeof(struct help),
	.act = help_act,
	.draw = help_draw,
	.lists = offsetof(struct help, list),
	.n_lists = 1,
	.toggles = &help_filter,
	.n_toggles = 1,
	.hints = VIEW_ACTIONS(ACTION_BACK, ACTION_FIND, ACTION_DOWN, ACTION_UP),
};
