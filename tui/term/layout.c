/* layout.c - divides space among parts; places the panes of the run view. See layout.h. */
#include "tui/term/layout.h"

#include <assert.h>
#include <string.h>

#include "share/base/util.h"

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
	for (size_t i = 0; i < n; i++) {
		out[i] = (struct rect){ at, r.col, sizes[i], sizes[i] ? r.cols : 0 };
		at += sizes[i];
	}
}

void layout_cols(struct rect r, const struct layout_part *parts, size_t n, struct rect *out)
{
	int sizes[LAYOUT_MAX_PARTS], at = r.col;

	layout_divide(r.cols, parts, n, sizes);
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
	bool many = r.cols >= 100;

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

void layout_run(struct rect body, enum run_pane focus, bool zoomed, struct run_layout *out)
{
	struct rect rest = { body.row + 2, body.col, body.rows - 2, body.cols };

	memset(out, 0, sizeof(*out));
	if (body.rows < LAYOUT_MIN_ROWS || body.cols < LAYOUT_MIN_COLS) {
		out->too_small = true;
		return;
	}
	out->title = (struct rect){ body.row, body.col, 1, body.cols };
	out->facts = (struct rect){ body.row + 1, body.col, 1, body.cols };
	if (zoomed)
		out->panes[focus] = rest;
	else if (body.cols >= 150)
		place_beside(rest, focus, out->panes);
	else
		place_stacked(rest, focus, out->panes);
}
