/*
 * cpu_ssru.c - the simpler simple recurrent unit; formulas: ref_ssru.c.
 *
 * A sentence is computed row by row, because state_t needs state_(t-1); within a row the columns do not
 * depend on each other. The last state is still in the L1 cache. A part of the team is a group of
 * sentences times a block of columns:
 *
 *			| 256 columns	| 256 columns	|
 *	sentences 0-2	|  part 0	|  part 1	|	at most 64 groups, by the number of
 *	sentences 3-5	|  part 2	|  part 3	|	sentences only
 *
 * In the backward pass each group sums dbias into a buffer of its own, and the buffers are added in the
 * order of groups: the same bits with any threads.
 */
#include "kernels/cpu/cpu.h"

#include "kernels/cpu/cpu_vec.h"
#include "kernels/ref/ref.h"

#define SSRU_COLS   256 /* of a block */
#define SSRU_GROUPS 64

/* ---- forward ------------------------------------------------------------------------ */

/* One row, n columns. */
struct ssru_row {
	void *out;
	float *state;
	const float *before; /* state of the row before; NULL: 0 */
	const void *z, *gate;
	const float *bias;
	int64_t n;
};

VEC_INLINE void ssru_typed_row(const struct ssru_row *r, const bool x_half, const bool out_half)
{
	for (int64_t i = 0; i < r->n; i += VEC_LANES) {
		const int64_t n = r->n - i;
		struct sigmoid f = vec_sigmoid(vec_get(r->gate, i, n, 0, x_half) +
					       vec_load_part(r->bias + i, n, 0));
		vec state = f.no * vec_get(r->z, i, n, 0, x_half);

		if (r->before)
			state += f.yes * vec_load_part(r->before + i, n, 0);
		vec_store_part(r->state + i, state, n);
		vec_put(r->out, i, vec_max(vec_set(0), state), n, out_half);
	}
}

static void ssru_row(const struct ssru_row *r, struct tensor x, struct tensor out)
{
	if (cpu_is_half(x) && cpu_is_half(out))
		ssru_typed_row(r, true, true);
	else if (cpu_is_half(x))
		ssru_typed_row(r, true, false);
	else if (cpu_is_half(out))
		ssru_typed_row(r, false, true);
	else
		ssru_typed_row(r, false, false);
}

/* Arguments of ssru and ssru_grad, for the parts of the team. */
struct ssru_job {
	struct tensor out, state, x, dx, dout;
	const float *bias;
	const int32_t *start;
	int32_t n;
	int64_t group;	/* sentences of a group */
	int64_t blocks; /* of columns */
	float *sums;	/* (groups, D) terms of dbias */
};

/* What a part computes: sentences [first, last), columns [col, col + n). */
struct ssru_part {
	int64_t first, last, col, n;
};

static struct ssru_part part_of(const struct ssru_job *j, int64_t part)
{
	const int64_t first = part / j->blocks * j->group, col = part % j->blocks * SSRU_COLS;

	return (struct ssru_part){ first, MIN(first + j->group, j->n), col,
				   MIN(SSRU_COLS, j->state.cols - col) };
}

static int64_t group_sentences(int32_t n)
{
	return MAX(1, CEIL_DIV(n, SSRU_GROUPS));
}

/* Address of column col of a row. */
static void *place_at(struct tensor t, int64_t row, int64_t col)
{
	return cpu_any_row(tensor_columns(t, col, t.cols - col), row);
}

static void ssru_forward_part(const void *context, int thread, int64_t part)
{
	const struct ssru_job *j = context;
	const struct ssru_part p = part_of(j, part);
	const int64_t D = j->state.cols;

	(void)thread;
	for (int64_t s = p.first; s < p.last; s++)
		for (int64_t t = j->start[s]; t < j->start[s + 1]; t++) {
			float *state = cpu_row(j->state, t) + p.col;
			const float *before =
				t > j->start[s] ? cpu_row(j->state, t - 1) + p.col : NULL;

			ssru_row(&(struct ssru_row){ place_at(j->out, t, p.col), state, before,
						     place_at(j->x, t, p.col),
						     place_at(j->x, t, D + p.col), j->bias + p.col,
						     p.n },
				 j->x, j->out);
		}
}

void CPU(ssru)(struct dev *d, struct tensor out, struct tensor state, struct tensor x,
	       const float *bias, const int32_t *start, int32_t n, int32_t longest)
{
	const struct ssru_job j = { .out = out,
				    .state = state,
				    .x = x,
				    .bias = bias,
				    .start = start,
				    .n = n,
				    .group = group_sentences(n),
				    .blocks = CEIL_DIV(out.cols, SSRU_COLS) };

	(void)longest;
	cpu_team_run(d->team, cpu_threads(d, x.rows * x.cols), CEIL_DIV(n, j.group) * j.blocks,
		     ssru_forward_part, &j);
}

struct ssru_step_job {
	struct tensor out, states, x;
	const float *bias;
	const int32_t *from, *to;
};

