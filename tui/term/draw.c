/* draw.c - boxes, wrapped text, bars and legends; see draw.h. */
#include "tui/term/draw.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/util.h"

#define CENTRED_BYTES 512 /* bytes and lines of a text that draw_centred() shows */
#define CENTRED_LINES 12

static void draw_horizontal_line(struct grid *g, int row, int col, int n, enum style style,
				 uint32_t glyph)
{
	for (int i = 0; i < n; i++)
		grid_put(g, row, col + i, style, glyph);
}

void draw_blank(struct grid *g, struct rect r, enum style style)
{
	for (int row = r.row; row < r.row + r.rows; row++)
		draw_horizontal_line(g, row, r.col, r.cols, style, ' ');
}

void draw_box(struct grid *g, struct rect r, const char *title, bool focused)
{
	enum style style = focused ? STYLE_FOCUS : STYLE_BORDER;
	int right = r.col + r.cols - 1, bottom = r.row + r.rows - 1, at;

	if (r.rows < 2 || r.cols < 2)
		return;
	if (focused)
		g->focus = (struct grid_part){ r.row, r.col, r.rows, r.cols };
	draw_horizontal_line(g, r.row, r.col, r.cols, style, 0x2500);
	draw_horizontal_line(g, bottom, r.col, r.cols, style, 0x2500);
	for (int row = r.row + 1; row < bottom; row++) {
		grid_put(g, row, r.col, style, 0x2502);
		grid_put(g, row, right, style, 0x2502);
	}
	grid_put(g, r.row, r.col, style, 0x256D);
	grid_put(g, r.row, right, style, 0x256E);
	grid_put(g, bottom, r.col, style, 0x2570);
	grid_put(g, bottom, right, style, 0x256F);
	if (!title || r.cols < 8)
		return;
	at = r.col + 2;
	grid_put(g, r.row, at - 1, style, focused ? 0x25B8 : 0x2500);
	grid_put(g, r.row, at++, style, ' ');
	at += draw_text(g, r.row, at, r.cols - 5, focused ? STYLE_FOCUS : STYLE_TITLE, title);
	grid_put(g, r.row, at, style, ' ');
}

int draw_hidden_rows(struct grid *g, struct rect box, int above, int below)
{
	char text[60];

	if (box.rows < 2 || (above <= 0 && below <= 0))
		return 0;
	if (above > 0 && below > 0)
		snprintf(text, sizeof(text), " %d above, %d below ", above, below);
	else
		snprintf(text, sizeof(text), " %d more %s ", MAX(above, below),
			 above > 0 ? "above" : "below");
	return draw_text_right(g, box.row + box.rows - 1, box.col + box.cols - 3, box.cols - 6,
			       STYLE_DIM, text);
}

int draw_text_from(struct grid *g, struct span at, const char *text, int skip)
{
	size_t n = strlen(text);

	if (at.width <= 0)
		return 0;
	if (grid_text_width(g, text) - skip > at.width) {
		int columns;

		at.width--;
		columns = grid_text_part(g, at, text, n, skip);
		return columns + grid_put(g, at.row, at.col + columns, STYLE_DIM, 0x2026);
	}
	return grid_text_part(g, at, text, n, skip);
}

int draw_text(struct grid *g, int row, int col, int width, enum style style, const char *text)
{
	return draw_text_from(g, (struct span){ row, col, width, style }, text, 0);
}

int draw_text_right(struct grid *g, int row, int right, int width, enum style style,
		    const char *text)
{
	int columns = MIN(grid_text_width(g, text), width);

	return draw_text(g, row, right - columns + 1, columns, style, text);
}

/*
 * Bytes of the first line of text in width columns: up to the last blank that fits, else as many
 * characters as fit.
 */
static size_t first_line(const struct grid *g, const char *text, int width)
{
	size_t fit = grid_text_fit(g, text, width, NULL), n;

	if (!text[fit] || text[fit] == ' ')
		return fit;
	for (n = fit; n > 0 && text[n - 1] != ' '; n--)
		;
	if (n > 0)
		return n;
	/*
	 * The first character is wider than the line: take it anyway, so that callers make
	 * progress.
	 */
	for (n = MAX(fit, (size_t)1); ((unsigned char)text[n] & 0xC0) == 0x80; n++)
		;
	return n;
}

int draw_text_wrapped(struct grid *g, struct span at, int rows, int skip, const char *text)
{
	int line = 0, end = 0;

	if (at.width < 1)
		return 0;
	do {
		size_t n = first_line(g, text, at.width);

		if (line >= skip && line - skip < rows) {
			struct span here = at;

			here.row += line - skip;
			end = grid_text_part(g, here, text, n, 0);
		}
		text += n;
		while (*text == ' ')
			text++;
		if (*text && rows > 0 && line - skip == rows - 1)
			grid_put(g, at.row + rows - 1, at.col + MIN(end, at.width - 1), STYLE_DIM,
				 0x2026);
		line++;
	} while (*text);
	return line;
}

