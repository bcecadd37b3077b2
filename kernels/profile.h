/*
 * profile.h - a backend that forwards every call to another backend and measures its time.
 *
 *	struct profile *p = profile_new(ops_find(…), e);
 *	const struct ops *o = profile_ops(p);
 *	struct dev_options options = { …, .profile = p };
 *	struct dev *d = o->open(&options, e); …		as any backend
 *	profile_clear(p);				after the warm-up
 *	… profile_print(stderr, p, seconds, steps);
 *	o->close(d); profile_free(p);
 *
 * Each op is followed by sync(), so a profiled run on a GPU is slower than a normal run: nothing
 * overlaps. CUDA graphs are off. Only one thread at a time may call ops of a profile. A run
 * without a profile has no overhead, because it uses the table of the backend itself.
 */
#ifndef WERKBANK_KERNELS_PROFILE_H
#define WERKBANK_KERNELS_PROFILE_H

#include <stdio.h>

#include "kernels/device_roof.h"
#include "kernels/ops/ops.h"
#include "share/format/json.h"

struct profile_entry {
	const char *op;	  /* static */
	const char *kind; /* static, or NULL: variant of the op, op_cost.h */
	int64_t calls;
	double seconds;
	double flops, bytes; /* sums over all calls, op_cost.h; 0: none, or unknown */
};

/* Borrows ops. NULL: ERR_NOMEM. */
struct profile *profile_new(const struct ops *ops, struct err *e);
void profile_free(struct profile *p);

/* The table to use, owned by p. Its name is that of the profiled backend. */
const struct ops *profile_ops(const struct profile *p);

/* Discard all measurements. */
void profile_clear(struct profile *p);

/* While paused, calls are forwarded but not measured. Initially not paused. */
void profile_pause(struct profile *p, bool paused);

/*
 * wait: call sync() after each op (the default). Without, the run has its normal speed and the
 * counts of calls, FLOPs and bytes stay right; but on a GPU the seconds are launch times only.
 */
void profile_set_waiting(struct profile *p, bool wait);

/* Measure with this clock, which returns seconds, instead of clock_mono_s(): for forecasts. */
void profile_set_clock(struct profile *p, double (*now)(void));

/* *n entries, sorted by seconds, longest first; owned by p, valid until the next op. */
const struct profile_entry *profile_entries(struct profile *p, size_t *n);

/* Raise the roof's rate of products to that of the fastest op, if that was faster. */
void profile_raise_roof(struct profile *p, struct device_roof *roof);

/*
 * Print a table. seconds: wall time of the measured part, of `steps` training steps. roof: of the
 * device; NULL: not known.
 */
void profile_print(FILE *to, struct profile *p, double seconds, int64_t steps,
		   const struct device_roof *roof);

/*
 * Write members of an open JSON object: "seconds", "steps" and "ops", a list of
 * {"op", "calls", "s", "share", "gflops", "gbs"}: number of calls, their seconds, their share of
 * all seconds, GFLOP/s (0: the op contains no product), GB/s; unless roof is NULL also
 * "roof_gflops" and "roof_gbs".
 */
void profile_json(struct json_writer *w, struct profile *p, double seconds, int64_t steps,
		  const struct device_roof *roof);

#endif
