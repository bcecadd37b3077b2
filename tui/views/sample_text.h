/* sample_text.h - a translation with its differences from other texts, for Samples and Run. */
#ifndef WERKBANK_TUI_VIEWS_SAMPLE_TEXT_H
#define WERKBANK_TUI_VIEWS_SAMPLE_TEXT_H

#include "tui/term/grid.h"

/* Texts that a translation is compared with; NULL: none. */
struct sample_marks {
	const char *other;     /* words that it lacks have another style and a + before them */
	const char *reference; /* words that it lacks are underlined */
};

/*
 * Draw words wrapped to the width of the span, with marks, without the first skip lines. Draws at most
 * rows lines (0: none); returns the lines of the whole text.
 */
int sample_text_wrapped(struct grid *g, struct span at, int rows, int skip, const char *text,
			struct sample_marks marks);

/* Draw one line without its first skip columns; words that reference lacks are underlined. */
void sample_text_line(struct grid *g, struct span at, int skip, const char *text,
		      const char *reference);

#endif