void draw_note(struct grid *g, struct rect r, enum style style, const char *text)
{
	draw_text_wrapped(g, (struct span){ r.row, r.col, r.cols, style }, r.rows, 0, text);
}

bool draw_fact(struct grid *g, int row, int *col, int right, const char *label, const char *value)
{
	int blank = *label && *value;
	int need = grid_text_width(g, label) + blank + grid_text_width(g, value);

	if (*col + need - 1 > right)
		return false;
	*col += grid_text(g, row, *col, need, STYLE_DIM, label) + blank;
	*col += grid_text(g, row, *col, need, STYLE_BRIGHT, value) + 3;
	return true;
}

void draw_bar(struct grid *g, int row, int col, int width, double fraction)
{
	int full = isfinite(fraction) ? (int)lround(MIN(MAX(fraction, 0.0), 1.0) * width) : 0;

	draw_horizontal_line(g, row, col, full, STYLE_FIRST, 0x2501);
	draw_horizontal_line(g, row, col + full, width - full, STYLE_BORDER, 0x2500);
}

void draw_message(struct grid *g, struct rect r, enum style style, const char *const *lines, int n)
{
	int widest = 0, row = r.row + MAX((r.rows - n) / 2, 0), col;

	for (int i = 0; i < n; i++)
		widest = MAX(widest, grid_text_width(g, lines[i]));
	col = r.col + MAX((r.cols - widest) / 2, 0);
	for (int i = 0; i < n && row + i < r.row + r.rows; i++)
		draw_text(g, row + i, col, r.col + r.cols - col, i ? STYLE_NORMAL : style,
			  lines[i]);
}

void draw_centred(struct grid *g, struct rect r, enum style style, const char *text)
{
	char copy[CENTRED_BYTES], *rest = copy;
	const char *lines[CENTRED_LINES];
	int n = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	while (rest && n < CENTRED_LINES)
		lines[n++] = strsep(&rest, "\n");
	draw_message(g, r, style, lines, n);
}

static int piece_width(const struct grid *g, const struct legend *p)
{
	int between = *p->label && *p->value;

	return (p->sign ? 2 : 0) + grid_text_width(g, p->label) + between +
	       grid_text_width(g, p->value);
}

static int pieces_that_fit(const struct grid *g, const struct legend *pieces, int n, int room,
			   int *width)
{
	int fit = 0;

	for (*width = 0; fit < n; fit++) {
		int w = piece_width(g, &pieces[fit]) + (fit ? 2 : 0);

		if (*width + w > room)
			break;
		*width += w;
	}
	return fit;
}

void draw_pieces(struct grid *g, int row, int col, int room, const struct legend *pieces, int n)
{
	int width, fit = pieces_that_fit(g, pieces, n, room, &width);

	for (int i = 0; i < fit; i++) {
		const struct legend *p = &pieces[i];

		if (p->sign) {
			grid_put(g, row, col, p->style, p->sign);
			col += 2;
		}
		col += grid_text(g, row, col, width, STYLE_DIM, p->label) +
		       (*p->label && *p->value);
		col += grid_text(g, row, col, width, p->style, p->value) + 2;
	}
}

void draw_legend(struct grid *g, struct rect box, const char *title, const struct legend *pieces,
		 int n)
{
	int width, fit;

	fit = pieces_that_fit(g, pieces, n, box.cols - grid_text_width(g, title) - 7, &width);
	if (!fit)
		return;
	draw_horizontal_line(g, box.row, box.col + box.cols - 4 - width, width + 2, STYLE_BORDER,
			     ' ');
	draw_pieces(g, box.row, box.col + box.cols - 3 - width, width, pieces, fit);
}

/* Copy the entries, without values from `first` on if not all fit; false: these do not fit, either. */
static bool shorten_pieces(const struct grid *g, struct legend *to, const struct legend *pieces,
			   int n, int first, int room, int *width)
{
	assert(n <= BAR_PIECES);
	memcpy(to, pieces, (size_t)n * sizeof(*to));
	if (pieces_that_fit(g, to, n, room, width) == n)
		return true;
	for (int i = first; i < n; i++)
		to[i].value = "";
	return pieces_that_fit(g, to, n, room, width) == n;
}

void draw_bar_pieces(struct grid *g, int row, int col, int room, const struct legend *pieces, int n)
{
	struct legend shorter[BAR_PIECES];
	int width;

	shorten_pieces(g, shorter, pieces, n, 0, room, &width);
	draw_horizontal_line(g, row, col - 1, MIN(width, room) + 2, STYLE_BORDER, ' ');
	draw_pieces(g, row, col, room, shorter, n);
}

