/* ct2_read.c - reads model.bin of CTranslate2; see import_reader.h, and ct2.h for the format */
#include <assert.h>
#include <string.h>

#include "eval/weights/ct2.h"
#include "eval/weights/import_reader.h"
#include "share/base/mem.h"
#include "share/base/text.h"

#define MAX_TENSORS 20000 /* 64 layers of both stacks with all scales have about 8,000 */
#define MAX_DIMS    8

struct ct2_reader {
	const unsigned char *at, *end;
	struct import_reader *f;
	struct err *e;
};

static int ct2_file_truncated(struct ct2_reader *r)
{
	return err_set(r->e, ERR_DATA,
		       "%s: not a model.bin of CTranslate2, or truncated: the file ends within "
		       "tensor %zu",
		       r->f->path, r->f->n + 1);
}

static int get_number(struct ct2_reader *r, size_t bytes, uint32_t *v)
{
	assert(bytes <= sizeof(*v) && r->at <= r->end);
	*v = 0;
	if ((size_t)(r->end - r->at) < bytes)
		return ct2_file_truncated(r);
	for (size_t i = 0; i < bytes; i++)
		*v |= (uint32_t)*r->at++ << 8 * i;
	return 0;
}

/* A text: its length, which includes the NUL, and its bytes. */
static int get_text(struct ct2_reader *r, const char **text)
{
	uint32_t n;

	if (get_number(r, 2, &n))
		return r->e->code;
	if (!n || n > (size_t)(r->end - r->at))
		return ct2_file_truncated(r);
	*text = (const char *)r->at;
	r->at += n;
	if (memchr(*text, 0, n) != *text + n - 1 || !utf8_valid(*text, n - 1))
		return err_set(r->e, ERR_DATA, "%s: the name of tensor %zu is not UTF-8 text",
			       r->f->path, r->f->n + 1);
	return 0;
}

/* Makes room for one more tensor, f->all[f->n]. NULL: failure. */
static struct import_tensor *next_ct2_tensor(struct ct2_reader *r)
{
	struct import_reader *f = r->f;

	if (f->n == MAX_TENSORS) {
		err_set(r->e, ERR_DATA, "%s has more than %d tensors", f->path, MAX_TENSORS);
		return NULL;
	}
	return mem_grow(&f->all, &f->cap, f->n + 1, sizeof(*f->all), r->e) ? NULL : &f->all[f->n];
}

/* Reads the dimensions into rows and cols. */
static int get_shape(struct ct2_reader *r, struct import_tensor *t)
{
	uint32_t n_dims, size;

	if (get_number(r, 1, &n_dims))
		return r->e->code;
	if (n_dims > MAX_DIMS)
		return err_set(r->e, ERR_DATA, "%s: \"%s\" has %u dimensions", r->f->path, t->name,
			       n_dims);
	t->n_dims = (int32_t)n_dims;
	t->rows = t->cols = 1;
	for (uint32_t i = 0; i < n_dims; i++) {
		if (get_number(r, 4, &size))
			return r->e->code;
		if (__builtin_mul_overflow(t->rows, t->cols, &t->rows))
			return ct2_file_truncated(r);
		t->cols = size;
	}
	return 0;
}

static int get_tensor(struct ct2_reader *r)
{
	static const enum import_type types[] = { IMPORT_F32, IMPORT_I8,  IMPORT_I16,
						  IMPORT_I32, IMPORT_F16, IMPORT_BF16 };
	struct import_tensor *t = next_ct2_tensor(r);
	uint32_t type, bytes;
	int64_t expected;

	if (!t)
		return r->e->code;
	*t = (struct import_tensor){ .n_dims = 0 };
	if (get_text(r, &t->name) || get_shape(r, t) || get_number(r, 1, &type) ||
	    get_number(r, 4, &bytes))
		return r->e->code;
	if (type >= ARRAY_LEN(types))
		return err_set(r->e, ERR_DATA, "%s: \"%s\" has the unknown type %u", r->f->path,
			       t->name, type);
	t->type = types[type];
	if (__builtin_mul_overflow(t->rows, t->cols, &expected) ||
	    __builtin_mul_overflow(expected, (int64_t)import_type_bytes(t->type), &expected) ||
	    expected != bytes || !bytes)
		return err_set(r->e, ERR_DATA,
			       "%s: \"%s\" has %u bytes, which does not match its shape",
			       r->f->path, t->name, bytes);
	if (bytes > (size_t)(r->end - r->at))
		return ct2_file_truncated(r);
	t->data = r->at;
	r->at += bytes;
	r->f->n++;
	return 0;
}

/* Adds a tensor under another name. */
static int get_alias(struct ct2_reader *r)
{
	struct import_tensor *t = next_ct2_tensor(r), *same;
	const char *alias, *name;

	if (!t || get_text(r, &alias) || get_text(r, &name))
		return r->e->code;
	same = import_find_tensor(r->f, name);
	if (!same)
		return err_set(r->e, ERR_DATA,
			       "%s: \"%s\" is an alias of \"%s\", which the file does not have",
			       r->f->path, alias, name);
	*t = *same;
	t->name = alias;
	r->f->n++;
	return 0;
}

static int get_head(struct ct2_reader *r, uint32_t *tensors)
{
	uint32_t version, revision;
	const char *kind;

	if (get_number(r, 4, &version))
		return r->e->code;
	if (version != CT2_FILE_VERSION)
		return err_set(
			r->e, ERR_DATA,
			"%s has version %u of CTranslate2's format, but only version %d can be "
			"read: convert the model with a recent CTranslate2",
			r->f->path, version, CT2_FILE_VERSION);
	if (get_text(r, &kind) || get_number(r, 4, &revision) || get_number(r, 4, tensors))
		return r->e->code;
	if (strcmp(kind, "TransformerSpec") != 0)
		return err_set(r->e, ERR_DATA,
			       "%s is a %.60s, but a TransformerSpec (encoder and decoder) was "
			       "expected",
			       r->f->path, kind);
	if (revision > CT2_SPEC_REVISION)
		return err_set(
			r->e, ERR_DATA,
			"%s is a TransformerSpec of revision %u; the newest known revision is "
			"%d",
			r->f->path, revision, CT2_SPEC_REVISION);
	return 0;
}

int import_open_ct2(struct import_reader *f, const char *path, struct err *e)
{
	struct ct2_reader r = { .f = f, .e = e };
	uint32_t n, aliases;

	*f = (struct import_reader){ .path = path };
	if (map_open(&f->map, path, e))
		return e->code;
	if (!f->map.len)
		return err_set(e, ERR_DATA, "%s is empty", path);
	r.at = f->map.data;
	r.end = r.at + f->map.len;
	if (get_head(&r, &n))
		return e->code;
	for (uint32_t i = 0; i < n; i++)
		if (get_tensor(&r))
			return e->code;
	if (get_number(&r, 4, &aliases))
		return e->code;
	for (uint32_t i = 0; i < aliases; i++)
		if (get_alias(&r))
			return e->code;
	if (r.at != r.end)
		return err_set(e, ERR_DATA, "%s has %zu bytes after its last tensor", path,
			       (size_t)(r.end - r.at));
	return 0;
}

bool import_is_ct2(const unsigned char *bytes, size_t n)
{
	/* u32 version below 256, u16 length of the kind's name, and a name that ends in "Spec" */
	if (n < 8 || !bytes[0] || bytes[1] || bytes[2] || bytes[3] || bytes[5])
		return false;
	return bytes[4] >= 6 && n >= 6u + bytes[4] && !memcmp(bytes + 6 + bytes[4] - 5, "Spec", 5);
}
