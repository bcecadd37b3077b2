/* export_formats.c - the table of formats, what they can hold, and what they share; see export_format.h */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "eval/export/export_format.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/conf/text_sides.h"
#include "share/workspace/model_files.h"

static const struct export_format *const formats[] = {
#define EXPORT_ROW(name, title) &export_##name,
	EXPORT_MODEL_FORMATS(EXPORT_ROW, EXPORT_ROW)
};

const struct export_format *export_find_format(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	return NULL;
}

int export_refuse(const struct export_job *x, const struct export_format *f, struct err *e,
		  const char *what, ...)
{
	char text[400];
	va_list args;

	va_start(args, what);
	vsnprintf(text, sizeof(text), what, args);
	va_end(args);
	return err_set(e, ERR_UNAVAILABLE, "%s: the format of %s cannot hold this model: %s",
		       x->folder, f->title, text);
}

/* Is value one of "a|b|c"? */
static bool is_limit_value(const char *values, const char *value)
{
	const size_t n = strlen(value);

	for (const char *at = values; at; at = strchr(at, '|')) {
		at += *at == '|';
		if (!strncmp(at, value, n) && (!at[n] || at[n] == '|'))
			return true;
	}
	return false;
}

static int check_limit(const struct export_format *f, const struct export_limit *limit,
		       const struct export_job *x, struct err *e)
{
	const struct arch_row *row = arch_at(0);
	char text[ARCH_TEXT_MAX];

	for (size_t i = 0; row && strcmp(row->name, limit->fact) != 0;)
		row = arch_at(++i);
	if (!row)
		return err_set(e, ERR_INTERNAL, "there is no fact %s", limit->fact);
	arch_text(x->shape, row, text);
	return is_limit_value(limit->values, text)
		       ? 0
		       : export_refuse(x, f, e, "its %s is %s: %s", row->name, text, limit->reason);
}

/* No format names tokens that begin sentences; programs that read it would not add them. */
static int check_first_tokens(const struct export_format *f, const struct export_job *x,
			      struct err *e)
{
	const char *source = x->text->source_first_token, *target = x->text->target_first_token;
	const bool has_source = source && *source;

	if (!has_source && !(target && *target))
		return 0;
	return export_refuse(x, f, e, "each %s sentence begins with the token %s (%s_first_token)",
			     has_source ? "source" : "target", has_source ? source : target,
			     has_source ? "source" : "target");
}

int export_check_format(const struct export_format *f, const struct export_job *x, struct err *e)
{
	if (check_first_tokens(f, x, e))
		return e->code;
	for (size_t i = 0; f->limits && f->limits[i].fact; i++)
		if (check_limit(f, &f->limits[i], x, e))
			return e->code;
	return f->check ? f->check(x, e) : 0;
}

/* ---- help for formats -------------------------------------------------- */

int export_check_pieces(const struct export_job *x, const struct export_format *f, struct err *e)
{
	const struct conf *c = x->text;

	for (int side = 0; side < 2; side++)
		if (text_segmentation(c, side) == SEGMENTATION_BPE || text_is_tokenized(c, side))
			return export_refuse(x, f, e,
					     "its text is %s, but such models read raw text that "
					     "SentencePiece models split",
					     text_is_tokenized(c, side)
						     ? "tokenised (tokenize = yes)"
						     : "split by BPE (segmentation = bpe)");
	return c->normalize
		       ? export_refuse(x, f, e,
				       "its text is normalised before it is split (normalize = "
				       "yes)")
		       : 0;
}

int export_copy_file(const struct export_job *x, const char *name, const char *to, bool is_optional,
		     struct err *e)
{
	char *from = file_path(e, "%s/%s", x->folder, name);
	char *at = from ? file_path(e, "%s/%s", x->out, to) : NULL;
	int rc = at ? 0 : e->code;

	if (!rc && (!is_optional || file_exists(from)))
		rc = file_copy(from, at, e);
	free(from);
	free(at);
	return rc;
}

int export_copy_vocabularies(const struct export_job *x, struct err *e)
{
	int rc = export_copy_file(x, "recipe.ini", "recipe.ini", true, e);

	for (int side = text_vocabularies(x->text) > 1 ? 0 : 1; !rc && side < 2; side++) {
		const char *name = text_vocabulary_file(x->text, side);

		rc = export_copy_file(x, name, name, false, e);
	}
	return rc;
}

int export_copy_pipeline(const struct export_job *x, struct err *e)
{
	static const char *const names[] = { "recipe.ini", MODEL_FILE_NAMES };
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(names) && !rc; i++)
		rc = export_copy_file(x, names[i], names[i], true, e);
	return rc;
}

bool export_is_silent(const struct export_job *x, int32_t id)
{
	struct err ignored = { 0 };
	const unsigned char *bias = x->shape->output_bias
					    ? safetensors_get(x->weights, "output.bias", 1,
							      x->shape->vocabulary, &ignored)
					    : NULL;
	float b = 0;

	if (bias)
		memcpy(&b, bias + (size_t)id * sizeof(b), sizeof(b));
	return b <= WEIGHT_NO_TOKEN_BIAS;
}

bool export_is_zero_row(const struct export_job *x, const char *table, int32_t id)
{
	const struct safetensor *t = safetensors_find(x->weights, table);
	const size_t n = (size_t)x->shape->d_model;

	for (size_t i = 0; t && i < n; i++) {
		float v;

		memcpy(&v, t->data + ((size_t)id * n + i) * sizeof(v), sizeof(v));
		if (v != 0)
			return false;
	}
	return t != NULL;
}

int32_t export_all_rows(const struct export_job *x, int side, struct token_row **rows,
			struct err *e)
{
	const struct vocab *v = side ? x->vocabs.target : x->vocabs.source;
	const int32_t n = vocab_real_size(v);

	*rows = mem_alloc((size_t)n, sizeof(**rows), e);
	if (!*rows)
		return e->code;
	for (int32_t i = 0; i < n; i++)
		(*rows)[i].id = i;
	return n;
}
