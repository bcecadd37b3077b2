/* banned_phrases.c - see banned_phrases.h */
#include "eval/decode/banned_phrases.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "eval/decode/beam_internal.h"
#include "share/base/mem.h"

#define MAX_PHRASE 1000 /* bytes, pieces joined */

/* A piece that leads from one place of a phrase to another. */
struct edge {
	int32_t from, to, token;
};

struct phrase {
	struct edge *edges; /* (n) owned, by rising "to" */
	size_t n, cap;
	int32_t length; /* bytes: the place where it has been said */
};

struct banned_phrases {
	struct pipeline *pipeline;	   /* borrowed */
	const struct banned_phrases *more; /* borrowed; NULL: none */
	struct phrase *all;		   /* (n) owned */
	size_t n, cap;
	struct buf words, pieces, text;
};

struct banned_phrases *banned_phrases_new(struct pipeline *p, const struct banned_phrases *more,
					  struct err *e)
{
	struct banned_phrases *f = mem_alloc(1, sizeof(*f), e);

	if (f) {
		f->pipeline = p;
		f->more = more;
	}
	return f;
}

void banned_phrases_free(struct banned_phrases *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++)
		free(f->all[i].edges);
	free(f->all);
	buf_free(&f->words);
	buf_free(&f->pieces);
	buf_free(&f->text);
	free(f);
}

/* Append the pieces of a word as one text, without the mark of those that go on. */
static int join_pieces(struct banned_phrases *f, const char *word, size_t n, struct err *e)
{
	const char *at, *stop;

	buf_clear(&f->pieces);
	if (pipeline_word_pieces(f->pipeline, word, n, &f->pieces, e) || buf_check(&f->pieces, e))
		return e->code;
	for (at = buf_text(&f->pieces); *at; at = *stop ? stop + 1 : stop) {
		size_t length;

		stop = at + strcspn(at, " ");
		length = (size_t)(stop - at);
		if (*stop && length > 2 && !memcmp(stop - 2, "@@", 2))
			length -= 2;
		buf_add(&f->text, at, length);
	}
	return buf_check(&f->text, e);
}

/* The phrase as the text of its words: with a blank behind each but the last. */
static int spell_phrase(struct banned_phrases *f, const char *phrase, size_t n, struct err *e)
{
	const char *at, *stop;

	buf_clear(&f->words);
	buf_clear(&f->text);
	if (pipeline_tokenize(f->pipeline, SIDE_TARGET, phrase, n, &f->words, e) ||
	    buf_check(&f->words, e))
		return e->code;
	for (at = buf_text(&f->words); *at; at = stop) {
		at += strspn(at, " ");
		stop = at + strcspn(at, " ");
		if (stop == at)
			break;
		if (f->text.len)
			buf_add_char(&f->text, ' ');
		if (join_pieces(f, at, (size_t)(stop - at), e))
			return e->code;
	}
	if (f->text.len == 0)
		return err_set(e, ERR_DATA, "\"%.*s\" has no words that could be forbidden", (int)n,
			       phrase);
	if (f->text.len > MAX_PHRASE)
		return err_set(e, ERR_DATA,
			       "\"%.60s…\" is too long to be forbidden: at most %d bytes",
			       buf_text(&f->words), MAX_PHRASE);
	return 0;
}

static int add_edge(struct phrase *p, int32_t from, int32_t to, int32_t token, struct err *e)
{
	if (token == TOKEN_UNKNOWN)
		return 0;
	if (mem_grow(&p->edges, &p->cap, p->n + 1, sizeof(*p->edges), e))
		return e->code;
	p->edges[p->n++] = (struct edge){ from, to, token };
	return 0;
}

/*
 * All pieces within a word of the text, begin to end; next: where the next word begins.
 * SentencePiece's pieces have no mark when they go on.
 */
