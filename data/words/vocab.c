/* vocab.c - counts pieces, writes and reads vocab.tsv: see vocab.h */
#include "data/words/vocab.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/words/intern.h"
#include "data/words/text_counts.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"

#define MAX_FILE  ((size_t)1 << 30) /* bytes; a larger file is not a vocabulary */
#define SIZE_STEP 8		    /* the size is a multiple of this */

static const char *const specials[N_SPECIAL_TOKENS] = { "<pad>", "</s>", "<s>", "<unk>" };

/* N, if text is "<unusedN>"; -1: other text. */
static int unused_number(const char *text, size_t n)
{
	for (int i = 0; i < SIZE_STEP; i++) {
		char name[16];
		int len = snprintf(name, sizeof(name), "<unused%d>", i);

		if ((size_t)len == n && !memcmp(name, text, n))
			return i;
	}
	return -1;
}

/* May the piece be in the file? Not special names, not text with LF or NUL: these become <unk>. */
static bool is_writable(const char *text, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(specials); i++)
		if (strlen(specials[i]) == n && !memcmp(specials[i], text, n))
			return false;
	return unused_number(text, n) < 0 && !memchr(text, '\n', n) && !memchr(text, 0, n);
}

/* ---- counting ---- */

struct vocab_counter {
	struct text_counts pieces;
};

struct vocab_counter *vocab_counter_new(struct err *e)
{
	return mem_alloc(1, sizeof(struct vocab_counter), e);
}

int vocab_count(struct vocab_counter *c, const char *piece, size_t n, int64_t times, struct err *e)
{
	assert(times >= 0);
	return n ? text_counts_add(&c->pieces, piece, n, times, e) : 0;
}

void vocab_counter_free(struct vocab_counter *c)
{
	if (c)
		text_counts_free(&c->pieces);
	free(c);
}

struct ranked {
	const char *text;
	size_t n;
	int64_t count;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int d;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	d = memcmp(x->text, y->text, MIN(x->n, y->n));
	return d ? d : (x->n > y->n) - (x->n < y->n);
}

/* Write the special tokens, these pieces, and the padding. */
static int vocab_write_pieces(const struct ranked *all, size_t n, const char *path, struct err *e)
{
	struct buf text = { 0 };
	size_t size = N_SPECIAL_TOKENS + n;
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(specials); i++)
		buf_printf(&text, "%s\t0\n", specials[i]);
	for (size_t i = 0; i < n; i++) {
		buf_add(&text, all[i].text, all[i].n);
		buf_printf(&text, "\t%" PRId64 "\n", all[i].count);
	}
	for (int i = 0; (size + (size_t)i) % SIZE_STEP; i++)
		buf_printf(&text, "<unused%d>\t0\n", i);
	rc = buf_check(&text, e);
	if (!rc)
		rc = file_write_all(path, text.data, text.len, e);
	buf_free(&text);
	return rc;
}

int vocab_write(const struct vocab_counter *c, const char *path, struct err *e)
{
	struct ranked *all = mem_alloc((size_t)c->pieces.texts.n, sizeof(*all), e);
	size_t n = 0;
	int rc;

	if (!all)
		return e->code;
	for (int32_t i = 0; i < c->pieces.texts.n; i++) {
		all[n].text = intern_text(&c->pieces.texts, i, &all[n].n);
		all[n].count = c->pieces.counts[i];
		if (is_writable(all[n].text, all[n].n))
			n++;
	}
	if (n)
		qsort(all, n, sizeof(*all), compare_ranked);
	rc = vocab_write_pieces(all, n, path, e);
	free(all);
	return rc;
}

/* Fill all with the pieces of order after the special tokens. */
static int rank_in_order(const struct vocab_counter *c, const struct intern *order,
			 struct ranked *all, struct err *e)
{
	for (int32_t i = 0; i < order->n; i++) {
		size_t n;
		const char *text = intern_text(order, i, &n);
		bool is_special = i < N_SPECIAL_TOKENS;
		int32_t known;

		if (is_special ? n != strlen(specials[i]) || memcmp(text, specials[i], n)
			       : !is_writable(text, n))
			return err_set(e, ERR_DATA,
				       "piece %d is \"%.*s\", expected the pieces <pad> </s> "
				       "<s> <unk> first and none of these names later",
				       (int)i, (int)MIN(n, 100), text);
		if (is_special)
			continue;
		known = intern_find(&c->pieces.texts, text, n);
		all[i - N_SPECIAL_TOKENS] = (struct ranked){
			.text = text, .n = n, .count = known < 0 ? 0 : c->pieces.counts[known]
		};
	}
	return 0;
}

int vocab_write_in_order(const struct vocab_counter *c, const struct intern *order,
			 const char *path, struct err *e)
{
	struct ranked *all = mem_alloc((size_t)order->n, sizeof(*all), e);
	int rc = all ? rank_in_order(c, order, all, e) : e->code;

	if (!rc && order->n < N_SPECIAL_TOKENS)
		rc = err_set(e, ERR_DATA,
			     "the vocabulary has %d pieces, expected at least <pad> </s> <s> <unk>",
			     (int)order->n);
	if (!rc)
		rc = vocab_write_pieces(all, (size_t)order->n - N_SPECIAL_TOKENS, path, e);
	free(all);
	return rc;
}

