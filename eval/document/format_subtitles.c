/*
 * format_subtitles.c - SRT and WebVTT: a sentence that goes on in the next cue is one segment
 *
 * The translation is divided among the cues of a segment by length. Numbers, times, notes and styles stay.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "eval/document/docfile.h"
#include "share/base/text.h"

#define MAX_CUES 6 /* of a segment: a text without full stops is cut somewhere */

struct cue_scan {
	struct docfile *d;
	const struct docfile_part *p;
	size_t part;
	size_t from, to; /* the segment so far */
	int n_cues;
};

static int end_cues(struct cue_scan *s, struct err *e)
{
	const size_t from = s->from, to = s->to;

	s->n_cues = 0;
	s->from = s->to = 0;
	return to > from ? docfile_add_segment(s->d, s->part, from, to, MARKUP_CUES, NULL, e) : 0;
}

/* Does a text end a sentence? Marks and tags after the full stop do not count. */
static bool ends_sentence(const char *text, size_t n)
{
	while (n) {
		const char c = text[n - 1];

		if (c == '>') {
			while (n && text[n - 1] != '<')
				n--;
			n -= n > 0;
		} else if (strchr(" \t\r\n\"')]", c)) {
			n--;
		} else {
			return strchr(".?!:", c) ||
			       (n >= 3 && !memcmp(text + n - 3, "\xe2\x80\xa6", 3)) ||
			       (n >= 3 && !memcmp(text + n - 3, "\xe3\x80\x82", 3)) || c == '-';
		}
	}
	return true;
}

static bool is_music(const char *text, size_t n)
{
	return n >= 3 && (!memcmp(text, "\xe2\x99\xaa", 3) || !memcmp(text, "\xe2\x99\xab", 3));
}

/*
 * Does a speaker or a song begin with this line? *n_mark: bytes before its text: tags, a dash or a note. <v Name> belongs to
 * the text.
 */
static bool begins_speech(const char *line, size_t n, size_t *n_mark)
{
	size_t i = 0, dash;

	*n_mark = 0;
	for (;;) { /* tags and blanks */
		const char *stop = i < n && line[i] == '<'   ? memchr(line + i, '>', n - i)
				   : i < n && line[i] == '{' ? memchr(line + i, '}', n - i)
							     : NULL;

		if (n - i > 2 && !memcmp(line + i, "<v", 2) && strchr(" .", line[i + 2]))
			return true;
		if (stop)
			i = (size_t)(stop + 1 - line);
		else if (i < n && strchr(" \t", line[i]))
			i++;
		else
			break;
	}
	if (is_music(line + i, n - i)) {
		*n_mark = i + 3;
		return true;
	}
	dash = n - i > 1 && line[i] == '-';
	if (n - i > 2 && !memcmp(line + i, "\xe2\x80", 2) && strchr("\x93\x94", line[i + 2]))
		dash = 3;
	if (!dash || n - i <= dash ||
	    (line[i + dash] != ' ' && (dash == 3 || !isalpha((unsigned char)line[i + 1]))))
		return false;
	*n_mark = i + dash;
	return true;
}

/* Adds the cue whose text is from … to - 1; each speaker's lines are a text of their own. */
static int add_cue(struct cue_scan *s, size_t from, size_t to, struct err *e)
{
	const char *bytes = s->p->bytes;
	const size_t begin = from;

	if (to <= from)
		return end_cues(s, e);
	s->n_cues++;
	while (from < to) {
		const char *lf = memchr(bytes + from, '\n', to - from);
		const size_t end = lf ? (size_t)(lf - bytes) : to;
		size_t mark;

		if (begins_speech(bytes + from, end - from, &mark)) {
			if (end_cues(s, e))
				return e->code;
			s->n_cues = 1;
			from += mark;
		}
		if (!s->to)
			s->from = from;
		s->to = end;
		from = end + 1;
	}
	s->to = to;
	if (s->n_cues == MAX_CUES || ends_sentence(bytes + begin, to - begin))
		return end_cues(s, e);
	return 0;
}

/* Is the line that begins at `at` the line of times of a cue? */
static bool is_time_line(const struct docfile_part *p, size_t at)
{
	const char *lf = at < p->n ? memchr(p->bytes + at, '\n', p->n - at) : NULL;
	const size_t end = lf ? (size_t)(lf - p->bytes) : p->n;

	return at < end && memmem(p->bytes + at, end - at, "-->", 3);
}

static int find_cues(struct docfile *d, size_t part, struct err *e)
{
	struct cue_scan s = { .d = d, .p = &d->parts[part], .part = part };
	size_t text = 0, text_end = 0, end;
	bool is_cue = false;

	for (size_t at = utf8_mark_bytes(s.p->bytes, s.p->n); at < s.p->n; at = end + 1) {
		const char *lf = memchr(s.p->bytes + at, '\n', s.p->n - at);
		const char *line = s.p->bytes + at;
		size_t n;

		end = lf ? (size_t)(lf - s.p->bytes) : s.p->n;
		n = end - at;
		while (n && isspace((unsigned char)line[n - 1]))
			n--;
		if (is_time_line(s.p, at)) {
			is_cue = true;
			text = text_end = end + 1;
		} else if (!n && is_cue) {
			is_cue = false;
			if (add_cue(&s, text, text_end, e))
				return e->code;
		} else if (is_cue) {
			text_end = at + n;
		} else if (n && !is_time_line(s.p, end + 1)) {
			/* a note, a style, or text after a blank line: no cue continues after it */
			if (end_cues(&s, e))
				return e->code;
		}
	}
	if (is_cue && text_end > text && text < s.p->n && add_cue(&s, text, text_end, e))
		return e->code;
	return end_cues(&s, e);
}

const struct docfile_format docfile_srt = { .name = "srt", .find = find_cues };
const struct docfile_format docfile_vtt = { .name = "vtt", .find = find_cues };
