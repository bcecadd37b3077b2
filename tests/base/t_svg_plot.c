/* t_svg_plot.c - plots as SVG: axes, gaps, windows, foreign texts. */
#include "tests/test.h"

#include <math.h>
#include <string.h>

#include "share/base/util.h"
#include "share/format/svg_plot.h"

static size_t count_of(const char *text, const char *word)
{
	size_t n = 0;

	for (; (text = strstr(text, word)); text++)
		n++;
	return n;
}

static const char *draw_svg(struct buf *out, const struct svg_plot *p)
{
	buf_clear(out);
	svg_page_begin(out, "page", 400, 300);
	svg_plot_add(out, p, 0, 0, 400, 300);
	svg_page_end(out);
	return buf_text(out);
}

TEST(svg_plot_axes_and_gaps)
{
	const struct svg_point points[] = { { 0, 0, NAN, NAN },	   { 50, 10, NAN, NAN },
					    { 60, NAN, NAN, NAN }, { 70, 5, 4, 6 },
					    { 100, 20, 19, 21 },   { 110, 1e30, NAN, NAN } };
	struct svg_line line = { "loss", points, 5, SVG_LINE, 0 };
	struct svg_plot p = { "title", "step", "nats", &line, 1,     NULL,
			      0,       NAN,    NAN,    true,  false, false };
	struct buf out = { 0 };
	const char *text = draw_svg(&out, &p);

	check(strstr(text, ">title</text>") && strstr(text, ">step</text>"));
	check(strstr(text, ">nats</text>") && strstr(text, ">loss</text>"));
	check(strstr(text, ">0</text>") && strstr(text, ">100</text>") &&
	      !strstr(text, ">-0</text>"));
	/* the line runs from the corner to the right edge, with one gap */
	check(strstr(text, "d=\"M64.0 260.0L") != NULL);
	check(strstr(text, "L376.0 ") != NULL);
	check_int((int)count_of(strstr(text, "d=\"M64.0 260.0L"), "M2"), 1);
	check_int((int)count_of(text, "fill-opacity"), 1); /* the band of the last two points */
	/* outside of the window nothing is drawn, nor does it set the axis */
	line.n = ARRAY_LEN(points);
	p.x_from = 0;
	p.x_end = 100;
	check(!strstr(draw_svg(&out, &p), "1e+30"));
	/* a logarithm of 0 is left out; a constant lies in the middle */
	p.log_y = true;
	check(!strstr(draw_svg(&out, &p), "nan") && !strstr(buf_text(&out), "inf"));
	line.points = points + 1;
	line.n = 1;
	p.x_from = p.x_end = NAN;
	check(!strstr(draw_svg(&out, &p), "nan"));
	line.n = 0;
	check(strstr(draw_svg(&out, &p), "nothing measured yet") != NULL);
	buf_free(&out);
}

TEST(svg_plot_escapes_foreign_texts)
{
	const struct svg_point points[] = { { 1, 1, NAN, NAN }, { 2, 1e300, -1e300, 1e300 } };
	const struct svg_line line = { "<a>&\"b\x01\xFF", points, 2, SVG_MARKED, 99 };
	const struct svg_mark mark = { 1.5, "]]>\x1b[2J\xEF\xBF\xBE" };
	const struct svg_plot p = { "<t/>", "\n", "</svg>", &line, 1,	  &mark,
				    1,	    NAN,  NAN,	    false, false, false };
	struct buf out = { 0 };
	const char *text = draw_svg(&out, &p);

	check(strstr(text, "&lt;a&gt;&amp;&quot;b&#xFFFD;&#xFFFD;</text>") != NULL);
	check(strstr(text, "]]&gt;&#xFFFD;[2J&#xFFFD;</title>") != NULL);
	check_int((int)count_of(text, "</svg>"), 1);
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 && *c != '\n')
			check_int(*c, '\n');
	buf_free(&out);
}
