/* gunzip.c - sequential reader of a .gz file (see gunzip.h) */
#include "data/source/gunzip.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "share/base/file.h"
#include "share/base/mem.h"

#define IN_BYTES    (256u << 10)
#define GZIP_WINDOW (15 + 16) /* zlib's windowBits: largest window; + 16: gzip header and trailer */
#define OUT_BYTES   (256u << 10) /* fits into the second-level cache */

struct gunzip {
	z_stream z; /* next_in, avail_in: the unused bytes of the buffer `in` */
	int fd;
	unsigned char *in, *out; /* owned */
	int64_t read;		 /* bytes read from the file */
	bool within;		 /* inside a gzip member */
	bool ended;		 /* after the last member */
};

struct gunzip *gunzip_open(const char *path, struct err *e)
{
	struct gunzip *g = mem_alloc(1, sizeof(*g), e);

	if (!g)
		return NULL;
	*g = (struct gunzip){ .fd = -1, .within = true };
	g->in = mem_alloc(IN_BYTES, 1, e);
	g->out = g->in ? mem_alloc(OUT_BYTES, 1, e) : NULL;
	if (g->out && inflateInit2(&g->z, GZIP_WINDOW) != Z_OK)
		err_set(e, ERR_NOMEM, "out of memory for unpacking");
	else if (g->out && !file_open_read(&g->fd, path, e)) {
		posix_fadvise(g->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
		return g;
	}
	gunzip_close(g);
	return NULL;
}

/* Read until at least two bytes (the gzip magic) are buffered, or the file ends. */
static int gunzip_fill_input(struct gunzip *g, struct err *e)
{
	ssize_t got;

	while (g->z.avail_in < 2) {
		if (g->z.avail_in)
			g->in[0] = *g->z.next_in;
		g->z.next_in = g->in;
		do
			got = read(g->fd, g->in + g->z.avail_in, IN_BYTES - g->z.avail_in);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return err_set_errno(e, ERR_IO, "cannot read the file");
		if (!got)
			return 0;
		g->z.avail_in += (uInt)got;
		g->read += got;
	}
	return 0;
}

/* After a member: begin the next one, or end. */
static void begin_next(struct gunzip *g)
{
	assert(!g->within && !g->ended);
	g->within = g->z.avail_in >= 2 && g->z.next_in[0] == 0x1F && g->z.next_in[1] == 0x8B;
	g->ended = !g->within;
	if (g->within)
		inflateReset(&g->z);
}

int64_t gunzip_next(struct gunzip *g, const void **block, struct err *e)
{
	int rc;

	*block = g->out;
	g->z.next_out = g->out;
	g->z.avail_out = OUT_BYTES;
	while (g->z.avail_out == OUT_BYTES && !g->ended) {
		if (gunzip_fill_input(g, e))
			return e->code;
		if (!g->within) {
			begin_next(g);
			continue;
		}
		if (!g->z.avail_in)
			return err_set(e, ERR_DATA, "cut short after %lld bytes",
				       (long long)g->read);
		rc = inflate(&g->z, Z_NO_FLUSH);
		if (rc == Z_MEM_ERROR)
			return err_set(e, ERR_NOMEM, "out of memory for unpacking");
		if (rc != Z_OK && rc != Z_STREAM_END)
			return err_set(e, ERR_DATA, "%s", g->z.msg ? g->z.msg : "not gzip");
		g->within = rc != Z_STREAM_END;
	}
	return OUT_BYTES - g->z.avail_out;
}

int64_t gunzip_position(const struct gunzip *g)
{
	assert(g->read >= g->z.avail_in);
	return g->read - g->z.avail_in;
}

void gunzip_close(struct gunzip *g)
{
	if (!g)
		return;
	if (g->fd >= 0)
		close(g->fd);
	inflateEnd(&g->z); /* does nothing for a stream that was not opened */
	free(g->in);
	free(g->out);
	free(g);
}
