/* terms.c - a list of terms and their search in a line; see constraint_options.h */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "data/text/icu.h"
#include "eval/metrics/unicode.h"
#include "eval/translate/constraint_options.h"
#include "share/base/lines.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/conf/text_sides.h"

struct term {
	char *source;		     /* owned: tokens joined by one blank */
	struct decode_phrase target; /* its tokens are owned */
};

struct terms {
	struct engine *engine;	  /* borrowed */
	const struct terms *more; /* borrowed; NULL: none */
	struct term *all;	  /* (n) owned; sorted by source after terms_finish() */
	size_t n, cap;
	int32_t longest;	/* greatest number of words of a source */
	struct buf text, lower; /* scratch */
};

struct terms *terms_new(struct engine *g, const struct terms *more, struct err *e)
{
	struct terms *t = mem_alloc(1, sizeof(*t), e);

	if (t) {
		t->engine = g;
		t->more = more;
		t->longest = more ? more->longest : 0;
	}
	return t;
}

size_t terms_count(const struct terms *t)
{
	return t->n;
}

void terms_free(struct terms *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++) {
		free(t->all[i].source);
		free((int32_t *)t->all[i].target.tokens);
	}
	free(t->all);
	buf_free(&t->text);
	buf_free(&t->lower);
	free(t);
}

/* Writes the tokens of a source text to t->text, joined by one blank. */
static int tokens_of(struct terms *t, const char *text, size_t n, struct err *e)
{
	buf_clear(&t->text);
	if (pipeline_tokenize(t->engine->pipeline, SIDE_SOURCE, text, n, &t->text, e) ||
	    buf_check(&t->text, e))
		return e->code;
	while (t->text.len && t->text.data[t->text.len - 1] == ' ')
		buf_truncate(&t->text, t->text.len - 1);
	return 0;
}

/* Hyphens and apostrophes, which stand inside of words. */
static bool is_inside_word(uint32_t c)
{
	return c == '-' || c == '\'' || c == 0x2010 || c == 0x2011 || c == 0x2019;
}

/*
 * Does the character at text separate words? In text that is not tokenised, punctuation does too. *n: its
 * bytes, 1 at the end of the text.
 */
static bool is_border(const struct terms *t, const char *text, size_t *n)
{
	uint32_t c;

	*n = 1;
	if (*text == ' ' || *text == '\0')
		return true;
	*n = utf8_decode(text, strnlen(text, 4), &c);
	return !text_is_tokenized(t->engine->conf, SIDE_SOURCE) && !is_inside_word(c) &&
	       (c < 0x80 ? ispunct((int)c) != 0 : icu_is_punctuation(c));
}

/* Bytes of the word at text. */
static size_t word_length(const struct terms *t, const char *text)
{
	size_t length = 0, n;

	while (!is_border(t, text + length, &n))
		length += n;
	return length;
}

int terms_add(struct terms *t, const char *source, size_t n_source, const char *target,
	      size_t n_target, struct err *e)
{
	struct term *x;
	int32_t words = 1;
	size_t n;

	if (tokens_of(t, source, n_source, e))
		return e->code;
	if (t->text.len == 0)
		return err_set(e, ERR_DATA, "the source of the term for \"%.*s\" has no words",
			       (int)n_target, target);
	if (mem_grow(&t->all, &t->cap, t->n + 1, sizeof(*t->all), e))
		return e->code;
	x = &t->all[t->n];
	*x = (struct term){ .source = mem_strdup(buf_text(&t->text), e) };
	if (!x->source)
		return e->code;
	if (encode_target_phrase(t->engine, target, n_target, &x->target, e)) {
		free(x->source);
		return e->code;
	}
	t->n++;
	for (const char *at = x->source; *at; at += n)
		words += is_border(t, at, &n);
	t->longest = MAX(t->longest, words);
	return 0;
}

