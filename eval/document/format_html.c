/*
 * format_html.c - HTML as pages have it: text between block tags is a segment, with the inline tags in it
 *
 * The tokenizer is tolerant: < that begins no tag is text, an unknown tag ends a segment, a tag without end is kept. Not
 * translated: script, style, pre, code and the like, elements with translate="no" or the class notranslate, attributes.
 * A text of XML: an element without content (a placeholder) stands inside a segment.
 */
#include <stdlib.h>
#include <string.h>

#include "eval/document/docfile.h"
#include "eval/document/markup_internal.h"
#include "share/base/text.h"

static const char inline_tags[] = "a abbr acronym b bdi bdo big br cite code data del dfn em font "
				  "i iframe img input ins kbd label mark math "
				  "nobr object output q rb rp rt ruby s samp select small span "
				  "strike strong style script sub sup svg "
				  "textarea time tt u var wbr ";
static const char kept_blocks[] = "pre template noframes noembed xmp listing plaintext ";

struct html_scan {
	struct docfile *d;
	size_t part, from; /* the segment begins here */
	bool lacks_end;	   /* an element had no end: no further one is searched for */
	bool is_xml;
	bool ends_lines; /* a segment ends with its line */
};

/* Bytes of an element without content, <x/> or <x></x>; 0: the tag begins none. */
static size_t empty_element_bytes(const char *at, size_t n, const struct markup_tag *tag)
{
	struct markup_tag end;

	if (tag->is_empty || !tag->has_name || tag->is_end)
		return tag->is_empty ? tag->n : 0;
	if (n - tag->n < 2 || at[tag->n] != '<' ||
	    !markup_read_tag(at + tag->n, n - tag->n, &end) || !end.is_end ||
	    end.n_name != tag->n_name || memcmp(end.name, tag->name, end.n_name) != 0)
		return 0;
	return tag->n + end.n;
}

/* Ends segments at the line ends of a text between tags. */
static int end_html_lines(struct html_scan *s, size_t from, size_t to, struct err *e)
{
	const char *bytes = s->d->parts[s->part].bytes, *lf;

	while (s->ends_lines && from < to && (lf = memchr(bytes + from, '\n', to - from))) {
		from = (size_t)(lf - bytes) + 1;
		if (docfile_add_segment(s->d, s->part, s->from, from, MARKUP_HTML, NULL, e))
			return e->code;
		s->from = from;
	}
	return 0;
}

/* Bytes from a tag up to where the search goes on: the tag, or the element if it is not translated. */
static size_t html_skip(struct html_scan *s, const char *at, size_t n, const struct markup_tag *tag,
			bool is_block)
{
	size_t whole = 0;

	if (tag->is_end || tag->is_empty || !tag->has_name || s->lacks_end ||
	    (markup_role_of(MARKUP_HTML, at, tag) != ROLE_OPAQUE &&
	     !(is_block && markup_has_name(kept_blocks, tag->name, tag->n_name, true))))
		return tag->n;
	whole = markup_element_bytes(MARKUP_HTML, at, n, tag);
	if (!whole && markup_has_name("script style plaintext xmp ", tag->name, tag->n_name, true))
		return n; /* up to the end, as a browser reads it */
	s->lacks_end = !whole;
	return whole ? whole : tag->n;
}

static int scan_html(struct html_scan s, struct err *e)
{
	struct docfile *d = s.d;
	const size_t part = s.part;
	const struct docfile_part *p = &d->parts[part];
	size_t i = utf8_mark_bytes(p->bytes, p->n);

	s.from = i;
	while (i < p->n) {
		const char *at = memchr(p->bytes + i, '<', p->n - i);
		const size_t next = at ? (size_t)(at - p->bytes) : p->n;
		struct markup_tag tag;
		bool is_block;
		size_t skip, empty;

		if (end_html_lines(&s, i, next, e))
			return e->code;
		i = next;
		if (!at)
			break;
		if (!markup_read_tag(at, p->n - i, &tag)) {
			if (markup_is_unfinished(at, p->n - i)) /* as a browser reads it */
				return docfile_add_segment(d, part, s.from, i, MARKUP_HTML, NULL,
							   e);
			i++;
			continue;
		}
		is_block = tag.has_name ? !markup_has_name(inline_tags, tag.name, tag.n_name, true)
					: at[1] != '!' || at[2] != '-';
		empty = s.is_xml ? empty_element_bytes(at, p->n - i, &tag) : 0;
		is_block &= !empty;
		skip = empty ? empty : html_skip(&s, at, p->n - i, &tag, is_block);
		/* an element that never ends */
		is_block |= !empty && skip > tag.n && i + skip == p->n;
		if (is_block && docfile_add_segment(d, part, s.from, i, MARKUP_HTML, NULL, e))
			return e->code;
		i += skip;
		if (is_block)
			s.from = i;
	}
	return docfile_add_segment(d, part, s.from, p->n, MARKUP_HTML, NULL, e);
}

static int find_html(struct docfile *d, size_t part, struct err *e)
{
	return scan_html((struct html_scan){ .d = d, .part = part }, e);
}

static int find_xml_text(struct docfile *d, size_t part, struct err *e)
{
	return scan_html((struct html_scan){ .d = d, .part = part, .is_xml = true }, e);
}

static int find_xml_lines(struct docfile *d, size_t part, struct err *e)
{
	return scan_html(
		(struct html_scan){ .d = d, .part = part, .is_xml = true, .ends_lines = true }, e);
}

const struct docfile_format docfile_html = { .name = "html",
					     .find = find_html,
					     .has_references = true };
const struct docfile_format docfile_xml_text = { .name = "xml",
						 .find = find_xml_text,
						 .has_references = true };
const struct docfile_format docfile_xml_lines = { .name = "xml-lines",
						  .find = find_xml_lines,
						  .has_references = true };
