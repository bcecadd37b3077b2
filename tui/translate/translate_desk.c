/* translate_desk.c - draws sentences in two columns; see translate_desk.h. */
#include "tui/translate/translate_desk.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/term/draw.h"
#include "tui/translate/translate_console_words.h"

#define BAR_COLS     5
#define PERCENT_COLS 5	 /* "100%" with a blank */
#define WIDE_DESK    100 /* columns from which the bar has a number */
#define NARROW_DESK  40	 /* columns below which there is no bar */

/* A sentence of the desk. */
struct desk_row {
	const char *source, *target;
	double quality; /* NaN: unknown */
	const struct service_translation
		*t; /* shades the target, from token `first` on; NULL: nothing does */
	size_t first;
	bool is_current, is_stored;
	bool is_edited; /* the user's words, drawn by their editor */
};

/* Columns of the desk. */
struct desk_columns {
	int number, source, target, bar; /* first columns, in the box */
	int text_cols;			 /* of source and target */
	bool has_bar, has_percent;
};

static struct desk_columns place_columns(int cols)
{
	struct desk_columns d = { .number = 1, .source = 6 };
	int bar;

	d.has_bar = cols >= NARROW_DESK;
	d.has_percent = cols >= WIDE_DESK;
	bar = d.has_bar ? 1 + BAR_COLS + (d.has_percent ? PERCENT_COLS : 0) + 1 : 0;
	d.text_cols = MAX((cols - d.source - 3 - bar) / 2, 1);
	d.target = d.source + d.text_cols + 3;
	d.bar = d.target + d.text_cols + 1;
	return d;
}

bool desk_is_shown(const struct console *c)
{
	const struct service_translation *t = console_shown_translation(c, 0);

	if (c->sides[1].run)
		return false;
	return c->document || (t && t->n_parts > 1 && !c->revision.is_edited);
}

static size_t count_rows(const struct console *c)
{
	return c->document ? c->document->n : console_shown_translation(c, 0)->n_parts;
}

static size_t current_row(const struct console *c)
{
	const struct service_translation *t = console_shown_translation(c, 0);

	return c->document ? c->document->at
			   : (size_t)(service_part_at(t, (size_t)c->token) - t->parts);
}

/* A sentence of the document; false: an empty line. */
static bool read_document_row(const struct console *c, size_t i, struct desk_row *r)
{
	const struct document *d = c->document;
	const bool is_stored = i < d->n_chosen;

	*r = (struct desk_row){ .source = d->sources[i],
				.target = is_stored ? d->chosen[i] : d->drafts[i],
				.quality = d->qualities[i],
				.is_stored = is_stored,
				.is_current = i == d->at };
	if (!r->is_current)
		return !document_is_blank(d, i);
	r->source = edit_text(&c->input);
	if (c->revision.is_edited) {
		r->target = edit_text(&c->revision.edit);
		r->is_edited = c->focus == CONSOLE_PANE_TEXT || !is_stored ||
			       strcmp(r->target, d->chosen[i]) != 0;
	} else if (console_shown_translation(c, 0) && !console_is_outdated(c, 0)) {
		r->t = console_shown_translation(c, 0);
		r->target = r->t->text;
		r->quality = r->t->quality;
	}
	return true;
}

/* Sentence i; false: it has no row. */
static bool read_desk_row(const struct console *c, size_t i, struct desk_row *r)
{
	const struct service_translation *t = console_shown_translation(c, 0);
	const struct service_part *p;

	if (c->document)
		return read_document_row(c, i, r);
	p = &t->parts[i];
	*r = (struct desk_row){ .source = p->source,
				.target = p->text,
				.quality = p->quality,
				.t = t,
				.first = p->first,
				.is_current = i == current_row(c) };
	return true;
}

/* Rows of the screen that sentence i needs; 0: it has none. */
static int row_height(const struct console *c, const struct grid *g, const struct desk_columns *d,
		      size_t i)
{
	struct desk_row r;
	int rows;

	if (!read_desk_row(c, i, &r))
		return 0;
	rows = console_text_rows(g, d->text_cols, r.source);
	if (r.is_edited)
		return MAX(rows, edit_rows(&c->revision.edit, g, d->text_cols));
	return MAX(rows, r.target ? console_text_rows(g, d->text_cols, r.target) : 1);
}

