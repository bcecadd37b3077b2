/*
 * app_tour.c - the tour: a hint for each of eight tabs, shown once; see app_internal.h.
 *
 * "tour.seen" of the saved state has the names of the tabs whose hint was seen. A hint has
 * rows of its own below its tab, so that it covers nothing, until the next key, which acts as always.
 */
#include <stdio.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/app/app_internal.h"
#include "tui/app/frame.h"
#include "tui/term/draw.h"

#define TOUR_KEY  "tour.seen"
#define HINT_TEXT 300
#define ROOM_ROWS 16 /* smaller tabs have no room for a hint */
#define ROOM_COLS 40

static const struct {
	int tab;
	const char *text;
	enum action actions[2];
} hints[] = {
#define HINT(tab, text, first, second) { TAB_##tab, text, { ACTION_##first, ACTION_##second } },
#include "tui/app/tour.def"
#undef HINT
};

/* Is the name one of the words of the text? */
static bool has_name(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (; text && *text; text += strcspn(text, " ")) {
		text += strspn(text, " ");
		if (strcspn(text, " ") == n && !strncmp(text, name, n))
			return true;
	}
	return false;
}

/* The hint of the tab in front that was not seen yet; -1: none. */
static int waiting_hint(const struct app *a)
{
	const char *seen = saved_state_get(&a->requests->saved, TOUR_KEY);

	if (!a->has_tour || a->overlay || a->requests->prompt.open)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(hints); i++)
		if (hints[i].tab == a->front && !has_name(seen, view_tabs[a->front]->name))
			return (int)i;
	return -1;
}

void app_tour_end_hint(struct app *a)
{
	const char *seen = saved_state_get(&a->requests->saved, TOUR_KEY);
	char names[200];

	if (!a->shows_hint)
		return;
	a->shows_hint = false;
	a->requests->redraw = true;
	if (waiting_hint(a) < 0)
		return;
	snprintf(names, sizeof(names), "%s%s%s", seen ? seen : "", seen ? " " : "",
		 view_tabs[a->front]->name);
	saved_state_set(&a->requests->saved, TOUR_KEY, names);
}

void app_tour_restart(struct app *a)
{
	saved_state_set(&a->requests->saved, TOUR_KEY, NULL);
	a->has_tour = true;
}

/* The text with the keys that the user's key map has for the actions. */
static void fill_hint(const struct app *a, int hint, char out[HINT_TEXT])
{
	size_t used = 0;

	for (const char *p = hints[hint].text; *p && used + 40 < HINT_TEXT; p++) {
		if (*p != '%') {
			out[used++] = *p;
			continue;
		}
		p++; /* '1' or '2' */
		keys_describe(&a->keymap, hints[hint].actions[*p - '1'], out + used,
			      HINT_TEXT - used);
		used += strlen(out + used);
	}
	out[used] = 0;
}

struct rect app_tour_draw(struct app *a, struct rect body)
{
	int hint = waiting_hint(a), lines;
	char text[HINT_TEXT], whole[HINT_TEXT + 60];
	struct span at = { 0, body.col + 1, body.cols - 2, STYLE_BRIGHT };

	a->shows_hint = false;
	if (hint < 0 || body.rows < ROOM_ROWS || body.cols < ROOM_COLS)
		return body;
	fill_hint(a, hint, text);
	snprintf(whole, sizeof(whole), "hint %d of %d; any key hides it: %s", hint + 1,
		 (int)ARRAY_LEN(hints), text);
	lines = draw_text_wrapped(&a->grid, at, 0, 0, whole);
	body.rows -= MIN(lines, body.rows);
	at.row = body.row + body.rows;
	draw_text_wrapped(&a->grid, at, lines, 0, whole);
	a->shows_hint = true;
	return body;
}
