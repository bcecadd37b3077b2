/*
 * unigram_seeds.c - finds the frequent substrings of a text: see unigram_seeds.h
 *
 * All suffixes of the text are grouped by their first character, each group by the second one, and so on:
 * a walk over the suffix tree to a depth of 16 characters. A group is a substring, its frequency is the
 * sum of the counts of its suffixes.
 */
#include "data/sentencepiece/unigram_seeds.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/subword/bpe_line.h"
#include "data/text/icu.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define MAX_SUFFIXES ((size_t)32 << 20)
#define SPACE	     0x2581
#define ANY_SCRIPT   (-1)
#define FEW	     48 /* records that are sorted by insertion */

struct suffix {
	uint32_t next; /* its character after the substring; 0: the text ends */
	uint32_t start, fragment;
};

struct seed_search {
	const struct unigram_text *text;
	struct suffix *suffixes, *scratch; /* owned */
	size_t n;
	struct unigram_seed *seeds; /* owned */
	size_t n_seeds, cap_seeds, at_most;
};

/* A substring: the first n bytes, chars characters, of a group of suffixes. */
struct group {
	size_t first, end; /* its suffixes */
	uint32_t n;
	int chars;
	int script; /* of its last character that has one */
};

/* ---- the best seeds ---- */

static int compare_seeds(const void *a, const void *b)
{
	const struct unigram_seed *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->n > y->n) - (x->n < y->n);
}

static void keep_best_seeds(struct seed_search *s)
{
	if (s->n_seeds <= s->at_most)
		return;
	qsort(s->seeds, s->n_seeds, sizeof(*s->seeds), compare_seeds);
	s->n_seeds = s->at_most;
}

static int add_seed(struct seed_search *s, const struct group *g, int64_t frequency, struct err *e)
{
	if (g->chars < 2 || frequency < 2)
		return 0;
	if (s->n_seeds >= 2 * s->at_most)
		keep_best_seeds(s);
	if (mem_grow(&s->seeds, &s->cap_seeds, s->n_seeds + 1, sizeof(*s->seeds), e))
		return e->code;
	s->seeds[s->n_seeds++] =
		(struct unigram_seed){ frequency * g->chars, s->suffixes[g->first].start, g->n };
	return 0;
}

/* ---- sorting ---- */

/* Sort a group by the next character, without changing the order of equals. */
static void sort_suffixes(struct suffix *r, struct suffix *scratch, size_t n)
{
	for (int shift = 0; n > FEW && shift < 24; shift += 8) {
		size_t at[257] = { 0 };

		for (size_t i = 0; i < n; i++)
			at[1 + (r[i].next >> shift & 0xFF)]++;
		if (at[1 + (r[0].next >> shift & 0xFF)] == n)
			continue;
		for (int b = 1; b < 257; b++)
			at[b] += at[b - 1];
		for (size_t i = 0; i < n; i++)
			scratch[at[r[i].next >> shift & 0xFF]++] = r[i];
		memcpy(r, scratch, n * sizeof(*r));
	}
	for (size_t i = 1; n <= FEW && i < n; i++) {
		struct suffix moving = r[i];
		size_t k = i;

		for (; k && r[k - 1].next > moving.next; k--)
			r[k] = r[k - 1];
		r[k] = moving;
	}
}

/* ---- the walk ---- */

/* May a piece go on with character c? *script: updated as SentencePiece compares scripts. */
static bool may_extend(const struct group *g, uint32_t c, int *script)
{
	const int before = g->script; /* script may point to it */
	int own;

	*script = before;
	if (c == SPACE)
		return !g->chars;
	own = icu_piece_script(c);
	if (own < 0)
		return true;
	*script = own;
	return before == ANY_SCRIPT || before == own;
}

static int64_t group_frequency(const struct seed_search *s, const struct group *g)
{
	int64_t sum = 0;

	for (size_t i = g->first; i < g->end; i++)
		sum += s->text->fragments[s->suffixes[i].fragment].count;
	return sum;
}

