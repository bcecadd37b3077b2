/* svg_plot.c - see svg_plot.h. */
#include "share/format/svg_plot.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/text.h"
#include "share/base/util.h"

#define MARGIN_LEFT   64.0 /* room for the labels of the y axis */
#define MARGIN_RIGHT  24.0
#define MARGIN_TOP    46.0 /* title and legend */
#define MARGIN_BOTTOM 40.0 /* labels and unit of the x axis */
#define LETTER	      6.6  /* width of a letter of a legend, about */
#define MAX_TICKS     12

static const char *const colours[] = { "#0072b2", "#d55e00", "#009e73",
				       "#cc79a7", "#e69f00", "#56b4e9" };

/* An axis: values from low to high on pixels from at_low to at_high. */
struct svg_axis {
	double low, high; /* logarithms if log */
	double at_low, at_high;
	bool log;
};

struct svg_frame {
	struct buf *out;
	struct svg_axis x, y;
};

/* ---- texts ---- */

/* Text inside an element or an attribute; characters that XML 1.0 forbids become U+FFFD. */
static void add_xml_text(struct buf *out, const char *text)
{
	size_t n = utf8_valid_prefix(text, strlen(text));

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '&')
			buf_add_str(out, "&amp;");
		else if (c == '<')
			buf_add_str(out, "&lt;");
		else if (c == '>')
			buf_add_str(out, "&gt;");
		else if (c == '"')
			buf_add_str(out, "&quot;");
		else if (c < 0x20 || c == 0x7F ||
			 (c == 0xEF && (unsigned char)text[i + 1] == 0xBF &&
			  (unsigned char)text[i + 2] >= 0xBE))
			buf_add_str(out, "&#xFFFD;"), i += c == 0xEF ? 2 : 0;
		else
			buf_add_char(out, (char)c);
	}
	if (text[n])
		buf_add_str(out, "&#xFFFD;");
}

static void add_svg_label(struct buf *out, double x, double y, const char *attributes,
			  const char *text)
{
	buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
	add_xml_text(out, text);
	buf_add_str(out, "</text>\n");
}

/* ---- axes ---- */

static bool on_axis(const struct svg_axis *a, double value)
{
	return isfinite(value) && (!a->log || value > 0);
}

/* Pixels, kept within a few widths of the plot: an SVG reader need not take larger numbers. */
static double axis_at(const struct svg_axis *a, double value)
{
	double t = ((a->log ? log10(value) : value) - a->low) / (a->high - a->low);

	return a->at_low + MIN(MAX(t, -4.0), 4.0) * (a->at_high - a->at_low);
}

static void widen_axis(struct svg_axis *a, double value)
{
	if (!on_axis(a, value))
		return;
	value = a->log ? log10(value) : value;
	a->low = isnan(a->low) ? value : MIN(a->low, value);
	a->high = isnan(a->high) ? value : MAX(a->high, value);
}

/* 1, 2 or 5 times a power of ten, so that range has at most `most` steps. */
static double round_step(double range, int most)
{
	double power = pow(10, floor(log10(range / most)));

	for (int i = 0; i < 3; i++) {
		static const double nice[] = { 1, 2, 5 };

		if (range / (nice[i] * power) <= most)
			return nice[i] * power;
	}
	return 10 * power;
}

/* Round values of the axis, at most MAX_TICKS. */
static size_t axis_ticks(const struct svg_axis *a, int most, double ticks[MAX_TICKS])
{
	double range = a->high - a->low, step;
	size_t n = 0;

	assert(most >= 1 && most < MAX_TICKS - 1);
	if (a->log && range >= 1) {
		int every = (int)ceil(range / most);

		for (int p = (int)ceil(a->low - 1e-9); p <= a->high + 1e-9 && n < MAX_TICKS;
		     p += every)
			ticks[n++] = pow(10, p);
		return n;
	}
	if (a->log) {
		double low = pow(10, a->low), high = pow(10, a->high);

		step = round_step(high - low, most);
		for (double v = ceil(low / step) * step; v <= high && n < MAX_TICKS; v += step)
			ticks[n++] = v;
		return n;
	}
	step = round_step(range, most);
	for (double k = ceil(a->low / step - 1e-9);
	     k * step <= a->high + 1e-9 * step && n < MAX_TICKS; k++)
		ticks[n++] = k * step + 0.0; /* never -0 */
	return n;
}

/* Widen an axis whose values are all equal; the value then lies in the middle. */
static void finish_axis(struct svg_axis *a, bool round)
{
	double step;

	if (!(a->high > a->low)) {
		double half = a->log ? 0.5 : MAX(fabs(a->low) * 0.1, 1e-9);

		a->low -= half;
		a->high += half;
	}
	if (!round || a->log)
		return;
	step = round_step(a->high - a->low, 6);
	a->low = floor(a->low / step + 1e-9) * step;
	a->high = ceil(a->high / step - 1e-9) * step;
}

