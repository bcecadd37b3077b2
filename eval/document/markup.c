/* markup.c - reads inline mark-up into a tree of pairs and items; see markup.h */
#include "eval/document/markup.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "eval/document/markup_internal.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

/* A pair that has begun. */
struct open_pair {
	int32_t node;
	const char *name; /* (n_name) what its end must be called */
	size_t n_name;
	bool by_number; /* name is an id (<bpt id="1">) */
	bool is_text;	/* &lt;b&gt; */
};

struct markup_reader {
	struct markup *m;
	const struct protect *symbols; /* NULL: none */
	const char *at, *end;
	struct open_pair stack[MARKUP_MAX_DEPTH];
	int depth;
	bool collapses;	    /* white space is one blank */
	bool blank_pending; /* a blank comes before the next character */
	bool lacks_end;	    /* an element had no end: no further one is searched for */
};

static bool is_markup_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static int32_t innermost(const struct markup_reader *r)
{
	return r->depth ? r->stack[r->depth - 1].node : -1;
}

static bool begins_no_break(const char *at, const char *end)
{
	return end - at >= 6 && !memcmp(at, "&nbsp;", 6);
}

/* Is there white space before `at`? */
static bool ends_blank(const char *begin, const char *at)
{
	return at > begin &&
	       (is_markup_space(at[-1]) || (at - begin >= 6 && begins_no_break(at - 6, at)));
}

static int add_markup_text(struct markup_reader *r, const char *bytes, size_t n, struct err *e)
{
	struct markup *m = r->m;

	if (r->blank_pending) {
		const bool is_needed =
			m->text.len && !is_markup_space(m->text.data[m->text.len - 1]);

		r->blank_pending = false;
		if (is_needed && add_markup_text(r, " ", 1, e))
			return e->code;
	}
	if (mem_grow(&m->inside, &m->cap_inside, m->text.len + n, sizeof(*m->inside), e))
		return e->code;
	for (size_t i = 0; i < n; i++)
		m->inside[m->text.len + i] = innermost(r);
	buf_add(&m->text, bytes, n);
	return buf_check(&m->text, e);
}

/* Adds n bytes at r->at as a node, and moves past them. NULL: failure. */
static struct markup_node *add_node(struct markup_reader *r, size_t n, struct err *e)
{
	struct markup *m = r->m;
	struct markup_node *node;

	if (mem_grow(&m->nodes, &m->cap, m->n + 1, sizeof(*m->nodes), e))
		return NULL;
	node = &m->nodes[m->n++];
	*node = (struct markup_node){
		.parent = innermost(r), .open = { r->at, n }, .at = m->text.len, .end = m->text.len
	};
	node->blank_before = ends_blank(m->source.bytes, r->at);
	r->at += n;
	node->blank_after =
		r->at < r->end && (is_markup_space(*r->at) || begins_no_break(r->at, r->end));
	return node;
}

static int add_markup_item(struct markup_reader *r, size_t n, bool breaks, struct err *e)
{
	struct markup_node *node = add_node(r, n, e);

	if (!node)
		return e->code;
	node->breaks = breaks;
	if (breaks || node->blank_before)
		r->blank_pending = true;
	return 0;
}

/* An item that a reader sees. */
static int add_solid_item(struct markup_reader *r, size_t n, struct err *e)
{
	if (add_markup_item(r, n, false, e))
		return e->code;
	r->m->nodes[r->m->n - 1].is_solid = true;
	return 0;
}

/* A start tag: the pair is one when its end comes. */
static int open_node(struct markup_reader *r, size_t n, const struct open_pair *name, struct err *e)
{
	if (!add_node(r, n, e))
		return e->code;
	if (r->depth == MARKUP_MAX_DEPTH)
		return 0;
	r->stack[r->depth] = *name;
	r->stack[r->depth++].node = (int32_t)r->m->n - 1;
	return 0;
}

static bool names_match(const struct markup_reader *r, const struct open_pair *a,
			const struct open_pair *b)
{
	if (a->n_name != b->n_name || a->by_number != b->by_number || a->is_text != b->is_text)
		return false;
	return markup_folds_case(r->m->kind) ? !strncasecmp(a->name, b->name, a->n_name)
					     : !memcmp(a->name, b->name, a->n_name);
}

