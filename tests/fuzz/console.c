/* console.c - targets for answers of the translator and for typed keys; see fuzz.h */
#include <stdbool.h>
#include <string.h>

#include "share/base/text.h"
#include "share/base/util.h"
#include "tests/fuzz/fuzz.h"
#include "tui/term/edit.h"
#include "tui/term/keys.h"
#include "tui/translate/service.h"
#include "tui/translate/translate_console.h"
#include "tui/translate/translate_console_panes.h"
#include "tui/translate/translate_console_words.h"

/* Drawing writes into the rectangle and, for the count of hidden rows, into its lower border. */
static void only_inside(const struct grid *g, struct rect r)
{
	for (int row = 0; row < g->rows; row++)
		for (int col = 0; col < g->cols; col++)
			property((row >= r.row && row <= r.row + r.rows && col >= r.col &&
				  col < r.col + r.cols) ||
				 grid_at(g, row, col)->ch == ' ');
}

/* ---- answers: the values read agree with each other, and can be drawn ---- */

static void draw_answer(const struct service_answer *a, struct rect r)
{
	struct grid g = { .charset = GRID_ASCII };
	struct err e;

	if (grid_resize(&g, r.rows + 2, r.cols + 2, &e))
		return;
	for (size_t i = 0; i < a->n; i++) {
		const struct service_translation *t = &a->translations[i];
		const size_t token = i % (t->n + 1);
		struct console_words how = { .part = service_part_at(t, token),
					     .token = (int)token,
					     .focused = true };
		struct buf text = { 0 };

		for (size_t k = 0; k < t->n; k++)
			property(t->tokens[k] && t->aligned[k] >= -1 &&
				 t->aligned[k] < (int)a->n_source);
		grid_clear(&g);
		console_draw_words(&g, r, a, t, &how);
		console_draw_text(&g, r, t, &a->translations[0]);
		console_draw_line(&g, (struct span){ r.row, r.col, r.cols, STYLE_NORMAL }, t->text,
				  a->translations[0].text);
		only_inside(&g, r);
		property(console_text_rows(&g, r.cols, t->text) >= 1);
		for (size_t k = 0; k < t->n_parts; k++)
			property(t->parts[k].first + t->parts[k].n <= t->n &&
				 t->parts[k].first_source + t->parts[k].n_source <= a->n_source);
		console_text_before(t, t->n, &text);
		buf_free(&text);
	}
	grid_free(&g);
}

FUZZ(answer)
{
	struct service_answer a;
	struct err e;

	if (service_answer_read(&a, (const char *)data, n, &e))
		return 0;
	property(a.error || a.n >= 1);
	for (size_t i = 0; i < a.n_alternatives; i++)
		property(a.alternatives[i].piece && a.alternatives[i].word);
	if (!a.error) {
		draw_answer(&a, (struct rect){ 1, 1, 8, 30 });
		draw_answer(a.words, (struct rect){ 1, 1, 8, 30 });
		draw_answer(&a, (struct rect){ 1, 1, 1, 1 });
	}
	service_answer_free(&a);
	return 0;
}

/* ---- the line editor: each byte is a key ---- */

static int key_of(uint8_t byte)
{
	static const int others[] = {
		0xE4,		0x301,	       0x323,	       0x65E5,		 0x1F600,
		0x200D,		0xFE0F,	       0xD800,	       0x10FFFF,	 0xFFFD,
		0x9B,		0xA0,	       KEY_NAME_UP,    KEY_NAME_DOWN,	 KEY_NAME_LEFT,
		KEY_NAME_RIGHT, KEY_NAME_HOME, KEY_NAME_END,   KEY_NAME_DELETE,	 KEY_ALT | 'b',
		KEY_ALT | 'f',	KEY_ALT | 'd', KEY_ALT | 0x7F, KEY_NAME_PAGE_UP,
	};

	return byte < 0x80 ? byte : others[byte % ARRAY_LEN(others)];
}

static void check_edit(const struct edit *d)
{
	const char *text = edit_text(d);

	property(d->text.len == strlen(text) && d->text.len <= EDIT_MAX);
	property(d->at <= d->text.len && utf8_valid(text, d->text.len));
	property(((unsigned char)text[d->at] & 0xC0) != 0x80);
	for (const char *p = text; *p; p++)
		property((unsigned char)*p >= 0x20 && *p != 0x7F);
}

FUZZ(edit)
{
	struct edit d = { 0 };
	struct grid g = { .charset = GRID_ASCII };
	struct err e;

	n = MIN(n, (size_t)2000);
	for (size_t i = 0; i < n; i++) {
		enum edit_result r = edit_key(&d, key_of(data[i]));

		if (r == EDIT_DONE)
			edit_remember(&d, edit_text(&d), &e);
		else if (r == EDIT_LEFT && i + 20 < n) {
			char part[21] = { 0 };

			memcpy(part, data + i + 1, 20);
			edit_paste(&d, part);
		}
		check_edit(&d);
		if (i % 16 == 0) {
			struct rect r2 = { 1, 1, 1 + data[i] % 4, 1 + data[i] % 37 };

			if (grid_resize(&g, r2.rows + 2, r2.cols + 2, &e))
				break;
			edit_draw(&d, &g, r2, STYLE_NORMAL, true);
			only_inside(&g, r2);
			edit_point(&d, &g, r2, data[i] % 5, data[i] % 40);
			check_edit(&d);
		}
	}
	grid_free(&g);
	edit_close(&d);
	return 0;
}
