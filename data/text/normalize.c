/* normalize.c - normalises punctuation as Moses does: see tokenize.h */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/text/rewrite.h"
#include "data/text/tokenize.h"
#include "share/base/mem.h"
#include "share/base/util.h"

/* The rules work on bytes, as normalize-punctuation.perl does. */
#define B    REGEX_BYTES
#define NBSP "\xc2\xa0"

static const struct rewrite_rule common[] = {
	{ "\\r", "", B },
	/* blanks around brackets and before signs */
	/* clang-format off */
	{ "\\(", " (", B }, { "\\)", ") ", B }, { "  +", " ", B },
	{ "\\) ([.!:?;,])", ")$1", B },
	{ "\\( ", "(", B }, { " \\)", ")", B },
	{ "(\\d) %", "$1%", B },
	{ " :", ":", B }, { " ;", ";", B },
	/* clang-format on */
	/* quotes and dashes */
	/* clang-format off */
	{ "`", "'", B }, { "''", " \" ", B },
	{ "„", "\"", B }, { "“", "\"", B }, { "”", "\"", B },
	{ "–", "-", B }, { "—", " - ", B }, { "  +", " ", B },
	{ "´", "'", B },
	{ "([a-zA-Z])‘([a-zA-Z])", "$1'$2", B }, { "([a-zA-Z])’([a-zA-Z])", "$1'$2", B },
	{ "‘", "'", B }, { "‚", "'", B }, { "’", "\"", B }, { "''", "\"", B },
	{ "…", "...", B },
	/* clang-format on */
	/* French quotes */
	{ NBSP "«" NBSP, " \"", B },
	{ "«" NBSP, "\"", B },
	{ "«", "\"", B },
	{ NBSP "»" NBSP, "\" ", B },
	{ NBSP "»", "\"", B },
	{ "»", "\"", B },
	/* no-break spaces */
	{ NBSP "%", "%", B },
	{ "nº" NBSP, "nº ", B },
	{ NBSP ":", ":", B },
	{ NBSP "ºC", " ºC", B },
	{ NBSP "cm", " cm", B },
	{ NBSP "\\?", "?", B },
	{ NBSP "!", "!", B },
	{ NBSP ";", ";", B },
	{ "," NBSP, ", ", B },
	{ "  +", " ", B },
};
static const struct rewrite_rule quotes_english[] = { { "\"([,.]+)", "$1\"", B } };
static const struct rewrite_rule quotes[] = {
	{ ",\"", "\",", B },
	{ "(\\.+)\"(\\s*[^<])", "\"$1$2", B },
};
static const struct rewrite_rule numbers_comma[] = { { "(\\d)" NBSP "(\\d)", "$1,$2", B } };
static const struct rewrite_rule numbers_point[] = { { "(\\d)" NBSP "(\\d)", "$1.$2", B } };

struct normalizer {
	struct rewrite *common, *quotes, *numbers;
	struct buf text;
};

static bool is_one_of(const char *language, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(language, *names))
			return true;
	return false;
}

struct normalizer *normalizer_new(const char *language, struct err *e)
{
	static const char *const czech[] = { "cs", "cz", NULL };
	static const char *const decimal_comma[] = { "de", "es", "cz", "cs", "fr", NULL };
	bool english = !strcmp(language, "en");
	struct normalizer *m = mem_alloc(1, sizeof(*m), e);

	if (!m)
		return NULL;
	m->common = rewrite_new(common, ARRAY_LEN(common), e);
	if (!m->common)
		goto fail;
	m->quotes = is_one_of(language, czech) ? rewrite_new(NULL, 0, e)
		    : english ? rewrite_new(quotes_english, ARRAY_LEN(quotes_english), e)
			      : rewrite_new(quotes, ARRAY_LEN(quotes), e);
	if (!m->quotes)
		goto fail;
	m->numbers = is_one_of(language, decimal_comma)
			     ? rewrite_new(numbers_comma, ARRAY_LEN(numbers_comma), e)
			     : rewrite_new(numbers_point, ARRAY_LEN(numbers_point), e);
	if (m->numbers)
		return m;
fail:
	normalizer_free(m);
	return NULL;
}

/* ---- most lines have nothing to normalise ---- */

#define EACH_BYTE(c) (0x0101010101010101u * (c))

/* Set the top bit of each byte that equals c; the byte above such a byte may be marked too. */
static inline uint64_t mark_equal_bytes(uint64_t bytes, unsigned char c)
{
	bytes ^= EACH_BYTE(c);
	return (bytes - EACH_BYTE(1)) & ~bytes & EACH_BYTE(0x80);
}

/*
 * 0: no rule above can match here. bytes: eight bytes of the text; next: the eight bytes that
 * begin one byte later. Each rule needs ` " ( ) CR, or a character that begins with 0xC2
 * (no-break space, ´ « » º) or 0xE2 (other quotes, dashes, …), or a blank before a blank % : ; or
 * two '.
 */
static inline uint64_t mark_special(uint64_t bytes, uint64_t next)
{
	uint64_t brackets = bytes & EACH_BYTE(0xFE), leads = bytes & EACH_BYTE(0xDF);
	uint64_t colons = next & EACH_BYTE(0xFE);

	return mark_equal_bytes(bytes, '`') | mark_equal_bytes(bytes, '"') |
	       mark_equal_bytes(bytes, '\r') | mark_equal_bytes(brackets, '(') |
	       mark_equal_bytes(leads, 0xC2) |
	       (mark_equal_bytes(bytes, ' ') &
		(mark_equal_bytes(next, ' ') | mark_equal_bytes(next, '%') |
		 mark_equal_bytes(colons, ':'))) |
	       (mark_equal_bytes(bytes, '\'') & mark_equal_bytes(next, '\''));
}

static uint64_t normalize_load8(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* true: no rule changes the text. false: a rule may change it. */
static bool is_plain_text(const char *text, size_t n)
{
	char end[16] = { 0 };
	uint64_t found = 0;

	for (; n > 8; text += 8, n -= 8)
		found |= mark_special(normalize_load8(text), normalize_load8(text + 1));
	assert(n < sizeof(end)); /* the NULs after the text trigger no rule */
	if (n)
		memcpy(end, text, n);
	return !(found | mark_special(normalize_load8(end), normalize_load8(end + 1)));
}

int normalizer_line(struct normalizer *m, const char *line, size_t n, struct buf *out,
		    struct err *e)
{
	size_t len;

	if (is_plain_text(line, n)) {
		buf_add(out, line, n);
		return buf_check(out, e);
	}
	buf_clear(&m->text);
	buf_add(&m->text, line, n);
	/* in Moses the rules see the LF of the line, which matters for ." at its end */
	buf_add_char(&m->text, '\n');
	if (rewrite_apply(m->common, &m->text, e) || rewrite_apply(m->quotes, &m->text, e) ||
	    rewrite_apply(m->numbers, &m->text, e))
		return e->code;
	len = m->text.len;
	if (len > 0 && m->text.data[len - 1] == '\n')
		len--;
	buf_add(out, buf_text(&m->text), len);
	return buf_check(out, e);
}

void normalizer_free(struct normalizer *m)
{
	if (!m)
		return;
	rewrite_free(m->common);
	rewrite_free(m->quotes);
	rewrite_free(m->numbers);
	buf_free(&m->text);
	free(m);
}
