/* warp.cc - see sim.h: what the lanes of a warp do together. */
#include <cuda_runtime.h>

#include "tests/cudasim/sim.h"

static void nothing(void *const *, unsigned)
{
}

void __syncwarp(unsigned mask)
{
	sim_warp(mask, nothing, NULL);
}

struct vote {
	unsigned value, got;
};

static void ballot(void *const *given, unsigned mask)
{
	unsigned got = 0;

	for (int i = 0; i < 32; i++)
		if (mask >> i & 1)
			got |= (unsigned)(((struct vote *)given[i])->value != 0) << i;
	for (int i = 0; i < 32; i++)
		if (mask >> i & 1)
			((struct vote *)given[i])->got = got;
}

unsigned __ballot_sync(unsigned mask, int predicate)
{
	struct vote v = { predicate != 0, 0 };

	sim_warp(mask, ballot, &v);
	return v.got;
}

static void match(void *const *given, unsigned mask)
{
	for (int i = 0; i < 32; i++) {
		struct vote *me = (struct vote *)given[i];

		for (int j = 0; j < 32 && me; j++)
			if (mask >> j & 1 && ((struct vote *)given[j])->value == me->value)
				me->got |= 1u << j;
	}
}

unsigned __match_any_sync(unsigned mask, unsigned value)
{
	struct vote v = { value, 0 };

	sim_warp(mask, match, &v);
	return v.got;
}

int __dp4a(int a, int b, int c)
{
	for (int i = 0; i < 4; i++)
		c += (int8_t)(a >> 8 * i) * (int8_t)(b >> 8 * i);
	return c;
}

struct fragments {
	float *d;
	const uint32_t *a, *b;
};

static float half_of(uint32_t two, int which)
{
	return __uint_as_float(which ? two & 0xFFFF0000u : two << 16);
}

/*
 * PTX ISA, "Matrix fragments for mma.m16n8k16": lane = 4 * group + t. a: rows group and group + 8,
 * columns 2t, 2t + 1 and 8 more; b: rows as a's columns, column group; d: rows as a's, columns 2t,
 * 2t + 1.
 */
static void multiply(void *const *given, unsigned)
{
	float a[16][16], b[16][8];

	for (int lane = 0; lane < 32; lane++) {
		const struct fragments *f = (const struct fragments *)given[lane];
		int group = lane / 4, t = lane % 4;

		for (int i = 0; i < 8; i++)
			a[group + (i / 2 % 2) * 8][2 * t + i % 2 + i / 4 * 8] =
				half_of(f->a[i / 2], i % 2);
		for (int i = 0; i < 4; i++)
			b[2 * t + i % 2 + i / 2 * 8][group] = half_of(f->b[i / 2], i % 2);
	}
	for (int lane = 0; lane < 32; lane++) {
		const struct fragments *f = (const struct fragments *)given[lane];

		for (int i = 0; i < 4; i++)
			for (int k = 0; k < 16; k++)
				f->d[i] +=
					a[lane / 4 + i / 2 * 8][k] * b[k][2 * (lane % 4) + i % 2];
	}
}

void sim_mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2])
{
	struct fragments f = { d, a, b };

	if (sim_is_old())
		sim_fault("this GPU has no tensor cores for bf16");
	sim_warp(0xFFFFFFFFu, multiply, &f);
}

struct rows {
	uint32_t *out;
	const void *row;
	int n;
	bool transposed;
};

static void load(void *const *given, unsigned)
{
	const struct rows *first = (const struct rows *)given[0];

	for (int m = 0; m < first->n; m++) {
		uint16_t x[8][8];

		for (int r = 0; r < 8; r++)
			memcpy(x[r], ((const struct rows *)given[8 * m + r])->row, 16);
		for (int lane = 0; lane < 32; lane++) {
			int r = lane / 4, c = lane % 4 * 2;
			uint16_t low = first->transposed ? x[c][r] : x[r][c],
				 high = first->transposed ? x[c + 1][r] : x[r][c + 1];

			((const struct rows *)given[lane])->out[m] = low | (uint32_t)high << 16;
		}
	}
}

void sim_ldmatrix(uint32_t *out, const void *row, int n, bool transposed)
{
	struct rows r = { out, row, n, transposed };

	if (sim_now.lane < 8 * n && (uintptr_t)row % 16)
		sim_fault("a row of ldmatrix is not aligned to 16 bytes");
	sim_warp(0xFFFFFFFFu, load, &r);
}
