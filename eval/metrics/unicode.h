/*
 * unicode.h - character classes, white space and lower case, as sacreBLEU uses them.
 *
 * White space and lower case are those of Python (str.split, str.lower), classes those of Python's
 * regex module. Text must be well-formed UTF-8.
 */
#ifndef WERKBANK_EVAL_METRICS_UNICODE_H
#define WERKBANK_EVAL_METRICS_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"

enum unicode_class { UNICODE_OTHER, UNICODE_P, UNICODE_S, UNICODE_N };

/* Punctuation (P), symbol (S), number (N) or another class. */
enum unicode_class unicode_class(uint32_t c);

/* Bytes of the white-space character at text; 0 if the character is no white space. n >= 1. */
size_t unicode_space(const char *text, size_t n);

/* Length of text without the white space at its end. */
size_t unicode_trimmed(const char *text, size_t n);

/* Appends text in lower case. */
void unicode_lower(struct buf *out, const char *text, size_t n);

#endif
