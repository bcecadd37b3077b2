/* recipes.c - finds shipped and local recipes; see recipes.h. */
#include "tui/run/recipes.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/workspace/paths.h"

static int is_recipe(const struct dirent *d)
{
	return d->d_name[0] != '.' && text_ends_with(d->d_name, ".ini");
}

static void add_recipe_folder(struct recipes *r, const char *folder, bool shipped)
{
	struct dirent **found = NULL;
	struct err ignored;
	int n = scandir(folder, &found, is_recipe, alphasort);

	for (int i = 0; i < n; i++) {
		char *name = found[i]->d_name;

		if (shipped)
			name[strlen(name) - 4] = 0;
		if (!mem_grow(&r->names, &r->cap, r->n + 1, sizeof(*r->names), &ignored) &&
		    (r->names[r->n] = file_path(&ignored, shipped ? "%s" : "./%s", name)))
			r->n++;
		free(found[i]);
	}
	if (n >= 0)
		free(found);
}

void recipes_find(struct recipes *r)
{
	struct err ignored;
	char *shipped = paths_shipped("recipes", &ignored);

	if (shipped)
		add_recipe_folder(r, shipped, true);
	add_recipe_folder(r, ".", false);
	free(shipped);
}

void recipes_free(struct recipes *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->names[i]);
	free(r->names);
	*r = (struct recipes){ 0 };
}
