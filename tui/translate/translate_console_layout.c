/* translate_console_layout.c - places the panes of the console; see translate_console_panes.h. */
#include "tui/translate/translate_console_panes.h"

#include <string.h>

#include "share/base/util.h"
#include "tui/translate/attention_map.h"
#include "tui/translate/translate_console_words.h"
#include "tui/translate/translate_desk.h"

#define WIDE	   100 /* columns from which two sides are side by side */
#define MAP_COLS   170 /* columns from which the map is beside the lists */
#define LIST_ROWS  8   /* rows of the lists above the map */
#define MAP_ROWS   10  /* rows that the map needs below them */
#define TEXTS_ROWS 6   /* rows that the history and the terms need */
#define MANY_TEXTS 20  /* their rows at most */
#define DESK_ROWS  6   /* rows that the desk needs */

int console_sides(const struct console *c)
{
	return c->sides[1].run ? 2 : 1;
}

const struct service_part *console_shown_part(const struct console *c, int side)
{
	const struct service_translation *t = console_shown_translation(c, side);

	return service_part_at(t, side == c->side ? (size_t)c->token : 0);
}

static bool has_constraints(const struct console *c)
{
	return c->prefix || c->force.n || c->forbid.n || c->glossary.n;
}

/* Rows of the translation of a side in its box. */
static int text_rows(const struct console *c, const struct grid *g, int side, int cols)
{
	const struct service_translation *t = console_shown_translation(c, side);

	if (side == c->side && c->revision.is_edited)
		return edit_rows(&c->revision.edit, g, cols);
	return t ? console_text_rows(g, cols, t->text) : 1;
}

static int words_rows(const struct console *c, const struct grid *g, int side, int cols)
{
	const struct service_translation *t = console_shown_translation(c, side);

	return !t ? 6
		  : MAX(console_words_rows(g, console_answer(c, side), t,
					   console_shown_part(c, side), cols),
			6);
}

static void place_middle(const struct console *c, const struct grid *g, struct rect r,
			 struct console_screen *s)
{
	struct layout_part halves[] = { { 20, 0, 1, 0 }, { 20, 0, 1, 0 } };
	struct layout_part rows[2] = { { 3, 0, 0, 0 }, { 3, 0, 1, 1 } };
	struct rect cols[2], cut[2];

	layout_cols(r, halves, 2, cols);
	for (int i = 0; i < 2; i++)
		rows[0].min = MAX(rows[0].min, MIN(text_rows(c, g, i, cols[i].cols - 2) + 2, 7));
	for (int i = 0; i < 2; i++) {
		layout_rows(cols[i], rows, 2, cut);
		s->text[i] = cut[0];
		s->words[i] = cut[1];
	}
}

/* One of the extras in the place of words and lists. */
static void place_extra_alone(const struct console *c, struct rect r, struct console_screen *s,
			      enum console_extra extra)
{
	int above = s->words[c->side].rows;

	s->extra_alone = true;
	s->extras[extra] = r;
	s->extras[extra].row -= above;
	s->extras[extra].rows += above;
	memset(s->words, 0, sizeof(s->words));
	memset(&s->n_best, 0, sizeof(s->n_best));
	memset(&s->others, 0, sizeof(s->others));
}

/* The history and the terms side by side at the end of *r, if there is something to show and room. */
static void place_texts(const struct console *c, struct rect *r, struct console_screen *s)
{
	const bool shown[] = { c->wanted[EXTRA_EARLIER] == EXTRA_SHOWN ||
				       (!c->wanted[EXTRA_EARLIER] && c->input.n_history),
			       c->wanted[EXTRA_TERMS] == EXTRA_SHOWN ||
				       (!c->wanted[EXTRA_TERMS] && c->glossary.n) };
	const struct layout_part halves[] = { { shown[0] ? 30 : 0, 0, 3 * shown[0], 1 },
					      { shown[1] ? 30 : 0, 0, 2 * shown[1], 0 } };
	const bool is_wanted =
		c->wanted[EXTRA_EARLIER] == EXTRA_SHOWN || c->wanted[EXTRA_TERMS] == EXTRA_SHOWN;
	const int needed =
		LIST_ROWS + TEXTS_ROWS +
		(r->cols < MAP_COLS && !is_wanted && !c->wanted[EXTRA_MAP] ? MAP_ROWS : 0);
	struct rect texts = *r, cut[2];

	if ((!shown[0] && !shown[1]) || r->rows < needed)
		return;
	/* rows do not depend on the terms, so that nothing moves while one types */
	texts.rows = (int)MIN(shown[0] ? c->input.n_history + 2 : MANY_TEXTS, (size_t)MANY_TEXTS);
	texts.rows = MAX(MIN(texts.rows, TEXTS_ROWS + (r->rows - needed) / 2), TEXTS_ROWS);
	r->rows -= texts.rows;
	texts.row += r->rows;
	layout_cols(texts, halves, 2, cut);
	if (shown[0])
		s->extras[EXTRA_EARLIER] = cut[0];
	if (shown[1])
		s->extras[EXTRA_TERMS] = cut[1];
}

