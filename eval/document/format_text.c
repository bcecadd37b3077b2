/*
 * format_text.c - plain text, one segment a line; and Markdown, one segment a paragraph, heading, list item or cell
 *
 * Markdown keeps code (fenced, indented, in backquotes), front matter, definitions of links, addresses and HTML tags.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "eval/document/docfile.h"
#include "share/base/text.h"
#include "share/base/util.h"

/* End of the line that begins at `at`, without its line end. */
static size_t line_end(const struct docfile_part *p, size_t at)
{
	const char *lf = at < p->n ? memchr(p->bytes + at, '\n', p->n - at) : NULL;

	return lf ? (size_t)(lf - p->bytes) : p->n;
}

static int find_text(struct docfile *d, size_t part, struct err *e)
{
	const struct docfile_part *p = &d->parts[part];
	size_t end;

	for (size_t at = utf8_mark_bytes(p->bytes, p->n); at < p->n; at = end + 1) {
		end = line_end(p, at);
		if (docfile_add_segment(d, part, at, end, MARKUP_NONE, NULL, e))
			return e->code;
	}
	return 0;
}

const struct docfile_format docfile_txt = { .name = "txt",
					    .suffixes = ".txt .text ",
					    .find = find_text };

/* ---- Markdown ---- */

struct markdown_scan {
	struct docfile *d;
	const struct docfile_part *p;
	size_t part;
	size_t from, to; /* the paragraph so far; from == to: none */
	bool was_blank;	 /* the line before was blank */
};

static int end_paragraph(struct markdown_scan *s, struct err *e)
{
	const size_t from = s->from, to = s->to;

	s->from = s->to = 0;
	return to > from ? docfile_add_segment(s->d, s->part, from, to, MARKUP_MARKDOWN, NULL, e)
			 : 0;
}

static bool begins_with(const struct docfile_part *p, size_t at, const char *what)
{
	const size_t n = strlen(what);

	return p->n - at >= n && !memcmp(p->bytes + at, what, n);
}

/* Bytes of marks before the text of a line: quotation, list, heading, task; *is_new: a new segment begins. */
static size_t mark_bytes(const char *line, size_t n, bool *is_new)
{
	size_t i = 0, k;

	*is_new = false;
	for (;;) {
		while (i < n && line[i] == ' ')
			i++;
		k = i;
		if (i < n && line[i] == '>') {
			i++;
			*is_new = true;
			continue;
		}
		while (k < n && line[k] == '#')
			k++;
		if (k == i && i + 1 < n && strchr("-*+", line[i]) && line[i + 1] == ' ')
			k++;
		while (k == i && k < n && isdigit((unsigned char)line[k]))
			for (k++; k < n && isdigit((unsigned char)line[k]);)
				k++;
		if (k > i && isdigit((unsigned char)line[k - 1]))
			k = k < n && strchr(".)", line[k]) ? k + 1 : i;
		if (k == i || k >= n || line[k] != ' ')
			break;
		*is_new = true;
		i = k;
	}
	if (n - i > 3 && line[i] == '[' && line[i + 2] == ']' && line[i + 3] == ' ' && *is_new)
		i += 4;
	return i;
}

/* A line of -, =, *, _, |, : and blanks: a rule, the underline of a heading, or part of a table. */
static bool is_markdown_rule(const char *line, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strchr("-=*_|: \t\r+", line[i]))
			return false;
	return true;
}

static int add_cells(struct markdown_scan *s, size_t at, size_t end, struct err *e)
{
	const char *bytes = s->p->bytes;
	bool is_code = false;

	for (size_t i = at, from = at; i <= end; i++) {
		if (i < end && bytes[i] == '`')
			is_code = !is_code;
		if (i < end && (bytes[i] != '|' || is_code || (i > at && bytes[i - 1] == '\\')))
			continue;
		if (docfile_add_segment(s->d, s->part, from, i, MARKUP_MARKDOWN, NULL, e))
			return e->code;
		from = i + 1;
	}
	return 0;
}

/* The offset after a block that is kept: fenced code, or front matter. `at` itself: there is none. */
static size_t skip_kept(const struct docfile_part *p, size_t at, size_t end)
{
	const char *fences[] = { "```", "~~~", "---", "+++", "$$" };
	size_t text = at;

	while (text < end && p->bytes[text] == ' ')
		text++;
	for (size_t i = 0; i < ARRAY_LEN(fences); i++) {
		const bool is_front = i == 2 || i == 3;
		const char *const fence = fences[i];

		if (!begins_with(p, text, fence) || (is_front && at > 3))
			continue;
		for (size_t line = end + 1; line < p->n; line = line_end(p, line) + 1) {
			size_t k = line;

			while (k < p->n && p->bytes[k] == ' ')
				k++;
			if (begins_with(p, k, fence))
				return line_end(p, line);
		}
		return is_front ? at : p->n;
	}
	return at;
}

static int read_markdown_line(struct markdown_scan *s, size_t at, size_t end, struct err *e)
{
	const char *line = s->p->bytes + at;
	const size_t n = end - at;
	bool is_new;
	size_t marks;

	if (is_markdown_rule(line, n)) { /* also a blank line */
		s->was_blank = true;
		return end_paragraph(s, e);
	}
	if ((line[0] == '\t' || (n > 4 && !memcmp(line, "    ", 4))) && s->was_blank)
		return end_paragraph(s, e); /* indented code */
	s->was_blank = false;
	if (line[0] == '[' && memmem(line, n, "]:", 2))
		return end_paragraph(s, e); /* definition of a link */
	marks = mark_bytes(line, n, &is_new);
	if (line[marks] == '|')
		return end_paragraph(s, e) || add_cells(s, at + marks, end, e) ? e->code : 0;
	if (is_new && end_paragraph(s, e))
		return e->code;
	if (s->to == s->from)
		s->from = at + marks;
	s->to = end;
	if (line[0] == '#' || (n > 2 && line[n - 1] == ' ' && line[n - 2] == ' '))
		return end_paragraph(s, e); /* a heading is one line; two blanks end a line */
	return 0;
}

static int find_markdown(struct docfile *d, size_t part, struct err *e)
{
	const struct docfile_part *p = &d->parts[part];
	struct markdown_scan s = { .d = d, .p = p, .part = part, .was_blank = true };
	size_t end;

	for (size_t at = utf8_mark_bytes(p->bytes, p->n); at < p->n; at = end + 1) {
		size_t kept;

		end = line_end(p, at);
		kept = skip_kept(p, at, end);
		if (kept != at) {
			if (end_paragraph(&s, e))
				return e->code;
			s.was_blank = true;
			end = kept;
		} else if (read_markdown_line(&s, at, end, e)) {
			return e->code;
		}
	}
	return end_paragraph(&s, e);
}

const struct docfile_format docfile_markdown = { .name = "md",
						 .suffixes = ".md .markdown ",
						 .find = find_markdown };
