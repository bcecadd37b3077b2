/* t_plot.c - plots: axes, smoothing, windows, marks, stacked shares. */
#include "tests/test.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/context/view.h"
#include "tui/plot/plot.h"
#include "tui/plot/plot_viewport.h"
#include "tui/plot/series_band.h"
#include "tui/term/draw.h"

#define ROWS 14
#define COLS 70

static struct err e;

struct scene {
	struct grid g;
	struct series s;
	struct plot_line line;
	struct plot_area area;
	struct plot p;
	struct buf out;
};

static bool open_scene(struct scene *s, enum grid_charset charset)
{
	memset(s, 0, sizeof(*s));
	if (charset != GRID_ASCII && !setlocale(LC_CTYPE, "C.UTF-8")) {
		test_skip("this machine has no locale C.UTF-8");
		return false;
	}
	s->g.charset = charset;
	series_init(&s->s);
	s->line = (struct plot_line){ .series = &s->s, .pen = PLOT_LINE, .style = STYLE_FIRST };
	s->p = (struct plot){
		.lines = &s->line, .n = 1, .x_end = 1000, .cursor = NAN, .area = &s->area
	};
	return check_int(grid_resize(&s->g, ROWS, COLS, &e), 0);
}

static const char *draw(struct scene *s)
{
	struct rect box = { 0, 0, ROWS, COLS };

	grid_clear(&s->g);
	buf_clear(&s->out);
	draw_box(&s->g, box, "t", false);
	plot_draw(&s->g, box, &s->p);
	grid_dump(&s->g, &s->out);
	return buf_text(&s->out);
}

static void close_scene(struct scene *s)
{
	series_free(&s->s);
	grid_free(&s->g);
	buf_free(&s->out);
}

/* The highest row with a glyph in a column of the area; -1: none. */
static int top_ink(const struct scene *s, int col)
{
	for (int row = 0; row < s->area.cells.rows; row++)
		if (grid_at(&s->g, s->area.cells.row + row, s->area.cells.col + col)->ch != ' ')
			return row;
	return -1;
}

TEST(tui_plot_log_axes)
{
	struct scene s;
	int middle, last;

	if (!open_scene(&s, GRID_FULL))
		return;
	for (int i = 1; i <= 1000; i++)
		series_add(&s.s, i, 1 / (double)i, &e);
	s.p.log_x = s.p.log_y = true;
	draw(&s);
	/* A power law is a straight line: half of the way is half of the height. */
	last = s.area.cells.cols - 1;
	middle = top_ink(&s, last / 2);
	check_int(top_ink(&s, 0), 0);
	check(abs(top_ink(&s, last) - (s.area.cells.rows - 1)) <= 0);
	check(abs(middle - (s.area.cells.rows - 1) / 2) <= 1);
	check(strstr(buf_text(&s.out), "1e-2┤") != NULL);
	check(strstr(buf_text(&s.out), " 100 ") != NULL);
	check_near(s.area.x_from, 1, 1e-9);
	check_near(plot_x_at(&s.area, s.area.cells.col + last / 2), sqrt(1000), 5);
	/* Values <= 0 have no logarithm and are left out. */
	series_add(&s.s, 1001, -5, &e);
	series_add(&s.s, 1002, 0, &e);
	draw(&s);
	check_int(top_ink(&s, 0), 0);
	s.p.log_x = false;
	s.p.x_from = -5;
	draw(&s);
	close_scene(&s);
}

