/*
 * cpu_activate.c - activations, gates, rotary positions, sums of columns; formulas: ref_activate.c.
 *
 * A row is computed in chunks of 1024 columns, which stay in the L1 cache as floats:
 *
 *	load	float or bf16, plus bias, to whole vectors
 *	act	act(x), or act(x) and its slope: the only loops that know the activation
 *	store	times gate, times dropout factors of cpu_mask.h, to float or bf16
 *
 * So an activation is one vector function and its slope, and any mix of types has the fast path. A chunk
 * is read before its result is stored, hence out may be x and dx may be dout.
 *
 * Sums of columns: parts of rows with one buffer each, added in order (cpu_norm.c). They are those of
 * the stored numbers, rounded if dx is bf16, as the definition says.
 */
#include "kernels/cpu/cpu.h"

#include <assert.h>

#include "kernels/cpu/cpu_mask.h"
#include "kernels/cpu/cpu_vec.h"

/* ---- the activations ------------------------------------------------------------- */

VEC_INLINE vec vec_act_relu(vec x)
{
	return vec_max(vec_set(0), x); /* in this order NaN passes */
}

VEC_INLINE vec vec_slope_relu(vec x)
{
	return vec_choose(x > 0, vec_set(1), vec_set(0));
}

/*
 * The normal distribution at x: its density, the area below x, and the area above it. With a = |x| the area beyond a
 * is e^(-a^2 / 2) P(t), t = 1 / (1 + 0.35 a), the form of Hastings (Abramowitz and Stegun 7.1.26).
 * The coefficients are of our own weighted minimax fit. In single precision the area is off by at most 3.1e-7, small
 * areas by 3e-6 of their value, x times the area by 1.7e-7 (|x| <= 9; t_activate.c).
 */
struct normal {
	vec density, below;
};

VEC_INLINE struct normal vec_normal(vec x)
{
	vec a = vec_abs(x), e = vec_exp(x * x * -0.5f), t = 1 / (a * 0.35f + 1), y, beyond;

	y = t * 0.0444787331f - 0.184332505f;
	y = y * t + 0.211608917f;
	y = y * t + 0.00798600540f;
	y = y * t + 0.143759280f;
	y = y * t + 0.136707306f;
	y = y * t + 0.139792085f;
	beyond = y * t * e;
	return (struct normal){ e * 0.398942280f, vec_choose(x < 0, beyond, 1 - beyond) };
}

VEC_INLINE vec vec_act_gelu(vec x)
{
	return x * vec_normal(x).below;
}

VEC_INLINE vec vec_slope_gelu(vec x)
{
	struct normal n = vec_normal(x);

	return n.below + x * n.density;
}

#define GELU_CUBE   0.044715f
#define GELU_FACTOR 0.797884561f /* sqrt(2 / pi) */

/* (1 + tanh u) / 2 = sigmoid(2 u) */
VEC_INLINE vec vec_act_gelu_tanh(vec x)
{
	return x * vec_sigmoid(2 * GELU_FACTOR * (x + GELU_CUBE * x * x * x)).yes;
}

/* From |x| = 16 on the slope is 1 or 0, while x^3 may overflow. */
VEC_INLINE vec vec_slope_gelu_tanh(vec x)
{
	vec y = vec_max(vec_set(-16), -vec_max(vec_set(-16), -x));
	struct sigmoid s = vec_sigmoid(2 * GELU_FACTOR * (y + GELU_CUBE * y * y * y));

	return s.yes + 2 * y * s.yes * s.no * GELU_FACTOR * (1 + 3 * GELU_CUBE * y * y);
}

#define GELU_SIGMOID 1.702f

VEC_INLINE vec vec_act_gelu_sigmoid(vec x)
{
	return x * vec_sigmoid(GELU_SIGMOID * x).yes;
}

VEC_INLINE vec vec_slope_gelu_sigmoid(vec x)
{
	struct sigmoid s = vec_sigmoid(GELU_SIGMOID * x);

	return s.yes + x * (s.yes * s.no * GELU_SIGMOID); /* 1.702 x may overflow */
}

VEC_INLINE vec vec_act_silu(vec x)
{
	return x * vec_sigmoid(x).yes;
}

