/* lines.c - see lines.h */
#include "share/base/lines.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define BLOCK_BYTES (64u << 10)

static int lines_init(struct lines *l, const char *name, struct err *e)
{
	*l = (struct lines){ .fd = -1 };
	l->name = mem_strdup(name, e);
	return l->name ? 0 : e->code;
}

int lines_open_file(struct lines *l, const char *path, struct err *e)
{
	if (lines_init(l, path, e))
		return e->code;
	if (!file_open_read(&l->fd, path, e)) {
		l->owns_fd = true;
		return 0;
	}
	lines_close(l);
	return e->code;
}

int lines_open(struct lines *l, const char *path, struct err *e)
{
	bool is_stdin = !path || !strcmp(path, "-");
	struct stat s;

	if (lines_init(l, is_stdin ? "standard input" : path, e))
		return e->code;
	l->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	l->owns_fd = !is_stdin && l->fd >= 0;
	if (l->fd < 0)
		err_set_errno(e, ERR_NOINPUT, "%s: cannot be read", path);
	else if (!is_stdin && fstat(l->fd, &s) == 0 && S_ISDIR(s.st_mode))
		err_set(e, ERR_NOINPUT, "%s: is a folder, a text file was expected", path);
	else
		return 0;
	lines_close(l);
	return e->code;
}

int lines_open_memory(struct lines *l, const char *name, const char *text, size_t n, int64_t first,
		      struct err *e)
{
	if (lines_init(l, name, e))
		return e->code;
	assert(first >= 1 && (text || !n));
	l->memory = text ? text : "";
	l->memory_len = n;
	l->number = first - 1;
	return 0;
}

int lines_open_reader(struct lines *l, const char *name, lines_read *read, void *from,
		      struct err *e)
{
	if (lines_init(l, name, e))
		return e->code;
	assert(read);
	l->read = read;
	l->from = from;
	return 0;
}

/* Read at most room bytes to `to`; < 0: failure. */
static int64_t read_some(struct lines *l, char *to, size_t room, struct err *e)
{
	ssize_t got;

	if (l->read)
		return l->read(l->from, to, room, e);
	if (l->memory) {
		room = MIN(room, l->memory_len);
		memcpy(to, l->memory, room);
		l->memory += room;
		l->memory_len -= room;
		return (int64_t)room;
	}
	do
		got = read(l->fd, to, room);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_set_errno(e, ERR_IO, "%s: cannot be read after line %lld", l->name,
				     (long long)l->number);
	return got;
}

/* Move the incomplete line to the front of the buffer and read more after it. */
static int fill_buffer(struct lines *l, struct err *e)
{
	int64_t got;

	assert(l->begin <= l->end && l->end <= l->cap);
	if (l->begin && l->end > l->begin)
		memmove(l->read_buf, l->read_buf + l->begin, l->end - l->begin);
	l->end -= l->begin;
	l->begin = 0;
	/* one byte stays free for the NUL of a last line without LF */
	if (mem_grow(&l->read_buf, &l->cap, MAX(l->end + l->end / 2, BLOCK_BYTES), 1, e))
		return e->code;
	got = read_some(l, l->read_buf + l->end, l->cap - 1 - l->end, e);
	l->is_at_end = got <= 0;
	if (got < 0)
		return (int)got;
	l->end += (size_t)got;
	return 0;
}

/* Length of the next line with its LF; more than LINES_MAX_BYTES: at least; 0: the end; < 0: failure. */
static int64_t find_line(struct lines *l, struct err *e)
{
	size_t looked = 0;

	for (;;) {
		size_t n = l->end - l->begin;
		const char *lf = n > looked
					 ? memchr(l->read_buf + l->begin + looked, '\n', n - looked)
					 : NULL;

		if (lf)
			n = (size_t)(lf - (l->read_buf + l->begin)) + 1;
		if (lf || l->is_at_end || n > LINES_MAX_BYTES)
			return (int64_t)n;
		looked = n;
		if (fill_buffer(l, e))
			return e->code;
	}
}

static const char UTF_16[] = "UTF-16 text";

