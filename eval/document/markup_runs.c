/*
 * markup_runs.c - the mark-up of a DOCX paragraph: runs (w:r) with texts (w:t) are pairs, all else is an item
 *
 * Word splits a sentence, and even a word, into many runs of equal format, for its own marks of spelling and of
 * editing: such runs are joined. A field (page number, reference) is one item from its begin to its end.
 */
#include <ctype.h>
#include <string.h>

#include "eval/document/markup_internal.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

struct run_reader {
	struct markup *m;
	const char *at, *end;
	int32_t pair;		    /* hyperlink that has not ended, -1: none */
	int32_t run;		    /* run that the next one may join, -1: none */
	struct markup_bytes format; /* of that run */
};

static bool run_has(const char *bytes, size_t n, const char *what)
{
	return memmem(bytes, n, what, strlen(what)) != NULL;
}

/* The first <w:t> or <w:t …> that is not empty: its bytes in *n_tag. NULL: none. */
static const char *find_run_text(const char *at, const char *end, size_t *n_tag)
{
	while (at < end && (at = memmem(at, (size_t)(end - at), "<w:t", 4)) != NULL) {
		const char *stop = memchr(at, '>', (size_t)(end - at));

		if (!stop)
			return NULL;
		if ((at[4] == '>' || isspace((unsigned char)at[4])) && stop[-1] != '/') {
			*n_tag = (size_t)(stop + 1 - at);
			return at;
		}
		at += 4;
	}
	return NULL;
}

static struct markup_node *add_run_node(struct run_reader *r, const char *bytes, size_t n,
					int32_t parent, struct err *e)
{
	struct markup *m = r->m;

	if (mem_grow(&m->nodes, &m->cap, m->n + 1, sizeof(*m->nodes), e))
		return NULL;
	m->nodes[m->n] = (struct markup_node){
		.parent = parent, .open = { bytes, n }, .at = m->text.len, .end = m->text.len
	};
	return &m->nodes[m->n++];
}

/* An item between runs; it breaks words if it is a line break, a tab, or an element. */
static int add_run_item(struct run_reader *r, const char *bytes, size_t n, int32_t parent,
			bool breaks, struct err *e)
{
	struct markup *m = r->m;
	struct markup_node *x = add_run_node(r, bytes, n, parent, e);

	if (!x)
		return e->code;
	x->breaks = breaks;
	x->is_solid = !breaks && n > 1 && bytes[1] != '/' &&
		      find_run_text(bytes, bytes + n, &(size_t){ 0 }) != NULL;
	if (!breaks || !m->text.len || m->text.data[m->text.len - 1] == ' ')
		return 0;
	if (mem_grow(&m->inside, &m->cap_inside, m->text.len + 1, sizeof(*m->inside), e))
		return e->code;
	m->inside[m->text.len] = parent;
	buf_add_char(&m->text, ' ');
	return buf_check(&m->text, e);
}

static int add_run_text(struct run_reader *r, const char *at, const char *end, int32_t node,
			struct err *e)
{
	struct markup *m = r->m;

	while (at < end) {
		char bytes[4] = { *at };
		uint32_t c = 0;
		size_t n = *at == '&' ? reference_read(at, (size_t)(end - at), true, &c) : 0,
		       len = 1;

		if (n) {
			spellings_note(&m->spellings, c, at, n);
			len = utf8_encode(c, bytes);
		}
		if (mem_grow(&m->inside, &m->cap_inside, m->text.len + len, sizeof(*m->inside), e))
			return e->code;
		for (size_t i = 0; i < len; i++)
			m->inside[m->text.len + i] = node;
		buf_add(&m->text, bytes, len);
		at += n ? n : 1;
	}
	return buf_check(&m->text, e);
}

/* The texts of a run, from its first <w:t> on. */
static int read_run_texts(struct run_reader *r, int32_t node, const char *text, size_t n_tag,
			  const char *end, struct err *e)
{
	for (;;) {
		const char *from = text + n_tag;
		const char *stop = memmem(from, (size_t)(end - from), "</w:t>", 6);

		if (!stop)
			stop = end;
		if (add_run_text(r, from, stop, node, e))
			return e->code;
		r->m->nodes[node].close = (struct markup_bytes){ stop, (size_t)(end - stop) };
		text = find_run_text(stop, end, &n_tag);
		if (!text)
			break;
		if (add_run_item(r, stop, (size_t)(text + n_tag - stop), node, true, e))
			return e->code;
	}
	r->m->nodes[node].end = r->m->text.len;
	return 0;
}

