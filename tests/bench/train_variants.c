/* train_variants.c - see train_variants.h */
#include "tests/bench/train_variants.h"

#include <string.h>

#include "share/base/util.h"

/*
 * Ways of struct gpu_ways. A bias can go into the end of a product only without dropout behind it, so the
 * last two variants are compared with each other.
 */
static const struct train_variant variants[] = {
	{ "usual", { 0 }, false },
	{ "measured-products", { .measures_products = true }, false },
	{ "dependent-launch", { .dependent_launch = true }, false },
	{ "measured-and-dependent",
	  { .measures_products = true, .dependent_launch = true },
	  false },
	{ "no-relu-dropout", { 0 }, true },
	{ "no-relu-dropout-fused-bias", { .fuses_bias = true }, true },
};

const struct train_variant *train_variants(int *n)
{
	*n = ARRAY_LEN(variants);
	return variants;
}

const struct train_variant *train_variant_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(variants); i++)
		if (!strcmp(variants[i].name, name))
			return &variants[i];
	return NULL;
}
