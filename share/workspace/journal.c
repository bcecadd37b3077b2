/* journal.c - see journal.h */
#include "share/workspace/journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/format/format_version.h"

#define READ_BYTES 65536

static const struct file_format journal_format = { .what = "journal", .version = 1 };

struct journal {
	int fd;
	char *path; /* owned */
	struct buf line;
	struct json_writer writer;
	journal_listener *listener; /* NULL: none */
	void *listener_arg;	    /* borrowed */
	bool cut;		    /* the last record is incomplete: the disk was full */
};

/* End an incomplete last line of a killed writer, so that the next record starts a line. */
static int end_cut_line(struct journal *j, struct err *e)
{
	off_t end = lseek(j->fd, 0, SEEK_END);
	char last = '\n';
	ssize_t n;

	do
		n = end > 0 ? pread(j->fd, &last, 1, end - 1) : 0;
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_set_errno(e, ERR_IO, "%s: cannot be read", j->path);
	if (last != '\n' && file_write_fd(j->fd, "\n", 1))
		return err_set_errno(e, ERR_IO, "%s: cannot be written", j->path);
	return 0;
}

struct journal *journal_open(const char *path, struct err *e)
{
	struct journal *j = mem_alloc(1, sizeof(*j), e);

	if (!j)
		return NULL;
	j->fd = -1;
	j->path = mem_strdup(path, e);
	if (!j->path)
		goto failed;
	if (file_open_in_place(&j->fd, path, O_RDWR | O_APPEND, e) || end_cut_line(j, e))
		goto failed;
	return j;
failed:
	journal_free(j);
	return NULL;
}

struct json_writer *journal_begin(struct journal *j, const char *kind, int64_t step)
{
	struct json_writer *w = &j->writer;

	assert(*kind);	       /* a reader skips records without a kind */
	buf_restart(&j->line); /* there may have been no memory for the record before */
	*w = (struct json_writer){ .out = &j->line };
	json_open(w, '{');
	json_put_int(w, "v", journal_format.version);
	json_put_str(w, "kind", kind);
	json_put_real(w, "t", (double)(int64_t)(clock_wall_s() * 1000) / 1000);
	if (step >= 0)
		json_put_int(w, "step", step);
	return w;
}

int journal_end(struct journal *j, struct err *e)
{
	assert(j->writer.out == &j->line); /* journal_begin() was called */
	json_close(&j->writer, '}');
	buf_add_char(&j->line, '\n');
	if (buf_check(&j->line, e))
		return e->code;
	if (j->line.len > JOURNAL_MAX_LINE)
		return err_set(e, ERR_INTERNAL, "%s: a record of %zu bytes is longer than %d",
			       j->path, j->line.len, JOURNAL_MAX_LINE);
	if (j->cut && end_cut_line(j, e))
		return e->code;
	j->cut = file_write_fd(j->fd, j->line.data, j->line.len) != 0;
	if (j->cut)
		return err_set_errno(e, ERR_IO, "%s: cannot be written", j->path);
	if (j->listener)
		j->listener(j->listener_arg, j->line.data, j->line.len - 1);
	return 0;
}

int journal_write_event(struct journal *j, const char *level, int64_t step, const char *text,
			struct err *e)
{
	struct json_writer *w = journal_begin(j, "event", step);

	json_put_str(w, "level", level);
	json_put_str(w, "text", text);
	return journal_end(j, e);
}

void journal_sync(struct journal *j)
{
	if (j)
		(void)fsync(j->fd);
}

void journal_listen(struct journal *j, journal_listener *listener, void *arg)
{
	j->listener = listener;
	j->listener_arg = arg;
}

void journal_free(struct journal *j)
{
	if (!j)
		return;
	if (j->fd >= 0)
		close(j->fd);
	buf_free(&j->line);
	free(j->path);
	free(j);
}

struct journal_reader {
	int fd;		    /* -1: the file does not exist yet */
	char *path;	    /* owned */
	off_t offset;	    /* of the next byte to read, for journal_reader_rest() */
	struct buf pending; /* bytes read; those from offset start are not returned yet */
	size_t start;
	bool skipping; /* inside a line that is too long */
	int64_t bad_lines;
	struct json *record; /* owned: the last one returned */
};

struct journal_reader *journal_reader_open(const char *path, struct err *e)
{
	struct journal_reader *r = mem_alloc(1, sizeof(*r), e);

	if (!r)
		return NULL;
	r->fd = -1;
	r->path = mem_strdup(path, e);
	if (!r->path) {
		journal_reader_free(r);
		return NULL;
	}
	return r;
}

