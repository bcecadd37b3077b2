/* corpus.c - see corpus.h */
#include "data/corpus.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/paths.h"

/* The recipe's file name without folder and .ini, owned by the caller. */
static char *recipe_name(const char *recipe, struct err *e)
{
	const char *slash = strrchr(recipe, '/');
	char *name = mem_strdup(slash ? slash + 1 : recipe, e);
	size_t n = name ? strlen(name) : 0;

	if (n > 4 && !strcmp(name + n - 4, ".ini"))
		name[n - 4] = 0;
	return name;
}

char *corpus_folder(const struct conf *c, struct err *e)
{
	char *name, *workspace, *folder = NULL;

	if (!c->corpus && !c->recipe) {
		err_set(e, ERR_USAGE, "which corpus? give a recipe, or --corpus NAME");
		return NULL;
	}
	name = c->corpus ? mem_strdup(c->corpus, e) : recipe_name(c->recipe, e);
	workspace = name && !paths_check_name("corpus", name, e) ? paths_workspace(c->workspace, e) : NULL;
	if (workspace)
		folder = file_path(e, "%s/corpora/%s", workspace, name);
	free(workspace);
	free(name);
	return folder;
}
