/*
 * npz_read.c - reads Marian's .npz: see import_reader.h
 *
 * An .npz is a ZIP archive of arrays in NumPy's form, stored without compression: "\x93NUMPY", version, length of
 * the header, a Python dictionary with type, order and shape, elements.
 */
#include <stdlib.h>
#include <string.h>

#include "eval/weights/import_reader.h"
#include "share/base/mem.h"
#include "share/base/text.h"

struct npy {
	enum import_type type;
	int32_t n_dims;
	int64_t rows, cols;
	const unsigned char *data;
	size_t n; /* bytes */
};

/* What follows 'KEY': in the dictionary of an array's header; NULL: the header lacks it. */
static const char *npy_header_value(const char *header, const char *key)
{
	const char *at = strstr(header, key);

	at = at ? at + strlen(key) : NULL;
	while (at && (*at == ':' || *at == ' '))
		at++;
	return at;
}

static enum import_type type_of_npy(const char *descr)
{
	static const struct {
		const char *name;
		enum import_type type;
	} types[] = {
		{ "'<f4'", IMPORT_F32 }, { "'<f8'", IMPORT_F64 }, { "'<f2'", IMPORT_F16 },
		{ "'|i1'", IMPORT_I8 },	 { "'<i1'", IMPORT_I8 },  { "'<i2'", IMPORT_I16 },
		{ "'<i4'", IMPORT_I32 },
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (text_starts_with(descr, types[i].name))
			return types[i].type;
	return IMPORT_OTHER;
}

/* "(3, 512), ...": rows and columns, and their product in *n. */
static bool read_npy_shape(const char *shape, struct npy *a, int64_t *n)
{
	a->rows = a->cols = *n = 1;
	if (*shape++ != '(')
		return false;
	while (*shape && *shape != ')') {
		char *end;
		const long long size = strtoll(shape, &end, 10);

		if (end == shape || size < 1 || a->n_dims == SAFETENSORS_MAX_DIMS ||
		    __builtin_mul_overflow(*n, (int64_t)size, n))
			return false;
		a->rows *= a->n_dims++ ? a->cols : 1;
		a->cols = size;
		for (shape = end; *shape == ',' || *shape == ' ';)
			shape++;
	}
	return *shape == ')';
}

static int read_npy(const struct import_reader *f, const struct zip_member *m, struct npy *a,
		    struct err *e)
{
	char header[512] = "";
	size_t n_header = m->n >= 10 ? m->data[8] | (size_t)m->data[9] << 8 : 0;
	const char *descr, *order, *shape;
	int64_t n;

	*a = (struct npy){ .n_dims = 0 };
	if (m->is_deflated || m->n < 10 || memcmp(m->data, "\x93NUMPY\1\0", 8) != 0 ||
	    n_header >= sizeof(header) || n_header > m->n - 10)
		return err_set(e, ERR_DATA, "%s: \"%.*s\" is no array of NumPy's version 1",
			       f->path, (int)MIN(m->n_name, 100), m->name);
	memcpy(header, m->data + 10, n_header);
	descr = npy_header_value(header, "'descr'");
	order = npy_header_value(header, "'fortran_order'");
	shape = npy_header_value(header, "'shape'");
	a->data = m->data + 10 + n_header;
	a->n = m->n - 10 - n_header;
	if (!descr || !order || !shape || !read_npy_shape(shape, a, &n) ||
	    !text_starts_with(order, "False"))
		return err_set(e, ERR_DATA, "%s: the array \"%.*s\" has an unknown header", f->path,
			       (int)MIN(m->n_name, 100), m->name);
	a->type = type_of_npy(descr);
	if (a->type == IMPORT_OTHER ||
	    __builtin_mul_overflow(n, (int64_t)import_type_bytes(a->type), &n) ||
	    (uint64_t)n != a->n)
		return err_set(e, ERR_DATA,
			       "%s: the array \"%.*s\" has an unknown type, or bytes that do not "
			       "match its shape",
			       f->path, (int)MIN(m->n_name, 100), m->name);
	return 0;
}

/* Copies the name of a member, without ".npy", after the names so far. */
static int add_array_name(struct import_reader *f, const struct zip_member *m, struct err *e)
{
	const size_t n =
		m->n_name - (m->n_name > 4 && !memcmp(m->name + m->n_name - 4, ".npy", 4) ? 4 : 0);

	if (n > 255 || memchr(m->name, 0, n) || !utf8_valid(m->name, n))
		return err_set(e, ERR_DATA, "%s: the name of an array is not UTF-8, or too long",
			       f->path);
	buf_add(&f->names, m->name, n);
	buf_add_char(&f->names, 0);
	return buf_check(&f->names, e);
}

int import_open_npz(struct import_reader *f, const char *path, struct yaml *config, struct err *e)
{
	const struct zip_member *text;
	struct npy a;
	int rc;

	*f = (struct import_reader){ .path = path };
	*config = (struct yaml){ .n = 0 };
	rc = map_open(&f->map, path, e);
	if (!rc)
		rc = zip_open(&f->zip, path, f->map.data, f->map.len, e);
	text = rc ? NULL : zip_find(&f->zip, NPZ_CONFIG_MEMBER, false);
	if (!rc && !text)
		rc = err_set(e, ERR_DATA, "%s has no special:model.yml", path);
	if (!rc)
		rc = read_npy(f, text, &a, e);
	if (!rc)
		rc = yaml_read(config, path, (const char *)a.data, a.n, e);
	f->all = rc ? NULL : mem_alloc(f->zip.n, sizeof(*f->all), e);
	if (!rc && !f->all)
		rc = e->code;
	for (size_t i = 0; !rc && i < f->zip.n; i++)
		rc = add_array_name(f, &f->zip.all[i], e);
	for (size_t i = 0, at = 0; !rc && i < f->zip.n; i++) {
		const char *name = buf_text(&f->names) + at;

		at += strlen(name) + 1;
		if (text_starts_with(name, "special:"))
			continue;
		rc = read_npy(f, &f->zip.all[i], &a, e);
		f->all[f->n] = (struct import_tensor){ .name = name,
						       .type = a.type,
						       .n_dims = a.n_dims,
						       .rows = a.rows,
						       .cols = a.cols,
						       .data = a.data };
		f->n += !rc;
	}
	return rc;
}
