/* report_plot.c - the curves of an answer in braille characters and as SVG; see report.h */
#include "eval/report/report.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS	       64  /* characters of a braille plot; each is two dots wide */
#define ROWS	       10  /* lines of a braille plot; each is four dots high */
#define WIDTH	       720 /* pixels of the SVG */
#define HEIGHT	       200
#define LEFT	       70   /* margin for the labels of the y axis */
#define BELOW	       34   /* margin for the labels of the x axis */
#define MAX_SVG_POINTS 1000 /* of a curve; longer curves are thinned */

struct range {
	double x0, x1, y0, y1;
};

static struct range find_range(const struct answer *a)
{
	struct range r = { INFINITY, -INFINITY, INFINITY, -INFINITY };

	for (size_t c = 0; c < a->n_curves; c++)
		for (size_t i = 0; i < a->curves[c].points.n; i++) {
			r.x0 = fmin(r.x0, a->curves[c].points.x[i]);
			r.x1 = fmax(r.x1, a->curves[c].points.x[i]);
			r.y0 = fmin(r.y0, a->curves[c].points.y[i]);
			r.y1 = fmax(r.y1, a->curves[c].points.y[i]);
		}
	if (r.x1 <= r.x0)
		r.x1 = r.x0 + 1;
	if (r.y1 <= r.y0)
		r.y1 = r.y0 + fmax(fabs(r.y0), 1) * 0.1;
	return r;
}

/* ---- braille ----------------------------------------------------------- */

static void set_dot(unsigned char cells[ROWS][COLUMNS], int x, int y)
{
	static const unsigned char bits[4][2] = { { 1, 8 }, { 2, 16 }, { 4, 32 }, { 64, 128 } };

	assert(x >= 0 && x < COLUMNS * 2 && y >= 0 && y < ROWS * 4);
	cells[y / 4][x / 2] |= bits[y % 4][x % 2];
}

static void draw_curve(unsigned char cells[ROWS][COLUMNS], const struct evidence_series *p,
		       const struct range *r)
{
	int before_x = -1, before_y = 0;

	for (size_t i = 0; i < p->n; i++) {
		int x = (int)((p->x[i] - r->x0) / (r->x1 - r->x0) * (COLUMNS * 2 - 1) + 0.5);
		int y = (int)((r->y1 - p->y[i]) / (r->y1 - r->y0) * (ROWS * 4 - 1) + 0.5);
		int steps = before_x < 0 ? 0 : (int)fmax(abs(x - before_x), abs(y - before_y));

		for (int s = 0; s < steps; s++)
			set_dot(cells, before_x + (x - before_x) * s / steps,
				before_y + (y - before_y) * s / steps);
		set_dot(cells, x, y);
		before_x = x;
		before_y = y;
	}
}

/* The character U+2800 + dots in UTF-8. */
static void add_braille_cell(struct buf *out, unsigned char dots)
{
	buf_add_char(out, (char)0xE2);
	buf_add_char(out, (char)(0xA0 | dots >> 6));
	buf_add_char(out, (char)(0x80 | (dots & 0x3F)));
}

/* The legend: each curve with its last value; no curve is empty. */
static void add_names(const struct answer *a, struct buf *out)
{
	buf_printf(out, "%10s %s: ", "", a->y_name);
	for (size_t c = 0; c < a->n_curves; c++)
		buf_printf(out, "%s%s (last %.4g)", c ? ", " : "", a->curves[c].name,
			   a->curves[c].points.y[a->curves[c].points.n - 1]);
	buf_add_char(out, '\n');
}

void report_plot_text(const struct answer *a, struct buf *out)
{
	unsigned char cells[ROWS][COLUMNS] = { 0 };
	struct range r;
	char left[32], right[32];

	if (!a->n_curves)
		return;
	r = find_range(a);
	for (size_t c = 0; c < a->n_curves; c++)
		draw_curve(cells, &a->curves[c].points, &r);
	add_names(a, out);
	for (int y = 0; y < ROWS; y++) {
		if (y == 0 || y == ROWS - 1)
			buf_printf(out, "%10.4g ", y ? r.y0 : r.y1);
		else
			buf_printf(out, "%10s ", "");
		for (int x = 0; x < COLUMNS; x++)
			add_braille_cell(out, cells[y][x]);
		buf_add_char(out, '\n');
	}
	snprintf(left, sizeof(left), "%.6g", r.x0);
	snprintf(right, sizeof(right), "step %.6g", r.x1);
	buf_printf(out, "%10s %-*s%s\n", "", COLUMNS - (int)strlen(right), left, right);
}

/* ---- SVG --------------------------------------------------------------- */

static void add_polyline(const struct evidence_series *p, const struct range *r, size_t number,
			 struct buf *out)
{
	const size_t every = p->n / MAX_SVG_POINTS + 1;

	buf_printf(out, "<polyline class=\"c%zu\" points=\"", number);
	for (size_t i = 0; i < p->n; i += every)
		buf_printf(out, "%.1f,%.1f ",
			   LEFT + (p->x[i] - r->x0) / (r->x1 - r->x0) * (WIDTH - LEFT - 10),
			   10 + (r->y1 - p->y[i]) / (r->y1 - r->y0) * (HEIGHT - BELOW - 10));
	buf_add_str(out, "\"/>\n");
}

void report_plot_svg(const struct answer *a, struct buf *out)
{
	const int floor_y = HEIGHT - BELOW;
	struct range r;

	if (!a->n_curves)
		return;
	r = find_range(a);
	buf_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s over step\">\n",
		   WIDTH, HEIGHT, a->y_name);
	buf_printf(out, "<path class=\"axis\" d=\"M%d 10V%dH%d\"/>\n", LEFT, floor_y, WIDTH - 10);
	buf_printf(out, "<text x=\"%d\" y=\"18\" text-anchor=\"end\">%.4g</text>\n", LEFT - 6,
		   r.y1);
	buf_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.4g</text>\n", LEFT - 6,
		   floor_y, r.y0);
	buf_printf(out, "<text x=\"%d\" y=\"%d\">step %.6g</text>\n", LEFT, floor_y + 14, r.x0);
	buf_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.6g</text>\n", WIDTH - 10,
		   floor_y + 14, r.x1);
	for (size_t c = 0; c < a->n_curves; c++) {
		add_polyline(&a->curves[c].points, &r, c, out);
		buf_printf(out,
			   "<path class=\"c%zu\" d=\"M%d %dh22\" fill=\"none\"/>"
			   "<text x=\"%d\" y=\"%d\">%s</text>\n",
			   c, LEFT + (int)c * 190, HEIGHT - 8, LEFT + (int)c * 190 + 28, HEIGHT - 4,
			   a->curves[c].name);
	}
	buf_add_str(out, "</svg>\n");
}
