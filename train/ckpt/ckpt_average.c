/* ckpt_average.c - averages the weights of models; see ckpt_average.h */
#include "train/ckpt/ckpt_average.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/mem.h"
#include "share/conf/text_facts.h"
#include "share/format/json.h"
#include "train/ckpt/ckpt_internal.h"

#define CKPT_AVERAGE "average.json"

/* A model to be averaged. */
struct averaged_model {
	const char *folder; /* borrowed */
	struct ckpt_state state;
	char sum[HASH_SHA256_HEX];   /* SHA-256 of its weights */
	struct safetensors *weights; /* owned */
};

struct averaging {
	struct averaged_model *parts; /* (n) owned */
	const unsigned char **data;   /* (n) owned: the current tensor of each model */
	size_t n, newest;
	struct model_param *params;	/* owned */
	struct safetensors_item *items; /* (n_params) owned */
	size_t n_params;
	float *mean; /* owned: room for the largest tensor */
	struct outfolder out;
};

static int open_averaged_model(struct averaging *a, size_t i, const struct ckpt_source *from,
			       struct err *e)
{
	const char *folder = from->folder, *name = ckpt_weights_name(from);
	const enum ckpt_part part = strcmp(name, CKPT_WEIGHTS) ? CKPT_UNAVERAGED : CKPT_MODEL;
	struct averaged_model *p = &a->parts[i];
	const struct averaged_model *first = &a->parts[0];
	const struct arch_row *row;
	char *path, one[ARCH_TEXT_MAX], other[ARCH_TEXT_MAX];

	p->folder = folder;
	if (ckpt_verify(folder, part, e) || ckpt_read_state(folder, false, &p->state, e) ||
	    ckpt_file_sum(folder, name, p->sum, e))
		return e->code;
	if (strcmp(p->state.vocabulary_sha256, first->state.vocabulary_sha256) != 0)
		return err_set(
			e, ERR_DATA,
			"cannot average %s and %s: their vocabularies differ; give models of "
			"one run, or of runs on the same corpus",
			folder, first->folder);
	if (text_facts_check_models(folder, first->folder, e))
		return err_prefix(e, "cannot average %s and %s", folder, first->folder);
	row = arch_difference(&p->state.shape, &first->state.shape);
	if (row)
		return err_set(e, ERR_DATA,
			       "cannot average %s (%s %s) and %s (%s %s): their models differ",
			       folder, row->name, arch_text(&p->state.shape, row, one),
			       first->folder, row->name,
			       arch_text(&first->state.shape, row, other));
	if (p->state.step > a->parts[a->newest].state.step)
		a->newest = i;
	path = file_path(e, "%s/%s", folder, name);
	p->weights = path ? safetensors_open(path, e) : NULL;
	free(path);
	return p->weights ? 0 : e->code;
}

static int list_tensors(struct averaging *a, struct err *e)
{
	int64_t floats, largest = 1;

	if (model_params(&a->parts[0].state.shape, &a->params, &a->n_params, &floats, e))
		return e->code;
	a->items = mem_alloc(a->n_params, sizeof(*a->items), e);
	if (!a->items)
		return e->code;
	for (size_t i = 0; i < a->n_params; i++) {
		const struct model_param *p = &a->params[i];

		snprintf(a->items[i].name, sizeof(a->items[i].name), "%s", p->name);
		a->items[i].rows = p->rows;
		a->items[i].cols = p->cols;
		largest = MAX(largest, p->rows * p->cols);
	}
	a->mean = mem_alloc((size_t)largest, sizeof(*a->mean), e);
	return a->mean ? 0 : e->code;
}

