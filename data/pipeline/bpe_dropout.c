/*
 * bpe_dropout.c - BPE-dropout on token ids, with a cache of words: see bpe_dropout.h
 *
 * A step tries the rules that could apply, the best one first: each draws 16 random bits, and is dropped
 * for this step if they are below the threshold. The first rule that is not dropped is applied, as in
 * Provilkov et al. 2020, algorithm 1. With probability 0 the usual pieces result. Mostly no rule of a
 * word is dropped, and then its usual pieces are known without merging.
 *
 * The draws are a function of (seed, epoch, pair, side, word) by a counter-based generator (rng.h):
 * a resumed run, and any number of loader threads, split each sentence in the same way.
 *
 * The cache holds the characters of each word as symbols, not its pieces, which differ each time.
 */
#include "data/pipeline/bpe_dropout.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/pipeline.h"
#include "data/subword/bpe_codes.h"
#include "data/subword/bpe_line.h"
#include "share/base/mem.h"
#include "share/base/rng.h"

#define CACHE_BYTES ((size_t)64 << 20) /* a fuller cache is emptied */
#define MARK	    "@@"
#define MARK_BYTES  2
#define SP_SPACE    "\xe2\x96\x81" /* U+2581 */
#define ALWAYS	    65536u	   /* draws are less than this */
#define STALE	    -2		   /* the rule must be looked up again */

/* Random draws of 16 bits, eight a block; block i of a word is at position 2^20 * pair + i. */
struct draws {
	struct rng_key key;
	uint64_t position;
	struct rng_block block;
	uint32_t n;
};

/* A cached word. */
struct word {
	size_t start; /* its characters as symbols, in struct bpe_dropout.symbols */
	int32_t n;
	int32_t merges; /* that build its usual pieces; 0: no other split is possible */
};

/*
 * A symbol is a number in codes.symbols, or, for a character that is in no merge, -1 - its id in
 * the vocabulary.
 */
struct bpe_dropout {
	const struct vocab *vocab; /* borrowed */
	struct bpe_codes codes;
	bool is_bpe;
	struct protect *protect; /* words with these symbols keep their pieces; NULL: none */
	uint32_t threshold;	 /* a draw below it drops the merge */
	uint64_t seed;
	bool *goes_on;	       /* owned: (vocabulary) see find_borders() */
	int32_t *id_of_symbol; /* owned: (codes.symbols.n) -1: not in the vocabulary */

	struct intern known; /* words, as the bytes of their ids */
	struct word *words;  /* owned: (known.n) */
	size_t cap_words;
	int32_t *symbols; /* owned */
	size_t n_symbols, cap_symbols;
	int32_t *of_one; /* owned: (vocabulary) word of this single piece; -1: not seen */

	int32_t *at;		      /* owned: (n) symbols of the current word */
	struct rule {		      /* owned: (n) of each symbol and the next one */
		int32_t rank, merged; /* rank -1: they do not merge; or STALE */
		bool is_out;	      /* dropped at this step */
	} * rules;
	size_t cap_at, cap_rules;
	int32_t n; /* symbols of the current word */
	struct buf text;
};

/* ---- opening ---- */

static int find_ids(struct bpe_dropout *d, struct err *e)
{
	const struct intern *symbols = &d->codes.symbols;

	d->id_of_symbol = mem_alloc((size_t)symbols->n, sizeof(*d->id_of_symbol), e);
	for (int32_t i = 0; d->id_of_symbol && i < symbols->n; i++) {
		size_t n;
		const char *text = intern_text(symbols, i, &n);
		bool is_end = n > BPE_WORD_END_BYTES && !memcmp(text + n - BPE_WORD_END_BYTES,
								BPE_WORD_END, BPE_WORD_END_BYTES);

		buf_clear(&d->text);
		buf_add(&d->text, text, d->is_bpe && is_end ? n - BPE_WORD_END_BYTES : n);
		if (d->is_bpe && !is_end)
			buf_add_str(&d->text, MARK);
		if (buf_check(&d->text, e))
			return e->code;
		d->id_of_symbol[i] = vocab_id(d->vocab, d->text.data, d->text.len);
		if (d->id_of_symbol[i] == TOKEN_UNKNOWN)
			d->id_of_symbol[i] = -1;
	}
	return d->id_of_symbol ? 0 : e->code;
}

