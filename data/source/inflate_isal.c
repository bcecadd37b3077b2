/* inflate_isal.c - decompression of a gzip member with ISA-L (see inflate.h) */
#include "data/source/inflate.h"

#include <assert.h>
#include <isa-l/igzip_lib.h>
#include <stdint.h>
#include <stdlib.h>

#include "share/base/mem.h"

/* RFC 1952: a member with one of these flags in its fourth byte must not be read. */
enum { FLAGS_AT = 3, RESERVED_FLAGS = 0xe0 };

struct inflate {
	struct inflate_state s;
	uint64_t done; /* bytes of this member that were read */
};

struct inflate *inflate_new(struct err *e)
{
	struct inflate *i = mem_alloc(1, sizeof(*i), e);

	if (i) {
		isal_inflate_init(&i->s);
		i->s.crc_flag = ISAL_GZIP;
	}
	return i;
}

static const char *isal_error_text(int code)
{
	switch (code) {
	case ISAL_INVALID_BLOCK:
		return "invalid block";
	case ISAL_INVALID_SYMBOL:
		return "invalid code";
	case ISAL_INVALID_LOOKBACK:
		return "invalid distance";
	case ISAL_INVALID_WRAPPER:
		return "not gzip";
	case ISAL_UNSUPPORTED_METHOD:
		return "unknown compression method";
	case ISAL_INCORRECT_CHECKSUM:
		return "incorrect checksum";
	default:
		return "invalid data";
	}
}

int inflate_step(struct inflate *i, struct inflate_io *io, struct err *e)
{
	uint32_t in = (uint32_t)MIN(io->n_in, UINT32_MAX);
	uint32_t room = (uint32_t)MIN(io->room, UINT32_MAX);
	int rc;

	/* zlib refuses them, ISA-L does not */
	if (i->done <= FLAGS_AT && FLAGS_AT - i->done < in &&
	    ((const uint8_t *)io->in)[FLAGS_AT - i->done] & RESERVED_FLAGS)
		return err_set(e, ERR_DATA, "unknown header flags");
	i->s.next_in = (uint8_t *)io->in;
	i->s.avail_in = in;
	i->s.next_out = io->out;
	i->s.avail_out = room;
	rc = isal_inflate(&i->s);
	/* after an error ISA-L's counts are undefined: avail_in can be larger than in */
	if (rc != ISAL_DECOMP_OK && rc != ISAL_END_INPUT && rc != ISAL_OUT_OVERFLOW)
		return err_set(e, ERR_DATA, "%s", isal_error_text(rc));
	assert(i->s.avail_in <= in && i->s.avail_out <= room);
	i->done += in - i->s.avail_in;
	io->in += in - i->s.avail_in;
	io->n_in -= in - i->s.avail_in;
	io->out += room - i->s.avail_out;
	io->room -= room - i->s.avail_out;
	return i->s.block_state == ISAL_BLOCK_FINISH ? INFLATE_END : INFLATE_MORE;
}

void inflate_next_member(struct inflate *i)
{
	isal_inflate_reset(&i->s);
	i->s.crc_flag = ISAL_GZIP;
	i->done = 0;
}

void inflate_free(struct inflate *i)
{
	free(i);
}
