/*
 * cpu_decode.c - ops of incremental decoding: attention over a cache, row copies, top k. Definition:
 * ref_decode.c.
 *
 * attention_step, for row r of q and head h, over the cache rows index[r][0 .. length[r]):
 *
 *	score_j = q . k[index_j] / sqrt(W),  p = softmax(score),  out = sum_j p_j v[index_j]
 *
 * The cost is reading the cache. The rows of a hypothesis are scattered in it, so the loops are
 * ordered to read each cache row once, from one end to the other, and to prefetch row j + 2:
 *	1. for each j, the scores of all heads (a head is a stretch of W columns of the row);
 *	2. softmax of each head, in scratch (heads, length);
 *	3. for each block of 16 vectors of columns, all j: the sums stay in registers.
 * The cache may be bf16, converted on load. A part of the team is STEP_ROWS rows of q; rows are
 * independent, so threads do not change results.
 *
 * top_k, for a row of logits: a sorted list of k, and a vector comparison that skips 4 vectors of
 * columns whose maximum is not above the k-th entry; almost all are skipped. Then one pass for
 * log sum exp.
 */
#include "kernels/cpu/cpu.h"

#include <assert.h>

#include "kernels/cpu/cpu_top.h"
#include "kernels/cpu/cpu_vec.h"
#include "kernels/ops/bf16.h"
#include "kernels/ref/ref.h"

/* Load up to `part` elements of a cache row, float or bf16. half is a constant after inlining. */
VEC_INLINE vec load_cache_columns(struct tensor t, int64_t row, int64_t col, int64_t part,
				  const bool half)
{
	const uint16_t *p = (const uint16_t *)t.data + row * t.stride + col;
	uint16_t rest[VEC_LANES] = { 0 };

	if (!half)
		return vec_load_part(cpu_row(t, row) + col, part, 0);
	if (part >= VEC_LANES)
		return vec_load_halves(p);
	memcpy(rest, p, (size_t)part * sizeof(*p));
	return vec_load_halves(rest);
}

VEC_INLINE float dot_cache_row(const float *a, struct tensor b, int64_t row, int64_t col, int64_t n,
			       const bool half)
{
	vec sum = vec_set(0);

	for (int64_t c = 0; c < n; c += VEC_LANES)
		sum += vec_load_part(a + c, n - c, 0) *
		       load_cache_columns(b, row, col + c, n - c, half);
	return vec_sum(sum);
}

/* x = softmax(x); the lanes after n, up to the end of a vector, become 0. */
static void softmax_scores(float *x, int64_t n)
{
	vec largest = vec_set(-INFINITY), sum = vec_set(0);
	float best, share;

	for (int64_t j = n; j % VEC_LANES; j++)
		x[j] = -INFINITY;
	for (int64_t j = 0; j < n; j += VEC_LANES)
		largest = vec_max(vec_load(x + j), largest);
	best = vec_largest(largest);
	for (int64_t j = 0; j < n; j += VEC_LANES) {
		vec y = vec_exp(vec_load(x + j) - best);

		sum += y;
		vec_store(x + j, y);
	}
	share = 1 / vec_sum(sum);
	for (int64_t j = 0; j < n; j += VEC_LANES)
		vec_store(x + j, vec_load(x + j) * share);
}

struct step {
	struct tensor out, q, k, v;
	int64_t row;
	const int32_t *index;
	int32_t length, heads;
};

#define STEP_ROWS     4	 /* rows of a part */
#define SUMS	      16 /* vectors of the result in registers at one time */
#define PREFETCH_ROWS 2	 /* prefetch distance, in cache rows */

/* Prefetch columns of cache row j; the hardware cannot guess its address. */
static void prefetch_cache_row(struct tensor t, const struct step *s, int32_t j, int64_t first,
			       int64_t n)
{
	int64_t size = (int64_t)dtype_bytes(t.dtype);

	if (j < s->length) {
		const char *row = (const char *)t.data + s->index[j] * t.stride * size;

		for (int64_t i = first * size; i < (first + n) * size; i += 64)
			__builtin_prefetch(row + i);
	}
}

/* score (heads, room) = softmax of the scores of all heads. Reads each row of k once. */
VEC_INLINE void attention_scores(const struct step *s, float *score, int64_t room, const bool half)
{
	int64_t n = s->q.cols / s->heads;
	const float *q = cpu_row(s->q, s->row);
	float scale = 1 / sqrtf((float)n);

	for (int32_t j = 0; j < s->length; j++) {
		prefetch_cache_row(s->k, s, j + PREFETCH_ROWS, 0, s->k.cols);
		for (int32_t h = 0; h < s->heads; h++)
			score[h * room + j] =
				dot_cache_row(q + h * n, s->k, s->index[j], h * n, n, half) * scale;
	}
	for (int32_t h = 0; h < s->heads; h++)
		softmax_scores(score + h * room, s->length);
}

/*
 * SUMS vectors of columns of out, from column `first`. A vector belongs to one head: W is a multiple
 * of VEC_LANES.
 */
