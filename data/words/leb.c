/* leb.c - see leb.h */
#include "data/words/leb.h"

static const uint64_t stops = 0x8080808080808080u;

static inline uint64_t leb_load_word(const unsigned char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	w = __builtin_bswap64(w);
#endif
	return w;
}

/* The number in the lowest bytes of w; last: bit 7 of the last of them. */
static inline uint64_t leb_unpack_number(uint64_t w, uint64_t last, uint64_t limit, uint64_t *wrong)
{
	uint64_t v;

	w &= last - 1;
	v = (w & 0x7f) | (w >> 1 & 0x3f80) | (w >> 2 & 0x1fc000) | (w >> 3 & 0xfe00000) |
	    (w >> 4 & 0x7f0000000u);
	/* more than five bytes, a last one of several that is 0, too large */
	*wrong |= last >> 40 | ((w | (last & 0x80)) < last >> 7) | (v >= limit);
	return v;
}

/*
 * Lengths of numbers follow no pattern, so that branches on them would be guessed wrong every
 * other time: eight bytes are loaded, and the first ones without bit 7 say by arithmetic where
 * its numbers end. Two at a time, since finding the next eight bytes is what takes the time.
 */
unsigned char *leb_get_many(unsigned char *at, const unsigned char *end, int32_t *to, size_t n,
			    uint32_t limit, uint32_t *bad)
{
	uint64_t wrong = 0;
	size_t i = 0;

	while (i < n && at < end) {
		uint64_t w = leb_load_word(at), m = ~w & stops, first = m & -m, second;

		m ^= first;
		if (!m || i + 1 == n) { /* only one, and perhaps a wrong one */
			first = first ? first : (uint64_t)1 << 63;
			to[i++] = (int32_t)leb_unpack_number(w, first, limit, &wrong);
			at += (__builtin_ctzll(first) + 1) / 8;
			continue;
		}
		second = m & -m;
		at += (__builtin_ctzll(second) + 1) / 8;
		to[i++] = (int32_t)leb_unpack_number(w, first, limit, &wrong);
		w = w >> __builtin_ctzll(first) >> 1;
		to[i++] = (int32_t)leb_unpack_number(w, second >> __builtin_ctzll(first) >> 1,
						     limit, &wrong);
	}
	if (i < n)
		return at + LEB_SLACK;
	*bad = wrong != 0;
	return at;
}
