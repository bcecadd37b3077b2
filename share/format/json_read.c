/*
 * json_read.c - reading JSON; see json.h
 *
 * The tree is one array of nodes in the order of the text: the first child of a
 * container is the next node, and its next sibling is span nodes further on.
 * Strings are unescaped into a second block, which is never longer than the
 * text.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/format/json.h"

#define MAX_DEPTH  64
#define MAX_NUMBER 64 /* characters of a number */

enum type { JSON_NULL, JSON_BOOLEAN, INTEGER, REAL, TEXT, ARRAY, OBJECT };

struct json {
	enum type type;
	uint32_t key;  /* offset of the member's name in the texts */
	uint32_t span; /* nodes of this value, itself included */
	union {
		uint32_t children; /* of a container */
		uint32_t begin;	   /* of a number: offset of its digits in the text */
	};
	union {
		int64_t integer;
		double real;
		uint32_t text; /* offset in the texts */
	} u;
	const struct json_doc *doc;
};

struct json_doc {
	char *texts;	       /* owned */
	size_t cap_texts, cap; /* capacities in bytes and nodes, for json_parse_reusing() */
	struct json nodes[];
};

struct parser {
	const char *text, *at, *end;
	struct json_doc *doc;
	size_t n_nodes;
	uint32_t n_texts;
	int depth;
	struct err *e;
};

static struct json_doc *doc_of(struct json *root)
{
	return (struct json_doc *)((char *)root - offsetof(struct json_doc, nodes));
}

static int json_syntax_error(struct parser *p, const char *expected)
{
	return err_set(p->e, ERR_DATA, "not valid JSON at byte %zu: %s",
		       (size_t)(p->at - p->text) + 1, expected);
}