TEST(tui_plot_window)
{
	struct scene s;
	double from, to;

	if (!open_scene(&s, GRID_FULL))
		return;
	for (int i = 0; i <= 1000; i++)
		series_add(&s.s, i, i < 500 ? 100 : i, &e);
	s.p.x_from = 600;
	s.p.x_end = 700;
	check(strstr(draw(&s), "700┤") != NULL);
	check(!strstr(buf_text(&s.out), "100┤"));	  /* the y axis is that of the window */
	check(top_ink(&s, 0) >= s.area.cells.rows - 2);	  /* the line enters at the left edge … */
	check_int(top_ink(&s, s.area.cells.cols - 1), 0); /* … and leaves at the right edge */
	check(strstr(buf_text(&s.out), " 650 ") || strstr(buf_text(&s.out), " 640 "));
	plot_zoom(&s.area, 0.5, 650, 1000, &from, &to);
	check_near(from, 625, 1e-9);
	check_near(to, 675, 1e-9);
	plot_zoom(&s.area, 100, 650, 1000, &from, &to);
	check_near(from, 0, 1e-9);
	check_near(to, 1000, 1e-9);
	plot_pan(&s.area, 10, 1000, &from, &to);
	check_near(from, 900, 1e-9);
	plot_pan(&s.area, -10, 1000, &from, &to);
	check_near(to, 100, 1e-9);
	for (int i = 0; i < 100; i++) {
		s.p.x_from = s.area.x_from;
		plot_zoom(&s.area, 0.3, 333.3, 1000, &s.p.x_from, &s.p.x_end);
		draw(&s);
	}
	check(s.p.x_end - s.p.x_from > 0);
	s.p.x_from = 2000;
	s.p.x_end = 3000;
	check(strstr(draw(&s), "no values in this window") != NULL);
	close_scene(&s);
}

TEST(tui_plot_smooths_and_trims)
{
	struct scene s;
	int rough = 0, smooth = 0;

	if (!open_scene(&s, GRID_FULL))
		return;
	for (int i = 0; i < PLOT_MIN_SMOOTHED - 1; i++)
		series_add(&s.s, i * 20, i % 2 ? 9 : 11, &e);
	/* Few samples are not smoothed. */
	check_near(plot_line_smoothing(&s.line, 0.95), 0, 0);
	for (int i = PLOT_MIN_SMOOTHED - 1; i <= 50; i++)
		series_add(&s.s, i * 20, i % 2 ? 9 : 11, &e);
	check_near(plot_line_smoothing(&s.line, 0.95), 0.95, 0);
	draw(&s);
	for (int c = 5; c < s.area.cells.cols - 5; c++)
		rough += abs(top_ink(&s, c) - top_ink(&s, c - 1));
	s.p.smooth = 0.95;
	draw(&s);
	/* line and raw curve differ in style */
	for (int c = 25, before = -1; c < s.area.cells.cols - 1; c++)
		for (int row = 0; row < s.area.cells.rows; row++)
			if (grid_at(&s.g, s.area.cells.row + row, s.area.cells.col + c)->style ==
			    STYLE_FIRST) {
				smooth = MAX(smooth, before < 0 ? 0 : abs(row - before));
				before = row;
				break;
			}
	check(rough > 100 && smooth <= 1);
	s.p.smooth = 0;
	series_add(&s.s, 1000, 1e6, &e); /* an outlier */
	check(strstr(draw(&s), "M┤") != NULL);
	s.p.trim = true;
	check(!strstr(draw(&s), "M┤"));
	close_scene(&s);
}

TEST(tui_plot_constant_zero_at_the_edge)
{
	struct scene s;

	if (!open_scene(&s, GRID_FULL))
		return;
	series_add(&s.s, 0, 0, &e);
	series_add(&s.s, 1000, 0, &e);
	check(!strstr(draw(&s), "-1"));
	check(strstr(buf_text(&s.out), "0┤") != NULL);
	check_int(top_ink(&s, s.area.cells.cols / 2), s.area.cells.rows - 1);
	close_scene(&s);
}

TEST(tui_plot_marks)
{
	static const enum grid_charset charsets[] = { GRID_ASCII, GRID_FULL };

	for (size_t k = 0; k < ARRAY_LEN(charsets); k++) {
		struct plot_mark marks[] = { { 0, 0x25B2, STYLE_WARN },
					     { 500, 0x25B2, STYLE_BAD },
					     { 501, 0x25B2, STYLE_GOOD },
					     { 5000, 0x25B2, STYLE_GOOD } };
		struct scene s;
		int n = 0;

		if (!open_scene(&s, charsets[k]))
			return;
		for (int i = 0; i <= 1000; i++)
			series_add(&s.s, i, i, &e);
		s.p.marks = marks;
		s.p.n_marks = ARRAY_LEN(marks);
		draw(&s);
		/* Marks stand beside each other and beside labels; invisible events have none. */
		for (int c = 0; c < COLS; c++)
			n += grid_at(&s.g, ROWS - 1, c)->ch ==
			     (charsets[k] == GRID_ASCII ? '^' : 0x25B2);
		check_int(n, 3);
		check(strstr(buf_text(&s.out), "400") != NULL);
		check(strstr(buf_text(&s.out), "1,000") != NULL);
		close_scene(&s);
	}
}

