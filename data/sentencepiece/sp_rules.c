/* sp_rules.c - builds the rules nmt_nfkc from Unicode: see sp_rules.h */
#include "data/sentencepiece/sp_rules.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/sentencepiece/sp_charsmap.h"
#include "data/text/icu.h"
#include "data/words/intern.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define LAST_CHARACTER 0x10FFFF
#define MAX_CHARS      16     /* of a sequence whose spellings are listed */
#define MAX_SPELLINGS  100000 /* of one sequence */

struct rule {
	int32_t to;    /* number of its right side */
	int32_t chars; /* of its left side */
	bool is_gone;  /* removed */
};

struct variant { /* a character that decomposes to one other */
	uint32_t plain, character;
};

struct rules {
	struct icu_normalizer *unicode;
	struct intern from, to; /* left sides (number: of the rule), right sides */
	struct rule *all;	/* owned: (from.n) */
	size_t cap;
	struct intern decomposed; /* sequences of more than one character */
	struct variant *variants; /* owned; sorted by plain, then character */
	size_t n_variants, cap_variants;
	struct buf a, b;
	struct buf spelling;
};

/*
 * Additions of Unicode 16 and 17, which SentencePiece 0.2.3 knows and an older ICU does not.
 * First, runs of characters, each compatible to a run of plain ones; then sequences that compose.
 */
static const struct {
	uint32_t first, count, plain;
} later_variants[] = {
	{ 0xA7F1, 1, 'S' },
	{ 0x1CCD6, 26, 'A' },
	{ 0x1CCF0, 10, '0' },
};
static const uint32_t later_sequences[][4] = {
	/* 0 ends the sequence; the last: composed */
	{ 0x105D2, 0x307, 0, 0x105C9 },		{ 0x105DA, 0x307, 0, 0x105E4 },
	{ 0x11382, 0x113C9, 0, 0x11383 },	{ 0x11384, 0x113BB, 0, 0x11385 },
	{ 0x1138B, 0x113C2, 0, 0x1138E },	{ 0x11390, 0x113C9, 0, 0x11391 },
	{ 0x113C2, 0x113B8, 0, 0x113C7 },	{ 0x113C2, 0x113C2, 0, 0x113C5 },
	{ 0x113C2, 0x113C9, 0, 0x113C8 },	{ 0x1611E, 0x1611E, 0, 0x16121 },
	{ 0x1611E, 0x1611E, 0x1611F, 0x16126 }, { 0x1611E, 0x1611E, 0x16120, 0x16128 },
	{ 0x1611E, 0x1611F, 0, 0x16123 },	{ 0x1611E, 0x16120, 0, 0x16125 },
	{ 0x1611E, 0x16129, 0, 0x16122 },	{ 0x1611E, 0x16129, 0x1611F, 0x16127 },
	{ 0x16129, 0x1611F, 0, 0x16124 },	{ 0x16D63, 0x16D67, 0, 0x16D69 },
	{ 0x16D63, 0x16D67, 0x16D67, 0x16D6A }, { 0x16D67, 0x16D67, 0, 0x16D68 },
};

/* For translation: the characters first … last become a blank, or are deleted. */
static const struct {
	uint32_t first, last;
	const char *to;
} nmt_rules[] = {
	{ 0x01, 0x08, "" },	 { 0x09, 0x0A, " " },	  { 0x0B, 0x0B, "" },
	{ 0x0C, 0x0D, " " },	 { 0x0E, 0x1F, "" },	  { 0x7F, 0x7F, "" },
	{ 0x8F, 0x8F, "" },	 { 0x9F, 0x9F, "" },	  { 0x61C, 0x61C, " " },
	{ 0x1680, 0x1680, " " }, { 0x200B, 0x200C, " " }, { 0x200E, 0x200F, " " },
	{ 0x2028, 0x2029, " " }, { 0x2581, 0x2581, " " }, { 0xFEFF, 0xFEFF, " " },
	{ 0xFFFD, 0xFFFD, " " },
};
#define FULL_WIDTH_TILDE 0xFF5E

static int set_rule(struct rules *r, const char *from, size_t n, const char *to, size_t n_to,
		    struct err *e)
{
	int32_t i, text;

	if (intern_add(&r->from, from, n, &i, e) || intern_add(&r->to, to, n_to, &text, e) ||
	    mem_grow(&r->all, &r->cap, (size_t)i + 1, sizeof(*r->all), e))
		return e->code;
	r->all[i] = (struct rule){ .to = text, .chars = (int32_t)utf8_count(from, n) };
	return 0;
}

