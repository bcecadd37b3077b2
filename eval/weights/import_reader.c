/* import_reader.c - element types, scales and the list of tensors; see import_reader.h */
#include "eval/weights/import_reader.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ops/bf16.h"
#include "share/base/mem.h"

/* ---- numbers ----------------------------------------------------------- */

size_t import_type_bytes(enum import_type type)
{
	static const size_t bytes[] = {
		[IMPORT_F32] = 4, [IMPORT_F64] = 8, [IMPORT_F16] = 2, [IMPORT_BF16] = 2,
		[IMPORT_I8] = 1,  [IMPORT_I16] = 2, [IMPORT_I32] = 4, [IMPORT_OTHER] = 0,
	};

	assert((size_t)type < ARRAY_LEN(bytes));
	return bytes[type];
}

/* IEEE 754 binary16: 5 bits of exponent, 10 of mantissa. */
static float half_to_float(uint16_t h)
{
	const int exponent = h >> 10 & 31, mantissa = h & 1023;
	float x;

	if (exponent == 31)
		x = mantissa ? NAN : INFINITY;
	else if (exponent)
		x = ldexpf((float)(1024 + mantissa), exponent - 25);
	else
		x = ldexpf((float)mantissa, -24);
	return h >> 15 ? -x : x;
}

static float tensor_element(const struct import_tensor *t, int64_t i)
{
	const unsigned char *at = t->data + (size_t)i * import_type_bytes(t->type);
	union {
		float f32;
		double f64;
		uint16_t u16;
		int16_t i16;
		int32_t i32;
	} v = { .f64 = 0 };

	memcpy(&v, at, import_type_bytes(t->type));
	switch (t->type) {
	case IMPORT_F32:
		return v.f32;
	case IMPORT_F64:
		return (float)v.f64;
	case IMPORT_F16:
		return half_to_float(v.u16);
	case IMPORT_BF16:
		return bf16_to_float(v.u16);
	case IMPORT_I8:
		return (float)(int8_t)*at;
	case IMPORT_I16:
		return (float)v.i16;
	case IMPORT_I32:
		return (float)v.i32;
	case IMPORT_OTHER:
		break;
	}
	return NAN;
}

double import_tensor_number(const struct import_tensor *t)
{
	return t->n_dims == 0 && t->type != IMPORT_OTHER ? (double)tensor_element(t, 0)
							 : (double)NAN;
}

/* The scale by which the integers of row r are divided. */
static int find_scale(const struct import_reader *f, const struct import_tensor *t, int64_t r,
		      float *scale, struct err *e)
{
	char name[512];
	struct import_tensor *s;

	if (snprintf(name, sizeof(name), "%s_scale", t->name) >= (int)sizeof(name))
		return err_set(e, ERR_DATA, "%s: the name \"%.80s...\" is too long", f->path,
			       t->name);
	s = import_find_tensor(f, name);
	if (!s || s->type > IMPORT_BF16 || (s->cols * s->rows != t->rows && s->cols * s->rows != 1))
		return err_set(
			e, ERR_DATA,
			"%s: \"%s\" holds integers, but the file has no \"%s\" with one scale "
			"per row",
			f->path, t->name, name);
	s->is_used = true;
	*scale = tensor_element(s, s->rows * s->cols == 1 ? 0 : r);
	return 0;
}

static int read_floats(const struct import_reader *f, const struct import_tensor *t, int64_t r,
		       int64_t first, int64_t n, float *out, struct err *e)
{
	const int64_t from = r * t->cols + first;
	bool is_finite = true;
	float scale = 1;

	assert(r >= 0 && r < t->rows && first >= 0 && n >= 0 && first + n <= t->cols);

	if (t->type >= IMPORT_I32)
		return err_set(e, ERR_DATA, "%s: \"%s\" has a type that weights cannot have",
			       f->path, t->name);
	if (t->type >= IMPORT_I8 && find_scale(f, t, r, &scale, e))
		return e->code;
	if (t->type == IMPORT_F32)
		memcpy(out, t->data + (size_t)from * sizeof(*out), (size_t)n * sizeof(*out));
	else
		for (int64_t i = 0; i < n; i++)
			out[i] = tensor_element(t, from + i) / scale;
	for (int64_t i = 0; i < n; i++)
		is_finite &= isfinite(out[i]) != 0;
	if (!is_finite)
		return err_set(e, ERR_DATA, "%s: \"%s\" holds a number that is not finite", f->path,
			       t->name);
	return 0;
}

