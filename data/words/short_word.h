/*
 * short_word.h - words of up to 15 bytes as two integers, cut from text eight bytes at a time.
 *
 * Most words are that short. For them, finding the end, hashing and comparing take a few
 * instructions each.
 */
#ifndef WERKBANK_DATA_WORDS_SHORT_WORD_H
#define WERKBANK_DATA_WORDS_SHORT_WORD_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes 0 … 7 and 8 … 14 of the word, padded with zeros; byte 15 is the length. */
struct short_word {
	uint64_t first, rest;
};

#define SHORT_WORD_BYTES(c) (0x0101010101010101u * (c)) /* this byte, eight times */

static inline uint64_t short_word_load(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

/* The lowest set bit is the top bit of the first blank; ignore higher bits. 0: no blank. */
static inline uint64_t short_word_blank(uint64_t bytes)
{
	bytes ^= SHORT_WORD_BYTES(' ');
	return (bytes - SHORT_WORD_BYTES(1)) & ~bytes & SHORT_WORD_BYTES(0x80);
}

/* The first n < 8 of eight bytes. */
static inline uint64_t short_word_low_bytes(uint64_t bytes, unsigned n)
{
	return n ? bytes & UINT64_MAX >> (64 - 8 * n) : 0;
}

/*
 * Cut the word at p (p < end, no blank there), which ends at a blank or at end. Returns its
 * bytes; 0: the word is too long.
 */
static inline unsigned short_word_cut(const char *p, const char *end, struct short_word *w)
{
	uint64_t rest, mark;
	char copy[16];
	unsigned n;

	if (end - p < 16) {
		memset(copy, ' ', sizeof(copy));
		memcpy(copy, p, (size_t)(end - p));
		p = copy;
	}
	w->first = short_word_load(p);
	mark = short_word_blank(w->first);
	if (mark) {
		n = (unsigned)__builtin_ctzll(mark) / 8;
		w->first = short_word_low_bytes(w->first, n);
		w->rest = (uint64_t)n << 56;
		return n;
	}
	rest = short_word_load(p + 8);
	mark = short_word_blank(rest);
	if (!mark)
		return 0;
	n = (unsigned)__builtin_ctzll(mark) / 8;
	w->rest = short_word_low_bytes(rest, n) | (uint64_t)(8 + n) << 56;
	return 8 + n;
}

static inline uint64_t short_word_hash(struct short_word w)
{
	unsigned __int128 product =
		(unsigned __int128)(w.first ^ 0x2D358DCCAA6C78A5u) * (w.rest ^ 0x8BB84B93962EACC9u);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline bool short_word_equal(struct short_word a, struct short_word b)
{
	return a.first == b.first && a.rest == b.rest;
}

/* The text of a word; *n: its bytes. */
static inline void short_word_text(struct short_word w, char text[16], size_t *n)
{
	uint64_t bytes[2] = { htole64(w.first), htole64(w.rest) };

	memcpy(text, bytes, 16);
	*n = (size_t)(w.rest >> 56);
}

#endif
