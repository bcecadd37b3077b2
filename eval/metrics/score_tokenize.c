/*
 * score_tokenize.c - the tokenisers of sacreBLEU; see score_tokenize.h
 *
 * sacreBLEU defines a tokeniser as a list of regular-expression substitutions. Each substitution is
 * one pass here. As in Python, matches of a pass do not overlap: a pass does not look again at
 * characters that a match has consumed.
 */
#include "eval/metrics/score_tokenize.h"

#include <assert.h>
#include <string.h>

#include "eval/metrics/unicode.h"
#include "share/base/text.h"
#include "share/base/util.h"

const char *score_tokenizer_name(enum score_tokenizer t)
{
	static const char *const names[] = { "13a", "none", "intl", "char", "multi-bleu" };

	assert((size_t)t < ARRAY_LEN(names));
	return names[t];
}

void score_scratch_free(struct score_scratch *s)
{
	buf_free(&s->lowered);
	buf_free(&s->a);
	buf_free(&s->b);
}

/* Clears b and makes room for n bytes. NULL: out of memory, and b->failed is set. */
static char *start_buffer(struct buf *b, size_t n)
{
	buf_clear(b);
	return buf_reserve(b, n);
}

static void close_buf(struct buf *b, const char *end)
{
	b->len = (size_t)(end - b->data);
	b->data[b->len] = 0;
}

/* to = from with every occurrence of word replaced by with. */
static void replace_all(struct buf *to, const struct buf *from, const char *word, const char *with)
{
	const char *at = from->data, *end = from->data + from->len, *hit;

	buf_clear(to);
	while ((hit = memmem(at, (size_t)(end - at), word, strlen(word)))) {
		buf_add(to, at, (size_t)(hit - at));
		buf_add_str(to, with);
		at = hit + strlen(word);
	}
	buf_add(to, at, (size_t)(end - at));
}

static void replace_in_scratch(struct score_scratch *s, const char *word, const char *with)
{
	struct buf swap;

	if (!memmem(s->a.data, s->a.len, word, strlen(word)))
		return;
	replace_all(&s->b, &s->a, word, with);
	swap = s->a;
	s->a = s->b;
	s->b = swap;
}

/* The bytes of 13a's class [\{-\~\[-\` -\&\(-\+\:-\@\/]: ASCII punctuation except ' , - . */
static const bool isolated[256] = {
	[' ' ... '&'] = true, ['(' ... '+'] = true, ['/'] = true,
	[':' ... '@'] = true, ['[' ... '`'] = true, ['{' ... '~'] = true,
};

/* ([{-~[-` -&(-+:-@/]) becomes " \1 ". */
static void isolate_punctuation(struct buf *to, const struct buf *from)
{
	char *w = start_buffer(to, 3 * from->len);

	if (!w)
		return;
	for (const char *r = from->data, *end = r + from->len; r < end; r++) {
		if (*r == ' ') { /* one blank separates as well as three */
			*w++ = ' ';
		} else if (isolated[(unsigned char)*r]) {
			*w++ = ' ';
			*w++ = *r;
			*w++ = ' ';
		} else {
			*w++ = *r;
		}
	}
	close_buf(to, w);
}

/* Kinds of bytes in split_rule. Letters and bytes above 0x7F are NO_DIGIT. */
enum { DIGIT = 1, NO_DIGIT = 2, POINT = 4, DASH = 8 };

static unsigned byte_kind(unsigned char c)
{
	static const unsigned char kinds[] = { [','] = POINT | NO_DIGIT,
					       ['-'] = DASH | NO_DIGIT,
					       ['.'] = POINT | NO_DIGIT,
					       ['0'] = DIGIT,
					       DIGIT,
					       DIGIT,
					       DIGIT,
					       DIGIT,
					       DIGIT,
					       DIGIT,
					       DIGIT,
					       DIGIT,
					       DIGIT };

	return c < sizeof(kinds) && kinds[c] ? kinds[c] : NO_DIGIT;
}

