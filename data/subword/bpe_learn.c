/*
 * bpe_learn.c - learns merges as subword-nmt does, by bpe_merger.h: see bpe.h
 *
 * Algorithm 1 of Sennrich et al. 2016. Each distinct word is the sequence of its characters, the
 * last one with "</w>", and has the count of the word. Then, `merges` times: find the most frequent
 * pair of neighbouring symbols, write it down, and join it in all words. Learning ends earlier if the
 * best pair is rarer than min_frequency.
 *
 *	l o w</w> 5, l o w e r</w> 2	(l o) 7, (o w</w>) 5, ... -> merge "l o": lo w</w>, lo w e r</w>
 *
 * Ties decide the codes, so they are subword-nmt's: of equally frequent pairs Python's max() takes
 * the largest tuple of strings, and UTF-8 bytes sort like code points.
 */
#include "data/subword/bpe.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/subword/bpe_line.h"
#include "data/subword/bpe_merger.h"
#include "share/base/mem.h"

/* ---- words as symbols ---- */

#define SHORT_CHARS 0x800 /* code points of one or two bytes, whose symbols are cached */

struct spelling {
	struct bpe_merger merger;
	int32_t known[2][SHORT_CHARS]; /* symbol + 1, within a word and at its end; 0: not seen */
	int32_t *symbols;	       /* owned: of the current word */
	size_t cap;
	struct buf scratch;
};

/* The symbol of one character; the last one of a word includes "</w>". */
static int spell_char(struct spelling *g, const char *text, size_t n, bool is_last, int32_t *symbol,
		      struct err *e)
{
	const unsigned char *t = (const unsigned char *)text;
	uint32_t code = n == 1 ? t[0] : n == 2 ? (t[0] & 0x1Fu) << 6 | (t[1] & 0x3Fu) : SHORT_CHARS;
	int32_t *known = code < (n == 1 ? 0x80 : SHORT_CHARS) && (n == 1 || t[0] >= 0xC2)
				 ? &g->known[is_last][code]
				 : NULL;

	if (known && *known) {
		*symbol = *known - 1;
		return 0;
	}
	buf_clear(&g->scratch);
	buf_add(&g->scratch, text, n);
	if (is_last)
		buf_add_str(&g->scratch, BPE_WORD_END);
	if (buf_check(&g->scratch, e) ||
	    bpe_merger_symbol(&g->merger, g->scratch.data, g->scratch.len, symbol, e))
		return e->code;
	if (known)
		*known = *symbol + 1;
	return 0;
}

static int bpe_add_spelled_word(void *context, const char *text, size_t n, int64_t count,
				struct err *e)
{
	struct spelling *g = context;
	size_t n_symbols = 0;
	unsigned flags = 0;

	if (mem_grow(&g->symbols, &g->cap, n, sizeof(*g->symbols), e))
		return e->code;
	for (size_t i = 0, len; i < n; i += len) {
		len = bpe_char_length(text + i, n - i);
		if (spell_char(g, text + i, len, i + len == n, &g->symbols[n_symbols++], e))
			return e->code;
		if (bpe_is_space(text + i, len))
			flags = BPE_WORD_HAS_SPACE;
	}
	return bpe_merger_add_word(&g->merger, g->symbols, n_symbols, count, flags, e);
}

static int spell_all(struct spelling *g, struct word_counter *words, struct err *e)
{
	if (word_counter_drain(words, bpe_add_spelled_word, g, e))
		return e->code;
	if (bpe_merger_start(&g->merger, e))
		return e->code;
	if (!g->merger.pairs.n)
		return err_set(e, ERR_DATA,
			       "cannot learn merges: the text has no word of two or more "
			       "characters");
	return 0;
}

/* ---- merges ---- */

static int compare_symbols(const struct intern *t, int32_t a, int32_t b)
{
	size_t na, nb;
	const char *ta = intern_text(t, a, &na), *tb = intern_text(t, b, &nb);
	int d = a == b ? 0 : memcmp(ta, tb, MIN(na, nb)); /* UTF-8 sorts like its code points */

	return d ? d : (na > nb) - (na < nb);
}

/* Among equally frequent pairs the largest comes first, as Python compares tuples of strings. */
static bool bpe_pair_is_before(const struct bpe_merger *m, const struct bpe_pair *a,
			       const struct bpe_pair *b)
{
	int d = compare_symbols(&m->symbols, a->left, b->left);

	return d ? d > 0 : compare_symbols(&m->symbols, a->right, b->right) > 0;
}

static const struct bpe_dialect subword_nmt = { bpe_pair_is_before, NULL, true };

static void write_merge(const struct bpe_merger *m, uint32_t pair, FILE *out)
{
	size_t n_left, n_right;
	const char *left = intern_text(&m->symbols, m->pairs.all[pair].left, &n_left);
	const char *right = intern_text(&m->symbols, m->pairs.all[pair].right, &n_right);

	fwrite(left, 1, n_left, out);
	fputc(' ', out);
	fwrite(right, 1, n_right, out);
	fputc('\n', out);
}

static int bpe_learn_merges(struct bpe_merger *m, int64_t merges, int64_t min_frequency, FILE *out,
			    int64_t *learned, struct err *e)
{
	for (int64_t i = 0; i < merges; i++) {
		int32_t merged;
		uint32_t pair;
		int got = bpe_merger_best(m, &pair, e);

		if (got <= 0)
			return got;
		if (m->pairs.all[pair].count < min_frequency)
			break;
		write_merge(m, pair, out);
		++*learned;
		if (bpe_merger_merge(m, pair, &merged, e))
			return e->code;
	}
	return 0;
}

int bpe_learn(struct word_counter *words, int64_t merges, int64_t min_frequency, FILE *out,
	      int64_t *learned, struct err *e)
{
	struct spelling *g = mem_alloc(1, sizeof(*g), e);
	int rc = g ? 0 : e->code;

	*learned = 0;
	if (!rc) {
		g->merger.dialect = &subword_nmt;
		rc = spell_all(g, words, e);
	}
	if (!rc) {
		fputs("#version: 0.2\n", out);
		rc = bpe_learn_merges(&g->merger, merges, MAX(min_frequency, 1), out, learned, e);
	}
	if (!rc && (fflush(out) || ferror(out)))
		rc = err_set_errno(e, ERR_IO, "cannot write the BPE codes");
	if (g) {
		bpe_merger_free(&g->merger);
		free(g->symbols);
		buf_free(&g->scratch);
		free(g);
	}
	return rc;
}
