/* terminal_text.c - see terminal_text.h */
#include "share/guard/terminal_text.h"

#include <assert.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/text.h"
#include "share/base/util.h"

static const struct class_range {
	uint32_t first, last;
	enum terminal_class class;
} class_ranges[] = {
	/* clang-format off */
	{ 0x00, 0x08, TERMINAL_CONTROL },
	{ 0x09, 0x0A, TERMINAL_BREAK }, /* tab, line feed */
	{ 0x0B, 0x0C, TERMINAL_CONTROL },
	{ 0x0D, 0x0D, TERMINAL_BREAK }, /* carriage return */
	{ 0x0E, 0x1F, TERMINAL_CONTROL },
	{ 0x7F, 0x9F, TERMINAL_CONTROL }, /* DEL and C1; U+009B starts a sequence as ESC [ does */
	{ 0x034F, 0x034F, TERMINAL_INVISIBLE },
	{ 0x061C, 0x061C, TERMINAL_INVISIBLE },
	{ 0x200B, 0x200F, TERMINAL_INVISIBLE },
	{ 0x2028, 0x2029, TERMINAL_BREAK },
	{ 0x202A, 0x202E, TERMINAL_DIRECTION },
	{ 0x2060, 0x2065, TERMINAL_INVISIBLE },
	{ 0x2066, 0x2069, TERMINAL_DIRECTION },
	{ 0x206A, 0x206F, TERMINAL_INVISIBLE },
	{ 0xFE00, 0xFE0F, TERMINAL_INVISIBLE },
	{ 0xFEFF, 0xFEFF, TERMINAL_INVISIBLE },
	{ 0xFFF9, 0xFFFB, TERMINAL_INVISIBLE },
	{ 0xE0000, 0xE0FFF, TERMINAL_INVISIBLE },
	/* clang-format on */
};

enum terminal_class terminal_class_of(uint32_t codepoint)
{
	if (codepoint >= 0x20 && codepoint < 0x7F)
		return TERMINAL_PLAIN;
	for (size_t i = 0; i < ARRAY_LEN(class_ranges); i++)
		if (codepoint <= class_ranges[i].last)
			return codepoint >= class_ranges[i].first ? class_ranges[i].class
								  : TERMINAL_PLAIN;
	return TERMINAL_PLAIN;
}

static bool is_printed(uint32_t codepoint, enum terminal_breaks breaks)
{
	switch (terminal_class_of(codepoint)) {
	case TERMINAL_PLAIN:
	case TERMINAL_INVISIBLE: /* scripts and emoji need joiners and variation selectors */
		return true;
	case TERMINAL_BREAK:
		return breaks == TERMINAL_LINES && (codepoint == '\t' || codepoint == '\n');
	default:
		return false;
	}
}

void terminal_add_text(struct buf *out, const char *text, size_t n, enum terminal_breaks breaks)
{
	for (size_t i = 0, step; i < n; i += step) {
		uint32_t codepoint;

		step = 1;
		if (utf8_valid_prefix(text + i, MIN(n - i, (size_t)4))) {
			step = utf8_decode(text + i, n - i, &codepoint);
			if (is_printed(codepoint, breaks)) {
				buf_add(out, text + i, step);
				continue;
			}
		}
		buf_add_str(out, "\xEF\xBF\xBD");
	}
}

/* ---- streams ---- */

enum {
	GUARDED_BYTES = 4096,		     /* of a text that is written with one call */
	SHOWN_BYTES = 3 * GUARDED_BYTES + 1, /* U+FFFD has three bytes */
};

/*
 * A stream whose text ends within a character keeps the character's first bytes. It allocates no
 * memory: it also writes the message that there is no more memory.
 */
struct guarded_stream {
	int fd;
	size_t n; /* bytes at the start of text that wait for the rest of their character */
	char text[GUARDED_BYTES];
};

/* Bytes at the end of text, 0 to 3, that begin a character and do not complete it. */
static size_t incomplete_end(const char *text, size_t n)
{
	for (size_t k = 1; k <= 3 && k <= n; k++) {
		const unsigned char c = (unsigned char)text[n - k];

		if (c >= 0xC0)
			return k < (c >= 0xF0 ? 4u : c >= 0xE0 ? 3u : 2u) ? k : 0;
		if (c < 0x80)
			return 0;
	}
	return 0;
}

/* Write what s->text holds, up to the last complete character. */
static int show_guarded_text(struct guarded_stream *s)
{
	const size_t kept = incomplete_end(s->text, s->n);
	char room[SHOWN_BYTES];
	struct buf shown = { .data = room, .cap = sizeof(room) }; /* it never grows */

	terminal_add_text(&shown, s->text, s->n - kept, TERMINAL_LINES);
	assert(shown.data == room && !shown.failed);
	memmove(s->text, s->text + s->n - kept, kept);
	s->n = kept;
	return file_write_fd(s->fd, room, shown.len);
}

/* The write function of fopencookie(): returns n, or 0 after a failure. */
static ssize_t guarded_write(void *cookie, const char *bytes, size_t n)
{
	struct guarded_stream *s = cookie;

	for (size_t at = 0, part; at < n; at += part) {
		part = MIN(n - at, sizeof(s->text) - s->n);
		memcpy(s->text + s->n, bytes + at, part);
		s->n += part;
		if (show_guarded_text(s))
			return 0;
	}
	return (ssize_t)n;
}

static void guard_stream(FILE **stream, struct guarded_stream *s, int buffering)
{
	FILE *guarded = fopencookie(s, "w", (cookie_io_functions_t){ .write = guarded_write });

	if (!guarded)
		return;
	setvbuf(guarded, NULL, buffering, BUFSIZ);
	*stream = guarded;
}

/*
 * A program may start with a closed standard stream. The next file would get its number, and
 * messages would be written into that file. A descriptor of the wrong direction takes the number:
 * reading and writing fail with EBADF, as before.
 */
static void occupy_closed_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void terminal_guard_streams(void)
{
	static struct guarded_stream out = { .fd = STDOUT_FILENO }, err = { .fd = STDERR_FILENO };

	occupy_closed_streams();
	if (isatty(STDOUT_FILENO))
		guard_stream(&stdout, &out, _IOLBF);
	guard_stream(&stderr, &err, _IONBF);
}

void terminal_send_control(const char *sequence)
{
	fflush(stderr);
	file_write_fd(STDERR_FILENO, sequence, strlen(sequence));
}
