/* option_diff.c - see option_diff.h */
#include "tui/run/option_diff.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "share/conf/conf.h"
#include "share/base/file.h"
#include "share/base/mem.h"

void contrast_free(struct contrast *c)
{
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < CONTRAST_MAX_RUNS; k++)
			free(c->rows[i].values[k]);
	free(c->rows);
	*c = (struct contrast){ 0 };
}

static bool is_of_a_recipe(const char *section)
{
	return !strcmp(section, "data") || !strcmp(section, "model") ||
	       !strcmp(section, "train") || !strcmp(section, "decode");
}

/* Sizes that the recipe leaves to the preset are compared as what they came to. */
static bool load(struct conf *c, const char *workspace, const char *name)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/runs/%s/recipe.ini", workspace, name);
	bool there = !conf_init(c, &ignored) && path && file_exists(path) &&
		     !conf_load_recipe(c, path, &ignored);

	if (there)
		conf_apply_size(c);
	free(path);
	return there;
}

static int add_row(struct contrast *c, const char *option, const char *section,
		   const struct conf *confs, const bool *there, size_t n, struct err *e)
{
	struct contrast_row row = { .option = option, .section = section };
	bool differs = false;
	int rc = 0;

	for (size_t k = 0; k < n && !rc; k++) {
		struct buf value = { 0 };

		if (there[k]) {
			conf_value(&confs[k], option, &value);
			if (!(row.values[k] = mem_strdup(buf_text(&value), e)))
				rc = e->code;
		}
		buf_free(&value);
		differs |= k && !rc &&
			   (!row.values[k] != !row.values[0] ||
			    (row.values[k] && strcmp(row.values[k], row.values[0]) != 0));
	}
	if (!rc && differs && !mem_grow(&c->rows, &c->cap, c->n + 1, sizeof(*c->rows), e)) {
		c->rows[c->n++] = row;
		return 0;
	}
	for (size_t k = 0; k < n; k++)
		free(row.values[k]);
	return rc ? rc : differs ? e->code : 0;
}

int contrast_make(struct contrast *c, const char *workspace, const char *const *names, size_t n,
		  struct err *e)
{
	struct conf *confs = mem_alloc(n, sizeof(*confs), e);
	bool there[CONTRAST_MAX_RUNS];
	const char *option, *section;
	int rc = confs ? 0 : e->code;

	contrast_free(c);
	for (size_t k = 0; !rc && k < n; k++)
		there[k] = load(&confs[k], workspace, names[k]);
	for (size_t i = 0; !rc && (option = conf_option_at(i, &section)); i++)
		if (is_of_a_recipe(section))
			rc = add_row(c, option, section, confs, there, n, e);
	for (size_t k = 0; confs && k < n; k++)
		conf_free(&confs[k]);
	free(confs);
	return rc;
}
