/* xml_pairs.c - TMX and XLIFF: root element and text of segments (see xml_pairs.h) */
#include "data/bilingual/xml_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define REPAIR_BYTES ((size_t)64 << 10)

struct xml_pairs {
	struct bilingual *b;
	struct xml_reader *reader; /* owned */
	const struct xml_pairs_kind *kind;
	void *state;		  /* owned: of the kind */
	struct buf *to;		  /* borrowed: text of the current segment; NULL: of no interest */
	int text_depth;		  /* of the current segment; 0: outside */
	int code_depth;		  /* of the outermost code inside the segment; 0: outside */
	struct buf raw, repaired; /* with the option repair: bytes of the file, and repaired ones */
	size_t taken;		  /* bytes of repaired that the parser has */
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

/* ---- repair ---- */

/* Bytes of whole characters, if more bytes can follow. */
static size_t whole_char_bytes(const char *text, size_t n)
{
	static const unsigned char first[] = { 0xFF, 0xC0, 0xE0, 0xF0 }; /* of longer characters */

	for (size_t k = 1; k <= 3 && k <= n; k++) {
		const unsigned char c = (unsigned char)text[n - k];

		if ((c & 0xC0) != 0x80)
			return k < ARRAY_LEN(first) && c >= first[k] ? n - k : n;
	}
	return n;
}

static int64_t count_replacements(const char *text, size_t n)
{
	const char *const end = text + n;
	int64_t found = 0;

	while ((text = memmem(text, (size_t)(end - text), "\xEF\xBF\xBD", 3)) != NULL) {
		text += 3;
		found++;
	}
	return found;
}

/* Repair the first n bytes of p->raw to p->repaired. */
static void repair_bytes(struct xml_pairs *p, size_t n)
{
	int64_t replaced = -count_replacements(p->raw.data, n);

	buf_clear(&p->repaired);
	p->taken = 0;
	utf8_repair(&p->repaired, p->raw.data, n);
	replaced += count_replacements(buf_text(&p->repaired), p->repaired.len);
	for (size_t i = 0; i < p->repaired.len; i++) {
		char *c = &p->repaired.data[i];

		if ((unsigned char)*c >= ' ' || *c == '\t' || *c == '\n' || *c == '\r')
			continue;
		*c = ' ';
		replaced++;
	}
	bilingual_note_replaced(p->b, replaced);
	memmove(p->raw.data, p->raw.data + n, p->raw.len - n);
	buf_truncate(&p->raw, p->raw.len - n);
}

/* The file without invalid UTF-8 and without the control characters that XML forbids; a lines_read. */
static int64_t read_repaired_text(void *from, void *to, size_t room, struct err *e)
{
	struct xml_pairs *p = from;

	while (p->taken == p->repaired.len) {
		char *bytes = buf_reserve(&p->raw, REPAIR_BYTES);
		const int64_t got = bytes ? bilingual_read_text(p->b, bytes, REPAIR_BYTES, e)
					  : buf_check(&p->raw, e);

		if (got < 0 || !bytes)
			return got;
		p->raw.len += (size_t)got;
		if (!p->raw.len)
			return 0;
		repair_bytes(p, got ? whole_char_bytes(p->raw.data, p->raw.len) : p->raw.len);
		if (buf_check(&p->repaired, e))
			return e->code;
	}
	room = MIN(room, p->repaired.len - p->taken);
	memcpy(to, p->repaired.data + p->taken, room);
	p->taken += room;
	return (int64_t)room;
}

/* ---- the format ---- */

static void close_xml_pairs(void *reader)
{
	struct xml_pairs *p = reader;

	if (p->state)
		p->kind->close(p);
	xml_reader_close(p->reader);
	buf_free(&p->raw);
	buf_free(&p->repaired);
	free(p->state);
	free(p);
}

static void *open_xml_pairs(struct bilingual *b, struct err *e)
{
	static const struct xml_events events = { on_pairs_begin, on_pairs_end, on_pairs_text };
	struct xml_pairs *p = mem_alloc(1, sizeof(*p), e);
	const struct bilingual_options *o;

	if (!p)
		return NULL;
	*p = (struct xml_pairs){ .b = b };
	o = bilingual_opened_with(b);
	p->reader = xml_reader_open(o->name, &events, p,
				    o->repair ? read_repaired_text : bilingual_read_text,
				    o->repair ? (void *)p : (void *)b, e);
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
