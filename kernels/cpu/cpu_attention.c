/*
 * cpu_attention.c - attention within each sentence, forward and backward; formulas: ref_attention.c.
 *
 * The batch is packed: the rows of all sentences follow each other, without padding. One work item
 * is one head of one sentence, a block of rows and columns of q, k and v:
 *
 *		     head 0   head 1   head 2   …	W = D / H columns each
 *	rows of q  +--------+--------+--------+
 *	sentence 0 |        |        |        |		q_start[0]
 *		   +--------+--------+--------+		q_start[1]
 *	sentence 1 |        | item   |        |
 *		   |        |////////|        |
 *		   +--------+--------+--------+		q_start[2]
 *
 * Threads take items, some at a time. An item is small: 30 keys of 64 columns are 8 KB.
 * For each item the thread
 *	1. copies k transposed, (W, n_k), into its scratch, so that a row of scores is a sum of whole
 *	   vectors: score(i, :) = sum_c q(i, c) kT(c, :), without sums across lanes;
 *	2. takes BLOCK_Q queries at a time: scores = q kT, softmax with dropout row by row, out = p v.
 *	   The scores, 32 rows of n_k floats, stay in the L1 cache.
 * Backward repeats the scores of a block, makes dout vT the same way, and adds the block's part of
 * dk and dv. One thread makes all of an item, so sums have one order and no atomics are needed.
 *
 * Rows in scratch are padded with zeros to whole vectors (WHOLE). bf16 tensors are converted to
 * float in scratch, and results are rounded on the way back.
 */
#include "kernels/cpu/cpu.h"

#include <assert.h>

#include "kernels/cpu/cpu_mask.h"
#include "kernels/cpu/cpu_vec.h"
#include "kernels/ref/ref.h"

#define BLOCK_Q 32 /* queries of a block */
/* n rounded up to whole vectors, and to whole Philox blocks (8 elements). */
#define WHOLE(n) (CEIL_DIV(n, MAX(VEC_LANES, 8)) * MAX(VEC_LANES, 8))

/* ---- small products --------------------------------------------------------------- */

#define MAX_ROWS  12
#define MAX_VECS  4
#define TILE_VECS (VEC_LANES == 16 ? 4 : 2)

/* Rows of a tile of `vecs` vectors of columns: as many sums as registers can hold. */
#if VEC_LANES == 16
#define TILE_ROWS(vecs) ((vecs) == 1 ? 12 : (vecs) == 2 ? 8 : (vecs) == 3 ? 6 : 4)
#elif VEC_LANES == 8
#define TILE_ROWS(vecs) ((vecs) == 1 ? 12 : 6)
#else
#define TILE_ROWS(vecs) ((vecs) == 1 ? 8 : 4)
#endif

/* What a causal product leaves out, because no query sees a later key. Query i sees keys [0, i + first]. */
enum triangle {
	TRIANGLE_NONE,	  /* all is computed */
	TRIANGLE_COLUMNS, /* rows are queries, columns keys: tiles of later keys are not written */
	TRIANGLE_ROWS_A,  /* rows of a are queries, its columns keys: later keys are zeros */
	TRIANGLE_COLS_A,  /* rows of a are keys, its columns queries: earlier queries are zeros */
};

/*
 * out (m, n) = or += a (m, k) b (k, n). The rows of b are readable to the end of the last vector;
 * out is written up to column n only.
 */
struct small {
	float *out;
	int64_t out_stride;
	const float *a; /* element (i, k) is a[i * a_row + k * a_col] */
	int64_t a_row, a_col;
	const float *b;
	int64_t b_stride;
	int64_t m, n, k;
	bool accumulate;
	enum triangle triangle;
	int64_t first; /* of the triangle: position of the first query of the block */
};

