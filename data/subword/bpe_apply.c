/*
 * bpe_apply.c - splits words by BPE codes, with a cache of words: see bpe.h
 *
 * A word is merged from its characters, always by the rule of lowest rank: the one that was learned
 * first. The result is what the same word became while the merges were learned, so training text
 * and new text are split alike. "merging one word" below explains the heap.
 *
 * Most words of a text are repeated, so the pieces of a word are computed once and kept:
 *
 *	front	two short words for each hash, in one cache line: no string is compared byte by byte
 *	words	all words seen, up to CACHE_BYTES; then all are forgotten, because input may be endless
 *
 * With a limited vocabulary a piece that is too rare is split again by undoing its merges.
 */
#include "data/subword/bpe.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/subword/bpe_codes.h"
#include "data/subword/bpe_line.h"
#include "data/words/intern.h"
#include "data/words/short_word.h"
#include "share/base/lines.h"
#include "share/base/mem.h"
#include "share/base/text.h"

#define CACHE_BYTES ((size_t)128 << 20) /* a fuller cache is emptied: input may be endless */
#define CACHE_WORD  256			/* bytes; longer words are not cached */
#define FRONT_SETS  8192u		/* a power of two */

/* A symbol of the current word: its bytes start … end - 1. */
struct node {
	int32_t symbol;		/* -1: in no rule; -2: merged into its left neighbour */
	int32_t previous, next; /* nodes, -1: none */
	size_t start, end;
};

struct pieces { /* of the current word */
	const char **text;
	size_t *len, n, cap_text, cap_len;
};

/* Codes and options: constant while lines are split, so threads share them. */
struct settings {
	struct bpe_codes codes;
	char *separator;	       /* owned */
	struct intern vocabulary;      /* pieces that are frequent enough; empty: no limit */
	const struct protect *protect; /* borrowed; NULL: none */
	enum protect_where where;
};

struct bpe {
	struct settings *set; /* owned, or borrowed from another struct bpe */
	bool is_shared;	      /* set is borrowed */

	struct intern words; /* the cached words … */
	struct cached {
		size_t start, len;
	} * cached; /* owned: … and where the pieces of each are in split */
	size_t cap_cached;
	struct buf split;
	/*
	 * The short words found last: two for each hash, the more recent one first. A set fills
	 * one cache line of 64 bytes.
	 */
	struct front {
		struct short_word word;
		struct cached found;
	} (*front)[2]; /* owned: (FRONT_SETS) */

	struct node *nodes; /* owned, as heap and batch: work space for one word */
	size_t cap_nodes;
	uint64_t *heap; /* candidate merges: rank << 32 | left node */
	size_t n_heap, cap_heap;
	int32_t *batch;
	size_t cap_batch;
	struct pieces pieces;
	struct buf scratch;
};

/* ---- settings ---- */

struct bpe *bpe_open(const char *codes_path, struct err *e)
{
	struct bpe *b = mem_alloc(1, sizeof(*b), e);

	if (!b)
		return NULL;
	b->set = mem_alloc(1, sizeof(*b->set), e);
	if (b->set && (b->set->separator = mem_strdup("@@", e)) != NULL &&
	    !bpe_codes_read(&b->set->codes, codes_path, e))
		return b;
	bpe_close(b);
	return NULL;
}

struct bpe *bpe_open_shared(const struct bpe *first, struct err *e)
{
	struct bpe *b = mem_alloc(1, sizeof(*b), e);

	if (b) {
		b->set = first->set;
		b->is_shared = true;
	}
	return b;
}

static void bpe_clear_cache(struct bpe *b)
{
	intern_free(&b->words);
	buf_free(&b->split);
	free(b->cached);
	free(b->front);
	b->cached = NULL;
	b->front = NULL;
	b->cap_cached = 0;
}

int bpe_set_separator(struct bpe *b, const char *separator, struct err *e)
{
	char *copy = mem_strdup(separator, e);

	if (!copy)
		return e->code;
	free(b->set->separator);
	b->set->separator = copy;
	bpe_clear_cache(b);
	return 0;
}

