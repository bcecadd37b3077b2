/* safetensors.c - reads and writes files of named tensors; see safetensors.h */
#include "train/ckpt/safetensors.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/format/json.h"

#define HEADER_LIMIT 100000000u /* bytes, as in the reference implementation */
#define DATA_ALIGN   64u

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "tensors are written in the byte order of memory");

/* ---- writing ----------------------------------------------------------- */

static void put_header_entry(struct json_writer *w, const struct safetensors_item *item,
			     int64_t *offset)
{
	json_put_open(w, item->name, '{');
	json_put_str(w, "dtype", "F32");
	json_put_open(w, "shape", '[');
	if (item->rows != 1 || item->is_matrix)
		json_int(w, item->rows);
	json_int(w, item->cols);
	json_close(w, ']');
	json_put_open(w, "data_offsets", '[');
	json_int(w, *offset);
	*offset += item->rows * item->cols * (int64_t)sizeof(float);
	json_int(w, *offset);
	json_close(w, ']');
	json_close(w, '}');
}

/* The length of the header and the header, padded to DATA_ALIGN. */
static int build_header(struct buf *b, const struct safetensors_item *items, size_t n,
			const char *metadata, struct err *e)
{
	struct json_writer w = { .out = b };
	int64_t offset = 0;
	uint64_t len;

	buf_add(b, "\0\0\0\0\0\0\0", sizeof(len));
	json_open(&w, '{');
	if (metadata) {
		json_key(&w, "__metadata__");
		json_raw(&w, metadata, strlen(metadata));
	}
	for (size_t i = 0; i < n; i++)
		put_header_entry(&w, &items[i], &offset);
	json_close(&w, '}');
	while (!b->failed && b->len % DATA_ALIGN)
		buf_add_char(b, ' ');
	if (buf_check(b, e))
		return e->code;
	assert(b->len % DATA_ALIGN == 0);
	len = b->len - sizeof(len);
	memcpy(b->data, &len, sizeof(len));
	return 0;
}

int safetensors_write(const char *path, const struct safetensors_item *items, size_t n,
		      safetensors_fetch *fetch, void *arg, struct err *e)
{
	return safetensors_write_with(path, items, n, NULL, fetch, arg, e);
}

int safetensors_write_with(const char *path, const struct safetensors_item *items, size_t n,
			   const char *metadata, safetensors_fetch *fetch, void *arg, struct err *e)
{
	struct buf header = { 0 };
	struct outfile out = { 0 };
	int rc = build_header(&header, items, n, metadata, e);

	if (rc || (rc = outfile_open(&out, path, e)))
		goto done;
	if (fwrite(header.data, 1, header.len, out.stream) != header.len)
		goto write_failed;
	for (size_t i = 0; i < n; i++) {
		const size_t count = (size_t)(items[i].rows * items[i].cols);
		const float *x = fetch(arg, i, e);

		if (!x) {
			rc = e->code;
			goto done;
		}
		if (fwrite(x, sizeof(*x), count, out.stream) != count)
			goto write_failed;
	}
	rc = outfile_commit(&out, e);
	goto done;
write_failed:
	rc = err_set_errno(e, ERR_IO, "%s: cannot write the file", path);
done:
	outfile_abandon(&out);
	buf_free(&header);
	return rc;
}

/* ---- reading ----------------------------------------------------------- */

struct safetensors {
	struct map map;
	struct json *header;	    /* owned; names and types point into it */
	struct safetensor *tensors; /* owned, in the order of their data */
	size_t n;
	char *path; /* owned */
	uint64_t data_bytes;
};

static const struct {
	const char *name;
	uint64_t bytes;
} dtypes[] = {
	{ "F32", 4 },	  { "F64", 8 }, { "F16", 2 }, { "BF16", 2 }, { "F8_E4M3", 1 },
	{ "F8_E5M2", 1 }, { "I64", 8 }, { "I32", 4 }, { "I16", 2 },  { "I8", 1 },
	{ "U64", 8 },	  { "U32", 4 }, { "U16", 2 }, { "U8", 1 },   { "BOOL", 1 },
};