static void read_next(const struct seed_search *s, const struct group *g)
{
	for (size_t i = g->first; i < g->end; i++) {
		struct suffix *x = &s->suffixes[i];
		const char *at = s->text->bytes + x->start + g->n;

		x->next = 0;
		if (*at)
			utf8_decode(at, bpe_char_length(at, 4), &x->next);
	}
}

/* A suffix that shares its substring with no other one: only the whole rest of the text is a seed. */
static int add_lone_suffix(struct seed_search *s, struct group g, struct err *e)
{
	const struct suffix *x = &s->suffixes[g.first];
	const char *at = s->text->bytes + x->start + g.n;
	int64_t count = s->text->fragments[x->fragment].count;

	if (count < 2)
		return 0;
	while (*at) {
		uint32_t c;
		size_t n = utf8_decode(at, bpe_char_length(at, 4), &c);

		if (g.chars == UNIGRAM_MAX_PIECE || !may_extend(&g, c, &g.script))
			return 0;
		g.chars++;
		g.n += (uint32_t)n;
		at += n;
	}
	return add_seed(s, &g, count, e);
}

static int walk_group(struct seed_search *s, const struct group *g, struct err *e)
{
	struct suffix *all = s->suffixes;
	bool is_last;

	if (g->end - g->first == 1)
		return add_lone_suffix(s, *g, e);
	read_next(s, g);
	sort_suffixes(all + g->first, s->scratch, g->end - g->first);
	is_last = all[g->first].next == 0 || all[g->first].next != all[g->end - 1].next;
	if (is_last && add_seed(s, g, group_frequency(s, g), e))
		return e->code;
	if (g->chars == UNIGRAM_MAX_PIECE)
		return 0;
	for (size_t i = g->first, end; i < g->end; i = end) {
		uint32_t c = all[i].next;
		char bytes[4];
		struct group child = { .first = i, .chars = g->chars + 1 };

		for (end = i; end < g->end && all[end].next == c; end++)
			;
		child.end = end;
		if (!c || !may_extend(g, c, &child.script))
			continue;
		child.n = g->n + (uint32_t)utf8_encode(c, bytes);
		if (walk_group(s, &child, e))
			return e->code;
	}
	return 0;
}

/* One suffix at each character; of a very long text, those of every step-th fragment. */
static int list_suffixes(struct seed_search *s, struct err *e)
{
	const struct unigram_text *t = s->text;
	size_t chars = utf8_count(t->bytes, t->n_bytes), step = chars / MAX_SUFFIXES + 1;
	size_t most = MIN(chars, 2 * MAX_SUFFIXES);

	s->suffixes = mem_alloc(most, sizeof(*s->suffixes), e);
	s->scratch = s->suffixes ? mem_alloc(most, sizeof(*s->scratch), e) : NULL;
	if (!s->scratch)
		return e->code;
	for (size_t f = 0; f < t->n; f += step) {
		const struct unigram_fragment *x = &t->fragments[f];
		const char *text = t->bytes + x->start;

		for (size_t i = 0; i < x->n && s->n < most;
		     i += bpe_char_length(text + i, x->n - i))
			s->suffixes[s->n++] =
				(struct suffix){ 0, x->start + (uint32_t)i, (uint32_t)f };
	}
	return 0;
}

int unigram_find_seeds(const struct unigram_text *t, size_t at_most, struct unigram_seed **seeds,
		       size_t *n, struct err *e)
{
	struct seed_search s = { .text = t, .at_most = at_most };
	int rc = list_suffixes(&s, e);

	assert(t->n_bytes <= UINT32_MAX);
	if (!rc && s.n)
		rc = walk_group(&s, &(struct group){ .end = s.n, .script = ANY_SCRIPT }, e);
	keep_best_seeds(&s);
	free(s.suffixes);
	free(s.scratch);
	if (rc) {
		free(s.seeds);
		return rc;
	}
	*seeds = s.seeds;
	*n = s.n_seeds;
	return 0;
}