void bpe_protect(struct bpe *b, const struct protect *p, enum protect_where where)
{
	b->set->protect = p;
	b->set->where = where;
	bpe_clear_cache(b);
}

int bpe_limit_vocabulary(struct bpe *b, const char *path, int64_t threshold, struct err *e)
{
	struct lines in;
	int got;

	if (lines_open(&in, path, e))
		return e->code;
	intern_free(&b->set->vocabulary);
	bpe_clear_cache(b);
	while ((got = lines_next(&in, e)) > 0) {
		const char *text = in.text, *blank;
		size_t n = in.len;
		int64_t count;
		int32_t id;

		bpe_trim(&text, &n);
		blank = memchr(text, ' ', n);
		if (!blank)
			blank = memrchr(text, '\t', n); /* vocab.tsv */
		buf_clear(&b->scratch);
		if (blank)
			buf_add(&b->scratch, blank + 1, n - (size_t)(blank + 1 - text));
		if (!blank || blank == text || !text_to_int(buf_text(&b->scratch), &count)) {
			got = err_set(e, ERR_DATA,
				      "%s: line %lld: expected a piece, a blank and its frequency",
				      path, (long long)in.number);
			break;
		}
		if (count >= threshold &&
		    intern_add(&b->set->vocabulary, text, (size_t)(blank - text), &id, e)) {
			got = e->code;
			break;
		}
	}
	lines_close(&in);
	return got;
}

void bpe_close(struct bpe *b)
{
	if (!b)
		return;
	bpe_clear_cache(b);
	if (b->set && !b->is_shared) {
		free(b->set->separator);
		bpe_codes_free(&b->set->codes);
		intern_free(&b->set->vocabulary);
		free(b->set);
	}
	free(b->nodes);
	free(b->heap);
	free(b->batch);
	free(b->pieces.text);
	free(b->pieces.len);
	buf_free(&b->scratch);
	free(b);
}

/*
 * ---- merging one word ----
 *
 * The symbols of a word form a linked list of nodes. A heap holds the possible merges by rank.
 * Each round applies all merges of the lowest rank from left to right, as subword-nmt does, and
 * then pushes the merges that the new symbols make possible. Entries whose symbols have changed
 * are skipped. A word of n characters costs O(n log n); subword-nmt's loop costs O(n^2).
 */

static int bpe_heap_push(struct bpe *b, int32_t node, struct err *e)
{
	const struct node *v = &b->nodes[node];
	int32_t symbol = v->next < 0 ? -1 : b->nodes[v->next].symbol;
	const struct bpe_rule *r = bpe_codes_find(&b->set->codes, v->symbol, symbol);
	uint64_t key;
	size_t i;

	if (!r)
		return 0;
	if (mem_grow(&b->heap, &b->cap_heap, b->n_heap + 1, sizeof(*b->heap), e))
		return e->code;
	key = (uint64_t)(uint32_t)r->rank << 32 | (uint32_t)node;
	for (i = b->n_heap++; i && b->heap[(i - 1) / 2] > key; i = (i - 1) / 2)
		b->heap[i] = b->heap[(i - 1) / 2];
	b->heap[i] = key;
	return 0;
}

static uint64_t bpe_heap_pop(struct bpe *b)
{
	uint64_t top = b->heap[0], moving = b->heap[--b->n_heap];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < b->n_heap; i = child) {
		if (child + 1 < b->n_heap && b->heap[child + 1] < b->heap[child])
			child++;
		if (moving <= b->heap[child])
			break;
		b->heap[i] = b->heap[child];
	}
	b->heap[i] = moving;
	return top;
}

static int bpe_add_node(struct bpe *b, size_t *n, const char *symbol, size_t len, size_t start,
			size_t end, struct err *e)
{
	if (*n >= INT32_MAX - 1)
		return err_set(e, ERR_DATA, "a word of more than %d characters", INT32_MAX - 1);
	if (mem_grow(&b->nodes, &b->cap_nodes, *n + 1, sizeof(*b->nodes), e))
		return e->code;
	b->nodes[*n] = (struct node){
		.symbol = intern_find(&b->set->codes.symbols, symbol, len),
		.previous = (int32_t)*n - 1,
		.next = (int32_t)*n + 1,
		.start = start,
		.end = end,
	};
	++*n;
	return 0;
}

