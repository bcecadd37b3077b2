/* conf_variables.c - see conf_internal.h: environment variables that are not options. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "share/base/text.h"
#include "share/base/util.h"
#include "share/conf/alias.h"
#include "share/conf/conf_internal.h"

#define PREFIX "WERKBANK_"

static const struct {
	const char *name, *text;
} variables[] = {
#define VARIABLE(name, text) { name, text },
#include "share/conf/variables.def"
#undef VARIABLE
};

void conf_man_variables(struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(variables); i++)
		if (variables[i].text)
			buf_printf(out, ".TP\n.B " PREFIX "%s\n%s\n", variables[i].name,
				   variables[i].text);
}

/* The name as an option is written: in lower case. */
static void lower_name(const char *name, size_t n, char out[CONF_NAME_MAX])
{
	snprintf(out, CONF_NAME_MAX, "%.*s", (int)MIN(n, CONF_NAME_MAX - 1), name);
	for (char *p = out; *p; p++)
		*p = (char)tolower((unsigned char)*p);
}

static bool is_known_variable(const char *name, size_t n)
{
	char lower[CONF_NAME_MAX];

	for (size_t i = 0; i < ARRAY_LEN(variables); i++)
		if (strlen(variables[i].name) == n && !memcmp(variables[i].name, name, n))
			return true;
	for (size_t i = 0; i < n; i++)
		if (islower((unsigned char)name[i]))
			return false;
	lower_name(name, n, lower);
	return n < sizeof(lower) && conf_find_option(lower);
}

/* Returns the known name that is nearest to a misspelt one, without WERKBANK_ and in lower case. NULL: none is near. */
static const char *nearest_variable(const char *name, size_t n)
{
	static char known[ARRAY_LEN(variables)][CONF_NAME_MAX];
	const char *names[400];
	char lower[CONF_NAME_MAX];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		lower_name(variables[i].name, strlen(variables[i].name), known[i]);
		if (variables[i].text)
			names[count++] = known[i];
	}
	for (size_t i = 0; i < conf_n_options && count < ARRAY_LEN(names); i++)
		names[count++] = conf_options[i].name;
	lower_name(name, n, lower);
	return text_nearest(lower, names, count);
}

void conf_warn_variables(void)
{
	for (char **at = environ; at && *at; at++) {
		const char *name = *at + strlen(PREFIX), *near;
		size_t n;

		if (strncmp(*at, PREFIX, strlen(PREFIX)) != 0)
			continue;
		n = strcspn(name, "=");
		if (is_known_variable(name, n))
			continue;
		near = nearest_variable(name, n);
		fprintf(stderr,
			"warning: the environment variable %.*s is ignored: no option has this "
			"name",
			(int)MIN(strlen(PREFIX) + n, 60), *at);
		if (near) {
			fputs("; did you mean " PREFIX, stderr);
			for (; *near; near++)
				putc(toupper((unsigned char)*near), stderr);
			putc('?', stderr);
		}
		putc('\n', stderr);
	}
}