/*
 * If a byte has the kind first and the next byte the kind second, insert a blank between them and,
 * by the flags, before the first and after the second. Bytes of a multi-byte character are
 * NO_DIGIT; a blank is inserted beside such a character, never within it, because the other byte
 * of a pair is ASCII.
 */
struct split_rule {
	unsigned first, second;
	bool before, after;
};

/*
 * The first byte of ',' '-' '.' from r on, or end. Eight bytes are tested at a time: a byte b is a
 * mark if b - ',' < 3, and then subtracting 3 more clears the top bit that was set in each byte.
 */
static const char *next_mark(const char *r, const char *end)
{
	const uint64_t ones = 0x0101010101010101u, tops = ones << 7;

	for (; end - r >= 8; r += 8) {
		uint64_t x, low, is_high;

		memcpy(&x, r, 8);
		is_high = x & tops;
		x = ((x & ~tops) | tops) - ones * ','; /* per byte: 0x80 + b - ',', no borrow */
		low = ((x & ~tops) | tops) - ones * 3; /* the top bit is clear if b - ',' < 3 */
		if (x & ~low & tops & ~is_high)
			break;
	}
	while (r < end && (unsigned char)(*r - ',') > '.' - ',')
		r++;
	return r;
}

static char *copy_span(char *w, const char **r, const char *end)
{
	size_t n = (size_t)(end - *r);

	memcpy(w, *r, n);
	*r = end;
	return w + n;
}

static void split_pairs(struct buf *to, const struct buf *from, struct split_rule rule)
{
	const char *r = from->data, *end = r + from->len;
	char *w = start_buffer(to, 2 * from->len + 4);
	unsigned kind, next;

	if (!w)
		return;
	while (r < end) {
		const char *mark = next_mark(r, end);

		/* a pair contains a mark, so no pair starts before the byte in front of the mark */
		if (mark == end)
			w = copy_span(w, &r, end);
		else if (mark - r > 1)
			w = copy_span(w, &r, mark - 1);
		if (r == end)
			break;
		kind = byte_kind((unsigned char)*r);
		next = r + 1 < end ? byte_kind((unsigned char)r[1]) : 0;
		if (!(kind & rule.first) || !(next & rule.second)) {
			*w++ = *r++;
			continue;
		}
		if (rule.before)
			*w++ = ' ';
		*w++ = *r++;
		*w++ = ' ';
		*w++ = *r++;
		if (rule.after)
			*w++ = ' ';
	}
	close_buf(to, w);
}

static void tokenize_13a(const char *line, size_t n, struct score_scratch *s, struct buf *out)
{
	buf_clear(&s->a);
	buf_add_char(&s->a, ' ');
	buf_add(&s->a, line, n);
	buf_add_char(&s->a, ' ');
	if (s->a.failed)
		return;
	replace_in_scratch(s, "<skipped>", "");
	if (memchr(s->a.data, '&', s->a.len)) {
		replace_in_scratch(s, "&quot;", "\"");
		replace_in_scratch(s, "&amp;", "&");
		replace_in_scratch(s, "&lt;", "<");
		replace_in_scratch(s, "&gt;", ">");
	}
	isolate_punctuation(&s->b, &s->a);
	split_pairs(&s->a, &s->b, (struct split_rule){ NO_DIGIT, POINT, false, true });
	split_pairs(&s->b, &s->a, (struct split_rule){ POINT, NO_DIGIT, true, false });
	split_pairs(&s->a, &s->b, (struct split_rule){ DIGIT, DASH, false, true });
	buf_add(out, buf_text(&s->a), s->a.len);
}

/* Decodes the character at r; returns its bytes, 0 at the end. */
static size_t decode_next_char(const char *r, const char *end, uint32_t *c)
{
	return r < end ? utf8_decode(r, (size_t)(end - r), c) : 0;
}