TEST(tui_plot_parts_of_a_whole)
{
	struct series whole, a, b;
	struct plot_part parts[] = { { &a, STYLE_FIRST }, { &b, STYLE_SECOND } };
	struct plot_stack p = { .parts = parts, .n = 2, .whole = &whole };
	struct rect box = { 0, 0, ROWS, COLS };
	struct plot_area area;
	struct buf text = { 0 };
	struct grid g = { .charset = GRID_ASCII };
	int n[2] = { 0 };

	check_int(grid_resize(&g, ROWS, COLS, &e), 0);
	series_init(&whole);
	series_init(&a);
	series_init(&b);
	p.axes = (struct plot){ .x_end = 100, .cursor = NAN, .area = &area };
	plot_stack_draw(&g, box, &p);	     /* no values yet */
	for (int i = 0; i <= 100; i += 10) { /* records farther apart than columns */
		series_add(&whole, i, 2, &e);
		series_add(&a, i, 1, &e);
		series_add(&b, i, 0.5, &e);
	}
	grid_clear(&g);
	draw_box(&g, box, "t", false);
	plot_stack_draw(&g, box, &p);
	for (int row = 0; row < area.cells.rows; row++)
		for (int col = 0; col < area.cells.cols; col++)
			for (size_t i = 0; i < 2; i++)
				n[i] += grid_at(&g, area.cells.row + row, area.cells.col + col)
						->ch == plot_fill(&g, i);
	buf_clear(&text);
	grid_dump(&g, &text);
	check(strstr(buf_text(&text), "| 75 %+") && strstr(buf_text(&text), "| 25 %+"));
	buf_free(&text);
	/* the axis ends above the sum of the parts, 0.75, at 0.8 */
	check_near((double)n[0] / (area.cells.cols * area.cells.rows), 0.5 / 0.8, 0.05);
	check_near((double)n[1] / (area.cells.cols * area.cells.rows), 0.25 / 0.8, 0.05);
	p.n = 1;
	p.first_fill = 1;
	p.parts = &parts[1];
	grid_clear(&g);
	plot_stack_draw(&g, box, &p);
	check_int(grid_at(&g, area.cells.row + area.cells.rows - 1, area.cells.col + 9)->ch,
		  plot_fill(&g, 1));
	series_free(&b); /* small shares look small: the axis reaches 0.1 */
	for (int i = 0; i <= 100; i += 10)
		series_add(&b, i, 0.02, &e);
	grid_clear(&g);
	plot_stack_draw(&g, box, &p);
	check_int(grid_at(&g, area.cells.row, area.cells.col + 9)->ch, ' ');
	check_int(grid_at(&g, area.cells.row + area.cells.rows - 1, area.cells.col + 9)->ch,
		  plot_fill(&g, 1));
	series_free(&whole);
	series_free(&a);
	series_free(&b);
	grid_free(&g);
}

/* ---- viewport ---- */

static void look(struct scene *s, struct plot_viewport *viewport)
{
	s->p = (struct plot){ .lines = &s->line, .n = 1 };
	viewport_clear_areas(viewport);
	viewport_apply(viewport, 3, 1000, &s->p);
	draw(s);
	s->area = viewport->areas[3];
}

