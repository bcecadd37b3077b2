/*
 * score_tokenize.c - see score_tokenize.h
 *
 * The peers are defined as lists of regular-expression substitutions; each
 * becomes one pass here. Substitutions do not overlap: what a match has
 * consumed is not looked at again in the same pass, and that is kept.
 */
#include "eval/metrics/score_tokenize.h"

#include <string.h>

#include "eval/metrics/unicode.h"
#include "share/base/text.h"
#include "share/base/util.h"

const char *score_tokenizer_name(enum score_tokenizer t)
{
	static const char *const names[] = { "13a", "none", "intl", "char", "multi-bleu" };

	return names[t];
}

void score_scratch_free(struct score_scratch *s)
{
	buf_free(&s->lowered);
	buf_free(&s->a);
	buf_free(&s->b);
}

/* Empty b with room for n bytes; NULL: out of memory, and b says so. */
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

/* Punctuation of ASCII except ' , - . and what lies beyond it. */
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
		if (*r == ' ') { /* three of them part no better than one */
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

/* What a byte may be to a rule; a byte above 0x7F is DIGIT no more than a letter is. */
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
 * Where a character is of kind first and the next of kind second, put blanks:
 * before the first, between, behind the second, as the flags say. Working on
 * bytes is right, because a match never begins or ends inside a character
 * except where that character is copied unchanged.
 */
struct split_rule {
	unsigned first, second;
	bool before, behind;
};

/*
 * The first of , - . from r on, or end: eight bytes at a time, since few bytes are one of them.
 * A byte minus the first of them is then below 3: subtracting 3 more borrows into the upper bit.
 */
static const char *next_mark(const char *r, const char *end)
{
	const uint64_t ones = 0x0101010101010101u, tops = ones << 7;

	for (; end - r >= 8; r += 8) {
		uint64_t x, low, is_high;

		memcpy(&x, r, 8);
		is_high = x & tops;
		x = ((x & ~tops) | tops) - ones * ','; /* each byte for itself: 0x80 + it - ',' */
		low = ((x & ~tops) | tops) - ones * 3; /* its top bit falls where that is < 3 */
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

		/* A pair has a mark, so none begins before the character in front of the next one. */
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
		if (rule.behind)
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

/* The character at r, 0 bytes at the end. */
static size_t decode_next_char(const char *r, const char *end, uint32_t *c)
{
	return r < end ? utf8_decode(r, (size_t)(end - r), c) : 0;
}

static char *copy_bytes(char *to, const char *from, size_t n)
{
	memcpy(to, from, n);
	return to + n;
}

/* One substitution of intl: two characters, one punctuation, the other no number. */
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

/* Bytes as they are, or in the lower case of ASCII. */
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
	case SCORE_MULTI_BLEU: /* not here */
		tokenize_char(line, n, out);
		break;
	}
	/*
	 * A pass that ran out of memory left its own buffer marked; the caller looks at out
	 * only.
	 */
	out->failed |= s->lowered.failed | s->a.failed | s->b.failed;
}
