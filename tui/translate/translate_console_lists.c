/*
 * translate_console_lists.c - draws earlier sentences and the terms of the glossary; see
 * translate_console_lists.h.
 */
#include "tui/translate/translate_console_lists.h"

#include <stdio.h>

#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/term/draw.h"
#include "tui/term/list_widget.h"

#define FOOT_ROWS 2 /* of the list while there is no text */

void console_draw_earlier(struct console *c, struct grid *g, struct rect box)
{
	struct rect in = layout_inside(box);
	bool focused = c->focus == CONSOLE_PANE_EARLIER, is_empty = console_is_empty(c);
	size_t n = console_earlier_count(c);
	struct list_row row;
	int col;

	if (box.rows < 3 || box.cols < 3)
		return;
	draw_box(g, box, "earlier sentences", focused);
	if (!n) {
		draw_note(g, in, STYLE_DIM, "texts that you have typed are listed here");
		return;
	}
	if (is_empty && in.rows > FOOT_ROWS + 1) {
		in.rows -= FOOT_ROWS;
		draw_text(g, in.row + in.rows + FOOT_ROWS - 1, in.col + 2, in.cols - 3, STYLE_DIM,
			  "Enter translates the marked sentence, Esc and the arrow keys mark "
			  "another");
	}
	row = list_rows(g, in, &c->earlier, n, focused);
	while (list_row_next(&row)) {
		if (row.is_at && is_empty && !focused)
			list_widget_draw_chosen(g, in, row.row, false);
		col = 2;
		if (row.i >= c->input.n_history)
			col += draw_text(g, row.row, in.col + 2, in.cols - 2, STYLE_DIM,
					 "example") +
			       1;
		row_text(&row, col, 0, STYLE_NORMAL, console_earlier_at(c, row.i));
	}
	list_widget_draw_place(g, box, &c->earlier);
}

/* ---- terms of the glossary ---- */

/* Whether the translation on the screen has the words of the target. */
static bool is_term_used(const struct console *c, const struct glossary_term *x)
{
	const struct service_translation *t = console_shown_translation(c, c->side);

	return t && glossary_has_words(t->text, x->target, false);
}

void console_draw_terms_row(const struct console *c, struct grid *g, int row, int at, int right)
{
	size_t found[GLOSSARY_OF_A_TEXT], n = console_find_terms(c, found);
	char text[80], count[NUMBER_TEXT_BYTES];

	if (!c->glossary.n)
		return;
	snprintf(text, sizeof(text), "glossary of %s term%s%s",
		 format_count(count, (int64_t)c->glossary.n), text_plural((int64_t)c->glossary.n),
		 n ? ":" : "");
	at += draw_text(g, row, at, right - at + 1, STYLE_DIM, text) + 1;
	for (size_t i = 0; i < n && at < right; i++) {
		const struct glossary_term *x = &c->glossary.terms[found[i]];
		bool is_used = is_term_used(c, x);

		grid_put(g, row, at, is_used ? STYLE_GOOD : STYLE_WARN, is_used ? 0x2713 : '?');
		at += 2 + draw_text(g, row, at + 2, right - at - 1, STYLE_NORMAL, x->source) + 1;
		at += draw_text(g, row, at, right - at + 1, STYLE_BRIGHT, x->target) + 2;
	}
}

/* Why no terms are listed; NULL: they are. */
static const char *no_terms_text(const struct console *c, size_t n)
{
	if (!c->glossary.n)
		return "no glossary: t adds a term, or reads a file of terms";
	return n ? NULL : "no term of the glossary is in this text";
}

static void draw_term(const struct list_row *row, const struct console *c, size_t term)
{
	const struct glossary_term *x = &c->glossary.terms[term];
	bool is_used = is_term_used(c, x);
	int half = (row->cols - 4) / 2;

	if (half < 2)
		return;
	row_sign(row, 2, is_used ? STYLE_GOOD : STYLE_WARN, is_used ? 0x2713 : '?');
	row_text(row, 4, half - 1, STYLE_NORMAL, x->source);
	row_text(row, 4 + half, 0, STYLE_BRIGHT, x->target);
}

void console_draw_terms(struct console *c, struct grid *g, struct rect box)
{
	size_t found[GLOSSARY_OF_A_TEXT], n;
	struct list_row row;
	struct rect in = layout_inside(box);
	bool focused = c->focus == CONSOLE_PANE_TERMS;
	static const struct legend signs[] = { { 0x2713, STYLE_GOOD, "used", "" },
					       { '?', STYLE_WARN, "not used", "" } };
	char title[80], count[NUMBER_TEXT_BYTES];
	const char *why;

	if (box.rows < 3 || box.cols < 3)
		return;
	n = console_find_terms(c, found);
	snprintf(title, sizeof(title), "glossary of %s term%s",
		 format_count(count, (int64_t)c->glossary.n), text_plural((int64_t)c->glossary.n));
	draw_box(g, box, title, focused);
	if ((why = no_terms_text(c, n))) {
		draw_note(g, in, STYLE_DIM, why);
		return;
	}
	draw_legend(g, box, title, signs, ARRAY_LEN(signs));
	row = list_rows(g, in, &c->terms, n, focused);
	while (list_row_next(&row))
		draw_term(&row, c, found[row.i]);
	list_widget_draw_place(g, box, &c->terms);
}
