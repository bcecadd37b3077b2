/* bpe_learn.c - see bpe.h */
#include "data/bpe.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/bpe_line.h"
#include "data/bpe_pairs.h"
#include "data/intern.h"
#include "share/base/mem.h"
#include "share/base/text.h"

/* ---- counting words ---- */

struct bpe_learner {
	struct intern words;
	int64_t *counts;	/* owned: (words.n) */
	size_t cap;
};

struct bpe_learner *bpe_learner_new(struct err *e)
{
	return mem_alloc(1, sizeof(struct bpe_learner), e);
}

static int count_word(struct bpe_learner *l, const char *word, size_t n, int64_t count,
		      struct err *e)
{
	int32_t known = l->words.n, i;

	if (mem_grow(&l->counts, &l->cap, (size_t)known + 1, sizeof(*l->counts), e) ||
	    intern_add(&l->words, word, n, &i, e))
		return e->code;
	if (i == known)
		l->counts[i] = 0;
	l->counts[i] += count;
	return 0;
}

int bpe_learner_add_word(struct bpe_learner *l, const char *line, size_t n, int64_t count,
			 struct err *e)
{
	for (size_t len; n; line += len, n -= len) {
		size_t end = len = bpe_line_length(line, n);

		while (end && bpe_is_margin(line[end - 1]))
			end--;
		for (size_t i = 0; i < end;) {
			const char *blank = memchr(line + i, ' ', end - i);
			size_t next = blank ? (size_t)(blank - line) : end;

			if (next > i && count_word(l, line + i, next - i, count, e))
				return e->code;
			i = next + 1;
		}
	}
	return 0;
}

int bpe_learner_add_line(struct bpe_learner *l, const char *line, size_t n, struct err *e)
{
	return bpe_learner_add_word(l, line, n, 1, e);
}

void bpe_learner_free(struct bpe_learner *l)
{
	if (!l)
		return;
	intern_free(&l->words);
	free(l->counts);
	free(l);
}

/* ---- words as symbols ---- */

struct word {
	size_t   start;		/* in symbols */
	uint32_t n;
	bool     has_space;	/* holds a character that Python calls white space */
	int64_t  count;
};

struct learning {
	struct intern symbols;		/* by their string, however they were built */
	struct word *words;		/* owned: (n_words) */
	size_t   n_words, longest;
	int32_t *symbol;		/* owned: of all words, one behind the other */
	int32_t *old;			/* owned: (longest) */
	int32_t *tally;			/* owned: (n_words), zero between merges */
	uint32_t *changed;		/* owned */
	size_t   cap_changed;
	struct buf scratch;
	struct bpe_pairs pairs;
};

static void learning_free(struct learning *g)
{
	intern_free(&g->symbols);
	free(g->words);
	free(g->symbol);
	free(g->old);
	free(g->tally);
	free(g->changed);
	buf_free(&g->scratch);
	bpe_pairs_free(&g->pairs);
}

/* str.isspace() of Python, the blank included. */
static bool is_space(uint32_t c)
{
	return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
	       c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
	       c == 0x202F || c == 0x205F || c == 0x3000;
}

static bool is_space_at(const char *text, size_t n)
{
	uint32_t c = 0;

	if (!n || !utf8_valid(text, bpe_char_length(text, n)))
		return false;
	utf8_decode(text, n, &c);
	return is_space(c);
}

/* Cut a word into characters, the last one with "</w>". */
static int spell(struct learning *g, struct word *w, const char *text, size_t n, struct err *e)
{
	for (size_t i = 0, len; i < n; i += len) {
		len = bpe_char_length(text + i, n - i);
		buf_clear(&g->scratch);
		buf_add(&g->scratch, text + i, len);
		if (i + len == n)
			buf_add_str(&g->scratch, BPE_WORD_END);
		if (buf_check(&g->scratch, e) ||
		    intern_add(&g->symbols, g->scratch.data, g->scratch.len,
			       &g->symbol[w->start + w->n], e))
			return e->code;
		w->n++;
		w->has_space = w->has_space || is_space_at(text + i, len);
	}
	return 0;
}

static int spell_all(struct learning *g, const struct bpe_learner *l, struct err *e)
{
	size_t total = 0;

	g->n_words = (size_t)l->words.n;
	g->words = mem_alloc(g->n_words, sizeof(*g->words), e);
	g->tally = mem_alloc(g->n_words, sizeof(*g->tally), e);
	/* A character is at least a byte. */
	g->symbol = mem_alloc(l->words.n_bytes, sizeof(*g->symbol), e);
	if (!g->words || !g->tally || !g->symbol)
		return e->code;
	for (size_t j = 0; j < g->n_words; j++) {
		struct word *w = &g->words[j];
		size_t n;
		const char *text = intern_text(&l->words, (int32_t)j, &n);

		w->start = total;
		w->count = l->counts[j];
		if (spell(g, w, text, n, e))
			return e->code;
		total += w->n;
		g->longest = MAX(g->longest, w->n);
	}
	g->old = mem_alloc(g->longest, sizeof(*g->old), e);
	return g->old ? 0 : e->code;
}