/* One k: sum += a (rows, `a_row` apart) x b. */
VEC_INLINE void small_product_step(vec sum[MAX_ROWS][MAX_VECS], const float *a, int64_t a_row,
				   const float *b, const int rows, const int vecs)
{
	vec y[MAX_VECS];

	VEC_UNROLL
	for (int v = 0; v < vecs; v++)
		y[v] = vec_load(b + v * VEC_LANES);
	VEC_UNROLL
	for (int r = 0; r < rows; r++)
		VEC_UNROLL
	for (int v = 0; v < vecs; v++)
		sum[r][v] = vec_multiply_add(sum[r][v], vec_set(a[r * a_row]), y[v]);
}

VEC_INLINE void small_product_tile(const struct small *s, int64_t i, int64_t j, const int rows,
				   const int vecs)
{
	const int64_t last = i + rows + s->first,
		      k_begin = s->triangle == TRIANGLE_COLS_A ? MAX(0, i - s->first) : 0,
		      k_end = s->triangle == TRIANGLE_ROWS_A ? MIN(s->k, last) : s->k;
	const float *a = s->a + i * s->a_row + k_begin * s->a_col,
		    *b = s->b + k_begin * s->b_stride + j;
	vec sum[MAX_ROWS][MAX_VECS];

	if (s->triangle == TRIANGLE_COLUMNS && j >= last)
		return;
	VEC_UNROLL
	for (int r = 0; r < rows; r++)
		VEC_UNROLL
	for (int v = 0; v < vecs; v++)
		sum[r][v] = vec_set(0);
	for (int64_t k = k_begin; k < k_end; k++, a += s->a_col, b += s->b_stride)
		small_product_step(sum, a, s->a_row, b, rows, vecs);
	VEC_UNROLL
	for (int r = 0; r < rows; r++) {
		VEC_UNROLL
		for (int v = 0; v < vecs; v++) {
			float *to = s->out + (i + r) * s->out_stride + j + v * VEC_LANES;
			int64_t left = s->n - j - v * VEC_LANES;

			if (s->accumulate)
				sum[r][v] += vec_load_part(to, left, 0);
			vec_store_part(to, sum[r][v], left);
		}
	}
}

/*
 * All rows of `vecs` vectors of columns. The rows left over after whole tiles form one smaller tile,
 * with the row count as a constant: sentences are short, so this tile is a large part of the work.
 */
VEC_INLINE void small_product_columns(const struct small *s, int64_t j, const int vecs)
{
	int64_t i = 0;

	for (; i + TILE_ROWS(vecs) <= s->m; i += TILE_ROWS(vecs))
		small_product_tile(s, i, j, TILE_ROWS(vecs), vecs);
	switch (s->m - i) {
#define LAST(rows)                                                                                 \
	case rows:                                                                                 \
		if (rows < TILE_ROWS(vecs))                                                        \
			small_product_tile(s, i, j, rows, vecs);                                   \
		break;
		LAST(1)
		LAST(2) LAST(3) LAST(4) LAST(5) LAST(6) LAST(7) LAST(8) LAST(9) LAST(10) LAST(11)
#undef LAST
	}
}

static void small_product(struct small s)
{
	for (int64_t j = 0; j < s.n; j += TILE_VECS * VEC_LANES) {
		switch (MIN(TILE_VECS, CEIL_DIV(s.n - j, VEC_LANES))) {
		case 1:
			small_product_columns(&s, j, 1);
			break;
		case 2:
			small_product_columns(&s, j, 2);
			break;
#if VEC_LANES == 16
		case 3:
			small_product_columns(&s, j, 3);
			break;
		default:
			small_product_columns(&s, j, 4);
#endif
		}
	}
}

/* ---- one head of one sentence --------------------------------------------------------- */

/* Some rows of one head, as floats: in the tensor itself, or a copy in scratch. */
struct view {
	float *data;
	int64_t stride;
};

/* A block of t. */
static struct tensor tensor_block(struct tensor t, int64_t row, int64_t rows, int64_t col,
				  int64_t cols)
{
	return tensor_columns(tensor_rows(t, row, rows), col, cols);
}

