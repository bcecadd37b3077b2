/*
 * gunzip.h - a .gz file unpacked from front to back, and checked to its last byte.
 *
 *	struct gunzip *g = gunzip_open(path, e);
 *	while ((n = gunzip_next(g, &block, e)) > 0)
 *		use the n bytes at block
 *	gunzip_close(g);
 *
 * Several gzip members behind one another are one text, as everywhere. What
 * follows the last of them and is no gzip is left alone, as by gzip(1). The
 * texts of failures are reasons without the file's name, for the caller's sentence.
 */
#ifndef WERKBANK_DATA_SOURCE_GUNZIP_H
#define WERKBANK_DATA_SOURCE_GUNZIP_H

#include <stdint.h>

#include "share/base/err.h"

struct gunzip;

struct gunzip *gunzip_open(const char *path, struct err *e); /* NULL: failure */

/*
 * The next bytes, borrowed until the next call: how many; 0: the end, and all is well; < 0:
 * ERR_DATA when the file is damaged or cut short, ERR_IO when it cannot be read.
 */
int64_t gunzip_next(struct gunzip *g, const void **block, struct err *e);

/* Bytes of the file that have been unpacked. */
int64_t gunzip_position(const struct gunzip *g);

void gunzip_close(struct gunzip *g);

#endif
