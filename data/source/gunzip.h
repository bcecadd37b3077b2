/*
 * gunzip.h - sequential reader of a .gz file, verified to its last byte
 *
 *	struct gunzip *g = gunzip_open(path, e);
 *	while ((n = gunzip_next(g, &block, e)) > 0)
 *		use the n bytes at block
 *	gunzip_close(g);
 *
 * Concatenated gzip members form one text, as in gzip(1). Trailing bytes that are not a gzip member
 * are ignored, as in gzip(1). Error texts are reasons without the file name; the caller adds it.
 */
#ifndef WERKBANK_DATA_SOURCE_GUNZIP_H
#define WERKBANK_DATA_SOURCE_GUNZIP_H

#include <stdint.h>

#include "share/base/err.h"

struct gunzip;

struct gunzip *gunzip_open(const char *path, struct err *e); /* NULL: failure */

/*
 * The next unpacked bytes at *block, borrowed until the next call. Returns their number; 0: end of
 * an intact file; < 0: ERR_DATA (damaged or cut short) or ERR_IO.
 */
int64_t gunzip_next(struct gunzip *g, const void **block, struct err *e);

/* Compressed bytes of the file consumed so far. */
int64_t gunzip_position(const struct gunzip *g);

void gunzip_close(struct gunzip *g);

#endif