static inline void skip_blanks(struct parser *p)
{
	while (p->at < p->end && (unsigned char)*p->at <= ' ' &&
	       (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
		p->at++;
}

static inline bool accept_char(struct parser *p, char c)
{
	skip_blanks(p);
	if (p->at == p->end || *p->at != c)
		return false;
	p->at++;
	return true;
}

/* Double the capacity of nodes. */
static int json_grow_nodes(struct parser *p)
{
	size_t cap = p->doc ? 2 * p->doc->cap : 32, bytes;
	struct json_doc *bigger;

	if (!mem_mul(cap, sizeof(struct json), &bytes) ||
	    !(bigger = realloc(p->doc, sizeof(*bigger) + bytes)))
		return err_set(p->e, ERR_NOMEM, "out of memory: JSON of %zu values", cap);
	if (!p->doc) {
		bigger->texts = NULL;
		bigger->cap_texts = 0;
	}
	p->doc = bigger;
	bigger->cap = cap;
	return 0;
}

static int json_add_node(struct parser *p, enum type type, uint32_t key, size_t *node)
{
	if (p->n_nodes == p->doc->cap && json_grow_nodes(p))
		return p->e->code;
	*node = p->n_nodes++;
	p->doc->nodes[*node] = (struct json){ .type = type, .key = key, .span = 1 };
	return 0;
}

static int parse_hex4(struct parser *p, uint32_t *value)
{
	*value = 0;
	for (int i = 0; i < 4; i++, p->at++) {
		static const char digits[] = "0123456789abcdefABCDEF";
		const char *d = p->at < p->end && *p->at ? strchr(digits, *p->at) : NULL;

		if (!d)
			return json_syntax_error(p, "\\u needs four hexadecimal digits");
		*value = *value << 4 | (uint32_t)(d - digits - (d - digits > 15 ? 6 : 0));
	}
	return 0;
}

/*
 * After "\u": append one character, or a pair of surrogates, as UTF-8. NUL becomes U+FFFD, because
 * texts are NUL-terminated.
 */
static int unescape_unicode(struct parser *p)
{
	uint32_t c, low;
	int failed = parse_hex4(p, &c);

	if (failed)
		return failed;
	if (c >= 0xD800 && c < 0xDC00 && p->end - p->at >= 2 && p->at[0] == '\\' &&
	    p->at[1] == 'u') {
		p->at += 2;
		failed = parse_hex4(p, &low);
		if (failed)
			return failed;
		if (low < 0xDC00 || low > 0xDFFF)
			return json_syntax_error(p, "a surrogate lacks its second half");
		c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
	}
	if (!c || (c >= 0xD800 && c <= 0xDFFF))
		c = 0xFFFD;
	p->n_texts += (uint32_t)utf8_encode(c, p->doc->texts + p->n_texts);
	return 0;
}

static int unescape_char(struct parser *p)
{
	static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	char c = p->at < p->end ? *p->at++ : 0;
	const char *name = c ? strchr(names, c) : NULL;

	if (c == 'u')
		return unescape_unicode(p);
	if (!name)
		return json_syntax_error(p, "unknown escape in a string");
	p->doc->texts[p->n_texts++] = meanings[name - names];
	return 0;
}

/*
 * Number of bytes from s on without quote, backslash and control character. *high: one of them is
 * not ASCII. Eight bytes at a time: subtraction sets the highest bit of a byte below 0x20, and of a
 * byte whose XOR with the wanted character is zero. A borrow may also mark later bytes, but the
 * first marked byte is correct.
 */
static size_t plain_bytes(const char *s, const char *end, bool *high)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
	const char *at = s;

	for (uint64_t w, marks; end - at >= 8; at += 8) {
		memcpy(&w, at, 8);
		marks = ((w - ones * 0x20) | ((w ^ ones * '"') - ones) |
			 ((w ^ ones * '\\') - ones) | w) &
			tops;
		if (!marks)
			continue;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		at += __builtin_ctzll(marks) / 8;
#endif
		break;
	}
	for (; at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20; at++)
		*high |= (unsigned char)*at >= 0x80;
	return (size_t)(at - s);
}

/* After the opening quote: unescape the string into the texts, at *offset. */
static int parse_string(struct parser *p, uint32_t *offset)
{
	*offset = p->n_texts;
	for (;;) {
		const char *plain = p->at;
		bool high = false;
		size_t n = plain_bytes(plain, p->end, &high);
		int failed;

		p->at += n;
		if (high && !utf8_valid(plain, n))
			return json_syntax_error(p, "a string is not valid UTF-8");
		memcpy(p->doc->texts + p->n_texts, plain, n);
		p->n_texts += (uint32_t)n;
		if (p->at == p->end)
			return json_syntax_error(p, "a string does not end");
		if ((unsigned char)*p->at < 0x20)
			return json_syntax_error(p, "a control character in a string");
		if (*p->at++ == '"')
			break;
		failed = unescape_char(p);
		if (failed)
			return failed;
	}
	assert(p->n_texts < p->doc->cap_texts); /* unescaping never makes a string longer */
	p->doc->texts[p->n_texts++] = 0;
	return 0;
}

static size_t count_digits(const char *s)
{
	return strspn(s, "0123456789");
}

/* RFC 8259, 6: minus, integer without leading zeros, fraction, exponent. */
static bool is_number(const char *s, bool *is_integer)
{
	size_t n;

	*is_integer = true;
	s += *s == '-';
	n = count_digits(s);
	if (!n || (n > 1 && *s == '0'))
		return false;
	s += n;
	if (*s == '.') {
		n = count_digits(s + 1);
		if (!n)
			return false;
		s += 1 + n;
		*is_integer = false;
	}
	if (*s == 'e' || *s == 'E') {
		s++;
		s += *s == '+' || *s == '-';
		n = count_digits(s);
		if (!n)
			return false;
		s += n;
		*is_integer = false;
	}
	return !*s;
}

/*
 * Fast path: at most 18 digits, and for fractions a mantissa and a power of ten that are exact
 * doubles, so that one operation rounds like strtod(). Any other number: false, and nothing is
 * consumed.
 */
static bool parse_short_number(struct parser *p, struct json *v)
{
	static const double powers[] = { 1e0,  1e1,  1e2,  1e3,	 1e4,  1e5,  1e6,  1e7,
					 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
					 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
	const char *s = p->at, *first, *dot = NULL;
	bool negative = s < p->end && *s == '-';
	uint64_t mantissa = 0;
	int decimals;

	s += negative;
	first = s;
	for (; s < p->end && (unsigned char)(*s - '0') < 10; s++)
		mantissa = mantissa * 10 + (uint64_t)(*s - '0');
	if (s == first || (*first == '0' && s - first > 1) || s - first > 18)
		return false;
	if (s < p->end && *s == '.')
		for (dot = s++; s < p->end && (unsigned char)(*s - '0') < 10; s++)
			mantissa = mantissa * 10 + (uint64_t)(*s - '0');
	decimals = dot ? (int)MIN(s - dot - 1, 100) : 0;
	if ((s < p->end && (*s == 'e' || *s == 'E')) ||
	    (dot && (!decimals || s - first > 19 || mantissa > UINT64_C(1) << 53)))
		return false;
	v->begin = (uint32_t)(p->at - p->text);
	p->at = s;
	v->type = dot ? REAL : INTEGER;
	if (dot)
		v->u.real = (negative ? -1.0 : 1.0) * ((double)mantissa / powers[decimals]);
	else
		v->u.integer = negative ? -(int64_t)mantissa : (int64_t)mantissa;
	return true;
}

static int parse_number(struct parser *p, struct json *v)
{
	char text[MAX_NUMBER + 1];
	bool is_integer;
	size_t n = 0;

	while (p->at + n < p->end && n < MAX_NUMBER && p->at[n] &&
	       strchr("+-.0123456789eE", p->at[n]))
		n++;
	memcpy(text, p->at, n);
	text[n] = 0;
	if (!n || !is_number(text, &is_integer))
		return json_syntax_error(p, "a value was expected");
	v->begin = (uint32_t)(p->at - p->text);
	p->at += n;
	v->type = INTEGER;
	if (!is_integer || !text_to_int(text, &v->u.integer)) {
		v->type = REAL;
		v->u.real = strtod(text, NULL);
		if (!isfinite(v->u.real))
			return json_syntax_error(p, "a number is too large");
	}
	return 0;
}

static bool accept_word(struct parser *p, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n))
		return false;
	p->at += n;
	return true;
}

