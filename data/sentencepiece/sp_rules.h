/*
 * sp_rules.h - builds the rules nmt_nfkc, the default normalisation of SentencePiece.
 *
 * NFKC, as rules that replace characters and short sequences: one for each character that NFKC
 * changes, and one for each sequence that NFKC composes, in all of its compatible spellings,
 * unless shorter rules have the same effect. Further rules for translation: control characters
 * are deleted; white space, characters of zero width, U+2581 and U+FFFD become blanks; the
 * full-width tilde is not changed.
 */
#ifndef WERKBANK_DATA_SENTENCEPIECE_SP_RULES_H
#define WERKBANK_DATA_SENTENCEPIECE_SP_RULES_H

#include "share/base/buf.h"
#include "share/base/err.h"

/* Append the rules in the byte format of sp_charsmap.h. Takes about 0.3 s. */
int sp_rules_nmt_nfkc(struct buf *out, struct err *e);

#endif
