/*
 * encoding.h - text in another encoding than UTF-8: the option --encoding
 *
 *	struct encoding_reader *r = encoding_reader_open(encoding, name, read, from, repair, e);
 *	lines_open_reader(&in, name, encoding_reader_read, r, e);
 *
 * The reader converts the bytes that read(from, ...) returns to UTF-8; lines are split afterwards. Bytes
 * that are nothing in the encoding are ERR_DATA with file and line, or U+FFFD with repair. A byte order
 * mark at the beginning is left out. The names are those of ICU.
 */
#ifndef WERKBANK_DATA_TEXT_ENCODING_H
#define WERKBANK_DATA_TEXT_ENCODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/lines.h"

/*
 * ERR_CONFIG: no such encoding; the message has a similar name and common ones. NULL passes. Loads the
 * tables of the encoding, so that a sandbox may close afterwards.
 */
int encoding_check(const char *encoding, struct err *e);

/* Must text be converted? false: NULL, or a name of UTF-8. */
bool encoding_is_foreign(const char *encoding);

/*
 * Is a beginning of a file, of n bytes, UTF-16 or UTF-32? The byte order mark shows it, or zeros in every
 * second byte. Returns the name of the encoding; NULL: no.
 */
const char *encoding_of_wide_text(const char *bytes, size_t n);

/* Convert n bytes, the beginning of a file, as far as the encoding allows. Appends to `to`. */
int encoding_convert_head(const char *encoding, const char *bytes, size_t n, struct buf *to,
			  struct err *e);

struct encoding_reader; /* for one text and one thread */

/* Borrows name (for messages) and from. The encoding must be foreign. NULL: failure. */
struct encoding_reader *encoding_reader_open(const char *encoding, const char *name,
					     lines_read *read, void *from, bool repair,
					     struct err *e);
/* A lines_read; from: the reader. */
int64_t encoding_reader_read(void *from, void *to, size_t room, struct err *e);
/* Characters that became U+FFFD so far. */
int64_t encoding_reader_replaced(const struct encoding_reader *r);
void encoding_reader_close(struct encoding_reader *r);

#endif
