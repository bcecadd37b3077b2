/* conf_recipe.c - (not written yet) */
