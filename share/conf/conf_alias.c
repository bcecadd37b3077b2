/* conf_alias.c - see alias.h: the table of former names. */
#include "share/conf/alias.h"

#include <assert.h>
#include <string.h>

#include "share/base/util.h"
#include "share/conf/conf_internal.h"

static const struct {
	enum alias_kind kind;
	const char *old, *name, *release;
} aliases[] = {
#define ALIAS(kind, old, new, release) { ALIAS_##kind, old, new, release },
#include "share/conf/aliases.def"
};

static const struct {
	const char *name, *letters, *value, *advice;
} refused[] = {
#define REFUSED(name, letters, value, advice) { name, letters, value, advice },
#include "share/conf/aliases.def"
};

/* Commands and options of other programs. */
static const struct {
	const char *word, *advice;
} foreign_commands[] = {
#define ELSEWHERE_COMMAND(word, advice) { word, advice },
#include "share/conf/aliases.def"
};

static const struct {
	const char *name, *takes, *advice;
} foreign_options[] = {
#define ELSEWHERE_OPTION(name, takes, advice) { name, takes, advice },
#include "share/conf/aliases.def"
};

const char *alias_refused(const char *name, const char *value)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		const char *letters = refused[i].letters;
		bool is_name = conf_same_name(name, refused[i].name) ||
			       (letters && conf_same_name(name, letters));

		if (is_name && (value ? refused[i].value && !strcmp(value, refused[i].value)
				      : !refused[i].value))
			return refused[i].advice;
	}
	return NULL;
}

static const struct {
	const char *option, *choice, *command;
} no_choices[] = {
#define NO_CHOICE(option, choice, command) { option, choice, command },
#include "share/conf/aliases.def"
};

bool alias_is_no_choice(const char *option, const char *choice, const char *command)
{
	for (size_t i = 0; i < ARRAY_LEN(no_choices); i++)
		if (!strcmp(option, no_choices[i].option) &&
		    !strcmp(choice, no_choices[i].choice) &&
		    !strcmp(command, no_choices[i].command))
			return true;
	return false;
}

const char *alias_command_advice(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(foreign_commands); i++)
		if (!strcmp(word, foreign_commands[i].word))
			return foreign_commands[i].advice;
	return NULL;
}

const char *alias_option_advice(const char *name, const char **takes)
{
	for (size_t i = 0; i < ARRAY_LEN(foreign_options); i++) {
		if (!conf_same_name(name, foreign_options[i].name))
			continue;
		*takes = foreign_options[i].takes;
		return foreign_options[i].advice;
	}
	return NULL;
}

const char *alias_new_name(enum alias_kind kind, const char *old)
{
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
		if (aliases[i].kind == kind && conf_same_name(old, aliases[i].old))
			return aliases[i].name;
	return NULL;
}

const char *alias_old_name(enum alias_kind kind, const char *name, size_t i)
{
	for (size_t k = 0; k < ARRAY_LEN(aliases); k++)
		if (aliases[k].kind == kind && conf_same_name(name, aliases[k].name) && i-- == 0)
			return aliases[k].old;
	return NULL;
}

size_t conf_add_names(const struct conf_option *o, const char **names, size_t n, size_t max)
{
	const char *old = o->name;

	for (size_t i = 0; old && n < max; i++) {
		names[n++] = old;
		old = alias_old_name(ALIAS_OPTION, o->name, i);
	}
	return n;
}

const struct json *alias_json_get(const struct json *object, const char *field)
{
	const struct json *value = json_get(object, field);
	const char *old;

	for (size_t i = 0; !value && (old = alias_old_name(ALIAS_FIELD, field, i)) != NULL; i++)
		value = json_get(object, old);
	return value;
}