TEST(tui_sight_keys)
{
	struct plot_viewport viewport;
	struct scene s;

	if (!open_scene(&s, GRID_FULL))
		return;
	for (int i = 0; i <= 1000; i += 100)
		series_add(&s.s, i, i, &e);
	viewport_init(&viewport);
	look(&s, &viewport);
	check_near(s.p.smooth, 0.6, 0);
	/* Samples lie farther apart than columns: each key goes to the next one. */
	viewport_act(&viewport, ACTION_LEFT, 3, &s.s);
	check_near(viewport.cursor, 1000, 0);
	viewport_act(&viewport, ACTION_LEFT, 3, &s.s);
	viewport_act(&viewport, ACTION_LEFT, 3, &s.s);
	check_near(viewport.cursor, 800, 0);
	check_near(viewport_value_at(&s.s, viewport.cursor), 800, 0);
	for (int i = 0; i < 20; i++)
		viewport_act(&viewport, ACTION_RIGHT, 3, &s.s);
	check_near(viewport.cursor, 1000, 0);
	viewport_act(&viewport, ACTION_PLOT_IN, 3, &s.s);
	look(&s, &viewport);
	check_near(viewport.from, 500, 1e-6);
	check_near(s.area.x_from, 500, 1e-6);
	/* The window follows the cursor. */
	for (int i = 0; i < 8; i++)
		viewport_act(&viewport, ACTION_LEFT, 3, &s.s);
	check(viewport.cursor >= viewport.from && viewport.cursor <= viewport.to &&
	      viewport.from < 500);
	viewport_act(&viewport, ACTION_PLOT_LATER, 3, &s.s);
	check(viewport.to <= 1000);
	viewport_act(&viewport, ACTION_PLOT_ALL, 3, &s.s);
	check(isnan(viewport.from));
	viewport_act(&viewport, ACTION_PLOT_LOG_Y, 3, &s.s);
	viewport_act(&viewport, ACTION_PLOT_LOG_X, 3, &s.s);
	look(&s, &viewport);
	check(s.p.log_x && s.p.log_y);
	for (int i = 0; i < 20; i++)
		viewport_act(&viewport, ACTION_PLOT_SMOOTHER, 3, &s.s);
	check(viewport_smoothing(&viewport) < 1);
	for (int i = 0; i < 20; i++)
		viewport_act(&viewport, ACTION_PLOT_ROUGHER, 3, &s.s);
	check_near(viewport_smoothing(&viewport), 0, 0);
	check_int(viewport_act(&viewport, ACTION_QUIT, 3, &s.s), REACT_UNKNOWN);
	close_scene(&s);
}

TEST(tui_sight_mouse)
{
	struct plot_viewport viewport;
	struct scene s;
	struct mouse m = { .kind = MOUSE_PRESS, .button = 1 };
	size_t plot = 99;
	double x;

	if (!open_scene(&s, GRID_FULL))
		return;
	for (int i = 0; i <= 1000; i += 100)
		series_add(&s.s, i, i, &e);
	viewport_init(&viewport);
	look(&s, &viewport);
	check_int(viewport_mouse(&viewport, &m, &plot), REACT_UNKNOWN); /* not on the plot */
	m.row = s.area.cells.row + 2;
	m.col = s.area.cells.col + s.area.cells.cols / 2;
	check_int(viewport_mouse(&viewport, &m, &plot), REACT_REDRAW);
	check_int(plot, 3);
	check(fabs(viewport.cursor - 500) < 20);
	/* What is under the pointer stays there. */
	x = plot_x_at(&s.area, m.col);
	m.kind = MOUSE_WHEEL_UP;
	for (int i = 0; i < 3; i++) {
		viewport_mouse(&viewport, &m, &plot);
		look(&s, &viewport);
		/* … but for labels of the y axis that are wider now */
		check_near(plot_x_at(&s.area, m.col), x,
			   2 * (s.area.x_end - s.area.x_from) / s.area.cells.cols);
	}
	/* Dragging to the left moves the window to later steps. */
	x = viewport.from;
	m = (struct mouse){ .kind = MOUSE_PRESS, .button = 3, .row = m.row, .col = m.col };
	viewport_mouse(&viewport, &m, &plot);
	m.kind = MOUSE_DRAG;
	m.col -= 10;
	viewport_mouse(&viewport, &m, &plot);
	check(viewport.from > x);
	m.kind = MOUSE_RELEASE;
	viewport_mouse(&viewport, &m, &plot);
	m.kind = MOUSE_WHEEL_DOWN;
	for (int i = 0; i < 20; i++) {
		viewport_mouse(&viewport, &m, &plot);
		look(&s, &viewport);
	}
	check(isnan(viewport.from)); /* the whole axis again */
	close_scene(&s);
}