static void copy_in(float *to, int64_t stride, struct tensor from)
{
	for (int64_t r = 0; r < from.rows; r++, to += stride) {
		const void *row = cpu_any_row(from, r);

		if (cpu_is_half(from))
			for (int64_t c = 0; c < from.cols; c += VEC_LANES)
				vec_store(to + c, vec_get(row, c, from.cols - c, 0, true));
		else
			memcpy(to, row, (size_t)from.cols * sizeof(*to));
		for (int64_t c = from.cols; c < stride; c++)
			to[c] = 0;
	}
}

/*
 * x with rows readable to the end of the last vector: itself, or a copy (rows, WHOLE(cols)). Rows that
 * are read several times are copied: those of a tensor are often a power of two apart and evict each
 * other from the L1 cache.
 */
static struct view view_padded_rows(struct tensor x, float *copy, bool several_times)
{
	int64_t stride = WHOLE(x.cols);

	if (!several_times && !cpu_is_half(x) && x.cols % VEC_LANES == 0)
		return (struct view){ x.data, x.stride };
	copy_in(copy, stride, x);
	return (struct view){ copy, stride };
}

/* Where to compute x: in place; if x is bf16 in `copy`, from where store_rounded_rows() rounds it. */
static struct view result_of(struct tensor x, float *copy)
{
	return cpu_is_half(x) ? (struct view){ copy, WHOLE(x.cols) }
			      : (struct view){ x.data, x.stride };
}

static void store_rounded_rows(struct tensor x, struct view from)
{
	for (int64_t r = 0; cpu_is_half(x) && r < x.rows; r++)
		for (int64_t c = 0; c < x.cols; c += VEC_LANES)
			vec_put(cpu_any_row(x, r), c, vec_load(from.data + r * from.stride + c),
				x.cols - c, true);
}

/* to (cols, stride) = x (rows, cols) transposed; columns from `rows` to `stride` are 0. */
static void transpose_padded(float *to, int64_t stride, struct view x, int64_t rows, int64_t cols)
{
	static const float zeros[VEC_LANES];

	for (int64_t r = 0; r < stride; r += VEC_LANES) {
		for (int64_t c = 0; c < cols; c += VEC_LANES) {
			vec square[VEC_LANES];

			if (c + VEC_LANES <= cols) {
				VEC_UNROLL
				for (int i = 0; i < VEC_LANES; i++)
					square[i] = vec_load(
						r + i < rows ? x.data + (r + i) * x.stride + c
							     : zeros);
				vec_transpose(square);
				VEC_UNROLL
				for (int i = 0; i < VEC_LANES; i++)
					vec_store(to + (c + i) * stride + r, square[i]);
				continue;
			}
			VEC_UNROLL
			for (int i = 0; i < VEC_LANES; i++)
				square[i] = r + i < rows
						    ? vec_load_part(x.data + (r + i) * x.stride + c,
								    cols - c, 0)
						    : vec_set(0);
			vec_transpose(square);
			VEC_UNROLL
			for (int i = 0; i < VEC_LANES; i++)
				if (c + i < cols)
					vec_store(to + (c + i) * stride + r, square[i]);
		}
	}
}

struct head {
	int64_t first_q, n_q, first_k, n_k; /* rows of the sentence */
	int64_t index, count;		    /* number of this head; number of heads */
	int64_t first_col, n_cols;	    /* columns of the head */
	int64_t stride;			    /* of rows of scores: WHOLE(n_k) */
	float scale;
	bool causal;
};

static struct head head_at(struct tensor q, struct attention_shape shape, int64_t item)
{
	int64_t s = item / shape.heads, h = item % shape.heads, n_cols = q.cols / shape.heads;
	int64_t n_k = shape.k_start[s + 1] - shape.k_start[s];

