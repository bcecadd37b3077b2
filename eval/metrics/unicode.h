/*
 * unicode.h - what scoring asks about characters, with sacreBLEU's answers.
 *
 * White space and lower case are Python's (str.split, str.lower), classes the
 * regex module's. Text is well-formed UTF-8.
 */
#ifndef WERKBANK_EVAL_METRICS_UNICODE_H
#define WERKBANK_EVAL_METRICS_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"

enum unicode_class { UNICODE_OTHER, UNICODE_P, UNICODE_S, UNICODE_N };

/* Punctuation, symbol, number or something else. */
enum unicode_class unicode_class(uint32_t c);

bool unicode_is_space(uint32_t c);

/* Bytes of the white-space character that begins at text, 0 when there is none. */
size_t unicode_space(const char *text, size_t n);

/* Length of text without the white space at its end. */
size_t unicode_trimmed(const char *text, size_t n);

/* Append text in lower case. */
void unicode_lower(struct buf *out, const char *text, size_t n);

#endif
