/*
 * profile.h - a backend that passes everything on to another one and notes how
 * long each op took.
 *
 *	struct profile *p = profile_new(ops_find(…), e);
 *	const struct ops *o = profile_ops(p);
 *	struct dev_options options = { …, .profile = p };
 *	struct dev *d = o->open(&options, e); …		as any backend
 *	profile_clear(p);				after warming up
 *	… profile_print(stderr, p, seconds, steps);
 *	o->close(d); profile_free(p);
 *
 * Results are those of the other backend, bit by bit. After each op it waits for the
 * end, so where ops run in the background (a GPU) a profiled run is slower than
 * another. One thread at a time may call ops of one profile. Who does not profile pays
 * nothing: the other backend's table is not touched.
 */
#ifndef WERKBANK_KERNELS_PROFILE_H
#define WERKBANK_KERNELS_PROFILE_H

#include <stdio.h>

#include "kernels/ops/ops.h"
#include "share/base/json.h"

struct profile_entry {
	const char *op;	  /* static */
	const char *kind; /* static, or NULL; work.h */
	int64_t calls;
	double seconds;
	double flops, bytes; /* of all calls, work.h; 0: none, unknown */
};

/* Borrows ops. NULL: ERR_NOMEM. */
struct profile *profile_new(const struct ops *ops, struct err *e);
void profile_free(struct profile *p);

/* The table, owned by p; it bears the other's name and lacks the ops that it lacks. */
const struct ops *profile_ops(const struct profile *p);

/* Forget what was noted so far. */
void profile_clear(struct profile *p);

/* Note nothing while paused. It begins not paused. */
void profile_pause(struct profile *p, bool paused);

/*
 * Whether to wait after each op, as it does at first. Without, a run is as fast as any and what is
 * counted stays true, but where ops run in the background the seconds are those of the calls alone.
 */
void profile_set_waiting(struct profile *p, bool wait);

/* What was called, longest first: *n entries, owned by p, good until an op is called. */
const struct profile_entry *profile_entries(struct profile *p, size_t *n);

/* A table for people; seconds is all the time in which the ops were called, in so many steps. */
void profile_print(FILE *to, struct profile *p, double seconds, int64_t steps);

/*
 * Fields of an open JSON object: seconds, steps, and "ops", a list of
 * {"op", "calls", "s", "share", "gflops", "gbs"}: all calls together, their part of the seconds,
 * 10^9 operations and bytes a second.
 */
void profile_json(struct json_writer *w, struct profile *p, double seconds, int64_t steps);

#endif