static int find_borders(struct bpe_dropout *d, struct err *e)
{
	int32_t size = vocab_size(d->vocab);

	d->goes_on = mem_alloc((size_t)size, sizeof(*d->goes_on), e);
	d->of_one = d->goes_on ? mem_alloc((size_t)size, sizeof(*d->of_one), e) : NULL;
	for (int32_t i = 0; d->of_one && i < size; i++) {
		const char *text = vocab_piece(d->vocab, i);
		size_t n = strlen(text);

		d->of_one[i] = -1;
		if (d->is_bpe) /* is the next piece of the same word? */
			d->goes_on[i] = n > MARK_BYTES && !strcmp(text + n - MARK_BYTES, MARK);
		else /* does this piece continue the word of the piece before? */
			d->goes_on[i] = strncmp(text, SP_SPACE, strlen(SP_SPACE)) != 0;
	}
	return d->of_one ? 0 : e->code;
}

static int read_merges(struct bpe_dropout *d, const char *folder, const struct conf *c, int side,
		       struct err *e)
{
	int rc = vocabs_read_merges(&d->codes, folder, c, side, d->vocab, e);

	if (!rc && d->is_bpe && d->codes.has_end_symbol)
		rc = err_set(e, ERR_DATA,
			     "%s/%s: BPE-dropout needs BPE codes of version 0.2, found 0.1; "
			     "prepare the corpus again",
			     folder, text_codes_file(c, side));
	return rc;
}

struct bpe_dropout *bpe_dropout_open(const char *folder, const struct conf *c, int side,
				     const struct vocab *v, struct err *e)
{
	struct bpe_dropout *d = mem_alloc(1, sizeof(*d), e);

	if (!d)
		return NULL;
	d->vocab = v;
	d->is_bpe = text_segmentation(c, side) == SEGMENTATION_BPE;
	d->threshold = (uint32_t)(c->bpe_dropout * ALWAYS + 0.5);
	d->seed = (uint64_t)c->seed;
	if (!pipeline_symbols(&d->protect, c, e) && !read_merges(d, folder, c, side, e) &&
	    !find_ids(d, e) && !find_borders(d, e))
		return d;
	bpe_dropout_close(d);
	return NULL;
}

static void dropout_clear_cache(struct bpe_dropout *d)
{
	intern_free(&d->known);
	d->n_symbols = 0;
	for (int32_t i = 0; i < vocab_size(d->vocab); i++)
		d->of_one[i] = -1;
}

void bpe_dropout_close(struct bpe_dropout *d)
{
	if (!d)
		return;
	bpe_codes_free(&d->codes);
	protect_close(d->protect);
	free(d->goes_on);
	free(d->id_of_symbol);
	intern_free(&d->known);
	free(d->words);
	free(d->symbols);
	free(d->of_one);
	free(d->at);
	free(d->rules);
	buf_free(&d->text);
	free(d);
}

/* ---- merging ---- */

static inline bool is_merge_dropped(const struct bpe_dropout *d, struct draws *r)
{
	uint32_t k = r->n++ & 7, two;

	if (!k)
		r->block = rng_block_at(r->key, r->position++);
	two = r->block.v[k >> 1];
	return (k & 1 ? two >> 16 : two & 0xFFFF) < d->threshold;
}

/* Look up the rules of symbols that changed. No rule is dropped any more. */
static void find_rules(struct bpe_dropout *d)
{
	for (int32_t i = 0; i < d->n; i++) {
		const struct bpe_rule *r;

		d->rules[i].is_out = false;
		if (d->rules[i].rank != STALE)
			continue;
		r = i + 1 < d->n ? bpe_codes_find(&d->codes, d->at[i], d->at[i + 1]) : NULL;
		d->rules[i].rank = r ? r->rank : -1;
		d->rules[i].merged = r ? r->merged : -1;
	}
}

/* The best merge that is not dropped: lowest rank, then leftmost. -1: none. */
static int32_t dropout_best_merge(const struct bpe_dropout *d)
{
	int32_t best = -1;

	for (int32_t i = 0; i + 1 < d->n; i++)
		if (d->rules[i].rank >= 0 && !d->rules[i].is_out &&
		    (best < 0 || d->rules[i].rank < d->rules[best].rank))
			best = i;
	return best;
}

/* Apply this merge, and all later ones of the same rank that are not dropped and do not overlap. */
static int32_t merge_all(struct bpe_dropout *d, int32_t first, struct draws *r)
{
	int32_t rank = d->rules[first].rank, to = first, merges = 0;

	assert(rank >= 0 && first + 1 < d->n);
	for (int32_t i = first; i < d->n; to++) {
		bool same = d->rules[i].rank == rank && !d->rules[i].is_out;

		if (same && (i == first || !r || !is_merge_dropped(d, r))) {
			d->at[to] = d->rules[i].merged;
			d->rules[to].rank = STALE;
			if (to)
				d->rules[to - 1].rank = STALE;
			merges++;
			i += 2;
		} else {
			d->at[to] = d->at[i];
			d->rules[to] = d->rules[i++];
		}
	}
	d->n = to;
	return merges;
}

