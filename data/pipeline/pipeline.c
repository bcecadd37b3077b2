/* pipeline.c - runs the text tools of both languages in order: see pipeline.h */
#include "data/pipeline/pipeline.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/pair_tools.h"
#include "data/sentencepiece/sp.h"
#include "data/subword/bpe.h"
#include "data/text/chars.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"

/* A subword model: bpe or sp; both NULL: text only. */
struct subword {
	struct bpe *bpe;
	struct sp *sp;
};

struct side {
	struct subword *subword;   /* borrowed from struct pipeline */
	const struct vocab *vocab; /* borrowed from struct pipeline; NULL: text only */
	int32_t first;		   /* token that begins each sentence; TOKEN_PAD: none */
};

struct pipeline {
	struct side sides[N_SIDES];
	struct pair_tools *pairs; /* owned */
	/* (N_SIDES) of the line that was followed last; borrowed from pairs */
	const struct text_tools *tools;
	struct subword subwords[N_SIDES]; /* owned; both sides use the first if they share it */
	struct vocabs vocabs;	 /* owned; the ids need not be those of the subword model */
	struct protect *protect; /* NULL: none */
	struct protect_masked masked;
	struct buf a, b, marked; /* results between steps */
};

enum protect_where pipeline_where(const struct conf *c, enum pipeline_side side)
{
	return text_is_tokenized(c, (int)side) ? PROTECT_WORDS : PROTECT_ANYWHERE;
}

/* Would the detokenizer change the symbol, because the tokenizer writes it for something else? */
static bool is_token_of_tokenizer(const struct conf *c, const char *symbol)
{
	static const char *const escapes[] = { "&amp;",	 "&#124;", "&lt;",  "&gt;",
					       "&apos;", "&quot;", "&#91;", "&#93;" };

	if (!text_is_tokenized(c, SIDE_SOURCE) && !text_is_tokenized(c, SIDE_TARGET))
		return false;
	for (size_t i = 0; c->escape && i < ARRAY_LEN(escapes); i++)
		if (!strcmp(symbol, escapes[i]))
			return true;
	return c->aggressive && !strcmp(symbol, "@-@");
}

struct symbol_list {
	char **items; /* owned; the texts are borrowed from a struct conf */
	size_t n, cap;
};

static bool has_symbol(const struct symbol_list *l, const char *symbol)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->items[i], symbol))
			return true;
	return false;
}

static int add_list_symbols(struct symbol_list *l, const struct conf_list *from, bool are_tags,
			    struct err *e)
{
	for (size_t i = 0; i < from->n; i++) {
		if (are_tags && (!strcmp(from->items[i], "-") || has_symbol(l, from->items[i])))
			continue;
		if (mem_grow(&l->items, &l->cap, l->n + 1, sizeof(*l->items), e))
			return e->code;
		l->items[l->n++] = from->items[i];
	}
	return 0;
}

/* The symbols of the option protect, then the tags. */
static int list_symbols(struct symbol_list *l, const struct conf *c, struct err *e)
{
	const struct conf_list *const tags[] = { &c->train_tags, &c->dev_tags, &c->test_tags };
	int rc = add_list_symbols(l, &c->protect, false, e);

	for (size_t i = 0; !rc && i < ARRAY_LEN(tags); i++)
		rc = add_list_symbols(l, tags[i], true, e);
	return rc;
}

int pipeline_symbols(struct protect **out, const struct conf *c, struct err *e)
{
	struct symbol_list l = { 0 };
	int rc = list_symbols(&l, c, e);

	*out = NULL;
	if (!rc)
		rc = protect_open(out, l.items, l.n, e);
	for (size_t i = 0; !rc && i < l.n; i++)
		if (is_token_of_tokenizer(c, l.items[i]))
			rc = err_set(e, ERR_CONFIG,
				     "protect: the tokenizer writes \"%s\" for another character: "
				     "choose another symbol, or set tokenize = no",
				     l.items[i]);
	free(l.items);
	if (rc) {
		protect_close(*out);
		*out = NULL;
	}
	return rc;
}

const struct protect *pipeline_protect(const struct pipeline *p)
{
	return p->protect;
}

