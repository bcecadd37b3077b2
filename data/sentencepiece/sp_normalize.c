/*
 * sp_normalize.c - normalises text by the rules in a SentencePiece model: see sp_normalize.h
 *
 * At each position the longest rule that matches replaces its text (sp_charsmap.c); other characters
 * stay. Then blanks are handled as the model says: leading, trailing and repeated ones removed, one
 * added in front, and each written as "▁". The order is SentencePiece's, so pieces are equal.
 */
#include "data/sentencepiece/sp_normalize.h"

#include <assert.h>
#include <string.h>

#include "data/subword/bpe_line.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

struct span {
	const char *text;
	size_t n;
};

/* *to: the replacement for the start of text (n >= 1). Returns the bytes that it replaces. */
static size_t normalize_prefix(const struct sp_normalizer *z, const char *text, size_t n,
			       struct span *to, bool *needs_lookahead)
{
	size_t used;
	const char *replaced;

	assert(n >= 1);
	if (z->symbols.n_units) {
		used = charsmap_match(&z->symbols, text, n, NULL, needs_lookahead);
		if (used) {
			*to = (struct span){ text, used };
			return used;
		}
	}
	if (z->rules.n_units) {
		used = charsmap_match(&z->rules, text, n, &replaced, needs_lookahead);
		if (used) {
			*to = (struct span){ replaced, strlen(replaced) };
			return used;
		}
	}
	used = MIN(bpe_char_length(text, n), n);
	if (!utf8_valid(text, used)) {
		*to = (struct span){ REPLACEMENT, strlen(REPLACEMENT) };
		return 1;
	}
	*to = (struct span){ text, used };
	return used;
}

static void add_space(const struct sp_normalizer *z, struct buf *out)
{
	if (z->escape_whitespaces)
		buf_add(out, SP_SPACE, SP_SPACE_BYTES);
	else
		buf_add_char(out, ' ');
}

static void add_span(const struct sp_normalizer *z, struct span s, struct buf *out)
{
	const char *blank;

	while (z->escape_whitespaces && (blank = memchr(s.text, ' ', s.n)) != NULL) {
		size_t before = (size_t)(blank - s.text);

		buf_add(out, s.text, before);
		buf_add(out, SP_SPACE, SP_SPACE_BYTES);
		s.text += before + 1;
		s.n -= before + 1;
	}
	buf_add(out, s.text, s.n);
}

static void cut_spaces(const struct sp_normalizer *z, struct buf *out, size_t start)
{
	const char *space = z->escape_whitespaces ? SP_SPACE : " ";
	size_t n = strlen(space);

	assert(start <= out->len);
	while (out->len - start >= n && !memcmp(out->data + out->len - n, space, n))
		buf_truncate(out, out->len - n);
}

int sp_normalize(const struct sp_normalizer *z, const char *text, size_t n, struct buf *out,
		 bool *needs_lookahead, struct err *e)
{
	size_t start = out->len, used;
	bool after_space = z->remove_extra_whitespaces;
	struct span s;

	for (; z->remove_extra_whitespaces && n; text += used, n -= used) {
		used = normalize_prefix(z, text, n, &s, needs_lookahead);
		if (s.n != 1 || *s.text != ' ')
			break;
	}
	if (!n)
		return 0;
	if (z->add_dummy_prefix && !z->is_space_suffix)
		add_space(z, out);
	for (; n; text += used, n -= used) {
		used = normalize_prefix(z, text, n, &s, needs_lookahead);
		assert(used >= 1 && used <= n); /* else the loop would not end */
		while (after_space && s.n && *s.text == ' ') {
			s.text++;
			s.n--;
		}
		if (s.n) {
			if (needs_lookahead && memmem(s.text, s.n, SP_SPACE, SP_SPACE_BYTES))
				*needs_lookahead = true;
			add_span(z, s, out);
			after_space = s.text[s.n - 1] == ' ' && z->remove_extra_whitespaces;
		}
	}
	if (z->remove_extra_whitespaces)
		cut_spaces(z, out, start);
	if (z->add_dummy_prefix && z->is_space_suffix)
		add_space(z, out);
	return buf_check(out, e);
}

void sp_normalizer_free(struct sp_normalizer *z)
{
	charsmap_free(&z->rules);
	charsmap_free(&z->symbols);
}
