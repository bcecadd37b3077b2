/*
 * banned_phrases.c - see banned_phrases.h
 *
 * A phrase is an acyclic automaton over vocabulary tokens. Its states are byte positions 0 ...
 * length of the phrase's text (words joined by one blank). An edge (from, to, token) exists if the
 * token spells exactly the bytes from ... to of one word; the edge that ends a word leads past the
 * blank to the start of the next word. Each path from 0 to length is one spelling of the phrase.
 *
 *	"the dog":	0 -the-> 4 -dog-> 7	0 -th@@-> 2 -e-> 4	4 -do@@-> 6 -g-> 7
 *
 * path_matches_phrase() walks backwards, from the last token of a hypothesis to its parents: that
 * is how the tree of hypotheses is linked. A token and its end position fix the start position, so
 * the walk has no alternatives. The search state has no automaton state to copy.
 *
 * Before each step, ban_last_tokens() looks at every edge into the final position. If a hypothesis
 * has reached the start of this edge, the edge's token would complete the phrase and is banned.
 */
#include "eval/decode/banned_phrases.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "eval/decode/beam_internal.h"
#include "share/base/mem.h"

#define MAX_PHRASE 1000 /* bytes, pieces joined */

struct phrase_edge {
	int32_t from, to; /* byte positions */
	int32_t token;
};

struct phrase {
	struct phrase_edge *edges; /* (n) owned, by rising "to" */
	size_t n, cap;
	int32_t length; /* bytes: the final position */
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

/* Appends the pieces of a word to f->text, without the mark "@@" at the end of a piece. */
static int join_pieces(struct banned_phrases *f, const char *word, size_t n, struct err *e)
{
	const char *at, *stop;

	buf_clear(&f->pieces);
	if (pipeline_word_pieces(f->pipeline, SIDE_TARGET, word, n, &f->pieces, e) ||
	    buf_check(&f->pieces, e))
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

/* Writes the words of the phrase to f->text, joined by one blank. */
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
		return err_set(e, ERR_DATA, "the forbidden phrase \"%.*s\" has no words", (int)n,
			       phrase);
	if (f->text.len > MAX_PHRASE)
		return err_set(e, ERR_DATA,
			       "the forbidden phrase \"%.60s...\" is longer than %d bytes",
			       buf_text(&f->words), MAX_PHRASE);
	return 0;
}

static int add_edge(struct phrase *p, int32_t from, int32_t to, int32_t token, struct err *e)
{
	assert(from < to && (p->n == 0 || p->edges[p->n - 1].to <= to));
	if (token == TOKEN_UNKNOWN) /* the vocabulary has no such piece */
		return 0;
	if (mem_grow(&p->edges, &p->cap, p->n + 1, sizeof(*p->edges), e))
		return e->code;
	p->edges[p->n++] = (struct phrase_edge){ from, to, token };
	return 0;
}

/*
 * Adds the edges of all pieces within the word at bytes begin ... end of the text; the next word
 * starts at next. BPE marks a piece that does not end its word with "@@", SentencePiece does not.
 */
static int add_phrase_word(struct banned_phrases *f, struct phrase *p, int32_t begin, int32_t end,
			   int32_t next, struct err *e)
{
	const struct vocab *v = pipeline_vocab(f->pipeline, SIDE_TARGET);
	const bool has_marks = !pipeline_is_sentencepiece(f->pipeline, SIDE_TARGET);
	const char *text = buf_text(&f->text);

	for (int32_t to = begin + 1; to <= end; to++)
		for (int32_t from = begin; from < to; from++) {
			char piece[MAX_PHRASE + 2];
			size_t n = (size_t)(to - from);

			memcpy(piece, text + from, n);
			if (to < end && has_marks) {
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

/* ---- matching ---------------------------------------------------------- */

/* A sequence of tokens that is read backwards: a path in the tree of hypotheses, or an array. */
struct path {
	const struct beam_node *nodes; /* NULL: tokens */
	const int32_t *tokens;
	const bool *joins_next; /* NULL: none */
};

static int32_t token_at(const struct path *p, int32_t at)
{
	return p->nodes ? p->nodes[at].token : p->tokens[at];
}

/*
 * Does the path that ends at `at` spell the phrase up to byte `position`, from the phrase's start
 * and starting at a word? at is an index of p; -1: the path has no token.
 */
static bool path_matches_phrase(const struct phrase *x, int32_t position, const struct path *p,
				int32_t at)
{
	while (position > 0) {
		size_t i = 0;

		if (at < 0)
			return false;
		while (i < x->n &&
		       (x->edges[i].to != position || x->edges[i].token != token_at(p, at)))
			i++;
		if (i == x->n)
			return false;
		position = x->edges[i].from;
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

/* Bans the tokens that would complete the phrase; see the head of this file. */
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
