/*
 * sp_learn.c - learns a SentencePiece model, with the defaults of SentencePiece's trainer: see sp.h
 *
 * Both kinds of model share the normalised words, the characters and the special tokens. For a unigram
 * model see unigram_learn.h. BPE: words begin with "▁". A piece has at most 16 characters, all of one script. The most frequent
 * pair is merged; among equals the one with fewer characters, then the first by bytes. A pair
 * whose joined string is a piece already (ab+c after a+bc) is never merged. bpe_merger.h counts
 * and merges pairs.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/sentencepiece/sp.h"
#include "data/sentencepiece/sp_model.h"
#include "data/sentencepiece/sp_rules.h"
#include "data/sentencepiece/unigram_learn.h"
#include "data/subword/bpe_line.h"
#include "data/subword/bpe_merger.h"
#include "data/text/icu.h"
#include "data/words/text_counts.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define MAX_PIECE    16 /* characters */
#define N_CODEPOINTS 0x110000
#define ANY_SCRIPT   (-1)

static const char *const specials[] = { "<pad>", "</s>", "<s>", "<unk>" };
static const enum sp_type special_types[] = { SP_CONTROL, SP_CONTROL, SP_CONTROL, SP_UNKNOWN };

/* Facts about the characters of a symbol that decide whether it may be merged. */
struct facts {
	int chars;	 /* 0: facts not known yet */
	int first, last; /* scripts of both ends; ANY_SCRIPT: merges with all */
};

struct character {
	uint32_t codepoint;
	int64_t count;
};

struct learning {
	struct sp_normalizer normalizer;
	struct buf rules;	  /* rules of the normalizer, in bytes */
	struct text_counts words; /* normalised, each begins with "▁" */
	int64_t *char_counts; /* owned: (N_CODEPOINTS); later 1 for characters of the vocabulary */
	struct character *chars; /* owned: characters of the vocabulary, most frequent first */
	size_t n_chars;
	struct bpe_merger merger;
	struct facts *facts; /* owned: of symbols */
	int32_t *symbols;    /* owned: work space for one word */
	size_t cap_symbols;
	struct buf text;
	int threads; /* of a unigram model's learner */
	struct sp_model model;
};

/* ---- words as the trainer sees them ---- */

/* Replace names of special tokens in the text by tabs, which no piece may hold. */
static void hide_specials(struct buf *text)
{
	for (size_t i = 0; i < ARRAY_LEN(specials); i++) {
		size_t n = strlen(specials[i]);
		char *at = text->data;

		while ((at = memmem(at, text->len - (size_t)(at - text->data), specials[i], n))) {
			*at = '\t';
			memmove(at + 1, at + n, text->len - (size_t)(at + n - text->data));
			buf_truncate(text, text->len - n + 1);
		}
	}
}

/* Replace user-defined symbols by tabs. */
static void hide_symbols(const struct charsmap *symbols, struct buf *text)
{
	size_t to = 0;

	for (size_t at = 0, len; at < text->len; at += len) {
		const size_t symbol =
			charsmap_match(symbols, text->data + at, text->len - at, NULL, NULL);

		len = symbol ? symbol : bpe_char_length(text->data + at, text->len - at);
		if (symbol)
			text->data[to++] = '\t';
		else
			memmove(text->data + to, text->data + at, len);
		to += symbol ? 0 : len;
	}
	buf_truncate(text, to);
}

/* Count the words, each from one "▁" to the next, and all characters. */
static int count_normalized(struct learning *k, int64_t count, struct err *e)
{
	const char *text = k->text.data, *end = text + k->text.len;

	for (const char *next; text < end; text = next) {
		next = memmem(text + 1, (size_t)(end - text - 1), SP_SPACE, SP_SPACE_BYTES);
		if (!next)
			next = end;
		if (text_counts_add(&k->words, text, (size_t)(next - text), count, e))
			return e->code;
		for (const char *at = text; at < next;) {
			uint32_t c;

			at += utf8_decode(at, (size_t)(next - at), &c);
			if (c)
				k->char_counts[c] += count;
		}
	}
	return 0;
}

/* Normalise a raw word, and count what it becomes. */
static int add_raw_count(void *context, const char *text, size_t n, int64_t count, struct err *e)
{
	struct learning *k = context;

	buf_clear(&k->text);
	if (sp_normalize(&k->normalizer, text, n, &k->text, NULL, e))
		return e->code;
	if (!k->text.len)
		return 0;
	if (k->normalizer.symbols.n_units)
		hide_symbols(&k->normalizer.symbols, &k->text);
	if (memchr(k->text.data, '<', k->text.len))
		hide_specials(&k->text);
	return count_normalized(k, count, e);
}