/* Files that people give as text: their first bytes, what they are, and the command that helps. */
static const struct {
	const char *bytes, *kind, *cure;
} not_text[] = {
	{ "\x1F\x8B", "compressed with gzip", "unpack it first: gzip -d" },
	{ "\xFD"
	  "7zXZ",
	  "compressed with xz", "unpack it first: xz -d" },
	{ "\x28\xB5\x2F\xFD", "compressed with zstd", "unpack it first: zstd -d" },
	{ "BZh", "compressed with bzip2", "unpack it first: bzip2 -d" },
	{ "PK\x03\x04", "a zip archive", "unpack it first: unzip" },
	{ "\xFF\xFE", UTF_16, "convert it first: iconv -f UTF-16 -t UTF-8" },
	{ "\xFE\xFF", UTF_16, "convert it first: iconv -f UTF-16 -t UTF-8" },
};

/* Is the first line the beginning of a file that is not text? Then ERR_DATA, else 0. */
static int refuse_other_formats(const struct lines *l, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(not_text) && l->number == 1; i++) {
		size_t n = strlen(not_text[i].bytes);

		if (l->len >= n && !memcmp(l->text, not_text[i].bytes, n))
			return err_set(e, ERR_DATA, "%s is %s, not UTF-8 text; %s", l->name,
				       not_text[i].kind,
				       l->has_encoding && not_text[i].kind == UTF_16
					       ? "give --encoding UTF-16"
					       : not_text[i].cure);
	}
	return 0;
}

static bool is_ascii_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/*
 * The likely encoding of a line that is not UTF-8. From 0x80 to 0x9F, Latin-1 has nothing, Windows-1252
 * has quotation marks and dashes (0x91 to 0x97 most of all), Mac Roman has letters, inside of words.
 */
static const char *guess_encoding(const char *text, size_t n)
{
	size_t low = 0, high = 0, inside = 0, zeros = 0;

	for (size_t i = 0; i < n; i++) {
		const unsigned char c = (unsigned char)text[i];

		low += c >= 0x80 && c <= 0x9F;
		high += c >= 0xC0;
		zeros += c == 0;
		inside += c >= 0x80 && c <= 0x9F && (c < 0x91 || c > 0x97) && i && i + 1 < n &&
			  is_ascii_letter(text[i - 1]) && is_ascii_letter(text[i + 1]);
	}
	return zeros > n / 8		      ? "UTF-16"
	       : !low			      ? "ISO-8859-1"
	       : inside > 0 && inside >= high ? "MACINTOSH"
					      : "WINDOWS-1252";
}

/* Repaired lines of the process, for its last words. */
static struct {
	pthread_mutex_t lock;
	int64_t n;
	char name[LINES_NAME_BYTES];
} repaired_lines = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void count_repaired_line(const char *name)
{
	pthread_mutex_lock(&repaired_lines.lock);
	repaired_lines.n++;
	snprintf(repaired_lines.name, sizeof(repaired_lines.name), "%s", name);
	pthread_mutex_unlock(&repaired_lines.lock);
}

int64_t lines_count_repaired(char name[LINES_NAME_BYTES])
{
	int64_t n;

	pthread_mutex_lock(&repaired_lines.lock);
	n = repaired_lines.n;
	memcpy(name, repaired_lines.name, LINES_NAME_BYTES);
	pthread_mutex_unlock(&repaired_lines.lock);
	return n;
}

static int check_utf8(struct lines *l, struct err *e)
{
	size_t good = utf8_valid_prefix(l->text, l->len);

	l->was_repaired = good < l->len;
	if (good == l->len)
		return 1;
	if (refuse_other_formats(l, e))
		return e->code;
	if (!l->repair)
		return err_set(
			e, ERR_DATA,
			"%s:%lld: byte %zu is not valid UTF-8 (0x%02X); %s%s%s (--repair "
			"would replace such letters by U+FFFD)",
			l->name, (long long)l->number, good + 1, (unsigned char)l->text[good],
			l->has_encoding ? "if the file has another encoding, give the option, "
					  "perhaps --encoding "
					: "convert the file, perhaps with iconv -f ",
			guess_encoding(l->text, l->len), l->has_encoding ? "" : " -t UTF-8");
	buf_clear(&l->repaired);
	utf8_repair(&l->repaired, l->text, l->len);
	if (buf_check(&l->repaired, e))
		return e->code;
	l->text = buf_text(&l->repaired);
	l->len = l->repaired.len;
	count_repaired_line(l->name);
	return 1;
}

