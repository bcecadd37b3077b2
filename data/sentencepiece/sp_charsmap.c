/*
 * sp_charsmap.c - finds the rule of a SentencePiece normalizer that matches a text: see sp_charsmap.h
 *
 * The rules are a double-array trie (Aoe 1989): an array of units, in which the child of a node for
 * byte c is the unit at offset XOR c, valid if that unit carries the label c. A match costs one
 * access to memory a byte. The file is foreign, so every index is checked before it is used.
 */
#include "data/sentencepiece/sp_charsmap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"

#define UNIT_BYTES 4
#define HAS_VALUE  (UINT32_C(1) << 8)
#define IS_VALUE   (UINT32_C(1) << 31)

static uint32_t read_u32(const unsigned char *b)
{
	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

int charsmap_read(struct charsmap *m, const void *bytes, size_t n, const char *name, struct err *e)
{
	const unsigned char *b = bytes;
	size_t trie = n > UNIT_BYTES ? read_u32(b) : 0;

	*m = (struct charsmap){ 0 };
	if (trie < UNIT_BYTES || trie % UNIT_BYTES || n - UNIT_BYTES <= trie || b[n - 1])
		return err_set(e, ERR_DATA,
			       "%s: the normalisation rules (precompiled_charsmap) are damaged",
			       name);
	m->n_units = trie / UNIT_BYTES;
	m->n_texts = n - UNIT_BYTES - trie;
	m->units = mem_alloc(m->n_units, sizeof(*m->units), e);
	m->texts = m->units ? mem_alloc(m->n_texts, 1, e) : NULL;
	if (!m->texts) {
		charsmap_free(m);
		return e->code;
	}
	for (size_t i = 0; i < m->n_units; i++)
		m->units[i] = read_u32(b + UNIT_BYTES * (i + 1));
	memcpy(m->texts, b + UNIT_BYTES + trie, m->n_texts);
	return 0;
}

void charsmap_free(struct charsmap *m)
{
	free(m->units);
	free(m->texts);
	*m = (struct charsmap){ 0 };
}

static inline size_t base_of(size_t at, uint32_t unit)
{
	return at ^ ((size_t)(unit >> 10) << ((unit & (UINT32_C(1) << 9)) >> 6));
}

static inline bool is_child(const struct charsmap *m, size_t at, unsigned char c)
{
	return at < m->n_units && (m->units[at] & (IS_VALUE | 0xFF)) == c;
}

size_t charsmap_match(const struct charsmap *m, const char *text, size_t n, const char **to,
		      bool *needs_lookahead)
{
	const unsigned char *t = (const unsigned char *)text;
	size_t base = base_of(0, m->units[0]), longest = 0;

	assert(m->n_units);
	for (size_t i = 0; i < n; i++) {
		size_t at = base ^ t[i], value;

		if (!t[i] || !is_child(m, at, t[i]))
			return longest;
		base = base_of(at, m->units[at]);
		if (!(m->units[at] & HAS_VALUE))
			continue;
		value = base < m->n_units ? m->units[base] & ~IS_VALUE : SIZE_MAX;
		if (value >= m->n_texts)
			return longest;
		longest = i + 1;
		if (to)
			*to = m->texts + value;
	}
	if (needs_lookahead && is_child(m, base ^ ' ', ' '))
		*needs_lookahead = true;
	return longest;
}
