/* t_optimizer.c - AdamW and Adafactor: updates, weight decay, checkpoints, refusals; tests/peers/pytorch_optim.py compares */
#include <math.h>
#include <string.h>

#include "tests/train/small_run.h"
#include "train/optim/adam.h"

/* A small model with random weights, and its optimizer; NULL after a failed check. */
static struct model *open_both(struct adam *a, const char *backend, enum optimizer_kind kind,
			       double decay)
{
	struct model *m = small_model(backend, false);
	struct err e = { 0 };

	if (m && check_err(model_init(m, 1, &e), 0) &&
	    check_err(adam_open(a, m, 0.9, 0.98, 1e-9, &e), 0) &&
	    check_err(adam_choose(a, kind, decay, &e), 0))
		return m;
	model_free(m);
	return NULL;
}

/* The gradient of float i is value(i). */
static void set_gradient(struct model *m, float value(int64_t i))
{
	float *grad = model_grad_arena(m);

	for (int64_t i = 0; i < model_floats(m); i++)
		grad[i] = value(i);
}

static float none(int64_t i)
{
	(void)i;
	return 0;
}

static float some(int64_t i)
{
	return (float)(i % 7) - 3;
}

static float others(int64_t i)
{
	return (float)(i % 11) - 4.5f;
}

/* ---- AdamW --------------------------------------------------------------- */

/* Without a gradient only the decay remains: of products and embeddings, not of norms and biases. */
TEST(adamw_decays_weights_of_products_only)
{
	static const char *const backends[] = { "cpu", "ref" };

	for (size_t b = 0; b < ARRAY_LEN(backends); b++) {
		struct adam a;
		struct model *m = open_both(&a, backends[b], OPTIMIZER_adamw, 0.5);
		struct model_shape shape = small_shape();
		struct model_param *params = NULL;
		struct err e = { 0 };
		int64_t floats;
		size_t n, decayed = 0;
		float *before;

		if (!m || !check_err(model_params(&shape, &params, &n, &floats, &e), 0))
			return;
		before = small_copy(m, model_param_arena(m));
		set_gradient(m, none);
		adam_apply(&a, 0, 0.01, 1);
		for (size_t i = 0; i < n; i++) {
			const struct model_param *p = &params[i];
			const bool is_plain = strstr(p->name, "norm") || strstr(p->name, "bias");
			const double keeps = is_plain ? 1 : 1 - 0.01 * 0.5;

			decayed += !is_plain;
			for (int64_t k = p->offset; k < p->offset + p->rows * p->cols; k++)
				if (!(fabs(model_param_arena(m)[k] - keeps * before[k]) <=
				      1e-7 * fabs(before[k]))) {
					test_fail(__FILE__, __LINE__, "%s: %g became %g", p->name,
						  before[k], model_param_arena(m)[k]);
					break;
				}
		}
		check(decayed > 10 && decayed < n);
		free(before);
		free(params);
		adam_close(&a);
		model_free(m);
	}
}

/* Parts of the arrays that begin and end inside tensors get the same bits as the whole. */
TEST(adamw_of_parts_equals_the_whole)
{
	struct adam a, b;
	struct model *whole = open_both(&a, "cpu", OPTIMIZER_adamw, 0.1),
		     *split = open_both(&b, "cpu", OPTIMIZER_adamw, 0.1);
	const size_t floats = whole ? (size_t)model_floats(whole) : 0;
	const struct range parts[] = {
		{ 0, 100 }, { 100, 613 }, { 713, 0 }, { 713, floats - 713 }
	};
	struct err e = { 0 };

	if (!whole || !split || !check_err(adam_set_parts(&b, parts, ARRAY_LEN(parts), &e), 0))
		return;
	for (int64_t step = 0; step < 3; step++) {
		set_gradient(whole, step % 2 ? some : others);
		set_gradient(split, step % 2 ? some : others);
		adam_apply(&a, step, 0.01, 0.25);
		adam_apply(&b, step, 0.01, 0.25);
	}
	check(!memcmp(model_param_arena(whole), model_param_arena(split), floats * sizeof(float)));
	check(!memcmp(a.first, b.first, floats * sizeof(float)));
	check(!memcmp(a.second, b.second, floats * sizeof(float)));
	adam_close(&a);
	adam_close(&b);
	model_free(whole);
	model_free(split);
}

