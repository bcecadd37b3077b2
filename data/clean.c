/* clean.c - see clean.h */
#include "data/clean.h"

#include <string.h>

#include "data/chars.h"
#include "share/base/text.h"
#include "share/base/util.h"

/* Blanks, '|' and the ends of both, which the fast loop stops at. */
static bool is_plain(unsigned char c)
{
	return c > ' ' && c < 0x80 && c != '|';
}

struct clean_side clean_squeeze(const char *text, size_t n, bool factored, struct buf *out)
{
	struct clean_side side = { 0 };
	size_t start = out->len, at = 0, first;
	int64_t chars = 0;
	bool pending = false;		/* a blank, due before the next word */

	while (at < n) {
		uint32_t c;

		first = at;
		while (at < n && is_plain((unsigned char)text[at]))
			at++;
		chars += (int64_t)(at - first);
		if (at == first) {
			at += utf8_decode(text + at, n - at, &c);
			if (c == '|' && !factored)
				continue;
			pending = pending || chars_is_blank(c);
			chars = c == '|' || chars_is_blank(c) ? 0 : chars + 1;
			if (chars_is_blank(c))
				continue;
		}
		if (out->len == start || pending) {
			if (out->len > start)
				buf_add_char(out, ' ');
			side.words++;
		}
		pending = false;
		buf_add(out, text + first, at - first);
		side.longest = MAX(side.longest, chars);
	}
	return side;
}

enum clean_rule clean_judge(const struct clean_options *o, struct clean_side source,
			    struct clean_side target)
{
	if (source.words == 0 || target.words == 0)
		return CLEAN_EMPTY;
	if (source.words > o->max_words || target.words > o->max_words)
		return CLEAN_LONG;
	if (source.words < o->min_words || target.words < o->min_words)
		return CLEAN_SHORT;
	if ((double)source.words / (double)target.words > o->max_ratio ||
	    (double)target.words / (double)source.words > o->max_ratio)
		return CLEAN_RATIO;
	if (source.longest > o->max_word_chars || target.longest > o->max_word_chars)
		return CLEAN_WORD;
	return CLEAN_KEEP;
}

enum clean_rule clean_pair(const struct clean_options *o, const char *source, size_t n_source,
			   const char *target, size_t n_target, struct buf *out_source,
			   struct buf *out_target)
{
	struct clean_side s, t;

	buf_clear(out_source);
	buf_clear(out_target);
	s = clean_squeeze(source, n_source, o->factored, out_source);
	t = clean_squeeze(target, n_target, o->factored, out_target);
	return clean_judge(o, s, t);
}

bool clean_is_factored(const char *source, size_t n_source, const char *target, size_t n_target)
{
	return (n_source && memchr(source, '|', n_source)) ||
	       (n_target && memchr(target, '|', n_target));
}

const char *clean_rule_name(enum clean_rule r)
{
	switch (r) {
#define X(id, name, text) case id: return name;
	CLEAN_RULES(X)
#undef X
	default: return "keep";
	}
}
