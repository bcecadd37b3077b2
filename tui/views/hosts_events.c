/* hosts_events.c - events of hosts on a time line, and as a list; see hosts_panes.h. */
#include "share/base/number_format.h"
#include "share/base/util.h"
#include "tui/run/fleet_events.h"
#include "tui/term/draw.h"
#include "tui/term/list_widget.h"
#include "tui/views/hosts_panes.h"

#define LABEL_COLS 12

/* A letter for each kind: nothing is said by colour alone. A kind with begins starts a span. */
static const struct event_look {
	char letter;
	enum style style;
	bool begins;
	bool is_moment; /* it neither begins nor ends anything */
} event_looks[FLEET_EVENT_KINDS] = {
	[EVENT_THROTTLED] = { 'T', STYLE_WARN, .begins = true },
	[EVENT_UNTHROTTLED] = { 't', STYLE_GOOD, .begins = false },
	[EVENT_LATE] = { '!', STYLE_BAD, .begins = true },
	[EVENT_IN_TIME] = { 'i', STYLE_GOOD, .begins = false },
	[EVENT_GPU_LOST] = { 'X', STYLE_BAD, .begins = true },
	[EVENT_ECC] = { 'E', STYLE_BAD, .is_moment = true },
	[EVENT_ECC_CORRECTED] = { 'e', STYLE_WARN, .is_moment = true },
	[EVENT_LINK] = { 'L', STYLE_WARN, .begins = true },
	[EVENT_LINK_FASTER] = { 'l', STYLE_GOOD, .begins = false },
	[EVENT_GONE] = { 'G', STYLE_BAD, .begins = true },
	[EVENT_BACK] = { 'b', STYLE_GOOD, .begins = false },
	[EVENT_RESTART] = { 'R', STYLE_MARK, .begins = false },
	[EVENT_WARNING] = { 'w', STYLE_WARN, .is_moment = true },
};

/* The column of a time; the line goes from the first to the latest report. */
static int event_col(const struct fleet *f, double t, int cols)
{
	double range = f->last_t - f->first_t, share = (t - f->first_t) / range;

	if (!(range > 0) || !(share > 0))
		return 0;
	return (int)(MIN(share, 1.0) * (cols - 1));
}

static int count_events(const struct fleet *f, int host)
{
	int n = 0;

	for (size_t i = 0; i < f->n_events; i++)
		n += fleet_event_at(f, i)->host == host;
	return n;
}

/*
 * One host: a line through the run, heavy in the colour of what lasts. Events of one host end what
 * began last; a restart ends nothing.
 */
static void draw_lane(struct grid *g, struct span at, const struct fleet *f, int host)
{
	const enum style faint = STYLE_FAINT;
	enum style style = faint;
	int from = 0;

	for (size_t i = 0; i <= f->n_events; i++) {
		const struct fleet_event *event = i < f->n_events ? fleet_event_at(f, i) : NULL;
		int until = event ? event_col(f, event->t, at.width) : at.width;

		if (event && event->host != host)
			continue;
		for (; from < until; from++)
			grid_put(g, at.row, at.col + from, style, style == faint ? 0x2500 : 0x2501);
		if (event)
			style = event_looks[event->kind].begins ? event_looks[event->kind].style
				: event_looks[event->kind].is_moment ? style
								     : faint;
	}
	for (size_t i = 0; i < f->n_events; i++) {
		const struct fleet_event *event = fleet_event_at(f, i);
		const struct event_look *look = &event_looks[event->kind];

		if (event->host == host || event->host < 0)
			grid_put(g, at.row, at.col + event_col(f, event->t, at.width), look->style,
				 (uint32_t)look->letter);
	}
}

static void draw_event(const struct list_row *row, const struct fleet *f,
		       const struct fleet_event *event)
{
	const struct event_look *look = &event_looks[event->kind];

	row_sign(row, 1, look->style, (uint32_t)look->letter);
	row_text_right(row, 11, 9, STYLE_DIM, DURATION_TEXT(MAX(event->t - f->first_t, 0.0)));
	row_text(row, 14, LABEL_COLS, STYLE_BRIGHT,
		 event->host < 0 ? "all" : f->hosts[event->host].name);
	row_text(row, 15 + LABEL_COLS, 0, STYLE_NORMAL, event->text);
}

/* The lanes of hosts with events, in the order of the table. Returns the rows used. */
static int draw_lanes(struct grid *g, struct rect r, const struct fleet *f,
		      const struct hosts_view_state *s)
{
	int used = 0;

	for (int row = 0; row < (int)f->n_hosts && used < r.rows; row++) {
		int host = hosts_of_row(f, s, row), line = r.row + used;

		if (!count_events(f, host))
			continue;
		draw_text(g, line, r.col + 1, LABEL_COLS,
			  host == s->chosen ? STYLE_SELECTED : STYLE_NORMAL, f->hosts[host].name);
		draw_lane(g,
			  (struct span){ line, r.col + LABEL_COLS + 2, r.cols - LABEL_COLS - 3,
					 STYLE_FAINT },
			  f, host);
		used++;
	}
	return used;
}

void hosts_draw_events(struct grid *g, struct rect box, const struct run_history *h,
		       struct hosts_view_state *s)
{
	const struct fleet *f = &h->fleet;
	struct rect r = layout_inside(box);
	const struct legend pieces[] = {
		{ 0, STYLE_BRIGHT, "in", DURATION_TEXT(f->last_t - f->first_t) },
		{ 0, STYLE_BRIGHT, "events", COUNT_TEXT(f->n_events) },
	};
	struct list_row row;
	int lanes;

	draw_box(g, box, "events", s->focus == HOSTS_EVENTS);
	if (!f->n_events) {
		draw_centred(g, r, STYLE_DIM, "nothing happened to a host so far");
		return;
	}
	draw_legend(g, box, "events", pieces, ARRAY_LEN(pieces));
	if (r.rows < 1 || r.cols < 2 * LABEL_COLS)
		return;
	lanes = draw_lanes(g, (struct rect){ r.row, r.col, MAX(r.rows / 2, 1), r.cols }, f, s);
	r.row += lanes;
	r.rows -= lanes;
	r.cols--;
	row = list_text(g, box, r, &s->lists[HOSTS_EVENTS], f->n_events);
	while (list_row_next(&row)) /* the latest first */
		draw_event(&row, f, fleet_event_at(f, f->n_events - 1 - row.i));
}
