/*
 * icu.h - facts of Unicode, from ICU: the script of a character, NFKC and NFKD; other encodings to UTF-8.
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

/* Properties of a character, by its general category or property. */
bool icu_is_letter(uint32_t c);
bool icu_is_upper(uint32_t c);
bool icu_is_lower(uint32_t c);
uint32_t icu_to_lower(uint32_t c); /* the lower-case letter; c itself if there is none */
bool icu_is_digit(uint32_t c);
bool icu_is_white_space(uint32_t c);
bool icu_is_punctuation(uint32_t c);
/* A quotation mark, or a bracket that closes. */
bool icu_is_closing_mark(uint32_t c);

/* Boundaries of sentences, for one language and one thread. */
struct icu_breaks;

struct icu_breaks *icu_breaks_new(const char *language, struct err *e); /* NULL: failure */
void icu_breaks_free(struct icu_breaks *b);
/*
 * The ends of the sentences of n bytes of well-formed UTF-8, each with the blanks after it, by UAX 29:
 * (*n_ends) in *ends, grown with mem_grow(). The last one is n; an empty text has none.
 */
int icu_breaks_find(struct icu_breaks *b, const char *text, size_t n, size_t **ends, size_t *n_ends,
		    size_t *cap, struct err *e);

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

/* ---- text in another encoding, see encoding.h ---- */

/* Name number i of the encodings that ICU knows, aliases included; NULL past the end. */
const char *icu_encoding_name(size_t i);
/* Does ICU know the encoding, by any of its names? */
bool icu_encoding_exists(const char *name);
/* Do both names mean one encoding? */
bool icu_is_same_encoding(const char *a, const char *b);

struct icu_converter; /* for one thread */

/* The encoding must exist. Loads its tables, so that later no file is read. NULL: failure. */
struct icu_converter *icu_converter_new(const char *encoding, struct err *e);
void icu_converter_free(struct icu_converter *u);

/*
 * Convert *n bytes at *from, appending UTF-8 to `to`; both advance past what was read. is_last: no bytes
 * follow. 0: all was read; 1: stopped after bytes that are nothing in the encoding, which
 * icu_invalid_bytes() returns; call again for the rest. < 0: failure.
 */
int icu_convert(struct icu_converter *u, const char **from, size_t *n, bool is_last, struct buf *to,
		struct err *e);
size_t icu_invalid_bytes(const struct icu_converter *u, unsigned char bytes[8]);

#endif
