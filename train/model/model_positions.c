/*
 * model_positions.c - the tables of positions that are computed, not learned; see model.h
 *
 *	sinusoid	sin and cos of (p + offset) * 10000^(-i / (D/2 - 1)), sines first; without an offset op
 *			embed computes it itself
 *	sinusoid-2k	the same with 10000^(-2i / D)
 *	sinusoid-pairs	the same frequencies, sine and cosine of each side by side
 *	rotary		cosines, then sines, of p * 10000^(-2i / W), W columns of a head; for op rotate
 *
 * Sources: tensor2tensor, Hugging Face's MarianMT, OpenNMT-py; Su et al. 2021.
 */
#include <math.h>
#include <stdlib.h>

#include "share/base/mem.h"
#include "train/model/model_internal.h"

/* Does op embed read a table of sinusoids? */
static bool has_sinusoid_table(const struct model_shape *s)
{
	return s->positions == POSITIONS_SINUSOID_2K || s->positions == POSITIONS_SINUSOID_PAIRS ||
	       (s->positions == POSITIONS_SINUSOID && s->position_offset);
}

static int64_t head_columns(const struct model_shape *s, enum model_stack stack)
{
	return s->d_model / model_heads(s, stack);
}

int64_t model_table_floats(const struct model_shape *s)
{
	if (has_sinusoid_table(s))
		return (int64_t)ARCH_MAX_POSITIONS * s->d_model;
	if (s->positions == POSITIONS_ROTARY)
		return (int64_t)ARCH_MAX_POSITIONS *
		       (head_columns(s, STACK_ENCODER) + head_columns(s, STACK_DECODER));
	return 0;
}

void model_sinusoid_row(float *row, const struct model_shape *s, int64_t position)
{
	const int64_t D = s->d_model, half = D / 2;
	const bool has_pairs = s->positions == POSITIONS_SINUSOID_PAIRS;
	const double divisor =
		s->positions == POSITIONS_SINUSOID ? (double)MAX(half - 1, 1) : (double)D / 2;

	for (int64_t i = 0; i < half; i++) {
		const double angle = (double)(position + s->position_offset) *
				     exp(-log(10000.0) * (double)i / divisor);

		row[has_pairs ? 2 * i : i] = (float)sin(angle);
		row[has_pairs ? 2 * i + 1 : half + i] = (float)cos(angle);
	}
}

static void fill_waves(float *table, int64_t W)
{
	for (int64_t p = 0; p < ARCH_MAX_POSITIONS; p++)
		for (int64_t i = 0; i < W / 2; i++) {
			const double angle =
				(double)p * exp(-log(10000.0) * 2 * (double)i / (double)W);

			table[p * W + i] = (float)cos(angle);
			table[p * W + W / 2 + i] = (float)sin(angle);
		}
}

/* Point the views to the parts of the tables. */
static void view_tables(struct model *m)
{
	float *at = m->tables;

	if (has_sinusoid_table(&m->shape)) {
		m->sinusoids = tensor_f32(at, ARCH_MAX_POSITIONS, m->shape.d_model);
		return;
	}
	for (enum model_stack k = 0; k < N_STACKS; k++) {
		m->waves[k] = tensor_f32(at, ARCH_MAX_POSITIONS, head_columns(&m->shape, k));
		at += m->waves[k].rows * m->waves[k].cols;
	}
}

int model_tables_alloc(struct model *m, struct err *e)
{
	const size_t n = (size_t)model_table_floats(&m->shape);
	float *host;

	if (!n)
		return 0;
	m->tables = m->ops->alloc(m->dev, n * sizeof(float), e);
	host = m->tables ? mem_alloc(n, sizeof(float), e) : NULL;
	if (!host)
		return e->code;
	view_tables(m);
	if (has_sinusoid_table(&m->shape)) {
		for (int64_t p = 0; p < ARCH_MAX_POSITIONS; p++)
			model_sinusoid_row(host + p * m->shape.d_model, &m->shape, p);
	} else {
		const int64_t W = m->waves[STACK_ENCODER].cols;

		fill_waves(host, W);
		fill_waves(host + ARCH_MAX_POSITIONS * W, m->waves[STACK_DECODER].cols);
	}
	m->ops->to_device(m->dev, m->tables, host, n * sizeof(float));
	free(host);
	return m->ops->sync(m->dev, e);
}

struct embed_how model_embed_how(const struct model *m, enum model_stack stack)
{
	const struct model_shape *s = &m->shape;
	struct embed_how how = {
		.scale = s->embedding_scale == SCALE_ONE ? 1 : sqrtf((float)s->d_model),
		.kind = POSITION_TABLE,
	};

	if (s->positions == POSITIONS_LEARNED)
		how.positions = m->weights.position[stack];
	else if (has_sinusoid_table(s))
		how.positions = m->sinusoids;
	else
		how.kind = s->positions == POSITIONS_SINUSOID ? POSITION_SINUSOID : POSITION_NONE;
	return how;
}

struct tensor model_rotary_waves(const struct model *m, enum model_stack stack)
{
	return m->waves[stack];
}