/* An end tag: it ends the innermost pair of its name; pairs inside that have not ended are items. */
static int close_pair(struct markup_reader *r, size_t n, const struct open_pair *name,
		      struct err *e)
{
	struct markup_node *node;
	int k = r->depth - 1;

	while (k >= 0 && !names_match(r, &r->stack[k], name))
		k--;
	if (k < 0)
		return add_markup_item(r, n, false, e);
	node = &r->m->nodes[r->stack[k].node];
	node->is_pair = true;
	node->close = (struct markup_bytes){ r->at, n };
	node->end = r->m->text.len;
	r->depth = k;
	r->at += n;
	return 0;
}

/* <bpt id="1">: what begins and ends a pair has the same number. */
static struct open_pair number_of(const char *bytes, size_t n)
{
	static const char *const names[] = { "rid", "i", "id" };
	struct open_pair p = { .name = "", .by_number = true };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		p.name = markup_tag_value(bytes, n, names[i], &p.n_name);
		if (p.name)
			return p;
	}
	p.name = "";
	return p;
}

static int read_tag_node(struct markup_reader *r, const struct markup_tag *tag, struct err *e)
{
	const struct open_pair name = { .name = tag->name, .n_name = tag->n_name };
	const enum markup_role role = markup_role_of(r->m->kind, r->at, tag);
	size_t n = tag->n;
	struct open_pair number;

	if (!tag->is_end && !tag->is_empty && !r->lacks_end &&
	    (role == ROLE_OPAQUE || role == ROLE_BEGIN || role == ROLE_FINISH)) {
		n = markup_element_bytes(r->m->kind, r->at, (size_t)(r->end - r->at), tag);
		r->lacks_end = n == 0;
		n = n ? n : tag->n;
	}
	number = number_of(r->at, tag->n);
	switch (role) {
	case ROLE_PAIR:
		return tag->is_end ? close_pair(r, n, &name, e) : open_node(r, n, &name, e);
	case ROLE_BEGIN:
		return open_node(r, n, &number, e);
	case ROLE_FINISH:
		return close_pair(r, n, &number, e);
	default:
		if (markup_is_solid(r->m->kind, role, tag))
			return add_solid_item(r, n, e);
		return add_markup_item(r, n, role == ROLE_BREAK, e);
	}
}

/* At a line end of subtitles: bytes of the line end, or of all up to the text of the next cue. */
static size_t cue_break_bytes(const char *text, size_t n)
{
	size_t i = 0, end = 0;

	while (i < n && is_markup_space(text[i]))
		i++;
	/* the number or name of the cue, and the times */
	for (int line = 0; line < 2 && i < n; line++) {
		const char *lf = memchr(text + i, '\n', n - i);
		const size_t stop = lf ? (size_t)(lf - text) + 1 : n;

		if (memmem(text + i, stop - i, "-->", 3)) {
			end = stop;
			break;
		}
		i = stop;
	}
	return end ? end : (size_t)1 + (*text == '\r' && n > 1 && text[1] == '\n');
}

/*
 * A tag of HTML that stands in XML as text: &lt;b&gt;, also from CDATA. Bytes of it, and of its name; 0: this is none. What is
 * no name, end or attribute is text: a &lt;b and c&gt; d.
 */
static size_t escaped_tag(const char *text, size_t n, size_t *n_name)
{
	const char *end = n > 8 && !memcmp(text, "&lt;", 4)
				  ? memmem(text, MIN(n, (size_t)1000), "&gt;", 4)
				  : NULL;
	size_t i = 4 + (n > 8 && text[4] == '/'), from = i, stop;

	if (!end || !isalpha((unsigned char)text[i]))
		return 0;
	stop = (size_t)(end - text);
	while (i < stop && isalnum((unsigned char)text[i]))
		i++;
	*n_name = i - from;
	if (i < stop && text[i] != '/' &&
	    !(isspace((unsigned char)text[i]) &&
	      (text[stop - 1] == '/' || memchr(text + i, '=', stop - i))))
		return 0;
	return stop + 4;
}

static int read_escaped_tag(struct markup_reader *r, size_t n, size_t n_name, struct err *e)
{
	const bool is_end = r->at[4] == '/';
	const struct open_pair name = { .name = r->at + 4 + is_end,
					.n_name = n_name,
					.is_text = true };

	/* it must not cross a tag, which would lose its partner then */
	if (r->at[n - 5] == '/' ||
	    (is_end && !(r->depth && names_match(r, &r->stack[r->depth - 1], &name))))
		return add_markup_item(r, n, false, e);
	return is_end ? close_pair(r, n, &name, e) : open_node(r, n, &name, e);
}

