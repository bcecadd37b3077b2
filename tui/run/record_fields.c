/* record_fields.c - see record_fields.h. */
#include "tui/run/record_fields.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "share/base/text.h"

void record_read_numbers(const struct json *record, const struct number_field *fields, size_t n,
			 void *to)
{
	const char *names[RECORD_FIELDS_MAX] = { NULL };
	double values[RECORD_FIELDS_MAX];

	assert(n <= RECORD_FIELDS_MAX);
	for (size_t i = 0; i < n; i++)
		names[i] = fields[i].name;
	json_numbers(record, names, n, values);
	for (size_t i = 0; i < n; i++)
		if (isfinite(values[i]) || !fields[i].is_constant)
			memcpy((char *)to + fields[i].offset, &values[i], sizeof(values[i]));
}

void record_copy_text(char *to, size_t n, const char *text)
{
	size_t len = strlen(text);

	assert(n > 0);
	if (len >= n)
		len = utf8_valid_prefix(text, n - 1);
	memcpy(to, text, len);
	to[len] = 0;
}

struct json *record_read_file(const char *path, size_t limit)
{
	struct json *root = NULL;
	struct err ignored;

	return json_read_optional(&root, path, limit, &ignored) ? NULL : root;
}