/*
 * Merge the symbols of the current word. Each step considers all possible merges again. It draws
 * for the best merge; if that is dropped, for the next best, and so on. Draws for the others
 * would not change the result. r NULL: no merge is dropped. Returns the number of merges.
 */
static int32_t merge_symbols(struct bpe_dropout *d, struct draws *r)
{
	int32_t merges = 0, best;

	for (;;) {
		find_rules(d);
		while ((best = dropout_best_merge(d)) >= 0 && r && is_merge_dropped(d, r))
			d->rules[best].is_out = true;
		if (best < 0)
			return merges;
		merges += merge_all(d, best, r);
	}
}

static int dropout_load_word(struct bpe_dropout *d, const int32_t *symbols, int32_t n,
			     struct err *e)
{
	if (mem_grow(&d->at, &d->cap_at, (size_t)n, sizeof(*d->at), e) ||
	    mem_grow(&d->rules, &d->cap_rules, (size_t)n, sizeof(*d->rules), e))
		return e->code;
	memcpy(d->at, symbols, (size_t)n * sizeof(*symbols));
	for (int32_t i = 0; i < n; i++)
		d->rules[i].rank = STALE;
	d->n = n;
	return 0;
}

/* ---- symbols and ids ---- */

struct ids {
	int32_t **at;
	size_t *n, *cap;
};

/* Append the ids of a symbol. *good becomes false: the vocabulary has no pieces for it. */
static int dropout_add_symbol(const struct bpe_dropout *d, int32_t symbol, struct ids *out,
			      bool *good, struct err *e)
{
	int32_t id = symbol < 0 ? -1 - symbol : d->id_of_symbol[symbol];

	if (id < 0 && d->codes.parts[symbol].left >= 0) {
		if (dropout_add_symbol(d, d->codes.parts[symbol].left, out, good, e))
			return e->code;
		return dropout_add_symbol(d, d->codes.parts[symbol].right, out, good, e);
	}
	*good = *good && id >= 0;
	if (mem_grow(out->at, out->cap, *out->n + 1, sizeof(**out->at), e))
		return e->code;
	(*out->at)[(*out->n)++] = id;
	return 0;
}

/*
 * Append the ids of the current word. *good false: the vocabulary lacks a piece; nothing is
 * appended.
 */
static int add_symbols(const struct bpe_dropout *d, struct ids *out, bool *good, struct err *e)
{
	size_t before = *out->n;

	*good = true;
	for (int32_t i = 0; i < d->n && *good; i++)
		if (dropout_add_symbol(d, d->at[i], out, good, e))
			return e->code;
	if (!*good)
		*out->n = before;
	return 0;
}

/* Join the pieces of a word to d->text. false: one of them is a special token. */
static bool dropout_join_pieces(struct bpe_dropout *d, const int32_t *ids, int32_t n)
{
	buf_clear(&d->text);
	for (int32_t i = 0; i < n; i++) {
		const char *text = vocab_piece(d->vocab, ids[i]);
		size_t len = strlen(text);

		if (ids[i] < N_SPECIAL_TOKENS)
			return false;
		buf_add(&d->text, text, d->is_bpe && d->goes_on[ids[i]] ? len - MARK_BYTES : len);
	}
	return d->text.len > 0;
}

static int32_t symbol_of(const struct bpe_dropout *d, const char *text, size_t n, bool is_last)
{
	char name[4 + BPE_WORD_END_BYTES];
	size_t len = n;
	int32_t symbol;

	memcpy(name, text, n);
	if (d->is_bpe && is_last) {
		memcpy(name + n, BPE_WORD_END, BPE_WORD_END_BYTES);
		len += BPE_WORD_END_BYTES;
	}
	symbol = intern_find(&d->codes.symbols, name, len);
	if (symbol >= 0)
		return symbol;
	if (d->is_bpe && !is_last) {
		memcpy(name + n, MARK, MARK_BYTES);
		n += MARK_BYTES;
	}
	return -1 - vocab_id(d->vocab, name, n);
}

/* Append the characters of d->text to d->symbols. */
static int dropout_split_text(struct bpe_dropout *d, struct word *w, struct err *e)
{
	const char *text = d->text.data;
	size_t n = d->text.len;

	for (size_t i = 0, len; i < n; i += len) {
		len = bpe_char_length(text + i, n - i);
		if (mem_grow(&d->symbols, &d->cap_symbols, d->n_symbols + 1, sizeof(*d->symbols),
			     e))
			return e->code;
		d->symbols[d->n_symbols++] = symbol_of(d, text + i, len, i + len == n);
		w->n++;
	}
	return 0;
}

