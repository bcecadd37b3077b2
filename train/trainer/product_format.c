/* product_format.c - see product_format.h */
#include "train/trainer/product_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/product_rates.h"
#include "share/base/file.h"
#include "train/ckpt/ckpt.h"

const char *product_backend_name(const struct conf *c)
{
	static const char *const backends[] = { "auto", "cpu", "ref", "cuda" };

	return backends[c->backend];
}

const struct ops *product_backend(const struct conf *c, struct err *e)
{
	return ops_find(product_backend_name(c), e);
}

bool product_format_is_bf16(const struct conf *c, const struct ops *ops, int gpu)
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
static int format_of_run(const char *run)
{
	struct ckpt_state s;
	struct err ignored = { 0 };
	char *folder = file_path(&ignored, "%s/checkpoints/last", run);
	int began = BEGAN_NONE;

	if (folder && ckpt_read_state(folder, false, &s, &ignored)) {
		free(folder);
		folder = ckpt_find_last(run, &ignored);
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

int product_format_choose(const struct product_format *f, bool *is_bf16, struct err *e)
{
	enum { LACKS_BF16, BEGAN, N_FACTS };
	int64_t facts[N_FACTS] = { 0 };
	const struct ops *ops = product_backend(f->conf, e);
	bool own;

	if (!ops)
		return e->code;
	own = *is_bf16 = product_format_is_bf16(f->conf, ops, f->gpu);
	if (f->conf->precision != PRECISION_AUTO)
		return 0;
	facts[LACKS_BF16] = !own;
	facts[BEGAN] = f->comm->rank == 0 ? format_of_run(f->folder) : BEGAN_NONE;
	if (f->comm->max_ints(f->comm, facts, N_FACTS, e))
		return e->code;
	*is_bf16 = facts[BEGAN] ? facts[BEGAN] == BEGAN_BF16 : !facts[LACKS_BF16];
	if (own && facts[LACKS_BF16] && !facts[BEGAN])
		return run_records_event(
			f->records, "info",
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

void product_format_warn(const struct product_format *f, const struct ops *ops)
{
	const bool is_cpu = !strcmp(ops->name, "cpu");
	struct cpu_features cpu;

	ops_cpu_features(&cpu);
	if (is_cpu ? !cpu.bf16 : !ops->multiplies_bf16 || !ops->multiplies_bf16(f->gpu))
		run_records_event(
			f->records, "warning",
			"%s has no products of bf16: each product rounds to bf16 and multiplies "
			"floats; --precision fp32 trains faster, and auto would choose it",
			is_cpu			 ? "this processor"
			: ops->has_device_memory ? "this GPU"
						 : "the backend ref");
	else if (is_cpu && !f->conf->quiet)
		warn_of_slow_bf16();
}
