/* layout.c - divides space among parts; places the panes of the run view. See layout.h. */
#include "tui/term/layout.h"

#include <assert.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/term/layout_borders.h"

/* Start with the min sizes and hide parts, highest rank first, until the rest fits. */
static void choose_parts(int length, const struct layout_part *parts, size_t n, int *sizes)
{
	int need = 0;

	for (size_t i = 0; i < n; i++)
		need += sizes[i] = parts[i].min;
	while (need > MAX(length, 0)) {
		size_t worst = n;

		for (size_t i = 0; i < n; i++)
			if (sizes[i] > 0 && (worst == n || parts[i].rank >= parts[worst].rank))
				worst = i;
		if (worst == n)
			return;
		need -= sizes[worst];
		sizes[worst] = 0;
	}
}

void layout_divide(int length, const struct layout_part *parts, size_t n, int *sizes)
{
	int left = length;

	assert(n <= LAYOUT_MAX_PARTS);
	choose_parts(length, parts, n, sizes);
	for (size_t i = 0; i < n; i++)
		left -= sizes[i];
	/*
	 * Distribute the remaining space by weight. A part at its max returns the rest for another
	 * round.
	 */
	while (left > 0) {
		int weights = 0, given = 0;

		for (size_t i = 0; i < n; i++)
			if (sizes[i] > 0 && (!parts[i].max || sizes[i] < parts[i].max))
				weights += parts[i].weight;
		if (!weights)
			return;
		for (size_t i = 0; i < n && given < left; i++) {
			int more;

			if (!sizes[i] || !parts[i].weight ||
			    (parts[i].max && sizes[i] >= parts[i].max))
				continue;
			more = MAX(left * parts[i].weight / weights, 1);
			more = MIN(more, left - given);
			if (parts[i].max)
				more = MIN(more, parts[i].max - sizes[i]);
			sizes[i] += more;
			given += more;
		}
		left -= given;
	}
}

void layout_rows(struct rect r, const struct layout_part *parts, size_t n, struct rect *out)
{
	int sizes[LAYOUT_MAX_PARTS], at = r.row;

	layout_divide(r.rows, parts, n, sizes);
	layout_place_borders(r, false, parts, n, sizes);
	for (size_t i = 0; i < n; i++) {
		out[i] = (struct rect){ at, r.col, sizes[i], sizes[i] ? r.cols : 0 };
		at += sizes[i];
	}
}

void layout_cols(struct rect r, const struct layout_part *parts, size_t n, struct rect *out)
{
	int sizes[LAYOUT_MAX_PARTS], at = r.col;

	layout_divide(r.cols, parts, n, sizes);
	layout_place_borders(r, true, parts, n, sizes);
	for (size_t i = 0; i < n; i++) {
		out[i] = (struct rect){ r.row, at, sizes[i] ? r.rows : 0, sizes[i] };
		at += sizes[i];
	}
}

struct rect layout_inside(struct rect r)
{
	if (r.rows < 3 || r.cols < 3)
		return (struct rect){ r.row, r.col, 0, 0 };
	return (struct rect){ r.row + 1, r.col + 1, r.rows - 2, r.cols - 2 };
}

struct rect layout_around(struct rect r)
{
	return (struct rect){ r.row - 1, r.col - 1, r.rows + 2, r.cols + 2 };
}

bool layout_has_cell(struct rect r, int row, int col)
{
	return row >= r.row && row < r.row + r.rows && col >= r.col && col < r.col + r.cols;
}

/* Place n panes (at most 3) of equal width side by side. */
static void place_row(struct rect r, const enum run_pane *which, int n, struct rect *panes)
{
	static const struct layout_part parts[] = { { 1, 0, 1, 0 },
						    { 1, 0, 1, 0 },
						    { 1, 0, 1, 0 } };
	struct rect out[3];

	assert(n >= 1 && n <= (int)ARRAY_LEN(parts));
	if (!r.rows)
		return;
	layout_cols(r, parts, (size_t)n, out);
	for (int i = 0; i < n; i++)
		panes[which[i]] = out[i];
}

static const enum run_pane pairs[][2] = { { PANE_LOSS, PANE_BLEU },
					  { PANE_SPEED, PANE_SPLIT },
					  { PANE_RATE, PANE_GRAD } };
static const enum run_pane triples[][3] = { { PANE_LOSS, PANE_BLEU, PANE_SPLIT },
					    { PANE_RATE, PANE_GRAD, PANE_SPEED } };

