/* t_layout.c - sizes and places of panes at every size of the screen */
#include "tests/test.h"

#include "share/base/util.h"
#include "tui/term/layout.h"
#include "tui/term/layout_borders.h"
#include "tui/term/list_widget.h"

static struct err e;

static bool inside(struct rect r, int rows, int cols)
{
	return r.row >= 0 && r.col >= 0 && r.row + r.rows <= rows && r.col + r.cols <= cols;
}

static bool apart(struct rect a, struct rect b)
{
	return a.row + a.rows <= b.row || b.row + b.rows <= a.row || a.col + a.cols <= b.col ||
	       b.col + b.cols <= a.col;
}

/* A layout with some of the panes shown; shown: bits of panes. */
static const char *wrong_with(const struct run_layout *l, int rows, int cols, unsigned shown,
			      int focus, bool zoomed, bool is_short)
{
	struct rect all[PANE_COUNT + 2];
	size_t n = 0;
	int area = 0;

	for (int p = 0; p < PANE_COUNT; p++) {
		if (!l->panes[p].rows != !l->panes[p].cols)
			return "a pane is half empty";
		if (!l->panes[p].rows)
			continue;
		if (!(shown >> p & 1))
			return "a hidden pane is there";
		if (is_short && p == PANE_SPLIT && p != focus && cols >= 100) {
			if (l->panes[p].rows != 1 || l->panes[p].cols != cols)
				return "the short pane of the step is no row";
		} else if (l->panes[p].rows < 4 || l->panes[p].cols < 20)
			return "a pane is too small to hold anything";
		all[n++] = l->panes[p];
	}
	if (zoomed && n != 1)
		return "there is more than the zoomed pane";
	if (!l->panes[focus].rows)
		return "the pane with the keys is missing";
	if (focus < PANE_SPEED && !zoomed && shown == LAYOUT_ALL_PANES &&
	    (!l->panes[PANE_LOSS].rows || !l->panes[PANE_BLEU].rows ||
	     !l->panes[PANE_SAMPLES].rows))
		return "a pane that must be there is missing";
	all[n++] = l->title;
	all[n++] = l->facts;
	for (size_t i = 0; i < n; i++) {
		if (!inside(all[i], rows, cols))
			return "something lies outside";
		for (size_t k = 0; k < i; k++)
			if (!apart(all[i], all[k]))
				return "two overlap";
		area += all[i].rows * all[i].cols;
	}
	return area == rows * cols ? NULL : "room is left unused";
}

static bool right_with(int rows, int cols, unsigned shown, int focus, bool zoomed, bool is_short)
{
	struct run_layout l;
	const char *wrong;

	layout_run((struct rect){ 0, 0, rows, cols }, shown, (enum run_pane)focus, zoomed, is_short,
		   &l);
	if (l.too_small != (rows < LAYOUT_MIN_ROWS || cols < LAYOUT_MIN_COLS))
		test_fail(__FILE__, __LINE__, "%d x %d: too_small is %d", rows, cols, l.too_small);
	wrong = l.too_small ? NULL : wrong_with(&l, rows, cols, shown, focus, zoomed, is_short);
	if (wrong)
		test_fail(__FILE__, __LINE__,
			  "%d x %d, panes %x, focus %d, zoomed %d, short %d: %s", rows, cols, shown,
			  focus, zoomed, is_short, wrong);
	return !wrong;
}

/* With the pane of the step as a plot, and as one row. */
static bool right_at(int rows, int cols, unsigned shown, int focus, bool zoomed)
{
	return right_with(rows, cols, shown, focus, zoomed, false) &&
	       right_with(rows, cols, shown, focus, zoomed, true);
}

TEST(tui_layout_every_size)
{
	for (int rows = 1; rows <= 200; rows++)
		for (int cols = 1; cols <= 400; cols++)
			for (int focus = 0; focus < PANE_COUNT; focus++)
				if (!right_at(rows, cols, LAYOUT_ALL_PANES, focus, false) ||
				    !right_at(rows, cols, LAYOUT_ALL_PANES, focus, true))
					return;
}

