/*
 * bpe_trace.c - merges one word step by step: see bpe_trace.h
 *
 * The definition of applying merges, written as simply as possible: each step looks at all pairs of
 * neighbours, takes the rule of lowest rank, and applies it. subword-nmt applies it everywhere in the
 * word at once, SentencePiece to the leftmost pair alone.
 */
#include "data/subword/bpe_trace.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/subword/bpe_line.h"
#include "share/base/mem.h"

/* A symbol of the word. Characters in no merge have the number -1. */
struct symbol {
	int32_t number;
	size_t start, len; /* of its text in word.text */
};

struct word {
	char text[BPE_TRACE_MAX_BYTES + BPE_WORD_END_BYTES + 1];
	struct symbol symbols[BPE_TRACE_MAX_BYTES + 1];
	size_t n;
};

static void trace_add_symbol(struct word *w, const struct bpe_codes *c, size_t start, size_t len)
{
	w->symbols[w->n++] =
		(struct symbol){ intern_find(&c->symbols, w->text + start, len), start, len };
}

/* Cut a word into characters. In codes of version 0.1 "</w>" is a separate symbol. */
static void trace_split_chars(struct word *w, const struct bpe_codes *c, enum bpe_trace_kind kind,
			      const char *word, size_t n)
{
	bool ends = kind == BPE_TRACE_SUBWORD_NMT;

	memcpy(w->text, word, n);
	memcpy(w->text + n, BPE_WORD_END, BPE_WORD_END_BYTES);
	for (size_t i = 0, len; i < n; i += len) {
		bool carries;

		len = bpe_char_length(word + i, n - i);
		carries = ends && i + len == n && !c->has_end_symbol;
		trace_add_symbol(w, c, i, carries ? len + BPE_WORD_END_BYTES : len);
	}
	if (ends && c->has_end_symbol)
		trace_add_symbol(w, c, n, BPE_WORD_END_BYTES);
}

/* The merge of the lowest rank among neighbours, NULL: none; the leftmost is at *at. */
static const struct bpe_rule *find_merge(const struct word *w, const struct bpe_codes *c,
					 size_t *at)
{
	const struct bpe_rule *best = NULL;

	for (size_t i = 0; i + 1 < w->n; i++) {
		const struct bpe_rule *r =
			bpe_codes_find(c, w->symbols[i].number, w->symbols[i + 1].number);

		if (r && (!best || r->rank < best->rank)) {
			best = r;
			*at = i;
		}
	}
	return best;
}

static void trace_join_symbols(struct word *w, const struct bpe_rule *r, size_t at)
{
	assert(at + 1 < w->n);
	w->symbols[at].number = r->merged;
	w->symbols[at].len += w->symbols[at + 1].len;
	memmove(&w->symbols[at + 1], &w->symbols[at + 2], (w->n - at - 2) * sizeof(w->symbols[0]));
	w->n--;
}

/* Append a step whose text is b: left, right and symbols, each ended by NUL. Takes b, also on failure. */
static int trace_add_texts(struct bpe_trace *t, struct buf *b, int32_t rank, bool is_merge,
			   struct err *e)
{
	const char *left, *right;

	if (buf_check(b, e) || mem_grow(&t->steps, &t->cap, t->n + 1, sizeof(*t->steps), e) ||
	    mem_grow(&t->texts, &t->cap_texts, t->n + 1, sizeof(*t->texts), e)) {
		buf_free(b);
		return e->code;
	}
	t->texts[t->n] = *b;
	left = b->data;
	right = left + strlen(left) + 1;
	t->steps[t->n++] = (struct bpe_step){ rank, is_merge ? left : NULL, is_merge ? right : NULL,
					      right + strlen(right) + 1 };
	return 0;
}

static int trace_add_step(struct bpe_trace *t, const struct word *w, int32_t rank,
			  const struct symbol pair[2], struct err *e)
{
	struct buf b = { 0 };

	for (int i = 0; i < 2; i++) {
		if (pair)
			buf_add(&b, w->text + pair[i].start, pair[i].len);
		buf_add_char(&b, 0);
	}
	for (size_t i = 0; i < w->n; i++) {
		if (i)
			buf_add_char(&b, ' ');
		buf_add(&b, w->text + w->symbols[i].start, w->symbols[i].len);
	}
	buf_add_char(&b, 0);
	return trace_add_texts(t, &b, rank, pair != NULL, e);
}

int bpe_trace_pieces(const char *pieces, size_t n, struct bpe_trace *t, struct err *e)
{
	struct buf b = { 0 };

	bpe_trace_clear(t);
	buf_add(&b, "\0", 2); /* nothing left and right of a merge */
	buf_add(&b, pieces, n);
	buf_add_char(&b, 0);
	return trace_add_texts(t, &b, -1, false, e);
}

/* Apply the merge of the lowest rank: everywhere (subword-nmt) or once. 0: no merge applies. */
static int trace_merge_step(struct bpe_trace *t, struct word *w, const struct bpe_codes *c,
			    enum bpe_trace_kind kind, struct err *e)
{
	size_t at = 0;
	const struct bpe_rule *r = find_merge(w, c, &at), *same;
	struct symbol pair[2];

	if (!r)
		return 0;
	memcpy(pair, &w->symbols[at], sizeof(pair));
	trace_join_symbols(w, r, at);
	for (size_t i = at + 1; kind == BPE_TRACE_SUBWORD_NMT && i + 1 < w->n; i++) {
		same = bpe_codes_find(c, w->symbols[i].number, w->symbols[i + 1].number);
		if (same && same->rank == r->rank)
			trace_join_symbols(w, r, i);
	}
	return trace_add_step(t, w, r->rank, pair, e) ? e->code : 1;
}

int bpe_trace_word(const struct bpe_codes *c, enum bpe_trace_kind kind, const char *word, size_t n,
		   struct bpe_trace *t, struct err *e)
{
	struct word w;
	int got;

	bpe_trace_clear(t);
	w.n = 0;
	if (n > BPE_TRACE_MAX_BYTES)
		return err_set(e, ERR_DATA, "a word of %zu bytes is too long to trace, at most %d",
			       n, BPE_TRACE_MAX_BYTES);
	trace_split_chars(&w, c, kind, word, n);
	if (trace_add_step(t, &w, -1, NULL, e))
		return e->code;
	while ((got = trace_merge_step(t, &w, c, kind, e)) > 0)
		;
	return got;
}

void bpe_trace_clear(struct bpe_trace *t)
{
	for (size_t i = 0; i < t->n; i++)
		buf_free(&t->texts[i]);
	t->n = 0;
}

void bpe_trace_free(struct bpe_trace *t)
{
	bpe_trace_clear(t);
	free(t->steps);
	free(t->texts);
	*t = (struct bpe_trace){ 0 };
}
