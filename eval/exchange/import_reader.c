/* import_reader.c - see import_reader.h */
#include "eval/exchange/import_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ops/bf16.h"
#include "share/base/mem.h"

/* ---- numbers ----------------------------------------------------------- */

size_t foreign_bytes(enum foreign_type type)
{
	static const size_t bytes[] = {
		[FOREIGN_F32] = 4, [FOREIGN_F64] = 8, [FOREIGN_F16] = 2, [FOREIGN_BF16] = 2,
		[FOREIGN_I8] = 1,  [FOREIGN_I16] = 2, [FOREIGN_I32] = 4, [FOREIGN_OTHER] = 0,
	};

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

static float element(const struct foreign_tensor *t, int64_t i)
{
	const unsigned char *at = t->data + (size_t)i * foreign_bytes(t->type);
	union {
		float f32;
		double f64;
		uint16_t u16;
		int16_t i16;
		int32_t i32;
	} v = { .f64 = 0 };

	memcpy(&v, at, foreign_bytes(t->type));
	switch (t->type) {
	case FOREIGN_F32:
		return v.f32;
	case FOREIGN_F64:
		return (float)v.f64;
	case FOREIGN_F16:
		return half_to_float(v.u16);
	case FOREIGN_BF16:
		return bf16_to_float(v.u16);
	case FOREIGN_I8:
		return (float)(int8_t)*at;
	case FOREIGN_I16:
		return (float)v.i16;
	case FOREIGN_I32:
		return (float)v.i32;
	case FOREIGN_OTHER:
		break;
	}
	return NAN;
}

double foreign_number(const struct foreign_tensor *t)
{
	return t->n_dims == 0 && t->type != FOREIGN_OTHER ? (double)element(t, 0) : (double)NAN;
}

/* What row r of a tensor of integers is divided by. */
static int find_scale(const struct foreign *f, const struct foreign_tensor *t, int64_t r,
		      float *scale, struct err *e)
{
	char name[512];
	struct foreign_tensor *s;

	if (snprintf(name, sizeof(name), "%s_scale", t->name) >= (int)sizeof(name))
		return err_set(e, ERR_DATA, "%s: the name \"%.80s...\" is too long", f->path,
			       t->name);
	s = foreign_find(f, name);
	if (!s || s->type > FOREIGN_BF16 || (s->cols * s->rows != t->rows &&
					     s->cols * s->rows != 1))
		return err_set(e, ERR_DATA,
			       "%s: \"%s\" holds integers, but there is no \"%s\" of one number a "
			       "row that says what they mean",
			       f->path, t->name, name);
	s->used = true;
	*scale = element(s, s->rows * s->cols == 1 ? 0 : r);
	return 0;
}

int foreign_read(const struct foreign *f, const struct foreign_tensor *t, int64_t r, int64_t first,
		 int64_t n, float *out, struct err *e)
{
	const int64_t from = r * t->cols + first;
	bool finite = true;
	float scale = 1;

	if (t->type >= FOREIGN_I32)
		return err_set(e, ERR_DATA, "%s: \"%s\" has no type of weights", f->path, t->name);
	if (t->type >= FOREIGN_I8 && find_scale(f, t, r, &scale, e))
		return e->code;
	if (t->type == FOREIGN_F32)
		memcpy(out, t->data + (size_t)from * sizeof(*out), (size_t)n * sizeof(*out));
	else
		for (int64_t i = 0; i < n; i++)
			out[i] = element(t, from + i) / scale;
	for (int64_t i = 0; i < n; i++)
		finite &= isfinite(out[i]) != 0;
	if (!finite)
		return err_set(e, ERR_DATA, "%s: \"%s\" holds a number that is not finite", f->path,
			       t->name);
	return 0;
}

/* ---- the list ---------------------------------------------------------- */

struct foreign_tensor *foreign_find(const struct foreign *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->all[i].name, name))
			return &f->all[i];
	return NULL;
}

static enum foreign_type type_of(const char *dtype)
{
	static const char *const names[] = { "F32", "F64", "F16", "BF16", "I8", "I16", "I32" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i], dtype))
			return (enum foreign_type)i;
	return FOREIGN_OTHER;
}

static int add_safetensor(struct foreign *f, const struct safetensor *from, struct err *e)
{
	struct foreign_tensor *t = &f->all[f->n];

	*t = (struct foreign_tensor){ .name = from->name, .type = type_of(from->dtype),
				      .n_dims = (int32_t)from->n_dims, .rows = 1, .cols = 1,
				      .data = from->data };
	for (size_t i = 0; i < from->n_dims; i++) {
		if (!from->dims[i])
			return err_set(e, ERR_DATA, "%s: \"%.80s\" is empty", f->path, t->name);
		if (i + 1 < from->n_dims)
			t->rows *= from->dims[i];	/* all lie in the file: no overflow */
		else
			t->cols = from->dims[i];
	}
	f->n++;
	return 0;
}

int foreign_open_safetensors(struct foreign *f, const char *path, struct err *e)
{
	*f = (struct foreign){ .path = path };
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

void foreign_close(struct foreign *f)
{
	free(f->all);
	map_close(&f->map);
	safetensors_close(f->file);
	*f = (struct foreign){ 0 };
}

bool foreign_looks_like_safetensors(const unsigned char *bytes, size_t n)
{
	uint64_t header;

	if (n < 9)
		return false;
	memcpy(&header, bytes, sizeof(header));
	return header > 1 && header <= 100000000u && bytes[8] == '{';
}