static void add_x_axis(const struct svg_frame *f, const char *unit)
{
	double ticks[MAX_TICKS], bottom = f->y.at_low;
	size_t n = axis_ticks(&f->x, (int)MIN((f->x.at_high - f->x.at_low) / 70 + 1, 9.0), ticks);
	char text[40];

	for (size_t i = 0; i < n; i++) {
		double x = axis_at(&f->x, ticks[i]);

		buf_printf(f->out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", x, bottom,
			   f->y.at_high);
		snprintf(text, sizeof(text), "%.6g", ticks[i]);
		add_svg_label(f->out, x, bottom + 15, "class=\"x\"", text);
	}
	add_svg_label(f->out, (f->x.at_low + f->x.at_high) / 2, bottom + 32, "class=\"x\"", unit);
}

static void add_y_axis(const struct svg_frame *f, const char *unit)
{
	double ticks[MAX_TICKS], left = f->x.at_low;
	size_t n = axis_ticks(&f->y, (int)MIN((f->y.at_low - f->y.at_high) / 28 + 1, 8.0), ticks);
	char text[40], turned[80];

	for (size_t i = 0; i < n; i++) {
		double y = axis_at(&f->y, ticks[i]);

		buf_printf(f->out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n", left, y,
			   f->x.at_high);
		snprintf(text, sizeof(text), "%.6g", ticks[i]);
		add_svg_label(f->out, left - 6, y + 4, "class=\"y\"", text);
	}
	buf_printf(f->out, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", left,
		   f->y.at_high, f->y.at_low, f->x.at_high);
	if (!*unit)
		return;
	snprintf(turned, sizeof(turned), "class=\"x\" transform=\"rotate(-90 %.1f %.1f)\"",
		 left - 50, (f->y.at_low + f->y.at_high) / 2);
	add_svg_label(f->out, left - 50, (f->y.at_low + f->y.at_high) / 2, turned, unit);
}

/* ---- lines ---- */

static const char *line_colour(const struct svg_line *l)
{
	return colours[l->colour % ARRAY_LEN(colours)];
}

/* A line has no point outside of the window. */
static bool is_drawn(const struct svg_frame *f, const struct svg_point *q)
{
	double t = on_axis(&f->x, q->x) ? f->x.log ? log10(q->x) : q->x : NAN;

	return t >= f->x.low - 1e-9 && t <= f->x.high + 1e-9 && on_axis(&f->y, q->y);
}

/* The band of a stretch of points [from, to) that all have one. */
static void add_band(const struct svg_frame *f, const struct svg_line *l, size_t from, size_t to)
{
	if (to - from < 2)
		return;
	buf_printf(f->out, "<path fill=\"%s\" fill-opacity=\"0.15\" d=\"", line_colour(l));
	for (size_t i = from; i < to; i++)
		buf_printf(f->out, "%c%.1f %.1f", i == from ? 'M' : 'L',
			   axis_at(&f->x, l->points[i].x), axis_at(&f->y, l->points[i].high));
	for (size_t i = to; i-- > from;)
		buf_printf(f->out, "L%.1f %.1f", axis_at(&f->x, l->points[i].x),
			   axis_at(&f->y, l->points[i].low));
	buf_add_str(f->out, "Z\"/>\n");
}

static void add_bands(const struct svg_frame *f, const struct svg_line *l)
{
	size_t from = 0;

	for (size_t i = 0; i <= l->n; i++) {
		const struct svg_point *q = &l->points[i];

		if (i < l->n && is_drawn(f, q) && on_axis(&f->y, q->low) && on_axis(&f->y, q->high))
			continue;
		add_band(f, l, from, i);
		from = i + 1;
	}
}

static void add_line(const struct svg_frame *f, const struct svg_line *l)
{
	static const char *const looks[] = {
		[SVG_LINE] = "stroke-width=\"1.6\"",
		[SVG_DASHED] = "stroke-width=\"1.6\" stroke-dasharray=\"5 3\"",
		[SVG_MARKED] = "stroke-width=\"1.6\"",
		[SVG_FAINT] = "stroke-width=\"0.8\" stroke-opacity=\"0.35\"",
	};
	bool down = false, begun = false;

	for (size_t i = 0; i < l->n; i++) {
		const struct svg_point *q = &l->points[i];
		bool here = is_drawn(f, q);

		if (here && !begun)
			buf_printf(f->out, "<path fill=\"none\" stroke=\"%s\" %s d=\"",
				   line_colour(l), looks[l->pen]);
		if (here)
			buf_printf(f->out, "%c%.1f %.1f", down ? 'L' : 'M', axis_at(&f->x, q->x),
				   axis_at(&f->y, q->y));
		begun |= here;
		down = here;
	}
	if (begun)
		buf_add_str(f->out, "\"/>\n");
	for (size_t i = 0; i < l->n && l->pen == SVG_MARKED; i++)
		if (is_drawn(f, &l->points[i]))
			buf_printf(f->out,
				   "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" fill=\"%s\"/>\n",
				   axis_at(&f->x, l->points[i].x), axis_at(&f->y, l->points[i].y),
				   line_colour(l));
}

