/*
 * cpu_tiles.h - matrix products on the tile unit of a processor (Intel AMX). For the vector files.
 *
 * A tile is a register of 16 rows x 64 bytes: 16 x 16 sums, or 16 rows of 16 units along K (a unit is
 * two bf16 or four int8, as in kernels/ops/panels.h). One instruction multiplies a tile of a by a
 * tile of b, 16 units x 16 columns, and adds to a tile of sums. All eight tiles are used:
 *
 *			       b 0     b 1	panel: 32 columns, the units of a row are neighbours
 *		     a 0   |  sums 0  sums 1
 *		     a 1   |  sums 2  sums 3	rows 16 - 31, left out if there are none
 *
 * so that each loaded tile is multiplied twice. K is summed whole in the tiles; sums are then stored
 * to a buffer of 4 KiB in the L1 cache, from where the caller moves them to memory.
 *
 *	if (tiles_are_used(d)) {
 *		tiles_begin();			each thread, once for a piece of work
 *		tiles_bf16(sums, &operands); …
 *		tiles_end();			the scheduler need not save the tiles of an idle thread
 *	}
 *
 * A sum depends on its row of a and its column of b only. The order of additions is that of the
 * instruction: within 32 elements of K even and odd ones apart, then both are added to the sum.
 *
 * tests/amxsim/ compiles the same code for every processor, with the instructions in plain C.
 */
#ifndef WERKBANK_KERNELS_CPU_CPU_TILES_H
#define WERKBANK_KERNELS_CPU_CPU_TILES_H

#include <stdint.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu_vec.h"

#define TILES_SIDE 32 /* rows, and columns, of one block of sums */
#define TILES_STEP 16 /* units along K of a tile */

#if defined(AMXSIM)
#define HAVE_TILES 1
#define TILES_TARGET
#elif defined(__AVX512F__) && CPU_COMPILES_TILES
#define HAVE_TILES   1
#define TILES_TARGET __attribute__((target("amx-tile,amx-bf16,amx-int8")))
#else
#define HAVE_TILES 0
#define TILES_TARGET
#endif

/* What a thread loads before it uses tiles: all eight of 16 rows x 64 bytes. */
static const struct {
	uint8_t palette, start_row, reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
} tiles_config = {
	.palette = 1,
	.row_bytes = { 64, 64, 64, 64, 64, 64, 64, 64 },
	.rows = { 16, 16, 16, 16, 16, 16, 16, 16 },
};

_Static_assert(sizeof(tiles_config) == 64, "the layout that the processor reads");

/* Operands of one block of sums. */
struct tiles_operands {
	/*
	 * Rows of units, row_bytes apart: n_rows rounded up to 16 can be read, and n_units rounded
	 * up to 16 in each, those beyond n_units 0.
	 */
	const void *a;
	int64_t row_bytes;
	const int32_t *b; /* (n_units, 32) units of a panel */
	int64_t n_units;
	int n_rows; /* at most 32 */
};

/* Is the code of tiles compiled in, and may this process use the tile unit? */
static inline bool tiles_are_used(const struct dev *d)
{
#if defined(AMXSIM)
	(void)d;
	return true;
#else
	return HAVE_TILES && d->tiles;
#endif
}

#if HAVE_TILES
TILES_TARGET static inline void tiles_begin(void)
{
	_tile_loadconfig(&tiles_config);
}

TILES_TARGET static inline void tiles_end(void)
{
	_tile_release();
#if defined(__SSE__)
	_mm_sfence(); /* streaming stores are visible to the threads that wait for this one */
#endif
}

/* gcc 12 does not know that a load of a tile reads memory: all stores before it must be done. */
#define TILES_STORES_DONE(p) __asm__ volatile("" ::"r"(p) : "memory")

/* Sums += 16 units along K; rows 16 - 31 of a if `two`. */
#define TILES_MULTIPLY(multiply, a, row_bytes, b, two)                                             \
	do {                                                                                       \
		_tile_loadd(4, a, row_bytes);                                                      \
		_tile_loadd(6, b, 4 * TILES_SIDE);                                                 \
		_tile_loadd(7, (b) + TILES_SIDE / 2, 4 * TILES_SIDE);                              \
		multiply(0, 4, 6);                                                                 \
		multiply(1, 4, 7);                                                                 \
		if (two) {                                                                         \
			_tile_loadd(5, (a) + 16 * (row_bytes), row_bytes);                         \
			multiply(2, 5, 6);                                                         \
			multiply(3, 5, 7);                                                         \
		}                                                                                  \
	} while (0)

/* sums (32, 32) = a times the panel; of n_rows rounded up to 16 rows. Units at the end of K that do
 * not fill a tile are copied, because what follows a panel is not 0. */
#define TILES_PRODUCT(name, type, multiply)                                                        \
	TILES_TARGET static inline void name(type *sums, const struct tiles_operands *o)           \
	{                                                                                          \
		const char *a = o->a;                                                              \
		const int32_t *b = o->b;                                                           \
		const int64_t row_bytes = o->row_bytes, rest = o->n_units % TILES_STEP;            \
		const bool two = o->n_rows > 16;                                                   \
		int32_t last[TILES_STEP * TILES_SIDE];                                             \
                                                                                                   \
		TILES_STORES_DONE(a);                                                              \
		_tile_zero(0);                                                                     \
		_tile_zero(1);                                                                     \
		_tile_zero(2);                                                                     \
		_tile_zero(3);                                                                     \
		for (int64_t u = rest; u < o->n_units; u += TILES_STEP) {                          \
			TILES_MULTIPLY(multiply, a, row_bytes, b, two);                            \
			a += 4 * TILES_STEP;                                                       \
			b += TILES_STEP * TILES_SIDE;                                              \
		}                                                                                  \
		if (rest) {                                                                        \
			memset(last, 0, sizeof(last));                                             \
			memcpy(last, b, (size_t)rest *TILES_SIDE * sizeof(*last));                 \
			TILES_STORES_DONE(last);                                                   \
			TILES_MULTIPLY(multiply, a, row_bytes, last, two);                         \
		}                                                                                  \
		_tile_stored(0, sums, 4 * TILES_SIDE);                                             \
		_tile_stored(1, sums + 16, 4 * TILES_SIDE);                                        \
		if (two) {                                                                         \
			_tile_stored(2, sums + 16 * TILES_SIDE, 4 * TILES_SIDE);                   \
			_tile_stored(3, sums + 16 * TILES_SIDE + 16, 4 * TILES_SIDE);              \
		}                                                                                  \
	}

TILES_PRODUCT(tiles_bf16, float, _tile_dpbf16ps)
TILES_PRODUCT(tiles_int8, int32_t, _tile_dpbssd)
#else
static inline void tiles_begin(void)
{
}

static inline void tiles_end(void)
{
}
#endif

#endif
