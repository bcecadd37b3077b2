/* clean.c - the rules that drop sentence pairs: see clean.h */
#include "data/text/clean.h"

#include <string.h>

#include "data/text/chars.h"
#include "share/base/text.h"
#include "share/base/util.h"

/* May the fast loop copy this byte? Not blanks, not '|', not bytes beyond ASCII. */
static bool is_plain_clean_byte(unsigned char c)
{
	return c > ' ' && c < 0x80 && c != '|';
}

struct clean_side clean_squeeze(const char *text, size_t n, bool factored, struct buf *out)
{
	struct clean_side side = { 0 };
	size_t start = out->len, at = 0, first;
	uint32_t chars = 0;
	bool pending = false; /* a blank is written before the next word */

	while (at < n) {
		uint32_t c;

		first = at;
		while (at < n && is_plain_clean_byte((unsigned char)text[at]))
			at++;
		chars += (uint32_t)(at - first);
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

/* ---- the rules ---- */

#define RULE(name)                                                                                 \
	static bool name(const struct clean_options *o, const struct clean_side *s,                \
			 const struct clean_side *t)

RULE(is_empty)
{
	(void)o;
	return s->words == 0 || t->words == 0;
}

RULE(is_long)
{
	return s->words > o->max_words || t->words > o->max_words;
}

RULE(is_short)
{
	return s->words < o->min_words || t->words < o->min_words;
}

RULE(differs_in_words)
{
	return (double)s->words / (double)t->words > o->max_ratio ||
	       (double)t->words / (double)s->words > o->max_ratio;
}

RULE(has_long_word)
{
	return s->longest > o->max_word_chars || t->longest > o->max_word_chars;
}

RULE(is_copy)
{
	return o->drop_copies && s->hash == t->hash;
}

static bool is_foreign(const struct clean_side *s, double share)
{
	return (double)s->foreign > share * (double)s->letters;
}

RULE(is_of_other_script)
{
	return o->check_script && (is_foreign(s, o->max_foreign) || is_foreign(t, o->max_foreign));
}

RULE(differs_in_characters)
{
	return o->max_char_ratio > 0 &&
	       ((double)s->characters > o->max_char_ratio * (double)t->characters ||
		(double)t->characters > o->max_char_ratio * (double)s->characters);
}

/* The rules in order: first those of clean-corpus-n, in its order. */
static const struct {
	enum clean_rule rule;
	bool (*broken)(const struct clean_options *o, const struct clean_side *source,
		       const struct clean_side *target);
} rules[] = {
	{ CLEAN_EMPTY, is_empty },
	{ CLEAN_LONG, is_long },
	{ CLEAN_SHORT, is_short },
	{ CLEAN_RATIO, differs_in_words },
	{ CLEAN_WORD, has_long_word },
	{ CLEAN_COPY, is_copy },
	{ CLEAN_SCRIPT, is_of_other_script },
	{ CLEAN_CHARACTERS, differs_in_characters },
};

enum clean_rule clean_check_pair(const struct clean_options *o, const struct clean_side *source,
				 const struct clean_side *target)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(rules); i++)
		if (rules[i].broken(o, source, target))
			return rules[i].rule;
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
	return clean_check_pair(o, &s, &t);
}

bool clean_is_factored(const char *source, size_t n_source, const char *target, size_t n_target)
{
	return (n_source && memchr(source, '|', n_source)) ||
	       (n_target && memchr(target, '|', n_target));
}

static const struct {
	const char *name, *meaning;
} texts[CLEAN_N_RULES] = { [CLEAN_KEEP] = { "keep", "" },
#define X(id, name, text) [id] = { name, text },
			   CLEAN_RULES(X)
#undef X
};

static bool is_rule(enum clean_rule r)
{
	return r > CLEAN_KEEP && r < CLEAN_N_RULES;
}

const char *clean_rule_name(enum clean_rule r)
{
	return texts[is_rule(r) ? r : CLEAN_KEEP].name;
}

const char *clean_rule_meaning(enum clean_rule r)
{
	return texts[is_rule(r) ? r : CLEAN_KEEP].meaning;
}

enum clean_rule clean_rule_find(const char *name)
{
	int r;

	for (r = CLEAN_KEEP + 1; r < CLEAN_N_RULES; r++)
		if (!strcmp(texts[r].name, name))
			return (enum clean_rule)r;
	return CLEAN_KEEP;
}