	assert(shape.q_start[s + 1] >= shape.q_start[s] && n_k >= 0 && n_k <= 4096);
	return (struct head){
		.first_q = shape.q_start[s],
		.n_q = shape.q_start[s + 1] - shape.q_start[s],
		.first_k = shape.k_start[s],
		.n_k = n_k,
		.index = h,
		.count = shape.heads,
		.first_col = h * n_cols,
		.n_cols = n_cols,
		.stride = WHOLE(n_k),
		.scale = 1 / sqrtf((float)n_cols),
		.causal = shape.causal,
	};
}

static enum triangle triangle_of(const struct head *h, enum triangle t)
{
	return h->causal ? t : TRIANGLE_NONE;
}

/* Number of keys that query i sees. */
static int64_t count_visible_keys(const struct head *h, int64_t i)
{
	return h->causal ? MIN(i + 1, h->n_k) : h->n_k;
}

/* Dropout factors of the scores of queries [first, first + n); the index of ops.def, op attention. */
static void head_mask(const struct head *h, const struct mask *m, float *to, int64_t first,
		      int64_t n)
{
	uint64_t row = (uint64_t)((h->first_q + first) * h->count + h->index);

	mask_table(m, to, h->stride, row << 12, (uint64_t)h->count << 12, n,
		   count_visible_keys(h, first + n - 1));
}

static int64_t longest_sentence(const int32_t *start, int32_t n)
{
	int64_t most = 1;

	for (int32_t s = 0; s < n; s++)
		most = MAX(most, start[s + 1] - start[s]);
	return most;
}

/* Scratch of one thread, sized for the longest sentence. */
struct head_buffers {
	float *k_transposed, *v_transposed; /* (WHOLE(n_cols), WHOLE(n_k)) */
	float *k, *v, *dk, *dv;		    /* (WHOLE(n_k), WHOLE(n_cols)) */
	float *q, *out, *dout, *dq;	    /* (BLOCK_Q, WHOLE(n_cols)) */
	float *scores, *dscores, *factors;  /* (BLOCK_Q, WHOLE(n_k)) */
};

static size_t head_buffers_floats(int64_t n_k, int64_t n_cols)
{
	return (size_t)(6 * WHOLE(n_k) * WHOLE(n_cols) + 4 * BLOCK_Q * WHOLE(n_cols) +
			3 * BLOCK_Q * WHOLE(n_k));
}

static struct head_buffers head_buffers_at(float *p, int64_t n_k, int64_t n_cols)
{
	int64_t side = WHOLE(n_k) * WHOLE(n_cols), block = BLOCK_Q * WHOLE(n_cols),
		table = BLOCK_Q * WHOLE(n_k);
	float *blocks = p + 6 * side, *tables = blocks + 4 * block;

	return (struct head_buffers){
		.k_transposed = p,
		.v_transposed = p + side,
		.k = p + 2 * side,
		.v = p + 3 * side,
		.dk = p + 4 * side,
		.dv = p + 5 * side,
		.q = blocks,
		.out = blocks + block,
		.dout = blocks + 2 * block,
		.dq = blocks + 3 * block,
		.scores = tables,
		.dscores = tables + table,
		.factors = tables + 2 * table,
	};
}

/* The head's columns: of all keys of the sentence; of n of its queries. */
static struct tensor keys_of(struct tensor t, const struct head *h)
{
	return tensor_block(t, h->first_k, h->n_k, h->first_col, h->n_cols);
}

static struct tensor queries_of(struct tensor t, const struct head *h, int64_t first, int64_t n)
{
	return tensor_block(t, h->first_q + first, n, h->first_col, h->n_cols);
}

/* ---- forward ----------------------------------------------------------------------- */

/*
 * In place: x = softmax of n unscaled scores, times the dropout factors (NULL: none), then zeros to
 * the end of the row. Returns log sum exp of the scaled scores.
 */
