/* arch.c - see arch.h */
#include "share/conf/arch.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/util.h"
#include "share/conf/conf_internal.h"

enum { FROM_OPTION, FROM_CORPUS };

static const struct arch_row arch_rows[] = {
#define ARCH(name, from, form, low, high)                                                          \
	{ #name, FROM_##from == FROM_OPTION, offsetof(struct model_shape, name) },
#include "share/conf/arch.def"
};

enum arch_form { FORM_SIZE, FORM_NUMBER, FORM_CHOICE, FORM_FLAG };

/* How a value is written, and its range in a file. */
static const struct arch_value {
	enum arch_form form;
	int64_t low, high;
} arch_values[] = {
#define ARCH(name, from, form, low, high) { FORM_##form, low, high },
#include "share/conf/arch.def"
};

const struct file_format arch_checkpoint_format = { .what = "checkpoint", .version = 1 };

const struct arch_row *arch_at(size_t i)
{
	return i < ARRAY_LEN(arch_rows) ? &arch_rows[i] : NULL;
}

static int32_t *slot_of(const struct model_shape *s, const struct arch_row *row)
{
	return (int32_t *)((char *)(uintptr_t)s + row->offset);
}

/* Choice number i of an option; NULL: there is none. */
static const char *choice_of(const struct arch_row *row, int32_t i, char out[ARCH_TEXT_MAX])
{
	size_t n;
	const char *at = conf_choice(conf_find_option(row->name)->detail, i, &n);

	if (!at)
		return NULL;
	snprintf(out, ARCH_TEXT_MAX, "%.*s", (int)n, at);
	return out;
}

const char *arch_text(const struct model_shape *s, const struct arch_row *row,
		      char out[ARCH_TEXT_MAX])
{
	const int32_t value = *slot_of(s, row);

	switch (arch_values[row - arch_rows].form) {
	case FORM_CHOICE:
		if (!choice_of(row, value, out))
			assert(!"a choice of the option");
		break;
	case FORM_FLAG:
		snprintf(out, ARCH_TEXT_MAX, "%s", value ? "yes" : "no");
		break;
	default:
		snprintf(out, ARCH_TEXT_MAX, "%d", value);
	}
	return out;
}

double arch_norm_epsilon(const struct model_shape *s)
{
	char text[ARCH_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_LEN(arch_rows); i++)
		if (arch_rows[i].offset == offsetof(struct model_shape, norm_epsilon))
			return strtod(arch_text(s, &arch_rows[i], text), NULL);
	return 0;
}

#define SET_OPTION(name) s->name = (int32_t)c->name;
#define SET_CORPUS(name)

void arch_set_options(struct model_shape *s, const struct conf *c)
{
#define ARCH(name, from, form, low, high) SET_##from(name)
#include "share/conf/arch.def"
	if (s->decoder_ff == s->d_ff)
		s->decoder_ff = 0;
	if (s->decoder_heads == s->heads)
		s->decoder_heads = 0;
	if (s->positions != POSITIONS_LEARNED)
		s->max_positions = 0;
}

const struct arch_row *arch_difference(const struct model_shape *a, const struct model_shape *b)
{
	for (size_t i = 0; i < ARRAY_LEN(arch_rows); i++)
		if (*slot_of(a, &arch_rows[i]) != *slot_of(b, &arch_rows[i]))
			return &arch_rows[i];
	return NULL;
}

bool arch_is_written(const struct model_shape *s, const struct arch_row *row)
{
	return arch_values[row - arch_rows].form == FORM_SIZE || *slot_of(s, row);
}

/* ---- state.json ---------------------------------------------------------- */

void arch_put_shape(struct json_writer *w, const struct model_shape *s)
{
	char text[ARCH_TEXT_MAX];

	format_put_version(w, &arch_checkpoint_format, NULL);
	json_put_open(w, "shape", '{');
	for (size_t i = 0; i < ARRAY_LEN(arch_rows); i++) {
		const struct arch_row *row = &arch_rows[i];
		const enum arch_form form = arch_values[i].form;
		const int32_t value = *slot_of(s, row);

		if (!arch_is_written(s, row))
			continue;
		if (form == FORM_CHOICE)
			json_put_str(w, row->name, arch_text(s, row, text));
		else if (form == FORM_FLAG)
			json_put_bool(w, row->name, true);
		else
			json_put_int(w, row->name, value);
	}
	json_close(w, '}');
}

/* *value = the choice that a file names; false: it is not known. */
static bool find_choice(const struct arch_row *row, const char *given, int64_t *value)
{
	char text[ARCH_TEXT_MAX];

	for (int32_t i = 0; choice_of(row, i, text); i++)
		if (!strcmp(text, given)) {
			*value = i;
			return true;
		}
	return false;
}

static int read_choice(const struct json *root, const struct arch_row *row, const char *given,
		       int64_t *value, const char *path, struct err *e)
{
	char reason[120];

	if (find_choice(row, given, value))
		return 0;
	snprintf(reason, sizeof(reason), "has %s \"%.40s\"", row->name, given);
	return format_refuse(root, &arch_checkpoint_format, path, reason, e);
}

/* 1: true; 0: false; INT64_MIN: neither. */
static int64_t read_flag(const struct json *given)
{
	const bool value = json_boolean(given, false);

	return value == json_boolean(given, true) ? value : INT64_MIN;
}

static int read_value(int64_t *value, const struct json *root, size_t i, const char *path,
		      struct err *e)
{
	const struct arch_row *row = &arch_rows[i];
	const struct json *given = json_get(json_get(root, "shape"), row->name);
	const enum arch_form form = arch_values[i].form;
	const char *text = json_text(given, NULL);

	*value = 0;
	if (!given && form != FORM_SIZE)
		return 0;
	if (form == FORM_CHOICE && text)
		return read_choice(root, row, text, value, path, e);
	*value = form == FORM_CHOICE ? INT64_MIN
		 : form == FORM_FLAG ? read_flag(given)
				     : json_integer(given, INT64_MIN);
	if (*value >= arch_values[i].low && *value <= arch_values[i].high)
		return 0;
	return err_set(
		e, ERR_DATA,
		"%s: \"%s\" is missing or out of range: this is not a checkpoint of Werkbank", path,
		row->name);
}

int arch_read_shape(struct model_shape *s, const struct json *root, const char *path, struct err *e)
{
	const char *keys[ARRAY_LEN(arch_rows)];

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		keys[i] = arch_rows[i].name;
	if (format_check_version(root, &arch_checkpoint_format, path, e) ||
	    format_check_keys(root, "shape", keys, ARRAY_LEN(keys), &arch_checkpoint_format, path,
			      e))
		return e->code;
	for (size_t i = 0; i < ARRAY_LEN(arch_rows); i++) {
		int64_t value;

		if (read_value(&value, root, i, path, e))
			return e->code;
		*slot_of(s, &arch_rows[i]) = (int32_t)value;
	}
	return 0;
}
