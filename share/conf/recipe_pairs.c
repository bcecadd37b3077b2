/* recipe_pairs.c - see recipe_pairs.h */
#include "share/conf/recipe_pairs.h"

#include <string.h>

#include "share/base/util.h"

static const struct {
	const char *recipe;
	int64_t most_pairs;
} recipes[] = {
	{ "small", 200000 },
	{ "medium", INT64_MAX },
};

const char *recipe_for_pairs(int64_t pairs)
{
	size_t i = 0;

	while (pairs > recipes[i].most_pairs)
		i++;
	return recipes[i].recipe;
}

const char *recipe_suited(const char *recipe, int64_t pairs)
{
	return recipe_pairs_limit(recipe) ? recipe_for_pairs(pairs) : recipe;
}

int64_t recipe_pairs_limit(const char *recipe)
{
	for (size_t i = 0; i < ARRAY_LEN(recipes); i++)
		if (!strcmp(recipes[i].recipe, recipe))
			return recipes[i].most_pairs;
	return 0;
}