static int normalize_words(struct learning *k, struct word_counter *raw, struct err *e)
{
	k->char_counts = mem_alloc(N_CODEPOINTS, sizeof(*k->char_counts), e);
	if (!k->char_counts || sp_rules_nmt_nfkc(&k->rules, e) ||
	    charsmap_read(&k->normalizer.rules, k->rules.data, k->rules.len, "nmt_nfkc", e) ||
	    word_counter_drain(raw, add_raw_count, k, e))
		return e->code;
	if (!k->words.texts.n)
		return err_set(e, ERR_DATA, "cannot learn a vocabulary: the text is empty");
	return 0;
}

static int compare_characters(const void *a, const void *b)
{
	const struct character *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->codepoint > y->codepoint) - (x->codepoint < y->codepoint);
}

/*
 * Choose the characters of the vocabulary: nearly all. SentencePiece adds characters by frequency
 * until the covered share of the text, rounded to a float, is 1. So the rarest characters of a
 * large text are left out; the same happens here.
 */
static int choose_characters(struct learning *k, struct err *e)
{
	int64_t all = 0, covered = 0;
	size_t n = 0, used;

	for (uint32_t c = 0; c < N_CODEPOINTS; c++) {
		all += k->char_counts[c];
		n += k->char_counts[c] > 0;
	}
	k->chars = mem_alloc(n, sizeof(*k->chars), e);
	if (!k->chars)
		return e->code;
	n = 0;
	for (uint32_t c = 0; c < N_CODEPOINTS; c++)
		if (k->char_counts[c])
			k->chars[n++] = (struct character){ c, k->char_counts[c] };
	qsort(k->chars, n, sizeof(*k->chars), compare_characters);
	for (used = 0; used < n; used++) {
		if ((float)((double)covered / (double)all) >= 1)
			break;
		covered += k->chars[used].count;
	}
	for (size_t i = 0; i < used; i++)
		if (k->chars[i].codepoint != '\t')
			k->chars[k->n_chars++] = k->chars[i];
	/* from here on: 1 for characters of the vocabulary */
	memset(k->char_counts, 0, N_CODEPOINTS * sizeof(*k->char_counts));
	for (size_t i = 0; i < k->n_chars; i++)
		k->char_counts[k->chars[i].codepoint] = 1;
	return 0;
}

/* ---- merging ---- */

static struct facts find_facts(const char *text, size_t n)
{
	struct facts f = { .first = ANY_SCRIPT, .last = ANY_SCRIPT };

	for (size_t i = 0; i < n; f.chars++) {
		uint32_t c;
		int script;

		i += utf8_decode(text + i, n - i, &c);
		if (c == 0x2581)
			continue;
		script = icu_piece_script(c);
		if (script < 0)
			continue; /* takes the script of the character before */
		if (f.first == ANY_SCRIPT)
			f.first = script;
		f.last = script;
	}
	return f;
}

static struct facts symbol_facts(const struct bpe_merger *m, int32_t symbol)
{
	const struct learning *k = m->context;
	struct facts *f = &k->facts[symbol];

	if (!f->chars) {
		size_t n;
		const char *text = intern_text(&m->symbols, symbol, &n);

		*f = find_facts(text, n);
	}
	return *f;
}

static bool may_merge(const struct bpe_merger *m, int32_t left, int32_t right)
{
	struct facts a = symbol_facts(m, left), b = symbol_facts(m, right);

	return a.chars + b.chars <= MAX_PIECE &&
	       (a.last == ANY_SCRIPT || b.first == ANY_SCRIPT || a.last == b.first);
}

/* Compare the joined strings of two pairs by bytes. */
static int compare_joined(const struct bpe_merger *m, const struct bpe_pair *a,
			  const struct bpe_pair *b)
{
	char text[2][8 * MAX_PIECE]; /* a character has at most 4 bytes */
	size_t n[2];
	const struct bpe_pair *pairs[2] = { a, b };
	int d;

	for (int i = 0; i < 2; i++) {
		size_t n_left, n_right;
		const char *left = intern_text(&m->symbols, pairs[i]->left, &n_left);
		const char *right = intern_text(&m->symbols, pairs[i]->right, &n_right);

		assert(n_left + n_right <= sizeof(text[i]));
		memcpy(text[i], left, n_left);
		memcpy(text[i] + n_left, right, n_right);
		n[i] = n_left + n_right;
	}
	d = memcmp(text[0], text[1], MIN(n[0], n[1]));
	return d ? d : (n[0] > n[1]) - (n[0] < n[1]);
}

