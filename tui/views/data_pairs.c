/* data_pairs.c - histograms and the density of lengths of the data view; see data_panes.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/number_format.h"
#include "share/base/util.h"
#include "tui/term/draw.h"
#include "tui/views/data_panes.h"

#define LABEL_COLS  8
#define LABEL_BYTES 40
#define COUNT_COLS  10
#define SHOWN_LEN   0.995 /* share of the pairs that the axes of the density must show */

void data_draw_no_facts(struct grid *g, struct rect in, const struct corpus_details *b)
{
	const char *why = *b->facts_trouble		    ? b->facts_trouble
			  : b->corpus.state != CORPUS_READY ? "available when the corpus is ready"
							    : "reading the pairs";
	struct span at = { in.row, in.col + 1, in.cols - 2, STYLE_DIM };

	if (*b->facts_trouble)
		at.style = STYLE_WARN;
	if (in.rows > 0 && at.width > 0)
		draw_text_wrapped(g, at, in.rows, 0, why);
}

const char *data_facts_extent(const struct corpus_details *b, char *out, size_t size)
{
	char n[NUMBER_TEXT_BYTES];
	int64_t done = pair_facts_counts(b->facts)->done,
		total = pair_facts_counts(b->facts)->total;

	format_count(n, total);
	if (done == total)
		snprintf(out, size, "all %s pairs", n);
	else
		snprintf(out, size, "the first %.0f %% of %s pairs",
			 floor(100 * (double)done / (double)MAX(total, 1)), n);
	return out;
}

const char *data_place_text(const struct corpus_details *b, struct pair_place place, char *out,
			    size_t size)
{
	const char *name = pair_facts_text_name(b->facts, place.text);
	const char *end = strrchr(name, '/');

	snprintf(out, size, "%.60s:%lld", end ? end + 1 : name, (long long)place.line);
	return out;
}

/* ---- histograms ---- */

static void bin_label(enum pair_histogram h, int bin, char out[LABEL_BYTES])
{
	double limit = pair_bin_limit(h, bin);
	const char *unit = h == PAIR_FOREIGN_SHARE ? " %" : "";

	if (!bin)
		snprintf(out, LABEL_BYTES, "%s",
			 h == PAIR_WORD_RATIO ? "one is 0"
			 : *unit	      ? "0 %"
					      : "0");
	else if (bin == PAIR_BINS - 1)
		snprintf(out, LABEL_BYTES, "> %g%s", pair_bin_limit(h, bin - 1), unit);
	else
		snprintf(out, LABEL_BYTES, h == PAIR_WORD_RATIO && bin == 1 ? "%g%s" : "to %g%s",
			 limit, unit);
}

/* Pairs of a bin: all of them, and those that the chosen rule (or any) dropped. */
static void bin_counts(const struct pair_facts *f, enum pair_histogram h, int bin,
		       enum clean_rule chosen, int64_t *all, int64_t *dropped)
{
	*all = *dropped = 0;
	for (int rule = 0; rule < CLEAN_N_RULES; rule++) {
		int64_t n = pair_facts_counts(f)->in_bin[h][bin][rule];

		*all += n;
		if (rule && (chosen == CLEAN_KEEP || rule == (int)chosen))
			*dropped += n;
	}
}

/* A bar of all pairs, of which the last part is dropped; few dropped ones may have no cell. */
static void draw_split_bar(struct grid *g, struct span at, int64_t all, int64_t dropped,
			   int64_t most)
{
	double scale = at.width / (double)MAX(most, 1);
	int full = all ? MAX((int)lround((double)all * scale), 1) : 0, end;

	end = dropped == all ? full : MIN((int)lround((double)dropped * scale), full);
	for (int i = 0; i < full; i++)
		grid_put(g, at.row, at.col + i, i < full - end ? STYLE_FIRST : STYLE_WARN,
			 i < full - end ? 0x2501 : 0x2591);
}

static void draw_pair_histogram(struct grid *g, struct rect box, const struct pair_facts *f,
				enum pair_histogram h, enum clean_rule chosen)
{
	static const char *const titles[PAIR_HISTOGRAMS] = { "source words", "target words",
							     "ratio of words", "foreign script" };
	struct rect in = layout_inside(box);
	bool two = in.cols >= LABEL_COLS + 2 * COUNT_COLS + 8;
	int bar = in.cols - LABEL_COLS - 2 - (two ? 2 : 1) * COUNT_COLS, right = in.col + in.cols;
	int64_t all, dropped, most = 0;
	char label[LABEL_BYTES];

