/*
 * text_filter.h - the filter that users type above a list: a plain text, or a regular expression.
 *
 *	struct text_filter f = { 0 };		everything matches
 *	text_filter_set(&f, "berg", e);		texts that contain "berg"
 *	text_filter_set(&f, "~^run-[0-9]+$", e)	texts that match a regular expression (rewrite.h)
 *	text_filter_matches(&f, name)
 *	text_filter_clear(&f);
 *
 * A ~ begins a regular expression; "~~" finds the character ~. Case counts only if the filter has
 * a capital letter, not counting those of \W, \S and similar. Texts may be any bytes, from any
 * file. A match that needs too many steps counts as none, so that no pattern blocks a screen.
 */
#ifndef WERKBANK_DATA_TEXT_TEXT_FILTER_H
#define WERKBANK_DATA_TEXT_TEXT_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/err.h"

#define TEXT_FILTER_BYTES 200 /* longer filters are refused */

/* All zero: no filter. Only text may be read from outside. Must not be copied. */
struct text_filter {
	char text[TEXT_FILTER_BYTES]; /* as typed; "": everything matches */
	struct regex *regex;	      /* owned; NULL: a plain text */
	bool case_counts;
};

/*
 * Replace the filter. ERR_USAGE: it is too long, or no regular expression; ERR_NOMEM. On failure
 * the old filter stays.
 */
int text_filter_set(struct text_filter *f, const char *text, struct err *e);
void text_filter_clear(struct text_filter *f);

/* Whether a text matches. Without a filter every text does. */
bool text_filter_matches(const struct text_filter *f, const char *text);
bool text_filter_matches_bytes(const struct text_filter *f, const char *text, size_t n);

/*
 * The first match in a text that is not empty, for marking it; *n gets its bytes. NULL: no match,
 * or no filter.
 */
const char *text_filter_find(const struct text_filter *f, const char *text, size_t *n);

#endif