static float softmax_dropout_row(const struct head *h, float *x, const float *factor, int64_t n)
{
	vec largest = vec_set(-INFINITY), sum = vec_set(0);
	float best, total, share;

	for (int64_t j = 0; j < n; j += VEC_LANES)
		largest = vec_max(vec_load_part(x + j, n - j, -INFINITY), largest);
	best = vec_largest(largest);
	for (int64_t j = 0; j < n; j += VEC_LANES) {
		vec y = vec_exp((vec_load_part(x + j, n - j, -INFINITY) - best) * h->scale);

		sum += y;
		vec_store(x + j, y);
	}
	total = vec_sum(sum);
	share = 1 / total;
	for (int64_t j = 0; j < n; j += VEC_LANES) {
		vec y = vec_load(x + j) * share;

		vec_store(x + j, factor ? y * vec_load(factor + j) : y);
	}
	for (int64_t j = CEIL_DIV(n, VEC_LANES) * VEC_LANES; j < h->stride; j++)
		x[j] = 0;
	return best * h->scale + logf(total);
}

/* What threads share: how items are cut into parts, and the scratch memory of each thread. */
struct items {
	struct attention_shape shape;
	int64_t n, n_k, n_cols; /* items; keys of the longest sentence, columns of a head */
	int64_t part_items;	/* of a part: few where many threads share them */
	float *scratch;		/* (threads, floats) */
	size_t floats;
};

#define MAX_ITEMS_PART 4 /* most items of a part */

/* False: out of memory, stored in d->fault. */
static bool items_init(struct items *s, struct dev *d, struct tensor q,
		       struct attention_shape shape)
{
	*s = (struct items){ .shape = shape,
			     .n = (int64_t)shape.n * shape.heads,
			     .n_k = longest_sentence(shape.k_start, shape.n),
			     .n_cols = q.cols / shape.heads };
	s->part_items = MAX(1, MIN(MAX_ITEMS_PART, s->n / (4 * d->threads)));
	s->floats = head_buffers_floats(s->n_k, s->n_cols);
	s->scratch = cpu_scratch(d, CPU_SCRATCH_THREADS, (size_t)d->threads,
				 s->floats * sizeof(*s->scratch));
	return s->scratch != NULL;
}

static void items_run(const struct items *s, struct dev *d, cpu_team_work *work,
		      const void *context)
{
	cpu_team_run(d->team, d->threads, CEIL_DIV(s->n, s->part_items), work, context);
}

static struct head_buffers items_buffers(const struct items *s, int thread)
{
	return head_buffers_at(s->scratch + (size_t)thread * s->floats, s->n_k, s->n_cols);
}

struct forward {
	struct tensor out, q, k, v;
	float *lse;
	struct items items;
	struct mask mask;
};

static void attend_sentence_head(const struct forward *f, const struct head *h,
				 const struct head_buffers *buf)
{
	struct view k = view_padded_rows(keys_of(f->k, h), buf->k, false),
		    v = view_padded_rows(keys_of(f->v, h), buf->v, false);

	transpose_padded(buf->k_transposed, h->stride, k, h->n_k, h->n_cols);
	for (int64_t first = 0; first < h->n_q; first += BLOCK_Q) {
		int64_t n = MIN(BLOCK_Q, h->n_q - first),
			n_k = count_visible_keys(h, first + n - 1);
		struct tensor to = queries_of(f->out, h, first, n);
		struct view q = view_padded_rows(queries_of(f->q, h, first, n), buf->q, false),
			    out = result_of(to, buf->out);

		small_product((struct small){
			buf->scores, h->stride, q.data, q.stride, 1, buf->k_transposed, h->stride,
			n, WHOLE(n_k), h->n_cols, false, triangle_of(h, TRIANGLE_COLUMNS), first });
		if (!f->mask.ones)
			head_mask(h, &f->mask, buf->factors, first, n);
		for (int64_t i = 0; i < n; i++)
			f->lse[(h->first_q + first + i) * h->count + h->index] =
				softmax_dropout_row(h, buf->scores + i * h->stride,
						    f->mask.ones ? NULL
								 : buf->factors + i * h->stride,
						    count_visible_keys(h, first + i));
		small_product((struct small){ out.data, out.stride, buf->scores, h->stride, 1,
					      v.data, v.stride, n, h->n_cols, n_k, false,
					      triangle_of(h, TRIANGLE_ROWS_A), first });
		store_rounded_rows(to, out);
	}
}

