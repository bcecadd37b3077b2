/* t_loader.c - shuffling, and the sequence of micro-batches. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "data/shard/loader.h"
#include "data/shard/shuffle.h"
#include "share/base/mem.h"

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* ---- shuffle ---- */

TEST(shuffle_is_a_permutation)
{
	static const int64_t sizes[] = { 1,  2,	  3,   4,   5,	  15,	 16,
					 17, 255, 256, 257, 1000, 65536, 99991 };

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		int64_t n = sizes[k], fixed = 0;
		char *seen = calloc((size_t)n, 1);
		struct shuffle s = shuffle_make(n, rng_key_make(7, RNG_SHUFFLE, 3, (uint32_t)k));

		for (int64_t i = 0; seen && i < n; i++) {
			int64_t j = shuffle_at(&s, i);

			if (!check(j >= 0 && j < n) || !check(!seen[j]++))
				break;
			fixed += i == j;
			check_int(shuffle_inverse_at(&s, j), i);
		}
		if (n >= 15)
			check(fixed < 12); /* one is expected; 12 has a chance below 1e-9 */
		free(seen);
	}
}

TEST(shuffle_of_huge_n_stays_below_n)
{
	static const int64_t sizes[] = { INT64_C(1) << 62, (INT64_C(1) << 53) + 1, 4500966,
					 INT32_MAX };

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		struct shuffle s = shuffle_make(sizes[k], rng_key_make(7, RNG_SHUFFLE, 0, 0));

		check((uint64_t)s.a * s.b >= (uint64_t)sizes[k]);
		for (int64_t i = 0; i < 1000; i++) {
			int64_t j = shuffle_at(&s, sizes[k] - 1 - i * (sizes[k] / 1000));

			check(j >= 0 && j < sizes[k]);
			check_int(shuffle_at(&s, shuffle_inverse_at(&s, j)), j);
		}
	}
}

TEST(shuffle_reaches_all_orders_evenly)
{
	/* 24 orders of 4 items over 24000 keys: chi-square with 23 degrees, 99.99 % point 58.6. */
	int counts[4 * 4 * 4 * 4] = { 0 }, orders = 0;
	double chi = 0;

	for (uint32_t key = 0; key < 24000; key++) {
		struct shuffle s = shuffle_make(4, rng_key_make(1, RNG_SHUFFLE, key, 0));
		int64_t code = 0;

		for (int64_t i = 0; i < 4; i++)
			code = code * 4 + shuffle_at(&s, i);
		counts[code]++;
	}
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (counts[i]) {
			orders++;
			chi += (counts[i] - 1000.0) * (counts[i] - 1000.0) / 1000;
		}
	check_int(orders, 24);
	check_near(chi, 0, 58.6);
}

TEST(shuffle_spreads_neighbours)
{
	/*
	 * Where do items 0 … 999 of 100000 go, over tenths? Chi-square with 9 degrees, 99.99 %
	 * point 33.7.
	 */
	struct shuffle s = shuffle_make(100000, rng_key_make(5, RNG_SHUFFLE, 1, 0));
	int counts[10] = { 0 };
	double chi = 0;

	for (int64_t i = 0; i < 1000; i++)
		counts[shuffle_at(&s, i) / 10000]++;
	for (int i = 0; i < 10; i++)
		chi += (counts[i] - 100.0) * (counts[i] - 100.0) / 100;
	check_near(chi, 0, 33.7);
}

/* ---- loader ---- */

#define PAIRS 3000

/* A shard of PAIRS pairs of 0 … 39 tokens a side, and a loader on it. */
struct fixture {
	struct shard *shard;
	struct loader *loader;
	struct batch batch;
};

static struct shard *make_shard(int64_t pairs, int32_t longest)
{
	struct rng_key key = rng_key_make(9, RNG_TEST, 0, 0);
	char path[300];
	struct err e = { 0 };
	struct shard_writer *w;
	struct shard *s = NULL;
	int32_t *ids = calloc((size_t)longest + 1, sizeof(*ids));
	bool good = ids != NULL;