static int add_variant(struct rules *r, uint32_t plain, uint32_t character, struct err *e)
{
	if (mem_grow(&r->variants, &r->cap_variants, r->n_variants + 1, sizeof(*r->variants), e))
		return e->code;
	r->variants[r->n_variants++] = (struct variant){ plain, character };
	return 0;
}

static int compare_variants(const void *a, const void *b)
{
	const struct variant *x = a, *y = b;

	if (x->plain != y->plain)
		return x->plain > y->plain ? 1 : -1;
	return (x->character > y->character) - (x->character < y->character);
}

/* ---- from Unicode ---- */

static int add_character(struct rules *r, uint32_t c, struct err *e)
{
	char bytes[4];
	size_t n = utf8_encode(c, bytes);
	uint32_t first;
	int32_t ignored;

	if (!icu_decompose(r->unicode, c, &r->a))
		return buf_check(&r->a, e);
	if (buf_check(&r->a, e) || icu_compose(r->unicode, bytes, n, &r->b, e))
		return e->code;
	if ((r->b.len != n || memcmp(r->b.data, bytes, n)) &&
	    set_rule(r, bytes, n, buf_text(&r->b), r->b.len, e))
		return e->code;
	if (!r->a.len)
		return 0;
	if (utf8_decode(r->a.data, r->a.len, &first) == r->a.len)
		return add_variant(r, first, c, e);
	return intern_add(&r->decomposed, r->a.data, r->a.len, &ignored, e);
}

static int add_later_variants(struct rules *r, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(later_variants); i++)
		for (uint32_t k = 0; k < later_variants[i].count; k++) {
			char from[4], to[4];
			size_t n = utf8_encode(later_variants[i].first + k, from);
			uint32_t plain = later_variants[i].plain + k;

			if (intern_find(&r->from, from, n) >= 0)
				continue;
			if (set_rule(r, from, n, to, utf8_encode(plain, to), e) ||
			    add_variant(r, plain, later_variants[i].first + k, e))
				return e->code;
		}
	for (size_t i = 0; i < ARRAY_LEN(later_sequences); i++) {
		char from[12], to[4];
		size_t n = 0;

		for (int k = 0; k < 3 && later_sequences[i][k]; k++)
			n += utf8_encode(later_sequences[i][k], from + n);
		if (set_rule(r, from, n, to, utf8_encode(later_sequences[i][3], to), e))
			return e->code;
	}
	return 0;
}

static const struct variant *find_variants(const struct rules *r, uint32_t plain, size_t *n)
{
	size_t low = 0, high = r->n_variants;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (r->variants[middle].plain < plain)
			low = middle + 1;
		else
			high = middle;
	}
	for (*n = 0; low + *n < r->n_variants && r->variants[low + *n].plain == plain; ++*n)
		;
	return r->variants + low;
}

/* Add a rule from each spelling of the sequence to composed. turn[] counts like an odometer. */
static int add_spellings(struct rules *r, const char *text, size_t n, const struct buf *composed,
			 struct err *e)
{
	const struct variant *others[MAX_CHARS];
	size_t counts[MAX_CHARS], turn[MAX_CHARS] = { 0 }, spellings = 1, n_chars = 0, k;
	uint32_t plain[MAX_CHARS];

	for (size_t i = 0; i < n; n_chars++) {
		if (n_chars == MAX_CHARS)
			return 0;
		i += utf8_decode(text + i, n - i, &plain[n_chars]);
		others[n_chars] = find_variants(r, plain[n_chars], &counts[n_chars]);
		spellings *= counts[n_chars] + 1;
		if (spellings > MAX_SPELLINGS)
			return 0;
	}
	do {
		buf_clear(&r->spelling);
		for (k = 0; k < n_chars; k++) {
			char bytes[4];
			uint32_t c = turn[k] ? others[k][turn[k] - 1].character : plain[k];

			buf_add(&r->spelling, bytes, utf8_encode(c, bytes));
		}
		if (buf_check(&r->spelling, e))
			return e->code;
		if ((r->spelling.len != composed->len ||
		     memcmp(r->spelling.data, composed->data, composed->len)) &&
		    set_rule(r, r->spelling.data, r->spelling.len, composed->data, composed->len,
			     e))
			return e->code;
		for (k = 0; k < n_chars && ++turn[k] > counts[k]; k++)
			turn[k] = 0;
	} while (k < n_chars);
	return 0;
}

static int add_sequences(struct rules *r, struct err *e)
{
	if (r->n_variants)
		qsort(r->variants, r->n_variants, sizeof(*r->variants), compare_variants);
	for (int32_t i = 0; i < r->decomposed.n; i++) {
		size_t n;
		const char *text = intern_text(&r->decomposed, i, &n);

		if (icu_compose(r->unicode, text, n, &r->b, e))
			return e->code;
		if (r->b.len == n && !memcmp(r->b.data, text, n))
			continue;
		if (add_spellings(r, text, n, &r->b, e))
			return e->code;
	}
	return 0;
}