static int parse_value(struct parser *p, uint32_t key);

/* The children of nodes[node], after its opening bracket. */
static int parse_container(struct parser *p, size_t node, char closing)
{
	uint32_t children = 0, key = 0;

	if (p->depth++ == MAX_DEPTH)
		return json_syntax_error(p, "nested too deep");
	while (!accept_char(p, closing)) {
		int failed;

		if (children && !accept_char(p, ','))
			return json_syntax_error(p, "a comma or the closing bracket was expected");
		if (closing == '}') {
			if (!accept_char(p, '"'))
				return json_syntax_error(p, "a member's name was expected");
			failed = parse_string(p, &key);
			if (failed)
				return failed;
			if (!accept_char(p, ':'))
				return json_syntax_error(p, "a colon was expected");
		}
		failed = parse_value(p, key);
		if (failed)
			return failed;
		children++;
	}
	p->depth--;
	assert(p->n_nodes - node > children); /* each child has at least one node */
	p->doc->nodes[node].children = children;
	p->doc->nodes[node].span = (uint32_t)(p->n_nodes - node);
	return 0;
}

static int parse_value(struct parser *p, uint32_t key)
{
	size_t node = 0;
	struct json *v;

	skip_blanks(p);
	if (json_add_node(p, JSON_NULL, key, &node))
		return p->e->code;
	v = &p->doc->nodes[node];
	switch (p->at < p->end ? *p->at : 0) {
	case '{':
		p->at++;
		v->type = OBJECT;
		return parse_container(p, node, '}');
	case '[':
		p->at++;
		v->type = ARRAY;
		return parse_container(p, node, ']');
	case '"':
		p->at++;
		v->type = TEXT;
		return parse_string(p, &v->u.text);
	default:
		if (parse_short_number(p, v))
			return 0;
	}
	if (accept_word(p, "null"))
		return 0;
	if (accept_word(p, "true") || accept_word(p, "false")) {
		v->type = JSON_BOOLEAN;
		v->u.integer = p->at[-2] == 'u'; /* tr-u-e, fal-s-e */
		return 0;
	}
	return parse_number(p, v);
}

/* Memory for the tree of a text of n bytes: that of the tree `before` if it is not NULL. */
static int json_prepare_tree(struct parser *p, struct json *before, size_t n)
{
	p->doc = before ? doc_of(before) : NULL;
	if (!p->doc && json_grow_nodes(p))
		return p->e->code;
	if (n + 1 > p->doc->cap_texts) {
		free(p->doc->texts);
		p->doc->cap_texts = 0;
		p->doc->texts = mem_alloc(n + 1, 1, p->e);
		if (!p->doc->texts)
			return p->e->code;
		p->doc->cap_texts = n + 1;
	}
	return 0;
}

struct json *json_parse_reusing(struct json *before, const char *text, size_t n, struct err *e)
{
	struct parser p = { .text = text, .at = text, .end = text + n, .e = e };
	int failed;

	if (n > UINT32_MAX / 4) {
		err_set(e, ERR_DATA, "JSON of %zu bytes is too long", n);
		json_free(before);
		return NULL;
	}
	failed = json_prepare_tree(&p, before, n);
	if (!failed)
		failed = parse_value(&p, 0);
	if (!failed) {
		skip_blanks(&p);
		if (p.at != p.end)
			failed = json_syntax_error(&p, "something follows the value");
	}
	if (failed) {
		if (p.doc)
			free(p.doc->texts);
		free(p.doc);
		return NULL;
	}
	for (size_t i = 0; i < p.n_nodes; i++)
		p.doc->nodes[i].doc = p.doc;
	return p.doc->nodes;
}

