/* weight_changes.c - see weight_changes.h */
#include "train/trainer/weight_changes.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "train/model/arena.h"
#include "train/model/frozen.h"

#define N_CHUNKS	16
#define CHUNK_FLOATS	64
#define SAMPLE_FLOATS	(N_CHUNKS * CHUNK_FLOATS) /* of one matrix */
#define RECORD_MATRICES 40			  /* in one record: a line has a limited length */

struct weight_changes {
	struct model *model;	      /* borrowed */
	struct run_records *records;  /* borrowed */
	struct model_param *matrices; /* (n) owned */
	size_t n;
	float *before, *now; /* (n, SAMPLE_FLOATS) one allocation, owned by before */
	int64_t step;	     /* of the sample in before */
};

/* Copies the sample of each matrix from the backend's memory to the host. */
static int take_weight_samples(const struct weight_changes *c, float *sample, struct err *e)
{
	const float *weights = model_param_read(c->model);

	for (size_t i = 0; i < c->n; i++) {
		const struct model_param *p = &c->matrices[i];
		const int64_t n = p->rows * p->cols, width = MIN(n, CHUNK_FLOATS);

		for (int64_t k = 0; k < N_CHUNKS; k++) {
			float *to = sample + i * SAMPLE_FLOATS + k * CHUNK_FLOATS;
			const float *from = weights + p->offset + (n - width) / (N_CHUNKS - 1) * k;
			const float *view = arena_view_const(c->model, from, to, (size_t)width);

			if (view != to)
				memcpy(to, view, (size_t)width * sizeof(*to));
		}
	}
	return model_get_ops(c->model)->sync(model_get_dev(c->model), e);
}

struct weight_changes *weight_changes_open(struct model *model, struct run_records *records,
					   const struct conf_list *frozen, struct err *e)
{
	struct weight_changes *c = mem_alloc(1, sizeof(*c), e);
	int64_t n_floats;
	size_t n_params = 0;

	if (!c)
		return NULL;
	c->model = model;
	c->records = records;
	c->step = *records->step;
	if (model_params(model_get_shape(model), &c->matrices, &n_params, &n_floats, e)) {
		weight_changes_close(c);
		return NULL;
	}
	for (size_t i = 0; i < n_params; i++) /* vectors have a single row */
		if (c->matrices[i].rows > 1 && !frozen_has(frozen, c->matrices[i].name))
			c->matrices[c->n++] = c->matrices[i];
	c->before = mem_alloc(2 * c->n, SAMPLE_FLOATS * sizeof(*c->before), e);
	c->now = c->before ? c->before + c->n * SAMPLE_FLOATS : NULL;
	if (!c->before || take_weight_samples(c, c->before, e)) {
		weight_changes_close(c);
		return NULL;
	}
	return c;
}

void weight_changes_close(struct weight_changes *c)
{
	if (!c)
		return;
	free(c->matrices);
	free(c->before < c->now ? c->before : c->now);
	free(c);
}

void weight_change_find(const float *before, const float *now, size_t n_chunks, size_t width,
			struct weight_change *found)
{
	double moved = 0, size = 0;
	size_t still = 0;

	assert(n_chunks > 0 && width > 0);
	for (size_t k = 0; k < n_chunks; k++) {
		double of_chunk = 0;

		for (size_t i = k * width; i < (k + 1) * width; i++) {
			const double d = (double)now[i] - (double)before[i];

			of_chunk += d * d;
			size += (double)before[i] * (double)before[i];
		}
		moved += of_chunk;
		still += of_chunk == 0; /* a NAN is a change */
	}
	found->moved = size > 0 ? sqrt(moved / size) : NAN;
	found->still = (double)still / (double)n_chunks;
}

/* Writes the changes of the matrices first .. end - 1. */
static int write_changes(const struct weight_changes *c, size_t first, size_t end, struct err *e)
{
	struct json_writer *w = run_records_begin(c->records, "weights");
	struct weight_change x;

	json_put_int(w, "since", c->step);
	json_put_open(w, "moved", '{');
	for (size_t i = first; i < end; i++) {
		weight_change_find(c->before + i * SAMPLE_FLOATS, c->now + i * SAMPLE_FLOATS,
				   N_CHUNKS, CHUNK_FLOATS, &x);
		json_put_real(w, c->matrices[i].name, round(x.moved * 1e6) / 1e6);
	}
	json_close(w, '}');
	json_put_open(w, "still", '{');
	for (size_t i = first; i < end; i++) {
		weight_change_find(c->before + i * SAMPLE_FLOATS, c->now + i * SAMPLE_FLOATS,
				   N_CHUNKS, CHUNK_FLOATS, &x);
		if (x.still > 0)
			json_put_real(w, c->matrices[i].name, x.still);
	}
	json_close(w, '}');
	return journal_end(c->records->journal, e);
}

int weight_changes_report(struct weight_changes *c, struct err *e)
{
	struct err unwritten;
	float *taken;

	if (!c || c->step == *c->records->step)
		return 0;
	if (take_weight_samples(c, c->now, e))
		return e->code;
	/* an unwritten record does not end the training: the train records warn of a full disk */
	for (size_t i = 0; i < c->n; i += RECORD_MATRICES)
		if (write_changes(c, i, MIN(i + RECORD_MATRICES, c->n), &unwritten))
			break;
	taken = c->now;
	c->now = c->before;
	c->before = taken;
	c->step = *c->records->step;
	return 0;
}
