/* rig.c - see rig.h */
#include "tests/train/rig.h"

#include <math.h>
#include <string.h>

#include "share/base/hash.h"
#include "share/base/rng.h"
#include "share/base/util.h"

#define MOST_WORDS 110

/* Two numbers in (0, 1], the same ones for the same i and j. */
static void draw(uint32_t i, uint32_t j, double u[2])
{
	struct rng_block x = rng_block_at(rng_key_make(1, RNG_TEST, i, 0), j);

	u[0] = (x.v[0] + 1.0) / 4294967296.0;
	u[1] = (x.v[1] + 1.0) / 4294967296.0;
}

static void make_up(int32_t *ids, int32_t n, uint32_t sentence, int32_t vocabulary)
{
	for (int32_t i = 0; i < n; i++) {
		double u[2];

		draw(sentence, 1 + (uint32_t)i, u);
		ids[i] = (int32_t)MIN(N_SPECIAL_TOKENS - 1 + pow((double)vocabulary, u[0]),
				      (double)vocabulary - 1);
	}
}

/* Translate word by word: each source token has one target token. */
static void translate(int32_t *to, int32_t n_to, const int32_t *from, int32_t n_from,
		      int32_t vocabulary)
{
	const int64_t words = vocabulary - N_SPECIAL_TOKENS;

	for (int32_t i = 0; i < n_to; i++) {
		int64_t word = MAX(from[(int64_t)i * n_from / n_to] - N_SPECIAL_TOKENS, 0);

		to[i] = (int32_t)((word + words / 3) % words) + N_SPECIAL_TOKENS;
	}
}

int rig_make_shard(const char *path, int32_t vocabulary, int32_t sentences, struct err *e)
{
	static const char no_file[HASH_SHA256_HEX] =
		"0000000000000000000000000000000000000000000000000000000000000000";
	struct shard_writer *w = shard_create(path, vocabulary, no_file, e);
	int32_t ids[2][MOST_WORDS];
	int rc = w ? 0 : e->code;

	for (uint32_t i = 0; !rc && i < (uint32_t)sentences; i++) {
		double u[2], length;
		int32_t n[2];

		draw(i, 0, u);
		length = exp(log(26) + 0.55 * sqrt(-2 * log(u[0])) * cos(2 * M_PI * u[1]));
		n[0] = (int32_t)MIN(MAX(length, 1), 100);
		draw(i, 999, u);
		n[1] = (int32_t)MIN(MAX(n[0] * (0.8 + 0.45 * u[0]), 1), MOST_WORDS);
		make_up(ids[0], n[0], i, vocabulary);
		translate(ids[1], n[1], ids[0], n[0], vocabulary);
		rc = shard_append(w, ids[0], n[0], ids[1], n[1], e);
	}
	if (!rc)
		return shard_finish(w, e);
	shard_cancel(w);
	return rc;
}

int rig_open(struct rig *r, const struct rig_how *how, struct err *e)
{
	struct loader_options order = { .seed = 1, .batch_tokens = how->tokens, .ranks = 1 };
	struct dev_options options = {
		.threads = how->threads, .bf16 = how->bf16, .graphs = how->graphs, .ways = how->ways
	};
	const struct ops *ops = how->ops ? how->ops : ops_find(how->backend, e);
	int32_t sentences;

	r->how = *how;
	r->loader = ops ? loader_new(how->shard, &order, e) : NULL;
	if (!r->loader)
		return e->code;
	if (!how->graphs) {
		r->profile = options.profile = profile_new(ops, e);
		if (!r->profile)
			return e->code;
		profile_set_waiting(r->profile, how->timed);
		ops = profile_ops(r->profile);
	}
	sentences = loader_max_sentences(r->loader);
	r->m = model_new(&how->shape, ops, &options, e);
	if (!r->m || model_reserve_training(r->m, how->tokens, sentences, e) ||
	    model_init(r->m, 1, e) || adam_open(&r->adam, r->m, 0.9, 0.98, 1e-9, e) ||
	    batch_alloc(&r->batch, sentences, how->tokens, e))
		return e->code;
	return 0;
}

int rig_step(struct rig *r, int number, struct model_sums *sums, struct err *e)
{
	struct model_pass_options how = { .dropout = r->how.dropout,
					  .attention_dropout = r->how.dropout,
					  .relu_dropout =
						  r->how.has_no_relu_dropout ? 0 : r->how.dropout,
					  .smoothing = 0.1f,
					  .grad_scale = 1,
					  .seed = 1,
					  .step = (uint32_t)number };
	struct adam_update update = { .step = number, .rate = r->how.rate };

	model_get_ops(r->m)->zero(model_get_dev(r->m), model_grad_arena(r->m),
				  (size_t)model_floats(r->m) * sizeof(float));
	if (loader_next(r->loader, &r->batch, e) ||
	    model_forward_backward(r->m, &r->batch, &how, NULL, e))
		return e->code;
	update.scale = 1.0 / r->batch.n_target;
	adam_measure_and_update(&r->adam, &update);
	if (model_collect_sums(r->m, sums, e))
		return e->code;
	r->norm = sqrt(sums->squares) * update.scale;
	return 0;
}

void rig_close(struct rig *r)
{
	adam_close(&r->adam);
	model_free(r->m);
	batch_free(&r->batch);
	if (r->loader)
		loader_free(r->loader);
	profile_free(r->profile);
	memset(r, 0, sizeof(*r));
}
