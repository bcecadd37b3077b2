/* profile.c - a backend that measures another one; see profile.h */
#include "kernels/profile.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/op_cost.h"
#include "share/base/clock.h"
#include "share/base/mem.h"

#define MAX_KINDS 4 /* of one op; the last entry collects all further kinds */

enum {
#define OP(name, args, names) OP_##name,
#include "kernels/ops/ops.def"
#undef OP
	OP_TO_DEVICE,
	OP_TO_HOST,
	N_OPS
};

struct profile {
	const struct ops *ops; /* borrowed */
	struct ops table;
	double (*now)(void);	  /* seconds; see profile_set_clock() */
	bool paused, skips_waits; /* see profile_pause(), profile_set_waiting() */
	struct profile_entry entry[N_OPS][MAX_KINDS];
	struct profile_entry sorted[N_OPS * MAX_KINDS];
};

/* The "struct dev" of the profiled table: callers see only its address. */
struct profiled_dev {
	const struct ops *ops;	 /* borrowed */
	struct dev *dev;	 /* owned */
	struct profile *profile; /* borrowed */
	struct err fault;	 /* the first fault since the last sync; code 0: none */
};

static struct profiled_dev *profiled_dev_of(struct dev *d)
{
	return (struct profiled_dev *)(void *)d;
}

static void record_call(struct profiled_dev *profiled, int op, const char *name,
			const struct op_cost *cost, double since)
{
	struct profile_entry *entry = profiled->profile->entry[op];
	struct err e = { 0 };
	int i = 0;

	assert(op >= 0 && op < N_OPS && name);
	if (!profiled->profile->skips_waits && profiled->ops->sync(profiled->dev, &e) &&
	    !profiled->fault.code)
		profiled->fault = e;
	if (profiled->profile->paused)
		return;
	while (i < MAX_KINDS - 1 && entry[i].calls && entry[i].kind != cost->kind)
		i++;
	entry += i;
	entry->op = name;
	entry->kind = cost->kind;
	entry->calls++;
	entry->seconds += profiled->profile->now() - since;
	entry->flops += cost->flops;
	entry->bytes += cost->bytes;
}