/* The second pair of plots if there is room for two pairs: chosen by the focus. */
static const enum run_pane *second_pair(enum run_pane focus)
{
	return pairs[focus == PANE_RATE || focus == PANE_GRAD ? 2 : 1];
}

/* One column: two rows of plots, the samples, the log. */
static void place_stacked(struct rect r, enum run_pane focus, struct rect *panes)
{
	static const struct layout_part parts[] = {
		{ 6, 16, 3, 0 }, /* loss, BLEU */
		{ 6, 16, 3, 3 }, /* other plots */
		{ 5, 0, 3, 1 },	 /* samples */
		{ 4, 0, 2, 2 },	 /* log */
	};
	struct rect out[ARRAY_LEN(parts)];
	bool many = layout_size_of(r.cols) != LAYOUT_NARROW;

	layout_rows(r, parts, ARRAY_LEN(parts), out);
	if (!out[1].rows && focus >= PANE_SPEED && focus <= PANE_GRAD)
		place_row(out[0], second_pair(focus), 2, panes);
	else if (many && out[1].rows)
		place_row(out[0], triples[0], 3, panes);
	else
		place_row(out[0], pairs[0], 2, panes);
	if (many)
		place_row(out[1], triples[1], 3, panes);
	else
		place_row(out[1], second_pair(focus), 2, panes);
	panes[PANE_SAMPLES] = out[2];
	panes[PANE_LOG] = out[3];
	/* A focused log without room takes the place of the samples. */
	if (focus == PANE_LOG && !out[3].rows) {
		panes[PANE_LOG] = out[2];
		panes[PANE_SAMPLES] = (struct rect){ 0, 0, 0, 0 };
	}
}

/* Wide terminals: text beside the plots. */
static void place_beside(struct rect r, enum run_pane focus, struct rect *panes)
{
	static const struct layout_part columns[] = { { 80, 0, 11, 0 }, { 60, 0, 9, 1 } };
	static const struct layout_part texts[] = { { 5, 0, 3, 0 }, { 4, 0, 2, 1 } };
	static const struct layout_part plots[] = { { 6, 0, 1, 0 },
						    { 6, 0, 1, 1 },
						    { 6, 0, 1, 2 } };
	struct rect sides[2], left[3], right[2];

	layout_cols(r, columns, 2, sides);
	layout_rows(sides[0], plots, 3, left);
	if (left[1].rows || focus < PANE_SPEED || focus > PANE_GRAD)
		place_row(left[0], pairs[0], 2, panes);
	else
		place_row(left[0], second_pair(focus), 2, panes);
	if (left[2].rows) {
		place_row(left[1], pairs[1], 2, panes);
		place_row(left[2], pairs[2], 2, panes);
	} else {
		place_row(left[1], second_pair(focus), 2, panes);
	}
	layout_rows(sides[1], texts, 2, right);
	panes[PANE_SAMPLES] = right[0];
	panes[PANE_LOG] = right[1];
}

/* ---- some of the panes ---- */

#define PLOT_ROWS 3 /* six plots, two or three in a row */

static bool is_text_pane(enum run_pane pane)
{
	return pane == PANE_SAMPLES || pane == PANE_LOG;
}

/* The shown panes that are plots, or texts. */
static int shown_panes(unsigned shown, bool texts, enum run_pane *out)
{
	int n = 0;

	for (int i = 0; i < PANE_COUNT; i++)
		if (shown >> i & 1 && is_text_pane((enum run_pane)i) == texts)
			out[n++] = (enum run_pane)i;
	return n;
}

/* The first plot of a row: of rows of three, the first ones have fewer, for the main curves. */
static int first_of_row(int row, int n_plots, int wide)
{
	int n_rows = (n_plots + wide - 1) / wide;

	return wide < 3 || !n_rows ? MIN(row * wide, n_plots) : row * n_plots / n_rows;
}

/*
 * Rows of plots, `wide` in each, above text panes. Rows are hidden from the last one; what has the
 * focus stays.
 */
static void place_in_rows(struct rect r, const enum run_pane *plots, int n_plots, int wide,
			  const enum run_pane *texts, int n_texts, enum run_pane focus,
			  struct rect *panes)
{
	struct layout_part parts[PLOT_ROWS + 2] = { 0 };
	struct rect out[PLOT_ROWS + 2];
	int n_rows = (n_plots + wide - 1) / wide, n = n_rows + n_texts;