static void attention_part(const void *context, int thread, int64_t part)
{
	const struct forward *f = context;
	const struct head_buffers buf = items_buffers(&f->items, thread);

	for (int64_t i = part * f->items.part_items;
	     i < MIN((part + 1) * f->items.part_items, f->items.n); i++) {
		const struct head h = head_at(f->q, f->items.shape, i);

		attend_sentence_head(f, &h, &buf);
	}
}

void CPU(attention)(struct dev *d, struct tensor out, float *lse, struct tensor q, struct tensor k,
		    struct tensor v, struct attention_shape shape, struct dropout drop)
{
	struct forward f = { .out = out, .q = q, .k = k, .v = v, .lse = lse };

	if (!items_init(&f.items, d, q, shape))
		return;
	mask_init(&f.mask, drop);
	items_run(&f.items, d, attention_part, &f);
}

/* ---- gradients ----------------------------------------------------------------------- */

struct backward {
	struct tensor dq, dk, dv, dout, out, q, k, v;
	const float *lse;
	struct items items;
	struct mask mask;
};

/*
 * One row of n keys, in place: scores become p m, the weights of v; dscores, which hold dout . v,
 * become the gradients of the scores. Zeros to the end of the row. average = dout . out.
 */
static void softmax_dropout_grad(const struct head *h, float *scores, float *dscores,
				 const float *factor, int64_t n, float lse, float average)
{
	for (int64_t j = 0; j < h->stride; j += VEC_LANES) {
		vec p, dp, f;

		if (j >= n) {
			vec_store(scores + j, vec_set(0));
			vec_store(dscores + j, vec_set(0));
			continue;
		}
		p = vec_exp(vec_load_part(scores + j, n - j, -INFINITY) * h->scale - lse);
		f = factor ? vec_load_part(factor + j, n - j, 0) : vec_set(1);
		dp = vec_load_part(dscores + j, n - j, 0);
		vec_store(scores + j, p * f);
		vec_store(dscores + j, p * (f * dp - average) * h->scale);
	}
}

static float dot_vectors(const float *a, const float *b, int64_t n)
{
	vec sum = vec_set(0);

	for (int64_t c = 0; c < n; c += VEC_LANES)
		sum += vec_load_part(a + c, n - c, 0) * vec_load_part(b + c, n - c, 0);
	return vec_sum(sum);
}

/* A block of n queries, from query `first` of the sentence. */
struct block {
	struct view q, dout, out;
	int64_t first, n;
};

static struct block block_at(const struct backward *b, const struct head *h,
			     const struct head_buffers *buf, int64_t first)
{
	int64_t n = MIN(BLOCK_Q, h->n_q - first);

	return (struct block){
		.q = view_padded_rows(queries_of(b->q, h, first, n), buf->q, true),
		.dout = view_padded_rows(queries_of(b->dout, h, first, n), buf->dout, true),
		.out = view_padded_rows(queries_of(b->out, h, first, n), buf->out, false),
		.first = first,
		.n = n,
	};
}