#define OP(name, args, names)                                                                      \
	static void profiled_##name args                                                           \
	{                                                                                          \
		struct profiled_dev *profiled = profiled_dev_of(d);                                \
		const struct op_cost cost = op_cost_##name names;                                  \
		const double since = profiled->profile->now();                                     \
                                                                                                   \
		d = profiled->dev;                                                                 \
		profiled->ops->name names;                                                         \
		record_call(profiled, OP_##name, #name, &cost, since);                             \
	}
#include "kernels/ops/ops.def"
#undef OP

/* ---- functions of the table that are not ops -------------------------------- */

static struct dev *profiled_open(const struct dev_options *options, struct err *e)
{
	struct profiled_dev *profiled = mem_alloc(1, sizeof(*profiled), e);

	if (!profiled)
		return NULL;
	assert(options->profile);
	profiled->profile = options->profile;
	profiled->ops = options->profile->ops;
	profiled->dev = profiled->ops->open(options, e);
	if (profiled->dev)
		return (struct dev *)(void *)profiled;
	free(profiled);
	return NULL;
}

static void profiled_close(struct dev *d)
{
	struct profiled_dev *profiled = profiled_dev_of(d);

	if (!d)
		return;
	profiled->ops->close(profiled->dev);
	free(profiled);
}

static void *profiled_alloc(struct dev *d, size_t bytes, struct err *e)
{
	return profiled_dev_of(d)->ops->alloc(profiled_dev_of(d)->dev, bytes, e);
}

static void profiled_release(struct dev *d, void *p)
{
	profiled_dev_of(d)->ops->release(profiled_dev_of(d)->dev, p);
}

static void profiled_to_device(struct dev *d, void *to, const void *from, size_t bytes)
{
	const struct op_cost cost = { .bytes = (double)bytes };
	const double since = profiled_dev_of(d)->profile->now();

	profiled_dev_of(d)->ops->to_device(profiled_dev_of(d)->dev, to, from, bytes);
	record_call(profiled_dev_of(d), OP_TO_DEVICE, "to_device", &cost, since);
}

static void profiled_to_device_async(struct dev *d, void *to, const void *from, size_t bytes)
{
	profiled_dev_of(d)->ops->to_device_async(profiled_dev_of(d)->dev, to, from, bytes);
}

static void profiled_swap_staging(struct dev *d)
{
	profiled_dev_of(d)->ops->swap_staging(profiled_dev_of(d)->dev);
}

static void profiled_to_host(struct dev *d, void *to, const void *from, size_t bytes)
{
	const struct op_cost cost = { .bytes = (double)bytes };
	const double since = profiled_dev_of(d)->profile->now();

	profiled_dev_of(d)->ops->to_host(profiled_dev_of(d)->dev, to, from, bytes);
	record_call(profiled_dev_of(d), OP_TO_HOST, "to_host", &cost, since);
}

static int profiled_sync(struct dev *d, struct err *e)
{
	struct profiled_dev *profiled = profiled_dev_of(d);
	int rc = profiled->fault.code;

	if (!rc)
		return profiled->ops->sync(profiled->dev, e);
	err_set(e, rc, "%s", profiled->fault.text);
	profiled->fault.code = 0;
	return rc;
}

static int profiled_reserve(struct dev *d, const struct dev_limits *limits, struct err *e)
{
	return profiled_dev_of(d)->ops->reserve(profiled_dev_of(d)->dev, limits, e);
}

static int64_t profiled_count_slow_products(const struct dev *d)
{
	const struct profiled_dev *profiled = (const struct profiled_dev *)(const void *)d;

	return profiled->ops->count_slow_products(profiled->dev);
}

static char *profiled_save_choices(const struct dev *d, size_t *n, struct err *e)
{
	const struct profiled_dev *profiled = (const struct profiled_dev *)(const void *)d;

	return profiled->ops->save_choices(profiled->dev, n, e);
}

static int profiled_load_choices(struct dev *d, const char *text, size_t n, struct err *e)
{
	return profiled_dev_of(d)->ops->load_choices(profiled_dev_of(d)->dev, text, n, e);
}

static int64_t profiled_count_choices(const struct dev *d, int64_t *measured)
{
	const struct profiled_dev *profiled = (const struct profiled_dev *)(const void *)d;

	return profiled->ops->count_choices(profiled->dev, measured);
}

/* Work in the second queue, concurrent with the ops, is not measured. */
static struct cuda_queue *profiled_open_queue(struct dev *d, struct err *e)
{
	return profiled_dev_of(d)->ops->open_queue(profiled_dev_of(d)->dev, e);
}

struct profile *profile_new(const struct ops *ops, struct err *e)
{
	struct profile *p = mem_alloc(1, sizeof(*p), e);

	if (!p)
		return NULL;
	p->ops = ops;
	p->now = clock_mono_s;
	p->table = (struct ops){
		.name = ops->name,
		.has_device_memory = ops->has_device_memory,
		.usable = ops->usable,
		.query_device = ops->query_device,
		.open = profiled_open,
		.close = profiled_close,
		.alloc = profiled_alloc,
		.release = profiled_release,
		.to_device = profiled_to_device,
		.to_host = profiled_to_host,
		.sync = profiled_sync,
		.reserve = ops->reserve ? profiled_reserve : NULL,
		.memory_needs = ops->memory_needs,
		.to_device_async = ops->to_device_async ? profiled_to_device_async : NULL,
		.swap_staging = ops->swap_staging ? profiled_swap_staging : NULL,
		.multiplies_bf16 = ops->multiplies_bf16,
		.prefers_bf16_weights = ops->prefers_bf16_weights,
		.count_slow_products =
			ops->count_slow_products ? profiled_count_slow_products : NULL,
		.save_choices = ops->save_choices ? profiled_save_choices : NULL,
		.load_choices = ops->load_choices ? profiled_load_choices : NULL,
		.count_choices = ops->count_choices ? profiled_count_choices : NULL,
		.open_queue = ops->open_queue ? profiled_open_queue : NULL,
#define OP(name, args, names) .name = ops->name ? profiled_##name : NULL,
#include "kernels/ops/ops.def"
#undef OP
	};
	return p;
}

void profile_free(struct profile *p)
{
	free(p);
}

const struct ops *profile_ops(const struct profile *p)
{
	return &p->table;
}

/* ---- results ----------------------------------------------------------------- */

void profile_clear(struct profile *p)
{
	memset(p->entry, 0, sizeof(p->entry));
}

static int compare_seconds(const void *a, const void *b)
{
	const struct profile_entry *x = a, *y = b;

	return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

void profile_set_waiting(struct profile *p, bool wait)
{
	p->skips_waits = !wait;
}

void profile_set_clock(struct profile *p, double (*now)(void))
{
	p->now = now;
}

void profile_pause(struct profile *p, bool paused)
{
	p->paused = paused;
}

const struct profile_entry *profile_entries(struct profile *p, size_t *n)
{
	*n = 0;
	for (int op = 0; op < N_OPS; op++)
		for (int i = 0; i < MAX_KINDS; i++)
			if (p->entry[op][i].calls)
				p->sorted[(*n)++] = p->entry[op][i];
	qsort(p->sorted, *n, sizeof(p->sorted[0]), compare_seconds);
	return p->sorted;
}

void profile_raise_roof(struct profile *p, struct device_roof *roof)
{
	size_t n;
	const struct profile_entry *list = profile_entries(p, &n);

	for (size_t i = 0; i < n; i++)
		if (list[i].flops > 0 && list[i].seconds > 0)
			roof->flops = MAX(roof->flops, list[i].flops / list[i].seconds);
}

static void entry_name(const struct profile_entry *entry, char *text, size_t n)
{
	snprintf(text, n, "%s%s%s", entry->op, entry->kind ? " " : "",
		 entry->kind ? entry->kind : "");
}

void profile_print(FILE *to, struct profile *p, double seconds, int64_t steps,
		   const struct device_roof *roof)
{
	size_t n;
	const struct profile_entry *list = profile_entries(p, &n);
	double rest = seconds, per_step = 1e3 / (double)MAX(steps, 1);

	fprintf(to, "%-24s %10s %12s %7s %10s %8s\n", "op", "calls", "ms a step", "share",
		"GFLOP/s", "GB/s");
	for (size_t i = 0; i < n; i++) {
		char name[64];

		entry_name(&list[i], name, sizeof(name));
		fprintf(to, "%-24s %10lld %12.3f %6.1f%%", name, (long long)list[i].calls,
			list[i].seconds * per_step, list[i].seconds / seconds * 100);
		if (list[i].flops > 0)
			fprintf(to, " %10.1f", list[i].flops / list[i].seconds * 1e-9);
		else
			fprintf(to, " %10s", "");
		if (list[i].bytes > 0)
			fprintf(to, " %8.1f", list[i].bytes / list[i].seconds * 1e-9);
		fprintf(to, "\n");
		rest -= list[i].seconds;
	}
	fprintf(to, "%-24s %10s %12.3f %6.1f%%\n", "outside of ops", "", rest * per_step,
		rest / seconds * 100);
	fprintf(to, "%-24s %10lld %12.3f\n", "steps", (long long)steps, seconds * per_step);
	if (roof)
		fprintf(to, "%-24s %10s %12s %7s %10.1f %8.1f\n", "roof", "", "", "",
			roof->flops * 1e-9, roof->bytes * 1e-9);
}

/* Four digits: a record of the journal has at most 4 KiB. */
static void put_short(struct json_writer *w, const char *key, double x)
{
	char text[32];

	snprintf(text, sizeof(text), "%.4g", x);
	json_key(w, key);
	json_real(w, strtod(text, NULL));
}

/* Copies go over a bus, and nobody counts their products. */
static bool is_copy_of_host(const struct profile_entry *entry)
{
	return !strcmp(entry->op, "to_device") || !strcmp(entry->op, "to_host");
}

void profile_json(struct json_writer *w, struct profile *p, double seconds, int64_t steps,
		  const struct device_roof *roof)
{
	size_t n;
	const struct profile_entry *list = profile_entries(p, &n);

	put_short(w, "seconds", seconds);
	json_key(w, "steps");
	json_int(w, steps);
	if (roof) {
		put_short(w, "roof_gflops", roof->flops * 1e-9);
		put_short(w, "roof_gbs", roof->bytes * 1e-9);
	}
	json_put_open(w, "ops", '[');
	for (size_t i = 0; i < n; i++) {
		char name[64];

		entry_name(&list[i], name, sizeof(name));
		json_open(w, '{');
		json_key(w, "op");
		json_str(w, name);
		json_key(w, "calls");
		json_int(w, list[i].calls);
		put_short(w, "s", list[i].seconds);
		put_short(w, "share", list[i].seconds / seconds);
		if (list[i].flops > 0 || (list[i].bytes > 0 && !is_copy_of_host(&list[i])))
			put_short(w, "gflops", list[i].flops / list[i].seconds * 1e-9);
		if (list[i].bytes > 0)
			put_short(w, "gbs", list[i].bytes / list[i].seconds * 1e-9);
		json_close(w, '}');
	}
	json_close(w, ']');
}