/* Bytes of a field from the run with its begin to the run with its end. */
static size_t field_bytes(const char *at, const char *end)
{
	const char *p = at;
	int depth = 0;

	while ((p = memmem(p, (size_t)(end - p), "fldCharType=\"", 13)) != NULL) {
		p += 13;
		depth += !strncmp(p, "begin", 5) - !strncmp(p, "end", 3);
		if (depth <= 0) {
			p = memmem(p, (size_t)(end - p), "</w:r>", 6);
			return p ? (size_t)(p + 6 - at) : 0;
		}
	}
	return 0;
}

static int read_docx_run(struct run_reader *r, size_t n, size_t n_start, struct err *e)
{
	const char *run = r->at, *end = run + n, *text;
	size_t n_tag = 0;
	int32_t node = r->run;
	struct markup_bytes format;

	if (run_has(run, n, "fldCharType=\"begin\"")) {
		n = field_bytes(run, r->end);
		n = n ? n : (size_t)(r->end - run);
	}
	r->at = run + n;
	text = n == (size_t)(end - run) ? find_run_text(run, end, &n_tag) : NULL;
	if (!text || run_has(run + 1, n - 1, "<w:p>") || run_has(run + 1, n - 1, "<w:p ") ||
	    run_has(run, n, "<w:instrText")) {
		r->run = -1;
		return add_run_item(r, run, n, r->pair,
				    run_has(run, n, "<w:br") || run_has(run, n, "<w:tab/"), e);
	}
	format = (struct markup_bytes){ run + n_start, (size_t)(text - run) - n_start };
	if (node < 0 || format.n != r->format.n ||
	    memcmp(format.bytes, r->format.bytes, format.n)) {
		struct markup_node *x =
			add_run_node(r, run, (size_t)(text - run) + n_tag, r->pair, e);

		if (!x)
			return e->code;
		x->is_pair = true;
		node = (int32_t)r->m->n - 1;
	}
	r->run = node;
	r->format = format;
	return read_run_texts(r, node, text, n_tag, end, e);
}

static int read_paragraph_tag(struct run_reader *r, const struct markup_tag *tag, struct err *e)
{
	const bool is_link =
		markup_has_name("w:hyperlink w:ins w:smartTag ", tag->name, tag->n_name, false);
	size_t n = tag->n;

	if (markup_has_name("w:proofErr ", tag->name, tag->n_name, false)) {
		r->at += n;
		return 0;
	}
	if (tag->has_name && !tag->is_empty && !tag->is_end) {
		const size_t whole =
			markup_element_bytes(MARKUP_XML, r->at, (size_t)(r->end - r->at), tag);

		if (markup_has_name("w:r ", tag->name, tag->n_name, false) && whole)
			return read_docx_run(r, whole, tag->n, e);
		if (!is_link || r->pair >= 0)
			n = whole ? whole : n;
	}
	r->run = -1;
	if (is_link && !tag->is_empty && !tag->is_end && r->pair < 0) {
		struct markup_node *x = add_run_node(r, r->at, n, -1, e);

		if (!x)
			return e->code;
		x->is_pair = true;
		r->pair = (int32_t)r->m->n - 1;
	} else if (is_link && tag->is_end && r->pair >= 0) {
		r->m->nodes[r->pair].close = (struct markup_bytes){ r->at, n };
		r->m->nodes[r->pair].end = r->m->text.len;
		r->pair = -1;
	} else if (add_run_item(r, r->at, n, r->pair, false, e)) {
		return e->code;
	}
	r->at += n;
	return 0;
}

int markup_read_runs(struct markup *m, struct err *e)
{
	struct run_reader r = { .m = m,
				.at = m->source.bytes,
				.end = m->source.bytes + m->source.n,
				.pair = -1,
				.run = -1 };

	while (r.at < r.end) {
		struct markup_tag tag;

		if (*r.at != '<' || !markup_read_tag(r.at, (size_t)(r.end - r.at), &tag))
			r.at++; /* white space between elements */
		else if (read_paragraph_tag(&r, &tag, e))
			return e->code;
	}
	if (r.pair >= 0) /* never in well-formed XML */
		m->nodes[r.pair].end = m->text.len;
	m->has_words = markup_has_letters(&m->text);
	buf_add(&m->text, "", 0);
	return buf_check(&m->text, e);
}