bool draw_bar_legend(struct grid *g, struct rect box, const char *title,
		     const struct legend *pieces, int n, int first)
{
	const int room = box.cols - grid_text_width(g, title) - 7;
	struct legend shorter[BAR_PIECES];
	int width;
	const bool fits = shorten_pieces(g, shorter, pieces, n, first, room, &width);

	draw_legend(g, box, title, shorter, fits ? n : first);
	return fits;
}

/* ---- heat ---- */

/* place: 0..1, from far below to far above */
static enum style heat_style_of(const struct grid *g, double place)
{
	if (g->ramp)
		return (enum style)(STYLE_RAMP_0 + MIN((int)(place * g->ramp), g->ramp - 1));
	return (enum style)(STYLE_HEAT_0 + MIN((int)(place * HEAT_LEVELS), HEAT_LEVELS - 1));
}

/* The level of a share, from 0; -1: unknown. */
static int heat_level(double share)
{
	/* An infinite share (of nothing) is unknown; a large one may not fit an int. */
	return isfinite(share) && share >= 0
		       ? (int)MIN(share * HEAT_LEVELS, (double)(HEAT_LEVELS - 1))
		       : -1;
}

static void draw_glyph(struct grid *g, struct span at, uint32_t sign, char ascii)
{
	for (int i = 0; i < at.width; i++)
		grid_put(g, at.row, at.col + i, at.style,
			 g->charset == GRID_ASCII ? (uint32_t)ascii : sign);
}

static void draw_shade(struct grid *g, struct span at, int level)
{
	static const uint32_t shades[HEAT_LEVELS] = { 0x00B7, 0x2591, 0x2592, 0x2593, 0x2588 };

	assert(level >= 0 && level < HEAT_LEVELS);
	draw_glyph(g, at, shades[level], ".-+x#"[level]);
}

static void draw_no_heat(struct grid *g, int row, int col, int width, bool lost)
{
	for (int i = 0; i < width; i++)
		grid_put(g, row, col + i, lost ? STYLE_BAD : STYLE_DIM, lost ? 0x00D7 : '?');
}

void draw_heat(struct grid *g, int row, int col, int width, double share, bool lost)
{
	int level = heat_level(share);

	if (level < 0 || lost)
		draw_no_heat(g, row, col, width, lost);
	else /* the colours from the neutral one upwards */
		draw_shade(g,
			   (struct span){ row, col, width,
					  heat_style_of(g, 0.5 + MIN(share, 1.0) / 2) },
			   level);
}

void draw_deviation(struct grid *g, int row, int col, int width, double deviation, bool lost)
{
	static const uint32_t signs[HEAT_LEVELS] = { 0x2584, 0x2582, 0x00B7, 0x2593, 0x2588 };
	double place = 0.5 + deviation / (2 * HEAT_SPREAD);
	int level;

	if (!isfinite(place) || lost) {
		draw_no_heat(g, row, col, width, lost);
		return;
	}
	place = MIN(MAX(place, 0.0), 1.0);
	level = heat_level(place);
	draw_glyph(g, (struct span){ row, col, width, heat_style_of(g, place) }, signs[level],
		   "=-.+#"[level]);
}

void draw_quality(struct grid *g, int row, int col, double share)
{
	int level = heat_level(share);

	if (level >= 0)
		draw_shade(g, (struct span){ row, col, 1, (enum style)(STYLE_SURE_0 + level) },
			   level);
	else
		grid_put(g, row, col, STYLE_DIM, '?');
}

static void draw_one_heat(struct grid *g, int row, int col, double place)
{
	draw_heat(g, row, col, 1, place, false);
}

static void draw_one_deviation(struct grid *g, int row, int col, double place)
{
	draw_deviation(g, row, col, 1, (2 * place - 1) * HEAT_SPREAD, false);
}

/* The levels between the texts of their ends. */
static void draw_scale(struct grid *g, struct rect box, const char *title, const char *low,
		       const char *high, void (*cell)(struct grid *, int, int, double))
{
	int width = grid_text_width(g, low) + HEAT_LEVELS + grid_text_width(g, high);
	int at = box.col + box.cols - 1 - width;

	if (grid_text_width(g, title) + width + 7 > box.cols)
		return;
	at += grid_text(g, box.row, at, width, STYLE_DIM, low);
	for (int i = 0; i < HEAT_LEVELS; i++, at++)
		cell(g, box.row, at, (i + 0.5) / HEAT_LEVELS);
	grid_text(g, box.row, at, width, STYLE_DIM, high);
}

void draw_heat_scale(struct grid *g, struct rect box, const char *title)
{
	draw_scale(g, box, title, " 0 ", " 100 % ", draw_one_heat);
}

void draw_deviation_scale(struct grid *g, struct rect box, const char *title, const char *low,
			  const char *high)
{
	draw_scale(g, box, title, low, high, draw_one_deviation);
}

void draw_quality_scale(struct grid *g, struct rect box, const char *title)
{
	draw_scale(g, box, title, " 0 ", " 100 % ", draw_quality);
}
