/*
 * text_layout.h - the texts of a request as lines to translate, and the translated texts with their line ends and blanks
 *
 * A text is translated line by line, as "werkbank translate" does it. White space around a line, empty lines and line ends
 * (LF, CR LF) are kept as they are.
 */
#ifndef WERKBANK_EVAL_SERVER_TEXT_LAYOUT_H
#define WERKBANK_EVAL_SERVER_TEXT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "eval/server/translation_queue.h"
#include "share/base/buf.h"
#include "share/base/err.h"

/* A line of a text: what is kept before it, and its number among the texts of the job. */
struct layout_piece {
	size_t input;	   /* number of the text */
	size_t at, n_kept; /* bytes of `kept` before the line */
	size_t n_chars;	   /* of the line */
	size_t unit;	   /* text of the job; LAYOUT_NONE: the piece is the end of the text */
};
#define LAYOUT_NONE ((size_t)-1)

struct text_layout {
	struct buf kept;
	struct layout_piece *pieces; /* (n) owned */
	size_t n, cap, n_inputs;
};

/* Adds a text: its lines become texts of the job; with is_whole it is one line. */
int layout_add(struct text_layout *l, struct translation_job *job, const char *text, bool is_whole,
	       struct err *e);
/* Adds a text that is not translated. */
int layout_add_kept(struct text_layout *l, const char *text, struct err *e);
/* Appends version h (from 0, best first) of the translation of text number `input`. */
void layout_write(const struct text_layout *l, const struct translation_job *job, size_t input,
		  size_t h, struct buf *out);
void layout_free(struct text_layout *l);

#endif
