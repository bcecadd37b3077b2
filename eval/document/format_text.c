/*
 * format_text.c - plain text, one segment a line; and Markdown, one segment a paragraph, heading, list item or cell
 *
 * Markdown keeps code (fenced, indented, in backquotes), front matter, definitions of links, addresses and HTML tags.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

const struct docfile_format docfile_txt = { .name = "txt", .find = find_text };

/* ---- Markdown ---- */

#define MAX_ITEMS   16 /* lists in lists */
#define CODE_INDENT 4  /* columns beyond those of the paragraph */

struct markdown_scan {
	struct docfile *d;
	const struct docfile_part *p;
	size_t part;
	size_t from, to; /* the paragraph so far; from == to: none */
	bool was_blank;	 /* the line before was blank */
	bool is_quote;	 /* … was in a quotation */
	/* (n_items) columns from which on lines belong to the open items of lists, outermost first */
	size_t items[MAX_ITEMS], n_items;
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

/* Bytes of marks of quotation (> > ) at the begin of a line, with one blank after each. */
static size_t quote_bytes(const char *line, size_t n)
{
	size_t i = 0, done = 0;

	for (;;) {
		while (i < n && i < done + 4 && line[i] == ' ')
			i++;
		if (i >= n || line[i] != '>')
			return done;
		done = ++i;
		if (i < n && line[i] == ' ')
			done = ++i;
	}
}

/* Bytes of the mark of a list at text, with the blank after it; 0: none. */
static size_t list_mark_bytes(const char *text, size_t n)
{
	size_t k = 0;

	if (n > 1 && strchr("-*+", text[0]))
		return text[1] == ' ' ? 2 : 0;
	while (k < n && isdigit((unsigned char)text[k]))
		k++;
	return k && k + 1 < n && strchr(".)", text[k]) && text[k + 1] == ' ' ? k + 2 : 0;
}

/* Bytes of "[^1]: " of a footnote; 0: the line is none. */
static size_t footnote_bytes(const char *line, size_t n)
{
	const char *end = n > 4 && !memcmp(line, "[^", 2) ? memmem(line, n, "]:", 2) : NULL;

	return end ? (size_t)(end + 2 - line) : 0;
}

/* Bytes of marks before the text of a line: quotation, list, heading, task, footnote; *is_new: a new segment begins. */
static size_t mark_bytes(const char *line, size_t n, bool *is_new)
{
	size_t i = quote_bytes(line, n), k;

	*is_new = i > 0;
	for (;;) {
		while (i < n && line[i] == ' ')
			i++;
		for (k = i; k < n && line[k] == '#';)
			k++;
		if (k == i || k >= n || line[k] != ' ')
			k = i + list_mark_bytes(line + i, n - i);
		if (k == i)
			k = i + footnote_bytes(line + i, n - i);
		if (k == i)
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
		if (!strchr("-=*_|: \t\r+>", line[i]))
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

/* The number of equal bytes at the begin of a text. */
static size_t run_length(const char *text, size_t n)
{
	size_t k = 0;

	while (k < n && text[k] == *text)
		k++;
	return k;
}

/* The end of a block between two fences, which begins with the n_fence bytes at `text`; lines of a quotation if is_quote. */
static size_t fence_end(const struct docfile_part *p, size_t text, size_t n_fence, bool is_quote)
{
	size_t last = line_end(p, text);

	for (size_t line = last + 1; line < p->n; line = line_end(p, line) + 1) {
		const size_t end = line_end(p, line),
			     quote = quote_bytes(p->bytes + line, end - line);
		size_t k = line + quote;

		if (is_quote && !quote)
			return last; /* the quotation has ended, and the block with it */
		last = end;
		k += strspn(p->bytes + k, " ");
		if (k < end && p->bytes[k] == p->bytes[text] &&
		    run_length(p->bytes + k, end - k) >= n_fence)
			return end;
	}
	return p->n;
}

/* The end of an HTML block that lasts to its end tag, over blank lines. `at` itself: there is none. */
static size_t html_block_end(const struct docfile_part *p, size_t at, size_t text)
{
	static const struct {
		const char *begin, *end;
	} blocks[] = { { "<pre", "</pre>" },
		       { "<script", "</script>" },
		       { "<style", "</style>" },
		       { "<textarea", "</textarea>" },
		       { "<!--", "-->" } };

	for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
		const size_t n = strlen(blocks[i].begin), n_end = strlen(blocks[i].end);

		if (p->n - text <= n || strncasecmp(p->bytes + text, blocks[i].begin, n) ||
		    (blocks[i].end[0] == '<' && isalnum((unsigned char)p->bytes[text + n])))
			continue;
		for (size_t k = text + n; k + n_end <= p->n; k++)
			if (!strncasecmp(p->bytes + k, blocks[i].end, n_end))
				return line_end(p, k);
		return p->n;
	}
	return at;
}

/* The offset after a block that is kept: code, formulas, HTML, or front matter. `at` itself: there is none. */
static size_t skip_kept(const struct docfile_part *p, size_t at, size_t end)
{
	const char *line = p->bytes + at;
	const size_t n = end - at;
	size_t i = quote_bytes(line, n), fence, mark;
	const bool is_quote = i > 0;

	if (at <= 3 && (begins_with(p, at, "---") || begins_with(p, at, "+++"))) {
		const size_t front = fence_end(p, at, 3, false);

		return front == p->n ? at : front;
	}
	for (;;) { /* code may begin in an item of a list */
		i += strspn(line + i, " ");
		mark = i < n ? list_mark_bytes(line + i, n - i) : 0;
		if (!mark)
			break;
		i += mark;
		if (n - i > 4 && !memcmp(line + i, "    ", 4))
			return end;
	}
	if (i >= n)
		return at;
	fence = run_length(line + i, n - i);
	if ((strchr("`~", line[i]) && fence >= 3 &&
	     (line[i] == '~' || !memchr(line + i + fence, '`', n - i - fence))) ||
	    (line[i] == '$' && fence == 2 && !memmem(line + i + 2, n - i - 2, "$$", 2)))
		return fence_end(p, at + i, fence, is_quote);
	return html_block_end(p, at, at + i);
}

/* Columns of white space at the begin of a line; *bytes: its bytes. */
static size_t indent_columns(const char *line, size_t n, size_t *bytes)
{
	size_t columns = 0, i = 0;

	for (; i < n && (line[i] == ' ' || line[i] == '\t'); i++)
		columns = line[i] == ' ' ? columns + 1 : (columns / 4 + 1) * 4;
	*bytes = i;
	return columns;
}

/* Is the line, which follows a blank one, code by its indentation? Paragraphs of an item of a list are indented as its text. */
static bool is_indented_code(const struct markdown_scan *s, const char *line, size_t n)
{
	const size_t base = s->n_items ? s->items[s->n_items - 1] : 0;
	size_t bytes;

	return indent_columns(line, n, &bytes) >= base + CODE_INDENT && bytes < n;
}

/* Ends the items of lists to which a line does not belong. */
static void leave_items(struct markdown_scan *s, const char *line, size_t n)
{
	size_t bytes;
	const size_t columns = indent_columns(line, n, &bytes);

	while (s->n_items && columns < s->items[s->n_items - 1])
		s->n_items--;
}

/* Begins the item of a list, if the line does. */
static void enter_item(struct markdown_scan *s, const char *line, size_t n)
{
	size_t bytes, blanks;
	const size_t columns = indent_columns(line, n, &bytes),
		     mark = list_mark_bytes(line + bytes, n - bytes);

	if (!mark || s->n_items == MAX_ITEMS)
		return;
	blanks = indent_columns(line + bytes + mark, n - bytes - mark, &bytes);
	s->items[s->n_items++] = columns + mark + (blanks < CODE_INDENT ? blanks : 0);
}

static int read_markdown_line(struct markdown_scan *s, size_t at, size_t end, struct err *e)
{
	const char *line = s->p->bytes + at;
	const size_t n = end - at, quote = quote_bytes(line, n);
	bool is_new;
	size_t marks;

	if (is_markdown_rule(line, n)) { /* also a blank line */
		s->was_blank = true;
		if (n && strchr("-=*_", *line))
			s->n_items = 0;
		return end_paragraph(s, e);
	}
	marks = mark_bytes(line, n, &is_new);
	if ((quote > 0) != s->is_quote)
		s->n_items = 0;
	s->is_quote = quote > 0;
	if (s->was_blank || is_new)
		leave_items(s, line + quote, n - quote);
	if (s->was_blank && is_indented_code(s, line + quote, n - quote))
		return end_paragraph(s, e);
	enter_item(s, line + quote, n - quote);
	s->was_blank = false;
	if (line[0] == '[' && memmem(line, n, "]:", 2) && !footnote_bytes(line, n))
		return end_paragraph(s, e); /* definition of a link */
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

const struct docfile_format docfile_markdown = { .name = "md", .find = find_markdown };