static int open_subword(struct pipeline *p, enum pipeline_side side, const char *folder,
			const struct conf *c, struct err *e)
{
	char *path = file_path(e, "%s/%s", folder, text_codes_file(c, (int)side));
	struct subword *s = &p->subwords[side];

	if (path && text_segmentation(c, (int)side) == SEGMENTATION_BPE)
		s->bpe = bpe_open(path, e);
	else if (path)
		s->sp = sp_open(path, e);
	free(path);
	if (s->bpe)
		bpe_protect(s->bpe, p->protect, pipeline_where(c, side));
	return s->bpe || s->sp ? 0 : e->code;
}

/* ERR_DATA: a protected symbol is not in the vocabulary, so it would become <unk>. */
static int check_symbols(const struct pipeline *p, enum pipeline_side side, const char *folder,
			 const struct conf *c, struct err *e)
{
	for (size_t i = 0; i < protect_count(p->protect); i++) {
		const char *symbol = protect_symbol(p->protect, i);

		if (vocab_id(p->sides[side].vocab, symbol, strlen(symbol)) == TOKEN_UNKNOWN)
			return err_set(e, ERR_DATA,
				       "%s/%s: the protected symbol %s is missing: the pieces were "
				       "learned without it",
				       folder, text_vocabulary_file(c, (int)side), symbol);
	}
	return 0;
}

/* Finds the first token of a side by its name, which can be that of a special token. */
static int find_first_token(struct pipeline *p, enum pipeline_side side, const char *folder,
			    const struct conf *c, struct err *e)
{
	const char *name = side == SIDE_SOURCE ? c->source_first_token : c->target_first_token;
	const struct vocab *v = p->sides[side].vocab;
	int32_t *first = &p->sides[side].first;

	if (!name || !*name)
		return 0;
	*first = vocab_named_id(v, name);
	if (*first == TOKEN_UNKNOWN || *first == TOKEN_PAD)
		return err_set(e, ERR_DATA,
			       "%s/%s: the token \"%.60s\" of the option %s is missing", folder,
			       text_vocabulary_file(c, (int)side), name,
			       side == SIDE_SOURCE ? "source_first_token" : "target_first_token");
	return 0;
}

static int open_vocabs(struct pipeline *p, const char *folder, const struct conf *c, struct err *e)
{
	if (vocabs_open(&p->vocabs, folder, c, e))
		return e->code;
	p->sides[SIDE_SOURCE].vocab = p->vocabs.source;
	p->sides[SIDE_TARGET].vocab = p->vocabs.target;
	return check_symbols(p, SIDE_SOURCE, folder, c, e) ||
			       check_symbols(p, SIDE_TARGET, folder, c, e) ||
			       find_first_token(p, SIDE_SOURCE, folder, c, e) ||
			       find_first_token(p, SIDE_TARGET, folder, c, e)
		       ? e->code
		       : 0;
}

/* Open the subword models of both sides; both share one if there is only one. */
static int open_sides(struct pipeline *p, const char *folder, const struct conf *c, struct err *e)
{
	const int n = text_subword_models(c);

	for (int side = 0; side < N_SIDES; side++)
		p->sides[side].subword = &p->subwords[side < n ? side : 0];
	for (int side = 0; folder && side < n; side++)
		if (open_subword(p, (enum pipeline_side)side, folder, c, e))
			return e->code;
	return 0;
}

struct pipeline *pipeline_open_pieces(const char *folder, const struct conf *c, struct err *e)
{
	struct pipeline *p = mem_alloc(1, sizeof(*p), e);

	if (!p)
		return NULL;
	if (!text_sides_check(c, e) && !pipeline_symbols(&p->protect, c, e) &&
	    (p->pairs = pair_tools_open(c, e)) && !open_sides(p, folder, c, e)) {
		pipeline_follow_line(p, "", 0);
		return p;
	}
	pipeline_close(p);
	return NULL;
}

struct pipeline *pipeline_open(const char *folder, const struct conf *c, struct err *e)
{
	struct pipeline *p = pipeline_open_pieces(folder, c, e);

	if (!p || !folder || !open_vocabs(p, folder, c, e))
		return p;
	pipeline_close(p);
	return NULL;
}

const struct vocabs *pipeline_vocabs(const struct pipeline *p)
{
	return &p->vocabs;
}

const struct vocab *pipeline_vocab(const struct pipeline *p, enum pipeline_side side)
{
	return p->sides[side].vocab;
}

int32_t pipeline_first_token(const struct pipeline *p, enum pipeline_side side)
{
	return p->sides[side].first;
}