TEST(tui_layout_some_panes_at_every_size)
{
	static const int widths[] = { 60, 61, 79, 80, 99, 100, 120, 149, 150, 199, 200, 300 };

	for (unsigned shown = 1; shown <= LAYOUT_ALL_PANES; shown++)
		for (int rows = LAYOUT_MIN_ROWS; rows <= 70; rows += rows < 40 ? 1 : 7)
			for (size_t i = 0; i < ARRAY_LEN(widths); i++)
				for (int focus = 0; focus < PANE_COUNT; focus++)
					if (shown >> focus & 1 &&
					    (!right_at(rows, widths[i], shown, focus, false) ||
					     !right_at(rows, widths[i], shown, focus, true)))
						return;
}

TEST(tui_layout_divides)
{
	static const struct layout_part parts[] = { { 5, 0, 1, 0 },
						    { 5, 7, 1, 2 },
						    { 3, 0, 0, 1 } };
	int sizes[3];

	for (int length = 0; length < 60; length++) {
		layout_divide(length, parts, 3, sizes);
		check(sizes[0] + sizes[1] + sizes[2] == (length < 5 ? length < 3 ? 0 : 0 : length));
		check(sizes[1] <= 7 && (sizes[2] == 0 || sizes[2] == 3));
	}
	layout_divide(12, parts, 3, sizes); /* the part of the highest rank goes first */
	check_int(sizes[0], 9);
	check_int(sizes[1], 0);
	check_int(sizes[2], 3);
}

TEST(layout_gives_rows_of_an_empty_pane)
{
	struct rect upper = { 2, 5, 10, 40 }, lower = { 12, 5, 4, 40 }, beside = { 12, 50, 4, 40 };
	struct rect none = { 0 };

	layout_shrink(&upper, &beside, 3); /* not below it */
	layout_shrink(&upper, &none, 3);   /* hidden */
	layout_shrink(&upper, &lower, 10); /* it has no more */
	check_int(upper.rows, 10);
	layout_shrink(&upper, &lower, 3);
	check_int(upper.rows, 3);
	check_int(lower.row, 5);
	check_int(lower.rows, 11);
}

/* ---- borders that the mouse moves ---- */

static bool border_event(struct layout_borders *b, enum mouse_kind kind, int row, int col)
{
	const struct mouse m = { .kind = kind, .row = row, .col = col, .button = 1 };

	return layout_mouse_border(b, &m);
}

/* The rows of three parts of 30 rows, the first one of a fixed size, as a view draws them. */
static void place_three(struct layout_borders *b, int view, struct rect out[3])
{
	static const struct layout_part parts[] = { { .min = 4, .max = 4 },
						    { .min = 5, .weight = 1 },
						    { .min = 6, .weight = 1, .max = 20 } };

	layout_follow_borders(b, view);
	layout_rows((struct rect){ 2, 10, 30, 40 }, parts, 3, out);
	layout_follow_borders(NULL, 0);
}