static void add_legend(const struct svg_frame *f, const struct svg_plot *p, double top)
{
	double x = f->x.at_low;

	for (size_t i = 0; i < p->n; i++) {
		const struct svg_line *l = &p->lines[i];

		if (l->pen == SVG_FAINT || !*l->label)
			continue;
		buf_printf(f->out,
			   "<path stroke=\"%s\" stroke-width=\"2\"%s d=\"M%.1f %.1fh18\"/>\n",
			   line_colour(l), l->pen == SVG_DASHED ? " stroke-dasharray=\"5 3\"" : "",
			   x, top - 4);
		if (l->pen == SVG_MARKED)
			buf_printf(f->out,
				   "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" fill=\"%s\"/>\n",
				   x + 9, top - 4, line_colour(l));
		add_svg_label(f->out, x + 23, top, "class=\"k\"", l->label);
		x += 23 + LETTER * (double)strlen(l->label) + 16;
	}
}

static void add_marks(const struct svg_frame *f, const struct svg_plot *p)
{
	for (size_t i = 0; i < p->n_marks; i++) {
		double x;

		if (!on_axis(&f->x, p->marks[i].x))
			continue;
		x = axis_at(&f->x, p->marks[i].x);
		if (x < f->x.at_low - 0.5 || x > f->x.at_high + 0.5)
			continue;
		buf_printf(f->out, "<path class=\"mark\" d=\"M%.1f %.1fV%.1f\"><title>", x,
			   f->y.at_low, f->y.at_high);
		add_xml_text(f->out, p->marks[i].text);
		buf_add_str(f->out, "</title></path>\n");
	}
}

/* ---- all of it ---- */

void svg_page_begin(struct buf *out, const char *title, double width, double height)
{
	buf_printf(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%.0f\" "
		   "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n<title>",
		   width, height, width, height);
	add_xml_text(out, title);
	buf_add_str(out, "</title>\n<style>text{font-family:sans-serif;font-size:11px;fill:#333}"
			 ".t{font-size:13px;font-weight:bold}.x{text-anchor:middle}"
			 ".y{text-anchor:end}.axis{fill:none;stroke:#333}.grid{stroke:#e4e4e4}"
			 ".mark{stroke:#999;stroke-dasharray:2 3}</style>\n"
			 "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
}

void svg_text_add(struct buf *out, double x, double y, const char *text)
{
	add_svg_label(out, x, y, "class=\"t\"", text);
}

void svg_page_end(struct buf *out)
{
	buf_add_str(out, "</svg>\n");
}

/* The axes of all lines. false: there is no value to show. */
static bool make_axes(struct svg_frame *f, const struct svg_plot *p)
{
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->lines[i].n; k++)
			widen_axis(&f->x, p->lines[i].points[k].x);
	if (isfinite(p->x_from) && isfinite(p->x_end) && on_axis(&f->x, p->x_end)) {
		f->x.high = f->x.log ? log10(p->x_end) : p->x_end;
		if (on_axis(&f->x, p->x_from))
			f->x.low = f->x.log ? log10(p->x_from) : p->x_from;
	}
	if (!isfinite(f->x.low) || !isfinite(f->x.high))
		return false;
	finish_axis(&f->x, false);
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->lines[i].n; k++) {
			const struct svg_point *q = &p->lines[i].points[k];
			double x = on_axis(&f->x, q->x) ? f->x.log ? log10(q->x) : q->x : NAN;

			if (!(x >= f->x.low && x <= f->x.high))
				continue;
			widen_axis(&f->y, q->y);
			widen_axis(&f->y, isnan(q->y) ? NAN : q->low);
			widen_axis(&f->y, isnan(q->y) ? NAN : q->high);
		}
	if (!isfinite(f->y.low))
		return false;
	if (p->from_zero && !f->y.log)
		widen_axis(&f->y, 0);
	finish_axis(&f->y, true);
	return true;
}

void svg_plot_add(struct buf *out, const struct svg_plot *p, double left, double top, double width,
		  double height)
{
	struct svg_frame f = {
		.out = out,
		.x = { NAN, NAN, left + MARGIN_LEFT, left + width - MARGIN_RIGHT, p->log_x },
		.y = { NAN, NAN, top + height - MARGIN_BOTTOM, top + MARGIN_TOP, p->log_y },
	};

	add_svg_label(out, f.x.at_low, top + 18, "class=\"t\"", p->title);
	if (!make_axes(&f, p)) {
		add_svg_label(out, left + width / 2, top + height / 2, "class=\"x\"",
			      "nothing measured yet");
		return;
	}
	add_x_axis(&f, p->x_unit);
	add_y_axis(&f, p->y_unit);
	add_legend(&f, p, top + 36);
	add_marks(&f, p);
	for (size_t i = 0; i < p->n; i++)
		add_bands(&f, &p->lines[i]);
	for (size_t i = 0; i < p->n; i++)
		add_line(&f, &p->lines[i]);
}