static int read_amp(struct markup_reader *r, struct err *e)
{
	const size_t left = (size_t)(r->end - r->at);
	uint32_t c = 0;
	const size_t n = reference_read(r->at, left,
					r->m->kind == MARKUP_XML || r->m->kind == MARKUP_ODT ||
						r->m->kind == MARKUP_RUNS,
					&c);
	size_t name = 1, tag;
	char bytes[4];

	if (r->m->kind == MARKUP_XML && (tag = escaped_tag(r->at, left, &name)) != 0)
		return read_escaped_tag(r, tag, name, e);
	name = 1;

	if (!n) { /* a reference that is unknown stays as it is */
		while (name < left && name < 32 && isalnum((unsigned char)r->at[name]))
			name++;
		if (name > 1 && name < left && r->at[name] == ';')
			return add_markup_item(r, name + 1, false, e);
		r->m->spellings.bare_and = true;
		return add_markup_text(r, r->at++, 1, e);
	}
	if (c == 0xa0) {
		r->blank_pending = true;
	} else {
		spellings_note(&r->m->spellings, c, r->at, n);
		if (add_markup_text(r, bytes, utf8_encode(c, bytes), e))
			return e->code;
	}
	r->at += n;
	return 0;
}

static int read_space(struct markup_reader *r, struct err *e)
{
	if (r->m->kind == MARKUP_CUES && (*r->at == '\n' || *r->at == '\r')) {
		const bool was_blank = r->blank_pending;

		if (add_markup_item(r, cue_break_bytes(r->at, (size_t)(r->end - r->at)), true, e))
			return e->code;
		r->m->nodes[r->m->n - 1].by_length = true;
		r->m->nodes[r->m->n - 1].blank_before = r->m->nodes[r->m->n - 1].blank_after =
			false;
		r->blank_pending = was_blank || r->m->text.len;
		return 0;
	}
	if (r->m->kind == MARKUP_MESSAGE && *r->at == '\n') {
		r->blank_pending = r->m->text.len > 0;
		if (add_markup_item(r, 1, true, e))
			return e->code;
		r->m->nodes[r->m->n - 1].blank_before = r->m->nodes[r->m->n - 1].blank_after =
			false;
		return 0;
	}
	if (r->collapses || r->blank_pending) {
		r->blank_pending = true;
		r->at++;
		return 0;
	}
	return add_markup_text(r, r->at++, 1, e);
}

static int read_symbol(struct markup_reader *r, bool *is_read, struct err *e)
{
	const size_t left = MIN((size_t)(r->end - r->at), (size_t)PROTECT_MAX_BYTES);
	size_t len = 0;

	*is_read = r->symbols && protect_find(r->symbols, r->at, left, &len) == 0 && len;
	if (!*is_read)
		return 0;
	if (*r->at == '<')
		r->m->spellings.bare_less = r->m->spellings.bare_greater = true;
	r->at += len;
	return add_markup_text(r, r->at - len, len, e);
}

/* Reads a mark of Markdown; *is_read false: there is none. */
static int read_markdown(struct markup_reader *r, bool *is_read, struct err *e)
{
	const struct markdown_mark mark = markup_read_markdown(r->m->source.bytes, r->at, r->end);
	struct open_pair name = { .name = r->at, .n_name = mark.n };
	bool is_open = false;

	for (int k = 0; k < r->depth; k++)
		is_open |= mark.role == MARKDOWN_CLOSE ? *r->stack[k].name == '['
						       : names_match(r, &r->stack[k], &name);
	*is_read = true;
	switch (mark.role) {
	case MARKDOWN_ITEM:
		return add_solid_item(r, mark.n, e);
	case MARKDOWN_NOTE:
		return add_markup_item(r, mark.n, false, e);
	case MARKDOWN_OPEN:
		return open_node(r, mark.n, &name, e);
	case MARKDOWN_TOGGLE:
		if (is_open)
			return close_pair(r, mark.n, &name, e);
		*is_read = mark.can_open;
		return mark.can_open ? open_node(r, mark.n, &name, e) : 0;
	case MARKDOWN_CLOSE:
		*is_read = is_open;
		name = (struct open_pair){ .name = "[", .n_name = 1 };
		return is_open ? close_pair(r, mark.n, &name, e) : 0;
	case MARKDOWN_ESCAPED:
		spellings_note(&r->m->spellings, (unsigned char)r->at[1], r->at, 2);
		r->at += 2;
		return add_markup_text(r, r->at - 1, 1, e);
	default:
		*is_read = false;
		return 0;
	}
}

