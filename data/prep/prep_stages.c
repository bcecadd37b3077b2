/* prep_stages.c - paths and the word table, shared by all stages (see prep_stages.h) */
#include "data/prep/prep_stages.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "data/prep/token_column.h"
#include "share/base/file.h"

static const char *PRINTF_LIKE(3, 0)
	format_prep_path(struct prep *p, struct err *e, const char *fmt, va_list ap)
{
	int n = snprintf(p->path, sizeof(p->path), "%s/", p->folder);
	size_t left = n < 0 || (size_t)n >= sizeof(p->path) ? 0 : sizeof(p->path) - (size_t)n;
	int m = left ? vsnprintf(p->path + n, left, fmt, ap) : -1;

	if (m >= 0 && (size_t)m < left)
		return p->path;
	err_set(e, ERR_CONFIG, "%s: the path of the corpus folder is too long (limit: %zu bytes)",
		p->folder, sizeof(p->path));
	return NULL;
}

const char *prep_path(struct prep *p, struct err *e, const char *fmt, ...)
{
	const char *path;
	va_list ap;

	va_start(ap, fmt);
	path = format_prep_path(p, e, fmt, ap);
	va_end(ap);
	return path;
}

int prep_write_file(struct prep *p, const char *name, const void *bytes, size_t n, struct err *e)
{
	const char *path = prep_path(p, e, "%s", name);

	return path ? file_write_all(path, bytes, n, e) : e->code;
}

int prep_write_buf(struct prep *p, const char *name, const struct buf *b, struct err *e)
{
	return buf_check(b, e) ? e->code : prep_write_file(p, name, b->data, b->len, e);
}

int prep_remove_file(struct prep *p, struct err *e, const char *fmt, ...)
{
	const char *path;
	va_list ap;

	va_start(ap, fmt);
	path = format_prep_path(p, e, fmt, ap);
	va_end(ap);
	if (!path)
		return e->code;
	if (unlink(path) && errno != ENOENT)
		return err_set_errno(e, ERR_CANTCREAT, "%s: cannot be removed", path);
	return 0;
}

int64_t *prep_merges(struct prep *p, int side)
{
	return side == 0 && text_subword_models(p->c) > 1 ? &p->numbers.source_merges
							  : &p->numbers.merges;
}

void prep_put_source_counts(struct json_writer *w, const struct prep *p)
{
	if (p->numbers.source_merges)
		json_put_int(w, "source_merges", p->numbers.source_merges);
	if (p->numbers.source_vocabulary)
		json_put_int(w, "source_vocabulary", p->numbers.source_vocabulary);
}

const char *prep_ids_name(const struct prep *p, int side)
{
	static const char *const names[] = { "ids.source", "ids.target" };

	return text_subword_models(p->c) == 1 ? "ids" : names[side];
}

const char *prep_piece_list(const struct prep *p, int side)
{
	static const char *const names[] = { "sentencepiece.source.vocab",
					     "sentencepiece.target.vocab" };

	return text_subword_models(p->c) == 1 ? "sentencepiece.vocab" : names[side];
}

int32_t prep_tag_word(const struct prep *p, size_t i)
{
	const char *tag = p->texts.pairs[i].source.tag;

	assert(i < p->texts.n_train && (!tag || p->words.n));
	return tag ? intern_find(&p->words, tag, strlen(tag)) : -1;
}

const struct intern *prep_words(struct prep *p, struct err *e)
{
	const char *path;

	if (p->words.n)
		return &p->words;
	path = prep_path(p, e, "work/words");
	return path && !word_table_load(&p->words, path, e) ? &p->words : NULL;
}