int desk_needed_rows(const struct console *c, const struct grid *g, int cols, int most)
{
	const struct desk_columns d = place_columns(cols);
	int rows = 0;

	for (size_t i = 0; i < count_rows(c) && rows < most; i++)
		rows += row_height(c, g, &d, i);
	return MIN(rows, most);
}

/* The first sentence on the screen: the current one has those after it in about half of the rows. */
static size_t first_row(const struct console *c, const struct grid *g, const struct desk_columns *d,
			int rows)
{
	size_t first = current_row(c), i;
	int after = 0, height;

	rows -= row_height(c, g, d, first);
	for (i = first + 1; i < count_rows(c) && after < rows - rows / 2; i++)
		after += row_height(c, g, d, i);
	rows -= MIN(after, rows - rows / 2);
	for (; first > 0 && (height = row_height(c, g, d, first - 1)) <= rows; first--)
		rows -= height;
	return first;
}

static void draw_quality_bar(struct grid *g, int row, int col, const struct desk_columns *d,
			     const struct desk_row *r)
{
	char percent[16], sign;

	if (r->is_edited)
		draw_text(g, row, col, BAR_COLS, STYLE_WARN, "edit");
	if (r->is_edited || isnan(r->quality))
		return;
	draw_bar(g, row, col, BAR_COLS, r->quality);
	snprintf(percent, sizeof(percent), "%.0f%%", 100 * r->quality);
	if (d->has_percent)
		draw_text_right(g, row, col + BAR_COLS + PERCENT_COLS - 1, PERCENT_COLS,
				token_shade(log(r->quality), &sign), percent);
}

/* Draw a sentence into `rows` rows from the first one of `in`. */
static void draw_row(struct console *c, struct grid *g, struct rect in,
		     const struct desk_columns *d, size_t i, int rows)
{
	struct rect source = { in.row, in.col + d->source, rows, d->text_cols },
		    target = { in.row, in.col + d->target, rows, d->text_cols };
	struct desk_row r;
	char number[24];

	read_desk_row(c, i, &r);
	if (r.is_current)
		grid_put(g, in.row, in.col, STYLE_FOCUS, 0x25B8);
	else if (r.is_stored)
		grid_put(g, in.row, in.col, STYLE_GOOD, 0x2713);
	snprintf(number, sizeof(number), "%zu", i + 1);
	draw_text_right(g, in.row, in.col + d->source - 2, d->source - 2,
			r.is_current ? STYLE_BRIGHT : STYLE_DIM, number);
	console_draw_shaded(g, source, r.source, NULL, 0,
			    r.is_current ? STYLE_BRIGHT : STYLE_NORMAL);
	for (int k = 0; k < rows; k++)
		grid_put(g, in.row + k, target.col - 2, STYLE_BORDER, 0x2502);
	if (r.is_edited)
		edit_draw(&c->revision.edit, g, target, STYLE_BRIGHT,
			  c->focus == CONSOLE_PANE_TEXT);
	else if (r.target)
		console_draw_shaded(g, target, r.target, r.t, r.first,
				    r.is_stored ? STYLE_NORMAL : STYLE_DIM);
	else if (r.is_current)
		draw_text(g, target.row, target.col, target.cols, STYLE_DIM, "translating");
	if (d->has_bar)
		draw_quality_bar(g, in.row, in.col + d->bar, d, &r);
}

void desk_draw(struct console *c, struct grid *g, struct rect box)
{
	const struct rect in = layout_inside(box);
	const struct desk_columns d = place_columns(in.cols);
	const size_t n = count_rows(c), first = first_row(c, g, &d, in.rows);
	struct rect left = in;
	size_t i;

	for (i = first; i < n && left.rows > 0; i++) {
		const int rows = MIN(row_height(c, g, &d, i), left.rows);

		if (rows)
			draw_row(c, g, left, &d, i, rows);
		left.row += rows;
		left.rows -= rows;
	}
	if (d.has_bar)
		draw_text(g, box.row + box.rows - 1, box.col + 2, box.cols / 2, STYLE_DIM,
			  " bar: mean probability of a token ");
	draw_hidden_rows(g, box, (int)MIN(first, (size_t)1000000),
			 (int)MIN(n - i, (size_t)1000000));
}
