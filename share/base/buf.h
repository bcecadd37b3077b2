/*
 * buf.h - a string that grows.
 *
 *	struct buf b = { 0 };
 *	buf_add(&b, text, n); buf_printf(&b, "%d", 7); ...
 *	if (buf_check(&b, e)) ...	once, at the end: reports a failed allocation
 *	buf_free(&b);			leaves it empty and reusable
 *
 * data is NULL while the buffer is empty and unused; after the first addition it is
 * NUL-terminated (len does not count the NUL). buf_text() never returns NULL.
 */
#ifndef WERKBANK_SHARE_BASE_BUF_H
#define WERKBANK_SHARE_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/err.h"

struct buf {
	char *data; /* owned */
	size_t len; /* bytes in use, without the NUL */
	size_t cap;
	bool failed; /* out of memory: further additions do nothing */
};

void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_add_str(struct buf *b, const char *text);
void buf_add_char(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Forget the contents, keep the memory. */
void buf_clear(struct buf *b);

/* Begin a text that has nothing to do with the one before: forget a failed addition, too. */
void buf_restart(struct buf *b);

/* Cut to at most len bytes. */
void buf_truncate(struct buf *b, size_t len);

/*
 * Allocate n more bytes at data + len and return their address; the caller fills them and adds
 * their number to len. NULL: out of memory.
 */
char *buf_reserve(struct buf *b, size_t n);

/* The contents as a string; "" when empty. Borrowed. */
const char *buf_text(const struct buf *b);

/* 0, or ERR_NOMEM when an addition failed since the last buf_free(). */
int buf_check(const struct buf *b, struct err *e);

/* Give the contents to the caller as a string (free it); b becomes empty. NULL: ERR_NOMEM. */
char *buf_detach(struct buf *b, struct err *e);

void buf_free(struct buf *b);

/*
 * Free a buffer whose text has become a part of `whole`, or of a decision about it. If an addition to the part
 * failed, `whole` has failed, too.
 */
void buf_free_part(struct buf *part, struct buf *whole);

#endif
