/* sample_text.c - draws words with marks; see sample_text.h. */
#include "tui/views/sample_text.h"

#include <stdio.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/run/word_diff.h"
#include "tui/term/draw.h"

#define LONGEST_WORD 2100 /* bytes; the rest of a longer word is not drawn */

/* Where text is drawn, and what of it is visible. */
struct text_place {
	struct span at;
	int rows, skip; /* visible lines, and lines above them */
	int line, col;	/* of the end of the text so far */
};

static void put_text_part(struct grid *g, const struct text_place *p, const char *text, size_t n,
			  enum style style)
{
	int row = p->line - p->skip;

	if (row >= 0 && row < p->rows)
		grid_text_part(g,
			       (struct span){ p->at.row + row, p->at.col + p->col,
					      p->at.width - p->col, style },
			       text, n, 0);
}

/* Put a word after the text; one that is wider than a line fills several, as words of Chinese do. */
static void put_sample_word(struct grid *g, struct text_place *p, const char *word,
			    enum style style)
{
	int width = grid_text_width(g, word);

	if (p->col && p->col + 1 + width > p->at.width) {
		p->line++;
		p->col = 0;
	}
	p->col += p->col > 0;
	while (width > p->at.width - p->col) {
		int columns;
		size_t n = grid_text_fit(g, word, p->at.width - p->col, &columns);

		if (!n)
			break;
		put_text_part(g, p, word, n, style);
		word += n;
		width -= columns;
		p->line++;
		p->col = 0;
	}
	put_text_part(g, p, word, strlen(word), style);
	p->col += width;
}

int sample_text_wrapped(struct grid *g, struct span at, int rows, int skip, const char *text,
			struct sample_marks marks)
{
	static struct word_part parts[WORD_DIFF_MAX], wrong[WORD_DIFF_MAX];
	struct text_place place = { .at = at, .rows = rows, .skip = skip };
	size_t n = word_diff(text, marks.other, parts);
	bool selected = at.style == STYLE_SELECTED;

	if (at.width < 1)
		return 1;
	word_diff(text, rows > 0 ? marks.reference : NULL, wrong);
	for (size_t i = 0; i < n; i++) {
		char word[LONGEST_WORD];
		bool first = parts[i].differs && (!i || !parts[i - 1].differs);

		snprintf(word, sizeof(word), "%s%.*s", first ? "+" : "",
			 (int)MIN(parts[i].len, sizeof(word) - 2), text + parts[i].at);
		put_sample_word(g, &place, word,
				selected	   ? at.style
				: wrong[i].differs ? STYLE_WRONG
				: parts[i].differs ? STYLE_ADDED
						   : at.style);
	}
	return place.line + 1;
}

void sample_text_line(struct grid *g, struct span at, int skip, const char *text,
		      const char *reference)
{
	static struct word_part parts[WORD_DIFF_MAX];
	size_t n = word_diff(text, reference, parts);
	int col = -skip;

	draw_text_from(g, at, text, skip);
	for (size_t i = 0; i < n && col < at.width; i++) {
		size_t bytes = parts[i].len, before = i ? parts[i - 1].at + parts[i - 1].len : 0;
		char word[LONGEST_WORD];

		col += (int)(parts[i].at - before); /* blanks */
		snprintf(word, sizeof(word), "%.*s", (int)MIN(bytes, sizeof(word) - 1),
			 text + parts[i].at);
		if (parts[i].differs && col < at.width)
			draw_text_from(g,
				       (struct span){ at.row, at.col + MAX(col, 0),
						      at.width - MAX(col, 0), STYLE_WRONG },
				       word, MAX(-col, 0));
		col += grid_text_width(g, word);
	}
}