/* Without room for both, an extra is shown in the place of words and lists, if the user wants it. */
static void place_lists(const struct console *c, struct rect r, struct console_screen *s)
{
	static const struct layout_part lists[] = { { 30, 0, 3, 0 }, { 24, 0, 2, 1 }, { 0 } },
					with_map[] = { { 30, 0, 4, 0 },
						       { 24, 0, 3, 1 },
						       { 60, 0, 6, 2 } };
	const struct rect all = r;
	struct rect cut[3], *map = &s->extras[EXTRA_MAP];
	bool beside, room;

	s->extra_alone = false;
	memset(s->extras, 0, sizeof(s->extras));
	place_texts(c, &r, s);
	beside = r.cols >= MAP_COLS && r.rows >= MAP_ROWS;
	room = c->wanted[EXTRA_MAP] != EXTRA_HIDDEN && (beside || r.rows >= LIST_ROWS + MAP_ROWS);
	if (room && !beside) {
		*map = r;
		map->rows = MAX(MIN(attention_map_rows(c), r.rows - LIST_ROWS), MAP_ROWS);
		r.rows -= map->rows;
		map->row += r.rows;
	}
	layout_cols(r, room && beside ? with_map : lists, ARRAY_LEN(cut), cut);
	s->n_best = cut[0];
	s->others = cut[1];
	if (room && beside)
		*map = cut[2];
	for (int i = 0; i < CONSOLE_EXTRAS; i++)
		if (c->wanted[i] == EXTRA_SHOWN && !s->extras[i].rows) {
			memset(s->extras, 0, sizeof(s->extras));
			place_extra_alone(c, all, s, (enum console_extra)i);
			return;
		}
}

/* Without a text: the list of earlier sentences in the place of all panes but the input. */
static void place_only_earlier(struct rect body, const struct rect out[8], struct console_screen *s)
{
	struct rect *list = &s->extras[EXTRA_EARLIER];

	memset(s, 0, sizeof(*s));
	s->head = out[0];
	s->input = out[1];
	s->extra_alone = true;
	*list = out[2];
	list->rows = body.row + body.rows - list->row - out[6].rows - out[7].rows;
	s->constraints = out[6];
	s->file = out[7];
}

void console_layout(const struct console *c, const struct grid *g, struct rect body,
		    struct console_screen *s)
{
	const bool is_empty = console_is_empty(c), has_desk = desk_is_shown(c),
		   /* the desk has the source too */
		has_input = !has_desk || c->focus == CONSOLE_INPUT;
	bool two = console_sides(c) == 2, beside = two && body.cols >= WIDE;
	int inner = beside ? body.cols / 2 - 2 : body.cols - 2;
	int text0 = MIN(text_rows(c, g, 0, inner), 5) + 2,
	    text1 = two ? MIN(text_rows(c, g, 1, inner), 5) + 2 : 0, words;
	struct rect out[8];

	if (beside)
		text0 = MAX(text0, text1);
	if (has_desk)
		text0 = desk_needed_rows(c, g, inner, body.rows) + 2;
	words = words_rows(c, g, c->side, inner);
	if (beside)
		words = MAX(words, words_rows(c, g, !c->side, inner));
	words += 2;
	{
		struct layout_part parts[] = {
			{ 1, 1, 0, 3 }, /* head */
			{ has_input ? 3 : 0, MIN(edit_rows(&c->input, g, body.cols - 2), 5) + 2,
			  2 * has_input, 0 }, /* input */
			{ has_desk ? DESK_ROWS : 3, text0, beside || has_desk ? 2 : 1,
			  1 }, /* text */
			{ two && !beside ? 3 : 0, text1, two && !beside, 2 },
			{ 4, words, has_desk ? 6 : 3, 4 }, /* words */
			{ 4, 0, 1, 5 },			   /* lists */
			{ has_constraints(c), 1, 0, 2 },
			{ c->file != NULL, 1, 0, 2 },
		};

		layout_rows(body, parts, ARRAY_LEN(parts), out);
	}
	if (is_empty) {
		place_only_earlier(body, out, s);
		return;
	}
	s->head = out[0];
	s->input = out[1];
	memset(s->text, 0, sizeof(s->text));
	memset(s->words, 0, sizeof(s->words));
	if (beside) {
		struct rect middle = out[2];

		middle.rows += out[4].rows;
		place_middle(c, g, middle, s);
	} else {
		s->text[0] = out[2];
		s->text[1] = out[3];
		s->words[c->side] = out[4];
	}
	place_lists(c, out[5], s);
	s->constraints = out[6];
	s->file = out[7];
}
