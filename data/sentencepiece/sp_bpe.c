/*
 * sp_bpe.c - splits normalised text by a SentencePiece BPE model: see sp_kind.h
 *
 * The characters of the text form a linked list. Two neighbours may merge if their joined string is a
 * piece. The merge with the best score comes first, among equals the leftmost one; a heap holds all
 * merges that are possible now. A merge that was pushed before one of its symbols grew has another
 * length than both have now: it is stale and is skipped. So a text of n characters costs O(n log n).
 */
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "data/sentencepiece/sp_kind.h"
#include "data/subword/bpe_line.h"
#include "data/words/intern.h"
#include "share/base/mem.h"

/* A symbol of the current text. */
struct node {
	size_t start;
	size_t len;		/* 0: merged into its left neighbour */
	int32_t previous, next; /* nodes, -1: none */
	bool is_fixed;		/* a user-defined symbol: never merged */
};

struct merge {	       /* a possible merge of two neighbours */
	uint32_t rank; /* of the piece's score, 0: the best */
	int32_t left, right;
	size_t len; /* bytes of both when the merge was pushed; if it differs, the merge is stale */
};

struct sp_bpe {
	const struct sp_model *model; /* borrowed */
	uint32_t *ranks;	      /* owned: (pieces) */
	struct node *nodes;	      /* owned: work space for one text */
	size_t cap_nodes;
	struct merge *heap; /* owned: best first */
	size_t n_heap, cap_heap;
};

/* ---- opening ---- */

struct scored {
	float score;
	int32_t id;
};

