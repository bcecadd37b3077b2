/*
 * sp_unigram.c - splits normalised text by a unigram model, exactly as SentencePiece: see sp_kind.h
 *
 * Viterbi from left to right: for each end, the best score of a split up to it. SentencePiece 0.2.3
 * rounds each sum to float, and keeps the first of equals. Ties are frequent (two pieces in either
 * order), so the order and the rounding are the same here.
 *
 * User-defined symbols get a score above 0 that grows with their length, so they nearly always win.
 */
#include "data/sentencepiece/sp_unigram.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/subword/bpe_line.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define UNKNOWN_PENALTY 10.0f
#define SYMBOL_BONUS	0.1  /* of each byte of a user-defined symbol but the first */
#define ROUNDING	4e-7 /* more than four times the relative error of a sum of floats */

/* ---- the table ---- */

static bool is_in_text(const struct sp_model *m, int32_t id)
{
	return m->entries[id].type == SP_NORMAL || m->entries[id].type == SP_USER_DEFINED;
}

static int build_trie(struct unigram_table *t, const struct sp_model *m, struct err *e)
{
	struct piece_key *keys = mem_alloc((size_t)m->pieces.n, sizeof(*keys), e);
	size_t n = 0, bytes;
	int rc;

	for (int32_t i = 0; keys && i < m->pieces.n; i++) {
		if (!is_in_text(m, i))
			continue;
		keys[n].text = intern_text(&m->pieces, i, &bytes);
		keys[n].n = (uint32_t)bytes;
		keys[n++].id = i;
	}
	if (keys && n)
		qsort(keys, n, sizeof(*keys), piece_key_compare);
	rc = keys ? piece_trie_build(&t->trie, keys, n, e) : e->code;
	free(keys);
	return rc;
}

static double symbol_score(size_t length)
{
	return (double)length * SYMBOL_BONUS - SYMBOL_BONUS;
}

int unigram_table_open(struct unigram_table *t, const struct sp_model *m, struct err *e)
{
	float least = FLT_MAX;
	double most = 0;

	*t = (struct unigram_table){ 0 };
	t->scores = mem_alloc((size_t)m->pieces.n, sizeof(*t->scores), e);
	t->lattice_scores = mem_alloc((size_t)m->pieces.n, sizeof(*t->scores), e);
	if (!t->scores || !t->lattice_scores || build_trie(t, m, e)) {
		unigram_table_free(t);
		return e->code;
	}
	for (int32_t i = 0; i < m->pieces.n; i++) {
		if (m->entries[i].type != SP_NORMAL)
			continue;
		t->scores[i] = t->lattice_scores[i] = m->entries[i].score;
		least = MIN(least, m->entries[i].score);
		most = MAX(most, fabs((double)m->entries[i].score));
	}
	t->unknown = least - UNKNOWN_PENALTY;
	t->reach = MAX(fabs((double)t->unknown), most) + SYMBOL_BONUS;
	for (int32_t i = 0; i < m->pieces.n; i++) {
		const char *text;
		size_t n;

		if (m->entries[i].type != SP_USER_DEFINED)
			continue;
		text = intern_text(&m->pieces, i, &n);
		t->scores[i] = symbol_score(n);
		t->lattice_scores[i] = symbol_score(utf8_count(text, n));
	}
	return 0;
}

void unigram_table_free(struct unigram_table *t)
{
	piece_trie_free(&t->trie);
	free(t->scores);
	free(t->lattice_scores);
	*t = (struct unigram_table){ 0 };
}

/* ---- the best split ---- */

struct best_end {
	double first, second; /* the two best scores, not rounded, from the text's start */
	double part;	      /* score of the last part */
	float score;	      /* as SentencePiece sums it */
	int32_t start, id;    /* the last part; start -1: no split ends here */
};

struct sp_unigram {
	struct unigram_table table;
	struct best_end *ends; /* owned: work space for one text */
	size_t cap_ends;
};

static void sp_unigram_close(void *state)
{
	struct sp_unigram *u = state;

	if (!u)
		return;
	unigram_table_free(&u->table);
	free(u->ends);
	free(u);
}

static void *sp_unigram_open(const struct sp_model *m, struct err *e)
{
	struct sp_unigram *u = mem_alloc(1, sizeof(*u), e);

	if (!u || !unigram_table_open(&u->table, m, e))
		return u;
	sp_unigram_close(u);
	return NULL;
}

/* A split ends at *end with this part. */
static inline void reach_end(struct best_end *end, const struct best_end *from, double part,
			     int32_t start, int32_t id)
{
	float sum = (float)((double)from->score + part);
	double first = from->first + part, second = from->second + part;

	if (first > end->first) {
		end->second = MAX(end->first, second);
		end->first = first;
	} else if (first > end->second) {
		end->second = first;
	}
	if (end->start >= 0 && !(sum > end->score))
		return;
	end->score = sum;
	end->start = start;
	end->part = part;
	end->id = id;
}

static void find_best_split(struct sp_unigram *u, const char *text, size_t n, float before)
{
	const struct unigram_table *t = &u->table;
	struct best_end *ends = u->ends;

	for (size_t i = 0; i <= n; i++)
		ends[i] = (struct best_end){ -INFINITY, -INFINITY, 0, 0, -1, -1 };
	ends[0].first = 0;
	ends[0].score = before;
	for (size_t i = 0, len; i < n; i += len) {
		const struct best_end *from = &ends[i];
		uint32_t node = PIECE_TRIE_ROOT;
		bool has_character = false;

		len = MIN(bpe_char_length(text + i, n - i), n - i);
		for (size_t k = i;
		     k < n && piece_trie_step(&t->trie, &node, (unsigned char)text[k]); k++) {
			const int32_t id = t->trie.units[node].id;

			if (id < 0)
				continue;
			has_character |= k + 1 - i == len;
			reach_end(&ends[k + 1], from, t->scores[id], (int32_t)i, id);
		}
		if (!has_character)
			reach_end(&ends[i + len], from, (double)t->unknown, (int32_t)i, -1);
	}
}

static int sp_unigram_split(void *state, const char *text, size_t n, struct sp_split *to,
			    struct err *e)
{
	struct sp_unigram *u = state;
	double margin, steps = ROUNDING * (double)n;

	assert(n);
	if (n >= INT32_MAX)
		return err_set(e, ERR_DATA, "a text of more than %d bytes", INT32_MAX);
	if (mem_grow(&u->ends, &u->cap_ends, n + 1, sizeof(*u->ends), e))
		return e->code;
	find_best_split(u, text, n, to->before);
	to->n = 0;
	for (int32_t end = (int32_t)n; end > 0; end = u->ends[end].start)
		if (sp_split_add(to,
				 &(struct sp_part){ (size_t)u->ends[end].start,
						    (size_t)(end - u->ends[end].start),
						    u->ends[end].id, u->ends[end].part },
				 e))
			return e->code;
	sp_split_reverse(to);
	margin = u->ends[n].first - u->ends[n].second;
	to->limit = (float)(margin / steps - u->table.reach * (double)n);
	return 0;
}

const struct unigram_table *sp_unigram_table(const void *state)
{
	return &((const struct sp_unigram *)state)->table;
}

const struct sp_kind sp_unigram_kind = { sp_unigram_open, sp_unigram_split, sp_unigram_close };