/* Cut the word into characters. Version 0.2: the last one includes "</w>"; 0.1: "</w>" follows. */
static int bpe_split_chars(struct bpe *b, const char *word, size_t n, size_t *n_nodes,
			   struct err *e)
{
	*n_nodes = 0;
	for (size_t i = 0, len; i < n; i += len) {
		len = bpe_char_length(word + i, n - i);
		buf_clear(&b->scratch);
		if (i + len == n && !b->set->codes.has_end_symbol) {
			buf_add(&b->scratch, word + i, len);
			buf_add_str(&b->scratch, BPE_WORD_END);
			if (buf_check(&b->scratch, e) ||
			    bpe_add_node(b, n_nodes, b->scratch.data, b->scratch.len, i, n, e))
				return e->code;
		} else if (bpe_add_node(b, n_nodes, word + i, len, i, i + len, e)) {
			return e->code;
		}
	}
	if (b->set->codes.has_end_symbol &&
	    bpe_add_node(b, n_nodes, BPE_WORD_END, BPE_WORD_END_BYTES, n, n, e))
		return e->code;
	b->nodes[*n_nodes - 1].next = -1;
	return 0;
}

/* Merge until no rule applies: rounds as above. */
static int bpe_merge_nodes(struct bpe *b, size_t n_nodes, struct err *e)
{
	b->n_heap = 0;
	for (size_t i = 0; i < n_nodes; i++)
		if (bpe_heap_push(b, (int32_t)i, e))
			return e->code;
	while (b->n_heap) {
		uint64_t rank = b->heap[0] >> 32;
		size_t n = 0;

		while (b->n_heap && b->heap[0] >> 32 == rank) {
			int32_t at = (int32_t)(bpe_heap_pop(b) & UINT32_MAX);
			struct node *v = &b->nodes[at],
				    *next = v->next < 0 ? NULL : &b->nodes[v->next];
			const struct bpe_rule *r =
				next ? bpe_codes_find(&b->set->codes, v->symbol, next->symbol)
				     : NULL;

			if (!r || (uint64_t)r->rank != rank)
				continue; /* stale: a neighbour was merged since */
			assert(next->symbol != -2 && v->end == next->start);
			v->symbol = r->merged;
			v->end = next->end;
			next->symbol = -2;
			v->next = next->next;
			next->next = -1;
			if (v->next >= 0)
				b->nodes[v->next].previous = at;
			if (mem_grow(&b->batch, &b->cap_batch, n + 1, sizeof(*b->batch), e))
				return e->code;
			b->batch[n++] = at;
		}
		for (size_t i = 0; i < n; i++) {
			int32_t at = b->batch[i], previous = b->nodes[at].previous;

			if ((previous >= 0 && bpe_heap_push(b, previous, e)) ||
			    bpe_heap_push(b, at, e))
				return e->code;
		}
	}
	return 0;
}

/* ---- pieces ---- */

static int bpe_add_piece(struct bpe *b, const char *text, size_t len, struct err *e)
{
	struct pieces *p = &b->pieces;

	if (mem_grow(&p->text, &p->cap_text, p->n + 1, sizeof(*p->text), e) ||
	    mem_grow(&p->len, &p->cap_len, p->n + 1, sizeof(*p->len), e))
		return e->code;
	p->text[p->n] = text;
	p->len[p->n++] = len;
	return 0;
}

static bool is_in_vocabulary(struct bpe *b, const char *text, size_t n, bool is_last)
{
	buf_clear(&b->scratch);
	buf_add(&b->scratch, text, n);
	if (!is_last)
		buf_add_str(&b->scratch, b->set->separator);
	return intern_find(&b->set->vocabulary, buf_text(&b->scratch), b->scratch.len) >= 0;
}