static void ssru_step_rows(const void *context, int64_t first, int64_t last)
{
	const struct ssru_step_job *j = context;
	const int64_t D = j->out.cols;

	for (int64_t r = first; r < last; r++)
		ssru_row(&(struct ssru_row){ cpu_any_row(j->out, r), cpu_row(j->states, j->to[r]),
					     j->from[r] < 0 ? NULL : cpu_row(j->states, j->from[r]),
					     cpu_any_row(j->x, r), place_at(j->x, r, D), j->bias,
					     D },
			 j->x, j->out);
}

void CPU(ssru_step)(struct dev *d, struct tensor out, struct tensor states, struct tensor x,
		    const float *bias, const int32_t *from, const int32_t *to)
{
	cpu_rows(d, out.rows, x.cols, ssru_step_rows,
		 &(struct ssru_step_job){ out, states, x, bias, from, to });
}

/* ---- backward ------------------------------------------------------------------------- */

/* One row; later: in f_(t+1) s_(t+1), the gradient through the next state; out f_t s_t. */
struct ssru_grad_row {
	void *dz, *dgate;
	float *later, *sum;
	const void *dout, *z, *gate;
	const float *state, *before; /* before NULL: 0 */
	const float *bias;
	int64_t n;
};

/* half: dx, dout and x are bf16. */
VEC_INLINE void ssru_row_grad(const struct ssru_grad_row *r, const bool half)
{
	for (int64_t i = 0; i < r->n; i += VEC_LANES) {
		const int64_t n = r->n - i;
		struct sigmoid f = vec_sigmoid(vec_get(r->gate, i, n, 0, half) +
					       vec_load_part(r->bias + i, n, 0));
		vec before = r->before ? vec_load_part(r->before + i, n, 0) : vec_set(0), dgate,
		    s = vec_choose(vec_load_part(r->state + i, n, 0) > 0,
				   vec_get(r->dout, i, n, 0, half), vec_set(0)) +
			vec_load(r->later + i);

		vec_store(r->later + i, f.yes * s);
		dgate = f.yes * f.no * (before - vec_get(r->z, i, n, 0, half)) * s;
		vec_put(r->dz, i, f.no * s, n, half);
		vec_put(r->dgate, i, dgate, n, half);
		if (half)
			dgate = (vec)vec_round_bits(dgate);
		vec_store_part(r->sum + i, vec_load_part(r->sum + i, n, 0) + dgate, n);
	}
}

static void sentence_grad(const struct ssru_job *j, const struct ssru_part *p, int64_t s,
			  float *sum)
{
	const int64_t D = j->state.cols, col = p->col;
	float later[SSRU_COLS] = { 0 };

	for (int64_t t = j->start[s + 1] - 1; t >= j->start[s]; t--) {
		const struct ssru_grad_row r = {
			.dz = place_at(j->dx, t, col),
			.dgate = place_at(j->dx, t, D + col),
			.later = later,
			.sum = sum,
			.dout = place_at(j->dout, t, col),
			.z = place_at(j->x, t, col),
			.gate = place_at(j->x, t, D + col),
			.state = cpu_row(j->state, t) + col,
			.before = t > j->start[s] ? cpu_row(j->state, t - 1) + col : NULL,
			.bias = j->bias + col,
			.n = p->n,
		};

		if (cpu_is_half(j->x))
			ssru_row_grad(&r, true);
		else
			ssru_row_grad(&r, false);
	}
}

static void ssru_grad_part(const void *context, int thread, int64_t part)
{
	const struct ssru_job *j = context;
	const struct ssru_part p = part_of(j, part);
	float *sum = j->sums + part / j->blocks * j->state.cols + p.col;

	(void)thread;
	memset(sum, 0, (size_t)p.n * sizeof(*sum));
	for (int64_t s = p.first; s < p.last; s++)
		sentence_grad(j, &p, s, sum);
}

void CPU(ssru_grad)(struct dev *d, struct tensor dx, float *dbias, struct tensor dout,
		    struct tensor state, struct tensor x, const float *bias, const int32_t *start,
		    int32_t n, int32_t longest)
{
	struct ssru_job j = { .state = state,
			      .x = x,
			      .dx = dx,
			      .dout = dout,
			      .bias = bias,
			      .start = start,
			      .n = n,
			      .group = group_sentences(n),
			      .blocks = CEIL_DIV(state.cols, SSRU_COLS) };
	const int64_t n_groups = CEIL_DIV(n, j.group), D = state.cols;

	if (dx.dtype != x.dtype || dout.dtype != x.dtype) {
		ref_ssru_grad(NULL, dx, dbias, dout, state, x, bias, start, n, longest);
		return;
	}
	j.sums = cpu_scratch(d, CPU_SCRATCH_SUMS, (size_t)n_groups, (size_t)D * sizeof(*j.sums));
	if (!j.sums)
		return;
	cpu_team_run(d->team, cpu_threads(d, x.rows * x.cols), n_groups * j.blocks, ssru_grad_part,
		     &j);
	vec_add_parts(dbias, j.sums, n_groups, D, D);
}
