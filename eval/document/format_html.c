/*
 * format_html.c - HTML as pages have it: text between block tags is a segment, with the inline tags in it
 *
 * The tokenizer is tolerant: < that begins no tag is text, an unknown tag ends a segment, a tag without end is kept. Not
 * translated: script, style, pre, code and the like, elements with translate="no" or the class notranslate, attributes.
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
};

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

static int find_html(struct docfile *d, size_t part, struct err *e)
{
	const struct docfile_part *p = &d->parts[part];
	struct html_scan s = { .d = d, .part = part };
	size_t i = utf8_mark_bytes(p->bytes, p->n);

	s.from = i;
	while (i < p->n) {
		const char *at = memchr(p->bytes + i, '<', p->n - i);
		struct markup_tag tag;
		bool is_block;
		size_t skip;

		if (!at)
			break;
		i = (size_t)(at - p->bytes);
		if (!markup_read_tag(at, p->n - i, &tag)) {
			if (markup_is_unfinished(at, p->n - i)) /* as a browser reads it */
				return docfile_add_segment(d, part, s.from, i, MARKUP_HTML, NULL,
							   e);
			i++;
			continue;
		}
		is_block = tag.has_name ? !markup_has_name(inline_tags, tag.name, tag.n_name, true)
					: at[1] != '!' || at[2] != '-';
		skip = html_skip(&s, at, p->n - i, &tag, is_block);
		is_block |= skip > tag.n && i + skip == p->n; /* an element that never ends */
		if (is_block && docfile_add_segment(d, part, s.from, i, MARKUP_HTML, NULL, e))
			return e->code;
		i += skip;
		if (is_block)
			s.from = i;
	}
	return docfile_add_segment(d, part, s.from, p->n, MARKUP_HTML, NULL, e);
}

const struct docfile_format docfile_html = { .name = "html",
					     .find = find_html,
					     .has_references = true };