	snprintf(path, sizeof(path), "%s/l.shard", test_folder());
	w = shard_create(path, 50, SHA, &e);
	good = good && w;
	for (int32_t i = 0; good && i <= longest; i++)
		ids[i] = 4 + i % 46;
	for (int64_t p = 0; good && p < pairs; p++) {
		uint32_t r = rng_u32(key, (uint64_t)p);

		good = !shard_append(w, ids, (int32_t)(r % ((uint32_t)longest + 1)), ids,
				     (int32_t)((r >> 16) % ((uint32_t)longest + 1)), &e);
	}
	if (good && !shard_finish(w, &e))
		s = shard_open(path, &e);
	free(ids);
	if (!s)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	return s;
}

static bool fixture_open(struct fixture *f, int64_t pairs, struct loader_options o)
{
	struct err e = { 0 };

	*f = (struct fixture){ .shard = make_shard(pairs, 39) };
	if (f->shard)
		f->loader = loader_new(f->shard, &o, &e);
	if (f->loader &&
	    !batch_alloc(&f->batch, loader_max_sentences(f->loader), o.batch_tokens, &e))
		return true;
	test_fail(__FILE__, __LINE__, "%s", e.text);
	return false;
}

static void fixture_close(struct fixture *f)
{
	batch_free(&f->batch);
	loader_free(f->loader);
	shard_close(f->shard);
}

static uint64_t hash_of(const struct batch *b)
{
	return hash_bytes(b->pair, (size_t)b->n * sizeof(*b->pair));
}

TEST(loader_gives_every_pair_once_an_epoch_within_the_budget)
{
	struct fixture f;
	struct err e;
	int seen[PAIRS] = { 0 };
	int64_t sentences = 0, batches = 0, tokens = 0;

	if (!fixture_open(&f, PAIRS, (struct loader_options){ 3, 500, 0, 1, NULL, NULL, NULL }))
		goto out;
	for (int epoch = 1; epoch <= 3; epoch++) {
		for (; sentences < (int64_t)PAIRS * epoch; batches++) {
			if (!check_int(loader_next(f.loader, &f.batch, &e), 0))
				goto out;
			check(f.batch.n > 0 && f.batch.n_source <= 500 && f.batch.n_target <= 500);
			for (int32_t i = 0; i < f.batch.n; i++) {
				int32_t n_source, n_target;

				shard_lengths(f.shard, f.batch.pair[i], &n_source, &n_target);
				seen[f.batch.pair[i]]++;
				check_int(f.batch.source_start[i + 1] - f.batch.source_start[i],
					  n_source + 1);
				check_int(f.batch.target_start[i + 1] - f.batch.target_start[i],
					  n_target + 1);
			}
			sentences += f.batch.n;
			tokens += MAX(f.batch.n_source, f.batch.n_target);
		}
		check_int(sentences, (int64_t)PAIRS * epoch);
		for (int i = 0; i < PAIRS; i++)
			if (!check_int(seen[i], epoch))
				break;
		check_near(loader_epoch(f.loader), epoch, 1e-9);
	}
	check((double)tokens / (double)batches > 0.9 * 500); /* batches are well filled */
	check_int(loader_position(f.loader), batches);
out:
	fixture_close(&f);
}

TEST(loader_same_sequence_for_any_number_of_ranks)
{
	static const int32_t worlds[] = { 2, 3, 8 };
	enum { STEPS = 840 }; /* several epochs */
	static uint64_t single[STEPS];
	struct fixture f;
	struct err e;

	if (fixture_open(&f, PAIRS, (struct loader_options){ 3, 500, 0, 1, NULL, NULL, NULL }))
		for (int i = 0; i < STEPS; i++) {
			check_int(loader_next(f.loader, &f.batch, &e), 0);
			single[i] = hash_of(&f.batch);
		}
	check(loader_epoch(f.loader) > 2);
	for (size_t w = 0; w < sizeof(worlds) / sizeof(worlds[0]); w++)
		for (int32_t rank = 0; rank < worlds[w]; rank++) {
			struct loader_options o = { 3, 500, rank, worlds[w], NULL, NULL, NULL };
			struct loader *l = loader_new(f.shard, &o, &e);

			for (int i = rank; l && i < STEPS; i += worlds[w]) {
				check_int(loader_position(l), i);
				if (!check_int(loader_next(l, &f.batch, &e), 0) ||
				    !check(hash_of(&f.batch) == single[i]))
					break;
			}
			loader_free(l);
		}
	fixture_close(&f);
}

