/*
 * plan_run.h - reads the measurements of a run, the input of a plan, from its recipe and journal.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_PLAN_PLAN_RUN_H
#define WERKBANK_TRAIN_LAUNCH_PLAN_PLAN_RUN_H

#include <stdint.h>

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/launch/plan/plan.h"

struct plan_run {
	struct plan_job job;   /* price is 0 */
	struct plan_setup way; /* of the run; link and latency are 0 */
	int64_t ranks;
	int64_t records;	  /* number of records "train" of which the medians are */
	double step_s;		  /* seconds: median of the first rank */
	double exposed_s, wait_s; /* NAN: not in the journal */
	double latency_s;	  /* between its hosts, as its ranks measured; NAN: unknown */
};

/*
 * Read the last attempt of a run. The first record (warm-up) is skipped if there are more. Options
 * of c that are not on the command line are set from the run's recipe. ERR_NOINPUT: no such run;
 * ERR_DATA: it has no measurements yet.
 */
int plan_run_read(struct plan_run *r, const char *workspace, const char *run, struct conf *c,
		  struct err *e);

/* Copy the options of c that concern the reduction; hosts and ranks_per_host stay unchanged. */
void plan_setup_from_conf(struct plan_setup *way, const struct conf *c);

#endif
