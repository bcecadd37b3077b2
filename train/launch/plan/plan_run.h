/*
 * plan_run.h - what a run measured, as a plan needs it: from its recipe and its journal.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_PLAN_PLAN_RUN_H
#define WERKBANK_TRAIN_LAUNCH_PLAN_PLAN_RUN_H

#include <stdint.h>

#include "share/conf/conf.h"
#include "share/base/err.h"
#include "train/launch/plan/plan.h"

struct plan_run {
	struct plan_job job;   /* without its price */
	struct plan_setup way; /* as it was trained; link and latency 0 */
	int64_t ranks;
	int64_t records;	  /* that the numbers are medians of */
	double step_s;		  /* medians of the first rank */
	double exposed_s, wait_s; /* NAN: not in the journal */
};

/*
 * Of the last attempt that trained; its first record (warming up) is left out where there are
 * more. c gets from the run's recipe what the command line did not give. No such run: ERR_NOINPUT; nothing measured yet:
 * ERR_DATA.
 */
int plan_run_read(struct plan_run *r, const char *workspace, const char *run, struct conf *c,
		  struct err *e);

/* What c says about the way to reduce. hosts and ranks_per_host are left alone. */
void plan_setup_from_conf(struct plan_setup *way, const struct conf *c);

#endif