/* ---- reading ---- */

struct vocab {
	struct buf text;     /* the file; NUL replaces the tab before each count */
	const char **pieces; /* owned: (size), into text */
	int64_t *counts;     /* owned: (size) */
	size_t cap_pieces, cap_counts;
	struct intern index; /* finds the id of a piece */
	int32_t size, real_size;
	char sha256[HASH_SHA256_HEX];
};

/* Read one line, which ends with NUL instead of LF. */
static int vocab_read_line(struct vocab *v, const char *path, char *line, size_t n, struct err *e)
{
	size_t number = (size_t)v->size + 1, len;
	char *tab = memrchr(line, '\t', n);
	int unused, expected = v->size - v->real_size;
	int64_t count;
	int32_t id;

	assert(!line[n]);
	if (!tab || tab == line || memchr(line, 0, n) || !text_to_int(tab + 1, &count) || count < 0)
		return err_set(e, ERR_DATA, "%s: line %zu: expected a token, a tab and its count",
			       path, number);
	*tab = 0;
	len = (size_t)(tab - line);
	if (!utf8_valid(line, len))
		return err_set(e, ERR_DATA, "%s: line %zu: the token is not UTF-8 text", path,
			       number);
	if (v->size < N_SPECIAL_TOKENS && strcmp(line, specials[v->size]))
		return err_set(e, ERR_DATA, "%s: line %zu: expected %s, found \"%.100s\"", path,
			       number, specials[v->size], line);
	unused = unused_number(line, len);
	if (expected ? unused != expected : unused > 0)
		return err_set(e, ERR_DATA, "%s: line %zu: expected <unused%d>, found \"%.100s\"",
			       path, number, expected, line);
	if (mem_grow(&v->pieces, &v->cap_pieces, number, sizeof(*v->pieces), e) ||
	    mem_grow(&v->counts, &v->cap_counts, number, sizeof(*v->counts), e) ||
	    intern_add(&v->index, line, len, &id, e))
		return e->code;
	if (id != v->size)
		return err_set(e, ERR_DATA,
			       "%s: line %zu: \"%.100s\" occurs twice (also in line %d)", path,
			       number, line, id + 1);
	v->pieces[v->size] = line;
	v->counts[v->size++] = count;
	if (unused < 0)
		v->real_size = v->size;
	return 0;
}

static int vocab_read_lines(struct vocab *v, const char *path, struct err *e)
{
	char *at = v->text.data, *end = at + v->text.len;

	while (at < end) {
		char *lf = memchr(at, '\n', (size_t)(end - at));

		if (!lf)
			return err_set(
				e, ERR_DATA,
				"%s: line %d: the file ends without LF: is the file cut off?", path,
				v->size + 1);
		if (v->size == INT32_MAX)
			return err_set(e, ERR_DATA, "%s: too many lines", path);
		*lf = 0;
		if (vocab_read_line(v, path, at, (size_t)(lf - at), e))
			return e->code;
		at = lf + 1;
	}
	if (v->size < N_SPECIAL_TOKENS || v->size % SIZE_STEP)
		return err_set(e, ERR_DATA,
			       "%s: %d lines, expected a multiple of %d: is the file cut off?",
			       path, v->size, SIZE_STEP);
	return 0;
}

struct vocab *vocab_open(const char *path, struct err *e)
{
	struct vocab *v = mem_alloc(1, sizeof(*v), e);
	struct hash *hash = v ? hash_new(HASH_SHA256, e) : NULL;
	bool good = hash && !file_read_all(path, MAX_FILE, &v->text, e) &&
		    !hash_add(hash, buf_text(&v->text), v->text.len, e) &&
		    !hash_hex(hash, v->sha256, e) && !vocab_read_lines(v, path, e);

	hash_free(hash);
	if (good)
		return v;
	vocab_close(v);
	return NULL;
}

int32_t vocab_size(const struct vocab *v)
{
	return v->size;
}

int32_t vocab_real_size(const struct vocab *v)
{
	return v->real_size;
}

const char *vocab_sha256(const struct vocab *v)
{
	return v->sha256;
}

int32_t vocab_id(const struct vocab *v, const char *piece, size_t n)
{
	int32_t id = intern_find(&v->index, piece, n);

	return id < N_SPECIAL_TOKENS || id >= v->real_size ? TOKEN_UNKNOWN : id;
}

int32_t vocab_named_id(const struct vocab *v, const char *name)
{
	for (int32_t id = 0; id < N_SPECIAL_TOKENS; id++)
		if (!strcmp(vocab_piece(v, id), name))
			return id;
	return vocab_id(v, name, strlen(name));
}

const char *vocab_piece(const struct vocab *v, int32_t id)
{
	assert(id >= 0 && id < v->size);
	return v->pieces[id];
}

int64_t vocab_frequency(const struct vocab *v, int32_t id)
{
	assert(id >= 0 && id < v->size);
	return v->counts[id];
}

void vocab_close(struct vocab *v)
{
	if (!v)
		return;
	buf_free(&v->text);
	free(v->pieces);
	free(v->counts);
	intern_free(&v->index);
	free(v);
}
