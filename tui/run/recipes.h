/*
 * recipes.h - recipes to choose from: shipped recipes by name, recipes of the current folder by
 * path.
 */
#ifndef WERKBANK_TUI_RUN_RECIPES_H
#define WERKBANK_TUI_RUN_RECIPES_H

#include <stddef.h>

struct recipes {
	char **names; /* owned; "demo", "./mine.ini" */
	size_t n, cap;
};

/* Append the recipes to a zeroed struct; folders that cannot be listed are skipped. */
void recipes_find(struct recipes *r);
void recipes_free(struct recipes *r);

#endif