/* Without decay AdamW is Adam, to the bit. */
TEST(adamw_without_decay_is_adam)
{
	struct adam a, b;
	struct model *x = open_both(&a, "cpu", OPTIMIZER_adam, 0),
		     *y = open_both(&b, "cpu", OPTIMIZER_adamw, 1e-300);

	if (!x || !y)
		return;
	for (int64_t step = 0; step < 3; step++) {
		set_gradient(x, some);
		set_gradient(y, some);
		adam_apply(&a, step, 0.01, 0.25);
		adam_apply(&b, step, 0.01, 0.25);
	}
	check(!memcmp(model_param_arena(x), model_param_arena(y),
		      (size_t)model_floats(x) * sizeof(float)));
	adam_close(&a);
	adam_close(&b);
	model_free(x);
	model_free(y);
}

/* ---- Adafactor ----------------------------------------------------------- */

/* All weights have moved by `by` against the sign of the gradient. */
static void check_moved(struct model *m, const float *before, double by)
{
	const float *after = model_param_arena(m), *grad = model_grad_arena(m);

	for (int64_t i = 0; i < model_floats(m); i++) {
		const double moved = (double)after[i] - before[i];

		if (!(fabs(moved + copysign(by, grad[i])) < 1e-6)) {
			test_fail(__FILE__, __LINE__, "weight %d moved by %g, not %g", (int)i,
				  moved, by);
			return;
		}
	}
}

static float three(int64_t i)
{
	(void)i;
	return 3;
}

/* The gradient of three(), divided by 10. */
static float smaller(int64_t i)
{
	(void)i;
	return 0.3f;
}

/*
 * While Adam holds its second moments it divides by those of then, whatever the gradient. Their bias is that of
 * the updates that changed them, also where a resumed run holds them later, or no longer.
 */
TEST(adam_holds_second_moments)
{
	struct adam a;
	struct model *m = open_both(&a, "cpu", OPTIMIZER_adam, 0);
	const double beta1 = 0.9, beta2 = 0.98, g[] = { 1, 2, -30, 4, 1, -2, 3 };
	const int64_t held_after[] = { 2, 2, 2, 2, 0, 0, 1 };
	double first = 0, second = 0, n = 0, w;

	if (!check(m))
		return;
	w = model_param_arena(m)[5];
	for (int step = 0; step < 7; step++) {
		a.held_after = held_after[step];
		for (int64_t i = 0; i < model_floats(m); i++)
			model_grad_arena(m)[i] = (float)g[step];
		adam_apply(&a, step, 0.01, 1);
		first = beta1 * first + (1 - beta1) * g[step];
		if (!a.held_after || step < a.held_after) {
			second = beta2 * second + (1 - beta2) * g[step] * g[step];
			n++;
		}
		w -= 0.01 * first / (1 - pow(beta1, step + 1)) / sqrt(second / (1 - pow(beta2, n)));
		check_near(model_param_arena(m)[5], w, 1e-5);
		check_near(a.second[5], second, 1e-6);
	}
	check_int(a.held_steps, 3);
	adam_close(&a);
	model_free(m);
}

/*
 * Equal gradients have exact factors. First update: each weight moves by the rate. A second gradient of a
 * tenth: V = (b + (1 - b) / 100) g^2 with b = 1 - 2^-0.8, and U = 0.1 g / sqrt(V). The root mean square of
 * U, 0.1522, is below 1: nothing is clipped. Ten times the gradient: U would be 1.3, and is clipped to 1.
 */
TEST(adafactor_first_updates)
{
	struct adam a;
	struct model *m = open_both(&a, "cpu", OPTIMIZER_adafactor, 0);
	const double b = 1 - pow(2, -0.8);
	float *before;

	if (!m)
		return;
	before = small_copy(m, model_param_arena(m));
	set_gradient(m, three);
	adam_apply(&a, 0, 0.01, 0.5);
	check_moved(m, before, 0.01);
	free(before);
	before = small_copy(m, model_param_arena(m));
	set_gradient(m, smaller);
	adam_apply(&a, 1, 0.01, 0.5);
	check_moved(m, before, 0.01 * 0.1 / sqrt(b + (1 - b) / 100));
	free(before);
	before = small_copy(m, model_param_arena(m));
	set_gradient(m, three);
	adam_apply(&a, 2, 0.01, 0.5);
	check_moved(m, before, 0.01);
	free(before);
	adam_close(&a);
	model_free(m);
}