/* Undo the merges of a piece until its parts are in the vocabulary or single characters. */
static int split_piece(struct bpe *b, const char *text, size_t n, bool is_last, struct err *e)
{
	const char *left, *right;
	size_t n_left, n_right;
	int32_t id;

	if (is_in_vocabulary(b, text, n, is_last))
		return bpe_add_piece(b, text, n, e);
	buf_clear(&b->scratch);
	buf_add(&b->scratch, text, n);
	if (is_last)
		buf_add_str(&b->scratch, BPE_WORD_END);
	id = n ? intern_find(&b->set->codes.symbols, buf_text(&b->scratch), b->scratch.len) : -1;
	if (id < 0 || b->set->codes.parts[id].left < 0)
		return bpe_add_piece(b, text, n, e);
	left = intern_text(&b->set->codes.symbols, b->set->codes.parts[id].left, &n_left);
	right = intern_text(&b->set->codes.symbols, b->set->codes.parts[id].right, &n_right);
	if (is_last)
		n_right -= MIN(n_right, BPE_WORD_END_BYTES);
	if (split_piece(b, left, n_left, false, e))
		return e->code;
	return split_piece(b, right, n_right, is_last, e);
}

/* Two pieces of one word: the mark and a blank. */
static void bpe_add_joint(const struct bpe *b, struct buf *out)
{
	buf_add_str(out, b->set->separator);
	buf_add_char(out, ' ');
}

/* Append the pieces of a word, or of a part of a word between protected symbols. */
static int bpe_encode_part(struct bpe *b, const char *word, size_t n, struct buf *out,
			   struct err *e)
{
	size_t n_nodes;

	if (bpe_char_length(word, n) == n) {
		buf_add(out, word, n);
		return buf_check(out, e);
	}
	if (bpe_split_chars(b, word, n, &n_nodes, e) || bpe_merge_nodes(b, n_nodes, e))
		return e->code;
	b->pieces.n = 0;
	for (int32_t i = 0, next; i >= 0; i = next) {
		const struct node *v = &b->nodes[i];
		size_t len = v->end - v->start;

		next = v->next;
		if (next >= 0 && b->nodes[next].start == n)
			next = -1; /* a "</w>" that no merge took is not written */
		if (b->set->vocabulary.n ? split_piece(b, word + v->start, len, next < 0, e)
					 : bpe_add_piece(b, word + v->start, len, e))
			return e->code;
	}
	for (size_t i = 0; i < b->pieces.n; i++) {
		buf_add(out, b->pieces.text[i], b->pieces.len[i]);
		if (i + 1 < b->pieces.n)
			bpe_add_joint(b, out);
	}
	return buf_check(out, e);
}

/* Append the pieces of the word. A protected symbol is a piece; the text before and after it is split apart. */
static int bpe_encode_word(struct bpe *b, const char *word, size_t n, struct buf *out,
			   struct err *e)
{
	const struct protect *p = b->set->protect;

	if (p && b->set->where == PROTECT_WORDS && protect_is_symbol(p, word, n)) {
		buf_add(out, word, n);
		return buf_check(out, e);
	}
	if (!p || b->set->where == PROTECT_WORDS)
		return bpe_encode_part(b, word, n, out, e);
	for (size_t len, at; n; word += at + len, n -= at + len) {
		at = protect_find(p, word, n, &len);
		if (at && bpe_encode_part(b, word, at, out, e))
			return e->code;
		if (at && len)
			bpe_add_joint(b, out);
		buf_add(out, word + at, len);
		if (at + len < n)
			bpe_add_joint(b, out);
	}
	return buf_check(out, e);
}

/* Find the pieces of a word of at most CACHE_WORD bytes, through the cache. */
static int find_cached(struct bpe *b, const char *word, size_t n, struct cached *found,
		       struct err *e)
{
	int32_t known = b->words.n, i;
	size_t start;