static int add_phrase_word(struct banned_phrases *f, struct phrase *p, int32_t begin, int32_t end,
			   int32_t next, struct err *e)
{
	const struct vocab *v = pipeline_vocab(f->pipeline);
	const bool marked = !pipeline_piece_order(f->pipeline);
	const char *text = buf_text(&f->text);

	for (int32_t to = begin + 1; to <= end; to++)
		for (int32_t from = begin; from < to; from++) {
			char piece[MAX_PHRASE + 2];
			size_t n = (size_t)(to - from);

			memcpy(piece, text + from, n);
			if (to < end && marked) {
				memcpy(piece + n, "@@", 2);
				n += 2;
			}
			if (add_edge(p, from, to < end ? to : next, vocab_id(v, piece, n), e))
				return e->code;
		}
	return 0;
}

int banned_phrases_add(struct banned_phrases *f, const char *phrase, size_t n, struct err *e)
{
	struct phrase *p;
	const char *text;
	int32_t length;

	if (spell_phrase(f, phrase, n, e) ||
	    mem_grow(&f->all, &f->cap, f->n + 1, sizeof(*f->all), e))
		return e->code;
	text = buf_text(&f->text);
	length = (int32_t)f->text.len;
	p = &f->all[f->n++];
	*p = (struct phrase){ .length = length };
	for (int32_t at = 0, end; at < length; at = end + 1) {
		end = at + (int32_t)strcspn(text + at, " ");
		if (add_phrase_word(f, p, at, end, end < length ? end + 1 : length, e))
			return e->code;
	}
	return 0;
}

/* ---- is it said? ------------------------------------------------------- */

/* A row of tokens, seen from its end: nodes of a search, or a plain row. */
struct path {
	const struct beam_node *nodes; /* NULL: tokens */
	const int32_t *tokens;
	const bool *joins_next; /* NULL: none */
};

static int32_t token_at(const struct path *p, int32_t at)
{
	return p->nodes ? p->nodes[at].token : p->tokens[at];
}

/* Have the tokens up to at come to this place of the phrase, from its beginning, at a word? */
static bool path_matches_phrase(const struct phrase *x, int32_t place, const struct path *p,
				int32_t at)
{
	while (place > 0) {
		size_t i = 0;

		if (at < 0)
			return false;
		while (i < x->n &&
		       (x->edges[i].to != place || x->edges[i].token != token_at(p, at)))
			i++;
		if (i == x->n)
			return false;
		place = x->edges[i].from;
		at = p->nodes ? p->nodes[at].parent : at - 1;
	}
	return at < 0 || !p->joins_next || !p->joins_next[token_at(p, at)];
}

bool banned_phrases_contain(const struct banned_phrases *f, const bool *joins_next,
			    const int32_t *tokens, int32_t n)
{
	const struct path path = { .tokens = tokens, .joins_next = joins_next };

	for (; f; f = f->more)
		for (size_t i = 0; i < f->n; i++)
			for (int32_t at = 0; at < n; at++)
				if (path_matches_phrase(&f->all[i], f->all[i].length, &path, at))
					return true;
	return false;
}

/* Make the last step to a phrase impossible to the hypotheses that have come that far. */
static void ban_last_tokens(const struct beam *b, const struct phrase *x, const struct path *path,
			    float *all, int64_t stride)
{
	for (size_t k = x->n; k-- > 0 && x->edges[k].to == x->length;)
		for (int32_t row = 0; row < b->n_live; row++)
			if (path_matches_phrase(x, x->edges[k].from, path, b->live[row].node))
				all[row * stride + x->edges[k].token] = -INFINITY;
}

void beam_ban_phrases(const struct beam *b, float *all, int64_t stride)
{
	const struct path path = { .nodes = b->nodes, .joins_next = b->o.joins_next };
	const struct banned_phrases *f = beam_in_prefix(b) ? NULL : b->o.forbid;

	for (; f; f = f->more)
		for (size_t i = 0; i < f->n; i++)
			ban_last_tokens(b, &f->all[i], &path, all, stride);
}
