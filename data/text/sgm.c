/* sgm.c - reads .sgm test sets: see sgm.h */
#include "data/text/sgm.h"

#include <string.h>
#include <strings.h>

#include "share/base/text.h"

int sgm_open(struct sgm *s, const char *path, struct err *e)
{
	*s = (struct sgm){ 0 };
	return lines_open_file(&s->in, path, e);
}

int sgm_open_memory(struct sgm *s, const char *name, const char *text, size_t n, struct err *e)
{
	*s = (struct sgm){ 0 };
	return lines_open_memory(&s->in, name, text, n, 1, e);
}

int sgm_open_reader(struct sgm *s, const char *name, lines_read *read, void *from, struct err *e)
{
	*s = (struct sgm){ 0 };
	return lines_open_reader(&s->in, name, read, from, e);
}

void sgm_close(struct sgm *s)
{
	lines_close(&s->in);
	buf_free(&s->line);
	buf_free(&s->segment);
	*s = (struct sgm){ 0 };
}

bool sgm_has_suffix(const char *path)
{
	size_t n = strlen(path);

	return n >= 4 && !strcasecmp(path + n - 4, ".sgm");
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The start of the text after the first <seg ...>; NULL: no such tag. */
static const char *after_tag(const char *line, const char *end)
{
	static const char tag[] = "<seg";
	const size_t n = sizeof(tag) - 1;

	for (const char *p = line; (size_t)(end - p) > n; p++) {
		const char *close;

		if (strncasecmp(p, tag, n) || p[n] == '>')
			continue;
		close = memchr(p + n, '>', (size_t)(end - p) - n);
		return close ? close + 1 : NULL;
	}
	return NULL;
}

/* Does the line end with <seg ...>? */
static bool ends_with_tag(const char *line, const char *end)
{
	const char *last;

	while (end > line && is_space(end[-1]))
		end--;
	if (end == line || end[-1] != '>')
		return false;
	for (last = end - 1; last > line && last[-1] != '>'; last--)
		;
	return after_tag(last, end) != NULL;
}

/* The last </seg> in the text, NULL: none. */
static const char *last_close(const char *text, const char *end)
{
	static const char tag[] = "</seg>";
	const size_t n = sizeof(tag) - 1;

	if ((size_t)(end - text) < n)
		return NULL;
	for (const char *p = end - n; p >= text; p--)
		if (!strncasecmp(p, tag, n))
			return p;
	return NULL;
}

static void sgm_squeeze_blanks(const char *text, const char *end, struct buf *out)
{
	bool pending = false;

	for (; text < end; text++) {
		if (is_space(*text)) {
			pending = true;
			continue;
		}
		if (pending && out->len > 0)
			buf_add_char(out, ' ');
		pending = false;
		buf_add_char(out, *text);
	}
}

static bool is_sgm_blank(const char *text, size_t n)
{
	while (n && is_space(text[n - 1]))
		n--;
	return !n;
}

/* A segment that is being read; it may span several lines. */
struct open_segment {
	bool is_open;	     /* <seg ...> was read */
	bool in_text;	     /* text of the segment was read */
	size_t start, close; /* in s->line: of the text, of the last </seg>; NONE: not read */
	int64_t began;	     /* line of <seg ...> */
};

#define NONE SIZE_MAX

/*
 * Scan the last n bytes of s->line, the line that was just appended. Earlier bytes are not
 * scanned again, so the cost is linear even for a segment that never ends. Returns: is the
 * segment complete?
 */
static bool sgm_scan_line(struct sgm *s, struct open_segment *o, size_t n)
{
	static const size_t back = sizeof("</seg>") - 2; /* </seg> may be split between two lines */
	const char *text = s->line.data, *end = text + s->line.len, *found;
	size_t from;

	if (!o->is_open) {
		found = after_tag(text, end);
		if (!found)
			return false;
		*o = (struct open_segment){ .is_open = true, .close = NONE, .began = s->in.number };
		o->start = (size_t)(found - text);
		from = o->start;
	} else {
		from = MAX(o->start, s->line.len - n - MIN(back, s->line.len - n));
	}
	found = last_close(text + from, end);
	if (found)
		o->close = (size_t)(found - text);
	if (!o->in_text && !is_sgm_blank(end - n, n))
		o->in_text = !ends_with_tag(text, end);
	return o->close != NONE && o->in_text;
}

int sgm_next(struct sgm *s, struct err *e)
{
	struct open_segment o = { 0 };
	int got;

	while ((got = lines_next(&s->in, e)) > 0) {
		if (!o.is_open)
			buf_clear(&s->line);
		buf_add(&s->line, s->in.text, s->in.len);
		if (buf_check(&s->line, e))
			return e->code;
		if (s->line.len > LINES_MAX_BYTES)
			return err_set(
				e, ERR_DATA,
				"%s:%lld: a segment has more than %u bytes: is </seg> missing?",
				s->in.name, (long long)o.began, LINES_MAX_BYTES);
		if (!sgm_scan_line(s, &o, s->in.len))
			continue;
		buf_clear(&s->segment);
		sgm_squeeze_blanks(s->line.data + o.start, s->line.data + o.close, &s->segment);
		s->text = buf_text(&s->segment);
		s->len = s->segment.len;
		s->number++;
		return buf_check(&s->segment, e) ? e->code : 1;
	}
	if (got == 0 && o.is_open)
		return err_set(e, ERR_DATA, "%s:%lld: the file ends before </seg> of this segment",
			       s->in.name, (long long)o.began);
	return got;
}
