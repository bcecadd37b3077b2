/*
 * icu.h - facts of Unicode, from ICU: the script of a character, NFKC and NFKD.
 *
 * icu.c is the only file that includes headers of ICU. Which version of Unicode counts depends on
 * the installed ICU; later versions add characters, and change existing ones hardly ever.
 */
#ifndef WERKBANK_DATA_TEXT_ICU_H
#define WERKBANK_DATA_TEXT_ICU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/text/scripts.h"
#include "share/base/buf.h"
#include "share/base/err.h"

/* The script of a letter (general category L); SCRIPT_NONE: the character is not a letter. */
enum script icu_letter_script(uint32_t c);

/*
 * The script of any character, numbered as in ICU and as SentencePiece groups scripts: Han,
 * Hiragana and Katakana are one. -1: Inherited, the script of the character before it.
 */
int icu_piece_script(uint32_t c);

struct icu_normalizer; /* for one thread */

struct icu_normalizer *icu_normalizer_new(struct err *e); /* NULL: failure */
void icu_normalizer_free(struct icu_normalizer *u);

/*
 * The full compatibility decomposition (NFKD) of one character, as UTF-8 in to (cleared first).
 * false: the character has none.
 */
bool icu_decompose(struct icu_normalizer *u, uint32_t c, struct buf *to);

/* NFKC of n bytes of well-formed UTF-8, in to (cleared first). */
int icu_compose(struct icu_normalizer *u, const char *text, size_t n, struct buf *to,
		struct err *e);

#endif