static int read_plain(struct markup_reader *r, struct err *e)
{
	const char c = *r->at;
	const size_t n = (unsigned char)c < 0x80
				 ? 1
				 : utf8_decode(r->at, (size_t)(r->end - r->at), &(uint32_t){ 0 });

	r->m->spellings.bare_and |= c == '&';
	r->m->spellings.bare_less |= c == '<';
	r->m->spellings.bare_greater |= c == '>';
	r->at += n;
	return add_markup_text(r, r->at - n, n, e);
}

static int read_markup_next(struct markup_reader *r, struct err *e)
{
	const size_t left = (size_t)(r->end - r->at);
	const char c = *r->at;
	struct markup_tag tag;
	bool is_read;
	size_t n;

	if (is_markup_space(c))
		return read_space(r, e);
	if (read_symbol(r, &is_read, e) || is_read)
		return e->code;
	if (strchr("hfw", c) &&
	    (r->at == r->m->source.bytes || !isalnum((unsigned char)r->at[-1])) &&
	    (n = markup_url(r->at, left)))
		return add_solid_item(r, n, e);
	if (r->m->kind == MARKUP_NONE)
		return read_plain(r, e);
	if (r->m->kind == MARKUP_MARKDOWN && (read_markdown(r, &is_read, e) || is_read))
		return e->code;
	if (c == '<' && markup_read_tag(r->at, left, &tag))
		return read_tag_node(r, &tag, e);
	if (c == '&')
		return read_amp(r, e);
	if (r->m->kind == MARKUP_MESSAGE && (c == '%' || c == '{') &&
	    (n = markup_placeholder(r->at, left)))
		return add_solid_item(r, n, e);
	if (r->m->kind == MARKUP_CUES && (n = markup_cue_tag(r->at, left)))
		return add_markup_item(r, n, false, e);
	return read_plain(r, e);
}

/* Tags without a partner are items: what is in them is in the pair around them. */
static void adopt_children(struct markup *m)
{
	for (size_t i = 0; i < m->n; i++) {
		int32_t *parent = &m->nodes[i].parent;

		while (*parent >= 0 && !m->nodes[*parent].is_pair)
			*parent = m->nodes[*parent].parent;
	}
	for (size_t i = 0; i < m->text.len; i++) {
		int32_t *pair = &m->inside[i];

		if (*pair >= 0 && !m->nodes[*pair].is_pair)
			*pair = m->nodes[*pair].parent;
	}
}

void markup_free(struct markup *m)
{
	buf_free(&m->text);
	free(m->inside);
	free(m->nodes);
	*m = (struct markup){ 0 };
}

bool markup_has_letters(const struct buf *text)
{
	for (size_t i = 0; i < text->len; i++)
		if (isalpha((unsigned char)text->data[i]) ||
		    ((unsigned char)text->data[i] >= 0x80 && memcmp(text->data + i, "\xc2\xa0", 2)))
			return true;
	return false;
}

int markup_read(struct markup *m, enum markup_kind kind, const struct protect *symbols,
		const char *bytes, size_t n, struct err *e)
{
	struct markup_reader r = { .m = m, .symbols = symbols, .at = bytes, .end = bytes + n };

	markup_free(m);
	m->kind = kind;
	m->source = (struct markup_bytes){ bytes, n };
	if (n > INT32_MAX)
		return err_set(e, ERR_DATA, "a segment of %zu bytes is too long", n);
	r.collapses = kind != MARKUP_NONE && kind != MARKUP_LINES;
	if (kind == MARKUP_RUNS)
		return markup_read_runs(m, e);
	while (r.at < r.end)
		if (read_markup_next(&r, e))
			return e->code;
	adopt_children(m);
	m->has_words = markup_has_letters(&m->text);
	buf_add(&m->text, "", 0);
	return buf_check(&m->text, e);
}
