/*
 * sp_normalize.h - a raw line as SentencePiece's encoder sees it.
 *
 * Rules (sp_charsmap.h) replace characters; then, as the model says, blanks at
 * both ends go, rows of them become one, one stands before the first word, and
 * all are written as U+2581. User-defined symbols stay as they are.
 */
#ifndef WERKBANK_DATA_SUBWORD_SP_NORMALIZE_H
#define WERKBANK_DATA_SUBWORD_SP_NORMALIZE_H

#include <stdbool.h>

#include "data/subword/sp_charsmap.h"
#include "share/base/buf.h"
#include "share/base/err.h"

#define SP_SPACE       "\xE2\x96\x81" /* U+2581 */
#define SP_SPACE_BYTES 3

struct sp_normalizer {
	struct charsmap rules;	 /* owned; no units: characters stay as they are */
	struct charsmap symbols; /* owned: user-defined symbols; no units: none */
	bool add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces;
	bool is_space_suffix; /* the dummy stands at the end */
};

/*
 * Append the normalised text. *needs_lookahead, unless NULL, becomes true when text cannot be normalised
 * without knowing what is behind it: a blank there might make a rule longer, or text holds U+2581
 * that stays what it is.
 */
int sp_normalize(const struct sp_normalizer *z, const char *text, size_t n, struct buf *out,
		 bool *needs_lookahead, struct err *e);
void sp_normalizer_free(struct sp_normalizer *z);

#endif