static int count_pairs(struct learning *g, struct err *e)
{
	g->pairs.symbols = &g->symbols;
	for (size_t j = 0; j < g->n_words; j++) {
		const struct word *w = &g->words[j];
		const int32_t *s = g->symbol + w->start;

		for (uint32_t i = 0; i + 1 < w->n; i++)
			if (bpe_pairs_add(&g->pairs, s[i], s[i + 1], w->count, (uint32_t)j, e))
				return e->code;
	}
	if (!g->pairs.n)
		return err_set(e, ERR_DATA, "the text holds no word of two or more characters, "
			       "so there are no merges to learn");
	return bpe_pairs_start(&g->pairs, e);
}

/* ---- merging ---- */

struct merge {
	int32_t left, right, merged;	/* symbols */
};

static int join(struct learning *g, int32_t left, int32_t right, int32_t *joined, struct err *e)
{
	const char *text;
	size_t n;

	buf_clear(&g->scratch);
	text = intern_text(&g->symbols, left, &n);
	buf_add(&g->scratch, text, n);
	text = intern_text(&g->symbols, right, &n);
	buf_add(&g->scratch, text, n);
	return buf_check(&g->scratch, e) ? e->code :
	       intern_add(&g->symbols, g->scratch.data, g->scratch.len, joined, e);
}

/*
 * Rewrite the word at s (old: a copy of its n symbols), left to right; how many symbols it has now.
 */
static uint32_t replace(const struct merge *m, const int32_t *old, uint32_t n, int32_t *s)
{
	uint32_t out = 0;

	for (uint32_t i = 0; i < n; out++) {
		bool here = i + 1 < n && old[i] == m->left && old[i + 1] == m->right;

		s[out] = here ? m->merged : old[i];
		i += here ? 2 : 1;
	}
	return out;
}

/*
 * Does symbol k end in the string of m->left, from its start or after white space, from byte from
 * on?
 */
static bool ends_in_left(const struct learning *g, const struct merge *m, int32_t k, size_t from)
{
	size_t n, n_left, start, before;
	const char *text = intern_text(&g->symbols, k, &n);
	const char *left = intern_text(&g->symbols, m->left, &n_left);

	if (n < n_left || n - n_left < from || memcmp(text + n - n_left, left, n_left))
		return false;
	start = before = n - n_left;
	while (before && ((unsigned char)text[--before] & 0xC0) == 0x80)
		;
	return start == 0 || is_space_at(text + before, start - before);
}

static bool begins_with_right(const struct learning *g, const struct merge *m, int32_t k)
{
	size_t n, n_right;
	const char *text = intern_text(&g->symbols, k, &n);
	const char *right = intern_text(&g->symbols, m->right, &n_right);

	return n >= n_right && !memcmp(text, right, n_right) &&
	       (n == n_right || is_space_at(text + n_right, n - n_right));
}

/*
 * The same for words with white space such as U+00A0 in them. subword-nmt
 * replaces in the symbols joined by blanks, with white space as the edge of a
 * symbol; so there the pair may also be found inside symbols.
 */
static int replace_in_text(struct learning *g, const struct merge *m, uint32_t n, int32_t *s,
			   uint32_t *n_new, struct err *e)
{
	const int32_t *old = g->old;
	size_t n_right, from = 0;	/* where in old[i] the next match may begin */
	uint32_t out = 0;

	intern_text(&g->symbols, m->right, &n_right);
	s[0] = old[0];
	for (uint32_t i = 0; i + 1 < n; i++) {
		if (ends_in_left(g, m, old[i], from) && begins_with_right(g, m, old[i + 1])) {
			if (join(g, s[out], old[i + 1], &s[out], e))
				return e->code;
			from = n_right;
		} else {
			s[++out] = old[i + 1];
			from = 0;
		}
	}
	*n_new = out + 1;
	return 0;
}

/* Take back the pairs that overlapped with an occurrence of the merged pair in the old word. */
static int uncount(struct learning *g, const struct merge *m, uint32_t j, uint32_t n, struct err *e)
{
	const int32_t *old = g->old;
	int64_t times = -g->words[j].count;

	for (uint32_t i = 0; i + 1 < n; i++) {
		if (old[i] != m->left || old[i + 1] != m->right)
			continue;
		if (i && bpe_pairs_add(&g->pairs, old[i - 1], old[i], times, j, e))
			return e->code;
		/* In A B C B C the pair C B is taken back by the next occurrence. */
		if (i + 2 < n && (old[i + 2] != m->left || i + 3 >= n || old[i + 3] != m->right) &&
		    bpe_pairs_add(&g->pairs, old[i + 1], old[i + 2], times, j, e))
			return e->code;
		i++;
	}
	return 0;
}

