/* option_diff.c - compares the recipes of runs; see option_diff.h. */
#include "tui/run/option_diff.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/conf/conf.h"

void option_diff_free(struct option_diff *c)
{
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < OPTION_DIFF_MAX_RUNS; k++)
			free(c->rows[i].values[k]);
	free(c->rows);
	*c = (struct option_diff){ 0 };
}

static bool is_recipe_section(const char *section)
{
	return !strcmp(section, "data") || !strcmp(section, "model") || !strcmp(section, "train") ||
	       !strcmp(section, "decode");
}

/* Load a run's recipe, with the sizes of its preset filled in. */
static bool load_run_options(struct conf *c, const char *workspace, const char *name)
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

static int add_differing_option(struct option_diff *c, const char *option, const char *section,
				const struct conf *confs, const bool *there, size_t n,
				struct err *e)
{
	struct option_diff_row row = { .option = option, .section = section };
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

int option_diff_make(struct option_diff *c, const char *workspace, const char *const *names,
		     size_t n, struct err *e)
{
	struct conf *confs = mem_alloc(n, sizeof(*confs), e);
	bool *there = c->has_recipe;
	const char *option, *section;
	int rc = confs ? 0 : e->code;

	option_diff_free(c);
	for (size_t k = 0; !rc && k < n; k++) {
		there[k] = load_run_options(&confs[k], workspace, names[k]);
		c->seeds[k] = confs[k].seed;
	}
	for (size_t i = 0; !rc && (option = conf_option_at(i, &section)); i++)
		if (is_recipe_section(section))
			rc = add_differing_option(c, option, section, confs, there, n, e);
	for (size_t k = 0; confs && k < n; k++)
		conf_free(&confs[k]);
	free(confs);
	return rc;
}

/* Do runs a and b differ in their seed and in nothing else? */
static bool differ_in_seed_alone(const struct option_diff *c, size_t a, size_t b)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->rows[i].option, "seed") != 0 &&
		    strcmp(c->rows[i].values[a], c->rows[i].values[b]) != 0)
			return false;
	return c->seeds[a] != c->seeds[b];
}

void option_diff_group_seeds(const struct option_diff *c, size_t n,
			     size_t group[OPTION_DIFF_MAX_RUNS])
{
	assert(n <= OPTION_DIFF_MAX_RUNS);
	for (size_t k = 0; k < n; k++) {
		group[k] = k;
		for (size_t first = 0; first < k && group[k] == k; first++) {
			bool fits =
				group[first] == first && c->has_recipe[k] && c->has_recipe[first];

			for (size_t i = first; i < k && fits; i++)
				fits = group[i] != first || differ_in_seed_alone(c, i, k);
			if (fits)
				group[k] = first;
		}
	}
}
