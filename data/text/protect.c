/* protect.c - finds protected symbols, and hides them from text tools: see protect.h */
#include "data/text/protect.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/text/chars.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define MARK_BYTES 3

struct symbol {
	char *text; /* owned */
	size_t n;
	uint16_t number; /* in the given order */
};

struct protect {
	struct symbol *symbols; /* owned: (n) in the given order */
	struct symbol *sorted; /* owned: (n) by first byte, longer ones first; texts are borrowed */
	size_t n;
	uint16_t first[257]; /* sorted[first[c]] … sorted[first[c + 1] - 1] begin with byte c */
};

/* ---- checking ---- */

/* The names that vocab.tsv and SentencePiece models reserve: <pad>, </s>, <s>, <unk>, <unusedN>, <0xNN>. */
static bool is_vocabulary_name(const char *s, size_t n)
{
	static const char *const names[] = { "<pad>", "</s>", "<s>", "<unk>" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(s, names[i]))
			return true;
	if (n == 6 && text_starts_with(s, "<0x") && s[5] == '>')
		return true;
	return n > 8 && text_starts_with(s, "<unused") && s[n - 1] == '>' &&
	       strspn(s + 7, "0123456789") == n - 8;
}

/* What is wrong with a symbol; NULL: nothing. */
static const char *find_symbol_fault(const char *s, size_t n)
{
	static const char *const marks[] = { PROTECT_MARK, "\xE2\x96\x81", "\xE2\x96\x85" };

	if (!n)
		return "is empty";
	if (n > PROTECT_MAX_BYTES)
		return "has more than 64 bytes";
	if (!utf8_valid(s, n))
		return "is not UTF-8 text";
	for (size_t at = 0; at < n;) {
		uint32_t c;

		at += utf8_decode(s + at, n - at, &c);
		if (chars_is_blank(c))
			return "has a blank: give each symbol on its own";
		if (c < 0x20 || (c >= 0x7f && c < 0xa0))
			return "has a control character";
	}
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (strstr(s, marks[i]))
			return "has a character that marks pieces (U+2581, U+2585 or U+E000)";
	if (text_ends_with(s, "@@"))
		return "ends with @@, the mark of a BPE piece that continues";
	return is_vocabulary_name(s, n) ? "is a name that the vocabulary uses itself" : NULL;
}

/* Longer symbols before their prefixes. */
static int compare_protected(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	const unsigned char c = (unsigned char)*x->text, d = (unsigned char)*y->text;

	if (c != d)
		return c < d ? -1 : 1;
	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return memcmp(x->text, y->text, x->n);
}

/* ERR_CONFIG: a symbol occurs twice. */
static int sort_symbols(struct protect *p, struct err *e)
{
	size_t at = 0;

	memcpy(p->sorted, p->symbols, p->n * sizeof(*p->sorted));
	qsort(p->sorted, p->n, sizeof(*p->sorted), compare_protected);
	for (size_t i = 1; i < p->n; i++)
		if (!compare_protected(&p->sorted[i - 1], &p->sorted[i]))
			return err_set(e, ERR_CONFIG, "protect: the symbol %s is given twice",
				       p->sorted[i].text);
	for (unsigned c = 0; c < 256; c++) {
		p->first[c] = (uint16_t)at;
		while (at < p->n && (unsigned char)*p->sorted[at].text == c)
			at++;
	}
	p->first[256] = (uint16_t)at;
	return 0;
}

int protect_open(struct protect **out, char *const *symbols, size_t n, struct err *e)
{
	struct protect *p = NULL;
	int rc = 0;

	*out = NULL;
	if (n > PROTECT_MAX_SYMBOLS)
		return err_set(e, ERR_CONFIG, "protect: %zu symbols, expected at most %d", n,
			       PROTECT_MAX_SYMBOLS);
	for (size_t i = 0; i < n; i++) {
		const char *fault = find_symbol_fault(symbols[i], strlen(symbols[i]));

		if (fault)
			return err_set(e, ERR_CONFIG, "protect: the symbol \"%.80s\" %s",
				       symbols[i], fault);
	}
	if (n)
		p = mem_alloc(1, sizeof(*p), e);
	if (!p)
		return n ? e->code : 0;
	p->symbols = mem_alloc(n, sizeof(*p->symbols), e);
	p->sorted = p->symbols ? mem_alloc(n, sizeof(*p->sorted), e) : NULL;
	for (; p->sorted && p->n < n; p->n++) {
		struct symbol *s = &p->symbols[p->n];

		*s = (struct symbol){ mem_strdup(symbols[p->n], e), strlen(symbols[p->n]),
				      (uint16_t)p->n };
		if (!s->text)
			break;
	}
	rc = p->n == n ? sort_symbols(p, e) : e->code;
	if (rc)
		protect_close(p);
	else
		*out = p;
	return rc;
}

void protect_close(struct protect *p)
{
	if (!p)
		return;
	for (size_t i = 0; p->symbols && i < p->n; i++)
		free(p->symbols[i].text);
	free(p->symbols);
	free(p->sorted);
	free(p);
}

size_t protect_count(const struct protect *p)
{
	return p ? p->n : 0;
}