/* The state of a matrix has its rows and columns, that of another tensor all of it. */
TEST(adafactor_state_is_small)
{
	struct model_shape shape = small_shape();
	struct model_param *params = NULL, *state = NULL;
	struct err e = { 0 };
	int64_t floats, state_floats, want = 0;
	size_t n, n_state;

	if (!check_err(model_params(&shape, &params, &n, &floats, &e), 0) ||
	    !check_err(adafactor_state_params(&shape, &state, &n_state, &state_floats, &e), 0))
		return;
	for (size_t i = 0; i < n; i++)
		want += params[i].rows > 1 ? params[i].rows + params[i].cols : params[i].cols;
	check_int(state_floats, want);
	check(state_floats * 3 < floats);
	check_str(state[0].name, "embed.rows");
	check_str(state[1].name, "embed.columns");
	check_int(state[1].offset, 32);
	free(params);
	free(state);
}

/* A loss that is not finite changes neither weights nor state. */
TEST(adafactor_skips_a_step_that_is_not_finite)
{
	const struct adam_update how = { .step = 1, .rate = 0.01, .scale = 1 };
	struct adam a;
	struct model *m = open_both(&a, "cpu", OPTIMIZER_adafactor, 0.1);
	float *before, *state;

	if (!m)
		return;
	set_gradient(m, some);
	adam_apply(&a, 0, 0.01, 1);
	before = small_copy(m, model_param_arena(m));
	state = malloc(a.floats * sizeof(*state));
	memcpy(state, a.second, a.floats * sizeof(*state));
	model_tally(m)->loss = NAN;
	adam_measure_and_update(&a, &how);
	check(!memcmp(before, model_param_arena(m), (size_t)model_floats(m) * sizeof(float)));
	check(!memcmp(state, a.second, a.floats * sizeof(*state)));
	model_tally(m)->loss = 1;
	set_gradient(m, others);
	adam_measure_and_update(&a, &how);
	check(memcmp(before, model_param_arena(m), (size_t)model_floats(m) * sizeof(float)) != 0);
	check(memcmp(state, a.second, a.floats * sizeof(*state)) != 0);
	free(before);
	free(state);
	adam_close(&a);
	model_free(m);
}

/* ---- runs ---------------------------------------------------------------- */

TEST(optimizers_resume_bit_by_bit)
{
	static const char *const cases[][4] = { { "adamw", "0.1", "0", "1" },
						{ "adafactor", "0", "0.9", "1" },
						{ "adafactor", "0.1", "0", "0.1" } };
	struct conf c;

	if (!make_corpus())
		return;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (!make_conf(&c, "straight"))
			return;
		set(&c, "optimizer", cases[i][0]);
		set(&c, "weight_decay", cases[i][1]);
		set(&c, "ema", cases[i][2]);
		set(&c, "clip", cases[i][3]);
		trains(&c);
		set(&c, "run", "parts");
		set(&c, "steps", "10");
		trains(&c);
		set(&c, "steps", "30");
		trains(&c);
		check_same_run("straight", "parts", 30);
		check_err(file_remove_tree(at("runs"), &(struct err){ 0 }), 0);
		conf_free(&c);
	}
}

static const struct {
	const char *options[6], *text;
	int ranks;
} refusals[] = {
	{ { "optimizer", "adamw" }, "the optimizer adamw needs weight_decay", 1 },
	{ { "weight_decay", "0.1" }, "the optimizer adam has no weight decay", 1 },
	{ { "optimizer", "adafactor", "shard_optimizer", "yes" }, NULL, 1 },
	{ { "optimizer", "adafactor", "shard_optimizer", "yes" },
	  "adafactor needs whole matrices, but shard_optimizer splits them over 2 ranks",
	  2 },
	{ { "optimizer", "adafactor", "local_steps", "4" },
	  "local_steps 4 averages Adam's moments, which the optimizer adafactor does not have",
	  2 },
	{ { "optimizer", "adamw", "weight_decay", "0.1", "shard_optimizer", "yes" }, NULL, 2 },
};

