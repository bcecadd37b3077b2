/*
 * inflate.h - one gzip member (RFC 1952) unpacked piece by piece, with its checksum checked.
 *
 * Two files implement it, chosen when building: inflate_isal.c (ISA-L, about
 * three times as fast) and inflate_zlib.c.
 */
#ifndef WERKBANK_DATA_SOURCE_INFLATE_H
#define WERKBANK_DATA_SOURCE_INFLATE_H

#include <stddef.h>

#include "share/base/err.h"

struct inflate;

enum inflate_status {
	INFLATE_MORE, /* more input, or more room, is needed */
	INFLATE_END,  /* the member is complete, and its checksum and length are right */
};

/* What goes in and comes out; a step moves the pointers on and takes from the counts. */
struct inflate_io {
	const unsigned char *in;
	size_t n_in;
	unsigned char *out;
	size_t room;
};

struct inflate *inflate_new(struct err *e); /* NULL: ERR_NOMEM */

/* An enum inflate_status; what is no gzip or damaged: ERR_DATA with the reason, no file's name. */
int inflate_step(struct inflate *i, struct inflate_io *io, struct err *e);

/* The next input begins another member. After INFLATE_END only. */
void inflate_next_member(struct inflate *i);
void inflate_free(struct inflate *i);

#endif