int terms_read(struct terms *t, const char *path, struct err *e)
{
	struct lines in;
	int got;

	if (lines_open(&in, path, e))
		return e->code;
	in.drops_mark = true;
	while ((got = lines_next(&in, e)) > 0) {
		const char *tab = memchr(in.text, '\t', in.len);
		const size_t n = tab ? (size_t)(tab - in.text) : 0;
		struct err why = { 0 };

		if (in.len == 0)
			continue;
		if (!tab)
			got = err_set(&why, ERR_DATA, "no tab: a term is \"source TAB target\"");
		else
			got = terms_add(t, in.text, n, tab + 1, in.len - n - 1, &why);
		if (got) {
			err_set(e, why.code, "%s:%lld: %s", path, (long long)in.number, why.text);
			break;
		}
	}
	lines_close(&in);
	return got ? e->code : 0;
}

static int by_source(const void *a, const void *b)
{
	return strcmp(((const struct term *)a)->source, ((const struct term *)b)->source);
}

static bool same_target(const struct term *a, const struct term *b)
{
	return a->target.n == b->target.n &&
	       !memcmp(a->target.tokens, b->target.tokens,
		       (size_t)a->target.n * sizeof(*a->target.tokens));
}

int terms_finish(struct terms *t, const struct banned_phrases *f, struct err *e)
{
	if (t->n)
		qsort(t->all, t->n, sizeof(*t->all), by_source);
	for (size_t i = 0; i < t->n; i++) {
		const struct term *x = &t->all[i];

		if (i > 0 && !by_source(x - 1, x) && !same_target(x - 1, x))
			return err_set(e, ERR_DATA,
				       "the term \"%s\" has two translations: remove one",
				       x->source);
		if (f && banned_phrases_contain(f, t->engine->words[SIDE_TARGET].joins_next,
						x->target.tokens, x->target.n))
			return err_set(e, ERR_DATA,
				       "the translation of the term \"%s\" contains a forbidden "
				       "phrase",
				       x->source);
	}
	return 0;
}

/* The term whose source is the n bytes at text; own terms before those of t->more. NULL: none. */
static const struct term *find_term(const struct terms *t, const char *text, size_t n)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const char *source = t->all[middle].source;
		int order = strncmp(source, text, n);

		if (order == 0 && source[n])
			order = 1;
		if (order == 0)
			return &t->all[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return t->more ? find_term(t->more, text, n) : NULL;
}

/* The longest term at the start of text; *n: the bytes of its source. NULL: none. */
static const struct term *longest_at(const struct terms *t, const char *text, size_t *n)
{
	const struct term *best = NULL;
	size_t at = 0, border;

	for (int32_t words = 0; words < t->longest; words++) {
		const struct term *x;

		at += word_length(t, text + at);
		x = find_term(t, text, at);
		if (x) {
			best = x;
			*n = at;
		}
		if (!text[at])
			break;
		is_border(t, text + at, &border);
		at += border;
	}
	return best;
}

/* t->text with its first character in lower case; NULL if that changes nothing. */
static const char *small_beginning(struct terms *t)
{
	uint32_t c;
	const size_t n = utf8_decode(t->text.data, t->text.len, &c);

	buf_clear(&t->lower);
	unicode_lower(&t->lower, t->text.data, n);
	if (t->lower.len != n || !memcmp(t->lower.data, t->text.data, n))
		return NULL;
	buf_add(&t->lower, t->text.data + n, t->text.len - n);
	return t->lower.failed ? NULL : t->lower.data;
}

int terms_find(struct terms *t, const char *line, size_t n, struct phrases *p, int32_t *left,
	       struct err *e)
{
	const char *at, *small;

	*left = 0;
	if (!t || t->longest == 0 || n == 0)
		return 0;
	if (tokens_of(t, line, n, e))
		return e->code;
	if (t->text.len == 0)
		return 0;
	small = small_beginning(t);
	for (at = t->text.data; *at;) {
		size_t length = 0, border;
		const struct term *x = longest_at(t, at, &length);

		if (!x && small && at == t->text.data)
			x = longest_at(t, small, &length);
		if (x && p->n < DECODE_MAX_PHRASES)
			p->all[p->n++] = x->target;
		else if (x)
			++*left;
		assert(!x || length > 0);
		at += x ? length : word_length(t, at);
		is_border(t, at, &border);
		at += *at ? border : 0;
	}
	return 0;
}