/* Inside a line that is too long: jump over a hole of a sparse file, which may have terabytes. */
static void skip_hole(struct journal_reader *r)
{
	const off_t data = lseek(r->fd, r->offset, SEEK_DATA);

	if (data < 0 && errno == ENXIO) /* only a hole is left: as if the file ended here */
		lseek(r->fd, 0, SEEK_END);
	else if (data > r->offset)
		r->offset = data;
	else
		lseek(r->fd, r->offset, SEEK_SET);
}

/* Read more. 1: got bytes, 0: no more yet. */
static int read_more(struct journal_reader *r, struct err *e)
{
	ssize_t n;
	char *to;

	if (r->fd < 0) {
		if (access(r->path, F_OK) && errno == ENOENT)
			return 0;
		if (file_open_read(&r->fd, r->path, e))
			return e->code;
		if (r->offset && lseek(r->fd, r->offset, SEEK_SET) < 0)
			return err_set_errno(e, ERR_IO, "%s: cannot be read", r->path);
	}
	assert(r->start <= r->pending.len);
	if (r->start) {
		memmove(r->pending.data, r->pending.data + r->start, r->pending.len - r->start);
		buf_truncate(&r->pending, r->pending.len - r->start);
		r->start = 0;
	}
	if (r->skipping)
		skip_hole(r);
	to = buf_reserve(&r->pending, READ_BYTES);
	if (!to) {
		buf_check(&r->pending, e);
		r->pending.failed = false; /* a later call tries again */
		return e->code;
	}
	do
		n = read(r->fd, to, READ_BYTES);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_set_errno(e, ERR_IO, "%s: cannot be read", r->path);
	r->offset += n;
	r->pending.len += (size_t)n;
	r->pending.data[r->pending.len] = 0;
	return n > 0;
}

/* The next complete line of pending, NULL: read more first. Skips lines that are too long. */
static const char *next_pending_line(struct journal_reader *r, size_t *n)
{
	for (;;) {
		size_t have = r->pending.len - r->start;
		const char *line = have ? r->pending.data + r->start : NULL;
		const char *end = have ? memchr(line, '\n', have) : NULL;

		if (!end) {
			if (have > JOURNAL_MAX_READ) {
				r->bad_lines += !r->skipping;
				r->skipping = true;
				r->start = r->pending.len;
			}
			return NULL;
		}
		*n = (size_t)(end - line);
		r->start += *n + 1;
		if (r->skipping) {
			r->skipping = false;
			continue;
		}
		if (*n <= JOURNAL_MAX_READ)
			return line;
		r->bad_lines++;
	}
}

/* ERR_CONFIG if a newer program wrote the record. "needs" stands in start records only. */
static int check_record(const struct journal_reader *r, struct err *e)
{
	const bool is_start = !strcmp(json_text(json_get(r->record, "kind"), ""), "start");

	if (!is_start && json_integer(json_get(r->record, "v"), 0) <= journal_format.version)
		return 0;
	return format_check_version(r->record, &journal_format, r->path, e);
}

int journal_next(struct journal_reader *r, const struct json **record, struct err *e)
{
	for (;;) {
		size_t n;
		const char *line = next_pending_line(r, &n);
		struct err why = { 0 };
		int got;

		if (line) {
			r->record = json_parse_reusing(r->record, line, n, &why);
			if (r->record && json_get(r->record, "kind")) {
				*record = r->record;
				return check_record(r, e) ? e->code : 1;
			}
			if (why.code == ERR_NOMEM) {
				r->start -= n + 1; /* a later call reads the line */
				*e = why;
				return why.code;
			}
			r->bad_lines++;
			continue;
		}
		got = read_more(r, e);
		if (got <= 0)
			return got;
	}
}

void journal_reader_rest(struct journal_reader *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	json_free(r->record);
	r->record = NULL;
	if (r->start == r->pending.len) {
		buf_free(&r->pending);
		r->start = 0;
	}
}

double journal_read_share(const struct journal_reader *r)
{
	struct stat s;

	if (r->fd < 0 || fstat(r->fd, &s) || s.st_size <= 0)
		return 1;
	return MIN((double)r->offset / (double)s.st_size, 1);
}

int64_t journal_bad_lines(const struct journal_reader *r)
{
	return r->bad_lines;
}

void journal_reader_free(struct journal_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	json_free(r->record);
	buf_free(&r->pending);
	free(r->path);
	free(r);
}
