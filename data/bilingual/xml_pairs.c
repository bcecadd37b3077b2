/* xml_pairs.c - TMX and XLIFF: root element and text of segments (see xml_pairs.h) */
#include "data/bilingual/xml_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"

struct xml_pairs {
	struct bilingual *b;
	struct xml_reader *reader; /* owned */
	const struct xml_pairs_kind *kind;
	void *state;	/* owned: of the kind */
	struct buf *to; /* borrowed: text of the current segment; NULL: of no interest */
	int text_depth; /* of the current segment; 0: outside */
	int code_depth; /* of the outermost code inside the segment; 0: outside */
};

void *xml_pairs_state(struct xml_pairs *p)
{
	return p->state;
}

struct bilingual *xml_pairs_file(struct xml_pairs *p)
{
	return p->b;
}

void xml_pairs_begin_text(struct xml_pairs *p, struct buf *to, int depth)
{
	if (to)
		buf_clear(to);
	p->to = to;
	p->text_depth = depth;
	p->code_depth = 0;
}

/* ---- segments ---- */

/* Elements whose contents are codes of the original document: they and <sub> inside are left out. */
static bool is_code_element(const char *name)
{
	static const char *const names[] = { "ph", "bpt", "ept", "it", "ut" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* <x ctype="lb"/> of XLIFF 1.2, <ph subType="xlf:lb"/> of XLIFF 2, <ph type="lb"> of TMX */
static bool is_line_break(const char *const *attributes)
{
	return !strcmp(xml_attribute(attributes, "ctype"), "lb") ||
	       !strcmp(xml_attribute(attributes, "type"), "lb") ||
	       !strcmp(xml_attribute(attributes, "subType"), "xlf:lb");
}

static int begin_inside_segment(struct xml_pairs *p, const char *name,
				const char *const *attributes, int depth, struct err *e)
{
	if (p->code_depth)
		return 0;
	if (p->to && is_line_break(attributes))
		buf_add_char(p->to, ' ');
	if (is_code_element(name))
		p->code_depth = depth;
	else if (p->kind->mark_begin)
		return p->kind->mark_begin(p, name, attributes, depth, e);
	return 0;
}

static int on_pairs_text(void *to, const char *text, size_t n, struct err *e)
{
	struct xml_pairs *p = to;

	if (!p->text_depth || p->code_depth || !p->to)
		return 0;
	if (p->to->len + n > BILINGUAL_MAX_BYTES)
		return err_set(e, ERR_DATA, "%s: a segment has more than %d MiB of text",
			       bilingual_opened_with(p->b)->name, (int)(BILINGUAL_MAX_BYTES >> 20));
	buf_add(p->to, text, n);
	return buf_check(p->to, e);
}

/* ---- elements ---- */

static int begin_root(struct xml_pairs *p, const char *name, struct err *e)
{
	static const struct xml_pairs_kind *const kinds[] = { &xml_pairs_tmx, &xml_pairs_xliff };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strcmp(name, kinds[i]->root)) {
			p->kind = kinds[i];
			p->state = mem_alloc(1, p->kind->state_bytes, e);
			return p->state ? 0 : e->code;
		}
	return err_set(e, ERR_DATA,
		       "%s: its root element is <%.60s>, but <tmx> or <xliff> was expected",
		       bilingual_opened_with(p->b)->name, name);
}

static int on_pairs_begin(void *to, const char *name, const char *const *attributes, int depth,
			  struct err *e)
{
	struct xml_pairs *p = to;

	if (depth == 1 && begin_root(p, name, e))
		return e->code;
	if (p->text_depth)
		return begin_inside_segment(p, name, attributes, depth, e);
	return p->kind->begin(p, name, attributes, depth, e);
}

static int on_pairs_end(void *to, const char *name, int depth, struct err *e)
{
	struct xml_pairs *p = to;

	if (p->code_depth == depth) {
		p->code_depth = 0;
	} else if (p->text_depth == depth) {
		p->text_depth = 0;
		p->to = NULL;
	} else if (!p->text_depth) {
		return p->kind->end(p, name, depth, e);
	} else if (!p->code_depth && p->kind->mark_end) {
		p->kind->mark_end(p, depth);
	}
	return 0;
}

/* ---- the format ---- */

static void close_xml_pairs(void *reader)
{
	struct xml_pairs *p = reader;

	if (p->state)
		p->kind->close(p);
	xml_reader_close(p->reader);
	free(p->state);
	free(p);
}

static void *open_xml_pairs(struct bilingual *b, struct err *e)
{
	static const struct xml_events events = { on_pairs_begin, on_pairs_end, on_pairs_text };
	struct xml_pairs *p = mem_alloc(1, sizeof(*p), e);

	if (!p)
		return NULL;
	*p = (struct xml_pairs){ .b = b };
	p->reader = xml_reader_open(bilingual_opened_with(b)->name, &events, p, bilingual_read_text,
				    b, e);
	if (p->reader)
		return p;
	close_xml_pairs(p);
	return NULL;
}

static int step_xml_pairs(void *reader, struct err *e)
{
	return xml_reader_step(((struct xml_pairs *)reader)->reader, e);
}

const struct bilingual_format bilingual_xml = { open_xml_pairs, step_xml_pairs, close_xml_pairs };