	assert(n <= CACHE_WORD);
	if (mem_grow(&b->cached, &b->cap_cached, (size_t)known + 1, sizeof(*b->cached), e) ||
	    intern_add(&b->words, word, n, &i, e))
		return e->code;
	if (i == known) {
		start = b->split.len;
		b->cached[i] = (struct cached){ start, 0 };
		if (bpe_encode_word(b, word, n, &b->split, e))
			return e->code;
		b->cached[i].len = b->split.len - start;
	}
	*found = b->cached[i];
	return 0;
}

/* find_cached() for a short word. Most short words are in b->front. */
static inline int find_short(struct bpe *b, const char *text, size_t n, struct short_word w,
			     struct cached *found, struct err *e)
{
	struct front *set = b->front[short_word_hash(w) & (FRONT_SETS - 1)];

	if (!short_word_equal(set[0].word, w)) {
		struct front first = set[1];

		if (!short_word_equal(first.word, w)) {
			if (find_cached(b, text, n, &first.found, e))
				return e->code;
			first.word = w;
		}
		set[1] = set[0];
		set[0] = first;
	}
	*found = set[0].found;
	return 0;
}

/* Append cached pieces; 16 bytes at once where both buffers have room for 16. */
static inline void add_found(const struct bpe *b, struct cached found, struct buf *out)
{
	const char *from = b->split.data + found.start;

	if (found.len <= 16 && out->cap - out->len > 16 && b->split.cap - found.start >= 16) {
		memcpy(out->data + out->len, from, 16);
		out->len += found.len;
		out->data[out->len] = 0;
	} else {
		buf_add(out, from, found.len);
	}
}

/* ---- lines ---- */

/* Split the words of one line; the blanks before the first and after the last word are cut off. */
static int apply_words(struct bpe *b, const char *p, size_t n, struct buf *out, struct err *e)
{
	const char *end = p + n;
	bool is_first = true;

	while (p < end) {
		struct short_word w;
		struct cached found;
		size_t len;

		if (*p == ' ') {
			p++;
			continue;
		}
		if (!is_first)
			buf_add_char(out, ' ');
		is_first = false;
		len = short_word_cut(p, end, &w);
		if (len) {
			if (find_short(b, p, len, w, &found, e))
				return e->code;
			add_found(b, found, out);
		} else {
			const char *blank = memchr(p, ' ', (size_t)(end - p));

			len = (size_t)((blank ? blank : end) - p);
			if (len > CACHE_WORD ? bpe_encode_word(b, p, len, out, e)
					     : find_cached(b, p, len, &found, e))
				return e->code;
			if (len <= CACHE_WORD)
				add_found(b, found, out);
		}
		p += len + 1;
	}
	return 0;
}

int bpe_apply_line(struct bpe *b, const char *line, size_t n, struct buf *out, struct err *e)
{
	if (intern_memory(&b->words) + b->split.cap > CACHE_BYTES)
		bpe_clear_cache(b);
	if (!b->front) {
		b->front = mem_alloc_aligned(FRONT_SETS, sizeof(*b->front), e);
		if (!b->front)
			return e->code;
	}
	for (size_t len; n; line += len, n -= len) {
		const char *text = line;
		size_t n_text = len = bpe_line_length(line, n), before;

		bpe_trim(&text, &n_text);
		before = (size_t)(text - line);
		if (!n_text) {
			buf_add(out, line, len);
			continue;
		}
		buf_add(out, line, before);
		if (apply_words(b, text, n_text, out, e))
			return e->code;
		buf_add(out, text + n_text, len - before - n_text);
	}
	return buf_check(out, e);
}

void bpe_undo_line(const char *separator, const char *line, size_t n, struct buf *out)
{
	size_t n_mark = strlen(separator);

	for (const char *end = line + n, *at; n_mark; line = at + n_mark + 1) {
		at = memmem(line, (size_t)(end - line), separator, n_mark);
		while (at && at + n_mark < end && at[n_mark] != ' ')
			at = memmem(at + 1, (size_t)(end - at - 1), separator, n_mark);
		n = (size_t)(end - line);
		if (!at)
			break;
		buf_add(out, line, (size_t)(at - line));
		if (at + n_mark == end)
			return;
	}
	buf_add(out, line, n);
}