VEC_INLINE vec vec_slope_silu(vec x)
{
	struct sigmoid s = vec_sigmoid(x);

	return s.yes + x * s.yes * s.no;
}

/* ---- chunks of a row, as floats --------------------------------------------------- */

typedef float chunk[MASK_CHUNK];

/* For each activation: x = act(x); and y = act(x), x = slope(x). n is rounded up to whole vectors. */
#define ACTIVATION(name, text)                                                                     \
	static void act_chunk_##name(float *x, int64_t n)                                          \
	{                                                                                          \
		for (int64_t i = 0; i < n; i += VEC_LANES)                                         \
			vec_store(x + i, vec_act_##name(vec_load(x + i)));                         \
	}                                                                                          \
	static void slope_chunk_##name(float *y, float *x, int64_t n)                              \
	{                                                                                          \
		for (int64_t i = 0; i < n; i += VEC_LANES) {                                       \
			vec v = vec_load(x + i);                                                   \
                                                                                                   \
			vec_store(y + i, vec_act_##name(v));                                       \
			vec_store(x + i, vec_slope_##name(v));                                     \
		}                                                                                  \
	}
#include "share/base/activations.def"

static const struct {
	void (*act)(float *x, int64_t n);
	void (*slope)(float *y, float *x, int64_t n);
} chunk_functions[N_ACTIVATIONS] = {
#define ACTIVATION(name, text) [ACTIVATION_##name] = { act_chunk_##name, slope_chunk_##name },
#include "share/base/activations.def"
};

VEC_INLINE void load_typed(float *to, const void *from, const float *bias, int64_t n,
			   const bool half)
{
	for (int64_t i = 0; i < n; i += VEC_LANES) {
		vec x = vec_get(from, i, n - i, 0, half);

		if (bias)
			x += vec_load_part(bias + i, n - i, 0);
		vec_store(to + i, x);
	}
}

/* to = columns [col, col + n) of a row, plus the bias of these columns if there is one. */
static void load_chunk(float *to, struct tensor x, int64_t row, int64_t col, int64_t n,
		       const float *bias)
{
	const void *from = cpu_any_row(tensor_columns(x, col, n), row);

	if (bias)
		bias += col;
	if (cpu_is_half(x))
		load_typed(to, from, bias, n, true);
	else
		load_typed(to, from, bias, n, false);
}

VEC_INLINE void store_typed(void *to, float *sum, const float *x, const float *y,
			    const float *factor, int64_t n, const bool half)
{
	for (int64_t i = 0; i < n; i += VEC_LANES) {
		vec v = vec_load(x + i);

		if (y)
			v *= vec_load(y + i);
		v *= vec_load_part(factor + i, n - i, 0);
		vec_put(to, i, v, n - i, half);
		if (sum)
			vec_store_part(sum + i,
				       vec_load_part(sum + i, n - i, 0) +
					       (half ? (vec)vec_round_bits(v) : v),
				       n - i);
	}
}

/* Columns [col, col + n) of a row = x y factor; y NULL: x factor. sum NULL, or += the stored numbers. */
static void store_chunk(struct tensor to, int64_t row, int64_t col, int64_t n, float *sum,
			const float *x, const float *y, const float *factor)
{
	void *p = cpu_any_row(tensor_columns(to, col, n), row);

	if (sum)
		sum += col;
	if (cpu_is_half(to))
		store_typed(p, sum, x, y, factor, n, true);
	else
		store_typed(p, sum, x, y, factor, n, false);
}

/* ---- activate --------------------------------------------------------------------- */

struct activate_job {
	struct tensor out, x;
	const float *bias;
	enum activation act;
	struct dropout drop;
};

static void activate_row_range(const void *context, int64_t first, int64_t last)
{
	const struct activate_job *j = context;
	const int64_t F = j->out.cols;
	const bool is_gated = j->x.cols != F;
	chunk a, gate;
	struct mask m;

	mask_init(&m, j->drop);
	for (int64_t t = first; t < last; t++)
		for (int64_t c = 0; c < F; c += MASK_CHUNK) {
			const int64_t n = MIN(MASK_CHUNK, F - c);

			load_chunk(a, j->x, t, c, n, j->bias);
			chunk_functions[j->act].act(a, n);
			if (is_gated)
				load_chunk(gate, j->x, t, F + c, n, j->bias);
			store_chunk(j->out, t, c, n, NULL, a, is_gated ? gate : NULL,
				    mask_row(&m, (uint64_t)(t * F + c), n));
		}
}

void CPU(activate)(struct dev *d, struct tensor out, struct tensor x, const float *bias,
		   enum activation act, struct dropout drop)
{
	assert(x.cols == out.cols || x.cols == 2 * out.cols);
	cpu_rows(d, x.rows, x.cols, activate_row_range,
		 &(struct activate_job){ out, x, bias, act, drop });
}

struct activate_grad_job {
	struct tensor dx, dout, x;
	const float *bias;
	enum activation act;
	struct dropout drop;
	float *sums; /* (parts, columns of dx), or NULL */
	int64_t part_rows;
};

/* da = act'(a) g dout',  dg = act(a) dout',  without a gate g = 1 */
static void activate_grad_chunk(const struct activate_grad_job *j, float *sum, int64_t t, int64_t c,
				int64_t n, struct mask *m)
{
	const int64_t F = j->dout.cols;
	const bool is_gated = j->x.cols != F;
	const float *factor = mask_row(m, (uint64_t)(t * F + c), n);
	chunk a, act, gate, g;

	load_chunk(g, j->dout, t, c, n, NULL);
	load_chunk(a, j->x, t, c, n, j->bias);
	chunk_functions[j->act].slope(act, a, n);
	if (is_gated) {
		load_chunk(gate, j->x, t, F + c, n, j->bias);
		for (int64_t i = 0; i < n; i += VEC_LANES)
			vec_store(a + i, vec_load(a + i) * vec_load(gate + i));
		store_chunk(j->dx, t, F + c, n, sum, act, g, factor);
	}
	store_chunk(j->dx, t, c, n, sum, a, g, factor);
}

static void activate_grad_part(const void *context, int thread, int64_t p)
{
	const struct activate_grad_job *j = context;
	const int64_t cols = j->dx.cols, F = j->dout.cols,
		      last = MIN((p + 1) * j->part_rows, j->dx.rows);
	float *sum = j->sums ? j->sums + p * cols : NULL;
	struct mask m;

	(void)thread;
	mask_init(&m, j->drop);
	if (sum)
		memset(sum, 0, (size_t)cols * sizeof(*sum));
	for (int64_t t = p * j->part_rows; t < last; t++)
		for (int64_t c = 0; c < F; c += MASK_CHUNK)
			activate_grad_chunk(j, sum, t, c, MIN(MASK_CHUNK, F - c), &m);
}

void CPU(activate_grad)(struct dev *d, struct tensor dx, float *dbias, struct tensor dout,
			struct tensor x, const float *bias, enum activation act,
			struct dropout drop)
{
	const int64_t part_rows = cpu_part_rows(dx.rows), n_parts = CEIL_DIV(dx.rows, part_rows);
	float *sums = NULL;

	assert(x.cols == dout.cols || x.cols == 2 * dout.cols);
	if (dbias) {
		sums = cpu_scratch(d, CPU_SCRATCH_SUMS, (size_t)n_parts,
				   (size_t)dx.cols * sizeof(*sums));
		if (!sums)
			return;
	}
	cpu_team_run(d->team, cpu_threads(d, dx.rows * dx.cols), n_parts, activate_grad_part,
		     &(struct activate_grad_job){ dx, dout, x, bias, act, drop, sums, part_rows });
	if (dbias)
		vec_add_parts(dbias, sums, n_parts, dx.cols, dx.cols);
}

/* ---- sums of columns --------------------------------------------------------------- */

#define SUM_ROWS 4 /* at a time: the sums are loaded and stored once for all of them */

struct column_sums_job {
	struct tensor x;
	float *sums; /* (parts, columns) */
	int64_t part_rows;
};

/* sum += n_rows rows, from row t on; n_rows is a constant after inlining. */
VEC_INLINE void add_rows_to_sum(float *sum, struct tensor x, int64_t t, const int n_rows,
				const bool half)
{
	for (int64_t c = 0; c < x.cols; c += VEC_LANES) {
		vec all = vec_load_part(sum + c, x.cols - c, 0);

		VEC_UNROLL
		for (int i = 0; i < n_rows; i++)
			all += vec_get(cpu_any_row(x, t + i), c, x.cols - c, 0, half);
		vec_store_part(sum + c, all, x.cols - c);
	}
}

VEC_INLINE void sum_part_rows(float *sum, struct tensor x, int64_t t, int64_t last, const bool half)
{
	for (; t + SUM_ROWS <= last; t += SUM_ROWS)
		add_rows_to_sum(sum, x, t, SUM_ROWS, half);
	for (; t < last; t++)
		add_rows_to_sum(sum, x, t, 1, half);
}

static void column_sums_part(const void *context, int thread, int64_t p)
{
	const struct column_sums_job *j = context;
	const int64_t first = p * j->part_rows, last = MIN(first + j->part_rows, j->x.rows);
	float *sum = j->sums + p * j->x.cols;

	(void)thread;
	memset(sum, 0, (size_t)j->x.cols * sizeof(*sum));
	if (cpu_is_half(j->x))
		sum_part_rows(sum, j->x, first, last, true);
	else
		sum_part_rows(sum, j->x, first, last, false);
}

void CPU(column_sums)(struct dev *d, float *sums, struct tensor x)
{
	const int64_t part_rows = cpu_part_rows(x.rows), n_parts = CEIL_DIV(x.rows, part_rows);
	float *parts =
		cpu_scratch(d, CPU_SCRATCH_SUMS, (size_t)n_parts, (size_t)x.cols * sizeof(*parts));

	if (!parts)
		return;
	cpu_team_run(d->team, cpu_threads(d, x.rows * x.cols), n_parts, column_sums_part,
		     &(struct column_sums_job){ x, parts, part_rows });
	vec_add_parts(sums, parts, n_parts, x.cols, x.cols);
}

/* ---- rotary positions ---------------------------------------------------------------- */

struct rotate_job {
	struct tensor x, waves;
	const int32_t *positions;
	int64_t width; /* of a head */
	bool back;
};

/* One head: columns i and i + n turn by the angle whose cosine is wave[i], its sine wave[n + i]. */
VEC_INLINE void rotate_head(void *low, void *high, const float *wave, int64_t n, float sign,
			    const bool half)
{
	for (int64_t i = 0; i < n; i += VEC_LANES) {
		vec cosine = vec_load_part(wave + i, n - i, 0),
		    sine = vec_load_part(wave + n + i, n - i, 0) * sign;
		vec a = vec_get(low, i, n - i, 0, half), b = vec_get(high, i, n - i, 0, half);

		vec_put(low, i, a * cosine - b * sine, n - i, half);
		vec_put(high, i, b * cosine + a * sine, n - i, half);
	}
}

static void rotate_rows(const void *context, int64_t first, int64_t last)
{
	const struct rotate_job *j = context;
	const int64_t n = j->width / 2;
	const float sign = j->back ? -1 : 1;

	for (int64_t t = first; t < last; t++) {
		const float *wave = cpu_row(j->waves, j->positions[t]);

		for (int64_t c = 0; c < j->x.cols; c += j->width) {
			void *low = cpu_any_row(tensor_columns(j->x, c, n), t),
			     *high = cpu_any_row(tensor_columns(j->x, c + n, n), t);

			if (cpu_is_half(j->x))
				rotate_head(low, high, wave, n, sign, true);
			else
				rotate_head(low, high, wave, n, sign, false);
		}
	}
}

void CPU(rotate)(struct dev *d, struct tensor x, struct tensor waves, const int32_t *positions,
		 int32_t heads, bool back)
{
	const int64_t width = x.cols / heads;

	assert(x.cols % heads == 0 && waves.cols == width && width % 2 == 0);
	assert(waves.dtype == DTYPE_F32);
	cpu_rows(d, x.rows, x.cols, rotate_rows,
		 &(struct rotate_job){ x, waves, positions, width, back });
}