static bool sp_pair_is_before(const struct bpe_merger *m, const struct bpe_pair *a,
			      const struct bpe_pair *b)
{
	int chars_a = symbol_facts(m, a->left).chars + symbol_facts(m, a->right).chars;
	int chars_b = symbol_facts(m, b->left).chars + symbol_facts(m, b->right).chars;
	int d;

	if (chars_a != chars_b)
		return chars_a < chars_b;
	d = compare_joined(m, a, b);
	if (d)
		return d < 0;
	/* the same string from two pairs: the order in SentencePiece is arbitrary */
	return symbol_facts(m, a->left).chars < symbol_facts(m, b->left).chars;
}

static const struct bpe_dialect dialect = { .is_before = sp_pair_is_before,
					    .may_merge = may_merge };

/* Add a word, cut at characters outside the vocabulary. */
static int add_symbol_rows(struct learning *k, const char *text, size_t n, int64_t count,
			   struct err *e)
{
	size_t n_row = 0;

	for (size_t i = 0, len; i <= n; i += len) {
		uint32_t c = 0;

		len = i < n ? utf8_decode(text + i, n - i, &c) : 1;
		if (i < n && k->char_counts[c]) {
			if (mem_grow(&k->symbols, &k->cap_symbols, n_row + 1, sizeof(*k->symbols),
				     e) ||
			    bpe_merger_symbol(&k->merger, text + i, len, &k->symbols[n_row++], e))
				return e->code;
			continue;
		}
		if (n_row > 1 && bpe_merger_add_word(&k->merger, k->symbols, n_row, count, 0, e))
			return e->code;
		n_row = 0;
	}
	return 0;
}

static int start_merging(struct learning *k, size_t merges, struct err *e)
{
	k->merger.dialect = &dialect;
	k->merger.context = k;
	k->facts = mem_alloc(k->n_chars + merges + 1, sizeof(*k->facts), e);
	if (!k->facts)
		return e->code;
	for (int32_t i = 0; i < k->words.texts.n; i++) {
		size_t n;
		const char *text = intern_text(&k->words.texts, i, &n);

		if (add_symbol_rows(k, text, n, k->words.counts[i], e))
			return e->code;
	}
	text_counts_free(&k->words);
	return bpe_merger_start(&k->merger, e);
}

static int sp_learn_add_piece(struct learning *k, const char *text, size_t n, size_t number,
			      struct err *e)
{
	return sp_model_add(&k->model, text, n, -(float)number, SP_NORMAL, e);
}

static int merge_pairs(struct learning *k, size_t merges, struct err *e)
{
	size_t n_pieces = 0;
	uint32_t i;
	int got = 0;

	while (n_pieces < merges && (got = bpe_merger_best(&k->merger, &i, e)) > 0) {
		const struct bpe_pair *pair = &k->merger.pairs.all[i];
		int32_t merged;
		size_t n;
		const char *text;

		buf_clear(&k->text);
		text = intern_text(&k->merger.symbols, pair->left, &n);
		buf_add(&k->text, text, n);
		text = intern_text(&k->merger.symbols, pair->right, &n);
		buf_add(&k->text, text, n);
		if (buf_check(&k->text, e))
			return e->code;
		if (intern_find(&k->merger.symbols, k->text.data, k->text.len) >= 0) {
			bpe_merger_drop(&k->merger, i);
			continue;
		}
		if (sp_learn_add_piece(k, k->text.data, k->text.len, n_pieces++, e) ||
		    bpe_merger_merge(&k->merger, i, &merged, e))
			return e->code;
	}
	if (got < 0)
		return e->code;
	for (size_t c = 0; c < k->n_chars; c++) {
		char bytes[4];

		if (sp_learn_add_piece(k, bytes, utf8_encode(k->chars[c].codepoint, bytes),
				       n_pieces + c, e))
			return e->code;
	}
	return 0;
}

/* ---- all of it ---- */

