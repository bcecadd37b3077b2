/* leb.c - reads many LEB128 numbers without branches on their lengths: see leb.h */
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

/* The number in the low bytes of w. last: bit 7 of its last byte. */
static inline uint64_t leb_unpack_number(uint64_t w, uint64_t last, uint64_t limit, uint64_t *wrong)
{
	uint64_t v;

	w &= last - 1;
	v = (w & 0x7f) | (w >> 1 & 0x3f80) | (w >> 2 & 0x1fc000) | (w >> 3 & 0xfe00000) |
	    (w >> 4 & 0x7f0000000u);
	/* more than five bytes; several bytes of which the last is 0; too large */
	*wrong |= last >> 40 | ((w | (last & 0x80)) < last >> 7) | (v >= limit);
	return v;
}

/*
 * Lengths of numbers are random, so branches on them would be mispredicted half of the time.
 * Instead, eight bytes are loaded, and the lowest clear bits 7 give the ends of the numbers by
 * arithmetic. Two numbers are read from each load, because the address of the next load is the
 * bottleneck.
 */
unsigned char *leb_get_many(unsigned char *at, const unsigned char *end, int32_t *to, size_t n,
			    uint32_t limit, uint32_t *bad)
{
	uint64_t wrong = 0;
	size_t i = 0;

	while (i < n && at < end) {
		uint64_t w = leb_load_word(at), m = ~w & stops, first = m & -m, second;

		m ^= first;
		if (!m || i + 1 == n) { /* one number, perhaps a malformed one */
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