	draw_box(g, box, titles[h], false);
	if (two)
		draw_legend(g, box, titles[h],
			    (const struct legend[]){ { 0x2501, STYLE_FIRST, "pairs", "" },
						     { 0x2591, STYLE_WARN, "dropped", "" } },
			    2);
	for (int bin = 0; bin < PAIR_BINS; bin++) {
		bin_counts(f, h, bin, chosen, &all, &dropped);
		most = MAX(most, all);
	}
	for (int bin = 0; bin < PAIR_BINS && bin < in.rows; bin++) {
		struct span at = { in.row + bin, in.col + LABEL_COLS + 2, MAX(bar, 0),
				   STYLE_NORMAL };

		bin_label(h, bin, label);
		bin_counts(f, h, bin, chosen, &all, &dropped);
		draw_text_right(g, at.row, in.col + LABEL_COLS, LABEL_COLS, STYLE_DIM, label);
		draw_split_bar(g, at, all, dropped, most);
		draw_text_right(g, at.row, right - (two ? COUNT_COLS : 0) - 1, COUNT_COLS - 1,
				all ? STYLE_NORMAL : STYLE_DIM,
				all < 10000000 ? COUNT_TEXT(all) : VALUE_TEXT((double)all));
		if (two)
			draw_text_right(g, at.row, right - 1, COUNT_COLS - 1,
					dropped ? STYLE_WARN : STYLE_DIM, COUNT_TEXT(dropped));
	}
	draw_hidden_rows(g, box, 0, PAIR_BINS - in.rows);
}

/* ---- the density of source and target lengths ---- */

/* The end of both axes: shows nearly all kept pairs, a multiple of ten, at most PAIR_GRID - 1. */
static int density_limit(const struct pair_facts *f)
{
	int64_t by_length[PAIR_GRID] = { 0 }, all = 0, sum = 0;
	int limit = 0;

	for (int x = 0; x < PAIR_GRID; x++)
		for (int y = 0; y < PAIR_GRID; y++)
			by_length[MAX(x, y)] += pair_facts_counts(f)->density[false][x][y];
	for (int x = 0; x < PAIR_GRID; x++)
		all += by_length[x];
	while (limit < PAIR_GRID - 1 && (double)(sum += by_length[limit]) < SHOWN_LEN * (double)all)
		limit++;
	return MIN((limit + 10) / 10 * 10, PAIR_GRID - 1);
}

/* The lengths that a cell shows: several, or one that takes several cells. */
struct cell_span {
	int first, last;
};

/* Cell i of an axis of n cells that ends at limit. */
static struct cell_span density_cell(int i, int n, int limit)
{
	int lengths = limit + 1;
	int first = (int)((int64_t)i * lengths / n);

	return (struct cell_span){ first, MAX((int)((int64_t)(i + 1) * lengths / n) - 1, first) };
}

static int64_t density_of_cell(const struct pair_facts *f, struct cell_span x, struct cell_span y,
			       bool dropped)
{
	int64_t sum = 0;

	for (int s = x.first; s <= x.last; s++)
		for (int t = y.first; t <= y.last; t++)
			sum += pair_facts_counts(f)->density[dropped][s][t];
	return sum;
}

/* Where a length takes more than one cell, every length takes equally many. */
static int density_cells(int room, int limit)
{
	return room > limit + 1 ? room / (limit + 1) * (limit + 1) : room;
}

static struct rect density_area(struct rect in, int limit)
{
	return (struct rect){ in.row, in.col + 5, density_cells(in.rows - 1, limit),
			      density_cells(in.cols - 6, limit) };
}

static void draw_density_axes(struct grid *g, struct rect in, struct rect r, int limit)
{
	for (int i = 0; i < r.rows; i++) {
		struct cell_span y = density_cell(r.rows - 1 - i, r.rows, limit);

		if (i % 4 == 0 || i == r.rows - 1)
			draw_text_right(g, r.row + i, in.col + 3, 4, STYLE_DIM,
					COUNT_TEXT(y.first));
		grid_put(g, r.row + i, in.col + 4, STYLE_BORDER, 0x2502);
	}
	for (int i = 0; i < r.cols; i += 10) {
		struct cell_span x = density_cell(i, r.cols, limit);

		if (i + 4 <= r.cols || !i)
			draw_text(g, r.row + r.rows, r.col + i, MIN(9, in.cols - 6 - i), STYLE_DIM,
				  COUNT_TEXT(x.first));
	}
}

