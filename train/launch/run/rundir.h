/*
 * rundir.h - the folder of a run, held by its launcher.
 *
 *	rundir_open()		makes runs/NAME and takes its lock
 *	rundir_write_lock_pid()		the lock now belongs to another process (a supervisor forked off)
 *	rundir_merge_recipe()		new run: writes recipe.ini; resumed: compares with it first
 *	rundir_write_state()	state.json, replaced atomically, at each turn
 *	rundir_close()		the lock goes when the last process that inherited it ends
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_RUNDIR_H
#define WERKBANK_TRAIN_LAUNCH_RUN_RUNDIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "share/conf/conf.h"
#include "share/base/err.h"
#include "train/launch/hosts/hosts.h"

struct rundir {
	char *path;	 /* owned: WORKSPACE/runs/NAME */
	int lock;	 /* descriptor that holds the flock; inherited by the ranks; -1: none */
	bool resumed;	 /* recipe.ini was there already */
	int64_t attempt; /* from 1; of the ranks, restarts counted */
	double started;	 /* unix seconds, of this attempt */
};

/* Another live run of this name: ERR_TEMPFAIL with its pid. */
int rundir_open(struct rundir *r, const char *workspace, const char *name, struct err *e);

/*
 * Write recipe.ini from c. Where the run has one already, what was given on an
 * earlier command line or in the environment then stays in force unless it is given
 * anew, and a change of the model, the data or their order is ERR_CONFIG.
 */
int rundir_merge_recipe(struct rundir *r, struct conf *c, struct err *e);

/* Write our process id into the lock. */
int rundir_write_lock_pid(struct rundir *r, struct err *e);

/*
 * What state.json says besides: who holds the lock (pid, its start time, host, boot id),
 * attempt, started. Texts are borrowed.
 */
struct run_state {
	/* starting, running, stopping, restarting; finished, stopped, failed */
	const char *name;
	int64_t ranks;
	const struct hosts *hosts; /* NULL: this host alone */
	const char *network;	   /* NULL: none */
	int status;		   /* < 0: none yet */
	int64_t restarts;	   /* since the launcher began */
	const char *event;	   /* the last thing that happened; NULL: nothing */
	const char *asked_by;	   /* who asked it to stop: user, walltime; NULL: nobody */
	bool detached;		   /* its supervisor goes on without a terminal */
};

int rundir_write_state(const struct rundir *r, const struct run_state *s, struct err *e);

/*
 * Number of the newest checkpoint; -1: none. Whether it is a whole one is seen when it is
 * loaded.
 */
int64_t rundir_last_checkpoint(const struct rundir *r);

/* WORKSPACE/runs/NAME/FILE, owned by the caller; NULL: ERR_NOMEM. */
char *rundir_file_path(const struct rundir *r, const char *name, struct err *e);

void rundir_close(struct rundir *r);

#endif
