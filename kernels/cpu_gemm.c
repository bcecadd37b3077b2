/*
 * cpu_gemm.c - see cpu.h: our own matrix product, packed and blocked after
 * Goto and van de Geijn (2008, "Anatomy of high-performance matrix
 * multiplication").
 *
 * A block of b (BLOCK_K x all columns) is packed into panels of PANEL_N columns
 * by all threads together; then each thread packs BLOCK_M rows of a into panels
 * of PANEL_M rows and multiplies them with every panel of b. A tile of PANEL_M x
 * PANEL_N sums lives in registers. Each sum is made by one thread in the order
 * of k, so the number of threads does not matter.
 */
#include "kernels/cpu.h"

#include "kernels/bf16.h"
#include "kernels/cpu_vec.h"

#if VEC_LANES == 16
#define PANEL_M 12
#elif VEC_LANES == 8
#define PANEL_M 6
#else
#define PANEL_M 4
#endif
#define TILE_VECS 2
#define PANEL_N (TILE_VECS * VEC_LANES)
#define BLOCK_K 256
#define BLOCK_M (8 * PANEL_M)

static void to_bf16(uint16_t *to, const float *from, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		uint32_t u, rounded;

		memcpy(&u, from + i, sizeof(u));
		rounded = (u + 0x7FFF + (u >> 16 & 1)) >> 16;
		to[i] = (uint16_t)((u & 0x7FFFFFFF) > 0x7F800000 ? (u >> 16 | 0x40) : rounded);
	}
}

/* One operand: element (i, k) of it lies at data[i * outer + k * inner]. */
struct operand {
	const void *data;
	enum dtype dtype;
	int64_t outer, inner;
	bool round;		/* to bf16 */
};

static float operand_get(const struct operand *x, int64_t i, int64_t k)
{
	int64_t at = i * x->outer + k * x->inner;
	float value;

	if (x->dtype == DTYPE_BF16)
		return bf16_to_float(((const uint16_t *)x->data)[at]);
	value = ((const float *)x->data)[at];
	return x->round ? bf16_to_float(bf16_from_float(value)) : value;
}

/* Rows [first, last) of x, elements [k, k + n_k), into panels of `panel` rows: [panel][k][row], missing rows 0. */
static void pack(float *to, const struct operand *x, int64_t first, int64_t last, int64_t k, int64_t n_k, int panel)
{
	bool plain = x->dtype == DTYPE_F32 && !x->round;

	for (int64_t row = first; row < last; row += panel, to += n_k * panel) {
		int64_t n = MIN(panel, last - row);
		const float *from = (const float *)x->data + row * x->outer + k * x->inner;

		if (plain && n == panel && x->outer == 1) {
			for (int64_t kk = 0; kk < n_k; kk++)
				memcpy(to + kk * panel, from + kk * x->inner, (size_t)panel * sizeof(float));
			continue;
		}
		for (int64_t i = 0; i < panel; i++) {
			if (i >= n)
				for (int64_t kk = 0; kk < n_k; kk++)
					to[kk * panel + i] = 0;
			else if (plain)
				for (int64_t kk = 0; kk < n_k; kk++)
					to[kk * panel + i] = from[i * x->outer + kk * x->inner];
			else
				for (int64_t kk = 0; kk < n_k; kk++)
					to[kk * panel + i] = operand_get(x, row + i, k + kk);
		}
	}
}

struct product {
	struct tensor out;
	struct operand a, b;
	int64_t n_k;
	bool accumulate;
	float *packed_a, *packed_b;
};

/* A tile of sums into out at (row, col); the rows and columns beyond its edge are left out. */
static void tile_store(const struct product *p, const float *sums, int64_t row, int64_t col, bool add)
{
	int64_t n_rows = MIN(PANEL_M, p->out.rows - row), n_cols = MIN(PANEL_N, p->out.cols - col);

	for (int64_t i = 0; i < n_rows; i++, sums += PANEL_N) {
		int64_t at = (row + i) * p->out.stride + col;

		if (p->out.dtype == DTYPE_BF16) {
			uint16_t *to = (uint16_t *)p->out.data + at;

			for (int64_t j = 0; j < n_cols; j++)
				to[j] = bf16_from_float(sums[j] + (add ? bf16_to_float(to[j]) : 0));
		} else {
			float *to = (float *)p->out.data + at;

			for (int64_t j = 0; j < n_cols; j++)
				to[j] = sums[j] + (add ? to[j] : 0);
		}
	}
}

