/*
 * sp_normalize.h - normalises raw text before SentencePiece splits it.
 *
 * Rules (sp_charsmap.h) replace characters. Then, by options of the model, blanks are removed at
 * both ends, runs of blanks become one, a blank is put before the first word, and all blanks
 * become U+2581. User-defined symbols do not change.
 */
#ifndef WERKBANK_DATA_SENTENCEPIECE_SP_NORMALIZE_H
#define WERKBANK_DATA_SENTENCEPIECE_SP_NORMALIZE_H

#include <stdbool.h>

#include "data/sentencepiece/sp_charsmap.h"
#include "share/base/buf.h"
#include "share/base/err.h"

#define SP_SPACE       "\xE2\x96\x81" /* U+2581 */
#define SP_SPACE_BYTES 3

struct sp_normalizer {
	struct charsmap rules;	 /* owned; no units: no character is replaced */
	struct charsmap symbols; /* owned: user-defined symbols; no units: none */
	bool add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces;
	bool is_space_suffix; /* the dummy blank is at the end */
};

/*
 * Append the normalised text. *needs_lookahead (may be NULL) becomes true if text cannot be
 * normalised word by word: a blank after it could match a longer rule, or the result holds a
 * literal U+2581.
 */
int sp_normalize(const struct sp_normalizer *z, const char *text, size_t n, struct buf *out,
		 bool *needs_lookahead, struct err *e);
void sp_normalizer_free(struct sp_normalizer *z);

#endif
