/*
 * leb.h - numbers below 2^32 as LEB128: seven bits a byte, low bits first, bit 7 set in all bytes
 * but the last.
 *
 * Readers may read LEB_SLACK bytes past the end without a check. The caller keeps that many zeros
 * after the end of its data (a zero ends any number), and checks afterwards whether a number
 * passed the end. A number must be in its shortest form, so each number has one encoding.
 */
#ifndef WERKBANK_DATA_WORDS_LEB_H
#define WERKBANK_DATA_WORDS_LEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LEB_MAX	  5 /* bytes of the longest number */
#define LEB_SLACK 8

/*
 * Write a number at to; returns its end. Always writes LEB_SLACK bytes, to avoid a branch that
 * the processor cannot predict.
 */
static inline unsigned char *leb_put(unsigned char *to, uint32_t v)
{
	unsigned int bytes = (38 - (unsigned int)__builtin_clz(v | 1)) / 7;
	uint64_t x = v, w;

	w = (x & 0x7f) | (x & 0x3f80) << 1 | (x & 0x1fc000) << 2 | (x & 0xfe00000) << 3 |
	    (x & 0xf0000000u) << 4;
	w |= 0x8080808080u & (((uint64_t)1 << 8 * (bytes - 1)) - 1);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	w = __builtin_bswap64(w);
#endif
	memcpy(to, &w, sizeof(w));
	return to + bytes;
}

/*
 * Read the number at *at and move *at to its end. false: not in the shortest form, or too large.
 * The caller checks *at > end.
 */
static inline bool leb_get(unsigned char **at, const unsigned char *end, uint32_t *v)
{
	uint64_t value = 0;
	int shift = 0;
	unsigned char b;

	*v = 0;
	if (*at >= end) {
		*at += 1;
		return true;
	}
	do {
		b = *(*at)++;
		value |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b >= 0x80 && shift < 7 * LEB_MAX);
	*v = (uint32_t)value;
	return b < 0x80 && value <= UINT32_MAX && (b || shift == 7);
}

/*
 * Read n numbers into to; returns the end of the last one. *bad: a number is not below limit, or
 * not in its shortest form. Data that end early: the result is greater than end.
 */
unsigned char *leb_get_many(unsigned char *at, const unsigned char *end, int32_t *to, size_t n,
			    uint32_t limit, uint32_t *bad);

#endif
