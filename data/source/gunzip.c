/* gunzip.c - sequential reader of a .gz file (see gunzip.h) */
#include "data/source/gunzip.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "data/source/inflate.h"
#include "share/base/file.h"
#include "share/base/mem.h"

#define IN_BYTES  ((size_t)256 << 10)
#define OUT_BYTES ((size_t)256 << 10) /* fits into the second-level cache */

struct gunzip {
	struct inflate *inflate; /* owned */
	int fd;
	unsigned char *in, *out; /* owned */
	const unsigned char *at; /* next unused byte in the buffer `in` */
	size_t n;		 /* unused bytes at `at` */
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
	g->inflate = inflate_new(e);
	g->in = g->inflate ? mem_alloc(IN_BYTES, 1, e) : NULL;
	g->out = g->in ? mem_alloc(OUT_BYTES, 1, e) : NULL;
	if (g->out) {
		if (!file_open_read(&g->fd, path, e)) {
			posix_fadvise(g->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
			return g;
		}
	}
	gunzip_close(g);
	return NULL;
}

/* Read until at least two bytes (the gzip magic) are buffered, or the file ends. */
static int gunzip_fill_input(struct gunzip *g, struct err *e)
{
	ssize_t got;

	while (g->n < 2) {
		if (g->n)
			g->in[0] = *g->at;
		g->at = g->in;
		do
			got = read(g->fd, g->in + g->n, IN_BYTES - g->n);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return err_set_errno(e, ERR_IO, "cannot read the file");
		if (!got)
			return 0;
		g->n += (size_t)got;
		g->read += got;
	}
	return 0;
}

/* After a member: begin the next one, or end. */
static void begin_next(struct gunzip *g)
{
	assert(!g->within && !g->ended);
	g->within = g->n >= 2 && g->at[0] == 0x1F && g->at[1] == 0x8B;
	g->ended = !g->within;
	if (g->within)
		inflate_next_member(g->inflate);
}

int64_t gunzip_next(struct gunzip *g, const void **block, struct err *e)
{
	struct inflate_io io = { .out = g->out, .room = OUT_BYTES };
	int got;

	*block = g->out;
	while (io.room == OUT_BYTES && !g->ended) {
		if (gunzip_fill_input(g, e))
			return e->code;
		if (!g->within) {
			begin_next(g);
			continue;
		}
		if (!g->n)
			return err_set(e, ERR_DATA, "cut short after %lld bytes",
				       (long long)g->read);
		io.in = g->at;
		io.n_in = g->n;
		got = inflate_step(g->inflate, &io, e);
		g->at = io.in;
		g->n = io.n_in;
		if (got < 0)
			return got;
		if (got == INFLATE_MORE && io.room && g->n) /* neither input nor room is missing */
			return err_set(e, ERR_DATA, "the decompressor makes no progress");
		g->within = got != INFLATE_END;
	}
	return (int64_t)(OUT_BYTES - io.room);
}

int64_t gunzip_position(const struct gunzip *g)
{
	assert(g->read >= (int64_t)g->n);
	return g->read - (int64_t)g->n;
}

void gunzip_close(struct gunzip *g)
{
	if (!g)
		return;
	if (g->fd >= 0)
		close(g->fd);
	inflate_free(g->inflate);
	free(g->in);
	free(g->out);
	free(g);
}
