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

/* Adds the cue whose text is from … to - 1. */
static int add_cue(struct cue_scan *s, size_t from, size_t to, struct err *e)
{
	if (to <= from)
		return end_cues(s, e);
	if (!s->n_cues++)
		s->from = from;
	s->to = to;
	if (s->n_cues == MAX_CUES || ends_sentence(s->p->bytes + from, to - from))
		return end_cues(s, e);
	return 0;
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
		n -= n && line[n - 1] == '\r';
		if (memmem(line, n, "-->", 3)) {
			is_cue = true;
			text = text_end = end + 1;
		} else if (!n && is_cue) {
			is_cue = false;
			if (add_cue(&s, text, text_end, e))
				return e->code;
		} else if (is_cue) {
			text_end = at + n;
		} else if (n >= 4 && (!memcmp(line, "NOTE", 4) || !memcmp(line, "STYL", 4) ||
				      !memcmp(line, "REGI", 4))) {
			if (end_cues(&s, e)) /* no cue continues after it */
				return e->code;
		}
	}
	if (is_cue && text_end > text && text < s.p->n && add_cue(&s, text, text_end, e))
		return e->code;
	return end_cues(&s, e);
}

const struct docfile_format docfile_srt = { .name = "srt", .suffixes = ".srt ", .find = find_cues };
const struct docfile_format docfile_vtt = { .name = "vtt", .suffixes = ".vtt ", .find = find_cues };