/* Count the pairs with the merged symbol in the new word, also (as subword-nmt) those of before. */
static int recount(struct learning *g, const struct merge *m, uint32_t j, struct err *e)
{
	const struct word *w = &g->words[j];
	const int32_t *s = g->symbol + w->start;

	for (uint32_t i = 0; i < w->n; i++) {
		if (s[i] != m->merged)
			continue;
		if (i && bpe_pairs_add(&g->pairs, s[i - 1], s[i], w->count, j, e))
			return e->code;
		if (i + 1 < w->n && s[i + 1] != m->merged &&
		    bpe_pairs_add(&g->pairs, s[i], s[i + 1], w->count, j, e))
			return e->code;
	}
	return 0;
}

/* The words in which the pair is counted at least once, into g->changed. */
static int find_changed(struct learning *g, const struct bpe_pair *q, size_t *n_changed,
			struct err *e)
{
	size_t n = 0;

	if (mem_grow(&g->changed, &g->cap_changed, q->n_places, sizeof(*g->changed), e))
		return e->code;
	for (uint32_t i = 0; i < q->n_places; i++)
		g->tally[q->places[i] >> 1] += q->places[i] & 1 ? -1 : 1;
	for (uint32_t i = 0; i < q->n_places; i++) {
		uint32_t j = q->places[i] >> 1;

		if (g->tally[j] > 0)
			g->changed[n++] = j;
		g->tally[j] = 0;
	}
	*n_changed = n;
	return 0;
}

static int merge_pair(struct learning *g, uint32_t pair, struct err *e)
{
	struct merge m = { .left = g->pairs.all[pair].left, .right = g->pairs.all[pair].right };
	size_t n_changed = 0;

	if (join(g, m.left, m.right, &m.merged, e) ||
	    find_changed(g, &g->pairs.all[pair], &n_changed, e))
		return e->code;
	g->pairs.all[pair].n_places = 0;
	for (size_t k = 0; k < n_changed; k++) {
		uint32_t j = g->changed[k], n = g->words[j].n;
		struct word *w = &g->words[j];
		int32_t *s = g->symbol + w->start;

		memcpy(g->old, s, n * sizeof(*s));
		if (!w->has_space)
			w->n = replace(&m, g->old, n, s);
		else if (replace_in_text(g, &m, n, s, &w->n, e))
			return e->code;
		if (uncount(g, &m, j, n, e) || recount(g, &m, j, e))
			return e->code;
	}
	g->pairs.all[pair].count = 0;
	return bpe_pairs_settle(&g->pairs, e);
}

static void write_merge(const struct learning *g, uint32_t pair, FILE *out)
{
	size_t n_left, n_right;
	const char *left = intern_text(&g->symbols, g->pairs.all[pair].left, &n_left);
	const char *right = intern_text(&g->symbols, g->pairs.all[pair].right, &n_right);

	fwrite(left, 1, n_left, out);
	fputc(' ', out);
	fwrite(right, 1, n_right, out);
	fputc('\n', out);
}

static int learn(struct learning *g, int64_t merges, int64_t min_frequency, FILE *out,
		 int64_t *learned, struct err *e)
{
	for (int64_t i = 0; i < merges; i++) {
		uint32_t pair;

		if (!bpe_pairs_best(&g->pairs, &pair)) {
			if (bpe_pairs_restart(&g->pairs, i, e))
				return e->code;
			if (!bpe_pairs_best(&g->pairs, &pair))
				break;
		}
		if (g->pairs.all[pair].count < min_frequency)
			break;
		write_merge(g, pair, out);
		++*learned;
		if (merge_pair(g, pair, e))
			return e->code;
		if (i % 100 == 0)
			bpe_pairs_prune(&g->pairs);
	}
	return 0;
}

int bpe_learn(struct bpe_learner *l, int64_t merges, int64_t min_frequency, FILE *out,
	      int64_t *learned, struct err *e)
{
	struct learning g = { 0 };
	int rc;

	*learned = 0;
	if (!(rc = spell_all(&g, l, e)) && !(rc = count_pairs(&g, e))) {
		fputs("#version: 0.2\n", out);
		rc = learn(&g, merges, MAX(min_frequency, 1), out, learned, e);
	}
	if (!rc && (fflush(out) || ferror(out)))
		rc = err_set_errno(e, ERR_IO, "cannot write the BPE codes");
	learning_free(&g);
	return rc;
}
