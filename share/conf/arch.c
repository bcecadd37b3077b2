/* arch.c - see arch.h */
#include "share/conf/arch.h"

#include "share/base/util.h"

enum { FROM_OPTION, FROM_CORPUS };

static const struct arch_row arch_rows[] = {
#define ARCH(name, from, low, high)                                                                \
	{ #name, FROM_##from == FROM_OPTION, offsetof(struct model_shape, name) },
#include "share/conf/arch.def"
};

/* Of the values in a file. */
static const struct arch_range {
	int64_t low, high;
} arch_ranges[] = {
#define ARCH(name, from, low, high) { low, high },
#include "share/conf/arch.def"
};

const struct file_format arch_checkpoint_format = { .what = "checkpoint", .version = 1 };

const struct arch_row *arch_at(size_t i)
{
	return i < ARRAY_LEN(arch_rows) ? &arch_rows[i] : NULL;
}

int32_t arch_value(const struct model_shape *s, const struct arch_row *row)
{
	return *(const int32_t *)((const char *)s + row->offset);
}

#define SET_OPTION(name) s->name = (int32_t)c->name;
#define SET_CORPUS(name)

void arch_set_options(struct model_shape *s, const struct conf *c)
{
#define ARCH(name, from, low, high) SET_##from(name)
#include "share/conf/arch.def"
}

const struct arch_row *arch_difference(const struct model_shape *a, const struct model_shape *b)
{
	for (size_t i = 0; i < ARRAY_LEN(arch_rows); i++)
		if (arch_value(a, &arch_rows[i]) != arch_value(b, &arch_rows[i]))
			return &arch_rows[i];
	return NULL;
}

void arch_put_shape(struct json_writer *w, const struct model_shape *s)
{
	format_put_version(w, &arch_checkpoint_format, NULL);
	json_put_open(w, "shape", '{');
	for (size_t i = 0; i < ARRAY_LEN(arch_rows); i++)
		json_put_int(w, arch_rows[i].name, arch_value(s, &arch_rows[i]));
	json_close(w, '}');
}

int arch_read_shape(struct model_shape *s, const struct json *root, const char *path, struct err *e)
{
	const struct json *shape = json_get(root, "shape");
	const char *keys[ARRAY_LEN(arch_rows)];

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		keys[i] = arch_rows[i].name;
	if (format_check_version(root, &arch_checkpoint_format, path, e) ||
	    format_check_keys(root, "shape", keys, ARRAY_LEN(keys), &arch_checkpoint_format, path,
			      e))
		return e->code;
	for (size_t i = 0; i < ARRAY_LEN(arch_rows); i++) {
		const struct arch_row *row = &arch_rows[i];
		const int64_t v = json_integer(json_get(shape, row->name), INT64_MIN);

		if (v < arch_ranges[i].low || v > arch_ranges[i].high)
			return err_set(e, ERR_DATA,
				       "%s: \"%s\" is missing or out of range: this is not a "
				       "checkpoint of Werkbank",
				       path, row->name);
		*(int32_t *)((char *)s + row->offset) = (int32_t)v;
	}
	return 0;
}