static int add_nmt(struct rules *r, struct err *e)
{
	char bytes[4];
	int32_t tilde;

	for (size_t i = 0; i < ARRAY_LEN(nmt_rules); i++)
		for (uint32_t c = nmt_rules[i].first; c <= nmt_rules[i].last; c++)
			if (set_rule(r, bytes, utf8_encode(c, bytes), nmt_rules[i].to,
				     strlen(nmt_rules[i].to), e))
				return e->code;
	tilde = intern_find(&r->from, bytes, utf8_encode(FULL_WIDTH_TILDE, bytes));
	if (tilde >= 0)
		r->all[tilde].is_gone = true;
	return 0;
}

/* ---- removing rules that shorter rules make needless ---- */

/* The longest matching rule of at most max characters; -1: none. *len: bytes that it replaces. */
static int32_t longest_rule(const struct rules *r, const char *text, size_t n, int max, size_t *len)
{
	int32_t best = -1;
	size_t end = 0;

	*len = 0;
	for (int k = 0; k < max && end < n; k++) {
		uint32_t c;
		int32_t found;

		end += utf8_decode(text + end, n - end, &c);
		found = intern_find(&r->from, text, end);
		if (!k)
			*len = end;
		if (found >= 0 && !r->all[found].is_gone) {
			best = found;
			*len = end;
		}
	}
	return best;
}

static bool is_needless(struct rules *r, int32_t rule)
{
	size_t n, n_to, len;
	const char *text = intern_text(&r->from, rule, &n), *to;

	buf_clear(&r->a);
	for (size_t i = 0; i < n; i += len) {
		int32_t used = longest_rule(r, text + i, n - i, r->all[rule].chars - 1, &len);

		if (used < 0) {
			buf_add(&r->a, text + i, len);
			continue;
		}
		to = intern_text(&r->to, r->all[used].to, &n_to);
		buf_add(&r->a, to, n_to);
	}
	to = intern_text(&r->to, r->all[rule].to, &n_to);
	return r->a.len == n_to && !memcmp(buf_text(&r->a), to, n_to);
}

static int remove_needless(struct rules *r, struct err *e)
{
	int32_t longest = 0;

	for (int32_t i = 0; i < r->from.n; i++)
		longest = MAX(longest, r->all[i].chars);
	for (int32_t chars = 2; chars <= longest; chars++)
		for (int32_t i = 0; i < r->from.n; i++)
			if (r->all[i].chars == chars)
				r->all[i].is_gone = is_needless(r, i);
	return buf_check(&r->a, e);
}

/* ---- all of it ---- */

static int write_rules(const struct rules *r, struct buf *out, struct err *e)
{
	struct charsmap_rule *list = mem_alloc((size_t)r->from.n, sizeof(*list), e);
	size_t n = 0;
	int rc;

	if (!list)
		return e->code;
	for (int32_t i = 0; i < r->from.n; i++) {
		if (r->all[i].is_gone)
			continue;
		list[n].from = intern_text(&r->from, i, &list[n].n);
		list[n].to = intern_text(&r->to, r->all[i].to, &list[n].n_to);
		n++;
	}
	rc = charsmap_build(list, n, out, e);
	free(list);
	return rc;
}

static int collect_rules(struct rules *r, struct err *e)
{
	for (uint32_t c = 1; c <= LAST_CHARACTER; c++) {
		bool is_surrogate = c >= 0xD800 && c <= 0xDFFF;
		bool is_character = (c & 0xFFFE) != 0xFFFE && (c < 0xFDD0 || c > 0xFDEF);

		if (!is_surrogate && is_character && add_character(r, c, e))
			return e->code;
	}
	if (add_later_variants(r, e) || add_sequences(r, e) || add_nmt(r, e))
		return e->code;
	return remove_needless(r, e);
}

int sp_rules_nmt_nfkc(struct buf *out, struct err *e)
{
	struct rules r = { .unicode = icu_normalizer_new(e) };
	int rc = r.unicode ? collect_rules(&r, e) : e->code;

	if (!rc)
		rc = write_rules(&r, out, e);
	icu_normalizer_free(r.unicode);
	intern_free(&r.from);
	intern_free(&r.to);
	intern_free(&r.decomposed);
	free(r.all);
	free(r.variants);
	buf_free(&r.a);
	buf_free(&r.b);
	buf_free(&r.spelling);
	return rc;
}
