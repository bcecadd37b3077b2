/* detokenize.c - joins tokens as Moses does: see tokenize.h */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/text/chars.h"
#include "data/text/tokenize.h"
#include "data/text/tokenize_rules.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

/* How often a quotation mark was seen in the line; odd: a quotation is open. */
struct quote {
	size_t at, n; /* the mark in struct detokenizer.text; n = 0: see quote_of() */
	uint32_t times;
};

struct detokenizer {
	bool english, french, korean;
	bool elides; /* "L' homme" becomes "L'homme" */
	struct charclass *chars;
	struct buf padded; /* the line, with a blank at both ends */
	struct buf text;   /* padded, with entities decoded */
	struct quote *quotes;
	size_t n_quotes, quotes_cap;
};

/* A field of the line, and the field before it. */
struct fields {
	const char *word, *before; /* before: NULL for the first field */
	size_t n, n_before;
};

struct detokenizer *detokenizer_new(const char *language, struct err *e)
{
	struct detokenizer *d = mem_alloc(1, sizeof(*d), e);

	if (!d)
		return NULL;
	d->english = !strcmp(language, "en");
	d->french = !strcmp(language, "fr");
	d->elides = apostrophes_of_language(language) == APOSTROPHES_ELIDED;
	d->korean = !strcmp(language, "ko");
	d->chars = chars_new(e);
	if (d->chars)
		return d;
	detokenizer_free(d);
	return NULL;
}

void detokenizer_free(struct detokenizer *d)
{
	if (!d)
		return;
	charclass_free(d->chars);
	buf_free(&d->padded);
	buf_free(&d->text);
	free(d->quotes);
	free(d);
}

/* ---- the kind of a word ---- */

/* Chinese, Japanese or Korean, by the blocks of Unicode that Moses lists. */
static bool is_cjk(uint32_t c)
{
	return (c >= 0x1100 && c <= 0x11ff) || (c >= 0x2e80 && c <= 0xa4cf) ||
	       (c >= 0xa840 && c <= 0xa87f) || (c >= 0xac00 && c <= 0xd7af) ||
	       (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe4f) ||
	       (c >= 0xff65 && c <= 0xffdc) || (c >= 0x20000 && c <= 0x2ffff);
}

static bool starts_cjk(const char *word, size_t n)
{
	uint32_t c;

	if (n == 0)
		return false;
	utf8_decode(word, n, &c);
	return is_cjk(c);
}

static bool ends_cjk(const char *word, size_t n)
{
	size_t at = n;

	while (at > 0 && ((unsigned char)word[at - 1] & 0xc0) == 0x80)
		at--;
	return at > 0 && starts_cjk(word + at - 1, n - at + 1);
}

/* Currency signs, opening brackets, Spanish opening marks: no blank after them. */
static bool is_opening(struct charclass *chars, const char *word, size_t n)
{
	for (size_t at = 0; at < n;) {
		uint32_t c;

		at += utf8_decode(word + at, n - at, &c);
		if (c != '(' && c != '[' && c != '{' && c != 0xbf && c != 0xa1 &&
		    !(charclass_of(chars, c) & CHARS_CURRENCY))
			return false;
	}
	return n > 0;
}

/* Closing marks: no blank before them. */
static bool is_closing(const char *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!word[i] || !strchr(",.?!:;\\%}])", word[i]))
			return false;
	return n > 0;
}

static bool is_quotes(const char *word, size_t n)
{
	for (size_t at = 0; at < n;) {
		uint32_t c;

		at += utf8_decode(word + at, n - at, &c);
		if (c != '\'' && c != '"' && c != '`' && c != 0x201e && c != 0x201c)
			return false;
	}
	return n > 0;
}

static bool is_contraction(struct detokenizer *d, const struct fields *f)
{
	return d->english && f->before && f->n > 1 && f->word[0] == '\'' &&
	       chars_first(d->chars, f->word + 1, f->n - 1) & CHARS_ALPHA &&
	       chars_last(d->chars, f->before, f->n_before) & CHARS_ALNUM;
}

/* Is the field the rest of a word, whose first part ends in a letter and an apostrophe? */
static bool is_after_elision(struct detokenizer *d, const struct fields *f)
{
	static const char typographic[] = "\xe2\x80\x99";
	size_t n = f->before ? f->n_before : 0;

	if (n > 1 && f->before[n - 1] == '\'')
		n--;
	else if (n > 3 && !memcmp(f->before + n - 3, typographic, 3))
		n -= 3;
	else
		return false;
	return chars_last(d->chars, f->before, n) & CHARS_ALPHA &&
	       chars_first(d->chars, f->word, f->n) & CHARS_ALPHA;
}

/* Marks that French separates from the word before by a blank. */
static bool is_french_spaced(const char *word, size_t n)
{
	return n == 1 && *word && strchr("?!:;\\%", *word);
}

/* ---- quotes ---- */

/* The entry of this mark; low and high curly quotes share that of '"'. NULL: ERR_NOMEM. */
static struct quote *quote_of(struct detokenizer *d, const char *word, size_t n, struct err *e)
{
	const char *text = buf_text(&d->text);
	bool curly = true;
	struct quote *q;

	for (size_t i = 0; i < n; i++)
		curly = curly && (unsigned char)word[i] >= 0x80;
	for (size_t i = 0; i < d->n_quotes; i++) {
		q = &d->quotes[i];
		/* a straight '"' and curly marks share the entry with n = 0 */
		if (curly || (n == 1 && *word == '"') ? q->n == 0
						      : q->n == n && !memcmp(text + q->at, word, n))
			return q;
	}
	if (mem_grow(&d->quotes, &d->quotes_cap, d->n_quotes + 1, sizeof(*d->quotes), e))
		return NULL;
	q = &d->quotes[d->n_quotes++];
	q->at = (size_t)(word - text);
	q->n = curly || (n == 1 && *word == '"') ? 0 : n;
	q->times = 0;
	return q;
}

