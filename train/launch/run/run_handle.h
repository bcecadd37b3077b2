/*
 * run_handle.h - access to a run from other processes: find it, read its state, send requests.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_RUN_HANDLE_H
#define WERKBANK_TRAIN_LAUNCH_RUN_RUN_HANDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "share/base/err.h"
#include "share/conf/conf.h"

struct run_handle {
	char *workspace, *folder; /* owned; folder: WORKSPACE/runs/NAME */
	char name[101];
	/* from state.json, updated by run_handle_refresh() */
	char state[16], event[300];
	bool alive;	   /* a process holds the lock */
	bool is_local;	   /* the supervisor runs on this host */
	bool is_orphan;	   /* alive, but its supervisor has died: the lock is held by its ranks */
	pid_t pid;	   /* of the supervisor */
	int64_t pid_start; /* start time of that process, as state.json says */
	int exit;	   /* exit status of the run; -1: none yet */
};

/*
 * Find the run that an argument or --run names. Without a name: the live run that began last, or
 * if no run is alive and must_live is false, the run that began last. ERR_NOINPUT: no such run, or
 * not alive. Call run_handle_close() in any case.
 */
int run_handle_find(struct run_handle *l, const struct conf *c, bool must_live, struct err *e);
void run_handle_close(struct run_handle *l);

void run_handle_refresh(struct run_handle *l);

/* Of the last attempt of the run in this folder; ranks 0: unknown, hosts 0: only this one. */
struct run_size {
	int64_t ranks, hosts;
};
struct run_size run_handle_former_size(const char *folder);

/* Exit status of an ended run: 0, 75 (saved) or another (failed); ERR_UNAVAILABLE < 0: lost. */
int run_handle_exit_status(const struct run_handle *l, struct err *e);

/* Send a request to the ranks: "save", "evaluate" or "stop" (control.h). */
int run_handle_request(const struct run_handle *l, const char *word, struct err *e);

/*
 * Ask the supervisor, on any host, to save and stop; with now to end the run at once. A supervisor
 * that is suspended continues. Of an orphan, the ranks are asked, or on this host ended.
 */
int run_handle_stop(const struct run_handle *l, bool now, struct err *e);

/*
 * For the supervisor: ask the ranks of the run in this folder again to save and stop, without mpirun: by the file
 * "control", and by signals to the ranks on this host, which continue if they were suspended.
 */
void run_handle_repeat_stop(char *folder);

/* A number of seconds from the environment, for tests and slow clusters. */
double run_env_seconds(const char *variable, double otherwise);

#endif
