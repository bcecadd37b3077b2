/* svg_export.c - see svg_export.h. */
#include "tui/views/svg_export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/format/svg_plot.h"

#define PAGE_WIDTH  900.0
#define PAGE_HEIGHT 480.0
#define MOST_LINES  16 /* a smoothed line and its raw curve are two */

struct svg_lines {
	struct svg_line lines[MOST_LINES]; /* points owned */
	size_t n;
};

/* Add the points of a line, smoothed by this weight; the raw curve shows no band. */
static int add_svg_line(struct svg_lines *to, const struct svg_request *r, size_t i, double weight,
			bool is_raw, struct err *e)
{
	static const enum svg_pen pens[] = {
		[PLOT_LINE] = SVG_LINE,	     [PLOT_DOTTED] = SVG_DASHED,
		[PLOT_BULLETS] = SVG_MARKED, [PLOT_MARKED] = SVG_MARKED,
		[PLOT_EXACT] = SVG_LINE,     [PLOT_EXACT_DOTTED] = SVG_DASHED,
	};
	const struct plot_line *l = &r->plot->lines[i];
	const struct series *s = l->series;
	struct smoother f = { .weight = weight };
	struct svg_point *points;

	if (to->n == MOST_LINES || !s->n)
		return 0;
	if (!(points = mem_alloc(s->n, sizeof(*points), e)))
		return e->code;
	for (size_t k = 0; k < s->n; k++) {
		const struct series_point *q = &s->points[k];
		bool has_range = q->n > 1 && !is_raw;

		points[k] =
			(struct svg_point){ q->first + (q->last - q->first) / 2,
					    series_smooth(&f, q), has_range ? (double)q->low : NAN,
					    has_range ? (double)q->high : NAN };
	}
	to->lines[to->n++] = (struct svg_line){ l->name ? l->name : "", points, s->n,
						is_raw ? SVG_FAINT : pens[l->pen],
						(size_t)(l->style - STYLE_FIRST) };
	return 0;
}

static int make_svg_lines(struct svg_lines *to, const struct svg_request *r, struct err *e)
{
	for (size_t i = 0; i < r->plot->n; i++) {
		double weight = plot_line_smoothing(&r->plot->lines[i], r->plot->smooth);

		if ((weight > 0 && add_svg_line(to, r, i, 0, true, e)) ||
		    add_svg_line(to, r, i, weight, false, e))
			return e->code;
	}
	return 0;
}

void svg_export_plot(struct app_context *w, const struct svg_request *r)
{
	struct svg_lines lines = { .n = 0 };
	struct svg_plot plot = { .title = r->title,
				 .x_unit = r->x_unit,
				 .y_unit = r->y_unit,
				 .lines = lines.lines,
				 .x_from = r->plot->x_from,
				 .x_end = r->plot->x_end,
				 .from_zero = r->plot->from_zero,
				 .log_x = r->plot->log_x,
				 .log_y = r->plot->log_y };
	struct buf out = { 0 };
	struct err e = { 0 };
	char name[200];

	if (make_svg_lines(&lines, r, &e)) {
		context_notify(w, STYLE_BAD, "%s", e.text);
	} else {
		plot.n = lines.n;
		snprintf(name, sizeof(name), "%.180s.svg", r->name);
		for (char *c = name; *c; c++)
			if (*c == '/' || *c == ' ' || *c == ',')
				*c = '_';
		svg_page_begin(&out, r->name, PAGE_WIDTH, PAGE_HEIGHT);
		svg_plot_add(&out, &plot, 0, 0, PAGE_WIDTH, PAGE_HEIGHT);
		svg_page_end(&out);
		context_write_file(w, name, buf_text(&out));
	}
	for (size_t i = 0; i < lines.n; i++)
		free((struct svg_point *)lines.lines[i].points);
	buf_free(&out);
}