const char *protect_symbol(const struct protect *p, size_t i)
{
	assert(p && i < p->n);
	return p->symbols[i].text;
}

/* ---- finding ---- */

/* The longest symbol at the start of the text (n > 0); NULL: none. */
static const struct symbol *symbol_at(const struct protect *p, const char *text, size_t n)
{
	const unsigned char c = (unsigned char)*text;

	for (size_t i = p->first[c]; i < p->first[c + 1]; i++)
		if (p->sorted[i].n <= n && !memcmp(p->sorted[i].text, text, p->sorted[i].n))
			return &p->sorted[i];
	return NULL;
}

size_t protect_find(const struct protect *p, const char *text, size_t n, size_t *len)
{
	*len = 0;
	for (size_t at = 0; p && at < n; at++) {
		const struct symbol *s = symbol_at(p, text + at, n - at);

		if (s) {
			*len = s->n;
			return at;
		}
	}
	return n;
}

/* The symbol that is the whole text; NULL: none. */
static const struct symbol *symbol_of_word(const struct protect *p, const char *text, size_t n)
{
	const unsigned char c = n ? (unsigned char)*text : 0;

	for (size_t i = p->first[c]; i < p->first[c + 1]; i++)
		if (p->sorted[i].n == n && !memcmp(p->sorted[i].text, text, n))
			return &p->sorted[i];
	return NULL;
}

bool protect_is_symbol(const struct protect *p, const char *text, size_t n)
{
	return p && symbol_of_word(p, text, n);
}

/* The next symbol from *at on, by `where`; *at: its offset, or n if there is none (NULL). */
static const struct symbol *next_symbol(const struct protect *p, enum protect_where where,
					const char *text, size_t n, size_t *at)
{
	const char *from = text + *at, *end = text + n, *word;
	const struct symbol *s = NULL;
	size_t len;

	if (where == PROTECT_ANYWHERE) {
		for (; *at < n && !(s = symbol_at(p, text + *at, n - *at)); ++*at)
			;
		return s;
	}
	while ((word = chars_next_word(&from, end, &len)) != NULL) {
		*at = (size_t)(word - text);
		s = symbol_of_word(p, word, len);
		if (s)
			return s;
	}
	*at = n;
	return NULL;
}

/* ---- masking ---- */

static int masked_add(struct protect_masked *m, int symbol, struct err *e)
{
	if (mem_grow(&m->symbols, &m->cap, m->n + 1, sizeof(*m->symbols), e))
		return e->code;
	m->symbols[m->n++] = (int16_t)symbol;
	return 0;
}

/* Copy text between symbols, and count its own marks. */
static int masked_add_text(struct protect_masked *m, const char *text, size_t n, struct err *e)
{
	const char *at = text, *end = text + n;

	while ((at = memmem(at, (size_t)(end - at), PROTECT_MARK, MARK_BYTES)) != NULL) {
		if (masked_add(m, -1, e))
			return e->code;
		at += MARK_BYTES;
	}
	buf_add(&m->text, text, n);
	return 0;
}

int protect_mask(const struct protect *p, enum protect_where where, const char *line, size_t n,
		 struct protect_masked *m, struct err *e)
{
	const struct symbol *s;
	size_t done = 0, at = 0;

	m->line = line;
	m->n_line = n;
	m->n = 0;
	if (!p || !(s = next_symbol(p, where, line, n, &at)))
		return 0;
	buf_clear(&m->text);
	while (s) {
		if (masked_add_text(m, line + done, at - done, e) || masked_add(m, s->number, e))
			return e->code;
		buf_add(&m->text, PROTECT_MARK, MARK_BYTES);
		done = at += s->n;
		s = next_symbol(p, where, line, n, &at);
	}
	if (masked_add_text(m, line + done, n - done, e) || buf_check(&m->text, e))
		return e->code;
	m->line = buf_text(&m->text);
	m->n_line = m->text.len;
	return 0;
}

int protect_unmask(const struct protect *p, const struct protect_masked *m, const char *text,
		   size_t n, struct buf *out, struct err *e)
{
	const char *end = text + n, *mark;

	for (size_t i = 0; i < m->n; i++) {
		mark = memmem(text, (size_t)(end - text), PROTECT_MARK, MARK_BYTES);
		if (!mark)
			break;
		buf_add(out, text, (size_t)(mark - text));
		if (m->symbols[i] < 0)
			buf_add(out, PROTECT_MARK, MARK_BYTES);
		else
			buf_add(out, p->symbols[m->symbols[i]].text, p->symbols[m->symbols[i]].n);
		text = mark + MARK_BYTES;
	}
	buf_add(out, text, (size_t)(end - text));
	return buf_check(out, e);
}

void protect_masked_free(struct protect_masked *m)
{
	buf_free(&m->text);
	free(m->symbols);
	*m = (struct protect_masked){ 0 };
}

void protect_blank_out(const struct protect *p, enum protect_where where, const char *text,
		       size_t n, struct buf *out)
{
	const struct symbol *s;
	size_t done = 0, at = 0;

	while (p && (s = next_symbol(p, where, text, n, &at)) != NULL) {
		buf_add(out, text + done, at - done);
		buf_add_char(out, ' ');
		done = at += s->n;
	}
	buf_add(out, text + done, n - done);
}
