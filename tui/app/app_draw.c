/* app_draw.c - draws the screen: tab bar, view, last row, question; see app_internal.h. */
#include "tui/app/app_internal.h"

#include <math.h>

#include "tui/app/frame.h"
#include "tui/term/draw.h"

static void draw_foot(struct app *a, struct rect foot, const struct view *v, void *state)
{
	const bool typing = state && v->typing && v->typing(state);
	const struct view_pane *pane = state ? view_pane_in_front(v, state) : NULL;
	size_t n = frame_draw_border_hints(&a->grid, &a->context, pane, typing);

	if (!foot.rows)
		return;
	if (*a->requests->message)
		draw_text(&a->grid, foot.row, 1, foot.cols - 2, a->requests->message_style,
			  a->requests->message);
	else
		frame_draw_foot(&a->grid, foot, &a->context, v, pane, n, typing);
}

static void set_grid_clip(struct grid *g, struct rect r)
{
	g->clip.row = r.row;
	g->clip.col = r.col;
	g->clip.rows = r.rows;
	g->clip.cols = r.cols;
}

void app_draw(struct app *a)
{
	const struct view *v = a->overlay ? a->overlay : view_tabs[a->front];
	struct tab_state *t = &a->tabs[a->front];
	struct app_context *w = &a->context;
	struct frame frame;

	w->rows = a->grid.rows;
	w->cols = a->grid.cols;
	w->charset = a->grid.charset;
	a->shown_second = floor(w->now);
	grid_clear(&a->grid);
	frame_layout(a->grid.rows, a->grid.cols, &frame);
	app_set_caller(a, a->overlay ? CALLER_OVERLAY : a->front);
	w->front = true;
	frame.body = app_tour_draw(a, frame.body);
	set_grid_clip(&a->grid, frame.body); /* no view can draw over the frame */
	layout_follow_borders(&a->borders, a->front);
	if (a->overlay && !a->overlay->is_box)
		view_draw(a->overlay, a->overlay_state, &a->grid, frame.body, w);
	else if (t->state)
		view_draw(view_tabs[a->front], t->state, &a->grid, frame.body, w);
	else
		draw_note(&a->grid, frame.body, STYLE_BAD, t->trouble.text);
	layout_follow_borders(NULL, 0);
	if (a->overlay && a->overlay->is_box)
		view_draw(a->overlay, a->overlay_state, &a->grid, frame.body, w);
	set_grid_clip(&a->grid, (struct rect){ 0 });
	if (frame.tabs.rows)
		frame_draw_tabs(&a->grid, frame.tabs, w, a->front);
	draw_foot(a, frame.foot, v, a->overlay ? a->overlay_state : t->state);
	if (a->requests->prompt.open)
		prompt_draw(&a->requests->prompt, &a->grid);
}

void app_save_screenshot(struct app *a)
{
	struct buf text = { 0 };

	a->requests->screenshot = false;
	app_draw(a);
	grid_dump(&a->grid, &text);
	context_write_file(&a->context, "werkbank-screen.txt", buf_text(&text));
	buf_free(&text);
}
