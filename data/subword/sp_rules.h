/*
 * sp_rules.h - the rules of nmt_nfkc, SentencePiece's usual normalisation.
 *
 * NFKC as rules that replace characters and short sequences: each character that
 * NFKC changes, and each sequence that NFKC composes, in all of its compatible
 * spellings, unless shorter rules do the same. On top of that, as for translation:
 * controls vanish; white space, what has no width, U+2581 and U+FFFD become blanks;
 * the full-width tilde stays.
 */
#ifndef WERKBANK_DATA_SUBWORD_SP_RULES_H
#define WERKBANK_DATA_SUBWORD_SP_RULES_H

#include "share/base/buf.h"
#include "share/base/err.h"

/* Append the rules as the bytes of sp_charsmap.h. Takes a third of a second. */
int sp_rules_nmt_nfkc(struct buf *out, struct err *e);

#endif
