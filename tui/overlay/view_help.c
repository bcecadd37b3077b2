/*
 * view_help.c - the overlay "keys": the active view's keys and the common ones, from actions.def.
 */
#include <stdio.h>
#include <string.h>

#include "data/text/text_filter.h"
#include "share/base/util.h"
#include "tui/overlay/overlays.h"
#include "tui/term/draw.h"

#define KEYS_COLS  18
#define KEYS_BYTES 64

struct help {
	int top;		   /* first visible line */
	int page;		   /* visible lines at the last draw */
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

/* Is the action listed already, as one of the focused pane? */
static bool is_action_of_pane(const struct app_context *w, enum action action)
{
	for (const enum action *a = w->pane ? w->pane->actions : NULL; a && *a; a++)
		if (*a == action)
			return true;
	return false;
}

/* The keys of the pane with the focus, in its own order. */
static int add_pane(struct help_line *lines, int n, const struct text_filter *filter,
		    const struct app_context *w)
{
	int first = n;
	char keys[KEYS_BYTES];

	for (const enum action *a = w->pane ? w->pane->actions : NULL; a && *a; a++) {
		if (!help_filter_matches(*a, filter) ||
		    !describe_reachable_keys(w, *a, keys, sizeof(keys)))
			continue;
		if (n == first) {
			lines[n++] = (struct help_line){ 0 };
			lines[n++] = (struct help_line){ .heading = w->pane->name };
		}
		lines[n++] = (struct help_line){ .action = *a };
	}
	return n;
}

static int add_group(struct help_line *lines, int n, const char *group,
		     const struct text_filter *filter, const struct app_context *w)
{
	int first = n;
	char keys[KEYS_BYTES];

	for (int a = 1; a < ACTION_COUNT; a++) {
		if (strcmp(action_infos[a].group, group) || is_action_of_pane(w, (enum action)a) ||
		    !help_filter_matches((enum action)a, filter) ||
		    !describe_reachable_keys(w, (enum action)a, keys, sizeof(keys)))
			continue;
		if (n == first) {
			lines[n++] = (struct help_line){ 0 };
			lines[n++] = (struct help_line){ .heading = group };
		}
		lines[n++] = (struct help_line){ .action = (enum action)a };
	}
	return n;
}

/* The focused pane's keys first, then the view's, then the common ones. Returns the number of lines. */
static int lines_for(const struct help *h, const struct app_context *w,
		     struct help_line lines[MAX_LINES])
{
	int n = add_pane(lines, 0, &h->filter, w);

	n = w->view ? add_group(lines, n, w->view, &h->filter, w) : n;
	n = add_group(lines, n, "Panes", &h->filter, w);
	n = add_group(lines, n, "Plots", &h->filter, w);
	return add_group(lines, n, "Workbench", &h->filter, w);
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
	char title[TEXT_FILTER_BYTES + 20];
	int n = lines_for(h, w, lines);

	h->page = MAX(r.rows, 1);
	h->top = MAX(MIN(h->top, n - r.rows), 0);
	snprintf(title, sizeof(title), *h->filter.text ? "keys with \"%s\"" : "keys",
		 h->filter.text);
	draw_box(g, body, title, false);
	if (!n)
		draw_text(g, r.row + MIN(1, r.rows - 1), r.col + 2, r.cols - 2, STYLE_DIM,
			  "no key matches");
	for (int i = 0; i < r.rows && h->top + i < n; i++)
		draw_help_line(g, r, r.row + i, &lines[h->top + i], w);
	draw_hidden_rows(g, body, h->top, n - r.rows - h->top);
}

static unsigned help_act(void *state, struct app_context *w, enum action action)
{
	struct help *h = state;

	switch (action) {
	case ACTION_HELP_FILTER:
		context_ask(w, &(struct question){ .kind = QUESTION_FILTER,
						   .title = "keys whose help contains",
						   .text = h->filter.text });
		break;
	case ACTION_DOWN:
		h->top++;
		break;
	case ACTION_UP:
		h->top = MAX(h->top - 1, 0);
		break;
	case ACTION_PAGE_DOWN:
		h->top += h->page;
		break;
	case ACTION_PAGE_UP:
		h->top = MAX(h->top - h->page, 0);
		break;
	case ACTION_HOME:
		h->top = 0;
		break;
	case ACTION_END:
		h->top = MAX_LINES;
		break;
	case ACTION_HELP:
	case ACTION_BACK:
	case ACTION_QUIT:
		return REACT_BACK;
	default:
		return REACT_UNKNOWN;
	}
	return REACT_REDRAW;
}

static unsigned help_answer(void *state, struct app_context *w, int question, const char *text)
{
	struct help *h = state;
	struct err ignored;

	(void)w;
	(void)question;
	if (text && !text_filter_set(&h->filter, text, &ignored))
		h->top = 0;
	return REACT_REDRAW;
}

static void help_close(void *state)
{
	struct help *h = state;

	text_filter_clear(&h->filter);
}

static const enum action help_hints[] = {
	ACTION_BACK, ACTION_HELP_FILTER, ACTION_DOWN, ACTION_UP, ACTION_NONE,
};

const struct view view_help = {
	.name = "help",
	.title = "keys",
	.state_size = sizeof(struct help),
	.act = help_act,
	.draw = help_draw,
	.close = help_close,
	.answer = help_answer,
	.hints = help_hints,
};
