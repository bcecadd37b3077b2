/*
 * leb.h - numbers below 2^32 as LEB128: seven bits a byte, the lowest first, bit 7 set in all
 * bytes but the last.
 *
 * Readers look at LEB_SLACK bytes behind a number without asking: the caller keeps that many
 * zeros behind the end of what it has read (a zero ends any number), and finds out afterwards
 * whether a number reached beyond the end. Not the shortest form is refused: one number, one
 * way to write it.
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
 * Returns where the next one belongs. Writes LEB_SLACK bytes, whatever the length: without a branch
 * that nobody could guess.
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
 * The number at *at, which moves behind it. false: not in the shortest form, or too large. The
 * caller checks *at > end.
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
 * n numbers into to, behind them; *bad is set when one is not below limit or not in its shortest
 * form. Stops at end: the result lies behind it then.
 */
unsigned char *leb_get_many(unsigned char *at, const unsigned char *end, int32_t *to, size_t n,
			    uint32_t limit, uint32_t *bad);

#endif