/* The place in the file of row i, or element i of a vector. */
static int64_t paired_place(const struct import_tensor *t, int64_t i)
{
	const int64_t w = t->paired_columns, at = i % w;

	return i - at + (at < w / 2 ? 2 * at : 2 * (at - w / 2) + 1);
}

int import_read_floats(const struct import_reader *f, const struct import_tensor *t, int64_t r,
		       int64_t first, int64_t n, float *out, struct err *e)
{
	struct import_tensor file_order = *t;

	if (!t->paired_columns)
		return read_floats(f, t, r, first, n, out, e);
	file_order.paired_columns = 0;
	if (t->rows > 1)
		return read_floats(f, &file_order, paired_place(t, r), first, n, out, e);
	for (int64_t i = 0; i < n; i++)
		if (read_floats(f, &file_order, r, paired_place(t, first + i), 1, out + i, e))
			return e->code;
	return 0;
}

/* ---- the list ---------------------------------------------------------- */

struct import_tensor *import_find_tensor(const struct import_reader *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->all[i].name, name))
			return &f->all[i];
	return NULL;
}

static enum import_type type_of_dtype(const char *dtype)
{
	static const char *const names[] = { "F32", "F64", "F16", "BF16", "I8", "I16", "I32" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i], dtype))
			return (enum import_type)i;
	return IMPORT_OTHER;
}

static int add_safetensor(struct import_reader *f, const struct safetensor *from, struct err *e)
{
	struct import_tensor *t = &f->all[f->n];

	*t = (struct import_tensor){ .name = from->name,
				     .type = type_of_dtype(from->dtype),
				     .n_dims = (int32_t)from->n_dims,
				     .rows = 1,
				     .cols = 1,
				     .data = from->data };
	for (size_t i = 0; i < from->n_dims; i++) {
		if (!from->dims[i])
			return err_set(e, ERR_DATA, "%s: \"%.80s\" is empty", f->path, t->name);
		if (i + 1 < from->n_dims)
			t->rows *= from->dims[i]; /* no overflow: safetensors_open() has checked */
		else
			t->cols = from->dims[i];
	}
	f->n++;
	return 0;
}

int import_open_safetensors(struct import_reader *f, const char *path, struct err *e)
{
	*f = (struct import_reader){ .path = path };
	f->file = safetensors_open(path, e);
	if (!f->file)
		return e->code;
	f->cap = safetensors_count(f->file);
	f->all = mem_alloc(f->cap, sizeof(*f->all), e);
	if (!f->all)
		return e->code;
	for (size_t i = 0; i < f->cap; i++)
		if (add_safetensor(f, safetensors_at(f->file, i), e))
			return e->code;
	return 0;
}

void import_reader_close(struct import_reader *f)
{
	free(f->all);
	pickle_close(&f->pickle);
	zip_close(&f->zip);
	buf_free(&f->names);
	map_close(&f->map);
	for (size_t i = 0; i < f->n_shards; i++)
		map_close(&f->shards[i]);
	free(f->shards);
	safetensors_close(f->file);
	*f = (struct import_reader){ 0 };
}

bool import_is_safetensors(const unsigned char *bytes, size_t n)
{
	uint64_t header;

	if (n < 9)
		return false;
	memcpy(&header, bytes, sizeof(header));
	return header > 1 && header <= 100000000u && bytes[8] == '{';
}