static int compare_scored(const void *a, const void *b)
{
	const struct scored *x = a, *y = b;

	if (x->score < y->score || x->score > y->score)
		return x->score > y->score ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Rank the pieces by score, best first. Equal scores have equal ranks. */
static int rank_pieces(struct sp_bpe *s, struct err *e)
{
	size_t n = (size_t)s->model->pieces.n;
	struct scored *order = mem_alloc(n, sizeof(*order), e);
	uint32_t rank = 0;

	s->ranks = order ? mem_alloc(n, sizeof(*s->ranks), e) : NULL;
	if (!s->ranks) {
		free(order);
		return e->code;
	}
	for (size_t i = 0; i < n; i++)
		order[i] = (struct scored){ s->model->entries[i].score, (int32_t)i };
	qsort(order, n, sizeof(*order), compare_scored);
	for (size_t i = 0; i < n; i++) {
		if (i && order[i].score < order[i - 1].score)
			rank++;
		s->ranks[order[i].id] = rank;
	}
	free(order);
	return 0;
}

static void sp_bpe_close(void *state)
{
	struct sp_bpe *s = state;

	if (!s)
		return;
	free(s->ranks);
	free(s->nodes);
	free(s->heap);
	free(s);
}

static void *sp_bpe_open(const struct sp_model *m, struct err *e)
{
	struct sp_bpe *s = mem_alloc(1, sizeof(*s), e);

	if (!s)
		return NULL;
	s->model = m;
	if (!rank_pieces(s, e))
		return s;
	sp_bpe_close(s);
	return NULL;
}

/* ---- merging ---- */

static inline bool is_better_sp_merge(const struct merge *a, const struct merge *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a->left < b->left;
}

static int sp_heap_push(struct sp_bpe *s, const char *text, int32_t left, int32_t right,
			struct err *e)
{
	const struct node *a, *b;
	struct merge merge;
	int32_t id;
	size_t i;

	if (left < 0 || right < 0)
		return 0;
	a = &s->nodes[left];
	b = &s->nodes[right];
	if (a->is_fixed || b->is_fixed)
		return 0;
	id = intern_find(&s->model->pieces, text + a->start, a->len + b->len);
	if (id < 0 || (s->model->entries[id].type != SP_NORMAL &&
		       s->model->entries[id].type != SP_USER_DEFINED))
		return 0;
	if (mem_grow(&s->heap, &s->cap_heap, s->n_heap + 1, sizeof(*s->heap), e))
		return e->code;
	merge = (struct merge){ s->ranks[id], left, right, a->len + b->len };
	for (i = s->n_heap++; i && is_better_sp_merge(&merge, &s->heap[(i - 1) / 2]);
	     i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = merge;
	return 0;
}

static struct merge sp_heap_pop(struct sp_bpe *s)
{
	struct merge top = s->heap[0], moving = s->heap[--s->n_heap];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < s->n_heap; i = child) {
		if (child + 1 < s->n_heap &&
		    is_better_sp_merge(&s->heap[child + 1], &s->heap[child]))
			child++;
		if (!is_better_sp_merge(&s->heap[child], &moving))
			break;
		s->heap[i] = s->heap[child];
	}
	s->heap[i] = moving;
	return top;
}

/* Cut normalised text into characters and user-defined symbols. */
static int sp_split_text(struct sp_bpe *s, const char *text, size_t n, size_t *n_nodes,
			 struct err *e)
{
	const struct charsmap *symbols = &s->model->normalizer.symbols;
	size_t k = 0;

	for (size_t i = 0, len; i < n; i += len, k++) {
		bool is_fixed = false;

		if (k >= INT32_MAX - 1)
			return err_set(e, ERR_DATA, "a text of more than %d characters",
				       INT32_MAX - 1);
		if (mem_grow(&s->nodes, &s->cap_nodes, k + 1, sizeof(*s->nodes), e))
			return e->code;
		len = symbols->n_units ? charsmap_match(symbols, text + i, n - i, NULL, NULL) : 0;
		is_fixed = len > 0;
		if (!len)
			len = bpe_char_length(text + i, n - i);
		s->nodes[k] = (struct node){
			.start = i,
			.len = len,
			.previous = (int32_t)k - 1,
			.next = i + len < n ? (int32_t)k + 1 : -1,
			.is_fixed = is_fixed,
		};
	}
	*n_nodes = k;
	return 0;
}

static int sp_merge_nodes(struct sp_bpe *s, const char *text, size_t n_nodes, struct err *e)
{
	s->n_heap = 0;
	for (size_t i = 1; i < n_nodes; i++)
		if (sp_heap_push(s, text, (int32_t)i - 1, (int32_t)i, e))
			return e->code;
	while (s->n_heap) {
		struct merge m = sp_heap_pop(s);
		struct node *a = &s->nodes[m.left], *b = &s->nodes[m.right];

		if (!a->len || !b->len || a->len + b->len != m.len)
			continue; /* stale: one of them was merged since */
		assert(a->next == m.right && a->start + a->len == b->start);
		a->len = m.len;
		a->next = b->next;
		if (b->next >= 0)
			s->nodes[b->next].previous = m.left;
		b->len = 0;
		if (sp_heap_push(s, text, a->previous, m.left, e) ||
		    sp_heap_push(s, text, m.left, a->next, e))
			return e->code;
	}
	return 0;
}

static int sp_bpe_split(void *state, const char *text, size_t n, struct sp_split *to, struct err *e)
{
	struct sp_bpe *s = state;
	size_t n_nodes = 0;

	assert(n);
	to->n = 0;
	to->limit = INFINITY;
	if (sp_split_text(s, text, n, &n_nodes, e) || sp_merge_nodes(s, text, n_nodes, e))
		return e->code;
	for (int32_t i = 0; i >= 0; i = s->nodes[i].next) {
		const struct node *v = &s->nodes[i];
		struct sp_part part = { .start = v->start, .n = v->len };

		part.id = intern_find(&s->model->pieces, text + v->start, v->len);
		if (part.id == s->model->unknown)
			part.id = -1;
		if (sp_split_add(to, &part, e))
			return e->code;
	}
	return 0;
}

const struct sp_kind sp_bpe_kind = { sp_bpe_open, sp_bpe_split, sp_bpe_close };