TEST(optimizer_refusals)
{
	const struct ops gpu = { .has_device_memory = true };
	struct conf c;
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		if (!make_conf(&c, "r"))
			return;
		for (size_t k = 0; k < 6 && refusals[i].options[k]; k += 2)
			set(&c, refusals[i].options[k], refusals[i].options[k + 1]);
		check_err(optimizer_check_conf(&c, refusals[i].ranks, &e),
			  refusals[i].text ? ERR_CONFIG : 0);
		if (refusals[i].text && !strstr(e.text, refusals[i].text))
			test_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", e.text,
				  refusals[i].text);
		conf_free(&c);
	}
	if (!make_conf(&c, "r"))
		return;
	check_err(optimizer_check_backend(&c, &gpu, &e), 0);
	set(&c, "optimizer", "adafactor");
	check_err(optimizer_check_backend(&c, &gpu, &e), ERR_CONFIG);
	check(strstr(e.text, "adafactor runs on CPUs only") != NULL);
	conf_free(&c);
}

TEST(optimizer_choices_are_the_table)
{
	struct conf_row row;
	enum optimizer_kind kind;
	size_t n;

	if (!check(conf_find_row("optimizer", &row)))
		return;
	for (int k = 0; k < N_OPTIMIZERS; k++) {
		const char *choice = conf_choice(row.detail, k, &n),
			   *name = optimizer_name((enum optimizer_kind)k);

		check(choice && n == strlen(name) && !memcmp(choice, name, n));
		check(optimizer_find(name, &kind) && (int)kind == k);
	}
	check(!conf_choice(row.detail, N_OPTIMIZERS, &n));
	check(optimizer_find("", &kind) && kind == OPTIMIZER_adam);
	check(!optimizer_find("lion", &kind));
}

/* Write "optimizer":"NAME" into state.json of a checkpoint, as a newer program would. */
static void rename_optimizer(const char *folder, const char *from, const char *to)
{
	struct buf text = { 0 }, changed = { 0 };
	struct err e = { 0 };
	char path[600], command[2000];
	const char *place;

	snprintf(path, sizeof(path), "%s/state.json", folder);
	check_err(file_read_all(path, 0, &text, &e), 0);
	place = strstr(buf_text(&text), from);
	if (!check(place != NULL))
		return;
	buf_add(&changed, buf_text(&text), (size_t)(place - buf_text(&text)));
	buf_printf(&changed, "%s%s", to, place + strlen(from));
	check_err(file_write_all(path, buf_text(&changed), changed.len, &e), 0);
	snprintf(command, sizeof(command),
		 "cd '%s' && sed 's/^.*  //' SHA256SUMS | xargs sha256sum >sums && mv sums "
		 "SHA256SUMS",
		 folder);
	check_int(system(command), 0);
	buf_free(&text);
	buf_free(&changed);
}

/* Which state a checkpoint has decides who may resume it. */
TEST(optimizer_of_a_checkpoint)
{
	static const struct trainer_signals never;
	struct conf c;
	struct ckpt_state s;
	struct err e = { 0 };

	if (!make_corpus() || !make_conf(&c, "r"))
		return;
	set(&c, "steps", "10");
	trains(&c);
	check_err(ckpt_read_state(at("runs/r/checkpoints/10"), true, &s, &e), 0);
	check_str(s.optimizer, ""); /* as older releases wrote it */
	set(&c, "steps", "20");
	set(&c, "optimizer", "adafactor");
	check_err(train(&c, &never, &e), ERR_CONFIG);
	check(strstr(e.text,
		     "has the state of the optimizer adam, but the recipe says adafactor") != NULL);
	set(&c, "optimizer", "adamw"); /* the same moments */
	set(&c, "weight_decay", "0.1");
	trains(&c);
	check_err(ckpt_read_state(at("runs/r/checkpoints/20"), true, &s, &e), 0);
	check_str(s.optimizer, "adamw");
	set(&c, "steps", "30");
	rename_optimizer(at("runs/r/checkpoints/20"), "\"adamw\"", "\"lion\"");
	check_err(train(&c, &never, &e), ERR_CONFIG);
	check(strstr(e.text, "an optimizer \"lion\", which this Werkbank does not know") != NULL);
	set(&c, "run", "other");
	set(&c, "start_from", at("runs/r/checkpoints/20")); /* only its weights */
	set(&c, "optimizer", "adafactor");
	trains(&c);
	check_err(ckpt_read_state(at("runs/other/checkpoints/30"), true, &s, &e), 0);
	check_str(s.optimizer, "adafactor");
	check(file_size(at("runs/other/checkpoints/30/optimizer.safetensors")) <
	      file_size(at("runs/other/checkpoints/30/model.safetensors")));
	conf_free(&c);
}