bool pipeline_is_sentencepiece(const struct pipeline *p, enum pipeline_side side)
{
	return p->sides[side].subword->sp != NULL;
}

const struct intern *pipeline_piece_order(const struct pipeline *p, enum pipeline_side side)
{
	const struct sp *sp = p->sides[side].subword->sp;

	return sp ? sp_pieces(sp) : NULL;
}

void pipeline_follow_line(struct pipeline *p, const char *line, size_t n)
{
	p->tools = pair_tools_of_line(p->pairs, line, n);
}

/* The tag is the first piece, or the second after a blank of SentencePiece. */
static void follow_ids(struct pipeline *p, const struct vocab *v, const int32_t *ids, size_t n)
{
	const struct text_tools *others = pair_tools_of_line(p->pairs, "", 0);

	p->tools = others;
	for (size_t i = 0; i < n && i < 2 && p->tools == others; i++)
		if (ids[i] >= 0 && ids[i] < vocab_size(v))
			pipeline_follow_line(p, vocab_piece(v, ids[i]),
					     strlen(vocab_piece(v, ids[i])));
}

static int tokenize_masked(struct pipeline *p, enum pipeline_side side, const char *line, size_t n,
			   struct buf *out, struct err *e)
{
	const struct text_tools *s = &p->tools[side];

	if (s->normalizer) {
		buf_clear(&p->a);
		if (normalizer_line(s->normalizer, line, n, &p->a, e) || buf_check(&p->a, e))
			return e->code;
		line = buf_text(&p->a);
		n = p->a.len;
	}
	if (s->tokenizer)
		return tokenizer_line(s->tokenizer, line, n, out, e);
	buf_add(out, line, n);
	return buf_check(out, e);
}

int pipeline_tokenize(struct pipeline *p, enum pipeline_side side, const char *line, size_t n,
		      struct buf *out, struct err *e)
{
	struct protect_masked *m = &p->masked;

	if (side == SIDE_SOURCE)
		pipeline_follow_line(p, line, n);
	if (protect_mask(p->protect, PROTECT_ANYWHERE, line, n, m, e))
		return e->code;
	if (!m->n)
		return tokenize_masked(p, side, line, n, out, e);
	buf_clear(&p->marked);
	if (tokenize_masked(p, side, m->line, m->n_line, &p->marked, e))
		return e->code;
	return protect_unmask(p->protect, m, buf_text(&p->marked), p->marked.len, out, e);
}

/*
 * Bytes of the protected symbol at the start of a line, if the SentencePiece model has no such piece: the symbol
 * is then one token before the pieces of the text, as in OPUS-MT's models (">>deu<< Hello"). 0: there is none.
 */
static size_t leading_symbol(const struct pipeline *p, const struct subword *s, const char *line,
			     size_t n)
{
	size_t len;

	if (!s->sp || !p->protect || protect_find(p->protect, line, n, &len) != 0 || !len)
		return 0;
	return intern_find(sp_pieces(s->sp), line, len) < 0 ? len : 0;
}

int pipeline_word_pieces(struct pipeline *p, enum pipeline_side side, const char *word, size_t n,
			 struct buf *out, struct err *e)
{
	struct subword *s = p->sides[side].subword;
	const size_t n_symbol = leading_symbol(p, s, word, n);

	assert(!s->sp != !s->bpe);
	if (n_symbol) {
		buf_add(out, word, n_symbol);
		buf_add_char(out, ' ');
		word += n_symbol;
		n -= n_symbol;
	}
	return s->sp ? sp_apply_line(s->sp, word, n, out, e)
		     : bpe_apply_line(s->bpe, word, n, out, e);
}

int pipeline_pieces_to_ids(const struct vocab *v, const char *pieces, size_t n, int32_t **ids,
			   size_t *n_ids, size_t *cap, struct err *e)
{
	const char *end = pieces + n, *piece;
	size_t n_piece;

	while ((piece = chars_next_word(&pieces, end, &n_piece)) != NULL) {
		if (mem_grow(ids, cap, *n_ids + 1, sizeof(**ids), e))
			return e->code;
		(*ids)[(*n_ids)++] = vocab_id(v, piece, n_piece);
	}
	return 0;
}

