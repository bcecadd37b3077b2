/* sp_unicode.h - what SentencePiece asks of Unicode: decomposing, composing, scripts (by ICU). */
#ifndef WERKBANK_DATA_SUBWORD_SP_UNICODE_H
#define WERKBANK_DATA_SUBWORD_SP_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"

struct sp_unicode;

struct sp_unicode *sp_unicode_open(struct err *e);
void sp_unicode_close(struct sp_unicode *u);

/*
 * The full compatibility decomposition (NFKD) of one character, as UTF-8 in to (cleared first).
 * false: it has none.
 */
bool sp_unicode_decompose(struct sp_unicode *u, uint32_t c, struct buf *to);

/* NFKC of well-formed UTF-8, in to (cleared first). */
int sp_unicode_compose(struct sp_unicode *u, const char *text, size_t n, struct buf *to,
		       struct err *e);

/*
 * A number for the script that may stand together in a piece: Han, Hiragana and Katakana are one;
 * -1 for a character that takes the script of the one before (Inherited).
 */
int sp_unicode_script(uint32_t c);

#endif