static uint64_t dtype_bytes_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(dtypes); i++)
		if (!strcmp(dtypes[i].name, name))
			return dtypes[i].bytes;
	return 0;
}

static int safetensors_set_error(const struct safetensors *s, const char *name, const char *what,
				 struct err *e)
{
	return err_set(e, ERR_DATA, "%s: not a safetensors file, or damaged: tensor \"%.80s\" %s",
		       s->path, name, what);
}

/*
 * Bytes of a tensor of this type and shape. *ok false: unknown type, or impossible shape. The
 * dimensions that are not zero must have a product too: a reader may multiply some of them.
 */
static uint64_t shape_bytes(struct safetensor *t, const struct json *shape, bool *ok)
{
	int64_t bytes = (int64_t)dtype_bytes_of(t->dtype);
	bool is_empty = false;

	t->n_dims = json_len(shape);
	*ok = bytes && t->n_dims <= SAFETENSORS_MAX_DIMS;
	for (size_t i = 0; *ok && i < t->n_dims; i++) {
		t->dims[i] = json_integer(json_at(shape, i), -1);
		is_empty |= !t->dims[i];
		*ok = t->dims[i] >= 0 && !__builtin_mul_overflow(bytes, MAX(t->dims[i], 1), &bytes);
	}
	return is_empty ? 0 : (uint64_t)bytes;
}

static int read_tensor(const struct safetensors *s, struct safetensor *t, const char *name,
		       const struct json *v, struct err *e)
{
	const struct json *offsets = json_get(v, "data_offsets");
	int64_t begin = json_integer(json_at(offsets, 0), -1),
		end = json_integer(json_at(offsets, 1), -1);
	uint64_t bytes;
	bool ok;

	t->name = name;
	t->dtype = json_text(json_get(v, "dtype"), "");
	bytes = shape_bytes(t, json_get(v, "shape"), &ok);
	if (!ok || !json_is_array(json_get(v, "shape")))
		return safetensors_set_error(s, name, "has an unknown type or shape", e);
	if (!json_is_array(offsets) || json_len(offsets) != 2 || begin < 0 || end < begin ||
	    (uint64_t)end > s->data_bytes)
		return safetensors_set_error(s, name, "lies outside of the file", e);
	if ((uint64_t)(end - begin) != bytes)
		return safetensors_set_error(s, name, "has a length that differs from its shape",
					     e);
	t->begin = (uint64_t)begin;
	t->end = (uint64_t)end;
	return 0;
}

static int cmp_tensor_begin(const void *a, const void *b)
{
	const struct safetensor *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static int cmp_tensor_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *safetensors_find_repeat(const char **names, size_t n)
{
	if (n)
		qsort(names, n, sizeof(*names), cmp_tensor_name);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(names[i - 1], names[i]))
			return names[i];
	return NULL;
}

/* The format forbids a name that occurs twice: readers would disagree about the tensor it means. */
static int check_tensor_names(const struct safetensors *s, struct err *e)
{
	const char **names = mem_alloc(s->n, sizeof(*names), e), *repeated;
	int rc = 0;

	if (!names)
		return e->code;
	for (size_t i = 0; i < s->n; i++)
		names[i] = s->tensors[i].name;
	repeated = safetensors_find_repeat(names, s->n);
	if (repeated)
		rc = safetensors_set_error(s, repeated, "occurs twice", e);
	free(names);
	return rc;
}