/* An event mark moves aside so that a blank or a line stays between it and a tick label. */
TEST(tui_plot_marks_keep_off_labels)
{
	struct rect box = { 0, 0, 10, 60 };
	struct series s;
	struct grid g;

	g = (struct grid){ .charset = GRID_ASCII };
	if (!check_int(grid_resize(&g, box.rows, box.cols, &e), 0))
		return;
	series_init(&s);
	for (int i = 0; i <= 3000; i += 100)
		series_add(&s, i, i, &e);
	for (int x = 0; x < 2900; x += 25) {
		const struct plot_line line = { .series = &s,
						.pen = PLOT_LINE,
						.style = STYLE_FIRST };
		const struct plot_mark mark = { .x = x, .sign = '!', .style = STYLE_MARK };
		const struct plot p = { .lines = &line,
					.n = 1,
					.marks = &mark,
					.n_marks = 1,
					.x_end = 3000,
					.cursor = NAN };
		struct buf text = { 0 };
		const char *sign;

		grid_clear(&g);
		draw_box(&g, box, NULL, false);
		plot_draw(&g, box, &p);
		grid_dump(&g, &text);
		sign = strchr(buf_text(&text), '!');
		if (!sign)
			test_fail(__FILE__, __LINE__, "no mark at %d: %s", x, buf_text(&text));
		else if (strspn(sign - 1, "0123456789,") || strspn(sign + 1, "0123456789,"))
			test_fail(__FILE__, __LINE__, "the mark at %d touches a label: %s", x,
				  buf_text(&text));
		buf_free(&text);
	}
	series_free(&s);
	grid_free(&g);
}

/* Cells of the drawn plot whose style lies in [from, to]. */
static int count_styles(const struct scene *s, enum style from, enum style to)
{
	int n = 0;

	for (int row = 0; row < ROWS; row++)
		for (int col = 0; col < COLS; col++) {
			const struct cell *c = grid_at(&s->g, row, col);

			n += c->ch != ' ' && c->style >= from && c->style <= to;
		}
	return n;
}

TEST(tui_plot_area_has_the_tones_of_the_terminal)
{
	const enum style first = STYLE_TONE_0, last = STYLE_RAMP_0 - 1;
	struct scene s;

	if (!open_scene(&s, GRID_FULL))
		return;
	for (int i = 0; i <= 1000; i += 10)
		series_add(&s.s, i, 5 + i / 200, &e);
	s.p.from_zero = s.p.fill = true;
	draw(&s); /* fewer than 256 colours: no area */
	check_int(count_styles(&s, first, last), 0);
	s.g.tones = 1;
	draw(&s);
	check(count_styles(&s, first, first) > 100);
	check_int(count_styles(&s, first + 1, last), 0);
	s.g.tones = THEME_TONES;
	draw(&s);
	for (int i = 0; i < THEME_TONES; i++)
		check(count_styles(&s, first + i, first + i) > 0);
	/* the line lies in front, and the area has no dot above it */
	check(top_ink(&s, 30) >= 0);
	check_int(grid_at(&s.g, s.area.cells.row + top_ink(&s, 30), s.area.cells.col + 30)->style,
		  STYLE_FIRST);
	s.p.cursor = 500; /* the cursor shows in the area */
	draw(&s);
	check(count_styles(&s, STYLE_FOCUS, STYLE_FOCUS) >= 8);
	s.g.charset = GRID_PLAIN;
	draw(&s);
	check_int(count_styles(&s, first, last), 0);
	close_scene(&s);
}

