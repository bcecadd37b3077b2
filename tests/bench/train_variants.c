/* train_variants.c - see train_variants.h */
#include "tests/bench/train_variants.h"

#include <string.h>

#include "share/base/util.h"

/*
 * The head computes logits in parts of loss_rows rows. Small parts stay in the L2 cache between
 * product and loss; large parts read the weights of the output layer less often, and start fewer
 * kernels. In place, logits are bf16: half the bytes, and no second tensor. The other variants have the
 * usual head, and ways of struct gpu_ways. A bias can go into the end of a product only without dropout behind
 * it, so the last two variants are compared with each other.
 */
static const struct train_variant variants[] = {
	{ "head-256", 256, false, { 0 }, false },
	{ "head-512", 512, false, { 0 }, false },
	{ "head-1024", 1024, false, { 0 }, false },
	{ "head-2048", 2048, false, { 0 }, false },
	{ "head-512-in-place", 512, true, { 0 }, false },
	{ "head-2048-in-place", 2048, true, { 0 }, false },
	{ "weights-aside", 256, false, { .weights_aside = true }, false },
	{ "measured-products", 256, false, { .measures_products = true }, false },
	{ "dependent-launch", 256, false, { .dependent_launch = true }, false },
	{ "all-of-these",
	  512,
	  true,
	  { .weights_aside = true, .measures_products = true, .dependent_launch = true },
	  false },
	{ "no-relu-dropout", 256, false, { 0 }, true },
	{ "no-relu-dropout-fused-bias", 256, false, { .fuses_bias = true }, true },
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

void train_variant_apply(const struct train_variant *v, const struct ops *o, struct ops *changed)
{
	*changed = *o;
	changed->loss_rows = v->loss_rows;
	changed->loss_in_place = v->loss_in_place;
}