static int safetensors_read_header(struct safetensors *s, uint64_t header_bytes, struct err *e)
{
	const unsigned char *data = s->map.data + 8 + header_bytes;
	uint64_t at = 0;

	s->header = json_parse((const char *)s->map.data + 8, header_bytes, e);
	if (!s->header)
		return err_prefix(e, "%s: not a safetensors file, or damaged", s->path);
	s->tensors = mem_alloc(json_len(s->header), sizeof(*s->tensors), e);
	if (!s->tensors)
		return e->code;
	for (const struct json *v = json_first(s->header); v; v = json_next(s->header, v))
		if (strcmp(json_child_key(v), "__metadata__") != 0 &&
		    read_tensor(s, &s->tensors[s->n++], json_child_key(v), v, e))
			return e->code;
	if (check_tensor_names(s, e))
		return e->code;
	qsort(s->tensors, s->n, sizeof(*s->tensors), cmp_tensor_begin);
	for (size_t i = 0; i < s->n; i++) {
		struct safetensor *t = &s->tensors[i];

		if (t->begin != at)
			return safetensors_set_error(
				s, t->name, "overlaps another one, or leaves a gap before it", e);
		t->data = data + t->begin;
		at = t->end;
	}
	if (at != s->data_bytes)
		return err_set(e, ERR_DATA,
			       "%s: the file has %llu bytes of data, but its header describes %llu",
			       s->path, (unsigned long long)s->data_bytes, (unsigned long long)at);
	return 0;
}

struct safetensors *safetensors_open(const char *path, struct err *e)
{
	struct safetensors *s = mem_alloc(1, sizeof(*s), e);
	uint64_t header_bytes;

	if (!s)
		return NULL;
	s->path = mem_strdup(path, e);
	if (!s->path || map_open(&s->map, path, e))
		goto failed;
	if (s->map.len < 8)
		goto cut;
	memcpy(&header_bytes, s->map.data, 8);
	if (header_bytes > HEADER_LIMIT || header_bytes > s->map.len - 8)
		goto cut;
	s->data_bytes = s->map.len - 8 - header_bytes;
	if (safetensors_read_header(s, header_bytes, e))
		goto failed;
	return s;
cut:
	err_set(e, ERR_DATA,
		"%s: not a safetensors file, or cut short: the header is longer than the file (%zu "
		"bytes)",
		path, s->map.len);
failed:
	safetensors_close(s);
	return NULL;
}

size_t safetensors_count(const struct safetensors *s)
{
	return s->n;
}

const struct safetensor *safetensors_at(const struct safetensors *s, size_t i)
{
	assert(i < s->n);
	return &s->tensors[i];
}

const struct safetensor *safetensors_find(const struct safetensors *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->tensors[i].name, name))
			return &s->tensors[i];
	return NULL;
}

const unsigned char *safetensors_get(const struct safetensors *s, const char *name, int64_t rows,
				     int64_t cols, struct err *e)
{
	const struct safetensor *t = safetensors_find(s, name);
	int64_t have_rows, have_cols;

	if (!t) {
		err_set(e, ERR_DATA,
			"%s has no tensor \"%s\" of %lld x %lld: this is another model", s->path,
			name, (long long)rows, (long long)cols);
		return NULL;
	}
	have_rows = t->n_dims == 2 ? t->dims[0] : 1;
	have_cols = t->n_dims == 2 ? t->dims[1] : t->n_dims == 1 ? t->dims[0] : -1;
	if (strcmp(t->dtype, "F32") != 0 || have_rows != rows || have_cols != cols) {
		err_set(e, ERR_DATA,
			"%s: tensor \"%s\" is %s %lld x %lld, but the model has F32 %lld x %lld",
			s->path, name, t->dtype, (long long)have_rows, (long long)have_cols,
			(long long)rows, (long long)cols);
		return NULL;
	}
	return t->data;
}

const char *safetensors_metadata(const struct safetensors *s, const char *key)
{
	return json_text(json_get(json_get(s->header, "__metadata__"), key), NULL);
}

void safetensors_close(struct safetensors *s)
{
	if (!s)
		return;
	json_free(s->header);
	map_close(&s->map);
	free(s->tensors);
	free(s->path);
	free(s);
}