TEST(layout_borders_follow_the_mouse)
{
	struct layout_borders b = { 0 };
	struct rect out[3];

	place_three(&b, 1, out);
	check_int(out[1].rows, 13);
	check_int(b.n_drawn, 1); /* the first part has a fixed size */
	check_int(out[2].row, 19);
	/* a press beside the border holds nothing; a press on the edge of either box does */
	check(!border_event(&b, MOUSE_PRESS, 17, 20) && !border_event(&b, MOUSE_DRAG, 20, 20));
	check(!border_event(&b, MOUSE_PRESS, 18, 9) && !border_event(&b, MOUSE_DRAG, 20, 20));
	for (int row = 18; row <= 19; row++) {
		border_event(&b, MOUSE_RELEASE, 0, 0);
		check(!border_event(&b, MOUSE_PRESS, row, 20));
		check(border_event(&b, MOUSE_DRAG, row - 3, 70)); /* also outside of the panes */
		place_three(&b, 1, out);
		check_int(out[1].rows, 10);
		check_int(out[2].row, 16);
		check_int(out[2].rows, 16);
		check(border_event(&b, MOUSE_DRAG, row, 20));
		check(border_event(&b, MOUSE_RELEASE, row, 20));
		check(!border_event(&b, MOUSE_DRAG, row - 5, 20));
		place_three(&b, 1, out);
		check_int(out[1].rows, 13);
	}
	check_int(b.n_moved, 1);
	/* no part gets smaller than its least size, or larger than its largest */
	border_event(&b, MOUSE_PRESS, 18, 20);
	border_event(&b, MOUSE_DRAG, 1000, 20);
	place_three(&b, 1, out);
	check_int(out[1].rows, 20);
	check_int(out[2].rows, 6);
	border_event(&b, MOUSE_DRAG, -1000, 20);
	place_three(&b, 1, out);
	check_int(out[1].rows, 6);
	check_int(out[2].rows, 20);
	/* another view has its own borders */
	place_three(&b, 2, out);
	check_int(out[1].rows, 13);
	/* nobody follows: as without a mouse, and nothing is noted */
	layout_forget_drawn();
	check_int(b.n_drawn, 1);
}

TEST(layout_borders_forget_the_oldest)
{
	struct layout_borders b = { 0 };
	struct rect out[3];

	for (int view = 0; view < LAYOUT_MOVED + 3; view++) {
		place_three(&b, view, out);
		border_event(&b, MOUSE_PRESS, 18, 20);
		border_event(&b, MOUSE_DRAG, 16, 20);
	}
	check_int(b.n_moved, LAYOUT_MOVED);
	place_three(&b, 2, out);
	check_int(out[1].rows, 13);
	place_three(&b, LAYOUT_MOVED + 2, out);
	check_int(out[1].rows, 11);
}

/* ---- lists ---- */

/* Draw a list of n rows into five of the grid. */
static void draw_list_of(struct list_widget *l, size_t n, bool is_text)
{
	struct grid g = { .charset = GRID_ASCII };
	struct rect box = { 0, 0, 7, 20 };

	check_int(grid_resize(&g, 7, 20, &e), 0);
	if (is_text)
		list_text(&g, box, layout_inside(box), l, n);
	else
		list_box(&g, box, "rows", l, n, true);
	grid_free(&g);
}

/* A list that follows stays at its end while rows are added, until the user goes up. */
TEST(list_widget_follows_its_end)
{
	for (int is_text = 0; is_text < 2; is_text++) {
		struct list_widget l = { .follows = true };

		draw_list_of(&l, 20, is_text);
		check_int(l.top, 15);
		draw_list_of(&l, 22, is_text);
		check_int(l.top, 17);
		check(is_text || l.at == 21);
		check(list_widget_act(&l, ACTION_PAGE_UP, 22));
		draw_list_of(&l, 25, is_text);
		check_int(l.top, is_text ? 12 : 16);
		check(list_widget_act(&l, ACTION_END, 25));
		draw_list_of(&l, 30, is_text);
		check_int(l.top, 25);
		check(!list_widget_act(&l, ACTION_LEFT, 30));
	}
}

/* Text without a chosen row keeps its last page on the screen. */
TEST(list_widget_scrolls_text)
{
	struct list_widget l = { 0 };

	draw_list_of(&l, 12, true);
	check_int(l.top, 0);
	list_widget_act(&l, ACTION_DOWN, 12);
	check_int(l.top, 1);
	list_widget_act(&l, ACTION_END, 12);
	check_int(l.top, 7);
	draw_list_of(&l, 6, true);
	check_int(l.top, 1);
	list_widget_act(&l, ACTION_HOME, 6);
	check_int(l.top, 0);
	draw_list_of(&l, 3, true);
	check_int(l.top, 0);
}
