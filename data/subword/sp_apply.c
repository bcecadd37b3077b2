/*
 * sp_apply.c - splits text by a SentencePiece BPE model, and joins pieces again: see sp.h
 *
 * The text is normalised, blanks become "▁", and its characters form a linked list. Two neighbours
 * may merge if their joined string is a piece. The merge with the best score comes first, among equals
 * the leftmost one; a heap holds all merges that are possible now. A merge that was pushed before one
 * of its symbols grew has another length than both have now: it is stale and is skipped. So a
 * text of n characters costs O(n log n).
 *
 * Where no piece can cross "▁" (can_encode_by_words()), words are split one by one and cached.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/subword/bpe_line.h"
#include "data/subword/sp.h"
#include "data/subword/sp_model.h"
#include "data/text/chars.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define MAX_MODEL   ((size_t)256 << 20) /* bytes; a larger file is not a model */
#define CACHE_BYTES ((size_t)128 << 20) /* a fuller cache is emptied: input may be endless */
#define CACHE_WORD  256			/* bytes; longer words are not cached */

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

struct sp {
	struct sp_model model;
	uint32_t *ranks;  /* owned: (pieces) */
	bool is_by_words; /* lines can be split word by word: can_encode_by_words() */

	struct intern words; /* the cached words … */
	struct cached {
		size_t start, len;
		bool needs_lookahead; /* its pieces depend on the text after it */
	} * cached;		      /* owned: … and where the pieces of each are in split */
	size_t cap_cached;
	struct buf split;

	struct buf normalized; /* work space for one text */
	struct node *nodes;    /* owned */
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
static int rank_pieces(struct sp *s, struct err *e)
{
	size_t n = (size_t)s->model.pieces.n;
	struct scored *order = mem_alloc(n, sizeof(*order), e);
	uint32_t rank = 0;

	s->ranks = order ? mem_alloc(n, sizeof(*s->ranks), e) : NULL;
	if (!s->ranks) {
		free(order);
		return e->code;
	}
	for (size_t i = 0; i < n; i++)
		order[i] = (struct scored){ s->model.entries[i].score, (int32_t)i };
	qsort(order, n, sizeof(*order), compare_scored);
	for (size_t i = 0; i < n; i++) {
		if (i && order[i].score < order[i - 1].score)
			rank++;
		s->ranks[order[i].id] = rank;
	}
	free(order);
	return 0;
}

/*
 * Are the pieces of a line those of its words? Yes if the normalizer treats blanks by default,
 * "▁" is a piece, and "▁" occurs in pieces only at their start.
 */
static bool can_encode_by_words(const struct sp_model *m)
{
	const struct sp_normalizer *z = &m->normalizer;
	int32_t space = intern_find(&m->pieces, SP_SPACE, SP_SPACE_BYTES);
	bool needs_lookahead = false;

	if (!z->add_dummy_prefix || !z->remove_extra_whitespaces || !z->escape_whitespaces ||
	    z->is_space_suffix || space < 0 || m->entries[space].type != SP_NORMAL)
		return false;
	if (z->rules.n_units) /* can a rule begin with a blank? */
		charsmap_match(&z->rules, "", 0, NULL, &needs_lookahead);
	if (needs_lookahead)
		return false;
	for (int32_t i = 0; i < m->pieces.n; i++) {
		size_t n;
		const char *text = intern_text(&m->pieces, i, &n);

		if (memchr(text, ' ', n) || memmem(text + 1, n - 1, SP_SPACE, SP_SPACE_BYTES))
			return false;
	}
	return true;
}

struct sp *sp_open_memory(const void *bytes, size_t n, const char *name, struct err *e)
{
	struct sp *s = mem_alloc(1, sizeof(*s), e);

	if (!s || sp_model_read(&s->model, bytes, n, name, e)) {
		free(s);
		return NULL;
	}
	if (rank_pieces(s, e)) {
		sp_close(s);
		return NULL;
	}
	s->is_by_words = can_encode_by_words(&s->model);
	return s;
}

struct sp *sp_open(const char *model_path, struct err *e)
{
	struct buf bytes = { 0 };
	struct sp *s = NULL;