/* The mean of tensor i, in a->mean. */
static const float *ckpt_average_tensor(void *arg, size_t i, struct err *e)
{
	struct averaging *a = arg;
	const struct safetensors_item *item = &a->items[i];
	const int64_t floats = item->rows * item->cols;

	assert(i < a->n_params);
	for (size_t k = 0; k < a->n; k++) {
		a->data[k] =
			safetensors_get(a->parts[k].weights, item->name, item->rows, item->cols, e);
		if (!a->data[k])
			return NULL;
	}
	for (int64_t j = 0; j < floats; j++) {
		double sum = 0;
		float x;

		for (size_t k = 0; k < a->n; k++) {
			memcpy(&x, a->data[k] + j * (int64_t)sizeof(x), sizeof(x));
			sum += (double)x;
		}
		a->mean[j] = (float)(sum / (double)a->n);
	}
	for (size_t k = 0; k < a->n; k++)
		map_drop_pages(a->data[k], (size_t)floats * sizeof(float));
	return a->mean;
}

static int ckpt_average_write_weights(struct averaging *a, struct err *e)
{
	char *path = file_path(e, "%s/%s", a->out.temporary, CKPT_WEIGHTS);
	int rc = path ? safetensors_write(path, a->items, a->n_params, ckpt_average_tensor, a, e)
		      : e->code;

	free(path);
	return rc;
}

/* Write average.json. */
static int write_origin(const struct averaging *a, struct err *e)
{
	struct buf b = { 0 };
	struct json_writer w = { .out = &b };
	int rc;

	json_open(&w, '{');
	json_put_int(&w, "v", 1);
	json_put_open(&w, "models", '[');
	for (size_t i = 0; i < a->n; i++) {
		json_open(&w, '{');
		json_put_str(&w, "folder", a->parts[i].folder);
		json_put_int(&w, "step", a->parts[i].state.step);
		json_put_str(&w, "weights_sha256", a->parts[i].sum);
		json_close(&w, '}');
	}
	json_close(&w, ']');
	json_close(&w, '}');
	buf_add_char(&b, '\n');
	rc = file_write_into(a->out.temporary, CKPT_AVERAGE, &b, e);
	buf_free(&b);
	return rc;
}

static int ckpt_average_write_all(struct averaging *a, struct err *e)
{
	static const char *const files[] = { CKPT_WEIGHTS, CKPT_AVERAGE, CKPT_STATE };
	const char *newest = a->parts[a->newest].folder;
	int64_t bytes = 0;

	return ckpt_average_write_weights(a, e) || write_origin(a, e) ||
			       ckpt_copy_file(newest, a->out.temporary, CKPT_STATE, e) ||
			       ckpt_finish_folder(newest, a->out.temporary, files, ARRAY_LEN(files),
						  &bytes, e)
		       ? e->code
		       : 0;
}

static void close_averaging(struct averaging *a)
{
	for (size_t i = 0; a->parts && i < a->n; i++)
		safetensors_close(a->parts[i].weights);
	free(a->parts);
	free(a->data);
	free(a->params);
	free(a->items);
	free(a->mean);
	outfolder_abandon(&a->out);
}

int ckpt_average(const struct ckpt_source *from, size_t n, const char *to, struct err *e)
{
	struct averaging a = { .n = n };
	int rc;

	if (n < 1 || n > CKPT_AVERAGE_MAX)
		return err_set(e, ERR_USAGE, "cannot average %zu models: give 1 to %d models", n,
			       CKPT_AVERAGE_MAX);
	a.parts = mem_alloc(n, sizeof(*a.parts), e);
	a.data = mem_alloc(n, sizeof(*a.data), e);
	rc = a.parts && a.data ? 0 : e->code;
	for (size_t i = 0; !rc && i < n; i++)
		rc = open_averaged_model(&a, i, &from[i], e);
	if (!rc)
		rc = list_tensors(&a, e);
	if (!rc)
		rc = outfolder_open(&a.out, to, NULL, e);
	if (!rc)
		rc = ckpt_average_write_all(&a, e);
	if (!rc)
		rc = outfolder_commit(&a.out, e);
	close_averaging(&a);
	return rc;
}
