/* t_tag_mix.c - sampling of tags by temperature: shares, passes, the same sequence from any place. */
#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/shard/loader.h"
#include "share/base/hash.h"
#include "share/base/rng.h"
#include "share/base/util.h"

#define SHA    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define GROUPS 4 /* three tags, and no tag */
#define PAIRS  9000
#define TOKENS 400

static const int64_t sizes[GROUPS] = { 6000, 1800, 900, 300 };
static int32_t tags[] = { 4, 5, 9, 6 };		      /* no pair has tag 9 */
static const int32_t found[GROUPS] = { 4, 5, 6, -1 }; /* groups in their order */

static int32_t group_of_pair(int64_t pair)
{
	return (int32_t)(pair % 30 < 20 ? 0 : pair % 30 < 26 ? 1 : pair % 30 < 29 ? 2 : 3);
}

static struct shard *tagged_shard(int64_t pairs, bool has_tags)
{
	struct rng_key key = rng_key_make(9, RNG_TEST, 0, 0);
	int32_t ids[40];
	char path[300];
	struct err e = { 0 };
	struct shard_writer *w;
	struct shard *s = NULL;
	bool good;

	snprintf(path, sizeof(path), "%s/tagged.shard", test_folder());
	w = shard_create(path, 50, SHA, &e);
	good = w != NULL;
	for (int32_t i = 0; i < 40; i++)
		ids[i] = 10 + i;
	for (int64_t p = 0; good && p < pairs; p++) {
		const uint32_t r = rng_u32(key, (uint64_t)p);
		const int32_t k = group_of_pair(p);

		/* SentencePiece may put a blank before the tag */
		ids[0] = has_tags && k < 3 ? (int32_t[]){ 4, 5, 10 }[k] : 10;
		ids[1] = has_tags && k == 2 ? 6 : 11;
		good = !shard_append(w, ids, 2 + (int32_t)(r % 20), ids + 10,
				     (int32_t)((r >> 16) % 20), &e);
	}
	if (good && !shard_finish(w, &e))
		s = shard_open(path, &e);
	if (!s)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	return s;
}

static struct tag_mix_options of_temperature(double temperature)
{
	return (struct tag_mix_options){ .temperature = temperature,
					 .tags = tags,
					 .n_tags = ARRAY_LEN(tags) };
}

static struct loader *open_loader(const struct shard *s, double temperature, int32_t rank,
				  int32_t ranks, struct err *e)
{
	const struct tag_mix_options mix = of_temperature(temperature);
	const struct loader_options o = {
		.seed = 3, .batch_tokens = TOKENS, .rank = rank, .ranks = ranks, .tags = &mix
	};

	return s ? loader_new(s, &o, e) : NULL;
}

static double wanted_share(double temperature, int k)
{
	double sum = 0;

	for (int i = 0; i < GROUPS; i++)
		sum += pow((double)sizes[i], 1 / temperature);
	return pow((double)sizes[k], 1 / temperature) / sum;
}

/* Pearson's statistic of counts against these shares. */
static double chi_square(const int64_t counts[GROUPS], double temperature)
{
	int64_t n = 0;
	double chi = 0;

	for (int k = 0; k < GROUPS; k++)
		n += counts[k];
	for (int k = 0; k < GROUPS; k++) {
		const double expected = (double)n * wanted_share(temperature, k);

		chi += ((double)counts[k] - expected) * ((double)counts[k] - expected) / expected;
	}
	return chi;
}

/* The pairs of n micro-batches from number first on. */
static void count_groups(struct loader *l, struct batch *b, int n, int64_t counts[GROUPS])
{
	struct err e = { 0 };

	memset(counts, 0, GROUPS * sizeof(*counts));
	for (int i = 0; i < n; i++) {
		if (!check_int(loader_next(l, b, &e), 0))
			return;
		for (int32_t k = 0; k < b->n; k++)
			counts[group_of_pair(b->pair[k])]++;
	}
}

