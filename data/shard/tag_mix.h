/*
 * tag_mix.h - which pairs an epoch has when tags are sampled by temperature
 *
 * A tag is the first token of a source; pairs without a tag are a group as well. An epoch has as many draws as the shard has
 * pairs. The share of a tag in them is proportional to pairs^(1/temperature) (Arivazhagan et al. 2019): 1 leaves the shares
 * as they are, larger temperatures raise small tags. Each tag is gone through in a permutation of its pairs, then in another
 * one, across the ends of epochs: a pair comes for the second time after all others of its tag have come. All this depends
 * on seed, epoch and number of the draw alone.
 */
#ifndef WERKBANK_DATA_SHARD_TAG_MIX_H
#define WERKBANK_DATA_SHARD_TAG_MIX_H

#include <stdint.h>

#include "data/shard/shard.h"
#include "share/base/err.h"

struct tag_mix;

struct tag_mix_options {
	double temperature; /* 1 or more; 0 or 1: the pairs as they are */
	int32_t *tags;	    /* (n_tags) ids, each once; the caller owns them */
	int32_t n_tags;
};

/* Borrows the shard. ERR_CONFIG: the shard has fewer than two groups. NULL: failure. */
struct tag_mix *tag_mix_new(const struct shard *s, const struct tag_mix_options *o, uint64_t seed,
			    struct err *e);
void tag_mix_free(struct tag_mix *m);

/* The pair of draw i of an epoch, 0 <= i < pairs of the shard. *pass: how often it was drawn before. */
int64_t tag_mix_pair(const struct tag_mix *m, uint64_t epoch, int64_t i, uint32_t *pass);

/* A group of pairs. */
struct tag_mix_group {
	int32_t tag;	       /* its id; -1: no tag */
	int64_t pairs;	       /* of the shard */
	int64_t draws;	       /* of an epoch, at least 1 */
	int64_t target_tokens; /* of its pairs, with </s> */
};

/* The groups that the shard has, by the order of the tags; those without a tag come last. Borrowed. */
const struct tag_mix_group *tag_mix_groups(const struct tag_mix *m, int32_t *n);

#endif