TEST(tui_plot_number_is_that_of_the_curve)
{
	struct scene s;
	double shown, end = NAN;

	if (!open_scene(&s, GRID_FULL))
		return;
	for (int i = 0; i <= 1000; i += 10)
		series_add(&s.s, i, i < 990 ? 10 : 0, &e);
	s.p.from_zero = true;
	s.p.smooth = 0.9;
	shown = plot_line_value(&s.line, s.p.smooth, NAN);
	check(shown > 7 && shown < 9); /* two of the last samples are 0 */
	check_near(plot_line_value(&s.line, 0, NAN), 0, 0);
	check_near(plot_line_value(&s.line, s.p.smooth, 500), 10, 1e-6);
	draw(&s);
	check(count_styles(&s, STYLE_FIRST_RAW, STYLE_FIRST_RAW) >
	      0); /* in the line's own colour */
	check_int(count_styles(&s, STYLE_FAINT, STYLE_FAINT), 0);
	/* the circle at the end of the line stands at the number */
	for (int row = 0; row < s.area.cells.rows; row++)
		if (grid_at(&s.g, s.area.cells.row + row, s.area.cells.col + s.area.cells.cols - 1)
			    ->ch == 0x25CF)
			end = (1 - (row + 0.5) / s.area.cells.rows) * 10;
	check_near(end, shown, 1);
	close_scene(&s);
}

TEST(tui_plot_star_marks_the_best)
{
	struct scene s;

	if (!open_scene(&s, GRID_FULL))
		return;
	for (int i = 0; i <= 1000; i += 100)
		series_add(&s.s, i, fabs(i - 400.0), &e);
	s.line.pen = PLOT_MARKED;
	s.line.best = -1;
	draw(&s);
	check_int(count_styles(&s, STYLE_GOOD, STYLE_GOOD), 1);
	check_int(top_ink(&s, (int)lround(0.4 * (s.area.cells.cols - 1))), s.area.cells.rows - 1);
	close_scene(&s);
}

/* Bullets of a smoothed line lie on the smoothed line. */
TEST(tui_plot_bullets_follow_the_smoothed_line)
{
	static const enum plot_pen pens[] = { PLOT_BULLETS, PLOT_MARKED };
	struct scene s;

	for (size_t k = 0; k < ARRAY_LEN(pens); k++) {
		int top = 0, bottom = 0;

		if (!open_scene(&s, GRID_FULL))
			return;
		for (int i = 0; i < 60; i++)
			series_add(&s.s, 60 * i, i % 2 ? 10 : 0, &e);
		s.line.pen = pens[k];
		s.p.smooth = 0.95;
		draw(&s);
		for (int i = 0; i < s.g.rows * s.g.cols; i++)
			if (s.g.cells[i].ch == 0x2022) {
				top += i / s.g.cols == s.area.cells.row;
				bottom += i / s.g.cols == s.area.cells.row + s.area.cells.rows - 1;
			}
		/* the values jump between the edges of the plot, their mean does not */
		check_int(top > 1 || bottom > 1, pens[k] == PLOT_MARKED);
		close_scene(&s);
	}
}

/* ---- bands over several curves ---- */

/* n points at x = first, first + step, … with the values that follow; NaN: a gap. */
static void fill_curve(struct series *s, double first, double step, const double *y, size_t n)
{
	series_init(s);
	for (size_t i = 0; i < n; i++)
		check_int(series_add(s, first + step * (double)i, y[i], &e), 0);
}

/* ---- names at the ends of lines ---- */