TEST(loader_seek_equals_walking)
{
	enum { STEPS = 700 };
	static uint64_t walked[STEPS];
	static double epochs[STEPS];
	static const uint64_t places[] = { 0, 1, 5, 699, 300, 299, 301, 0, 650, 2, 698 };
	struct fixture f;
	struct err e;

	if (!fixture_open(&f, PAIRS, (struct loader_options){ 4, 600, 0, 1, NULL, NULL, NULL }))
		goto out;
	for (int i = 0; i < STEPS; i++) {
		epochs[i] = loader_epoch(f.loader);
		check_int(loader_next(f.loader, &f.batch, &e), 0);
		walked[i] = hash_of(&f.batch);
		check(i == 0 || epochs[i] > epochs[i - 1]);
	}
	for (int fresh = 0; fresh < 2; fresh++)
		for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); k++) {
			struct loader_options o = { 4, 600, 0, 1, NULL, NULL, NULL };
			struct loader *l = fresh ? loader_new(f.shard, &o, &e) : f.loader;

			check_int(loader_seek(l, places[k], &e), 0);
			check_int(loader_position(l), (int64_t)places[k]);
			check_int(loader_next(l, &f.batch, &e), 0);
			check(hash_of(&f.batch) == walked[places[k]]);
			if (fresh)
				loader_free(l);
		}
	/* Of 3 ranks, micro-batch 5 belongs to rank 2; rank 1 continues with 7. */
	{
		struct loader_options o = { 4, 600, 1, 3, NULL, NULL, NULL };
		struct loader *l = loader_new(f.shard, &o, &e);

		check_int(loader_seek(l, 5, &e), 0);
		check_int(loader_position(l), 7);
		check_int(loader_next(l, &f.batch, &e), 0);
		check(hash_of(&f.batch) == walked[7]);
		loader_free(l);
	}
out:
	fixture_close(&f);
}

TEST(loader_epochs_and_seeds_differ)
{
	struct fixture f;
	struct loader_options o;
	struct err e;
	uint64_t hash[3];

	if (!fixture_open(&f, PAIRS, (struct loader_options){ 4, 100000, 0, 1, NULL, NULL, NULL }))
		goto out;
	for (int i = 0; i < 2; i++) { /* one micro-batch an epoch */
		check_int(loader_next(f.loader, &f.batch, &e), 0);
		check_int(f.batch.n, PAIRS);
		hash[i] = hash_of(&f.batch);
	}
	loader_free(f.loader);
	o = (struct loader_options){ 5, 100000, 0, 1, NULL, NULL, NULL };
	f.loader = loader_new(f.shard, &o, &e);
	check_int(loader_next(f.loader, &f.batch, &e), 0);
	hash[2] = hash_of(&f.batch);
	check(hash[0] != hash[1] && hash[0] != hash[2] && hash[1] != hash[2]);
out:
	fixture_close(&f);
}

TEST(loader_many_windows)
{
	enum { MANY = 200000 };
	struct fixture f;
	struct err e;
	char *seen = calloc(MANY, 1);
	int64_t sentences = 0, small = 0;

	if (!seen ||
	    !fixture_open(&f, MANY, (struct loader_options){ 1, 4096, 0, 1, NULL, NULL, NULL }))
		goto out;
	while (sentences < MANY) {
		if (!check_int(loader_next(f.loader, &f.batch, &e), 0))
			break;
		for (int32_t i = 0; i < f.batch.n; i++)
			check(!seen[f.batch.pair[i]]++);
		sentences += f.batch.n;
		small += MAX(f.batch.n_source, f.batch.n_target) < 4096 * 9 / 10;
	}
	check_int(sentences, MANY);
	check(small <= 3); /* at most the rest of each of the three windows */
out:
	free(seen);
	fixture_close(&f);
}

TEST(loader_refuses_what_cannot_fit)
{
	struct shard *s = make_shard(100, 39), *none;
	struct err e;

	check(!loader_new(s, &(struct loader_options){ 1, 39, 0, 1, NULL, NULL, NULL }, &e));
	check_int(e.code, ERR_CONFIG);
	check(strstr(e.text, "batch-tokens is 39") != NULL);
	check(!loader_new(s, &(struct loader_options){ 1, 40, 2, 2, NULL, NULL, NULL }, &e));
	check_int(e.code, ERR_INTERNAL);
	shard_close(s);
	none = make_shard(0, 39);
	check(!loader_new(none, &(struct loader_options){ 1, 40, 0, 1, NULL, NULL, NULL }, &e));
	check_int(e.code, ERR_DATA);
	shard_close(none);
}