static void draw_density_cells(struct grid *g, struct rect r, const struct pair_facts *f, int limit)
{
	int64_t most = 1;

	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < r.rows; i++)
			for (int k = 0; k < r.cols; k++) {
				struct cell_span y = density_cell(r.rows - 1 - i, r.rows, limit),
						 x = density_cell(k, r.cols, limit);
				int64_t kept = density_of_cell(f, x, y, false);
				int64_t dropped = pass ? density_of_cell(f, x, y, true) : 0;

				most = MAX(most, kept);
				if (pass && (kept || dropped))
					draw_heat(g, r.row + i, r.col + k, 1,
						  log1p((double)kept) / log1p((double)most), !kept);
			}
}

static void draw_density(struct grid *g, struct rect box, const struct pair_facts *f, bool zoomed)
{
	struct rect in = layout_inside(box), r;
	int limit = density_limit(f);
	char title[80];
	int64_t beyond = 0;

	for (int x = 0; x < PAIR_GRID; x++)
		for (int y = 0; y < PAIR_GRID; y++)
			if (x > limit || y > limit)
				beyond += pair_facts_counts(f)->density[false][x][y] +
					  pair_facts_counts(f)->density[true][x][y];
	snprintf(title, sizeof(title), "target words (up) by source words%s",
		 zoomed ? "" : "; z zooms");
	draw_box(g, box, title, false);
	draw_legend(g, box, title,
		    (const struct legend[]){ { 0x00B7, STYLE_HEAT_2, "few", "" },
					     { 0x2588, STYLE_HEAT_4, "many pairs", "" },
					     { 0x00D7, STYLE_BAD, "all dropped", "" } },
		    3);
	r = density_area(in, limit);
	if (r.rows < 2 || r.cols < 8)
		return;
	draw_density_cells(g, r, f, limit);
	draw_density_axes(g, in, r, limit);
	draw_hidden_rows(g, box, 0, 0);
	if (beyond) {
		char text[60];

		snprintf(text, sizeof(text), " %s longer pairs ", COUNT_TEXT(beyond));
		draw_text_right(g, box.row + box.rows - 1, box.col + box.cols - 3, box.cols - 4,
				STYLE_DIM, text);
	}
}

void data_draw_pairs(struct grid *g, struct rect r, const struct corpus_details *b,
		     struct data_view_state *s)
{
	const struct layout_part parts[] = { { .min = 1, .max = 1 },
					     { .min = 4, .max = PAIR_BINS + 2, .weight = 4 },
					     { .min = 6, .weight = 1, .rank = 1 } };
	const struct layout_part columns[] = { { .min = 25, .weight = 1 },
					       { .min = 25, .weight = 1, .rank = 1 },
					       { .min = 25, .weight = 1, .rank = 2 },
					       { .min = 38, .weight = 1, .rank = 3 } };
	enum pair_histogram own = s->side == SIDE_SOURCE ? PAIR_SOURCE_WORDS : PAIR_TARGET_WORDS;
	const enum pair_histogram shown[4] = { own, PAIR_WORD_RATIO, PAIR_FOREIGN_SHARE,
					       own == PAIR_SOURCE_WORDS ? PAIR_TARGET_WORDS
									: PAIR_SOURCE_WORDS };
	struct rect rows[3], cols[4];
	char text[160], extent[80];

	if (!b->facts || !pair_facts_counts(b->facts)->done) {
		draw_box(g, r, "pairs", true);
		data_draw_no_facts(g, layout_inside(r), b);
		return;
	}
	if (s->zoomed) {
		draw_density(g, r, b->facts, true);
		return;
	}
	layout_rows(r, parts, 3, rows);
	snprintf(text, sizeof(text), "%s; dropped by: %s (Left, Right)%s",
		 data_facts_extent(b, extent, sizeof(extent)),
		 s->rule == CLEAN_KEEP ? "all rules" : clean_rule_name(s->rule),
		 *b->facts_trouble ? "; reading failed" : "");
	draw_text(g, rows[0].row, rows[0].col + 2, rows[0].cols - 2,
		  *b->facts_trouble ? STYLE_WARN : STYLE_DIM, text);
	if (rows[1].rows > 2) {
		layout_cols(rows[1], columns, 4, cols);
		for (int i = 0; i < 4; i++)
			if (cols[i].cols)
				draw_pair_histogram(g, cols[i], b->facts, shown[i], s->rule);
	}
	if (rows[2].rows > 2)
		draw_density(g, rows[2], b->facts, false);
}