/* The pieces that are not learned come first: special tokens, then protected symbols in their order. */
static int add_fixed_pieces(struct learning *k, const struct protect *symbols, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(specials); i++)
		if (sp_model_add(&k->model, specials[i], strlen(specials[i]), 0, special_types[i],
				 e))
			return e->code;
	for (size_t i = 0; i < protect_count(symbols); i++) {
		const char *text = protect_symbol(symbols, i);

		if (sp_model_add(&k->model, text, strlen(text), 0, SP_USER_DEFINED, e))
			return e->code;
	}
	return sp_model_symbols(&k->model, &k->normalizer.symbols, e);
}

static int add_unigram_piece(void *context, const char *text, size_t n, float score, struct err *e)
{
	struct learning *k = context;

	return sp_model_add(&k->model, text, n, score, SP_NORMAL, e);
}

static int learn_unigram(struct learning *k, int64_t vocabulary_size, struct err *e)
{
	struct unigram_learner *u = unigram_learner_new(&k->words, k->char_counts, k->threads, e);
	int rc = u ? unigram_learn(u, vocabulary_size, vocabulary_size - k->model.pieces.n, e)
		   : e->code;

	if (!rc)
		rc = unigram_visit_pieces(u, add_unigram_piece, k, e);
	unigram_learner_free(u);
	return rc;
}

static int learn_pieces(struct learning *k, int64_t vocabulary_size, struct err *e)
{
	size_t least, merges;

	if (choose_characters(k, e))
		return e->code;
	least = (size_t)k->model.pieces.n + k->n_chars;
	if ((uint64_t)vocabulary_size < least)
		return err_set(e, ERR_CONFIG,
			       "a vocabulary of %lld entries is too small: the text has %zu "
			       "different characters; ask for at least %zu entries "
			       "(--vocabulary-size)",
			       (long long)vocabulary_size, k->n_chars, least);
	if (k->model.is_unigram)
		return learn_unigram(k, vocabulary_size, e);
	merges = (size_t)vocabulary_size - least;
	if (start_merging(k, merges, e))
		return e->code;
	return merge_pairs(k, merges, e);
}

static int write_files(struct learning *k, const char *model_path, const char *vocab_path,
		       struct err *e)
{
	struct buf bytes = { 0 };
	int rc = sp_model_write(&k->model, "nmt_nfkc", &k->rules, &bytes, e);

	if (!rc)
		rc = file_write_all(model_path, bytes.data, bytes.len, e);
	buf_clear(&bytes);
	if (!rc && vocab_path)
		rc = sp_model_write_vocabulary(&k->model, &bytes, e);
	if (!rc && vocab_path)
		rc = file_write_all(vocab_path, bytes.data, bytes.len, e);
	buf_free(&bytes);
	return rc;
}

static int learn_model(struct learning *k, struct word_counter *words, int64_t vocabulary_size,
		       const struct protect *symbols, const char *model_path,
		       const char *vocab_path, int64_t *learned, struct err *e)
{
	int rc;

	k->normalizer.add_dummy_prefix = k->normalizer.remove_extra_whitespaces =
		k->normalizer.escape_whitespaces = true;
	rc = add_fixed_pieces(k, symbols, e);
	if (!rc)
		rc = normalize_words(k, words, e);
	if (!rc)
		rc = learn_pieces(k, vocabulary_size, e);
	if (!rc)
		rc = write_files(k, model_path, vocab_path, e);
	*learned = k->model.pieces.n;
	sp_normalizer_free(&k->normalizer);
	buf_free(&k->rules);
	text_counts_free(&k->words);
	free(k->char_counts);
	free(k->chars);
	bpe_merger_free(&k->merger);
	free(k->facts);
	free(k->symbols);
	buf_free(&k->text);
	sp_model_free(&k->model);
	return rc;
}

int sp_learn(struct word_counter *words, int64_t vocabulary_size, const struct protect *symbols,
	     const char *model_path, const char *vocab_path, int64_t *learned, struct err *e)
{
	struct learning k = { .threads = 1 };

	return learn_model(&k, words, vocabulary_size, symbols, model_path, vocab_path, learned, e);
}

int sp_learn_unigram(struct word_counter *words, int64_t vocabulary_size,
		     const struct protect *symbols, int threads, const char *model_path,
		     const char *vocab_path, int64_t *learned, struct err *e)
{
	struct learning k = { .threads = threads, .model.is_unigram = true };

	return learn_model(&k, words, vocabulary_size, symbols, model_path, vocab_path, learned, e);
}
