/* base64.h - bytes as letters (RFC 4648, section 4), for texts that hold files */
#ifndef WERKBANK_SHARE_BASE_BASE64_H
#define WERKBANK_SHARE_BASE_BASE64_H

#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"

/* Appends n bytes as base64, with padding. */
void base64_add(struct buf *out, const void *data, size_t n);
/* Appends the bytes of n letters. ERR_DATA: they are no base64, or the padding is missing. */
int base64_read(struct buf *out, const char *text, size_t n, struct err *e);

#endif
