/* profile.c - see profile.h */
#include "kernels/profile.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/work.h"
#include "share/base/clock.h"
#include "share/base/mem.h"

#define MOST_KINDS 4 /* of one op */

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
	bool paused, skips_waits; /* hurried: do not wait after each op */
	struct profile_entry entry[N_OPS][MOST_KINDS];
	struct profile_entry sorted[N_OPS * MOST_KINDS];
};

/* What the backend's struct dev is here. */
struct watched {
	const struct ops *ops;	 /* borrowed */
	struct dev *dev;	 /* owned */
	struct profile *profile; /* borrowed */
	struct err fault;	 /* the first since the last sync; code 0: none */
};

static struct watched *watched_of(struct dev *d)
{
	return (struct watched *)(void *)d;
}

static void record_call(struct watched *watched, int op, const char *name, const struct work *work,
			double since)
{
	struct profile_entry *entry = watched->profile->entry[op];
	struct err e = { 0 };
	int i = 0;

	if (!watched->profile->skips_waits && watched->ops->sync(watched->dev, &e) &&
	    !watched->fault.code)
		watched->fault = e;
	if (watched->profile->paused)
		return;
	while (i < MOST_KINDS - 1 && entry[i].calls && entry[i].kind != work->kind)
		i++;
	entry += i;
	entry->op = name;
	entry->kind = work->kind;
	entry->calls++;
	entry->seconds += clock_mono_s() - since;
	entry->flops += work->flops;
	entry->bytes += work->bytes;
}

