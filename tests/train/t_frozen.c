/* t_frozen.c - the option freeze: bits of frozen tensors, all optimizers, ranks, resuming, clipping, refusals */
#include "share/base/hash.h"
#include "tests/train/fake_ranks.h"
#include "tests/train/small_run.h"
#include "train/ckpt/safetensors.h"
#include "train/model/frozen.h"
#include "train/optim/adam.h"

TEST(frozen_parts_by_name)
{
	static const struct {
		const char *part, *tensor;
		bool has;
	} cases[] = {
		{ "encoder", "encoder.0.self.qkv", true },
		{ "encoder", "decoder.0.self.qkv", false },
		{ "encoder", "embed", false },
		{ "encoder", "encoder.embed", true },
		{ "embeddings", "embed", true },
		{ "embeddings", "encoder.embed", true },
		{ "embeddings", "output", true },
		{ "embeddings", "output.bias", false },
		{ "embeddings", "decoder.positions", true },
		{ "output", "output.bias", true },
		{ "encoder.1", "encoder.1.ffn.in", true },
		{ "encoder.1", "encoder.10.ffn.in", false },
		{ "decoder.0.ffn", "decoder.0.ffn.in.bias", true },
		{ "decoder,embeddings", "decoder.cross.kv", true },
		{ "encoder,embeddings", "decoder.cross.kv", false },
		{ "", "embed", false },
		{ ",", "embed", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char part[64], *items[] = { part };
		const struct conf_list parts = { items, 1 };

		snprintf(part, sizeof(part), "%s", cases[i].part);
		if (frozen_has(&parts, cases[i].tensor) != cases[i].has)
			test_fail(__FILE__, __LINE__, "%s of %s", cases[i].tensor, part);
	}
	check(!frozen_has(NULL, "embed"));
}

static struct safetensors *open_tensors(const char *run, int step, const char *file)
{
	char path[700];
	struct err e = { 0 };
	struct safetensors *s;

	snprintf(path, sizeof(path), "%s/runs/%s/checkpoints/%d/%s", test_folder(), run, step,
		 file);
	s = safetensors_open(path, &e);
	if (!s)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	return s;
}

/* The hash of each tensor of two checkpoints: frozen ones are equal, the others are not. */
static void check_frozen(const char *a, int step_a, const char *b, int step_b, const char *file,
			 const struct conf_list *parts)
{
	struct safetensors *x = open_tensors(a, step_a, file), *y = open_tensors(b, step_b, file);
	size_t n_frozen = 0, n = x && y ? safetensors_count(x) : 0;

	for (size_t i = 0; i < n; i++) {
		const struct safetensor *t = safetensors_at(x, i),
					*u = safetensors_find(y, t->name);
		const bool is_frozen = frozen_has(parts, t->name);
		const size_t bytes = (size_t)(t->end - t->begin);

		n_frozen += is_frozen;
		if (!u || (hash_bytes(t->data, bytes) == hash_bytes(u->data, bytes)) != is_frozen)
			test_fail(__FILE__, __LINE__, "%s, %s of %s:%d and %s:%d", file, t->name, a,
				  step_a, b, step_b);
	}
	check(n_frozen > 0 && n_frozen < n);
	safetensors_close(x);
	safetensors_close(y);
}

struct frozen_job {
	const struct conf *conf;
};

static void frozen_rank(struct comm *c, void *arg)
{
	static const struct trainer_signals never;
	const struct frozen_job *j = arg;
	struct err e = { 0 };

	if (without_evaluation(trainer_run(j->conf, c, &never, &e), &e))
		test_fail(__FILE__, __LINE__, "rank %d: %s", c->rank, e.text);
}

static void train_run(struct conf *c, const char *run, const char *steps, int ranks)
{
	struct frozen_job j = { .conf = c };

	set(c, "run", run);
	set(c, "steps", steps);
	if (write_recipe(c, run))
		fake_ranks(ranks, frozen_rank, &j);
}

/* From a start model: frozen bits stay, other bits change, and a resumed run equals an uninterrupted one. */
TEST(frozen_tensors_keep_their_bits)
{
	static const struct {
		const char *freeze, *optimizer, *decay, *ema, *shard, *local_steps, *clip;
		int ranks;
	} cases[] = {
		{ "encoder,embeddings", "adam", "0", "0", "no", "1", "1", 1 },
		{ "decoder", "adamw", "0.1", "0.9", "no", "1", "0.1", 1 },
		{ "embeddings decoder.0.ffn", "adafactor", "0.1", "0.9", "no", "1", "0", 1 },
		{ "encoder", "adamw", "0.1", "0", "yes", "1", "0.1", 3 },
		{ "embeddings", "adam", "0", "0.9", "no", "4", "1", 3 },
		{ "encoder.0.self,decoder", "adafactor", "0", "0", "no", "1", "1", 3 },
	};
	struct conf c;

	if (!make_corpus() || !make_conf(&c, "start"))
		return;
	set(&c, "micro_batches", "6");
	set(&c, "bucket_mb", "0.01");
	set(&c, "telemetry_every", "0");
	set(&c, "steps", "10");
	trains(&c);
	set(&c, "start_from", at("runs/start/checkpoints/10"));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		set(&c, "freeze", cases[i].freeze);
		set(&c, "optimizer", cases[i].optimizer);
		set(&c, "weight_decay", cases[i].decay);
		set(&c, "ema", cases[i].ema);
		set(&c, "shard_optimizer", cases[i].shard);
		set(&c, "local_steps", cases[i].local_steps);
		set(&c, "clip", cases[i].clip);
		train_run(&c, "whole", "20", cases[i].ranks);
		train_run(&c, "parts", "10", cases[i].ranks);
		train_run(&c, "parts", "20", cases[i].ranks);
		check_same_run("whole", "parts", 20);
		check_frozen("start", 10, "whole", 20, "model.safetensors", &c.freeze);
		if (cases[i].ema[1])
			check_frozen("whole", 10, "whole", 20, "training.safetensors", &c.freeze);
		check_err(file_remove_tree(at("runs/whole"), &(struct err){ 0 }), 0);
		check_err(file_remove_tree(at("runs/parts"), &(struct err){ 0 }), 0);
	}
	conf_free(&c);
}

