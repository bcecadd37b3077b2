/* adafactor.c - see adafactor.h */
#include "train/optim/adafactor.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "train/model/frozen.h"
#include "train/optim/optimizer.h"

#define LEAST_SQUARE   1e-30 /* epsilon 1 of the paper */
#define DECAY_EXPONENT (-0.8)

struct adafactor {
	struct model_param *params; /* (n) owned: the tensors of the model */
	size_t n;
	double *sums; /* owned: for the columns of the widest tensor */
};

static bool has_factors(const struct model_param *p)
{
	return p->rows > 1 && p->cols > 1;
}

/* ---- the state ----------------------------------------------------------- */

static void add_state(struct model_param *all, size_t *n, int64_t *floats,
		      const struct model_param *of, const char *suffix, int64_t count)
{
	struct model_param *p = &all[(*n)++];
	const size_t len = strlen(of->name);

	*p = *of;
	assert(len + strlen(suffix) < sizeof(p->name));
	snprintf(p->name + len, sizeof(p->name) - len, "%s", suffix);
	p->rows = 1;
	p->cols = count;
	p->offset = *floats;
	*floats += count;
}

int adafactor_state_params(const struct model_shape *shape, struct model_param **params,
			   size_t *n_params, int64_t *n_floats, struct err *e)
{
	struct model_param *of = NULL, *all;
	size_t n;
	int64_t floats;

	if (model_params(shape, &of, &n, &floats, e))
		return e->code;
	all = mem_alloc(2 * n, sizeof(*all), e);
	*n_params = 0;
	*n_floats = 0;
	for (size_t i = 0; all && i < n; i++)
		if (has_factors(&of[i])) {
			add_state(all, n_params, n_floats, &of[i], ".rows", of[i].rows);
			add_state(all, n_params, n_floats, &of[i], ".columns", of[i].cols);
		} else {
			add_state(all, n_params, n_floats, &of[i], "", of[i].rows * of[i].cols);
		}
	free(of);
	*params = all;
	return all ? 0 : e->code;
}

struct adafactor *adafactor_open(const struct model_shape *shape, struct err *e)
{
	struct adafactor *a = mem_alloc(1, sizeof(*a), e);
	int64_t floats, widest = 1;

	if (!a)
		return NULL;
	if (!model_params(shape, &a->params, &a->n, &floats, e)) {
		for (size_t i = 0; i < a->n; i++)
			widest = MAX(widest, has_factors(&a->params[i])
						     ? a->params[i].cols
						     : a->params[i].rows * a->params[i].cols);
		a->sums = mem_alloc((size_t)widest, sizeof(*a->sums), e);
	}
	if (a->sums)
		return a;
	adafactor_free(a);
	return NULL;
}

void adafactor_free(struct adafactor *a)
{
	if (!a)
		return;
	free(a->params);
	free(a->sums);
	free(a);
}

/* ---- an update ----------------------------------------------------------- */

/* A tensor in an update. A tensor without factors is one row. */
struct factored_tensor {
	int64_t rows, cols;
	float *param;
	const float *grad;
	float *row, *column; /* means; row NULL: column has the second moment itself */
	double row_mean;
	double factor; /* of the gradient */
};

static void mix(float *mean, double now, double keep)
{
	*mean = (float)(keep * (double)*mean + (1 - keep) * now);
}

/* Update the second moment. sums: room for the columns. */
static void update_means(struct factored_tensor *t, double keep, double *sums)
{
	memset(sums, 0, (size_t)t->cols * sizeof(*sums));
	t->row_mean = 0;
	for (int64_t i = 0; i < t->rows; i++) {
		const float *grad = t->grad + i * t->cols;
		double sum = 0;

		for (int64_t k = 0; k < t->cols; k++) {
			const double g = t->factor * (double)grad[k], square = g * g + LEAST_SQUARE;

			sum += square;
			sums[k] += square;
		}
		if (!t->row)
			continue;
		mix(&t->row[i], sum / (double)t->cols, keep);
		t->row_mean += (double)t->row[i] / (double)t->rows;
	}
	for (int64_t k = 0; k < t->cols; k++)
		mix(&t->column[k], sums[k] / (double)t->rows, keep);
}

/* U = gradient * the factor of its column * the factor of its row. */
static void find_column_factors(const struct factored_tensor *t, double *factors)
{
	for (int64_t k = 0; k < t->cols; k++)
		factors[k] = t->factor / sqrt((double)t->column[k]);
}

static double row_factor(const struct factored_tensor *t, int64_t i)
{
	return t->row ? sqrt(t->row_mean / (double)t->row[i]) : 1;
}

static double mean_square(const struct factored_tensor *t, const double *factors)
{
	double sum = 0;

	for (int64_t i = 0; i < t->rows; i++) {
		const float *grad = t->grad + i * t->cols;
		const double by = row_factor(t, i);
		double row = 0;

		for (int64_t k = 0; k < t->cols; k++) {
			const double u = (double)grad[k] * factors[k];

			row += u * u;
		}
		sum += row * by * by;
	}
	return sum / ((double)t->rows * (double)t->cols);
}

static void update_tensor(struct factored_tensor *t, const struct adafactor_step *how, double decay,
			  double *room)
{
	double rate;

	update_means(t, 1 - pow((double)how->step + 1, DECAY_EXPONENT), room);
	find_column_factors(t, room);
	rate = how->rate / fmax(1, sqrt(mean_square(t, room)));
	for (int64_t i = 0; i < t->rows; i++) {
		float *param = t->param + i * t->cols;
		const float *grad = t->grad + i * t->cols;
		const double by = rate * row_factor(t, i);

		for (int64_t k = 0; k < t->cols; k++)
			param[k] -=
				(float)(by * room[k] * (double)grad[k] + decay * (double)param[k]);
	}
}

void adafactor_update(struct adafactor *a, float *param, float *state, const float *grad,
		      const struct adafactor_step *how)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct model_param *p = &a->params[i];
		const bool is_matrix = has_factors(p);
		struct factored_tensor t = {
			.rows = is_matrix ? p->rows : 1,
			.cols = is_matrix ? p->cols : p->rows * p->cols,
			.param = param + p->offset,
			.grad = grad + p->offset,
			.row = is_matrix ? state : NULL,
			.column = is_matrix ? state + p->rows : state,
			.factor = how->factor,
		};

		if (!frozen_has(how->frozen, p->name))
			update_tensor(&t, how, optimizer_decays(p) ? how->decay : 0, a->sums);
		state = t.column + t.cols;
	}
}