struct json *json_parse(const char *text, size_t n, struct err *e)
{
	return json_parse_reusing(NULL, text, n, e);
}

int json_read_optional(struct json **root, const char *path, size_t limit, struct err *e)
{
	struct err why = { 0 };
	struct buf text = { 0 };
	int rc = file_read_all(path, limit, &text, &why);

	*root = rc ? NULL : json_parse(buf_text(&text), text.len, &why);
	if (!rc && !*root)
		rc = why.code;
	buf_free(&text);
	if (err_is_of_input(rc))
		rc = 0;
	if (rc)
		*e = why;
	return rc;
}

void json_free(struct json *root)
{
	struct json_doc *doc;

	if (!root)
		return;
	doc = doc_of(root);
	free(doc->texts);
	free(doc);
}

size_t json_len(const struct json *v)
{
	return v && (v->type == ARRAY || v->type == OBJECT) ? v->children : 0;
}

const struct json *json_first(const struct json *v)
{
	return json_len(v) ? v + 1 : NULL;
}

const struct json *json_next(const struct json *v, const struct json *c)
{
	const struct json *next = c + c->span;

	assert(c > v && c < v + v->span); /* c is a child of v */
	return next < v + v->span ? next : NULL;
}

const char *json_child_key(const struct json *c)
{
	return c->doc->texts + c->key;
}

static const struct json *json_child_at(const struct json *v, size_t i)
{
	const struct json *c;

	if (i >= json_len(v))
		return NULL;
	for (c = v + 1; i; i--)
		c += c->span;
	return c;
}

const struct json *json_at(const struct json *array, size_t i)
{
	return array && array->type == ARRAY ? json_child_at(array, i) : NULL;
}

const char *json_member(const struct json *object, size_t i, const struct json **value)
{
	const struct json *c = object && object->type == OBJECT ? json_child_at(object, i) : NULL;

	if (!c)
		return NULL;
	*value = c;
	return c->doc->texts + c->key;
}

const struct json *json_get(const struct json *object, const char *key)
{
	const struct json *c;

	if (!object || object->type != OBJECT)
		return NULL;
	c = object + 1;
	for (uint32_t i = 0; i < object->children; i++, c += c->span)
		if (!strcmp(c->doc->texts + c->key, key))
			return c;
	return NULL;
}

const char *json_text(const struct json *v, const char *fallback)
{
	return v && v->type == TEXT ? v->doc->texts + v->u.text : fallback;
}

double json_number(const struct json *v, double fallback)
{
	if (v && v->type == INTEGER)
		return (double)v->u.integer;
	return v && v->type == REAL ? v->u.real : fallback;
}

int64_t json_integer(const struct json *v, int64_t fallback)
{
	return v && v->type == INTEGER ? v->u.integer : fallback;
}

bool json_is_null(const struct json *v)
{
	return !v || v->type == JSON_NULL;
}

bool json_is_array(const struct json *v)
{
	return v && v->type == ARRAY;
}

bool json_is_object(const struct json *v)
{
	return v && v->type == OBJECT;
}

bool json_boolean(const struct json *v, bool fallback)
{
	return v && v->type == JSON_BOOLEAN ? v->u.integer : fallback;
}

void json_numbers(const struct json *object, const char *const *names, size_t n, double *values)
{
	size_t expected = 0;

	for (size_t i = 0; i < n; i++)
		values[i] = NAN;
	if (!object || object->type != OBJECT)
		return;
	for (const struct json *c = json_first(object); c; c = json_next(object, c)) {
		const char *name = json_child_key(c);

		for (size_t k = 0; k < n && (c->type == INTEGER || c->type == REAL); k++) {
			size_t i = expected + k < n ? expected + k : expected + k - n;

			if (*names[i] == *name && !strcmp(names[i], name)) {
				/* of two members with one name the first counts, as in json_get() */
				if (isnan(values[i]))
					values[i] = json_number(c, NAN);
				expected = i + 1 < n ? i + 1 : 0;
				break;
			}
		}
	}
}

size_t json_number_digits(const struct json *v, const char *text, size_t n, const char **digits)
{
	size_t end;

	if (!v || (v->type != INTEGER && v->type != REAL))
		return 0;
	assert(v->begin < n);
	for (end = v->begin; end < n && text[end] && strchr("+-.0123456789eE", text[end]); end++)
		;
	*digits = text + v->begin;
	return end - v->begin;
}