TEST(tag_mix_shares_follow_the_temperature)
{
	/* three degrees of freedom: 16.3 is exceeded once in 1,000 times */
	static const double temperatures[] = { 1.5, 5, 100 };
	struct shard *s = tagged_shard(PAIRS, true);
	struct batch b = { 0 };
	struct err e = { 0 };
	int64_t counts[GROUPS];

	check_int(batch_alloc(&b, TOKENS, TOKENS, &e), 0);
	for (size_t i = 0; s && i < ARRAY_LEN(temperatures); i++) {
		struct loader *l = open_loader(s, temperatures[i], 0, 1, &e);

		if (!check(l != NULL))
			break;
		count_groups(l, &b, 100, counts); /* a part of an epoch */
		check(chi_square(counts, temperatures[i]) < 16.3);
		check(chi_square(counts, 1) > 16.3);
		loader_free(l);
	}
	batch_free(&b);
	shard_close(s);
}

TEST(tag_mix_goes_through_each_tag_before_it_repeats)
{
	enum { EPOCHS = 4 };
	struct shard *s = tagged_shard(PAIRS, true);
	struct err e = { 0 };
	const struct tag_mix_options o = of_temperature(5);
	struct tag_mix *m = s ? tag_mix_new(s, &o, 7, &e) : NULL;
	const struct tag_mix_group *g;
	int64_t draws[GROUPS] = { 0 }, sum = 0;
	int *seen = calloc(PAIRS, sizeof(*seen));
	int32_t n = 0;

	if (!check(m != NULL) || !check(seen != NULL))
		return;
	for (uint64_t epoch = 0; epoch < EPOCHS; epoch++)
		for (int64_t i = 0; i < PAIRS; i++) {
			uint32_t pass;
			const int64_t pair = tag_mix_pair(m, epoch, i, &pass);

			draws[group_of_pair(pair)]++;
			seen[pair]++;
		}
	g = tag_mix_groups(m, &n);
	check_int(n, GROUPS);
	for (int k = 0; k < GROUPS; k++) {
		check_int(g[k].tag, found[k]);
		check_int(g[k].pairs, sizes[k]);
		check_int(draws[k], EPOCHS * g[k].draws);
		check_near((double)g[k].draws, PAIRS * wanted_share(5, k), 1);
		sum += g[k].draws;
	}
	check_int(sum, PAIRS);
	for (int64_t pair = 0; pair < PAIRS; pair++) {
		const int64_t k = group_of_pair(pair), passes = draws[k] / sizes[k];

		if (!check(seen[pair] == passes || seen[pair] == passes + 1))
			break;
	}
	free(seen);
	tag_mix_free(m);
	shard_close(s);
}

TEST(tag_mix_is_the_same_from_any_place_and_for_any_number_of_ranks)
{
	enum { STEPS = 900 };
	static const int places[] = { 899, 0, 450, 449, 7, 700 };
	static uint64_t walked[STEPS];
	struct shard *s = tagged_shard(PAIRS, true);
	struct batch b = { 0 };
	struct err e = { 0 };
	struct loader *l = open_loader(s, 5, 0, 1, &e);

	if (!check(l != NULL) || !check_int(batch_alloc(&b, TOKENS, TOKENS, &e), 0))
		return;
	for (int i = 0; i < STEPS; i++) {
		check_int(loader_next(l, &b, &e), 0);
		walked[i] = hash_bytes(b.pair, (size_t)b.n * sizeof(*b.pair));
	}
	check(loader_epoch(l) > 2);
	loader_free(l);
	for (size_t k = 0; k < ARRAY_LEN(places); k++) {
		l = open_loader(s, 5, 0, 1, &e);
		check_int(loader_seek(l, (uint64_t)places[k], &e), 0);
		check_int(loader_next(l, &b, &e), 0);
		check(hash_bytes(b.pair, (size_t)b.n * sizeof(*b.pair)) == walked[places[k]]);
		loader_free(l);
	}
	for (int32_t rank = 0; rank < 3; rank++) {
		l = open_loader(s, 5, rank, 3, &e);
		for (int i = rank; i < STEPS; i += 3) {
			check_int(loader_next(l, &b, &e), 0);
			if (!check(hash_bytes(b.pair, (size_t)b.n * sizeof(*b.pair)) == walked[i]))
				break;
		}
		loader_free(l);
	}
	batch_free(&b);
	shard_close(s);
}

TEST(tag_mix_needs_two_groups)
{
	struct shard *s = tagged_shard(60, false);
	struct err e = { 0 };

	if (!s)
		return;
	check(!open_loader(s, 5, 0, 1, &e));
	check_int(e.code, ERR_CONFIG);
	check(strstr(e.text, "all training pairs have no tag: prepare the corpus with train_tags"));
	shard_close(s);
}
