/*
 * text.h - UTF-8, numbers, names.
 *
 * Input is untrusted bytes until utf8_valid() has accepted it. Nothing here
 * allocates or depends on the locale.
 */
#ifndef WERKBANK_SHARE_BASE_TEXT_H
#define WERKBANK_SHARE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"

/*
 * Length of the longest prefix that is well-formed UTF-8 (Unicode 15, table 3-7: no surrogates, no
 * overlong forms).
 */
size_t utf8_valid_prefix(const char *text, size_t n);

static inline bool utf8_valid(const char *text, size_t n)
{
	return utf8_valid_prefix(text, n) == n;
}

/* Decode the character at text, which must be well-formed and n >= 1: returns its bytes (1..4). */
size_t utf8_decode(const char *text, size_t n, uint32_t *codepoint);

/* Write codepoint as UTF-8 into out[4]; returns the bytes (1..4). */
size_t utf8_encode(uint32_t codepoint, char *out);

/* Number of characters in well-formed text. */
size_t utf8_count(const char *text, size_t n);

/* Append text to b with every byte that is not part of well-formed UTF-8 replaced by U+FFFD. */
void utf8_repair(struct buf *b, const char *text, size_t n);

/* Bytes of a byte order mark (U+FEFF) at the start of a text: 3, or 0. */
size_t utf8_mark_bytes(const char *text, size_t n);

/* Convert a text that is a number and nothing else; false for "12abc", "", " 1". */
bool text_to_int(const char *text, int64_t *value);
bool text_to_real(const char *text, double *value);

/*
 * The candidate with the smallest edit distance to word, NULL if even that distance is large.
 * Borrowed.
 */
const char *text_nearest(const char *word, const char *const *candidates, size_t n);

/* " (did you mean NEAREST?)" for the end of a message, "" when nearest is NULL. Returns out. */
#define TEXT_HINT_MAX 160
const char *text_hint(char out[TEXT_HINT_MAX], const char *nearest);

/* Cut blanks (space, tab, CR, LF) off both ends in place; returns the new start. */
char *text_trim(char *text);

/* Does an address hold a password, "scheme://user:password@host/…"? */
bool text_has_password(const char *address);

/* Append a word as a shell reads it: quoted where needed. */
void text_quote_shell(struct buf *out, const char *word);

/* "s", or "" for one: the end of a regular noun after its number, "%d rank%s". */
static inline const char *text_plural(double n)
{
	return n == 1 ? "" : "s";
}

bool text_starts_with(const char *text, const char *prefix);
bool text_ends_with(const char *text, const char *suffix);

#endif
