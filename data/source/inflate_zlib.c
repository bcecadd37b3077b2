/* inflate_zlib.c - decompression of a gzip member with zlib (see inflate.h) */
#include "data/source/inflate.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "share/base/mem.h"

#define GZIP_WINDOW (15 + 16) /* zlib's windowBits: largest window; + 16: gzip header and trailer */

struct inflate {
	z_stream z;
};

struct inflate *inflate_new(struct err *e)
{
	struct inflate *i = mem_alloc(1, sizeof(*i), e);

	if (i && inflateInit2(&i->z, GZIP_WINDOW) != Z_OK) {
		err_set(e, ERR_NOMEM, "out of memory for unpacking");
		free(i);
		return NULL;
	}
	return i;
}

int inflate_step(struct inflate *i, struct inflate_io *io, struct err *e)
{
	uInt in = (uInt)MIN(io->n_in, UINT_MAX), room = (uInt)MIN(io->room, UINT_MAX);
	int rc;

	i->z.next_in = (z_const Bytef *)io->in;
	i->z.avail_in = in;
	i->z.next_out = io->out;
	i->z.avail_out = room;
	rc = inflate(&i->z, Z_NO_FLUSH);
	assert(i->z.avail_in <= in && i->z.avail_out <= room);
	io->in += in - i->z.avail_in;
	io->n_in -= in - i->z.avail_in;
	io->out += room - i->z.avail_out;
	io->room -= room - i->z.avail_out;
	switch (rc) {
	case Z_STREAM_END:
		return INFLATE_END;
	case Z_OK:
	case Z_BUF_ERROR:
		return INFLATE_MORE;
	case Z_MEM_ERROR:
		return err_set(e, ERR_NOMEM, "out of memory for unpacking");
	default:
		return err_set(e, ERR_DATA, "%s", i->z.msg ? i->z.msg : "not gzip");
	}
}

void inflate_next_member(struct inflate *i)
{
	inflateReset(&i->z);
}

void inflate_free(struct inflate *i)
{
	if (i)
		inflateEnd(&i->z);
	free(i);
}