static char *copy_bytes(char *to, const char *from, size_t n)
{
	memcpy(to, from, n);
	return to + n;
}

/* A substitution of intl: a pair of punctuation and a character that is no number, in this order or
 * the other. */
static void split_classes(struct buf *to, const struct buf *from, bool punctuation_first)
{
	const char *r = from->data, *end = r + from->len;
	uint32_t c = 0, next = 0;
	size_t bytes, next_bytes;
	char *w = start_buffer(to, 3 * from->len + 4);

	if (!w)
		return;
	for (bytes = decode_next_char(r, end, &c); bytes; bytes = next_bytes, c = next) {
		uint32_t mark, beside;

		next_bytes = decode_next_char(r + bytes, end, &next);
		mark = punctuation_first ? c : next;
		beside = punctuation_first ? next : c;
		if (!next_bytes || unicode_class(mark) != UNICODE_P ||
		    unicode_class(beside) == UNICODE_N) {
			w = copy_bytes(w, r, bytes);
			r += bytes;
			continue;
		}
		if (punctuation_first)
			*w++ = ' ';
		w = copy_bytes(w, r, bytes);
		*w++ = ' ';
		w = copy_bytes(w, r + bytes, next_bytes);
		if (!punctuation_first)
			*w++ = ' ';
		r += bytes + next_bytes;
		next_bytes = decode_next_char(r, end, &next);
	}
	close_buf(to, w);
}

static void isolate_symbols(struct buf *out, const struct buf *from)
{
	const char *r = from->data, *end = r + from->len;

	while (r < end) {
		uint32_t c;
		size_t bytes = utf8_decode(r, (size_t)(end - r), &c);
		bool symbol = unicode_class(c) == UNICODE_S;

		if (symbol)
			buf_add_char(out, ' ');
		buf_add(out, r, bytes);
		if (symbol)
			buf_add_char(out, ' ');
		r += bytes;
	}
}

static void tokenize_intl(const char *line, size_t n, struct score_scratch *s, struct buf *out)
{
	buf_clear(&s->b);
	buf_add(&s->b, line, n);
	if (s->b.failed || n == 0)
		return;
	split_classes(&s->a, &s->b, false);
	split_classes(&s->b, &s->a, true);
	isolate_symbols(out, &s->b);
}

static void tokenize_char(const char *line, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n;) {
		uint32_t c;
		size_t bytes = utf8_decode(line + i, n - i, &c);

		buf_add(out, line + i, bytes);
		buf_add_char(out, ' ');
		i += bytes;
	}
}

/* Appends the bytes, with ASCII letters in lower case if wanted. */
static void add_line_bytes(const char *line, size_t n, bool lowercase, struct buf *out)
{
	if (!lowercase) {
		buf_add(out, line, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		char c = line[i];

		buf_add_char(out, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
	}
}

void score_tokenize(enum score_tokenizer t, bool lowercase, const char *line, size_t n,
		    struct score_scratch *s, struct buf *out)
{
	if (t == SCORE_MULTI_BLEU) {
		add_line_bytes(line, n, lowercase, out);
		return;
	}
	if (lowercase) {
		buf_clear(&s->lowered);
		unicode_lower(&s->lowered, line, n);
		line = buf_text(&s->lowered);
		n = s->lowered.len;
	}
	n = unicode_trimmed(line, n);
	switch (t) {
	case SCORE_13A:
		tokenize_13a(line, n, s, out);
		break;
	case SCORE_NONE:
		buf_add(out, line, n);
		break;
	case SCORE_INTL:
		tokenize_intl(line, n, s, out);
		break;
	case SCORE_CHAR:
	case SCORE_MULTI_BLEU: /* has returned above */
		tokenize_char(line, n, out);
		break;
	}
	/* a pass that ran out of memory has marked its own buffer; the caller checks out only */
	out->failed |= s->lowered.failed | s->a.failed | s->b.failed;
}