VEC_INLINE void context_vectors(const struct step *s, const float *score, int64_t room,
				int64_t first, const bool half)
{
	int64_t n = s->q.cols / s->heads;
	const float *weight[SUMS];
	vec sum[SUMS];

	VEC_UNROLL
	for (int i = 0; i < SUMS; i++) {
		sum[i] = vec_set(0);
		weight[i] = score + (first + i * VEC_LANES) / n * room;
	}
	for (int32_t j = 0; j < s->length; j++) {
		int32_t row = s->index[j];

		prefetch_cache_row(s->v, s, j + PREFETCH_ROWS, first, SUMS * VEC_LANES);
		VEC_UNROLL
		for (int i = 0; i < SUMS; i++)
			sum[i] +=
				weight[i][j] * load_cache_columns(s->v, row, first + i * VEC_LANES,
								  VEC_LANES, half);
	}
	VEC_UNROLL
	for (int i = 0; i < SUMS; i++)
		vec_store(cpu_row(s->out, s->row) + first + i * VEC_LANES, sum[i]);
}

/* n columns of one head, any width. */
VEC_INLINE void context_columns(const struct step *s, const float *weight, int64_t first, int64_t n,
				const bool half)
{
	for (int64_t c = first; c < first + n; c += VEC_LANES) {
		int64_t part = first + n - c;
		vec sum = vec_set(0);

		for (int32_t j = 0; j < s->length; j++)
			sum += weight[j] * load_cache_columns(s->v, s->index[j], c, part, half);
		vec_store_part(cpu_row(s->out, s->row) + c, sum, part);
	}
}

VEC_INLINE void context_row(const struct step *s, const float *score, int64_t room, const bool half)
{
	int64_t n = s->q.cols / s->heads, c = 0;

	if (n % VEC_LANES == 0)
		for (; c + SUMS * VEC_LANES <= s->q.cols; c += SUMS * VEC_LANES)
			context_vectors(s, score, room, c, half);
	for (int64_t part; c < s->q.cols; c += part) {
		part = MIN(n - c % n, s->q.cols - c);
		context_columns(s, score + c / n * room, c, part, half);
	}
}

static void attend_floats(const struct step *s, float *score, int64_t room)
{
	attention_scores(s, score, room, false);
	context_row(s, score, room, false);
}

static void attend_halves(const struct step *s, float *score, int64_t room)
{
	attention_scores(s, score, room, true);
	context_row(s, score, room, true);
}

/* Arguments of attention_step, for the parts of the team. */
struct steps {
	struct tensor out, q, k, v;
	float *weights; /* (rows, stride) or NULL */
	const int32_t *index, *length;
	int64_t stride, room; /* of index and weights; of a row of scores, in whole vectors */
	int32_t heads;
	float *scratch; /* (threads, heads, room) scores */
};

static void attend_row(const struct steps *a, int64_t r, float *score)
{
	struct step s = { a->out,	a->q,	 a->k, a->v, r, a->index + r * a->stride,
			  a->length[r], a->heads };
	float *w = a->weights ? a->weights + r * a->stride : NULL, part = 1 / (float)a->heads;

	assert(s.length >= 0 && s.length <= a->stride);
	if (a->k.dtype == DTYPE_BF16)
		attend_halves(&s, score, a->room);
	else
		attend_floats(&s, score, a->room);
	if (w)
		memset(w, 0, (size_t)a->stride * sizeof(*w));
	for (int32_t h = 0; h < a->heads && w; h++)
		for (int32_t j = 0; j < s.length; j++)
			w[j] += score[h * a->room + j] * part;
}

static void attend_rows(const void *context, int thread, int64_t part)
{
	const struct steps *a = context;
	int64_t end = MIN((part + 1) * STEP_ROWS, a->q.rows);

	for (int64_t r = part * STEP_ROWS; r < end; r++)
		attend_row(a, r, a->scratch + thread * a->heads * a->room);
}

void CPU(attention_step)(struct dev *d, struct tensor out, float *weights, struct tensor q,
			 struct tensor k, struct tensor v, const int32_t *index,
			 const int32_t *length, int64_t index_stride, int32_t heads)
{
	struct steps s = {
		.out = out,
		.q = q,
		.k = k,
		.v = v,
		.weights = weights,
		.index = index,
		.length = length,
		.stride = index_stride,
		.heads = heads,
		.room = CEIL_DIV(index_stride, VEC_LANES) * VEC_LANES,
	};

	if ((out.dtype | q.dtype) != DTYPE_F32 || k.dtype != v.dtype) {
		ref_attention_step(NULL, out, weights, q, k, v, index, length, index_stride, heads);
		return;
	}
	s.scratch = cpu_scratch(d, CPU_SCRATCH_THREADS, (size_t)(d->threads * heads),
				(size_t)s.room * sizeof(*s.scratch));
	if (s.scratch)
		cpu_team_run(d->team, cpu_threads(d, q.rows * q.cols), CEIL_DIV(q.rows, STEP_ROWS),
			     attend_rows, &s);
}

