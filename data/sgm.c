/* sgm.c - see sgm.h */
#include "data/sgm.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "share/base/mem.h"
#include "share/base/text.h"

int sgm_open(struct sgm *s, const char *path, struct err *e)
{
	*s = (struct sgm){ 0 };
	if (lines_open(&s->in, path, e))
		return e->code;
	s->name = mem_strdup(path && strcmp(path, "-") ? path : "standard input", e);
	if (s->name)
		return 0;
	sgm_close(s);
	return e->code;
}

void sgm_close(struct sgm *s)
{
	lines_close(&s->in);
	free(s->name);
	buf_free(&s->line);
	buf_free(&s->segment);
	*s = (struct sgm){ 0 };
}

bool sgm_is_name(const char *path)
{
	size_t n = strlen(path);

	return n >= 4 && !strcasecmp(path + n - 4, ".sgm");
}

/* Where the text of the first segment begins, after its <seg ...>; NULL: there is no such tag. */
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

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void squeeze(const char *text, const char *end, struct buf *out)
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

int sgm_next(struct sgm *s, struct err *e)
{
	bool open = false;		/* a segment has begun and is not closed yet */
	int64_t began = 0;
	int got;

	while ((got = lines_next(&s->in, e)) > 0) {
		const char *start, *close, *end;

		if (!open)
			buf_clear(&s->line);
		buf_add(&s->line, s->in.text, s->in.len);
		if (buf_check(&s->line, e))
			return e->code;
		if (s->line.len > LINES_MAX_BYTES)
			return err_set(e, ERR_DATA, "%s:%lld: a segment of more than %u bytes; is </seg> missing?",
				       s->name, (long long)began, LINES_MAX_BYTES);
		end = s->line.data + s->line.len;
		start = after_tag(s->line.data, end);
		close = start ? last_close(start, end) : NULL;
		if (start && !close) {
			began = open ? began : s->in.number;
			open = true;
			continue;
		}
		open = false;
		if (!start)
			continue;
		buf_clear(&s->segment);
		squeeze(start, close, &s->segment);
		s->text = buf_text(&s->segment);
		s->len = s->segment.len;
		s->number++;
		return buf_check(&s->segment, e) ? e->code : 1;
	}
	if (got == 0 && open)
		return err_set(e, ERR_DATA, "%s:%lld: <seg> is not closed before the end of the file",
			       s->name, (long long)began);
	return got;
}
