/*
 * inflate.h - streaming decompression of one gzip member (RFC 1952) with its checksum verified
 *
 * Two files implement it, chosen at build time: inflate_isal.c (ISA-L, about three times as fast)
 * and inflate_zlib.c.
 */
#ifndef WERKBANK_DATA_SOURCE_INFLATE_H
#define WERKBANK_DATA_SOURCE_INFLATE_H

#include <stddef.h>

#include "share/base/err.h"

struct inflate;

enum inflate_status {
	INFLATE_MORE, /* needs more input or more room */
	INFLATE_END,  /* the member is complete; its checksum and length are right */
};

/* Input and output of a step, which advances the pointers and reduces the counts. */
struct inflate_io {
	const unsigned char *in;
	size_t n_in;
	unsigned char *out;
	size_t room;
};

struct inflate *inflate_new(struct err *e); /* NULL: ERR_NOMEM */

/* Returns an enum inflate_status. Not gzip or damaged: ERR_DATA, a reason without file name. */
int inflate_step(struct inflate *i, struct inflate_io *io, struct err *e);

/* Prepare for the next member. Only after INFLATE_END. */
void inflate_next_member(struct inflate *i);
void inflate_free(struct inflate *i);

#endif