/* A run without the option goes on with it: from that step on the bits stay. */
TEST(frozen_since_a_resumed_step)
{
	static const char *const optimizers[] = { "adam", "adafactor" };
	static char part[] = "encoder";
	char *items[] = { part };
	const struct conf_list parts = { items, 1 };

	if (!make_corpus())
		return;
	for (size_t i = 0; i < ARRAY_LEN(optimizers); i++) {
		struct conf c;

		if (!make_conf(&c, "later"))
			return;
		set(&c, "optimizer", optimizers[i]);
		set(&c, "ema", "0");
		train_run(&c, "later", "10", 1);
		set(&c, "freeze", part);
		train_run(&c, "later", "20", 1);
		check_frozen("later", 10, "later", 20, "model.safetensors", &parts);
		check_err(file_remove_tree(at("runs/later"), &(struct err){ 0 }), 0);
		conf_free(&c);
	}
}

/* The norm that clips is that of the trained tensors: large gradients of frozen ones do not count. */
TEST(frozen_gradients_do_not_count)
{
	static const char *const backends[] = { "cpu", "ref" };
	static char part[] = "encoder";
	char *items[] = { part };
	const struct conf_list parts = { items, 1 };

	for (size_t b = 0; b < ARRAY_LEN(backends); b++) {
		struct model *m = small_model(backends[b], false);
		struct model_shape shape = small_shape();
		struct model_param *params = NULL;
		struct adam a = { 0 };
		struct err e = { 0 };
		double squares = 0;
		int64_t floats;
		size_t n;

		if (!m || !check_err(model_init(m, 1, &e), 0) ||
		    !check_err(adam_open(&a, m, 0.9, 0.98, 1e-9, &e), 0) ||
		    !check_err(adam_freeze(&a, &parts, &e), 0) ||
		    !check_err(model_params(&shape, &params, &n, &floats, &e), 0))
			return;
		for (size_t i = 0; i < n; i++)
			for (int64_t k = 0; k < params[i].rows * params[i].cols; k++) {
				const bool is_frozen = frozen_has(&parts, params[i].name);

				model_grad_arena(m)[params[i].offset + k] = is_frozen ? 1e6f : 0.5f;
				squares += is_frozen ? 0 : 0.25;
			}
		check_near(adam_grad_norm(&a), sqrt(squares), 1e-3);
		free(params);
		adam_close(&a);
		model_free(m);
	}
}

TEST(frozen_parts_are_checked)
{
	static const struct trainer_signals never;
	static const char *const cases[][2] = {
		{ "encodr", "the model has no part \"encodr\"" },
		{ "encoder.7", "the model has no part \"encoder.7\"" },
		{ "encoder,,", "the model has no part \"\"" },
		{ "embed,encoder,decoder", "nothing is left to train" },
	};
	struct conf c;
	struct err e = { 0 };

	if (!make_corpus() || !make_conf(&c, "r"))
		return;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		set(&c, "freeze", cases[i][0]);
		check_err(train(&c, &never, &e), ERR_CONFIG);
		if (!strstr(e.text, cases[i][1]))
			test_fail(__FILE__, __LINE__, "%s", e.text);
	}
	conf_free(&c);
}