TEST(plot_names_stand_at_ends)
{
	static const double high[] = { 9, 8, 8, 8 }, low[] = { 5, 1, 1, 1 },
			    same[] = { 5, 1, 1, 1.01 };
	struct plot_line lines[3];
	struct series s[3];
	struct scene p;
	const char *out, *first, *second;

	if (!open_scene(&p, GRID_ASCII))
		return;
	fill_curve(&s[0], 0, 200, low, 4);
	fill_curve(&s[1], 0, 200, high, 4);
	fill_curve(&s[2], 0, 200, same, 4);
	for (size_t i = 0; i < 3; i++)
		lines[i] = (struct plot_line){ .series = &s[i],
					       .pen = PLOT_EXACT,
					       .style = (enum style)(STYLE_FIRST + i) };
	p.p.lines = lines;
	p.p.n = 2;
	draw(&p);
	check_int(p.area.cells.cols + p.area.cells.col,
		  COLS - 1); /* no names, no columns for them */
	lines[0].name = "lowest";
	lines[1].name = "top";
	p.p.x_end = 1000; /* the lines end at 600: the names follow them */
	out = draw(&p);
	check_int(p.area.cells.cols + p.area.cells.col, COLS - 1 - 7);
	check(strstr(out, "* top ") && strstr(out, "* lowest "));
	check(strstr(out, "* top ") < strstr(out, "* lowest "));
	/* at the right edge, the names are beside the area */
	p.p.x_end = 600;
	out = draw(&p);
	check(strstr(out, "* top   |") && strstr(out, "* lowest|"));
	/* two lines that end in one row: the higher value is above */
	lines[2].name = "higher";
	p.p.n = 3;
	out = draw(&p);
	first = strstr(out, "higher|");
	second = strstr(out, "lowest|");
	check(first && second && first < second);
	/* a window: the name is where the line leaves it */
	p.p.n = 2;
	p.p.x_end = 100;
	out = draw(&p);
	check(strstr(out, "top   |") && strstr(out, "lowest|"));
	/* no room: no names */
	lines[0].name = "a name that is longer than a third of all";
	check_int(grid_resize(&p.g, ROWS, 30, &e), 0);
	grid_clear(&p.g);
	plot_draw(&p.g, (struct rect){ 0, 0, ROWS, 30 }, &p.p);
	buf_clear(&p.out);
	grid_dump(&p.g, &p.out);
	check(!strstr(buf_text(&p.out), "a name"));
	for (size_t i = 0; i < 3; i++)
		series_free(&s[i]);
	close_scene(&p);
}

TEST(series_band_is_mean_and_spread)
{
	static const double ys[4][3] = { { 1, 10, 5 }, { 2, 20, NAN }, { 6, 30, 5 }, { 7, 40, 5 } };
	struct series s[4], band;
	const struct series *curves[4];

	series_init(&band);
	for (size_t i = 0; i < 4; i++) {
		fill_curve(&s[i], 100, 100, ys[i], 3);
		curves[i] = &s[i];
	}
	/* of three: smallest and largest; a gap in one is a gap */
	check_int(series_band_make(&band, curves, 3, 0, &e), 0);
	if (check_int(band.n, 3)) {
		check_near(series_mean(&band.points[0]), 3, 1e-12);
		check_near((double)band.points[0].low, 1, 1e-6);
		check_near((double)band.points[0].high, 6, 1e-6);
		check_near(band.points[1].first, 200, 1e-12);
		check_int(band.points[2].n, 0);
		check_near(band.value, 20, 1e-12);
	}
	/* of four: a standard deviation, here of 10, 20, 30, 40: sqrt(500 / 3) */
	check_int(series_band_make(&band, curves, 4, 0, &e), 0);
	if (check_int(band.n, 3)) {
		check_near((double)band.points[1].low, 25 - sqrt(500.0 / 3), 1e-4);
		check_near((double)band.points[1].high, 25 + sqrt(500.0 / 3), 1e-4);
	}
	for (size_t i = 0; i < 4; i++)
		series_free(&s[i]);
	series_free(&band);
}

TEST(series_band_needs_all_curves)
{
	static const double slow[] = { 0, 10, 20, 30 }, fast[] = { 100, 100, 100, 100, 100 },
			    late[] = { 1, 2 };
	struct series s[3], band;
	const struct series *const curves[] = { &s[0], &s[1], &s[2] };

	series_init(&band);
	fill_curve(&s[0], 0, 10, slow, 4); /* x 0 … 30 */
	fill_curve(&s[1], 5, 5, fast, 5);  /* x 5 … 25 */
	fill_curve(&s[2], 100, 10, late, 2);
	/* the points of the curve with the fewest there, where both have values */
	check_int(series_band_make(&band, curves, 2, 0, &e), 0);
	if (check_int(band.n, 2)) {
		check_near(band.points[0].first, 10, 1e-12);
		check_near(series_mean(&band.points[1]), 60, 1e-12);
	}
	/* the other way around, values are read between the points of the first */
	series_free(&s[0]);
	fill_curve(&s[0], 0, 30, slow, 2); /* 0 at 0, 10 at 30 */
	check_int(series_band_make(&band, curves, 2, 0, &e), 0);
	if (check_int(band.n, 5)) /* at 20: 20 / 3 and 100 */
		check_near(series_mean(&band.points[3]), (20.0 / 3 + 100) / 2, 1e-9);
	series_free(&s[0]);
	fill_curve(&s[0], 10, 10, slow, 2); /* 0 at 10, 10 at 20 */
	series_free(&s[1]);
	fill_curve(&s[1], 5, 10, slow, 3); /* 0 at 5, 10 at 15, 20 at 25 */
	check_int(series_band_make(&band, curves, 2, 0, &e), 0);
	if (check_int(band.n, 1)) { /* x 15 alone is a point of the second within the first */
		check_near(band.points[0].first, 15, 1e-12);
		check_near(series_mean(&band.points[0]), 7.5, 1e-12);
	}
	/* nowhere together */
	check_int(series_band_make(&band, curves, 3, 0, &e), 0);
	check_int(band.n, 0);
	check(isnan(band.value));
	for (size_t i = 0; i < 3; i++)
		series_free(&s[i]);
	series_free(&band);
}