/* buf->scores, buf->dscores = weights of v and gradients of the scores of a block of queries. */
static void block_grad(const struct backward *b, const struct head *h,
		       const struct head_buffers *buf, const struct block *at)
{
	const struct view q = at->q, dout = at->dout, out = at->out;
	int64_t n = at->n, n_k = count_visible_keys(h, at->first + n - 1),
		row = h->first_q + at->first;

	small_product((struct small){ buf->scores, h->stride, q.data, q.stride, 1,
				      buf->k_transposed, h->stride, n, WHOLE(n_k), h->n_cols, false,
				      triangle_of(h, TRIANGLE_COLUMNS), at->first });
	small_product((struct small){ buf->dscores, h->stride, dout.data, dout.stride, 1,
				      buf->v_transposed, h->stride, n, WHOLE(n_k), h->n_cols, false,
				      triangle_of(h, TRIANGLE_COLUMNS), at->first });
	if (!b->mask.ones)
		head_mask(h, &b->mask, buf->factors, at->first, n);
	for (int64_t i = 0; i < n; i++)
		softmax_dropout_grad(h, buf->scores + i * h->stride, buf->dscores + i * h->stride,
				     b->mask.ones ? NULL : buf->factors + i * h->stride,
				     count_visible_keys(h, at->first + i),
				     b->lse[(row + i) * h->count + h->index],
				     dot_vectors(dout.data + i * dout.stride,
						 out.data + i * out.stride, h->n_cols));
}

static void attend_sentence_grad(const struct backward *b, const struct head *h,
				 const struct head_buffers *buf)
{
	struct tensor to_k = keys_of(b->dk, h), to_v = keys_of(b->dv, h);
	struct view dk = result_of(to_k, buf->dk), dv = result_of(to_v, buf->dv);
	struct view k = view_padded_rows(keys_of(b->k, h), buf->k, true),
		    v = view_padded_rows(keys_of(b->v, h), buf->v, false);
	int64_t first = 0;

	transpose_padded(buf->k_transposed, h->stride, k, h->n_k, h->n_cols);
	transpose_padded(buf->v_transposed, h->stride, v, h->n_k, h->n_cols);
	do { /* at least once: a sentence without queries gets zero gradients of its keys */
		struct block at = block_at(b, h, buf, first);
		struct tensor to = queries_of(b->dq, h, first, at.n);
		struct view dq = result_of(to, buf->dq);

		if (at.n > 0)
			block_grad(b, h, buf, &at);
		small_product((struct small){ dq.data, dq.stride, buf->dscores, h->stride, 1,
					      k.data, k.stride, at.n, h->n_cols, h->n_k, false,
					      triangle_of(h, TRIANGLE_ROWS_A), first });
		small_product((struct small){ dk.data, dk.stride, buf->dscores, 1, h->stride,
					      at.q.data, at.q.stride, h->n_k, h->n_cols, at.n,
					      first > 0, triangle_of(h, TRIANGLE_COLS_A), first });
		small_product((struct small){ dv.data, dv.stride, buf->scores, 1, h->stride,
					      at.dout.data, at.dout.stride, h->n_k, h->n_cols, at.n,
					      first > 0, triangle_of(h, TRIANGLE_COLS_A), first });
		store_rounded_rows(to, dq);
		first += BLOCK_Q;
	} while (first < h->n_q);
	store_rounded_rows(to_k, dk);
	store_rounded_rows(to_v, dv);
}

static void attention_grad_part(const void *context, int thread, int64_t part)
{
	const struct backward *b = context;
	const struct head_buffers buf = items_buffers(&b->items, thread);

	for (int64_t i = part * b->items.part_items;
	     i < MIN((part + 1) * b->items.part_items, b->items.n); i++) {
		const struct head h = head_at(b->q, b->items.shape, i);

		attend_sentence_grad(b, &h, &buf);
	}
}

void CPU(attention_grad)(struct dev *d, struct tensor dq, struct tensor dk, struct tensor dv,
			 struct tensor dout, struct tensor out, const float *lse, struct tensor q,
			 struct tensor k, struct tensor v, struct attention_shape shape,
			 struct dropout drop)
{
	struct backward b = { .dq = dq,
			      .dk = dk,
			      .dv = dv,
			      .dout = dout,
			      .out = out,
			      .q = q,
			      .k = k,
			      .v = v,
			      .lse = lse };

	if (!items_init(&b.items, d, q, shape))
		return;
	mask_init(&b.mask, drop);
	items_run(&b.items, d, attention_grad_part, &b);
}
