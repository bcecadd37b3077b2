/* recipes.h - the recipes one may choose from: shipped ones by name, those of this folder by path. */
#ifndef WERKBANK_TUI_RUN_RECIPES_H
#define WERKBANK_TUI_RUN_RECIPES_H

#include <stddef.h>

struct recipes {
	char **names; /* owned; "demo", "./mine.ini" */
	size_t n, cap;
};

/* Appends to a zeroed struct; what cannot be listed is left out. */
void recipes_find(struct recipes *r);
void recipes_free(struct recipes *r);

#endif