#define OP(name, args, names)                                                                      \
	static void watch_##name args                                                              \
	{                                                                                          \
		struct watched *watched = watched_of(d);                                           \
		const struct work work = work_##name names;                                        \
		const double since = clock_mono_s();                                               \
                                                                                                   \
		d = watched->dev;                                                                  \
		watched->ops->name names;                                                          \
		record_call(watched, OP_##name, #name, &work, since);                              \
	}
#include "kernels/ops/ops.def"
#undef OP

/* ---- what is not an op ----------------------------------------------------- */

static struct dev *watch_open(const struct dev_options *options, struct err *e)
{
	struct watched *watched = mem_alloc(1, sizeof(*watched), e);

	if (!watched)
		return NULL;
	watched->profile = options->profile;
	watched->ops = options->profile->ops;
	watched->dev = watched->ops->open(options, e);
	if (watched->dev)
		return (struct dev *)(void *)watched;
	free(watched);
	return NULL;
}

static void watch_close(struct dev *d)
{
	struct watched *watched = watched_of(d);

	if (!d)
		return;
	watched->ops->close(watched->dev);
	free(watched);
}

static void *watch_alloc(struct dev *d, size_t bytes, struct err *e)
{
	return watched_of(d)->ops->alloc(watched_of(d)->dev, bytes, e);
}

static void watch_release(struct dev *d, void *p)
{
	watched_of(d)->ops->release(watched_of(d)->dev, p);
}

static void watch_to_device(struct dev *d, void *to, const void *from, size_t bytes)
{
	const struct work work = { .bytes = (double)bytes };
	const double since = clock_mono_s();

	watched_of(d)->ops->to_device(watched_of(d)->dev, to, from, bytes);
	record_call(watched_of(d), OP_TO_DEVICE, "to_device", &work, since);
}

static void watch_to_device_async(struct dev *d, void *to, const void *from, size_t bytes)
{
	watched_of(d)->ops->to_device_async(watched_of(d)->dev, to, from, bytes);
}

static void watch_swap_staging(struct dev *d)
{
	watched_of(d)->ops->swap_staging(watched_of(d)->dev);
}

static void watch_to_host(struct dev *d, void *to, const void *from, size_t bytes)
{
	const struct work work = { .bytes = (double)bytes };
	const double since = clock_mono_s();

	watched_of(d)->ops->to_host(watched_of(d)->dev, to, from, bytes);
	record_call(watched_of(d), OP_TO_HOST, "to_host", &work, since);
}

static int watch_sync(struct dev *d, struct err *e)
{
	struct watched *watched = watched_of(d);
	int code = watched->fault.code;

	if (!code)
		return watched->ops->sync(watched->dev, e);
	err_set(e, code, "%s", watched->fault.text);
	watched->fault.code = 0;
	return code;
}

static int watch_reserve(struct dev *d, const struct dev_limits *most, struct err *e)
{
	return watched_of(d)->ops->reserve(watched_of(d)->dev, most, e);
}

/* What is beside the ops is not looked at. */
static struct cuda_queue *watch_open_queue(struct dev *d, struct err *e)
{
	return watched_of(d)->ops->open_queue(watched_of(d)->dev, e);
}

struct profile *profile_new(const struct ops *ops, struct err *e)
{
	struct profile *p = mem_alloc(1, sizeof(*p), e);

	if (!p)
		return NULL;
	p->ops = ops;
	p->table = (struct ops){
		.name = ops->name,
		.has_device_memory = ops->has_device_memory,
		.usable = ops->usable,
		.query_device = ops->query_device,
		.open = watch_open,
		.close = watch_close,
		.alloc = watch_alloc,
		.release = watch_release,
		.to_device = watch_to_device,
		.to_host = watch_to_host,
		.sync = watch_sync,
		.reserve = ops->reserve ? watch_reserve : NULL,
		.needs = ops->needs,
		.to_device_async = ops->to_device_async ? watch_to_device_async : NULL,
		.swap_staging = ops->swap_staging ? watch_swap_staging : NULL,
		.prefers_bf16_weights = ops->prefers_bf16_weights,
		.open_queue = ops->open_queue ? watch_open_queue : NULL,
#define OP(name, args, names) .name = ops->name ? watch_##name : NULL,
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

/* ---- what came of it --------------------------------------------------------- */

void profile_clear(struct profile *p)
{
	memset(p->entry, 0, sizeof(p->entry));
}

static int by_seconds(const void *a, const void *b)
{
	const struct profile_entry *x = a, *y = b;

	return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

void profile_set_waiting(struct profile *p, bool wait)
{
	p->skips_waits = !wait;
}

void profile_pause(struct profile *p, bool paused)
{
	p->paused = paused;
}

const struct profile_entry *profile_entries(struct profile *p, size_t *n)
{
	*n = 0;
	for (int op = 0; op < N_OPS; op++)
		for (int i = 0; i < MOST_KINDS; i++)
			if (p->entry[op][i].calls)
				p->sorted[(*n)++] = p->entry[op][i];
	qsort(p->sorted, *n, sizeof(p->sorted[0]), by_seconds);
	return p->sorted;
}

static void entry_name(const struct profile_entry *entry, char *text, size_t n)
{
	snprintf(text, n, "%s%s%s", entry->op, entry->kind ? " " : "",
		 entry->kind ? entry->kind : "");
}

void profile_print(FILE *to, struct profile *p, double seconds, int64_t steps)
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
}

/* Four digits are enough, and a record of the journal has only 4 KiB. */
static void put_short(struct json_writer *w, const char *key, double x)
{
	char text[32];

	snprintf(text, sizeof(text), "%.4g", x);
	json_key(w, key);
	json_real(w, strtod(text, NULL));
}

void profile_json(struct json_writer *w, struct profile *p, double seconds, int64_t steps)
{
	size_t n;
	const struct profile_entry *list = profile_entries(p, &n);

	put_short(w, "seconds", seconds);
	json_key(w, "steps");
	json_int(w, steps);
	json_key(w, "ops");
	json_open(w, '[');
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
		if (list[i].flops > 0)
			put_short(w, "gflops", list[i].flops / list[i].seconds * 1e-9);
		if (list[i].bytes > 0)
			put_short(w, "gbs", list[i].bytes / list[i].seconds * 1e-9);
		json_close(w, '}');
	}
	json_close(w, ']');
}