/* What the longest curve has beyond the others is not lost; its smoothing goes on from the start. */
TEST(series_band_tail_is_the_longest_curve)
{
	static const double all[] = { 8, 4, 2, NAN, 6 }, begun[] = { 3, 5 };
	struct series s[3], tail;
	const struct series *const curves[] = { &s[0], &s[1], &s[2] };
	struct smoother f = { .weight = 0.5 };
	double wanted = NAN;

	series_init(&tail);
	fill_curve(&s[0], 10, 10, begun, 2); /* x 10, 20 */
	fill_curve(&s[1], 10, 10, all, 5);   /* x 10 … 50 */
	series_init(&s[2]);
	check_int(series_band_tail(&tail, curves, 2, 0, &e), 0);
	if (check_int(tail.n, 4)) { /* x 20 … 50: it begins where the band ends */
		check_near(tail.points[0].first, 20, 1e-12);
		check_near(series_mean(&tail.points[0]), 4, 1e-12);
		check_int(tail.points[2].n, 0);
		check_near(tail.value, 6, 1e-12);
	}
	check_int(series_band_tail(&tail, curves, 2, 0.5, &e), 0);
	for (size_t i = 0; i < 5; i++)
		wanted = series_smooth(&f, &s[1].points[i]);
	check_near(tail.value, wanted, 1e-12);
	/* between two points the value at the end of the band is read */
	series_free(&s[0]);
	fill_curve(&s[0], 10, 15, begun, 2); /* x 10, 25 */
	check_int(series_band_tail(&tail, curves, 2, 0, &e), 0);
	if (check_int(tail.n, 4)) {
		check_near(tail.points[0].first, 25, 1e-12);
		check_near(series_mean(&tail.points[0]), 3, 1e-12);
	}
	/* a run without any value yet: the whole curve of the other */
	check_int(series_band_tail(&tail, &curves[1], 2, 0, &e), 0);
	check_int(tail.n, 5);
	/* none is longer */
	check_int(series_band_tail(&tail, curves, 1, 0, &e), 0);
	check_int(tail.n, 0);
	for (size_t i = 0; i < 3; i++)
		series_free(&s[i]);
	series_free(&tail);
}

/* The mean of smoothed curves is the smoothed mean. */
TEST(series_band_smooths_each_curve)
{
	struct series s[2], mean, band;
	const struct series *const curves[] = { &s[0], &s[1] };
	struct smoother f = { .weight = 0.8 };
	double wanted = NAN;

	series_init(&s[0]);
	series_init(&s[1]);
	series_init(&mean);
	series_init(&band);
	for (int i = 0; i < 60; i++) {
		check_int(series_add(&s[0], i, i % 7, &e), 0);
		check_int(series_add(&s[1], i, 3 * (i % 5), &e), 0);
		check_int(series_add(&mean, i, (i % 7 + 3 * (i % 5)) / 2.0, &e), 0);
	}
	check_int(series_band_make(&band, curves, 2, 0.8, &e), 0);
	for (size_t i = 0; i < mean.n; i++)
		wanted = series_smooth(&f, &mean.points[i]);
	check_near(band.value, wanted, 1e-9);
	for (size_t i = 0; i < 2; i++)
		series_free(&s[i]);
	series_free(&mean);
	series_free(&band);
}