	if (!file_read_all(model_path, MAX_MODEL, &bytes, e))
		s = sp_open_memory(buf_text(&bytes), bytes.len, model_path, e);
	buf_free(&bytes);
	return s;
}

const struct intern *sp_pieces(const struct sp *s)
{
	return &s->model.pieces;
}

static void sp_clear_cache(struct sp *s)
{
	intern_free(&s->words);
	buf_free(&s->split);
	free(s->cached);
	s->cached = NULL;
	s->cap_cached = 0;
}

void sp_close(struct sp *s)
{
	if (!s)
		return;
	sp_clear_cache(s);
	sp_model_free(&s->model);
	free(s->ranks);
	buf_free(&s->normalized);
	free(s->nodes);
	free(s->heap);
	free(s);
}

/* ---- merging ---- */

static inline bool is_better_sp_merge(const struct merge *a, const struct merge *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a->left < b->left;
}

static int sp_heap_push(struct sp *s, const char *text, int32_t left, int32_t right, struct err *e)
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
	id = intern_find(&s->model.pieces, text + a->start, a->len + b->len);
	if (id < 0 || (s->model.entries[id].type != SP_NORMAL &&
		       s->model.entries[id].type != SP_USER_DEFINED))
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

static struct merge sp_heap_pop(struct sp *s)
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
static int sp_split_text(struct sp *s, const char *text, size_t n, size_t *n_nodes, struct err *e)
{
	const struct charsmap *symbols = &s->model.normalizer.symbols;
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

static int sp_merge_nodes(struct sp *s, const char *text, size_t n_nodes, struct err *e)
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

/* ---- pieces ---- */

static void add_blank(struct buf *out, size_t start)
{
	if (out->len > start)
		buf_add_char(out, ' ');
}

static void sp_add_byte_pieces(struct sp *s, const char *text, size_t n, struct buf *out,
			       size_t start)
{
	for (size_t i = 0; i < n; i++) {
		size_t len;
		const char *piece =
			intern_text(&s->model.pieces, s->model.bytes[(unsigned char)text[i]], &len);

		add_blank(out, start);
		buf_add(out, piece, len);
	}
}

/* Append the pieces of a raw text to out, without the cache. */
static int sp_encode_text(struct sp *s, const char *raw, size_t n, struct buf *out,
			  bool *needs_lookahead, struct err *e)
{
	size_t n_nodes = 0, start = out->len;
	bool after_unknown = false;
	const char *text;

	buf_clear(&s->normalized);
	if (sp_normalize(&s->model.normalizer, raw, n, &s->normalized, needs_lookahead, e))
		return e->code;
	if (!s->normalized.len)
		return 0;
	text = s->normalized.data;
	if (sp_split_text(s, text, s->normalized.len, &n_nodes, e) ||
	    sp_merge_nodes(s, text, n_nodes, e))
		return e->code;
	for (int32_t i = 0; i >= 0; i = s->nodes[i].next) {
		const struct node *v = &s->nodes[i];
		int32_t id = intern_find(&s->model.pieces, text + v->start, v->len);
		bool is_unknown = id < 0 || id == s->model.unknown;

		if (is_unknown && s->model.has_bytes) {
			sp_add_byte_pieces(s, text + v->start, v->len, out, start);
		} else {
			if (!is_unknown || !after_unknown)
				add_blank(out, start);
			buf_add(out, text + v->start, v->len);
		}
		after_unknown = is_unknown;
	}
	return buf_check(out, e);
}

/* Find the pieces of a word through the cache. *found is valid until the cache is emptied. */
static int sp_find_word(struct sp *s, const char *word, size_t n, struct cached *found,
			struct err *e)
{
	int32_t known = s->words.n, i;

	if (mem_grow(&s->cached, &s->cap_cached, (size_t)known + 1, sizeof(*s->cached), e) ||
	    intern_add(&s->words, word, n, &i, e))
		return e->code;
	if (i == known) {
		struct cached *c = &s->cached[i];

		*c = (struct cached){ .start = s->split.len };
		if (sp_encode_text(s, word, n, &s->split, &c->needs_lookahead, e))
			return e->code;
		c->len = s->split.len - c->start;
	}
	*found = s->cached[i];
	return 0;
}

/* Append the pieces of a word; before them a blank, unless they are the first since start. */
static int sp_add_word(struct sp *s, const char *word, size_t n, struct buf *out, size_t start,
		       bool *needs_lookahead, struct err *e)
{
	size_t before = out->len, behind_blank;
	struct cached found = { 0 };

	add_blank(out, start);
	behind_blank = out->len;
	if (n > CACHE_WORD) {
		if (sp_encode_text(s, word, n, out, needs_lookahead, e))
			return e->code;
	} else {
		if (sp_find_word(s, word, n, &found, e))
			return e->code;
		if (found.len)
			buf_add(out, s->split.data + found.start, found.len);
		*needs_lookahead |= found.needs_lookahead;
	}
	if (out->len == behind_blank)
		buf_truncate(out, before);
	return 0;
}

/* Split a line word by word. *needs_lookahead: that fails, nothing is appended. */
static int sp_add_words(struct sp *s, const char *line, size_t n, struct buf *out,
			bool *needs_lookahead, struct err *e)
{
	size_t start = out->len, n_word;
	const char *end = line + n, *word;

	while ((word = chars_next_word(&line, end, &n_word)) != NULL) {
		if (sp_add_word(s, word, n_word, out, start, needs_lookahead, e))
			return e->code;
		if (*needs_lookahead) {
			buf_truncate(out, start);
			return 0;
		}
	}
	return buf_check(out, e);
}

int sp_apply_line(struct sp *s, const char *line, size_t n, struct buf *out, struct err *e)
{
	bool is_whole = !s->is_by_words;

	if (intern_memory(&s->words) + s->split.cap > CACHE_BYTES)
		sp_clear_cache(s);
	if (!is_whole && sp_add_words(s, line, n, out, &is_whole, e))
		return e->code;
	return is_whole ? sp_encode_text(s, line, n, out, NULL, e) : 0;
}

/* ---- back to text ---- */

struct undoing {
	const struct sp_model *m;
	struct buf *out, bytes; /* bytes: of consecutive byte pieces */
	size_t start;
	bool is_at_start; /* no text yet, and no "▁" was removed */
};

static void flush_bytes(struct undoing *u)
{
	utf8_repair(u->out, buf_text(&u->bytes), u->bytes.len);
	buf_clear(&u->bytes);
}

static void undo_piece(struct undoing *u, const char *piece, size_t n)
{
	const struct sp_model *m = u->m;
	const struct sp_normalizer *z = &m->normalizer;
	int32_t id = intern_find(&m->pieces, piece, n);
	enum sp_type type = id < 0 ? SP_UNKNOWN : (enum sp_type)m->entries[id].type;
	const char *space;

	if (type == SP_BYTE) {
		for (int byte = 0; byte < 256; byte++)
			if (m->bytes[byte] == id)
				buf_add_char(&u->bytes, (char)byte);
		return;
	}
	flush_bytes(u);
	if (u->out->len > u->start)
		u->is_at_start = false;
	if (type == SP_CONTROL)
		return;
	if (type == SP_UNKNOWN) {
		if (id >= 0)
			buf_add(u->out, buf_text(&m->unknown_surface), m->unknown_surface.len);
		else
			buf_add(u->out, piece, n);
		return;
	}
	if (u->is_at_start && (z->add_dummy_prefix || z->remove_extra_whitespaces) &&
	    n >= SP_SPACE_BYTES && !memcmp(piece, SP_SPACE, SP_SPACE_BYTES)) {
		piece += SP_SPACE_BYTES;
		n -= SP_SPACE_BYTES;
		u->is_at_start = z->remove_extra_whitespaces;
	}
	while ((space = memmem(piece, n, SP_SPACE, SP_SPACE_BYTES)) != NULL) {
		size_t before = (size_t)(space - piece);

		buf_add(u->out, piece, before);
		buf_add_char(u->out, ' ');
		piece += before + SP_SPACE_BYTES;
		n -= before + SP_SPACE_BYTES;
	}
	buf_add(u->out, piece, n);
}

int sp_undo_line(struct sp *s, const char *line, size_t n, struct buf *out, struct err *e)
{
	struct undoing u = { .m = &s->model, .out = out, .start = out->len, .is_at_start = true };
	const char *end = line + n, *piece;
	size_t n_piece;
	int rc;

	if (s->model.has_denormalizer) {
		buf_clear(&s->normalized);
		u.out = &s->normalized;
		u.start = 0;
	}
	while ((piece = chars_next_word(&line, end, &n_piece)) != NULL)
		undo_piece(&u, piece, n_piece);
	flush_bytes(&u);
	rc = buf_check(&u.bytes, e);
	buf_free(&u.bytes);
	if (!rc)
		rc = buf_check(u.out, e);
	if (!rc && s->model.has_denormalizer)
		rc = sp_normalize(&s->model.denormalizer, buf_text(&s->normalized),
				  s->normalized.len, out, NULL, e);
	return rc;
}