static void copy_row(struct tensor to, int64_t to_row, struct tensor from, int64_t from_row)
{
	size_t bytes = dtype_bytes(to.dtype);

	memcpy((char *)to.data + (size_t)(to_row * to.stride) * bytes,
	       (char *)from.data + (size_t)(from_row * from.stride) * bytes,
	       (size_t)to.cols * bytes);
}

struct copy_job {
	struct tensor out, x;
	const int32_t *index;
};

static void gather_part(const void *context, int64_t first, int64_t last)
{
	const struct copy_job *c = context;

	for (int64_t r = first; r < last; r++)
		copy_row(c->out, r, c->x, c->index[r]);
}

void CPU(gather_rows)(struct dev *d, struct tensor out, struct tensor x, const int32_t *index)
{
	if (out.dtype != x.dtype) {
		ref_gather_rows(NULL, out, x, index);
		return;
	}
	cpu_rows(d, out.rows, out.cols, gather_part, &(struct copy_job){ out, x, index });
}

static void round_row(struct tensor to, int64_t to_row, struct tensor from, int64_t from_row)
{
	uint16_t *half = (uint16_t *)to.data + to_row * to.stride;
	const float *x = cpu_row(from, from_row);

	for (int64_t c = 0; c < to.cols; c++)
		half[c] = bf16_from_float(x[c]);
}

static void scatter_part(const void *context, int64_t first, int64_t last)
{
	const struct copy_job *c = context;

	for (int64_t r = first; r < last; r++)
		copy_row(c->out, c->index[r], c->x, r);
}

static void round_part(const void *context, int64_t first, int64_t last)
{
	const struct copy_job *c = context;

	for (int64_t r = first; r < last; r++)
		round_row(c->out, c->index[r], c->x, r);
}

void CPU(scatter_rows)(struct dev *d, struct tensor out, struct tensor x, const int32_t *index)
{
	bool round = out.dtype == DTYPE_BF16 && x.dtype == DTYPE_F32;

	if (out.dtype != x.dtype && !round) {
		ref_scatter_rows(NULL, out, x, index);
		return;
	}
	cpu_rows(d, x.rows, x.cols, round ? round_part : scatter_part,
		 &(struct copy_job){ out, x, index });
}

static void copy_part(const void *context, int64_t first, int64_t last)
{
	const struct copy_job *c = context;

	for (int64_t r = first; r < last; r++)
		if (c->out.dtype == c->x.dtype)
			copy_row(c->out, r, c->x, r);
		else
			round_row(c->out, r, c->x, r);
}

void CPU(copy)(struct dev *d, struct tensor out, struct tensor x)
{
	if (out.dtype != x.dtype && out.dtype != DTYPE_BF16)
		ref_copy(NULL, out, x);
	else
		cpu_rows(d, x.rows, x.cols, copy_part, &(struct copy_job){ out, x, NULL });
}

#define TOP_STEP (4 * VEC_LANES)

static void top_k_row(float *values, int32_t *ids, const float *x, int64_t n_real, int32_t k)
{
	int32_t n = 0;
	int64_t c = 0;
	vec sum = vec_set(0);
	float largest, log_sum;

	for (; c < n_real; c += TOP_STEP) {
		int64_t last = MIN(c + TOP_STEP, n_real);

		if (n == k && last - c == TOP_STEP) {
			vec best = vec_max(vec_max(vec_load(x + c), vec_load(x + c + VEC_LANES)),
					   vec_max(vec_load(x + c + 2 * VEC_LANES),
						   vec_load(x + c + 3 * VEC_LANES)));

			if (vec_largest(best) <= values[k - 1])
				continue;
		}
		for (int64_t i = c; i < last; i++)
			if (n < k || x[i] > values[k - 1])
				n = cpu_top_insert(values, ids, n, k, x[i], (int32_t)i);
	}
	largest = values[0];
	for (c = 0; c < n_real; c += VEC_LANES)
		sum += vec_exp(vec_load_part(x + c, n_real - c, -INFINITY) - largest);
	log_sum = logf(vec_sum(sum));
	for (int32_t i = 0; i < k; i++)
		values[i] = values[i] - largest - log_sum;
}

struct top_k_job {
	float *values;
	int32_t *ids;
	struct tensor logits;
	int64_t n_real;
	int32_t k;
};

static void top_k_rows(const void *context, int64_t first, int64_t last)
{
	const struct top_k_job *j = context;

	for (int64_t r = first; r < last; r++)
		top_k_row(j->values + r * j->k, j->ids + r * j->k, cpu_row(j->logits, r), j->n_real,
			  j->k);
}

void CPU(top_k)(struct dev *d, float *values, int32_t *ids, struct tensor logits, int64_t n_real,
		int32_t k)
{
	assert(k <= n_real);
	if (logits.dtype != DTYPE_F32) {
		ref_top_k(NULL, values, ids, logits, n_real, k);
		return;
	}
	cpu_rows(d, logits.rows, logits.cols, top_k_rows,
		 &(struct top_k_job){ values, ids, logits, n_real, k });
}
