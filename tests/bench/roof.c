/* roof.c - the roofline of the CPU; see roof.h */
#include "tests/bench/roof.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu_team.h"
#include "kernels/cpu/cpu_tiles.h"
#include "kernels/ops/cpu_level.h"
#include "share/base/clock.h"
#include "share/base/flow.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define ROUNDS	    100000
#define REPEATS	    12
#define BLOCK_BYTES ((size_t)64 << 20) /* a thread */

/* A loop of ROUNDS rounds; it returns a result, so that the compiler removes nothing. */
typedef float loop(float x);

struct unit {
	const char *name;
	loop *run;
	double operations; /* operations of one round */
};

static float plain_fp32(float x)
{
	float sum[12] = { 0 }, total = 0;

	for (int i = 0; i < ROUNDS; i++)
		for (int c = 0; c < 12; c++)
			sum[c] = sum[c] * x + x;
	for (int c = 0; c < 12; c++)
		total += sum[c];
	return total;
}

#if defined(__x86_64__)
/*
 * An accumulator each, for an array of them would live in memory; and each passes through an
 * empty asm, or the compiler sees that all of them are equal and computes one. There are as many
 * as the latency of an instruction needs.
 */
#define TWELVE(do)                                                                                 \
	do                                                                                         \
	(0) do(1) do(2) do(3) do(4) do(5) do(6) do(7) do(8) do(9) do(10) do(11)
#define SIXTEEN(do) TWELVE(do) do(12) do(13) do(14) do(15)
#define KEEP(x)	    __asm__ volatile("" : "+v"(x));

#define LOOP(name, target_text, type, times, begin, from, step, reduce)                            \
	__attribute__((target(target_text))) static float name(float x)                            \
	{                                                                                          \
		type y = from;                                                                     \
                                                                                                   \
		times(begin) for (int i = 0; i < ROUNDS;                                           \
				  i++){ times(step) } times(reduce) return x;                      \
	}