/* The kernel: a tile of out from a panel of a and a panel of b. */
static void tile(const struct product *p, const float *a, const float *b, int64_t n_k, int64_t row, int64_t col, bool add)
{
	bool whole = row + PANEL_M <= p->out.rows && col + PANEL_N <= p->out.cols && p->out.dtype == DTYPE_F32;
	vec sum[PANEL_M][TILE_VECS] = { 0 };

	for (int64_t k = 0; k < n_k; k++, a += PANEL_M, b += PANEL_N) {
		vec b0 = vec_load(b), b1 = vec_load(b + VEC_LANES);

#pragma GCC unroll 12
		for (int i = 0; i < PANEL_M; i++) {
			vec x = vec_set(a[i]);

			sum[i][0] += x * b0;
			sum[i][1] += x * b1;
		}
	}
	if (!whole) {
		float sums[PANEL_M * PANEL_N];

		memcpy(sums, sum, sizeof(sums));
		tile_store(p, sums, row, col, add);
		return;
	}
#pragma GCC unroll 12
	for (int i = 0; i < PANEL_M; i++) {
		float *to = (float *)p->out.data + (row + i) * p->out.stride + col;

		vec_store(to, add ? sum[i][0] + vec_load(to) : sum[i][0]);
		vec_store(to + VEC_LANES, add ? sum[i][1] + vec_load(to + VEC_LANES) : sum[i][1]);
	}
}

/* Rows [row, row + BLOCK_M) of out, the products of elements [k, k + n_k). */
static void block(const struct product *p, float *packed_a, int64_t row, int64_t k, int64_t n_k)
{
	int64_t last = MIN(row + BLOCK_M, p->out.rows);

	pack(packed_a, &p->a, row, last, k, n_k, PANEL_M);
	for (int64_t col = 0; col < p->out.cols; col += PANEL_N)
		for (int64_t r = row; r < last; r += PANEL_M)
			tile(p, packed_a + (r - row) * n_k, p->packed_b + col * n_k, n_k, r, col, p->accumulate || k > 0);
}

static void product(struct dev *d, const struct product *p)
{
	int64_t n_panels = CEIL_DIV(p->out.cols, PANEL_N), n_blocks = CEIL_DIV(p->out.rows, BLOCK_M);

	for (int64_t i = 0; i < n_blocks && p->n_k == 0; i++)
		block(p, p->packed_a, i * BLOCK_M, 0, 0);	/* an empty sum */
	for (int64_t k = 0; k < p->n_k; k += BLOCK_K) {
		int64_t n_k = MIN(BLOCK_K, p->n_k - k);

#pragma omp parallel num_threads(d->threads)
		{
#pragma omp for schedule(static)
			for (int64_t i = 0; i < n_panels; i++)
				pack(p->packed_b + i * PANEL_N * n_k, &p->b, i * PANEL_N,
				     MIN((i + 1) * PANEL_N, p->out.cols), k, n_k, PANEL_N);
#pragma omp for schedule(dynamic)
			for (int64_t i = 0; i < n_blocks; i++)
				block(p, p->packed_a + i * BLOCK_M * BLOCK_K, i * BLOCK_M, k, n_k);
		}
	}
	(void)d;
}

void CPU(matmul)(struct dev *d, struct tensor out, struct tensor a, struct tensor b, struct matmul_how how)
{
	struct product p = {
		.out = out,
		.a = { a.data, a.dtype, how.a_transposed ? 1 : a.stride, how.a_transposed ? a.stride : 1, d->bf16 },
		.b = { b.data, b.dtype, how.b_transposed ? b.stride : 1, how.b_transposed ? 1 : b.stride, d->bf16 },
		.n_k = how.a_transposed ? a.rows : a.cols,
		.accumulate = how.accumulate,
	};
	size_t n_blocks = (size_t)CEIL_DIV(out.rows, BLOCK_M), n_panels = (size_t)CEIL_DIV(out.cols, PANEL_N);

	if (out.rows == 0 || out.cols == 0)
		return;
	if (d->onednn && cpu_onednn_matmul(d, out, a, b, how, to_bf16))
		return;
	p.packed_a = cpu_scratch(d, CPU_SCRATCH_A, n_blocks, BLOCK_M * BLOCK_K * sizeof(float));
	p.packed_b = cpu_scratch(d, CPU_SCRATCH_B, n_panels, PANEL_N * BLOCK_K * sizeof(float));
	if (p.packed_a && p.packed_b)
		product(d, &p);
}
