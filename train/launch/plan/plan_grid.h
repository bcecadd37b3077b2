/*
 * plan_grid.h - the rows of a plan: all combinations of the lists --hosts-count, --link and --vary.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_PLAN_PLAN_GRID_H
#define WERKBANK_TRAIN_LAUNCH_PLAN_PLAN_GRID_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/launch/plan/plan.h"

#define PLAN_MAX_LIST  64
#define PLAN_MAX_HOSTS 1000000
#define PLAN_MAX_ROWS  100000
#define PLAN_PAYLOAD   0.94 /* share of a link's speed; the rest is packet headers */

/* Each list holds at least one entry after plan_grid_read(). */
struct plan_grid {
	int64_t hosts[PLAN_MAX_LIST], micro_batches[PLAN_MAX_LIST], local[PLAN_MAX_LIST];
	double links[PLAN_MAX_LIST]; /* payload bytes/s, one direction */
	double payload; /* links[] divided by the nominal speed: PLAN_PAYLOAD, or 1 if measured */
	double bucket[PLAN_MAX_LIST]; /* bytes */
	enum plan_wire wire[PLAN_MAX_LIST];
	bool overlap[PLAN_MAX_LIST], shard[PLAN_MAX_LIST];
	size_t n_hosts, n_links, n_micro_batches, n_local, n_bucket, n_wire, n_overlap, n_shard;
};

/*
 * Read the lists of c. base: the setup for options without a list. links stays empty without
 * --link. Invalid words and too many rows are ERR_USAGE.
 */
int plan_grid_read(struct plan_grid *g, const struct conf *c, const struct plan_setup *base,
		   struct err *e);

/* Number of rows, and the setup of row i: the link changes slowest, then the number of hosts. */
size_t plan_grid_row_count(const struct plan_grid *g);
void plan_grid_row(const struct plan_grid *g, size_t i, const struct plan_setup *base,
		   struct plan_setup *way);

#endif