/*
 * If merging without dropout gives exactly these pieces, set w->merges. Otherwise w->merges stays
 * 0, as for a single character, and the word always keeps its pieces.
 */
static int try_merging(struct bpe_dropout *d, struct word *w, const int32_t *ids, int32_t n,
		       struct err *e)
{
	int32_t *again = NULL;
	size_t n_again = 0, cap = 0;
	struct ids out = { &again, &n_again, &cap };
	bool good = false;
	int32_t merges = 0;
	int rc = dropout_load_word(d, d->symbols + w->start, w->n, e);

	if (!rc) {
		merges = merge_symbols(d, NULL);
		rc = add_symbols(d, &out, &good, e);
	}
	if (!rc && good && n_again == (size_t)n && !memcmp(again, ids, n_again * sizeof(*again)))
		w->merges = merges;
	free(again);
	return rc;
}

static int learn_word(struct bpe_dropout *d, struct word *w, const int32_t *ids, int32_t n,
		      struct err *e)
{
	size_t len;

	*w = (struct word){ .start = d->n_symbols };
	if (!dropout_join_pieces(d, ids, n))
		return buf_check(&d->text, e);
	if (d->text.len && protect_find(d->protect, d->text.data, d->text.len, &len) < d->text.len)
		return 0;
	if (buf_check(&d->text, e) || dropout_split_text(d, w, e))
		return e->code;
	return try_merging(d, w, ids, n, e);
}

static int dropout_find_word(struct bpe_dropout *d, const int32_t *ids, int32_t n,
			     const struct word **w, struct err *e)
{
	int32_t i = n == 1 ? d->of_one[*ids] : -1, known = d->known.n;

	if (i < 0) {
		if (intern_memory(&d->known) + d->n_symbols * sizeof(*d->symbols) > CACHE_BYTES) {
			dropout_clear_cache(d);
			known = 0;
		}
		if (mem_grow(&d->words, &d->cap_words, (size_t)known + 1, sizeof(*d->words), e) ||
		    intern_add(&d->known, (const char *)ids, (size_t)n * sizeof(*ids), &i, e))
			return e->code;
		if (i == known && learn_word(d, &d->words[i], ids, n, e))
			return e->code;
		if (n == 1)
			d->of_one[*ids] = i;
	}
	*w = &d->words[i];
	return 0;
}

/* ---- sentences ---- */

static int add_ids(struct ids *out, const int32_t *ids, int32_t n, struct err *e)
{
	if (mem_grow(out->at, out->cap, *out->n + (size_t)n, sizeof(*ids), e))
		return e->code;
	memcpy(*out->at + *out->n, ids, (size_t)n * sizeof(*ids));
	*out->n += (size_t)n;
	return 0;
}

static int split_word(struct bpe_dropout *d, struct draws *r, const int32_t *ids, int32_t n,
		      struct ids *out, struct err *e)
{
	struct draws again = *r;
	const struct word *w = NULL;
	int32_t kept = 0;
	bool good;

	if (dropout_find_word(d, ids, n, &w, e))
		return e->code;
	/* Mostly no merge is dropped. Then one draw for each merge is enough to know the result. */
	while (kept < w->merges && !is_merge_dropped(d, r))
		kept++;
	if (kept == w->merges)
		return add_ids(out, ids, n, e);
	if (dropout_load_word(d, d->symbols + w->start, w->n, e))
		return e->code;
	merge_symbols(d, &again);
	if (add_symbols(d, out, &good, e))
		return e->code;
	return good ? 0 : add_ids(out, ids, n, e);
}

static int32_t end_of_word(const struct bpe_dropout *d, const int32_t *ids, int32_t from, int32_t n)
{
	int32_t end = from + 1;

	while (end < n && d->goes_on[d->is_bpe ? ids[end - 1] : ids[end]])
		end++;
	return end;
}

int bpe_dropout_sentence(struct bpe_dropout *d, const struct resplit_key *place, const int32_t *ids,
			 int32_t n, int32_t **out, size_t *n_out, size_t *cap, struct err *e)
{
	struct ids to = { out, n_out, cap };
	uint32_t word = 0;

	for (int32_t i = 0, end; i < n; i = end, word++) {
		struct draws r = {
			.key = rng_key_make(d->seed, RNG_PIECES | place->side << 8, place->epoch,
					    word),
			.position = (uint64_t)place->pair << 20,
		};

		end = end_of_word(d, ids, i, n);
		if (split_word(d, &r, ids + i, end - i, &to, e))
			return e->code;
	}
	return 0;
}
