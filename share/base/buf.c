/* buf.c - see buf.h */
#include "share/base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"

char *buf_reserve(struct buf *b, size_t n)
{
	struct err e;

	if (b->failed)
		return NULL;
	if (n > SIZE_MAX - b->len - 1 || mem_grow(&b->data, &b->cap, b->len + n + 1, 1, &e)) {
		b->failed = true;
		return NULL;
	}
	assert(b->cap > b->len + n); /* the NUL has room too */
	b->data[b->len] = 0;	     /* a string even if the caller adds nothing */
	return b->data + b->len;
}

void buf_add(struct buf *b, const void *bytes, size_t n)
{
	char *to = buf_reserve(b, n);

	assert(bytes || !n);
	if (!to)
		return;
	if (n)
		memcpy(to, bytes, n);
	b->len += n;
	b->data[b->len] = 0;
}

void buf_add_str(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_add_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n >= 0 && buf_reserve(b, (size_t)n)) {
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

void buf_clear(struct buf *b)
{
	buf_truncate(b, 0);
}

void buf_restart(struct buf *b)
{
	if (b->failed)
		buf_free(b);
	buf_clear(b);
}

void buf_truncate(struct buf *b, size_t len)
{
	if (b->data && len <= b->len) {
		b->len = len;
		b->data[len] = 0;
	}
}

const char *buf_text(const struct buf *b)
{
	return b->data ? b->data : "";
}

int buf_check(const struct buf *b, struct err *e)
{
	return b->failed ? err_set(e, ERR_NOMEM, "out of memory after %zu bytes of text", b->len)
			 : 0;
}

char *buf_detach(struct buf *b, struct err *e)
{
	char *text;

	buf_add(b, "", 0);
	if (buf_check(b, e))
		return NULL;
	text = b->data;
	assert(!text[b->len]); /* the caller gets a string */
	*b = (struct buf){ 0 };
	return text;
}

void buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}

void buf_free_part(struct buf *part, struct buf *whole)
{
	whole->failed |= part->failed;
	buf_free(part);
}
