/* score_tokenize.c - the tokenisers of sacreBLEU, made of passes; see score_tokenize.h */
#include "eval/metrics/score_tokenize.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "eval/metrics/score_passes.h"
#include "eval/metrics/unicode.h"
#include "share/base/text.h"
#include "share/base/util.h"

const char *score_tokenizer_name(enum score_tokenizer t)
{
	static const char *const names[] = { "auto", "13a",	   "none", "intl",
					     "char", "multi-bleu", "zh" };

	assert((size_t)t < ARRAY_LEN(names));
	return names[t];
}

/*
 * Languages by their ISO 639 codes of two and three letters; all others have 13a. zh: Chinese.
 * char: Japanese, Korean (whose words carry particles), and scripts without blanks between words:
 * Thai, Khmer, Lao, Burmese, Shan, Tibetan, Dzongkha.
 */
static const struct {
	enum score_tokenizer tokenizer;
	const char *codes;
} score_languages[] = {
	{ SCORE_ZH, "zh zho chi cmn yue wuu lzh nan" },
	{ SCORE_CHAR, "ja jpn ko kor th tha km khm lo lao my mya bur shn bo bod tib dz dzo" },
};

enum score_tokenizer score_tokenizer_for(const char *language)
{
	const size_t n = strcspn(language, "-_"); /* zh-TW, zh_Hans */

	for (size_t i = 0; i < ARRAY_LEN(score_languages); i++) {
		const char *code = score_languages[i].codes;

		for (size_t len; *code; code += len + (code[len] == ' ')) {
			len = strcspn(code, " ");
			if (len == n && !strncasecmp(code, language, n))
				return score_languages[i].tokenizer;
		}
	}
	return SCORE_13A;
}

enum score_tokenizer score_tokenizer_of_language(const struct conf *c, const char *language)
{
	const enum score_tokenizer t = (enum score_tokenizer)c->tokenizer;

	return t == SCORE_AUTO ? score_tokenizer_for(language) : t;
}

enum score_tokenizer score_tokenizer_of(const struct conf *c)
{
	return score_tokenizer_of_language(c, c->target_language);
}

void score_scratch_free(struct score_scratch *s)
{
	buf_free(&s->lowered);
	buf_free(&s->a);
	buf_free(&s->b);
}

static void tokenize_13a(const char *line, size_t n, struct score_scratch *s, struct buf *out)
{
	buf_clear(&s->a);
	buf_add_char(&s->a, ' ');
	buf_add(&s->a, line, n);
	buf_add_char(&s->a, ' ');
	if (s->a.failed)
		return;
	score_pass_replace(s, "<skipped>", "");
	score_pass_entities(s);
	score_pass_western(s, false);
	buf_add(out, buf_text(&s->a), s->a.len);
}

/*
 * The characters that tokenizer zh splits off, as sacreBLEU does: CJK ideographs and marks. Its
 * table writes the ideographs above U+FFFF with escapes of four digits. So it holds U+2001 to
 * U+2A6D and U+2F81 to U+2FA1 instead: quotation marks, dashes and mathematical signs stand alone,
 * rare ideographs do not.
 */
static const struct score_range chinese[] = {
	{ 0x2001, 0x2A6D }, /* general punctuation to mathematical operators */
	{ 0x2E80, 0x2EFF }, /* CJK radicals */
	{ 0x2F00, 0x2FDF }, /* Kangxi radicals */
	{ 0x2FF0, 0x303F }, /* ideographic description, CJK punctuation */
	{ 0x3100, 0x312F }, /* Bopomofo */
	{ 0x31A0, 0x31BF }, /* Bopomofo extended */
	{ 0x31C0, 0x31EF }, /* CJK strokes */
	{ 0x3200, 0x33FF }, /* enclosed CJK letters, squared words */
	{ 0x3400, 0x4DB5 }, /* ideographs, extension A */
	{ 0x4E00, 0x9FBB }, /* ideographs */
	{ 0xF900, 0xFA2D }, /* compatibility ideographs */
	{ 0xFA30, 0xFA6A }, { 0xFA70, 0xFAD9 }, { 0xFE10, 0xFE1F }, /* vertical forms */
	{ 0xFE30, 0xFE4F },					    /* compatibility forms */
	{ 0xFF00, 0xFFEF }, /* full-width and half-width forms */
};

/* The bytes of white space at the start of a line. */
static size_t leading_space(const char *line, size_t n)
{
	size_t i = 0, space;

	while (i < n && (space = unicode_space(line + i, n - i)) > 0)
		i += space;
	return i;
}

static void tokenize_zh(const char *line, size_t n, struct score_scratch *s, struct buf *out)
{
	size_t skip = leading_space(line, n);

	buf_clear(&s->a);
	score_pass_ranges(line + skip, n - skip, chinese, ARRAY_LEN(chinese), SCORE_ISOLATE, &s->a);
	if (s->a.failed || s->a.len == 0)
		return;
	score_pass_western(s, false);
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

/* A substitution of intl: a pair of punctuation and a character that is not a number, in this order or
 * the other. */
static void split_classes(struct buf *to, const struct buf *from, bool punctuation_first)
{
	const char *r = from->data, *end = r + from->len;
	uint32_t c = 0, next = 0;
	size_t bytes, next_bytes;
	char *w = score_pass_start(to, 3 * from->len + 4);

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
	score_pass_end(to, w);
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
	case SCORE_AUTO: /* the caller asks score_tokenizer_of() before */
	case SCORE_13A:
		tokenize_13a(line, n, s, out);
		break;
	case SCORE_NONE:
		buf_add(out, line, n);
		break;
	case SCORE_ZH:
		tokenize_zh(line, n, s, out);
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
