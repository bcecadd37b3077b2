/* prep_stages.c - paths and the word table, shared by all stages (see prep_stages.h) */
#include "data/prep/prep_stages.h"

#include <stdarg.h>
#include <stdio.h>

#include "data/prep/token_column.h"

const char *prep_path(struct prep *p, struct err *e, const char *fmt, ...)
{
	int n = snprintf(p->path, sizeof(p->path), "%s/", p->folder);
	size_t left = n < 0 || (size_t)n >= sizeof(p->path) ? 0 : sizeof(p->path) - (size_t)n;
	va_list ap;
	int m = -1;

	va_start(ap, fmt);
	if (left)
		m = vsnprintf(p->path + n, left, fmt, ap);
	va_end(ap);
	if (m >= 0 && (size_t)m < left)
		return p->path;
	err_set(e, ERR_CONFIG, "%s: the path of the corpus folder is too long (limit: %zu bytes)",
		p->folder, sizeof(p->path));
	return NULL;
}

const struct intern *prep_words(struct prep *p, struct err *e)
{
	const char *path;

	if (p->words.n)
		return &p->words;
	path = prep_path(p, e, "work/words");
	return path && !word_table_load(&p->words, path, e) ? &p->words : NULL;
}
