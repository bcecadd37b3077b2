/*
 * rundir.h - the folder of a run, locked by its supervisor, which also renews its lease (run_lease.h).
 *
 *	rundir_open()		create runs/NAME and lock it
 *	rundir_write_lock_pid()	in a forked supervisor: write its pid into the lock file
 *	rundir_merge_recipe()	new run: write recipe.ini; resumed run: compare with it first
 *	rundir_write_state()	replace state.json atomically, at each change of state
 *	rundir_close()		the lock ends with the last process that inherited it
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_RUNDIR_H
#define WERKBANK_TRAIN_LAUNCH_RUN_RUNDIR_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "share/workspace/run_lease.h"
#include "train/launch/remote/hosts.h"

struct rundir {
	char *path; /* owned: WORKSPACE/runs/NAME */
	int lock;   /* descriptor that holds the flock; inherited by the ranks; -1: none */
	struct run_lease lease;	 /* of this supervisor; id "": none */
	double renewed;		 /* monotonic seconds of its last renewal */
	struct run_lease former; /* that was there before; id "": none */
	bool resumed;		 /* the run has made a step before */
	int64_t attempt;	 /* from 1; of the ranks, restarts counted */
	double started;		 /* unix seconds, of this attempt */
	char *former_recipe; /* owned: of a resumed run, before rundir_merge_recipe(); NULL: none */
	int64_t resumed_from; /* its last checkpoint then */
};

/*
 * ERR_TEMPFAIL: the run is being trained already. May wait for the term of another host's lease. Call
 * rundir_close() in any case.
 */
int rundir_open(struct rundir *r, const char *workspace, const char *name, struct err *e);

/*
 * Write recipe.ini from c. A run that has not made a step yet begins anew. A resumed run keeps the options of earlier command lines and of the
 * environment then, unless they are given again. A change of the model, the data or their order is
 * ERR_CONFIG, and so are fewer steps than the run has made; then nothing is written.
 */
int rundir_merge_recipe(struct rundir *r, struct conf *c, struct err *e);

/*
 * After a training that ended with this exit status: if it refused the options before it made a checkpoint,
 * a resumed run gets its former recipe.ini back, so that a refused option does not stay in it.
 */
int rundir_restore_recipe(const struct rundir *r, int status, struct err *e);

/*
 * ERR_TEMPFAIL: PATH is not the folder any more that was locked: it was removed, moved or replaced, for
 * example by that of a new run of this name; or another host has its lease now. Nothing may be written
 * there then.
 */
int rundir_check(const struct rundir *r, struct err *e);

/* Write our process id into the lock file and the lease. */
int rundir_write_lock_pid(struct rundir *r, struct err *e);

/*
 * Write the lease, if `now` is set or its renewal is due. ERR_TEMPFAIL: another host has taken it, so
 * that this supervisor must end its job; other failures may pass.
 */
int rundir_renew_lease(struct rundir *r, bool now, struct err *e);

/*
 * The members of state.json that the caller sets; texts are borrowed. rundir_write_state() adds the
 * holder of the lock (pid, its start time, host, boot id), attempt and started.
 */
struct run_state {
	/* starting, running, stopping, restarting; finished, stopped, failed */
	const char *name;
	int64_t ranks;
	const struct hosts *hosts; /* NULL: only this host */
	const char *network;	   /* NULL: none */
	int status;		   /* exit status of the run; < 0: none yet */
	int64_t restarts;	   /* since the start of the supervisor */
	const char *event;	   /* last event, a sentence; NULL: none */
	const char *asked_by;	   /* who asked it to stop: user, walltime; NULL: nobody */
	bool detached;		   /* the supervisor runs without a terminal */
};

int rundir_write_state(const struct rundir *r, const struct run_state *s, struct err *e);

/*
 * Step of the newest checkpoint; -1: none. It may be incomplete, which loading it finds out.
 */
int64_t rundir_last_checkpoint(const struct rundir *r);

/* WORKSPACE/runs/NAME/FILE, owned by the caller; NULL: ERR_NOMEM. */
char *rundir_file_path(const struct rundir *r, const char *name, struct err *e);

/* Gives the lease back, unless another process has it now. */
void rundir_close(struct rundir *r);
/* In a process that has forked the supervisor: the lease and the lock are those of the supervisor now. */
void rundir_pass_lease(struct rundir *r);

#endif
