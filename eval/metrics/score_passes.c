/* score_passes.c - the substitutions that tokenisers share; see score_passes.h */
#include "eval/metrics/score_passes.h"

#include <stdint.h>
#include <string.h>

#include "share/base/text.h"

char *score_pass_start(struct buf *b, size_t n)
{
	buf_clear(b);
	return buf_reserve(b, n);
}

void score_pass_end(struct buf *b, const char *end)
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

static void swap_buffers(struct score_scratch *s)
{
	struct buf swap = s->a;

	s->a = s->b;
	s->b = swap;
}

void score_pass_replace(struct score_scratch *s, const char *word, const char *with)
{
	if (!memmem(s->a.data, s->a.len, word, strlen(word)))
		return;
	replace_all(&s->b, &s->a, word, with);
	swap_buffers(s);
}

/* The bytes of 13a's class [\{-\~\[-\` -\&\(-\+\:-\@\/]: ASCII punctuation except ' , - . */
static const bool isolated[256] = {
	[' ' ... '&'] = true, ['(' ... '+'] = true, ['/'] = true,
	[':' ... '@'] = true, ['[' ... '`'] = true, ['{' ... '~'] = true,
};

/* ([{-~[-` -&(-+:-@/]) becomes " \1 ". */
static void isolate_punctuation(struct buf *to, const struct buf *from)
{
	char *w = score_pass_start(to, 3 * from->len);

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
	score_pass_end(to, w);
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
	char *w = score_pass_start(to, 2 * from->len + 4);
	unsigned kind, next;

	if (!w)
		return;
	while (r < end) {
		const char *mark = next_mark(r, end);

		/* a pair contains a mark, so no pair starts before the byte that precedes the mark */
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
	score_pass_end(to, w);
}

void score_pass_entities(struct score_scratch *s)
{
	if (!memchr(s->a.data, '&', s->a.len))
		return;
	score_pass_replace(s, "&quot;", "\"");
	score_pass_replace(s, "&amp;", "&");
	score_pass_replace(s, "&lt;", "<");
	score_pass_replace(s, "&gt;", ">");
}

void score_pass_western(struct score_scratch *s, bool possessives)
{
	isolate_punctuation(&s->b, &s->a);
	swap_buffers(s);
	if (possessives && !s->a.failed)
		score_pass_replace(s, "'s ", " 's ");
	split_pairs(&s->b, &s->a, (struct split_rule){ NO_DIGIT, POINT, false, true });
	split_pairs(&s->a, &s->b, (struct split_rule){ POINT, NO_DIGIT, true, false });
	split_pairs(&s->b, &s->a, (struct split_rule){ DIGIT, DASH, false, true });
	swap_buffers(s);
}

static bool score_is_in_ranges(uint32_t c, const struct score_range *ranges, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

void score_pass_ranges(const char *line, size_t n, const struct score_range *ranges,
		       size_t n_ranges, enum score_action action, struct buf *out)
{
	for (size_t i = 0; i < n;) {
		uint32_t c;
		size_t bytes = utf8_decode(line + i, n - i, &c);
		bool is_in = score_is_in_ranges(c, ranges, n_ranges);

		if (is_in && action == SCORE_ISOLATE)
			buf_add_char(out, ' ');
		if (!is_in || action == SCORE_ISOLATE)
			buf_add(out, line + i, bytes);
		if (is_in && action == SCORE_ISOLATE)
			buf_add_char(out, ' ');
		i += bytes;
	}
}