/* Does a word join its neighbours without a blank? */
struct joint {
	bool left, right;
};

static int join_quotes(struct detokenizer *d, const struct fields *f, struct joint *joint,
		       struct err *e)
{
	struct quote *q = quote_of(d, f->word, f->n, e);

	if (!q)
		return e->code;
	if (q->times % 2) {
		joint->left = true;
		q->times++;
	} else if (d->english && f->n == 1 && *f->word == '\'' && f->n_before > 0 &&
		   f->before[f->n_before - 1] == 's') {
		joint->left = true; /* the Jones' house */
	} else {
		joint->right = true;
		q->times++;
	}
	return 0;
}

static int find_word_joint(struct detokenizer *d, const struct fields *f, struct joint *joint,
			   struct err *e)
{
	unsigned char c = f->n ? (unsigned char)*f->word : 0;

	*joint = (struct joint){ .left = d->elides && is_after_elision(d, f) };
	if (joint->left)
		return 0;
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
		return 0; /* most words; no kind below begins with these */
	if (starts_cjk(f->word, f->n))
		joint->left = f->before && ends_cjk(f->before, f->n_before) && !d->korean;
	else if (is_opening(d->chars, f->word, f->n))
		joint->right = true;
	else if (is_closing(f->word, f->n) || is_contraction(d, f))
		joint->left = !d->french || !is_french_spaced(f->word, f->n);
	else if (is_quotes(f->word, f->n))
		return join_quotes(d, f, joint, e);
	return 0;
}

/* ---- the line ---- */

/* One pass is enough, since no replacement creates a new entity. */
void detokenizer_decode(const char *line, size_t n, struct buf *out)
{
	static const struct {
		const char *entity;
		size_t n;
		char is;
	} entities[] = {
		{ "&amp;", 5, '&' }, { "&apos;", 6, '\'' }, { "&quot;", 6, '"' },
		{ "&lt;", 4, '<' },  { "&gt;", 4, '>' },    { "&#124;", 6, '|' },
		{ "&#91;", 5, '[' }, { "&#93;", 5, ']' },   { "&bar;", 5, '|' },
		{ "&bra;", 5, '[' }, { "&ket;", 5, ']' },
	};
	size_t done = 0, at = 0;

	if (!memchr(line, '&', n) && !memchr(line, '@', n))
		at = n;
	while (at < n) {
		size_t k = 0;

		if (line[at] == ' ' && n - at >= 5 && !memcmp(line + at, " @-@ ", 5)) {
			buf_add(out, line + done, at - done);
			buf_add_char(out, '-');
			done = at += 5;
			continue;
		}
		if (line[at++] != '&')
			continue;
		while (k < ARRAY_LEN(entities) &&
		       (n - (at - 1) < entities[k].n ||
			memcmp(line + at - 1, entities[k].entity, entities[k].n)))
			k++;
		if (k == ARRAY_LEN(entities))
			continue;
		buf_add(out, line + done, at - 1 - done);
		buf_add_char(out, entities[k].is);
		done = at += entities[k].n - 1;
	}
	buf_add(out, line + done, n - done);
}

/* Is this an XML line: <...> with text inside? */
static bool is_markup(const char *line, size_t n)
{
	return n >= 3 && line[0] == '<' && line[n - 1] == '>';
}

/*
 * Join the fields of d->text into out. Blanks are written only before a word, so runs of blanks
 * become one, and blanks at the ends vanish.
 */
static int join_fields(struct detokenizer *d, struct buf *out, struct err *e)
{
	const char *text = buf_text(&d->text);
	size_t n = d->text.len, at = 0;
	struct fields f = { 0 };
	bool glued = false, blank = false; /* glued: no blank after the word before */
	char *first = buf_reserve(out, n + 1), *to = first;

	if (!first)
		return buf_check(out, e);
	while (at < n) {
		const char *end;
		struct joint joint;

		f.before = at > 0 ? f.word : NULL;
		f.n_before = at > 0 ? f.n : 0;
		f.word = text + at;
		end = memchr(f.word, ' ', n - at);
		f.n = end ? (size_t)(end - f.word) : n - at;
		at += f.n + 1;
		if (find_word_joint(d, &f, &joint, e))
			return e->code;
		blank = blank || (!joint.left && !glued);
		if (f.n && blank && to > first)
			*to++ = ' ';
		blank = blank && !f.n;
		memcpy(to, f.word, f.n);
		to += f.n;
		glued = joint.right;
	}
	assert((size_t)(to - first) <= n);
	*to = 0;
	out->len += (size_t)(to - first);
	return 0;
}

int detokenizer_line(struct detokenizer *d, const char *line, size_t n, struct buf *out,
		     struct err *e)
{
	if (is_markup(line, n) || chars_all_blank(line, n)) {
		buf_add(out, line, n);
		return buf_check(out, e);
	}
	buf_clear(&d->padded);
	buf_clear(&d->text);
	d->n_quotes = 0;
	/* as in Moses: "@-@" at an end of the line is replaced too */
	buf_add_char(&d->padded, ' ');
	buf_add(&d->padded, line, n);
	buf_add_char(&d->padded, ' ');
	if (buf_check(&d->padded, e))
		return e->code;
	detokenizer_decode(d->padded.data, d->padded.len, &d->text);
	return buf_check(&d->text, e) ? e->code : join_fields(d, out, e);
}
