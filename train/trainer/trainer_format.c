/* trainer_format.c - the number format of matrix products in training; see trainer_internal.h */
#include "train/trainer/trainer_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/product_rates.h"
#include "share/base/file.h"

bool trainer_means_bf16(const struct conf *c, const struct ops *ops, int gpu)
{
	if (c->precision != PRECISION_AUTO)
		return c->precision == PRECISION_BF16;
	return ops->multiplies_bf16 && ops->multiplies_bf16(gpu);
}

/* ---- the format that a run began with ------------------------------------ */

enum { BEGAN_NONE, BEGAN_FP32, BEGAN_BF16 };

/* Checkpoints of older releases: their recipe says the format. */
static int format_of_recipe(const char *folder)
{
	struct conf c = { 0 };
	struct err ignored = { 0 };
	char *path = file_path(&ignored, "%s/recipe.ini", folder);
	int began = BEGAN_NONE;

	if (path && !conf_init(&c, &ignored) && !conf_load_recipe(&c, path, &ignored))
		began = c.precision == PRECISION_FP32	? BEGAN_FP32
			: c.precision == PRECISION_BF16 ? BEGAN_BF16
							: BEGAN_NONE;
	conf_free(&c);
	free(path);
	return began;
}

/* The newest checkpoint may be damaged; an older one, which is loaded then, has the same format. */
static int format_of_run(const struct trainer *t)
{
	struct ckpt_state s;
	struct err ignored = { 0 };
	char *folder = file_path(&ignored, "%s/checkpoints/last", t->folder);
	int began = BEGAN_NONE;

	if (folder && ckpt_read_state(folder, false, &s, &ignored)) {
		free(folder);
		folder = ckpt_find_last(t->folder, &ignored);
		if (folder && ckpt_read_state(folder, false, &s, &ignored)) {
			free(folder);
			folder = NULL;
		}
	}
	if (folder && *s.precision)
		began = !strcmp(s.precision, "bf16") ? BEGAN_BF16 : BEGAN_FP32;
	else if (folder)
		began = format_of_recipe(folder);
	free(folder);
	return began;
}

int trainer_choose_format(struct trainer *t, struct err *e)
{
	static const char *const backends[] = { "auto", "cpu", "ref", "cuda" };
	enum { LACKS_BF16, BEGAN, N_FACTS };
	int64_t facts[N_FACTS] = { 0 };
	const struct ops *ops = ops_find(backends[t->conf->backend], e);
	bool own;

	if (!ops)
		return e->code;
	own = t->is_bf16 = trainer_means_bf16(t->conf, ops, t->gpu);
	if (t->conf->precision != PRECISION_AUTO)
		return 0;
	facts[LACKS_BF16] = !own;
	facts[BEGAN] = trainer_is_first(t) ? format_of_run(t) : BEGAN_NONE;
	if (t->comm->max_ints(t->comm, facts, N_FACTS, e))
		return e->code;
	t->is_bf16 = facts[BEGAN] ? facts[BEGAN] == BEGAN_BF16 : !facts[LACKS_BF16];
	if (own && facts[LACKS_BF16] && !facts[BEGAN])
		return report_event(
			t, "info",
			"precision auto: all ranks compute in fp32, because one of them has "
			"no fast products of bf16");
	return 0;
}

/* ---- warning -------------------------------------------------------------- */

static void warn_of_slow_bf16(void)
{
	struct product_rates rates;
	struct err ignored = { 0 };

	if (product_rates_measure(&rates, &ignored) || !product_rates_prefer_fp32(&rates))
		return;
	fprintf(stderr,
		"on this processor a thread multiplies %.3g GFLOP/s in fp32, but %.3g in bf16: "
		"--precision fp32 trains faster\n",
		rates.fp32, rates.bf16);
}

void trainer_warn_of_format(struct trainer *t)
{
	const struct ops *ops = model_get_ops(t->model);
	const bool is_cpu = !strcmp(ops->name, "cpu");
	struct cpu_features cpu;

	ops_cpu_features(&cpu);
	if (t->state.step > 0 || !t->is_bf16)
		return;
	if (is_cpu ? !cpu.bf16 : !ops->multiplies_bf16 || !ops->multiplies_bf16(t->gpu))
		report_event(
			t, "warning",
			"%s has no products of bf16: each product rounds to bf16 and multiplies "
			"floats; --precision fp32 trains faster, and auto would choose it",
			is_cpu			 ? "this processor"
			: ops->has_device_memory ? "this GPU"
						 : "the backend ref");
	else if (is_cpu && !t->conf->quiet)
		warn_of_slow_bf16();
}