	assert(n <= (int)ARRAY_LEN(parts));
	for (int i = 0; i < n; i++) {
		bool plot = i < n_rows, has_focus = false;
		int first = first_of_row(i, n_plots, wide);
		int last = plot ? first_of_row(i + 1, n_plots, wide) : 0;

		for (int k = first; k < last; k++)
			has_focus |= plots[k] == focus;
		has_focus |= !plot && texts[i - n_rows] == focus;
		parts[i] = (struct layout_part){ .min = plot ? 6 : 4,
						 .weight = 2 + plot,
						 .rank = has_focus ? 0 : i + 1 };
	}
	layout_rows(r, parts, (size_t)n, out);
	for (int i = 0; i < n; i++)
		if (i < n_rows)
			place_row(out[i], plots + first_of_row(i, n_plots, wide),
				  first_of_row(i + 1, n_plots, wide) -
					  first_of_row(i, n_plots, wide),
				  panes);
		else
			panes[texts[i - n_rows]] = out[i];
}

static void place_some(struct rect r, unsigned shown, enum run_pane focus, struct rect *panes)
{
	static const struct layout_part columns[] = { { 80, 0, 11, 0 }, { 60, 0, 9, 1 } };
	enum run_pane plots[PANE_COUNT], texts[PANE_COUNT];
	int n_plots = shown_panes(shown, false, plots), n_texts = shown_panes(shown, true, texts);
	enum layout_size size = layout_size_of(r.cols);
	struct rect sides[2];

	if (size == LAYOUT_WIDE && n_plots && n_texts) {
		layout_cols(r, columns, 2, sides);
		place_in_rows(sides[0], plots, n_plots, n_plots == 5 ? 3 : 2, texts, 0, focus,
			      panes);
		place_in_rows(sides[1], plots, 0, 2, texts, n_texts, focus, panes);
	} else {
		place_in_rows(r, plots, n_plots, size == LAYOUT_NARROW ? 2 : 3, texts, n_texts,
			      focus, panes);
	}
}

enum layout_size layout_size_of(int cols)
{
	return cols < 100 ? LAYOUT_NARROW : cols < 150 ? LAYOUT_MIDDLE : LAYOUT_WIDE;
}

/* The rows of title and facts; returns what is left of body. */
static struct rect place_header(struct rect body, struct run_layout *out)
{
	struct rect rest = { body.row + 2, body.col, body.rows - 2, body.cols };
	int half = body.cols * 2 / 5;

	out->title = (struct rect){ body.row, body.col, 1, body.cols };
	out->facts = (struct rect){ body.row + 1, body.col, 1, body.cols };
	if (body.cols < LAYOUT_ONE_HEADER)
		return rest;
	out->title.cols = half;
	out->facts = (struct rect){ body.row, body.col + half, 1, body.cols - half };
	rest.row--;
	rest.rows++;
	return rest;
}

/* The step pane as one row below all others. */
static void shorten_step(struct rect rest, unsigned shown, enum run_pane focus, struct rect *panes)
{
	memset(panes, 0, PANE_COUNT * sizeof(*panes));
	layout_forget_drawn();
	rest.rows--;
	place_some(rest, shown & ~(1u << PANE_SPLIT), focus, panes);
	panes[PANE_SPLIT] = (struct rect){ rest.row + rest.rows, rest.col, 1, rest.cols };
}

void layout_run(struct rect body, unsigned shown, enum run_pane focus, bool zoomed,
		bool is_step_short, struct run_layout *out)
{
	struct rect rest;

	assert(shown >> focus & 1);
	memset(out, 0, sizeof(*out));
	if (body.rows < LAYOUT_MIN_ROWS || body.cols < LAYOUT_MIN_COLS) {
		out->too_small = true;
		return;
	}
	rest = place_header(body, out);
	if (zoomed)
		out->panes[focus] = rest;
	else if (shown != LAYOUT_ALL_PANES)
		place_some(rest, shown, focus, out->panes);
	else if (layout_size_of(body.cols) == LAYOUT_WIDE)
		place_beside(rest, focus, out->panes);
	else
		place_stacked(rest, focus, out->panes);
	if (is_step_short && layout_size_of(body.cols) != LAYOUT_NARROW && focus != PANE_SPLIT &&
	    out->panes[PANE_SPLIT].rows)
		shorten_step(rest, shown, focus, out->panes);
}

void layout_shrink(struct rect *upper, struct rect *lower, int n)
{
	const int more = upper->rows - n;

	if (more <= 0 || !lower->rows || lower->row != upper->row + upper->rows ||
	    lower->col != upper->col || lower->cols != upper->cols)
		return;
	upper->rows -= more;
	lower->row -= more;
	lower->rows += more;
}