/* Consume the next line, of any length, in little memory. */
static int skip_line(struct lines *l, struct err *e)
{
	const char *lf;

	while (!(lf = memchr(l->read_buf + l->begin, '\n', l->end - l->begin))) {
		l->begin = l->end = 0;
		if (l->is_at_end)
			break;
		if (fill_buffer(l, e))
			return e->code;
	}
	if (lf)
		l->begin = (size_t)(lf - l->read_buf) + 1;
	l->number++;
	l->text = "";
	l->len = 0;
	return LINES_SKIPPED;
}

int lines_next(struct lines *l, struct err *e)
{
	int64_t got = find_line(l, e);
	size_t n = (size_t)got;
	char *line;

	if (got <= 0)
		return (int)got;
	if (n > LINES_MAX_BYTES)
		return l->skip_long
			       ? skip_line(l, e)
			       : err_set(e, ERR_DATA,
					 "%s:%lld: the line has more than %u bytes; is this a text "
					 "file?",
					 l->name, (long long)l->number + 1, LINES_MAX_BYTES);
	line = l->read_buf + l->begin;
	assert(n <= l->end - l->begin && l->end < l->cap); /* the NUL has room too */
	l->begin += n;
	l->number++;
	if (line[n - 1] == '\n')
		n--;
	if (n && line[n - 1] == '\r')
		n--;
	line[n] = 0;
	if (l->drops_mark && l->number == 1) {
		const size_t mark = utf8_mark_bytes(line, n);

		line += mark;
		n -= mark;
	}
	l->text = line;
	l->len = n;
	return check_utf8(l, e);
}

/* ---- many lines at once ---- */

/* Does a read return data, or the end, without waiting? */
static bool can_read_now(const struct lines *l)
{
	struct pollfd p = { .fd = l->fd, .events = POLLIN };

	return l->read || l->memory || poll(&p, 1, 0) != 0;
}

/* Number of lines; the last one may lack its LF. */
static int64_t count_block_lines(const char *text, size_t n)
{
	int64_t lines = n && text[n - 1] != '\n';

	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	return lines;
}

/* Fill block to a complete line and want bytes; returns the bytes of complete lines, or < 0. */
static int64_t fill_block(struct lines *l, size_t want, struct buf *block, struct err *e)
{
	size_t whole = 0;
	int64_t got;

	for (;;) {
		size_t room = MAX(want > block->len ? want - block->len : 0, BLOCK_BYTES);
		char *to = buf_reserve(block, room);
		const char *lf;

		if (!to)
			return buf_check(block, e);
		got = read_some(l, to, room, e);
		l->is_at_end = got <= 0;
		if (got <= 0)
			return got ? got : (int64_t)block->len;
		lf = memrchr(to, '\n', (size_t)got);
		block->len += (size_t)got;
		if (lf)
			whole = (size_t)(lf - block->data) + 1;
		/* a line that is too long is not read further; lines_next() reports it */
		if (!whole && block->len > LINES_MAX_BYTES)
			return (int64_t)block->len;
		if (whole && (block->len >= want || !can_read_now(l)))
			return (int64_t)whole;
	}
}

bool lines_has_next(const struct lines *l)
{
	return l->end > l->begin || l->is_at_end || can_read_now(l);
}

int lines_read_block(struct lines *l, size_t want, struct buf *block, bool *is_waiting,
		     struct err *e)
{
	int64_t whole;
	size_t rest;

	buf_clear(block);
	buf_add(block, l->read_buf ? l->read_buf + l->begin : "", l->end - l->begin);
	l->begin = l->end = 0;
	whole = l->is_at_end ? (int64_t)block->len : fill_block(l, want, block, e);
	if (whole <= 0)
		return whole ? (int)whole : buf_check(block, e);
	assert((size_t)whole <= block->len);
	rest = block->len - (size_t)whole;
	if (mem_grow(&l->read_buf, &l->cap, rest + 1, 1, e))
		return e->code;
	memcpy(l->read_buf, block->data + whole, rest);
	l->end = rest;
	buf_truncate(block, (size_t)whole);
	*is_waiting = !l->is_at_end && block->len < want;
	l->number += count_block_lines(block->data, block->len);
	return buf_check(block, e) ? e->code : 1;
}

void lines_close(struct lines *l)
{
	if (l->owns_fd)
		close(l->fd);
	free(l->name);
	free(l->read_buf);
	buf_free(&l->repaired);
	*l = (struct lines){ 0 };
}