int pipeline_encode_part(struct pipeline *p, enum pipeline_side side, const char *line, size_t n,
			 int32_t **ids, size_t *n_ids, size_t *cap, struct err *e)
{
	const struct vocab *v = pipeline_vocab(p, side);

	assert(v);
	buf_clear(&p->b);
	if (pipeline_tokenize(p, side, line, n, &p->b, e))
		return e->code;
	/* p->b holds the tokens; p->a is free for the pieces */
	buf_clear(&p->a);
	if (pipeline_word_pieces(p, side, buf_text(&p->b), p->b.len, &p->a, e))
		return e->code;
	return pipeline_pieces_to_ids(v, buf_text(&p->a), p->a.len, ids, n_ids, cap, e);
}

int pipeline_encode(struct pipeline *p, enum pipeline_side side, const char *line, size_t n,
		    int32_t **ids, size_t *n_ids, size_t *cap, struct err *e)
{
	const int32_t first = pipeline_first_token(p, side);

	if (first != TOKEN_PAD && mem_grow(ids, cap, *n_ids + 1, sizeof(**ids), e))
		return e->code;
	if (first != TOKEN_PAD)
		(*ids)[(*n_ids)++] = first;
	return pipeline_encode_part(p, side, line, n, ids, n_ids, cap, e);
}

/* Append the detokenised p->b. */
static int detokenize_masked(struct pipeline *p, struct detokenizer *d, struct buf *out,
			     struct err *e)
{
	struct protect_masked *m = &p->masked;

	if (protect_mask(p->protect, PROTECT_WORDS, buf_text(&p->b), p->b.len, m, e))
		return e->code;
	if (!m->n)
		return detokenizer_line(d, m->line, m->n_line, out, e);
	buf_clear(&p->marked);
	if (detokenizer_line(d, m->line, m->n_line, &p->marked, e))
		return e->code;
	return protect_unmask(p->protect, m, buf_text(&p->marked), p->marked.len, out, e);
}

int pipeline_decode(struct pipeline *p, enum pipeline_side side, const int32_t *ids, size_t n,
		    struct buf *out, struct err *e)
{
	return pipeline_decode_words(p, side, ids, n, NULL, out, e);
}

int pipeline_decode_words(struct pipeline *p, enum pipeline_side side, const int32_t *ids, size_t n,
			  char *const *words, struct buf *out, struct err *e)
{
	struct side *s = &p->sides[side];
	struct sp *sp = s->subword->sp;
	const struct vocab *v = s->vocab;

	buf_clear(&p->a);
	buf_clear(&p->b);
	if (side == SIDE_SOURCE)
		follow_ids(p, v, ids, n);
	for (size_t i = 0; i < n; i++) {
		const char *word = words ? words[i] : NULL;

		if (ids[i] < 0 || ids[i] >= vocab_size(v))
			return err_set(e, ERR_DATA,
				       "token id %d is outside the vocabulary of %d entries",
				       (int)ids[i], (int)vocab_size(v));
		if (ids[i] == TOKEN_PAD || ids[i] == TOKEN_END || ids[i] == TOKEN_START ||
		    (!i && ids[i] == s->first) || (word && !*word))
			continue;
		if (p->a.len)
			buf_add_char(&p->a, ' ');
		buf_add_str(&p->a, word ? word : vocab_piece(v, ids[i]));
	}
	if (sp && sp_undo_line(sp, buf_text(&p->a), p->a.len, &p->b, e))
		return e->code;
	if (!sp)
		bpe_undo_line("@@", buf_text(&p->a), p->a.len, &p->b);
	if (buf_check(&p->a, e) || buf_check(&p->b, e))
		return e->code;
	if (p->tools[side].detokenizer)
		return detokenize_masked(p, p->tools[side].detokenizer, out, e);
	buf_add(out, buf_text(&p->b), p->b.len);
	return buf_check(out, e);
}

void pipeline_close(struct pipeline *p)
{
	enum pipeline_side side;

	if (!p)
		return;
	for (side = SIDE_SOURCE; side <= SIDE_TARGET; side++) {
		bpe_close(p->subwords[side].bpe);
		sp_close(p->subwords[side].sp);
	}
	vocabs_close(&p->vocabs);
	pair_tools_close(p->pairs);
	protect_close(p->protect);
	protect_masked_free(&p->masked);
	buf_free(&p->a);
	buf_free(&p->b);
	buf_free(&p->marked);
	free(p);
}