#define BEGIN_256(i) __m256 s##i = _mm256_setzero_ps();
#define STEP_256(i)                                                                                \
	s##i = _mm256_fmadd_ps(y, y, s##i);                                                        \
	KEEP(s##i)
#define SUM_256(i) x += _mm256_cvtss_f32(s##i);
LOOP(avx2_fp32, "avx2,fma", __m256, TWELVE, BEGIN_256, _mm256_set1_ps(x), STEP_256, SUM_256)

/* Without VNNI bytes are multiplied as words: 16 products and their sums by two instructions. */
#define BEGIN_WORDS(i) __m256i s##i = _mm256_setzero_si256();
#define STEP_WORDS(i)                                                                              \
	{                                                                                          \
		__m256i pairs;                                                                     \
                                                                                                   \
		KEEP(y) /* else the product would be computed once */                              \
		pairs = _mm256_madd_epi16(y, y);                                                   \
		KEEP(pairs)                                                                        \
		s##i = _mm256_add_epi32(s##i, pairs);                                              \
		KEEP(s##i)                                                                         \
	}
#define SUM_WORDS(i) x += (float)_mm256_cvtsi256_si32(s##i);
LOOP(avx2_words, "avx2", __m256i, TWELVE, BEGIN_WORDS, _mm256_set1_epi16((short)x), STEP_WORDS,
     SUM_WORDS)

#define BEGIN_512(i) __m512 s##i = _mm512_setzero_ps();
#define STEP_512(i)                                                                                \
	s##i = _mm512_fmadd_ps(y, y, s##i);                                                        \
	KEEP(s##i)
#define SUM_512(i) x += _mm512_cvtss_f32(s##i);
LOOP(avx512_fp32, "avx512f", __m512, SIXTEEN, BEGIN_512, _mm512_set1_ps(x), STEP_512, SUM_512)

#define STEP_BF16(i)                                                                               \
	s##i = _mm512_dpbf16_ps(s##i, (__m512bh)y, (__m512bh)y);                                   \
	KEEP(s##i)
LOOP(avx512_bf16, "avx512f,avx512bf16", __m512, SIXTEEN, BEGIN_512, _mm512_set1_ps(x), STEP_BF16,
     SUM_512)

#define BEGIN_INT8(i) __m512i s##i = _mm512_setzero_si512();
#define STEP_INT8(i)                                                                               \
	s##i = _mm512_dpbusd_epi32(s##i, y, y);                                                    \
	KEEP(s##i)
#define SUM_INT8(i) x += (float)_mm512_cvtsi512_si32(s##i);
LOOP(avx512_int8, "avx512f,avx512vnni", __m512i, SIXTEEN, BEGIN_INT8, _mm512_set1_epi8((char)x),
     STEP_INT8, SUM_INT8)
#endif

#if CPU_COMPILES_TILES
#define TILE_ROUND (4 * 16 * 16 * 32 * 2) /* operations with bf16; twice as many with int8 */

/* A round: four tiles loaded from the L1 cache, four multiplications. */
#define TILE_LOOP(name, multiply)                                                                  \
	__attribute__((target("amx-tile,amx-bf16,amx-int8"))) static float name(float x)           \
	{                                                                                          \
		static const char operands[4][1024] __attribute__((aligned(64)));                  \
		float sums[256];                                                                   \
                                                                                                   \
		_tile_loadconfig(&tiles_config);                                                   \
		_tile_zero(0);                                                                     \
		_tile_zero(1);                                                                     \
		_tile_zero(2);                                                                     \
		_tile_zero(3);                                                                     \
		for (int i = 0; i < ROUNDS; i++) {                                                 \
			_tile_loadd(4, operands[0], 64);                                           \
			_tile_loadd(5, operands[1], 64);                                           \
			_tile_loadd(6, operands[2], 64);                                           \
			_tile_loadd(7, operands[3], 64);                                           \
			multiply(0, 4, 6);                                                         \
			multiply(1, 4, 7);                                                         \
			multiply(2, 5, 6);                                                         \
			multiply(3, 5, 7);                                                         \
		}                                                                                  \
		_tile_stored(0, sums, 64);                                                         \
		_tile_release();                                                                   \
		return x + sums[0];                                                                \
	}

TILE_LOOP(amx_bf16, _tile_dpbf16ps)
TILE_LOOP(amx_int8, _tile_dpbssd)
#endif

/* The widest unit of each kind that the kernels may use here; run NULL: none. */
static void find_units(struct unit *fp32, struct unit *bf16, struct unit *int8)
{
	const enum cpu_level level = ops_cpu_level();

	*fp32 = (struct unit){ "scalar", plain_fp32, 12 * 2 };
	*bf16 = *int8 = (struct unit){ 0 };
#if defined(__x86_64__)
	if (level >= CPU_LEVEL_AVX2) {
		*fp32 = (struct unit){ "AVX2", avx2_fp32, 12 * 16 };
		if (!cpu_has_avx_vnni())
			*int8 = (struct unit){ "words", avx2_words, 12 * 32 };
	}
	if (level >= CPU_LEVEL_AVX512)
		*fp32 = (struct unit){ "AVX-512", avx512_fp32, 16 * 32 };
	if (level >= CPU_LEVEL_BF16)
		*bf16 = (struct unit){ "bf16", avx512_bf16, 16 * 64 };
	if (level >= CPU_LEVEL_AVX512 && __builtin_cpu_supports("avx512vnni"))
		*int8 = (struct unit){ "VNNI", avx512_int8, 16 * 128 };
#endif
#if CPU_COMPILES_TILES
	if (level >= CPU_LEVEL_AMX && cpu_can_use_tiles()) {
		*bf16 = (struct unit){ "AMX", amx_bf16, TILE_ROUND };
		*int8 = (struct unit){ "AMX", amx_int8, 2 * TILE_ROUND };
	}
#endif
}

#define MAX_THREADS 1024

/* What each thread measured: the best of several tries, because other work may run. */
struct rates {
	const struct unit *unit;
	const uint32_t *block; /* (threads, BLOCK_BYTES) */
	double best[MAX_THREADS];
	double sums[MAX_THREADS]; /* kept, so that the compiler removes no loop */
};

static void peak_part(const void *context, int thread, int64_t part)
{
	struct rates *r = *(struct rates *const *)context;
	const struct unit *u = r->unit;

	(void)thread;
	for (int i = 0; i < REPEATS; i++) {
		double begun = clock_mono_s(), s;

		r->sums[part] += u->run(1e-3f);
		s = clock_mono_s() - begun;
		r->best[part] = MAX(r->best[part], u->operations * ROUNDS / s);
	}
}

/* The rates of all threads together, which work at the same time. */
static double rates_of_team(struct cpu_team *team, struct rates *r, int threads,
			    cpu_team_work *work)
{
	double total = 0, sum = 0;

	cpu_team_run(team, threads, threads, work, &r);
	for (int i = 0; i < threads; i++) {
		total += r->best[i];
		sum += r->sums[i];
	}
	return sum < 0 ? 0 : total;
}

static double peak(const struct unit *u, struct cpu_team *team, int threads)
{
	return u->run ? rates_of_team(team, &(struct rates){ .unit = u }, threads, peak_part) : 0;
}

#define LANES 64

/* Sums in many lanes, so that memory is the limit, not additions. */
static uint32_t read_all(const uint32_t *p, size_t n)
{
	uint32_t sum[LANES] = { 0 }, total = 0;

	for (size_t i = 0; i + LANES <= n; i += LANES)
		for (size_t j = 0; j < LANES; j++)
			sum[j] += p[i + j];
	for (size_t j = 0; j < LANES; j++)
		total += sum[j];
	return total;
}

static void memory_part(const void *context, int thread, int64_t part)
{
	struct rates *r = *(struct rates *const *)context;
	const size_t n = BLOCK_BYTES / sizeof(uint32_t);

	(void)thread;
	for (int i = 0; i < REPEATS; i++) {
		double begun = clock_mono_s(), s;

		r->sums[part] += read_all(r->block + (size_t)part * n, n);
		s = clock_mono_s() - begun;
		r->best[part] = MAX(r->best[part], (double)BLOCK_BYTES / s);
	}
}

static int memory_rate(struct roof *r, struct cpu_team *team, struct err *e)
{
	uint32_t *block = mem_alloc_aligned(BLOCK_BYTES, (size_t)r->threads, e);

	if (!block)
		return e->code;
	for (size_t i = 0; i < BLOCK_BYTES / sizeof(uint32_t) * (size_t)r->threads; i++)
		block[i] = (uint32_t)i;
	r->memory = rates_of_team(team, &(struct rates){ .block = block }, r->threads, memory_part);
	free(block);
	return 0;
}

int roof_measure(struct roof *r, int threads, struct err *e)
{
	struct unit fp32, bf16, int8;

	struct cpu_team *team;
	int rc;

	*r = (struct roof){ .threads = MIN(flow_threads(threads), MAX_THREADS) };
	team = cpu_team_new(r->threads, e);
	if (!team)
		return e->code;
	find_units(&fp32, &bf16, &int8);
	r->units = int8.run && bf16.run ? !strcmp(bf16.name, "AMX")
						  ? "AVX-512, bf16 and int8 in tiles (AMX)"
						  : "AVX-512 with bf16 and VNNI"
					: fp32.name;
	r->fp32 = peak(&fp32, team, r->threads);
	r->bf16 = bf16.run ? peak(&bf16, team, r->threads) : r->fp32;
	r->int8 = peak(&int8, team, r->threads);
	rc = memory_rate(r, team, e);
	cpu_team_free(team);
	return rc;
}

double roof_seconds(const struct roof *r, double top, double flops, double bytes)
{
	return MAX(top > 0 ? flops / top : 0, bytes / r->memory);
}
